"""Worlds whose truth is known: the paper's mixture, answered with three kinds of noise."""

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
from tercet.models import Model, STEModel, TSTEModel

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
