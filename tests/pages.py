"""Pages of the documentation: their examples, what these print, and whether the page shows that.

A page says how its examples are to be taken by the words after the language of a block:
``data`` needs the folder of people's answers, ``skip: reason`` is not run. A block ``text`` right
after a block of Python is what that prints.

Same seed, same bits on one kind of processor with the same libraries, so there every printed
figure must be the page's. Other processors round otherwise, and chains of draws part ways: then
figures are compared as closely as draws allow. `MADE_ON` says where the pages were made.
"""

import json
import os
import platform
import re
import shlex
import subprocess
import sys
import textwrap
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest
from llvmlite import binding

from tercet.cli import main
from tercet.cli.main import build_parser
from tercet.demo import NAMES

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
MADE_ON = Path(__file__).with_name("pages_made_on.json")
REMAKE = os.environ.get("TERCET_REMAKE") == "1"

BLOCK = re.compile(r"^```(console|python|text)(?: ([^\n]*))?\n(.*?)^```\n", re.S | re.M)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.M)
SKIP = "skip: "
# Which questions and how many answers hang on single draws: elsewhere these need only begin so.
FINDINGS = ("tercet suggest", "tercet plan")
NAME = re.compile(rf"\b(?:{'|'.join(name for group in NAMES for name in group)})\b")
NUMBER = re.compile(r"(?<![\w.])[-−]?\d+(?:[.]\d+)?(?:e[-+]\d+)?")
SHARE, UNITS = 0.1, 2  # how far figures may be off elsewhere: of the figure, in its last digit
LONG, WIDTH = 100, 90  # lines that are too long for the page, and how long they become
REST = "…\n"  # a line that stands for any others
# Tables of rounds end with the seconds that each took, which nobody can foresee.
ROUNDS = re.compile(r"^(round .*) seconds\n((?: *\d.* [\d.]+\n)+)", re.M)


class Step(NamedTuple):
    """A command of a page, or a block of Python, and what the page shows beside it."""

    kind: str
    code: str
    needs: str  # the words after the language of the block
    line: int
    shown: str = ""
    place: int | None = None  # of what is shown, in the text of the page; None if nothing is

    @property
    def reason(self):
        """Why the step is not run; empty if it is."""
        return self.needs.removeprefix(SKIP) if self.needs.startswith(SKIP) else ""


def steps(text):
    """All commands and blocks of Python of a page, in order."""
    found = []
    blocks = list(BLOCK.finditer(text))
    for block, after in pairwise([*blocks, None]):
        kind, needs, body = block[1], block[2] or "", block[3]
        line = text.count("\n", 0, block.start()) + 1
        if kind == "console":
            found += [
                Step(kind, each[1], needs, line, each[2], block.start(3) + each.start(2))
                for each in COMMAND.finditer(body)
            ]
        elif kind == "python":
            step = Step(kind, body, needs, line)
            if after and after[1] == "text" and not text[block.end() : after.start()].strip():
                step = step._replace(shown=after[3], place=after.start(3))
            found.append(step)
    return found


def skipped(pages):
    """Steps that are not run, as parameters of a test."""
    return [
        pytest.param(step, id=f"{page.relative_to(ROOT)}:{step.line}")
        for page in pages
        for step in steps(page.read_text("utf-8"))
        if step.reason
    ]


def unknown_blocks(pages):
    """Blocks whose language or words are not known here, and which would be left out unseen."""
    known = re.compile(r"\{toctree\}|text|(console|python)( data| skip: \w.*)?")
    for page in pages:
        text = page.read_text("utf-8")
        for kind in re.findall(r"^```([^\n]*)\n.*?^```$", text, re.S | re.M):
            if not known.fullmatch(kind):
                yield f"{page.relative_to(ROOT)}: ```{kind}"


def check_unrun(step):
    """What can be said of an example without running it: that it could be run."""
    if step.kind == "python":
        compile(step.code, "page", "exec")
    elif step.code.startswith("tercet "):
        build_parser()[0].parse_args(shlex.split(step.code, comments=True)[1:])


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


def run_page(page, capsys, data=None):
    """Run everything on a page, in order, and compare, or write what was printed into the page.

    What needs people's answers is left out if there is no folder of them; returned is how much.
    """
    names, printed, left_out = {}, [], 0
    for step in steps(page.read_text("utf-8")):
        if step.reason:
            continue
        if step.needs == "data" and data is None:
            left_out += 1
            continue
        assert step.needs in ("", "data"), f"{page.name}, line {step.line}: {step.needs}"
        printed.append((step, run(step, names, capsys)))
        if not REMAKE:
            compare(*printed[-1], exactly=same_machine())
    if REMAKE:
        remake(page, printed)
    return left_out


def remake(page, printed):
    """Write into a page what its steps have printed, and where that was."""
    text = page.read_text("utf-8")
    for step, said in reversed(printed):
        if step.place is not None and REST not in step.shown:
            text = text[: step.place] + wrap(said) + text[step.place + len(step.shown) :]
    page.write_text(text, "utf-8")
    MADE_ON.write_text(json.dumps(machine(), indent=2) + "\n", "utf-8")


# --- what is shown and what is printed ---------------------------------------------------------


def machine():
    """What decides about the last bits: the processor, and what was built for it."""
    libraries = ("numpy", "scipy", "numba", "scikit-learn")
    return {
        "system": platform.machine(),
        "processor": os.environ.get("NUMBA_CPU_NAME") or binding.get_host_cpu_name(),
        "python": f"{sys.version_info.major}.{sys.version_info.minor}",
        **{name: version(name) for name in libraries},
    }


def same_machine():
    return json.loads(MADE_ON.read_text("utf-8")) == machine()


def compare(step, printed, *, exactly):
    if step.code.startswith(FINDINGS) and not exactly:
        assert printed.split("\n")[0] == step.shown.split("\n")[0]
    elif step.place is not None:
        agree(printed, step.shown, exactly=exactly)


def agree(printed, shown, *, exactly):
    """Compare words and figures, not spaces; which animals and which figures, only nearly."""
    first, *last = (part.split() for part in re.split(f"^{REST}", untimed(shown), flags=re.M))
    words = untimed(printed).split()
    if last:
        (last,) = last
        assert len(words) >= len(first) + len(last), printed
        words = words[: len(first)] + words[len(words) - len(last) :]
        first += last
    mine, theirs = " ".join(words), " ".join(first)
    if exactly:
        assert mine == theirs
        return
    assert blank(mine) == blank(theirs)
    for one, other in zip(NUMBER.findall(mine), NUMBER.findall(theirs), strict=True):
        near = pytest.approx(number(other), rel=SHARE, abs=UNITS * last_digit(other))
        assert number(one) == near, f"{one} for {other} in: {mine}"


def untimed(text):
    """The text without the seconds that rounds took."""
    return ROUNDS.sub(lambda found: found[1] + "\n" + re.sub(r" [\d.]+\n", "\n", found[2]), text)


def number(text):
    return float(text.replace("−", "-"))


def last_digit(text):
    """What a one in the last digit of a number is worth, a whole number's a fifth of that."""
    digits, _, power = text.partition("e")
    decimals = len(digits.partition(".")[2])
    return 10.0 ** (int(power or 0) - decimals) if decimals else 0.2


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


def broken_links(pages):
    """Links to files that are not there."""
    for page in pages:
        for target in re.findall(r"\]\(([^)#]+)", page.read_text("utf-8")):
            if not target.startswith("http") and not (page.parent / target).exists():
                yield f"{page.relative_to(ROOT)}: {target}"
