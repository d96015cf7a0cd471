"""Counts of answers, duplicates, and a test of whether observers differ from each other."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from tercet.answers.choices import Choices
from tercet.answers.either import Answers
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

FEWEST_COPIES = 20  # rows; fewer may repeat by chance
LISTED = 5  # objects with the fewest answers to name


class Spread(NamedTuple):
    """Smallest value, median and largest value."""

    least: float
    median: float
    most: float


class Counts(NamedTuple):
    """How much was asked, and of whom.

    Attributes
    ----------
    answers : int
        Weighted rows count as several; if screens are shared, the comparisons within them.
    comparisons : int
        Distinct questions, whichever way they were answered.
    objects : int
        Mentioned or not.
    observers, screens : int or None
        None if unknown.
    per_object : Spread
        Answers that mention an object.
    rarest : tuple of str or int
        The objects in the fewest answers, by name or number, rarest first.
    per_observer : Spread or None
    shares_screens : bool
        Whether a screen has several comparisons, which are one choice.
    """

    answers: int
    comparisons: int
    objects: int
    observers: int | None
    screens: int | None
    per_object: Spread
    rarest: tuple[str | int, ...]
    per_observer: Spread | None
    shares_screens: bool = False

    @property
    def word(self) -> str:
        """What is counted: answers, or the comparisons within choices."""
        return "comparison" if self.shares_screens else "answer"


def count_answers(prepared: Prepared) -> Counts:
    """Count answers, comparisons, objects, observers and screens."""
    triplets, votes = prepared.triplets, prepared.votes
    names, observer = triplets.names, prepared.observer
    mentioned = mentions(triplets, votes)
    rarest = np.argsort(mentioned, kind="stable")[:LISTED].tolist()
    return Counts(
        answers=triplets.n_answers,
        comparisons=int(prepared.question.max()) + 1,
        objects=triplets.n_objects,
        observers=None if observer is None else len(prepared.labels),
        screens=None if triplets.screens is None else int(triplets.number_screens().max()) + 1,
        per_object=spread(mentioned),
        rarest=tuple(rarest if names is None else (names[i] for i in rarest)),
        per_observer=None
        if observer is None
        else spread(tally(observer, votes, len(prepared.labels))),
        shares_screens=triplets.shares_screens,
    )


def count_copies(triplets: Triplets) -> int:
    """Number of rows that duplicate others, as if a file had been concatenated with itself.

    With response times that distinguish rows, a row is a duplicate if it repeats another in every
    cell. Without them, people may give the same answers by chance, and only a second half that
    repeats the first, row by row, counts.
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


def mentions(answers: Answers, votes: Index) -> Index:
    """How many answers mention each object, (n,); twice in one answer counts once."""
    n = answers.n_objects
    if isinstance(answers, Choices):
        choice = np.repeat(np.arange(len(answers)), 2 * answers.n_alternatives)
        row, mentioned = np.divmod(np.unique(choice * n + answers.pairs.ravel()), n)
        return tally(mentioned, votes[row], n)
    rows = np.sort(answers.array, axis=1)
    fresh = np.diff(rows, axis=1, prepend=-1) > 0
    return tally(rows[fresh], np.repeat(votes, fresh.sum(axis=1)), n)


def spread(values: NDArray[Any]) -> Spread:
    """Smallest value, median and largest value."""
    return Spread(float(values.min()), float(np.median(values)), float(values.max()))


# --- whether observers differ: a permutation test that needs no map -----------------------------


FEWEST, SHUFFLES = 199, 999  # permutations
WORK = 10_000_000  # answers times permutations, above which these become fewer
MOST = 50_000  # answers; if there are more, a random part of the comparisons is used


class ObserverDifferences(NamedTuple):
    """A permutation test of whether observers differ from each other.

    Attributes
    ----------
    comparisons, answers : int
        Those used: answered by several observers, and not all alike.
    ratio : float
        Variance of the sums of observers' deviations over that of permuted observers; 1 if they do
        not differ. Its size also depends on the number of answers.
    p_value : float
        Share of permutations with at least this variance, the real answers included.
    """

    comparisons: int
    answers: int
    ratio: float
    p_value: float


class Contested(NamedTuple):
    """Answers to comparisons on which observers disagree, sorted by comparison."""

    question: Index  # (a,) increasing
    observer: Index  # (a,)
    pairs: Index  # (a, 2) of objects, the first and the second
    deviation: Floats  # (a,) from the mean answer to the comparison, towards its first pair


def compare_observers(
    prepared: Prepared, left_out: NDArray[np.bool_], rng: np.random.Generator
) -> ObserverDifferences | str:
    """Test whether observers differ from each other, or return why that is impossible.

    Parameters
    ----------
    prepared : Prepared
    left_out : (K,) bool array
        Observers to leave out, such as those who guess.
    rng : numpy.random.Generator
    """
    if prepared.observer is None:
        return "it is not known who gave each answer"
    if prepared.triplets.weights is not None and prepared.triplets.votes is None:
        return "the weights are not whole numbers, so they are not counts of answers"
    if np.count_nonzero(~left_out) < 2:
        return "there are no two observers to compare"
    contested = _find_contested(prepared, prepared.observer, left_out, rng)
    size = len(contested.question)
    if not size:
        return "no two of them answered the same comparison differently"
    many = min(max(WORK // size, FEWEST), SHUFFLES)
    real = _variance(contested, contested.observer)
    shuffled = np.empty(many)
    for k in range(many):
        # Permutes observers within questions, whose numbers are whole and increasing.
        order = np.argsort(contested.question + rng.random(size))
        shuffled[k] = _variance(contested, contested.observer[order])
    rounding = 1e-9 * real  # the order of summation changes the last digits
    if np.ptp(shuffled) <= rounding:
        return "hardly anyone judged the same two objects twice in such comparisons"
    reached = int(np.count_nonzero(shuffled >= real - rounding))
    return ObserverDifferences(
        len(np.unique(contested.question)),
        size,
        float(real / shuffled.mean()),
        (1 + reached) / (1 + many),
    )


def _variance(contested: Contested, observer: Index) -> float:
    """Sum over observers and pairs of objects of the squared sum of deviations."""
    who = np.concatenate([observer, observer])
    signed = np.concatenate([contested.deviation, -contested.deviation])
    sums = coo_array((signed, (who, contested.pairs.T.reshape(-1)))).tocsr().data
    return float(np.square(sums).sum())


def _find_contested(
    prepared: Prepared, observer: Index, left_out: NDArray[np.bool_], rng: np.random.Generator
) -> Contested:
    """Answers to comparisons that several observers answered, and not all alike."""
    rows = rng.permutation(np.flatnonzero(~left_out[observer]))
    if prepared.triplets.screens is not None:
        rows = rows[np.unique(prepared.triplets.number_screens()[rows], return_index=True)[1]]
    question, votes, first = prepared.question[rows], prepared.votes[rows], prepared.first[rows]
    size = int(prepared.question.max()) + 1
    total, near = np.bincount(question, votes, size), np.bincount(question, votes * first, size)
    asked = np.unique(question * len(prepared.labels) + observer[rows]) // len(prepared.labels)
    used = (np.bincount(asked, minlength=size) > 1) & (near > 0) & (near < total)
    order = rng.permutation(size)
    used[order] &= np.cumsum((total * used)[order]) <= MOST
    rows = rows[used[question]]
    rows = rows[np.argsort(prepared.question[rows], kind="stable")]
    rows = np.repeat(rows, prepared.votes[rows])
    question = prepared.question[rows]
    pairs = np.sort(pair_codes(prepared.triplets)[rows], axis=1)
    return Contested(
        question,
        observer[rows],
        np.unique(pairs, return_inverse=True)[1].reshape(-1, 2),
        prepared.first[rows] - (near / np.maximum(total, 1))[question],
    )
