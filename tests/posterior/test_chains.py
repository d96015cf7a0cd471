"""Where chains start, and what the warm-up makes of the metric."""

import tracemalloc

import numpy as np
import pytest
from joblib import parallel_config
from tests.worlds import posterior_target

from tercet.models import CKLModel, STEModel
from tercet.posterior import mode
from tercet.posterior.chains import ChainDraws, ChainState, advance_chain, begin_chains, run_chains
from tercet.posterior.draw import Plan, build_target
from tercet.posterior.elliptical import Matrices
from tercet.posterior.hamiltonian import Hamiltonian, make_metric, refine
from tercet.posterior.mode import find_mode, find_modes, fix_scale, jittered
from tercet.posterior.priors import DistancePrior, NormalPrior, check_learn, first_theta
from tercet.posterior.relocation import own_answers
from tercet.simulate import noisy_triplets

N, D = 6, 2
POINTS = np.random.default_rng(0).standard_normal((N, D))


def make_target(learn=(), learned=True):
    target = posterior_target(POINTS, 100, learn=learn, learned=learned)
    return target, first_theta(check_learn(learn, STEModel()), STEModel())


def found_modes(n_chains=3, **settings):
    target, theta = make_target(**settings)
    rngs = [np.random.default_rng(k) for k in range(n_chains)]
    return target, find_modes(target, STEModel(), theta, D, rngs)


@pytest.mark.parametrize("learn", [(), ("lapse",)])
def test_every_chain_has_a_mode_and_the_best_is_looked_around(learn):
    target, modes = found_modes(learn=learn)
    assert len(modes.starts) == 3
    assert modes.mode.energy == min(start.energy for start in modes.starts)
    assert modes.A.shape == (N, N)
    assert np.linalg.eigvalsh(modes.A)[0] > 0
    assert modes.widths.shape == (len(learn),)
    known = fix_scale(target, modes.mode.log_scale)
    for start in modes.starts:
        np.testing.assert_allclose(start.X.mean(axis=0), 0.0, atol=1e-9)
        again = find_mode(known, start.X, start.theta)
        assert again.energy == pytest.approx(start.energy, abs=1e-4)


def test_starts_are_near_their_modes_and_centred():
    _, modes = found_modes(learn=("lapse",))
    rng = np.random.default_rng(0)
    moved = []
    for _ in range(2000):
        X, theta = jittered(modes, 1, rng)
        np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-12)
        moved.append(np.append((X - modes.starts[1].X).ravel(), theta - modes.starts[1].theta))
    spread = np.std(moved, axis=0)
    widths = mode._JITTER * np.sqrt(np.diag(modes.A))
    np.testing.assert_allclose(spread[:-1].reshape(N, D).mean(axis=1), widths, rtol=0.3)
    assert spread[-1] == pytest.approx(mode._JITTER * modes.widths[0], rel=0.1)


def test_the_metric_learns_from_the_widths_that_are_seen():
    """Shapes of a map whose first object moves three times as much as it was thought to."""
    rng, A = np.random.default_rng(0), 0.01 * np.eye(N)
    metric = make_metric(A, np.array([0.1]))
    shapes = POINTS - POINTS.mean(axis=0) + 0.1 * rng.standard_normal((400, N, D))
    shapes[:, 0] += 0.3 * rng.standard_normal((400, D))
    etas = 0.5 * rng.standard_normal((400, 1))
    points = shapes * np.exp(etas)[:, :, None]
    found = refine(metric, points, etas)
    diagonal = np.diag(found.A)
    assert diagonal[0] > 3 * diagonal[1:].max()
    assert found.widths == pytest.approx([0.5], rel=0.15)
    thin = refine(make_metric(np.diag(A).copy()[None], metric.widths), points, etas)
    assert thin.A.shape == (1, N)
    assert thin.A[0, 0] > 3 * thin.A[0, 1:].max()


def test_few_draws_teach_nothing():
    metric = make_metric(0.01 * np.eye(N), np.array([0.1]))
    assert refine(metric, np.empty((5, N, D)), np.empty((5, 1))) is metric


def run_one(sampler, tick):
    return run_chains(sampler, begin_chains(sampler, [np.random.default_rng(0)]), 1, tick)


def test_chains_that_stopped_go_on_to_the_same_bits():
    target, modes = found_modes()
    sampler, told = Hamiltonian(target, own_answers(target.problem), modes, 60, 130), []
    whole = run_chains(
        sampler, begin_chains(sampler, list(map(np.random.default_rng, range(3)))), 2, told.append
    )
    runs = begin_chains(sampler, list(map(np.random.default_rng, range(3))))
    part = run_chains(sampler, runs[:2], 2, told.append, 70)
    assert [len(chain.points) for chain in part] == [70, 70]
    for first, all_of_it in zip(part, whole, strict=False):
        np.testing.assert_array_equal(first.points, all_of_it.points[:70])
    for run in runs[:2]:  # what was drawn is not drawn again
        assert run.state.done == 70
    run_chains(sampler, runs[:1], 2, told.append, 20)
    assert runs[0].state.done == 70
    with parallel_config(backend="threading", n_jobs=2):
        again = run_chains(sampler, runs, 2, told.append)
    for chain, same in zip(again, whole, strict=True):
        np.testing.assert_array_equal(chain.points, same.points)
        assert chain.rng.random() == same.rng.random()


def test_every_draw_is_reported_once():
    target, modes = found_modes()
    told = []
    sampler = Hamiltonian(target, own_answers(target.problem), modes, 70, 130)
    [chain] = run_one(sampler, told.append)
    assert sum(told) == 200
    assert chain.points.shape == (130, N, D)
    assert chain.thetas.shape == (130, 0)
    assert np.isnan(chain.variances).all()  # drawn later, given the points
    assert np.isfinite(chain.log_posterior).all()
    assert chain.divergences == 0


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_what_ends_one_chain_ends_all(error):
    """The first report fails; the other chains stop after the block they are in."""
    target, modes = found_modes()
    told = []

    def tick(count):
        told.append(count)
        if len(told) == 1:
            raise error("no more")

    rngs = [np.random.default_rng(k) for k in range(3)]
    sampler = Hamiltonian(target, own_answers(target.problem), modes, 0, 100_000)
    runs = begin_chains(sampler, rngs)
    with pytest.raises(error, match="no more"):
        run_chains(sampler, runs, 2, tick)
    assert len(told) < 100


def test_a_chain_can_stop_after_any_block_and_go_on_elsewhere():
    target, modes = found_modes()
    sampler = Hamiltonian(target, own_answers(target.problem), modes, 90, 130)
    rng = np.random.default_rng(0)
    [whole] = run_one(sampler, lambda count: None)
    position, adapted = sampler.start(0, rng)
    state, kept = ChainState(0, 0, position, adapted, rng.bit_generator.state), []
    for number, phase in enumerate(sampler.phases):
        for length in (phase.length // 2, phase.length - phase.length // 2):
            for array in state.adapted.values():
                array.setflags(write=False)  # as some backends hand them over
            _, position, bits, part = advance_chain(sampler, (state, length))
            state = state._replace(done=state.done + length, position=position, rng=bits)
            kept.append(part)
        if number < 3:
            draws = (
                ChainDraws(*map(np.concatenate, zip(*kept, strict=True))) if phase.keeps else None
            )
            state = ChainState(number + 1, 0, *sampler.adapt(state, draws), state.rng)
            kept = []
    np.testing.assert_array_equal(np.concatenate([part.points for part in kept]), whole.points)


def test_a_mode_whose_exponent_runs_away_is_no_start():
    """Four dimensions satisfy 800 noise-free answers about 40 objects, with any exponent."""
    truth = np.random.default_rng(0).standard_normal((40, 2))
    answers = noisy_triplets(truth, 800, noise=0.0, random_state=0)
    model, learn = CKLModel(), check_learn(("exponent", "mu"), CKLModel())
    plan = Plan(model, 4, NormalPrior(), learn, "hmc", 1, 1, 0, "mode")
    target, theta = build_target(plan, answers), first_theta(learn, model)
    X = np.random.default_rng(1).standard_normal((40, 4))
    assert mode._ran_away(target, mode._modes_near(target, [X], theta)[0].theta)
    modes = find_modes(target, model, theta, 4, [np.random.default_rng(k) for k in range(2)])
    median, sd = target.priors.T
    for start in modes.starts:
        assert np.all(np.abs(start.theta - median) < 0.5 * sd)
    assert np.array_equal(mode._tightened(target).priors[:, 1], 0.05 * sd)


def test_a_lapse_rate_is_never_held():
    target, _ = make_target(learn=("lapse",))
    assert not mode._ran_away(target, np.array([50.0]))
    assert np.array_equal(mode._tightened(target).priors, target.priors)


@pytest.mark.slow
def test_draws_of_the_warmup_are_not_held():
    """2000 matrices of 40 x 40 numbers would be 26 MB."""
    n = 40
    points = np.random.default_rng(0).standard_normal((n, 2))
    plan = Plan(STEModel(), 2, DistancePrior(2.0), {}, "elliptical_slice", 50, 1, 2000, "mode")
    target = build_target(plan, noisy_triplets(points, 500, noise=0.3, random_state=0))
    sampler = Matrices(target, *plan.prior.matrices(n), [points], plan.warmup, plan.n_samples)
    run_one(sampler._replace(warmup=0), lambda count: None)  # compiles
    tracemalloc.start()
    try:
        [chain] = run_one(sampler, lambda count: None)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert chain.points.shape == (50, n, n)
    assert peak < 6 * chain.points.nbytes
