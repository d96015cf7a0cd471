"""Starts that know better: the mass of an annealed chain, and chains that start elsewhere."""

import time

import numpy as np
import pytest
from scipy.special import logsumexp

import tercet as tc
from tercet.models.shepard import ShepardModel
from tercet.posterior import annealing, diagnostics
from tercet.posterior.annealing import FIRST_POWER, anneal, better_starts, count_modes
from tercet.posterior.draw import Plan, begin, build_target
from tercet.posterior.hamiltonian import Hamiltonian
from tercet.posterior.mode import Mode, find_modes
from tercet.posterior.priors import NormalPrior
from tercet.posterior.relocation import own_answers
from tercet.posterior.target import log_likelihoods
from tercet.running.checkpoint import open_checkpoint
from tercet.simulate import noisy_triplets

N, D, VARIANCE = 5, 2, 2.0
ROWS = [(0, 1, 2), (0, 1, 3), (4, 3, 1), (2, 4, 0), (1, 0, 3), (0, 1, 4), (3, 4, 2), (2, 4, 1)]


def known(answers, chains=2):
    """A posterior of points alone, its modes, and the sampler from which chains are annealed."""
    model = ShepardModel()
    plan = Plan(model, D, NormalPrior(VARIANCE), {}, "hmc", 100, chains, 100, "mode")
    target = build_target(plan, answers)
    rngs = [np.random.default_rng([3, k]) for k in range(chains)]
    modes = find_modes(target, model, np.empty(0), D, rngs)
    own = own_answers(target.problem)
    return target, modes, Hamiltonian(target, own, modes, 0, 0)


@pytest.mark.slow
def test_the_mass_is_that_of_importance_sampling():
    """The normalising constant at power 1 over that at the first power, by draws of the prior."""
    target, _, sampler = known(tc.Triplets(ROWS * 4, n_objects=N))
    X = np.sqrt(VARIANCE) * np.random.default_rng(0).standard_normal((200_000, N, D))
    logs = log_likelihoods(target, X - X.mean(axis=1, keepdims=True), np.empty((len(X), 0)))
    expected = logsumexp(logs) - logsumexp(FIRST_POWER * logs)
    ends = [anneal(sampler, (0, np.random.default_rng(k))) for k in range(30)]
    found = [end.log_mass for end in ends]
    assert 0.5 < np.std(found) / np.mean([end.error for end in ends]) < 1.5
    error = np.std(found) / np.sqrt(len(found))
    assert error < 0.2
    assert np.mean(found) == pytest.approx(expected, abs=4 * error + 0.1)  # .1: the trapezium rule


def worlds_apart():
    """Modes of 12 objects, and the same with a hopeless start for the second chain."""
    truth = np.random.default_rng(1).standard_normal((12, 2))
    answers = noisy_triplets(truth, 500, noise=0.2, random_state=0)
    target, modes, _ = known(answers)
    lost = np.random.default_rng(2).permutation(modes.mode.X)
    starts = [modes.mode, Mode(lost, np.empty(0), modes.mode.energy + 400.0, 0.0)]
    return target, modes._replace(starts=starts)


def rngs():
    return [np.random.default_rng([5, k]) for k in range(2)]


def test_chains_at_one_mode_are_not_annealed(monkeypatch):
    target, modes, sampler = known(tc.Triplets(ROWS * 4, n_objects=N))
    modes = modes._replace(starts=[modes.mode, modes.mode])
    monkeypatch.setattr(annealing, "anneal", None)  # would raise
    assert count_modes(modes) == 1
    found = better_starts(target, sampler.own, modes, rngs())
    assert found.modes is modes
    assert len(found.deficits) == 0


def test_an_annealed_chain_leaves_a_hopeless_start():
    target, modes = worlds_apart()
    found = better_starts(target, own_answers(target.problem), modes, rngs())
    assert found.found == 2
    none = np.empty((1, 0))
    heights = [log_likelihoods(target, start.X[None], none)[0] for start in found.modes.starts]
    lost = log_likelihoods(target, modes.starts[1].X[None], none)[0]
    assert min(heights) > lost + 100.0


def test_a_chain_that_cannot_matter_starts_where_another_ended(monkeypatch):
    target, modes = worlds_apart()
    X = {0: np.zeros((12, 2)), 1: np.ones((12, 2))}

    def annealed(sampler, chain, tick):
        k = chain[0]
        return annealing.Annealed(X[k], np.empty(0), -10.0 - limit * k, error)

    monkeypatch.setattr(annealing, "anneal", annealed)
    error = 2.0
    least = annealing.LEAST_DEFICIT + annealing.ERRORS * np.sqrt(2.0) * error
    limit = least + 1.0
    found = better_starts(target, own_answers(target.problem), modes, rngs())
    np.testing.assert_array_equal([start.X for start in found.modes.starts], [X[0], X[0]])
    np.testing.assert_allclose(found.deficits, [limit])
    limit = least - 1.0  # multimodality that may matter is kept
    found = better_starts(target, own_answers(target.problem), modes, rngs())
    np.testing.assert_array_equal([start.X for start in found.modes.starts], [X[0], X[1]])
    assert len(found.deficits) == 0


def test_an_interruption_stops_all_at_their_next_power(monkeypatch):
    target, modes = worlds_apart()
    right, steps = annealing.anneal, []

    def interrupted(sampler, chain, tick):
        if chain[0] == 0:
            raise KeyboardInterrupt

        def counted(share):
            steps.append(share)
            time.sleep(0.2)  # so that the first chain's end is noticed
            tick(share)

        return right(sampler, chain, counted)

    monkeypatch.setattr(annealing, "anneal", interrupted)
    with pytest.raises(KeyboardInterrupt):
        better_starts(target, own_answers(target.problem), modes, rngs(), n_jobs=2)
    assert sum(steps) < 0.9


def test_what_was_dropped_is_told():
    quantities = {"a": np.random.default_rng(0).standard_normal((4, 100))}
    found = diagnostics.diagnose_chains(quantities, modes=3, deficits=[141.2])
    assert found.starts == (
        "3 modes found; one chain was restarted from a better one, at least 141 nats above"
    )
    assert diagnostics.diagnose_chains(quantities, modes=3).starts == ""


def test_annealed_chains_are_kept_in_a_checkpoint(tmp_path, monkeypatch):
    target, modes = worlds_apart()
    own = own_answers(target.problem)

    def run():
        with open_checkpoint(tmp_path / "run.ckpt", {}, {}, 0) as checkpoint:
            return better_starts(target, own, modes, rngs(), checkpoint=checkpoint)

    first = run()
    monkeypatch.setattr(annealing, "anneal", None)  # would raise
    again = run()
    for one, other in zip(first.modes.starts, again.modes.starts, strict=True):
        np.testing.assert_array_equal(one.X, other.X)
    np.testing.assert_array_equal(first.deficits, again.deficits)


# ---- as many draws as needed


def some_answers():
    points, _ = tc.simulate.gaussian_mixture(8, random_state=0)
    return noisy_triplets(points, 120, noise=0.3, random_state=0)


def made(**changes):
    settings = {"n_chains": 2, "random_state": 0, "progress": False, "warmup": 100}
    return tc.Posterior(2, **(settings | changes))._fit_quietly(some_answers())


def test_chains_of_default_length_go_on_until_they_have_enough(monkeypatch):
    usual = made()
    assert usual.diagnostics_.n_samples == 1000
    monkeypatch.setattr(diagnostics, "ENOUGH_ESS", 1.5 * usual.diagnostics_.ess_bulk)
    longer = made()
    assert longer.diagnostics_.n_samples in (2000, 4000)
    assert longer.ensemble_.n_chains == 2
    same = made(n_samples=longer.diagnostics_.n_samples)
    np.testing.assert_array_equal(longer.ensemble_.draws, same.ensemble_.draws)


def test_chains_of_a_given_length_do_not_go_on(monkeypatch):
    monkeypatch.setattr(diagnostics, "ENOUGH_ESS", 1e9)
    assert made(n_samples=30).diagnostics_.n_samples == 30


@pytest.mark.parametrize("chains", [1, 2, 4])
def test_the_largest_r_hat_of_converged_chains_is_below_the_limit(chains):
    """With the fewest effective draws that are accepted, and as many quantities as are watched."""
    rng, draws = np.random.default_rng(chains), diagnostics.ESS_A_CHAIN
    found = [
        diagnostics.diagnose_chains({"all": rng.standard_normal((chains, draws, 55))}).r_hat
        for _ in range(100)
    ]
    assert 0.85 < np.mean(np.array(found) < diagnostics.largest_r_hat(chains)) < 0.99


def test_begun_chains_have_room_to_go_on():
    plan = Plan(ShepardModel(), D, NormalPrior(VARIANCE), {}, "hmc", 20, 1, 10, "mode")
    begun = begin(plan._replace(most_samples=80), tc.Triplets(ROWS, n_objects=N), 0, 1)
    assert begun.sampler.n_samples == 80
