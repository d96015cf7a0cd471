"""How far models are from the best one, and what each adds to a mixture of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tercet.errors import InputError
from tercet.plots.axes import COLOURS, new_axes
from tercet.plots.fonts import drawable
from tercet.uses.compare.comparison import ERRORS, Comparison, ModelScore, clearly_worse

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CLOSE, _WORSE = COLOURS[0], "0.55"


def plot_models(comparison: Comparison, ax: Axes | None = None) -> Axes:
    """Draw by how much each model's log-loss is above the best one's, ± 2 standard errors.

    The best is at the top. Models that are clearly worse are grey; the numbers at the right are
    stacking weights. Models without a likelihood have no place here: see their accuracy in the
    table.

    Parameters
    ----------
    comparison : Comparison
        From `compare_models`.
    ax : matplotlib Axes, optional
        Where to draw; default a new figure.

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
        _draw(ax, place, score, _WORSE if worse else _CLOSE)
    ax.set_yticks(range(len(shown)), [drawable(score.model) for score in shown])
    ax.set_ylim(len(shown) - 0.5, -0.5)
    ax.set_xlabel("log-loss per answer above that of the best, ± 2 standard errors")
    ax.text(1.02, 1.0, "weight", transform=ax.transAxes, va="bottom", fontsize=9)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _draw(ax: Axes, place: int, score: ModelScore, colour: str) -> None:
    assert score.difference is not None
    error = ERRORS * (score.difference_se or 0.0)
    ax.errorbar(
        score.difference, place, xerr=error, fmt="o", ms=6, color=colour, capsize=3, zorder=2
    )
    ax.text(
        1.02,
        place,
        f"{score.weight:.2f}",
        transform=ax.get_yaxis_transform(),
        va="center",
        fontsize=9,
        color=colour,
    )
