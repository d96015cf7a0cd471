"""Hamiltonian Monte Carlo for many chains in lockstep, in JAX: a block of draws in one program.

All chains take the same random number of steps of the same random size in each draw, so that none
waits for another. Metric and integrator are those of `posterior.hamiltonian`; between trajectories
some objects are relocated or exchanged (`relocation`). The random numbers of a draw depend on its
number and the seed, so that blocks of any length give the same draws.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from tercet.accelerator.relocation import relocate_some, swap
from tercet.accelerator.target import Data, Form, energies, gradients
from tercet.align import generalised_procrustes
from tercet.arrays import Floats
from tercet.engine.constants import (
    ACCEPT_IN_LOCKSTEP,
    ALIGNED,
    DELAY,
    DIVERGED,
    FEWEST_SHAPES,
    FIRST_PUSH,
    FIRST_STEP,
    FIRST_STEPS,
    FORGETTING,
    GOAL,
    LEAST_VARIANCE,
    LEAST_WIDTH,
    LENGTH_IN_LOCKSTEP,
    LENGTHS,
    MOST_STEPS,
    MOST_STEPS_ON_A_LINE,
    SHORTEST,
    SHRINKAGE,
    WATCHED_PAIRS,
)
from tercet.engine.problem import some_pairs

# Multiples of these, modulo one, fill the unit square evenly (Roberts 2018): powers of the inverse
# of the root of x^3 = x + 1.
_EVEN = np.array([0.7548776662466927, 0.5698402909980532])


class Metric(NamedTuple):
    """Covariance of the objects, up to scale, and standard deviations of eta."""

    A: Any  # (n, n), both sides centred; or its diagonal (n,)
    root: Any  # (n, n), or (n,): root @ root.T is the inverse of A before centring
    shift: Any  # (n,) the correction of a momentum whose sum is one
    widths: Any  # (1 + k,) standard deviations of eta


class State(NamedTuple):
    """Positions of all chains, and the state of the step's tuning."""

    Y: Any  # (n, d, C)
    eta: Any  # (1 + k, C)
    energy: Any  # (C,)
    by_shape: Any  # (n, d, C) derivatives of the energy
    by_eta: Any  # (1 + k, C)
    step: Any
    tuner: Any  # (4,) goal, mean gap, mean log-step, count: see `posterior.hamiltonian`
    number: Any  # of the next draw


class LockstepDraws(NamedTuple):
    """A block of draws of all chains."""

    points: Any  # (C, B, n, d)
    etas: Any  # (C, B, 1 + k)
    energies: Any  # (C, B) of the points
    divergent: Any  # (C, B)
    accepted: Any  # (B,) mean probability over chains
    steps: Any  # (B,)


def make_metric(A: Floats, widths: Floats, dtype: str) -> Metric:
    """Metric of a positive definite A (n, n), or of its diagonal (n,), and of the widths of eta."""
    if A.ndim == 1:
        whole, root, sums = A, 1.0 / np.sqrt(A), 1.0 / A
    else:
        inverse = np.linalg.inv(np.linalg.cholesky(A))
        centre = np.eye(len(A)) - 1.0 / len(A)
        whole, root, sums = centre @ A @ centre, inverse.T, inverse.T @ inverse.sum(axis=1)
    shift = sums / sums.sum()
    whole, root, shift = (part.astype(dtype) for part in (whole, root, shift))
    return Metric(whole, root, shift, np.asarray(widths, dtype=np.float64))


def start_state(form: Form, data: Data, Y: Floats, eta: Floats, step: float) -> State:
    """State of chains at shapes Y (n, d, C) and eta (1 + k, C)."""
    state: State = _starter(form)(data, Y.astype(form.dtype), eta, np.float64(step))
    return state


def retuned(state: State) -> State:
    """The same chains with the tuning restarted from its step."""
    step = jnp.exp(state.tuner[2])
    return state._replace(step=step, tuner=_new_tuner(step))


def settled(state: State) -> State:
    """The same chains with the tuned step."""
    return state._replace(step=jnp.exp(state.tuner[2]))


def advance(
    form: Form,
    data: Data,
    metric: Metric,
    state: State,
    key: Any,
    count: int,
    block: int,
    length: float,
    most: int,
    tune: bool,
) -> tuple[State, LockstepDraws]:
    """Make ``count`` draws, at most ``block``, the size for which the program is compiled.

    ``length`` is the mean length of a trajectory, ``most`` its largest number of steps. With
    ``tune`` the step adapts to the mean acceptance of the chains. Rows of the draws beyond
    ``count`` are empty.
    """
    run: Callable[..., tuple[State, LockstepDraws]] = _program(form, block)
    return run(data, metric, state, key, count, length, most, tune)


@cache
def _starter(form: Form) -> Any:
    def start(data: Data, Y: jax.Array, eta: jax.Array, step: jax.Array) -> State:
        Y = Y - jnp.mean(Y, axis=0)
        by_Y, by_eta = gradients(form, data, Y, eta)
        energy = energies(form, data, Y, eta)
        return State(Y, eta, energy, by_Y, by_eta, step, _new_tuner(step), jnp.asarray(0))

    return jax.jit(start)


def _new_tuner(step: Any) -> jax.Array:
    return jnp.stack([jnp.log(GOAL * step), 0.0, jnp.log(step), 0.0])


@cache
def _program(form: Form, block: int) -> Any:
    def run(
        data: Data,
        metric: Metric,
        state: State,
        key: Any,
        count: jax.Array,
        length: jax.Array,
        most: jax.Array,
        tune: jax.Array,
    ) -> tuple[State, LockstepDraws]:
        def one(row: jax.Array, carry: tuple[State, LockstepDraws]) -> tuple[State, LockstepDraws]:
            state, draws = carry
            state, drawn = _draw(form, data, metric, state, key, length, most, tune)
            return state, LockstepDraws(
                *(a.at[row].set(b) for a, b in zip(draws, drawn, strict=True))
            )

        C, rows = state.Y.shape[-1], (block,)
        empty = LockstepDraws(
            jnp.zeros(rows + state.Y.shape, state.Y.dtype),
            jnp.zeros(rows + state.eta.shape),
            jnp.zeros((block, C)),
            jnp.zeros((block, C), dtype=bool),
            jnp.zeros(rows),
            jnp.zeros(rows, dtype=jnp.int32),
        )
        state, draws = jax.lax.fori_loop(0, count, one, (state, empty))
        by_chain = {
            name: jnp.moveaxis(getattr(draws, name), -1, 0)
            for name in ("points", "etas", "energies", "divergent")
        }
        return state, draws._replace(**by_chain)

    return jax.jit(run)


def _draw(
    form: Form,
    data: Data,
    metric: Metric,
    state: State,
    key: Any,
    length: jax.Array,
    most: jax.Array,
    tune: jax.Array,
) -> tuple[State, LockstepDraws]:
    """One trajectory of every chain, relocations, a swap, and statistics of the draw."""
    keys = jax.random.split(jax.random.fold_in(key, 1 + state.number), 5)
    Y, eta = state.Y, state.eta
    P = _momentum(metric, jax.random.normal(keys[0], Y.shape, Y.dtype))
    widths = metric.widths[:, None]
    r = jax.random.normal(keys[1], eta.shape, eta.dtype) / widths
    # Shared by all chains, as is their number of steps: random lengths avoid periodic orbits, and
    # occasional short steps leave regions of high curvature. Quasi-random numbers give the tuning a
    # fair share of all of them.
    offset = jax.random.uniform(jax.random.fold_in(key, 0), (2,), jnp.float64)
    jitter = (offset + _EVEN * state.number) % 1.0
    h = state.step * SHORTEST ** (jitter[0] ** 8)
    count = jnp.ceil(jnp.clip(2.0 * length * jitter[1] / h, 1.0, most)).astype(jnp.int32)

    def push(P: Any, r: Any, by_Z: Any, by_zeta: Any, share: Any) -> tuple[Any, Any]:
        return P - (share * h).astype(P.dtype) * by_Z, r - share * h * by_zeta

    def half_step(half: Any, carry: tuple[Any, ...]) -> tuple[Any, ...]:
        Z, zeta, P, r, *_ = carry
        Z = Z + (0.5 * h).astype(Z.dtype) * _velocity(metric, P)
        zeta = zeta + 0.5 * h * widths**2 * r
        by_Z, by_zeta = gradients(form, data, Z, zeta)
        # The last momentum update of a step and the first of the next are combined.
        share = jnp.where(half % 2 == 0, 1.0 - 2.0 * FIRST_PUSH, 2.0 * FIRST_PUSH)
        return Z, zeta, *push(P, r, by_Z, by_zeta, share), by_Z, by_zeta

    start = state.energy + _kinetic(metric, P, r)
    pushed = push(P, r, state.by_shape, state.by_eta, FIRST_PUSH)
    first = Y, eta, *pushed, state.by_shape, state.by_eta
    Z, zeta, P, r, by_Z, by_zeta = jax.lax.fori_loop(0, 2 * count, half_step, first)
    P, r = push(P, r, by_Z, by_zeta, -FIRST_PUSH)
    reached = energies(form, data, Z, zeta)
    error = reached + _kinetic(metric, P, r) - start
    divergent = ~(error < DIVERGED)  # NaN too
    probability = jnp.where(divergent, 0.0, jnp.exp(jnp.minimum(-error, 0.0)))
    yes = jax.random.uniform(keys[2], error.shape, jnp.float64) < probability
    Y, eta, energy, by_Y, by_eta = (
        jnp.where(yes, a, b)
        for a, b in zip((Z, zeta, reached, by_Z, by_zeta), state[:5], strict=True)
    )
    if data.own:
        Y, eta, energy = relocate_some(form, data, Y, eta, energy, keys[3])
        Y, energy = swap(form, data, Y, eta, energy, keys[4])
        by_Y, by_eta = gradients(form, data, Y, eta)
    squares = jnp.sum(Y * Y, axis=(0, 1), dtype=jnp.float64)
    X = jnp.exp(eta[0]) * jnp.sqrt(form.freedom / squares) * Y
    of_X = energy + form.freedom * eta[0] - 0.5 * squares
    accepted = jnp.mean(probability)
    tuned, tuner = _retune(state.tuner, accepted)
    state = State(
        Y,
        eta,
        energy,
        by_Y,
        by_eta,
        jnp.where(tune, tuned, state.step),
        jnp.where(tune, tuner, state.tuner),
        state.number + 1,
    )
    return state, LockstepDraws(X.astype(Y.dtype), eta, of_X, divergent, accepted, count)


def _apply(A: jax.Array, P: jax.Array) -> jax.Array:
    """A P over objects, for P (n, d, C) and A (n, n) or a diagonal (n,)."""
    if A.ndim == 1:
        return A[:, None, None] * P
    return jnp.einsum("ij,jdc->idc", A, P, precision="highest")


def _velocity(metric: Metric, P: jax.Array) -> jax.Array:
    V = _apply(metric.A, P)
    return V - jnp.mean(V, axis=0) if metric.A.ndim == 1 else V


def _momentum(metric: Metric, normal: jax.Array) -> jax.Array:
    """Normal with covariance inverse(A), conditioned on not moving the centre."""
    P = _apply(metric.root, normal)
    return jnp.asarray(P - metric.shift[:, None, None] * jnp.sum(P, axis=0))


def _kinetic(metric: Metric, P: jax.Array, r: jax.Array) -> jax.Array:
    of_points = jnp.sum(P * _apply(metric.A, P), axis=(0, 1), dtype=jnp.float64)
    return 0.5 * (of_points + jnp.sum((metric.widths[:, None] * r) ** 2, axis=0))


def _retune(tuner: jax.Array, probability: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Update the tuner by an acceptance probability; returns the next step (`hamiltonian`)."""
    goal, gap, mean, k = tuner
    k = k + 1.0
    gap = gap + (ACCEPT_IN_LOCKSTEP - probability - gap) / (k + DELAY)
    log_step = goal - jnp.sqrt(k) / SHRINKAGE * gap
    mean = mean + k**FORGETTING * (log_step - mean)
    return jnp.exp(log_step), jnp.stack([goal, gap, mean, k])


# --- warm-up and sampling of all chains ---------------------------------------------------------


_SHORT = 50  # draws of a warm-up that only tunes the step
_FIXED = 5.0  # overhead of a draw in units of a gradient, roughly, on an H200
_BLOCK = 25  # draws between updates of the progress bar
_BLOCK_BYTES = 2**29
_FEW = 500  # transitions of chains below which lengths cannot be compared reliably
_MOST_SHAPES = 4000  # for the metric
_NEVER = 0.999  # largest autocorrelation assumed

Tick = Callable[[int], object]


class Tuned(NamedTuple):
    """Warmed-up chains with their tuned settings."""

    state: State
    A: Floats  # (n, n), or (n,)
    widths: Floats  # (1 + k,)
    length: float


class Kept(NamedTuple):
    """Draws on the host."""

    points: NDArray[np.floating]  # (C, S, n, d), in the form's precision
    etas: Floats  # (C, S, 1 + k)
    energies: Floats  # (C, S) of the points
    divergent: NDArray[np.bool_]  # (C, S)
    accepted: Floats  # (S,)
    steps: Floats  # (S,)


class Lockstep(NamedTuple):
    """A posterior, and the seed of its draws."""

    form: Form
    data: Data
    key: Any
    tick: Tick = lambda count: None

    def run(
        self, tuned: Tuned, count: int, most: int, tune: bool, keep: bool = True
    ) -> tuple[Tuned, Kept]:
        """Make ``count`` draws, block by block, and keep them if asked to.

        While the device computes a block, the previous one is copied to the host.
        """
        form, state = self.form, tuned.state
        metric = make_metric(tuned.A, tuned.widths, form.dtype)
        row = state.Y.size * np.dtype(form.dtype).itemsize
        block = int(np.clip(_BLOCK_BYTES // row, 1, _BLOCK))
        kept = _room(state, count if keep else 0)
        coming: list[tuple[LockstepDraws, slice]] = []
        for a in range(0, count, block):
            size = min(block, count - a)
            state, draws = advance(
                form, self.data, metric, state, self.key, size, block, tuned.length, most, tune
            )
            coming.append((draws, slice(a, a + size)))
            if len(coming) > 1:
                self._fetch(kept, *coming.pop(0))
        for draws, part in coming:
            self._fetch(kept, draws, part)
        return tuned._replace(state=state), kept

    def _fetch(self, kept: Kept, draws: LockstepDraws, part: slice) -> None:
        size = part.stop - part.start
        draws.steps.block_until_ready()
        if len(kept.steps):
            for name in ("points", "etas", "energies", "divergent"):
                getattr(kept, name)[:, part] = np.asarray(getattr(draws, name))[:, :size]
            for name in ("accepted", "steps"):
                getattr(kept, name)[part] = np.asarray(getattr(draws, name))[:size]
        self.tick(size * len(kept.points))


def make_sampler(form: Form, data: Data, seed: np.random.SeedSequence, tick: Tick) -> Lockstep:
    """Put the data on the device and seed the draws."""
    words = jax.numpy.asarray(seed.generate_state(2))
    key = jax.random.wrap_key_data(words, impl="threefry2x32")
    return Lockstep(form, jax.device_put(data), key, tick)


def start_chains(sampler: Lockstep, A: Floats, widths: Floats, X: Floats, theta: Floats) -> Tuned:
    """Chains at points X (C, n, d), centred, and theta (C, k).

    A (n, n), or its diagonal (n,), is the covariance of the objects around a mode, and ``widths``
    (k,) the standard deviations of theta there.
    """
    form = sampler.form
    sizes = np.sqrt(np.sum(X**2, axis=(1, 2)) / form.freedom)
    eta = np.concatenate([np.log(sizes)[None], theta.T])
    A = A / np.median(sizes) ** 2
    spread = np.trace(A) / len(A) if A.ndim == 2 else A.mean()
    width = 2.0 * np.sqrt(spread / form.freedom) + LEAST_WIDTH
    step = FIRST_STEP * (form.n_objects * form.n_components) ** -0.25
    Y = np.moveaxis(X / sizes[:, None, None], 0, -1)
    state = start_state(form, sampler.data, Y, eta, step)
    return Tuned(state, A, np.concatenate([[width], widths]), LENGTH_IN_LOCKSTEP)


def warm_up(sampler: Lockstep, tuned: Tuned, count: int, groups: int) -> Tuned:
    """Warm up with ``count`` draws; chains c, c + groups, ... started at the same point."""
    most = MOST_STEPS if sampler.form.n_components > 1 else MOST_STEPS_ON_A_LINE

    def tune(tuned: Tuned, count: int, most: int, keep: bool = False) -> tuple[Tuned, Kept]:
        tuned, kept = sampler.run(tuned, count, most, True, keep)
        return tuned._replace(state=retuned(tuned.state)), kept

    if count == 0:
        return tuned
    fifth, C = count // 5 if count >= _SHORT else 0, tuned.state.Y.shape[-1]
    trials = fifth // len(LENGTHS)
    if (trials - 1) * C < _FEW:
        trials = 0
    tuned, _ = tune(tuned, count - 3 * fifth - trials * len(LENGTHS), FIRST_STEPS)
    if fifth > 0:
        tuned, kept = tune(tuned, fifth, most, keep=True)
        tuned = refined(tuned, kept, groups)
        tuned, _ = tune(tuned, fifth, most)
        if trials > 0:
            tuned = _best_length(sampler, tuned, trials, most, groups)
        tuned, _ = tune(tuned, fifth, most)
    return tuned._replace(state=settled(tuned.state))


def draw_chains(sampler: Lockstep, tuned: Tuned, count: int) -> tuple[Tuned, Kept]:
    """Make ``count`` draws with the settings of the warm-up."""
    most = MOST_STEPS if sampler.form.n_components > 1 else MOST_STEPS_ON_A_LINE
    return sampler.run(tuned, count, most, False)


def refined(tuned: Tuned, kept: Kept, groups: int) -> Tuned:
    """Refine the metric by the observed covariance of the shapes and of eta.

    Shapes are aligned with those that started at the same point, so that different maps do not
    inflate the spread. Few draws determine the variance of each object, but not covariances.
    """
    later = slice(kept.points.shape[1] // 2, None)
    shapes = kept.points[:, later].astype(np.float64) / np.exp(kept.etas[:, later, :1, None])
    n = shapes.shape[2]
    each = max(_MOST_SHAPES // groups, FEWEST_SHAPES)
    seen, total = np.zeros((n, n)), 0
    for group in range(groups):
        some = shapes[group::groups].reshape(-1, *shapes.shape[2:])
        some = some[:: -(-len(some) // each)]
        aligned, mean = generalised_procrustes(some, translate=False, tol=ALIGNED)
        apart = (aligned - mean).transpose(1, 0, 2).reshape(n, -1)
        seen += apart @ apart.T / shapes.shape[3]
        total += len(some) - 1
    if total < FEWEST_SHAPES:
        return tuned
    seen, A = seen / total, tuned.A
    widths = kept.etas[:, later].std(axis=(0, 1))
    widths = np.where(widths > 0, widths, tuned.widths)
    factor = np.sqrt(np.maximum(np.diag(seen) / (A if A.ndim == 1 else np.diag(A)), LEAST_VARIANCE))
    if A.ndim == 1:
        return tuned._replace(A=A * factor**2, widths=widths)
    share = total / (total + 10.0 * n)
    return tuned._replace(
        A=share * seen + (1 - share) * A * np.outer(factor, factor), widths=widths
    )


def _best_length(sampler: Lockstep, tuned: Tuned, trials: int, most: int, groups: int) -> Tuned:
    """Try all lengths, and continue with the one of largest effective sample size per time."""
    state, watched, costs = settled(tuned.state), [], []
    tuner = tuned.state.tuner
    for length in LENGTHS:
        trial = tuned._replace(state=state, length=length)
        trial, kept = sampler.run(trial, trials, most, False)
        state = trial.state
        watched.append(_watched(kept))
        costs.append(2.0 * kept.steps.mean() + _FIXED)
    # Variances around the map that chains started at: no length moves chains to another map.
    together = np.concatenate(watched, axis=1)
    variance = np.mean([together[g::groups].var(axis=(0, 1)) for g in range(groups)], axis=0)
    worth = [
        1.0 / (np.max(_forgetting(values, variance)) * cost)
        for values, cost in zip(watched, costs, strict=True)
    ]
    best = LENGTHS[int(np.argmax(worth))]
    return tuned._replace(state=state._replace(tuner=tuner), length=best)


def _forgetting(values: Floats, variance: Floats) -> Floats:
    """Draws per effective draw (K,) of each quantity (C, S, K), from autocorrelations.

    The autocorrelations are those of all chains, from their increments; negative ones count as
    zero. Beyond the last draw they are extrapolated as a geometric decay.
    """
    lags = values.shape[1] - 1
    jumps = [
        np.mean((values[:, lag:] - values[:, :-lag]) ** 2, axis=(0, 1))
        for lag in range(1, lags + 1)
    ]
    correlations = 1.0 - np.array(jumps) / (2.0 * variance)
    correlations = np.where(np.cumprod(correlations > 0.0, axis=0), correlations, 0.0)
    last = np.minimum(correlations[-1], _NEVER)
    fading = last ** (1.0 / lags)
    return 1.0 + 2.0 * (correlations.sum(axis=0) + last * fading / (1.0 - fading))


def _watched(kept: Kept) -> Floats:
    """Distances, log-posterior, and eta (C, S, K)."""
    first, second = some_pairs(kept.points.shape[2], WATCHED_PAIRS)
    points = kept.points.astype(np.float64)
    apart = points[:, :, first] - points[:, :, second]
    distances = np.linalg.norm(apart, axis=3)
    return np.concatenate([distances, kept.energies[:, :, None], kept.etas], axis=2)


def _room(state: State, count: int) -> Kept:
    """Uninitialised arrays for ``count`` draws."""
    n, d, C = state.Y.shape
    return Kept(
        np.empty((C, count, n, d), dtype=state.Y.dtype),
        np.empty((C, count, len(state.eta))),
        np.empty((C, count)),
        np.empty((C, count), dtype=bool),
        np.empty(count),
        np.empty(count),
    )
