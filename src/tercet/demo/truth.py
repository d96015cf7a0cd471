"""The map beside the world that the answers came from: with real answers nobody can look."""

from __future__ import annotations

import io
import math
from typing import NamedTuple

import numpy as np

from tercet.align import procrustes
from tercet.demo.world import DemoWorld
from tercet.ensemble import Ensemble
from tercet.plots import plot_map

__all__ = ["Truth", "draw_both", "look"]


class Truth(NamedTuple):
    """How right the map is."""

    laid: Ensemble  # the map, laid on the world
    level: float
    n_sure: int  # comparisons that it is sure of
    sure_right: float  # share of them that are right
    expected_error: float  # share of all comparisons that it expects to have wrong
    error: float  # share that it has wrong
    inside: int  # animals whose true places lie in their ellipses


def look(world: DemoWorld, ensemble: Ensemble, level: float) -> Truth:
    """Compare the map with the world."""
    order = [(ensemble.names or ()).index(name) for name in world.truth.names or ()]
    fit = procrustes(ensemble.point_mean()[order], world.positions, scale=True)
    samples = fit.scale * ensemble.samples[:, order] @ fit.rotation + fit.shift
    laid = Ensemble(samples, names=world.truth.names, alignment="none")
    p = ensemble.triplet_probability(world.truth)
    sure = np.maximum(p, 1.0 - p) > level
    away = world.positions - laid.point_mean()
    solved = np.linalg.solve(laid.point_covariance(), away[:, :, None])[:, :, 0]
    inside = np.sum(away * solved, axis=1) <= -2.0 * math.log1p(-level)
    return Truth(
        laid,
        level,
        int(np.count_nonzero(sure)),
        float(np.mean(p[sure] > 0.5)),
        float(np.minimum(p, 1.0 - p).mean()),
        float(np.mean(p < 0.5)),
        int(np.count_nonzero(inside)),
    )


def draw_both(world: DemoWorld, truth: Truth) -> bytes:
    """The world and its map side by side, as PNG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.set_title("The simulated world", loc="left")
    right.set_title(
        f"Its map from {len(world.answers)} noisy answers, with {truth.level:.0%} ellipses",
        loc="left",
    )
    plot_map(truth.laid, groups=world.kinds, level=truth.level, ax=right)
    left.update_datalim(right.dataLim.get_points())  # the same scale on both sides
    plot_map(world.positions, world.answers.names, groups=world.kinds, ax=left)
    picture = io.BytesIO()
    figure.savefig(picture, dpi=130)
    return picture.getvalue()
