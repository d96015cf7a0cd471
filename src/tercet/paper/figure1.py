"""Figure 1: what a perception function is, an illustration.

The paper gives no formula, only the differences in its caption; ψ(x) = xᵖ/(xᵖ + (1 − x)ᵖ) is our
choice, with the p for which they are as written. Of eleven stimuli S₁ to S₁₁, evenly spaced from 0
to 1, the fifth is 0.4 and the tenth 0.9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tercet.paper.drawing import panels
from tercet.paper.experiments import Cell, Figure, Measurements, Pictures, Result
from tercet.paper.settings import Size
from tercet.plots.axes import COLOURS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FIGURE", "perceived", "stimulus"]

VERSION = 1
EXPONENT = float(np.log(7.0 / 3.0) / np.log(3.0 / 2.0))  # ψ(0.4) = 0.3


def stimulus(number: int) -> float:
    """The stimulus of that number, from 1 to 11."""
    return (number - 1) / 10.0


def perceived(stimuli: ArrayLike) -> NDArray[np.float64]:
    """The perception ψ of stimuli in [0, 1]: flat at both ends, steep in the middle."""
    x = np.asarray(stimuli, dtype=np.float64)
    return np.asarray(x**EXPONENT / (x**EXPONENT + (1.0 - x) ** EXPONENT))


def _cells(size: Size) -> list[Cell]:
    """One, the curve, of whatever size."""
    return [Cell("1", VERSION, trace, {"points": 101}, 0.01)]


def trace(points: int) -> Result:
    """The curve at evenly spaced stimuli."""
    x = np.linspace(0.0, 1.0, points)
    pairs = zip(x.tolist(), perceived(x).tolist(), strict=True)
    return {"rows": [{"stimulus": s, "perception": p} for s, p in pairs]}


def _draw(table: Measurements) -> Pictures:
    """The curve, with two stimuli, ½ and 1 followed to both axes."""
    picture, axes = panels(1, 1, width=3.4, height=3.0)
    ax = axes[0, 0]
    curve = [[row[name] for row in table.rows] for name in ("stimulus", "perception")]
    ax.plot(*curve, color=COLOURS[0], zorder=3)
    followed = np.array([stimulus(5), 0.5, stimulus(10), 1.0])
    heights = perceived(followed)
    dots = {"color": "0.5", "linestyle": ":", "linewidth": 0.9}
    ax.vlines(followed, 0.0, heights, **dots)
    ax.hlines(heights, 0.0, followed, **dots)
    ax.plot(followed[[0, 2]], heights[[0, 2]], "o", color=COLOURS[1], zorder=4, clip_on=False)
    _span(ax, (followed[0], 0.06), (followed[1], 0.06), "0.1")
    _span(ax, (0.1, heights[0]), (0.1, heights[1]), "0.2")
    ax.set_xlim(0.0, 1.03)
    ax.set_ylim(0.0, 1.03)
    ax.set_xticks([0.0, *followed], ["0", "$S_5$", "0.5", "$S_{10}$", "1"])
    ax.set_yticks([0.0, *heights], ["0", r"$\Psi_5$", "0.5", r"$\Psi_{10}$", "1"])
    # The last two are so close that one has to go below its tick and the other above.
    for label, side in zip(ax.get_yticklabels()[-2:], ("top", "bottom"), strict=True):
        label.set_verticalalignment(side)
    ax.set_xlabel("stimulus $S$")
    ax.set_ylabel(r"perception $\Psi$")
    return {"figure_1": picture}


def _span(ax: Axes, start: tuple[float, float], end: tuple[float, float], label: str) -> None:
    """An arrow with two heads between two places, and its length beside it."""
    ax.annotate("", start, end, arrowprops={"arrowstyle": "<->", "shrinkA": 0, "shrinkB": 0})
    level = start[1] == end[1]
    away, side = ((0, 3), "bottom") if level else ((4, 0), "center")
    middle = (0.5 * (start[0] + end[0]), 0.5 * (start[1] + end[1]))
    ax.annotate(
        label,
        middle,
        away,
        textcoords="offset points",
        ha="center" if level else "left",
        va=side,
        fontsize=8,
    )


FIGURE = Figure(
    "1",
    "Differences of physical stimuli can be perceived differently.",
    _cells,
    _draw,
)
