"""Two scales of the same stimuli compared: groups, or conditions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tercet.errors import InputError
from tercet.uses.scale import intervals
from tercet.uses.scale.made import Made

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ScaleDifference:
    """One scale less another: estimate (n,), samples (S, n), interval (n, 2) at the level."""

    stimuli: Floats
    estimate: Floats
    samples: Floats = field(repr=False)
    interval: Floats
    level: float

    def __str__(self) -> str:
        lines = [f"stimulus  difference  {self.level:.0%} interval"]
        for value, difference, (low, high) in zip(
            self.stimuli, self.estimate, self.interval, strict=True
        ):
            mark = " *" if low > 0.0 or high < 0.0 else ""
            lines += [f"{value:8g}  {difference:10.3f}  {low:.3f} to {high:.3f}{mark}"]
        return "\n".join([*lines, "* the interval leaves out 0; each is of one stimulus alone"])


def subtract(
    stimuli: Floats,
    estimate: Floats,
    mine: Floats,
    theirs: Floats,
    level: float,
    seed: np.random.SeedSequence | None,
) -> ScaleDifference:
    """Samples (S, n) less others, which are shuffled by the seed unless they are paired."""
    if seed is not None:
        theirs = theirs[np.random.default_rng(seed).permutation(len(theirs))]
    size = min(len(mine), len(theirs))
    samples = mine[:size] - theirs[:size]
    return ScaleDifference(stimuli, estimate, samples, intervals.percentile(samples, level), level)


def check_paired(mine: Made, theirs: Made) -> None:
    """Raise unless sample k of two scales has the same observers."""
    same = (
        mine.unit == theirs.unit == "observer"
        and mine.uncertainty == theirs.uncertainty == "bootstrap"
        and mine.entropy == theirs.entropy
        and (mine.task is None) == (theirs.task is None)  # these draw from other seeds
        and np.array_equal(_observers(mine), _observers(theirs))
    )
    if not same:
        raise InputError(
            "paired=True needs two scales whose samples resample the same observers: make both "
            "with unit='observer' and the same random_state, of answers from the same observers."
        )


def _observers(made: Made) -> NDArray[Any]:
    """In the order in which a bootstrap numbers them; 1, 2, 10 and "1", "10", "2" differ in it."""
    assert made.triplets is not None
    assert made.triplets.observers is not None
    return np.unique(made.triplets.observers)
