"""Hamiltonian Monte Carlo for many chains in lockstep, in JAX: a block of draws in one program.

All chains take the same number of steps of the same size, drawn anew for every draw, so that none
waits for another. Metric, integrator and hops on a line are those of `posterior.hamiltonian`. The
random numbers of a draw come from its number and the seed, so that blocks of any length give the
same draws.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from tercet.accelerator.target import Data, Form, energies, gradients
from tercet.engine.constants import (
    ACCEPT_IN_LOCKSTEP,
    DELAY,
    DIVERGED,
    FIRST_PUSH,
    FORGETTING,
    GOAL,
    HOPS,
    SHORTEST,
    SHRINKAGE,
)

# Multiples of these, modulo one, fill the unit square evenly (Roberts 2018): powers of the inverse
# of the root of x^3 = x + 1.
_EVEN = np.array([0.7548776662466927, 0.5698402909980532])

Floats = NDArray[np.float64]


class Metric(NamedTuple):
    """Covariances of the points, up to scale, and of eta, for trajectories of even speed."""

    A: Any  # (n, n), both sides centred; or its diagonal (n,)
    root: Any  # (n, n), or (n,): root @ root.T is the inverse of A before it was centred
    shift: Any  # (n,) what a momentum off by one is conditioned with
    widths: Any  # (1 + k,) standard deviations of eta


class State(NamedTuple):
    """Where all chains are, and what the tuning of the step remembers."""

    Y: Any  # (n, d, C)
    eta: Any  # (1 + k, C)
    energy: Any  # (C,)
    by_shape: Any  # (n, d, C) slopes of the energy
    by_eta: Any  # (1 + k, C)
    step: Any
    tuner: Any  # (4,) goal, mean gap, mean log-step, count: see `posterior.hamiltonian`
    number: Any  # of the next draw


class Draws(NamedTuple):
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
    """The same chains with the tuning begun anew, from the step it had found."""
    step = jnp.exp(state.tuner[2])
    return state._replace(step=step, tuner=_new_tuner(step))


def settled(state: State) -> State:
    """The same chains, with the step that the tuning had found."""
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
) -> tuple[State, Draws]:
    """Make ``count`` draws, at most ``block``, for which there is one program.

    ``length`` is the mean length of a trajectory, ``most`` its largest number of steps. With
    ``tune`` the step adapts to the mean acceptance of the chains. Rows of the draws beyond
    ``count`` are empty.
    """
    run: Callable[..., tuple[State, Draws]] = _program(form, block)
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
    ) -> tuple[State, Draws]:
        def one(row: jax.Array, carry: tuple[State, Draws]) -> tuple[State, Draws]:
            state, draws = carry
            state, drawn = _draw(form, data, metric, state, key, length, most, tune)
            return state, Draws(*(a.at[row].set(b) for a, b in zip(draws, drawn, strict=True)))

        C, rows = state.Y.shape[-1], (block,)
        empty = Draws(
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
) -> tuple[State, Draws]:
    """One trajectory of every chain, hops on a line, and what to note."""
    keys = jax.random.split(jax.random.fold_in(key, 1 + state.number), 4)
    Y, eta = state.Y, state.eta
    P = _momentum(metric, jax.random.normal(keys[0], Y.shape, Y.dtype))
    widths = metric.widths[:, None]
    r = jax.random.normal(keys[1], eta.shape, eta.dtype) / widths
    # Shared by all chains, as is their number of steps: uneven lengths break periods, and now and
    # then short steps get out of stiff corners. The tuning sees a fair share of them all at once.
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
        # The last push of a step and the first of the next are one.
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
    if form.n_components == 1:
        Y, energy = _hop(form, data, Y, eta, energy, keys[3])
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
    return state, Draws(X.astype(Y.dtype), eta, of_X, divergent, accepted, count)


def _apply(A: jax.Array, P: jax.Array) -> jax.Array:
    """A P over objects, for P (n, d, C) and A (n, n) or a diagonal (n,)."""
    if A.ndim == 1:
        return A[:, None, None] * P
    return jnp.einsum("ij,jdc->idc", A, P, precision="highest")


def _velocity(metric: Metric, P: jax.Array) -> jax.Array:
    V = _apply(metric.A, P)
    return V - jnp.mean(V, axis=0) if metric.A.ndim == 1 else V


def _momentum(metric: Metric, normal: jax.Array) -> jax.Array:
    """Normal with covariance inverse(A), given that it moves no centre."""
    P = _apply(metric.root, normal)
    return jnp.asarray(P - metric.shift[:, None, None] * jnp.sum(P, axis=0))


def _kinetic(metric: Metric, P: jax.Array, r: jax.Array) -> jax.Array:
    of_points = jnp.sum(P * _apply(metric.A, P), axis=(0, 1), dtype=jnp.float64)
    return 0.5 * (of_points + jnp.sum((metric.widths[:, None] * r) ** 2, axis=0))


def _hop(
    form: Form, data: Data, Y: jax.Array, eta: jax.Array, energy: jax.Array, key: Any
) -> tuple[jax.Array, jax.Array]:
    """Mirror random objects at others, on a line, each if it is accepted."""
    n, _, C = Y.shape

    def hop(round_: jax.Array, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        Y, energy = carry
        which, where, luck = jax.random.split(jax.random.fold_in(key, round_), 3)
        i = jax.random.randint(which, (C,), 0, n)
        j = jax.random.randint(where, (C,), 0, n - 1)
        j += j >= i
        chain = jnp.arange(C)
        Z = Y.at[i, 0, chain].set(2.0 * Y[j, 0, chain] - Y[i, 0, chain])
        Z -= jnp.mean(Z, axis=0)
        reached = energies(form, data, Z, eta)
        yes = jnp.log(jax.random.uniform(luck, (C,), jnp.float64)) < energy - reached
        return jnp.where(yes, Z, Y), jnp.where(yes, reached, energy)

    Y, energy = jax.lax.fori_loop(0, -(-n // HOPS), hop, (Y, energy))
    return Y, energy


def _retune(tuner: jax.Array, probability: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Learn from an acceptance probability; returns the step to try next (`hamiltonian`)."""
    goal, gap, mean, k = tuner
    k = k + 1.0
    gap = gap + (ACCEPT_IN_LOCKSTEP - probability - gap) / (k + DELAY)
    log_step = goal - jnp.sqrt(k) / SHRINKAGE * gap
    mean = mean + k**FORGETTING * (log_step - mean)
    return jnp.exp(log_step), jnp.stack([goal, gap, mean, k])
