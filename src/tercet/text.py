"""Text about numbers, lists and names, and text that is safe for a terminal."""

from __future__ import annotations

import difflib
import re
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "PYTHON",
    "WIDTH",
    "alike",
    "closest",
    "counted",
    "first_again",
    "harmless",
    "joined",
    "list_alike",
    "listed",
    "listing",
    "one_line",
    "percent",
    "plural",
    "printable",
    "shown",
    "were",
    "wrap",
]

WIDTH = 100  # of a line, in characters
LONGEST = 80  # characters of a value
MOST = 20  # values
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?")
MOST_COMPARED = 10_000  # names that are searched for a similar one

# A remark for programmers, "(in Python: …)", which may contain parentheses and line breaks.
PYTHON = re.compile(r"\s*\(in\s+Python:\s+((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)")


# --- numbers ----------------------------------------------------------------------------------


def plural(number: int, word: str) -> str:
    """The word for a number: "answer" for 1, else "answers"."""
    return word if number == 1 else f"{word}s"


def counted(number: int, word: str) -> str:
    """A number and its word: "1 answer", "3 answers"."""
    return f"{number} {plural(number, word)}"


def were(number: int) -> str:
    """The verb for a number: "was" for 1, else "were"."""
    return "was" if number == 1 else "were"


def percent(share: float) -> str:
    """A share as a percentage with three digits: "12.3 %"."""
    return f"{100.0 * share:.3g} %"


# --- values and lists -------------------------------------------------------------------------


def shown(value: object) -> str:
    """A value, truncated if it is long."""
    try:
        text = repr(value)
    except ValueError:  # a number of thousands of digits
        return f"a {type(value).__name__} too long to show"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def listed(
    values: Sequence[Any], limit: int = MOST, show: Callable[[Any], str] = shown, more: int = 0
) -> str:
    """Write out the first values, and count the others and ``more``."""
    left = max(len(values) - limit, 0) + max(more, 0)
    return ", ".join(map(show, values[:limit])) + (f" and {left} more" if left else "")


def listing(
    names: Sequence[str] | None, objects: Sequence[int] | NDArray[np.int64], limit: int = 10
) -> str:
    """Write out the first objects, by name where they have one, and count the others."""
    first = [int(i) if names is None else names[i] for i in objects[:limit]]
    return listed(first, limit, more=len(objects) - limit)


def joined(words: Sequence[object]) -> str:
    """Words joined as in a sentence: "a", "a and b", "a, b and c"."""
    *before, last = map(str, words)
    return f"{', '.join(before)} and {last}" if before else last


def first_again(values: Iterable[str]) -> str | None:
    """The first repeated value; None if all are different."""
    seen: set[str] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


# --- names that look alike --------------------------------------------------------------------


def closest(name: str, names: Sequence[str]) -> str | None:
    """The most similar name; None if there is none, or searching would take long."""
    if len(name) > LONGEST or len(names) > MOST_COMPARED:
        return None
    few = [each for each in names if len(each) <= LONGEST]
    return next(iter(difflib.get_close_matches(name, few, n=1)), None)


def alike(names: Iterable[str]) -> list[list[str]]:
    """Names that differ only in case, spaces, encoding of accents, or zeros of a number."""
    groups: dict[str, list[str]] = {}
    for name in names:
        key = "".join(unicodedata.normalize("NFKC", name).casefold().split())
        if _NUMBER.fullmatch(name):
            key = repr(float(name) + 0.0)
        groups.setdefault(key, []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def list_alike(groups: Sequence[Sequence[str]]) -> str:
    """Write out the first groups of names that look alike, and count the others."""
    first = [" and ".join(map(shown, group[:3])) for group in groups[:5]]
    return "; ".join(first) + (f" and {len(groups) - 5} more" if len(groups) > 5 else "")


# --- paragraphs and terminals -----------------------------------------------------------------


def wrap(text: str, width: int = WIDTH, indent: str = "") -> str:
    """A paragraph in lines; all but the first are indented.

    No line starts with a % sign, and names with hyphens are not split.
    """
    kept = textwrap.fill(
        text.replace(" %", "\N{NO-BREAK SPACE}%"),
        width,
        subsequent_indent=indent,
        break_on_hyphens=False,
    )
    return kept.replace("\N{NO-BREAK SPACE}", " ")


def harmless(text: str, keep: str = "\n") -> str:
    r"""Text whose control characters are escaped, as ``\x1b``; line breaks are kept.

    Names come from files, and may contain control sequences.

    Parameters
    ----------
    text : str
    keep : str
        Characters that are not escaped.
    """
    return "".join(c if c.isprintable() or c in keep else repr(c)[1:-1] for c in text)


def printable(value: object) -> str:
    """A value as one line, safe for a terminal."""
    return harmless(str(value), keep="")


def one_line(text: str) -> str:
    """A message as one line, safe for a terminal."""
    return printable(" ".join(text.splitlines()))
