"""How many answers there are, and how often two answers to one comparison differ."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.observers import label_observers
from tercet.triplets import Triplets
from tercet.uses.compare.misfit import NoiseCeiling, noise_ceiling
from tercet.uses.units import Index, number_comparisons

__all__ = ["Counts", "Disagreement", "Repeats", "Spread"]

ENOUGH = 20  # comparisons that were asked twice, for a noise ceiling
FEWEST_COPIES = 20  # rows that do not repeat themselves by chance
LISTED = 5  # objects with the fewest answers, by name


class Prepared(NamedTuple):
    """The answers, numbered: what everything here is counted from."""

    triplets: Triplets
    votes: Index  # (m,) answers in a row; 1 where weights are no counts
    question: Index  # (m,) the comparison, whichever way answered
    first: NDArray[np.bool_]  # (m,) which of the two ways
    observer: Index | None  # (m,) from 0
    labels: tuple[str, ...]  # of the observers


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


class Disagreement(NamedTuple):
    """Pairs of answers to the same comparison.

    Attributes
    ----------
    comparisons, pairs : int
        How many comparisons have such pairs, and how many pairs there are.
    rate : float
        Share of a comparison's pairs that differ, averaged over comparisons: one that was asked of
        everybody counts once. ½ is what guessing gives; NaN where there is no pair.
    """

    comparisons: int
    pairs: int
    rate: float


class Repeats(NamedTuple):
    """Comparisons that were answered more than once.

    Attributes
    ----------
    comparisons, answers : int
        How many there are, and answers to them.
    contradicted : int
        Comparisons that were answered both ways.
    overall : Disagreement
        Of all answers to the same comparison.
    within, between : Disagreement or None
        Both answers from one observer, or from two; None where observers are unknown.
    between_same : Disagreement or None
        ``between``, on comparisons that count in ``within``: these may be harder than the others.
    ceiling : NoiseCeiling or None
        How many such answers a model could predict that does not know who answers; None where
        fewer than 20 comparisons were asked again.
    own_ceiling : NoiseCeiling or None
        How many one could that does know, from comparisons that one observer answered more than
        once; None where fewer than 20 were, or observers are unknown.
    """

    comparisons: int
    answers: int
    contradicted: int
    overall: Disagreement
    within: Disagreement | None
    between: Disagreement | None
    between_same: Disagreement | None
    ceiling: NoiseCeiling | None
    own_ceiling: NoiseCeiling | None


def prepare(triplets: Triplets) -> Prepared:
    """Number questions and observers, once."""
    pairs, n = triplets.pairs(), triplets.n_objects
    one, other = (
        np.minimum(*pair) * n + np.maximum(*pair) for pair in (pairs[:, :2].T, pairs[:, 2:].T)
    )
    votes = triplets.votes
    known, observer = (
        ((), None)
        if triplets.observers is None
        else np.unique(triplets.observers, return_inverse=True)
    )
    return Prepared(
        triplets,
        np.ones(len(triplets), dtype=np.int64) if votes is None else votes,
        number_comparisons(triplets),
        one < other,
        observer,
        tuple(label_observers(known)),
    )


def count(prepared: Prepared) -> Counts:
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


def find_repeats(prepared: Prepared) -> Repeats | str:
    """What repeated comparisons say, or why they say nothing."""
    triplets, votes, question, first = prepared[:4]
    if triplets.weights is not None and triplets.votes is None:
        return "the weights are not whole numbers, so they do not count answers"
    total = tally(question, votes)
    near = tally(question, votes * first, len(total))
    again = total > 1
    if not again.any():
        return "no comparison was asked more than once"
    pairs, differing = answer_pairs(near, total)
    within = between = between_same = own_ceiling = None
    if prepared.observer is not None:
        place, own_near, own_total = by_observer(prepared)
        asked = np.empty(len(own_total), dtype=np.int64)
        asked[place] = question
        own_pairs, own_differing = (
            tally(asked, amounts, len(total)) for amounts in answer_pairs(own_near, own_total)
        )
        within = _disagreement(own_pairs, own_differing)
        between = _disagreement(pairs - own_pairs, differing - own_differing)
        same = own_pairs > 0
        between_same = _disagreement((pairs - own_pairs)[same], (differing - own_differing)[same])
        own_ceiling = _ceiling(own_near, own_total)
    return Repeats(
        comparisons=int(again.sum()),
        answers=int(total[again].sum()),
        contradicted=int(((near > 0) & (near < total)).sum()),
        overall=_disagreement(pairs, differing),
        within=within,
        between=between,
        between_same=between_same,
        ceiling=_ceiling(near, total),
        own_ceiling=own_ceiling,
    )


def _ceiling(near: Index, total: Index) -> NoiseCeiling | None:
    """The noise ceiling, where enough was asked more than once."""
    again = total > 1
    enough = np.count_nonzero(again) >= ENOUGH
    return noise_ceiling(near[again], total[again]) if enough else None


def by_observer(prepared: Prepared) -> tuple[Index, Index, Index]:
    """Each observer's answers to each comparison.

    Returns
    -------
    place : (m,) integer array
        Where in the next two, of shape (P,), a row is counted.
    near, total : (P,) integer array
        Answers one way, and in all.
    """
    assert prepared.observer is not None
    keys = prepared.observer * (prepared.question.max() + 1) + prepared.question
    place = np.unique(keys, return_inverse=True)[1]
    total = tally(place, prepared.votes)
    return place, tally(place, prepared.votes * prepared.first, len(total)), total


def answer_pairs(near: Index, total: Index) -> tuple[Index, Index]:
    """Pairs of answers, ``near`` of ``total`` one way, and pairs that differ; (Q,) each."""
    return total * (total - 1) // 2, near * (total - near)


def _disagreement(pairs: Index, differing: Index) -> Disagreement:
    some = pairs > 0
    rate = float(np.mean(differing[some] / pairs[some])) if some.any() else math.nan
    return Disagreement(int(some.sum()), int(pairs.sum()), rate)


def tally(place: Index, amounts: NDArray[Any], size: int = 0) -> Index:
    """Sum whole amounts (m,) by place (m,)."""
    return np.bincount(place, amounts, size).astype(np.int64)


def spread(values: NDArray[Any]) -> Spread:
    """The smallest, the median and the largest."""
    return Spread(float(values.min()), float(np.median(values)), float(values.max()))
