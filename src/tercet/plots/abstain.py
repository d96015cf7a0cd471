"""The risk–coverage curve: how often predictions are wrong when only the surest are made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from tercet.plots.axes import new_axes, next_colour
from tercet.plots.fonts import drawable
from tercet.uses.abstain.promise import Promise
from tercet.uses.abstain.risk import RiskCoverage

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PROMISE = "tercet promise"


def plot_risk_coverage(
    curve: RiskCoverage | Mapping[str, RiskCoverage],
    *,
    ax: Axes | None = None,
    label: str | None = None,
    promise: Promise | None = None,
) -> Axes:
    """Draw the share of wrong predictions against the share of questions predicted.

    The lower the curve, the better the ensemble knows what it does not know.

    Parameters
    ----------
    curve : RiskCoverage, or mapping of str to RiskCoverage
        From `tercet.risk_coverage`; several by their names.
    ax : matplotlib Axes, optional
        Where to draw; default a new figure. Several calls may draw into the same axes.
    label : str, optional
        What to call a single curve in a legend.
    promise : Promise, optional
        From `tercet.choose_threshold`: the promised error becomes a line, and what the curves
        reach at the chosen threshold is marked.

    Returns
    -------
    matplotlib Axes
    """
    curves = curve if isinstance(curve, Mapping) else {label or "": curve}
    ax = new_axes() if ax is None else ax
    for name, each in curves.items():
        colour = next_colour(ax)
        ax.plot(*_steps(each), color=colour, lw=1.5, zorder=2, label=drawable(name) or None)
        if promise is not None and promise.threshold is not None:
            at = each.at(promise.threshold)
            ax.plot(*at, "o", color=colour, ms=7, mec="white", zorder=4)
    if promise is not None and not any(line.get_gid() == _PROMISE for line in ax.lines):
        kind = "promised" if promise.threshold is not None else "cannot be promised"
        text = f"at most {100 * promise.error:.3g} %: {kind}"
        ax.axhline(promise.error, color="0.4", lw=1, ls="--", zorder=1, gid=_PROMISE, label=text)
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(bottom=0.0)
    ax.set_xlabel("coverage: share predicted")
    ax.set_ylabel("risk: share of these wrong")
    if promise is not None or any(curves):
        ax.legend(frameon=False, loc="upper left")
    return ax


def _steps(curve: RiskCoverage) -> tuple[list[float], list[float]]:
    """Coverage and risk where at least 1 % is predicted; below that the risk is all chance."""
    shown = np.flatnonzero(curve.coverage >= min(0.01, curve.coverage[-1]))
    return curve.coverage[shown].tolist(), curve.risk[shown].tolist()
