"""Reliability plots: how often comparisons of a given confidence are true."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from studies.cells import ROOT
from tercet.plots.axes import COLOURS

FOLDER = ROOT / "docs" / "images"
MARKS = "osv^D"
FEWEST = 0.002  # bins with a smaller share of the comparisons say little and are left out


class Curve(NamedTuple):
    """Comparisons in bins of confidence: their number, summed confidence, and how many are true."""

    count: NDArray[np.float64]
    confidence: NDArray[np.float64]
    right: NDArray[np.float64]


def reliability_plot(file: str, panels: Mapping[str, Mapping[str, Curve]], *, columns: int) -> None:
    """Draw small multiples into ``docs/images``; curves of the same name have the same look."""
    from matplotlib.figure import Figure

    rows = -(-len(panels) // columns)
    figure = Figure(figsize=(3.0 * columns, 2.9 * rows + 0.9), layout="constrained")
    axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for ax, (title, curves) in zip(axes.flat, panels.items(), strict=True):
        ax.plot([0.5, 1], [0.5, 1], color="0.6", linewidth=1, linestyle="--", zorder=0)
        for (name, curve), colour, mark in zip(curves.items(), COLOURS, MARKS, strict=False):
            kept = curve.count > FEWEST * curve.count.sum()
            x, y = curve.confidence[kept] / curve.count[kept], curve.right[kept] / curve.count[kept]
            ax.plot(x, y, color=colour, marker=mark, markersize=4, linewidth=1.4, label=name)
        ax.set_title(title, fontsize=10)
        ax.set_xlim(0.5, 1.005)
        ax.set_ylim(0.45, 1.01)
        ax.grid(color="0.92")
        ax.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("confidence max(π, 1 − π)", fontsize=10)
    figure.supylabel("accuracy", fontsize=10)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, fontsize=9, frameon=False)
    FOLDER.mkdir(parents=True, exist_ok=True)
    figure.savefig(FOLDER / file, dpi=110)
