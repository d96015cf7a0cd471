"""How many answers there are, to how many comparisons, of whom."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.answers.questions import Index
from tercet.answers.repeats import Prepared, tally
from tercet.triplets import Triplets

__all__ = ["Counts", "Spread", "count_answers", "count_copies", "mentions"]

FEWEST_COPIES = 20  # rows that do not repeat themselves by chance
LISTED = 5  # objects with the fewest answers, by name


class Spread(NamedTuple):
    """The smallest, the median and the largest of some numbers."""

    least: float
    median: float
    most: float


class Counts(NamedTuple):
    """How much was asked, of whom.

    Attributes
    ----------
    answers : int
        Votes count one by one.
    comparisons : int
        Distinct ones, whichever way they were answered.
    objects : int
        Mentioned or not.
    observers, screens : int or None
        None where unknown.
    per_object : Spread
        Answers that mention an object.
    rarest : tuple of str or int
        The objects in the fewest answers, by name or else by number, rarest first.
    per_observer : Spread or None
    """

    answers: int
    comparisons: int
    objects: int
    observers: int | None
    screens: int | None
    per_object: Spread
    rarest: tuple[str | int, ...]
    per_observer: Spread | None


def count_answers(prepared: Prepared) -> Counts:
    """Count answers, comparisons, objects, observers and screens."""
    triplets, votes = prepared.triplets, prepared.votes
    names, screens, observer = triplets.names, triplets.screens, prepared.observer
    mentioned = mentions(triplets, votes)
    rarest = np.argsort(mentioned, kind="stable")[:LISTED].tolist()
    return Counts(
        answers=triplets.n_answers,
        comparisons=int(prepared.question.max()) + 1,
        objects=triplets.n_objects,
        observers=None if observer is None else len(prepared.labels),
        screens=None if screens is None else len(np.unique(screens)),
        per_object=spread(mentioned),
        rarest=tuple(rarest if names is None else (names[i] for i in rarest)),
        per_observer=None
        if observer is None
        else spread(tally(observer, votes, len(prepared.labels))),
    )


def count_copies(triplets: Triplets) -> int:
    """How many rows are copies of others, as where a file was joined with itself.

    With response times that tell rows apart, a row is a copy if all of it was there before. Without
    them, people may answer alike by chance, and only a second half that repeats the first, row by
    row, is taken for a copy.
    """
    rows, observers, times = triplets.array, triplets.observers, triplets.response_times
    who = np.zeros(len(rows), np.int64)
    if observers is not None:
        who = np.unique(observers, return_inverse=True)[1]
    whole = np.column_stack([rows, who])
    if times is not None and len(np.unique(times[known := ~np.isnan(times)])) > len(rows) / 4:
        timed = np.column_stack([whole[known], times[known].view(np.int64)])
        return len(timed) - len(np.unique(timed, axis=0))
    half = len(whole) // 2
    twice = len(whole) == 2 * half >= FEWEST_COPIES and (whole[:half] == whole[half:]).all()
    return half if twice else 0


def mentions(triplets: Triplets, votes: Index) -> Index:
    """How many answers mention each object, (n,); one that is twice in a row counts once."""
    rows = np.sort(triplets.array, axis=1)
    fresh = np.diff(rows, axis=1, prepend=-1) > 0
    return tally(rows[fresh], np.repeat(votes, fresh.sum(axis=1)), triplets.n_objects)


def spread(values: NDArray[Any]) -> Spread:
    """The smallest, the median and the largest."""
    return Spread(float(values.min()), float(np.median(values)), float(values.max()))
