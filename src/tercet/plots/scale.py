"""Perceptual scales with their intervals, and their goodness of fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tercet.arrays import Floats
from tercet.errors import InputError
from tercet.plots.axes import COLOURS, drawable, new_axes, new_figure
from tercet.uses.scale.goodness import GoodnessOfFit
from tercet.uses.scale.result import PerceptualScale

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARKS = "osD^v<>"
_APART = 0.006  # between two scales at one stimulus, as a share of the range of the stimuli
_FILLED = 0.7  # share of the way to the next stimulus that all scales take together, at most


class ScaleCurve(NamedTuple):
    """What is shown of one scale."""

    label: str | None
    x: Floats  # (n,): the stimuli, shifted slightly where several scales are shown
    values: Floats  # (n,)
    interval: Floats  # (n, 2)


def plot_scale(
    scale: PerceptualScale | Mapping[str, PerceptualScale],
    *,
    level: float = 0.95,
    kind: str = "percentile",
    ax: Axes | None = None,
) -> Axes:
    """Draw perceived values against stimuli, with intervals.

    Parameters
    ----------
    scale : PerceptualScale, or dict of labels to PerceptualScale
        Several groups, conditions or observers in one plot, as `scales_by_observer` returns.
    level, kind
        Of the intervals, as in `PerceptualScale.interval`.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.
    """
    curves = scale_curves(scale, level, kind)
    ax = new_axes() if ax is None else ax
    for k, curve in enumerate(curves):
        colour = COLOURS[k % len(COLOURS)]
        low, high = curve.interval.T
        ax.vlines(curve.x, low, high, colors=colour, lw=1.2)
        ax.plot(
            curve.x,
            curve.values,
            color=colour,
            marker=_MARKS[k % len(_MARKS)],
            ms=4.5,
            lw=1.0,
            label=None if curve.label is None else drawable(curve.label),
        )
    normalised = all(one.is_normalised for one in _labelled(scale).values())
    ax.set_xlabel("stimulus")
    ax.set_ylabel("perceived value" + ("" if normalised else ", unnormalised"))
    if len(curves) > 1:
        ax.legend(frameon=False, fontsize=8)
    return ax


def plot_residuals(
    goodness: GoodnessOfFit, *, axes: Sequence[Axes] | None = None
) -> Sequence[Axes]:
    """Draw the sorted residuals with their envelope, and the observed and simulated runs.

    Parameters
    ----------
    goodness : GoodnessOfFit
    axes : two matplotlib Axes, optional
        Where to draw; by default a new figure.
    """
    if axes is None:
        axes = list(new_figure(9.0, 4.2).subplots(1, 2))
    if len(axes) != 2:
        raise InputError(f"plot_residuals needs two axes, got {len(axes)}.")
    left, right = axes
    share = (np.arange(goodness.n_answers) + 0.5) / goodness.n_answers
    low, high = goodness.envelope.T
    left.fill_betweenx(
        share,
        low,
        high,
        color=COLOURS[0],
        alpha=0.25,
        lw=0,
        label=f"{goodness.level:.0%} envelope (simulated)",
    )
    left.plot(goodness.residuals, share, ".", ms=2.5, color=COLOURS[6], label="observed")
    left.set_xlabel("deviance residual")
    left.set_ylabel("cumulative share of answers")
    left.legend(frameon=False, fontsize=8, loc="upper left", markerscale=3)
    runs = goodness.simulated_runs
    width = max(1, round(float(np.ptp(runs)) / 25))
    bins = np.arange(runs.min() - 0.5, runs.max() + width + 0.5, width)
    right.hist(runs, bins.tolist(), color=COLOURS[0], alpha=0.5, label="simulated")
    right.axvline(
        goodness.runs, color=COLOURS[1], lw=2, label=f"observed, p = {goodness.runs_p:.3f}"
    )
    right.set_xlabel("number of runs of residuals")
    right.set_ylabel("number of simulations")
    right.margins(y=0.25)
    right.legend(frameon=False, fontsize=8, loc="upper right")
    return axes


def scale_curves(
    scale: PerceptualScale | Mapping[str, PerceptualScale], level: float, kind: str
) -> list[ScaleCurve]:
    """Compute what `plot_scale` draws."""
    scales = _labelled(scale)
    if not scales:
        raise InputError("there is no scale to draw.")
    if len({one.is_normalised for one in scales.values()}) > 1:
        raise InputError("some scales are normalised and some are not; use normalised() on all.")
    start = min(one.stimuli[0] for one in scales.values())
    end = max(one.stimuli[-1] for one in scales.values())
    steps = max(len(one.stimuli) for one in scales.values()) - 1
    apart = (end - start) * min(_APART, _FILLED / (steps * len(scales)))
    named = isinstance(scale, Mapping)
    return [
        ScaleCurve(
            label if named else None,
            one.stimuli + apart * (k - 0.5 * (len(scales) - 1)),
            one.estimate,
            one.interval(level, kind),
        )
        for k, (label, one) in enumerate(scales.items())
    ]


def _labelled(
    scale: PerceptualScale | Mapping[str, PerceptualScale],
) -> dict[str, PerceptualScale]:
    return {"": scale} if isinstance(scale, PerceptualScale) else dict(scale)
