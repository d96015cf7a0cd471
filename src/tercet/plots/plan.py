"""Precision against the number of answers, and how many are needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from tercet.errors import InputError
from tercet.plots.axes import COLOURS, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_plan(
    answers: ArrayLike,
    median: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    *,
    target: float | None = None,
    needed: float | Sequence[float] | None = None,
    ylabel: str = "precision",
    ax: Axes | None = None,
) -> Axes:
    """Draw the precision that numbers of answers lead to, and how many a target needs.

    Parameters
    ----------
    answers : (k,) array
        Numbers of answers, increasing.
    median, low, high : (k,) array
        Of the precision over simulated experiments, and the ends of a band.
    target : float, optional
        The wanted precision.
    needed : float, or (value, low, high), optional
        How many answers it needs, and an interval for that.
    ylabel : str
        What the precision is.
    ax : matplotlib Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    columns = {"answers": answers, "median": median, "low": low, "high": high}
    values = {what: np.asarray(column, dtype=np.float64) for what, column in columns.items()}
    for what, column in values.items():
        if column.ndim != 1 or column.shape != values["answers"].shape or not len(column):
            raise InputError(
                "answers, median, low and high must be lists of the same length, got shape "
                f"{column.shape} of {what} and {values['answers'].shape} of answers."
            )
    m, centre, bottom, top = values.values()
    if (m <= 0).any():
        raise InputError(f"answers must be positive numbers, got {m.min():g}.")
    ax = new_axes(6.5, 4.5) if ax is None else ax
    ax.set_xscale("log")
    ax.fill_between(m, bottom, top, color=COLOURS[0], alpha=0.15, lw=0)
    ax.plot(m, centre, "o-", color=COLOURS[0], ms=4, lw=1.6, zorder=3)
    if target is not None:
        ax.axhline(target, color="0.5", lw=1, ls="--", zorder=1)
    if needed is not None:
        value, *ends = np.atleast_1d(np.asarray(needed, dtype=np.float64)).tolist()
        if len(ends) not in (0, 2):
            raise InputError(f"needed must be a number, or (value, low, high), got {needed!r}.")
        if ends:
            ax.axvspan(*ends, color=COLOURS[1], alpha=0.12, lw=0, zorder=0)
        label = f"{_count(value)} answers needed"
        label += f" ({_count(ends[0])} to {_count(ends[1])})" if ends else ""
        ax.axvline(value, color=COLOURS[1], lw=1.5, zorder=2, label=label)
        ax.legend(frameon=False, loc="best", fontsize=9)
    _write_numbers(ax)
    ax.set_xlabel("answers")
    ax.set_ylabel(ylabel)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _count(value: float) -> str:
    return f"{value:,.0f}".replace(",", " ")


def _write_numbers(ax: Axes) -> None:
    """Ticks at 1, 2 and 5 times powers of ten, as plain numbers."""
    low, high = ax.get_xlim()
    powers = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    ticks = np.outer(powers, [1.0, 2.0, 5.0]).ravel()
    ticks = ticks[(ticks >= low) & (ticks <= high)]
    ax.set_xticks(ticks, [_count(tick) for tick in ticks])
    ax.set_xticks([], minor=True)
    ax.set_xlim(low, high)
