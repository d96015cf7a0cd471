"""What may be learned with the points, and the priors used when none is given."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tercet.embedder import is_number
from tercet.errors import InputError
from tercet.models.base import LAPSE, OFFSET, Array, Model
from tercet.posterior.priors import DistancePrior, NormalPrior

Learn = dict[str, tuple[float, float]]

# Beta(1, 9) of a lapse rate, which every model can have: 10 % on average, 0 most likely.
LAPSE_PRIOR = (1.0, 9.0)
_FIRST_LAPSE = 0.05

# Log-normal (median, spread) of the variance of the points.
VARIANCE = (1.0, 1.0)


def check_learn(learn: Sequence[str] | Mapping[str, tuple[float, float]], model: Model) -> Learn:
    """Check what to learn; returns its priors by name, the lapse rate first."""
    if isinstance(learn, str):
        raise InputError(f"learn takes several names, such as learn=({learn!r},), got {learn!r}.")
    if not isinstance(learn, Mapping | Sequence):
        raise InputError(f"learn takes names, such as learn=('lapse',), or a dict, got {learn!r}.")
    given = dict(learn) if isinstance(learn, Mapping) else dict.fromkeys(learn)
    own = {name: learned.prior for name, learned in model.learnable().items()}
    known = {"lapse": LAPSE_PRIOR} | own
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
    priors = {name: known[name] if prior is None else prior for name, prior in given.items()}
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
    # An offset that is learned, as CKL's mu, is the size.
    sees_size = model.sees_scale and OFFSET not in roles(learn, model)
    return (
        NormalPrior(VARIANCE[0], learned=True, spread=VARIANCE[1]) if sees_size else NormalPrior()
    )


def first_theta(learn: Learn, model: Model) -> Array:
    """Where the learned parameters start: the model's own values, and a small lapse rate."""
    start = {"lapse": math.log(_FIRST_LAPSE / (1.0 - _FIRST_LAPSE))}
    for name, learned in model.learnable().items():
        start[name] = math.log(max(getattr(model, name), learned.start))
    return np.array([start[name] for name in learn])


def roles(learn: Learn, model: Model) -> NDArray[np.int64]:
    """What the learned parameters are to the loss (k,): LAPSE, POWER, OFFSET."""
    known = {"lapse": LAPSE} | {name: own.role for name, own in model.learnable().items()}
    return np.array([known[name] for name in learn], dtype=np.int64)


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
