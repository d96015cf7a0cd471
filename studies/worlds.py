"""Worlds whose truth is known: the paper's mixture or normal points, and kinds of noise."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr

from tercet import simulate
from tercet.answers.triplets import Triplets
from tercet.arrays import Floats
from tercet.metrics import squared_distances
from tercet.models import Model, ShepardModel, STEModel, TSTEModel
from tercet.simulate.agreeing import expected_agreement, scale_for_agreement

N = 50
PILOTS = 20  # point sets by which the size of the worlds of a model is chosen
MODELS: dict[str, Model] = {"STE": STEModel(), "t-STE": TSTEModel()}
NAMES = ("log-normal", *MODELS)  # in the order that seeds know them by


class World(NamedTuple):
    """A kind of noise, right as often as log-normal noise of σ = ``like``."""

    noise: str
    like: float

    @property
    def title(self) -> str:
        """How tables name it."""
        return f"σ = {self.like:g}" if self.noise == "log-normal" else f"{self.noise} {self.like:g}"


def draw(world: World, answers: int, seed: int) -> tuple[Floats, Triplets]:
    """Fresh points (50, 2), the same for every world, and answers about them."""
    points_seed = np.random.SeedSequence(seed)
    points, _ = simulate.gaussian_mixture(N, random_state=np.random.default_rng(points_seed))
    key = [NAMES.index(world.noise), round(100 * world.like), answers]
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
    if world.noise == "log-normal":
        return points, simulate.noisy_triplets(points, answers, noise=world.like, random_state=rng)
    asked = simulate.random_comparisons(N, answers, random_state=rng)
    points = size(world) * points
    rows = simulate.answers_from_model(MODELS[world.noise], points, asked, random_state=rng)
    return points, Triplets(rows, n_objects=N)


@cache
def share_right(world: World, scale: float = 1.0) -> float:
    """Expected share of right answers, over all comparisons of the pilot point sets."""
    shares = []
    for pilot in range(PILOTS):
        points, _ = simulate.gaussian_mixture(N, random_state=np.random.default_rng([pilot, 1]))
        near, far = squared_distances(scale * points, simulate.true_triplets(points))
        if world.noise != "log-normal":
            p = MODELS[world.noise].probability(near, far)
        elif world.like > 0:
            p = ndtr(0.5 * np.log(far / near) / (np.sqrt(2.0) * world.like))
        else:
            p = np.ones(len(near))
        shares.append(p.mean())
    return float(np.mean(shares))


@cache
def size(world: World) -> float:
    """Factor of the mixture that makes a model's answers correct as often as desired."""
    wanted = share_right(World("log-normal", world.like))
    largest = 100.0
    if share_right(world, largest) < wanted:
        raise ValueError(f"answers of {world.noise} cannot be right in {wanted:.1%} of cases")
    return float(brentq(lambda s: share_right(world, s) - wanted, 1e-3, largest, xtol=1e-4))


# --- any points, answered by people who agree equally often --------------------------------------


class Noise(NamedTuple):
    """A model by which people answer, and the share of answers that they give at random."""

    model: Model
    lapse: float = 0.0


SIGMA = 0.3  # of log-normal noise
LOG_NORMAL, OWN = "log-normal", "the recommended model"
NOISES: dict[str, Noise | None] = {
    OWN: Noise(ShepardModel(gamma=1.0, tail=0.1), lapse=0.02),
    LOG_NORMAL: None,
    "STE": Noise(STEModel()),
    "Shepard": Noise(ShepardModel(gamma=1.0)),
}
ABOUT_NOISES = (
    f"Log-normal noise has σ = {SIGMA:g}. The others answer by a model, about the same points in "
    "the size at which two people agree as often as with log-normal noise: the recommended model "
    "with γ = 1, a tail of 0.1 and 2 % of the answers at random; STE; and Shepard, γ = 1, without "
    "either."
)


def answers_with(
    noise: str, points: Floats, answers: int, rng: np.random.Generator, replace: bool = False
) -> Triplets:
    """Answers to random comparisons of the points with a noise of `NOISES`."""
    given = NOISES[noise]
    if given is None:
        return simulate.noisy_triplets(
            points, answers, noise=SIGMA, replace=replace, random_state=rng
        )
    agreement = expected_agreement(points, noise=SIGMA)
    scale = scale_for_agreement(agreement, points, given.model, lapse=given.lapse)
    asked = simulate.random_comparisons(len(points), answers, replace=replace, random_state=rng)
    rows = simulate.answers_from_model(
        given.model, scale * points, asked, lapse=given.lapse, random_state=rng
    )
    return Triplets(rows, n_objects=len(points))
