"""Replica exchange: its ladder, its ratio, and posteriors known by importance sampling."""

import numpy as np
import pytest

import tercet as tc
from tercet.models import STEModel
from tercet.models.base import LAPSE
from tercet.models.shepard import ShepardModel
from tercet.posterior import tempering
from tercet.posterior.chains import begin_chains, run_chains
from tercet.posterior.draw import Plan, build_target
from tercet.posterior.hamiltonian import Hamiltonian
from tercet.posterior.mode import find_modes
from tercet.posterior.priors import NormalPrior, check_learn, first_theta
from tercet.posterior.relocation import NO_ANSWERS
from tercet.posterior.target import energy_and_gradient, log_likelihoods
from tercet.posterior.tempering import (
    LOWEST,
    Tempered,
    log_ratios,
    make_ladder,
    replica_target,
)


def learned_target():
    """A target with a lapse rate and a parameter of the model, and some draws to compare it at."""
    truth = np.random.default_rng(3).standard_normal((6, 2))
    answers = tc.simulate.noisy_triplets(truth, 60, noise=0.3, random_state=0)
    learn = check_learn(("gamma", "tail", "lapse"), ShepardModel())
    plan = Plan(ShepardModel(), 2, NormalPrior(), learn, "tempered", 10, 1, 10, "mode")
    return build_target(plan, answers), first_theta(learn, ShepardModel())


def test_the_ladder_goes_from_the_posterior_to_the_lowest_power():
    target, theta = learned_target()
    ladder = make_ladder(target, theta, np.full(3, 0.1), 800)
    assert ladder.powers[0] == 1.0
    assert ladder.powers[-1] == pytest.approx(LOWEST)
    ratios = ladder.powers[1:] / ladder.powers[:-1]
    np.testing.assert_allclose(ratios, ratios[0])
    assert (ladder.precision[0] == 0.0).all()
    held = target.learned != LAPSE
    assert (np.diff(ladder.precision[:, held], axis=0) > 0.0).all()
    assert (ladder.precision[:, ~held] == 0.0).all()
    assert len(make_ladder(target, theta, np.full(3, 0.1), 200).powers) < len(ladder.powers)


def test_ratios_are_differences_of_the_replicas_energies():
    target, theta = learned_target()
    ladder = make_ladder(target, theta, np.full(3, 0.2), 12)
    rng, count = np.random.default_rng(0), len(ladder.powers)
    X = rng.standard_normal((count, 6, 2))
    X -= X.mean(axis=1, keepdims=True)
    thetas = theta + 0.3 * rng.standard_normal((count, 3))
    by_X, by_theta = np.empty((6, 2)), np.empty(3)
    energies = np.array(
        [
            [
                energy_and_gradient(
                    replica_target(target, ladder, level), X[r], thetas[r], by_X, by_theta
                )
                for r in range(count)
            ]
            for level in range(count)
        ]
    )
    likelihoods = log_likelihoods(target, X, thetas)
    for first in (0, 1):
        low = np.arange(first, count - 1, 2)
        high = low + 1
        before = energies[low, low] + energies[high, high]
        after = energies[low, high] + energies[high, low]
        found = log_ratios(ladder, likelihoods, thetas, first)
        np.testing.assert_allclose(found, before - after, rtol=1e-9, atol=1e-9)


# ---- a line on which objects cannot pass each other

N = 4
OUTSIDE = [(1, 0, 3), (1, 2, 3), (0, 1, 3), (2, 1, 3)]
ROWS = [(0, 1, 2), (2, 1, 0), *OUTSIDE] * 8 + [(1, 0, 2)] * 2


def on_a_line(n_samples=5000):
    """Three objects in a row, and a fourth at either end; without relocations."""
    plan = Plan(STEModel(), 1, NormalPrior(4.0), {}, "tempered", n_samples, 2, 300, "mode")
    target = build_target(plan, tc.Triplets(ROWS, n_objects=N))
    rngs = [np.random.default_rng([4, k]) for k in range(2)]
    modes = find_modes(target, STEModel(), np.empty(0), 1, rngs)
    return Hamiltonian(target, NO_ANSWERS, modes, 300, n_samples)


def tempered(single):
    none = np.empty(0)
    return Tempered(single, make_ladder(single.target, none, none, single.modes.mode.X.size))


def beside_the_first(points):
    """Whether the fourth object is nearer to the first than to the third."""
    apart = np.abs(points - points[:, 3:])[:, :, 0]
    return apart[:, 0] < apart[:, 2]


def likelihoods_of(points):
    return log_likelihoods(on_a_line().target, points, np.empty((len(points), 0)))


def known():
    """The share of such maps and the mean log-likelihood, by importance sampling."""
    X = 2.0 * np.random.default_rng(0).standard_normal((400_000, N, 1))
    X -= X.mean(axis=1, keepdims=True)
    logs = likelihoods_of(X)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    assert 1.0 / np.sum(weights**2) > 2_000  # effective draws
    return float(weights @ beside_the_first(X)), float(weights @ logs)


def found(sampler):
    """The same of the draws of each of two chains."""
    runs = begin_chains(sampler, [np.random.default_rng([6, k]) for k in range(2)])
    chains = [chain.points for chain in run_chains(sampler, runs, 2, lambda count: None)]
    shares = [np.mean(beside_the_first(points)) for points in chains]
    return np.array(shares), np.array([np.mean(likelihoods_of(points)) for points in chains])


@pytest.mark.slow
def test_maps_have_the_shares_of_importance_sampling(monkeypatch):
    single, (share, likelihood) = on_a_line(), known()
    assert 0.65 < share < 0.75
    assert set(found(single)[0]) <= {0.0, 1.0}  # without exchanges a chain stays where it was
    shares, likelihoods = found(tempered(single))
    np.testing.assert_allclose(shares, share, atol=0.06)
    np.testing.assert_allclose(likelihoods, likelihood, atol=0.06)
    right = tempering.log_ratios
    monkeypatch.setattr(tempering, "log_ratios", lambda *given: 0.5 * right(*given))
    assert likelihood - found(tempered(single))[1].max() > 0.12  # a wrong ratio is noticed


def test_interrupted_ladders_go_on_to_the_same_bits(tmp_path, monkeypatch):
    truth = np.random.default_rng(0).standard_normal((6, 2))
    answers = tc.simulate.noisy_triplets(truth, 60, noise=0.3, random_state=0)
    settings = {"sampler": "tempered", "n_chains": 2, "n_samples": 12, "warmup": 12}
    settings |= {"random_state": 0, "progress": False}
    whole = tc.Posterior(2, n_jobs=1, **settings)._fit_quietly(answers)
    path = tmp_path / "run.ckpt"
    advance, calls = Tempered.advance, []

    def interrupted(self, *given):
        calls.append(1)
        if len(calls) > 5:
            raise KeyboardInterrupt
        return advance(self, *given)

    stopped = tc.Posterior(2, n_jobs=1, checkpoint=path, **settings)
    with monkeypatch.context() as patched:
        patched.setattr(Tempered, "advance", interrupted)
        with pytest.raises(KeyboardInterrupt):
            stopped._fit_quietly(answers)
    again = tc.Posterior(2, n_jobs=2, checkpoint=path, **settings)._fit_quietly(answers)
    np.testing.assert_array_equal(again.ensemble_.draws, whole.ensemble_.draws)
    assert again.ensemble_.statistics["log_posterior"] == pytest.approx(
        whole.ensemble_.statistics["log_posterior"], nan_ok=False
    )


def test_it_runs_on_the_cpu_alone():
    with pytest.raises(tc.errors.InputError, match="runs on the CPU"):
        tc.Posterior(2, sampler="tempered", device="gpu").fit([(0, 1, 2)])
