"""Learning curves: how the score grows with the number of answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.errors import InputError
from tercet.plots.axes import COLOURS, new_axes
from tercet.plots.fonts import drawable
from tercet.uses.active.loop import ActiveLoop, Record

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Floats = NDArray[np.float64]


class Learning(NamedTuple):
    """The mean of several learning curves, and a band that holds most of them."""

    answers: Floats  # (m,)
    mean: Floats
    low: Floats
    high: Floats


def plot_learning(
    curves: Mapping[str, Sequence[Any]],
    *,
    level: float = 0.8,
    ylabel: str = "accuracy on answers held out",
    ax: Axes | None = None,
) -> Axes:
    """Draw the score against the number of answers: the mean over repeats, and a band.

    Parameters
    ----------
    curves : mapping of str to sequence
        For each label its repeats: the ``curve`` of an `ActiveLoop`, or the loop itself.
    level : float
        Share of the repeats, the middle ones, that the band holds at each number of answers.
    ylabel : str
        What the score is.
    ax : matplotlib Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    if not curves:
        raise InputError("there are no learning curves to draw; give a dict of lists of curves.")
    for label, repeats in curves.items():
        if isinstance(repeats, ActiveLoop) or any(isinstance(each, Record) for each in repeats):
            raise InputError(f"{label!r} needs a list of curves; put a single one into brackets.")
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
    """Work out what `plot_learning` draws of one label; see there.

    Curves that were scored at different numbers of answers are interpolated, where all have begun
    and none has ended.
    """
    if not 0.0 < level < 1.0:
        raise InputError(f"level must lie between 0 and 1, such as 0.8, got {level!r}.")
    curves = [each.curve if isinstance(each, ActiveLoop) else each for each in repeats]
    if not all(curves):
        raise InputError("one of the curves is empty; run its loop first.")
    tables = [np.array([(r.n_answers, r.score) for r in curve], dtype=float) for curve in curves]
    if any(np.isnan(t).any() for t in tables):
        raise InputError("a curve has rounds without a score; give its loop score=.")
    first, last = max(t[0, 0] for t in tables), min(t[-1, 0] for t in tables)
    answers = np.unique(np.concatenate([t[:, 0] for t in tables]))
    answers = answers[(answers >= first) & (answers <= last)]
    if not len(answers):
        raise InputError("the curves have no number of answers in common; run them further.")
    values = np.array([np.interp(answers, t[:, 0], t[:, 1]) for t in tables])
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(values, [tail, 1.0 - tail], axis=0)
    mean = values.mean(axis=0)
    # With few repeats the mean may lie outside of their middle.
    return Learning(answers, mean, np.minimum(low, mean), np.maximum(high, mean))
