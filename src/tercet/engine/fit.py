"""Minimise the loss: once, from several starts, or for many subsets side by side on threads."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.compiled import announce_compilation, jit
from tercet.engine import lbfgs
from tercet.engine.kernels import value_and_gradient
from tercet.engine.parts import loss_in_parts
from tercet.engine.problem import Problem, take
from tercet.engine.starts import random_start, spectral_start
from tercet.models.base import Array, Model
from tercet.models.gnmds import GNMDSModel
from tercet.models.ste import STEModel

LARGE = 200_000  # comparisons; from here on a single evaluation is spread over threads


class Objective(NamedTuple):
    """A model and a penalty on the sum of squares, for embeddings in some dimension.

    The penalty 1 / (2 v) makes the minimum the MAP under a Gaussian prior of variance v.
    """

    model: Model
    n_components: int
    penalty: float = 0.0

    @property
    def arguments(self) -> tuple[int, float, float, float]:
        """What the compiled kernels take."""
        p, q = self.model.constants(self.n_components)
        return type(self.model).code, float(p), float(q), float(self.penalty)


class Options(NamedTuple):
    """How to search for the minimum."""

    start: str = "spectral"  # the first start; all others are random
    n_init: int = 1
    tol: float = 1e-9
    max_iter: int = 2000


class Fit(NamedTuple):
    """One minimised loss, and in words why the search stopped."""

    embedding: Array
    loss: float
    n_iter: int
    converged: bool
    separable: bool
    reason: str


Solver = Callable[[Problem, np.random.Generator], Fit]


def evaluate(objective: Objective, problem: Problem, X: Array) -> tuple[float, Array]:
    """Loss of an embedding (n, d), and its gradient."""
    gradient = np.empty_like(X)
    loss = value_and_gradient(*objective.arguments, problem, X, gradient)
    return float(loss), gradient


def minimise(
    objective: Objective,
    problem: Problem,
    start: Array,
    options: Options | None = None,
    n_threads: int | None = None,
) -> Fit:
    """Minimise the loss from one start (n, d)."""
    _, _, tol, max_iter = options or Options()
    state = lbfgs.start_state(np.ascontiguousarray(start).ravel())
    floor = _floor(objective, problem)
    if len(problem.comparisons) < LARGE:
        status = _loop(*objective.arguments, problem, state, start.shape, tol, floor, max_iter)
    else:
        X, gradient = state.x.reshape(start.shape), state.g.reshape(start.shape)
        status = lbfgs.EVALUATE
        with ThreadPoolExecutor(_count_threads(n_threads)) as pool:
            loss = loss_in_parts(*objective.arguments, problem, pool)
            while status == lbfgs.EVALUATE:
                status = lbfgs.advance(state, loss(X, gradient), tol, floor, max_iter)
    separable = status == lbfgs.AT_FLOOR and objective.model.is_probability
    return Fit(
        embedding=state.x.reshape(start.shape).copy(),
        loss=lbfgs.final_loss(state),
        n_iter=lbfgs.iterations(state),
        converged=status in (lbfgs.CONVERGED, lbfgs.AT_FLOOR) and not separable,
        separable=separable,
        reason=_REASONS[status].format(max_iter=max_iter),
    )


_REASONS = {
    lbfgs.CONVERGED: "converged: further steps promise no visible decrease of the loss",
    lbfgs.AT_FLOOR: "every comparison is satisfied",
    lbfgs.STALLED: "stopped: no step downhill lowers the loss, as at a corner where points meet",
    lbfgs.AT_LIMIT: "stopped at the limit of {max_iter} iterations",
    lbfgs.NOT_FINITE: "failed: the loss at the start is not a finite number",
}


def embed(
    objective: Objective,
    problem: Problem,
    rng: np.random.Generator,
    options: Options | None = None,
    init: Array | None = None,
    n_threads: int | None = None,
) -> Fit:
    """Minimise the loss from ``n_init`` starts, or from ``init`` alone, and return the best."""
    announce_compilation(_loop)
    options = options or Options()
    n, d = problem.n_objects, objective.n_components
    if init is not None:
        return _solve(objective, problem, init, options, n_threads)
    fits = []
    for k in range(options.n_init):
        spectral = k == 0 and options.start == "spectral"
        start = spectral_start(problem, d, rng) if spectral else random_start(n, d, rng)
        fits.append(_solve(objective, problem, start, options, n_threads))
    return min(fits, key=lambda fit: fit.loss if math.isfinite(fit.loss) else math.inf)


def fit_subsets(
    solver: Solver,
    problem: Problem,
    subsets: Sequence[NDArray[np.integer]],
    seeds: Sequence[np.random.SeedSequence],
    n_threads: int | None = None,
) -> list[Fit]:
    """Solve the problems of many subsets of the rows (repeats allowed), side by side on threads.

    Each subset has its own seed, so the result does not depend on the number of threads.
    """

    def task(rows: NDArray[np.integer], seed: np.random.SeedSequence) -> Fit:
        return solver(take(problem, rows), np.random.default_rng(seed))

    n_threads = min(_count_threads(n_threads), len(subsets))
    if n_threads <= 1:
        return [task(rows, seed) for rows, seed in zip(subsets, seeds, strict=True)]
    with ThreadPoolExecutor(n_threads) as pool:
        return list(pool.map(task, subsets, seeds))


def _count_threads(n_threads: int | None) -> int:
    return n_threads or os.cpu_count() or 1


def _solve(
    objective: Objective, problem: Problem, start: Array, options: Options, n_threads: int | None
) -> Fit:
    if not isinstance(objective.model, GNMDSModel) or objective.model.smoothing > 0.0:
        return minimise(objective, problem, start, options, n_threads)
    # A hinge: follow the minimum while its rounded corner sharpens, and report the hinge itself.
    n_iter, X = 0, start
    for width in (1.0, 0.1, 0.01, 0.001):
        rounded = objective._replace(model=GNMDSModel(smoothing=width))
        fit = minimise(rounded, problem, X, options, n_threads)
        X, n_iter = fit.embedding, n_iter + fit.n_iter
    return fit._replace(loss=evaluate(objective, problem, X)[0], n_iter=n_iter)


@jit
def _loop(
    code: int,
    p: float,
    q: float,
    penalty: float,
    problem: Problem,
    state: lbfgs.State,
    shape: tuple[int, int],
    tol: float,
    floor: float,
    max_iter: int,
) -> int:
    X = state.x.reshape(shape)
    gradient = state.g.reshape(shape)
    while True:
        loss = value_and_gradient(code, p, q, penalty, problem, X, gradient)
        status = lbfgs.advance(state, loss, tol, floor, max_iter)
        if status != lbfgs.EVALUATE:
            return status


def _floor(objective: Objective, problem: Problem) -> float:
    """Loss at which nothing is left to gain.

    Below log 2 times the smallest weight, STE satisfies every comparison (one that is not satisfied
    alone costs log 2), so a larger copy of the same map fits better still and no maximum exists.
    """
    if objective.penalty > 0.0:
        return 0.0
    smallest = float(problem.weights.min()) if problem.weights.size else 1.0
    return smallest * (math.log(2.0) if isinstance(objective.model, STEModel) else 1e-12)
