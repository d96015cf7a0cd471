"""What a plan may aim at: how good a map is, given the world it was made in.

All comparisons are looked at, one anchor after the other. Each measure takes the ensemble and the
world, and returns one number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.stats import chi2

from tercet.ensemble import Ensemble
from tercet.errors import InputError
from tercet.simulate import Floats
from tercet.uses.plan.worlds import SimulatedWorld

__all__ = ["LEVEL", "MEASURES", "Measure", "best_agreement", "check_measure", "settle_target"]

LEVEL = 0.95  # from which a comparison counts as sure, and that a point's ellipse holds


def accuracy(ensemble: Ensemble, world: SimulatedWorld) -> float:
    """Share of all comparisons whose order in the world is the likelier one; π = ½ is half."""
    right = total = 0.0
    for squared, p in _by_anchor(ensemble, world):
        truth, (row, column) = np.sign(squared[None, :] - squared[:, None]), _pairs(p)
        verdict = np.sign(p[row, column] - 0.5)
        right += float(np.sum(0.5 + 0.5 * verdict * truth[row, column]))
        total += len(row)
    return right / total


def sure(ensemble: Ensemble, world: SimulatedWorld) -> float:
    """Share of all comparisons of which it is sure: π above .95 either way."""
    certain = total = 0
    for _, p in _by_anchor(ensemble, world):
        values = p[_pairs(p)]
        certain += int(np.sum(np.maximum(values, 1.0 - values) > LEVEL))
        total += len(values)
    return certain / total


def radius(ensemble: Ensemble, world: SimulatedWorld) -> float:
    """Median radius of the points' 95 % ellipses, the root mean square radius of the map being 1.

    Half-lengths of an ellipse are √χ² times its standard deviations; the radius is their root mean
    square. The draws are laid on each other with scale: answers hardly tell how large a map is.
    """
    laid = Ensemble(ensemble.draws, alignment="scale")
    mean, covariance = laid.point_mean(), laid.point_covariance()
    d = mean.shape[1]
    radii = np.sqrt(chi2.ppf(LEVEL, d) * np.trace(covariance, axis1=1, axis2=2) / d)
    size = np.sqrt(np.mean(np.sum((mean - mean.mean(axis=0)) ** 2, axis=1)))
    return float(np.median(radii) / size)


def agreement(ensemble: Ensemble, world: SimulatedWorld) -> float:
    """Share of a next person's answers, to all comparisons, that the likelier order predicts."""
    predicted = total = 0.0
    for squared, p in _by_anchor(ensemble, world):
        row, column = _pairs(p)
        answer = world.answer_probability(squared[row], squared[column])
        predicted += float(np.sum(0.5 + np.sign(p[row, column] - 0.5) * (answer - 0.5)))
        total += len(row)
    return predicted / total


def best_agreement(world: SimulatedWorld) -> float:
    """The agreement of someone who knows the world: the mean of max(p, 1 − p)."""
    best = total = 0.0
    for anchor in range(len(world.points)):
        squared = _squared(world, anchor)
        row, column = np.triu_indices(len(squared), 1)
        keep = (row != anchor) & (column != anchor)
        answer = world.answer_probability(squared[row[keep]], squared[column[keep]])
        best += float(np.sum(np.maximum(answer, 1.0 - answer)))
        total += len(answer)
    return best / total


def _by_anchor(ensemble: Ensemble, world: SimulatedWorld) -> Iterator[tuple[Floats, Floats]]:
    """Squared distances (n,) to each anchor in the world, and π (n, n) of its comparisons."""
    for anchor, p in ensemble.all_probabilities(n_jobs=1):
        yield _squared(world, anchor), p


def _squared(world: SimulatedWorld, anchor: int) -> Floats:
    return np.asarray(np.sum((world.points - world.points[anchor]) ** 2, axis=1))


def _pairs(p: Floats) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of all comparisons of an anchor, whose own row and column are NaN."""
    row, column = np.triu_indices(len(p), 1)
    known = ~np.isnan(p[row, column])
    return row[known], column[known]


class Measure(NamedTuple):
    """Something to aim at."""

    compute: Callable[[Ensemble, SimulatedWorld], float]
    target: float  # unless another is wanted
    least: float  # a target is above it,
    most: float  # and below this
    lower_is_better: bool
    words: str  # what is wanted, with {} for the target


MEASURES = {
    "accuracy": Measure(
        accuracy, 0.9, 0.5, 1.0, False, "a map that has {} of all comparisons right"
    ),
    "sure": Measure(sure, 0.7, 0.0, 1.0, False, "a map that is sure of {} of all comparisons"),
    "radius": Measure(
        radius, 0.2, 0.0, np.inf, True, "points known to within {} of the map's own radius"
    ),
    "agreement": Measure(
        agreement, 0.8, 0.5, 1.0, False, "a map that predicts {} of a next person's answers"
    ),
}


def check_measure(name: str) -> Measure:
    """The measure of that name."""
    if name not in MEASURES:
        raise InputError(f"measure must be one of {', '.join(map(repr, MEASURES))}, got {name!r}.")
    return MEASURES[name]


def settle_target(name: str, target: float | None) -> float:
    """The target, or the measure's own where none is given."""
    measure = check_measure(name)
    if target is None:
        return measure.target
    if not measure.least < target < measure.most:
        within = (
            f"between {measure.least:g} and {measure.most:g}"
            if np.isfinite(measure.most)
            else f"above {measure.least:g}"
        )
        raise InputError(f"a target of {name} lies {within}, got {target!r}.")
    return float(target)
