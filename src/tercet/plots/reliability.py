"""The reliability diagram: how often predictions of a given confidence are right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from tercet.metrics import reliability_table
from tercet.plots.axes import new_axes, next_colour
from tercet.plots.fonts import drawable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DIAGONAL = "tercet diagonal"
_LARGEST = 180.0  # area of the marker, in square points, of a bin that holds everything
_SMALLEST = 8.0


def plot_reliability(
    probability: ArrayLike,
    truth: ArrayLike | None = None,
    *,
    ax: Axes | None = None,
    bins: int = 10,
    label: str | None = None,
) -> Axes:
    """Draw the share of right predictions against their confidence, max(π, 1 − π).

    On the diagonal a confidence of 80 % is right in 80 % of the cases; above it predictions are
    too cautious, below it too bold. The area of a marker is the share of predictions in its bin.

    Parameters
    ----------
    probability : (m,) array
        Probability that the row is true, such as `Ensemble.triplet_probability`.
    truth : (m,) array of bool or ±1, optional
        Default: every row is true.
    ax : matplotlib Axes, optional
        Where to draw; default a new figure. Several calls may draw into the same axes.
    bins : int
        Of equal width, from ½ to 1; see `tercet.metrics.reliability_table`.
    label : str, optional
        What to call it in a legend.

    Returns
    -------
    matplotlib Axes
    """
    table = reliability_table(probability, truth, bins=bins)
    ax = new_axes() if ax is None else ax
    if not any(line.get_gid() == _DIAGONAL for line in ax.lines):
        ax.plot([0.5, 1.0], [0.5, 1.0], color="0.7", lw=1, zorder=1, gid=_DIAGONAL)
    filled = table.count > 0
    x, y = table.confidence[filled], table.accuracy[filled]
    share = table.count[filled] / table.count.sum()
    colour = next_colour(ax)
    ax.plot(x, y, color=colour, lw=1, zorder=2, label=None if label is None else drawable(label))
    area = np.maximum(_LARGEST * share, _SMALLEST)
    ax.scatter(x, y, s=area, color=colour, zorder=3)
    ax.set_aspect("equal")
    ax.set_xlabel("confidence")
    ax.set_ylabel("share right")
    if label is not None:
        ax.legend(frameon=False, loc="upper left")
    return ax
