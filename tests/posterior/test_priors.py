"""Priors: what they hold, what they refuse, and what they draw."""

import json

import numpy as np
import pytest

from tercet.errors import InputError
from tercet.posterior.priors import DistancePrior, NormalPrior, log_normal

BLOCK = [[1.5, 0.4], [0.4, 0.7]]


# ---- points


@pytest.mark.parametrize("name", ["variance", "spread"])
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf, [1.0, 2.0], np.eye(2), "15"])
def test_variances_are_positive_numbers(name, value):
    message = f"(?s)The '{name}' of a NormalPrior must be a positive number.*goes into block"
    with pytest.raises(InputError, match=message):
        NormalPrior(**{name: value})


def test_the_block_is_the_identity_unless_given():
    np.testing.assert_array_equal(NormalPrior().covariance(3), np.eye(3))
    np.testing.assert_array_equal(NormalPrior(block=BLOCK).covariance(2), BLOCK)


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (np.eye(3), r"shape \(2, 2\) here; got shape \(3, 3\)"),
        (2.0, r"shape \(2, 2\) here; got shape \(\)"),
        ([[1.0, 0.5], [0.0, 1.0]], "must be finite and symmetric"),
        ([[1.0, np.nan], [np.nan, 1.0]], "must be finite and symmetric"),
        ([[1.0, 2.0], [2.0, 1.0]], "positive definite; its smallest eigenvalue is -1"),
    ],
)
def test_a_block_that_is_no_covariance_of_a_point(block, message):
    with pytest.raises(InputError, match=message):
        NormalPrior(block=block).covariance(2)


def test_the_logarithm_of_the_variance():
    assert log_normal(NormalPrior(15.0)) == pytest.approx((np.log(15.0), 0.0))
    assert log_normal(NormalPrior(4.0, learned=True, spread=0.5)) == pytest.approx(
        (np.log(4.0), 0.5)
    )


def test_priors_describe_themselves():
    known = NormalPrior(15.0, block=BLOCK).describe()
    assert json.loads(json.dumps(known)) == {
        "prior": "NormalPrior",
        "variance": 15.0,
        "block": BLOCK,
        "learned": False,
        "spread": None,
    }
    assert NormalPrior(1, learned=True).describe()["spread"] == 1.0
    matrices = DistancePrior(np.ones((3, 3)), 2.0).describe()
    assert matrices == {"prior": "DistancePrior", "mean": "matrix (3, 3)", "W": 2.0}


# ---- distances


def test_a_number_stands_for_every_distance():
    mean, root = DistancePrior(3.0, 4.0).matrices(3)
    np.testing.assert_array_equal(mean, 3.0 * (1 - np.eye(3)))
    np.testing.assert_allclose(root, 2.0 * np.eye(3))


def test_the_root_is_that_of_w():
    W = np.array([[2.0, 0.5, 0.0], [0.5, 1.0, 0.1], [0.0, 0.1, 3.0]])
    _, root = DistancePrior(1.0, W).matrices(3)
    np.testing.assert_allclose(root @ root.T, W)


def test_matrices_given_are_not_changed():
    mean = np.ones((3, 3))
    centre, _ = DistancePrior(mean).matrices(3)
    centre += 1.0
    np.testing.assert_array_equal(mean, 1.0)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (DistancePrior(np.ones((2, 2))), r"The mean of .* shape \(3, 3\) for 3 objects, got shape"),
        (DistancePrior(1.0, np.eye(4)), r"The W of .* shape \(3, 3\) for 3 objects, got shape"),
        (DistancePrior(np.arange(9).reshape(3, 3)), "The mean .* finite and symmetric"),
        (DistancePrior(np.nan), "The mean .* finite and symmetric"),
        (DistancePrior(1.0, 0.0), "The W .* positive definite"),
        (DistancePrior(1.0, np.ones((3, 3))), "The W .* positive definite"),
        (DistancePrior(1.0, np.triu(np.ones((3, 3)))), "The W .* finite and symmetric"),
    ],
)
def test_what_is_no_prior_of_matrices(prior, message):
    with pytest.raises(InputError, match=message):
        prior.matrices(3)


def test_draws_from_the_prior_have_its_mean_and_variance():
    """With W = w I: w² / 2 between objects, w² on the diagonal."""
    S = 20_000
    drawn = DistancePrior(5.0, 2.0).sample(S, 3, random_state=0)
    assert drawn.shape == (S, 3, 3)
    variance = 2.0 + 2.0 * np.eye(3)
    z = (drawn.mean(axis=0) - 5.0 * (1 - np.eye(3))) / np.sqrt(variance / S)
    assert np.abs(z).max() < 5.0
    assert np.abs(drawn.var(axis=0) / variance - 1.0).max() < 5.0 * np.sqrt(2 / S)
    np.testing.assert_array_equal(drawn, DistancePrior(5.0, 2.0).sample(S, 3, random_state=0))
