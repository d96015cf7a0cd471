"""The tutorial and the how-tos show what their commands and their code really print.

Where words have changed, ``TERCET_REMAKE=1 pytest tests/test_docs_howto.py`` writes the new ones
into the pages; read them before they are kept.
"""

import ast
import os
import re
import shlex
import shutil
import subprocess
import textwrap
from contextlib import chdir
from pathlib import Path
from typing import NamedTuple

import pytest
from matplotlib import pyplot

import tercet as tc
from tercet.cli import main
from tercet.demo.world import GUESSER, NAMES, make_world

DOCS = Path(__file__).parents[1] / "docs"
TUTORIAL = DOCS / "tutorial.md"
HOWTOS = sorted((DOCS / "howto").glob("*.md"))
PAGES = [TUTORIAL, *HOWTOS]

# Which questions and how many answers hang on single draws: these need only run, and begin so.
FINDINGS = ("tercet suggest", "tercet plan")
NAME = re.compile(rf"\b(?:{'|'.join(name for group in NAMES for name in group)})\b")
NUMBER = re.compile(r"(?<![\w.])[-−]?\d+(?:[.]\d+)?(?:e[-+]\d+)?")
LONG, WIDTH = 100, 90  # lines that are too long for the page, and how long they become
REST = "…\n"  # a line that stands for any others


class Step(NamedTuple):
    """A command of a page, or a block of Python, and what the page shows beside it."""

    kind: str
    code: str
    shown: str
    place: int | None  # of what is shown, in the text of the page; None if nothing is


def steps(text):
    """All commands and blocks of Python of a page, in order."""
    found = []
    blocks = list(re.finditer(r"^```(console|python|text)\n(.*?)^```", text, re.S | re.M))
    for k, block in enumerate(blocks):
        kind, body = block.groups()
        after = blocks[k + 1] if k + 1 < len(blocks) else None
        if kind == "console":
            found += [
                Step(kind, *part.groups(), block.start(2) + part.start(2))
                for part in re.finditer(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", body, re.M)
            ]
        elif kind == "python" and after is not None and after[1] == "text":
            found.append(Step(kind, body, after[2], after.start(2)))
        elif kind == "python":
            found.append(Step(kind, body, "", None))
    return found


def run(step, names, capsys):
    """What a terminal shows; our own commands run in this process."""
    capsys.readouterr()
    if step.kind == "python":
        exec(compile(step.code, "page", "exec"), names)
        return capsys.readouterr().out
    program, *arguments = shlex.split(step.code)
    if program == "cd":
        os.chdir(arguments[0])
        return ""
    if program == "tercet":
        code = main(arguments)
        said = capsys.readouterr()
        assert code == (2 if said.err.startswith(f"tercet {arguments[0]}: ") else 0), said.err
        return said.err + said.out
    done = subprocess.run(step.code, shell=True, capture_output=True, text=True, check=True)
    return done.stdout


def compare(step, printed):
    if step.code.startswith(FINDINGS):
        assert printed.split("\n")[0] == step.shown.split("\n")[0]
    elif step.place is not None:
        agree(printed, step.shown, loosely=step.kind == "python" or step.code.startswith("tercet"))


def agree(printed, shown, *, loosely):
    """Compare words and numbers, not spaces.

    Other processors round otherwise, and chains part ways: then loosely.
    """
    first, *last = (part.split() for part in re.split(f"^{REST}", shown, flags=re.M))
    words = printed.split()
    if last:
        (last,) = last
        assert len(words) >= len(first) + len(last), printed
        words = words[: len(first)] + words[len(words) - len(last) :]
        first += last
    mine, theirs = " ".join(words), " ".join(first)
    assert blank(mine) == blank(theirs)
    for one, other in zip(NUMBER.findall(mine), NUMBER.findall(theirs), strict=True):
        share, least = (0.5, 0.15 if "." in other else 1) if loosely else (0.02, 0.02)
        expected = float(other.replace("−", "-"))
        assert float(one.replace("−", "-")) == pytest.approx(expected, rel=share, abs=least), mine


def blank(text):
    """The text with animals and numbers blanked out: which they are is found, not said."""
    return NUMBER.sub("#", NAME.sub("ANIMAL", text))


def wrap(printed):
    """Break long lines of prose, but not those of tables, nor before a % sign."""
    how = {"subsequent_indent": "  ", "break_on_hyphens": False, "break_long_words": False}
    lines = []
    for line in printed.replace(" %", "\N{NO-BREAK SPACE}%").splitlines():
        prose = len(line) > LONG and "  " not in line.strip()
        lines += textwrap.wrap(line, WIDTH, **how) if prose else [line]
    return "".join(f"{line}\n" for line in lines).replace("\N{NO-BREAK SPACE}%", " %")


def run_page(page, capsys):
    """Run everything on a page, in order, and compare, or write what was printed into the page."""
    text, names, new = page.read_text("utf-8"), {}, []
    for step in steps(text):
        printed = run(step, names, capsys)
        if not os.environ.get("TERCET_REMAKE"):
            compare(step, printed)
        elif step.place is not None and REST not in step.shown:
            new.append((step.place, step.shown, wrap(printed)))
    for place, shown, printed in reversed(new):
        text = text[:place] + printed + text[place + len(shown) :]
    if new:
        page.write_text(text, "utf-8")


@pytest.fixture(autouse=True)
def _headless():
    pyplot.switch_backend("Agg")
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The files of the tutorial: answers.csv, without.csv and map.npz."""
    folder = tmp_path_factory.mktemp("animals")
    answers = make_world(0).answers
    tc.write_triplets(answers, folder / "answers.csv")
    kept = answers[answers.observers != f"P{GUESSER + 1}"]
    tc.write_triplets(kept, folder / "without.csv")
    arguments = [str(folder / "without.csv"), "-o", str(folder / "map.npz"), "--quiet"]
    assert main(["posterior", *arguments]) == 0
    return folder


def test_the_tutorial_from_an_empty_folder(tmp_path, capsys):
    with chdir(tmp_path):
        run_page(TUTORIAL, capsys)


@pytest.mark.parametrize("page", HOWTOS, ids=lambda page: page.stem)
def test_a_howto_in_the_folder_of_the_tutorial(page, made, tmp_path, capsys):
    for file in made.iterdir():
        shutil.copy(file, tmp_path)
    with chdir(tmp_path):
        run_page(page, capsys)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)", page.read_text("utf-8")):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


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


def test_the_pages_have_commands_and_code():
    kinds = [step.kind for page in PAGES for step in steps(page.read_text("utf-8"))]
    assert kinds.count("console") >= 20
    assert kinds.count("python") >= 10


@pytest.mark.parametrize("shown", ["a 1 fox", "1.1 a", "a 3", "a 1 b", "…\nb 1\n"])
def test_a_page_that_shows_something_else_is_found(shown):
    with pytest.raises(AssertionError):
        agree("a 1", shown, loosely=True)


def test_what_may_differ():
    agree("wolf is known best, 74% sure", "eel is known best, 76% sure", loosely=True)
    agree("first\nmore\nand more\nlast 2", "first\n…\nlast 2\n", loosely=False)
