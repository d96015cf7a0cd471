"""Learning curves: how a map improves with the number of answers, and how many are needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tercet.arrays import Floats
from tercet.errors import InputError
from tercet.plots.axes import COLOURS, drawable, new_axes
from tercet.uses.active.loop import ActiveLoop, Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Learning(NamedTuple):
    """The mean of several learning curves, and a band that contains most of them."""

    answers: Floats  # (m,)
    mean: Floats
    low: Floats
    high: Floats


def plot_learning(
    curves: Mapping[str, Sequence[Any]],
    *,
    level: float = 0.8,
    ylabel: str = "accuracy on held-out answers",
    ax: Axes | None = None,
) -> Axes:
    """Draw the score against the number of answers: the mean over repeats, and a band.

    Parameters
    ----------
    curves : mapping of str to sequence
        The repeats of each label: the ``curve`` of an `ActiveLoop`, or the loop itself.
    level : float
        Central share of the repeats that the band contains at each number of answers.
    ylabel : str
        Name of the score.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    if not curves:
        raise InputError("there are no learning curves to draw; pass a dict of lists of curves.")
    for label, repeats in curves.items():
        if isinstance(repeats, ActiveLoop) or any(isinstance(each, Record) for each in repeats):
            raise InputError(f"{label!r} needs a list of curves; put a single one in brackets.")
        if not len(repeats):
            raise InputError(f"{label!r} has no curve; run its loop first.")
    shown = {label: learning(repeats, level) for label, repeats in curves.items()}
    ax = new_axes() if ax is None else ax
    for i, (label, each) in enumerate(shown.items()):
        colour = COLOURS[i % len(COLOURS)]
        ax.fill_between(each.answers, each.low, each.high, color=colour, alpha=0.15, lw=0)
        ax.plot(each.answers, each.mean, color=colour, lw=1.5, label=drawable(label))
    ax.set_xlabel("answers")
    ax.set_ylabel(ylabel)
    ax.legend(frameon=False, loc="best")
    return ax


def learning(repeats: Sequence[Any], level: float = 0.8) -> Learning:
    """Compute what `plot_learning` draws for one label.

    Curves scored at different numbers of answers are interpolated over their common range.
    """
    if not 0.0 < level < 1.0:
        raise InputError(f"level must lie between 0 and 1, such as 0.8, got {level!r}.")
    curves = [each.curve if isinstance(each, ActiveLoop) else each for each in repeats]
    if not all(curves):
        raise InputError("one of the curves is empty; run its loop first.")
    tables = [np.array([(r.n_answers, r.score) for r in curve], dtype=float) for curve in curves]
    if any(np.isnan(t).any() for t in tables):
        raise InputError("a curve has rounds without a score; pass score= to its loop.")
    first, last = max(t[0, 0] for t in tables), min(t[-1, 0] for t in tables)
    answers = np.unique(np.concatenate([t[:, 0] for t in tables]))
    answers = answers[(answers >= first) & (answers <= last)]
    if not len(answers):
        raise InputError("the curves have no number of answers in common; run them further.")
    values = np.array([np.interp(answers, t[:, 0], t[:, 1]) for t in tables])
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(values, [tail, 1.0 - tail], axis=0)
    mean = values.mean(axis=0)
    # With few repeats the mean may lie outside the band.
    return Learning(answers, mean, np.minimum(low, mean), np.maximum(high, mean))


# --- how many are needed ------------------------------------------------------------------------


def plot_plan(
    answers: ArrayLike,
    median: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    *,
    target: float | None = None,
    needed: float | Sequence[float] | None = None,
    ylabel: str = "precision",
    counted: str = "answers",
    colour: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw precision against the number of answers, and the number that a target needs.

    Parameters
    ----------
    answers : (k,) array
        Numbers of answers, increasing.
    median, low, high : (k,) array
        Precision over simulated experiments: its median, and the limits of a band.
    target : float, optional
        The desired precision.
    needed : float, or (value, low, high), optional
        How many answers the target needs, with an interval.
    ylabel : str
        Name of the measure of precision.
    counted : str
        What is counted, such as "odd-one-out screens".
    colour : str, optional
        Of the curve and the number, to tell several plans apart; by default they have two.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

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
                f"{column.shape} for {what} and {values['answers'].shape} for answers."
            )
    m, centre, bottom, top = values.values()
    if (m <= 0).any():
        raise InputError(f"answers must be positive numbers, got {m.min():g}.")
    ax = new_axes(6.5, 4.5) if ax is None else ax
    ax.set_xscale("log")
    of_curve, of_number = (colour, colour) if colour else COLOURS[:2]
    ax.fill_between(m, bottom, top, color=of_curve, alpha=0.15, lw=0)
    ax.plot(m, centre, "o-", color=of_curve, ms=4, lw=1.6, zorder=3)
    if target is not None:
        ax.axhline(target, color="0.5", lw=1, ls="--", zorder=1)
    if needed is not None:
        value, *ends = np.atleast_1d(np.asarray(needed, dtype=np.float64)).tolist()
        if len(ends) not in (0, 2):
            raise InputError(f"needed must be a number, or (value, low, high), got {needed!r}.")
        if ends:
            ax.axvspan(*ends, color=of_number, alpha=0.12, lw=0, zorder=0)
        label = f"{_count(value)} {counted} needed"
        label += f" ({_count(ends[0])} to {_count(ends[1])})" if ends else ""
        ax.axvline(value, color=of_number, lw=1.5, zorder=2, label=label)
        ax.legend(frameon=False, loc="best", fontsize=9)
    _write_numbers(ax)
    ax.set_xlabel(counted)
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
