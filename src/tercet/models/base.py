"""What every model of one comparison can do."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from dataclasses import fields
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tercet.errors import InputError
from tercet.limits import LARGEST_NUMBER, LEAST_NUMBER

Array = NDArray[np.float64]

TINY = 1e-24  # squared distances below this count as this: roots and logarithms stay finite


class Domain(NamedTuple):
    """The values that a parameter may have."""

    words: str
    least: float = LEAST_NUMBER
    most: float = LARGEST_NUMBER

    def holds(self, values: ArrayLike) -> NDArray[np.bool_]:
        """Whether each value is one of them; NaN is not."""
        found = np.asarray(values, dtype=np.float64)
        return np.asarray((found >= self.least) & (found <= self.most))

    def refusal(self, value: object) -> str:
        """What to say of one that is none of them."""
        limit = ""
        if isinstance(value, float | int) and self.most == LARGEST_NUMBER < value < np.inf:
            limit = f", {LARGEST_NUMBER:g} at most"
        elif isinstance(value, float | int) and self.least == LEAST_NUMBER > value > 0.0:
            limit = f", {LEAST_NUMBER:g} at least"
        return f"must be {self.words}{limit}, got {value!r}."


_POSITIVE = Domain("a positive number")
_NOT_NEGATIVE = Domain("zero or a positive number", 0.0)
_TINIEST, _HUGEST = float(np.nextafter(0.0, 1.0)), float(np.finfo(np.float64).max)
FINITE = Domain("a finite number", -_HUGEST, _HUGEST)

# What the models' own parameters, and those that are drawn with the points, may be.
DOMAINS = {
    "C": _POSITIVE,
    "alpha": _POSITIVE,
    "exponent": _POSITIVE,
    "lapse": Domain("a share from 0 to 1", 0.0, 1.0),
    "margin": _POSITIVE,
    "mu": _NOT_NEGATIVE,
    "smoothing": _NOT_NEGATIVE,
    "variance": Domain("a positive number", _TINIEST, _HUGEST),
}


class Model:
    """A loss of two squared distances, near and far; a probability model when it is -log p.

    Each model is a frozen dataclass of its parameters. ``kernel`` is its compiled definition, an
    elementwise loop over comparisons ``kernel(p, q, near, far, loss, d_near, d_far)``, where p and
    q are the model's two ``constants``; ``code`` is how the engine names it.
    """

    code: ClassVar[int]
    kernel: ClassVar[Callable[..., Any]]
    is_probability: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if field.name in DOMAINS and not (value is None and field.default is None):
                check_parameter(field.name, value)

    def constants(self, n_components: int) -> tuple[float, float]:
        """Return the constants p and q of the kernel for embeddings of that dimension."""
        return 0.0, 0.0

    def loss(
        self, near: ArrayLike, far: ArrayLike, n_components: int = 2
    ) -> tuple[Array, Array, Array]:
        """Loss of comparisons, and its derivatives by the near and by the far squared distance."""
        near_, far_ = np.broadcast_arrays(
            np.asarray(near, dtype=np.float64), np.asarray(far, dtype=np.float64)
        )
        out = np.empty((3, near_.size))
        p, q = self.constants(n_components)
        type(self).kernel(p, q, near_.ravel(), far_.ravel(), out[0], out[1], out[2])
        value, d_near, d_far = out.reshape(3, *near_.shape)
        return value, d_near, d_far

    def log_prob(self, near: ArrayLike, far: ArrayLike, n_components: int = 2) -> Array:
        """Log-probability of the answer "near" given the two squared distances."""
        if not self.is_probability:
            name = type(self).__name__.removesuffix("Model")
            raise InputError(
                f"{name} is a loss, not a probability of answers. "
                "Use STE, TSTE or CKL where probabilities are needed."
            )
        return -self.loss(near, far, n_components)[0]

    def probability(self, near: ArrayLike, far: ArrayLike, n_components: int = 2) -> Array:
        """Probability of the answer "near" given the two squared distances."""
        return np.asarray(np.exp(self.log_prob(near, far, n_components)))


def check_parameter(name: str, value: float) -> None:
    """Raise unless the parameter of that name may have this value."""
    domain, is_number = DOMAINS[name], isinstance(value, numbers.Real)
    if isinstance(value, bool) or not (is_number and domain.least <= value <= domain.most):
        raise InputError(f"The parameter {name} {domain.refusal(value)}")
