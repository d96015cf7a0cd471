"""Figure 2: errors and uncertainties by noise (2b) and number of triplets (2c), and its panels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tercet import simulate
from tercet.answers.triplets import Triplets
from tercet.metrics import procrustes_distance, triplet_error
from tercet.paper import figure2a
from tercet.paper.drawing import fraction_axis, legend_below, letter, line, panels
from tercet.paper.experiments import Cell, Figure, Measurements, Pictures, Result
from tercet.paper.methods import (
    BAYES,
    BOOTSTRAP,
    METHOD,
    PI,
    RECOMMENDED,
    TRIPLETS,
    draw_ensemble,
    embedder,
    mixture,
    score_probabilities,
    stream,
)
from tercet.paper.settings import ENOUGH, GNMDS_RATIO, RATIOS, Size
from tercet.plots.axes import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

__all__ = [
    "FIGURE_2B",
    "FIGURE_2C",
    "SUMMARY",
    "calibration_cells",
    "draw_errors",
    "draw_models",
    "draw_noise_column",
    "draw_search",
    "draw_together",
    "draw_triplets_column",
    "draw_uncertainties",
    "enough",
    "training_set",
]

EMBEDDING = "embedding"  # one embedding of all answers, beside the methods
SEARCH = "search"  # GNMDS with another weight of the slack
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
    ("model", "method", "noise", "fraction", "ratio"),
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
                    if model == "GNMDS":
                        settings["ratio"] = GNMDS_RATIO
                    cost = COSTS["GNMDS" if model == "GNMDS" else method]
                    if method == RECOMMENDED:
                        cost += MORE * fraction
                    cells.append(Cell(experiment, version, calibrate, settings, cost))
    for noise, fraction in grid:
        for ratio in RATIOS:
            for repeat in range(size.repeats):
                settings = {
                    "points": size.points,
                    "noise": noise,
                    "fraction": fraction,
                    "ratio": ratio,
                    "repeat": repeat,
                }
                cells.append(Cell(experiment, version, search_weight, settings, 0.4))
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
    ratio: float = GNMDS_RATIO,
) -> Result:
    """One training set and one method: its error, and its uncertainty."""
    X, _ = mixture(points)
    true = simulate.true_triplets(X)
    triplets = training_set(points, noise, fraction, repeat)
    if method == EMBEDDING:
        estimator = embedder(model, 2, triplets, ratio=ratio)
        estimator.set_params(random_state=stream(repeat, METHOD))
        fitted = estimator.fit(triplets).embedding_
        row = {
            "procrustes": procrustes_distance(fitted, X, translate=True, scale=True),
            "procrustes as written": procrustes_distance(fitted, X, translate=True),
            "error": triplet_error(fitted, true),
        }
    else:
        ensemble = draw_ensemble(method, model, 2, triplets, repeat, draws, ratio=ratio)
        row = score_probabilities(ensemble.triplet_probability(true, method=PI[method], n_jobs=1))
    return {"rows": [row | {"triplets": len(triplets)}]}


def search_weight(points: int, noise: float, fraction: float, ratio: float, repeat: int) -> Result:
    """GNMDS with one C, on a training set of the figure, for the search over C."""
    X, _ = mixture(points)
    triplets = training_set(points, noise, fraction, repeat)
    fitted = embedder("GNMDS", 2, triplets, ratio=ratio).fit(triplets).embedding_
    row: dict[str, Any] = {
        "model": "GNMDS",
        "method": SEARCH,
        "procrustes": procrustes_distance(fitted, X, translate=True, scale=True),
        "error": triplet_error(fitted, simulate.true_triplets(X)),
        "training error": triplet_error(fitted, triplets),
    }
    return {"rows": [row]}


def draw_errors(ax: Axes, table: Measurements, x: str, models: Sequence[str]) -> None:
    """The Procrustes error of each model over a column; for a single one also without scaling.

    The paper's formula has no scaling, so where the size of a map is arbitrary (answers without a
    contradiction, t-STE), so is that error.
    """
    for model, dashes in zip(models, DASHES, strict=False):
        rows = table.where(model=model, method=EMBEDDING)
        look: dict[str, Any] = {"color": "0.2", "linestyle": dashes}
        line(ax, rows.curve(x, "procrustes"), EMBEDDING, f"{model}, with scaling", **look)
        if len(models) == 1:
            written = rows.curve(x, "procrustes as written")
            look = {"color": "0.6", "linestyle": ":", "label": f"{model}, without scaling"}
            ax.plot(written.x, written.mean, **look)
    ax.set_yscale("log")
    ax.set_ylabel("Procrustes error")
    ax.legend()


def draw_uncertainties(ax: Axes, table: Measurements, x: str, models: Sequence[str]) -> None:
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


def draw_models(
    name: str,
    table: Measurements,
    column: Callable[[Any, Measurements, tuple[str, ...]], None],
    words: str,
) -> Pictures:
    """The main picture and the supplement's, of errors above uncertainties."""
    pictures = {}
    for stem, models in ((name, ("STE",)), (f"{name}_supplement", ("t-STE", "GNMDS"))):
        picture, axes = panels(2, 1, width=3.4, height=2.3)
        column(axes[:, 0], table, models)
        axes[0, 0].set_title(f"{' and '.join(models)}, {words}", loc="left")
        pictures[stem] = picture
    return pictures


def draw_search(table: Measurements, x: str, label: str) -> Picture:
    """The error of GNMDS over C, for the smallest, a middle and the largest value of a column."""
    picture, axes = panels(1, 1, width=3.4, height=2.6)
    ax: Axes = axes[0, 0]
    found = table.where(method=SEARCH)
    grid = sorted(found.values(x))
    shown = dict.fromkeys((grid[0], grid[len(grid) // 2], grid[-1]))
    for value, colour in zip(shown, COLOURS, strict=False):
        curve = found.where(**{x: value}).curve("ratio", "error")
        line(ax, curve, SEARCH, label.format(value), band=False, color=colour)
    ax.axvline(GNMDS_RATIO, color="0.7", linewidth=0.8, zorder=0)
    ax.set_xscale("log", base=2)
    ax.set_xlabel("C / largest C at which all points coincide")
    ax.set_ylabel("triplet error")
    ax.set_ylim(bottom=0.0)
    ax.legend()
    return picture


# --- 2b: more noise -----------------------------------------------------------------------------


VERSION = 1


def noise_cells(size: Size) -> list[Cell]:
    """Every noise level."""
    grid = [(noise, size.noise_fraction) for noise in size.noises]
    return calibration_cells("2b", VERSION, size, grid)


def draw_noise_column(
    axes: np.ndarray[Any, Any], table: Measurements, models: tuple[str, ...]
) -> None:
    """Error above, uncertainty below."""
    top, bottom = axes
    draw_errors(top, table, "noise", models)
    draw_uncertainties(bottom, table, "noise", models)
    bottom.set_xlabel("noise σ")


def draw_noise(table: Measurements) -> Pictures:
    """STE as in the paper, t-STE and GNMDS as in the supplement, and the search for C."""
    search = draw_search(table, "noise", "σ = {:g}")
    models = draw_models("figure_2b", table, draw_noise_column, "increasing noise")
    return models | {"figure_2b_gnmds": search}


FIGURE_2B = Figure(
    "2b",
    "One per cent of all triplets of the mixture: errors and uncertainties rise with the noise.",
    noise_cells,
    draw_noise,
    SUMMARY,
)


# --- 2c: more triplets --------------------------------------------------------------------------


def triplet_cells(size: Size) -> list[Cell]:
    """Every fraction of the triplets, without noise."""
    return calibration_cells("2c", VERSION, size, [(0.0, fraction) for fraction in size.fractions])


def enough(points: int) -> float:
    """Share of all triplets that 10·d·n·log n are, for points of the plane."""
    return float(ENOUGH * 2 * points * np.log(points) / (points * (points - 1) * (points - 2) / 2))


def draw_triplets_column(
    axes: np.ndarray[Any, Any], table: Measurements, models: tuple[str, ...]
) -> None:
    """Error above, uncertainty below."""
    top, bottom = axes
    draw_errors(top, table, "fraction", models)
    draw_uncertainties(bottom, table, "fraction", models)
    (points,) = table.values("points")
    bottom.axvline(enough(points), color="0.7", linewidth=0.8, zorder=0)
    for ax in axes:
        fraction_axis(ax, table.values("fraction"))
    top.set_xlabel("")
    bottom.set_xlabel(f"{bottom.get_xlabel()}\n(line: 10·d·n·log n)")


def draw_triplets(table: Measurements) -> Pictures:
    """STE as in the paper, t-STE and GNMDS as in the supplement, and the search for C."""
    search = draw_search(table, "fraction", "{:.1%} of all triplets")
    models = draw_models("figure_2c", table, draw_triplets_column, "increasing share of triplets")
    return models | {"figure_2c_gnmds": search}


FIGURE_2C = Figure(
    "2c",
    "No noise: errors and uncertainties of the mixture fall as more triplets are answered.",
    triplet_cells,
    draw_triplets,
    SUMMARY,
)


# --- side by side, as the paper has it ----------------------------------------------------------


TITLES = ("increasing embedding dimension", "increasing noise", "increasing share of triplets")


def draw_together(tables: Mapping[str, Measurements]) -> Pictures:
    """The three columns, from the tables of 2a, 2b and 2c."""
    picture, axes = panels(2, 3, width=3.0, height=2.4)
    figure2a.draw_column(axes[:, 0], tables["2a"], tables["2a"].values("true")[0])
    draw_noise_column(axes[:, 1], tables["2b"], ("STE",))
    draw_triplets_column(axes[:, 2], tables["2c"], ("STE",))
    for ax in axes[1, 1:]:
        ax.get_legend().remove()
    letter(axes[0], TITLES)
    legend_below(picture, axes[1, :1])
    return {"figure_2": picture}
