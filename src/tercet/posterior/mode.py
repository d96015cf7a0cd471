"""Modes of the posterior, its curvature there, and the chains' starts near them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import combinations
from typing import Any, NamedTuple, Self

import numpy as np

from tercet.compiled import jit
from tercet.engine import lbfgs
from tercet.engine.backend import backend_is_chosen, run_anywhere
from tercet.engine.problem import Problem
from tercet.engine.search import Descent, Objective, Options
from tercet.models.base import LAPSE, OFFSET, Array, Model
from tercet.posterior.target import Target, energy_and_gradient
from tercet.posterior.variance import mode_of_log
from tercet.running.checkpoint import NOTHING_KEPT, Checkpoint, floats_of
from tercet.running.memory import LARGEST_NUMBER
from tercet.running.threads import one_blas_thread

DENSE = 1500  # coordinates up to which the full matrix of second derivatives is computed
_ROUNDS = 6  # of expectation-maximisation for the scale of the prior
_SETTLED = 0.2  # change of its logarithm at which it stops
_PROBES = 16  # random directions for the diagonal of a larger matrix
_STEP = 1e-4  # of the finite differences, in units of the points' spread
_JITTER = 0.5  # of a start, in standard deviations of the Laplace approximation
_SEARCHES = 3  # for a chain's start, each from random points
_FAR = 3.0  # prior standard deviations at which a parameter counts as diverged
_TIGHT = 0.05  # factor on its prior's standard deviation to keep a mode from diverging
_STILL = 0.01  # least move of the points by a rotation of one radian, in units of the prior


class Mode(NamedTuple):
    """A maximum of the posterior density given the scale of the prior."""

    X: Array  # (n, d), centred
    theta: Array  # (k,)
    energy: float
    log_scale: float  # logarithm of the scale v of the prior


class Curvature(NamedTuple):
    """Second derivatives of the energy at a mode, without flat directions.

    Translations are flat, and rotations if the prior is invariant to them.
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
        status = lbfgs.advance(state, energy, lbfgs.TOLERANCE, -np.inf, max_iter)
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
    """The mode reached from X (n, d) and theta (k,); the scale of the prior must be fixed."""
    X, theta = X - X.mean(axis=0), theta.copy()
    energy = _descend(target, X, theta, max_iter)
    return Mode(X, theta, float(energy), target.scale_mean)


def settle_scale(target: Target, X: Array, theta: Array) -> Mode:
    """Mode at a likely scale of the prior, found by expectation-maximisation.

    The joint mode of X and v is misleading, because it ignores the volume of X around the mode. So
    the expected sum of squares includes the spread of X around its mode.
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
            # Points that coincide, or lie on a line, are invariant to rotation around it.
            moved = sizes > _STILL * np.sqrt(n * np.exp(mode.log_scale))
            log_orbit = float(np.sum(np.log(sizes[moved])))
            flat += list(directions[:, moved].T)
    basis = np.zeros((len(hessian), len(flat)))
    basis[: n * d] = np.array(flat).T
    with one_blas_thread():
        complete, _ = np.linalg.qr(basis, mode="complete")
        free = complete[:, len(flat) :]
        values, vectors = np.linalg.eigh(free.T @ hessian @ free)
    # At a corner of the energy, or if the search stopped early, curvature may be negative.
    floor = 0.1 * np.exp(-mode.log_scale) * np.linalg.eigvalsh(target.precision)[0]
    return Curvature(np.maximum(values, floor), free @ vectors, log_orbit)


def spread_of_objects(target: Target, mode: Mode) -> tuple[Array, Array]:
    """Covariance of the objects, averaged over dimensions, and the widths of theta.

    (n, n) and (k,); for large problems only the variances, (1, n).
    """
    n, d = mode.X.shape
    if mode.X.size > DENSE:
        return _variances(target, mode)[None], np.full(len(mode.theta), 0.1)
    values, vectors, _ = curvature(target, mode)
    scaled = vectors / np.sqrt(values)
    points = scaled[: n * d].reshape(n, -1)  # one row of (d, K) numbers per object
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
    """Whether the prior is isotropic."""
    return bool(np.allclose(precision, precision[0, 0] * np.eye(len(precision))))


def check_metric(A: Array, widths: Array) -> None:
    """Raise ValueError unless they define a metric."""
    if not ((widths > 0.0).all() and (np.diag(A) if len(A) > 1 else A[0]).min() > 0.0):
        raise ValueError("a variance that is not positive")
    if len(A) > 1:
        np.linalg.cholesky(A)  # raises if not positive definite


class Modes(NamedTuple):
    """The best mode found, the covariance around it, and a mode for every chain to start from."""

    mode: Mode
    A: Array  # covariance of the objects, see `spread_of_objects`
    widths: Array  # of theta
    starts: list[Mode]

    def content(self) -> dict[str, Any]:
        """Arrays and numbers by name, for a checkpoint."""
        columns = zip(Mode._fields, zip(*self.starts, strict=True), strict=True)
        starts = {f"starts.{name}": np.array(column) for name, column in columns}
        best = next(k for k, start in enumerate(self.starts) if start is self.mode)
        return starts | {"best": best, "A": self.A, "widths": self.widths}

    @classmethod
    def restored(cls, content: Mapping[str, Any], shape: tuple[int, int, int], k: int) -> Self:
        """Restore `content`, of maps (chains, n, d) and k parameters; ValueError if invalid."""
        count, n, _ = shape
        shapes = {"X": shape, "theta": (count, k), "energy": (count,), "log_scale": (count,)}
        columns = [floats_of(content, f"starts.{name}", shapes[name]) for name in Mode._fields]
        A = floats_of(content, "A", (n, n) if len(content["A"]) > 1 else (1, n))
        widths = floats_of(content, "widths", (k,))
        check_metric(A, widths)
        if np.abs(content["starts.log_scale"]).max() > np.log(LARGEST_NUMBER):
            raise ValueError("a scale that is not a number")
        if type(content["best"]) is not int or not 0 <= content["best"] < count:
            raise ValueError("a best chain that does not exist")
        starts = [
            Mode(X, theta, float(energy), float(log_scale))
            for X, theta, energy, log_scale in zip(*columns, strict=True)
        ]
        return cls(starts[content["best"]], A, widths, starts)


def find_modes(
    target: Target,
    model: Model,
    theta: Array,
    d: int,
    rngs: Sequence[np.random.Generator],
    n_jobs: int | None = None,
    checkpoint: Checkpoint = NOTHING_KEPT,
) -> Modes:
    """Find a mode from each chain's own start, and the covariance around the best."""
    shape = len(rngs), target.problem.n_objects, d
    return checkpoint.once(
        "hill",  # its name in checkpoints
        0,
        lambda: _find_modes(target, model, theta, d, rngs, n_jobs, checkpoint),
        Modes.content,
        lambda content: Modes.restored(content, shape, len(theta)),
    )


def _find_modes(
    target: Target,
    model: Model,
    theta: Array,
    d: int,
    rngs: Sequence[np.random.Generator],
    n_jobs: int | None,
    checkpoint: Checkpoint,
) -> Modes:
    if scale_free := not model.sees_scale and OFFSET not in target.learned:
        penalty = 0.0  # it would shrink the map to a point
    else:
        penalty = float(0.5 * np.exp(-target.scale_mean) * np.trace(target.precision) / d)
    objective = Objective(model, d, penalty)
    n_init = None if d == 1 else _SEARCHES  # one dimension has its own default
    found = find_maps(objective, target.problem, n_init, rngs, n_jobs, checkpoint)
    if scale_free:
        starts = [_sized(target, X, theta) for X in found]
    else:
        starts = _modes_near(target, found, theta)
        if any(_ran_away(target, start.theta) for start in starts):
            starts = _modes_near(_tightened(target), found, theta)
    best = min(starts, key=lambda start: start.energy)
    return Modes(best, *spread_of_objects(fix_scale(target, best.log_scale), best), starts)


class _Search(NamedTuple):
    """What all searches share."""

    objective: Objective
    problem: Problem
    n_init: int | None


def find_maps(
    objective: Objective,
    problem: Problem,
    n_init: int | None,
    rngs: Sequence[np.random.Generator],
    n_jobs: int | None = None,
    checkpoint: Checkpoint = NOTHING_KEPT,
) -> list[Array]:
    """A map (n, d) of minimal loss for every chain, all but the first from random starts.

    One at a time, as large problems use several threads; or side by side on the joblib backend if
    one was chosen.
    """
    count, shape = len(rngs), (problem.n_objects, objective.n_components)
    found = (
        (k, checkpoint.one("map", k, lambda row: floats_of(row, "X", shape))) for k in range(count)
    )
    known = {k: X for k, X in found if X is not None}
    search = _Search(objective, problem, n_init)
    missing = [(k, rng) for k, rng in enumerate(rngs) if k not in known]
    if backend_is_chosen():
        coming = run_anywhere(_find_map, search, missing, n_jobs)
    else:
        coming = (_find_map(search, one) for one in missing)
    with closing(coming):
        for (k, _), X in zip(missing, coming, strict=True):
            known[k] = X
            checkpoint.add("map", k, {"X": X})
    return [known[k] for k in range(count)]


def _find_map(search: _Search, chain: tuple[int, np.random.Generator]) -> Array:
    k, rng = chain
    options = Options() if k == 0 else Options(start="random", n_init=search.n_init)
    return Descent(search.objective, options).solve(search.problem, rng).embedding


def _modes_near(target: Target, found: list[Array], theta: Array) -> list[Mode]:
    """A mode near each of the maps, all at the scale found for the first."""
    mode = settle_scale(target, found[0], theta)
    known = fix_scale(target, mode.log_scale)
    return [mode, *(find_mode(known, X, mode.theta) for X in found[1:])]


def _ran_away(target: Target, theta: Array) -> bool:
    """Whether a parameter of the model at a mode has negligible prior probability.

    A map that can satisfy every answer makes the exponent grow without limit: a spike so narrow
    that draws never visit it.
    """
    mean, sd = target.priors.T
    return bool(np.any((np.abs(theta - mean) > _FAR * sd) & (target.learned != LAPSE)))


def _tightened(target: Target) -> Target:
    """The same posterior with the model's parameters kept near their prior medians."""
    hold = np.where(target.learned != LAPSE, _TIGHT, 1.0)
    return target._replace(priors=target.priors * np.stack([np.ones_like(hold), hold], axis=1))


def _sized(target: Target, X: Array, theta: Array) -> Mode:
    """A map of the size that the prior expects, for a model that does not depend on size."""
    X = X - X.mean(axis=0)
    squares = np.einsum("ik,kl,il", X, target.precision, X)
    X *= np.exp(0.5 * target.scale_mean) * np.sqrt((X.size - X.shape[1]) / squares)
    slopes = np.empty_like(X), np.zeros_like(theta)
    return Mode(X, theta, float(energy_and_gradient(target, X, theta, *slopes)), target.scale_mean)


def jittered(modes: Modes, k: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Points (n, d), centred, and theta near the start of chain k."""
    start = modes.starts[k]
    variances = np.diag(modes.A) if len(modes.A) > 1 else modes.A[0]
    widths = _JITTER * np.sqrt(variances)[:, None]
    X = start.X + widths * rng.standard_normal(start.X.shape)
    theta = start.theta + _JITTER * modes.widths * rng.standard_normal(start.theta.shape)
    return X - X.mean(axis=0), theta
