"""What may be learned with the points, and the priors used when none is given."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from tercet.embedder import is_number
from tercet.errors import InputError
from tercet.models import CKLModel, Model
from tercet.models.base import Array
from tercet.posterior.priors import DistancePrior, NormalPrior
from tercet.posterior.target import EXPONENT, LAPSE, MU

Learn = dict[str, tuple[float, float]]

PARAMETERS = {"lapse": LAPSE, "exponent": EXPONENT, "mu": MU}

# Beta(1, 9) of a lapse rate: 10 % on average, 0 most likely. Log-normal (median, spread) of the
# others; an exponent of 1.2 / sigma is close to the paper's noise.
PRIORS: Learn = {"lapse": (1.0, 9.0), "exponent": (3.0, 1.0), "mu": (0.05, 1.0)}

# Log-normal (median, spread) of the variance of the points.
VARIANCE = (1.0, 1.0)


def check_learn(learn: Sequence[str] | Mapping[str, tuple[float, float]], model: Model) -> Learn:
    """Check what to learn; returns its priors by name, in the order of ``PARAMETERS``."""
    if isinstance(learn, str):
        raise InputError(f"learn takes several names, such as learn=({learn!r},), got {learn!r}.")
    if not isinstance(learn, Mapping | Sequence):
        raise InputError(f"learn takes names, such as learn=('lapse',), or a dict, got {learn!r}.")
    given = dict(learn) if isinstance(learn, Mapping) else dict.fromkeys(learn)
    known = [name for name in PARAMETERS if name == "lapse" or isinstance(model, CKLModel)]
    for name, prior in given.items():
        if name not in known:
            raise InputError(
                f"learn knows {', '.join(map(repr, known))} for {type(model).__name__}, "
                f"got {name!r}."
            )
        if prior is not None and not (
            np.shape(prior) == (2,) and all(is_number(part) and part > 0 for part in prior)
        ):
            raise InputError(
                f"learn={{{name!r}: ...}} takes two positive numbers, the prior, got {prior!r}."
            )
    priors = {name: PRIORS[name] if prior is None else prior for name, prior in given.items()}
    return {
        name: (float(priors[name][0]), float(priors[name][1])) for name in known if name in priors
    }


def default_prior(
    prior: NormalPrior | DistancePrior | None, penalty: float, model: Model, learn: Learn
) -> NormalPrior | DistancePrior:
    """The prior that is meant."""
    if prior is not None:
        if penalty > 0.0:
            raise InputError(
                f"the estimator's penalty={penalty:g} is a prior of variance {0.5 / penalty:g}, "
                "and another prior is given; give one of them."
            )
        if not isinstance(prior, NormalPrior | DistancePrior):
            raise InputError(f"prior must be a NormalPrior or a DistancePrior, got {prior!r}.")
        return prior
    if penalty > 0.0:
        return NormalPrior(0.5 / penalty)
    # Where mu is zero the model does not see the size, and where mu is learned it is the size.
    sees_size = not isinstance(model, CKLModel) or (model.mu > 0.0 and "mu" not in learn)
    return (
        NormalPrior(VARIANCE[0], learned=True, spread=VARIANCE[1]) if sees_size else NormalPrior()
    )


def first_theta(learn: Learn, model: Model) -> Array:
    """Where the learned parameters start: the model's own values, and a small lapse rate."""
    start = {"lapse": math.log(0.05 / 0.95)}
    if isinstance(model, CKLModel):
        start |= {"exponent": math.log(model.exponent), "mu": math.log(max(model.mu, 1e-3))}
    return np.array([start[name] for name in learn])


def theta_priors(learn: Learn) -> Array:
    """Priors (k, 2) as the target takes them: the others than the lapse rate by their logarithm."""
    rows = [(a, b) if name == "lapse" else (math.log(a), b) for name, (a, b) in learn.items()]
    return np.array(rows, dtype=np.float64).reshape(-1, 2)


def natural(learn: Learn, thetas: Array) -> dict[str, Array]:
    """The learned parameters on their own scale, (S,) each, from thetas (S, k)."""
    columns = zip(learn, thetas.T, strict=True)
    return {
        name: 1.0 / (1.0 + np.exp(-column)) if name == "lapse" else np.exp(column)
        for name, column in columns
    }
