"""The result of `plan_answers`: a curve as a table, and how many answers a target needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom
from sklearn.isotonic import isotonic_regression

from tercet.arrays import Floats
from tercet.simulate.questions import Question
from tercet.tables import Table, json_ready
from tercet.text import wrap
from tercet.uses.plan.worlds import MEASURES

__all__ = [
    "WIDTH",
    "AnswerPlan",
    "Needed",
    "PlanRow",
    "caution_of",
    "crossing",
    "fewest_worlds",
    "grouped",
    "needed_answers",
    "rounded",
]

WIDTH = 88
STEEP = 0.2  # share of the gap to the target that a doubling must close to be worth continuing


class PlanRow(NamedTuple):
    """The measure at a number of answers: median and central 80 % of simulated experiments."""

    answers: int
    median: float
    low: float
    high: float


@dataclass(frozen=True)
class AnswerPlan:
    """How many answers a target needs.

    Attributes
    ----------
    measure : {"accuracy", "sure", "radius", "agreement"}
    target : float
    assurance : float
        The share of experiments that reach the target with the needed number.
    needed : Needed
        The number of answers, with a 95 % interval; None where it exceeds the most simulated.
    rows : tuple of PlanRow
        The curve, by increasing number of answers.
    by_world : tuple of float
        The number that each simulated experiment needs; infinite where it was not reached.
    best : float or None
        Agreement of the true map, the most that is possible; None for other measures.
    n_objects, n_components : int
    question : Question
        What is asked; an answer is one screen.
    noise, lapse : float or None
        None where they are estimated from a pilot.
    agreement : float or None
        How often two people agree, if the noise was given so.
    pilot : int
        Answers of the pilot, to which the others are added; 0 without one.
    poor : int
        Fits whose chains did not agree (R-hat above 1.2).
    """

    measure: str
    target: float
    assurance: float
    needed: Needed
    rows: tuple[PlanRow, ...]
    by_world: tuple[float, ...]
    best: float | None
    n_objects: int
    n_components: int
    question: Question
    noise: float | None
    agreement: float | None
    lapse: float | None
    pilot: int
    poor: int

    @property
    def sentence(self) -> str:
        """The plan in words."""
        return " ".join(filter(None, (self._answer(), self.about_noise, self.caution)))

    @property
    def about_noise(self) -> str:
        """The noise in words, if it was given as an agreement."""
        if self.agreement is None:
            return ""
        return (
            f"Noise: σ = {self.noise:.2g}, at which two people agree in "
            f"{self._show(self.agreement)} of such questions ({self.question.name})."
        )

    @property
    def caution(self) -> str:
        """What to beware of, if anything."""
        return caution_of([self])

    @property
    def counted(self) -> str:
        """What is counted, such as "answers" or "more odd-one-out screens"."""
        of_kind = "answers" if self.question.kind == "triplet" else self.question.plural
        return f"more {of_kind}" if self.pilot else of_kind

    @property
    def wanted(self) -> str:
        """The target in words, such as "a map that gets 90 % of all comparisons right"."""
        return MEASURES[self.measure].words.format(self._show(self.target))

    def table(self) -> str:
        """The rows as text."""
        lines = [
            [grouped(row.answers), *(f"{value:.3f}" for value in row[1:])] for row in self.rows
        ]
        return Table("", [self.counted, self.measure, "10 %", "90 %"], lines).text(right=True)

    def as_dict(self) -> dict[str, Any]:
        """All values, JSON-compatible; missing ones are None."""
        found: dict[str, Any] = json_ready(self)
        return found | {"sentence": self.sentence}

    def __str__(self) -> str:
        return f"{self.table()}\n\n{wrap(self.sentence, WIDTH)}"

    # --- words --------------------------------------------------------------------------------

    def _answer(self) -> str:
        wanted = self.wanted
        asked = self.counted
        if self.best is not None and self.best < self.target:
            return (
                f"Not reachable: {wanted}. Answers are too noisy: even the true map predicts only "
                f"about {self._show(self.best)} of them."
            )
        value, low, high = self.needed
        most, last = self.rows[-1].answers, self.rows[-1].median
        if value is None:
            return (
                f"More than {grouped(most)} {asked} are needed for {wanted}: with "
                f"{grouped(most)} the median is {self._show(last)}. {self._outlook()}"
            )
        if value <= self.rows[0].answers:
            if value == 0:
                return f"No {asked} are needed for {wanted}."
            return f"{grouped(value)} {asked} or fewer are enough for {wanted}."
        until = f"more than {grouped(most)}" if high is None else grouped(rounded(high, math.ceil))
        return (
            f"About {grouped(rounded(value))} {asked} (between "
            f"{grouped(rounded(low or 0, math.floor))} and {until}) are needed for {wanted}; "
            f"with that many, {self._share()} of such experiments reach the target."
        )

    @property
    def _falls(self) -> bool:
        return MEASURES[self.measure].lower_is_better

    def _share(self) -> str:
        return "half" if self.assurance == 0.5 else f"{100 * self.assurance:.3g} %"

    def _show(self, value: float) -> str:
        return f"{100 * value:.3g} %"

    def _outlook(self) -> str:
        """Whether more answers would help, from the last doubling."""
        last = self.rows[-1]
        better = self.target - last.median if self._falls else last.median - self.target
        if better >= 0.0:
            return f"Half of such experiments reach it, but not {self._share()}; raise the limit."
        half = (last.answers + self.pilot) / 2.0
        before = [row for row in self.rows[:-1] if row.answers + self.pilot <= 1.01 * half]
        if not before:
            return "Raise the limit."
        gap, gain = abs(self.target - last.median), abs(last.median - before[-1].median)
        if gain >= STEEP * gap:
            return f"It still improves with more {self.counted.removeprefix('more ')}."
        return (
            f"The last doubling changed that by only {self._show(gain)}: with this noise the "
            "target is out of reach in practice."
        )


def caution_of(plans: Sequence[AnswerPlan]) -> str:
    """What to beware of in plans together, if anything."""
    poor = sum(plan.poor for plan in plans)
    fits = sum(len(plan.rows) * len(plan.by_world) for plan in plans)
    number = "number is" if len(plans) == 1 else "numbers are"
    return (
        f"Caution: in {poor} of {fits} fits the chains did not agree; the {number} only "
        "approximate."
        if poor
        else ""
    )


def rounded(value: int, to: Callable[[float], int] = round) -> int:
    """Round to two digits."""
    unit: int = 10 ** max(0, len(str(value)) - 2)
    return to(value / unit) * unit


def grouped(value: int) -> str:
    """The number with a space between thousands."""
    return f"{value:,}".replace(",", " ")


# --- from the curves of simulated experiments to a number ---------------------------------------


INTERVAL = 0.95


class Needed(NamedTuple):
    """How many answers are needed, with a 95 % interval; None: more than the most simulated."""

    value: int | None
    low: int | None
    high: int | None

    def without(self, base: int) -> Needed:
        """The same, less the existing answers."""
        return Needed(*(None if end is None else end - base for end in self))


def crossing(answers: NDArray[np.int64], values: Floats, target: float) -> float:
    """Where the isotonic regression of a curve first reaches the target.

    Linear between steps in the logarithm of the number of answers. Infinite where the target is
    not reached; the first step if that already reaches it.

    Parameters
    ----------
    answers : (k,) integer array
        Rising and positive.
    values : (k,) array
        Higher is better.
    target : float
    """
    curve = np.asarray(isotonic_regression(values))
    reached = np.flatnonzero(curve >= target)
    if not reached.size:
        return math.inf
    k = int(reached[0])
    if k == 0:
        return float(answers[0])
    share = (target - curve[k - 1]) / (curve[k] - curve[k - 1])
    ends = np.log(answers[k - 1 : k + 1].astype(np.float64))
    return float(np.exp(ends[0] + share * (ends[1] - ends[0])))


def needed_answers(crossings: Floats, assurance: float) -> Needed:
    """The number with which the share ``assurance`` of experiments reaches the target.

    The quantile of the experiments' own numbers. Its interval lies between two order statistics,
    which is distribution-free: how many of R lie below the true quantile is binomial (David &
    Nagaraja 2003, section 7.1).

    Parameters
    ----------
    crossings : (R,) array
        The number that each experiment needs, infinite where it was not reached; at least
        ``fewest_worlds(assurance)``.
    assurance : float
    """
    ordered = np.sort(crossings)
    size, tail = len(ordered), (1.0 - INTERVAL) / 2.0
    low = int(binom.ppf(tail, size, assurance)) - 1
    high = int(binom.ppf(1.0 - tail, size, assurance))
    # Position of the quantile among R order statistics.
    place = round(assurance * size - 0.5, 9)
    below, above = max(math.floor(place), 0), min(math.ceil(place), size - 1)
    value = ordered[below]
    if math.isfinite(value):
        value += max(place - below, 0.0) * (ordered[above] - value)
    return Needed(_whole(value), _whole(ordered[low]), _whole(ordered[high]))


def fewest_worlds(assurance: float) -> int:
    """How many experiments an interval takes: fewer could all lie on one side of the quantile."""
    larger = max(assurance, 1.0 - assurance)
    return math.ceil(math.log((1.0 - INTERVAL) / 2.0) / math.log(larger))


def _whole(value: float) -> int | None:
    return math.ceil(value) if math.isfinite(value) else None
