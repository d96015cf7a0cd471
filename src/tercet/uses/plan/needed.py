"""From the curves of several worlds to the number of answers that a target needs."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom
from sklearn.isotonic import isotonic_regression

from tercet.simulate import Floats

__all__ = ["Needed", "crossing", "fewest_worlds", "needed_answers"]

INTERVAL = 0.95


class Needed(NamedTuple):
    """How many answers are needed, with a 95 % interval; None is more than the most tried."""

    value: int | None
    low: int | None
    high: int | None

    def without(self, base: int) -> Needed:
        """The same, less the answers that there are already."""
        return Needed(*(None if end is None else end - base for end in self))


def crossing(answers: NDArray[np.int64], values: Floats, target: float) -> float:
    """Where a curve, made to rise by isotonic regression, first reaches the target.

    Linear between steps, in the logarithm of the number of answers. Infinite where the target is
    not reached; the first step where that one reaches it.

    Parameters
    ----------
    answers : (k,) integer array
        Rising and positive.
    values : (k,) array
        Higher is better.
    target : float
    """
    curve = np.asarray(isotonic_regression(values))
    reached = np.flatnonzero(curve >= target)
    if not reached.size:
        return math.inf
    k = int(reached[0])
    if k == 0:
        return float(answers[0])
    share = (target - curve[k - 1]) / (curve[k] - curve[k - 1])
    ends = np.log(answers[k - 1 : k + 1].astype(np.float64))
    return float(np.exp(ends[0] + share * (ends[1] - ends[0])))


def needed_answers(crossings: Floats, assurance: float) -> Needed:
    """The number with which the share ``assurance`` of worlds reaches the target.

    The quantile of the worlds' own numbers. Its interval is that between two of these numbers in
    their order, which holds whatever their distribution is: how many of R worlds lie below the
    true quantile is binomial (David & Nagaraja 2003, section 7.1).

    Parameters
    ----------
    crossings : (R,) array
        The number that each world needs, infinite where it was not found; at least
        ``fewest_worlds(assurance)``.
    assurance : float
    """
    ordered = np.sort(crossings)
    size, tail = len(ordered), (1.0 - INTERVAL) / 2.0
    low = int(binom.ppf(tail, size, assurance)) - 1
    high = int(binom.ppf(1.0 - tail, size, assurance))
    # The quantile's place: R numbers share out the whole evenly.
    place = round(assurance * size - 0.5, 9)
    below, above = max(math.floor(place), 0), min(math.ceil(place), size - 1)
    value = ordered[below]
    if math.isfinite(value):
        value += max(place - below, 0.0) * (ordered[above] - value)
    return Needed(_whole(value), _whole(ordered[low]), _whole(ordered[high]))


def fewest_worlds(assurance: float) -> int:
    """How many worlds an interval takes: fewer could all lie on one side of the quantile."""
    larger = max(assurance, 1.0 - assurance)
    return math.ceil(math.log((1.0 - INTERVAL) / 2.0) / math.log(larger))


def _whole(value: float) -> int | None:
    return math.ceil(value) if math.isfinite(value) else None
