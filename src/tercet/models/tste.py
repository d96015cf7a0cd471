"""t-distributed stochastic triplet embedding (van der Maaten & Weinberger 2012; supplement)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from tercet.compiled import jit, log, softplus
from tercet.models.base import POSITIVE, Array, Model, Parameter


@jit
def tste(
    p: float, q: float, near: Array, far: Array, loss: Array, d_near: Array, d_far: Array
) -> None:
    """-log p_ijl = log(1 + ((p + near) / (p + far))**q), with p = alpha, q = (alpha + 1) / 2."""
    for t in range(near.size):
        a = p + near[t]
        b = p + far[t]
        loss[t], slope = softplus(q * log(a / b))
        d_near[t] = q * slope / a
        d_far[t] = -q * slope / b


@jit
def tste_similarity(p: float, q: float, squared: Array, log_s: Array, slope: Array) -> None:
    """Log s = -q log(p + squared), up to a constant."""
    for t in range(squared.size):
        log_s[t] = -q * log(p + squared[t])
        slope[t] = -q / (p + squared[t])


@dataclass(frozen=True)
class TSTEModel(Model):
    """s = (1 + squared distance / alpha)**(-(alpha + 1) / 2), the Student kernel.

    ``alpha`` is max(d - 1, 1) unless given, for embeddings in d dimensions: the paper's d - 1, and
    1 where that would be zero.
    """

    alpha: float | None = None

    kernel = tste
    similarity = tste_similarity
    parameters: ClassVar[Mapping[str, Parameter]] = {"alpha": Parameter(POSITIVE)}
    title = "t-STE"

    def constants(self, n_components: int) -> tuple[float, float]:
        """Return alpha and (alpha + 1) / 2."""
        alpha = float(max(n_components - 1, 1)) if self.alpha is None else self.alpha
        return alpha, 0.5 * (alpha + 1.0)

    def settled(self, n_components: int) -> Self:
        """The same model with alpha filled in."""
        return replace(self, alpha=self.constants(n_components)[0])
