"""
How many answers do I need?
===========================

`plot_plan` shows the quality of maps against the number of answers, over simulated experiments, and
the number needed for a target (`plan_answers`). Here: 12 objects in two dimensions, noise 0.3, and
80 % of all comparisons right.
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
