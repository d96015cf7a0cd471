"""Hamiltonian Monte Carlo: the metric, the momenta, trajectories that keep the energy, the step."""

import numpy as np
import pytest
from tests.worlds import posterior_target

from tercet.estimators import CKL
from tercet.posterior import hamiltonian
from tercet.posterior.hamiltonian import (
    ACCEPTED,
    DIVERGENT,
    ENERGY,
    STEPS,
    make_metric,
    sample,
    start_tuning,
    tuned_step,
)
from tercet.posterior.posterior import Posterior
from tercet.posterior.relocation import NO_ANSWERS, own_answers
from tercet.posterior.target import energy_and_gradient
from tercet.simulate import noisy_triplets

N, D = 6, 2
POINTS = np.random.default_rng(0).standard_normal((N, D))


def make_target(learn=(), learned=False):
    return posterior_target(POINTS, 60, learn=learn, learned=learned)


def covariance(seed=0):
    root = np.eye(N) + 0.3 * np.random.default_rng(seed).standard_normal((N, N))
    return 0.05 * root @ root.T


METRICS = {"full": covariance(), "diagonal": np.diag(covariance()).copy()[None]}


def run(target, A, step, count=200, seed=0, length=1.0, most=1000, tune=False, relocate=False):
    """Draws from the true points: X (S, n, d), etas and notes."""
    k = 1 + len(target.learned)
    Y, eta = POINTS - POINTS.mean(axis=0), np.zeros(k)
    eta[1:] = -2.0
    points, etas = np.empty((count, N, D)), np.empty((count, k))
    notes = np.empty((count, hamiltonian.N_NOTES))
    metric, tuner = make_metric(A, np.full(k, 0.2)), start_tuning(step)
    rng = np.random.default_rng(seed)
    own = own_answers(target.problem) if relocate else NO_ANSWERS
    settings = step, length, most, tune, tuner, rng
    last = sample(target, own, metric, Y, eta, *settings, points, etas, notes)
    return points, etas, notes, last, tuner


# ---- the metric


@pytest.mark.parametrize("name", METRICS)
def test_the_root_is_that_of_the_inverse(name):
    A = METRICS[name]
    metric = make_metric(A, np.ones(1))
    full = (np.diag(part[0]) if len(A) == 1 else part for part in (metric.A, metric.root))
    whole, root = full
    np.testing.assert_allclose(root @ root.T @ whole, np.eye(N), atol=1e-10)


@pytest.mark.parametrize("name", METRICS)
def test_the_shift_is_the_inverse_by_the_centre(name):
    A = METRICS[name]
    weights = np.linalg.solve(np.diag(A[0]) if len(A) == 1 else A, np.ones(N))
    found = hamiltonian._shift(make_metric(A, np.ones(1)))
    np.testing.assert_allclose(found, weights / weights.sum(), rtol=1e-10)


@pytest.mark.parametrize("name", METRICS)
def test_momenta_are_normal_given_that_they_move_no_centre(name):
    A = METRICS[name]
    metric = make_metric(A, np.ones(1))
    shift, rng, S = hamiltonian._shift(metric), np.random.default_rng(4), 20_000
    P = np.empty((S, N, D))
    for draw in P:
        hamiltonian._draw_momentum(metric, shift, rng, draw)
    np.testing.assert_allclose(P.sum(axis=1), 0.0, atol=1e-11)
    inverse = np.linalg.inv(np.diag(A[0]) if len(A) == 1 else A)
    ones = inverse.sum(axis=1)
    expected = inverse - np.outer(ones, ones) / ones.sum()
    for a in range(D):
        for b in range(D):
            seen = P[:, :, a].T @ P[:, :, b] / S
            variance = np.outer(np.diag(expected), np.diag(expected)) + (a == b) * expected**2
            z = (seen - (a == b) * expected) / np.sqrt(variance / S)
            assert np.abs(z).max() < 5.5  # of some 150 z: by chance once in 100 000 sets


# ---- trajectories


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("learned", [False, True])
def test_small_steps_keep_the_energy_to_second_order(name, learned):
    """The same trajectories in steps half as long lose a quarter of the energy."""
    target, lost, gone = make_target(("lapse",), learned), [], []
    for step in (0.02, 0.01):
        runs = [run(target, METRICS[name], step, count=1, seed=seed) for seed in range(100)]
        lost.append(np.sum([-np.log(notes[0, ACCEPTED]) for _, _, notes, _, _ in runs]))
        gone.append(np.array([points[0] for points, *_ in runs]))
    assert 0.0 < lost[0] < 100 * 0.01
    assert lost[0] / lost[1] == pytest.approx(4.0, rel=0.15)
    assert np.abs(gone[0] - gone[1]).max() < 0.05
    assert np.ptp(gone[0], axis=0).min() > 0.3  # they do go somewhere


@pytest.mark.parametrize("relocate", [False, True])
def test_points_stay_centred_and_of_the_noted_size_and_energy(relocate):
    target = make_target(("lapse",), True)
    points, etas, notes, _, _ = run(target, METRICS["full"], 0.2, relocate=relocate)
    np.testing.assert_allclose(points.mean(axis=1), 0.0, atol=1e-12)
    sizes = 0.5 * np.log(np.sum(points**2, axis=(1, 2)) / ((N - 1) * D))
    np.testing.assert_allclose(etas[:, 0], sizes, atol=1e-10)
    for X, eta, noted in zip(points, etas, notes[:, ENERGY], strict=True):
        by_X, by_theta = np.empty((N, D)), np.empty(1)
        found = energy_and_gradient(target, X.copy(), eta[1:].copy(), by_X, by_theta)
        assert found == pytest.approx(noted, rel=1e-9)


def test_trajectories_have_random_lengths_around_the_one_asked_for():
    _, _, notes, _, _ = run(make_target(), METRICS["full"], 0.1, count=2000, length=1.0)
    steps = notes[:, STEPS]
    assert steps.min() == 1
    assert 20 < steps.max() <= 80  # steps are up to four times shorter
    longer = np.mean(4.0 ** np.linspace(0.0, 1.0, 10_001) ** 8)  # trajectories, in steps
    assert steps.mean() == pytest.approx(0.5 + 10 * longer, abs=5 * steps.std() / np.sqrt(2000))
    _, _, notes, _, _ = run(make_target(), METRICS["full"], 0.01, count=10, length=5.0, most=7)
    assert notes[:, STEPS].max() == 7


def test_a_trajectory_that_leaves_the_track_is_noted_and_goes_nowhere():
    points, _, notes, _, _ = run(make_target(), 1e6 * METRICS["full"], 5.0, count=20)
    assert notes[:, DIVERGENT].sum() == 20
    assert notes[:, ACCEPTED].sum() == 0
    np.testing.assert_array_equal(points, np.broadcast_to(points[0], points.shape))
    shape = POINTS - POINTS.mean(axis=0)
    np.testing.assert_allclose(points[0] * np.linalg.norm(shape), shape * np.sqrt((N - 1) * D))


def test_the_same_seed_gives_the_same_draws():
    first, again, other = (run(make_target(), METRICS["full"], 0.2, seed=s)[0] for s in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)


# ---- the step


def test_dual_averaging_finds_the_step_with_the_wanted_acceptance():
    tuner = start_tuning(0.5)
    step = 0.5
    for _ in range(2000):
        step = hamiltonian._retune(tuner, np.exp(-3.0 * step**2))
    assert np.exp(-3.0 * tuned_step(tuner) ** 2) == pytest.approx(hamiltonian.ACCEPT, abs=0.01)


@pytest.mark.parametrize("first", [1e-3, 3.0])
def test_a_bad_first_step_is_mended(first):
    target = make_target()
    *_, tuner = run(target, METRICS["full"], first, count=2000, most=50, tune=True)
    _, _, notes, _, _ = run(target, METRICS["full"], tuned_step(tuner), count=500)
    assert 0.65 < notes[:, ACCEPTED].mean() < 0.95


def test_chains_on_a_line_find_the_same_orders():
    """Without relocations R-hat was 2 and more: objects cannot pass each other."""
    truth = np.random.default_rng([0, 1, 60]).normal(size=(30, 1))
    answers = noisy_triplets(truth, 250, noise=0.5, random_state=0)
    maker = Posterior(CKL(1), learn=("exponent", "mu"), n_samples=500, random_state=0)
    assert maker.fit(answers).diagnostics_.r_hat < 1.05
