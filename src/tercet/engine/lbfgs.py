"""Limited-memory BFGS with a line search for the strong Wolfe conditions, compiled.

The caller evaluates the loss: `advance` takes the loss and gradient at the current point and moves
to the next point to try. So one definition serves a compiled loop over a small problem and a loop
that evaluates a large problem on several threads. (Nocedal & Wright 2006, algorithms 7.4 and
3.5-3.6; the acceptance at rounding level is Hager & Zhang's 2005 approximate Wolfe condition.)
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.compiled import jit, jit_sums
from tercet.models.base import Array

MEMORY = 10

# Status returned by `advance`.
EVALUATE, CONVERGED, AT_FLOOR, STALLED, AT_LIMIT, NOT_FINITE = 0, 1, 2, 3, 4, 5

# The optimiser's numbers: losses, slopes along the direction, and the bracket of the line search.
_F, _SLOPE, _STEP, _LOW, _F_LOW, _SLOPE_LOW, _HIGH, _F_HIGH, _SLOPE_HIGH, _DECREASE = range(10)
_N_NUMBERS = 10
# Its counters.
_ITERATIONS, _EVALUATIONS, _STORED, _TRIALS, _BRACKETED, _QUIET = range(6)
_N_COUNTS = 6

TOLERANCE = 1e-9  # of the relative decrease of the loss, by default
ARMIJO, CURVATURE = 1e-4, 0.9
ROUNDING = 1e-11  # losses that differ relatively by less are equal up to rounding
FLAT = 300.0  # times the root of the tolerance: 0.01 at the default, see `_is_flat`
MAX_TRIALS = 30
LEAST_CURVATURE = 1e-14  # times the square of the change of gradient, for a step to be stored
INNER, OUTER = 0.1, 0.9  # of a bracket: where a trial step may lie in it
GROWTH = 4.0  # of the trial step while there is no bracket
FIRST_MOVE = 0.1  # of points in the first step, as a share of their spread
LEAST_SIZE = 1e-3  # added to that spread
QUIET_ITERATIONS = 3  # consecutive steps of negligible predicted and actual decrease to stop


class State(NamedTuple):
    """State of the optimiser; ``x`` is the point to evaluate, ``g`` its gradient."""

    x: Array
    g: Array
    x_old: Array
    g_old: Array
    direction: Array
    steps: Array  # (MEMORY, N)
    changes: Array  # (MEMORY, N): of the gradient
    curvature: Array  # (MEMORY,): 1 / (step . change)
    numbers: Array
    counts: NDArray[np.int64]


@jit
def start_state(start: Array) -> State:
    """State for a minimisation that starts at the points given, which are copied."""
    n = start.size
    history = np.zeros((2, MEMORY, n))
    return State(
        start.copy().reshape(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        np.zeros(n),
        history[0],
        history[1],
        np.zeros(MEMORY),
        np.zeros(_N_NUMBERS),
        np.zeros(_N_COUNTS, dtype=np.int64),
    )


@jit_sums
def dot(a: Array, b: Array) -> float:
    """Scalar product."""
    total = 0.0
    for k in range(a.size):
        total += a[k] * b[k]
    return total


@jit
def _set_direction(s: State) -> None:
    """Two-loop recursion: minus the inverse Hessian estimate times the gradient."""
    d = s.direction
    d[:] = -s.g
    stored = s.counts[_STORED]
    kept = min(stored, MEMORY)
    if kept == 0:
        return
    alpha = np.empty(MEMORY)
    for back in range(1, kept + 1):
        h = (stored - back) % MEMORY
        alpha[h] = s.curvature[h] * dot(s.steps[h], d)
        d -= alpha[h] * s.changes[h]
    h = (stored - 1) % MEMORY
    d *= 1.0 / (s.curvature[h] * dot(s.changes[h], s.changes[h]))
    for back in range(kept, 0, -1):
        h = (stored - back) % MEMORY
        beta = s.curvature[h] * dot(s.changes[h], d)
        d += (alpha[h] - beta) * s.steps[h]


@jit
def _remember(s: State) -> None:
    """Store the accepted step and the change of gradient if their curvature is positive."""
    h = s.counts[_STORED] % MEMORY
    s.steps[h] = s.x - s.x_old
    s.changes[h] = s.g - s.g_old
    curvature = dot(s.steps[h], s.changes[h])
    if curvature > LEAST_CURVATURE * dot(s.changes[h], s.changes[h]):
        s.curvature[h] = 1.0 / curvature
        s.counts[_STORED] += 1


@jit
def _start_search(s: State, f: float) -> int:
    """Choose a direction from the current point and the first step along it."""
    s.x_old[:] = s.x
    s.g_old[:] = s.g
    _set_direction(s)
    slope = dot(s.g, s.direction)
    if not slope < 0.0:
        s.counts[_STORED] = 0
        _set_direction(s)
        slope = dot(s.g, s.direction)
        if not slope < 0.0:
            return CONVERGED  # the gradient is zero
    num = s.numbers
    num[_F], num[_SLOPE] = f, slope
    num[_LOW], num[_F_LOW], num[_SLOPE_LOW] = 0.0, f, slope
    num[_HIGH] = 0.0
    s.counts[_TRIALS], s.counts[_BRACKETED] = 0, 0
    if s.counts[_STORED] > 0:
        num[_STEP] = 1.0
    else:  # without curvature: a step that moves points by about a tenth of their spread
        size = np.sqrt(dot(s.x, s.x) / s.x.size) + LEAST_SIZE
        num[_STEP] = FIRST_MOVE * size * np.sqrt(s.x.size) / np.sqrt(-slope)
    s.x[:] = s.x_old + num[_STEP] * s.direction
    return EVALUATE


@jit
def _cubic_step(a: float, fa: float, ga: float, b: float, fb: float, gb: float) -> float:
    """Minimiser of the cubic with these values and slopes at a and b; NaN if it has none."""
    d1 = ga + gb - 3.0 * (fa - fb) / (a - b)
    square = d1 * d1 - ga * gb
    if square < 0.0:
        return math.nan
    d2 = math.sqrt(square) * (1.0 if b > a else -1.0)
    return b - (b - a) * (gb + d2 - d1) / (gb - ga + 2.0 * d2)


@jit
def _search(s: State, f: float) -> bool:
    """Take the loss at the trial step; True if it is accepted, else set another trial step."""
    num = s.numbers
    t, f0, slope0 = num[_STEP], num[_F], num[_SLOPE]
    slope = dot(s.g, s.direction)
    finite = np.isfinite(f) and np.isfinite(slope)
    flat = abs(f - f0) <= ROUNDING * abs(f0)
    if finite and flat and (2 * ARMIJO - 1) * slope0 >= slope >= CURVATURE * slope0:
        return True
    decreases = (
        finite and f <= f0 + ARMIJO * t * slope0 and not (f >= num[_F_LOW] and num[_LOW] > 0)
    )
    if decreases and abs(slope) <= -CURVATURE * slope0:
        return True
    s.counts[_TRIALS] += 1
    if not decreases:
        num[_HIGH], num[_F_HIGH], num[_SLOPE_HIGH] = t, f, slope
        s.counts[_BRACKETED] = 1
    else:
        if slope * (num[_HIGH] - num[_LOW]) >= 0.0 if s.counts[_BRACKETED] else slope >= 0.0:
            num[_HIGH], num[_F_HIGH], num[_SLOPE_HIGH] = num[_LOW], num[_F_LOW], num[_SLOPE_LOW]
            s.counts[_BRACKETED] = 1
        num[_LOW], num[_F_LOW], num[_SLOPE_LOW] = t, f, slope
    low, high = num[_LOW], num[_HIGH]
    if s.counts[_BRACKETED]:
        trial = np.nan
        if np.isfinite(num[_F_HIGH]) and np.isfinite(num[_SLOPE_HIGH]):
            trial = _cubic_step(
                low, num[_F_LOW], num[_SLOPE_LOW], high, num[_F_HIGH], num[_SLOPE_HIGH]
            )
        inner, outer = low + INNER * (high - low), low + OUTER * (high - low)
        if not np.isfinite(trial):
            trial = 0.5 * (low + high)
        trial = min(max(trial, min(inner, outer)), max(inner, outer))
    else:
        trial = GROWTH * t
    num[_STEP] = trial
    s.x[:] = s.x_old + trial * s.direction
    return False


@jit
def _is_flat(s: State, f: float, tolerance: float) -> bool:
    """Whether the slope at the accepted point is negligible, as at a minimum but not at a corner.

    The slope times the size of x, relative to the loss. Near a minimum it is proportional to the
    root of the remaining decrease: at most 0.0006 in 480 fits of STE, t-STE and CKL with the
    default tolerance. Fits of SOE in one dimension that stopped too early, in a corner where points
    met, had at least 0.14.
    """
    reach = math.sqrt(dot(s.g_old, s.g_old) * dot(s.x_old, s.x_old))
    return reach <= FLAT * math.sqrt(tolerance) * abs(f)


@jit
def advance(s: State, f: float, tolerance: float, floor: float, max_iter: int) -> int:
    """Take the loss f and the gradient at ``s.x``; set ``s.x`` to the next point, or stop.

    A minimisation has converged when in three consecutive iterations both the decrease predicted by
    the quadratic model and the actual one are below ``tolerance`` times the loss, and the slope is
    flat. It stops at once at a loss of ``floor``. When it stops, ``s.x`` is the best point and
    `final_loss` its loss.
    """
    s.counts[_EVALUATIONS] += 1
    first = s.counts[_EVALUATIONS] == 1
    if first:
        s.numbers[_F] = f
        if not np.isfinite(f):
            return NOT_FINITE
    elif not _search(s, f):
        if s.counts[_TRIALS] < MAX_TRIALS:
            return EVALUATE
        s.x[:] = s.x_old
        s.g[:] = s.g_old
        if s.counts[_STORED] == 0:
            return CONVERGED if _is_flat(s, s.numbers[_F], tolerance) else STALLED
        s.counts[_STORED] = 0  # discard the curvature and try steepest descent once
        return _start_search(s, s.numbers[_F])
    else:
        s.counts[_ITERATIONS] += 1
        s.numbers[_DECREASE] = s.numbers[_F] - f
        _remember(s)
    s.numbers[_F] = f
    if f <= floor:
        return AT_FLOOR
    if s.counts[_ITERATIONS] >= max_iter:
        return AT_LIMIT
    status = _start_search(s, f)
    if status == EVALUATE and not first:
        small = tolerance * abs(f)
        quiet = -0.5 * s.numbers[_SLOPE] <= small and s.numbers[_DECREASE] <= small
        s.counts[_QUIET] = s.counts[_QUIET] + 1 if quiet else 0
        if s.counts[_QUIET] >= QUIET_ITERATIONS and _is_flat(s, f, tolerance):
            status = CONVERGED
    if status != EVALUATE:
        s.x[:] = s.x_old
    return status


@jit
def final_loss(s: State) -> float:
    """Loss at the best point."""
    return float(s.numbers[_F])


@jit
def iterations(s: State) -> int:
    """Accepted steps so far."""
    return int(s.counts[_ITERATIONS])
