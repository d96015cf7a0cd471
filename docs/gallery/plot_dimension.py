"""
How many dimensions?
====================

`plot_dimension` shows the evidence for each dimension, and the recommendation of
`estimate_dimension` as a grey line. The training loss always falls; held-out answers decide.
"""

import tercet as tc

points, _ = tc.simulate.gaussian_mixture(20, random_state=0)  # two dimensions
answers = tc.simulate.noisy_triplets(points, 1000, noise=0.3, random_state=0)

estimate = tc.estimate_dimension(answers, range(1, 5), random_state=0)
print(estimate)
axes = tc.plots.plot_dimension(estimate)
