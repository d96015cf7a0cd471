"""The methods that are compared: names, and what makes an ensemble from answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from tercet.answers.either import Answers, weights_of
from tercet.arrays import Index
from tercet.bootstrap import Bootstrap
from tercet.embedder import Embedder
from tercet.ensemble import Ensemble
from tercet.estimators import CKL, STE
from tercet.held_out import held_out
from tercet.metrics import tabulate_confidence
from tercet.posterior import Posterior

Maker: TypeAlias = Bootstrap | Posterior
Make: TypeAlias = Callable[[int], Maker]

REPLICATES = 100
PENALTY = 1.0 / 30.0  # the MAP under the paper's prior variance, 15
QUIET: dict[str, Any] = {"n_jobs": 1, "progress": False}


def bootstraps(estimator: type[Embedder] = STE) -> dict[str, Make]:
    """Every bootstrap, and the paper's posterior, by name."""
    best, safe = estimator(2), estimator(2, penalty=PENALTY)

    def classic(of: Embedder, **options: Any) -> Make:
        return lambda seed: Bootstrap(of, REPLICATES, random_state=seed, **options, **QUIET)

    return {
        "paper bootstrap": lambda seed: Bootstrap.paper(best, random_state=seed, **QUIET),
        "paper Bayes": lambda seed: Posterior.paper(best, random_state=seed, **QUIET),
        "bootstrap of the MAP": classic(safe),
        "corrected subsamples of the MAP": classic(safe, fraction=0.4, correction=True),
        "parametric bootstrap of the MAP": classic(safe, parametric=True),
    }


def posterior(estimator: Embedder, **options: Any) -> Make:
    """A posterior of four chains of 1000 draws, the default, or as the options say."""
    return lambda seed: Posterior(estimator, random_state=seed, **options, **QUIET)


def log_ratio(*also: str) -> Make:
    """The posterior of CKL with a learned exponent and μ."""
    return posterior(CKL(2), learn=("exponent", "mu", *also))


def health(maker: Maker) -> dict[str, Any]:
    """What a fitted maker says of itself: R-hat and draws for chains, outcomes for replicates."""
    diagnostics = getattr(maker, "diagnostics_", None)
    if diagnostics is None:
        return {"counts": maker.ensemble_.provenance.get("counts")}
    return diagnostics.describe() | {"problems": diagnostics.problems}


# The limits by which all versions of the pages count, whatever tercet's own become.
R_HAT, ESS_A_CHAIN, ENOUGH_ESS, DIVERGENT = 1.05, 50, 400, 0.01


def is_suspect(found: Mapping[str, Any]) -> bool:
    """Whether chains, as `health` describes them, did not converge by the limits of the pages."""
    r_hat, bulk, tail = (found[name] for name in ("r_hat", "ess_bulk", "ess_tail"))
    if r_hat is None or bulk is None or tail is None:  # they were not numbers
        return True
    chains = found["n_chains"]
    return bool(
        r_hat >= R_HAT
        or min(bulk, tail) < min(ESS_A_CHAIN * chains, ENOUGH_ESS)
        or found["divergences"] > DIVERGENT * chains * found["n_samples"]
    )


def held_out_scores(ensemble: Ensemble, answers: Answers, units: Index) -> dict[str, Any]:
    """Loss and number of answers of each held-out unit, share of wrong ones, calibration error."""
    found = held_out(ensemble, answers, units, jointly=False)
    weights = weights_of(answers)
    return {
        "losses": (-found.log_density).round(7).tolist(),
        "sizes": np.bincount(units, weights).round(7).tolist(),
        "wrong": 1.0 - float(np.average(found.right, weights=weights)),
        "calibration": tabulate_confidence(found.confidence, found.right, least=0.0).error,
    }
