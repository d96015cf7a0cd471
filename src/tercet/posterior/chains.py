"""Chains: what they are, and where they start, each with its own seed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple, Self

import numpy as np

from tercet.checkpoint import NOTHING_KEPT, Checkpoint, floats_of
from tercet.engine.backend import backend_is_chosen, run_anywhere
from tercet.engine.fit import Descent, Objective, Options
from tercet.engine.problem import Problem
from tercet.limits import LARGEST_NUMBER
from tercet.models.base import LAPSE, OFFSET, Array, Model
from tercet.posterior.hamiltonian import check_metric
from tercet.posterior.mode import Mode, find_mode, fix_scale, settle_scale, spread_of_objects
from tercet.posterior.target import Target, energy_and_gradient

_JITTER = 0.5  # of a start, in standard deviations of the Laplace approximation
_SEARCHES = 3  # of a chain for its start, each from a random place
_FAR = 3.0  # standard deviations of the prior of a parameter
_HOLD = 0.05  # of its prior's standard deviation, where a mode must not run away


class Chain(NamedTuple):
    """The draws of one chain."""

    points: Array  # (S, n, d), centred; or matrices (S, n, n)
    thetas: Array  # (S, k)
    variances: Array  # (S,) of the prior; NaN where they are still to be drawn
    log_posterior: Array  # (S,); NaN where it is still to be computed
    astray: int  # trajectories or slices that failed
    rng: np.random.Generator  # for what is still to be drawn


class Hill(NamedTuple):
    """The best mode found, the shape around it, and a mode for every chain to start from."""

    mode: Mode
    A: Array  # covariance of the objects, see `spread_of_objects`
    widths: Array  # of theta
    starts: list[Mode]

    def content(self) -> dict[str, Any]:
        """Everything in arrays and numbers, by name."""
        columns = zip(Mode._fields, zip(*self.starts, strict=True), strict=True)
        starts = {f"starts.{name}": np.array(column) for name, column in columns}
        best = next(k for k, start in enumerate(self.starts) if start is self.mode)
        return starts | {"best": best, "A": self.A, "widths": self.widths}

    @classmethod
    def restored(cls, content: Mapping[str, Any], shape: tuple[int, int, int], k: int) -> Self:
        """What `content` wrote of maps (chains, n, d) and k parameters; ValueError if not that."""
        count, n, _ = shape
        shapes = {"X": shape, "theta": (count, k), "energy": (count,), "log_scale": (count,)}
        columns = [floats_of(content, f"starts.{name}", shapes[name]) for name in Mode._fields]
        A = floats_of(content, "A", (n, n) if len(content["A"]) > 1 else (1, n))
        widths = floats_of(content, "widths", (k,))
        check_metric(A, widths)
        if np.abs(content["starts.log_scale"]).max() > np.log(LARGEST_NUMBER):
            raise ValueError("a scale that is no number")
        if type(content["best"]) is not int or not 0 <= content["best"] < count:
            raise ValueError("a best chain that is not there")
        starts = [
            Mode(X, theta, float(energy), float(log_scale))
            for X, theta, energy, log_scale in zip(*columns, strict=True)
        ]
        return cls(starts[content["best"]], A, widths, starts)


def explore(
    target: Target,
    model: Model,
    theta: Array,
    d: int,
    rngs: Sequence[np.random.Generator],
    n_jobs: int | None = None,
    kept: Checkpoint = NOTHING_KEPT,
) -> Hill:
    """Look for a mode from a start of each chain's own, and for the shape around the best."""
    shape = len(rngs), target.problem.n_objects, d
    return kept.once(
        "hill",
        0,
        lambda: _explore(target, model, theta, d, rngs, n_jobs, kept),
        Hill.content,
        lambda content: Hill.restored(content, shape, len(theta)),
    )


def _explore(
    target: Target,
    model: Model,
    theta: Array,
    d: int,
    rngs: Sequence[np.random.Generator],
    n_jobs: int | None,
    kept: Checkpoint,
) -> Hill:
    if scale_free := not model.sees_scale and OFFSET not in target.learned:
        penalty = 0.0  # it would shrink the map to a point
    else:
        penalty = float(0.5 * np.exp(-target.scale_mean) * np.trace(target.precision) / d)
    objective = Objective(model, d, penalty)
    n_init = None if d == 1 else _SEARCHES  # a line needs more, and decides itself
    found = find_maps(objective, target.problem, n_init, rngs, n_jobs, kept)
    if scale_free:
        starts = [_sized(target, X, theta) for X in found]
    else:
        starts = _modes(target, found, theta)
        if any(_ran_away(target, start.theta) for start in starts):
            starts = _modes(_held(target), found, theta)
    best = min(starts, key=lambda start: start.energy)
    return Hill(best, *spread_of_objects(fix_scale(target, best.log_scale), best), starts)


class _Search(NamedTuple):
    """What the searches of all chains share."""

    objective: Objective
    problem: Problem
    n_init: int | None


def find_maps(
    objective: Objective,
    problem: Problem,
    n_init: int | None,
    rngs: Sequence[np.random.Generator],
    n_jobs: int | None = None,
    kept: Checkpoint = NOTHING_KEPT,
) -> list[Array]:
    """A map (n, d) of least loss for every chain, for all after the first from random places.

    One after the other, as large problems are spread over threads; or side by side on the joblib
    backend if one was chosen.
    """
    count, shape = len(rngs), (problem.n_objects, objective.n_components)
    found = ((k, kept.one("map", k, lambda row: floats_of(row, "X", shape))) for k in range(count))
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
            kept.add("map", k, {"X": X})
    return [known[k] for k in range(count)]


def _find_map(search: _Search, chain: tuple[int, np.random.Generator]) -> Array:
    k, rng = chain
    options = Options() if k == 0 else Options(start="random", n_init=search.n_init)
    return Descent(search.objective, options).solve(search.problem, rng).embedding


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
