"""What every model of one comparison can do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tercet.errors import InputError

Array = NDArray[np.float64]

TINY = 1e-24  # squared distances below this count as this: roots and logarithms stay finite


class Model:
    """A loss of two squared distances, near and far; a probability model when it is -log p.

    Each model is a frozen dataclass of its parameters. ``kernel`` is its compiled definition, an
    elementwise loop over comparisons ``kernel(p, q, near, far, loss, d_near, d_far)``, where p and
    q are the model's two ``constants``; ``code`` is how the engine names it.
    """

    code: ClassVar[int]
    kernel: ClassVar[Callable[..., Any]]
    is_probability: ClassVar[bool] = True

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


def check_positive(name: str, value: float, *, zero: bool = False) -> None:
    """Raise unless the parameter is a finite number above (or, with ``zero``, at) zero."""
    if not (np.isfinite(value) and (value > 0 or (zero and value == 0))):
        expected = "zero or a positive number" if zero else "a positive number"
        raise InputError(f"The parameter {name} must be {expected}, got {value!r}.")
