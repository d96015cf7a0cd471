"""Where comparisons were asked more than once: whether a model fits.

A saturated model gives every repeated comparison a probability of its own. How much better it fits
than the map says whether the map, or the model of an answer, misses something.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from tercet.answers.questions import Index
from tercet.answers.repeats import NoiseCeiling, noise_ceiling, repeated_votes
from tercet.ensemble import Ensemble
from tercet.provenance import Seed, entropy_of, seed_for
from tercet.triplets import as_triplets

__all__ = ["LackOfFit", "lack_of_fit"]

Floats = NDArray[np.float64]

MOST_DRAWS = 1000  # that votes are replicated from: more would not change the p-value
BLOCK = 2**22  # probabilities held at a time: 32 MB


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
    asked = repeated_votes(answers)
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


def deviance(near: NDArray[np.integer], total: Index, p: Floats) -> Floats:
    """Deviance (S,) of votes, (Q,) or (S, Q), from probabilities (S, Q), summed over Q."""
    far, share = total - near, near / total
    saturated = xlogy(near, share) + xlogy(far, 1.0 - share)
    fitted = xlogy(near, p) + xlogy(far, 1.0 - p)
    return np.asarray(2.0 * (saturated - fitted).sum(axis=-1))


def _free_parameters(ensemble: Ensemble) -> int:
    n = ensemble.n_objects
    if ensemble.kind == "distances":
        return n * (n - 1) // 2
    d = ensemble.n_components
    learned = sum(name != "variance" for name in ensemble.parameters)
    return n * d - d * (d + 1) // 2 + learned
