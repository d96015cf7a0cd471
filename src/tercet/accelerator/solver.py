"""Fits on an accelerator: replicates and starts are the batch axis of one compiled program.

A search runs mostly in float32, which is faster, and ends in float64, where the CPU's search ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from threading import Lock
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from tercet.accelerator import lbfgs
from tercet.accelerator.device import computing_on, find_device, memory_of
from tercet.accelerator.forms import (
    EXACT,
    Comparisons,
    Listed,
    Loss,
    Shape,
    bytes_working,
    choose_shape,
    pairs_of,
    rows_of,
    signed_counts,
    value_and_gradient,
)
from tercet.accelerator.lists import Part, parts_of, work_of
from tercet.engine.blocks import Blocks
from tercet.engine.lbfgs import EVALUATE, MEMORY
from tercet.engine.problem import Problem
from tercet.engine.search import (
    Descent,
    Fit,
    Objective,
    Options,
    Rows,
    Seeds,
    describe_fit,
    floor_of,
)
from tercet.engine.starts import INVARIANT, SPREAD, lanczos_steps
from tercet.errors import InputError
from tercet.models.base import Array

ROUGH = 1e-6  # tolerance of the search in float32
# A choice counts as the comparisons that need as much memory.
AT_ONCE = 4_000_000  # comparisons evaluated in parallel; more are evaluated in turn
IN_A_BATCH = 64_000_000  # comparisons: so that progress is shown, and saved
_WIDTHS = 16  # in how many sizes a group's choices in a subset can come
_NEVER = -2.0  # below every eigenvalue of the scaled counts
_LOOK = 50  # evaluations between checks by the host
_KEPT, _WORKING = 0.3, 0.5  # shares of the memory: for stored and for temporary arrays

_one_at_a_time = Lock()  # one thread uses the device's memory; others draw subsets meanwhile


class OnDevice(NamedTuple):
    """Solver equivalent to a `Descent`, on an accelerator.

    With ``device`` "auto", it uses the CPU if there is no GPU, as on a worker without one.
    """

    descent: Descent
    device: str

    def solve(self, problem: Problem | Blocks, rng: np.random.Generator) -> Fit:
        """Fit all comparisons."""
        if isinstance(problem, Blocks):
            if self.device == "auto":
                return self.descent.solve(problem, rng)
            raise InputError(
                "streamed answers are fitted on the CPU; use device='cpu', or read them into "
                "memory with tc.read_triplets."
            )
        if self._stays:
            return self.descent.solve(problem, rng)
        return self._solve(problem, [np.arange(problem.n_rows)], [rng])[0]

    def solve_subsets(self, problem: Problem, subsets: Sequence[Rows], seeds: Seeds) -> list[Fit]:
        """Fit subsets of the rows in parallel, each with its own seed."""
        if self._stays:
            return self.descent.solve_subsets(problem, subsets, seeds)
        return self._solve(problem, subsets, [np.random.default_rng(seed) for seed in seeds])

    def batch_size(self, problem: Problem, count: int, n_workers: int) -> int:
        """Number of subsets per batch, the same in every batch."""
        if self._stays:
            return self.descent.batch_size(problem, count, n_workers)
        starts, d = (
            self.descent.count_starts(problem.n_objects),
            self.descent.objective.n_components,
        )
        size = len(problem.comparisons) + int(work_of(parts_of(problem.lists)).sum())
        each = bytes_kept(problem, size, d, starts)
        room = _KEPT * memory_of(find_device(self.device))
        fewest = max(1, count * size // IN_A_BATCH, int(count * each // room))
        # A batch of another size would be recompiled.
        number = next((k for k in range(fewest, 2 * fewest) if count % k == 0), fewest)
        return -(-count // number)

    @property
    def _stays(self) -> bool:
        return find_device(self.device) is None

    def _solve(
        self, problem: Problem, subsets: Sequence[Rows], rngs: Sequence[np.random.Generator]
    ) -> list[Fit]:
        objective, options, init = self.descent
        n, d = problem.n_objects, objective.n_components
        count = 1 if init is not None else self.descent.count_starts(n)
        draws = np.stack([rng.standard_normal((count, d, n)) for rng in rngs])
        device = find_device(self.device)
        with _one_at_a_time, computing_on(device):
            batch = load_batch(problem, subsets, d, count, memory_of(device))
            if init is not None:
                X = jnp.broadcast_to(jnp.asarray(init), (len(subsets), 1, n, d))
            else:
                X = jnp.asarray(draws.swapaxes(2, 3))
                if options.start == "spectral":
                    X = X.at[:, 0].set(_starts(batch.comparisons, draws[:, 0, 0], batch.shape))
            runs = self._follow(batch, X)
        return [_best(fits) for fits in runs]

    def _follow(self, batch: Batch, X: jax.Array) -> list[list[Fit]]:
        """Fits of all subsets from all starts X (S, K, n, d)."""
        objective, options, _ = self.descent
        models = objective.model.rounded()
        if not models:
            return minimise(objective, batch, X, options)
        n_iter = np.zeros(X.shape[:2], dtype=np.int64)
        for model in models:
            runs = minimise(objective._replace(model=model), batch, X, options)
            X = jnp.asarray([[fit.embedding for fit in fits] for fits in runs])
            n_iter += [[fit.n_iter for fit in fits] for fits in runs]
        losses, _ = evaluate(objective, batch, X)
        return [
            [
                fit._replace(loss=float(losses[s, k]), n_iter=int(n_iter[s, k]))
                for k, fit in enumerate(fits)
            ]
            for s, fits in enumerate(runs)
        ]


def _best(fits: Sequence[Fit]) -> Fit:
    return min(fits, key=lambda fit: fit.loss if np.isfinite(fit.loss) else np.inf)


class Batch(NamedTuple):
    """Comparisons and choices of S subsets on the device."""

    shape: Shape
    comparisons: Comparisons  # (S, m, ...)
    least: Array  # (S,): the smallest weight of each
    side_by_side: int  # subsets evaluated in parallel


def bytes_kept(problem: Problem, size: int, d: int, starts: int) -> int:
    """Bytes that a subset of ``size`` comparisons takes on the device: rows and the optimiser."""
    return 28 * size + 8 * starts * (2 * MEMORY + 12) * problem.n_objects * d


def load_batch(
    problem: Problem, subsets: Sequence[Rows], d: int, starts: int, memory: int
) -> Batch:
    """Send the answers and the subsets of them to the device, in the faster form.

    ``memory`` of the device, in bytes, also limits how many subsets are evaluated in parallel.
    """
    m, parts = len(problem.comparisons), parts_of(problem.lists)
    places = [problem.position[rows] for rows in subsets]
    compared = [own[own < m] for own in places]
    listed = [own[own >= m] - m for own in places]
    sizes = np.array([len(own) for own in compared])
    work = work_of(parts)
    size = max(int(len(a) + work[b].sum()) for a, b in zip(compared, listed, strict=True))
    shape = choose_shape(problem.n_objects, d, size, int(_WORKING * memory))
    shape = shape._replace(groups=tuple(part.group for part in parts))
    working = starts * bytes_working(shape, size)
    at_once = min(AT_ONCE // max(1, size * starts), int(_WORKING * memory / working))
    rows = rows_of(problem.comparisons, shape)
    order, place = _arranged(rows[:, 0], shape)
    most = int(sizes.max()) if not parts else _width(int(sizes.max()), m)
    index = np.zeros((len(subsets), most), dtype=np.int32)
    for chosen, out in zip(compared, index, strict=True):
        out[: len(chosen)] = np.sort(place[chosen])
    weights = problem.weights[order] if len(problem.weights) else np.ones(m)
    least = [weights[i[:k]].min(initial=np.inf) for i, k in zip(index, sizes, strict=True)]
    weighs = len(problem.weights) > 0 or bool((sizes < most).any())
    comparisons = _choose(rows[order], weights if weighs else None, index, sizes)
    lists, first = [], 0
    for part in parts:
        count = len(part.weights)
        own = [some[(first <= some) & (some < first + count)] - first for some in listed]
        sent, by_choice = _load_list(problem, part, own, shape)
        lists.append(sent)
        lightest = np.where(by_choice > 0.0, by_choice, np.inf).min(axis=1, initial=np.inf)
        least, first = np.minimum(least, lightest), first + count
    comparisons = comparisons._replace(lists=tuple(lists))
    if any(group.ties or group.sides for group in shape.groups):
        bonus = problem.lists.bonus
        comparisons = comparisons._replace(bonus=jnp.tile(bonus, (len(subsets), 1)))
    return Batch(shape, comparisons, np.asarray(least), at_once)


def _arranged(first: NDArray[np.int32], shape: Shape) -> tuple[Rows, NDArray[np.int32]]:
    """An order of answers by their first pair or object, and the place of each in it.

    The matrix form should look up neighbours together; the row form should not write to the same
    place at once.
    """
    if shape.by_matrix:
        order = np.argsort(first, kind="stable")
    else:
        order = np.random.default_rng(0).permutation(len(first))
    place = np.empty(len(first), dtype=np.int32)
    place[order] = np.arange(len(first), dtype=np.int32)
    return order, place


def _width(needed: int, count: int) -> int:
    """Rows to reserve for the ``needed`` ones of ``count``: few numbers, as each is compiled."""
    step = max(1, -(-count // _WIDTHS))
    return -(-needed // step) * step


def _load_list(
    problem: Problem, part: Part, subsets: Sequence[Rows], shape: Shape
) -> tuple[Listed, Array]:
    """Send the choices of a group in every subset to the device; also their weights (S, m).

    A choice that a subset has several times is sent once, with its weight multiplied. Rows are
    padded with choices of weight zero.
    """
    pairs = pairs_of(problem.edges[part.edges], shape)
    order, place = _arranged(pairs[0, 0], shape)
    counted = [np.unique(place[own], return_counts=True) for own in subsets]
    width = _width(max(len(found) for found, _ in counted), len(order))
    index = np.zeros((len(subsets), width), dtype=np.int32)
    weights, of_one = np.zeros((len(subsets), width)), part.weights[order]
    for s, (found, times) in enumerate(counted):
        index[s, : len(found)] = found
        weights[s, : len(found)] = of_one[found] * times
    places = None
    if part.places is not None:
        places = _choose_columns(part.places[:, order].astype(np.int32), index)
    chosen = _choose_columns(pairs[:, :, order], index)
    return Listed(chosen, jnp.asarray(weights), places), weights


@jax.jit
def _choose_columns(values: Any, index: Any) -> jax.Array:
    """The columns of the subsets, which come first."""
    return jnp.moveaxis(values[..., index], -2, 0)


@jax.jit
def _choose(rows: Any, weights: Any, index: Any, sizes: Any) -> Comparisons:
    """Rows of the subsets, padded with comparisons of weight zero."""
    if weights is None:
        return Comparisons(rows[index], None)
    counts = jnp.arange(index.shape[1]) < sizes[:, None]
    return Comparisons(rows[index], jnp.where(counts, weights[index], 0.0))


@partial(jax.jit, static_argnames="shape")
def _starts(comparisons: Comparisons, vectors: Any, shape: Shape) -> jax.Array:
    return jax.lax.map(lambda pair: spectral_start(shape, *pair), (comparisons, vectors))


def evaluate(objective: Objective, batch: Batch, X: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Losses (S, K) of embeddings (S, K, n, d) and their gradients, in float64."""
    code, *constants = objective.arguments
    active = jnp.ones(X.shape[:2], bool)
    how = batch.shape, code, jnp.float64, batch.side_by_side
    return _evaluate(batch.comparisons, constants, X, active, *how)


def minimise(objective: Objective, batch: Batch, X: jax.Array, options: Options) -> list[list[Fit]]:
    """Minimise the loss of every subset from its starts X (S, K, n, d)."""
    code, *constants = objective.arguments
    floors = jnp.asarray(floor_of(objective) * batch.least)
    flat = X.reshape(*X.shape[:2], -1)
    states = jax.vmap(jax.vmap(lbfgs.start_state))(flat)
    for dtype, tolerance in ((jnp.float32, max(ROUGH, options.tol)), (jnp.float64, options.tol)):
        states = lbfgs.restart(states)
        while bool(jnp.any(states.status == EVALUATE)):
            limits = tolerance, floors, options.max_iter
            how = batch.shape, code, dtype, batch.side_by_side
            states = _advance(states, batch.comparisons, constants, limits, *how)
    found = states.x.reshape(X.shape), states.f, states.iterations, states.status
    points, losses, n_iter, status = map(np.asarray, found)
    return [
        [
            describe_fit(
                objective,
                points[s, k],
                losses[s, k],
                n_iter[s, k],
                status[s, k],
                options.max_iter,
            )
            for k in range(X.shape[1])
        ]
        for s in range(X.shape[0])
    ]


@partial(jax.jit, static_argnames=("shape", "code", "dtype", "side_by_side"), donate_argnums=0)
def _advance(
    states: lbfgs.State,
    comparisons: Comparisons,
    constants: Any,
    limits: Any,
    shape: Shape,
    code: int,
    dtype: Any,
    side_by_side: int,
) -> lbfgs.State:
    """Take up to `_LOOK` steps with all (S, K) states that have not stopped."""
    tolerance, floors, max_iter = limits

    def move(state: lbfgs.State, f: jax.Array, g: jax.Array, floor: jax.Array) -> lbfgs.State:
        new = lbfgs.advance(state, f, g, tolerance, floor, max_iter)
        active = state.status == EVALUATE
        return jax.tree.map(lambda a, b: jnp.where(active, a, b), new, state)

    def step(known: tuple[jax.Array, lbfgs.State]) -> tuple[jax.Array, lbfgs.State]:
        count, states = known
        X = states.x.reshape(*states.x.shape[:2], shape.n_objects, shape.n_components)
        active = states.status == EVALUATE
        f, g = _evaluate(comparisons, constants, X, active, shape, code, dtype, side_by_side)
        each = jax.vmap(jax.vmap(move, (0, 0, 0, None)))
        return count + 1, each(states, f, g.reshape(states.x.shape), floors)

    def more(known: tuple[jax.Array, lbfgs.State]) -> jax.Array:
        count, states = known
        return (count < _LOOK) & jnp.any(states.status == EVALUATE)

    return jax.lax.while_loop(more, step, (jnp.zeros((), int), states))[1]


@partial(jax.jit, static_argnames=("shape", "code", "dtype", "side_by_side"))
def _evaluate(
    comparisons: Comparisons,
    constants: Any,
    X: jax.Array,
    active: jax.Array,
    shape: Shape,
    code: int,
    dtype: Any,
    side_by_side: int,
) -> tuple[jax.Array, jax.Array]:
    """Losses (S, K) and gradients (S, K, n, d); large subsets that are not active are left out."""
    loss = Loss(code, *constants)

    def all_starts(own: Comparisons, points: jax.Array) -> tuple[jax.Array, jax.Array]:
        return jax.vmap(lambda x: value_and_gradient(shape, loss, own, x, dtype))(points)

    if side_by_side >= len(X):
        return jax.vmap(all_starts)(comparisons, X)
    if side_by_side > 1:
        return jax.lax.map(
            lambda pair: all_starts(*pair), (comparisons, X), batch_size=side_by_side
        )

    def one(own: tuple[Comparisons, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        chosen, points, is_active = own
        nothing = jnp.zeros(len(points)), jnp.zeros_like(points)
        return jax.lax.cond(jnp.any(is_active), all_starts, lambda *_: nothing, chosen, points)

    return jax.lax.map(one, (comparisons, X, active))


def spectral_start(shape: Shape, comparisons: Comparisons, vector: jax.Array) -> jax.Array:
    """Top eigenvectors (n, d) of the scaled signed counts; Lanczos iteration begins at the vector.

    Equal to those of `tercet.engine.starts` up to the signs of the columns.
    """
    n, d = shape.n_objects, shape.n_components
    count = lanczos_steps(n, d)
    multiply, degree = signed_counts(shape, comparisons)
    scale = jnp.where(degree > 0.0, 1.0 / jnp.sqrt(jnp.maximum(degree, 1.0e-300)), 0.0)

    def step(
        j: jax.Array, known: tuple[jax.Array, jax.Array, jax.Array]
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        basis, diagonal, beside = known
        product = scale * multiply(scale * basis[j])
        alive = jnp.any(basis[j] != 0.0)
        diagonal = diagonal.at[j].set(jnp.where(alive, jnp.dot(product, basis[j]), _NEVER))
        for _ in range(2):  # a single pass loses orthogonality
            overlap = jnp.matmul(basis, product, precision=EXACT)
            product = product - jnp.matmul(overlap, basis, precision=EXACT)
        left = jnp.linalg.norm(product)
        more = left > INVARIANT
        following = jnp.where(more, product / jnp.where(more, left, 1.0), 0.0)
        return basis.at[j + 1].set(following), diagonal, beside.at[j].set(more * left)

    basis = jnp.zeros((count + 1, n)).at[0].set(vector / jnp.linalg.norm(vector))
    start = basis, jnp.zeros(count), jnp.zeros(count)
    basis, diagonal, beside = jax.lax.fori_loop(0, count, step, start)
    tridiagonal = jnp.diag(diagonal)
    tridiagonal += jnp.diag(beside[: count - 1], 1) + jnp.diag(beside[: count - 1], -1)
    _, vectors = jnp.linalg.eigh(tridiagonal)
    largest = vectors[:, ::-1][:, :d]
    X = SPREAD * jnp.sqrt(1.0 * n) * jnp.matmul(basis[:count].T, largest, precision=EXACT)
    return jnp.pad(X, ((0, 0), (0, d - X.shape[1])))
