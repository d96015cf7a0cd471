"""Questions: their numbers, which answers belong together, and folds that keep these together.

A *comparison*, or question, is about two pairs of objects. It is the same question whichever pair
was called nearer, and in whichever order pairs and objects were given.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tercet.answers.choices import Choices, number_choices
from tercet.answers.either import Answers
from tercet.answers.triplets import Triplets
from tercet.arrays import Bools, Floats, Index
from tercet.errors import InputError

__all__ = [
    "UNITS",
    "Questions",
    "count_comparisons",
    "deal",
    "default_unit",
    "draw_distinct",
    "find_questions",
    "number_comparisons",
    "number_units",
    "pair_codes",
    "single_answers",
    "unrank",
]


UNITS = ("answer", "comparison", "screen", "observer")


# --- all comparisons of n objects, by number --------------------------------------------------


def count_comparisons(n: int) -> int:
    """The number of comparisons of n objects: n(n − 1)(n − 2)/2."""
    if n < 3:
        raise InputError(f"a comparison needs at least 3 objects, got {n}.")
    count = n * (n - 1) * (n - 2) // 2
    if count > np.iinfo(np.int64).max:
        raise InputError(f"the comparisons of {n} objects cannot be numbered in 64 bits.")
    return count


def draw_distinct(available: int, m: int, rng: np.random.Generator) -> Index:
    """Draw m different numbers below ``available``, uniformly and in random order."""
    if m > available // 4:
        return rng.permutation(available)[:m]
    # The first m different numbers of a sequence of draws: exactly uniform, and with at most a
    # quarter taken, few draws are wasted.
    drawn = np.empty(0, dtype=np.int64)
    while len(drawn) < m:
        fresh = rng.integers(available, size=m - len(drawn) + m // 4 + 8)
        drawn = np.concatenate([drawn, fresh])
        first = np.unique(drawn, return_index=True)[1]
        drawn = drawn[np.sort(first)]
    return drawn[:m]


def unrank(rank: Index, n: int) -> Index:
    """Comparisons (m, 3) from their lexicographic numbers."""
    pairs = (n - 1) * (n - 2) // 2
    anchor, pair = np.divmod(rank, pairs)
    # Counted from the end, the pair numbered k is (low, high) with k = high(high − 1)/2 + low.
    k = pairs - 1 - pair
    high = ((1.0 + np.sqrt(1.0 + 8.0 * k)) / 2.0).astype(np.int64)
    high -= high * (high - 1) // 2 > k  # the square root may round either way
    high += high * (high + 1) // 2 <= k
    low = k - high * (high - 1) // 2
    others = np.stack([n - 2 - high, n - 2 - low], axis=1)
    others += others >= anchor[:, None]  # step over the anchor
    return np.column_stack([anchor, others])


# --- the questions that were answered ---------------------------------------------------------


class Questions(NamedTuple):
    """The distinct questions of answers."""

    pairs: Index  # (Q, 4): two pairs, the lower one first, each from low to high
    number: Index  # (m,): the question of each row
    first: Bools  # (m,): whether the first pair is nearer in the row
    n_objects: int

    def counts(self, weights: Floats | Index | None = None) -> Floats:
        """How often (Q, 2) the second and the first pair were nearer, perhaps weighted."""
        cells = 2 * self.number + self.first
        counts = np.bincount(cells, weights, minlength=2 * len(self.pairs))
        return counts.reshape(-1, 2).astype(np.float64)


def pair_codes(triplets: Triplets) -> Index:
    """The near and the far pair of every row, (m, 2): low · n + high of its objects."""
    pairs = triplets.pairs().reshape(-1, 2, 2)
    return np.asarray(pairs.min(axis=2) * triplets.n_objects + pairs.max(axis=2), dtype=np.int64)


def find_questions(triplets: Triplets) -> Questions:
    """Number the questions of answers, in the order of their pairs."""
    codes = pair_codes(triplets)
    asked, number = np.unique(np.sort(codes, axis=1), axis=0, return_inverse=True)
    ends = np.stack(np.divmod(asked, triplets.n_objects), axis=2)
    return Questions(
        ends.reshape(-1, 4),
        number.reshape(-1).astype(np.int64),
        codes[:, 0] < codes[:, 1],
        triplets.n_objects,
    )


def number_comparisons(triplets: Triplets) -> Index:
    """The question of each row (m,), from 0, whatever the answer."""
    return find_questions(triplets).number


# --- which answers belong together ------------------------------------------------------------


def number_units(answers: Answers, unit: str | None = None) -> Index:
    """The unit that each row (m,) belongs to, numbered from 0.

    Parameters
    ----------
    answers : Triplets or Choices
    unit : {"answer", "comparison", "screen", "observer"}, optional
        By default screens for choices, else comparisons: in both cases a question that was asked
        twice is one unit.
    """
    unit = default_unit(answers) if unit is None else unit
    if unit not in UNITS:
        raise InputError(f"unit must be one of {', '.join(map(repr, UNITS))}, got {unit!r}.")
    if unit == "answer":
        return np.arange(len(answers))
    if unit == "comparison" and isinstance(answers, Choices):
        raise InputError(
            "unit='comparison' is for answers to single comparisons, and these are choices on "
            "screens: use unit='screen', or leave unit out."
        )
    if unit == "observer" or (unit == "screen" and isinstance(answers, Triplets)):
        labels = answers.observers if unit == "observer" else answers.screens
        if labels is None:
            raise InputError(
                f"unit={unit!r} keeps {unit}s together, but the {unit}s of the answers are "
                f"unknown: add a column {unit} (in Python: {unit}s=...), or use "
                "another unit."
            )
        if unit == "observer":
            return np.unique(labels, return_inverse=True)[1].astype(np.int64)
    return number_choices(answers) if isinstance(answers, Choices) else number_comparisons(answers)


def single_answers(answers: Answers, what: str) -> Index:
    """The row of every single answer: each vote is an answer.

    Parameters
    ----------
    answers : Triplets or Choices
    what : str
        Their name, for the error if weights are not votes.
    """
    if answers.weights is not None and answers.votes is None:
        raise InputError(
            f"the weights of {what} are not whole numbers, so the number of answers is unknown; "
            "give counts, or leave the weights out."
        )
    return answers.each_vote()


def default_unit(answers: Answers) -> str:
    """Screens for choices, else comparisons."""
    return "screen" if isinstance(answers, Choices) else "comparison"


def deal(units: Index, k: int, rng: np.random.Generator) -> Index:
    """The fold (m,), 0 to k − 1, of each row: whole units, with balanced numbers of rows.

    Parameters
    ----------
    units : (m,) integer array
        As returned by `number_units`.
    k : int
        Number of folds.
    rng : numpy.random.Generator
    """
    count = int(units.max()) + 1
    if not 2 <= k <= count:
        raise InputError(f"{k} folds of {count} units are impossible; use 2 to {count} folds.")
    sizes = np.bincount(units)
    order = rng.permutation(count)
    before = np.cumsum(sizes[order]) - sizes[order]
    fold = np.empty(count, dtype=np.int64)
    # A unit goes into the fold of the middle of its rows; no fold may stay empty.
    fold[order] = ((before + 0.5 * sizes[order]) * k / sizes.sum()).astype(np.int64)
    if len(np.unique(fold)) < k:
        fold[order] = np.arange(count) * k // count
    return fold[units]
