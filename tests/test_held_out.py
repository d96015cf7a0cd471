"""Answers predicted by maps that have not seen them, whatever makes the maps."""

import numpy as np
import pytest

import tercet as tc
from tercet.answers.questions import number_comparisons
from tercet.errors import InputError
from tercet.held_out import held_out

N = 10
POINTS = tc.simulate.gaussian_mixture(N, random_state=3)[0]


def asked(m, seed=0, noise=0.3):
    rows = tc.simulate.random_comparisons(N, m, replace=True, random_state=seed)
    return tc.simulate.answer(POINTS, rows, noise=noise, random_state=seed)


def odd_ones_out(m, seed=0, **columns):
    rng = np.random.default_rng(seed)
    three = np.argsort(rng.random((m, N)), axis=1)[:, :3]
    shown = tc.Choices.odd_one_out(three, n_objects=N, **columns)
    return tc.simulate.choices_from_model(tc.CKL(2).model(), POINTS, shown, random_state=rng)


def posterior(**settings):
    quick = {"n_samples": 60, "n_chains": 2, "warmup": 60, "random_state": 0, "progress": False}
    return tc.Posterior(tc.CKL(2), **(quick | settings))


def bootstrap(estimator=None, **settings):
    quick = {"n_samples": 15, "random_state": 0, "progress": False}
    return tc.Bootstrap(estimator or tc.CKL(2, penalty=0.25), **(quick | settings))


def predict(maker, answers, **settings):
    return tc.predict_held_out(
        maker, answers, **({"random_state": 1, "progress": False} | settings)
    )


ignoring = pytest.mark.filterwarnings("ignore")  # short chains


@ignoring
def test_a_posterior_fitted_or_not_leaves_each_comparison_out():
    answers = asked(200)
    fitted = posterior().fit(answers)
    before = fitted.ensemble_
    told = predict(fitted, answers)
    assert told.how == "each comparison left out in turn"
    assert 0.5 + 4 * told.accuracy_error < told.accuracy < 0.95
    assert told.log_loss == pytest.approx(-np.log(told.probability).mean())
    assert told.curve.risk[-1] == pytest.approx(1 - told.accuracy)
    assert fitted.ensemble_ is before
    seen = before.answer_probability(answers)
    assert -np.log(seen).mean() < told.log_loss  # what was seen is predicted better
    fresh = posterior()
    again = predict(fresh, answers)
    assert not hasattr(fresh, "ensemble_")
    assert again.accuracy == pytest.approx(told.accuracy, abs=0.05)
    assert predict(fresh, answers).probability.tolist() == again.probability.tolist()


@ignoring
def test_folds_agree_with_leaving_one_out():
    answers = asked(200)
    one = predict(posterior().fit(answers), answers)
    folds = predict(posterior(), answers, method="kfold", folds=4)
    assert folds.how == "in 4 folds of comparisons"
    assert folds.rough == 0.0
    assert folds.log_loss == pytest.approx(one.log_loss, abs=0.06)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [tc.SOE(2), tc.GNMDS(2)])
def test_without_a_probability_the_draws_vote(estimator):
    answers = asked(200)
    told = predict(bootstrap(estimator), answers)
    assert 0.5 + 3 * told.accuracy_error < told.accuracy < 0.95
    assert not told.is_probability
    for number in ("log_loss", "log_loss_error", "calibration_error", "calibration_limit"):
        assert np.isnan(getattr(told, number))
    assert "the draws vote: there is no log-loss" in str(told)
    assert told.curve.risk[-1] == pytest.approx(1 - told.accuracy)


def test_a_bootstrap_has_not_seen_what_it_predicts():
    """Answers that nothing but themselves can tell are predicted as by a coin."""
    rng = np.random.default_rng(0)
    rows = tc.simulate.random_comparisons(N, 240, random_state=rng)
    guesses = np.where(rng.random(240)[:, None] < 0.5, rows, rows[:, [0, 2, 1]])
    told = predict(bootstrap(tc.STE(3, penalty=0.05), n_samples=8), guesses)
    assert abs(told.accuracy - 0.5) < 4 * told.accuracy_error
    assert told.log_loss > 0.6
    assert "Log-loss" in str(told)
    seen = bootstrap(tc.STE(3, penalty=0.05), n_samples=8).fit(guesses).ensemble_
    assert np.mean(seen.answer_probability(guesses) > 0.5) > 0.65  # the fit has seen them


def test_units_are_left_out_together():
    answers = odd_ones_out(150, observers=np.arange(150) % 15)
    assert predict(bootstrap(), answers).how == "in 5 folds of screens"
    told = predict(bootstrap(), answers, unit="observer", folds=3)
    assert told.how == "in 3 folds of observers"
    alone = tc.Triplets(asked(150), observers=np.arange(150) % 15)
    comparisons = predict(bootstrap(), alone)
    assert len(np.unique(number_comparisons(alone))) >= 10
    assert comparisons.how == "in 5 folds of comparisons"


@ignoring
def test_votes_are_counted_one_by_one_also_of_choices():
    votes = np.arange(120) % 3 + 1
    told = predict(posterior(), odd_ones_out(120, weights=votes))
    assert told.how == "each screen left out in turn"
    assert len(told.probability) == len(told.confidence) == len(told.right) == votes.sum()
    assert told.curve.risk[-1] == pytest.approx(1 - told.accuracy)
    assert told.accuracy == pytest.approx(told.right.mean())
    assert told.log_loss == pytest.approx(-np.log(told.probability).mean())


@ignoring
def test_a_choice_is_predicted_as_one_answer():
    answers = odd_ones_out(200)
    told = predict(posterior(), answers)
    assert len(told.probability) == 200
    assert told.chance == pytest.approx(1 / 3)
    assert 1 / 3 + 4 * told.accuracy_error < told.accuracy < told.in_order < 0.98
    assert "by guessing 33" in str(told)
    right = told.right == 1.0
    np.testing.assert_array_equal(told.confidence[right], told.probability[right])
    assert (told.confidence[~right] > told.probability[~right]).all()
    assert told.reliability.edges[[0, -1]] == pytest.approx([1 / 3, 1.0])
    assert told.reliability.count.sum() == 200
    assert told.calibration_error == told.reliability.error
    assert told.calibration_limit == told.reliability.limit
    split = predict(posterior(), answers.triplets())  # its comparisons share a screen
    np.testing.assert_array_equal(split.probability, told.probability)


@ignoring
def test_two_alternatives_are_a_comparison():
    told = predict(posterior(), asked(120))
    assert told.chance == 0.5
    assert told.in_order == told.accuracy
    np.testing.assert_array_equal(
        told.confidence, np.maximum(told.probability, 1.0 - told.probability)
    )
    np.testing.assert_array_equal(told.right == 1.0, told.probability > 0.5)


@ignoring
def test_new_answers_are_predicted_by_the_mean_of_the_draws():
    """To the last bit: rounding would tell answers of one confidence apart."""
    ensemble, units = posterior().fit(asked(120)).ensemble_, np.arange(50)
    new, chosen = tc.Triplets(asked(50, seed=9), n_objects=N), odd_ones_out(50, seed=9)
    for answers, drawn in (
        (new, ensemble.answer_probability(new, by_draw=True)),
        (chosen, ensemble.choice_probability(chosen, by_draw=True)),
    ):
        found = held_out(ensemble, answers, units)
        np.testing.assert_array_equal(found.probability, drawn.T.mean(axis=1))


def test_a_loss_votes_on_choices_by_their_comparisons():
    told = predict(bootstrap(tc.SOE(2), n_samples=8), odd_ones_out(60), folds=2)
    assert not told.is_probability
    assert len(told.probability) == 60
    assert told.chance == pytest.approx(1 / 3)
    assert told.accuracy <= told.in_order  # all comparisons of a choice, or some of them


@ignoring
def test_draws_of_an_approximation_are_not_reweighted():
    maker = posterior(sampler="laplace")
    answers = asked(120)
    assert predict(maker, answers, folds=2).how == "in 2 folds of comparisons"
    with pytest.raises(InputError, match="use method='kfold'"):
        predict(maker, answers, method="loo")


@pytest.mark.parametrize(
    ("maker", "given", "message"),
    [
        (tc.STE(2), {}, "maker must be a Posterior or a Bootstrap.*got STE"),
        (bootstrap(), {"folds": 1}, "at least two folds, and twice as many"),
        (bootstrap(), {"folds": 40}, "are too few for 40 folds"),
        (bootstrap(), {"method": "guess"}, "method must be one of 'loo', 'kfold', got 'guess'"),
        (bootstrap(), {"method": "loo"}, "use method='kfold'"),
        (bootstrap(), {"unit": "screen"}, "screens of the answers are unknown"),
        (bootstrap(), {"unit": "observer"}, "observers of the answers are unknown"),
        (bootstrap(), {"unit": "person"}, "unit must be one of"),
    ],
)
def test_what_cannot_be_is_said(maker, given, message):
    with pytest.raises(InputError, match=message):
        predict(maker, asked(60), **given)


@ignoring
def test_a_maker_of_other_objects_is_said():
    maker = posterior().fit(asked(80))
    with pytest.raises(InputError, match=f"fitted to {N} objects, and these answers are about 11"):
        predict(maker, tc.Triplets(asked(80), n_objects=11))
