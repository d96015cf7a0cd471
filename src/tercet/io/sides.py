"""Whether a response means the left or the right choice."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.answers.checks import natural_key
from tercet.errors import InputError
from tercet.io.cells import Cells
from tercet.text import listed, shown

__all__ = ["KEYS", "Keys", "split_keys", "tell_sides", "unanswered"]

KEYS = ("left_key", "right_key")

Text = NDArray[np.object_]

# Left and right. A key that is in several pairs is ambiguous until its partner is seen.
_PAIRS = [
    ("left", "right"),
    ("arrowleft", "arrowright"),
    ("l", "r"),
    ("0", "1"),
    ("1", "2"),
    ("num_1", "num_2"),
    ("num_4", "num_6"),
    ("f", "j"),
    ("d", "k"),
    ("s", "l"),
    ("a", "l"),
    ("a", "d"),
    ("q", "p"),
    ("z", "m"),
    ("y", "m"),
    ("x", "m"),
    ("z", "slash"),
    ("z", "/"),
    ("c", "n"),
    ("comma", "period"),
    (",", "."),
    ("lshift", "rshift"),
    ("lctrl", "rctrl"),
]
_LISTED = re.compile(r"\[\s*(?:u?'([^']*)'|u?\"([^\"]*)\"|([^\s,'\"\]]+))\s*\]")


class Keys(NamedTuple):
    """The responses that mean left and right, as given by the caller."""

    left: str
    right: str

    def __str__(self) -> str:
        return f"{self.left!r} or {self.right!r}"


def split_keys(columns: Mapping[str, str] | None) -> tuple[dict[str, str], Keys | None]:
    """Separate ``left_key`` and ``right_key``, which are not columns, from the mapping."""
    rest = dict(columns or {})
    left, right = (rest.pop(word, None) for word in KEYS)
    if left is None and right is None:
        return rest, None
    if left is None or right is None or left.strip().lower() == right.strip().lower():
        raise InputError(
            "columns: left_key and right_key are the responses that mean left and right; both are "
            f"required and must differ, got {left!r} and {right!r}."
        )
    return rest, Keys(left.strip(), right.strip())


def unanswered(table: Cells, place: int) -> NDArray[np.bool_]:
    """Which responses (rows,) are missing, or an empty list."""
    is_list = np.array([cell == "[]" for cell in table.unique], dtype=bool)[table.column(place)]
    return is_list | table.blank([place])[:, 0]


def tell_sides(
    table: Cells, responses: Text, left: Text, right: Text, keys: Keys | None
) -> NDArray[np.int64]:
    """Whether each response (m,) means left (0), right (1), or something else (-1).

    If ``keys`` are given, a response is one of them or -1. Else all responses are keys or names of
    a side, such as "left", "f" and "j", or "image_right"; or all are the stimulus on one of the
    sides. Anything else is an error, and so is a case in which both are possible and differ.
    """
    sides = np.full(len(responses), -1)
    words = np.array([_bare(response) for response in responses], dtype=object)
    if keys is not None:
        for side, key in enumerate(keys):
            sides[words == key.lower()] = side
        return sides
    stimuli = np.where(responses == left, 0, np.where(responses == right, 1, -1))
    meaning = _meaning(set(words.tolist()))
    if meaning is None:
        if np.count_nonzero(stimuli < 0) > len(stimuli) / 2:
            raise InputError(_unclear(table, responses, stimuli < 0))
        table.reject(  # most responses are stimuli, so these rows are invalid
            stimuli < 0,
            lambda row: (
                f"the response is {responses[row]!r:.60}, which was on neither side "
                f"({left[row]!r:.60} and {right[row]!r:.60})"
            ),
            "Correct or remove it, or add the responses that mean left and right to the columns, "
            "such as left_key=f, right_key=j.",
            "whose response was on neither side",
        )
        return stimuli
    sides[:] = [meaning[word] for word in words]
    differ = (stimuli >= 0) & (stimuli != sides) & (left != right)
    if differ.any() and (stimuli >= 0).all():
        raise InputError(_unclear(table, responses, differ))
    return sides


def _bare(response: str) -> str:
    """A response in lower case, without the brackets of a list of one."""
    listed = _LISTED.fullmatch(response)
    return (next(filter(None, listed.groups()), "") if listed else response).lower()


def _meaning(words: set[str]) -> dict[str, int] | None:
    """The side of every word, or None if it is unclear."""
    fitting = [pair for pair in _PAIRS if words <= set(pair)]
    if fitting:
        sides = {word: {pair.index(word) for pair in fitting} for word in words}
        if all(len(each) == 1 for each in sides.values()):
            return {word: each.pop() for word, each in sides.items()}
        return None
    named = {word: [side for side in ("left", "right") if side in word] for word in words}
    if all(len(each) == 1 for each in named.values()):
        return {word: int(each == ["right"]) for word, each in named.items()}
    return None


def _unclear(table: Cells, responses: Text, open_: NDArray[np.bool_]) -> str:
    values = sorted(set(responses[open_].tolist()), key=natural_key)
    found = listed(values, 8)
    row = int(open_.argmax())
    return (
        f"{table.where(row)}: the response is {shown(responses[row])}, and it is unclear which "
        f"side it means; responses found: {found}. Add those that mean left and right to the "
        "columns, such as left_key=f, right_key=j."
    )
