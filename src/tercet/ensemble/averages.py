"""Means over all comparisons of n objects, of which there are n(n − 1)(n − 2)/2.

Anchor by anchor, so that memory grows with objects times draws and not with comparisons; over all
of them, or over a sample, with a standard error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral
from typing import Any, Self

import numpy as np

from tercet import uncertainty
from tercet.arrays import Floats, Index
from tercet.errors import InputError
from tercet.running.provenance import Seed, entropy_of, seed_for
from tercet.running.threads import in_order

__all__ = ["Average", "average_all", "average_sampled", "choose_sample"]

EXACT_OBJECTS = 120  # most objects of which all comparisons are used: 842 520
SAMPLE = 500_000  # comparisons of more objects: standard errors are below 0.001
BLOCK = 2**20  # distances in memory per task

Distances = Callable[[Index], Floats]  # pairs (m, 2) to distances (S, m)


class Average(float):
    """A mean over comparisons: a float with its standard error.

    Attributes
    ----------
    exact : bool
        Whether all comparisons were used, not a sample.
    error : float
        Standard error from sampling comparisons; 0 if exact. It does not include the variation of
        the draws.
    n_comparisons : int
        Number of comparisons used.
    """

    exact: bool
    error: float
    n_comparisons: int

    def __new__(
        cls, value: float, n_comparisons: int, error: float = 0.0, exact: bool = True
    ) -> Self:
        """Create the float and set its attributes."""
        mean = super().__new__(cls, value)
        mean.n_comparisons, mean.error, mean.exact = int(n_comparisons), float(error), bool(exact)
        return mean

    def __getnewargs__(self) -> tuple[Any, ...]:
        return float(self), self.n_comparisons, self.error, self.exact


def choose_sample(sample: int | str | None, n_objects: int) -> int | None:
    """Number of comparisons to sample, or None for all of them."""
    if sample == "auto":
        sample = None if n_objects <= EXACT_OBJECTS else SAMPLE
    if sample is None:
        return None
    if isinstance(sample, bool) or not isinstance(sample, Integral) or sample < 1:
        raise InputError(
            "sample must be a positive number of comparisons, None for all of them, or 'auto', got "
            f"{sample!r}."
        )
    return None if sample >= _count_all(n_objects) else int(sample)


def average_all(
    distances: Distances, n_objects: int, n_samples: int, method: str, n_jobs: int
) -> Average:
    """Mean of min(π, 1 − π) over all comparisons."""
    n = n_objects

    def total(anchors: range) -> float:
        table = distances(_pairs(anchors, n))
        parts = np.split(table, len(anchors), axis=1)
        totals = (
            uncertainty.total_uncertainty(np.delete(part, anchor, axis=1), method)
            for anchor, part in zip(anchors, parts, strict=True)
        )
        return math.fsum(totals)

    blocks = _blocks(n, max(1, BLOCK // (n * n_samples)))
    count = _count_all(n)
    return Average(math.fsum(in_order(total, blocks, n_jobs)) / count, count)


def average_sampled(
    distances: Distances,
    n_objects: int,
    n_samples: int,
    method: str,
    n_jobs: int,
    sample: int,
    random_state: Seed,
) -> Average:
    """Mean of min(π, 1 − π) over random comparisons, equally many of every anchor, at least two.

    All anchors have the same number of comparisons, so the mean of the anchors' means estimates
    the overall mean; its variance is the mean of the anchors' variances over the size of the sample
    (stratified sampling, Cochran 1977, chapter 5).
    """
    n, entropy = n_objects, entropy_of(random_state)
    each = max(2, -(-sample // n))
    near, far = np.arange(each), np.arange(each, 2 * each)

    def moments(anchors: range) -> Floats:
        rng = np.random.default_rng(seed_for(entropy, anchors.start))
        found = np.empty((2, len(anchors)))
        for k, anchor in enumerate(anchors):
            table = distances(_random_pairs(anchor, n, each, rng))
            p = uncertainty.triplet_probability(table, near, far, method)
            lesser = np.minimum(p, 1.0 - p)
            found[:, k] = lesser.mean(), lesser.var(ddof=1)
        return found

    blocks = _blocks(n, max(1, BLOCK // (2 * each * n_samples)))
    means, variances = np.concatenate(list(in_order(moments, blocks, n_jobs)), axis=1)
    error = math.sqrt(math.fsum(variances) / each) / n
    return Average(math.fsum(means) / n, n * each, error, exact=False)


def _count_all(n: int) -> int:
    return n * (n - 1) * (n - 2) // 2


def _blocks(n: int, size: int) -> list[range]:
    return [range(start, min(start + size, n)) for start in range(0, n, size)]


def _pairs(anchors: range, n: int) -> Index:
    """Pairs of each anchor with every object, itself included."""
    return np.stack(np.meshgrid(anchors, range(n), indexing="ij"), axis=-1).reshape(-1, 2)


def _random_pairs(anchor: int, n: int, count: int, rng: np.random.Generator) -> Index:
    """The near pairs of random comparisons of an anchor, followed by their far pairs."""
    j = rng.integers(n - 1, size=count)
    j += j >= anchor
    l = rng.integers(n - 2, size=count)
    l += l >= np.minimum(anchor, j)
    l += l >= np.maximum(anchor, j)
    others = np.concatenate([j, l])
    return np.stack([np.full(2 * count, anchor), others], axis=1)
