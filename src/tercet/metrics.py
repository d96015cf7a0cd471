"""Scores of embeddings and of probabilities.

*Of an embedding*: ``triplet_error`` against comparisons, and
``procrustes_distance`` against true positions. *Of probabilities*: ``log_loss``, ``brier_score``,
``reliability_table``, ``expected_calibration_error`` and its ``calibration_limit``, and
``risk_coverage`` of predictions that abstain.

The latter take ``probability``, the probability that the row is true (near is nearer than far), and
``truth``, whether each row is true: a boolean array or ±1. By default every row is true, as in a
list of true triplets or of given answers.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from tercet.align import procrustes
from tercet.answers.choices import Choices
from tercet.answers.either import split_of
from tercet.answers.triplets import Triplets, as_triplets
from tercet.arrays import Bools, Floats
from tercet.errors import InputError
from tercet.text import percent

__all__ = [
    "ReliabilityTable",
    "RiskCoverage",
    "brier_score",
    "calibration_limit",
    "expected_calibration_error",
    "log_loss",
    "procrustes_distance",
    "reliability_table",
    "risk_coverage",
    "satisfied",
    "squared_distances",
    "triplet_error",
]


# Coordinates in memory at a time: 2²¹ float64 are 16 MB, in any number of dimensions.
CHUNK = 2**21


def squared_distances(
    embedding: ArrayLike, triplets: ArrayLike | Triplets
) -> tuple[Floats, Floats]:
    """Squared lengths (near, far), each of shape (m,), of the two pairs of every comparison.

    Parameters
    ----------
    embedding : (n, d) array
    triplets : Triplets or (m, 3) or (m, 4) integer array
    """
    points = np.asarray(embedding, dtype=np.float64)
    if points.ndim != 2:
        raise InputError(
            f"an embedding must have shape (objects, dimensions), got shape {points.shape}."
        )
    if not np.isfinite(points).all():
        row = int(np.argmin(np.isfinite(points).all(axis=1)))
        raise InputError(f"the embedding has a value that is not finite in row {row}.")
    pairs = as_triplets(triplets, n_objects=len(points)).pairs()
    near, far = np.empty(len(pairs)), np.empty(len(pairs))
    step = max(1, CHUNK // max(1, points.shape[1]))
    for start in range(0, len(pairs), step):
        rows = slice(start, start + step)
        a, b, c, d = pairs[rows].T
        for length, first, second in ((near, a, b), (far, c, d)):
            difference = points[first] - points[second]
            np.einsum("ij,ij->i", difference, difference, out=length[rows])
    return near, far


def satisfied(embedding: ArrayLike, answers: ArrayLike | Triplets | Choices) -> Bools:
    """Whether near is strictly nearer than far, for every answer; shape (m,).

    A tie does not satisfy an answer, so an embedding with all objects in one place satisfies none.
    A choice is satisfied if every comparison within it is.
    """
    if isinstance(answers, Choices):
        return np.asarray(share_in_order(embedding, answers) == 1.0)
    near, far = squared_distances(embedding, answers)
    return near < far


def share_in_order(embedding: ArrayLike, answers: Triplets | Choices) -> Floats:
    """Share (m,) of the comparisons within each answer that the embedding satisfies.

    None where the observer could not tell.
    """
    split = split_of(answers)
    right = satisfied(embedding, split).astype(np.float64)
    if not isinstance(answers, Choices):
        return right
    assert split.screens is not None  # the numbers of the choices
    total = np.bincount(split.screens, minlength=len(answers))
    in_order = np.bincount(split.screens, right, minlength=len(answers))
    return np.asarray(in_order / np.maximum(total, 1))


def triplet_error(embedding: ArrayLike, answers: ArrayLike | Triplets | Choices) -> float:
    """Share of the comparisons that the embedding does not satisfy (paper, section 5.5).

    Ties are not satisfied, see ``satisfied``. Weighted by the weights of the answers.
    """
    split = split_of(answers) if isinstance(answers, Triplets | Choices) else None
    weights = None if split is None else split.weights
    wrong = ~satisfied(embedding, answers if split is None else split)
    return float(np.average(wrong, weights=weights))


def procrustes_distance(
    X: ArrayLike, truth: ArrayLike, *, translate: bool = False, scale: bool = False
) -> float:
    """Squared distance min_U ‖XU − truth‖²_F over orthogonal U (paper, section 5.1).

    ``translate`` and ``scale`` also minimise over a shift of X and over its scale.

    Parameters
    ----------
    X, truth : (n, d) array
    """
    return procrustes(X, truth, translate=translate, scale=scale).distance


def log_loss(
    probability: ArrayLike,
    truth: ArrayLike | None = None,
    *,
    clip: float = float(np.finfo(np.float64).eps),
) -> float:
    """Mean of −log of the probability of the true outcome, in nats.

    Parameters
    ----------
    probability : (m,) array
        Probability that the row is true.
    truth : (m,) array of bool or ±1, optional
        Default: every row is true.
    clip : float
        Probabilities are clipped to [clip, 1 − clip]. With the default, 2.2e-16 as in scikit-learn,
        a certain but wrong row costs 36 nats; with 0 it costs infinity.
    """
    if not 0.0 <= clip < 0.5:
        raise InputError(f"clip must lie in [0, 0.5), got {clip}.")
    p, true = check_probability(probability, truth)
    p = np.clip(p, clip, 1.0 - clip)
    with np.errstate(divide="ignore"):
        return float(-np.log(np.where(true, p, 1.0 - p)).mean())


def brier_score(probability: ArrayLike, truth: ArrayLike | None = None) -> float:
    """Mean squared difference between probability and truth, from 0 to 1; chance level is ¼.

    This is the usual form for two outcomes; Brier (1950) sums over both and gets twice that.

    Parameters
    ----------
    probability, truth : (m,) array
        As in ``log_loss``.
    """
    p, true = check_probability(probability, truth)
    return float(np.mean((p - true) ** 2))


@dataclass(frozen=True)
class ReliabilityTable:
    """How often predictions of a given confidence are correct.

    Attributes
    ----------
    edges : (bins + 1,) array
        From the smallest possible confidence, ½ for two outcomes, to 1. A bin includes its left
        edge; the last one also includes 1.
    count : (bins,) integer array
    confidence, accuracy : (bins,) array
        Mean confidence and share of correct predictions; NaN if the bin is empty.
    """

    edges: Floats
    count: NDArray[np.int64]
    confidence: Floats
    accuracy: Floats

    @property
    def error(self) -> float:
        """Expected calibration error: the mean of |accuracy − confidence| over bins, by count."""
        gap = np.abs(self.accuracy - self.confidence)
        return float(np.nansum(self.count * gap) / self.count.sum())

    @property
    def limit(self) -> float:
        """The error that perfectly calibrated probabilities exceed by chance in 5 % of cases.

        The error of a bin of n rows is then approximately normal around 0 with variance c(1 − c)/n,
        c being their mean confidence; the calibration error, a weighted sum of their absolute
        values, is approximately normal too.
        """
        filled = self.count > 0
        n, c = self.count[filled], self.confidence[filled]
        spread = n / n.sum() * np.sqrt(c * (1.0 - c) / n)
        mean = np.sqrt(2.0 / np.pi) * spread.sum()
        variance = (1.0 - 2.0 / np.pi) * (spread @ spread)
        return float(mean + ndtri(0.95) * np.sqrt(variance))


def reliability_table(
    probability: ArrayLike, truth: ArrayLike | None = None, *, bins: int = 10
) -> ReliabilityTable:
    """Accuracy by confidence max(π, 1 − π), in equal bins of [½, 1].

    A row with π > ½ is predicted to be true, with π < ½ to be false. At π = ½ the row counts as
    half correct, so that the table does not change when rows are reversed (π → 1 − π,
    true ↔ false).

    Parameters
    ----------
    probability, truth : (m,) array
        As in ``log_loss``.
    bins : int
    """
    p, true = check_probability(probability, truth)
    return tabulate_confidence(np.maximum(p, 1.0 - p), predicted_correctly(p, true), bins=bins)


def tabulate_confidence(
    confidence: Floats, right: Floats, *, least: float = 0.5, bins: int = 10
) -> ReliabilityTable:
    """Accuracy by confidence, in equal bins of [least, 1].

    Parameters
    ----------
    confidence : (m,) array
        Probability of the most likely outcome of each row.
    right : (m,) array
        Whether it was the outcome: 1, 0, or ½ for a tie.
    least : float
        The smallest possible confidence: ½ for two outcomes.
    bins : int
    """
    if bins < 1:
        raise InputError(f"bins must be at least 1, got {bins}.")
    edges = np.linspace(least, 1.0, bins + 1)
    place = np.searchsorted(edges[1:-1], confidence, side="right")
    count = np.bincount(place, minlength=bins)
    filled = np.where(count > 0, count, np.nan)
    mean = np.bincount(place, weights=confidence, minlength=bins) / filled
    accuracy = np.bincount(place, weights=right, minlength=bins) / filled
    return ReliabilityTable(edges, count, mean, accuracy)


def expected_calibration_error(
    probability: ArrayLike, truth: ArrayLike | None = None, *, bins: int = 10
) -> float:
    """Mean of |accuracy − mean confidence| over the bins of ``reliability_table``, by count.

    The definition of Guo et al. (2017, eq. 3) for two outcomes, where confidence starts at ½.

    Parameters
    ----------
    probability, truth : (m,) array
        As in ``log_loss``.
    bins : int
    """
    return reliability_table(probability, truth, bins=bins).error


def predicted_correctly(probability: Floats, truth: Bools | bool = True) -> Floats:
    """1 where the more likely answer is true, 0 where it is not, ½ where p = ½."""
    return np.where(probability == 0.5, 0.5, (probability > 0.5) == truth)


def calibration_limit(probability: ArrayLike, *, bins: int = 10) -> float:
    """The error that perfectly calibrated probabilities exceed by chance in 5 % of cases.

    See `ReliabilityTable.limit`.

    Parameters
    ----------
    probability, bins
        As in ``expected_calibration_error``.
    """
    return reliability_table(probability, bins=bins).limit


def check_probability(probability: ArrayLike, truth: ArrayLike | None) -> tuple[Floats, Bools]:
    """Probabilities (m,) in [0, 1] and whether each row is true (m,)."""
    p = np.asarray(probability, dtype=np.float64)
    if p.ndim != 1 or p.size == 0:
        raise InputError(f"probability must be a list of one or more numbers, got shape {p.shape}.")
    inside = (p >= 0.0) & (p <= 1.0)
    if not inside.all():
        row = int(np.argmin(inside))
        raise InputError(f"probability must lie in [0, 1], got {p[row]} in row {row}.")
    if truth is None:
        return p, np.ones(p.shape, dtype=np.bool_)
    true = np.asarray(truth)
    if true.shape != p.shape:
        raise InputError(
            f"truth has shape {true.shape}, probability has {p.shape}; they must agree."
        )
    if true.dtype != np.bool_:
        valid = (true == 1) | (true == -1)
        if not valid.all():
            row = int(np.argmin(valid))
            raise InputError(
                f"truth must be True/False or +1/−1, got {true[row]} in row {row}. "
                "For 0/1 pass truth == 1."
            )
        true = true == 1
    return p, true


def check_threshold(threshold: float) -> None:
    """Raise unless the threshold of an abstaining prediction is valid."""
    if not 0.5 <= threshold < 1.0:
        raise InputError(f"threshold must lie in [0.5, 1), got {threshold!r}.")


# --- risk against coverage ----------------------------------------------------------------------


class Point(NamedTuple):
    """A point on the curve; the risk is NaN where nothing is predicted."""

    coverage: float
    risk: float


@dataclass(frozen=True, eq=False)
class RiskCoverage:
    """Risk and coverage of predicting only the most certain rows.

    Attributes
    ----------
    confidence : (k,) array
        The distinct confidences max(p, 1 − p), strictly descending: point i predicts the rows with
        at least confidence i.
    coverage, risk : (k,) array
        Share of the rows that is predicted, and share of these that is wrong.
    area : float
        Area under the curve (AURC): the mean risk over all coverages. Lower is better.
    """

    confidence: Floats
    coverage: Floats
    risk: Floats

    @property
    def area(self) -> float:
        """Area under the curve, as a sum of steps."""
        return float(np.sum(self.risk * np.diff(self.coverage, prepend=0.0)))

    def at(self, threshold: float) -> Point:
        """Coverage and risk of predicting rows with confidence above ``threshold``."""
        check_threshold(threshold)
        count = int(np.count_nonzero(self.confidence > threshold))
        if not count:
            return Point(0.0, np.nan)
        return Point(float(self.coverage[count - 1]), float(self.risk[count - 1]))

    def __str__(self) -> str:
        return (
            f"Risk of predicting everything: {percent(self.risk[-1])}; "
            f"mean over all coverages: {percent(self.area)}."
        )


def risk_coverage(
    probability: ArrayLike, truth: ArrayLike | None = None, *, weights: ArrayLike | None = None
) -> RiskCoverage:
    """Risk against coverage for every threshold on the confidence max(p, 1 − p).

    El-Yaniv and Wiener (2010). A row with p = ½ counts as half wrong, as in
    `reliability_table`.

    Parameters
    ----------
    probability : (m,) array
        Probability that the row is true: π where the truth is known, or the answer probability of
        answers that were held out.
    truth : (m,) array of bool or ±1, optional
        By default every row is true, as observed answers are.
    weights : (m,) array, optional
        How often each answer was given; positive.
    """
    p, true = check_probability(probability, truth)
    weight = np.ones(len(p)) if weights is None else np.asarray(weights, dtype=np.float64)
    if weight.shape != p.shape or not ((weight > 0.0) & (weight < np.inf)).all():
        raise InputError(f"weights must be {len(p)} positive numbers, one for each row.")
    return curve_by_confidence(np.maximum(p, 1.0 - p), predicted_correctly(p, true), weight)


def curve_by_confidence(confidence: Floats, right: Floats, weights: Floats) -> RiskCoverage:
    """Risk against coverage of rows with these confidences; as in `tabulate_confidence`."""
    found, place = np.unique(-confidence, return_inverse=True)
    total = np.cumsum(np.bincount(place, weights))
    failed = np.cumsum(np.bincount(place, weights * (1.0 - right)))
    return RiskCoverage(-found, total / total[-1], failed / total)
