"""Priors over embeddings, over distance matrices and of learned parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tercet.answers.choices import Choices
from tercet.answers.either import Answers
from tercet.embedder import is_number
from tercet.errors import InputError
from tercet.models.base import BIAS, LAPSE, OFFSET, SIDE, TIE, Array, Model
from tercet.running.memory import need_memory
from tercet.running.provenance import Seed, as_generator


@dataclass(frozen=True, eq=False)
class NormalPrior:
    """Independent points, each N(0, v B): the paper's prior over embeddings (section 3.1).

    Parameters
    ----------
    variance : float
        The variance v, or with ``learned`` the median of its prior. The paper's is 15.
    block : (d, d) array, optional
        The covariance B of one point, up to v; default the identity.
    learned : bool
        Whether v is estimated with the points; log v is then normal around log(variance).
    spread : float
        Standard deviation of log v when it is learned.
    """

    variance: float = 1.0
    block: ArrayLike | None = None
    learned: bool = False
    spread: float = 1.0

    def __post_init__(self) -> None:
        for name in ("variance", "spread"):
            value = getattr(self, name)
            if not (is_number(value) and value > 0):
                raise InputError(
                    f"The {name!r} of a NormalPrior must be a positive number, got {value!r}. "
                    "A matrix for all points goes into block."
                )

    def covariance(self, n_components: int) -> Array:
        """The block B (d, d), checked."""
        if self.block is None:
            return np.eye(n_components)
        block = np.asarray(self.block, dtype=np.float64)
        if block.shape != (n_components, n_components):
            raise InputError(
                f"The block of a NormalPrior is the covariance of one point, of shape "
                f"{(n_components, n_components)} here; got shape {block.shape}."
            )
        _check_covariance(block, "The block of a NormalPrior")
        return block

    def describe(self) -> dict[str, Any]:
        """The settings, for the provenance."""
        block = None if self.block is None else np.asarray(self.block, dtype=float).tolist()
        return {
            "prior": "NormalPrior",
            "variance": float(self.variance),
            "block": block,
            "learned": self.learned,
            "spread": self.spread if self.learned else None,
        }


@dataclass(frozen=True, eq=False)
class DistancePrior:
    """Gaussian over symmetric distance matrices (supplement): mean D₀ and covariance W ⊛ W.

    Cov(D_ij, D_kl) = (W_ik W_jl + W_il W_jk) / 2. Such a prior ensures only symmetry: its draws may
    be negative and violate the triangle inequality, and the paper reports that it does not behave
    satisfactorily. Its ensembles have distances and no points.

    Parameters
    ----------
    mean : float or (n, n) array
        The matrix D₀; a number stands for that distance between any two objects.
    W : float or (n, n) array
        Positive definite; a number stands for that multiple of the identity, which gives distances
        between different objects the variance W² / 2.
    """

    mean: ArrayLike
    W: ArrayLike = 1.0

    def matrices(self, n_objects: int) -> tuple[Array, Array]:
        """D₀ (n, n), zero on its diagonal if given as a number, and the root L of W = L L'."""
        mean, W = (np.asarray(part, dtype=np.float64) for part in (self.mean, self.W))
        shape = (n_objects, n_objects)
        for name, part in (("mean", mean), ("W", W)):
            if part.ndim != 0 and part.shape != shape:
                raise InputError(
                    f"The {name} of a DistancePrior must be a number or a matrix of shape {shape} "
                    f"for {n_objects} objects, got shape {part.shape}."
                )
        need_memory(
            6 * n_objects**2,
            f"Matrices of all distances of {n_objects} objects",
            "use fewer objects, or a NormalPrior, which needs no such matrices",
        )
        centre = mean * (1.0 - np.eye(n_objects)) if mean.ndim == 0 else mean.copy()
        if not (np.isfinite(centre).all() and np.allclose(centre, centre.T)):
            raise InputError("The mean of a DistancePrior must be finite and symmetric.")
        if W.ndim == 0:
            W = W * np.eye(n_objects)
        _check_covariance(W, "The W of a DistancePrior")
        return centre, np.asarray(np.linalg.cholesky(W), dtype=np.float64)

    def sample(self, n_samples: int, n_objects: int, random_state: Seed = None) -> Array:
        """Draw matrices (n_samples, n, n) from the prior itself."""
        from tercet.posterior.elliptical import draw_symmetric

        centre, root = self.matrices(n_objects)
        rng = as_generator(random_state)
        return np.stack([centre + draw_symmetric(root, rng) for _ in range(n_samples)])

    def describe(self) -> dict[str, Any]:
        """The settings, for the provenance."""
        parts = {name: np.asarray(getattr(self, name), dtype=float) for name in ("mean", "W")}
        return {"prior": "DistancePrior"} | {
            name: part.tolist() if part.ndim == 0 else f"matrix {part.shape}"
            for name, part in parts.items()
        }


def _check_covariance(matrix: Array, what: str) -> None:
    if not (np.isfinite(matrix).all() and np.allclose(matrix, matrix.T)):
        raise InputError(f"{what} must be finite and symmetric.")
    least = float(np.linalg.eigvalsh(matrix)[0])
    if not least > 0.0:
        raise InputError(
            f"{what} must be positive definite; its smallest eigenvalue is {least:.3g}."
        )


def log_normal(prior: NormalPrior) -> tuple[float, float]:
    """Mean and standard deviation of log v; a standard deviation of 0 means that v is known."""
    return math.log(prior.variance), prior.spread if prior.learned else 0.0


# --- parameters learned with the points ---------------------------------------------------------


Learn = dict[str, tuple[float, float]]

# Beta(1, 9) of the lapse rate, available for every model: mean 10 %, mode 0.
LAPSE_PRIOR = (1.0, 9.0)
_FIRST_LAPSE = 0.05

# Log-normal (median, spread) of the odds of "cannot tell", and of those of each position: before
# any answer, one of two positions is preferred by odds of up to 4 with probability .67.
TIE_PRIOR = (1.0, 1.5)
SIDE_PRIOR = (1.0, 1.0)
SIDES = "bias"

# Log-normal (median, spread) of the variance of the points.
VARIANCE = (1.0, 1.0)


def check_learn(learn: Sequence[str] | Mapping[str, tuple[float, float]], model: Model) -> Learn:
    """Check ``learn`` and return the priors by name: the lapse rate, the model's own, the rest."""
    if isinstance(learn, str):
        raise InputError(f"learn takes several names, such as learn=({learn!r},), got {learn!r}.")
    if not isinstance(learn, Mapping | Sequence):
        raise InputError(f"learn takes names, such as learn=('lapse',), or a dict, got {learn!r}.")
    given = dict(learn) if isinstance(learn, Mapping) else dict.fromkeys(learn)
    own = {name: learned.prior for name, learned in model.learnable().items()}
    known = {"lapse": LAPSE_PRIOR} | own | {"tie": TIE_PRIOR, SIDES: SIDE_PRIOR}
    for name, prior in given.items():
        if name not in known:
            raise InputError(
                f"learn must be among {', '.join(map(repr, known))} for {type(model).__name__}, "
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


def learn_from(learn: Learn, answers: Answers) -> Learn:
    """What is learned from these answers: odds of ties if there are any, and of each position.

    Raises if sides are to be learned and no position is known.
    """
    choices = answers if isinstance(answers, Choices) else None
    found = {name: prior for name, prior in learn.items() if name not in ("tie", SIDES)}
    if choices is not None and choices.may_tie.any():
        found["tie"] = learn.get("tie", TIE_PRIOR)
    elif "tie" in learn:
        raise InputError("learn has 'tie', but “cannot tell” is in none of the answers; omit it.")
    if SIDES in learn:
        if (count := count_positions(answers)) < 2:
            raise InputError(
                "learn has 'bias', but the answers do not say where the alternatives were shown: "
                "give positions to Choices, or omit it."
            )
        found |= {f"{BIAS}{position}": learn[SIDES] for position in range(count)}
    return found


def count_positions(answers: Answers) -> int:
    """The number of positions at which alternatives were shown; 0 if unknown."""
    shown = answers.positions if isinstance(answers, Choices) else None
    return 0 if shown is None else int(shown.max(initial=-1)) + 1


def default_prior(
    prior: NormalPrior | DistancePrior | None, penalty: float, model: Model, learn: Learn
) -> NormalPrior | DistancePrior:
    """The prior given, or the default for this penalty and model."""
    if prior is not None:
        if penalty > 0.0:
            raise InputError(
                f"the estimator's penalty={penalty:g} is a prior of variance {0.5 / penalty:g}, "
                "and another prior is given; give only one of them."
            )
        if not isinstance(prior, NormalPrior | DistancePrior):
            raise InputError(f"prior must be a NormalPrior or a DistancePrior, got {prior!r}.")
        return prior
    if penalty > 0.0:
        return NormalPrior(0.5 / penalty)
    # A learned offset, such as CKL's mu, sets the size.
    sees_size = model.sees_scale and OFFSET not in roles(learn, model)
    return (
        NormalPrior(VARIANCE[0], learned=True, spread=VARIANCE[1]) if sees_size else NormalPrior()
    )


def first_theta(learn: Learn, model: Model) -> Array:
    """Where the learned parameters start: the model's own values, and a small lapse rate."""
    start = {"lapse": math.log(_FIRST_LAPSE / (1.0 - _FIRST_LAPSE))}
    for name, learned in model.learnable().items():
        start[name] = math.log(max(getattr(model, name), learned.start))
    return np.array([start.get(name, 0.0) for name in learn])  # odds of ties and positions: even


def roles(learn: Learn, model: Model) -> NDArray[np.int64]:
    """Roles (k,) of the learned parameters in the loss: LAPSE, POWER, …."""
    known = {"lapse": LAPSE, "tie": TIE}
    known |= {name: own.role for name, own in model.learnable().items()}
    return np.array([known.get(name, SIDE) for name in learn], dtype=np.int64)


def theta_priors(learn: Learn) -> Array:
    """Priors (k, 2) for the target: Beta(a, b) of the lapse rate, (log median, sd) of others."""
    rows = [(a, b) if name == "lapse" else (math.log(a), b) for name, (a, b) in learn.items()]
    return np.array(rows, dtype=np.float64).reshape(-1, 2)


def natural(learn: Learn, thetas: Array) -> dict[str, Array]:
    """The learned parameters on their own scale, (S,) each, from thetas (S, k).

    Those of positions are log-odds whose sum is zero.
    """
    sides = [k for k, name in enumerate(learn) if name.startswith(BIAS)]
    mean = thetas[:, sides].mean(axis=1) if sides else 0.0
    scales: dict[str, Callable[[Array], Array]] = {
        "lapse": lambda theta: 1.0 / (1.0 + np.exp(-theta)),
        BIAS: lambda theta: theta - mean,
    }
    return {
        name: scales.get(BIAS if k in sides else name, np.exp)(thetas[:, k])
        for k, name in enumerate(learn)
    }
