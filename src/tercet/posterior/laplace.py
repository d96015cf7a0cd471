"""The Laplace approximation: a normal distribution around the mode of the posterior.

A learned scale is integrated over a grid around its mode, each value with its own mode of the
points and its own normal distribution, weighted by the approximate evidence (Rue, Martino & Chopin
2009).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tercet.errors import InputError
from tercet.models.base import Array
from tercet.posterior.chains import Arrays, Chain, ChainDraws, ChainState, DrawShapes, Phase
from tercet.posterior.mode import DENSE, Curvature, Mode, curvature, find_mode, fix_scale
from tercet.posterior.target import Target

LARGEST = 2 * DENSE  # coordinates
_WITHIN = 6.0  # largest deficit of log-evidence of a value of the scale that is used
_SPACING = 1.0  # of the values, in standard deviations of log v given the mode


def sample_laplace(
    target: Target, mode: Mode, n_samples: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Draw centred points (S, n, d) and variances (S,) of the prior."""
    n, d = mode.X.shape
    if n * d > LARGEST:
        raise InputError(
            f"the Laplace approximation needs the second derivatives of all coordinates, and "
            f"{n} objects in {d} dimensions are {n * d}, more than {LARGEST}; use sampler='hmc'."
        )
    components = _components(target, mode)
    weights = np.array([weight for _, _, weight in components])
    chosen = rng.choice(len(components), size=n_samples, p=weights / weights.sum())
    points = np.empty((n_samples, n, d))
    variances = np.empty(n_samples)
    for k, (centre, shape, _) in enumerate(components):
        rows = np.flatnonzero(chosen == k)
        normal = rng.standard_normal((len(rows), len(shape.values))) / np.sqrt(shape.values)
        moved = normal @ shape.vectors.T
        points[rows] = centre.X + moved[:, : n * d].reshape(-1, n, d)
        variances[rows] = np.exp(centre.log_scale)
    return points, variances


def _components(target: Target, mode: Mode) -> list[tuple[Mode, Curvature, float]]:
    """Modes and curvatures for values of the scale on a grid, with their weights."""
    known = fix_scale(target, mode.log_scale)
    first = (mode, curvature(known, mode))
    if target.scale_sd == 0.0:
        return [(*first, 1.0)]
    # Given X, log v has this width; over all X it is wider, hence the search outwards.
    step = _SPACING * min(target.scale_sd, np.sqrt(2.0 / (mode.X.size - mode.X.shape[1])) * 2.0)
    found = {0: (*first, _log_evidence(target, *first))}
    best = found[0][2]
    for sign in (1, -1):
        k = sign
        while abs(k) <= 30:
            near = found[k - sign][0]
            known = fix_scale(target, mode.log_scale + k * step)
            moved = find_mode(known, near.X, near.theta)
            shape = curvature(known, moved)
            evidence = _log_evidence(target, moved, shape)
            found[k] = (moved, shape, evidence)
            best = max(best, evidence)
            if evidence < best - _WITHIN:
                break
            k += sign
    return [(m, c, float(np.exp(e - best))) for m, c, e in found.values() if e > best - _WITHIN]


def _log_evidence(target: Target, mode: Mode, shape: Curvature) -> float:
    """Log evidence of log v, up to a constant, with X integrated as if normal."""
    freedom = mode.X.size - mode.X.shape[1]
    z = (mode.log_scale - target.scale_mean) / target.scale_sd
    prior = -0.5 * z * z - 0.5 * freedom * mode.log_scale
    return float(prior - mode.energy + shape.log_orbit - 0.5 * np.sum(np.log(shape.values)))


class Laplace(NamedTuple):
    """The Laplace approximation as a sampler of independent draws."""

    target: Target
    mode: Mode
    n_samples: int

    @property
    def phases(self) -> tuple[Phase, ...]:
        """There is no warm-up."""
        return (Phase(self.n_samples, True),)

    @property
    def block(self) -> int:
        """All."""
        return self.n_samples

    @property
    def shapes(self) -> DrawShapes:
        """Points and their variance."""
        return DrawShapes(self.mode.X.shape, 1, 0)

    def check(self, state: ChainState) -> None:
        """Every state is valid."""

    def start(self, k: int, rng: np.random.Generator) -> tuple[Arrays, Arrays]:
        """Draws are independent, so there is no state."""
        return {}, {}

    def advance(
        self, state: ChainState, count: int, rng: np.random.Generator
    ) -> tuple[Arrays, ChainDraws]:
        """Draw all."""
        points, variances = sample_laplace(self.target, self.mode, count, rng)
        return {}, ChainDraws(points, variances[:, None], np.empty((count, 0)))

    def adapt(self, state: ChainState, draws: ChainDraws) -> tuple[Arrays, Arrays]:
        """Nothing is adapted."""
        return {}, {}

    def chain(self, draws: ChainDraws, rng: np.random.Generator) -> Chain:
        """The log-posterior is still to be computed."""
        points, others, _ = draws
        unknown = np.full(len(points), np.nan)
        return Chain(points, np.empty((len(points), 0)), others[:, 0], unknown, 0, rng)
