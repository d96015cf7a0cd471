"""Chains: where they start, how they warm up, and how they run, each with its own seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tercet.align import generalised_procrustes
from tercet.engine.fit import Descent, Objective, Options
from tercet.models import CKLModel
from tercet.models.base import Array, Model
from tercet.posterior import elliptical, hamiltonian
from tercet.posterior.mode import Mode, find_mode, fix_scale, settle_scale, spread_of_objects
from tercet.posterior.target import LAPSE, MU, Target, energy_and_gradient, prior_energies

_BLOCK = 50  # draws between two looks at the progress bar
_JITTER = 0.5  # of a start, in standard deviations of the Laplace approximation
_SEARCHES = 3  # of a chain for its start, each from a random place
_LENGTH = 3.0  # mean length of a trajectory, in standard deviations of the approximation
_MOST_STEPS = 128
_MOST_ON_A_LINE = 32  # where hops do the rest
_FIRST_STEPS = 32  # while the step is unknown
_FAR = 3.0  # standard deviations of the prior of a parameter
_HOLD = 0.05  # of its prior's standard deviation, where a mode must not run away
_TRUST = 0.8  # in the variances seen during the warm-up, against those of the approximation

Tick = Callable[[int], object]


class Chain(NamedTuple):
    """The draws of one chain."""

    points: Array  # (S, n, d), centred; or matrices (S, n, n)
    thetas: Array  # (S, k)
    variances: Array  # (S,) of the prior; NaN where they are still to be drawn
    log_posterior: Array  # (S,); NaN where it is still to be computed
    astray: int  # trajectories or slices that failed


class Hill(NamedTuple):
    """The best mode found, the shape around it, and a mode for every chain to start from."""

    mode: Mode
    A: Array  # covariance of the objects, see `spread_of_objects`
    widths: Array  # of theta
    starts: list[Mode]


def explore(
    target: Target, model: Model, theta: Array, d: int, rngs: list[np.random.Generator]
) -> Hill:
    """Look for a mode from a start of each chain's own, and for the shape around the best."""
    if scale_free := isinstance(model, CKLModel) and model.mu == 0.0 and MU not in target.learned:
        penalty = 0.0  # it would shrink the map to a point
    else:
        penalty = float(0.5 * np.exp(-target.scale_mean) * np.trace(target.precision) / d)
    objective = Objective(model, d, penalty)
    found = []
    for k, rng in enumerate(rngs):
        n_init = None if d == 1 else _SEARCHES  # a line needs more, and decides itself
        options = Options() if k == 0 else Options(start="random", n_init=n_init)
        found.append(Descent(objective, options).solve(target.problem, rng).embedding)
    if scale_free:
        starts = [_sized(target, X, theta) for X in found]
    else:
        starts = _modes(target, found, theta)
        if any(_ran_away(target, start.theta) for start in starts):
            starts = _modes(_held(target), found, theta)
    best = min(starts, key=lambda start: start.energy)
    return Hill(best, *spread_of_objects(fix_scale(target, best.log_scale), best), starts)


def _modes(target: Target, found: list[Array], theta: Array) -> list[Mode]:
    """A mode near each of the maps found, all at the scale that suits the first."""
    mode = settle_scale(target, found[0], theta)
    known = fix_scale(target, mode.log_scale)
    return [mode, *(find_mode(known, X, mode.theta) for X in found[1:])]


def _ran_away(target: Target, theta: Array) -> bool:
    """Whether an exponent or mu at a mode is where its prior as good as never is.

    A map with room to satisfy every answer makes the exponent grow without end: a spike, high and
    so narrow that draws are never there.
    """
    mean, sd = target.priors.T
    return bool(np.any((np.abs(theta - mean) > _FAR * sd) & (target.learned != LAPSE)))


def _held(target: Target) -> Target:
    """The same posterior with the exponent and mu held near the middle of their priors."""
    hold = np.where(target.learned != LAPSE, _HOLD, 1.0)
    return target._replace(priors=target.priors * np.stack([np.ones_like(hold), hold], axis=1))


def _sized(target: Target, X: Array, theta: Array) -> Mode:
    """A map of the size that the prior expects, for a model that does not see the size."""
    X = X - X.mean(axis=0)
    squares = np.einsum("ik,kl,il", X, target.precision, X)
    X *= np.exp(0.5 * target.scale_mean) * np.sqrt((X.size - X.shape[1]) / squares)
    slopes = np.empty_like(X), np.zeros_like(theta)
    return Mode(X, theta, float(energy_and_gradient(target, X, theta, *slopes)), target.scale_mean)


def jittered(hill: Hill, k: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Points (n, d), centred, and theta near the start of chain k."""
    start = hill.starts[k]
    variances = np.diag(hill.A) if len(hill.A) > 1 else hill.A[0]
    widths = _JITTER * np.sqrt(variances)[:, None]
    X = start.X + widths * rng.standard_normal(start.X.shape)
    theta = start.theta + _JITTER * hill.widths * rng.standard_normal(start.theta.shape)
    return X - X.mean(axis=0), theta


def run_hamiltonian(
    target: Target,
    hill: Hill,
    k: int,
    warmup: int,
    n_samples: int,
    rng: np.random.Generator,
    tick: Tick,
) -> Chain:
    """Warm up and run chain k."""
    X, theta = jittered(hill, k, rng)
    n, d = X.shape
    freedom = (n - 1.0) * d
    size = float(np.sqrt(np.sum(X**2) / freedom))
    Y, eta = np.ascontiguousarray(X / size), np.concatenate([[np.log(size)], theta])
    A = hill.A / size**2
    log_width = np.sqrt(np.trace(A) / len(A) if len(A) > 1 else A.mean()) / np.sqrt(freedom)
    metric = hamiltonian.make_metric(A, np.concatenate([[2.0 * log_width + 0.01], hill.widths]))
    step = 0.5 * X.size**-0.25

    def run(count: int, step: float, most: int, tune: bool) -> tuple[Array, Array, Array, float]:
        points, etas = np.empty((count, n, d)), np.empty((count, len(eta)))
        notes = np.empty((count, hamiltonian.N_NOTES))
        tuner = hamiltonian.start_tuning(step)
        for a in range(0, count, _BLOCK):
            part = slice(a, a + _BLOCK)
            step = hamiltonian.sample(
                target,
                metric,
                Y,
                eta,
                step,
                _LENGTH,
                most,
                tune,
                tuner,
                rng,
                points[part],
                etas[part],
                notes[part],
            )
            tick(len(points[part]))
        return points, etas, notes, hamiltonian.tuned_step(tuner) if tune else step

    most = _MOST_STEPS if d > 1 else _MOST_ON_A_LINE
    # A third of the warm-up finds the step, a third the widths, a third the step once more.
    third = warmup // 3
    if warmup > 0:
        *_, step = run(warmup - 2 * third, step, _FIRST_STEPS, True)
    if third > 0:
        points, etas, _, step = run(third, step, most, True)
        metric = _refine(metric, points, etas)
        *_, step = run(third, step, most, True)
    points, etas, notes, _ = run(n_samples, step, most, False)
    astray = int(notes[:, hamiltonian.DIVERGENT].sum())
    unknown = np.full(n_samples, np.nan)
    return Chain(points, etas[:, 1:], unknown, -notes[:, hamiltonian.ENERGY], astray)


def _refine(metric: hamiltonian.Metric, points: Array, etas: Array) -> hamiltonian.Metric:
    """Scale the metric by the variances seen of each object's place in the shape, and of eta."""
    if len(points) < 20:
        return metric
    shapes = points / np.exp(etas[:, :1, None])
    aligned, mean = generalised_procrustes(shapes, translate=False, tol=1e-6)
    seen = np.mean((aligned - mean) ** 2, axis=(0, 2))
    A = metric.A
    expected = np.diag(A) if len(A) > 1 else A[0]
    factor = np.sqrt(np.maximum(seen / expected, 1e-4)) ** _TRUST
    scaled = A * factor[:, None] * factor if len(A) > 1 else A * factor**2
    widths = etas.std(axis=0)
    return hamiltonian.make_metric(scaled, np.where(widths > 0, widths, metric.widths))


def run_elliptical(
    target: Target,
    block: Array,
    X: Array,
    log_scale: float,
    warmup: int,
    n_samples: int,
    rng: np.random.Generator,
    tick: Tick,
) -> Chain:
    """Elliptical slice sampling of points from X (n, d), whose centre moves too."""
    likelihood = elliptical.Likelihood(target.problem, target.code, target.p, target.q)
    root = np.asarray(np.linalg.cholesky(block), dtype=np.float64)
    X, variance = np.ascontiguousarray(X), float(np.exp(log_scale))
    for count in (warmup, n_samples):  # the draws of the second are kept
        points, variances = np.empty((count, *X.shape)), np.empty(count)
        notes = np.empty((count, elliptical.N_NOTES))
        for a in range(0, count, _BLOCK):
            part = slice(a, a + _BLOCK)
            variance = elliptical.sample_points(
                likelihood,
                root,
                target.scale_mean,
                target.scale_sd,
                X,
                variance,
                rng,
                points[part],
                variances[part],
                notes[part],
            )
            tick(len(points[part]))
    astray = int(notes[:, elliptical.STUCK].sum())
    log_posterior = -notes[:, elliptical.ENERGY] - prior_energies(target, points)
    return Chain(points, np.empty((n_samples, 0)), variances, log_posterior, astray)


def run_matrices(
    target: Target,
    centre: Array,
    root: Array,
    D: Array,
    warmup: int,
    n_samples: int,
    rng: np.random.Generator,
    tick: Tick,
) -> Chain:
    """Elliptical slice sampling of distance matrices from D (n, n)."""
    likelihood = elliptical.Likelihood(target.problem, target.code, target.p, target.q)
    D = np.ascontiguousarray(D)
    for count in (warmup, n_samples):
        matrices = np.empty((count, *D.shape))
        notes = np.empty((count, elliptical.N_NOTES))
        for a in range(0, count, _BLOCK):
            part = slice(a, a + _BLOCK)
            elliptical.sample_matrices(
                likelihood, centre, root, D, rng, matrices[part], notes[part]
            )
            tick(len(matrices[part]))
    astray = int(notes[:, elliptical.STUCK].sum())
    unknown = np.full(n_samples, np.nan)
    return Chain(matrices, np.empty((n_samples, 0)), unknown, unknown, astray)
