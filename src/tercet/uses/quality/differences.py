"""Whether observers differ from each other: a permutation test that needs no map.

Where several observers answered the same comparison, and not all alike, it should not matter who
said what, if all of them see the objects in the same way. An observer with a way of her own leaves
a trace: with her, the same pair of objects is called the nearer one time and again. So deviations
from the average answer to a comparison are summed for each observer and each pair of objects, and
the sum of squares is compared with that of answers whose observers were shuffled, within each
comparison. Two answers of one observer to the same comparison share both pairs, and count double.
Answers of one screen are one choice, so that one of them, drawn at random, stands for it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array

from tercet.answers.questions import Index, pair_codes
from tercet.answers.repeats import Prepared

__all__ = ["ObserverDifferences"]

Floats = NDArray[np.float64]

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
