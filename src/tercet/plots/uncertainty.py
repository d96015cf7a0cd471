"""How certain a map is of comparisons: of all that could be asked, and of those that were."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tercet.answers.questions import count_comparisons
from tercet.ensemble import Ensemble
from tercet.errors import InputError
from tercet.plots.axes import COLOURS, new_axes
from tercet.uses.certainty import Certainty, Shares, choose_comparisons, shares_of, thin

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_uncertainty(
    ensemble: Ensemble | Certainty,
    triplets: Any = None,
    *,
    level: float | None = None,
    method: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the share of comparisons that the map is more certain of than each confidence.

    The confidence in a comparison is max(π, 1 − π), where π is `Ensemble.triplet_probability`: ½
    where the map does not know, 1 where it is certain. The shares at the level are marked. Which
    comparisons and draws are looked at is as in `tercet.certainty`.

    Parameters
    ----------
    ensemble : Ensemble or Certainty
        What `tercet.certainty` found is drawn as it is, with its own level and method.
    triplets : Triplets, or (m, 3) or (m, 4) array of numbers or names, optional
        The comparisons that were asked, drawn beside all that could be; with an Ensemble only.
    level : float, optional
        Above which a comparison counts as certain, from ½ up to 1; by default 0.95.
    method : {"paper", "joint", "vote"}, optional
        As in `Ensemble.triplet_probability`.
    ax : matplotlib Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    if isinstance(ensemble, Certainty):
        if triplets is not None or level is not None or method is not None:
            raise InputError(
                "a Certainty is drawn as it is; give the ensemble to choose triplets, level or "
                "method."
            )
        every, asked, level = ensemble.curve, None, ensemble.level
    else:
        level = 0.95 if level is None else level
        every, asked = _look(ensemble, triplets, level, method)
    all_of_them = every.counted == every.in_all
    sample = "" if all_of_them else f" ({_many(every.counted)} of them, at random)"
    curves = {f"all {_many(every.in_all)} comparisons{sample}": every}
    if asked is not None:
        curves[f"the {_many(asked.counted)} that were asked"] = asked
    ax = new_axes(6.0, 4.5) if ax is None else ax
    ax.axvline(level, color="0.8", lw=1, zorder=1)
    for (name, curve), colour, line in zip(curves.items(), COLOURS, ("-", "--"), strict=False):
        label = f"{name}: {curve.at(level):.0%} more than {100 * level:.3g}% certain"
        ax.plot(curve.confidence, curve.share, line, color=colour, lw=1.6, zorder=2, label=label)
        ax.plot([level], [curve.at(level)], "o", color=colour, ms=5, zorder=3)
    ax.set_xlim(0.5, 1.0)
    ax.set_ylim(0.0, 1.03)
    ax.set_xlabel("confidence, max(π, 1 − π)")
    ax.set_ylabel("share of comparisons above it")
    ax.legend(frameon=False, loc="lower left", fontsize=9)
    return ax


def _look(
    ensemble: Ensemble, triplets: Any, level: float, method: str | None
) -> tuple[Shares, Shares | None]:
    """The shares of all comparisons, and of those that were asked."""
    thinned = thin(ensemble)
    rows, _ = choose_comparisons(ensemble.n_objects)
    every = shares_of(thinned.triplet_probability(rows, method), level)
    every = every._replace(in_all=count_comparisons(ensemble.n_objects))
    if triplets is None:
        return every, None
    return every, shares_of(thinned.triplet_probability(triplets, method), level)


def _many(count: int) -> str:
    return f"{count:,}".replace(",", " ")
