"""
How many answers do I need?
===========================

`plot_plan` shows the precision that numbers of answers lead to, over simulated experiments, and how
many a target needs (`plan_answers`). Here: 12 objects in the plane, noise of 0.3, and 80 % of all
comparisons to be right.
"""

import numpy as np

import tercet as tc

plan = tc.plan_answers(12, noise=0.3, target=0.8, repeats=6, random_state=0)
print(plan)

answers, median, low, high = np.array([row[:4] for row in plan.rows]).T
ax = tc.plots.plot_plan(
    answers,
    median,
    low,
    high,
    target=plan.target,
    needed=plan.needed,
    ylabel="share of all comparisons that are right",
)
