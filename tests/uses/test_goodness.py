"""Goodness of fit of perceptual scales, and the published runs tests of MLDS."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from tests.worlds import N_STIMULI as N
from tests.worlds import scale_answers as simulated

import tercet as tc
from tercet.errors import InputError, SeparableWarning
from tercet.plots.scale import plot_residuals
from tercet.simulate import noisy_triplets
from tercet.uses.scale.difference import differences
from tercet.uses.scale.goodness import goodness_of_fit


@pytest.fixture(scope="module")
def scale():
    return tc.perceptual_scale(simulated(), n_samples=5, random_state=0)


@pytest.fixture(scope="module")
def goodness(scale):
    return goodness_of_fit(scale, n_samples=200, random_state=0)


def test_deviance_and_its_kin(scale, goodness):
    assert goodness.deviance == pytest.approx(-2 * scale.log_likelihood)
    assert goodness.null_deviance == pytest.approx(800 * np.log(2))
    assert goodness.aic == pytest.approx(goodness.deviance + 2 * (N - 1))
    assert goodness.daf == pytest.approx(1 - goodness.deviance / goodness.null_deviance)
    assert goodness.deviance == pytest.approx(np.sum(goodness.residuals**2))


def test_accuracy_is_the_share_of_likely_answers(scale, goodness):
    """In the order of the stimuli the distances of the scale are its signed differences."""
    a, b, c, d = scale.estimate[simulated().array.T]
    assert goodness.accuracy == np.mean(abs(b - a) < abs(d - c))


def test_residuals_of_a_true_model_are_as_simulated(goodness):
    assert goodness.residuals.shape == (400,)
    assert (np.diff(goodness.residuals) >= 0).all()
    assert (goodness.envelope[:, 0] <= goodness.envelope[:, 1]).all()
    assert goodness.outside < 0.5
    assert 0.01 < goodness.runs_p < 0.99
    assert 0.01 < goodness.deviance_p < 0.99


def test_runs_are_changes_of_sign_in_the_order_of_fitted_values(scale, goodness):
    task = scale.made.task
    eta = differences(task.questions, task.fit.scale[0])[task.questions.number]
    signs = task.questions.first[np.argsort(eta, kind="stable")]
    assert goodness.runs == np.sum(signs[1:] != signs[:-1])


def test_same_seed_same_bits_whatever_the_threads(scale):
    one, other = (goodness_of_fit(scale, n_samples=60, n_jobs=j, random_state=5) for j in (1, 2))
    np.testing.assert_array_equal(one.envelope, other.envelope)
    np.testing.assert_array_equal(one.simulated_runs, other.simulated_runs)
    other = goodness_of_fit(scale, n_samples=60, random_state=6)
    assert (one.simulated_deviances != other.simulated_deviances).any()


def test_votes_are_single_answers(scale):
    answers = simulated(150)
    voted = tc.Triplets(answers.array, weights=np.full(150, 3))
    found = goodness_of_fit(
        tc.perceptual_scale(voted, n_samples=2, random_state=0), n_samples=5, random_state=0
    )
    assert found.n_answers == 450
    weighed = tc.Triplets(answers.array, weights=np.full(150, 0.5))
    weighed = tc.perceptual_scale(weighed, n_samples=2, random_state=0)
    with pytest.raises(InputError, match="weights of the answers are not whole"):
        goodness_of_fit(weighed)


def test_counted_answers_have_no_clusters_of_their_own():
    """Counting sorts the answers to a question by what they say: that is not a run of errors."""
    answers = simulated(600, sigma=0.3)
    rows, votes = np.unique(answers.array, axis=0, return_counts=True)
    voted = tc.Triplets(rows, weights=votes)
    scale = tc.perceptual_scale(voted, n_samples=2, random_state=0)
    found = goodness_of_fit(scale, n_samples=200, random_state=0)
    assert found.runs < 60  # two a question at most, of 15 questions; one by one there are 160
    assert 0.05 < found.runs_p < 0.99


def test_unanimous_answers_have_no_goodness_of_fit():
    with pytest.warns(SeparableWarning, match="unanimous"):
        scale = tc.perceptual_scale(simulated(sigma=1e-9), n_samples=2, random_state=0)
    with pytest.warns(SeparableWarning, match="goodness of fit is not informative"):
        goodness_of_fit(scale, n_samples=5, random_state=0)


def test_lapses_that_the_model_leaves_out_show():
    answers = simulated(1500, lapse=0.1, sigma=0.15)
    without, with_lapse = (
        goodness_of_fit(
            tc.perceptual_scale(answers, lapse=lapse, n_samples=2, random_state=0),
            n_samples=100,
            random_state=0,
        )
        for lapse in (False, True)
    )
    assert with_lapse.aic < without.aic - 10
    assert with_lapse.outside < 0.5 * without.outside


def test_words(goodness):
    text = str(goodness)
    assert "400 answers, 200 simulations (refitted answers)" in text
    assert f"runs of residuals: {goodness.runs:.0f}" in text


def test_only_models_that_answer_can_be_judged(scale):
    points = np.linspace(0, 1, 8)[:, None]
    answers = noisy_triplets(points, 160, noise=0.3, random_state=0)
    boot = tc.perceptual_scale(answers, model=tc.CKL(1), n_samples=5, random_state=0)
    for other in (boot, tc.perceptual_scale(tc.Ensemble(np.tile(points, (3, 1, 1))))):
        with pytest.raises(InputError, match="a model that can simulate them"):
            goodness_of_fit(other)
    with pytest.raises(InputError, match="n_samples"):
        goodness_of_fit(scale, n_samples=0)
    with pytest.raises(InputError, match="level"):
        goodness_of_fit(scale, level=1.0)


@pytest.mark.slow
def test_posterior_predictive_check():
    """Answers of the model itself pass; answers that repeat the first to a question do not."""
    points = np.linspace(0.0, 1.0, 8)[:, None]
    questions = tc.simulate.random_comparisons(8, 900, replace=True, random_state=0)
    model = tc.CKL(1)
    fair = tc.simulate.answers_from_model(model.model(), points, questions, random_state=1)
    maker = tc.Posterior(model, n_chains=2, n_samples=400)
    scale = tc.perceptual_scale(fair, model=maker, random_state=0)
    found = goodness_of_fit(scale, n_samples=300, random_state=0)
    assert found.simulated_by == "posterior predictive"
    assert found.aic is None
    assert 0.01 < found.runs_p < 0.99
    assert 0.05 < found.deviance_p < 0.95
    again = goodness_of_fit(scale, n_samples=300, random_state=0)
    np.testing.assert_array_equal(found.simulated_runs, again.simulated_runs)
    rows, votes = np.unique(fair, axis=0, return_counts=True)
    counted = tc.perceptual_scale(tc.Triplets(rows, weights=votes), model=maker, random_state=0)
    assert 0.01 < goodness_of_fit(counted, n_samples=300, random_state=0).runs_p < 0.99
    _, first, question = np.unique(questions, axis=0, return_index=True, return_inverse=True)
    copied = tc.perceptual_scale(fair[first[question.ravel()]], model=maker, random_state=0)
    assert goodness_of_fit(copied, n_samples=300, random_state=0).runs_p < 0.005


@pytest.mark.parametrize(
    ("link", "runs", "p"), [("probit", 173, 0.016), ("logit", None, 0.22), ("cauchit", None, 0.07)]
)
def test_kk_has_the_published_runs_test(kk, link, runs, p):
    """Knoblauch & Maloney, J. Stat. Software 25(2), 2008, section 4.4 and table 1.

    The tolerance is four standard errors of the 1000 simulations here, plus a published digit.
    """
    scale = tc.perceptual_scale(kk[0], link=link, n_samples=2, random_state=0)
    found = goodness_of_fit(scale, n_samples=1000, random_state=0)
    assert runs in (None, found.runs)
    assert found.runs_p == pytest.approx(p, abs=0.005 + 4 * np.sqrt(p * (1 - p) / 1000))


def test_a_picture_of_residuals_and_runs(goodness):
    axes = Figure(figsize=(8, 4)).subplots(1, 2)
    left, right = plot_residuals(goodness, axes=axes)
    np.testing.assert_array_equal(left.lines[0].get_xdata(), goodness.residuals)
    assert right.lines[0].get_xdata()[0] == goodness.runs
    counted = sum(patch.get_height() for patch in right.patches)
    assert counted == 200
    with pytest.raises(InputError, match="two axes"):
        plot_residuals(goodness, axes=[left])


def test_a_picture_of_its_own(goodness):
    from matplotlib import pyplot

    pyplot.switch_backend("Agg")
    left, right = plot_residuals(goodness)
    assert left.figure is right.figure
    pyplot.close(left.figure)
