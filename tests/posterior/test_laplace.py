"""The Laplace approximation: exact where the posterior is normal, and close to one at the mode."""

import numpy as np
import pytest
from scipy import stats
from tests.worlds import posterior_target

from tercet.errors import InputError
from tercet.posterior import laplace
from tercet.posterior.laplace import sample_laplace
from tercet.posterior.mode import find_mode, fix_scale, settle_scale

N, S = 5, 20_000
LIMIT = 5.5  # of some 50 z: by chance once in 500 000 sets


def make_target(d, weight, **prior):
    points = np.random.default_rng(0).standard_normal((N, d))
    return posterior_target(points, 200, weight=weight, **prior), points


def assert_normal(drawn, mean, covariance):
    """Means and covariances of draws (S, K) within their errors."""
    moved = drawn - mean
    spread = np.sqrt(np.diag(covariance))
    assert np.abs(moved.mean(axis=0) / (spread / np.sqrt(S))).max() < LIMIT
    error = np.sqrt((np.outer(spread, spread) ** 2 + covariance**2) / S)
    assert np.abs((moved.T @ moved / S - covariance) / error).max() < LIMIT


def test_without_answers_it_is_the_prior_exactly():
    """Centred points on a line: covariance v (I - 1/n)."""
    target, points = make_target(1, 1e-12)
    mode = find_mode(target, points, np.empty(0))
    drawn, variances = sample_laplace(target, mode, S, np.random.default_rng(0))
    np.testing.assert_allclose(variances, 2.0)
    np.testing.assert_allclose(drawn.mean(axis=1), 0.0, atol=1e-12)
    assert_normal(drawn[:, :-1, 0], 0.0, 2.0 * (np.eye(N) - 1 / N)[:-1, :-1])


def test_with_many_answers_it_is_normal_around_the_mode():
    """Distances, to first order: the inverse of second derivatives taken here, by differences."""
    d, weight = 2, 1e4
    target, points = make_target(d, weight)
    mode = find_mode(target, points, np.empty(0))
    rows = target.problem.comparisons.astype(int)

    def gradient(x):
        X = x.reshape(N, d)
        i, j, l = X[rows.T]
        p = 1 / (1 + np.exp(np.sum((i - j) ** 2 - (i - l) ** 2, axis=1)))  # of the other answer
        out = X / 2.0
        p = 2 * weight * (1 - p)[:, None]
        for objects, force in (
            (rows[:, 0], p * (l - j)),
            (rows[:, 1], p * (j - i)),
            (rows[:, 2], p * (i - l)),
        ):
            np.add.at(out, objects, force)
        return out.ravel()

    x, h = mode.X.ravel(), 1e-5
    np.testing.assert_allclose(gradient(x) / weight, 0.0, atol=1e-4)
    hessian = np.array(
        [(gradient(x + h * e) - gradient(x - h * e)) / (2 * h) for e in np.eye(N * d)]
    )
    # Flat directions, and the centre that only the prior holds, do not change distances.
    first, second = np.triu_indices(N, 1)
    apart = mode.X[first] - mode.X[second]
    slopes = np.zeros((len(first), N, d))
    lengths = np.linalg.norm(apart, axis=1, keepdims=True)
    slopes[np.arange(len(first)), first] = apart / lengths
    slopes[np.arange(len(first)), second] = -apart / lengths
    slopes = slopes.reshape(len(first), -1)
    expected = slopes @ np.linalg.pinv(hessian, rcond=1e-7) @ slopes.T
    drawn, _ = sample_laplace(target, mode, S, np.random.default_rng(0))
    distances = np.linalg.norm(drawn[:, first] - drawn[:, second], axis=2)
    assert_normal(distances[:, :7], lengths[:7, 0], expected[:7, :7])


@pytest.mark.parametrize("d", [1, 2])
def test_without_answers_a_learned_variance_is_about_its_prior(d):
    """Values a step apart stand for all: mean and spread of log v to a tenth."""
    target, points = make_target(d, 1e-12, learned=True, spread=1.0)
    mode = settle_scale(target, points, np.empty(0))
    drawn, variances = sample_laplace(target, mode, S, np.random.default_rng(0))
    assert len(np.unique(variances)) > 4
    assert np.log(variances).mean() == pytest.approx(np.log(2.0), abs=0.1)
    assert np.log(variances).std() == pytest.approx(1.0, abs=0.1)
    scaled = np.sum(drawn**2, axis=(1, 2)) / variances
    assert stats.kstest(scaled, stats.chi2((N - 1) * d).cdf).pvalue > 1e-5


def test_answers_that_matter_move_the_learned_variance():
    target, points = make_target(2, 1.0, learned=True, spread=1.0)
    mode = settle_scale(target, points, np.empty(0))
    _, variances = sample_laplace(target, mode, 2000, np.random.default_rng(0))
    assert 0.1 < np.log(variances).std() < 0.9


def test_a_large_problem_is_an_error_that_names_the_cure(monkeypatch):
    monkeypatch.setattr(laplace, "LARGEST", 9)
    target, points = make_target(2, 1.0)
    mode = find_mode(fix_scale(target, 0.0), points, np.empty(0))
    with pytest.raises(InputError, match="in 2 dimensions are 10, more than 9; use sampler"):
        sample_laplace(target, mode, 10, np.random.default_rng(0))
