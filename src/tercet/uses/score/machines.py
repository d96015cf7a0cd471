"""How often two sets of answers to the same questions agree: machines and people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tercet.answers.choices import Choices, as_answers, restore
from tercet.answers.either import chance_of, match_objects, weights_of
from tercet.answers.repeats import NoiseCeiling, number_outcomes
from tercet.arrays import Floats
from tercet.errors import InputError
from tercet.running.provenance import Seed, as_generator
from tercet.text import counted, percent
from tercet.uncertainty import check_level
from tercet.uses.score.resample import (
    as_choices,
    ceiling_between,
    ceiling_dict,
    resample,
    span,
    tell_ceiling,
)

__all__ = ["Agreement", "agreement"]


@dataclass(frozen=True, eq=False)
class Agreement:
    """How often two sets of answers agree on the questions that are in both; printable.

    Attributes
    ----------
    share : float
        Share of pairs of answers, one of each set, that are the same, every question counting once.
    interval : (low, high)
        Of resampled questions.
    chance : float
        The share by guessing.
    n_questions : int
        Questions in both sets.
    n_left_out : int
        Questions in one of them only.
    level : float
    ceiling : NoiseCeiling or str
        The share of those who always give the most frequent answer of the people of the first
        set, or why it is unknown.
    same : (Q,) array
        The share for each question.
    """

    share: float
    interval: tuple[float, float]
    chance: float
    n_questions: int
    n_left_out: int
    level: float
    ceiling: NoiseCeiling | str
    same: Floats

    @property
    def between_people(self) -> float | None:
        """How often two people of the first set agree, by the noise ceiling: E Σ p²."""
        if isinstance(self.ceiling, str):
            return None
        a, outcomes = self.ceiling.concentration, self.ceiling.n_outcomes
        return (a + 1.0) / (outcomes * a + 1.0)

    def __str__(self) -> str:
        return (
            f"The same answer to {percent(self.share)} {span(self.interval, percent)} of "
            f"{counted(self.n_questions, 'question')}.\n{self.context}"
        )

    @property
    def context(self) -> str:
        """Guessing, two people, the noise ceiling, and where the interval comes from."""
        left = f" {counted(self.n_left_out, 'question')} in one set only." * bool(self.n_left_out)
        lines = [
            f"By guessing: {percent(self.chance)}. {100.0 * self.level:.3g} % intervals from "
            f"resampling questions.{left}",
            tell_ceiling(self.ceiling),
        ]
        if self.between_people is not None:
            lines.insert(
                1, f"Two people agree in {percent(self.between_people)} of such questions."
            )
        return "\n".join(lines)

    def to_cells(self) -> dict[str, str]:
        """The row of a table of several."""
        low, high = self.interval
        return {
            "same answer": f"{self.share:.4f}",
            "from – to": f"{low:.4f} – {high:.4f}",
            "questions": str(self.n_questions),
        }

    def to_dict(self) -> dict[str, Any]:
        """The numbers, for a table or JSON; not those of single questions."""
        low, high = self.interval
        return {
            "same": self.share,
            "same_low": low,
            "same_high": high,
            "chance": self.chance,
            "n_questions": self.n_questions,
            "n_left_out": self.n_left_out,
            "between_people": self.between_people,
            **ceiling_dict(self.ceiling),
        }


def agreement(
    answers: Any,
    others: Any,
    *,
    repeats: Any = None,
    level: float = 0.95,
    random_state: Seed = 0,
) -> Agreement:
    """How often others, such as a language model, answer the same questions as people did.

    Parameters
    ----------
    answers : Choices, Triplets, array or data frame
        Those of people. Triplets of one screen are one choice; weights count.
    others : Choices, Triplets, array or data frame
        Answers to the same questions, in any order. Objects with names are matched by name, others
        by number.
    repeats : Choices, Triplets, array or data frame, optional
        Answers of the same people to questions of this kind, some of them repeated, from which to
        take the noise ceiling; by default ``answers``.
    level : float
        Of the interval.
    random_state : None, int or numpy.random.Generator
        For resampling.

    Returns
    -------
    Agreement

    Examples
    --------
    >>> import tercet as tc
    >>> people = tc.Choices.odd_one_out([["cat", "dog", "car"], ["cat", "car", "van"]])
    >>> machine = tc.Choices.odd_one_out([["dog", "cat", "car"], ["car", "van", "cat"]])
    >>> tc.agreement(people, machine).share
    0.5
    """
    check_level(level)
    given = as_answers(answers)
    ours, theirs = as_choices(given), as_choices(as_answers(others))
    both = Choices.concatenate([_unsigned(ours, theirs), _unsigned(theirs, ours)])
    question, outcome = number_outcomes(both)
    weights = np.concatenate([weights_of(ours), weights_of(theirs)])
    first = np.arange(len(both)) < len(ours)
    asked = np.empty(int(outcome.max()) + 1, dtype=np.int64)
    asked[outcome] = question
    votes = [np.bincount(outcome, weights * side, len(asked)) for side in (first, ~first)]
    totals = [np.bincount(question, weights * side) for side in (first, ~first)]
    shared = (totals[0] > 0.0) & (totals[1] > 0.0)
    if not shared.any():
        raise InputError(
            "no question is in both sets of answers: the same objects must have been shown "
            "together. Are the objects numbered or named alike in both?"
        )
    guessed = np.empty(len(shared))
    guessed[question] = chance_of(both)
    same = np.bincount(asked, votes[0] * votes[1])[shared] / (totals[0] * totals[1])[shared]
    means, intervals = resample(same[None], np.ones(len(same)), level, as_generator(random_state))
    return Agreement(
        means[0],
        intervals[0],
        float(guessed[shared].mean()),
        len(same),
        int(np.sum(~shared)),
        level,
        ceiling_between(given if repeats is None else as_answers(repeats)),
        same,
    )


def _unsigned(choices: Choices, others: Choices) -> Choices:
    """The choices without observers, and with the names of the others if they have none."""
    fields = choices._fields._replace(observers=None)
    if fields.names is None and others.names is not None:
        known = match_objects(choices, others.n_objects, None)  # none may be missing
        fields = known._fields._replace(
            observers=None, n_objects=others.n_objects, names=others.names
        )
    return restore(fields)
