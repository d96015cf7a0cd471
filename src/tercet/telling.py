"""How messages show what comes from data: escaped, and never longer than anybody reads."""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["alike", "closest", "first_again", "list_alike", "listed", "listing", "shown"]

LONGEST = 80  # letters of a value
MOST = 20  # values
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?")
MOST_COMPARED = 10_000  # names, for one like another


def shown(value: object) -> str:
    """A value, cut where it is long."""
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


def first_again(values: Iterable[str]) -> str | None:
    """The first value that was there before; None where all are different."""
    seen: set[str] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


def closest(name: str, names: Sequence[str]) -> str | None:
    """The name that is most like it; None where none is, or where to look would take long."""
    if len(name) > LONGEST or len(names) > MOST_COMPARED:
        return None
    few = [each for each in names if len(each) <= LONGEST]
    return next(iter(difflib.get_close_matches(name, few, n=1)), None)


def alike(names: Iterable[str]) -> list[list[str]]:
    """Names that differ only in case, spaces, how accents are coded, or zeros of a number."""
    groups: dict[str, list[str]] = {}
    for name in names:
        key = "".join(unicodedata.normalize("NFKC", name).casefold().split())
        if _NUMBER.fullmatch(name):
            key = repr(float(name) + 0.0)
        groups.setdefault(key, []).append(name)
    return [group for group in groups.values() if len(group) > 1]


def list_alike(groups: Sequence[Sequence[str]]) -> str:
    """Write out the first groups of names that look alike, and count the others."""
    told = [" and ".join(map(shown, group[:3])) for group in groups[:5]]
    return "; ".join(told) + (f" and {len(groups) - 5} more" if len(groups) > 5 else "")
