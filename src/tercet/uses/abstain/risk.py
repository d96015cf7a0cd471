"""Risk against coverage: what predicting only the surest rows gains and costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tercet.errors import InputError
from tercet.metrics import check_probability, check_threshold, predicted_correctly
from tercet.text import percent

__all__ = ["RiskCoverage", "risk_coverage"]

Floats = NDArray[np.float64]


class Point(NamedTuple):
    """A point of the curve; the risk is NaN where nothing is predicted."""

    coverage: float
    risk: float


@dataclass(frozen=True, eq=False)
class RiskCoverage:
    """What predicting only the surest rows gains and costs.

    Attributes
    ----------
    confidence : (k,) array
        The distinct confidences max(p, 1 − p), strictly descending: point i predicts the rows that
        are at least as sure as confidence i.
    coverage, risk : (k,) array
        Share of the rows that is predicted, and share of these that is wrong.
    area : float
        Area under the curve (AURC): the mean risk over all coverages. Less is better.
    """

    confidence: Floats
    coverage: Floats
    risk: Floats

    @property
    def area(self) -> float:
        """Area under the curve, as a sum of steps."""
        return float(np.sum(self.risk * np.diff(self.coverage, prepend=0.0)))

    def at(self, threshold: float) -> Point:
        """Coverage and risk of predicting what is surer than ``threshold``, as `predict` does."""
        check_threshold(threshold)
        count = int(np.count_nonzero(self.confidence > threshold))
        if not count:
            return Point(0.0, np.nan)
        return Point(float(self.coverage[count - 1]), float(self.risk[count - 1]))

    def __str__(self) -> str:
        return (
            f"Predicting everything is wrong in {percent(self.risk[-1])}; "
            f"mean over all coverages {percent(self.area)}."
        )


def risk_coverage(
    probability: ArrayLike, truth: ArrayLike | None = None, *, weights: ArrayLike | None = None
) -> RiskCoverage:
    """Risk against coverage for every threshold on the confidence max(p, 1 − p).

    El-Yaniv and Wiener (2010). A row with p = ½ is predicted by nobody and counts as half wrong,
    as in `tercet.metrics.reliability_table`.

    Parameters
    ----------
    probability : (m,) array
        Probability that the row is true: π where the truth is known, or the answer probability of
        answers that were held out.
    truth : (m,) array of bool or ±1, optional
        Default: every row is true, as answers that were given are.
    weights : (m,) array, optional
        Positive; how often each answer was given.
    """
    p, true = check_probability(probability, truth)
    weight = np.ones(len(p)) if weights is None else np.asarray(weights, dtype=np.float64)
    if weight.shape != p.shape or not ((weight > 0.0) & (weight < np.inf)).all():
        raise InputError(f"weights must be {len(p)} positive numbers, one for each row.")
    wrong = 1.0 - predicted_correctly(p, true)
    confidence, place = np.unique(-np.maximum(p, 1.0 - p), return_inverse=True)
    total = np.cumsum(np.bincount(place, weight))
    failed = np.cumsum(np.bincount(place, weight * wrong))
    return RiskCoverage(-confidence, total / total[-1], failed / total)
