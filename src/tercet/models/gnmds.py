"""Generalised non-metric multidimensional scaling (Agarwal et al. 2007; the paper's supplement)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from tercet.compiled import jit
from tercet.models.base import NOT_NEGATIVE, Array, Model, Parameter

CORNER_WIDTHS = (1.0, 0.1, 0.01, 0.001)  # of a hinge that is sharpened in steps


@jit
def gnmds(
    p: float, q: float, near: Array, far: Array, loss: Array, d_near: Array, d_far: Array
) -> None:
    """max(0, 1 + near - far), its corner replaced by a parabola over the width p."""
    for t in range(near.size):
        slack = 1.0 + near[t] - far[t]
        inside = min(max(slack, 0.0), p)  # the part of the slack that lies on the parabola
        slope = inside / p if p > 0.0 else (1.0 if slack > 0.0 else 0.0)
        loss[t] = 0.5 * inside * slope + max(slack - p, 0.0)
        d_near[t] = slope
        d_far[t] = -slope


@dataclass(frozen=True)
class GNMDSModel(Model):
    """The slack max(0, 1 + near - far) of the margin far - near >= 1 between squared distances.

    The paper prints the constraint with its signs reversed; this is the intended margin. Gradient
    methods do not converge at the corner of a hinge: ``smoothing`` is the width over which a
    parabola rounds it (0 keeps the corner), and lowers the loss by at most half that width.
    """

    smoothing: float = 0.0

    kernel = gnmds
    parameters: ClassVar[Mapping[str, Parameter]] = {"smoothing": Parameter(NOT_NEGATIVE)}

    def rounded(self) -> Sequence[Self]:
        """The hinge with its corner rounded less and less."""
        return () if self.smoothing > 0.0 else [replace(self, smoothing=w) for w in CORNER_WIDTHS]

    def constants(self, n_components: int) -> tuple[float, float]:
        """Return the width of the rounded corner."""
        return self.smoothing, 0.0
