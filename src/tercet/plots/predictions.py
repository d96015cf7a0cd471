"""Quality of predictions: reliability, risk and coverage, certainty, Shepard diagram."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv

from tercet.answers.either import weights_of
from tercet.answers.questions import count_comparisons
from tercet.answers.triplets import Triplets, as_triplets
from tercet.arrays import Floats, Index
from tercet.ensemble import Ensemble
from tercet.errors import InputError
from tercet.metrics import (
    ReliabilityTable,
    RiskCoverage,
    reliability_table,
    squared_distances,
)
from tercet.plots.axes import COLOURS, drawable, new_axes, next_colour
from tercet.uncertainty import find_pairs
from tercet.uses.abstain import Promise
from tercet.uses.certainty import Certainty, Shares, choose_comparisons, shares_of, thin

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DIAGONAL = "tercet diagonal"
_LARGEST = 180.0  # area of the marker, in square points, of a bin that holds everything
_SMALLEST = 8.0


def plot_reliability(
    probability: ArrayLike | ReliabilityTable,
    truth: ArrayLike | None = None,
    *,
    ax: Axes | None = None,
    bins: int = 10,
    label: str | None = None,
) -> Axes:
    """Draw the accuracy of predictions against their confidence, max(π, 1 − π).

    On the diagonal, predictions with a confidence of 80 % are correct in 80 % of the cases; above
    it they are underconfident, below it overconfident. The area of a marker is the share of
    predictions in its bin.

    Parameters
    ----------
    probability : (m,) array, or ReliabilityTable
        Probability that the row is true, such as `Ensemble.triplet_probability`; or the finished
        table, such as `HeldOut.reliability`.
    truth : (m,) array of bool or ±1, optional
        By default every row is true.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure. Several calls may draw into the same axes.
    bins : int
        Number of bins of equal width from ½ to 1; see `tercet.metrics.reliability_table`.
    label : str, optional
        Label in the legend.

    Returns
    -------
    matplotlib Axes
    """
    if isinstance(probability, ReliabilityTable):
        table = probability
    else:
        table = reliability_table(probability, truth, bins=bins)
    ax = new_axes() if ax is None else ax
    if not any(line.get_gid() == _DIAGONAL for line in ax.lines):
        ends = [table.edges[0], 1.0]
        ax.plot(ends, ends, color="0.7", lw=1, zorder=1, gid=_DIAGONAL)
    filled = table.count > 0
    x, y = table.confidence[filled], table.accuracy[filled]
    share = table.count[filled] / table.count.sum()
    colour = next_colour(ax)
    ax.plot(x, y, color=colour, lw=1, zorder=2, label=None if label is None else drawable(label))
    area = np.maximum(_LARGEST * share, _SMALLEST)
    ax.scatter(x, y, s=area, color=colour, zorder=3)
    ax.set_aspect("equal")
    ax.set_xlabel("confidence")
    ax.set_ylabel("accuracy")
    if label is not None:
        ax.legend(frameon=False, loc="upper left")
    return ax


# --- risk and coverage --------------------------------------------------------------------------


_PROMISE = "tercet promise"


def plot_risk_coverage(
    curve: RiskCoverage | Mapping[str, RiskCoverage],
    *,
    ax: Axes | None = None,
    label: str | None = None,
    promise: Promise | None = None,
) -> Axes:
    """Draw the share of wrong predictions against the share of questions predicted.

    The lower the curve, the better confidence separates correct from wrong predictions.

    Parameters
    ----------
    curve : RiskCoverage, or mapping of str to RiskCoverage
        From `tercet.risk_coverage`; several by their names.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure. Several calls may draw into the same axes.
    label : str, optional
        Label of a single curve in the legend.
    promise : Promise, optional
        From `tercet.choose_threshold`: the guaranteed error is drawn as a line, and the curves are
        marked at the chosen threshold.

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
        kind = "guaranteed" if promise.threshold is not None else "cannot be guaranteed"
        text = f"at most {100 * promise.error:.3g} %: {kind}"
        ax.axhline(promise.error, color="0.4", lw=1, ls="--", zorder=1, gid=_PROMISE, label=text)
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(bottom=0.0)
    ax.set_xlabel("coverage (share of questions predicted)")
    ax.set_ylabel("risk (share of predictions wrong)")
    if promise is not None or any(curves):
        ax.legend(frameon=False, loc="upper left")
    return ax


def _steps(curve: RiskCoverage) -> tuple[list[float], list[float]]:
    """Coverage and risk where at least 1 % is predicted; below that the risk is mostly chance."""
    shown = np.flatnonzero(curve.coverage >= min(0.01, curve.coverage[-1]))
    return curve.coverage[shown].tolist(), curve.risk[shown].tolist()


# --- certainty of comparisons -------------------------------------------------------------------


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
        The result of `tercet.certainty` is drawn with its own level and method.
    triplets : Triplets, or (m, 3) or (m, 4) array of numbers or names, optional
        The comparisons that were asked, as a second curve; with an Ensemble only.
    level : float, optional
        Confidence above which a comparison counts as certain, from ½ up to 1; by default 0.95.
    method : {"paper", "joint", "vote"}, optional
        As in `Ensemble.triplet_probability`.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

    Returns
    -------
    matplotlib Axes
    """
    if isinstance(ensemble, Certainty):
        if triplets is not None or level is not None or method is not None:
            raise InputError(
                "a Certainty has its own level and method; pass the ensemble to choose triplets, "
                "level or method."
            )
        every, asked, level = ensemble.curve, None, ensemble.level
    else:
        level = 0.95 if level is None else level
        every, asked = _shares(ensemble, triplets, level, method)
    is_all = every.counted == every.in_all
    sample = "" if is_all else f" (random sample of {_many(every.counted)})"
    curves = {f"all {_many(every.in_all)} comparisons{sample}": every}
    if asked is not None:
        curves[f"the {_many(asked.counted)} asked"] = asked
    ax = new_axes(6.0, 4.5) if ax is None else ax
    ax.axvline(level, color="0.8", lw=1, zorder=1)
    for (name, curve), colour, line in zip(curves.items(), COLOURS, ("-", "--"), strict=False):
        label = f"{name}: {curve.at(level):.0%} more than {100 * level:.3g}% certain"
        ax.plot(curve.confidence, curve.share, line, color=colour, lw=1.6, zorder=2, label=label)
        ax.plot([level], [curve.at(level)], "o", color=colour, ms=5, zorder=3)
    ax.set_xlim(0.5, 1.0)
    ax.set_ylim(0.0, 1.03)
    ax.set_xlabel("confidence, max(π, 1 − π)")
    ax.set_ylabel("share of comparisons with higher confidence")
    ax.legend(frameon=False, loc="lower left", fontsize=9)
    return ax


def _shares(
    ensemble: Ensemble, triplets: Any, level: float, method: str | None
) -> tuple[Shares, Shares | None]:
    """Shares by confidence of all comparisons, and of those that were asked."""
    thinned = thin(ensemble)
    rows, _ = choose_comparisons(ensemble.n_objects)
    every = shares_of(thinned.triplet_probability(rows, method), level)
    every = every._replace(in_all=count_comparisons(ensemble.n_objects))
    if triplets is None:
        return every, None
    return every, shares_of(thinned.triplet_probability(triplets, method), level)


def _many(count: int) -> str:
    return f"{count:,}".replace(",", " ")


# --- Shepard diagram: answers against distances -------------------------------------------------


_TABLE = 2**22  # distances held at a time
_TICKS = (1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100, 1000)
_FARTHEST = 1000.0  # ratios above this are drawn there
_RUG = 3000  # answers drawn as single ticks; more would be one black bar


class Shepard(NamedTuple):
    """What `plot_shepard` draws."""

    ratio: Floats  # (m,) of every answer: the longer of its two distances over the shorter
    agrees: Floats  # (m,): 1 where the answer is as in the map, 0 where not, ½ for a tie
    weights: Floats  # (m,)
    centre: Floats  # (bins,): geometric mean of the ratios
    share: Floats  # (bins,) of the answers that agree
    low: Floats  # (bins,), of a 95 % interval
    high: Floats
    expected: Floats | None  # (bins,): the share predicted by the model


def plot_shepard(
    embedding: Ensemble | ArrayLike,
    triplets: Any,
    *,
    bins: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Draw how often answers agree with the map, against the ratio of its two distances.

    Shepard's (1962) diagram plots dissimilarities against fitted distances. Answers to triplets
    have no dissimilarity, only an order of two distances. So the horizontal axis is the ratio of
    the two distances in the map, the longer over the shorter, which does not depend on scale, and
    the vertical axis is the share of answers that put them in the same order: about ½ where the
    distances are equal, rising to 1 less the lapse rate where the difference is obvious. Points
    are groups of about equally many answers, with 95 % intervals (of the beta distribution,
    Jeffreys' prior) that take answers as independent. The line is the model's prediction for these
    answers. Ticks at the bottom are answers that contradict the map, ticks at the top those that
    agree (a random sample if there are many, the same share of both).

    A map agrees with the answers it was fitted to more often than with new ones: where it is
    uncertain, the points lie above the line. To check the model, use held-out answers.

    Parameters
    ----------
    embedding : Ensemble, or (n, d) array
        Distances of an ensemble are means over its draws.
    triplets : Triplets, or (m, 3) or (m, 4) array of numbers or names
        The answers; weights count.
    bins : int
        Number of groups.
    ax : matplotlib Axes, optional
        Where to draw; by default a new figure.

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
    ax.set_xlabel("ratio of the two distances in the map (longer / shorter)")
    ax.set_ylabel("share of answers that agree with the map")
    if shown.expected is not None:
        ax.legend(frameon=False, loc="lower right", bbox_to_anchor=(1.0, 0.06))
    return ax


def shepard(embedding: Ensemble | ArrayLike, triplets: Any, bins: int = 10) -> Shepard:
    """Compute what `plot_shepard` draws."""
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
    weights = weights_of(answers)
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
    """Model probability (m,) of the answer that the map predicts; turned where it is far."""
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
            label="answers that contradict the map" if value == 0.0 else None,
        )
