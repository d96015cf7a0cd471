"""Whether a response means the left or the right choice, or that the observer could not tell."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.answers.checks import natural_key
from tercet.answers.titles import plain_title
from tercet.arrays import Bools, Index
from tercet.errors import InputError
from tercet.io.cells import Cells
from tercet.text import listed, shown

__all__ = ["KEYS", "Keys", "Sides", "could_not_tell", "split_keys", "tell_sides", "unanswered"]

KEYS = ("left_key", "right_key", "tie_key")
# Responses of those who could not tell, in the form of `plain_title`.
_TIES = {
    *("cannottell", "canttell", "couldnottell", "cannotdecide", "cantdecide", "cannotsay"),
    *("dontknow", "donotknow", "notsure", "unsure", "undecided", "tie", "tied", "draw"),
    *("equal", "equally", "equallysimilar", "equallyclose", "equallyfar", "equidistant"),
    *("same", "thesame", "neither", "nodifference", "nopreference"),
}

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
    """The responses that mean left, right and "cannot tell", as given by the caller."""

    left: str | None  # None if it is to be found out; likewise right
    right: str | None
    tie: str | None

    @property
    def are_given(self) -> bool:
        """Whether left and right are given."""
        return self.left is not None

    def __str__(self) -> str:
        known = [each for each in self if each is not None]
        return " or ".join(map(repr, known))


class Sides(NamedTuple):
    """What responses mean."""

    sides: Index  # (m,): left (0), right (1), or something else (-1)
    tied: Bools  # (m,): the observer could not tell; the side is then 0, without a meaning

    def take(self, kept: Bools) -> Sides:
        """The same of some responses."""
        return Sides(self.sides[kept], self.tied[kept])


def split_keys(columns: Mapping[str, str] | None) -> tuple[dict[str, str], Keys]:
    """Separate ``left_key``, ``right_key`` and ``tie_key``, which are not columns."""
    rest = dict(columns or {})
    keys = Keys(*(None if (key := rest.pop(word, None)) is None else key.strip() for word in KEYS))
    left, right, tie = (None if key is None else key.lower() for key in keys)
    if (left is None) != (right is None) or (left is not None and left == right):
        raise InputError(
            "columns: left_key and right_key are the responses that mean left and right; both are "
            f"required and must differ, got {keys.left!r} and {keys.right!r}."
        )
    if tie is not None and tie in (left, right):
        raise InputError(
            "columns: tie_key is the response of those who could not tell, and must differ from "
            f"left_key and right_key, got {keys.tie!r}."
        )
    return rest, keys


def could_not_tell(cell: str) -> bool:
    """Whether a cell says that the observer could not tell, such as "cannot tell" or "equal"."""
    return plain_title(cell) in _TIES


def unanswered(table: Cells, place: int) -> NDArray[np.bool_]:
    """Which responses (rows,) are missing, or an empty list."""
    is_list = np.array([cell == "[]" for cell in table.unique], dtype=bool)[table.column(place)]
    return is_list | table.blank([place])[:, 0]


def tell_sides(table: Cells, responses: Text, left: Text, right: Text, keys: Keys) -> Sides:
    """What each response (m,) means: left, right, "cannot tell", or something else.

    The observer could not tell if the response is the caller's key for it, or says so in words and
    is not a stimulus of the row. If the keys of the sides are given, another response is one of
    them or something else. If not, all others are keys or names of a side, such as "left", "f" and
    "j", or "image_right"; or all are the stimulus on one of the sides. Anything else is an error,
    and so is a case in which both are possible and differ.
    """
    words = np.array([_bare(response) for response in responses], dtype=object)
    said = np.array([could_not_tell(word) for word in words], dtype=np.bool_)
    tied = said & (responses != left) & (responses != right)
    if keys.tie is not None:
        tied |= words == keys.tie.lower()
    sides = np.full(len(responses), -1)
    if keys.are_given:
        for side, key in enumerate((keys.left, keys.right)):
            sides[~tied & (words == str(key).lower())] = side
    elif not tied.all():
        told = ~tied
        rest = table if told.all() else table.take(told)
        sides[told] = _guess_sides(rest, responses[told], words[told], left[told], right[told])
    return Sides(np.where(tied, 0, sides), tied)


def _guess_sides(table: Cells, responses: Text, words: Text, left: Text, right: Text) -> Index:
    """Left (0) or right (1) for each response (m,)."""
    sides = np.full(len(responses), -1)
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
            "such as left_key=f, right_key=j, or tie_key=space for those who could not tell.",
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
        "columns, such as left_key=f, right_key=j; tie_key=space would be the response of those "
        "who could not tell."
    )
