"""One contract for every estimator, whatever its model."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import tercet as tc
from tercet import estimators
from tercet.errors import InputError
from tercet.models import LOSSES, PROBABILITIES, Model
from tercet.simulate import gaussian_mixture, noisy_triplets, random_comparisons, true_triplets

POINTS = gaussian_mixture(12, random_state=0)[0]
TRUTH = true_triplets(POINTS)
NOISY = noisy_triplets(POINTS, 400, noise=0.3, random_state=0)
PENALTY = {"penalty": 1 / 30}
ESTIMATORS = {name: getattr(estimators, name)(random_state=0) for name in LOSSES}
ESTIMATORS |= {name: getattr(estimators, name)(random_state=0, **PENALTY) for name in PROBABILITIES}
ESTIMATORS |= {
    "TSTE, alpha = 5": tc.TSTE(alpha=5.0, random_state=0, **PENALTY),
    "CKL, exponent 1.5": tc.CKL(exponent=1.5, random_state=0, **PENALTY),
    "GNMDS, direct": tc.GNMDS(direct=True, random_state=0),
    "GNMDS, direct, C = 5": tc.GNMDS(direct=True, C=5.0, random_state=0),
}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(params=ESTIMATORS)
def estimator(request):
    return clone(ESTIMATORS[request.param])


def test_a_planted_world_is_recovered(estimator):
    """Noise-free answers to half of all questions give most of the other half too."""
    asked = true_triplets(POINTS, random_comparisons(12, 330, random_state=1))
    assert estimator.fit(asked).score(TRUTH) > 0.9


def test_coin_flips_teach_nothing(estimator):
    """Negative control for the test above."""
    rng = np.random.default_rng(0)
    train, test = np.split(rng.permutation(TRUTH), 2)
    flipped = np.where(rng.random(len(train))[:, None] < 0.5, train, train[:, [0, 2, 1]])
    assert abs(estimator.fit(flipped).score(test) - 0.5) < 0.15


def test_fitted_attributes(estimator):
    model = estimator.fit(NOISY)
    assert model is estimator
    assert model.embedding_.shape == (12, 2)
    assert np.isfinite(model.embedding_).all()
    np.testing.assert_allclose(model.embedding_.mean(axis=0), 0, atol=1e-10)
    assert isinstance(model.loss_, float)
    assert np.isfinite(model.loss_)
    assert model.n_iter_ >= 1
    assert isinstance(model.converged_, bool)
    assert isinstance(model.separable_, bool)
    assert isinstance(model.reason_, str)
    assert model.n_objects_ == 12
    assert model.n_features_in_ == 3


def test_predictions_are_signs_and_turn_with_the_question(estimator):
    model = estimator.fit(NOISY)
    answers = model.predict(TRUTH)
    assert answers.shape == (len(TRUTH),)
    assert set(answers.tolist()) == {-1, 1}
    np.testing.assert_array_equal(model.predict(TRUTH[:, [0, 2, 1]]), -answers)
    assert model.score(TRUTH) == np.mean(answers == 1)
    assert model.score(NOISY) > 0.8


def test_same_seed_same_bits(estimator):
    first = estimator.fit(NOISY).embedding_
    np.testing.assert_array_equal(clone(estimator).fit(NOISY).embedding_, first)
    np.testing.assert_array_equal(estimator.fit(NOISY).embedding_, first)


@pytest.mark.parametrize("d", [1, 3])
def test_any_dimension(estimator, d):
    assert estimator.set_params(n_components=d).fit(NOISY).embedding_.shape == (12, d)


def test_quadruplets(estimator):
    model = estimator.fit(NOISY.pairs())
    assert model.n_features_in_ == 4
    assert model.score(TRUTH) > 0.8


def test_names_data_frames_and_arrays_are_the_same_answers(estimator):
    names = np.array([f"object {k:02d}" for k in range(12)])
    first = estimator.fit(NOISY).embedding_
    for answers in (NOISY.array, NOISY.array.astype(float), NOISY.array.tolist(), names[NOISY]):
        np.testing.assert_array_equal(clone(estimator).fit(answers).embedding_, first)


def test_unfitted_estimators_say_so(estimator):
    for method in (estimator.predict, estimator.score, estimator.transform):
        with pytest.raises(NotFittedError):
            method(TRUTH)


def test_fitting_does_not_touch_parameters_or_data(estimator):
    parameters, rows = estimator.get_params(), NOISY.array.copy()
    estimator.fit(rows)
    assert estimator.get_params() == parameters
    np.testing.assert_array_equal(rows, NOISY.array)


def test_a_failed_fit_leaves_the_last_one(estimator):
    first = estimator.fit(NOISY).embedding_
    with pytest.raises(InputError):
        estimator.fit([[0, 0, 1]])
    np.testing.assert_array_equal(estimator.embedding_, first)


def test_pickles(estimator):
    copy = pickle.loads(pickle.dumps(estimator.fit(NOISY)))
    np.testing.assert_array_equal(copy.predict(TRUTH), estimator.predict(TRUTH))


def test_the_model_is_at_hand(estimator):
    model = estimator.model()
    assert isinstance(model, Model)
    assert model.is_probability == isinstance(estimator, tc.STE | tc.TSTE | tc.CKL | tc.Shepard)


def test_warm_starts(estimator):
    if isinstance(estimator, tc.GNMDS) and not estimator.direct:
        with pytest.raises(InputError, match="takes no init; use direct=True"):
            estimator.fit(NOISY, init=POINTS)
        return
    cold = clone(estimator).fit(NOISY)
    warm = estimator.fit(NOISY, init=cold.embedding_)
    assert warm.loss_ <= cold.loss_ * (1 + 1e-6)
