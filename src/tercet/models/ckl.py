"""Crowd kernel (Tamuz et al. 2011; equation 1 of the paper), with an optional exponent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from tercet.compiled import exp, jit, log, softplus
from tercet.models.base import (
    NOT_NEGATIVE,
    OFFSET,
    POSITIVE,
    POWER,
    TINY,
    Array,
    Learned,
    Model,
    Parameter,
)


@jit
def ckl(
    p: float, q: float, near: Array, far: Array, loss: Array, d_near: Array, d_far: Array
) -> None:
    """-log p_ijl = log(near + far + 2 p) - log(far + p), with p = mu; powers q / 2 if q != 2."""
    if q == 2.0:
        for t in range(near.size):
            a = max(near[t] + p, TINY)
            b = max(far[t] + p, TINY)
            loss[t] = log((a + b) / b)
            d_near[t] = 1.0 / (a + b)
            d_far[t] = -a / (b * (a + b))
    else:
        # Powers are taken relative to the larger of the two, so that no exponent overflows.
        half = 0.5 * q
        log_p = math.log(p) if p > 0.0 else -math.inf
        for t in range(near.size):
            x = max(near[t], TINY)
            y = max(far[t], TINY)
            log_x = half * log(x)
            log_y = half * log(y)
            smaller = exp(-abs(log_x - log_y))
            power_x = 1.0 if log_x >= log_y else smaller
            power_y = smaller if log_x >= log_y else 1.0
            mu = exp(min(log_p - max(log_x, log_y), 700.0))
            a = power_x + mu
            b = power_y + mu
            loss[t] = log((a + b) / b)
            d_near[t] = half * power_x / (x * (a + b))
            d_far[t] = -half * (power_y / b) * (a / (a + b)) / y


@jit
def ckl_similarity(p: float, q: float, squared: Array, log_s: Array, slope: Array) -> None:
    """Log s = -log(p + squared**(q/2))."""
    half = 0.5 * q
    if p == 0.0:
        for t in range(squared.size):
            x = max(squared[t], TINY)
            log_s[t] = -half * log(x)
            slope[t] = -half / x
    else:
        log_p = math.log(p)
        for t in range(squared.size):
            x = max(squared[t], TINY)
            above, share = softplus(half * log(x) - log_p)
            log_s[t] = -log_p - above
            slope[t] = -half * share / x


@dataclass(frozen=True)
class CKLModel(Model):
    """s = 1 / (mu + distance**exponent).

    The exponent 2 is the paper's. With mu = 0 the model does not depend on the embedding's scale.
    """

    mu: float = 0.05
    exponent: float = 2.0

    kernel = ckl
    similarity = ckl_similarity
    # An exponent of 1.2 / sigma is close to the paper's noise.
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "exponent": Parameter(POSITIVE, Learned(POWER, prior=(3.0, 1.0))),
        "mu": Parameter(NOT_NEGATIVE, Learned(OFFSET, prior=(0.05, 1.0), start=1e-3)),
    }

    @property
    def sees_scale(self) -> bool:
        """Whether mu, which is in the unit of the distances, is positive."""
        return self.mu > 0.0

    def constants(self, n_components: int) -> tuple[float, float]:
        """Return mu and the exponent."""
        return self.mu, self.exponent
