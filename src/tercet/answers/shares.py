"""Shares of answers: binomial tails and intervals, also of fractional counts."""

from __future__ import annotations

import numpy as np
from scipy.special import betainc, betaincinv

from tercet.arrays import Floats, Index

__all__ = ["LEVEL", "at_least", "at_most", "interval"]

LEVEL = 0.05  # of tests; intervals have the rest


def at_most(x: Floats, n: Floats, p: Floats | float) -> Floats:
    """P(Binomial(n, p) ≤ x), as a beta integral, which extends to fractional counts."""
    x = np.minimum(x, n)
    return np.where(x < n, betainc(np.maximum(n - x, 1e-300), x + 1.0, 1.0 - p), 1.0)


def at_least(x: Floats, n: Floats, p: Floats | float) -> Floats:
    """P(Binomial(n, p) ≥ x), likewise."""
    return at_most(n - x, n, 1.0 - p)


def interval(right: Floats | Index, n: Floats | Index) -> tuple[Floats, Floats]:
    """95 % interval, (K,) each, of Clopper and Pearson (1934); NaN where n is 0.

    With fractional counts, for dependent answers, it is that of Korn and Graubard (1998).
    """
    tail, wrong = LEVEL / 2.0, n - right
    safe = np.maximum(right, 1e-300), np.maximum(wrong, 1e-300)
    low = np.where(right > 0, betaincinv(safe[0], wrong + 1.0, tail), 0.0)
    high = np.where(wrong > 0, betaincinv(right + 1.0, safe[1], 1.0 - tail), 1.0)
    return np.where(n > 0, low, np.nan), np.where(n > 0, high, np.nan)
