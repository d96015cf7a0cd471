"""
Calibration: are the probabilities right?
=========================================

`plot_reliability` shows the share of comparisons that are true against their stated probability. On
the diagonal, comparisons called 80 % certain are true in 80 % of cases. Above it a method is
underconfident, below it overconfident. The truth is known because the world is simulated.
"""

import warnings

import tercet as tc

points, _ = tc.simulate.gaussian_mixture(30, random_state=0)
answers = tc.simulate.noisy_triplets(points, 800, noise=0.3, random_state=0)
truth = tc.simulate.true_triplets(points)

recommended = tc.Posterior(2, n_samples=500, random_state=0)
ensemble = recommended.fit(answers).ensemble_
ax = tc.plots.plot_reliability(ensemble.triplet_probability(truth), label="posterior")

with warnings.catch_warnings():  # 40 % of 800 answers hardly contradict each other
    warnings.simplefilter("ignore", tc.SeparableWarning)
    paper = tc.Bootstrap.paper(tc.STE(2), random_state=0).fit(answers).ensemble_
pi = paper.triplet_probability(truth, method="paper")
ax = tc.plots.plot_reliability(pi, ax=ax, label="the paper's bootstrap")
