"""The spread of replicates against closed forms of first order, computed here from the loss alone.

Given the answers, a replicate's estimate moves by H⁻¹ Σ (w_t − 1) s_t: H is the Hessian of the loss
and s_t the gradient of answer t at the estimate, w_t how often the replicate has answer t. So the
covariance is H⁻¹ J H⁻¹, with J = Σ s_t s_tᵀ when drawn with replacement, times (1 − r)/r for
subsamples of the share r (m/(m − 1) apart), and J = the Fisher information for new answers.
"""

import numpy as np
import pytest

import tercet as tc
from tercet.simulate import answers_from_model, random_comparisons

pytestmark = pytest.mark.slow

N, D, M, B = 6, 2, 15_000, 1500
FREE = N * D - 3  # a map's shape and size: the plane's three motions change no distance
PAIRS = np.stack(np.triu_indices(N, 1), axis=1)
POINTS = np.array([[0, 0], [1.2, 0.1], [0.3, 1.1], [-0.9, 0.5], [-0.4, -1.0], [0.9, -0.9]])


@pytest.fixture(scope="module")
def answers():
    questions = random_comparisons(N, M, replace=True, random_state=1)
    return answers_from_model(tc.STE(D).model(), POINTS, questions, random_state=2)


@pytest.fixture(scope="module")
def estimate(answers):
    return tc.STE(D, tol=1e-13, random_state=0).fit(answers).embedding_


def logits(x, rows):
    """Squared far less squared near distance: p = 1 / (1 + exp(-logit)) for STE."""
    i, j, l = x.reshape(N, D)[rows.T]
    return np.sum((i - l) ** 2, axis=1) - np.sum((i - j) ** 2, axis=1)


def losses(x, rows):
    return np.logaddexp(0.0, -logits(x, rows))


def distances(x):
    i, j = x.reshape(N, D)[PAIRS.T]
    return np.sqrt(np.sum((i - j) ** 2, axis=1))


def jacobian(function, x, h=1e-5):
    steps = h * np.eye(x.size)
    return np.stack([(function(x + e) - function(x - e)) / (2 * h) for e in steps], axis=-1)


def hessian(function, x):
    return jacobian(lambda y: jacobian(function, y, 1e-4), x, 1e-4)


def in_distances(covariance, x):
    to_distances = jacobian(distances, x)
    return to_distances @ covariance @ to_distances.T


def sandwich(X, rows, groups=None):
    """H⁻¹ J H⁻¹ in distances; answers of a group are drawn together."""
    x = X.ravel()
    scores = jacobian(lambda y: losses(y, rows), x)
    if groups is not None:
        scores = np.stack([np.bincount(groups, column) for column in scores.T], axis=1)
    bread = np.linalg.pinv(hessian(lambda y: losses(y, rows).sum(), x), rcond=1e-6)
    return in_distances(bread @ scores.T @ scores @ bread, x)


def inverse_fisher(X, rows):
    x = X.ravel()
    slopes = jacobian(lambda y: logits(y, rows), x)
    p = 1.0 / (1.0 + np.exp(-logits(x, rows)))
    information = slopes.T @ (slopes * (p * (1.0 - p))[:, None])
    return in_distances(np.linalg.pinv(information, rcond=1e-6), x)


def excess(ensemble, covariance):
    """Mean squared length of the whitened deviations over its expectation, less one.

    For normal draws (B − 1)·FREE·(1 + excess) is chi-squared with (B − 1)·FREE degrees of freedom.
    """
    drawn = ensemble.distances()
    values, vectors = np.linalg.eigh(covariance)
    assert values[-FREE] > 1e-6 * values[-1] > 1e3 * abs(values[-FREE - 1])
    white = (drawn - drawn.mean(axis=0)) @ vectors[:, -FREE:] / np.sqrt(values[-FREE:])
    return np.sum(white**2) / ((len(drawn) - 1) * FREE) - 1.0


# Four and a half standard errors of that mean, 5.5 % of the variance. The second order takes about
# 0.6 of one at r = 0.4 (0.75 % over six seeds); 3.9 are left, a false alarm in 20 000 runs.
TOLERANCE = 4.5 * np.sqrt(2.0 / ((B - 1) * FREE))


def bootstrap(answers, estimator=None, **settings):
    estimator = estimator or tc.STE(D)
    settings = {"alignment": "none", "random_state": 3} | settings
    return tc.Bootstrap(estimator, B, **settings).fit(answers, n_objects=N).ensemble_


def test_with_replacement_it_is_the_sandwich(answers, estimate):
    covariance, found = sandwich(estimate, answers), bootstrap(answers)
    assert abs(excess(found, covariance)) < TOLERANCE
    # The mean is the estimate but for the second order, which is less than a tenth of an error.
    drawn, sd = found.distances(), np.sqrt(np.diag(covariance))
    shift = (drawn.mean(axis=0) - distances(estimate.ravel())) / sd
    assert np.abs(shift).max() < 0.1 + 4.5 / np.sqrt(B)


def test_whole_observers_give_the_sandwich_of_their_sums():
    """Observers see different maps, so that drawing answers one by one must fail."""
    rng = np.random.default_rng(6)
    observers = np.repeat(np.arange(M // 30), 30)
    questions = random_comparisons(N, M, replace=True, random_state=rng)
    model = tc.STE(D).model()
    rows = [
        answers_from_model(model, POINTS + 0.3 * rng.normal(size=(N, D)), own, random_state=rng)
        for own in np.split(questions, M // 30)
    ]
    triplets = tc.Triplets(np.concatenate(rows), observers=observers)
    X = tc.STE(D, tol=1e-13, random_state=0).fit(triplets).embedding_
    found = bootstrap(triplets, unit="observer")
    assert abs(excess(found, sandwich(X, triplets.array, observers))) < TOLERANCE
    assert excess(found, sandwich(X, triplets.array)) > 2 * TOLERANCE


def test_subsamples_spread_more_by_a_known_factor(answers, estimate):
    r = 0.4
    covariance = sandwich(estimate, answers) * M / (M - 1)
    corrected = bootstrap(answers, fraction=r, correction=True)
    plain = tc.Ensemble(corrected.draws, alignment="none")
    assert abs(excess(plain, covariance * (1 - r) / r)) < TOLERANCE
    assert excess(plain, covariance) > 2 * TOLERANCE
    assert abs(excess(corrected, covariance)) < TOLERANCE


def test_parametric_replicates_have_the_inverse_fisher_information(answers):
    """With a penalty too small to matter."""
    estimator = tc.STE(D, penalty=1e-3, tol=1e-13, random_state=0)
    X = estimator.fit(answers).embedding_
    found = bootstrap(answers, estimator, parametric=True)
    assert abs(excess(found, inverse_fisher(X, answers))) < TOLERANCE
