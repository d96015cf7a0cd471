"""Minimise the loss: once, from several starts, or for many subsets in parallel on threads."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Lock
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tercet.compiled import announce_compilation, jit
from tercet.engine import lbfgs
from tercet.engine.blocks import Blocks, loss_over_blocks, spectral_start_of_blocks
from tercet.engine.chunks import Add, Map, loss_in_chunks
from tercet.engine.kernels import code_of, value_and_gradient
from tercet.engine.problem import Problem, least_weight, take_rows
from tercet.engine.starts import random_start, spectral_points, spectral_start
from tercet.errors import InputError
from tercet.models.base import Array, Model
from tercet.running.threads import count_threads, threads_at_most

Rows = NDArray[np.integer]
Seeds = Sequence[np.random.SeedSequence]

# In one dimension single runs get stuck, and a run of few objects takes well under a millisecond:
# this many runs times objects are affordable.
RUNS_TIMES_OBJECTS = 1000
LARGE = 200_000  # comparisons or objects from which one evaluation uses several threads
_WORTH_A_TASK = LARGE // 16  # comparisons in a task; fewer would cost more to send to a worker

_all_threads = Lock()  # parallel large fits would each open as many threads as there are cores


class Objective(NamedTuple):
    """A model and a penalty on the sum of squares, for embeddings in some dimension.

    The penalty 1 / (2 v) makes the minimum the MAP under a Gaussian prior of variance v.
    """

    model: Model
    n_components: int
    penalty: float = 0.0

    @property
    def arguments(self) -> tuple[int, float, float, float]:
        """Arguments of the compiled kernels."""
        p, q = self.model.constants(self.n_components)
        return code_of(self.model), float(p), float(q), float(self.penalty)

    @property
    def runs_away(self) -> bool:
        """Whether a larger copy of an embedding that satisfies every answer is always better."""
        return self.model.is_probability and self.penalty == 0.0 and self.model.sees_scale


class Options(NamedTuple):
    """Settings of the search for the minimum.

    The first of ``n_init`` runs uses ``start``, all others random starts. By default there is one
    run, and for up to 500 objects in one dimension 1000 / n, at most 50.
    """

    start: str = "spectral"
    n_init: int | None = None
    tol: float = lbfgs.TOLERANCE
    max_iter: int = 2000


class Fit(NamedTuple):
    """A minimum of the loss, with the reason in words why the search stopped."""

    embedding: Array
    loss: float
    n_iter: int
    converged: bool
    separable: bool
    reason: str


class Solver(Protocol):
    """Fits the comparisons of a problem."""

    def solve(self, problem: Problem | Blocks, rng: np.random.Generator) -> Fit:
        """Fit all comparisons."""

    def solve_subsets(self, problem: Problem, subsets: Sequence[Rows], seeds: Seeds) -> list[Fit]:
        """Fit subsets of the rows, one after the other, each with its own seed."""

    def batch_size(self, problem: Problem, count: int, n_workers: int) -> int:
        """Number of subsets per batch, for ``count`` subsets and ``n_workers`` workers."""


def evaluate(objective: Objective, problem: Problem | Blocks, X: Array) -> tuple[float, Array]:
    """Loss of an embedding (n, d), and its gradient."""
    gradient = np.empty_like(X)
    if isinstance(problem, Blocks):
        with _threads() as run:
            return _spread(objective, problem, run)(X, gradient), gradient
    loss = value_and_gradient(*objective.arguments, problem, X, gradient)
    return float(loss), gradient


def minimise(
    objective: Objective,
    problem: Problem | Blocks,
    start: Array,
    options: Options | None = None,
    n_threads: int | None = None,
) -> Fit:
    """Minimise the loss from one start (n, d)."""
    announce_compilation(descend)
    _, _, tol, max_iter = options or Options()
    floor = floor_of(objective) * _least_weight(problem)
    start = np.ascontiguousarray(start, dtype=np.float64)
    if isinstance(problem, Problem) and not _is_large(problem.n_rows, problem.n_objects):
        found = descend(*objective.arguments, problem, start, tol, floor, max_iter)
        return describe_fit(objective, *found, max_iter)
    state = lbfgs.start_state(start)
    X, gradient = state.x.reshape(start.shape), state.g.reshape(start.shape)
    status = lbfgs.EVALUATE
    with _threads(n_threads) as run:
        loss = _spread(objective, problem, run)
        while status == lbfgs.EVALUATE:
            status = lbfgs.advance(state, loss(X, gradient), tol, floor, max_iter)
    found = X, lbfgs.final_loss(state), lbfgs.iterations(state), status
    return describe_fit(objective, *found, max_iter)


def _is_large(size: int, n_objects: int) -> bool:
    """Whether a problem of this size should use all threads.

    As one compiled call, its fit could not be interrupted for minutes.
    """
    return max(size, n_objects) >= LARGE


@contextmanager
def _threads(n_threads: int | None = None) -> Iterator[Map]:
    """A ``map`` with exclusive use of all threads; one thread needs no pool."""
    if (count := count_threads(n_threads)) == 1:
        yield map
        return
    with _all_threads, ThreadPoolExecutor(count) as pool:
        yield pool.map


def _spread(objective: Objective, problem: Problem | Blocks, run: Map) -> Add:
    """The loss as a sum over chunks."""
    if isinstance(problem, Problem):
        return loss_in_chunks(*objective.arguments, problem, run)
    return loss_over_blocks(*objective.arguments, problem, objective.n_components, run)


def _least_weight(problem: Problem | Blocks) -> float:
    if isinstance(problem, Problem):
        return float(least_weight(problem))
    return problem.least_weight


def describe_fit(
    objective: Objective, X: Array, loss: float, n_iter: int, status: int, max_iter: int
) -> Fit:
    """The result of the optimiser as a `Fit`."""
    separable = status == lbfgs.AT_FLOOR and objective.model.is_probability
    converged = status in (lbfgs.CONVERGED, lbfgs.AT_FLOOR) and not separable
    reason = _REASONS[status].format(max_iter=max_iter)
    return Fit(X, float(loss), int(n_iter), converged, separable, reason)


_REASONS = {
    lbfgs.CONVERGED: "converged: further steps would not decrease the loss noticeably",
    lbfgs.AT_FLOOR: "every comparison is satisfied",
    lbfgs.STALLED: "stopped: no descent step lowers the loss, as at a corner where points meet",
    lbfgs.AT_LIMIT: "stopped at the limit of {max_iter} iterations",
    lbfgs.NOT_FINITE: "failed: the loss at the start is not a finite number",
}


class Descent(NamedTuple):
    """Solver that minimises from ``n_init`` starts, or from ``init`` alone."""

    objective: Objective
    options: Options = Options()
    init: Array | None = None

    def solve(self, problem: Problem | Blocks, rng: np.random.Generator) -> Fit:
        """Fit all comparisons; a large problem uses several threads."""
        if isinstance(problem, Problem) and self._is_compiled(problem, problem.n_rows):
            rows = np.arange(problem.n_rows)
            return self._solve_compiled(problem, [rows], [rng])[0]
        n, d = problem.n_objects, self.objective.n_components
        if self.init is not None:
            return self._follow(problem, self.init)
        fits = []
        for k in range(self.count_starts(n)):
            spectral = k == 0 and self.options.start == "spectral"
            start = _spectral_start(problem, d, rng) if spectral else random_start(n, d, rng)
            fits.append(self._follow(problem, start))
        return min(fits, key=lambda fit: fit.loss if math.isfinite(fit.loss) else math.inf)

    def solve_subsets(self, problem: Problem, subsets: Sequence[Rows], seeds: Seeds) -> list[Fit]:
        """Fit subsets of the rows, one after the other, each with its own seed."""
        rngs = [np.random.default_rng(seed) for seed in seeds]
        if self._is_compiled(problem, max(map(len, subsets))):
            return self._solve_compiled(problem, subsets, rngs)
        parts = [take_rows(problem, np.asarray(rows, dtype=np.int64)) for rows in subsets]
        return [self.solve(part, rng) for part, rng in zip(parts, rngs, strict=True)]

    def batch_size(self, problem: Problem, count: int, n_workers: int) -> int:
        """Number of subsets per batch, for ``count`` subsets and ``n_workers`` workers."""
        return share(problem, count, n_workers)

    def count_starts(self, n_objects: int) -> int:
        """Number of runs."""
        if self.options.n_init is not None or self.objective.n_components > 1:
            return self.options.n_init or 1
        return min(50, max(1, RUNS_TIMES_OBJECTS // n_objects))

    def _is_compiled(self, problem: Problem, size: int) -> bool:
        large = _is_large(size, problem.n_objects)
        return not large and self.init is None and not self.objective.model.rounded()

    def _solve_compiled(
        self, problem: Problem, subsets: Sequence[Rows], rngs: Sequence[np.random.Generator]
    ) -> list[Fit]:
        announce_compilation(descend_subsets)
        start, _, tol, max_iter = self.options
        n, d, count = problem.n_objects, self.objective.n_components, len(subsets)
        rows = np.concatenate(subsets, dtype=np.int64)
        cuts = np.cumsum([0, *map(len, subsets)])
        draws = np.empty((count, self.count_starts(n), d, n))
        for rng, own in zip(rngs, draws, strict=True):
            rng.standard_normal(out=own)
        points, losses = np.empty((count, n, d)), np.empty(count)
        notes = np.empty((count, 2), dtype=np.int64)
        descend_subsets(
            *self.objective.arguments,
            problem,
            rows,
            cuts,
            draws,
            start == "spectral",
            tol,
            floor_of(self.objective),
            max_iter,
            points,
            losses,
            notes,
        )
        found = zip(points, losses, notes[:, 0], notes[:, 1], strict=True)
        return [describe_fit(self.objective, *one, max_iter) for one in found]

    def _follow(self, problem: Problem | Blocks, start: Array) -> Fit:
        models = self.objective.model.rounded()
        if not models:
            return minimise(self.objective, problem, start, self.options)
        # Follow the minimum as the rounded corner sharpens, and report the loss with the corner.
        n_iter, X = 0, start
        for model in models:
            fit = minimise(self.objective._replace(model=model), problem, X, self.options)
            X, n_iter = fit.embedding, n_iter + fit.n_iter
        return fit._replace(loss=evaluate(self.objective, problem, X)[0], n_iter=n_iter)


def _spectral_start(problem: Problem | Blocks, d: int, rng: np.random.Generator) -> Array:
    if isinstance(problem, Problem):
        return spectral_start(problem, d, rng)
    with _threads() as run:
        return spectral_start_of_blocks(problem, d, rng, run)


def embed(
    objective: Objective,
    problem: Problem | Blocks,
    rng: np.random.Generator,
    options: Options | None = None,
    init: Array | None = None,
) -> Fit:
    """Minimise the loss from several starts, or from ``init`` alone, and return the best."""
    return Descent(objective, options or Options(), init).solve(problem, rng)


def fit_subsets(
    solver: Solver,
    problem: Problem,
    subsets: Sequence[Rows],
    seeds: Seeds,
    n_threads: int | None = None,
) -> Generator[Fit, None, None]:
    """Fit many subsets of the rows (repeats allowed), in parallel on threads.

    Fits are yielded in order. Each subset has its own seed, so the result does not depend on the
    number of threads. The sequence of subsets may be lazy.
    """
    if len(subsets) != len(seeds):
        raise InputError(f"there are {len(subsets)} subsets but {len(seeds)} seeds.")
    most = count_threads(n_threads)
    n_threads = min(most, len(subsets))

    def batch(span: slice) -> list[Fit]:
        with threads_at_most(most):  # in each fit that uses several threads itself
            return solver.solve_subsets(problem, subsets[span], seeds[span])

    return _on_threads(batch, batches(solver, problem, len(subsets), n_threads), n_threads)


def _on_threads(
    batch: Callable[[slice], list[Fit]], spans: Sequence[slice], n_threads: int
) -> Generator[Fit, None, None]:
    """The fits of batches; closing the generator cancels the rest."""
    if n_threads <= 1:
        for span in spans:
            yield from batch(span)
        return
    with ThreadPoolExecutor(n_threads) as pool:
        try:
            for fits in pool.map(batch, spans):
                yield from fits
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def batches(solver: Solver, problem: Problem, count: int, n_workers: int) -> list[slice]:
    """Divide subsets among workers."""
    size = solver.batch_size(problem, count, n_workers)
    return [slice(k, k + size) for k in range(0, count, size)]


def share(problem: Problem, count: int, n_workers: int) -> int:
    """Size of a batch: short work in one batch per worker, long work in small batches.

    Small batches balance the load, need little memory, and little is lost with a worker.
    """
    work = count * problem.n_rows
    number = max(work // LARGE, min(4 * n_workers, max(n_workers, work // _WORTH_A_TASK)))
    return max(1, -(-count // max(1, number)))


def floor_of(objective: Objective) -> float:
    """Loss, relative to the smallest weight, at which the search stops.

    Below log 2 times the smallest weight, STE satisfies every comparison (a single one that is not
    satisfied costs log 2), so a larger copy of the same map fits better and no maximum exists.
    """
    return 0.0 if objective.penalty > 0.0 else objective.model.floor


# --- whole fits as compiled code, so that a thread with many fits rarely needs the interpreter ----


@jit
def descend(
    code: int,
    p: float,
    q: float,
    penalty: float,
    problem: Problem,
    start: Array,
    tol: float,
    floor: float,
    max_iter: int,
) -> tuple[Array, float, int, int]:
    """Minimise the loss from a start (n, d): points, loss, iterations, why it stopped."""
    state = lbfgs.start_state(start)
    X = state.x.reshape(start.shape)
    gradient = state.g.reshape(start.shape)
    status = lbfgs.EVALUATE
    while status == lbfgs.EVALUATE:
        loss = value_and_gradient(code, p, q, penalty, problem, X, gradient)
        status = lbfgs.advance(state, loss, tol, floor, max_iter)
    return X, lbfgs.final_loss(state), lbfgs.iterations(state), status


@jit
def descend_subsets(
    code: int,
    p: float,
    q: float,
    penalty: float,
    problem: Problem,
    rows: NDArray[np.int64],
    cuts: NDArray[np.int64],
    draws: Array,
    spectral: bool,
    tol: float,
    floor: float,
    max_iter: int,
    points: Array,
    losses: Array,
    notes: NDArray[np.int64],
) -> None:
    """Fit subsets of the rows, each from several starts, and write the best of each.

    Subset k is ``rows[cuts[k]:cuts[k + 1]]`` and its starts come from the normal numbers
    ``draws[k]`` (n_init, d, n). Writes ``points[k]`` (n, d), ``losses[k]``, and ``notes[k]``: the
    number of iterations, and why the best run stopped.
    """
    for k in range(len(cuts) - 1):
        subset = take_rows(problem, rows[cuts[k] : cuts[k + 1]])
        least = least_weight(subset)
        losses[k] = np.inf
        for init in range(draws.shape[1]):
            if spectral and init == 0:
                start = spectral_points(subset, draws[k, 0, 0], draws.shape[2])
            else:
                start = np.ascontiguousarray(draws[k, init].T)
            X, loss, n_iter, status = descend(
                code, p, q, penalty, subset, start, tol, least * floor, max_iter
            )
            if loss < losses[k] or init == 0:
                points[k] = X
                losses[k] = loss
                notes[k, 0], notes[k, 1] = n_iter, status
