"""Which comparisons may be asked next, and the best of them by a score."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from tercet.errors import InputError
from tercet.parallel import in_order
from tercet.provenance import seed_for
from tercet.uses.active.scores import Score

Index = NDArray[np.int64]
Floats = NDArray[np.float64]

TIES, POOL = range(2)  # what random numbers are for: first word of the key that spawns a seed


def number(rows: Index, n: int) -> Index:
    """The numbers (m,) of comparisons (m, 3); which of the two comes first is nothing.

    (anchor, one, other) with one < other has the number (anchor·n + one)·n + other.
    """
    anchor, first, second = rows.T
    one, other = np.minimum(first, second), np.maximum(first, second)
    return np.asarray((anchor * n + one) * n + other)


def comparisons(numbers: Index, n: int) -> Index:
    """The comparisons (m, 3) with these numbers."""
    anchor, pair = np.divmod(numbers, n * n)
    return np.column_stack([anchor, *np.divmod(pair, n)])


@dataclass(frozen=True)
class Candidates:
    """Comparisons of n objects that may be asked.

    Attributes
    ----------
    n : int
    taken : sorted numbers of comparisons that may not
    offered : sorted numbers of the only ones that may, or None for all
    pool : int
        Where there are more, about so many are drawn at random.
    entropy : int
    """

    n: int
    taken: Index
    offered: Index | None
    pool: int
    entropy: int

    @cached_property
    def left(self) -> Index:
        """How many may be asked of each anchor, (n,)."""
        anchors = np.bincount(self.taken // self.n**2, minlength=self.n)
        if self.offered is None:
            return np.asarray((self.n - 1) * (self.n - 2) // 2 - anchors)
        free = np.setdiff1d(self.offered, self.taken, assume_unique=True)
        return np.bincount(free // self.n**2, minlength=self.n)

    @property
    def is_sample(self) -> bool:
        """Whether there are so many that some are drawn."""
        return self.offered is None and int(self.left.sum()) > self.pool

    @property
    def is_all(self) -> bool:
        """Whether it is all comparisons, a few that are taken apart."""
        return self.offered is None and not self.is_sample

    def of(self, anchor: int) -> Index:
        """The pairs that this anchor may be compared with, as sorted numbers one·n + other."""
        first = anchor * self.n**2
        if self.offered is not None:
            start, stop = np.searchsorted(self.offered, [first, first + self.n**2])
            pairs = self.offered[start:stop] - first
        else:
            pairs = self._draw(anchor) if self.is_sample else self._all(anchor)
        start, stop = np.searchsorted(self.taken, [first, first + self.n**2])
        return np.setdiff1d(pairs, self.taken[start:stop] - first, assume_unique=True)

    @cached_property
    def _pairs(self) -> tuple[Index, Index]:
        one, other = np.triu_indices(self.n, 1)
        return one, other

    def _all(self, anchor: int) -> Index:
        one, other = self._pairs
        free = (one != anchor) & (other != anchor)
        return np.asarray(one[free] * self.n + other[free])

    def _draw(self, anchor: int) -> Index:
        rng = np.random.default_rng(seed_for(self.entropy, POOL, anchor))
        # So many, each then comes in by itself and with the same chance: the pool is uniform.
        size = rng.poisson(self.pool / self.n)
        first = rng.integers(self.n - 1, size=size)
        second = rng.integers(self.n - 2, size=size)
        second += second >= first  # two different ones of n − 1, which step over the anchor
        one, other = np.minimum(first, second), np.maximum(first, second)
        return np.unique((one + (one >= anchor)) * self.n + other + (other >= anchor))


def choose(
    questions: Candidates, score: Score, k: int, per_anchor: int, n_jobs: int
) -> tuple[Index, Floats]:
    """The k best comparisons (k, 3), and their scores (k,), best first.

    One anchor after the other, so memory does not grow with the number of comparisons. Ties are
    broken by a number that belongs to the comparison and the seed, so they fall the same way
    however the work is cut.

    Parameters
    ----------
    questions : Candidates
    score : Score
    k : int
    per_anchor : int
        The most comparisons with the same anchor.
    n_jobs : int
    """
    n = questions.n
    seed = seed_for(questions.entropy, TIES).generate_state(1, np.uint64).astype(np.uint64)

    def best_of(anchor: int) -> tuple[Floats, Index]:
        pairs = questions.of(anchor)
        found = score(anchor, *np.divmod(pairs, n))
        if np.isnan(found).any():  # no order, and none of them would ever be the best
            raise InputError(
                "what an answer would tell is not a number for some comparisons: the model of "
                "this ensemble gives no probabilities there. Try strategy='uncertainty'."
            )
        return _best(found, pairs + anchor * n**2, cap, seed)

    cap = min(k, per_anchor)
    anchors = np.flatnonzero(questions.left).tolist()
    found = list(in_order(best_of, anchors, n_jobs))
    scores, numbers = (np.concatenate(parts) for parts in zip(*found, strict=True))
    scores, numbers = _best(scores, numbers, k, seed)
    return comparisons(numbers, n), scores


def _best(scores: Floats, numbers: Index, k: int, seed: NDArray[np.uint64]) -> tuple[Floats, Index]:
    """The k highest scores, and whose they are; ties are in the order of scrambled numbers."""
    if len(scores) > k:
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        kept = np.flatnonzero(scores >= least)
        scores, numbers = scores[kept], numbers[kept]
    order = np.lexsort((_scrambled(numbers, seed), -scores))[:k]
    return scores[order], numbers[order]


def _scrambled(numbers: Index, seed: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Numbers without any order left: the mixing steps of SplitMix64 (Steele et al. 2014).

    Each step can be undone, so different numbers stay different.
    """
    mixed = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + seed
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))
