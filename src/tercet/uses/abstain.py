"""Predict, or abstain: risk against coverage, and a threshold that keeps a promised error rate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, bdtrc

from tercet.answers.questions import default_unit, number_units, single_answers
from tercet.answers.triplets import Triplets, as_triplets
from tercet.arrays import Bools, Floats, Index
from tercet.ensemble import Ensemble
from tercet.errors import InputError
from tercet.metrics import check_probability, check_threshold, predicted_correctly
from tercet.running.provenance import Seed, entropy_of, seed_for
from tercet.simulate import random_comparisons
from tercet.tables import Table
from tercet.text import percent, were, wrap

__all__ = [
    "Promise",
    "RiskCoverage",
    "choose_threshold",
    "hold_out",
    "risk_coverage",
]

PILOTS = 2000  # random comparisons that the candidate thresholds are laid on


def choose_threshold(
    ensemble: Ensemble,
    holdout: Any,
    *,
    error: float = 0.1,
    delta: float = 0.1,
    unit: str | None = None,
    thresholds: ArrayLike | None = None,
    random_state: Seed = None,
) -> Promise:
    """Choose the threshold above which at most the share ``error`` of answers is predicted wrongly.

    Learn then test (Angelopoulos, Bates, Candès, Jordan and Lei, 2021) with a fixed sequence of
    thresholds. The candidates are laid down before a hold-out answer is looked at, and tested from
    the strictest down: of n units with a predicted answer, w are wrong, and the threshold passes
    if P(Binomial(n, error) ≤ w) ≤ delta. The walk stops at the first that fails, and the last that
    passed is chosen.

    Why the promise holds: at a threshold fixed in advance, each unit that has a predicted answer
    is wrong independently with the same probability, the risk. Given n, the number of wrong ones
    is therefore binomial, whatever the model is worth, and a threshold whose risk is above
    ``error`` passes with probability ``delta`` at most. To choose a bad threshold the walk has to
    pass the first bad one on its way, which is one and the same threshold for all hold-outs; so no
    correction for testing many is needed.

    The answers of one unit depend on each other: they are put in a random order once, and at each
    threshold the first predicted one speaks for the unit. The promise is then about one predicted
    answer, drawn at random, of a new unit.

    Parameters
    ----------
    ensemble : Ensemble
        Of a model that is a probability, made **without** the hold-out answers.
    holdout : Triplets, or (m, 3) or (m, 4) array of numbers or names
        Answers; where all weights are whole numbers, every vote is an answer.
    error : float
        Share of wrong ones among predicted answers that may not be exceeded, between 0 and ½.
    delta : float
        Probability, over hold-outs, that it is exceeded all the same.
    unit : {"observer", "screen", "comparison", "answer"}, optional
        What is independent of each other. By default observers where several gave more than one
        answer, else screens where some have several, else comparisons (a question asked twice is
        one unit).
    thresholds : array, optional
        Candidates, from ½ up to, but not including, 1, that you chose **before** looking at the
        hold-out. By default those that predict 1, 2, …, 99 % of 2000 random comparisons of the
        objects, and ½, beginning where enough units are to be expected for a fair chance to pass.
        A threshold is left out while there are too few units to ever pass, (1 − error)^n > delta.
    random_state : None, int or numpy.random.Generator
        For the order within units; decide on it before you look, too.

    Returns
    -------
    Promise
        Prints as a sentence; when there is nothing to promise, it says why.
    """
    _check_rates(error, delta)
    if not isinstance(ensemble, Ensemble):
        raise InputError(
            "ensemble must be an Ensemble, such as Posterior(...).fit(answers).ensemble_, got "
            f"{type(ensemble).__name__}."
        )
    answers = as_triplets(holdout)
    rows = single_answers(answers, "the hold-out")
    unit = independent_unit(answers) if unit is None else unit
    labels = np.arange(len(rows)) if unit == "answer" else number_units(answers, unit)[rows]
    grid = None if thresholds is None else _check_grid(thresholds)
    rng = np.random.default_rng(seed_for(entropy_of(random_state)))

    confidence, near = likelier_answers(ensemble, answers)
    held = shuffle(confidence[rows], ~near[rows], labels, rng)
    pilots = np.empty(0) if grid is not None else _pilots(ensemble)

    def attempt(error: float) -> TestedThresholds:
        laid = lay_candidates(pilots, held, unit, error, delta) if grid is None else grid
        return walk_down(held, laid, error, delta)

    walk = attempt(error)
    outcome, smallest = name_ending(walk, error, delta), None
    if outcome in ("impossible", "undecided"):
        larger = (float(e) for e in np.arange(1, 50) / 100 if e > error)
        smallest = next((e for e in larger if last_passed(attempt(e), delta) is not None), None)
    last = last_passed(walk, delta)
    threshold = None if last is None else float(walk.threshold[last])
    return Promise(
        threshold=threshold,
        error=error,
        delta=delta,
        coverage=0.0 if threshold is None else float(np.mean(held.confidence > threshold)),
        observed_error=np.nan if last is None else float(walk.wrong[last] / walk.predicted[last]),
        unit=unit,
        n_answers=len(rows),
        n_units=held.n_units,
        outcome=outcome,
        smallest_error=smallest,
        walk=walk,
        ensemble=ensemble,
    )


def hold_out(
    triplets: Any,
    share: float = 0.3,
    *,
    unit: str | None = None,
    random_state: Seed = None,
) -> tuple[Triplets, Triplets]:
    """Part answers into some to learn from and others to hold out: (train, holdout).

    Whole units are drawn at random, each with the same chance, so that the hold-out's are
    independent of what was learned, and drawn like those to come.

    Parameters
    ----------
    triplets : Triplets, or array of answers
    share : float
        Of the units, to hold out; between 0 and 1.
    unit : {"observer", "screen", "comparison", "answer"}, optional
        As in `choose_threshold`; use the same there.
    random_state : None, int or numpy.random.Generator
    """
    if not 0.0 < share < 1.0:
        raise InputError(f"share must lie between 0 and 1, such as 0.3, got {share!r}.")
    answers = as_triplets(triplets)
    unit = independent_unit(answers) if unit is None else unit
    units = number_units(answers, unit)
    count = int(units.max(initial=-1)) + 1
    if count < 2:
        raise InputError(f"there is only {count} {unit} to part; use another unit.")
    rng = np.random.default_rng(seed_for(entropy_of(random_state)))
    held = np.zeros(count, dtype=np.bool_)
    held[rng.permutation(count)[: min(max(round(share * count), 1), count - 1)]] = True
    return answers[~held[units]], answers[held[units]]


def independent_unit(triplets: Triplets) -> str:
    """What to take as independent: observers where there are several, who answered repeatedly.

    A person who is often wrong is so on many screens; only whole people are drawn independently
    from the people there are. Else screens where some have several answers, else comparisons.
    """
    if triplets.observers is not None:
        count = len(np.unique(triplets.observers))
        if 1 < count < triplets.n_answers:
            return "observer"
    return default_unit(triplets)


def _pilots(ensemble: Ensemble) -> Floats:
    """Confidence of random comparisons of the objects, the same for every hold-out."""
    asked = random_comparisons(ensemble.n_objects, PILOTS, replace=True, random_state=0)
    return likelier_answers(ensemble, asked)[0]


# ---- checks


def _check_rates(error: float, delta: float) -> None:
    if not 0.0 < error < 0.5:
        raise InputError(
            "error is the share of wrong predictions to promise, between 0 and ½ (a coin is wrong "
            f"in half of the cases), such as 0.1; got {error!r}."
        )
    if not 0.0 < delta < 1.0:
        raise InputError(
            "delta is the probability that the promise fails, between 0 and 1, such as 0.1; got "
            f"{delta!r}."
        )


def _check_grid(thresholds: ArrayLike) -> Floats:
    grid = np.unique(np.asarray(thresholds, dtype=np.float64))[::-1]
    if not grid.size:
        raise InputError("thresholds are empty; leave them out for the default.")
    for threshold in grid:
        check_threshold(float(threshold))
    return grid


# --- the promise, in numbers and in words -------------------------------------------------------


DECIMALS = 12  # of a confidence: a question turned around must not be predicted otherwise


@dataclass(frozen=True, eq=False)
class Promise:
    """A threshold on the answer probability, and what can be said of it; see `choose_threshold`.

    Attributes
    ----------
    threshold : float or None
        Predict where the probability of either answer is above it; None: nothing is promised.
    error, delta : float
        At most the share ``error`` of predicted answers is wrong; a hold-out leads to a promise
        that is false with probability ``delta`` at most.
    coverage : float
        Share of the hold-out answers that is predicted.
    observed_error : float
        Share of the drawn, predicted hold-out answers that was wrong; NaN without a threshold.
    unit : str
        What was taken as independent: "answer", "comparison", "screen" or "observer".
    n_answers, n_units : int
        How many there were in the hold-out.
    outcome : {"promised", "too few", "impossible", "undecided"}
    smallest_error : float or None
        Where nothing is promised although there were enough answers: the smallest whole per cent
        that would have been. To promise that needs a hold-out that was not looked at.
    walk : TestedThresholds
        The thresholds tested.
    """

    threshold: float | None
    error: float
    delta: float
    coverage: float
    observed_error: float
    unit: str
    n_answers: int
    n_units: int
    outcome: str
    smallest_error: float | None
    walk: TestedThresholds = field(repr=False)
    ensemble: Ensemble = field(repr=False)

    @property
    def reason(self) -> str:
        """What is promised and what it costs, or why nothing is, in words."""
        return _WORDS[self.outcome](self)

    def predict(self, Q: Any) -> Index:
        """+1 where near will be answered, −1 where far will, 0 where the promise wants silence.

        Without a threshold everything is 0.

        Parameters
        ----------
        Q : Triplets, or (m, 3) or (m, 4) array of numbers or names
        """
        confidence, near = likelier_answers(self.ensemble, Q)
        sure = confidence > (1.0 if self.threshold is None else self.threshold)
        return np.where(sure, np.where(near, 1, -1), 0)

    def table(self) -> str:
        """The thresholds that were tested, one a line."""
        rows = [
            (f"{threshold:.4f}", str(n), str(wrong), f"{p:.2g}")
            for threshold, n, wrong, p in zip(*self.walk, strict=True)
        ]
        return Table("", ("threshold", "predicted", "wrong", "p-value"), rows).text(right=True)

    def __str__(self) -> str:
        return wrap(self.reason)


def likelier_answers(ensemble: Ensemble, Q: Any) -> tuple[Floats, Bools]:
    """How probable the likelier answer is (m,), rounded, and whether it is "near" (m,)."""
    p = ensemble.answer_probability(Q)
    return np.asarray(np.maximum(p, 1.0 - p).round(DECIMALS)), p > 0.5


# ---- words


def _promised(found: Promise) -> str:
    assert found.threshold is not None
    return (
        f"Predict where the answer probability is above {found.threshold:.6g} (or below "
        f"{1.0 - found.threshold:.6g}): at most {percent(found.error)} of predicted answers will "
        f"be wrong (a hold-out leads to a false promise with probability {percent(found.delta)} at "
        f"most), at the cost of abstaining on {percent(1.0 - found.coverage)} of the questions. "
        f"Of {_wrong(found, last_passed(found.walk, found.delta))}. {_scope(found)}"
    )


def _too_few(found: Promise) -> str:
    least = fewest(found.error, found.delta)
    cure = (
        " For other answers of these same observers, use unit='comparison'."
        if found.unit == "observer"
        else ""
    )
    return (
        f"Too few hold-out answers to promise at most {percent(found.error)} wrong: at least "
        f"{least} {found.unit}s with a predicted answer are needed even if none is wrong, and the "
        f"hold-out has {found.n_units} {found.unit}s.{cure}"
    )


def _impossible(found: Promise) -> str:
    return (
        f"At most {percent(found.error)} wrong cannot be promised: people disagree more than that, "
        f"with each other or with the map. Of the surest {_wrong(found, 0)}, too many to be chance "
        f"(delta = {found.delta:g}). {_smallest(found)}"
    )


def _undecided(found: Promise) -> str:
    return (
        f"Undecided whether at most {percent(found.error)} wrong can be promised. "
        f"Of the surest {_wrong(found, 0)}: too many to promise it, too few to rule it out. More "
        f"hold-out answers would tell. {_smallest(found)}"
    )


def _wrong(found: Promise, step: int | None) -> str:
    n, wrong = found.walk.predicted[step or 0], found.walk.wrong[step or 0]
    each = "" if found.unit == "answer" else f", one of each {found.unit},"
    return f"{n} predicted hold-out answers{each} {wrong} {were(wrong)} wrong"


def _smallest(found: Promise) -> str:
    if found.smallest_error is None:
        return "No error below 50 % could have been promised."
    return (
        f"The smallest error that could have been promised is {percent(found.smallest_error)}; to "
        "promise it now needs fresh hold-out answers."
    )


def _scope(found: Promise) -> str:
    new = {
        "observer": "a predicted answer, drawn at random, of a new observer like these",
        "screen": "a predicted answer, drawn at random, of a new screen like these, by the same "
        "people",
        "comparison": "an answer to a new question drawn like these, by the same people",
        "answer": "a new answer, its question and person drawn like these",
    }
    return (
        f"The promise is about {new[found.unit]}, whether or not the model is right, if the "
        "ensemble never saw the hold-out."
    )


_WORDS = {
    "promised": _promised,
    "too few": _too_few,
    "impossible": _impossible,
    "undecided": _undecided,
}


# --- risk against coverage ----------------------------------------------------------------------


class Point(NamedTuple):
    """A point of the curve; the risk is NaN where nothing is predicted."""

    coverage: float
    risk: float


@dataclass(frozen=True, eq=False)
class RiskCoverage:
    """What predicting only the surest rows gains and costs.

    Attributes
    ----------
    confidence : (k,) array
        The distinct confidences max(p, 1 − p), strictly descending: point i predicts the rows that
        are at least as sure as confidence i.
    coverage, risk : (k,) array
        Share of the rows that is predicted, and share of these that is wrong.
    area : float
        Area under the curve (AURC): the mean risk over all coverages. Less is better.
    """

    confidence: Floats
    coverage: Floats
    risk: Floats

    @property
    def area(self) -> float:
        """Area under the curve, as a sum of steps."""
        return float(np.sum(self.risk * np.diff(self.coverage, prepend=0.0)))

    def at(self, threshold: float) -> Point:
        """Coverage and risk of predicting what is surer than ``threshold``, as `predict` does."""
        check_threshold(threshold)
        count = int(np.count_nonzero(self.confidence > threshold))
        if not count:
            return Point(0.0, np.nan)
        return Point(float(self.coverage[count - 1]), float(self.risk[count - 1]))

    def __str__(self) -> str:
        return (
            f"Predicting everything is wrong in {percent(self.risk[-1])}; "
            f"mean over all coverages {percent(self.area)}."
        )


def risk_coverage(
    probability: ArrayLike, truth: ArrayLike | None = None, *, weights: ArrayLike | None = None
) -> RiskCoverage:
    """Risk against coverage for every threshold on the confidence max(p, 1 − p).

    El-Yaniv and Wiener (2010). A row with p = ½ is predicted by nobody and counts as half wrong,
    as in `tercet.metrics.reliability_table`.

    Parameters
    ----------
    probability : (m,) array
        Probability that the row is true: π where the truth is known, or the answer probability of
        answers that were held out.
    truth : (m,) array of bool or ±1, optional
        Default: every row is true, as answers that were given are.
    weights : (m,) array, optional
        Positive; how often each answer was given.
    """
    p, true = check_probability(probability, truth)
    weight = np.ones(len(p)) if weights is None else np.asarray(weights, dtype=np.float64)
    if weight.shape != p.shape or not ((weight > 0.0) & (weight < np.inf)).all():
        raise InputError(f"weights must be {len(p)} positive numbers, one for each row.")
    wrong = 1.0 - predicted_correctly(p, true)
    confidence, place = np.unique(-np.maximum(p, 1.0 - p), return_inverse=True)
    total = np.cumsum(np.bincount(place, weight))
    failed = np.cumsum(np.bincount(place, weight * wrong))
    return RiskCoverage(-confidence, total / total[-1], failed / total)


# --- learn then test: walk down a list of thresholds until one fails ----------------------------


SHARES = np.arange(1, 100) / 100  # of random comparisons, that the candidates predict


class TestedThresholds(NamedTuple):
    """The thresholds that were tested, from the strictest down; the last may have failed."""

    threshold: Floats
    predicted: Index  # units with a predicted answer, of which one is drawn
    wrong: Index  # how many of these are wrong
    p_value: Floats  # of so few wrong, were the risk as large as the error


class HeldOutAnswers(NamedTuple):
    """Hold-out answers, unit after unit, in random order within each: see `shuffle`."""

    confidence: Floats  # (m,)
    wrong: Bools  # (m,): whether the surer answer was not the one given
    unit: Index  # (m,)

    @property
    def n_units(self) -> int:
        """How many units there are."""
        return len(np.unique(self.unit))

    def drawn(self, threshold: float) -> Bools:
        """Of every unit, whether its first answer above the threshold is wrong."""
        sure = self.confidence > threshold
        unit = self.unit[sure]
        return self.wrong[sure][np.diff(unit, prepend=-1) > 0]


def shuffle(
    confidence: Floats, wrong: Bools, unit: Index, rng: np.random.Generator
) -> HeldOutAnswers:
    """Put the answers of every unit, numbered from 0, into random order."""
    order = rng.permutation(len(unit))
    order = order[np.argsort(unit[order], kind="stable")]
    return HeldOutAnswers(confidence[order], wrong[order], unit[order])


def walk_down(
    held: HeldOutAnswers, candidates: Floats, error: float, delta: float
) -> TestedThresholds:
    """Test descending thresholds, from the first that could pass to the first that fails.

    Thresholds that too few units reach to ever pass are left out. That looks at how sure the
    hold-out predictions are, not at whether they are right, and is of no consequence where the
    surest are not the ones that are wrong most often.
    """
    least = fewest(error, delta)
    steps: list[tuple[float, int, int, float]] = []
    for threshold in candidates:
        drawn = held.drawn(threshold)
        if len(drawn) < least:
            continue
        wrong = int(np.count_nonzero(drawn))
        steps.append((float(threshold), len(drawn), wrong, float(bdtr(wrong, len(drawn), error))))
        if steps[-1][-1] > delta:
            break
    thresholds, counts, errors, p_values = np.reshape(np.array(steps, dtype=np.float64), (-1, 4)).T
    return TestedThresholds(thresholds, counts.astype(np.int64), errors.astype(np.int64), p_values)


def last_passed(walk: TestedThresholds, delta: float) -> int | None:
    """The step of the walk that is chosen, if any."""
    passed = int(np.count_nonzero(walk.p_value <= delta))
    return passed - 1 if passed else None


def fewest(error: float, delta: float) -> int:
    """The smallest n with which a threshold can pass: (1 − error)^n ≤ delta."""
    n = int(np.ceil(np.log(delta) / np.log1p(-error)))
    return n if bdtr(0, n, error) <= delta else n + 1


def lay_candidates(
    pilots: Floats, held: HeldOutAnswers, unit: str, error: float, delta: float
) -> Floats:
    """Descending thresholds, from quantiles of the pilots' confidence; no answer is looked at.

    A walk that began with the fewest units that can pass would allow none of them to be wrong, and
    stop there too often. It begins where four times as many are expected, or a tenth of all.

    How many answers each observer gave is taken as fixed by the experiment; the confidence of the
    hold-out answers plays no part.
    """
    sizes = np.unique(held.unit, return_counts=True)[1]
    least = fewest(error, delta)
    wanted = np.clip(len(sizes) / 2, least, max(4 * least, len(sizes) / 10))
    # An observer's answers are to different questions; others' confidences go together.
    answers = sizes if unit == "observer" else np.ones_like(sizes)
    expected = np.array([np.sum(1.0 - (1.0 - share) ** answers) for share in SHARES])
    # In round numbers a threshold can be written down, and no confidence sits on it.
    quantiles = np.quantile(pilots, 1.0 - SHARES[expected >= wanted]).round(4)
    laid = np.unique(np.append(quantiles[(quantiles > 0.5) & (quantiles < 1.0)], 0.5))
    return np.asarray(laid[::-1])


def name_ending(walk: TestedThresholds, error: float, delta: float) -> str:
    """How the walk ended: "promised", "too few", "impossible" or "undecided"."""
    if last_passed(walk, delta) is not None:
        return "promised"
    if not len(walk.threshold):
        return "too few"
    n, wrong = int(walk.predicted[0]), int(walk.wrong[0])
    # Where so many wrong would hardly happen at a risk of ``error``, the risk is larger.
    return "impossible" if wrong and bdtrc(wrong - 1, n, error) <= delta else "undecided"
