"""Minimising the loss: optimal, honest about separable data, the same bits on any threads."""

import numpy as np
import pytest
from scipy import optimize

from tercet.engine.problem import build_problem, take_rows
from tercet.engine.search import (
    LARGE,
    Descent,
    Objective,
    Options,
    batches,
    embed,
    evaluate,
    fit_subsets,
    minimise,
)
from tercet.engine.starts import random_start, spectral_start
from tercet.metrics import triplet_error
from tercet.models import CKLModel, GNMDSModel, ShepardModel, SOEModel, STEModel, TSTEModel
from tercet.simulate import gaussian_mixture, noisy_triplets, true_triplets

MAP = 1 / 30  # the penalty of a Gaussian prior of variance 15
MODELS = [
    STEModel(),
    TSTEModel(),
    CKLModel(),
    CKLModel(exponent=1.5),
    ShepardModel(),
    GNMDSModel(smoothing=0.1),
    SOEModel(),
]
SMOOTH = MODELS[:-1]  # distances themselves, as in SOE, have a corner where two points meet


def world(n=15, m=400, noise=0.3, seed=0, d=2):
    rng = np.random.default_rng(seed)
    points = gaussian_mixture(n, random_state=rng)[0] if d == 2 else rng.normal(size=(n, d))
    return build_problem(noisy_triplets(points, m, noise=noise, random_state=rng).array, n)


def continued(objective, problem, X):
    """Loss after SciPy has gone on from X for as long as it finds anything."""

    def function(x):
        loss, gradient = evaluate(objective, problem, x.reshape(X.shape))
        return loss, gradient.ravel()

    options = {"maxiter": 50_000, "maxfun": 100_000, "ftol": 1e-16, "gtol": 1e-12, "maxcor": 40}
    found = optimize.minimize(function, X.ravel(), jac=True, method="L-BFGS-B", options=options)
    return found.fun


# ---- optimal


@pytest.mark.parametrize("model", SMOOTH, ids=str)
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("m", [60, 400])
def test_a_fit_that_says_converged_is_within_a_millionth_of_the_minimum(model, d, m):
    problem, objective = world(m=m, seed=m + d), Objective(model, d, MAP)
    fit = embed(objective, problem, np.random.default_rng(0))
    assert fit.converged, fit.reason
    assert fit.reason.startswith("converged")
    best = continued(objective, problem, fit.embedding)
    assert fit.loss - best <= 1e-6 * best
    assert fit.loss == pytest.approx(evaluate(objective, problem, fit.embedding)[0], rel=1e-14)


def test_soe_comes_close_to_the_minimum():
    """Up to the corners where points meet: there the search may end a little early."""
    gaps = []
    for seed in range(8):
        problem, objective = world(m=300, seed=seed), Objective(SOEModel(), 2, MAP)
        fit = embed(objective, problem, np.random.default_rng(0))
        gaps.append(fit.loss / continued(objective, problem, fit.embedding) - 1)
    assert np.median(gaps) < 1e-6
    assert max(gaps) < 0.02


@pytest.mark.parametrize("model", SMOOTH[:4], ids=str)
def test_noisy_answers_have_an_optimum_without_a_penalty(model):
    problem, objective = world(n=10, m=300, noise=1.0), Objective(model, 2)
    fit = embed(objective, problem, np.random.default_rng(0))
    assert fit.converged
    assert not fit.separable
    best = continued(objective, problem, fit.embedding)
    assert fit.loss - best <= 1e-6 * best


def test_the_hinge_is_minimised_although_it_has_corners():
    """GNMDS on the points, in one dimension, against the best of a fine search around the fit."""
    problem, objective = world(n=8, m=100, noise=0.5), Objective(GNMDSModel(), 2, 0.1)
    fit = embed(objective, problem, np.random.default_rng(0))
    assert fit.loss == pytest.approx(evaluate(objective, problem, fit.embedding)[0])
    rng, losses = np.random.default_rng(1), []
    for size in (1e-1, 1e-2, 1e-3):
        steps = size * rng.normal(size=(200, *fit.embedding.shape))
        losses += [evaluate(objective, problem, fit.embedding + step)[0] for step in steps]
    assert min(losses) >= fit.loss * (1 - 1e-3)


def test_the_limit_is_reported_in_words():
    problem = world()
    fit = embed(
        Objective(STEModel(), 2, MAP), problem, np.random.default_rng(0), Options(max_iter=3)
    )
    assert not fit.converged
    assert fit.n_iter == 3
    assert fit.reason == "stopped at the limit of 3 iterations"


def test_a_start_that_is_not_finite_fails_in_words():
    problem, start = world(), np.full((15, 2), np.nan)
    fit = minimise(Objective(STEModel(), 2, MAP), problem, start)
    assert not fit.converged
    assert "not a finite number" in fit.reason


# ---- separable answers


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_noise_free_answers_do_not_run_to_the_limit(model):
    problem = world(n=10, m=150, noise=0.0)
    fit = embed(Objective(model, 2), problem, np.random.default_rng(0), Options(max_iter=2000))
    assert fit.n_iter < 1000
    assert fit.reason != "stopped at the limit of 2000 iterations"


@pytest.mark.parametrize("model", [STEModel(), GNMDSModel(smoothing=0.1), SOEModel()], ids=str)
def test_noise_free_answers_are_all_satisfied(model):
    """Not by t-STE and CKL: a far miss costs them little, even in a world without any."""
    problem = world(n=10, m=150, noise=0.0)
    fit = embed(Objective(model, 2), problem, np.random.default_rng(0))
    assert triplet_error(fit.embedding, problem.comparisons.astype(int)) == 0.0


def test_ste_says_that_every_comparison_is_satisfied():
    problem = world(n=10, m=150, noise=0.0)
    fit = embed(Objective(STEModel(), 2), problem, np.random.default_rng(0))
    assert fit.separable
    assert not fit.converged
    assert fit.reason == "every comparison is satisfied"


def test_with_a_penalty_the_same_answers_have_an_optimum():
    problem = world(n=10, m=150, noise=0.0)
    fit = embed(Objective(STEModel(), 2, MAP), problem, np.random.default_rng(0))
    assert fit.converged
    assert not fit.separable


def test_a_satisfied_hinge_is_a_minimum():
    problem = world(n=10, m=150, noise=0.0)
    fit = embed(Objective(SOEModel(), 2), problem, np.random.default_rng(0))
    assert fit.converged
    assert fit.loss < 1e-9


def test_light_weights_do_not_look_satisfied():
    """Contradicting answers of tiny weight cost little, and are still not satisfied."""
    rows = np.array([[0, 1, 2], [0, 2, 1], [1, 0, 2], [2, 1, 0]])
    problem = build_problem(rows, 3, np.full(4, 1e-3))
    fit = embed(Objective(STEModel(), 2), problem, np.random.default_rng(0))
    assert not fit.separable


# ---- starts


def test_a_warm_start_at_the_optimum_stops_at_once():
    problem, objective = world(), Objective(STEModel(), 2, MAP)
    rng = np.random.default_rng(0)
    fit = embed(objective, problem, rng, Options(tol=1e-13))
    again = embed(objective, problem, rng, init=fit.embedding)
    assert again.n_iter <= 5
    assert again.converged
    assert again.loss <= fit.loss


def test_the_best_of_several_starts_is_kept():
    problem, objective = world(d=1), Objective(STEModel(), 1, MAP)
    losses = [
        embed(objective, problem, np.random.default_rng(3), Options("random", n_init)).loss
        for n_init in (1, 2, 4, 8)
    ]
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < losses[0]


def excess_on_a_line(model, n_worlds=12):
    """Loss of each start over the best of nine, for worlds with consecutive seeds."""
    excess = {"spectral": [], "random": []}
    for seed in range(n_worlds):
        rng = np.random.default_rng(seed)
        rows = noisy_triplets(rng.uniform(size=(20, 1)), 400, noise=0.3, random_state=rng).array
        problem, objective = build_problem(rows, 20), Objective(model, 1, MAP)
        losses = {
            start: embed(objective, problem, np.random.default_rng(seed), Options(start, 1)).loss
            for start in excess
        }
        more = embed(objective, problem, np.random.default_rng(99 + seed), Options("random", 8))
        best = min(more.loss, *losses.values())
        for start, loss in losses.items():
            excess[start].append(loss / best - 1)
    return excess


@pytest.mark.parametrize("model", [TSTEModel(), CKLModel(), SOEModel()], ids=str)
def test_on_a_line_the_spectral_start_beats_random_ones_on_average(model):
    excess = excess_on_a_line(model)
    assert np.mean(excess["random"]) > 0.02  # random starts do get stuck
    assert np.mean(excess["spectral"]) < 0.25 * np.mean(excess["random"])


def test_on_a_line_ste_is_found_from_the_spectral_start():
    assert np.mean(excess_on_a_line(STEModel())["spectral"]) < 1e-3


def test_the_spectral_start_orders_a_line():
    points = np.linspace(-1, 1, 12)[:, None]
    problem = build_problem(true_triplets(points), 12)
    start = spectral_start(problem, 1, np.random.default_rng(0))[:, 0]
    correlation = np.corrcoef(start, points[:, 0])[0, 1]
    assert abs(correlation) > 0.95


@pytest.mark.parametrize("use_edges", [True, False])
def test_a_weight_is_a_repeated_row_to_the_spectral_start(use_edges):
    rows = world(n=12, m=80).comparisons.astype(int)
    counts = np.random.default_rng(0).integers(1, 4, size=80)
    weighted = build_problem(rows, 12, counts.astype(float), use_edges=use_edges)
    repeated = build_problem(np.repeat(rows, counts, axis=0), 12, use_edges=use_edges)
    starts = [spectral_start(p, 2, np.random.default_rng(5)) for p in (weighted, repeated)]
    np.testing.assert_allclose(*starts, atol=1e-8)


@pytest.mark.parametrize("use_edges", [True, False])
def test_triplets_and_their_quadruplets_have_one_spectral_start(use_edges):
    """Up to the scaling by degrees: an anchor counts twice in a quadruplet, as in a triplet."""
    rows = world(n=12, m=80).comparisons.astype(int)
    triplets = build_problem(rows, 12, use_edges=use_edges)
    pairs = build_problem(rows[:, [0, 1, 0, 2]], 12)
    starts = [spectral_start(p, 2, np.random.default_rng(5)) for p in (triplets, pairs)]
    np.testing.assert_allclose(*starts, atol=1e-8)


def test_starts_have_more_dimensions_than_objects_if_asked():
    problem = build_problem(np.array([[0, 1, 2]]), 3)
    start = spectral_start(problem, 5, np.random.default_rng(0))
    assert start.shape == (3, 5)
    assert np.isfinite(start).all()


def test_objects_in_no_comparison_get_a_finite_start():
    problem = build_problem(world(n=12, m=80).comparisons.astype(int), 15)
    assert np.isfinite(spectral_start(problem, 2, np.random.default_rng(0))).all()
    fit = embed(Objective(STEModel(), 2, MAP), problem, np.random.default_rng(0))
    assert fit.converged


def test_random_starts_are_standard_normal():
    X = random_start(5000, 2, np.random.default_rng(0))
    assert X.shape == (5000, 2)
    assert abs(X.mean()) < 0.05
    assert X.std() == pytest.approx(1, abs=0.05)


# ---- many subsets


@pytest.fixture(scope="module")
def subsets():
    rng = np.random.default_rng(0)
    return [rng.choice(400, size=160, replace=k % 2 == 0) for k in range(7)]


solver = Descent(Objective(STEModel(), 2, MAP), Options("random", 2))


def assert_same(fit, other):
    np.testing.assert_array_equal(fit.embedding, other.embedding)
    assert fit[1:] == other[1:]


@pytest.mark.parametrize("n_threads", [2, 3, None])
def test_the_number_of_threads_does_not_change_the_bits(subsets, n_threads):
    problem, seeds = world(), np.random.SeedSequence(0).spawn(len(subsets))
    one = list(fit_subsets(solver, problem, subsets, seeds, n_threads=1))
    many = list(fit_subsets(solver, problem, subsets, seeds, n_threads=n_threads))
    for fit, other in zip(one, many, strict=True):
        assert_same(fit, other)


def test_a_subset_in_company_is_fitted_as_alone(subsets):
    problem, seeds = world(), np.random.SeedSequence(0).spawn(len(subsets))
    together = list(fit_subsets(solver, problem, subsets, seeds, n_threads=2))
    for rows, seed, fit in zip(subsets, seeds, together, strict=True):
        assert_same(fit, solver.solve(take_rows(problem, rows), np.random.default_rng(seed)))
    assert len({fit.loss for fit in together}) == len(subsets)


def test_every_subset_needs_a_seed(subsets):
    with pytest.raises(ValueError, match="7 subsets but 3 seeds"):
        fit_subsets(solver, world(), subsets, np.random.SeedSequence(0).spawn(3), n_threads=1)


def test_many_comparisons_on_threads_reach_the_same_minimum(monkeypatch):
    """The evaluation spread over threads, forced on a small problem."""
    problem, objective = world(), Objective(STEModel(), 2, MAP)
    start = random_start(15, 2, np.random.default_rng(0))
    alone = minimise(objective, problem, start)
    monkeypatch.setattr("tercet.engine.search.LARGE", 1)
    two, three = (minimise(objective, problem, start, n_threads=k) for k in (2, 3))
    assert_same(two, three)
    assert two.loss == pytest.approx(alone.loss, rel=1e-8)
    assert two.converged


@pytest.mark.parametrize("n_workers", [1, 2, 100])
@pytest.mark.parametrize("size", [10, 1000, 50_000, 1_000_000])
@pytest.mark.parametrize("count", [1, 7, 200, 1000])
def test_batches_are_even_and_neither_too_long_nor_too_short(size, count, n_workers):
    rows = np.zeros((size, 3), dtype=np.uint32)
    problem = world()._replace(comparisons=rows, position=np.arange(size))
    solver = Descent(Objective(STEModel(), 2))
    spans = batches(solver, problem, count, n_workers)
    assert [k for span in spans for k in range(count)[span]] == list(range(count))
    longest = max(len(range(count)[span]) for span in spans)
    assert longest == 1 or longest * size < 2 * LARGE  # little is lost with a worker
    if count >= 4 * n_workers and count * size > LARGE * n_workers:
        assert len(spans) > 2 * n_workers  # so that no worker waits long for the last
    if len(spans) > 2 * n_workers:
        assert longest * size >= LARGE // 16  # worth its way


def test_very_many_objects_are_fitted_step_by_step(monkeypatch):
    """A whole fit in one compiled call would be deaf to an interruption."""
    monkeypatch.setattr("tercet.engine.search.LARGE", 40)
    rows = np.random.default_rng(0).permuted(np.tile(np.arange(50), (30, 1)), axis=1)[:, :3]
    monkeypatch.setattr("tercet.engine.search.descend_subsets", None)
    monkeypatch.setattr("tercet.engine.search.descend", None)
    monkeypatch.setattr("tercet.engine.search.announce_compilation", lambda function: None)
    found = embed(Objective(STEModel(), 2, 0.1), build_problem(rows, 50), np.random.default_rng(0))
    assert found.converged
