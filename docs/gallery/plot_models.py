"""
Which model predicts answers?
=============================

`plot_models` shows by how much each model's log-loss on held-out answers exceeds that of the best,
± 2 standard errors (`compare_models`). Models in grey are clearly worse. The numbers at the right
are stacking weights.
"""

import tercet as tc

points, _ = tc.simulate.gaussian_mixture(15, random_state=0)
answers = tc.simulate.noisy_triplets(points, 800, noise=0.3, random_state=0)

models = {
    "STE": tc.STE(2),
    "t-STE": tc.TSTE(2),
    "CKL": tc.CKL(2),
    "Shepard": tc.Shepard(2),
    "Shepard, parameters learned": tc.Posterior(2),
}
comparison = tc.compare_models(answers, models, random_state=0)
print(comparison)
ax = tc.plots.plot_models(comparison)
