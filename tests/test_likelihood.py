"""The likelihood as public functions: against enumeration, finite differences and ensembles."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.luce import by_definition

import tercet as tc
from tercet.errors import InputError
from tercet.models.base import CORNER

RNG = np.random.default_rng(0)
MAP = RNG.normal(size=(6, 2))
MAPS = RNG.normal(size=(3, 6, 2))
TRIPLETS = tc.Triplets([[0, 1, 2], [3, 4, 5], [5, 0, 1]], weights=[1.0, 2.0, 0.5])
QUADRUPLETS = tc.Triplets([[0, 1, 2, 3], [4, 5, 0, 2]])
CHOICES = tc.Choices.concatenate(
    [
        tc.Choices.odd_one_out([[0, 1, 2], [3, 5, 4]], n_objects=6),
        tc.Choices.most_central([[2, 3, 4]], n_objects=6),
        tc.Choices.nearest([0], [[1, 2, 3, 4]], [[4, 2]], n_objects=6),
        tc.Choices.ranking([5], [[4, 0, 1, 2]], n_objects=6),
        tc.Choices.best_worst([1], [[0, 2, 3]], [0], [3], n_objects=6),
    ]
)
KINDS = [TRIPLETS, QUADRUPLETS, CHOICES]
MODELS = [
    tc.STE(),
    tc.TSTE(),
    tc.CKL(mu=0.1, exponent=3.0),
    tc.Shepard(gamma=1.3, tail=0.2),
]


def by_hand(X, choices, gamma, lapse):
    """Log-probabilities of choices among pairs from the definition of Luce's rule."""
    found = []
    for c, (kind, k) in enumerate(zip(choices.kinds, choices.n_chosen, strict=True)):
        i, j = choices.pairs[choices.cuts[c] : choices.cuts[c + 1]].T
        squared = np.sum((X[i] - X[j]) ** 2, axis=1)
        p = by_definition(kind, int(k), np.exp(-((squared + CORNER) ** (gamma / 2))).tolist())
        found.append((1.0 - lapse) * p + lapse / choices.n_outcomes[c])
    return np.log(found)


@pytest.mark.parametrize("lapse", [0.0, 0.1])
def test_choices_of_every_kind_by_enumeration(lapse):
    found = tc.log_likelihood(MAP, CHOICES, tc.Shepard(), parameters={"gamma": 1.4, "lapse": lapse})
    assert_allclose(found, by_hand(MAP, CHOICES, 1.4, lapse), rtol=1e-12)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_comparisons_by_their_formula(model):
    near = np.sum((MAP[TRIPLETS.array[:, 0]] - MAP[TRIPLETS.array[:, 1]]) ** 2, axis=1)
    far = np.sum((MAP[TRIPLETS.array[:, 0]] - MAP[TRIPLETS.array[:, 2]]) ** 2, axis=1)
    expected = model.model().log_prob(near, far) * TRIPLETS.weights
    assert_allclose(tc.log_likelihood(MAP, TRIPLETS, model), expected, rtol=1e-12)
    assert_allclose(tc.log_likelihood(MAP, TRIPLETS, model.model()), expected, rtol=1e-12)


@pytest.mark.parametrize("lapse", [0.0, 0.2])
@pytest.mark.parametrize("answers", KINDS, ids=["triplets", "quadruplets", "choices"])
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_the_gradient_by_finite_differences(model, answers, lapse):
    drawn = {"lapse": lapse}
    value, gradient = tc.log_likelihood_gradient(MAP, answers, model, parameters=drawn)
    assert value == pytest.approx(tc.log_likelihood(MAP, answers, model, parameters=drawn).sum())
    expected = np.empty_like(MAP)
    for place in np.ndindex(MAP.shape):
        step = np.zeros_like(MAP)
        step[place] = 1e-5
        up, down = (
            tc.log_likelihood(MAP + sign * step, answers, model, parameters=drawn).sum()
            for sign in (1, -1)
        )
        expected[place] = (up - down) / 2e-5
    assert_allclose(gradient, expected, rtol=1e-5, atol=1e-7)


def test_several_maps_with_parameters_of_their_own():
    drawn = {"gamma": np.array([0.8, 1.0, 1.6]), "lapse": np.array([0.0, 0.1, 0.3])}
    together = tc.log_likelihood(MAPS, CHOICES, tc.Shepard(tail=0.1), parameters=drawn)
    values, gradients = tc.log_likelihood_gradient(
        MAPS, CHOICES, tc.Shepard(tail=0.1), parameters=drawn
    )
    assert together.shape == (3, 6)
    assert gradients.shape == MAPS.shape
    for s in range(3):
        own = {name: column[s] for name, column in drawn.items()}
        alone = tc.log_likelihood(MAPS[s], CHOICES, tc.Shepard(tail=0.1), parameters=own)
        value, gradient = tc.log_likelihood_gradient(
            MAPS[s], CHOICES, tc.Shepard(tail=0.1), parameters=own
        )
        assert_allclose(together[s], alone, rtol=1e-13)
        assert_allclose(values[s], value, rtol=1e-13)
        assert_allclose(gradients[s], gradient, rtol=1e-12)


def test_screens_are_one_answer_and_names_keep_their_order():
    split = CHOICES[:2].triplets()
    found = tc.log_likelihood(MAP, split, tc.STE())
    assert_allclose(found, tc.log_likelihood(MAP, CHOICES[:2], tc.STE()), rtol=1e-13)
    named = tc.Triplets([["c", "a", "b"]], names=list("fedcba"))
    expected = tc.log_likelihood(MAP, [[3, 5, 4]], tc.STE())
    assert_allclose(tc.log_likelihood(MAP, named, tc.STE()), expected)


def test_an_improbable_answer_has_a_finite_logarithm():
    far = 100.0 * MAP
    found = tc.log_likelihood(far, [[0, 1, 2], [0, 2, 1]], tc.STE())
    value, _ = tc.log_likelihood_gradient(far, [[0, 1, 2], [0, 2, 1]], tc.STE())
    assert np.isfinite(found).all()
    assert found.min() == pytest.approx(-744.44, abs=0.01)
    assert -1e6 < value < -1000


@pytest.mark.parametrize("function", [tc.log_likelihood, tc.log_likelihood_gradient])
def test_what_is_refused(function):
    rows = [[0, 1, 2]]
    with pytest.raises(InputError, match="SOE is a loss"):
        function(MAP, rows, tc.SOE())
    with pytest.raises(InputError, match=r"got shape \(6,\)"):
        function(MAP[:, 0], rows, tc.STE())
    with pytest.raises(InputError, match=r"not finite at \[0, 0, 1\]"):
        function(np.where(np.arange(2) == 1, np.nan, MAPS), rows, tc.STE())
    with pytest.raises(InputError, match="an estimator, such as STE"):
        function(MAP, rows, "ste")
    with pytest.raises(InputError, match=r"one for each of 3 maps; got shape \(2,\)"):
        function(MAPS, rows, tc.STE(), parameters={"lapse": [0.1, 0.2]})
    with pytest.raises(InputError, match="6"):
        function(MAP, [[0, 1, 6]], tc.STE())
    with pytest.raises(InputError, match="lapse"):
        function(MAP, rows, tc.STE(), parameters={"lapse": 2.0})
