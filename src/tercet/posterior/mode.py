"""The mode of the posterior, and the shape of the posterior around it."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from tercet.compiled import jit
from tercet.engine import lbfgs
from tercet.engine.blas import one_blas_thread
from tercet.models.base import Array
from tercet.posterior.scale import mode_of_log
from tercet.posterior.target import Target, energy_and_gradient

DENSE = 1500  # coordinates; up to here the whole matrix of second derivatives is taken
_ROUNDS = 6  # of settling the scale of the prior, roughly
_SETTLED = 0.2  # change of its logarithm
_PROBES = 16  # random directions for the diagonal of a larger matrix
_STEP = 1e-4  # of the finite differences, in units of the points' spread
_STILL = 0.01  # a turn by one radian that moves points less, in units of the prior, is none


class Mode(NamedTuple):
    """A maximum of the posterior density given the scale of the prior."""

    X: Array  # (n, d), centred
    theta: Array  # (k,)
    energy: float
    log_scale: float  # logarithm of the scale v of the prior


class Curvature(NamedTuple):
    """Second derivatives of the energy at a mode, their flat directions left out.

    Flat are the translations, and the rotations when the prior does not see them.
    """

    values: Array  # (K,) eigenvalues
    vectors: Array  # (n * d + k, K)
    log_orbit: float  # logarithm of the size, up to a constant, of the orbit of the rotations


@jit
def _descend(target: Target, X: Array, theta: Array, max_iter: int) -> float:
    """Minimise the energy from X and theta, which are overwritten; returns the energy."""
    size = X.size
    state = lbfgs.start_state(np.concatenate((X.reshape(size), theta)))
    by_X, by_theta = np.empty_like(X), np.zeros_like(theta)
    status = lbfgs.EVALUATE
    while status == lbfgs.EVALUATE:
        points = state.x[:size].reshape(X.shape)
        energy = energy_and_gradient(target, points, state.x[size:], by_X, by_theta)
        state.g[:size] = by_X.reshape(size)
        state.g[size:] = by_theta
        status = lbfgs.advance(state, energy, 1e-9, -np.inf, max_iter)
    X[:] = state.x[:size].reshape(X.shape)
    theta[:] = state.x[size:]
    return lbfgs.final_loss(state)


@jit
def _differences(target: Target, X: Array, theta: Array, steps: Array) -> Array:
    """Change of the gradient (K, n * d + k) per unit along each row of steps, central."""
    size = X.size
    at = np.concatenate((X.reshape(size), theta))
    by_X, by_theta = np.empty_like(X), np.zeros_like(theta)
    out = np.empty(steps.shape)
    for row in range(len(steps)):
        for sign in (1.0, -1.0):
            moved = at + sign * steps[row]
            energy_and_gradient(target, moved[:size].reshape(X.shape), moved[size:], by_X, by_theta)
            if sign > 0.0:
                out[row, :size] = by_X.reshape(size)
                out[row, size:] = by_theta
            else:
                out[row, :size] -= by_X.reshape(size)
                out[row, size:] -= by_theta
    return 0.5 * out


def fix_scale(target: Target, log_scale: float) -> Target:
    """The same posterior given the scale of the prior."""
    return target._replace(scale_mean=float(log_scale), scale_sd=0.0)


def find_mode(target: Target, X: Array, theta: Array, max_iter: int = 1000) -> Mode:
    """Walk uphill from X (n, d) and theta (k,); the scale of the prior must be fixed."""
    X, theta = X - X.mean(axis=0), theta.copy()
    energy = _descend(target, X, theta, max_iter)
    return Mode(X, theta, float(energy), target.scale_mean)


def settle_scale(target: Target, X: Array, theta: Array) -> Mode:
    """Mode at a likely scale of the prior, found by expectation-maximisation.

    The mode of X and v together would be no guide: it ignores how many X are about as good. So
    the expected sum of squares counts the spread of X around its mode too.
    """
    mode = find_mode(fix_scale(target, target.scale_mean), X, theta)
    if target.scale_sd == 0.0:
        return mode
    freedom = float(X.size - X.shape[1])
    for _ in range(_ROUNDS):
        known = fix_scale(target, mode.log_scale)
        squares = float(np.einsum("ik,kl,il", mode.X, target.precision, mode.X))
        squares += _expected_squares(known, mode)
        log_scale, _ = mode_of_log(squares, freedom, target.scale_mean, target.scale_sd)
        if abs(log_scale - mode.log_scale) < _SETTLED:
            break
        mode = find_mode(fix_scale(target, log_scale), mode.X, mode.theta)
    return mode


def curvature(target: Target, mode: Mode) -> Curvature:
    """Second derivatives at a mode, by differences of the gradient; the scale must be fixed."""
    n, d = mode.X.shape
    step = _STEP * (np.sqrt(np.mean(mode.X**2)) + 1e-3)
    hessian = _differences(target, mode.X, mode.theta, step * np.eye(n * d + len(mode.theta)))
    hessian = 0.5 * (hessian + hessian.T) / step
    flat = [np.kron(np.ones(n), axis) for axis in np.eye(d)]
    log_orbit = 0.0
    if _is_round(target.precision):
        turns = []
        for a, b in combinations(range(d), 2):
            turn = np.zeros((n, d))
            turn[:, a], turn[:, b] = -mode.X[:, b], mode.X[:, a]
            turns.append(turn.ravel())
        if turns:
            directions, sizes, _ = np.linalg.svd(np.array(turns).T, full_matrices=False)
            # Points that coincide, or lie on a line in space, do not change when turned around it.
            moved = sizes > _STILL * np.sqrt(n * np.exp(mode.log_scale))
            log_orbit = float(np.sum(np.log(sizes[moved])))
            flat += list(directions[:, moved].T)
    basis = np.zeros((len(hessian), len(flat)))
    basis[: n * d] = np.array(flat).T
    with one_blas_thread():
        complete, _ = np.linalg.qr(basis, mode="complete")
        free = complete[:, len(flat) :]
        values, vectors = np.linalg.eigh(free.T @ hessian @ free)
    # At a corner of the energy, or where the search stopped early, the energy may bend down.
    floor = 0.1 * np.exp(-mode.log_scale) * np.linalg.eigvalsh(target.precision)[0]
    return Curvature(np.maximum(values, floor), free @ vectors, log_orbit)


def spread_of_objects(target: Target, mode: Mode) -> tuple[Array, Array]:
    """Covariance of the objects, averaged over dimensions, and the widths of theta.

    (n, n) and (k,); for large problems the variances alone, (1, n).
    """
    n, d = mode.X.shape
    if mode.X.size > DENSE:
        return _variances(target, mode)[None], np.full(len(mode.theta), 0.1)
    values, vectors, _ = curvature(target, mode)
    scaled = vectors / np.sqrt(values)
    points = scaled[: n * d].reshape(n, -1)  # one row of (d, K) numbers an object
    A = points @ points.T / d + 1e-6 * np.exp(mode.log_scale) * np.eye(n)
    return A, np.sqrt(np.sum(scaled[n * d :] ** 2, axis=1))


def _expected_squares(target: Target, mode: Mode) -> float:
    """Expected sum of squares, by the prior's precision, of the points around their mode."""
    n, d = mode.X.shape
    if mode.X.size > DENSE:
        return float(_variances(target, mode).sum() * np.trace(target.precision))
    values, vectors, _ = curvature(target, mode)
    points = (vectors / np.sqrt(values))[: n * d].reshape(n, d, -1)
    return float(np.einsum("ika,kl,ila", points, target.precision, points))


def _variances(target: Target, mode: Mode) -> Array:
    """Variance (n,) of each object from the diagonal of the second derivatives.

    The mean of z * (H z) over random signs z is the diagonal (Bekas et al. 2007).
    """
    n, d = mode.X.shape
    step = _STEP * (np.sqrt(np.mean(mode.X**2)) + 1e-3)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(_PROBES, n * d + len(mode.theta)))
    changes = _differences(target, mode.X, mode.theta, step * signs) / step
    diagonal = np.mean(signs * changes, axis=0)[: n * d].reshape(n, d).mean(axis=1)
    return np.asarray(1.0 / np.maximum(diagonal, np.exp(-mode.log_scale)))


def _is_round(precision: Array) -> bool:
    """Whether the prior is the same in all directions."""
    return bool(np.allclose(precision, precision[0, 0] * np.eye(len(precision))))
