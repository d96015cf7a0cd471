"""How many answers a desired precision needs, by simulation."""

from tercet.uses.plan.plan import plan_answers
from tercet.uses.plan.result import AnswerPlan, Needed, PlanRow

__all__ = ["AnswerPlan", "Needed", "PlanRow", "plan_answers"]
