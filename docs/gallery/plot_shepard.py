"""
Do answers follow the distances?
================================

`plot_shepard` shows how often answers agree with the map, against the ratio of the two distances of
a comparison. If they are equal, people answer at random; if one is much longer, nearly all agree.
The line is the model's expectation. The answers shown were held out.
"""

import tercet as tc

points, _ = tc.simulate.gaussian_mixture(20, random_state=0)
answers = tc.simulate.noisy_triplets(points, 2000, noise=0.3, random_state=0)
train, test = answers[:1200], answers[1200:]

posterior = tc.Posterior(2, n_samples=500, random_state=0)
ax = tc.plots.plot_shepard(posterior.fit(train).ensemble_, test)
