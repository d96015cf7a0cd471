"""Simulated experiments: true positions, how people answer, and how good a map is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import chi2

from tercet.arrays import Floats, Index
from tercet.ensemble import Ensemble
from tercet.errors import InputError
from tercet.running.provenance import seed_for
from tercet.simulate import Probability, answers_from_model, gaussian_mixture, random_comparisons

__all__ = [
    "LEVEL",
    "MEASURES",
    "SHAPES",
    "Measure",
    "SimulatedWorld",
    "answers_in",
    "best_agreement",
    "check_measure",
    "drawn_world",
    "made_world",
    "settle_target",
]

SHAPES = ("normal", "mixture")
BLOCK = 1024  # answers that share a seed
_POINTS, _ANSWERS = range(2)  # purpose of random numbers: last words of a world's key


class SimulatedWorld(NamedTuple):
    """True positions, and how people answer."""

    points: Floats  # (n, d)
    probability: Probability  # of the answer "near", from two arrays of squared distances
    lapse: float  # share of answers given at random

    def answer_probability(self, near: Floats, far: Floats) -> Floats:
        """Probability that a person judges the first of two squared distances to be smaller."""
        p = np.asarray(self.probability(near, far), dtype=np.float64)
        return (1.0 - self.lapse) * p + self.lapse / 2.0


def made_world(
    n_objects: int,
    n_components: int,
    shape: str,
    noise: float,
    lapse: float,
    key: tuple[int, ...],
) -> SimulatedWorld:
    """A world with the paper's log-normal noise (section 5).

    Parameters
    ----------
    n_objects, n_components : int
    shape : {"normal", "mixture"}
        Points from a standard normal distribution, or from the paper's mixture in the plane.
    noise, lapse : float
        As in `tercet.simulate.answer`.
    key : tuple of int
        Entropy and spawn key of the world's random numbers.
    """
    rng = np.random.default_rng(seed_for(*key, _POINTS))
    if shape == "mixture":
        points = gaussian_mixture(n_objects, random_state=rng)[0]
    else:
        points = rng.standard_normal((n_objects, n_components))

    def probability(near: Floats, far: Floats) -> Floats:
        """Φ(log(δ_far/δ_near) / (σ√2)), of squared distances; without noise 0, ½ or 1."""
        if noise == 0.0:
            return 0.5 + 0.5 * np.sign(far - near)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = ndtr(0.5 * (np.log(far) - np.log(near)) / (noise * np.sqrt(2.0)))
        return np.where(near == far, 0.5, found)

    return SimulatedWorld(points, probability, lapse)


def drawn_world(pilot: Ensemble, draw: int) -> SimulatedWorld:
    """One draw of a pilot's ensemble taken as the truth, with its own noise."""
    model, parameters = pilot.model, pilot.parameters
    assert model is not None  # was checked with the other settings
    own = {f.name for f in fields(model)} & parameters.keys()  # type: ignore[arg-type]
    drawn = replace(model, **{name: float(parameters[name][draw]) for name in own})  # type: ignore[type-var]
    points = pilot.draws[draw]

    def probability(near: Floats, far: Floats) -> Floats:
        return drawn.probability(near, far, points.shape[1])

    lapse = float(parameters["lapse"][draw]) if "lapse" in parameters else 0.0
    return SimulatedWorld(points, probability, lapse)


def answers_in(world: SimulatedWorld, m: int, key: tuple[int, ...]) -> Index:
    """The first m answers (m, 3) of a world.

    Parameters
    ----------
    world : SimulatedWorld
    m : int
    key : tuple of int
        Entropy and spawn key of the world's random numbers.
    """
    blocks: list[NDArray[np.int64]] = []
    for block in range(-(-m // BLOCK)):
        rng = np.random.default_rng(seed_for(*key, _ANSWERS, block))
        asked = random_comparisons(len(world.points), BLOCK, replace=True, random_state=rng)
        blocks.append(
            answers_from_model(
                world.probability, world.points, asked, lapse=world.lapse, random_state=rng
            )
        )
    return np.concatenate([np.empty((0, 3), dtype=np.int64), *blocks])[:m]


# --- measures -----------------------------------------------------------------------------------


LEVEL = 0.95  # above which a comparison counts as certain, and level of the ellipses


def accuracy(ensemble: Ensemble, world: SimulatedWorld) -> float:
    """Share of all comparisons whose true order is the likelier one; π = ½ counts half."""
    right = total = 0.0
    for squared, p in _by_anchor(ensemble, world):
        truth, (row, column) = np.sign(squared[None, :] - squared[:, None]), _pairs(p)
        verdict = np.sign(p[row, column] - 0.5)
        right += float(np.sum(0.5 + 0.5 * verdict * truth[row, column]))
        total += len(row)
    return right / total


def sure(ensemble: Ensemble, world: SimulatedWorld) -> float:
    """Share of all comparisons that are certain: π above .95 either way."""
    certain = total = 0
    for _, p in _by_anchor(ensemble, world):
        values = p[_pairs(p)]
        certain += int(np.sum(np.maximum(values, 1.0 - values) > LEVEL))
        total += len(values)
    return certain / total


def radius(ensemble: Ensemble, world: SimulatedWorld) -> float:
    """Median radius of the points' 95 % ellipses, relative to the map's root mean square radius.

    Half-lengths of an ellipse are √χ² times its standard deviations; the radius is their root mean
    square. The draws are aligned with scaling: answers hardly determine the size of a map.
    """
    aligned = Ensemble(ensemble.draws, alignment="scale")
    mean, covariance = aligned.point_mean(), aligned.point_covariance()
    d = mean.shape[1]
    radii = np.sqrt(chi2.ppf(LEVEL, d) * np.trace(covariance, axis1=1, axis2=2) / d)
    size = np.sqrt(np.mean(np.sum((mean - mean.mean(axis=0)) ** 2, axis=1)))
    return float(np.median(radii) / size)


def agreement(ensemble: Ensemble, world: SimulatedWorld) -> float:
    """Share of the next person's answers, to all comparisons, that are predicted correctly."""
    predicted = total = 0.0
    for squared, p in _by_anchor(ensemble, world):
        row, column = _pairs(p)
        answer = world.answer_probability(squared[row], squared[column])
        predicted += float(np.sum(0.5 + np.sign(p[row, column] - 0.5) * (answer - 0.5)))
        total += len(row)
    return predicted / total


def best_agreement(world: SimulatedWorld) -> float:
    """The agreement of the true map: the mean of max(p, 1 − p)."""
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
    """A measure of precision."""

    compute: Callable[[Ensemble, SimulatedWorld], float]
    target: float  # default
    least: float  # a target is above it,
    most: float  # and below this
    lower_is_better: bool
    words: str  # with {} for the target


MEASURES = {
    "accuracy": Measure(
        accuracy, 0.9, 0.5, 1.0, False, "a map that gets {} of all comparisons right"
    ),
    "sure": Measure(sure, 0.7, 0.0, 1.0, False, "a map that is certain of {} of all comparisons"),
    "radius": Measure(
        radius, 0.2, 0.0, np.inf, True, "points located to within {} of the map's radius"
    ),
    "agreement": Measure(
        agreement, 0.8, 0.5, 1.0, False, "a map that predicts {} of the next person's answers"
    ),
}


def check_measure(name: str) -> Measure:
    """The measure of that name."""
    if name not in MEASURES:
        raise InputError(f"measure must be one of {', '.join(map(repr, MEASURES))}, got {name!r}.")
    return MEASURES[name]


def settle_target(name: str, target: float | None) -> float:
    """The target, or the measure's default."""
    measure = check_measure(name)
    if target is None:
        return measure.target
    if not measure.least < target < measure.most:
        within = (
            f"between {measure.least:g} and {measure.most:g}"
            if np.isfinite(measure.most)
            else f"above {measure.least:g}"
        )
        raise InputError(f"a target for {name} must lie {within}, got {target!r}.")
    return float(target)
