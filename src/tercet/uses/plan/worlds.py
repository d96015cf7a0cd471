"""Worlds to plan in: true positions, and how people answer in them.

The questions of a world are one endless stream, drawn at random with replacement, as when every
person gets random questions. It is cut into blocks with seeds of their own, so that the first m
answers of a world are the same whatever else is asked of it.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from tercet.ensemble import Ensemble
from tercet.provenance import seed_for
from tercet.simulate import (
    Floats,
    Ints,
    Probability,
    answers_from_model,
    gaussian_mixture,
    random_comparisons,
)

__all__ = ["SHAPES", "SimulatedWorld", "answers_in", "drawn_world", "made_world"]

SHAPES = ("normal", "mixture")
BLOCK = 1024  # answers that share a seed
_POINTS, _ANSWERS = range(2)  # what random numbers are for: last words of a world's key


class SimulatedWorld(NamedTuple):
    """True positions, and the people who answer."""

    points: Floats  # (n, d)
    probability: Probability  # of the answer "near", from two arrays of squared distances
    lapse: float  # share of answers given by a coin

    def answer_probability(self, near: Floats, far: Floats) -> Floats:
        """Probability that a person calls the first of two squared distances the nearer."""
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
        Points from a round normal cloud, or from the paper's three clusters in the plane.
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
    """One draw of a pilot's ensemble taken for the truth, with the noise that was drawn with it."""
    model, parameters = pilot.model, pilot.parameters
    assert model is not None  # was checked with the other settings
    own = {f.name for f in fields(model)} & parameters.keys()  # type: ignore[arg-type]
    drawn = replace(model, **{name: float(parameters[name][draw]) for name in own})  # type: ignore[type-var]
    points = pilot.draws[draw]

    def probability(near: Floats, far: Floats) -> Floats:
        return drawn.probability(near, far, points.shape[1])

    lapse = float(parameters["lapse"][draw]) if "lapse" in parameters else 0.0
    return SimulatedWorld(points, probability, lapse)


def answers_in(world: SimulatedWorld, m: int, key: tuple[int, ...]) -> Ints:
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
