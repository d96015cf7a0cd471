"""The tutorial and the how-tos show what their commands and their code really print.

As in test_pages.py, ``TERCET_REMAKE=1`` writes what they print now into the pages.
"""

import ast
import re
import shutil
from contextlib import chdir

import pytest
from tests.pages import DOCS, run_page

import tercet as tc
from tercet.cli import main
from tercet.demo import GUESSER, make_world

TUTORIAL = DOCS / "tutorial.md"
HOWTOS = sorted((DOCS / "howto").glob("*.md"))
pytestmark = pytest.mark.usefixtures("computed_once", "headless")


@pytest.fixture(scope="module")
def made(computed_once, tmp_path_factory):
    """The files of the tutorial: answers.csv, without.csv and map.npz."""
    folder = tmp_path_factory.mktemp("animals")
    answers = make_world(0).answers
    tc.write_triplets(answers, folder / "answers.csv")
    kept = answers[answers.observers != f"P{GUESSER + 1}"]
    tc.write_triplets(kept, folder / "without.csv")
    arguments = [str(folder / "without.csv"), "-o", str(folder / "map.npz"), "--quiet"]
    assert main(["posterior", *arguments]) == 0
    return folder


@pytest.mark.slow
def test_the_tutorial_from_an_empty_folder(tmp_path, capsys):
    with chdir(tmp_path):
        run_page(TUTORIAL, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("page", HOWTOS, ids=lambda page: page.stem)
def test_a_howto_in_the_folder_of_the_tutorial(page, made, tmp_path, capsys):
    for file in made.iterdir():
        shutil.copy(file, tmp_path)
    with chdir(tmp_path):
        run_page(page, capsys)


def test_the_index_has_every_howto():
    index = (DOCS / "howto" / "index.md").read_text("utf-8")
    for page in HOWTOS:
        if page.stem != "index":
            assert f"]({page.name})" in index
            assert re.search(rf"^{page.stem}$", index, re.M)


def test_the_page_of_warnings_has_their_words():
    """What it quotes is what the source says."""
    said = []
    for file in (DOCS.parent / "src" / "tercet").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.JoinedStr):
                parts = [getattr(part, "value", None) for part in node.values]
                said.append("".join(part if isinstance(part, str) else "…" for part in parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                said.append(node.value)
    source = "\n".join(said)
    page = (DOCS / "howto" / "warnings.md").read_text("utf-8")
    quoted = re.findall(r"^\| “(.*?)” \|", page, re.M)
    assert len(quoted) >= 35
    assert [words for words in quoted if words not in source] == []
