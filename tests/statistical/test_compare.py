"""Whether the comparison of models finds the model that made the answers, and sees a wrong one."""

import math
import warnings

import numpy as np
import pytest

import tercet as tc
from tercet.answers.questions import number_comparisons
from tercet.answers.repeats import noise_ceiling
from tercet.held_out import (
    held_out,
    leave_one_out,
)
from tercet.models import STEModel
from tercet.uses.compare.comparison import clearly_worse, lack_of_fit

pytestmark = pytest.mark.slow

SMALL = {"n_samples": 200, "n_chains": 2, "n_jobs": 1}


def questions(n, m, seed, repeats=1):
    rng = np.random.default_rng(seed)
    asked = np.repeat(tc.simulate.random_comparisons(n, m, random_state=rng), repeats, axis=0)
    return rng.normal(size=(n, 2)), asked, rng


def draw(estimator, T, seed=0, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tc.Posterior(estimator, random_state=seed, **(SMALL | more)).fit(T).ensemble_


def compare(rows, n, seed=0):
    models = {
        "STE": tc.Posterior(tc.STE(2), **SMALL),
        "lapse": tc.Posterior(tc.STE(2), learn=("lapse",), **SMALL),
        "log-ratio": tc.Posterior(tc.CKL(2), learn=("exponent", "mu"), **SMALL),
    }
    T = tc.Triplets(rows, n_objects=n)
    found = tc.compare_models(T, models, folds=2, random_state=seed, n_jobs=1)
    return found, {score.model: score for score in found.scores}


def test_leave_one_out_is_what_fits_without_the_unit_predict():
    """Eight units, exactly left out; tolerance from the Monte Carlo error of both."""
    points, asked, rng = questions(8, 60, seed=3)
    rows = tc.simulate.answers_from_model(STEModel(), 1.2 * points, asked, random_state=rng)
    T = tc.Triplets(rows, n_objects=8)
    units = number_comparisons(T)
    many = {"n_samples": 1000, "n_chains": 2}
    ensemble = draw(tc.STE(2), T, **many)
    reweighted = leave_one_out(ensemble, T, units)
    seen = held_out(ensemble, T, units)
    # The worst predicted are those where leaving out matters.
    usable = np.flatnonzero(reweighted.k_hat <= 0.7)
    chosen = usable[np.argsort(reweighted.log_density[usable])[:8]]
    exact, error = np.empty(8), np.empty(8)
    for k, unit in enumerate(chosen):
        left_out = units == unit
        without = draw(tc.STE(2), T[~left_out], seed=1 + k, **many)
        p = without.answer_probability(T[left_out], by_draw=True)[:, 0]
        exact[k] = math.log(p.mean())
        error[k] = p.std() / p.mean() / math.sqrt(100)  # 2000 draws are worth 100 at the least
    gap = reweighted.log_density[chosen] - exact
    assert np.abs(gap / (math.sqrt(2.0) * error)).max() < 4.0
    assert abs(gap.sum()) < 3.0 * math.sqrt(2.0) * np.linalg.norm(error)
    # Negative control: the draws that saw the answers predict them too well.
    optimism = seen.log_density[chosen] - exact
    assert optimism.sum() > 5.0 * math.sqrt(2.0) * np.linalg.norm(error)


def test_the_model_that_made_the_answers_is_not_beaten():
    points, asked, rng = questions(12, 400, seed=0)
    rows = tc.simulate.answers_from_model(STEModel(), 1.2 * points, asked, random_state=rng)
    found, scores = compare(rows, 12)
    assert not clearly_worse(scores["STE"], found.n_answers)


def test_log_normal_noise_calls_for_the_log_ratio_model():
    points, asked, rng = questions(12, 500, seed=1)
    found, scores = compare(tc.simulate.answer(points, asked, noise=0.5, random_state=rng), 12)
    assert found.best == "log-ratio"
    assert clearly_worse(scores["STE"], found.n_answers)


def test_lapses_call_for_a_lapse_rate():
    points, asked, rng = questions(12, 500, seed=2)
    rows = tc.simulate.answers_from_model(
        STEModel(), 3.0 * points, asked, lapse=0.2, random_state=rng
    )
    found, scores = compare(rows, 12)
    assert found.best == "lapse"
    assert clearly_worse(scores["STE"], found.n_answers)
    assert found.weights["lapse"] > 0.5


def test_lack_of_fit_is_seen_where_the_dimension_is_too_low_and_not_where_it_is_right():
    right, low = [], []
    for seed in range(8):
        points, asked, rng = questions(10, 100, seed, repeats=4)
        rows = tc.simulate.answers_from_model(STEModel(), points, asked, random_state=rng)
        T = tc.Triplets(rows, n_objects=10)
        for d, found in ((2, right), (1, low)):
            ensemble = draw(tc.STE(d), T, seed, warmup=200)
            found.append(lack_of_fit(ensemble, T, random_state=seed).p_value)
    # Posterior predictive p-values crowd around ½ under the right model: none should be tiny.
    assert min(right) > 0.01
    assert 0.25 < np.mean(right) < 0.75
    assert np.median(low) < 0.02


@pytest.mark.parametrize(("a", "votes"), [(0.5, 2), (2.0, 5)])
def test_the_interval_of_the_noise_ceiling_holds_the_truth(a, votes):
    truth = np.maximum(*(p := np.random.default_rng(0).beta(a, a, 10**6), 1 - p)).mean()
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(100):
        near = rng.binomial(votes, rng.beta(a, a, 150))
        low, high = noise_ceiling(near, np.full(150, votes)).accuracy_interval
        held += low <= truth <= high
    assert 88 <= held <= 100  # 95 ± 3 standard errors


def test_the_mean_majority_is_no_ceiling():
    """Negative control: the usual estimate would not be held by the intervals."""
    p = np.random.default_rng(0).beta(1.0, 1.0, 2000)
    near = np.random.default_rng(1).binomial(3, p)
    found = noise_ceiling(near, np.full(2000, 3))
    assert found.accuracy_interval[0] < 0.75 < found.accuracy_interval[1]
    assert np.maximum(near, 3 - near).mean() / 3 > found.accuracy_interval[1]
