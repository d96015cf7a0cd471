"""How a scale was made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.ensemble import Ensemble
from tercet.triplets import Triplets
from tercet.uses.scale.resampling import Task

Floats = NDArray[np.float64]


class Jackknifed(NamedTuple):
    """Scales (u, n), unnormalised, without one unit, and their lapse rates (u,), or zeros."""

    scale: Floats
    lapse: Floats
    stands_for: Floats  # how many units each row is, (u,)


@dataclass(frozen=True)
class Made:
    """How a scale was made."""

    model: str  # in words
    uncertainty: str  # "bootstrap", "parametric", "posterior", or an ensemble's source
    unit: str = "answer"  # that a bootstrap resamples
    entropy: int | None = None
    triplets: Triplets | None = None  # objects numbered in the order of the stimuli
    task: Task | None = None  # of the signed-difference model
    ensemble: Ensemble | None = None
    jackknife: Callable[[], Jackknifed] | None = None  # only for full-size bootstraps

    @property
    def resamples_observers(self) -> bool:
        """Whether samples are made of whole observers."""
        return self.unit == "observer" and self.uncertainty not in ("parametric", "posterior")

    @property
    def n_observers(self) -> int | None:
        """How many gave the answers; None where unknown."""
        known = None if self.triplets is None else self.triplets.observers
        return None if known is None else len(np.unique(known))
