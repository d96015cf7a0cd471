"""Limited-memory BFGS for many problems in lockstep, in JAX.

The same optimiser as `tercet.engine.lbfgs`, step for step: it takes the loss and gradient at the
current point and moves to the next point to try. Written for one problem without branches, it is
mapped over a batch; problems that have stopped do not change. Points and sums over them are
float64; only the losses may be computed in float32.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular

from tercet.accelerator.forms import EXACT
from tercet.engine.lbfgs import (
    ARMIJO,
    AT_FLOOR,
    AT_LIMIT,
    CONVERGED,
    CURVATURE,
    EVALUATE,
    FIRST_MOVE,
    FLAT,
    GROWTH,
    INNER,
    LEAST_CURVATURE,
    LEAST_SIZE,
    MAX_TRIALS,
    MEMORY,
    NOT_FINITE,
    OUTER,
    QUIET_ITERATIONS,
    ROUNDING,
    STALLED,
)


class State(NamedTuple):
    """State of the optimiser; ``x`` is the point to evaluate."""

    x: jax.Array  # (N,)
    x_old: jax.Array
    g_old: jax.Array
    direction: jax.Array
    steps: jax.Array  # (MEMORY, N), the newest last
    changes: jax.Array  # (MEMORY, N): of the gradient
    curvature: jax.Array  # (MEMORY,): 1 / (step . change); 0 where nothing is stored
    f: jax.Array
    slope: jax.Array
    step: jax.Array
    low: Trial
    high: Trial
    bracketed: jax.Array
    begun: jax.Array
    trials: jax.Array
    quiet: jax.Array
    iterations: jax.Array
    status: jax.Array


class Trial(NamedTuple):
    """A step along the direction, with the loss and the slope there."""

    step: jax.Array
    f: jax.Array
    slope: jax.Array


def start_state(x: jax.Array) -> State:
    """State for a minimisation that starts at the points x (N,)."""
    zeros, number, whole = jnp.zeros_like(x), jnp.zeros(()), jnp.zeros((), jnp.int32)
    history = jnp.zeros((MEMORY, len(x)))
    none = Trial(number, number, number)
    no = jnp.zeros((), bool)
    return State(
        x,
        zeros,
        zeros,
        zeros,
        history,
        history,
        jnp.zeros(MEMORY),
        number,
        number,
        number,
        none,
        none,
        no,
        no,
        whole,
        whole,
        whole,
        jnp.full((), EVALUATE, jnp.int32),
    )


def restart(s: State) -> State:
    """Continue from the best point with a loss of another precision; the curvature is kept."""
    return s._replace(
        begun=jnp.zeros_like(s.begun),
        quiet=jnp.zeros_like(s.quiet),
        status=jnp.full_like(s.status, EVALUATE),
    )


def advance(s: State, f: Any, g: jax.Array, tolerance: Any, floor: Any, max_iter: Any) -> State:
    """Take the loss f and the gradient g at ``s.x``; see `tercet.engine.lbfgs.advance`."""
    first = ~s.begun
    accepted, tried = _search(s, f, g)
    accepted = accepted & ~first
    arrived = first | accepted
    exhausted = ~arrived & (tried.trials >= MAX_TRIALS)
    without_memory = exhausted & ~jnp.any(s.curvature > 0.0)

    x, g = jnp.where(arrived, s.x, s.x_old), jnp.where(arrived, g, s.g_old)
    here = _remember(s, x, g, accepted)
    here = here._replace(
        f=jnp.where(arrived, f, s.f),
        curvature=jnp.where(exhausted, 0.0, here.curvature),
        begun=jnp.ones_like(s.begun),
        iterations=s.iterations + accepted,
    )
    here, stationary = _start_search(here, x, g)

    small = tolerance * jnp.abs(here.f)
    calm = accepted & (-0.5 * here.slope <= small) & (s.f - f <= small)
    quiet = jnp.where(arrived & ~first, jnp.where(calm, s.quiet + 1, 0), s.quiet)
    flat = _is_flat(here, tolerance)
    status = jnp.select(
        [
            first & ~jnp.isfinite(f),
            arrived & (f <= floor),
            arrived & (here.iterations >= max_iter),
            stationary | (without_memory & flat),
            without_memory,
            arrived & (quiet >= QUIET_ITERATIONS) & flat,
        ],
        [NOT_FINITE, AT_FLOOR, AT_LIMIT, CONVERGED, STALLED, CONVERGED],
        EVALUATE,
    ).astype(jnp.int32)
    here = here._replace(
        x=jnp.where(status == EVALUATE, here.x, x), quiet=quiet.astype(jnp.int32), status=status
    )
    chosen = arrived | exhausted
    return jax.tree.map(lambda a, b: jnp.where(chosen, a, b), here, tried)


def _search(s: State, f: Any, g: jax.Array) -> tuple[jax.Array, State]:
    """Whether the trial step is accepted, and the state that tries another."""
    t, slope = s.step, jnp.dot(g, s.direction)
    finite = jnp.isfinite(f) & jnp.isfinite(slope)
    level = jnp.abs(f - s.f) <= ROUNDING * jnp.abs(s.f)
    gentle = ((2 * ARMIJO - 1) * s.slope >= slope) & (slope >= CURVATURE * s.slope)
    above_low = (f >= s.low.f) & (s.low.step > 0)
    decreases = finite & (f <= s.f + ARMIJO * t * s.slope) & ~above_low
    accepted = (finite & level & gentle) | (decreases & (jnp.abs(slope) <= -CURVATURE * s.slope))

    here = Trial(t, jnp.asarray(f), slope)
    uphill = jnp.where(s.bracketed, slope * (s.high.step - s.low.step), slope) >= 0.0
    high = _choose(~decreases, here, _choose(uphill, s.low, s.high))
    low = _choose(decreases, here, s.low)
    bracketed = s.bracketed | ~decreases | uphill
    inner = low.step + INNER * (high.step - low.step)
    outer = low.step + OUTER * (high.step - low.step)
    cubic = _cubic_step(low, high)
    known = jnp.isfinite(high.f) & jnp.isfinite(high.slope) & jnp.isfinite(cubic)
    inside = jnp.where(known, cubic, 0.5 * (low.step + high.step))
    inside = jnp.clip(inside, jnp.minimum(inner, outer), jnp.maximum(inner, outer))
    trial = jnp.where(bracketed, inside, GROWTH * t)
    return accepted, s._replace(
        x=s.x_old + trial * s.direction,
        step=trial,
        low=low,
        high=high,
        bracketed=bracketed,
        trials=s.trials + 1,
    )


def _choose(first: jax.Array, a: Trial, b: Trial) -> Trial:
    return Trial(*(jnp.where(first, u, v) for u, v in zip(a, b, strict=True)))


def _cubic_step(a: Trial, b: Trial) -> jax.Array:
    """Minimiser of the cubic with these values and slopes; NaN if it has none."""
    d1 = a.slope + b.slope - 3.0 * (a.f - b.f) / (a.step - b.step)
    d2 = jnp.sqrt(d1 * d1 - a.slope * b.slope) * jnp.where(b.step > a.step, 1.0, -1.0)
    return b.step - (b.step - a.step) * (b.slope + d2 - d1) / (b.slope - a.slope + 2.0 * d2)


def _remember(s: State, x: jax.Array, g: jax.Array, accepted: jax.Array) -> State:
    """Store the accepted step and the change of gradient if their curvature is positive."""
    step, change = x - s.x_old, g - s.g_old
    curvature = jnp.dot(step, change)
    kept = accepted & (curvature > LEAST_CURVATURE * jnp.dot(change, change))
    inverse = 1.0 / jnp.where(kept, curvature, 1.0)

    def push(old: jax.Array, new: jax.Array) -> jax.Array:
        return jnp.where(kept, jnp.concatenate([old[1:], new[None]]), old)

    return s._replace(
        steps=push(s.steps, step),
        changes=push(s.changes, change),
        curvature=push(s.curvature, inverse),
    )


def _start_search(s: State, x: jax.Array, g: jax.Array) -> tuple[State, jax.Array]:
    """Choose a direction from x and the first step along it; also whether the gradient is zero."""
    direction = _direction(s, g)
    slope = jnp.dot(g, direction)
    downhill = slope < 0.0
    direction = jnp.where(downhill, direction, -g)
    slope = jnp.where(downhill, slope, -jnp.dot(g, g))
    curvature = jnp.where(downhill, s.curvature, 0.0)
    # Without curvature: a step that moves points by about a tenth of their spread.
    size = jnp.sqrt(jnp.mean(x * x)) + LEAST_SIZE
    first = FIRST_MOVE * size * jnp.sqrt(1.0 * len(x)) / jnp.sqrt(-slope)
    step = jnp.where(jnp.any(curvature > 0.0), 1.0, first)
    zero, here = jnp.zeros_like(step), Trial(jnp.zeros_like(step), s.f, slope)
    return s._replace(
        x=x + step * direction,
        x_old=x,
        g_old=g,
        direction=direction,
        curvature=curvature,
        slope=slope,
        step=step,
        low=here,
        high=Trial(zero, zero, zero),
        bracketed=jnp.zeros_like(s.bracketed),
        trials=jnp.zeros_like(s.trials),
    ), ~(slope < 0.0)


def _direction(s: State, g: jax.Array) -> jax.Array:
    """The direction of the two-loop recursion, its loops written as triangular systems.

    With steps S and changes Y in rows, M the upper triangle of S Y' and D its diagonal, the first
    loop solves M a = S q, the second M' c = D a - Y r. Empty rows have no effect.
    """
    known = s.curvature > 0.0
    S, Y = (jnp.where(known[:, None], part, 0.0) for part in (s.steps, s.changes))
    products = jnp.matmul(S, Y.T, precision=EXACT)
    diagonal = jnp.where(known, jnp.diag(products), 1.0)
    M = jnp.triu(products, 1) + jnp.diag(diagonal)
    a = solve_triangular(M, -jnp.matmul(S, g, precision=EXACT))
    newest = s.curvature[-1] * jnp.dot(Y[-1], Y[-1])
    shrink = jnp.where(newest > 0.0, 1.0 / jnp.where(newest > 0.0, newest, 1.0), 1.0)
    r = -shrink * (g + jnp.matmul(a, Y, precision=EXACT))
    c = solve_triangular(M.T, diagonal * a - jnp.matmul(Y, r, precision=EXACT), lower=True)
    return r + jnp.matmul(c, S, precision=EXACT)


def _is_flat(s: State, tolerance: Any) -> jax.Array:
    reach = jnp.sqrt(jnp.dot(s.g_old, s.g_old) * jnp.dot(s.x_old, s.x_old))
    return reach <= FLAT * jnp.sqrt(tolerance) * jnp.abs(s.f)
