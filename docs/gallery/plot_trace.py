"""
Have the chains converged?
==========================

`plot_trace` shows the draws in order, one colour per chain, and `plot_rank` their ranks among all
draws. Chains that agree look alike. ArviZ draws both, for rotation-invariant quantities: the log
posterior, the size of the map, distances, learned parameters.
"""

import tercet as tc

points, _ = tc.simulate.gaussian_mixture(15, random_state=0)
answers = tc.simulate.noisy_triplets(points, 800, noise=0.3, random_state=0)
posterior = tc.Posterior(tc.Shepard(2), learn=("gamma",), n_samples=500, random_state=0)
ensemble = posterior.fit(answers).ensemble_

traces = tc.plots.plot_trace(ensemble, n_distances=2)

# %%
# Ranks show more clearly whether one chain is higher than the others.

ranks = tc.plots.plot_rank(ensemble, n_distances=2)
