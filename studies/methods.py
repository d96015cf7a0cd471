"""The methods that are compared: names, and what makes an ensemble from answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from tercet.bootstrap import Bootstrap
from tercet.embedder import Embedder
from tercet.estimators import CKL, STE
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
