"""Embeddings drawn from the posterior: priors, samplers, diagnostics (paper, section 3.1)."""

from tercet.posterior.posterior import Posterior
from tercet.posterior.priors import DistancePrior, NormalPrior

__all__ = ["DistancePrior", "NormalPrior", "Posterior"]
