"""Discrimination thresholds predicted from a perceptual scale."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import PchipInterpolator
from scipy.special import ndtri

from tercet.arrays import Floats
from tercet.embedder import is_number
from tercet.errors import InputError
from tercet.uses.scale.intervals import tails

NOISES = {"percept": 0.5, "judgement": 1.0}  # in units of σ: a judgement compares four percepts
STEPS = 1000  # from a standard to the last stimulus


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Predicted increments of the stimulus.

    Attributes
    ----------
    at : (k,) array
        The standards.
    estimate : (k,) array
        Increments from the scale of all answers; NaN beyond the last stimulus.
    interval : (k, 2) array
        Percentile limits over the samples; NaN beyond the last stimulus.
    beyond : (k,) array
        Share of the samples in which the threshold lies beyond the last stimulus.
    d_prime : float
        The criterion.
    noise : str
        Unit of the criterion: the noise of a "percept" or of a "judgement".
    """

    at: Floats
    estimate: Floats
    interval: Floats
    beyond: Floats
    d_prime: float
    noise: str
    level: float

    def __str__(self) -> str:
        lines = [
            f"increments for d′ = {self.d_prime:.3g}, noise of one {self.noise}",
            f"      at  increment  {self.level:.0%} interval",
        ]
        for at, value, (low, high) in zip(self.at, self.estimate, self.interval, strict=True):
            shown = ("beyond" if math.isnan(x) else f"{x:.4g}" for x in (value, low, high))
            middle, start, end = shown
            lines += [f"{at:8g}  {middle:>9}  {start} to {end}"]
        return "\n".join(lines)


def predict_thresholds(
    stimuli: Floats,
    samples: Floats,
    estimate: Floats,
    at: ArrayLike | None,
    d_prime: float | None,
    probability: float | None,
    noise: str,
    level: float,
) -> Thresholds:
    """Predict increments from scales in units of the noise; see `PerceptualScale.threshold`."""
    ends = tails(level)
    if noise not in NOISES:
        raise InputError(f"noise must be 'percept' or 'judgement', got {noise!r}.")
    criterion = _criterion(d_prime, probability)
    standards = stimuli[:-1] if at is None else _standards(at, stimuli)
    curves = PchipInterpolator(stimuli, np.vstack([estimate, samples]).T)
    found = np.stack(
        [_increments(curves, s, stimuli[-1], NOISES[noise] * criterion) for s in standards], axis=1
    )
    drawn = found[1:]
    limits = np.quantile(drawn, ends, axis=0, method="inverted_cdf").T
    return Thresholds(
        standards,
        _or_nan(found[0]),
        _or_nan(limits),
        np.mean(np.isinf(drawn), axis=0),
        criterion,
        noise,
        level,
    )


def _standards(at: ArrayLike, stimuli: Floats) -> Floats:
    try:
        standards = np.atleast_1d(np.asarray(at, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise InputError(f"at must be stimulus values, such as {stimuli[0]:g}.") from error
    inside = (standards >= stimuli[0]) & (standards < stimuli[-1])
    if standards.ndim != 1 or not standards.size or not inside.all():
        wrong = standards[~inside][0] if standards.ndim == 1 and standards.size else at
        raise InputError(
            f"thresholds can be predicted from {stimuli[0]:g} up to, but not at, the last stimulus "
            f"{stimuli[-1]:g}; got {wrong}."
        )
    return standards


def _criterion(d_prime: float | None, probability: float | None) -> float:
    if d_prime is not None and probability is not None:
        raise InputError("use d_prime or probability, not both.")
    if probability is not None:
        if not (is_number(probability) and 0.5 < probability < 1.0):
            raise InputError(f"probability must lie between 0.5 and 1, got {probability!r}.")
        return math.sqrt(2.0) * float(ndtri(probability))
    if d_prime is None:
        return 1.0
    if not (is_number(d_prime) and 0.0 < d_prime < math.inf):
        raise InputError(f"d_prime must be a positive number, got {d_prime!r}.")
    return float(d_prime)


def _increments(curves: PchipInterpolator, at: float, last: float, rise: float) -> Floats:
    """The first increment at which each curve has risen by this much; infinity where none has."""
    line = np.linspace(at, last, STEPS + 1)
    values = curves(line)  # (steps + 1, curves)
    risen = values - values[0] >= rise
    first = np.argmax(risen, axis=0)
    columns = np.arange(values.shape[1])
    high, low = values[first, columns], values[np.maximum(first - 1, 0), columns]
    with np.errstate(invalid="ignore", divide="ignore"):
        share = (values[0] + rise - low) / (high - low)
    increments = line[np.maximum(first - 1, 0)] + share * (line[1] - line[0]) - at
    return np.where(risen.any(axis=0), increments, np.inf)


def _or_nan(values: Floats) -> Floats:
    return np.where(np.isinf(values), np.nan, values)
