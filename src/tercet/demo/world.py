"""A made-up world: animals at known places, and observers who answer questions about them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tercet import simulate
from tercet.embedder import Floats
from tercet.triplets import Triplets

NAMES = (
    ("wren", "robin", "eagle", "gull", "duck", "swan", "heron", "crow", "finch", "stork"),
    ("trout", "perch", "shark", "eel", "carp", "tuna", "pike", "cod", "salmon", "herring"),
    ("fox", "otter", "hare", "bear", "mouse", "deer", "wolf", "bat", "badger", "lynx"),
)
N_OBSERVERS = 25
N_OWN = 60  # comparisons of an observer's own
N_SHARED = 40  # that all observers are asked
NOISE = 0.3
GUESSER = 16  # this observer guesses


class DemoWorld(NamedTuple):
    """Animals at made-up places, and noisy answers about them."""

    positions: Floats
    kinds: list[int]
    answers: Triplets
    truth: Triplets


def make_world(seed: int) -> DemoWorld:
    """Place ten animals of each kind around the means of the paper's mixture and ask about them."""
    rng = np.random.default_rng(seed)
    kinds = [kind for kind, names in enumerate(NAMES) for _ in names]
    names = [name for group in NAMES for name in group]
    positions = simulate.MIXTURE_MEANS[kinds] + 0.9 * rng.standard_normal((len(names), 2))
    shared = simulate.random_comparisons(len(names), N_SHARED, random_state=rng)
    own = simulate.random_comparisons(len(names), N_OBSERVERS * N_OWN, random_state=rng)
    asked = [np.concatenate([mine, shared]) for mine in np.split(own, N_OBSERVERS)]
    given = [
        simulate.answer(positions, each, noise=NOISE, lapse=float(k == GUESSER), random_state=rng)
        for k, each in enumerate(asked)
    ]
    who = np.repeat([f"P{k + 1:02d}" for k in range(N_OBSERVERS)], N_OWN + N_SHARED)
    pace = np.repeat(rng.uniform(1.2, 3.0, N_OBSERVERS), N_OWN + N_SHARED)
    seconds = (pace * rng.lognormal(0.0, 0.35, len(who))).round(2)
    answers = Triplets(np.concatenate(given), names=names, observers=who, response_times=seconds)
    truth = Triplets(simulate.true_triplets(positions), names=names)
    return DemoWorld(positions, kinds, answers, truth)
