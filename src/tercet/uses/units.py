"""Which answers belong together, and folds that never part them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tercet.errors import InputError
from tercet.triplets import Triplets

Index = NDArray[np.int64]

UNITS = ("answer", "comparison", "screen", "observer")


def number_comparisons(triplets: Triplets) -> Index:
    """The question that each row (m,) answers, numbered from 0; either answer, the same question.

    Two pairs make a question, whichever was called nearer and whichever object came first.
    """
    pairs = triplets.pairs()
    keys = [
        np.minimum(one, other) * triplets.n_objects + np.maximum(one, other)
        for one, other in (pairs[:, :2].T, pairs[:, 2:].T)
    ]
    question = np.stack([np.minimum(*keys), np.maximum(*keys)], axis=1)
    return np.unique(question, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)


def number_units(triplets: Triplets, unit: str | None = None) -> Index:
    """The unit that each row (m,) belongs to, numbered from 0.

    Parameters
    ----------
    triplets : Triplets
    unit : {"answer", "comparison", "screen", "observer"}, optional
        By default screens where some have several answers (these are one choice), else
        comparisons: a question that was asked twice is one unit.
    """
    unit = default_unit(triplets) if unit is None else unit
    if unit not in UNITS:
        raise InputError(f"unit must be one of {', '.join(map(repr, UNITS))}, got {unit!r}.")
    if unit == "answer":
        return np.arange(len(triplets))
    if unit == "comparison":
        return number_comparisons(triplets)
    labels = triplets.screens if unit == "screen" else triplets.observers
    if labels is None:
        raise InputError(
            f"unit={unit!r} keeps whole {unit}s together, but the answers do not say which {unit} "
            f"they come from: add a column {unit} (in Python: Triplets(..., {unit}s=...)), or use "
            "another unit."
        )
    if unit == "screen":
        return triplets.number_screens()
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def single_answers(triplets: Triplets, what: str) -> Index:
    """The row of every single answer: votes are answers of their own.

    Parameters
    ----------
    triplets : Triplets
    what : str
        What they are called, for the error where weights are not votes.
    """
    if triplets.weights is not None and triplets.votes is None:
        raise InputError(
            f"the weights of {what} are not whole numbers, so they do not say how many answers "
            "there were; give counts, or leave the weights out."
        )
    return triplets.each_vote()


def default_unit(triplets: Triplets) -> str:
    """Screens where some have several answers, else comparisons."""
    return "screen" if triplets.shares_screens else "comparison"


def deal(units: Index, k: int, rng: np.random.Generator) -> Index:
    """The fold (m,), 0 to k − 1, of each row: whole units, about as many rows in every fold.

    Parameters
    ----------
    units : (m,) integer array
        As `number_units` returns them.
    k : int
        How many folds.
    rng : numpy.random.Generator
    """
    count = int(units.max()) + 1
    if not 2 <= k <= count:
        raise InputError(f"there are {count} units for {k} folds; use 2 to {count} folds.")
    sizes = np.bincount(units)
    order = rng.permutation(count)
    before = np.cumsum(sizes[order]) - sizes[order]
    fold = np.empty(count, dtype=np.int64)
    # A unit goes where the middle of its rows falls; then no fold may stay empty.
    fold[order] = ((before + 0.5 * sizes[order]) * k / sizes.sum()).astype(np.int64)
    if len(np.unique(fold)) < k:
        fold[order] = np.arange(count) * k // count
    return fold[units]
