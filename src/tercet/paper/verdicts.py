"""How a claim is tested: one rule for all, fixed before the results were known.

A *check* is a statistic, one value per repeat, and the interval that the claim implies for it. Its
mean has a one-sided 95 % bound on either side, from Student's t with the standard error over
repeats. The check holds if both bounds are inside the interval, does not hold if the mean and its
nearer bound are outside, and is undecided otherwise, as it is with a single repeat. A claim holds
if all its checks do. It does not hold if one of them does not, corrected for their number
(Bonferroni): of thirty checks one would fail by chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata, t

from tercet.arrays import Floats
from tercet.errors import TercetError
from tercet.paper.experiments import Curve, Measurements

__all__ = ["Check", "Claim", "Verdict", "between", "falls", "judge_claims", "rises", "weigh"]

HOLDS, FAILS, UNDECIDED, NOT_RUN = "holds", "does not hold", "undecided", "not run"
LEVEL = 0.95  # of each bound
RANK = 0.5  # rank correlation above which a curve rises: half-way between none and perfect


class Check(NamedTuple):
    """A statistic of every repeat, and the interval expected for its mean."""

    what: str
    values: Floats  # (repeats,)
    low: float = -math.inf
    high: float = math.inf

    @property
    def mean(self) -> float:
        """Over the repeats."""
        return float(np.mean(self.values))

    @property
    def error(self) -> float:
        """Standard error of the mean; NaN of a single repeat."""
        r = len(self.values)
        return float(np.std(self.values, ddof=1) / math.sqrt(r)) if r > 1 else math.nan

    @property
    def wanted(self) -> str:
        """The interval in words."""
        if math.isinf(self.low):
            return f"below {self.high:.3g}"
        if math.isinf(self.high):
            return f"above {self.low:.3g}"
        return f"{self.low:.3g} to {self.high:.3g}"

    @property
    def verdict(self) -> str:
        """By the rule of this module."""
        if math.isnan(self.error) or math.isnan(self.mean):
            return UNDECIDED
        below, above = self._bounds(LEVEL)
        if below > self.low and above < self.high:
            return HOLDS
        return FAILS if self.fails(1) else UNDECIDED

    def fails(self, checks: int) -> bool:
        """Whether it does not hold, as one of this many checks."""
        below, above = self._bounds(1.0 - (1.0 - LEVEL) / checks)
        return above < self.low or below > self.high

    def _bounds(self, level: float) -> tuple[float, float]:
        reach = float(t.ppf(level, len(self.values) - 1)) * self.error
        return self.mean - reach, self.mean + reach


@dataclass(frozen=True)
class Claim:
    """A claim of the paper.

    Attributes
    ----------
    name : str
        Its short name, such as "N1".
    figures : tuple of str
        Whose tables it needs.
    text : str
        What is claimed, as a measurable statement.
    checks : function of the tables by figure
    """

    name: str
    figures: tuple[str, ...]
    text: str
    checks: Callable[[Mapping[str, Measurements]], Sequence[Check]]


class Verdict(NamedTuple):
    """The outcome for a claim."""

    claim: Claim
    verdict: str
    checks: Sequence[Check]


def judge_claims(claims: Sequence[Claim], tables: Mapping[str, Measurements]) -> list[Verdict]:
    """Test claims on the tables of the figures that were run."""
    out = []
    for claim in claims:
        if not all(len(tables.get(name, ())) for name in claim.figures):
            out.append(Verdict(claim, NOT_RUN, ()))
            continue
        try:
            checks = claim.checks(tables)
        except TercetError:  # results of failed cells are missing
            out.append(Verdict(claim, NOT_RUN, ()))
            continue
        out.append(Verdict(claim, weigh(checks), checks))
    return out


def weigh(checks: Sequence[Check]) -> str:
    """One verdict from all checks of a claim."""
    if any(check.fails(len(checks)) for check in checks):
        return FAILS
    return HOLDS if all(check.verdict == HOLDS for check in checks) else UNDECIDED


# --- statistics -------------------------------------------------------------------------------


def rank_correlation(a: ArrayLike, b: ArrayLike) -> float:
    """Spearman's; 0 where one of the two never changes."""
    first, second = (rankdata(values) - np.mean(rankdata(values)) for values in (a, b))
    size = math.sqrt(float(first @ first) * float(second @ second))
    return float(first @ second) / size if size > 0.0 else 0.0


def _orders(curve: Curve) -> Floats:
    return np.array([rank_correlation(curve.x, values) for values in curve.values])


def rises(what: str, curve: Curve) -> Check:
    """That a curve rises: the rank correlation with its grid is above ½."""
    return Check(f"{what}: rank correlation", _orders(curve), low=RANK)


def falls(what: str, curve: Curve) -> Check:
    """That a curve falls: the rank correlation with its grid is below −½."""
    return Check(f"{what}: rank correlation", _orders(curve), high=-RANK)


def between(what: str, first: Curve, second: Curve) -> Check:
    """That two curves over one grid vary together: their rank correlation is above ½."""
    pairs = zip(first.values, second.values, strict=True)
    values = np.array([rank_correlation(a, b) for a, b in pairs])
    return Check(f"{what}: rank correlation", values, low=RANK)
