"""The recommendation: two stages, each going up while one more dimension predicts better.

1. *Accuracy.* The corrected repeated-K-fold t-test, steps in a fixed sequence. It hardly ever goes
   too high, and often stops too low.
2. *Log-probability.* From there, up while leaving out one unit after the other says that the next
   dimension predicts better: by more than `NATS` in all, below which the standard error of such a
   difference is not to be trusted (Sivula, Magnusson, Matamoros & Vehtari 2020), by more than
   `ERRORS` standard errors, and not if leaving one out is but a guess for more than `ROUGH` of the
   units, which flatters the larger dimension.

Chains that ended in different maps predict worse than the posterior does, as a rule. So a dimension
whose chains disagree proves nothing by losing: not that it is no better than the one before, nor
that the next one is better than it, unless accuracy, which needs no chains, rises there too. (That
it does not rise proves nothing in turn: of few answers it falls with every dimension.) Where the
climb would hang on such chains, it ends, and only what was found before is stated; where nothing
was, nothing is decided.

The second stage sees more, because it scores how sure each prediction was and not only whether it
was right, and because it averages over a posterior, to which unneeded dimensions do little harm.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.text import counted
from tercet.uses.dimension.steps import Gain, first_not_rejected, gain

Floats = NDArray[np.float64]

NATS = 4.0
ERRORS = 1.0
ROUGH = 0.3
RISES = 0.5  # a p-value below which accuracy rises, if only a little
CHANCE = 2.0  # standard errors by which predictions must beat a coin


class LeftOut(NamedTuple):
    """What a posterior says of units that it is made to forget."""

    log_density: Floats  # (U,)
    rough: float  # share of the units for which that is a guess (Pareto k̂)
    r_hat: float = 1.0  # of its chains
    agrees: bool = True  # whether these ended in the same maps


class Decision(NamedTuple):
    """What is recommended, and why."""

    dimension: int | None
    verdict: str  # "decided", "at least", "not decided" or "cannot tell"
    reason: str
    hangs_on: int | None = None  # a dimension whose chains disagree


def decide(
    dimensions: Sequence[int],
    p_values: Sequence[float],
    level: float,
    left_out: Callable[[int], LeftOut],
    sizes: Floats,
) -> Decision:
    """Go up through the dimensions.

    Parameters
    ----------
    dimensions : sequence of int
        In rising order.
    p_values : sequence of float
        Of the t-test of each step.
    level : float
    left_out : function
        Of a dimension; asked only where it is needed.
    sizes : (U,) array
        How many answers each unit has.
    """
    place = first = first_not_rejected(p_values, level)
    gains: list[Gain] = []
    astray: int | None = None  # a dimension whose chains disagree, on which the next step hangs
    while place + 1 < len(dimensions):
        here, next_one = left_out(dimensions[place]), left_out(dimensions[place + 1])
        found = gain(here.log_density, next_one.log_density)
        gains.append(found)
        clear = found.nats > NATS and found.nats > ERRORS * found.error
        rises = p_values[place] < RISES
        if clear and not (here.agrees or rises):
            astray = dimensions[place]
            break
        if not clear and not next_one.agrees:
            astray = dimensions[place + 1]
            break
        if not clear or next_one.rough > ROUGH:
            break
        place += 1
    chosen = dimensions[place]
    last_one = left_out(chosen)
    coin = gain(-math.log(2.0) * sizes, last_one.log_density)
    told_apart = place + 1 < len(dimensions) and astray is None
    if coin.nats < CHANCE * coin.error and (last_one.agrees or told_apart):
        return Decision(
            None,
            "cannot tell",
            f"Answers that were left out are predicted no better than by a coin ({coin.nats:+.1f} "
            f"± {coin.error:.1f} nats in all), so nothing can be said of the dimension. Ask more, "
            "or look whether people understood the question.",
        )
    parts = []
    if first:
        parts.append(
            f"Accuracy on left-out answers rises up to {counted(dimensions[first], 'dimension')} "
            f"(t-tests, the last p = {p_values[first - 1]:.2g})."
        )
    else:
        parts.append(
            "Accuracy on left-out answers does not clearly rise above that in "
            f"{counted(dimensions[0], 'dimension')}."
        )
    for step, found in enumerate(gains[: place - first]):
        parts.append(
            f"{counted(dimensions[first + step + 1], 'dimension')} predict left-out answers better "
            f"than {dimensions[first + step]} by {found.nats:.1f} ± {found.error:.1f} nats in all."
        )
    if astray is not None:
        more = dimensions[place + 1]
        parts.append(
            f"Whether {counted(more, 'dimension')} predict better than {chosen} is not decided: in "
            f"{counted(astray, 'dimension')} the chains ended in different maps (R-hat "
            f"{left_out(astray).r_hat:.2f}), so what they predict proves nothing."
        )
        verdict = "at least" if place else "not decided"
        return Decision(chosen if place else None, verdict, " ".join(parts), astray)
    if place + 1 == len(dimensions):
        parts.append(
            "That is the largest dimension that was tried; more may be needed. Try larger ones."
        )
        return Decision(chosen, "at least", " ".join(parts))
    last, more = gains[-1], dimensions[place + 1]
    told = f"({last.nats:+.1f} ± {last.error:.1f} nats in all)"
    if clear:
        parts.append(
            f"{counted(more, 'dimension')} seem to predict better {told}, but leaving one out is a "
            f"guess for {left_out(more).rough:.0%} of them there, so this is not believed. Ask "
            "more."
        )
        return Decision(chosen, "at least", " ".join(parts))
    if last.nats > 0.0:
        parts.append(
            f"{counted(more, 'dimension')} predict a little better {told}: the answers do "
            f"not tell {chosen} from {more}."
        )
        return Decision(chosen, "at least", " ".join(parts))
    parts.append(f"{counted(more, 'dimension')} predict no better than {chosen} {told}.")
    return Decision(chosen, "decided", " ".join(parts))
