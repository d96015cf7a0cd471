"""The documentation site is whole. ``make docs`` builds it and runs the gallery, in CI too."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

import tercet

DOCS = Path(__file__).parents[1] / "docs"
MODULES = ("align", "datasets", "metrics", "plots", "simulate")
GALLERY = sorted((DOCS / "gallery").glob("plot_*.py"))
API = "\n".join(page.read_text("utf-8") for page in (DOCS / "api").glob("*.rst"))


def toctree(page):
    """The pages that a page has in its toctrees, as paths without their endings."""
    text = page.read_text("utf-8")
    trees = re.findall(r"^```\{toctree\}\n(.*?)^```", text, re.S | re.M)
    trees += re.findall(r"^\.\. toctree::\n(.*?)^(?=\S)", text, re.S | re.M)
    lines = [line.strip() for tree in trees for line in tree.splitlines()]
    entries = [re.sub(r".*<(.+)>", r"\1", line) for line in lines if line and line[0] != ":"]
    return [page.parent / entry for entry in entries]


def test_every_page_is_in_one_toctree():
    pages = [*DOCS.rglob("*.md"), *(DOCS / "api").glob("*.rst")]
    entries = [entry for page in pages for entry in toctree(page)]
    made = {DOCS / "examples" / "index"}  # from the gallery
    assert len(entries) == len(set(entries))
    assert set(entries) == {page.with_suffix("") for page in pages} - {DOCS / "index"} | made


@pytest.mark.parametrize("name", tercet.__all__)
def test_the_reference_has_every_public_name(name):
    if name in MODULES:
        assert f".. automodule:: tercet.{name}\n   :members:\n   :imported-members:\n" in API
        assert import_module(f"tercet.{name}").__all__
    else:
        index = (DOCS / "api" / "index.rst").read_text("utf-8")
        assert re.search(rf"^\.\. auto\w+:: (?:tercet\.)?{name}$", API, re.M)
        assert re.search(rf"^   {name}$", index, re.M)


@pytest.mark.parametrize("name", tercet.plots.__all__)
def test_the_gallery_shows_every_plot(name):
    assert any(f"tc.plots.{name}(" in script.read_text("utf-8") for script in GALLERY)


@pytest.mark.parametrize("script", GALLERY, ids=lambda script: script.stem)
def test_an_example_has_a_title_and_says_what_it_shows(script):
    shown = ast.get_docstring(ast.parse(script.read_text("utf-8")))
    title, line, *text = shown.splitlines()
    assert line == "=" * len(title)
    assert len(" ".join(text)) > 100


def test_nothing_is_fetched():
    for file in [DOCS / "conf.py", *(DOCS / "_static").iterdir()]:
        assert "http" not in file.read_text("utf-8"), file.name
