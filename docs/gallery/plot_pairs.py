"""
Three dimensions, two at a time
===============================

`plot_pairs` draws a map of every pair of dimensions, all on the same scale. The map is rotated so
that the first dimension is the widest. Twelve fruits that differ in three ways, and 2000 answers.
"""

import numpy as np

import tercet as tc

fruits = ["apple", "pear", "plum", "cherry", "grape", "fig", "lemon", "lime", "orange", "melon"]
names = [*fruits, "kiwi", "mango"]
rng = np.random.default_rng(1)
points = rng.uniform(-1, 1, (12, 3)) * [2.0, 1.5, 1.2]  # a simulated truth
rows = tc.simulate.noisy_triplets(points, 2000, noise=0.2, replace=True, random_state=0).array

posterior = tc.Posterior(3, n_samples=500, random_state=0)
ensemble = posterior.fit(tc.Triplets(rows, names=names)).ensemble_.realigned("scale")
axes = tc.plots.plot_pairs(ensemble)

# %%
# `plot_distances` shows the expected distances of all pairs, for any number of dimensions. Objects
# are ordered so that similar ones are adjacent.

ax = tc.plots.plot_distances(ensemble)
