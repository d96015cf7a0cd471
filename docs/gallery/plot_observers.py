"""
Is an observer guessing?
========================

`plot_observers` shows the share of each observer's answers that agree with the others, with
intervals. Ten people compared fifteen objects; two of them guessed. `check_answers` measures
agreement by predicting each observer's answers from those of the others.
"""

import numpy as np

import tercet as tc

points, _ = tc.simulate.gaussian_mixture(15, random_state=0)
rows, observers = [], []
for person in range(10):
    questions = tc.simulate.random_comparisons(15, 80, random_state=person)
    lapse = 1.0 if person in (3, 7) else 0.05  # share of random answers
    answers = tc.simulate.answer(points, questions, noise=0.3, lapse=lapse, random_state=person)
    rows.append(answers)
    observers += [f"observer {person + 1}"] * len(answers)
people = tc.Triplets(np.concatenate(rows), observers=observers)

check = tc.check_answers(people, random_state=0)
low, high = zip(*(each.interval for each in check.observers), strict=True)
ax = tc.plots.plot_observers(
    [each.observer for each in check.observers],
    [each.accuracy for each in check.observers],
    low,
    high,
    flagged=[each.verdict == "looks like guessing" for each in check.observers],
    typical=check.typical,
    xlabel="share of answers that a map of the others predicts",
)
