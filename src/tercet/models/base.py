"""What every model of one comparison can do."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tercet.errors import InputError
from tercet.running.memory import LARGEST_NUMBER, LEAST_NUMBER

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

    def check(self, name: str, value: object) -> None:
        """Raise unless the parameter of that name may have this value."""
        is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if not (is_number and self.least <= value <= self.most):  # type: ignore[operator]
            raise InputError(f"The parameter {name} {self.refusal(value)}")

    def refusal(self, value: object) -> str:
        """What to say of one that is none of them."""
        limit = ""
        if isinstance(value, float | int) and self.most == LARGEST_NUMBER < value < np.inf:
            limit = f", {LARGEST_NUMBER:g} at most"
        elif isinstance(value, float | int) and self.least == LEAST_NUMBER > value > 0.0:
            limit = f", {LEAST_NUMBER:g} at least"
        return f"must be {self.words}{limit}, got {value!r}."


POSITIVE = Domain("a positive number")
NOT_NEGATIVE = Domain("zero or a positive number", 0.0)
_TINIEST, _HUGEST = float(np.nextafter(0.0, 1.0)), float(np.finfo(np.float64).max)
FINITE = Domain("a finite number", -_HUGEST, _HUGEST)

# What is drawn with the points whatever the model.
DRAWN = {
    "lapse": Domain("a share from 0 to 1", 0.0, 1.0),
    "variance": Domain("a positive number", _TINIEST, _HUGEST),
}

# How a learned parameter enters the loss, which tells its slope from those by the distances: as the
# lapse rate, the share of answers that are a coin's; as the constant q, near and far entering as
# their powers q / 2 alone; as the constant p, in the unit of these powers, so that the loss does
# not change when all of near and far grow by c and p by c**(q / 2).
LAPSE, POWER, OFFSET = 0, 1, 2


class Learned(NamedTuple):
    """How a parameter is estimated with the points, by its logarithm."""

    role: int  # POWER or OFFSET
    prior: tuple[float, float]  # log-normal: median, and standard deviation of the logarithm
    start: float = 0.0  # the least value that a search starts from


class Parameter(NamedTuple):
    """A parameter of a model: what it may be, and how it is learned, if it can be."""

    domain: Domain
    learned: Learned | None = None


class Model:
    """A loss of two squared distances, near and far; a probability model when it is -log p.

    Each model is a frozen dataclass of its parameters, named for its estimator: CKLModel is that of
    CKL. What others need to know of it stands here and in its class, so that nobody asks which
    model it is.

    Attributes
    ----------
    kernel : callable
        Its compiled definition, an elementwise loop over comparisons ``kernel(p, q, near, far,
        loss, d_near, d_far)``, where p and q are the model's two `constants`.
    parameters : mapping of str to Parameter
        What each field may be and how it is learned, in the order in which they are learned.
    is_probability : bool
        Whether the loss is -log of the probability of the answer "near".
    floor : float
        The total loss, of comparisons that weigh one, below which a search has nothing to gain.
    title : str
        The name that papers give it, where that is not the estimator's.
    """

    kernel: ClassVar[Callable[..., Any]]
    parameters: ClassVar[Mapping[str, Parameter]] = {}
    is_probability: ClassVar[bool] = True
    floor: ClassVar[float] = 1e-12
    title: ClassVar[str] = ""

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            value = getattr(self, field.name)
            if field.name in self.parameters and not (value is None and field.default is None):
                self.parameters[field.name].domain.check(field.name, value)

    @classmethod
    def learnable(cls) -> dict[str, Learned]:
        """The parameters that can be estimated with the points."""
        return {name: known.learned for name, known in cls.parameters.items() if known.learned}

    @property
    def sees_scale(self) -> bool:
        """Whether a larger copy of an embedding is another one to it."""
        return True

    def settled(self, n_components: int) -> Self:
        """The same model with what it takes from the dimension written out."""
        return self

    def rounded(self) -> Sequence[Self]:
        """Smooth models to be minimised before, one after the other, where the loss has corners."""
        return ()

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
