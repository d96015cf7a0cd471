"""Figure 2b: more noise, larger errors, larger uncertainties; the supplement's t-STE and GNMDS."""

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
from tercet.paper.figure import Figure, Pictures
from tercet.paper.measurements import Measurements
from tercet.paper.settings import Size

__all__ = ["FIGURE", "draw_column"]

VERSION = 1


def cells(size: Size) -> list[Cell]:
    """Every noise level."""
    grid = [(noise, size.noise_fraction) for noise in size.noises]
    return calibration_cells("2b", VERSION, size, grid)


def draw_column(axes: np.ndarray[Any, Any], table: Measurements, models: tuple[str, ...]) -> None:
    """Error above, uncertainty below."""
    top, bottom = axes
    draw_errors(top, table, "noise", models)
    draw_uncertainties(bottom, table, "noise", models)
    bottom.set_xlabel("noise σ")


def draw(table: Measurements) -> Pictures:
    """STE as in the paper, t-STE and GNMDS as in the supplement, and the search for C."""
    search = draw_search(table, "noise", "σ = {:g}")
    models = draw_models("figure_2b", table, draw_column, "increasing noise")
    return models | {"figure_2b_gnmds": search}


FIGURE = Figure(
    "2b",
    "One per cent of all triplets of the mixture: errors and uncertainties rise with the noise.",
    cells,
    draw,
    SUMMARY,
)
