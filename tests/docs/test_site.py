"""The documentation site is whole. ``make docs`` builds it and runs the gallery, in CI too."""

import ast
import re
from importlib import import_module
from pathlib import Path

import tercet

DOCS = Path(__file__).parents[2] / "docs"
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


def in_the_reference(name):
    """Whether the reference describes a public name, or lists what is in it."""
    if name in MODULES:
        listed = f".. automodule:: tercet.{name}\n   :members:\n   :imported-members:\n" in API
        return listed and bool(import_module(f"tercet.{name}").__all__)
    index = (DOCS / "api" / "index.rst").read_text("utf-8")
    described = re.search(rf"^\.\. auto\w+:: (?:tercet\.)?{name}$", API, re.M)
    return bool(described and re.search(rf"^   {name}$", index, re.M))


def test_the_reference_has_every_public_name():
    wrong = [name for name in tercet.__all__ if not in_the_reference(name)]
    assert not wrong, "\n".join(wrong)
    assert not in_the_reference("STEE")


def test_the_gallery_shows_every_plot():
    code = "\n".join(script.read_text("utf-8") for script in GALLERY)
    wrong = [name for name in tercet.plots.__all__ if f"tc.plots.{name}(" not in code]
    assert not wrong, "\n".join(wrong)


def says_what_it_shows(script):
    """Whether an example has a title, underlined, and a text below it."""
    title, line, *text = ast.get_docstring(ast.parse(script)).splitlines()
    return line == "=" * len(title) and len(" ".join(text)) > 100


def test_every_example_has_a_title_and_says_what_it_shows():
    wrong = [each.name for each in GALLERY if not says_what_it_shows(each.read_text("utf-8"))]
    assert GALLERY
    assert not wrong, "\n".join(wrong)
    assert not says_what_it_shows('"""Title\n=====\n\nToo short."""')


def test_nothing_is_fetched():
    files = [DOCS / "conf.py", *(DOCS / "_static").iterdir()]
    wrong = [file.name for file in files if "http" in file.read_text("utf-8")]
    assert not wrong, "\n".join(wrong)


def test_the_architecture_names_what_is_there():
    """Files and folders that the page walks through, and the functions it names in them."""
    page = (DOCS / "architecture.md").read_text("utf-8")
    package = Path(tercet.__file__).parent
    named = set(re.findall(r"(?<![\w/.])([a-z_]+(?:/[a-z_]+)*(?:\.py|/))(?=[\s`,;:)]|$)", page))
    named -= {"docs/", "src/tercet/", "tests/io", "tests/test_imports.py", "tercet/__init__.py"}
    source = DOCS.parent / "src" / "tercet"
    folders = [package, *(folder for folder in package.rglob("*") if folder.is_dir()), source]
    missing = [name for name in named if not any((folder / name).exists() for folder in folders)]
    assert len(named) > 40
    assert not missing
