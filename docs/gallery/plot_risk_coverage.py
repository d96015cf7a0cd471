"""
Risk against coverage
=====================

`plot_risk_coverage` shows the share of wrong predictions against the share of questions that are
predicted, from only the most certain to all. The dot is a guarantee from held-out answers: at most
15 % of the predicted answers are wrong (`choose_threshold`).
"""

import tercet as tc

points, _ = tc.simulate.gaussian_mixture(20, random_state=0)
answers = tc.simulate.noisy_triplets(points, 2000, noise=0.3, random_state=0)
train, test = answers[:1000], answers[1000:]

posterior = tc.Posterior(2, n_samples=500, random_state=0)
ensemble = posterior.fit(train).ensemble_
promise = tc.choose_threshold(ensemble, test, error=0.15)
print(promise)

probability = ensemble.answer_probability(test)
ax = tc.plots.plot_risk_coverage(tc.risk_coverage(probability), promise=promise)
