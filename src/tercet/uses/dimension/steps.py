"""Does one more dimension predict better? Two tests of a step, and the rule made of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tercet.answers.questions import Index, deal
from tercet.embedder import Embedder
from tercet.engine.backend import fit_anywhere
from tercet.engine.problem import build_problem
from tercet.metrics import squared_distances
from tercet.provenance import seed_for
from tercet.triplets import Triplets

Floats = NDArray[np.float64]

# First keys of seeds: how units are dealt into folds, and where fits start.
_FOLDS, _STARTS = range(2)


class Folds(NamedTuple):
    """What an embedding that has not seen them says of the answers."""

    accuracy: Floats  # (repeats·folds,) of each split
    right: Floats  # (m,) share of the repeats in which the answer was predicted
    log_loss: Floats  # (m,) mean over the repeats; NaN where the model is no probability


class Splits(NamedTuple):
    """Repeated K-fold: which rows each fit learns from, and which it predicts."""

    train: Sequence[Index]
    test: list[Index]
    folds: int
    seeds: list[np.random.SeedSequence]


def make_splits(units: Index, folds: int, repeats: int, entropy: int) -> Splits:
    """Deal the units (m,) into folds, so many times; the same splits serve every dimension."""
    rngs = [np.random.default_rng(seed_for(entropy, _FOLDS, k)) for k in range(repeats)]
    dealt = [deal(units, folds, rng) for rng in rngs]
    test = [np.flatnonzero(fold == k) for fold in dealt for k in range(folds)]
    seeds = [seed_for(entropy, _STARTS, j) for j in range(len(test))]
    return Splits(_Others(dealt, folds), test, folds, seeds)


class _Others(Sequence[Index]):
    """Rows of all folds but one, made when asked for: they are many, and travel to workers."""

    def __init__(self, dealt: list[Index], folds: int) -> None:
        self._dealt = dealt
        self._folds = folds

    def __len__(self) -> int:
        return len(self._dealt) * self._folds

    @overload
    def __getitem__(self, key: int) -> Index: ...
    @overload
    def __getitem__(self, key: slice) -> list[Index]: ...
    def __getitem__(self, key: int | slice) -> Any:
        numbers = range(len(self))[key]
        if isinstance(numbers, range):
            return [self[j] for j in numbers]
        repeat, k = divmod(numbers, self._folds)
        return np.flatnonzero(self._dealt[repeat] != k)


def cross_validate(
    estimator: Embedder,
    triplets: Triplets,
    splits: Splits,
    n_jobs: int | None,
    done: Callable[[int], object],
) -> Folds:
    """Fit every split and predict the rows that it left out."""
    problem = build_problem(triplets.array, triplets.n_objects, triplets.weights)
    solver = estimator.solver(work=len(splits.train) * len(triplets))
    model, d, m = estimator.model(), estimator.n_components, len(triplets)
    weights = np.ones(m) if triplets.weights is None else triplets.weights
    right, loss, accuracy = np.zeros(m), np.zeros(m), np.empty(len(splits.test))
    with closing(fit_anywhere(solver, problem, splits.train, splits.seeds, n_jobs)) as fits:
        for j, (fit, rows) in enumerate(zip(fits, splits.test, strict=True)):
            near, far = squared_distances(fit.embedding, triplets[rows])
            accuracy[j] = np.average(near < far, weights=weights[rows])
            right[rows] += near < far
            loss[rows] += -model.log_prob(near, far, d) if model.is_probability else math.nan
            done(1)
    repeats = len(accuracy) // splits.folds
    return Folds(accuracy, right / repeats, loss / repeats)


def corrected_t_test(difference: Floats, folds: int) -> float:
    """One-sided p-value that accuracy rises, from its differences (J,) on splits of K folds.

    t = (mean / sd) / √(1/J + 1/(K − 1)) with J − 1 degrees of freedom: splits share most of their
    answers, so the usual √(1/J) would be far too small (Nadeau & Bengio 2003; for the dimension of
    triplet embeddings Künstle, von Luxburg & Wichmann 2022).
    """
    mean, sd, count = difference.mean(), difference.std(ddof=1), len(difference)
    if sd == 0.0:
        return 0.0 if mean > 0.0 else 1.0
    t = mean / sd / math.sqrt(1.0 / count + 1.0 / (folds - 1.0))
    return float(stats.t.sf(t, count - 1))


class Gain(NamedTuple):
    """Held-out log-probability that one dimension has more than another, all answers together."""

    nats: float
    error: float  # its standard error over units

    @property
    def z(self) -> float:
        """The gain in standard errors."""
        return self.nats / self.error if self.error > 0.0 else math.copysign(math.inf, self.nats)


def gain(lower: Floats, higher: Floats) -> Gain:
    """What the second of two held-out log-densities (U,) gains over the first."""
    difference = higher - lower
    error = math.sqrt(len(difference)) * difference.std(ddof=1)
    return Gain(float(difference.sum()), float(error))


def first_not_rejected(p_values: Sequence[float], level: float) -> int:
    """How many steps a fixed sequence of tests takes: up to the first that is not rejected."""
    for taken, p in enumerate(p_values):
        if not p < level:
            return taken
    return len(p_values)
