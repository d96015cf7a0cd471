"""Shepard's law of generalisation (Shepard 1987): similarity decays exponentially with distance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from tercet.compiled import exp, inline, jit, log, softplus
from tercet.models.base import POSITIVE, POWER_OF_SUM, Array, Learned, Model, Parameter

# Distances are rounded off below a hundredth of the distance at which similarity falls by a factor
# of e: d becomes the root of d**2 + CORNER, so that the loss is smooth where two points meet.
CORNER = 1e-4

_LARGEST_LOG = 700.0  # of a power, so that it does not overflow


@inline
def _power(q: float, y: float) -> float:
    """y**(q/2)."""
    return math.sqrt(y) if q == 1.0 else exp(min(0.5 * q * log(y), _LARGEST_LOG))


@jit
def shepard(
    p: float, q: float, near: Array, far: Array, loss: Array, d_near: Array, d_far: Array
) -> None:
    """-log p_ijl = log(1 + exp(a - b)), with a = (near + p)**(q/2) and b = (far + p)**(q/2)."""
    half = 0.5 * q
    for t in range(near.size):
        x = near[t] + p
        y = far[t] + p
        a = _power(q, x)
        b = _power(q, y)
        loss[t], slope = softplus(a - b)
        d_near[t] = half * slope * a / x
        d_far[t] = -half * slope * b / y


@jit
def shepard_similarity(p: float, q: float, squared: Array, log_s: Array, slope: Array) -> None:
    """Log s = -(squared + p)**(q/2)."""
    half = 0.5 * q
    for t in range(squared.size):
        x = squared[t] + p
        log_s[t] = -_power(q, x)
        slope[t] = half * log_s[t] / x


@dataclass(frozen=True)
class ShepardModel(Model):
    """s = exp(-distance**gamma).

    With gamma = 1 the log-odds of an answer are the difference of two distances, as in difference
    scaling (Maloney & Yang 2003); gamma = 2 is STE.
    """

    gamma: float = 1.0

    kernel = shepard
    similarity = shepard_similarity
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "gamma": Parameter(POSITIVE, Learned(POWER_OF_SUM, prior=(1.0, 0.5)))
    }
    floor = math.log(2.0)  # as in STE

    def constants(self, n_components: int) -> tuple[float, float]:
        """Return the rounding of squared distances, and gamma."""
        return CORNER, self.gamma
