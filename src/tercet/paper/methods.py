"""The paper's two methods and our recommended one, and the simulated data they are tested on."""

from __future__ import annotations

from typing import Any

import numpy as np

from tercet import simulate
from tercet.answers.triplets import Triplets
from tercet.arrays import Floats, Index
from tercet.bootstrap import Bootstrap
from tercet.embedder import Embedder
from tercet.engine.sdp import critical_slack_weight
from tercet.ensemble import Ensemble
from tercet.estimators import CKL, GNMDS, STE, TSTE
from tercet.metrics import brier_score, expected_calibration_error, predicted_correctly
from tercet.paper.experiments import Row
from tercet.paper.settings import GNMDS_RATIO
from tercet.posterior import Posterior

__all__ = [
    "BAYES",
    "BOOTSTRAP",
    "ESTIMATORS",
    "RECOMMENDED",
    "draw_ensemble",
    "embedder",
    "mixture",
    "score_probabilities",
    "stream",
]


BOOTSTRAP, BAYES, RECOMMENDED = "bootstrap", "Bayes", "recommended"
ESTIMATORS: dict[str, type[Embedder]] = {"STE": STE, "t-STE": TSTE, "GNMDS": GNMDS}
PI = {BOOTSTRAP: "paper", BAYES: "paper", RECOMMENDED: "vote"}  # how π is computed
QUIET: dict[str, Any] = {"n_jobs": 1, "progress": False}  # cells run side by side

# What random numbers are for: the first word of the key that spawns a seed.
POINTS, TRIPLETS, METHOD, LABELS = range(4)
CHOICE, NOISE, PERCEPTION, PRIOR = range(5, 9)


def stream(repeat: int, *key: int) -> np.random.Generator:
    """The random numbers of one repeat, for one purpose."""
    return np.random.default_rng(np.random.SeedSequence(repeat, spawn_key=key))


def mixture(n: int) -> tuple[Floats, Index]:
    """The points (n, 2) of the mixture and their component: the same in all repeats."""
    return simulate.gaussian_mixture(n, random_state=stream(0, POINTS))


def embedder(
    model: str, d: int, triplets: Triplets, share: float = 1.0, ratio: float = GNMDS_RATIO
) -> Embedder:
    """An estimator for some share of the triplets.

    The weight C of GNMDS is ``ratio`` times the largest at which all points coincide, which is the
    larger the fewer triplets there are: of a share r about 1/r times that of all.
    """
    if model != "GNMDS":
        return ESTIMATORS[model](d)
    C = ratio * critical_slack_weight(triplets.pairs(), triplets.n_objects) / share
    return GNMDS(d, C=C)


def draw_ensemble(
    method: str,
    model: str,
    d: int,
    triplets: Triplets,
    seed: int,
    draws: int,
    *key: int,
    chains: int = 4,
    ratio: float = GNMDS_RATIO,
) -> Ensemble:
    """Embeddings by one of the methods; the model of the recommended one is always CKL.

    Parameters
    ----------
    method : {"bootstrap", "Bayes", "recommended"}
    model : {"STE", "t-STE", "GNMDS"}
    d : int
        Dimensions.
    triplets : Triplets
    seed : int
        The repeat.
    draws : int
        Of each chain of the recommended posterior; the paper's methods have their own number.
    *key : int
        Tells apart the draws of one repeat, where there are several.
    chains : int
        Of the recommended posterior.
    ratio : float
        Of GNMDS, see `embedder`.
    """
    random_state = stream(seed, METHOD, *key)
    maker: Bootstrap | Posterior
    if method == BOOTSTRAP:
        maker = Bootstrap.paper(ESTIMATORS[model](d), random_state=random_state, **QUIET)
        maker.estimator = embedder(model, d, triplets, maker.fraction, ratio)
    elif method == BAYES:
        maker = Posterior.paper(ESTIMATORS[model](d), random_state=random_state, **QUIET)
    else:
        learn = ("exponent", "mu")
        size: dict[str, Any] = {"n_samples": draws, "n_chains": chains}
        maker = Posterior(CKL(d), learn=learn, random_state=random_state, **size, **QUIET)
    ensemble: Ensemble = maker.fit(triplets).ensemble_
    return ensemble


def score_probabilities(pi: Floats) -> Row:
    """Scores of probabilities of true triplets: uncertainty, error, calibration, Brier score.

    The uncertainty is the mean of 1 − π over true triplets (supplement); the error is the share
    with π below ½, ties counting half.
    """
    return {
        "uncertainty": float(np.mean(1.0 - pi)),
        "error": float(np.mean(1.0 - predicted_correctly(pi))),
        "calibration error": expected_calibration_error(pi),
        "brier": brier_score(pi),
    }
