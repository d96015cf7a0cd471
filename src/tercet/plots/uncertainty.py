"""How sure a map is of comparisons: of all that could be asked, and of those that were."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.ensemble import Ensemble
from tercet.errors import InputError
from tercet.plots.axes import COLOURS, new_axes
from tercet.simulate import random_comparisons
from tercet.uncertainty import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 1_000_000  # comparisons that are all looked at, which takes seconds
SAMPLE = 100_000  # so many of more, at random: standard errors of shares are below 0.2 %
_EDGES = np.linspace(0.5, 1.0, 101)


class Certainty(NamedTuple):
    """How many comparisons a map is how sure of."""

    confidence: Floats  # (k,) from ½ to 1
    share: Floats  # (k,): at least so sure
    looked_at: int  # comparisons
    in_all: int  # comparisons there are

    def at(self, confidence: float) -> float:
        """Share of the comparisons that the map is at least so sure of."""
        place = int(np.searchsorted(self.confidence, confidence - 1e-9))
        return float(self.share[min(place, len(self.share) - 1)])


def plot_uncertainty(
    ensemble: Ensemble,
    triplets: Any = None,
    *,
    level: float = 0.95,
    method: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the share of comparisons that the map is at least so sure of.

    The confidence in a comparison is max(π, 1 − π), where π is `Ensemble.triplet_probability`: ½
    where the map does not know, 1 where it is certain. The shares at the level are marked.

    Parameters
    ----------
    ensemble : Ensemble
    triplets : Triplets, or (m, 3) or (m, 4) array of numbers or names, optional
        The comparisons that were asked, drawn beside all that could be.
    level : float
        From which on a comparison counts as sure, between ½ and 1.
    method : {"paper", "joint", "vote"}, optional
        As in `Ensemble.triplet_probability`.
    ax : matplotlib Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    if not 0.5 <= level < 1.0:
        raise InputError(f"level must lie between 0.5 and 1, such as 0.95, got {level!r}.")
    every = certainty(ensemble, method=method, level=level)
    all_of_them = every.looked_at == every.in_all
    sample = "" if all_of_them else f" ({_many(every.looked_at)} of them, at random)"
    curves = {f"all {_many(every.in_all)} comparisons{sample}": every}
    if triplets is not None:
        asked = certainty(ensemble, triplets, method=method, level=level)
        curves[f"the {_many(asked.looked_at)} that were asked"] = asked
    ax = new_axes(6.0, 4.5) if ax is None else ax
    ax.axvline(level, color="0.8", lw=1, zorder=1)
    for (name, curve), colour, line in zip(curves.items(), COLOURS, ("-", "--"), strict=False):
        label = f"{name}: {curve.at(level):.0%} at least {100 * level:.3g}% sure"
        ax.plot(curve.confidence, curve.share, line, color=colour, lw=1.6, zorder=2, label=label)
        ax.plot([level], [curve.at(level)], "o", color=colour, ms=5, zorder=3)
    ax.set_xlim(0.5, 1.0)
    ax.set_ylim(0.0, 1.03)
    ax.set_xlabel("confidence, max(π, 1 − π)")
    ax.set_ylabel("share of comparisons at least so sure")
    ax.legend(frameon=False, loc="lower left", fontsize=9)
    return ax


def certainty(
    ensemble: Ensemble,
    triplets: Any = None,
    *,
    method: str | None = None,
    level: float = 0.95,
) -> Certainty:
    """Work out what `plot_uncertainty` draws: of all comparisons, or of those given.

    Of more than `MOST` comparisons `SAMPLE` are looked at, a random choice that is always the same.
    """
    n = ensemble.n_objects
    in_all = math.comb(n - 1, 2) * n
    edges = np.union1d(_EDGES, level)
    counts = np.zeros(len(edges), dtype=np.int64)
    if triplets is not None:
        counts += _count(ensemble.triplet_probability(triplets, method), edges)
        in_all = int(counts.sum())
    elif in_all > MOST:
        chosen = random_comparisons(n, SAMPLE, random_state=0)
        counts += _count(ensemble.triplet_probability(chosen, method), edges)
    else:
        above = np.triu_indices(n, 1)
        for _, p in ensemble.all_probabilities(method):
            counts += _count(p[above], edges)
    total = int(counts.sum())
    return Certainty(edges, counts[::-1].cumsum()[::-1] / total, total, in_all)


def _many(count: int) -> str:
    return f"{count:,}".replace(",", " ")


def _count(probability: Floats, edges: Floats) -> NDArray[np.int64]:
    """How many comparisons have a confidence from each edge up to the next; NaN is none."""
    confidence = np.maximum(probability, 1.0 - probability)
    known = confidence[~np.isnan(confidence)]
    place = np.searchsorted(edges - 1e-9, known, side="right") - 1
    return np.bincount(place, minlength=len(edges))
