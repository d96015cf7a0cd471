"""Comparisons of models, and of dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from tercet.errors import InputError
from tercet.plots.axes import COLOURS, drawable, new_axes, new_figure
from tercet.uses.compare.comparison import ERRORS, Comparison, ModelScore, clearly_worse
from tercet.uses.dimension.evidence import DimensionEstimate, DimensionRow, Measured

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CLOSE, _WORSE = COLOURS[0], "0.55"


def plot_models(comparison: Comparison, ax: Axes | None = None) -> Axes:
    """Draw the difference between each model's log-loss and the best one's, ± 2 standard errors.

    The best is at the top. Models that are clearly worse are grey; the numbers on the right are
    stacking weights. Models without a likelihood are not shown; the table has their accuracy.

    Parameters
    ----------
    comparison : Comparison
        From `compare_models`.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    shown = [score for score in comparison.scores if score.difference is not None]
    if not shown:
        raise InputError("none of these models has a likelihood, so there is no log-loss to draw.")
    ax = new_axes(7.5, 1.3 + 0.42 * len(shown)) if ax is None else ax
    ax.axvline(0.0, color="0.8", lw=1, zorder=1)
    for place, score in enumerate(shown):
        worse = clearly_worse(score, comparison.n_answers)
        _draw_model(ax, place, score, _WORSE if worse else _CLOSE)
    ax.set_yticks(range(len(shown)), [_label(score) for score in shown])
    ax.set_ylim(len(shown) - 0.5, -0.5)
    ax.set_xlabel("difference in log-loss per answer from the best model, ± 2 standard errors")
    ax.text(1.02, 1.0, "weight", transform=ax.transAxes, va="bottom", fontsize=9)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _label(score: ModelScore) -> str:
    """The name of a model, marked if its chains disagree."""
    return drawable(score.model if score.converged else f"! {score.model}")


def _draw_model(ax: Axes, place: int, score: ModelScore, colour: str) -> None:
    assert score.difference is not None
    error = ERRORS * (score.difference_se or 0.0)
    ax.errorbar(
        score.difference, place, xerr=error, fmt="o", ms=6, color=colour, capsize=3, zorder=2
    )
    ax.text(
        1.02,
        place,
        "–" if score.weight is None else f"{score.weight:.2f}",
        transform=ax.get_yaxis_transform(),
        va="center",
        fontsize=9,
        color=colour,
    )


# --- evidence for each dimension ----------------------------------------------------------------


_RECOMMENDED = "tercet recommended dimension"
_DISAGREEING = "tercet chains that disagree"
_WIDTH, _HEIGHT = 3.1, 3.0  # of a panel, in inches


class MeasuredCurve(NamedTuple):
    """A measure in each dimension where it was computed."""

    name: str
    dimensions: list[int]
    values: list[float]
    errors: list[float]
    hollow: list[bool]  # from chains that disagree


_FROM_CHAINS = ("left_out", "posterior")
# Title, and its curves: label in the legend and field of a row.
_PANELS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    ("accuracy on held-out answers", (("", "accuracy"),)),
    (
        "log-loss on held-out answers",
        (("cross-validation", "log_loss"), ("leave-one-out", "left_out")),
    ),
    ("average uncertainty", (("bootstrap", "bootstrap"), ("posterior", "posterior"))),
    ("training loss", (("", "training_loss"),)),
)


def measured_panels(estimate: DimensionEstimate) -> list[tuple[str, list[MeasuredCurve]]]:
    """The panels with data, each a title and its curves."""
    panels = []
    for title, fields in _PANELS:
        curves = []
        for name, field in fields:
            cells: list[tuple[DimensionRow, Measured]] = [
                (row, getattr(row, field)) for row in estimate.rows
            ]
            found = [(row, each) for row, each in cells if not math.isnan(each.value)]
            if found:
                curves.append(
                    MeasuredCurve(
                        name,
                        [row.dimension for row, _ in found],
                        [each.value for _, each in found],
                        [each.error for _, each in found],
                        [row.agrees is False and field in _FROM_CHAINS for row, _ in found],
                    )
                )
        if curves:
            panels.append((title, curves))
    return panels


def plot_dimension(
    estimate: DimensionEstimate, *, axes: Sequence[Axes] | None = None
) -> list[Axes]:
    """Draw accuracy, log-loss, average uncertainty and training loss against the dimension.

    Error bars are one standard error. The grey line is the recommended dimension; there is none
    where the answers do not decide. Hollow points are from chains that did not agree. Measures
    that were not computed (``thorough=False``) are not shown.

    Parameters
    ----------
    estimate : DimensionEstimate
        From `tercet.estimate_dimension`.
    axes : sequence of matplotlib Axes, optional
        Where to draw, one per panel; by default a new figure with all of them side by side.

    Returns
    -------
    list of matplotlib Axes
    """
    panels = measured_panels(estimate)
    drawn = _new_row(len(panels)) if axes is None else list(axes)
    if len(drawn) != len(panels):
        raise InputError(
            f"there are {len(panels)} panels to draw, {', '.join(title for title, _ in panels)}; "
            f"pass as many axes, got {len(drawn)}."
        )
    tried = [row.dimension for row in estimate.rows]
    for ax, (title, curves) in zip(drawn, panels, strict=True):
        _draw(ax, title, curves)
        ax.set_xticks(tried)
        ax.set_xlim(tried[0] - 0.4, tried[-1] + 0.4)
        if estimate.dimension is not None:
            ax.axvline(estimate.dimension, color="0.85", lw=5, zorder=1, gid=_RECOMMENDED)
    return drawn


def _draw(ax: Axes, title: str, curves: list[MeasuredCurve]) -> None:
    for curve, colour in zip(curves, COLOURS, strict=False):
        ax.errorbar(
            curve.dimensions,
            curve.values,
            yerr=curve.errors,
            fmt="o-",
            ms=4,
            lw=1.2,
            capsize=2.5,
            color=colour,
            label=curve.name or None,
            zorder=2,
        )
        if any(curve.hollow):
            places = zip(curve.dimensions, curve.values, curve.hollow, strict=True)
            x, y = zip(*[(d, value) for d, value, hollow in places if hollow], strict=True)
            ax.plot(x, y, "o", ms=5, mfc="white", mec=colour, zorder=3, gid=_DISAGREEING)
    ax.set_title(title, fontsize=10)
    ax.set_xlabel("dimension")
    ax.spines[["top", "right"]].set_visible(False)
    if any(curve.name for curve in curves):
        low, high = ax.get_ylim()
        ax.set_ylim(low, high + 0.28 * (high - low))  # room for the legend
        ax.legend(frameon=False, fontsize=8, loc="upper center", ncols=2, columnspacing=1.0)


def _new_row(count: int) -> list[Axes]:
    """Axes of a new figure, side by side."""
    figure = new_figure(_WIDTH * count, _HEIGHT)
    panels: list[Axes] = list(figure.subplots(1, count, squeeze=False, sharex=True)[0])
    return panels
