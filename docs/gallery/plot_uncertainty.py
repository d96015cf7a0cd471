"""
Share of comparisons by certainty
=================================

`plot_uncertainty` shows the share of comparisons whose certainty is above each level: of all
possible comparisons, and of those asked. With more answers the curve moves to the upper right.
"""

import tercet as tc

points, _ = tc.simulate.gaussian_mixture(20, random_state=0)
answers = tc.simulate.noisy_triplets(points, 600, noise=0.3, random_state=0)

posterior = tc.Posterior(2, n_samples=500, random_state=0)
ax = tc.plots.plot_uncertainty(posterior.fit(answers).ensemble_, answers)
