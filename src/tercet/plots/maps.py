"""Maps: objects as named points with ellipses, and their expected distances as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tercet.arrays import Floats
from tercet.ensemble import Ensemble
from tercet.errors import InputError
from tercet.plots.axes import COLOURS, LONGEST, drawable, families, new_axes, new_figure
from tercet.plots.names import write_names
from tercet.uncertainty import Ellipses, ellipses

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MARKERS = ("o", "s", "^", "D")  # of groups: the next one when the colours are used up

_SIDE = 6.0  # inches, of a map
_PANEL, _WIDEST = 3.2, 14.0  # inches: of one map among several, and of all of them
_ROW, _TALLEST = 0.17, 12.0  # inches: of a named interval, and of all of them
_MARGIN = 1.2  # size of the frames of maps of pairs, relative to their contents
_MOST = 0.95  # share of the ellipses inside the frames


def plot_map(
    embedding: ArrayLike | Ensemble,
    names: Sequence[str] | None = None,
    *,
    groups: ArrayLike | None = None,
    level: float = 0.95,
    dimensions: tuple[int, int] = (0, 1),
    ax: Axes | None = None,
) -> Axes:
    """Draw two dimensions of an embedding, or of an ensemble, as a map.

    More than two dimensions are first rotated to the principal axes of the (mean) map, in order of
    decreasing variance: one rotation for all draws, which changes no distance.

    In an SVG file every point, ellipse or interval, and name is a separate element with the id
    ``object-{i}``, ``ellipse-{i}`` and ``name-{i}``.

    Parameters
    ----------
    embedding : (n, d) array, or Ensemble
        With d = 1 the points lie on a line. For an ensemble, the mean position of each point is
        drawn with a credible ellipse, or on a line with an interval below it.
    names : sequence of str, optional
        Written beside the points; by default the ensemble's names. Long ones are shortened, and
        those without space are left out, so that nothing overlaps. They are placed for the current
        size of the axes, so add titles and other axes of the figure first.
    groups : (n,) array, optional
        One colour for each distinct value, in sorted order; beyond seven, markers differ too.
    level : float
        Probability content of the ellipses or intervals.
    dimensions : pair of int
        Which two of more than two dimensions to show, from 0.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    shown = lay_out(embedding, names, level, dimensions)
    colours, markers = looks(groups, len(shown.points))
    ax = new_axes(_SIDE, _height(shown)) if ax is None else ax
    _draw(ax, shown, colours, markers)
    if shown.intervals is None:
        ax.set_aspect("equal", adjustable="datalim")
    ax.autoscale_view()
    if shown.spread is not None:
        ax.set_xlabel(_title(dimensions[0], shown.spread[0]))
        ax.set_ylabel(_title(dimensions[1], shown.spread[1]))
    if shown.names is not None:
        below = 0.12 if shown.intervals is None else max(0.02, 0.7 / len(shown.points))
        ax.margins(0.12, below)  # on a line, room for most of a row
        _settle(ax)
        write_names(ax, shown.points, shown.names, colours, intervals=shown.intervals)
    return ax


def plot_pairs(
    embedding: ArrayLike | Ensemble,
    names: Sequence[str] | None = None,
    *,
    groups: ArrayLike | None = None,
    level: float = 0.95,
    axes: Sequence[Axes] | None = None,
) -> list[Axes]:
    """Draw a map of every pair of dimensions, all on the same scale.

    The dimensions are the principal axes of the (mean) map, as in `plot_map`. The frames contain
    all points; a few ellipses far larger than the others may extend beyond them. In an SVG file
    the ids end with the dimensions: ``object-{i}-{x}-{y}``.

    Parameters
    ----------
    embedding : (n, d) array, or Ensemble
        Of two dimensions or more.
    names, groups, level
        As in `plot_map`; names are written where they fit.
    axes : sequence of d(d − 1)/2 matplotlib Axes, optional
        Where to draw; by default a new figure, the maps forming a lower triangle.

    Returns
    -------
    list of matplotlib Axes
        For the dimensions (0, 1), (0, 2), (1, 2), (0, 3) ..., horizontal and vertical.
    """
    space = read_space(embedding, names, level)
    pairs = _pairs(space)
    colours, markers = looks(groups, len(space.points))
    drawn = _new_half(pairs) if axes is None else list(axes)
    if len(drawn) != len(pairs):
        raise InputError(
            f"{space.n_components} dimensions have {len(pairs)} pairs; pass as many axes, got "
            f"{len(drawn)}."
        )
    maps = [view(space, level, pair) for pair in pairs]
    reach = _MARGIN * max(_reach(shown) for shown in maps)
    for ax, shown, (x, y) in zip(drawn, maps, pairs, strict=True):
        _draw(ax, shown, colours, markers, f"-{x}-{y}")
        ax.set_aspect("equal", adjustable="box")
        ax.set_xlim(*_around(shown.points[:, 0], reach))
        ax.set_ylim(*_around(shown.points[:, 1], reach))
        if shown.spread is not None:
            ax.set_xlabel(_title(x, shown.spread[0]) if y == space.n_components - 1 else "")
            ax.set_ylabel(_title(y, shown.spread[1]) if x == 0 else "")
    if space.names is not None:
        _settle(drawn[0])
        for ax, shown, (x, y) in zip(drawn, maps, pairs, strict=True):
            write_names(ax, shown.points, space.names, colours, suffix=f"-{x}-{y}")
    return drawn


# --- what to draw -----------------------------------------------------------------------------


def looks(groups: ArrayLike | None, n: int) -> tuple[list[str], list[str]]:
    """The colours and the markers of n points, one of each for every group."""
    codes = np.zeros(n, dtype=int)
    if groups is not None:
        codes = np.unique(np.asarray(groups), return_inverse=True)[1]
        if codes.shape != (n,):
            raise InputError(f"there are {n} points but groups of shape {codes.shape}.")
    colours = [COLOURS[code % len(COLOURS)] for code in codes]
    return colours, [MARKERS[code // len(COLOURS) % len(MARKERS)] for code in codes]


def _pairs(space: Space) -> list[tuple[int, int]]:
    if space.n_components < 2:
        raise InputError("one dimension has no pairs to show; plot_map draws it as a line.")
    return sorted(combinations(range(space.n_components), 2), key=lambda pair: pair[::-1])


def _reach(shown: Map) -> float:
    """How far points and most of the ellipses extend from the middle of the points."""
    middle = 0.5 * (shown.points.min(axis=0) + shown.points.max(axis=0))
    away = np.abs(shown.points - middle)
    reach = float(away.max()) or 1.0
    if shown.ellipses is None:
        return reach
    ends = (away + _extent(shown.ellipses)).max(axis=1)
    return max(reach, float(np.quantile(ends, _MOST)))


def _extent(shapes: Ellipses) -> Floats:
    """Half the width and half the height (n, 2) of ellipses."""
    (a, b), angle = shapes.half_lengths.T, shapes.angles
    wide = np.hypot(a * np.cos(angle), b * np.sin(angle))
    high = np.hypot(a * np.sin(angle), b * np.cos(angle))
    return np.column_stack([wide, high])


def _height(shown: Map) -> float:
    """Height of a new figure in inches: on a line, every name has its own row."""
    if shown.names is None or shown.intervals is None:
        return _SIDE
    return min(0.6 + _ROW * len(shown.points), _TALLEST)


def _around(values: Floats, reach: float) -> tuple[float, float]:
    middle = 0.5 * float(values.min() + values.max())
    return middle - reach, middle + reach


def _title(dimension: int, share: float) -> str:
    return f"dimension {dimension + 1} ({share:.0%} of the variance)"


# --- drawing ----------------------------------------------------------------------------------


def _draw(
    ax: Axes, shown: Map, colours: Sequence[str], markers: Sequence[str], suffix: str = ""
) -> None:
    """Draw points and ellipses or intervals, each an artist with its gid."""
    from matplotlib.lines import Line2D

    if shown.ellipses is not None:
        _draw_ellipses(ax, shown.ellipses, colours, suffix)
    if shown.intervals is not None:
        for i, (start, end, below) in enumerate(shown.intervals.tolist()):
            across, gid = [start, float(shown.points[i, 0]), end], f"ellipse-{i}{suffix}"
            bar = Line2D(across, [below] * 3, color=colours[i], lw=1.5, zorder=1, gid=gid)
            bar.set(marker="o", markersize=2.4, markevery=[1])
            ax.add_line(bar)
    for i, (x, y) in enumerate(shown.points.tolist()):
        dot = Line2D([x], [y], color=colours[i], ls="", marker=markers[i], zorder=2)
        dot.set(markersize=4.2, markeredgewidth=0.5, gid=f"object-{i}{suffix}")
        ax.add_line(dot)
    ax.set_xticks([])  # rotation and, for most models, scale have no meaning
    ax.set_yticks([])


def _draw_ellipses(ax: Axes, shapes: Ellipses, colours: Sequence[str], suffix: str) -> None:
    from matplotlib.patches import Ellipse

    for i, (centre, half, angle) in enumerate(zip(*shapes, strict=True)):
        patch = Ellipse(
            tuple(centre),
            *(2.0 * half),
            angle=float(np.degrees(angle)),
            facecolor=(colours[i], 0.12),
            edgecolor=(colours[i], 0.45),
            lw=0.8,
            zorder=1,
            gid=f"ellipse-{i}{suffix}",
        )
        ax.add_artist(patch)
    extent = _extent(shapes)  # all at once: add_patch would compute it for each, slowly
    ax.update_datalim(np.vstack([shapes.centres - extent, shapes.centres + extent]))


def _settle(ax: Axes) -> None:
    """Lay the figure out, so that sizes in pixels are final."""
    figure: Figure | None = ax.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()


def _new_half(pairs: Sequence[tuple[int, int]]) -> list[Axes]:
    """Axes of a new figure, one per pair, in a lower triangle."""
    count = pairs[-1][1]
    size = min(_PANEL * count, _WIDEST) if count > 1 else _SIDE
    figure = new_figure(size, size)
    grid = figure.add_gridspec(count, count)
    return [figure.add_subplot(grid[y - 1, x]) for x, y in pairs]


# --- points, ellipses or intervals along chosen dimensions --------------------------------------


_LANE = 0.025  # between two rows of intervals below a line, as a share of its length


class Map(NamedTuple):
    """What a map shows."""

    points: Floats  # (n, 2); on a line the second coordinate is 0
    names: Sequence[str] | None
    ellipses: Ellipses | None = None
    intervals: Floats | None = None  # (n, 3): from, to, and height, which is below the line
    spread: tuple[float, float] | None = None  # shares of variance, with more than 2 dimensions


class Space(NamedTuple):
    """Points of any dimension, and their uncertainty."""

    points: Floats  # (n, d)
    names: Sequence[str] | None
    covariance: Floats | None = None  # (n, d, d)
    interval: Floats | None = None  # (n, 2), on a line

    @property
    def n_components(self) -> int:
        """How many dimensions there are."""
        return int(self.points.shape[1])


def lay_out(
    embedding: ArrayLike | Ensemble,
    names: Sequence[str] | None = None,
    level: float = 0.95,
    dimensions: tuple[int, int] = (0, 1),
) -> Map:
    """Compute what `plot_map` draws."""
    return view(read_space(embedding, names, level), level, dimensions)


def read_space(embedding: ArrayLike | Ensemble, names: Sequence[str] | None, level: float) -> Space:
    """Check an embedding or an ensemble, and rotate more than two dimensions."""
    ensemble = embedding if isinstance(embedding, Ensemble) else None
    X = np.asarray(embedding if ensemble is None else ensemble.point_mean(), dtype=np.float64)
    if X.ndim != 2 or X.shape[1] < 1:
        raise InputError(f"an embedding has shape (objects, dimensions), got shape {X.shape}.")
    if names is None and ensemble is not None:
        names = ensemble.names
    if names is not None and len(names) != len(X):
        raise InputError(f"there are {len(X)} points but {len(names)} names.")
    turn = principal_axes(X) if X.shape[1] > 2 else np.eye(X.shape[1])
    if ensemble is None:
        return Space(X @ turn, names)
    interval = ensemble.point_interval(level)[:, 0]  # checks the level, too
    if X.shape[1] == 1:
        return Space(X, names, interval=interval)
    return Space(X @ turn, names, turn.T @ ensemble.point_covariance() @ turn)


def principal_axes(points: ArrayLike) -> Floats:
    """The rotation (d, d) to the principal axes of points (n, d), largest variance first.

    ``points @ principal_axes(points)`` is the rotated map. Each axis points towards its farthest
    point.
    """
    X = np.asarray(points, dtype=np.float64)
    centred = X - X.mean(axis=0)
    axes = np.linalg.eigh(centred.T @ centred)[1][:, ::-1]
    along = centred @ axes
    farthest = np.take_along_axis(along, np.abs(along).argmax(axis=0)[None], axis=0)
    return np.asarray(axes * np.where(farthest < 0.0, -1.0, 1.0))


def view(space: Space, level: float, dimensions: tuple[int, int]) -> Map:
    """Two dimensions of a space."""
    X, names, covariance, interval = space
    d = space.n_components
    shown = list(dimensions)
    if len(shown) != 2 or shown[0] == shown[1] or not set(shown) <= set(range(max(d, 2))):
        raise InputError(
            f"dimensions must be two different numbers from 0 to {max(d, 2) - 1}, such as (0, 1), "
            f"got {dimensions!r}."
        )
    if d == 1:
        points = np.column_stack([X[:, 0], np.zeros(len(X))])
        if interval is None:
            return Map(points, names)
        return Map(points, names, intervals=_in_lanes(interval, X[:, 0] if names else None))
    points = X[:, shown]
    share = X.var(axis=0) / max(float(X.var(axis=0).sum()), np.finfo(float).tiny)
    spread = (float(share[shown[0]]), float(share[shown[1]])) if d > 2 else None
    if covariance is None:
        return Map(points, names, spread=spread)
    seen = covariance[:, shown][:, :, shown]
    return Map(points, names, ellipses(points, seen, level), spread=spread)


def _in_lanes(interval: Floats, order: Floats | None) -> Floats:
    """Intervals (n, 2) with their height, below the line, as a third column.

    With an order (n,) each has its own row, with space for a name; otherwise it is put into the
    first free row.
    """
    n, length = len(interval), float(interval.max() - interval.min())
    below = np.empty(n)
    if order is not None:
        below[np.argsort(order, kind="stable")] = -_LANE * length * (np.arange(n) + 1.5)
        return np.column_stack([interval, below])
    ends: list[float] = []  # of the last interval in each row
    for i in np.argsort(interval[:, 0], kind="stable"):
        free = (k for k, end in enumerate(ends) if end + _LANE * length < interval[i, 0])
        lane = next(free, len(ends))
        ends[lane : lane + 1] = [float(interval[i, 1])]
        below[i] = -(lane + 1.5) * _LANE * length
    return np.column_stack([interval, below])


# --- expected distances as a heat map -----------------------------------------------------------


MOST_NAMES = 60  # objects whose names are written beside their rows
_DRAWS = 200  # draws used: enough for the mean of a distance
_ROW_OF_NAMES = 0.16  # inches, of a row with a name


class Distances(NamedTuple):
    """Contents of the heat map."""

    mean: Floats  # (n, n), over the draws, objects in their own order
    order: NDArray[np.int64]  # (n,): the objects from top to bottom and from left to right


def expected_distances(ensemble: Ensemble) -> Distances:
    """Mean distances over (evenly spaced) draws, and an order that places near objects together.

    The optimal leaf order of average-linkage clustering (Bar-Joseph, Gifford and Jaakkola 2001).
    """
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import pdist, squareform

    draws = ensemble.samples[:: -(-len(ensemble) // _DRAWS)]
    mean = np.zeros(ensemble.n_objects * (ensemble.n_objects - 1) // 2)
    for draw in draws:
        mean += pdist(draw)
    mean /= len(draws)
    # The optimal order takes time cubic in the number of objects.
    tree = linkage(mean, "average", optimal_ordering=ensemble.n_objects <= 10 * MOST_NAMES)
    return Distances(squareform(mean), leaves_list(tree).astype(np.int64))


def plot_distances(
    ensemble: Ensemble, names: Sequence[str] | None = None, *, ax: Axes | None = None
) -> Axes:
    """Draw the expected distances of all pairs of objects as a heat map.

    Dark is near. Objects are ordered by hierarchical clustering, so that groups of similar objects
    are dark squares along the diagonal.

    Parameters
    ----------
    ensemble : Ensemble
        Of points.
    names : sequence of str, optional
        By default the ensemble's. Written beside the rows, for up to 60 objects.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    mean, order = expected_distances(ensemble)
    n = len(mean)
    names = ensemble.names if names is None else names
    if names is not None and len(names) != n:
        raise InputError(f"there are {n} objects but {len(names)} names.")
    if ax is None:
        side = max(4.0, 1.0 + _ROW_OF_NAMES * min(n, MOST_NAMES))
        ax = new_axes(side + 1.0, side)
    shown = ax.imshow(
        mean[np.ix_(order, order)], cmap="viridis", interpolation="none", aspect="auto"
    )
    shown.set_gid("distances")
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    ax.set_xticks([])
    ax.set_yticks([])
    if names is not None and n <= MOST_NAMES:
        texts = [drawable(names[i], LONGEST) for i in order]
        ax.set_yticks(range(n), texts, fontsize=8.0, fontfamily=families(texts))
    ax.set_xlabel(f"expected distance (dark: 0, bright: {mean.max():.3g})")
    return ax
