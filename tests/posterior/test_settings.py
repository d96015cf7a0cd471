"""What may be learned, with which priors, and which prior is meant when none is given."""

import numpy as np
import pytest

from tercet.errors import InputError
from tercet.models import CKLModel, STEModel, TSTEModel
from tercet.posterior.priors import (
    LAPSE_PRIOR,
    DistancePrior,
    NormalPrior,
    check_learn,
    default_prior,
    first_theta,
    natural,
    theta_priors,
)

EVERYTHING = ("mu", "lapse", "exponent")


def test_what_is_learned_has_priors_in_a_fixed_order():
    assert check_learn((), STEModel()) == {}
    assert check_learn(["lapse"], STEModel()) == {"lapse": LAPSE_PRIOR}
    found = check_learn(EVERYTHING, CKLModel())
    assert list(found) == ["lapse", "exponent", "mu"]
    assert found == {"lapse": (1.0, 9.0), "exponent": (3.0, 1.0), "mu": (0.05, 1.0)}
    given = check_learn({"mu": (0.1, 0.5), "lapse": (2, 8)}, CKLModel())
    assert list(given.items()) == [("lapse", (2, 8)), ("mu", (0.1, 0.5))]


@pytest.mark.parametrize(
    ("learn", "model", "message"),
    [
        (
            ("noise",),
            STEModel(),
            "learn must be among 'lapse', 'tie', 'bias' for STEModel, got 'noise'",
        ),
        (
            ("exponent",),
            TSTEModel(),
            "learn must be among 'lapse', 'tie', 'bias' for TSTEModel, got 'exponent'",
        ),
        (
            ("alpha",),
            CKLModel(),
            "learn must be among 'lapse', 'exponent', 'mu', 'tie', 'bias' for CKLModel",
        ),
        ({"lapse": (1.0,)}, STEModel(), "takes two positive numbers, the prior, got"),
        ({"lapse": (0.0, 9.0)}, STEModel(), "takes two positive numbers"),
        ({"mu": (0.05, np.inf)}, CKLModel(), "takes two positive numbers"),
        ({"mu": (0.05, -1.0)}, CKLModel(), "takes two positive numbers"),
        ({"lapse": 0.1}, STEModel(), "takes two positive numbers, the prior, got 0.1"),
        ({"lapse": "ab"}, STEModel(), "takes two positive numbers, the prior, got 'ab'"),
        ("lapse", STEModel(), r"such as learn=\('lapse',\), got 'lapse'"),
    ],
)
def test_what_cannot_be_learned(learn, model, message):
    with pytest.raises(InputError, match=message):
        check_learn(learn, model)


# ---- the prior that is meant


def test_the_default_learns_the_size():
    prior = default_prior(None, 0.0, STEModel(), {})
    assert (prior.variance, prior.learned, prior.spread) == (1.0, True, 1.0)
    assert default_prior(None, 0.0, CKLModel(0.05), {}).learned


@pytest.mark.parametrize(
    ("model", "learn"), [(CKLModel(0.0), {}), (CKLModel(0.05), {"mu": (0.05, 1.0)})]
)
def test_where_the_size_means_nothing_it_is_one(model, learn):
    prior = default_prior(None, 0.0, model, learn)
    assert (prior.variance, prior.learned) == (1.0, False)


def test_a_penalty_is_a_prior():
    prior = default_prior(None, 1 / 30, STEModel(), {})
    assert prior.variance == pytest.approx(15.0)
    assert not prior.learned


def test_a_prior_that_is_given_is_meant():
    for prior in (NormalPrior(3.0), DistancePrior(2.0)):
        assert default_prior(prior, 0.0, STEModel(), {}) is prior


def test_a_penalty_and_a_prior_are_one_too_many():
    with pytest.raises(InputError, match=r"penalty=0\.1 is a prior of variance 5, and another"):
        default_prior(NormalPrior(), 0.1, STEModel(), {})


@pytest.mark.parametrize("prior", [15.0, "normal", NormalPrior])
def test_what_is_no_prior(prior):
    with pytest.raises(InputError, match="prior must be a NormalPrior or a DistancePrior"):
        default_prior(prior, 0.0, STEModel(), {})


# ---- the scale without bounds


def test_there_and_back():
    learn, model = check_learn(EVERYTHING, CKLModel()), CKLModel(0.2, 1.5)
    theta = first_theta(learn, model)
    found = natural(learn, theta[None])
    assert {k: v[0] for k, v in found.items()} == pytest.approx(
        {"lapse": 0.05, "exponent": 1.5, "mu": 0.2}
    )
    assert np.isfinite(first_theta(learn, CKLModel(0.0))).all()
    assert first_theta({}, STEModel()).shape == (0,)
    assert natural({}, np.empty((4, 0))) == {}


def test_priors_of_logarithms():
    learn = check_learn({"lapse": (1.0, 9.0), "exponent": (3.0, 0.5)}, CKLModel())
    np.testing.assert_allclose(theta_priors(learn), [[1.0, 9.0], [np.log(3.0), 0.5]])
    assert theta_priors({}).shape == (0, 2)
