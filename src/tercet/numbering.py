"""Comparisons of n objects by their number, so that they need not be listed to be drawn."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tercet.errors import InputError

__all__ = ["count_comparisons", "draw_distinct", "unrank"]

Ints = NDArray[np.int64]


def count_comparisons(n: int) -> int:
    """How many comparisons of n objects there are: n(n − 1)(n − 2)/2."""
    if n < 3:
        raise InputError(f"a comparison needs at least 3 objects, got {n}.")
    count = n * (n - 1) * (n - 2) // 2
    if count > np.iinfo(np.int64).max:
        raise InputError(f"the comparisons of {n} objects cannot be numbered in 64 bits.")
    return count


def draw_distinct(available: int, m: int, rng: np.random.Generator) -> Ints:
    """Draw m different numbers below ``available``, uniformly and in random order."""
    if m > available // 4:
        return rng.permutation(available)[:m]
    # The first m different numbers of an endless stream of draws: exactly uniform, and with at
    # most a quarter taken, few draws are lost.
    drawn = np.empty(0, dtype=np.int64)
    while len(drawn) < m:
        fresh = rng.integers(available, size=m - len(drawn) + m // 4 + 8)
        drawn = np.concatenate([drawn, fresh])
        first = np.unique(drawn, return_index=True)[1]
        drawn = drawn[np.sort(first)]
    return drawn[:m]


def unrank(rank: Ints, n: int) -> Ints:
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
