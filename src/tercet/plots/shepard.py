"""Answers against distances in the map, after Shepard's diagram."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from tercet.ensemble import Ensemble
from tercet.errors import InputError
from tercet.metrics import squared_distances
from tercet.plots.axes import COLOURS, new_axes
from tercet.triplets import Triplets, as_triplets
from tercet.uncertainty import Floats, Index, find_pairs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TABLE = 2**22  # distances held at a time
_TICKS = (1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100, 1000)
_FARTHEST = 1000.0  # ratios above this are drawn there
_RUG = 3000  # answers of which each is a mark; more would be one black bar


class Shepard(NamedTuple):
    """What `plot_shepard` draws."""

    ratio: Floats  # (m,) of every answer: the longer of its two distances over the shorter
    agrees: Floats  # (m,): 1 where the answer is as in the map, 0 where not, ½ for a tie
    weights: Floats  # (m,)
    centre: Floats  # (bins,): geometric mean of the ratios
    share: Floats  # (bins,) of the answers that agree
    low: Floats  # (bins,), of a 95 % interval
    high: Floats
    expected: Floats | None  # (bins,): the share that the model expects


def plot_shepard(
    embedding: Ensemble | ArrayLike,
    triplets: Any,
    *,
    bins: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Draw how often answers agree with the map, by how different its two distances are.

    Shepard's (1962) diagram holds dissimilarities against fitted distances. Answers to triplets
    have no dissimilarity, only an order of two distances. So across is the ratio of the two
    distances in the map, the longer over the shorter, which no scaling of the map changes, and up
    is the share of answers that put them in the same order: about ½ where the distances are equal,
    rising to 1 less the errors that people make where anybody would see it. Points are groups of
    about as many answers each, with 95 % intervals (of the beta distribution, Jeffreys' prior)
    that take answers as independent. The line is what the model expects of these answers. Ticks at
    the bottom are answers that contradict the map, ticks at the top those that agree (of many a
    random choice, the same share of both).

    A map that was fitted to these answers agrees with them more often than with new ones: where it
    is unsure the points lie above the line. Whether the model is right is told by new answers.

    Parameters
    ----------
    embedding : Ensemble, or (n, d) array
        Distances of an ensemble are means over its draws.
    triplets : Triplets, or (m, 3) or (m, 4) array of numbers or names
        The answers; weights count.
    bins : int
        How many groups.
    ax : matplotlib Axes, optional
        Where to draw; default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    shown = shepard(embedding, triplets, bins)
    ax = new_axes(6.5, 4.5) if ax is None else ax
    ax.set_xscale("log")
    _draw_rug(ax, shown)
    ax.axhline(0.5, color="0.8", lw=1, zorder=1)
    if shown.expected is not None:
        ax.plot(shown.centre, shown.expected, color="0.45", lw=1.5, zorder=2, label="model")
    ax.vlines(shown.centre, shown.low, shown.high, colors=COLOURS[0], lw=1.5, zorder=3)
    ax.plot(shown.centre, shown.share, "o", color=COLOURS[0], ms=6, zorder=4, label="answers")
    ax.set_ylim(min(0.4, float(shown.low.min()) - 0.05), 1.06)
    end = float(np.quantile(np.minimum(shown.ratio, _FARTHEST), 0.995))
    ax.set_xlim(1.0, max(1.1, 1.05 * end))
    ticks = [tick for tick in _TICKS if tick <= ax.get_xlim()[1]]
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.set_xticks([], minor=True)
    ax.set_xlabel("longer distance over shorter distance, in the map")
    ax.set_ylabel("share of answers that agree")
    if shown.expected is not None:
        ax.legend(frameon=False, loc="lower right", bbox_to_anchor=(1.0, 0.06))
    return ax


def shepard(embedding: Ensemble | ArrayLike, triplets: Any, bins: int = 10) -> Shepard:
    """Work out what `plot_shepard` draws; see there."""
    if bins < 1:
        raise InputError(f"bins must be at least 1, got {bins}.")
    answers = as_triplets(triplets)
    near, far = (
        _mean_distances(embedding, answers)
        if isinstance(embedding, Ensemble)
        else map(np.sqrt, squared_distances(embedding, answers))
    )
    tiny = np.finfo(np.float64).tiny
    ratio = np.maximum(np.maximum(near, far), tiny) / np.maximum(np.minimum(near, far), tiny)
    agrees = np.where(near == far, 0.5, near < far)
    weights = np.ones(len(answers)) if answers.weights is None else answers.weights
    order = np.argsort(ratio, kind="stable")
    parts = np.array_split(order, min(bins, len(order)))
    total = np.array([weights[part].sum() for part in parts])
    yes = np.array([(weights * agrees)[part].sum() for part in parts])
    with np.errstate(over="ignore"):
        centre = np.array([np.exp(np.average(np.log(ratio[p]), weights=weights[p])) for p in parts])
    p = _expected(embedding, answers, near > far)
    return Shepard(
        ratio,
        agrees,
        weights,
        np.minimum(centre, _FARTHEST),
        yes / total,
        betaincinv(yes + 0.5, total - yes + 0.5, 0.025),
        betaincinv(yes + 0.5, total - yes + 0.5, 0.975),
        None if p is None else np.array([np.average(p[k], weights=weights[k]) for k in parts]),
    )


def _mean_distances(ensemble: Ensemble, answers: Triplets) -> tuple[Floats, Floats]:
    """Near and far distances (m,) of answers, means over the draws."""
    rows = _numbers(ensemble, answers)
    pairs, near, far = find_pairs(rows, ensemble.n_objects)
    parts = max(1, len(pairs) * len(ensemble) // _TABLE)
    means = [ensemble.distances(part).mean(axis=0) for part in np.array_split(pairs, parts)]
    lengths = np.concatenate(means)
    return lengths[near], lengths[far]


def _numbers(ensemble: Ensemble, answers: Triplets) -> Index:
    """Answers as comparisons (m, 4) of the ensemble's objects."""
    objects = Triplets([[0, 1, 2]], n_objects=ensemble.n_objects, names=ensemble.names)
    rows = objects.encode(answers)
    return rows if rows.shape[1] == 4 else rows[:, [0, 1, 0, 2]]


def _expected(embedding: Any, answers: Triplets, turned: Any) -> Floats | None:
    """Probability (m,), by the model, of the answer that the map gives; turned where it is far."""
    if not isinstance(embedding, Ensemble) or embedding.model is None:
        return None
    if not embedding.model.is_probability:
        return None
    p = embedding.answer_probability(answers)
    return np.where(turned, 1.0 - p, p)


def _draw_rug(ax: Axes, shown: Shepard) -> None:
    rng = np.random.default_rng(0)
    chosen = rng.permutation(len(shown.ratio))[:_RUG]
    ratio, agrees = np.minimum(shown.ratio, _FARTHEST)[chosen], shown.agrees[chosen]
    for value, height, colour in ((1.0, 0.985, "0.6"), (0.0, 0.015, COLOURS[1])):
        at = ratio[agrees == value]
        ax.plot(
            at,
            np.full(len(at), height),
            "|",
            color=colour,
            alpha=0.5,
            ms=9,
            mew=0.7,
            zorder=1,
            transform=ax.get_xaxis_transform(),
            label="answers against the map" if value == 0.0 else None,
        )
