"""The map: objects as named points, with ellipses where it is known how sure they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tercet.ensemble import Ensemble
from tercet.errors import InputError
from tercet.plots.axes import COLOURS, new_axes
from tercet.uncertainty import Ellipses, Floats, ellipses

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Where a name may stand relative to its point: the first free place is taken, near ones first.
_DIRECTIONS = [
    (1, 0.7, "left", "bottom"),
    (-1, 0.7, "right", "bottom"),
    (1, -0.7, "left", "top"),
    (-1, -0.7, "right", "top"),
    (0, 1.2, "center", "bottom"),
    (0, -1.2, "center", "top"),
    (1.2, 0, "left", "center"),
    (-1.2, 0, "right", "center"),
]
_REACHES = (4, 9, 14, 20, 30, 40, 55, 70)  # points; from the second on a line leads to the name

_LANE = 0.025  # between two rows of intervals below a line, as a share of its length


class Map(NamedTuple):
    """What a map shows."""

    points: Floats  # (n, 2); on a line the second coordinate is 0
    names: Sequence[str] | None
    ellipses: Ellipses | None = None
    intervals: Floats | None = None  # (n, 3): from, to, and how far below the line


def plot_map(
    embedding: ArrayLike | Ensemble,
    names: Sequence[str] | None = None,
    *,
    groups: ArrayLike | None = None,
    level: float = 0.95,
    ax: Axes | None = None,
) -> Axes:
    """Draw the first two dimensions of an embedding, or of an ensemble, as a map.

    Parameters
    ----------
    embedding : (n, d) array, or Ensemble
        With d = 1 the points lie on a line. Of an ensemble the points' means are drawn, each with
        an ellipse, or on a line an interval below it, that says how sure it is.
    names : sequence of str, optional
        Written beside the points, where there is room; by default the ensemble's, if it has names.
    groups : (n,) array, optional
        One colour for each distinct value.
    level : float
        Share of a point's distribution that its ellipse or interval holds.
    ax : matplotlib Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    shown = lay_out(embedding, names, level)
    x, y = shown.points.T
    colours = _colours(groups, len(x))
    ax = new_axes() if ax is None else ax
    if shown.ellipses is not None:
        _draw_ellipses(ax, shown.ellipses, colours)
    if shown.intervals is not None:
        start, end, below = shown.intervals.T
        ax.hlines(below, start, end, colors=colours, lw=1.5, zorder=1)
        ax.scatter(x, below, s=5, c=colours, zorder=1)
    ax.scatter(x, y, s=18, c=colours, zorder=2)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_xticks([])  # rotation and, for most models, scale have no meaning
    ax.set_yticks([])
    ax.autoscale_view()
    if shown.names is not None:
        ax.margins(0.12)
        _write_names(ax, shown, colours)
    return ax


# --- what to draw -----------------------------------------------------------------------------


def lay_out(
    embedding: ArrayLike | Ensemble, names: Sequence[str] | None = None, level: float = 0.95
) -> Map:
    """Work out what `plot_map` draws, without drawing it; see there."""
    ensemble = embedding if isinstance(embedding, Ensemble) else None
    X = np.asarray(embedding if ensemble is None else ensemble.point_mean(), dtype=np.float64)
    if X.ndim != 2 or X.shape[1] < 1:
        raise InputError(f"an embedding has shape (objects, dimensions), got shape {X.shape}.")
    if names is None and ensemble is not None:
        names = ensemble.names
    if names is not None and len(names) != len(X):
        raise InputError(f"there are {len(X)} points but {len(names)} names.")
    points = X[:, :2] if X.shape[1] > 1 else np.column_stack([X[:, 0], np.zeros(len(X))])
    if ensemble is None:
        return Map(points, names)
    interval = ensemble.point_interval(level)[:, 0]  # checks the level, too
    if X.shape[1] == 1:
        return Map(points, names, intervals=_in_lanes(interval))
    covariance = ensemble.point_covariance()[:, :2, :2]
    return Map(points, names, ellipses=ellipses(points, covariance, level))


def _in_lanes(interval: Floats) -> Floats:
    """Intervals (n, 2) with, as a third column, the first row below the line with room for each."""
    length = float(interval.max() - interval.min())
    below = np.empty(len(interval))
    ends: list[float] = []  # of the last interval in each row
    for i in np.argsort(interval[:, 0], kind="stable"):
        free = (k for k, end in enumerate(ends) if end + _LANE * length < interval[i, 0])
        lane = next(free, len(ends))
        ends[lane : lane + 1] = [float(interval[i, 1])]
        below[i] = -(lane + 1.5) * _LANE * length
    return np.column_stack([interval, below])


def _colours(groups: ArrayLike | None, n: int) -> list[str]:
    codes = np.zeros(n, dtype=int)
    if groups is not None:
        codes = np.unique(np.asarray(groups), return_inverse=True)[1]
        if codes.shape != (n,):
            raise InputError(f"there are {n} points but groups of shape {codes.shape}.")
    return [COLOURS[code % len(COLOURS)] for code in codes]


# --- drawing ----------------------------------------------------------------------------------


def _draw_ellipses(ax: Axes, shapes: Ellipses, colours: Sequence[str]) -> None:
    from matplotlib.patches import Ellipse

    for centre, half, angle, colour in zip(*shapes, colours, strict=True):
        patch = Ellipse(
            tuple(centre),
            *(2.0 * half),
            angle=float(np.degrees(angle)),
            facecolor=(colour, 0.12),
            edgecolor=(colour, 0.45),
            lw=0.8,
            zorder=1,
        )
        ax.add_patch(patch)


def _write_names(ax: Axes, shown: Map, colours: Sequence[str]) -> None:
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

    assert shown.names is not None
    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()  # settles the layout, so that sizes in pixels are final
    inside = ax.get_window_extent()
    pixels = ax.transData.transform(shown.points)
    taken = [Bbox.from_extents(u - 3, v - 3, u + 3, v + 3) for u, v in pixels]
    above = [place for place in _DIRECTIONS if place[1] > 0]
    directions = _DIRECTIONS if shown.intervals is None else above
    places = [(reach, *place) for reach in _REACHES for place in directions]
    for i, name in enumerate(shown.names):
        for reach, dx, dy, horizontal, vertical in places:
            line = {"arrowstyle": "-", "color": colours[i], "lw": 0.5, "shrinkA": 0, "shrinkB": 3}
            text = ax.annotate(
                name.replace("$", r"\$"),  # a dollar sign would start a formula
                tuple(shown.points[i]),
                xytext=(reach * dx, reach * dy),
                textcoords="offset points",
                ha=horizontal,
                va=vertical,
                fontsize=8,
                color=colours[i],
                arrowprops=line if reach > _REACHES[0] else None,
            )
            text.get_window_extent()  # puts the words in their place
            box = Text.get_window_extent(text)  # of the words alone, without the line
            free = not any(box.overlaps(other) for other in taken)
            if free and inside.contains(box.x0, box.y0) and inside.contains(box.x1, box.y1):
                break
            if (reach, dx, dy, horizontal, vertical) != places[-1]:  # the last stands anyway
                text.remove()
        taken.append(box)
