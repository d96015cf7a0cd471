"""The simulated world, and a map of it by each of the five methods."""

from __future__ import annotations

import time
import warnings
from typing import NamedTuple

import numpy as np

from tercet import metrics, simulate
from tercet.embedder import Embedder, Floats
from tercet.estimators import CKL, GNMDS, SOE, STE, TSTE
from tercet.triplets import Triplets

NAMES = (
    ("wren", "robin", "eagle", "gull", "duck", "swan", "heron", "crow", "finch", "stork"),
    ("trout", "perch", "shark", "eel", "carp", "tuna", "pike", "cod", "salmon", "herring"),
    ("fox", "otter", "hare", "bear", "mouse", "deer", "wolf", "bat", "badger", "lynx"),
)
N_ANSWERS = 2500
NOISE = 0.3


class World(NamedTuple):
    """Animals at made-up places, and noisy answers about them."""

    positions: Floats
    kinds: list[int]
    answers: Triplets
    truth: Triplets


class Result(NamedTuple):
    """One method's map of the world."""

    name: str
    embedding: Floats
    training_error: float
    true_error: float
    milliseconds: float
    reason: str


def make_world(seed: int) -> World:
    """Place ten animals of each kind around the means of the paper's mixture and ask about them."""
    rng = np.random.default_rng(seed)
    kinds = [kind for kind, names in enumerate(NAMES) for _ in names]
    names = [name for group in NAMES for name in group]
    spread = rng.standard_normal((len(names), 2))
    positions = simulate.MIXTURE_MEANS[kinds] + 0.9 * spread
    asked = simulate.random_comparisons(len(names), N_ANSWERS, random_state=rng)
    given = simulate.answer(positions, asked, noise=NOISE, random_state=rng)
    truth = simulate.true_triplets(positions)
    return World(positions, kinds, Triplets(given, names=names), Triplets(truth, names=names))


def embed_world(world: World, seed: int) -> list[Result]:
    """Embed the answers with each of the five methods."""
    results = []
    methods: list[Embedder] = [STE(2), TSTE(2), CKL(2), SOE(2), GNMDS(2)]
    for method in methods:
        method.set_params(random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            method.fit(world.answers)  # compiles on the very first run
            began = time.perf_counter()
            method.fit(world.answers)
        results.append(
            Result(
                type(method).__name__,
                method.embedding_,
                metrics.triplet_error(method.embedding_, world.answers),
                metrics.triplet_error(method.embedding_, world.truth),
                1e3 * (time.perf_counter() - began),
                method.reason_,
            )
        )
    return results
