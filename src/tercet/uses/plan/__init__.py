"""How many answers a desired precision needs, by simulation."""

from tercet.uses.plan.curve import AnswerPlan, Needed, PlanRow
from tercet.uses.plan.kinds import KindPlans, plan_kinds
from tercet.uses.plan.plan import plan_answers

__all__ = ["AnswerPlan", "KindPlans", "Needed", "PlanRow", "plan_answers", "plan_kinds"]
