"""Figure 2c: more triplets without noise, smaller errors and uncertainties; t-STE and GNMDS."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet.paper.calibration import (
    SUMMARY,
    calibration_cells,
    draw_errors,
    draw_models,
    draw_search,
    draw_uncertainties,
)
from tercet.paper.cells import Cell
from tercet.paper.drawing import fraction_axis
from tercet.paper.figure import Figure, Pictures
from tercet.paper.measurements import Measurements
from tercet.paper.settings import ENOUGH, Size

__all__ = ["FIGURE", "draw_column", "enough"]

VERSION = 1


def cells(size: Size) -> list[Cell]:
    """Every fraction of the triplets, without noise."""
    return calibration_cells("2c", VERSION, size, [(0.0, fraction) for fraction in size.fractions])


def enough(points: int) -> float:
    """Share of all triplets that 10·d·n·log n are, for points of the plane."""
    return float(ENOUGH * 2 * points * np.log(points) / (points * (points - 1) * (points - 2) / 2))


def draw_column(axes: np.ndarray[Any, Any], table: Measurements, models: tuple[str, ...]) -> None:
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


def draw(table: Measurements) -> Pictures:
    """STE as in the paper, t-STE and GNMDS as in the supplement, and the search for C."""
    search = draw_search(table, "fraction", "{:.1%} of all triplets")
    models = draw_models("figure_2c", table, draw_column, "increasing share of triplets")
    return models | {"figure_2c_gnmds": search}


FIGURE = Figure(
    "2c",
    "No noise: errors and uncertainties of the mixture fall as more triplets are answered.",
    cells,
    draw,
    SUMMARY,
)
