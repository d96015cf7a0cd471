"""Predict, or abstain: a threshold with a bound on the error rate."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import bdtr, bdtrc

from tercet.answers.choices import Choices, as_answers
from tercet.answers.either import Answers
from tercet.answers.questions import default_unit, number_units, single_answers
from tercet.arrays import Bools, Floats, Index
from tercet.ensemble import Ensemble
from tercet.errors import InputError
from tercet.held_out import held_out
from tercet.metrics import check_threshold
from tercet.running.provenance import Seed, entropy_of, seed_for
from tercet.simulate import random_comparisons
from tercet.tables import Table
from tercet.text import percent, were, wrap

__all__ = [
    "Promise",
    "choose_threshold",
    "hold_out",
]

PILOTS = 2000  # random comparisons whose confidence sets the candidate thresholds


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
    """Choose a threshold above which at most the share ``error`` of predicted answers is wrong.

    Learn then test (Angelopoulos, Bates, Candès, Jordan and Lei, 2021) with fixed-sequence
    testing. The candidate thresholds are fixed before any held-out answer is seen, and tested from
    the strictest down: of n units with a predicted answer, w are wrong, and the threshold passes
    if P(Binomial(n, error) ≤ w) ≤ delta. Testing stops at the first that fails, and the last that
    passed is chosen.

    Why the guarantee holds: at a threshold fixed in advance, each unit with a predicted answer is
    wrong independently with the same probability, the risk. Given n, the number of wrong ones is
    therefore binomial, however good or bad the model, and a threshold whose risk is above ``error``
    passes with probability ``delta`` at most. To choose a bad threshold, the sequence has to pass
    the first bad one, which is the same threshold for all hold-outs; so no correction for multiple
    testing is needed.

    The answers of one unit are dependent: they are put in random order once, and at each threshold
    the first predicted one represents the unit. The guarantee is then about one predicted answer,
    drawn at random, of a new unit.

    Parameters
    ----------
    ensemble : Ensemble
        From a probabilistic model, fitted **without** the held-out answers.
    holdout : Choices, Triplets, or (m, 3) or (m, 4) array of numbers or names
        Held-out answers. Where all weights are whole numbers, every vote is an answer. Of a choice
        the most probable outcome is predicted, and the guarantee is about such choices; for one
        about comparisons hold out comparisons, such as ``choices.triplets()``.
    error : float
        Largest acceptable share of wrong predictions, between 0 and ½.
    delta : float
        Probability, over hold-outs, that it is exceeded nevertheless.
    unit : {"observer", "screen", "comparison", "answer"}, optional
        What is sampled independently. By default observers where several gave more than one
        answer, else all answers to one question: a screen for choices, or a comparison.
    thresholds : array, optional
        Candidates, from ½ up to, but not including, 1, chosen **before** looking at the hold-out.
        By default those that predict 1, 2, …, 99 % of 2000 random comparisons of the objects, and
        ½, beginning where enough units are expected for a fair chance to pass. A threshold is
        skipped if too few units reach it to ever pass, (1 − error)^n > delta.
    random_state : None, int or numpy.random.Generator
        For the order within units; fix it before looking at the hold-out, too.

    Returns
    -------
    Promise
        Prints as a sentence; where nothing can be guaranteed, it says why.
    """
    _check_rates(error, delta)
    if not isinstance(ensemble, Ensemble):
        raise InputError(
            "ensemble must be an Ensemble, such as Posterior(...).fit(answers).ensemble_, got "
            f"{type(ensemble).__name__}."
        )
    answers = as_answers(holdout)
    rows = single_answers(answers, "the hold-out")
    unit = independent_unit(answers) if unit is None else unit
    labels = np.arange(len(rows)) if unit == "answer" else number_units(answers, unit)[rows]
    grid = None if thresholds is None else _check_grid(thresholds)
    rng = np.random.default_rng(seed_for(entropy_of(random_state)))

    confidence, right = _predicted(ensemble, answers)
    held = shuffle(confidence[rows], ~right[rows], labels, rng)
    pilots = np.empty(0) if grid is not None else _pilots(ensemble)

    def attempt(error: float) -> TestedThresholds:
        candidates = lay_candidates(pilots, held, unit, error, delta) if grid is None else grid
        return walk_down(held, candidates, error, delta)

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
) -> tuple[Answers, Answers]:
    """Split answers into some to fit and others to hold out: (train, holdout).

    Whole units are drawn at random with equal probability, so that those held out are independent
    of the training answers and representative of new ones.

    Parameters
    ----------
    triplets : Choices, Triplets, or array of answers
    share : float
        Share of the units to hold out, between 0 and 1.
    unit : {"observer", "screen", "comparison", "answer"}, optional
        As in `choose_threshold`; use the same there.
    random_state : None, int or numpy.random.Generator
    """
    if not 0.0 < share < 1.0:
        raise InputError(f"share must lie between 0 and 1, such as 0.3, got {share!r}.")
    answers = as_answers(triplets)
    unit = independent_unit(answers) if unit is None else unit
    units = number_units(answers, unit)
    count = int(units.max(initial=-1)) + 1
    if count < 2:
        raise InputError(f"there is only {count} {unit} to split; use another unit.")
    rng = np.random.default_rng(seed_for(entropy_of(random_state)))
    held = np.zeros(count, dtype=np.bool_)
    held[rng.permutation(count)[: min(max(round(share * count), 1), count - 1)]] = True
    return answers[~held[units]], answers[held[units]]


def independent_unit(answers: Answers) -> str:
    """The independent unit: observers where several of them gave repeated answers.

    A person who is often wrong is so on many screens, so only whole people are independent. Else
    all answers to one question.
    """
    if answers.observers is not None:
        count = len(np.unique(answers.observers))
        if 1 < count < answers.n_answers:
            return "observer"
    return default_unit(answers)


def _predicted(ensemble: Ensemble, answers: Answers) -> tuple[Floats, Bools]:
    """Probability (m,) of the likeliest outcome, rounded, and whether it was the answer."""
    if not isinstance(answers, Choices):
        return likelier_answers(ensemble, answers)
    found = held_out(ensemble, answers, np.arange(len(answers)))
    return found.confidence.round(DECIMALS), found.right == 1.0


def _pilots(ensemble: Ensemble) -> Floats:
    """Confidence of random comparisons of the objects, the same for every hold-out."""
    asked = random_comparisons(ensemble.n_objects, PILOTS, replace=True, random_state=0)
    return likelier_answers(ensemble, asked)[0]


# ---- checks


def _check_rates(error: float, delta: float) -> None:
    if not 0.0 < error < 0.5:
        raise InputError(
            "error is the largest acceptable share of wrong predictions, between 0 and ½ (a coin "
            f"is wrong in half of the cases), such as 0.1; got {error!r}."
        )
    if not 0.0 < delta < 1.0:
        raise InputError(
            "delta is the probability that the guarantee fails, between 0 and 1, such as 0.1; got "
            f"{delta!r}."
        )


def _check_grid(thresholds: ArrayLike) -> Floats:
    grid = np.unique(np.asarray(thresholds, dtype=np.float64))[::-1]
    if not grid.size:
        raise InputError("thresholds is empty; leave it out for the default.")
    for threshold in grid:
        check_threshold(float(threshold))
    return grid


# --- the guarantee, in numbers and in words -----------------------------------------------------


DECIMALS = 12  # of a confidence: a question with its two options swapped must agree


@dataclass(frozen=True, eq=False)
class Promise:
    """A threshold on the answer probability, and its guarantee; see `choose_threshold`.

    Attributes
    ----------
    threshold : float or None
        Predict where the probability of either answer is above it; None: nothing is guaranteed.
    error, delta : float
        At most the share ``error`` of predicted answers is wrong; the guarantee is false for at
        most the share ``delta`` of hold-outs.
    coverage : float
        Share of the held-out answers that is predicted.
    observed_error : float
        Share of wrong ones among the predicted held-out answers, one of each unit; NaN without a
        threshold.
    unit : str
        What was taken as independent: "answer", "comparison", "screen" or "observer".
    n_answers, n_units : int
        Size of the hold-out.
    outcome : {"promised", "too few", "impossible", "undecided"}
    smallest_error : float or None
        Where nothing is guaranteed although there were enough answers: the smallest whole
        percentage that would have been. To guarantee it takes new held-out answers.
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
        """What is guaranteed and at what cost, or why nothing is, in words."""
        return _WORDS[self.outcome](self)

    def predict(self, Q: Any) -> Index:
        """+1 where near is predicted, −1 where far is, 0 where it abstains.

        Without a threshold everything is 0.

        Parameters
        ----------
        Q : Triplets, or (m, 3) or (m, 4) array of numbers or names
        """
        confidence, near = likelier_answers(self.ensemble, Q)
        predicted = confidence > (1.0 if self.threshold is None else self.threshold)
        return np.where(predicted, np.where(near, 1, -1), 0)

    def table(self) -> str:
        """The thresholds that were tested, one per line."""
        rows = [
            (f"{threshold:.4f}", str(n), str(wrong), f"{p:.2g}")
            for threshold, n, wrong, p in zip(*self.walk, strict=True)
        ]
        return Table("", ("threshold", "predicted", "wrong", "p-value"), rows).text(right=True)

    def __str__(self) -> str:
        return wrap(self.reason)


def likelier_answers(ensemble: Ensemble, Q: Any) -> tuple[Floats, Bools]:
    """Probability of the likelier answer (m,), rounded, and whether it is "near" (m,)."""
    p = ensemble.answer_probability(Q)
    return np.asarray(np.maximum(p, 1.0 - p).round(DECIMALS)), p > 0.5


# ---- words


def _promised(promise: Promise) -> str:
    assert promise.threshold is not None
    return (
        f"Predict where the answer probability is above {promise.threshold:.6g} (or below "
        f"{1.0 - promise.threshold:.6g}): at most {percent(promise.error)} of predicted answers "
        f"will be wrong (this guarantee fails for at most {percent(promise.delta)} of hold-outs), "
        f"at the cost of abstaining on {percent(1.0 - promise.coverage)} of the questions. "
        f"Of {_wrong(promise, last_passed(promise.walk, promise.delta))}. {_scope(promise)}"
    )


def _too_few(promise: Promise) -> str:
    least = fewest(promise.error, promise.delta)
    cure = (
        " For other answers of these same observers, use unit='comparison'."
        if promise.unit == "observer"
        else ""
    )
    return (
        f"Too few held-out answers to guarantee at most {percent(promise.error)} wrong: at least "
        f"{least} {promise.unit}s with a predicted answer are needed even if none is wrong, and "
        f"the hold-out has {promise.n_units} {promise.unit}s.{cure}"
    )


def _impossible(promise: Promise) -> str:
    return (
        f"At most {percent(promise.error)} wrong cannot be guaranteed: people disagree more than "
        f"that, with each other or with the map. Of the most certain {_wrong(promise, 0)}, too "
        f"many to be chance (delta = {promise.delta:g}). {_smallest(promise)}"
    )


def _undecided(promise: Promise) -> str:
    return (
        f"Undecided whether at most {percent(promise.error)} wrong can be guaranteed. Of the most "
        f"certain {_wrong(promise, 0)}: too many to guarantee it, too few to rule it out. "
        f"Collect more held-out answers to decide. {_smallest(promise)}"
    )


def _wrong(promise: Promise, step: int | None) -> str:
    n, wrong = promise.walk.predicted[step or 0], promise.walk.wrong[step or 0]
    each = "" if promise.unit == "answer" else f", one per {promise.unit},"
    return f"{n} predicted held-out answers{each} {wrong} {were(wrong)} wrong"


def _smallest(promise: Promise) -> str:
    if promise.smallest_error is None:
        return "No error below 50 % could have been guaranteed."
    return (
        f"The smallest error that could have been guaranteed is {percent(promise.smallest_error)}; "
        "to guarantee it now takes new held-out answers."
    )


def _scope(promise: Promise) -> str:
    new = {
        "observer": "a predicted answer, drawn at random, of a new observer like these",
        "screen": "a predicted answer, drawn at random, of a new screen like these, by the same "
        "people",
        "comparison": "an answer to a new question drawn like these, by the same people",
        "answer": "a new answer, its question and person drawn like these",
    }
    return (
        f"The guarantee is about {new[promise.unit]}, whether or not the model is right, if the "
        "ensemble never saw the hold-out."
    )


_WORDS = {
    "promised": _promised,
    "too few": _too_few,
    "impossible": _impossible,
    "undecided": _undecided,
}


# --- learn then test: descend a list of thresholds until one fails ------------------------------


SHARES = np.arange(1, 100) / 100  # of random comparisons that the candidates predict


class TestedThresholds(NamedTuple):
    """The thresholds that were tested, from the strictest down; the last may have failed."""

    threshold: Floats
    predicted: Index  # units with a predicted answer, of which one is drawn
    wrong: Index  # how many of these are wrong
    p_value: Floats  # probability of no more wrong ones if the risk equalled the error


class HeldOutAnswers(NamedTuple):
    """Held-out answers, unit after unit, in random order within each: see `shuffle`."""

    confidence: Floats  # (m,)
    wrong: Bools  # (m,): whether the likelier answer was not the one given
    unit: Index  # (m,)

    @property
    def n_units(self) -> int:
        """How many units there are."""
        return len(np.unique(self.unit))

    def drawn(self, threshold: float) -> Bools:
        """Whether the first answer above the threshold is wrong, for each unit that has one."""
        above = self.confidence > threshold
        return self.wrong[above][np.diff(self.unit[above], prepend=-1) > 0]


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

    Thresholds that too few units reach to ever pass are skipped. That uses the confidence of the
    held-out predictions, not whether they are correct, and has no effect unless the most certain
    ones are wrong most often.
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
    """The last threshold that passed, which is chosen, if any."""
    passed = int(np.count_nonzero(walk.p_value <= delta))
    return passed - 1 if passed else None


def fewest(error: float, delta: float) -> int:
    """The smallest n with which a threshold can pass: (1 − error)^n ≤ delta."""
    n = int(np.ceil(np.log(delta) / np.log1p(-error)))
    return n if bdtr(0, n, error) <= delta else n + 1


def lay_candidates(
    pilots: Floats, held: HeldOutAnswers, unit: str, error: float, delta: float
) -> Floats:
    """Descending thresholds, from quantiles of the pilots' confidence; no answer is used.

    Starting with the fewest units that can pass would allow none of them to be wrong, and stop
    there too often. The sequence starts where four times as many are expected, or a tenth of all.

    The number of answers per observer is taken as fixed by the experiment; the confidence of the
    held-out answers is not used.
    """
    sizes = np.unique(held.unit, return_counts=True)[1]
    least = fewest(error, delta)
    wanted = np.clip(len(sizes) / 2, least, max(4 * least, len(sizes) / 10))
    # An observer answers different questions; confidences within other units are alike.
    answers = sizes if unit == "observer" else np.ones_like(sizes)
    expected = np.array([np.sum(1.0 - (1.0 - share) ** answers) for share in SHARES])
    # Rounded, so that a threshold can be written down and no confidence equals it.
    quantiles = np.quantile(pilots, 1.0 - SHARES[expected >= wanted]).round(4)
    inside = quantiles[(quantiles > 0.5) & (quantiles < 1.0)]
    return np.asarray(np.unique(np.append(inside, 0.5))[::-1])


def name_ending(walk: TestedThresholds, error: float, delta: float) -> str:
    """The outcome of the tests: "promised", "too few", "impossible" or "undecided"."""
    if last_passed(walk, delta) is not None:
        return "promised"
    if not len(walk.threshold):
        return "too few"
    n, wrong = int(walk.predicted[0]), int(walk.wrong[0])
    # Where this many wrong would be improbable at a risk of ``error``, the risk is larger.
    return "impossible" if wrong and bdtrc(wrong - 1, n, error) <= delta else "undecided"
