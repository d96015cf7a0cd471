"""The documentation's code runs, and the README shows what the commands print."""

import re
from pathlib import Path

import pytest
from matplotlib import pyplot

from tercet import demo

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.S | re.M)


@pytest.fixture(autouse=True)
def _headless(monkeypatch, tmp_path):
    pyplot.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    yield
    pyplot.close("all")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_of_a_page_run_in_order(page):
    names = {}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), names)


def test_the_pages_have_code():
    assert sum(len(blocks(page, "python")) for page in PAGES) >= 8


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)", page.read_text("utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_the_readme_shows_what_the_demonstration_prints(capsys):
    def errors(text):
        return {
            name: (float(training), float(true))
            for name, training, true in re.findall(r"^(\S+) +([\d.]+)% +([\d.]+)%", text, re.M)
        }

    demo.main(["--out", "demo"])
    printed = capsys.readouterr().out
    shown = blocks(ROOT / "README.md", "console")[0]
    assert len(errors(shown)) == 5
    for name, values in errors(printed).items():  # other processors round otherwise
        assert errors(shown)[name] == pytest.approx(values, abs=0.5), name
    assert printed.splitlines()[0] in shown
