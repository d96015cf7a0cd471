"""Simulated experiments: true positions, how people answer, and how good a map is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import NamedTuple

import numpy as np
from scipy.stats import chi2

from tercet.answers.choices import Choices
from tercet.answers.either import Answers
from tercet.answers.triplets import Triplets
from tercet.arrays import Floats
from tercet.ensemble import Ensemble
from tercet.errors import InputError
from tercet.kinds import FARTHEST
from tercet.models.base import BIAS
from tercet.models.luce import agreement_with
from tercet.running.provenance import seed_for
from tercet.simulate import (
    answers_from_model,
    gaussian_mixture,
    random_comparisons,
    random_questions,
)
from tercet.simulate.people import People, squared_lengths
from tercet.simulate.questions import Question

__all__ = [
    "LEVEL",
    "MEASURES",
    "SHAPES",
    "TRIPLET",
    "Measure",
    "SimulatedWorld",
    "answers_in",
    "best_agreement",
    "check_measure",
    "drawn_world",
    "made_world",
    "points_of",
    "settle_target",
]

SHAPES = ("normal", "mixture")
TRIPLET = Question("triplet", 2, 1)
BLOCK = 1024  # answers that share a seed
_POINTS, _ANSWERS = range(2)  # purpose of random numbers: last words of a world's key


class SimulatedWorld(NamedTuple):
    """True positions, how people answer, and what they are asked."""

    points: Floats  # (n, d)
    people: People
    question: Question = TRIPLET

    def answer_probability(self, near: Floats, far: Floats) -> Floats:
        """Probability that a person judges the first of two squared distances to be smaller."""
        p = self.people.probability(near, far, self.points.shape[1])
        return (1.0 - self.people.lapse) * p + self.people.lapse / 2.0


def made_world(
    n_objects: int,
    n_components: int,
    shape: str,
    noise: float,
    lapse: float,
    key: tuple[int, ...],
    question: Question = TRIPLET,
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
    question : Question
    """
    rng = np.random.default_rng(seed_for(*key, _POINTS))
    points = points_of(shape, n_objects, n_components, rng)
    return SimulatedWorld(points, People(noise, None, lapse), question)


def points_of(shape: str, n_objects: int, n_components: int, rng: np.random.Generator) -> Floats:
    """Points (n, d) of a shape."""
    if shape == "mixture":
        return gaussian_mixture(n_objects, random_state=rng)[0]
    return rng.standard_normal((n_objects, n_components))


def drawn_world(pilot: Ensemble, draw: int, question: Question = TRIPLET) -> SimulatedWorld:
    """One draw of a pilot's ensemble taken as the truth, with its own noise."""
    model, parameters = pilot.model, pilot.parameters
    assert model is not None  # was checked with the other settings
    own = {f.name for f in fields(model)} & parameters.keys()  # type: ignore[arg-type]
    drawn = replace(model, **{name: float(parameters[name][draw]) for name in own})  # type: ignore[type-var]
    lapse = float(parameters["lapse"][draw]) if "lapse" in parameters else 0.0
    tie = float(parameters["tie"][draw]) if "tie" in parameters else 0.0
    bias = tuple(float(parameters[name][draw]) for name in parameters if name.startswith(BIAS))
    if bias:  # a position never seen has none
        bias += (0.0,) * (question.n_alternatives - len(bias))
    return SimulatedWorld(pilot.draws[draw], People(0.0, drawn, lapse, tie, bias), question)


def answers_in(world: SimulatedWorld, m: int, key: tuple[int, ...]) -> Answers | None:
    """The first m answers of a world; None if m is 0.

    Parameters
    ----------
    world : SimulatedWorld
    m : int
    key : tuple of int
        Entropy and spawn key of the world's random numbers.
    """
    if m == 0:
        return None
    n, people = len(world.points), world.people
    rngs = [
        np.random.default_rng(seed_for(*key, _ANSWERS, block)) for block in range(-(-m // BLOCK))
    ]
    if world.question.kind != "triplet" or people.tie > 0.0 or people.bias:
        return Choices.concatenate([_choices_in(world, BLOCK, rng) for rng in rngs])[:m]
    rows = [
        answers_from_model(
            people,
            world.points,
            random_comparisons(n, BLOCK, replace=True, random_state=rng),
            lapse=people.lapse,
            random_state=rng,
        )
        for rng in rngs
    ]
    return Triplets(np.concatenate(rows)[:m], n_objects=n)


def _choices_in(world: SimulatedWorld, m: int, rng: np.random.Generator) -> Choices:
    n, d = world.points.shape
    asked = random_questions(n, m, world.question, random_state=rng)
    return world.people.choose(asked, squared_lengths(world.points, asked.pairs), d, rng)


# --- measures -----------------------------------------------------------------------------------


LEVEL = 0.95  # above which a comparison counts as certain, and level of the ellipses
SCREENS, READERS, TEST_SEED = 1024, 8, 18  # whose answers to other questions are predicted


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
    """Share of the next person's answers that are predicted correctly.

    Of triplets all comparisons count. Of other questions `SCREENS` random ones are answered by
    `READERS` people, and the likeliest outcome, lapses apart, is predicted.
    """
    if world.question.kind != "triplet":
        if ensemble.model is None or not ensemble.model.is_probability:
            raise InputError(
                "measure='agreement' predicts choices, which needs a maker with a probabilistic "
                "model, such as Posterior(2); this one has none."
            )
        asked = _test_questions(world)
        scores = ensemble.choice_tables(asked)[1].mean(axis=1)
        return _share_predicted(world, asked, scores)
    predicted = total = 0.0
    for squared, p in _by_anchor(ensemble, world):
        row, column = _pairs(p)
        answer = world.answer_probability(squared[row], squared[column])
        predicted += float(np.sum(0.5 + np.sign(p[row, column] - 0.5) * (answer - 0.5)))
        total += len(row)
    return predicted / total


def best_agreement(world: SimulatedWorld) -> float:
    """The agreement of the true map: for triplets the mean of max(p, 1 − p)."""
    if world.question.kind != "triplet":
        asked = _test_questions(world)
        sign = 1.0 if asked.kinds[0] == FARTHEST else -1.0
        scores = sign * squared_lengths(world.points, asked.pairs)
        return _share_predicted(world, asked, scores)
    best = total = 0.0
    for anchor in range(len(world.points)):
        squared = _squared(world, anchor)
        row, column = np.triu_indices(len(squared), 1)
        keep = (row != anchor) & (column != anchor)
        answer = world.answer_probability(squared[row[keep]], squared[column[keep]])
        best += float(np.sum(np.maximum(answer, 1.0 - answer)))
        total += len(answer)
    return best / total


def _test_questions(world: SimulatedWorld) -> Choices:
    return random_questions(len(world.points), SCREENS, world.question, random_state=TEST_SEED)


def _share_predicted(world: SimulatedWorld, asked: Choices, scores: Floats) -> float:
    """Share of people's answers to these questions that scores (A,) of alternatives predict.

    Of those who can tell.
    """
    people = world.people._replace(tie=0.0)
    rng = np.random.default_rng(TEST_SEED)
    squared, m = squared_lengths(world.points, asked.pairs), len(asked)
    row = np.repeat(np.arange(m), asked.n_alternatives)
    at = np.empty((m, int(asked.n_alternatives[0])))  # by position on the screen
    at[row, asked.positions] = scores
    right, in_order = np.empty((2, m))
    shares = []
    for _ in range(READERS):
        given = people.choose(asked, squared, world.points.shape[1], rng)
        ordered = at[row, given.positions]
        agreement_with(given.kinds, given.cuts, given.n_chosen, ordered, right, in_order)
        shares.append(right.mean())
    return float(np.mean(shares))


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


def settle_target(name: str, target: float | None, question: Question = TRIPLET) -> float:
    """The target, or the measure's default."""
    measure = check_measure(name)
    if target is None:
        return measure.target
    least = 1.0 / question.n_outcomes if name == "agreement" else measure.least
    if not least < target < measure.most:
        within = (
            f"between {least:.3g} and {measure.most:g}"
            if np.isfinite(measure.most)
            else f"above {least:g}"
        )
        raise InputError(f"a target for {name} must lie {within}, got {target!r}.")
    return float(target)
