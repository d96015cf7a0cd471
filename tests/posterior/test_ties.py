"""What a posterior learns of ties and sides, and when."""

import numpy as np
import pytest

import tercet as tc
from tercet.posterior.priors import SIDE_PRIOR, TIE_PRIOR, check_learn, learn_from

N, TIE, BIAS = 10, 1.4, np.array([0.5, 0.1, -0.6])
QUICK = {"n_samples": 250, "n_chains": 2, "warmup": 150, "random_state": 0, "n_jobs": 1}


def answered(m, tie=TIE, bias=BIAS, seed=0):
    """Odd ones out of random objects at random positions."""
    rng = np.random.default_rng(seed)
    rows = np.array([rng.permutation(N)[:3] for _ in range(m)])
    shown = np.array([rng.permutation(3) for _ in range(m)])
    asked = tc.Choices.odd_one_out(rows, n_objects=N, positions=shown)
    points, model = rng.normal(size=(N, 2)), tc.STE(2).model()
    return tc.simulate.choices_from_model(
        model, points, asked, tie=tie, bias=bias, random_state=rng
    )


def test_ties_are_learned_if_there_are_any_and_sides_if_asked_for():
    model, choices = tc.STE(2).model(), answered(50)
    nothing, sides = check_learn((), model), check_learn(("lapse", "bias"), model)
    assert learn_from(nothing, choices) == {"tie": TIE_PRIOR}
    assert learn_from(nothing, choices.without_ties()) == {}
    assert learn_from(nothing, choices.triplets()) == {}
    assert [*learn_from(sides, choices)] == ["lapse", "tie", "bias_0", "bias_1", "bias_2"]
    assert learn_from(sides, choices)["bias_1"] == SIDE_PRIOR
    own = check_learn({"tie": (2.0, 0.5)}, model)
    assert learn_from(own, choices) == {"tie": (2.0, 0.5)}
    with pytest.raises(tc.InputError, match="none of the answers"):
        learn_from(own, choices.without_ties())


@pytest.mark.parametrize("given", ["triplets", "choices"])
def test_sides_need_positions(given):
    rng = np.random.default_rng(0)
    choices = tc.Choices.odd_one_out([rng.permutation(4)[:3] for _ in range(30)])
    answers = choices if given == "choices" else choices.triplets()
    with pytest.raises(tc.InputError, match="positions"):
        tc.Posterior(tc.STE(2), learn=("bias",)).fit(answers)


def test_samplers_that_learn_nothing_refuse_ties():
    maker = tc.Posterior(tc.STE(2), sampler="elliptical_slice")
    with pytest.raises(tc.InputError, match="without_ties"):
        maker.fit(answered(50))
    with pytest.raises(tc.InputError, match="could not tell in any of the 2"):
        tc.STE(2).fit(tc.Choices.odd_one_out([[0, 1, 2], [1, 2, 3]], cannot_tell=[True, True]))


@pytest.mark.slow
def test_odds_of_ties_and_sides_are_recovered():
    choices = answered(1500)
    post = tc.Posterior(tc.STE(2), learn=("bias",), **QUICK).fit(choices)
    drawn = post.ensemble_.parameters
    assert abs(np.log(drawn["tie"]).mean() - np.log(TIE)) < 4 * np.log(drawn["tie"]).std()
    assert np.log(drawn["tie"]).std() < 0.2
    sides = np.stack([drawn[f"bias_{p}"] for p in range(3)])
    np.testing.assert_allclose(sides.sum(axis=0), 0.0, atol=1e-12)
    assert (np.abs(sides.mean(axis=1) - BIAS) < 4 * sides.std(axis=1)).all()
    assert (sides.std(axis=1) < 0.1).all()
    found = tc.predict_held_out(post, choices, random_state=0)
    assert found.chance == 0.25
    assert found.calibration_error < 0.08


@pytest.mark.slow
def test_no_odds_of_sides_where_there_are_none():
    post = tc.Posterior(tc.STE(2), learn=("bias",), **QUICK).fit(answered(1500, 0.0, None))
    drawn = post.ensemble_.parameters
    assert "tie" not in drawn
    assert max(abs(drawn[f"bias_{p}"].mean()) for p in range(3)) < 0.2


@pytest.mark.slow
def test_sides_make_better_predictions_where_they_matter():
    choices = answered(1000, 0.0)
    with_sides, without = (
        tc.predict_held_out(
            tc.Posterior(tc.STE(2), learn=learn, **QUICK), choices, random_state=0
        ).log_loss
        for learn in (("bias",), ())
    )
    assert with_sides < without - 0.015
