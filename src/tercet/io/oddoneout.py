"""Odd one out: which of three objects is the least like the two others (THINGS, VICE)."""

from __future__ import annotations

from tercet.io.formats import Format
from tercet.io.threes import Threes

__all__ = ["ODD_ONE_OUT"]

_THREES = Threes(
    name="odd-one-out",
    title="a table of odd ones out",
    one=("odd", "odd_one_out", "oddoneout", "odd-one-out"),
    others=(("similar1", "similar2"), ("similar_1", "similar_2"), ("pair1", "pair2")),
    shown=(("object1", "object2", "object3"), ("image1", "image2", "image3")),
    headerless=("similar1", "similar2", "odd"),  # as in the texts of THINGS
    answers=((1, 2, 0), (2, 1, 0)),  # the others are closer to each other than to the odd one
)

ODD_ONE_OUT = Format(
    _THREES.name,
    _THREES.title,
    "columns similar1, similar2, odd (or object1, object2, object3, odd)",
    _THREES.matches,
    _THREES.read,
)
