"""Each observer compared with the others, and whether answers could be guesses."""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit, logsumexp
from scipy.stats import false_discovery_control, norm

from tercet.answers.checks import label_observers, match_observers, natural_key
from tercet.answers.questions import deal
from tercet.answers.repeats import Prepared, answer_pairs, by_observer, tally
from tercet.answers.shares import LEVEL, at_least, at_most, interval
from tercet.arrays import Floats, Index
from tercet.ensemble import Ensemble
from tercet.errors import DataWarning, InputError
from tercet.estimators import STE
from tercet.metrics import satisfied
from tercet.text import listing

__all__ = [
    "CANNOT_TELL",
    "FOLLOWS",
    "GUESSING",
    "REVERSED",
    "ObserverCheck",
]

FOLDS = 10  # of observers, at most
# How often observers are split into folds: the maps of all splits vote, so that a verdict depends
# less on a single split. Odd; fewer above MANY answers, where maps are precise enough.
SPLITS, FEWER_SPLITS, MANY = 9, 3, 50_000
# Answers are predicted by a map in the plane, the MAP under a Gaussian prior of variance 15.
DIMENSION, PENALTY, TOLERANCE = 2, 1.0 / 30.0, 1e-6
# Common reasons to exclude observers (see docs/quality.md).
MOST_FAILED = 0.2
FASTEST = 1.0  # seconds
FAILED_CATCH, TOO_FAST = "failed catch trials", "very fast"


class ObserverCheck(NamedTuple):
    """One observer; shares of nothing are NaN.

    Attributes
    ----------
    observer : str
    answers : int
    retests, consistency : int, float
        Pairs of this observer's answers to the same comparison, and the share that are equal.
    shared, agreement : int, float
        Answers to comparisons on which the other observers have a majority, and the share that
        agree with it.
    predicted, accuracy : int, float
        Answers predicted by a map of other observers' answers, and the share predicted correctly.
    interval : (low, high)
        95 % interval of ``accuracy``.
    response_time : float
        Mean, in seconds, of the answers (screens) whose time is known.
    catch_trials, catch_passed : int
    verdict : str
        "follows the others", "looks like guessing", "the other way round" or "cannot tell".
    flags : tuple of str
        What needs attention: the second or third of these verdicts, "failed catch trials" (more
        than 20 %) and "very fast" (less than 1 s on average).
    """

    observer: str
    answers: int
    retests: int
    consistency: float
    shared: int
    agreement: float
    predicted: int
    accuracy: float
    interval: tuple[float, float]
    response_time: float
    catch_trials: int
    catch_passed: int
    verdict: str
    flags: tuple[str, ...]


class Observed(NamedTuple):
    """All observers, and what is typical of them."""

    checks: tuple[ObserverCheck, ...]
    typical: float  # share of a typical observer's answers that are predicted correctly
    needed: float  # answers to distinguish guessing from a typical observer


def check_observers(
    prepared: Prepared, catch: Any, ensemble: Ensemble | None, rng: np.random.Generator
) -> Observed:
    """Compare every observer with the others; empty if observers are unknown."""
    if prepared.observer is None:
        return Observed((), math.nan, math.inf)
    size = len(prepared.labels)
    answers = tally(prepared.observer, prepared.votes, size)
    retests, differing = _retests(prepared)
    shared, agreeing = _with_majority(prepared)
    signs = _predict(prepared, rng) if ensemble is None else _predict_with(prepared, ensemble)
    predicted, right = _tally_pairs(prepared, signs != 0, signs > 0)
    effect = _dependence(prepared, signs)
    judged = judge_observers(right / effect, predicted / effect)
    times = _response_times(prepared)
    trials, passed = _catch_trials(prepared, catch)
    checks = tuple(
        ObserverCheck(
            observer=prepared.labels[k],
            answers=int(answers[k]),
            retests=int(retests[k]),
            consistency=1.0 - _share(differing[k], retests[k]),
            shared=int(shared[k]),
            agreement=_share(agreeing[k], shared[k]),
            predicted=int(predicted[k]),
            accuracy=_share(right[k], predicted[k]),
            interval=(float(judged.low[k]), float(judged.high[k])),
            response_time=float(times[k]),
            catch_trials=int(trials[k]),
            catch_passed=int(passed[k]),
            verdict=judged.verdicts[k],
            flags=_flags(judged, k, int(trials[k]), int(passed[k]), float(times[k])),
        )
        for k in range(size)
    )
    return Observed(checks, judged.typical, float(np.ceil(effect * answers_needed(judged.typical))))


# --- agreement --------------------------------------------------------------------------------


def _retests(prepared: Prepared) -> tuple[Index, Index]:
    """Pairs of answers of each observer, (K,), to the same question, and pairs that differ."""
    place, near, total = by_observer(prepared)
    assert prepared.observer is not None
    who = np.empty(len(total), dtype=np.int64)
    who[place] = prepared.observer
    pairs, differing = answer_pairs(near, total)
    size = len(prepared.labels)
    return tally(who, pairs, size), tally(who, differing, size)


def _with_majority(prepared: Prepared) -> tuple[Index, Index]:
    """Answers, (K,), for which the others have a majority, and those that agree with it."""
    place, near, total = by_observer(prepared)
    lead = np.bincount(prepared.question, prepared.votes * np.where(prepared.first, 1, -1))
    others = lead[prepared.question] - (2 * near - total)[place]
    return _tally_pairs(prepared, others != 0, (others > 0) == prepared.first)


def _tally_pairs(
    prepared: Prepared, counted: NDArray[np.bool_], good: NDArray[np.bool_]
) -> tuple[Index, Index]:
    """Answers of each observer, (K,), that are counted, and those of them that are good."""
    assert prepared.observer is not None
    size = len(prepared.labels)
    votes = prepared.votes * counted
    return tally(prepared.observer, votes, size), tally(prepared.observer, votes * good, size)


# --- answers predicted from those of others ----------------------------------------------------


def _predict(prepared: Prepared, rng: np.random.Generator) -> Index:
    """+1 where maps of other observers' answers predict a row, −1 where they predict the opposite.

    Shape (m,); 0 where nobody else mentioned one of the objects. The maps have not seen any answer
    of the row's observer, so half of all guesses are predicted correctly.
    """
    if len(prepared.labels) < 2:
        return np.zeros(len(prepared.triplets), dtype=np.int64)
    splits = SPLITS if len(prepared.triplets) <= MANY else FEWER_SPLITS
    return np.sign(sum(_predict_once(prepared, rng) for _ in range(splits)))


def _predict_once(prepared: Prepared, rng: np.random.Generator) -> Index:
    """The predictions from one split, (m,)."""
    triplets, observer = prepared.triplets, prepared.observer
    assert observer is not None
    signs = np.zeros(len(triplets), dtype=np.int64)
    k = min(FOLDS, len(prepared.labels))
    fold = deal(observer, k, rng)
    for number in range(k):
        own, rest = triplets[fold == number], triplets[fold != number]
        seen = np.bincount(rest.array.ravel(), minlength=triplets.n_objects) > 0
        estimator = STE(DIMENSION, penalty=PENALTY, tol=TOLERANCE)
        embedding = estimator.solve(rest, rng).embedding
        known = seen[own.array].all(axis=1)
        right = satisfied(embedding, own)
        signs[fold == number] = np.where(known, np.where(right, 1, -1), 0)
    return signs


def _predict_with(prepared: Prepared, ensemble: Ensemble) -> Index:
    """As `_predict`, by an ensemble of other answers; 0 where it is undecided."""
    return np.asarray(ensemble.predict(prepared.triplets, threshold=0.5), dtype=np.int64)


def _dependence(prepared: Prepared, signs: Index) -> float:
    """The design effect of answers that share a screen, or an observer and a comparison."""
    assert prepared.observer is not None
    triplets, counted = prepared.triplets, signs != 0
    if not counted.any():
        return 1.0
    predicted, right = _tally_pairs(prepared, counted, signs > 0)
    share = right / np.maximum(predicted, 1)
    by_screen = triplets.shares_screens
    clusters = triplets.number_screens() if by_screen else by_observer(prepared)[0]
    residuals = (signs > 0) - share[prepared.observer]
    return design_effect(residuals[counted], prepared.votes[counted], clusters[counted])


# --- response times and catch trials ----------------------------------------------------------


def _response_times(prepared: Prepared) -> Floats:
    """Mean response time of each observer, (K,), in seconds; a screen counts once."""
    triplets, times = prepared.triplets, prepared.triplets.response_times
    assert prepared.observer is not None
    size = len(prepared.labels)
    if times is None:
        return np.full(size, np.nan)
    rows = np.flatnonzero(~np.isnan(times))
    if triplets.screens is not None:
        screens = triplets.number_screens()[rows]
        rows = rows[np.unique(screens, return_index=True)[1]]
    who = prepared.observer[rows]
    known = np.bincount(who, minlength=size)
    total = np.bincount(who, times[rows], size)
    return np.where(known > 0, total / np.maximum(known, 1), np.nan)


def check_catch(catch: Any) -> None:
    """Raise unless each catch trial has an observer, or none has."""
    if catch is None:
        return
    passed = np.asarray(catch.passed)
    if passed.ndim != 1 or passed.dtype != np.bool_:
        raise InputError(
            "catch.passed must be True or False for each catch trial, got shape "
            f"{passed.shape} of type {passed.dtype}."
        )
    if catch.observers is not None and np.shape(catch.observers) != passed.shape:
        raise InputError(
            f"catch.observers must name the observer of each of the {len(passed)} catch trials, "
            f"or be None; got shape {np.shape(catch.observers)}."
        )


def _catch_trials(prepared: Prepared, catch: Any) -> tuple[Index, Index]:
    """Catch trials of each observer, (K,), and those passed."""
    size = len(prepared.labels)
    if catch is None or catch.observers is None:
        return np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    who = match_observers(catch.observers, prepared.labels)
    known = who >= 0
    if len(known) and not known.any():
        warnings.warn(
            "the catch trials cannot be matched to the observers of the answers, so they are not "
            f"used; they are by {_some(catch.observers)}, the answers by "
            f"{_some(prepared.labels)}. Use the same observer names in both.",
            DataWarning,
            stacklevel=4,
        )
    trials = tally(who[known], np.ones(known.sum()), size)
    return trials, tally(who[known], np.asarray(catch.passed)[known], size)


def _some(observers: Any) -> str:
    labels = sorted(set(label_observers(observers)), key=natural_key)
    return listing(labels, range(len(labels)), limit=3)


def _flags(judged: Judged, k: int, trials: int, passed: int, seconds: float) -> tuple[str, ...]:
    verdict = judged.verdicts[k]
    found = [verdict] if verdict in (GUESSING, REVERSED) else []
    if trials - passed > MOST_FAILED * trials:
        found.append(FAILED_CATCH)
    if seconds < FASTEST:
        found.append(TOO_FAST)
    return tuple(found)


def _share(part: int, whole: int) -> float:
    return float(part / whole) if whole else math.nan


# --- guessing: decisions that allow for chance --------------------------------------------------


POWER = 0.8
FOLLOWS, GUESSING = "follows the others", "looks like guessing"
REVERSED, CANNOT_TELL = "the other way round", "cannot tell"


# Grid for typical observers: the logit of the median share, the spread of the logits (the prior is
# flat, but for large spreads), and the proportion of observers who guess.
CENTRES = np.linspace(0.08, 4.96, 62)
SPREADS = np.linspace(0.0, 1.5, 31)
PORTIONS = np.array([0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5])
USUAL_SPREAD = 0.5
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
WEIGHTS /= WEIGHTS.sum()


class Typical(NamedTuple):
    """The distribution of shares over typical observers: logit-normal."""

    centre: float  # logit of the median share
    spread: float  # standard deviation of the logits


class Judged(NamedTuple):
    """Verdicts on K observers.

    Attributes
    ----------
    typical : float
        Share of the typical observer's answers predicted correctly: ½ if none are predicted above
        chance level, NaN if nothing is predicted.
    low, high : (K,) array
        95 % interval of each observer's share.
    verdicts : tuple of K str
    """

    typical: float
    low: Floats
    high: Floats
    verdicts: tuple[str, ...]


def judge_observers(right: Floats, n: Floats) -> Judged:
    """Judge observers of whose n answers, (K,), ``right``, (K,), were predicted correctly.

    Answers are *the other way round* if P(Binomial(n, ½) ≤ x) is significant at a false discovery
    rate of 5 % (Benjamini & Hochberg 1995). Of the rest, an observer *follows the others* if
    P(Binomial(n, ½) ≥ x) ≤ 5 %, and otherwise *looks like guessing* if the probability that a
    typical observer has x or less is significant in the same sense.

    The numbers need not be whole: dependent answers count less than one each.
    """
    some = n > 0
    if not some.any():
        nothing = np.full(len(n), np.nan)
        return Judged(math.nan, nothing, nothing, (CANNOT_TELL,) * len(n))
    below_chance = _discoveries(at_most(right, n, 0.5), some)
    typical, below = 0.5, np.zeros(len(n), dtype=np.bool_)
    rest = some & ~below_chance
    if rest.any() and at_least(right[rest].sum(), n[rest].sum(), 0.5) <= LEVEL:
        fitted = fit_typical(right[rest], n[rest])
        typical = float(expit(fitted.centre))
        shares = expit(fitted.centre + fitted.spread * NODES)
        below = _discoveries(at_most(right[:, None], n[:, None], shares) @ WEIGHTS, rest)
    above = at_least(right, n, 0.5) <= LEVEL
    verdicts = np.select([below_chance, above, below], [REVERSED, FOLLOWS, GUESSING], CANNOT_TELL)
    return Judged(typical, *interval(right, n), tuple(verdicts.tolist()))


def fit_typical(right: Floats, n: Floats) -> Typical:
    """Fit typical observers together with an unknown proportion π who guess.

    The likelihood of an observer is (1 − π)·E Binomial(x; n, share) + π·Binomial(x; n, ½), the
    two-groups model of Efron (2008), so that guessing neither lowers nor widens what is typical.
    Centre and spread are posterior means: the maximum-likelihood spread of a few observers is too
    small.
    """
    with np.errstate(divide="ignore"):
        log_guessing, log_typical = np.log(PORTIONS), np.log1p(-PORTIONS)
    guess = n * math.log(0.5)
    x, wrong = right[:, None, None], (n - right)[:, None, None]
    log_posterior = np.empty((len(CENTRES), len(SPREADS)))
    for c, centre in enumerate(CENTRES):
        logit = centre + SPREADS[:, None] * NODES  # (spreads, nodes)
        log_p = logsumexp(
            x * log_expit(logit) + wrong * log_expit(-logit) + np.log(WEIGHTS), axis=2
        )
        mixed = np.logaddexp(
            log_typical[:, None, None] + log_p, log_guessing[:, None, None] + guess[:, None]
        )  # (portions, observers, spreads)
        log_posterior[c] = logsumexp(mixed.sum(axis=1), axis=0)
    log_posterior -= 0.5 * (SPREADS / USUAL_SPREAD) ** 2
    posterior = np.exp(log_posterior - logsumexp(log_posterior))
    return Typical(float(posterior.sum(axis=1) @ CENTRES), float(posterior.sum(axis=0) @ SPREADS))


def _discoveries(p: Floats, tested: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which of the tested are significant at a false discovery rate of 5 %, (K,)."""
    found = np.zeros(len(p), dtype=np.bool_)
    found[tested] = false_discovery_control(np.clip(p[tested], 0.0, 1.0)) <= LEVEL
    return found


def design_effect(residuals: Floats, votes: Index, clusters: Index) -> float:
    """The factor by which dependence increases the variance of a sum; 1 without dependence.

    Parameters
    ----------
    residuals : (m,) array
        Whether each answer was predicted correctly, minus its observer's share.
    votes : (m,) integer array
        Answers in each row, which count as independent.
    clusters : (m,) integer array
        Dependent answers: of one screen, or of one observer to one comparison.
    """
    alone = float(votes @ residuals**2)
    sums = np.bincount(clusters, votes * residuals)
    sizes = np.bincount(clusters)
    if sizes.max(initial=0) < 2 or alone == 0.0:
        return 1.0
    # A row on its own adds the same to both sums, however many votes it has.
    shared = sizes > 1
    own = np.bincount(clusters, votes * residuals**2)
    return max(1.0, float((sums[shared] @ sums[shared] + own[~shared].sum()) / alone))


def answers_needed(typical: float) -> float:
    """Answers that distinguish guessing from a typical observer with probability 80 %; may be ∞.

    The normal approximation for one share at a level of 5 % with continuity correction (Fleiss,
    Levin & Paik 2003), for one observer among equals; more are needed if observers differ.
    """
    if not typical > 0.5:
        return math.inf
    gap = typical - 0.5
    reach = norm.ppf(1.0 - LEVEL) * math.sqrt(typical * (1.0 - typical)) + norm.ppf(POWER) * 0.5
    n = (reach / gap) ** 2
    # Fewer than five answers cannot be significantly above chance.
    return float(max(math.ceil(n / 4.0 * (1.0 + math.sqrt(1.0 + 2.0 / (n * gap))) ** 2), 5))
