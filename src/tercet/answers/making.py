"""Choices made of alternatives and what was chosen among them; errors name the row."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.answers.alternatives import (
    About,
    ChoiceFields,
    Objects,
    Ragged,
    again,
    of_rows,
    read_places,
)
from tercet.answers.checks import (
    Array,
    check_column,
    check_times,
    reject_rows,
    row_number,
    show_object,
)
from tercet.arrays import Bools, Index
from tercet.errors import InputError
from tercet.kinds import FARTHEST, FARTHEST_OR_TIE, ONE_OR_TIE, ORDERED, UNORDERED
from tercet.text import counted

__all__ = ["allow_ties", "check_mask", "check_sides", "forbid_ties", "make_choices", "simplify"]


def make_choices(
    objects: Objects,
    pairs: Ragged,
    chosen: Ragged,
    kind: int,
    about: About,
) -> ChoiceFields:
    """Check choices of one kind, and put the chosen alternatives first.

    Parameters
    ----------
    objects : Objects
    pairs : Ragged
        The alternatives, numbers of objects (A, 2).
    chosen : Ragged
        The places of those chosen, among the alternatives of the same choice.
    kind : int
    about : About
        What else was given. Where nobody could tell, what was chosen is ignored.
    """
    m = len(pairs.cuts) - 1
    ends = np.sort(pairs.values, axis=1)
    _check_pairs(Ragged(ends, pairs.cuts), objects)
    tied = check_mask(about.cannot_tell, m, "cannot_tell")
    if tied.any():
        chosen = _untied(chosen, tied)
    _check_chosen(chosen, pairs.cuts, kind, tied)
    positions = None
    if about.positions is not None:
        positions = _check_positions(about.positions, pairs.cuts)
    key = pairs.places() + len(ends)
    key[pairs.cuts[chosen.rows()] + chosen.values] = chosen.places()
    order = np.lexsort((key, pairs.rows()))
    observers, screens, weights = (
        check_column(values, m, field, row_number)
        for values, field in (
            (about.observers, "observers"),
            (about.screens, "screens"),
            (about.weights, "weights"),
        )
    )
    return simplify(
        ChoiceFields(
            ends[order],
            pairs.cuts,
            np.full(m, kind, dtype=np.int8),
            np.diff(chosen.cuts),
            None if positions is None else positions.values[order],
            objects.n_objects,
            objects.names,
            observers,
            screens,
            weights,
            check_times(about.response_times, m, row_number),
        )
    )


def check_mask(given: Any, m: int, word: str) -> Bools:
    """Check a mask (m,) of choices; none are meant by None."""
    mask = np.zeros(m, dtype=bool) if given is None else np.asarray(given)
    if mask.shape != (m,) or mask.dtype != np.bool_:
        raise InputError(
            f"{word} must be True or False for each of {counted(m, 'choice')}, got shape "
            f"{mask.shape} of {mask.dtype}."
        )
    return mask


def check_sides(given: Any, m: int) -> Index | None:
    """Check the positions (m, 2) of the two pairs of comparisons."""
    if given is None:
        return None
    sides = np.asarray(given)
    if sides.shape != (m, 2) or sides.dtype.kind not in "iu" or (sides < -1).any():
        raise InputError(
            f"positions must be whole numbers from 0, or -1, of shape {(m, 2)}; got shape "
            f"{sides.shape} of {sides.dtype}."
        )
    return sides.astype(np.int64)


def _untied(chosen: Ragged, tied: Bools) -> Ragged:
    """What was chosen, and nothing where nobody could tell."""
    counts = np.where(tied, 0, np.diff(chosen.cuts))
    kept = chosen.values[~tied[chosen.rows()]]
    return Ragged(kept, np.concatenate([[0], np.cumsum(counts)]).astype(np.int64))


def _check_positions(values: Any, cuts: Index) -> Ragged:
    """Check positions: one of each alternative, from 0, or -1."""
    positions = read_places(values, "positions", len(cuts) - 1)
    sizes, found = np.diff(cuts), np.diff(positions.cuts)
    reject_rows(
        sizes != found,
        lambda row: (
            f"there are {counted(int(found[row]), 'position')}, but {sizes[row]} alternatives"
        ),
        "Give one position for each alternative, -1 if unknown.",
        row_number,
    )
    below = np.zeros(len(sizes), dtype=bool)
    below[positions.rows()[positions.values < -1]] = True
    reject_rows(
        below,
        lambda row: f"a position is {positions.values[cuts[row] : cuts[row + 1]].min()}",
        "Positions are numbered from 0; -1 is an unknown one.",
        row_number,
    )
    return positions


def _check_pairs(pairs: Ragged, objects: Objects) -> None:
    """Check that there are two or more alternatives, all different and of different objects."""
    row, sizes = pairs.rows(), np.diff(pairs.cuts)

    def tell(cell: int) -> str:
        one, other = (show_object(each, objects.names) for each in pairs.values[cell])
        return f"the pair {one}–{other}"

    reject_rows(
        sizes < 2,
        lambda i: f"it has only {counted(int(sizes[i]), 'alternative')}",
        "A choice is made among two or more; correct or remove it.",
        row_number,
        "with fewer than two alternatives",
    )
    low, high = pairs.values.T
    with of_rows(row) as where:
        reject_rows(
            low == high,
            lambda cell: f"{tell(cell)} is one of an object with itself",
            "A pair needs two different objects; correct or remove the row.",
            where,
            "with a pair of an object with itself",
        )
        reject_rows(
            again(row, low * objects.n_objects + high),
            lambda cell: f"{tell(cell)} is given twice",
            "Every alternative is given once, in either order of its objects; leave out the "
            "second, or remove the row.",
            where,
            "with an alternative given twice",
        )


def _check_chosen(chosen: Ragged, cuts: Index, kind: int, tied: Bools) -> None:
    """Check that alternatives were chosen that exist, each once, and not all without an order."""
    row, sizes, count = chosen.rows(), np.diff(cuts), np.diff(chosen.cuts)
    reject_rows(
        (count == 0) & ~tied,
        lambda i: "nothing is chosen",
        "Say what was chosen or, if the observer could not tell, say so (in Python: cannot_tell).",
        row_number,
        "in which nothing is chosen",
    )
    with of_rows(row) as where:
        reject_rows(
            (chosen.values < 0) | (chosen.values >= sizes[row]),
            lambda cell: (
                f"chosen is {chosen.values[cell]}, but there are {sizes[row[cell]]} alternatives, "
                f"numbered 0 to {sizes[row[cell]] - 1}"
            ),
            "Give the place of the chosen one among the alternatives.",
            where,
            "whose chosen alternative was not shown",
        )
        reject_rows(
            again(row, chosen.values),
            lambda cell: f"alternative {chosen.values[cell]} (counting from 0) is chosen twice",
            "An alternative can be chosen once; correct or remove the row.",
            where,
            "in which an alternative is chosen twice",
        )
    if kind == UNORDERED:
        reject_rows(
            count >= sizes,
            lambda i: f"all {sizes[i]} alternatives are chosen, and their order is unknown",
            "Such a choice says nothing: remove the row or, if the order is known, say so "
            "(in Python: ordered=True or ranked=True).",
            row_number,
            "in which all alternatives are chosen",
        )


def simplify(fields: ChoiceFields) -> ChoiceFields:
    """The same choices, each as the simplest kind that says the same.

    If nobody could tell in some choices of one, "cannot tell" was an answer to all of them.
    """
    pairs, cuts, kinds, count, positions, *_ = fields
    sizes = np.diff(cuts)
    swapped = cuts[:-1][(kinds == FARTHEST) & (sizes == 2) & (count > 0)]
    if len(swapped):  # the other one is the nearest
        order = np.arange(len(pairs))
        order[swapped], order[swapped + 1] = swapped + 1, swapped
        pairs = pairs[order]
        positions = None if positions is None else positions[order]
    plain = (sizes == 2) | ((kinds == UNORDERED) & (count <= 1))
    kinds = np.where(plain, ORDERED, kinds).astype(np.int8)
    count = np.where(kinds == ORDERED, np.minimum(count, sizes - 1), count)
    if (count == 0).any():
        kinds = allow_ties(kinds, count)
    return fields._replace(pairs=pairs, kinds=kinds, n_chosen=count, positions=positions)


def allow_ties(kinds: Array, count: Index) -> Array:
    """The kinds if "cannot tell" was an answer to all choices of one."""
    single = count <= 1
    kinds = np.where(single & (kinds == ORDERED), ONE_OR_TIE, kinds)
    return np.where(single & (kinds == FARTHEST), FARTHEST_OR_TIE, kinds).astype(np.int8)


def forbid_ties(kinds: Array) -> Array:
    """The kinds if "cannot tell" was no answer."""
    kinds = np.where(kinds == ONE_OR_TIE, ORDERED, kinds)
    return np.where(kinds == FARTHEST_OR_TIE, FARTHEST, kinds).astype(np.int8)
