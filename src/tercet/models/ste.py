"""Stochastic triplet embedding (van der Maaten & Weinberger 2012; equation 2 of the paper)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tercet.compiled import jit, softplus
from tercet.models.base import Array, Model


@jit
def ste(
    p: float, q: float, near: Array, far: Array, loss: Array, d_near: Array, d_far: Array
) -> None:
    """-log p_ijl = log(1 + exp(near - far))."""
    for t in range(near.size):
        loss[t], slope = softplus(near[t] - far[t])
        d_near[t] = slope
        d_far[t] = -slope


@jit
def ste_similarity(p: float, q: float, squared: Array, log_s: Array, slope: Array) -> None:
    """Log s = -squared."""
    for t in range(squared.size):
        log_s[t] = -squared[t]
        slope[t] = -1.0


@dataclass(frozen=True)
class STEModel(Model):
    """s = exp(-squared distance)."""

    kernel = ste
    similarity = ste_similarity
    floor = math.log(2.0)  # the cost of one comparison that is not satisfied
