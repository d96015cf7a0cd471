"""Intervals from samples: percentile, basic and BCa (Efron, J. Am. Stat. Assoc. 82, 1987)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from tercet.embedder import is_number
from tercet.errors import InputError

Floats = NDArray[np.float64]

KINDS = ("percentile", "basic", "bca")


def check_level(level: float) -> None:
    """Raise unless the level is a share."""
    if not (is_number(level) and 0.0 < level < 1.0):
        raise InputError(f"level must lie between 0 and 1, such as 0.95, got {level!r}.")


def tails(level: float) -> tuple[float, float]:
    """The shares below the lower and below the upper limit."""
    check_level(level)
    return (1.0 - level) / 2.0, (1.0 + level) / 2.0


def percentile(samples: Floats, level: float = 0.95) -> Floats:
    """Limits (k, 2) that leave the same share of the samples (S, k) out on either side."""
    return np.quantile(samples, tails(level), axis=0).T


def basic(samples: Floats, estimate: Floats, level: float = 0.95) -> Floats:
    """The percentile limits (k, 2) turned over at the estimate (k,): 2θ̂ − q."""
    return np.asarray(2.0 * estimate[:, None] - percentile(samples, level)[:, ::-1])


def bca(
    samples: Floats,
    estimate: Floats,
    jackknife: Floats,
    level: float = 0.95,
    weights: Floats | None = None,
) -> Floats:
    """Bias-corrected and accelerated limits (k, 2).

    Both limits are percentiles of the samples, at Φ(z₀ + (z₀ + z)/(1 − a(z₀ + z))): z₀ says how far
    the estimate is from the samples' median, and a, from the skewness of the jackknife, how fast
    the standard error changes with the estimate.

    Parameters
    ----------
    samples : (S, k) array
        Of a bootstrap that resamples as many units as there are, with replacement.
    estimate : (k,) array
        From all units.
    jackknife : (u, k) array
        Estimates without one unit.
    level : float
    weights : (u,) array, optional
        How many units each row of the jackknife stands for, where units are alike.
    """
    size = len(samples)
    below = np.mean(samples < estimate, axis=0) + 0.5 * np.mean(samples == estimate, axis=0)
    bias = ndtri(np.clip(below, 0.5 / size, 1.0 - 0.5 / size))
    a = acceleration(jackknife, weights)
    limits = np.empty((len(estimate), 2))
    for side, share in enumerate(tails(level)):
        z = bias + ndtri(share)
        # Where a(z₀ + z) reaches 1 the interval has no end: the outermost sample is all there is.
        room = np.maximum(1.0 - a * z, 1e-9)
        shares = ndtr(bias + z / room)
        limits[:, side] = [
            np.quantile(column, q) for column, q in zip(samples.T, shares, strict=True)
        ]
    return limits


def acceleration(jackknife: Floats, weights: Floats | None = None) -> Floats:
    """Σ u³ / (6 (Σ u²)^{3/2}), (k,), of the deviations u = θ̄ − θ₍ᵢ₎; 0 where nothing varies."""
    w = np.ones(len(jackknife)) if weights is None else weights
    u = np.average(jackknife, axis=0, weights=w) - jackknife
    spread = w @ u**2
    scale = np.where(spread > 0.0, spread, 1.0) ** 1.5
    return np.asarray(np.where(spread > 0.0, (w @ u**3) / (6.0 * scale), 0.0))
