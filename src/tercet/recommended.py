"""The recommended way from answers to maps, in one place; an integer stands for it.

``Posterior(2)`` is the posterior of the crowd kernel in two dimensions whose exponent, mu and lapse
rate are learned with the points. In simulations with three kinds of noise its probabilities were
the best calibrated of what was tried, and on people's answers it predicted best (the tables are in
docs/calibration.md): the exponent follows the noise, mu the size, and the lapse rate takes up
answers given at random. Where mu is learned it is the size of the map, so the prior of the points
is a standard normal one.

``Bootstrap(2)`` is its counterpart by resampling. It takes the same similarity with exponent and mu
where the maximum of that posterior puts them, and the penalty that is the same prior.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from tercet.embedder import Embedder
from tercet.estimators import CKL

__all__ = [
    "LEARNED",
    "PENALTY",
    "QUICK",
    "REPLICATES",
    "Sizes",
    "chain_sizes",
    "resolve",
]

LEARNED = ("exponent", "mu", "lapse")
PENALTY = 0.5  # of a bootstrap: the standard normal prior
REPLICATES = 200  # of a bootstrap: 95 % intervals are read off the fifth from either end

MANY = 30_000  # answers from which on two chains have to do

# For choosing among dimensions, or among numbers of answers: many short runs of the same model.
QUICK: dict[str, Any] = {"n_samples": 250, "n_chains": 2, "warmup": 250}


class Sizes(NamedTuple):
    """How much a posterior draws."""

    n_samples: int  # of each chain
    n_chains: int


def chain_sizes(n_rows: int) -> Sizes:
    """What suits so many rows of answers: many say so much that fewer draws are worth as much."""
    return Sizes(500, 2) if n_rows > MANY else Sizes(1000, 4)


def resolve(estimator: Embedder | int) -> Embedder:
    """The estimator that is meant: a number stands for the recommended one of that dimension."""
    return estimator if isinstance(estimator, Embedder) else CKL(int(estimator))
