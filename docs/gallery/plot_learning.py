"""
Does choosing questions pay?
============================

`plot_learning` shows a score against the number of answers: the mean over repeats, and a band that
contains most of them. Two strategies of an `ActiveLoop` question a simulated observer, three times
each. Larger studies are in :doc:`/uses`.
"""

import tercet as tc

points, _ = tc.simulate.gaussian_mixture(12, random_state=0)
truth = tc.simulate.true_triplets(points)  # known only in a simulation


def run(strategy, seed):
    """Start with 60 random answers, ask 20 more in each of four rounds."""
    loop = tc.ActiveLoop(
        tc.Posterior(2, n_samples=500, n_chains=2),
        lambda asked: tc.simulate.answer(points, asked, noise=0.2, random_state=seed),
        start=tc.simulate.noisy_triplets(points, 60, noise=0.2, random_state=seed),
        strategy=strategy,
        k=20,
        score=truth,
        random_state=seed,
    )
    return loop.run(4)


curves = {
    strategy: [run(strategy, seed) for seed in range(3)]
    for strategy in ("random", "mutual_information")
}
ax = tc.plots.plot_learning(curves, ylabel="share of true comparisons known")
