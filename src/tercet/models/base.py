"""The base class of models: similarities of two objects, and losses of one comparison."""

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

TINY = 1e-24  # smallest squared distance, so that roots and logarithms stay finite


class Domain(NamedTuple):
    """The values that a parameter may have."""

    words: str
    least: float = LEAST_NUMBER
    most: float = LARGEST_NUMBER

    def holds(self, values: ArrayLike) -> NDArray[np.bool_]:
        """Whether each value is in the domain; NaN is not."""
        found = np.asarray(values, dtype=np.float64)
        return np.asarray((found >= self.least) & (found <= self.most))

    def check(self, name: str, value: object) -> None:
        """Raise unless the value is in the domain of the parameter of that name."""
        is_number = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if not (is_number and self.least <= value <= self.most):  # type: ignore[operator]
            raise InputError(f"The parameter {name} {self.refusal(value)}")

    def refusal(self, value: object) -> str:
        """The end of an error message about a value outside the domain."""
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

# Parameters drawn with the points for any model; the log-odds of positions have numbers.
BIAS = "bias_"
DRAWN = {
    "lapse": Domain("a share from 0 to 1", 0.0, 1.0),
    "tie": Domain("a positive number", _TINIEST, _HUGEST),
    "variance": Domain("a positive number", _TINIEST, _HUGEST),
}

# How a learned parameter enters the loss, so that its derivative follows from those by the
# squared distances: LAPSE, the share of answers given at random; POWER, the constant q, if squared
# distances enter only as their powers q / 2; OFFSET, the constant p, in the unit of these powers,
# so that the loss does not change when all squared distances grow by c and p by c**(q / 2);
# ROUNDED_POWER, the constant q, if squared distances enter only as powers q / 2 of their sums with
# CORNER; TAIL, the constant p, if with it the similarity is a function of log(1 + p y) / p, y being
# such a power. With any model: TIE, the odds of "cannot tell", and SIDE, those of a position.
LAPSE, POWER, OFFSET, ROUNDED_POWER, TAIL, TIE, SIDE = range(7)

# Distances are rounded off below a hundredth of a map's unit, where a model has one: d becomes the
# root of d**2 + CORNER, so that the loss is smooth where two points meet.
CORNER = 1e-4


class Learned(NamedTuple):
    """How a parameter is estimated with the points, on a log scale."""

    role: int  # POWER, OFFSET, …
    prior: tuple[float, float]  # log-normal: median, and standard deviation of the logarithm
    start: float = 0.0  # smallest value at which a search starts


class Parameter(NamedTuple):
    """A parameter of a model: its domain, and how it is learned, if it can be."""

    domain: Domain
    learned: Learned | None = None


class Model:
    """A similarity s of two objects, or else a loss of two squared distances, near and far.

    A similarity gives every choice among pairs of objects a probability: the odds of a pair are
    proportional to its similarity (Luce 1959). So the answer "near" has the probability
    s_near / (s_near + s_far), and its loss is -log of that.

    Each model is a frozen dataclass of its parameters, named after its estimator: CKLModel is that
    of CKL. Other modules use the attributes below and never test for a particular model.

    Attributes
    ----------
    kernel : callable
        The compiled loss, an elementwise loop over comparisons ``kernel(p, q, near, far, loss,
        d_near, d_far)``, where p and q are the model's two `constants`.
    similarity : callable or None
        The compiled similarity, an elementwise loop over pairs ``similarity(p, q, squared, log_s,
        slope)``: log s, up to a constant, and its derivative by the squared distance. None for a
        loss that is no probability.
    parameters : mapping of str to Parameter
        The fields that are checked or learned, in the order in which they are learned.
    floor : float
        The total loss, for weights of one, below which a search stops.
    title : str
        Its name in papers, if that is not the estimator's.
    """

    kernel: ClassVar[Callable[..., Any]]
    similarity: ClassVar[Callable[..., Any] | None] = None
    parameters: ClassVar[Mapping[str, Parameter]] = {}
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
    def is_probability(self) -> bool:
        """Whether the model is a similarity, so that answers have probabilities."""
        return type(self).similarity is not None

    @property
    def sees_scale(self) -> bool:
        """Whether the loss depends on the scale of an embedding."""
        return True

    def settled(self, n_components: int) -> Self:
        """The same model with parameters that depend on the dimension filled in."""
        return self

    def rounded(self) -> Sequence[Self]:
        """Smoothed models to minimise first, in this order, if the loss has corners."""
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

    def log_similarity(self, squared: ArrayLike, n_components: int = 2) -> tuple[Array, Array]:
        """Log-similarity at squared distances, up to a constant, and its derivative by them."""
        similarity = type(self).similarity
        if similarity is None:
            raise InputError(self._refusal())
        given = np.asarray(squared, dtype=np.float64)
        out = np.empty((2, given.size))
        similarity(*self.constants(n_components), given.ravel(), out[0], out[1])
        value, slope = out.reshape(2, *given.shape)
        return value, slope

    def log_prob(self, near: ArrayLike, far: ArrayLike, n_components: int = 2) -> Array:
        """Log-probability of the answer "near" given the two squared distances."""
        if not self.is_probability:
            raise InputError(self._refusal())
        return -self.loss(near, far, n_components)[0]

    def probability(self, near: ArrayLike, far: ArrayLike, n_components: int = 2) -> Array:
        """Probability of the answer "near" given the two squared distances."""
        return np.asarray(np.exp(self.log_prob(near, far, n_components)))

    def _refusal(self) -> str:
        name = type(self).__name__.removesuffix("Model")
        return (
            f"{name} is a loss, not a probability of answers. "
            "Use a similarity, such as STE or Shepard, where probabilities are needed."
        )
