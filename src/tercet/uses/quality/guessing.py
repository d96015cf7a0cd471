"""Whether an observer's answers could be guesses: decisions that allow for chance.

An observer's answers are predicted from what the others said, and x of n predictions are correct.
If the observer guesses, x is binomial with ½, whatever the predictions are worth. Ordinary
observers differ: some are predicted better than others. Their share is taken to be logit-normal,
fitted to all observers together with an unknown portion of guessers. Guessing is reported only
where ½ is compatible with x and the ordinary observers are not.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, betaincinv, expit, log_expit, logsumexp
from scipy.stats import false_discovery_control, norm

from tercet.answers.questions import Index

__all__ = ["CANNOT_TELL", "FOLLOWS", "GUESSING", "REVERSED"]

Floats = NDArray[np.float64]

LEVEL = 0.05
POWER = 0.8
FOLLOWS, GUESSING = "follows the others", "looks like guessing"
REVERSED, CANNOT_TELL = "the other way round", "cannot tell"


# What ordinary observers may be like: the logit of the median share, the spread of the logits (all
# equally probable before, but large spreads less), and the portion of guessers beside them.
CENTRES = np.linspace(0.08, 4.96, 62)
SPREADS = np.linspace(0.0, 1.5, 31)
PORTIONS = np.array([0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5])
USUAL_SPREAD = 0.5
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(15)
WEIGHTS /= WEIGHTS.sum()


class Ordinary(NamedTuple):
    """How the shares of ordinary observers are distributed: logit-normal."""

    centre: float  # logit of the median share
    spread: float  # standard deviation of the logits


class Judged(NamedTuple):
    """What the answers of K observers say.

    Attributes
    ----------
    typical : float
        Share of answers predicted correctly of the typical observer: ½ where nothing is predicted
        better than by a coin, NaN where nothing is predicted.
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

    Answers are *the other way round* if P(Binomial(n, ½) ≤ x) is so small that, of those who are
    found so, few are chance (false discovery rate 5 %; Benjamini & Hochberg 1995). Of the rest, an
    observer *follows the others* if P(Binomial(n, ½) ≥ x) ≤ 5 %, and *looks like guessing* if not,
    and if the probability that an ordinary observer has x or less is so small in the same sense.

    Both numbers need not be whole: answers that depend on each other count less than one each.
    """
    some = n > 0
    if not some.any():
        nothing = np.full(len(n), np.nan)
        return Judged(math.nan, nothing, nothing, (CANNOT_TELL,) * len(n))
    turned = _discoveries(at_most(right, n, 0.5), some)
    typical, below = 0.5, np.zeros(len(n), dtype=np.bool_)
    rest = some & ~turned
    if rest.any() and at_least(right[rest].sum(), n[rest].sum(), 0.5) <= LEVEL:
        ordinary = fit_ordinary(right[rest], n[rest])
        typical = float(expit(ordinary.centre))
        shares = expit(ordinary.centre + ordinary.spread * NODES)
        below = _discoveries(at_most(right[:, None], n[:, None], shares) @ WEIGHTS, rest)
    above = at_least(right, n, 0.5) <= LEVEL
    verdicts = np.select([turned, above, below], [REVERSED, FOLLOWS, GUESSING], CANNOT_TELL)
    return Judged(typical, *interval(right, n), tuple(verdicts.tolist()))


def fit_ordinary(right: Floats, n: Floats) -> Ordinary:
    """Fit ordinary observers beside an unknown portion π of guessers.

    The likelihood of an observer is (1 − π)·E Binomial(x; n, share) + π·Binomial(x; n, ½), the
    two groups of Efron (2008): guessers neither lower what is ordinary nor widen it. Centre and
    spread are posterior means: the likeliest spread of a few observers is too small.
    """
    with np.errstate(divide="ignore"):
        guessing, ordinary = np.log(PORTIONS), np.log1p(-PORTIONS)
    guess = n * math.log(0.5)
    x, wrong = right[:, None, None], (n - right)[:, None, None]
    log_posterior = np.empty((len(CENTRES), len(SPREADS)))
    for c, centre in enumerate(CENTRES):
        logit = centre + SPREADS[:, None] * NODES  # (spreads, nodes)
        log_p = logsumexp(
            x * log_expit(logit) + wrong * log_expit(-logit) + np.log(WEIGHTS), axis=2
        )
        mixed = np.logaddexp(
            ordinary[:, None, None] + log_p, guessing[:, None, None] + guess[:, None]
        )  # (portions, observers, spreads)
        log_posterior[c] = logsumexp(mixed.sum(axis=1), axis=0)
    log_posterior -= 0.5 * (SPREADS / USUAL_SPREAD) ** 2
    posterior = np.exp(log_posterior - logsumexp(log_posterior))
    return Ordinary(float(posterior.sum(axis=1) @ CENTRES), float(posterior.sum(axis=0) @ SPREADS))


def _discoveries(p: Floats, tested: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which of the tested are found at a false discovery rate of 5 %, (K,)."""
    found = np.zeros(len(p), dtype=np.bool_)
    found[tested] = false_discovery_control(np.clip(p[tested], 0.0, 1.0)) <= LEVEL
    return found


def at_most(x: Floats, n: Floats, p: Floats | float) -> Floats:
    """P(Binomial(n, p) ≤ x), as the beta integral that also knows parts of answers."""
    x = np.minimum(x, n)
    return np.where(x < n, betainc(np.maximum(n - x, 1e-300), x + 1.0, 1.0 - p), 1.0)


def at_least(x: Floats, n: Floats, p: Floats | float) -> Floats:
    """P(Binomial(n, p) ≥ x), likewise."""
    return at_most(n - x, n, 1.0 - p)


def interval(right: Floats, n: Floats) -> tuple[Floats, Floats]:
    """95 % interval, (K,) each, of Clopper and Pearson (1934); NaN where n is 0.

    With parts of answers, for those that depend on each other, it is that of Korn and Graubard
    (1998).
    """
    tail, wrong = LEVEL / 2.0, n - right
    safe = np.maximum(right, 1e-300), np.maximum(wrong, 1e-300)
    low = np.where(right > 0, betaincinv(safe[0], wrong + 1.0, tail), 0.0)
    high = np.where(wrong > 0, betaincinv(right + 1.0, safe[1], 1.0 - tail), 1.0)
    return np.where(n > 0, low, np.nan), np.where(n > 0, high, np.nan)


def design_effect(residuals: Floats, votes: Index, clusters: Index) -> float:
    """How many times larger dependence makes the variance of a sum; 1 where there is none.

    Parameters
    ----------
    residuals : (m,) array
        Whether each answer was predicted correctly, less its observer's share.
    votes : (m,) integer array
        Answers in each row, which count as independent.
    clusters : (m,) integer array
        What depends on each other: answers of one screen, or of one observer to one comparison.
    """
    alone = float(votes @ residuals**2)
    sums = np.bincount(clusters, votes * residuals)
    sizes = np.bincount(clusters)
    if sizes.max(initial=0) < 2 or alone == 0.0:
        return 1.0
    # A row on its own adds to both sums alike, however many votes it has.
    shared = sizes > 1
    own = np.bincount(clusters, votes * residuals**2)
    return max(1.0, float((sums[shared] @ sums[shared] + own[~shared].sum()) / alone))


def answers_needed(typical: float) -> float:
    """How many answers tell a guesser from a typical observer with probability 80 %; may be ∞.

    The normal approximation for one share at a level of 5 %, corrected for counts being whole
    (Fleiss, Levin & Paik 2003), for one observer among equals: where observers differ it takes
    more.
    """
    if not typical > 0.5:
        return math.inf
    gap = typical - 0.5
    reach = norm.ppf(1.0 - LEVEL) * math.sqrt(typical * (1.0 - typical)) + norm.ppf(POWER) * 0.5
    n = (reach / gap) ** 2
    # With fewer than five answers nobody is above chance.
    return float(max(math.ceil(n / 4.0 * (1.0 + math.sqrt(1.0 + 2.0 / (n * gap))) ** 2), 5))
