"""Soft ordinal embedding (Terada & von Luxburg 2014)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from tercet.compiled import jit
from tercet.models.base import POSITIVE, TINY, Array, Model, Parameter


@jit
def soe(
    p: float, q: float, near: Array, far: Array, loss: Array, d_near: Array, d_far: Array
) -> None:
    """max(0, p + sqrt(near) - sqrt(far))**2, with p the margin."""
    for t in range(near.size):
        a = math.sqrt(max(near[t], TINY))
        b = math.sqrt(max(far[t], TINY))
        slack = max(p + a - b, 0.0)
        loss[t] = slack * slack
        d_near[t] = slack / a
        d_far[t] = -slack / b


@dataclass(frozen=True)
class SOEModel(Model):
    """The squared slack of the margin between distances (not squared ones)."""

    margin: float = 0.1

    kernel = soe
    parameters: ClassVar[Mapping[str, Parameter]] = {"margin": Parameter(POSITIVE)}

    def constants(self, n_components: int) -> tuple[float, float]:
        """Return the margin."""
        return self.margin, 0.0
