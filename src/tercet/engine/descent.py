"""Whole fits as compiled code, so that a thread with many fits rarely needs the interpreter."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tercet.compiled import jit
from tercet.engine import lbfgs
from tercet.engine.kernels import value_and_gradient
from tercet.engine.problem import Problem, take_rows
from tercet.engine.starts import spectral_points
from tercet.models.base import Array


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
        least = subset.weights.min() if len(subset.weights) > 0 else 1.0
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
