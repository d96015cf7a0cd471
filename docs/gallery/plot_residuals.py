"""
Does a scale fit?
=================

`plot_residuals` shows the residuals of a scale with the envelope expected under the fitted model,
and the number of runs of their signs beside simulated ones (`goodness_of_fit`). A curve outside the
envelope, or too few runs, means that the model does not fit.
"""

import numpy as np
from scipy.stats import norm

import tercet as tc


def larger(near, far):
    """The far pair sounds larger with this probability; the noise of a judgement is 0.2."""
    return norm.cdf((np.sqrt(far) - np.sqrt(near)) / 0.2)


level = np.linspace(0, 1, 8)
loudness = level[:, None] ** 1.5  # known only in a simulation
questions = tc.simulate.random_comparisons(8, 500, replace=True, random_state=0)
answers = tc.simulate.answers_from_model(larger, loudness, questions, random_state=0)

scale = tc.perceptual_scale(answers, level, n_samples=300, random_state=0)
fit = tc.goodness_of_fit(scale, n_samples=300, random_state=0)
print(fit)
axes = tc.plots.plot_residuals(fit)
