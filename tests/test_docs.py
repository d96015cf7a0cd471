"""The documentation's code runs, and the README shows what the commands print."""

import re
from pathlib import Path

import pytest
from benchmarks.data import find_data
from matplotlib import pyplot

from tercet import demo
from tercet.demo.world import NAMES

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text("utf-8"), re.S | re.M)


def needs_data(page):
    return "```python data\n" in page.read_text("utf-8")


@pytest.fixture(autouse=True)
def _headless(monkeypatch, tmp_path):
    pyplot.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    yield
    pyplot.close("all")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_of_a_page_run_in_order(page, monkeypatch):
    folder = find_data()
    if needs_data(page) and folder is not None:
        monkeypatch.setenv("TERCET_DATA", str(folder))
    names = {}
    for block in blocks(page, "python" if folder is None else "python(?: data)?"):
        exec(compile(block, str(page), "exec"), names)
    if needs_data(page) and folder is None:
        pytest.skip("the blocks about people's answers were left out: set TERCET_DATA")


def test_the_pages_have_code():
    assert sum(len(blocks(page, "python")) for page in PAGES) >= 8


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)", page.read_text("utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_all_pages_are_linked_from_the_readme():
    readme = (ROOT / "README.md").read_text("utf-8")
    for page in PAGES[1:]:
        assert f"](docs/{page.name})" in readme, page.name


def test_the_readme_shows_what_the_demonstration_prints(capsys):
    """Chains part ways on other processors: numbers are close, and other animals may come first."""
    numbers = re.compile(r"[\d.]*\d")
    animals = {name for group in NAMES for name in group}
    demo.main(["--out", "demo"])
    shown = next(each for each in blocks(ROOT / "README.md", "console") if "make demo" in each)
    pairs = zip(shown.split()[3:], capsys.readouterr().out.split(), strict=True)
    for one, other in pairs:
        if one.strip("?") in animals:
            assert other.strip("?") in animals
            continue
        assert numbers.split(one) == numbers.split(other)
        for mine, theirs in zip(numbers.findall(one), numbers.findall(other), strict=True):
            assert float(mine) == pytest.approx(float(theirs), abs=2, rel=0.05)
