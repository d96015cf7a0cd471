"""How many answers there are, of whom, and whether observers differ from each other."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from tercet.answers.questions import pair_codes
from tercet.answers.repeats import Prepared, tally
from tercet.answers.triplets import Triplets
from tercet.arrays import Floats, Index

__all__ = [
    "Counts",
    "ObserverDifferences",
    "Spread",
    "count_answers",
    "count_copies",
    "mentions",
]

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


# --- whether observers differ: a permutation test that needs no map -----------------------------


FEWEST, SHUFFLES = 199, 999  # how often observers are shuffled
WORK = 10_000_000  # answers times shuffles, beyond which these become fewer
MOST = 50_000  # answers that are looked at; of more, whole comparisons are drawn


class ObserverDifferences(NamedTuple):
    """Whether an observer's answers go together more than those of different observers.

    Attributes
    ----------
    comparisons, answers : int
        That several observers answered, and not all alike: what the test is made of.
    ratio : float
        Variance of what observers sum up to, over that of shuffled ones; 1 where they do not
        differ. How large it becomes depends on the number of answers, too.
    p_value : float
        Share of shuffles that have as large a variance, the real answers counted among them.
    """

    comparisons: int
    answers: int
    ratio: float
    p_value: float


class Telling(NamedTuple):
    """Answers that tell, those to one comparison after each other."""

    question: Index  # (a,) rising
    observer: Index  # (a,)
    pairs: Index  # (a, 2) of objects, the first and the second
    deviation: Floats  # (a,) from the average answer to the comparison, towards its first pair


def compare_observers(
    prepared: Prepared, left_out: NDArray[np.bool_], rng: np.random.Generator
) -> ObserverDifferences | str:
    """Test whether observers differ from each other, or say why it cannot be tested.

    Parameters
    ----------
    prepared : Prepared
    left_out : (K,) bool array
        Observers whose answers do not count, such as guessers.
    rng : numpy.random.Generator
    """
    if prepared.observer is None:
        return "who gave each answer is not known"
    if prepared.triplets.weights is not None and prepared.triplets.votes is None:
        return "the weights are not whole numbers, so they do not count answers"
    if np.count_nonzero(~left_out) < 2:
        return "there are no two observers to compare"
    telling = _find_telling(prepared, prepared.observer, left_out, rng)
    size = len(telling.question)
    if not size:
        return "no two of them answered the same comparison differently"
    many = min(max(WORK // size, FEWEST), SHUFFLES)
    real = _variance(telling, telling.observer)
    shuffled = np.empty(many)
    for k in range(many):
        # The numbers of questions are whole, and rise: each answer gets an observer of its own.
        order = np.argsort(telling.question + rng.random(size))
        shuffled[k] = _variance(telling, telling.observer[order])
    rounding = 1e-9 * real  # sums of the same numbers in another order
    if np.ptp(shuffled) <= rounding:
        return "hardly anyone judged the same two objects twice in such comparisons"
    reached = int(np.count_nonzero(shuffled >= real - rounding))
    return ObserverDifferences(
        len(np.unique(telling.question)),
        size,
        float(real / shuffled.mean()),
        (1 + reached) / (1 + many),
    )


def _variance(telling: Telling, observer: Index) -> float:
    """Sum over observers and pairs of objects of the squared sum of deviations."""
    who = np.concatenate([observer, observer])
    signed = np.concatenate([telling.deviation, -telling.deviation])
    sums = coo_array((signed, (who, telling.pairs.T.reshape(-1)))).tocsr().data
    return float(np.square(sums).sum())


def _find_telling(
    prepared: Prepared, observer: Index, left_out: NDArray[np.bool_], rng: np.random.Generator
) -> Telling:
    """Answers to comparisons that several observers answered, and not all alike."""
    rows = rng.permutation(np.flatnonzero(~left_out[observer]))
    if prepared.triplets.screens is not None:
        rows = rows[np.unique(prepared.triplets.screens[rows], return_index=True)[1]]
    question, votes, first = prepared.question[rows], prepared.votes[rows], prepared.first[rows]
    size = int(prepared.question.max()) + 1
    total, near = np.bincount(question, votes, size), np.bincount(question, votes * first, size)
    asked = np.unique(question * len(prepared.labels) + observer[rows]) // len(prepared.labels)
    tells = (np.bincount(asked, minlength=size) > 1) & (near > 0) & (near < total)
    order = rng.permutation(size)
    tells[order] &= np.cumsum((total * tells)[order]) <= MOST
    rows = rows[tells[question]]
    rows = rows[np.argsort(prepared.question[rows], kind="stable")]
    rows = np.repeat(rows, prepared.votes[rows])
    question = prepared.question[rows]
    pairs = np.sort(pair_codes(prepared.triplets)[rows], axis=1)
    return Telling(
        question,
        observer[rows],
        np.unique(pairs, return_inverse=True)[1].reshape(-1, 2),
        prepared.first[rows] - (near / np.maximum(total, 1))[question],
    )
