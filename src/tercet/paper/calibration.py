"""The mixture under noise and with more triplets: what figures 2b, 2c and their supplement share.

A cell is one training set of answers about the same 50 points, embedded by one method (paper,
section 5.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tercet import simulate
from tercet.metrics import procrustes_distance, triplet_error
from tercet.paper.cells import Cell, Result
from tercet.paper.drawing import line
from tercet.paper.methods import (
    BAYES,
    BOOTSTRAP,
    ESTIMATORS,
    METHOD,
    PI,
    RECOMMENDED,
    TRIPLETS,
    draw,
    judge,
    mixture,
    stream,
)
from tercet.paper.settings import Size
from tercet.paper.tables import Table
from tercet.triplets import Triplets

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SUMMARY", "calibration_cells", "draw_errors", "draw_uncertainties", "training_set"]

EMBEDDING = "embedding"  # one embedding of all answers, beside the methods
SERIES = {
    "STE": (BOOTSTRAP, BAYES, RECOMMENDED),
    "t-STE": (BOOTSTRAP, BAYES),
    "GNMDS": (BOOTSTRAP,),
}
DASHES = ("-", "--")  # of the first and the second model of a picture
# About how many seconds a cell takes.
COSTS = {EMBEDDING: 0.1, BOOTSTRAP: 0.2, BAYES: 0.4, RECOMMENDED: 4.0, "GNMDS": 4.0}
MORE = 300.0  # times the fraction of triplets: the recommended posterior sees them all
SUMMARY = (
    ("model", "method", "noise", "fraction"),
    ("procrustes", "procrustes as written", "uncertainty", "error", "calibration error", "brier"),
)


def calibration_cells(
    experiment: str, version: int, size: Size, grid: Sequence[tuple[float, float]]
) -> list[Cell]:
    """Cells for every (noise, fraction) of a grid, every model, method and repeat."""
    cells = []
    for model, methods in SERIES.items():
        for method in (EMBEDDING, *methods):
            for noise, fraction in grid:
                for repeat in range(size.repeats):
                    settings: dict[str, Any] = {
                        "model": model,
                        "method": method,
                        "points": size.points,
                        "noise": noise,
                        "fraction": fraction,
                        "repeat": repeat,
                    }
                    if method == RECOMMENDED:
                        settings["draws"] = size.draws
                    cost = COSTS["GNMDS" if model == "GNMDS" else method]
                    if method == RECOMMENDED:
                        cost += MORE * fraction
                    cells.append(Cell(experiment, version, calibrate, settings, cost))
    return cells


def training_set(points: int, noise: float, fraction: float, repeat: int) -> Triplets:
    """Answers to a share of all comparisons of the mixture; fresh ones in every repeat."""
    X, _ = mixture(points)
    rng = stream(repeat, TRIPLETS, round(1000 * noise), round(10000 * fraction))
    return simulate.noisy_triplets(X, fraction=fraction, noise=noise, random_state=rng)


def calibrate(
    model: str,
    method: str,
    points: int,
    noise: float,
    fraction: float,
    repeat: int,
    draws: int = 0,
) -> Result:
    """One training set and one method: how far off it is, and how far off it says it is."""
    X, _ = mixture(points)
    true = simulate.true_triplets(X)
    triplets = training_set(points, noise, fraction, repeat)
    if method == EMBEDDING:
        estimator = ESTIMATORS[model](2, random_state=stream(repeat, METHOD))
        fitted = estimator.fit(triplets).embedding_
        row = {
            "procrustes": procrustes_distance(fitted, X, translate=True, scale=True),
            "procrustes as written": procrustes_distance(fitted, X, translate=True),
            "error": triplet_error(fitted, true),
        }
    else:
        ensemble = draw(method, model, 2, triplets, repeat, draws)
        row = judge(ensemble.triplet_probability(true, method=PI[method], n_jobs=1))
    return {"rows": [row | {"triplets": len(triplets)}]}


def draw_errors(ax: Axes, table: Table, x: str, models: Sequence[str]) -> None:
    """The Procrustes error of each model over a column; that of a single one also as written.

    As written in the paper the error has no scale of its own, so where the size of a map is an
    accident (answers without a contradiction, t-STE), it is one too.
    """
    for model, dashes in zip(models, DASHES, strict=False):
        rows = table.where(model=model, method=EMBEDDING)
        look: dict[str, Any] = {"color": "0.2", "linestyle": dashes}
        line(ax, rows.curve(x, "procrustes"), EMBEDDING, f"{model}, best scale", **look)
        if len(models) == 1:
            look |= {"color": "0.6", "marker": "", "linestyle": ":"}
            written = rows.curve(x, "procrustes as written")
            line(ax, written, EMBEDDING, f"{model}, as written", **look)
    ax.set_yscale("log")
    ax.set_ylabel("Procrustes error")
    ax.legend()


def draw_uncertainties(ax: Axes, table: Table, x: str, models: Sequence[str]) -> None:
    """The average uncertainty of each method over a column."""
    for model, dashes in zip(models, DASHES, strict=False):
        for method in SERIES[model]:
            label = None if len(models) == 1 else f"{model}, {method}"
            curve = table.where(model=model, method=method).curve(x, "uncertainty")
            line(ax, curve, method, label, linestyle=dashes)
    ax.set_ylabel("average uncertainty")
    ax.set_ylim(0.0, 0.52)
    ax.axhline(0.5, color="0.7", linewidth=0.8, zorder=0)
    ax.legend()
