"""What `plan_answers` returns: a curve as a table, and the number in a sentence."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from tercet.tables import Table, json_ready
from tercet.text import wrap
from tercet.uses.plan.measures import MEASURES
from tercet.uses.plan.needed import Needed

__all__ = ["AnswerPlan", "Needed", "PlanRow"]

WIDTH = 88
STEEP = 0.2  # share of the gap to the target that a doubling of the answers must close to go on


class PlanRow(NamedTuple):
    """What so many answers give: the median over the worlds, and where the middle 80 % lie."""

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
        The number of answers, with the 95 % interval that the number of worlds leaves; None where
        it is more than the most that was tried.
    rows : tuple of PlanRow
        The curve, in rising order of answers.
    by_world : tuple of float
        The number that each world needs; infinite where it was not found.
    best : float or None
        What someone who knows the truth reaches, where that is less than everything: agreement.
    n_objects, n_components : int
    noise, lapse : float or None
        None where a pilot says how people answer.
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
    noise: float | None
    lapse: float | None
    pilot: int
    poor: int

    @property
    def sentence(self) -> str:
        """The plan in words."""
        words = [self._answer()]
        if self.poor:
            fits = len(self.rows) * len(self.by_world)
            words.append(
                f"Caution: in {self.poor} of {fits} fits the chains did not agree; take the number "
                "for a rough one."
            )
        return " ".join(words)

    def table(self) -> str:
        """The rows, for reading."""
        lines = [
            [_grouped(row.answers), *(f"{value:.3f}" for value in row[1:])] for row in self.rows
        ]
        head = "more answers" if self.pilot else "answers"
        return Table("", [head, self.measure, "10 %", "90 %"], lines).text(right=True)

    def as_dict(self) -> dict[str, Any]:
        """Everything as JSON knows it; a number that was not found is None."""
        found: dict[str, Any] = json_ready(self)
        return found | {"sentence": self.sentence}

    def __str__(self) -> str:
        return f"{self.table()}\n\n{wrap(self.sentence, WIDTH)}"

    # --- words --------------------------------------------------------------------------------

    def _answer(self) -> str:
        measure, more = MEASURES[self.measure], "more " if self.pilot else ""
        wanted = measure.words.format(self._show(self.target))
        if self.best is not None and self.best < self.target:
            return (
                f"Not reachable: {wanted}. People do not agree that well with themselves: even "
                f"the true map predicts about {self._show(self.best)} of their answers."
            )
        value, low, high = self.needed
        most, last = self.rows[-1].answers, self.rows[-1].median
        if value is None:
            return (
                f"More than {_grouped(most)} {more}answers are needed for {wanted}: with so many "
                f"the median is {self._show(last)}. {self._outlook()}"
            )
        if value <= self.rows[0].answers:
            if value == 0:
                return f"No more answers are needed for {wanted}."
            return f"{_grouped(value)} {more}answers or fewer are enough for {wanted}."
        until = f"more than {_grouped(most)}" if high is None else _grouped(_round(high, math.ceil))
        return (
            f"About {_grouped(_round(value, round))} {more}answers (between "
            f"{_grouped(_round(low or 0, math.floor))} and {until}) are needed for {wanted}: with "
            f"so many, {self._share()} of such experiments reach it."
        )

    @property
    def _falls(self) -> bool:
        return MEASURES[self.measure].lower_is_better

    def _share(self) -> str:
        return "half" if self.assurance == 0.5 else f"{100 * self.assurance:.3g} %"

    def _show(self, value: float) -> str:
        return f"{100 * value:.3g} %"

    def _outlook(self) -> str:
        """What going on would bring, from the last doubling of all answers, or nearly so."""
        last = self.rows[-1]
        better = self.target - last.median if self._falls else last.median - self.target
        if better >= 0.0:
            return f"Half of such experiments reach it, but not {self._share()}; try more."
        half = (last.answers + self.pilot) / 2.0
        before = [row for row in self.rows[:-1] if row.answers + self.pilot <= 1.01 * half]
        if not before:
            return "More would have to be tried."
        gap, gain = abs(self.target - last.median), abs(last.median - before[-1].median)
        if gain >= STEEP * gap:
            return "It still gets better with more."
        return (
            f"The last doubling changed that by only {self._show(gain)}: with this noise the "
            "target is out of reach in practice."
        )


def _round(value: int, to: Callable[[float], int]) -> int:
    """Two digits are enough for a guess."""
    unit: int = 10 ** max(0, len(str(value)) - 2)
    return to(value / unit) * unit


def _grouped(value: int) -> str:
    return f"{value:,}".replace(",", " ")
