"""Plans for several kinds of questions beside each other: what one screen is worth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tercet.errors import InputError
from tercet.running.provenance import Seed, entropy_of
from tercet.simulate.asking import check_size, settle_question
from tercet.tables import Table
from tercet.text import wrap
from tercet.uses.plan.curve import WIDTH, AnswerPlan, caution_of, grouped, rounded
from tercet.uses.plan.plan import plan_answers

__all__ = ["KindPlans", "plan_kinds"]


@dataclass(frozen=True)
class KindPlans:
    """How many screens a target needs, for several kinds of questions.

    Attributes
    ----------
    plans : tuple of AnswerPlan
        One for each kind, in the order given.
    """

    plans: tuple[AnswerPlan, ...]

    @property
    def worth(self) -> tuple[float | None, ...]:
        """How many questions of the first kind one of each kind replaces; None where unknown."""
        first, *_ = needed = [plan.needed.value for plan in self.plans]
        return tuple(first / each if first and each else None for each in needed)

    @property
    def sentence(self) -> str:
        """The plans in words."""
        first, told = self.plans[0], []
        for plan in self.plans:
            value, most = plan.needed.value, plan.rows[-1].answers
            count = f"more than {grouped(most)}" if value is None else f"{grouped(rounded(value))}"
            told.append(f"{count} {plan.question.plural}")
        more = ", more than the pilot has," if first.pilot else ""
        words = f"For {first.wanted}, about {', or '.join(told)}{more} are needed."
        return " ".join(filter(None, [words, first.about_noise, caution_of(self.plans)]))

    def table(self) -> str:
        """The numbers needed as text, with their 95 % intervals."""
        lines = [
            [
                plan.question.name,
                *(
                    f"> {grouped(plan.rows[-1].answers)}" if end is None else grouped(end)
                    for end in plan.needed
                ),
                "" if worth is None else f"{worth:.2g}",
            ]
            for plan, worth in zip(self.plans, self.worth, strict=True)
        ]
        head = ["question", "needed", "from", "to", f"worth ({self.plans[0].question.name} = 1)"]
        return Table("", head, lines).text(right=True)

    def as_dict(self) -> dict[str, Any]:
        """All values, JSON-compatible; missing ones are None."""
        plans = [plan.as_dict() for plan in self.plans]
        return {"plans": plans, "worth": list(self.worth), "sentence": self.sentence}

    def __str__(self) -> str:
        return f"{self.table()}\n\n{wrap(self.sentence, WIDTH)}"


def plan_kinds(
    n_objects: int | None = None,
    n_components: int | None = None,
    *,
    kinds: Sequence[str] = ("triplet", "odd_one_out", "3 of 9"),
    noise: float | None = None,
    agreement: float | None = None,
    random_state: Seed = None,
    **settings: Any,
) -> KindPlans:
    """Estimate how many screens of each kind a desired precision needs.

    The worlds and the noise are the same for all kinds.

    Parameters
    ----------
    n_objects, n_components : int, optional
    kinds : sequence of str
        What is asked, as in `tercet.simulate.choices`, with the sizes: "3 of 9", "ranking of 5".
        The first is what others are compared with.
    noise : float, optional
    agreement : float, optional
        How often two people give the same answer to a question of the first kind.
    random_state : None, int or numpy.random.Generator
    **settings
        As in `plan_answers`.
    """
    if isinstance(kinds, str) or not len(kinds):
        raise InputError(
            f"kinds must be a list, such as ['triplet', 'odd_one_out'], got {kinds!r}."
        )
    questions = [settle_question(kind) for kind in kinds]  # all, before the work starts
    n = getattr(settings.get("like"), "n_objects", n_objects)
    for question in questions:
        if isinstance(n, int):
            check_size(question, n)
    entropy = entropy_of(random_state)
    plans: list[AnswerPlan] = []
    for question in questions:
        plans += [
            plan_answers(
                n_objects,
                n_components,
                kind=question,
                noise=plans[0].noise if plans else noise,
                agreement=None if plans else agreement,
                random_state=entropy,
                **settings,
            )
        ]
    return KindPlans(tuple(plans))
