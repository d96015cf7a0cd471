"""
A perceptual scale with intervals
=================================

`plot_scale` draws perceived against physical values. Three people compared pairs of grey patches:
which pair differs more? Each has a scale with intervals (`scales_by_observer`).
"""

import numpy as np
from scipy.stats import norm

import tercet as tc


def larger(near, far):
    """The far pair looks larger with this probability; the noise of a judgement is 0.2."""
    return norm.cdf((np.sqrt(far) - np.sqrt(near)) / 0.2)


contrast = np.linspace(0, 1, 9)
rows, observers = [], []
for seed, (person, exponent) in enumerate({"Ada": 0.6, "Ben": 1.0, "Cleo": 1.8}.items()):
    perceived = contrast[:, None] ** exponent  # known only in a simulation
    questions = tc.simulate.random_comparisons(9, 400, replace=True, random_state=seed)
    answers = tc.simulate.answers_from_model(larger, perceived, questions, random_state=seed)
    rows.append(np.asarray(answers))
    observers += [person] * len(answers)
people = tc.Triplets(np.concatenate(rows), observers=observers)

scales = tc.scales_by_observer(people, contrast, n_samples=500, random_state=0)
ax = tc.plots.plot_scale(scales)
ax.set_xlabel("contrast")
