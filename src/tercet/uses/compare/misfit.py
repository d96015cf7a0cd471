"""Where comparisons were asked more than once: whether a model fits, and how well one could do.

A saturated model gives every repeated comparison a probability of its own. How much better it fits
than the map says whether the map, or the model of an answer, misses something.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaln, digamma, xlogy

from tercet.ensemble import Ensemble
from tercet.errors import InputError
from tercet.provenance import Seed, entropy_of, seed_for
from tercet.triplets import Triplets, as_triplets
from tercet.uses.units import Index, number_comparisons

__all__ = ["LackOfFit", "NoiseCeiling", "lack_of_fit", "noise_ceiling"]

Floats = NDArray[np.float64]

MOST_DRAWS = 1000  # that votes are replicated from: more would not change the p-value
BLOCK = 2**22  # probabilities held at a time: 32 MB
DROP = 1.9207  # of the log-likelihood at the ends of a 95 % interval: half the χ²₁ quantile
CONCENTRATION = np.exp(np.linspace(-8.0, 8.0, 3201))


class Repeats(NamedTuple):
    """Comparisons that were answered more than once, in one orientation each."""

    rows: Index  # (Q,) a row of the triplets that asks it
    near: Index  # (Q,) answers as in that row
    total: Index  # (Q,) answers in all, 2 or more


@dataclass(frozen=True)
class NoiseCeiling:
    """The best that a model can do on comparisons like those that were repeated.

    With the votes of several observers on each comparison, this is about models that do not know
    who answers: one that does may do better. With votes of one observer each, it is about those.

    The probability that people call the first pair nearer differs from comparison to comparison;
    over comparisons it is taken to be Beta(a, a), for which of two pairs comes first means nothing.
    a is fitted to the votes (beta-binomial); intervals hold the a whose likelihood is within those
    of a 95 % likelihood-ratio test.

    Attributes
    ----------
    accuracy : float
        E max(p, 1 − p) = ½ + 4⁻ᵃ / (a B(a, a)): the share of answers that one can predict.
    log_loss : float
        E[−p log p − (1 − p) log(1 − p)] = ψ(2a + 1) − ψ(a + 1) nats per answer.
    accuracy_interval, log_loss_interval : (low, high)
    accuracy_bound : float
        ½ + √E(p − ½)² = ½ + ½/√(2a + 1), which the first cannot exceed whatever the shape of the
        distribution of p; two or three votes a comparison know its spread and little else.
    concentration : float
        a; small where people agree.
    n_comparisons : int
        That were repeated.
    """

    accuracy: float
    accuracy_interval: tuple[float, float]
    log_loss: float
    log_loss_interval: tuple[float, float]
    accuracy_bound: float
    concentration: float
    n_comparisons: int

    def __str__(self) -> str:
        low, high = self.accuracy_interval
        least, most = self.log_loss_interval
        return (
            f"noise ceiling from {self.n_comparisons} repeated comparisons: a model that takes the "
            f"votes on each as alike can predict at most {self.accuracy:.1%} of such answers (95 % "
            f"interval {low:.1%} to {high:.1%}; {self.accuracy_bound:.1%} whatever the shape), "
            f"with a log-loss of at least {self.log_loss:.3f} ({least:.3f} to {most:.3f})"
        )


@dataclass(frozen=True)
class LackOfFit:
    """The fitted answer probabilities against a probability of its own for each comparison.

    Attributes
    ----------
    deviance : float
        2·(log-likelihood of the saturated model − that of the map) over the repeated comparisons,
        averaged over the draws.
    expected : float
        The same for votes drawn from the model itself: what noise alone would give.
    p_value : float
        Share of draws in which votes replicated from the draw deviate at least as much from it as
        the real ones do (posterior predictive; Gelman, Meng & Stern 1996). The answers were seen
        by the fit, so it errs on the side of "fits".
    n_comparisons, n_answers : int
        Repeated comparisons, and answers to them.
    n_parameters : int
        What a map is free to choose: n·d − d(d + 1)/2 coordinates, and learned parameters.
    degrees : int
        Comparisons less parameters, the textbook's degrees of freedom: with few of them a map can
        follow the votes whatever the model. The p-value does not use them.
    ceiling : NoiseCeiling
    """

    deviance: float
    expected: float
    p_value: float
    n_comparisons: int
    n_answers: int
    n_parameters: int
    degrees: int
    ceiling: NoiseCeiling

    @property
    def ratio(self) -> float:
        """Deviance over what noise alone would give; 1 where the model fits."""
        return self.deviance / self.expected

    def __str__(self) -> str:
        return (
            f"deviance {self.deviance:.1f} on {self.n_comparisons} repeated comparisons "
            f"({self.n_answers} answers, {self.degrees} degrees of freedom); {self.expected:.1f} "
            f"expected if the model were right; p = {self.p_value:.3f}\n{self.ceiling}"
        )


def lack_of_fit(
    ensemble: Ensemble, triplets: Any, *, random_state: Seed = None
) -> LackOfFit | None:
    """Compare the fitted answer probabilities with a saturated model of repeated comparisons.

    Parameters
    ----------
    ensemble : Ensemble
        Of a model that is a probability, from the posterior.
    triplets : Triplets, array or data frame
        The answers it was fitted to. Repeated rows, turned rows and whole weights are votes on one
        comparison.
    random_state : None, int or numpy.random.Generator

    Returns
    -------
    LackOfFit, or None where it cannot tell: no comparison was asked twice, or weights are not
    counts of answers.
    """
    answers = as_triplets(triplets)
    asked = find_repeats(answers)
    if asked is None:
        return None
    step = -(-len(ensemble) // MOST_DRAWS)
    thinned = ensemble[::step]
    rng = np.random.default_rng(seed_for(entropy_of(random_state), 0))
    real, replicated = np.zeros(len(thinned)), np.zeros(len(thinned))
    size = max(1, BLOCK // len(thinned))
    for start in range(0, len(asked.rows), size):
        rows, near, total = (column[start : start + size] for column in asked)
        p = np.clip(thinned.answer_probability(answers[rows], by_draw=True), 1e-12, 1.0 - 1e-12)
        real += deviance(near, total, p)
        replicated += deviance(rng.binomial(total, p), total, p)
    free = _free_parameters(ensemble)
    return LackOfFit(
        float(real.mean()),
        float(replicated.mean()),
        float(np.mean(replicated >= real)),
        len(asked.rows),
        int(asked.total.sum()),
        free,
        len(asked.rows) - free,
        noise_ceiling(asked.near, asked.total),
    )


def find_repeats(triplets: Triplets) -> Repeats | None:
    """The comparisons that were answered at least twice; None where there are none."""
    if triplets.weights is not None and triplets.votes is None:
        return None
    votes = np.ones(len(triplets), dtype=np.int64) if triplets.votes is None else triplets.votes
    question = number_comparisons(triplets)
    first = np.unique(question, return_index=True)[1]
    # Two pairs of a row are turned where the first pair is not that of the row that asked first.
    pairs = triplets.pairs()
    own = np.sort(pairs[:, :2], axis=1)
    same = (own == own[first[question]]).all(axis=1)
    total = np.bincount(question, votes).astype(np.int64)
    near = np.bincount(question, votes * same).astype(np.int64)
    repeated = total > 1
    return Repeats(first[repeated], near[repeated], total[repeated]) if repeated.any() else None


def deviance(near: NDArray[np.integer], total: Index, p: Floats) -> Floats:
    """Deviance (S,) of votes, (Q,) or (S, Q), from probabilities (S, Q), summed over Q."""
    far, share = total - near, near / total
    saturated = xlogy(near, share) + xlogy(far, 1.0 - share)
    fitted = xlogy(near, p) + xlogy(far, 1.0 - p)
    return np.asarray(2.0 * (saturated - fitted).sum(axis=-1))


def noise_ceiling(near: ArrayLike, total: ArrayLike) -> NoiseCeiling:
    """Fit a symmetric beta-binomial to votes: ``near`` of ``total`` answers, (Q,) each.

    The mean share of the majority overstates the ceiling: four votes at p = .7 have a majority of
    .746 on average.
    """
    near, total = np.asarray(near), np.asarray(total)
    if near.ndim != 1 or near.shape != total.shape or not (total > 1).any():
        raise InputError(
            "a noise ceiling needs the votes on each comparison, of which some were asked twice "
            f"or more; got shapes {near.shape} and {total.shape}."
        )
    if not ((near >= 0) & (near <= total)).all():
        raise InputError("votes for near must lie between 0 and all votes on the comparison.")
    kinds, count = np.unique(np.stack([near, total - near], axis=1), axis=0, return_counts=True)
    k, rest = kinds.T[:, :, None]
    a = CONCENTRATION
    log_likelihood = count @ (betaln(k + a, rest + a) - betaln(a, a))
    best = int(np.argmax(log_likelihood))
    inside = log_likelihood >= log_likelihood[best] - DROP
    accuracy = 0.5 + np.exp(-a * math.log(4.0) - betaln(a, a)) / a
    log_loss = digamma(2.0 * a + 1.0) - digamma(a + 1.0)
    return NoiseCeiling(
        float(accuracy[best]),
        (float(accuracy[inside].min()), float(accuracy[inside].max())),
        float(log_loss[best]),
        (float(log_loss[inside].min()), float(log_loss[inside].max())),
        float(0.5 + 0.5 / math.sqrt(2.0 * a[best] + 1.0)),
        float(a[best]),
        len(near),
    )


def _free_parameters(ensemble: Ensemble) -> int:
    n = ensemble.n_objects
    if ensemble.kind == "distances":
        return n * (n - 1) // 2
    d = ensemble.n_components
    learned = sum(name != "variance" for name in ensemble.parameters)
    return n * d - d * (d + 1) // 2 + learned
