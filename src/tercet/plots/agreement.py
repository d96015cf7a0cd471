"""Agreement of each observer with the others or with a map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tercet.arrays import Bools, Floats
from tercet.errors import InputError
from tercet.plots.axes import COLOURS, LONGEST, drawable, families, new_axes
from tercet.text import listing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_NAMES = 45  # observers, up to which the axis has their names
_ROW = 0.17  # inches
_TALLEST = 10.0


class Agreement(NamedTuple):
    """Observers in the order in which they are drawn, highest agreement first."""

    names: list[str]
    agreement: Floats  # (k,)
    low: Floats  # (k,)
    high: Floats  # (k,)
    flagged: Bools  # (k,)


def plot_observers(
    names: Sequence[object],
    agreement: ArrayLike,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    *,
    flagged: ArrayLike | None = None,
    typical: float | None = None,
    xlabel: str = "share of answers that agree",
    ax: Axes | None = None,
) -> Axes:
    """Draw each observer's agreement with its interval, the highest at the top.

    The grey line at ½ is chance level. With more than 45 observers only those that are flagged
    are named, in the legend.

    Parameters
    ----------
    names : sequence of length k
        The observers.
    agreement : (k,) array
        Share of an observer's answers that agree; NaN where it is unknown.
    low, high : (k,) array, optional
        Limits of an interval.
    flagged : (k,) array of bool, optional
        Observers to mark, such as those who may be guessing.
    typical : float, optional
        Agreement of a typical observer, drawn as a dashed line.
    xlabel : str
        Label of the axis.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    shown = rank_observers(names, agreement, low, high, flagged)
    count = len(shown.names)
    ax = new_axes(6.0, min(1.2 + _ROW * count, _TALLEST)) if ax is None else ax
    place = np.arange(count)
    ax.axvline(0.5, color="0.8", lw=1, zorder=1)
    if typical is not None:
        ax.axvline(typical, color="0.5", lw=1, ls="--", zorder=1, label="typical")
    size = float(np.clip(150.0 / count, 2.0, 5.0))
    for mark, chosen, colour, label in (
        ("o", ~shown.flagged, COLOURS[0], "observers"),
        ("D", shown.flagged, COLOURS[1], _flagged(shown)),
    ):
        if chosen.any():
            low_, high_, at = shown.low[chosen], shown.high[chosen], place[chosen]
            ax.hlines(at, low_, high_, colors=colour, lw=0.25 * size, zorder=2)
            x = shown.agreement[chosen]
            ax.plot(x, at, mark, color=colour, ms=size, zorder=3, label=label)
    texts = [drawable(name, LONGEST) for name in shown.names] if count <= _MOST_NAMES else []
    ax.set_yticks(place[: len(texts)], texts, fontsize=8, fontfamily=families(texts))
    ax.set_ylim(count - 0.4, -0.6)
    left = min(0.45, float(np.nanmin(shown.low)) - 0.02) if count else 0.45
    ax.set_xlim(max(0.0, left), 1.01)
    ax.set_xlabel(xlabel)
    if count > _MOST_NAMES:
        ax.set_ylabel(f"{count} observers")
    if shown.flagged.any() or typical is not None:
        ax.legend(
            frameon=False,
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            ncols=3 if texts else 1,
            borderpad=0.0,
            prop={"size": 8, "family": families(shown.names)},
        )
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _flagged(shown: Agreement) -> str:
    """Label of the flagged observers in the legend, with names where the axis has none."""
    if len(shown.names) <= _MOST_NAMES:
        return "flagged"
    return drawable(f"flagged: {listing(shown.names, np.flatnonzero(shown.flagged), limit=4)}")


def rank_observers(
    names: Sequence[object],
    agreement: ArrayLike,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    flagged: ArrayLike | None = None,
) -> Agreement:
    """Put observers in the order in which `plot_observers` draws them, without NaN."""
    values = np.asarray(agreement, dtype=np.float64)
    low_ = values if low is None else np.asarray(low, dtype=np.float64)
    high_ = values if high is None else np.asarray(high, dtype=np.float64)
    flags = np.zeros(len(names), bool) if flagged is None else np.asarray(flagged, dtype=np.bool_)
    columns = {"agreement": values, "low": low_, "high": high_, "flagged": flags}
    for what, column in columns.items():
        if column.shape != (len(names),):
            raise InputError(
                f"there are {len(names)} observers but {what} has the shape {column.shape}."
            )
    order = np.argsort(-values, kind="stable")
    order = order[~np.isnan(values[order])]
    if not len(order):
        raise InputError("there is no observer whose agreement is known.")
    return Agreement(
        [str(names[i]) for i in order], values[order], low_[order], high_[order], flags[order]
    )
