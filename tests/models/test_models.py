"""The models of one comparison and of two objects, against their formulas."""

from dataclasses import fields

import numpy as np
import pytest

from tercet import estimators, models
from tercet.engine.kernels import code_of
from tercet.errors import InputError
from tercet.models import (
    ANY_PROBABILITY,
    FILES,
    LOSSES,
    PROBABILITIES,
    CKLModel,
    GNMDSModel,
    ShepardModel,
    SOEModel,
    STEModel,
    TSTEModel,
    domains,
    known_models,
)
from tercet.models.shepard import CORNER
from tercet.posterior.priors import check_learn

LIKELIHOODS = [
    *(known_models()[name]() for name in PROBABILITIES),
    TSTEModel(alpha=0.5),
    TSTEModel(alpha=7.0),
    CKLModel(mu=0.0),
    CKLModel(mu=2.0),
    CKLModel(exponent=1.0),
    CKLModel(mu=0.3, exponent=0.7),
    CKLModel(mu=0.0, exponent=3.5),
    ShepardModel(gamma=0.6),
    ShepardModel(gamma=2.0),
    ShepardModel(gamma=2.7),
    ShepardModel(gamma=1.4, tail=0.6),
]
SLACKS = [
    *(known_models()[name]() for name in LOSSES),
    GNMDSModel(smoothing=0.5),
    GNMDSModel(smoothing=3.0),
    SOEModel(margin=2.0),
]
MODELS = LIKELIHOODS + SLACKS

rng = np.random.default_rng(0)
NEAR, FAR = rng.gamma(1.0, 2.0, size=(2, 400)) + 1e-3


# ---- values, computed from the equations as printed


def test_ste_is_equation_2():
    p = np.exp(-NEAR) / (np.exp(-NEAR) + np.exp(-FAR))
    np.testing.assert_allclose(STEModel().probability(NEAR, FAR), p, rtol=1e-13)


@pytest.mark.parametrize(
    ("given", "d", "alpha"), [(None, 2, 1), (None, 5, 4), (None, 1, 1), (2.5, 5, 2.5)]
)
def test_tste_is_the_equation_of_the_supplement(given, d, alpha):
    """The likelihood of t-STE, "Embedding algorithms"; alpha = d - 1 there, and 1 on a line."""
    near, far = ((1 + x / alpha) ** (-(alpha + 1) / 2) for x in (NEAR, FAR))
    p = TSTEModel(given).probability(NEAR, FAR, n_components=d)
    np.testing.assert_allclose(p, near / (near + far), rtol=1e-13)


@pytest.mark.parametrize("mu", [0.0, 0.05, 3.0])
def test_ckl_is_equation_1(mu):
    p = (FAR + mu) / (NEAR + FAR + 2 * mu)
    np.testing.assert_allclose(CKLModel(mu).probability(NEAR, FAR), p, rtol=1e-13)


@pytest.mark.parametrize("exponent", [0.5, 1.0, 1.9, 3.0])
@pytest.mark.parametrize("mu", [0.0, 0.4])
def test_the_exponent_of_ckl_is_that_of_the_distances(mu, exponent):
    near, far = np.sqrt(NEAR) ** exponent, np.sqrt(FAR) ** exponent
    p = (far + mu) / (near + far + 2 * mu)
    np.testing.assert_allclose(CKLModel(mu, exponent).probability(NEAR, FAR), p, rtol=1e-12)


def test_ckl_without_mu_does_not_see_the_scale():
    model = CKLModel(mu=0.0, exponent=1.3)
    same = model.log_prob(100 * NEAR, 100 * FAR)
    np.testing.assert_allclose(same, model.log_prob(NEAR, FAR), rtol=1e-10)


@pytest.mark.parametrize("gamma", [0.5, 1.0, 1.7])
def test_shepards_similarity_decays_exponentially_with_the_distance(gamma):
    """Shepard (1987): exp(-d), with distances rounded off where two points nearly meet."""
    near, far = (np.sqrt(x + CORNER) for x in (NEAR, FAR))
    p = np.exp(-(near**gamma)) / (np.exp(-(near**gamma)) + np.exp(-(far**gamma)))
    np.testing.assert_allclose(ShepardModel(gamma).probability(NEAR, FAR), p, rtol=1e-12)
    for rounded, squared in ((near, NEAR), (far, FAR)):
        assert np.all(rounded - np.sqrt(squared) <= np.sqrt(CORNER))


def test_shepards_law_with_squared_distances_is_ste():
    """The rounding adds the same to both squared distances, which STE does not see."""
    for ours, theirs in zip(
        ShepardModel(2.0).loss(NEAR, FAR), STEModel().loss(NEAR, FAR), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-14)
    log_s, slope = ShepardModel(2.0).log_similarity(NEAR)
    np.testing.assert_allclose(log_s, -NEAR - CORNER, rtol=1e-12)
    np.testing.assert_allclose(slope, -1.0, rtol=1e-12)


def test_a_tail_of_one_is_the_crowd_kernel_up_to_the_size():
    """1 / (1 + d**g) is 1 / (m + (d m**(1/g))**g) up to a factor: mu sets the size of a map."""
    gamma, mu = 3.0, 0.2
    ours = ShepardModel(gamma, tail=1.0).probability(NEAR, FAR)
    size = mu ** (2 / gamma)
    theirs = CKLModel(mu, gamma).probability(size * (NEAR + CORNER), size * (FAR + CORNER))
    np.testing.assert_allclose(ours, theirs, rtol=1e-10)


def test_a_tail_of_squared_distances_is_t_ste_up_to_the_size():
    alpha = 3.0
    tail = 2 / (alpha + 1)
    ours = ShepardModel(2.0, tail=tail).probability(NEAR, FAR)
    near, far = (alpha * tail * (x + CORNER) for x in (NEAR, FAR))
    np.testing.assert_allclose(ours, TSTEModel(alpha).probability(near, far), rtol=1e-10)


def test_a_vanishing_tail_is_none():
    for ours, theirs in zip(
        ShepardModel(1.3, tail=1e-7).loss(NEAR, FAR), ShepardModel(1.3).loss(NEAR, FAR), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-8)


def test_the_log_odds_of_shepards_law_are_a_difference_of_distances():
    near, far = NEAR + 1.0, FAR + 1.0
    p = ShepardModel().probability(near, far)
    np.testing.assert_allclose(np.log(p / (1 - p)), np.sqrt(far) - np.sqrt(near), atol=1e-4)


def test_gnmds_is_the_slack_of_the_margin_far_minus_near():
    np.testing.assert_allclose(GNMDSModel().loss(NEAR, FAR)[0], np.maximum(0, 1 - (FAR - NEAR)))


def test_gnmds_does_not_have_the_sign_the_paper_prints():
    """As printed the constraint would reward near pairs that are far apart."""
    satisfied, violated = (GNMDSModel().loss(*pair)[0] for pair in ((1.0, 9.0), (9.0, 1.0)))
    assert satisfied == 0.0
    assert violated == 9.0
    printed = np.maximum(0, 1 - (NEAR - FAR))
    assert not np.allclose(GNMDSModel().loss(NEAR, FAR)[0], printed)


@pytest.mark.parametrize("width", [1e-3, 0.1, 1.0, 5.0])
def test_smoothing_lowers_the_hinge_by_at_most_half_its_width(width):
    hinge, rounded = GNMDSModel().loss(NEAR, FAR)[0], GNMDSModel(width).loss(NEAR, FAR)[0]
    assert np.all(rounded >= 0)
    assert np.all(rounded <= hinge + 1e-12)
    assert np.all(rounded >= hinge - width / 2 - 1e-12)
    far_from_corner = np.abs(1 + NEAR - FAR) > width
    assert not np.array_equal(rounded, hinge)
    clear = far_from_corner & (hinge == 0)
    assert np.array_equal(rounded[clear], hinge[clear])


@pytest.mark.parametrize("margin", [0.1, 1.0])
def test_soe_squares_the_slack_between_distances(margin):
    slack = np.maximum(0, margin + np.sqrt(NEAR) - np.sqrt(FAR))
    np.testing.assert_allclose(SOEModel(margin).loss(NEAR, FAR)[0], slack**2, rtol=1e-12)


# ---- derivatives


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("d", [1, 4])
def test_derivatives_match_central_differences(model, d):
    def loss(near, far):
        return model.loss(near, far, n_components=d)[0]

    width = getattr(model, "smoothing", np.nan)
    slack = 1 + NEAR - FAR  # differences straddling the corner of a hinge say nothing
    smooth = (np.abs(slack) > 1e-3) & (np.abs(slack - width) > 1e-3) if width == width else True
    near, far = NEAR[smooth & (NEAR > 0.05)], FAR[smooth & (NEAR > 0.05)]
    _, d_near, d_far = model.loss(near, far, n_components=d)
    h = 1e-6 * far
    np.testing.assert_allclose(
        d_far, (loss(near, far + h) - loss(near, far - h)) / (2 * h), rtol=2e-5, atol=1e-7
    )
    h = 1e-6 * near
    np.testing.assert_allclose(
        d_near, (loss(near + h, far) - loss(near - h, far)) / (2 * h), rtol=2e-5, atol=1e-7
    )


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_losses_rise_with_near_and_fall_with_far(model):
    _, d_near, d_far = model.loss(NEAR, FAR)
    assert np.all(d_near >= 0)
    assert np.all(d_far <= 0)
    assert np.any(d_near > 0)


# ---- similarities, and the probabilities that follow from them


@pytest.mark.parametrize("model", LIKELIHOODS, ids=str)
@pytest.mark.parametrize("d", [1, 4])
def test_the_loss_follows_from_the_similarities(model, d):
    """-log(s_near / (s_near + s_far)), and its derivatives (Luce 1959)."""
    (near, slope_near), (far, slope_far) = (model.log_similarity(x, d) for x in (NEAR, FAR))
    loss, d_near, d_far = model.loss(NEAR, FAR, d)
    np.testing.assert_allclose(loss, np.logaddexp(near, far) - near, rtol=1e-11, atol=1e-13)
    other = np.exp(far - np.logaddexp(near, far))  # the probability of the other answer
    np.testing.assert_allclose(d_near, -other * slope_near, rtol=1e-9, atol=1e-13)
    np.testing.assert_allclose(d_far, other * slope_far, rtol=1e-9, atol=1e-13)


@pytest.mark.parametrize("model", LIKELIHOODS, ids=str)
def test_slopes_of_similarities_match_central_differences(model):
    x = np.append(NEAR[NEAR > 0.05], 1e6)
    h = 1e-6 * x
    above, below = (model.log_similarity(x + sign * h)[0] for sign in (1, -1))
    slope = model.log_similarity(x)[1]
    assert np.all(slope < 0)
    np.testing.assert_allclose(slope, (above - below) / (2 * h), rtol=2e-5, atol=1e-9)


@pytest.mark.parametrize("model", LIKELIHOODS, ids=str)
def test_log_similarities_keep_the_shape_of_the_distances(model):
    value, slope = model.log_similarity(NEAR[:6].reshape(2, 3))
    assert value.shape == slope.shape == (2, 3)
    np.testing.assert_array_equal(value.ravel(), model.log_similarity(NEAR[:6])[0])


@pytest.mark.parametrize("model", LIKELIHOODS, ids=str)
def test_one_of_the_two_answers_is_given(model):
    total = model.probability(NEAR, FAR) + model.probability(FAR, NEAR)
    np.testing.assert_allclose(total, 1.0, rtol=1e-13)
    np.testing.assert_allclose(model.probability(NEAR, NEAR), 0.5, rtol=1e-13)


@pytest.mark.parametrize("model", SLACKS, ids=str)
@pytest.mark.parametrize("method", ["log_prob", "probability"])
def test_a_loss_is_no_probability_and_says_what_is(model, method):
    name = "GNMDS" if isinstance(model, GNMDSModel) else "SOE"
    said = f"^{name} is a loss, not a probability.*such as STE or Shepard"
    with pytest.raises(InputError, match=said):
        getattr(model, method)(NEAR, FAR)
    with pytest.raises(InputError, match=said):
        model.log_similarity(NEAR)


def test_messages_name_every_model_that_is_a_probability():
    assert ANY_PROBABILITY == "STE, TSTE, CKL or Shepard"


# ---- extremes


def test_ste_stays_finite_at_huge_distances():
    near, far = np.array([1e6, 0.0, 1e300, 0.0]), np.array([0.0, 1e6, 0.0, 1e300])
    loss, d_near, d_far = STEModel().loss(near, far)
    assert loss[0] == pytest.approx(1e6)
    assert loss[2] == pytest.approx(1e300)
    assert np.all(loss[[1, 3]] < 1e-300)
    assert np.isfinite([d_near, d_far]).all()
    assert d_near[0] == pytest.approx(1.0)
    assert d_far[0] == pytest.approx(-1.0)


@pytest.mark.parametrize(
    "model",
    [
        SOEModel(),
        CKLModel(exponent=1.0),
        CKLModel(0.0, 0.5),
        CKLModel(0.0),
        CKLModel(),
        ShepardModel(0.3),
        ShepardModel(),
    ],
    ids=str,
)
@pytest.mark.parametrize(("near", "far"), [(0.0, 1.0), (1.0, 0.0), (0.0, 0.0)])
def test_points_in_one_place_are_finite(model, near, far):
    assert np.isfinite(model.loss(near, far)).all()


@pytest.mark.parametrize("gamma", [0.3, 1.0, 2.0, 3.5])
@pytest.mark.parametrize("other", [0.0, 0.7])
def test_shepards_law_is_smooth_where_two_points_meet(gamma, other):
    """As functions of a coordinate x of one object, the other at 0: even, with slope 0 at 0."""
    model, x, h = ShepardModel(gamma), np.array([0.0, 1e-3, 3e-3]), 1e-6

    def loss(x):
        return model.loss(x**2, other)[0]

    slope = 2 * x * model.loss(x**2, other)[1]
    assert slope[0] == 0.0
    np.testing.assert_allclose(slope, (loss(x + h) - loss(x - h)) / (2 * h), rtol=1e-4, atol=1e-8)
    curvature = (loss(x + 1e-4) - 2 * loss(x) + loss(x - 1e-4)) / 1e-8
    assert np.all(np.abs(np.diff(curvature)) < 0.3 * np.abs(curvature[0]) + 1e-6)


def test_no_power_of_shepards_law_overflows():
    model, far_away = ShepardModel(50.0), np.array([1e100, 1.0, 0.0])
    assert np.isfinite(model.log_similarity(far_away)).all()
    assert np.isfinite(model.loss(far_away, far_away[::-1])).all()


# ---- parameters and shapes


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
@pytest.mark.parametrize(
    ("model", "name"),
    [
        (TSTEModel, "alpha"),
        (CKLModel, "mu"),
        (CKLModel, "exponent"),
        (ShepardModel, "gamma"),
        (ShepardModel, "tail"),
        (GNMDSModel, "smoothing"),
        (SOEModel, "margin"),
    ],
)
def test_impossible_parameters_are_named(model, name, bad):
    with pytest.raises(InputError, match=rf"{name} must be .*positive number, got {bad}"):
        model(**{name: bad})


@pytest.mark.parametrize(
    ("model", "name"), [(TSTEModel, "alpha"), (ShepardModel, "gamma"), (SOEModel, "margin")]
)
def test_zero_is_refused_where_it_has_no_meaning(model, name):
    with pytest.raises(InputError, match=f"{name} must be a positive number, got 0"):
        model(**{name: 0.0})


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_losses_keep_the_shape_of_the_distances(model):
    near, far = NEAR[:6].reshape(2, 3), FAR[0]
    for part in model.loss(near, far):
        assert part.shape == (2, 3)
    np.testing.assert_array_equal(
        model.loss(near, far)[0].ravel(), model.loss(NEAR[:6], np.full(6, far))[0]
    )


def test_models_are_told_apart_by_their_code():
    assert len({code_of(model) for model in MODELS}) == len(FILES)


@pytest.mark.parametrize("name", FILES)
def test_a_model_is_what_its_line_says(name):
    kind = known_models()[name]
    assert kind.__name__ == f"{name}Model"
    assert kind is getattr(models, kind.__name__)
    assert kind().is_probability == (kind.similarity is not None) == (name in PROBABILITIES)
    assert {field.name for field in fields(kind)} == set(kind.parameters)
    for parameter, learned in kind.learnable().items():
        assert check_learn((parameter,), kind()) == {parameter: learned.prior}


def test_no_other_model_is_known():
    with pytest.raises(AttributeError, match="no attribute 'CauchyModel'"):
        _ = models.CauchyModel
    with pytest.raises(AttributeError, match="no attribute 'Cauchy'"):
        _ = estimators.Cauchy


def test_two_models_mean_the_same_by_a_parameter_of_one_name():
    own = [kind.parameters for kind in known_models().values()]
    for parameters in own:
        for name, parameter in parameters.items():
            assert domains()[name] == parameter.domain
