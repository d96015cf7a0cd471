"""
A map with its ellipses
=======================

`plot_map` draws the mean position of each object over an ensemble, with its 95 % credible ellipse.
Here: sixteen instruments, and 1200 answers to "is the first more like the second or the third?".
Answers hardly tell the size of a whole map, so draws are aligned with their sizes made equal.
"""

import numpy as np

import tercet as tc

families = {
    "strings": ["violin", "viola", "cello", "double bass"],
    "woodwind": ["flute", "oboe", "clarinet", "bassoon"],
    "brass": ["trumpet", "horn", "trombone", "tuba"],
    "percussion": ["timpani", "snare", "cymbals", "triangle"],
}
names = [name for members in families.values() for name in members]
groups = [family for family, members in families.items() for _ in members]

rng = np.random.default_rng(3)
centres = np.repeat([[-2.0, 0.5], [0.3, 1.8], [1.2, -0.6], [-0.4, -2.2]], 4, axis=0)
points = centres + rng.normal(0, 0.6, (16, 2))  # a simulated truth
rows = tc.simulate.noisy_triplets(points, 1200, noise=0.3, random_state=0).array
answers = tc.Triplets(rows, names=names)

posterior = tc.Posterior(2, n_samples=500, random_state=0)
instruments = posterior.fit(answers).ensemble_.realigned("scale")
ax = tc.plots.plot_map(instruments, groups=groups)

# %%
# On a line, every object has an interval below it.

lengths = np.sort(rng.uniform(0, 10, 9))
rows = tc.simulate.noisy_triplets(lengths[:, None], 200, noise=0.3, random_state=1).array
sticks = tc.Triplets(rows, names=[f"{length:.1f} cm" for length in lengths])
line = tc.Posterior(1, n_samples=500, random_state=0)
ax = tc.plots.plot_map(line.fit(sticks).ensemble_.realigned("scale"))
