"""Figure 2b: more noise, larger errors, larger uncertainties; the supplement's t-STE and GNMDS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tercet import simulate
from tercet.engine.sdp import critical_slack_weight
from tercet.estimators import GNMDS
from tercet.metrics import procrustes_distance, triplet_error
from tercet.paper.calibration import (
    SUMMARY,
    calibration_cells,
    draw_errors,
    draw_uncertainties,
    training_set,
)
from tercet.paper.cells import Cell, Result
from tercet.paper.drawing import line, panels
from tercet.paper.figure import Figure, Pictures
from tercet.paper.methods import mixture
from tercet.paper.settings import Size
from tercet.paper.tables import Table
from tercet.plots.axes import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FIGURE", "draw_column"]

VERSION = 1
RATIOS = (2.0, 4.0, 8.0, 16.0, 32.0)  # of C to the largest at which all points coincide


def cells(size: Size) -> list[Cell]:
    """Every noise level, and the search for C of GNMDS."""
    grid = [(noise, size.noise_fraction) for noise in size.noises]
    search = [
        {
            "points": size.points,
            "noise": noise,
            "fraction": size.noise_fraction,
            "ratio": ratio,
            "repeat": repeat,
        }
        for noise in size.noises
        for ratio in RATIOS
        for repeat in range(size.repeats)
    ]
    return calibration_cells("2b", VERSION, size, grid) + [
        Cell("2b", VERSION, search_weight, settings, 0.4) for settings in search
    ]


def search_weight(points: int, noise: float, fraction: float, ratio: float, repeat: int) -> Result:
    """GNMDS with one C, on the training set of the figure: the small search that is reported."""
    X, _ = mixture(points)
    triplets = training_set(points, noise, fraction, repeat)
    C = ratio * critical_slack_weight(triplets.pairs(), points)
    fitted = GNMDS(2, C=C).fit(triplets).embedding_
    row: dict[str, Any] = {
        "model": "GNMDS",
        "method": "search",
        "procrustes": procrustes_distance(fitted, X, translate=True, scale=True),
        "error": triplet_error(fitted, simulate.true_triplets(X)),
        "training error": triplet_error(fitted, triplets),
    }
    return {"rows": [row]}


def draw_column(axes: np.ndarray[Any, Any], table: Table, models: tuple[str, ...]) -> None:
    """Error above, uncertainty below."""
    top, bottom = axes
    draw_errors(top, table, "noise", models)
    draw_uncertainties(bottom, table, "noise", models)
    bottom.set_xlabel("noise σ")


def draw_search(ax: Axes, table: Table) -> None:
    """The error of GNMDS over C, for the smallest, a middle and the largest noise."""
    found = table.where(method="search")
    noises = found.values("noise")
    shown = dict.fromkeys((noises[0], noises[len(noises) // 2], noises[-1]))
    for noise, colour in zip(shown, COLOURS, strict=False):
        curve = found.where(noise=noise).curve("ratio", "error")
        line(ax, curve, "search", f"σ = {noise:g}", band=False, color=colour)
    ax.set_xscale("log", base=2)
    ax.set_xlabel("C / largest C at which all points coincide")
    ax.set_ylabel("triplet error")
    ax.set_ylim(0.0, 0.5)
    ax.legend()


def draw(table: Table) -> Pictures:
    """STE as in the paper, t-STE and GNMDS as in the supplement, and the search for C."""
    main, axes = panels(2, 1, width=3.4)
    draw_column(axes[:, 0], table, ("STE",))
    axes[0, 0].set_title("STE, increasing noise", loc="left")
    other, axes = panels(2, 1, width=3.4, height=2.4)
    draw_column(axes[:, 0], table, ("t-STE", "GNMDS"))
    axes[0, 0].set_title("t-STE and GNMDS, increasing noise", loc="left")
    search, axes = panels(1, 1, width=3.4, height=2.6)
    draw_search(axes[0, 0], table)
    return {"figure_2b": main, "figure_2b_supplement": other, "figure_2b_gnmds": search}


FIGURE = Figure(
    "2b",
    "One per cent of all triplets of the mixture: errors and uncertainties rise with the noise.",
    cells,
    draw,
    (("model", "method", "noise", "ratio"), SUMMARY[1]),
)
