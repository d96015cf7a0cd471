"""Shepard's law of generalisation (Shepard 1987): similarity decays exponentially with distance."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from tercet.compiled import exp, inline, jit, log, softplus
from tercet.models.base import (
    CORNER,
    NOT_NEGATIVE,
    POSITIVE,
    ROUNDED_POWER,
    TAIL,
    Array,
    Learned,
    Model,
    Parameter,
)

_LARGEST_LOG = 700.0  # of a power, so that it does not overflow


@inline
def _power(q: float, x: float) -> float:
    """x**(q/2)."""
    return math.sqrt(x) if q == 1.0 else exp(min(0.5 * q * log(x), _LARGEST_LOG))


@inline
def _decay(p: float, q: float, squared: float) -> tuple[float, float]:
    """-log s at a squared distance, and its derivative."""
    x = squared + CORNER
    power = _power(q, x)
    slope = 0.5 * q * power / x
    if p == 0.0:
        return power, slope
    z = p * power
    series = power * (1.0 - 0.5 * z)  # where the logarithm would lose its digits
    return (series if z < 1e-8 else log(1.0 + z) / p), slope / (1.0 + z)


@jit
def shepard(
    p: float, q: float, near: Array, far: Array, loss: Array, d_near: Array, d_far: Array
) -> None:
    """-log p_ijl = log(1 + exp(a - b)), with a and b the negative log-similarities."""
    for t in range(near.size):
        a, by_near = _decay(p, q, near[t])
        b, by_far = _decay(p, q, far[t])
        loss[t], slope = softplus(a - b)
        d_near[t] = slope * by_near
        d_far[t] = -slope * by_far


@jit
def shepard_similarity(p: float, q: float, squared: Array, log_s: Array, slope: Array) -> None:
    """Log s = -log(1 + p y) / p, or -y if p is 0, with y = (squared + CORNER)**(q/2)."""
    for t in range(squared.size):
        value, by_squared = _decay(p, q, squared[t])
        log_s[t] = -value
        slope[t] = -by_squared


@dataclass(frozen=True)
class ShepardModel(Model):
    """s = exp(-distance**gamma), or (1 + tail distance**gamma)**(-1/tail).

    With gamma = 1 the log-odds of an answer are the difference of two distances, as in difference
    scaling (Maloney & Yang 2003). The tail makes similarity fall more slowly than exponentially far
    away. It leads from Shepard's law (0) to the crowd kernel (1, up to the size of the map); with
    gamma = 2, from STE (0) to t-STE (2 / (alpha + 1)).
    """

    gamma: float = 1.0
    tail: float = 0.0

    kernel = shepard
    similarity = shepard_similarity
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "gamma": Parameter(POSITIVE, Learned(ROUNDED_POWER, prior=(1.0, 0.7))),
        "tail": Parameter(NOT_NEGATIVE, Learned(TAIL, prior=(0.1, 1.5), start=0.05)),
    }
    floor = math.log(2.0)  # as in STE

    def constants(self, n_components: int) -> tuple[float, float]:
        """Return the tail and gamma."""
        return self.tail, self.gamma
