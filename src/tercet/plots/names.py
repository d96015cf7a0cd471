"""Names beside points: as many as fit without overlap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from tercet.arrays import Bools, Floats
from tercet.plots.axes import LONGEST, drawable, families

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SIZE = 8.0  # font size, in points, like all lengths here
_DOT = 2.6  # half the width of a point with its margin
_GAP = 0.8  # margin around a name
_CLOSE = 40.0  # distance below which points count as crowded
_BESIDE = 4.0  # from a point to a name right beside it
_REACHES = (9.0, 14.0, 20.0, 27.0, 35.0, 45.0, 57.0, 70.0)  # to names joined by a line
_MANY, _FARTHEST = 60, 35.0  # with more points, lines are no longer than this, to limit clutter

# Offsets of a name from its point, in order of preference: corners, then sides.
_BESIDES = np.array(
    [[1, 0.7], [-1, 0.7], [1, -0.7], [-1, -0.7], [0, 1.2], [0, -1.2], [1.2, 0], [-1.2, 0]]
)
_TURNS = np.radians([30, 150, -30, -150, 60, 120, -60, -120, 90, -90, 0, 180])
_TURNS = np.concatenate([_TURNS, np.radians([15, 165, -15, -165, 45, 135, -45, -135])])
_AROUND = np.column_stack([np.cos(_TURNS), np.sin(_TURNS)]).round(9)


class Place(NamedTuple):
    """Offset of a name from its point, in points."""

    right: float
    up: float
    led: bool  # whether a line joins the two


def write_names(
    ax: Axes,
    points: Floats,
    names: Sequence[str],
    colours: Sequence[str],
    *,
    intervals: Floats | None = None,
    suffix: str = "",
) -> None:
    """Write names beside points (n, 2), or beside their intervals, in a figure with final layout.

    A name that would cover a point, another name or a line is left out. Name i has the gid
    ``name-{i}``, and the line that joins it to its point ``line-{i}``.

    Parameters
    ----------
    intervals : (n, 3) array, optional
        From, to and height of horizontal intervals: names are placed at their ends.
    suffix : str
        Appended to the gids.
    """
    texts = [drawable(name, LONGEST) for name in names]
    family = families(texts)
    figure = ax.get_figure(root=True)
    assert figure is not None
    unit = figure.dpi / 72.0
    sizes = _measure(ax, texts, family) / unit
    inside = np.asarray(ax.get_window_extent().extents) / unit

    def pixels(places: Floats) -> Floats:
        return np.asarray(ax.transData.transform(places)) / unit

    if intervals is None:
        anchors, flat = points, bool(np.ptp(points[:, 1]) == 0.0)
        found = find_places(pixels(points), sizes, inside, above=flat)
    else:
        left, right = intervals[:, [0, 2]], intervals[:, [1, 2]]
        found = find_ends(pixels(left), pixels(right), sizes, inside)
        to_the_right = np.array([place is None or place.right > 0 for place in found])
        anchors = np.where(to_the_right[:, None], right, left)
    for i, place in enumerate(found):
        if place is not None and texts[i]:
            gids = (f"name-{i}{suffix}", f"line-{i}{suffix}")
            _write(ax, texts[i], anchors[i], place, colours[i], family, gids)


def _write(
    ax: Axes,
    text: str,
    point: Floats,
    place: Place,
    colour: str,
    family: list[str],
    gids: tuple[str, str],
) -> None:
    across, along = int(np.sign(place.right)), int(np.sign(place.up))
    line = {
        "arrowstyle": "-",
        "color": colour,
        "lw": 0.5,
        "shrinkA": 0,
        "shrinkB": 3,
        "relpos": (0.5 - 0.5 * across, 0.5 - 0.5 * along),
    }
    written = ax.annotate(
        text,
        (float(point[0]), float(point[1])),
        xytext=(place.right, place.up),
        textcoords="offset points",
        ha=("right", "center", "left")[across + 1],
        va=("top", "center", "bottom")[along + 1],
        fontsize=SIZE,
        fontfamily=family,
        color=colour,
        arrowprops=line if place.led else None,
        gid=gids[0],
        zorder=3,
    )
    written.set_in_layout(False)  # it is inside the axes
    if written.arrow_patch is not None:
        written.arrow_patch.set_gid(gids[1])


# --- finding space ----------------------------------------------------------------------------


def find_places(
    points: Floats, sizes: Floats, inside: Floats, *, above: bool = False
) -> list[Place | None]:
    """Find space for names of given widths and heights, sizes (n, 2), beside points (n, 2).

    The most crowded points come first, and places beside points before those joined by a line:
    this order placed the most names. None where there is no space.

    Parameters
    ----------
    inside : (4,) array
        Left, bottom, right and top of the allowed area.
    above : bool
        Whether names may only be above their points.
    """
    n = len(points)
    reaches = [reach for reach in _REACHES if n <= _MANY or reach <= _FARTHEST]
    around = np.vstack([reach * _AROUND for reach in reaches])
    order = np.argsort(-_crowding(points), kind="stable").tolist()
    places: list[Place | None] = [None] * n
    boxes, lines = np.hstack([points - _DOT, points + _DOT]), np.empty((0, 4))
    for led, offsets in ((False, _BESIDE * _BESIDES), (True, around)):
        tried = offsets[offsets[:, 1] > 0.0] if above else offsets
        for i in [i for i in order if places[i] is None]:
            wanted = _boxes(points[i], tried, sizes[i])
            free = np.flatnonzero(_within(wanted, inside))
            free = free[~_overlap(wanted[free], boxes).any(axis=1)]
            free = free[~_crossed(lines, wanted[free]).any(axis=0)]
            ways = np.hstack([np.broadcast_to(points[i], (len(free), 2)), points[i] + tried[free]])
            if led:
                clear = ~_crossed(ways, np.delete(boxes, i, axis=0)).any(axis=1)
                free, ways = free[clear], ways[clear]
            if len(free):
                places[i] = Place(float(tried[free[0], 0]), float(tried[free[0], 1]), led)
                boxes = np.vstack([boxes, wanted[free[0]]])
                lines = np.vstack([lines, ways[0]]) if led else lines
    return places


def find_ends(left: Floats, right: Floats, sizes: Floats, inside: Floats) -> list[Place | None]:
    """Find space for names at the ends, left and right (n, 2), of horizontal intervals.

    Intervals in the left half have their names on the right, the others on the left: in a
    staircase that is where the space is.
    """
    middle = 0.5 * (inside[0] + inside[2])
    boxes = np.hstack([left - 0.5, right + 0.5])
    places: list[Place | None] = []
    for i in range(len(left)):
        way = 1.0 if left[i, 0] + right[i, 0] < 2.0 * middle else -1.0
        step = np.array([[way * _BESIDE, 0.0]])
        wanted = _boxes(right[i] if way > 0 else left[i], step, sizes[i])
        free = _within(wanted, inside)[0] and not _overlap(wanted, boxes).any()
        places.append(Place(float(step[0, 0]), 0.0, False) if free else None)
        boxes = np.vstack([boxes, wanted]) if free else boxes
    return places


def _boxes(point: Floats, offsets: Floats, size: Floats) -> Floats:
    """Boxes (c, 4) of a name at offsets (c, 2) from its point, extending away from it."""
    low = point + offsets + 0.5 * (np.sign(offsets) - 1.0) * size
    return np.hstack([low - _GAP, low + size + _GAP])


def _measure(ax: Axes, texts: Sequence[str], family: list[str]) -> Floats:
    """Widths and heights (n, 2) of texts, in pixels."""
    from matplotlib.text import Text

    ruler = Text(0.0, 0.0, "", fontsize=SIZE, fontfamily=family)
    figure = ax.get_figure(root=True)
    assert figure is not None
    ruler.set_figure(figure)
    sizes = np.zeros((len(texts), 2))
    for i, text in enumerate(texts):
        ruler.set_text(text)
        sizes[i] = ruler.get_window_extent().size
    return sizes


def _crowding(points: Floats) -> Floats:
    """How many other points are close to each, (n,)."""
    within = float(np.nextafter(_CLOSE, 0.0))
    close = cKDTree(points).query_ball_point(points, within, p=np.inf, return_length=True)
    return np.asarray(close, dtype=np.float64)


def _within(boxes: Floats, inside: Floats) -> Bools:
    """Whether boxes (c, 4) are all inside, (c,)."""
    return np.asarray(((boxes[:, :2] >= inside[:2]) & (boxes[:, 2:] <= inside[2:])).all(axis=1))


def _overlap(boxes: Floats, others: Floats) -> Bools:
    """Whether boxes (c, 4) and others (k, 4) overlap, (c, k)."""
    left, bottom, right, top = boxes.T[:, :, None]
    return np.asarray(
        (left < others[:, 2])
        & (right > others[:, 0])
        & (bottom < others[:, 3])
        & (top > others[:, 1])
    )


def _crossed(lines: Floats, boxes: Floats) -> Bools:
    """Whether straight lines (c, 4), from and to, cross boxes (k, 4); (c, k).

    A line is inside a box between its last entry and its first exit over both coordinates (Kay and
    Kajiya 1986).
    """
    start, step = lines[:, None, :2], lines[:, None, 2:] - lines[:, None, :2]
    step = np.where(step == 0.0, 1e-12, step)
    one, other = (boxes[None, :, :2] - start) / step, (boxes[None, :, 2:] - start) / step
    comes = np.minimum(one, other).max(axis=2)
    goes = np.maximum(one, other).min(axis=2)
    return np.asarray(np.maximum(comes, 0.0) < np.minimum(goes, 1.0))
