"""Figure 5: does active learning pay? Satellite with STE; the supplement's other sets.

The supplement has Satellite, MNIST and Breast Cancer, STE and t-STE, and the information gain of
Tamuz et al. (2011) beside the paper's two strategies. Our recommended strategy stands beside those
on Satellite with STE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tercet.paper.active import (
    DATASETS,
    FEATURES,
    INFORMATION_GAIN,
    RANDOM,
    SATELLITE,
    run,
    try_features,
)
from tercet.paper.drawing import legend_below, letter, line, panels
from tercet.paper.experiments import Cell, Figure, Measurements, Pictures
from tercet.paper.methods import BAYES, BOOTSTRAP, RECOMMENDED
from tercet.paper.settings import ACTIVE_DIMENSION, ACTIVE_DRAWS, ACTIVE_NOISE, Size

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Picture

__all__ = ["FIGURE", "MODELS", "STRATEGIES", "TASKS"]

VERSION = 1
MODELS = ("STE", "t-STE")
STRATEGIES = (RANDOM, BOOTSTRAP, BAYES, INFORMATION_GAIN)
TASKS = {  # the column of each task, and how its axis is labelled
    "triplet error": "triplet error",
    "kNN error": "classification error",
    "ARI": "adjusted Rand index",
}
TITLES = ("triplet prediction", "classification", "clustering")
# About how many seconds a step takes.
COSTS = {
    RANDOM: 0.2,
    BOOTSTRAP: 0.8,
    BAYES: 0.8,
    INFORMATION_GAIN: 0.5,
    RECOMMENDED: 25.0,
    FEATURES: 0.2,
}


def _cells(size: Size) -> list[Cell]:
    """Every data set, model, strategy and repeat; the recommended for one set and model."""
    runs = [(data, m, s) for data in DATASETS for m in MODELS for s in STRATEGIES]
    out = []
    for repeat in range(size.repeats):
        for dataset, model, strategy in [*runs, (SATELLITE, "STE", RECOMMENDED)]:
            settings: dict[str, Any] = {
                "dataset": dataset,
                "model": model,
                "strategy": strategy,
                "points": size.active_points,
                "seed_answers": size.seed_answers,
                "batch": size.batch,
                "budget": size.budget,
                "noise": ACTIVE_NOISE,
                "dimension": ACTIVE_DIMENSION,
                "repeat": repeat,
            }
            if strategy == RECOMMENDED:
                settings["draws"] = min(size.draws, ACTIVE_DRAWS)
            cost = COSTS[strategy] * len(size.steps)
            out.append(Cell("5", VERSION, run, settings, cost))
        for dataset in DATASETS:
            settings = {"dataset": dataset, "points": size.active_points, "repeat": repeat}
            out.append(Cell("5", VERSION, try_features, settings, COSTS[FEATURES]))
    return out


def draw_task(ax: Axes, table: Measurements, column: str, strategies: tuple[str, ...]) -> None:
    """One task on one data set with one model: every strategy, and the features themselves.

    Parameters
    ----------
    table : Measurements
        Of one data set; the rows of one model, and those of the features, which have none.
    """
    for strategy in strategies:
        rows = table.where(strategy=strategy)
        if len(rows):
            line(ax, rows.curve("answers", column), strategy)
    own = [row[column] for row in table.where(strategy=FEATURES).rows if column in row]
    if own:
        look: dict[str, Any] = {
            "color": "0.5",
            "linestyle": (0, (1, 2)),
            "linewidth": 1.2,
            "zorder": 0,
        }
        ax.axhline(float(np.mean(own)), label="original features", **look)
    ax.set_ylabel(TASKS[column])
    ax.locator_params(axis="x", nbins=5)


def with_features(table: Measurements, model: str) -> Measurements:
    """The rows of one model, and those of the features."""
    return Measurements(row for row in table.rows if row.get("model", model) == model)


def draw_main(table: Measurements) -> Picture:
    """The paper's figure: three tasks side by side, with our strategy beside the paper's."""
    picture, axes = panels(1, len(TASKS), width=2.7, height=2.6)
    rows = with_features(table.where(dataset=SATELLITE), "STE")
    for ax, column in zip(axes[0], TASKS, strict=True):
        draw_task(ax, rows, column, (RANDOM, BOOTSTRAP, BAYES, RECOMMENDED))
        ax.set_xlabel("number of triplets")
    own = rows.where(strategy=RECOMMENDED)
    if len(own):
        curve = own.curve("answers", "triplet error of the posterior")
        line(axes[0, 0], curve, RECOMMENDED, "recommended, by its posterior", ls="--")
    axes[0, 0].set_ylim(bottom=0.0)
    letter(axes[0], TITLES)
    legend_below(picture, axes, 3)
    return picture


def draw_dataset(table: Measurements, dataset: str) -> Picture:
    """The supplement's figure of one data set: tasks below each other, STE and t-STE."""
    picture, axes = panels(len(TASKS), len(MODELS), width=3.2, sharex=True, sharey="row")
    for i, model in enumerate(MODELS):
        rows = with_features(table.where(dataset=dataset), model)
        for ax, column in zip(axes[:, i], TASKS, strict=True):
            draw_task(ax, rows, column, STRATEGIES)
    for ax in axes[:, 1:].flat:
        ax.set_ylabel("")
    for ax in axes[-1]:
        ax.set_xlabel("number of triplets")
    for ax, number, title in zip(axes[:, 0], ("i", "ii", "iii"), TITLES, strict=True):
        ax.set_ylabel(f"{number}) {title}\n{ax.get_ylabel()}")
    axes[0, 0].set_ylim(bottom=0.0)
    letter(axes[0], [f"{model} and its active approaches" for model in MODELS])
    legend_below(picture, axes, 5)
    picture.suptitle(f"{dataset}, embedded in {ACTIVE_DIMENSION} dimensions", fontsize=10)
    return picture


def _draw(table: Measurements) -> Pictures:
    """The paper's figure and the supplement's three; data sets without a row are left out."""
    found = [dataset for dataset in DATASETS if len(table.where(dataset=dataset))]
    pictures = {"figure_5": draw_main(table)} if SATELLITE in found else {}
    for dataset in found:
        name = dataset.lower().replace(" ", "_")
        pictures[f"figure_5_{name}"] = draw_dataset(table, dataset)
    return pictures


FIGURE = Figure(
    "5",
    "Chosen and random questions on three data sets: triplets, classes and clusters recovered.",
    _cells,
    _draw,
    (
        ("dataset", "model", "strategy", "answers"),
        (*TASKS, "triplet error of the posterior"),
    ),
    tuple(DATASETS.values()),
)
