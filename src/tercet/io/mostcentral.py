"""Most central: which of three objects is the most like the two others."""

from __future__ import annotations

from tercet.io.formats import Format
from tercet.io.threes import Threes

__all__ = ["MOST_CENTRAL"]

_THREES = Threes(
    name="most-central",
    title="a table of most central ones",
    one=("central", "chosen_center", "chosen_centre", "center", "centre"),
    others=(("other1", "other2"), ("other_1", "other_2")),
    shown=(  # the first as in the survey of cars by Kleindessner and von Luxburg
        ("triplet_object_1", "triplet_object_2", "triplet_object_3"),
        ("object1", "object2", "object3"),
    ),
    headerless=("central", "other1", "other2"),
    answers=((1, 0, 2), (2, 0, 1)),  # each of the others is closer to the central one
    labelled=("triplet_object_1",),
)

MOST_CENTRAL = Format(
    _THREES.name,
    _THREES.title,
    "columns central, other1, other2 (or object1, object2, object3, central)",
    _THREES.matches,
    _THREES.read,
)
