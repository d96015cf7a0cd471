"""The map: objects as named points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from tercet.errors import InputError, TercetError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe & Ito's colours, which people with any colour vision can tell apart.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")

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


def plot_map(
    embedding: ArrayLike,
    names: Sequence[str] | None = None,
    *,
    groups: ArrayLike | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the first two dimensions of an embedding as a map.

    Parameters
    ----------
    embedding : (n, d) array
        With d = 1 the points lie on a line.
    names : sequence of str, optional
        Written beside the points, where there is room.
    groups : (n,) array, optional
        One colour for each distinct value.
    ax : matplotlib Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    X = np.asarray(embedding, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] < 1:
        raise InputError(f"an embedding has shape (objects, dimensions), got shape {X.shape}.")
    if names is not None and len(names) != len(X):
        raise InputError(f"there are {len(X)} points but {len(names)} names.")
    ax = _new_axes() if ax is None else ax
    x, y = X[:, 0], X[:, 1] if X.shape[1] > 1 else np.zeros(len(X))
    codes = np.zeros(len(X), dtype=int)
    if groups is not None:
        codes = np.unique(np.asarray(groups), return_inverse=True)[1]
    colours = [COLOURS[code % len(COLOURS)] for code in codes]
    ax.scatter(x, y, s=18, c=colours, zorder=2)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set_xticks([])  # rotation and, for most models, scale have no meaning
    ax.set_yticks([])
    if names is not None:
        ax.margins(0.12)
        _write_names(ax, x, y, names, colours)
    return ax


def _new_axes() -> Axes:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise TercetError(
            "Plots need Matplotlib, which is not installed: pip install 'tercet[plots]'."
        ) from error
    axes: Axes = pyplot.subplots(figsize=(6, 6), layout="constrained")[1]
    return axes


def _write_names(ax: Axes, x: Any, y: Any, names: Sequence[str], colours: Sequence[str]) -> None:
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

    figure = ax.get_figure(root=True)
    assert figure is not None
    figure.draw_without_rendering()  # settles the layout, so that sizes in pixels are final
    inside = ax.get_window_extent()
    pixels = ax.transData.transform(np.column_stack([x, y]))
    taken = [Bbox.from_extents(u - 3, v - 3, u + 3, v + 3) for u, v in pixels]
    for i, name in enumerate(names):
        places = [(reach, *place) for reach in _REACHES for place in _DIRECTIONS]
        for reach, dx, dy, horizontal, vertical in places:
            line = {"arrowstyle": "-", "color": colours[i], "lw": 0.5, "shrinkA": 0, "shrinkB": 3}
            text = ax.annotate(
                name.replace("$", r"\$"),  # a dollar sign would start a formula
                (x[i], y[i]),
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
