"""Perceptual scales: what goes in, what comes out, and the published figures of MLDS."""

import sys

import numpy as np
import pytest
from benchmarks.data import alien_eggs
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from scipy import optimize
from scipy.special import log_ndtr
from tests.worlds import N_STIMULI as N
from tests.worlds import PSI, SIGMA
from tests.worlds import scale_answers as simulated

import tercet as tc
from tercet.answers.questions import find_questions
from tercet.errors import DataWarning, InputError, SeparableWarning, TercetError
from tercet.plots.scale import plot_scale, scale_curves
from tercet.simulate import noisy_triplets
from tercet.uses.scale import intervals
from tercet.uses.scale.difference import differences
from tercet.uses.scale.scale import scales_by_observer


@pytest.fixture(scope="module")
def scale():
    return tc.perceptual_scale(simulated(), n_samples=300, random_state=0)


# --- what comes out ---------------------------------------------------------------------------


def test_a_normalised_scale_goes_from_0_to_1_in_every_sample(scale):
    assert scale.samples.shape == (300, N)
    np.testing.assert_array_equal(scale.samples[:, 0], 0.0)
    np.testing.assert_allclose(scale.samples[:, -1], 1.0)
    np.testing.assert_allclose(scale.estimate, PSI, atol=0.15)
    assert scale.sigma == pytest.approx(SIGMA, abs=0.06)


def test_unnormalised_the_noise_is_1(scale):
    raw = scale.unnormalised()
    assert raw.sigma == 1.0
    np.testing.assert_allclose(raw.estimate * scale.sigma, scale.estimate)
    np.testing.assert_allclose(raw.samples[:, -1] * scale.sigma_samples, 1.0)
    np.testing.assert_array_equal(raw.normalised().samples, scale.samples)
    with pytest.raises(InputError, match=r"normalised\(\)"):
        raw.sigma_interval()


def test_summaries_are_those_of_the_samples(scale):
    np.testing.assert_allclose(scale.mean(), scale.samples.mean(axis=0))
    np.testing.assert_allclose(scale.std(), scale.samples.std(axis=0, ddof=1))
    percentile = scale.interval(0.9)
    np.testing.assert_allclose(percentile, np.quantile(scale.samples, [0.05, 0.95], axis=0).T)
    basic = scale.interval(0.9, "basic")
    np.testing.assert_allclose(basic + percentile[:, ::-1], np.tile(2 * scale.estimate, (2, 1)).T)
    bca = scale.interval(0.9, "bca")
    assert (bca[:, 0] <= bca[:, 1]).all()
    np.testing.assert_array_equal(bca[0], [0, 0])
    assert scale.sigma_interval(kind="bca")[0] < scale.sigma < scale.sigma_interval(kind="bca")[1]


def test_words(scale):
    text = str(scale)
    assert "6 stimuli: signed differences, probit link" in text
    assert "300 samples, bootstrap of answers, normalised" in text
    assert f"σ {scale.sigma:.3f}" in text
    assert len(scale.table().splitlines()) == N + 1
    assert "(bca)" in scale.table(kind="bca")


def test_weights_are_votes():
    answers = simulated(300)
    twice = tc.Triplets(np.concatenate([answers.array, answers.array]))
    voted = tc.Triplets(answers.array, weights=np.full(300, 2))
    for kind in ("bootstrap", "parametric"):
        settings = {"n_samples": 20, "uncertainty": kind, "random_state": 0}
        one = tc.perceptual_scale(twice, **settings)
        other = tc.perceptual_scale(voted, **settings)
        np.testing.assert_allclose(one.estimate, other.estimate, atol=1e-6)
        assert one.log_likelihood == pytest.approx(other.log_likelihood)
    heavier = tc.Triplets(answers.array, weights=np.full(300, 1.5))
    tc.perceptual_scale(heavier, n_samples=5, random_state=0)
    with pytest.raises(InputError, match="whole"):
        tc.perceptual_scale(heavier, uncertainty="parametric", n_samples=5)


# --- seeds and threads ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["bootstrap", "parametric"])
def test_same_seed_same_bits_whatever_the_threads(kind):
    answers = simulated()
    runs = [
        tc.perceptual_scale(answers, uncertainty=kind, n_samples=s, n_jobs=j, random_state=7)
        for s, j in ((120, 1), (120, 3), (60, 2))
    ]
    np.testing.assert_array_equal(runs[0].samples, runs[1].samples)
    np.testing.assert_array_equal(runs[0].samples[:60], runs[2].samples)
    other = tc.perceptual_scale(answers, uncertainty=kind, n_samples=120, random_state=8)
    assert (runs[0].samples[:, 1] != other.samples[:, 1]).any()


# --- stimuli ----------------------------------------------------------------------------------


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_objects_may_be_numbered_in_any_order(seed):
    answers, values = simulated(), np.array([1.0, 2.0, 4.0, 8.0, 9.0, 20.0])
    number = np.random.default_rng(seed).permutation(N)  # of each stimulus
    mixed = tc.Triplets(number[answers.array])
    stimuli = np.empty(N)
    stimuli[number] = values
    one = tc.perceptual_scale(answers, values, n_samples=3, random_state=0)
    other = tc.perceptual_scale(mixed, stimuli, n_samples=3, random_state=0)
    np.testing.assert_array_equal(other.stimuli, values)
    np.testing.assert_array_equal(one.samples, other.samples)


def test_stimuli_by_name():
    names = ["e", "d", "c", "b", "a", "f"]
    answers = tc.Triplets(np.array(names)[simulated().array])
    values = dict(zip(names, range(N), strict=True))
    scale = tc.perceptual_scale(answers, values, n_samples=3, random_state=0)
    assert scale.names == tuple(names)
    expected = tc.perceptual_scale(simulated(), n_samples=3, random_state=0)
    np.testing.assert_array_equal(scale.estimate, expected.estimate)
    with pytest.raises(InputError, match="no stimulus value for the object 'f'"):
        tc.perceptual_scale(answers, dict.fromkeys("abcde", 1.0))
    with pytest.raises(InputError, match="objects have no names"):
        tc.perceptual_scale(simulated(), values)
    with pytest.raises(InputError, match="objects 'a' and 'f' have the same stimulus value 4"):
        tc.perceptual_scale(answers, values | {"f": 4})
    with pytest.raises(InputError, match="the stimulus of object 'f' is nan"):
        tc.perceptual_scale(answers, values | {"f": np.nan})
    without = tc.Triplets(answers.array[(answers.array != 2).all(axis=1)], names=names)
    with pytest.raises(InputError, match="object 'c' is in no comparison"):
        tc.perceptual_scale(without, values)


@pytest.mark.parametrize(
    ("stimuli", "message"),
    [
        ([1, 2, 3], r"each of the 6 objects, got shape \(3,\)"),
        ([0, 1, 2, 2, 3, 4], "objects 2 and 3 have the same stimulus value 2"),
        ([0, 1, 2, np.nan, 3, 4], "stimulus of object 3 is nan"),
        (np.zeros((6, 2)), "got shape"),
        (list("abcdef"), "must be numbers"),
        (range(7), "object 6 is in no comparison"),
    ],
)
def test_stimuli_that_do_not_match_are_refused(stimuli, message):
    with pytest.raises(InputError, match=message):
        tc.perceptual_scale(simulated(), stimuli)
    with pytest.raises(InputError, match=message):
        tc.perceptual_scale(simulated(), stimuli, model=tc.STE(1))


# --- settings that cannot be ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"link": "cloglog"}, "link must be one of 'probit'"),
        ({"uncertainty": "jackknife"}, "uncertainty must be one of"),
        ({"unit": "day"}, "unit must be one of"),
        ({"unit": "screen"}, "unit must be one of"),
        ({"unit": "observer"}, "add a column observer"),
        ({"unit": "observer", "uncertainty": "parametric"}, "is for resampling"),
        ({"unit": "observer", "model": tc.Posterior(tc.CKL(1))}, "is for resampling"),
        ({"n_samples": 1}, "n_samples"),
        ({"lapse": 0.7}, "lapse must be True, False or a share"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"model": "mlds"}, "model must be 'difference'"),
        ({"model": 3}, "model must be 'difference'"),
        ({"uncertainty": "posterior"}, "has no posterior"),
        ({"model": tc.STE(2)}, r"one dimension, and the model has 2; use STE\(1\)"),
        ({"model": tc.Posterior(tc.CKL(2))}, r"use CKL\(1\)"),
        ({"model": tc.STE(1), "link": "logit"}, "belong to model='difference'"),
    ],
)
def test_wrong_settings_are_named(settings, message):
    with pytest.raises(InputError, match=message):
        tc.perceptual_scale(simulated(), **settings)


def test_an_ensemble_of_two_dimensions_is_no_scale():
    ensemble = tc.Ensemble(np.random.default_rng(0).normal(size=(5, 4, 2)))
    with pytest.raises(InputError, match="one dimension, and this ensemble has 2"):
        tc.perceptual_scale(ensemble)


def test_bca_is_for_full_size_bootstraps():
    drawn = tc.perceptual_scale(simulated(), uncertainty="parametric", n_samples=5, random_state=0)
    with pytest.raises(InputError, match=r"these samples are not \(parametric\)"):
        drawn.interval(kind="bca")
    with pytest.raises(InputError, match="kind must be one of 'percentile'"):
        drawn.interval(kind="studentised")
    with pytest.raises(InputError, match="level"):
        drawn.interval(95)


def test_unanimous_answers_warn():
    psi = np.array([0.0, 1.0, 3.0, 7.0, 15.0])
    sure = simulated(200, psi=psi, sigma=1e-9)
    with pytest.warns(SeparableWarning) as caught:
        tc.perceptual_scale(sure, n_samples=5, random_state=0)
    assert "so unanimous" in str(caught[0].message)
    assert "5 of 5 replicates do not determine all values" in str(caught[1].message)


def test_the_comparisons_of_a_screen_are_resampled_together():
    answers = simulated(screens=np.arange(400) // 2)
    shared = tc.perceptual_scale(answers, n_samples=5, random_state=0)
    assert shared.made.unit == "answer"
    pairs = tc.Triplets(answers.array, observers=np.arange(400) // 2)
    by_hand = tc.perceptual_scale(pairs, n_samples=5, random_state=0, unit="observer")
    np.testing.assert_array_equal(shared.samples, by_hand.samples)
    with pytest.warns(DataWarning, match="one choice.*use uncertainty='bootstrap'"):
        tc.perceptual_scale(answers, uncertainty="parametric", n_samples=3)


@pytest.mark.parametrize(
    ("many", "unit", "used", "about"),
    [
        (5, None, "observer", "people in general (5 observers resampled)"),
        (5, "answer", "answer", "these 5 observers, not about people in general"),
        (4, None, "answer", "these 4 observers, not about people in general"),
        (4, "observer", "observer", "people in general (4 observers resampled)"),
        (1, None, "answer", "this one observer"),
    ],
)
def test_observers_are_resampled_where_there_are_five(many, unit, used, about):
    answers = simulated(observers=np.arange(400) % many)
    given = {} if unit is None else {"unit": unit}
    scale = tc.perceptual_scale(answers, n_samples=20, random_state=0, **given)
    told = tc.perceptual_scale(answers, n_samples=20, random_state=0, unit=used)
    np.testing.assert_array_equal(scale.samples, told.samples)
    assert scale.made.unit == used
    assert about in scale.about
    assert scale.about in str(scale)
    assert f"bootstrap of {used}s" in str(scale)


def test_unknown_observers_are_not_spoken_of(scale):
    assert scale.about == ""
    assert "about" not in str(scale)


def test_distance_models_resample_observers_too():
    answers = simulated(observers=np.arange(400) % 5)
    by = {"n_samples": 3, "random_state": 0}
    assert tc.perceptual_scale(answers, model=tc.STE(1), **by).made.unit == "observer"
    own = tc.Bootstrap(tc.STE(1), unit="answer")
    assert tc.perceptual_scale(answers, model=own, **by).made.unit == "answer"
    other = tc.Bootstrap(tc.STE(1), unit="observer")
    assert tc.perceptual_scale(answers, model=other, unit="answer", **by).made.unit == "answer"
    drawn = tc.perceptual_scale(answers, uncertainty="parametric", **by)
    assert "these 5 observers" in drawn.about


# --- lapses -----------------------------------------------------------------------------------


def test_the_lapse_rate_has_an_interval():
    rng = np.random.default_rng(1)
    answers = simulated(1500).array
    wild = np.where(rng.random((1500, 1)) < 0.08, rng.permuted(answers, axis=1), answers)
    scale = tc.perceptual_scale(wild, lapse=True, n_samples=100, random_state=0)
    low, high = scale.lapse_interval()
    assert 0.0 <= low < scale.lapse < high < 0.3
    assert scale.lapse_interval(kind="bca").shape == (2,)
    assert "lapse rate" in str(scale)
    assert scale.aic == pytest.approx(2 * N - 2 * scale.log_likelihood)
    known = tc.perceptual_scale(wild, lapse=0.05, n_samples=3, random_state=0)
    assert known.lapse == 0.05
    with pytest.raises(InputError, match="lapse=True"):
        known.lapse_interval()


# --- distance models and ensembles ------------------------------------------------------------


def test_samples_of_an_ensemble_are_turned_and_normalised():
    truth = np.array([0.0, 1.0, 1.5, 4.0])
    flips = np.array([1.0, -1.0, 2.0, -3.0])
    draws = (flips[:, None] * truth + 5.0)[:, [2, 0, 3, 1], None]
    ensemble = tc.Ensemble(draws, alignment="none", names=["c", "a", "d", "b"])
    scale = tc.perceptual_scale(ensemble, [30, 10, 40, 20])
    assert scale.names == ("a", "b", "c", "d")
    np.testing.assert_allclose(scale.samples, np.tile(truth / 4.0, (4, 1)))
    np.testing.assert_allclose(scale.unnormalised().samples, abs(flips)[:, None] * truth)
    assert scale.sigma is None
    assert scale.ill_defined == 0.0
    with pytest.raises(InputError, match="BCa"):
        scale.interval(kind="bca")
    with pytest.raises(InputError, match="model='difference'"):
        scale.threshold()


def test_ends_in_the_middle_are_counted():
    good, bad = [0.0, 1.0, 2.0, 3.0], [1.0, 0.0, 3.0, 1.05]
    ensemble = tc.Ensemble(np.array([good, good, good, bad])[:, :, None], alignment="none")
    with pytest.warns(DataWarning, match=r"in 25\.0% of the samples"):
        scale = tc.perceptual_scale(ensemble)
    assert scale.ill_defined == 0.25
    assert "25.0%" in str(scale)


@pytest.mark.slow
def test_distance_models_find_the_scale_too():
    points = np.linspace(0.0, 1.0, 8)[:, None] ** 1.5
    answers = noisy_triplets(points, 168, noise=0.2, random_state=0)
    by = {
        "estimator": tc.perceptual_scale(answers, model=tc.CKL(1), n_samples=20, random_state=0),
        "bootstrap": tc.perceptual_scale(
            answers, model=tc.Bootstrap(tc.CKL(1), 20), random_state=0
        ),
        "subsamples": tc.perceptual_scale(
            answers, model=tc.Bootstrap(tc.CKL(1), 20, fraction=0.5), random_state=0
        ),
        "posterior": tc.perceptual_scale(
            answers, model=tc.CKL(1), uncertainty="posterior", n_samples=500, random_state=0
        ),
    }
    for scale in by.values():
        np.testing.assert_allclose(scale.estimate, points[:, 0], atol=0.2)
        np.testing.assert_array_equal(scale.samples[:, 0], 0.0)
    np.testing.assert_array_equal(by["estimator"].samples, by["bootstrap"].samples)
    limits = by["bootstrap"].interval(kind="bca")
    assert (limits[:, 0] <= limits[:, 1]).all()
    for name in ("subsamples", "posterior"):
        with pytest.raises(InputError, match="BCa"):
            by[name].interval(kind="bca")
    assert by["posterior"].made.uncertainty == "posterior"
    assert len(by["posterior"].samples) == 2000
    assert by["estimator"].aic is None
    assert "CKL in one dimension" in str(by["estimator"])


@pytest.mark.parametrize("unit", ["answer", "observer"])
def test_the_jackknife_of_a_distance_model_takes_votes_for_answers(unit):
    """Without an observer all votes of theirs are gone; without an answer, one vote."""
    points = np.linspace(0.0, 1.0, 6)[:, None] ** 1.5
    rows = noisy_triplets(points, 40, noise=0.4, random_state=0)
    people = np.repeat(["a", "b", "c", "d"], 10)
    voted = tc.Triplets(rows, observers=people, weights=np.full(40, 2))
    single = tc.Triplets(np.repeat(rows, 2, axis=0), observers=np.repeat(people, 2))
    jackknifed = [
        tc.perceptual_scale(
            answers, model=tc.STE(1, penalty=0.1), unit=unit, n_samples=2, random_state=0
        ).made.jackknife()
        for answers in (voted, single)
    ]
    assert len(jackknifed[0].scale) == (80 if unit == "answer" else 4)
    np.testing.assert_allclose(jackknifed[0].scale, jackknifed[1].scale, atol=1e-3)


def test_an_ensemble_takes_no_settings_for_making_one():
    ensemble = tc.Ensemble(np.random.default_rng(0).normal(size=(5, 4, 1)))
    for extra in ({"link": "logit"}, {"unit": "observer"}, {"model": tc.STE(1)}):
        with pytest.raises(InputError, match="do not apply to an ensemble"):
            tc.perceptual_scale(ensemble, **extra)


# --- observers, groups, conditions ------------------------------------------------------------


@pytest.fixture(scope="module")
def people():
    """Four observers; the power of their scales differs."""
    parts = [simulated(500, k, np.linspace(0, 1, N) ** (1 + k / 2)).array for k in range(4)]
    labels = np.repeat(["a", "b", "c", "d"], 500)
    return tc.Triplets(np.concatenate(parts), observers=labels)


def test_one_scale_per_observer(people):
    scales = scales_by_observer(people, n_samples=50, random_state=0)
    assert list(scales) == ["a", "b", "c", "d"]
    middle = [scale.estimate[3] for scale in scales.values()]
    assert middle == sorted(middle, reverse=True)
    alone = tc.perceptual_scale(people[people.observers == "c"], n_samples=2, random_state=0)
    np.testing.assert_array_equal(scales["c"].estimate, alone.estimate)
    assert (scales["a"].samples[:, 1] != scales["b"].samples[:, 1]).all()
    with pytest.raises(InputError, match="which observer"):
        scales_by_observer(people.array)


def test_what_is_wrong_with_one_observer_says_whose_it_is(people):
    few = tc.Triplets(people.array[:501], observers=people.observers[:501])
    with pytest.raises(InputError, match=r"observer b: object \d is in no"):
        scales_by_observer(few, n_samples=5, random_state=0)
    sure = simulated(200, sigma=1e-9, observers=["sure"] * 200)
    with pytest.warns(SeparableWarning) as caught:
        scales_by_observer(sure, n_samples=5, random_state=0)
    assert {str(one.message)[:14] for one in caught} == {"observer sure:"}


def test_observers_who_differ_make_a_pooled_scale_less_sure(people):
    pooled = tc.perceptual_scale(people, n_samples=200, random_state=0)
    observers = tc.perceptual_scale(people, n_samples=200, unit="observer", random_state=0)
    np.testing.assert_array_equal(pooled.estimate, observers.estimate)
    assert (observers.std()[1:-1] > 1.5 * pooled.std()[1:-1]).all()
    assert "bootstrap of observers" in str(observers)
    assert observers.interval(kind="bca").shape == (N, 2)


def test_the_difference_of_two_scales(people):
    one, other = (
        tc.perceptual_scale(people[people.observers == who], n_samples=400, random_state=0)
        for who in "ad"
    )
    difference = one.difference(other)
    np.testing.assert_allclose(difference.estimate, one.estimate - other.estimate)
    np.testing.assert_allclose(
        difference.samples.std(axis=0)[1:-1],
        np.hypot(one.std(), other.std())[1:-1],
        rtol=0.15,
    )
    assert (difference.interval[2:5, 0] > 0).all()
    assert "*" in str(difference)
    again = one.difference(other)
    np.testing.assert_array_equal(difference.samples, again.samples)


def test_only_scales_of_the_same_stimuli_are_compared(scale):
    other = tc.perceptual_scale(simulated(), np.arange(N) + 1.0, n_samples=2, random_state=0)
    with pytest.raises(InputError, match="these stimuli differ"):
        scale.difference(other)
    with pytest.raises(InputError, match="normalised and the other is not"):
        scale.difference(scale.unnormalised())
    with pytest.raises(InputError, match="same observers"):
        scale.difference(scale, paired=True)


def test_the_same_observers_in_two_conditions_are_resampled_together(people):
    settings = {"n_samples": 100, "unit": "observer", "random_state": 3}
    one, other = (tc.perceptual_scale(people, **settings) for _ in range(2))
    np.testing.assert_array_equal(one.difference(other, paired=True).samples, 0.0)
    assert one.difference(other).samples.std() > 0.01
    by_distances = tc.perceptual_scale(people, model=tc.STE(1), **settings | {"n_samples": 2})
    numbers = np.unique(people.observers, return_inverse=True)[1]
    renamed = [  # as numbers 8 comes before 10, as words after it
        tc.perceptual_scale(tc.Triplets(people.array, observers=labels), **settings)
        for labels in (8 + numbers, (8 + numbers).astype(str))
    ]
    for a, b in ((one, by_distances), renamed):
        with pytest.raises(InputError, match="paired=True needs"):
            a.difference(b, paired=True)


# --- thresholds -------------------------------------------------------------------------------


def test_thresholds_of_a_straight_scale_are_constant():
    n = 9
    scale = tc.perceptual_scale(
        simulated(30_000, 0, np.linspace(0, 1, n), 0.2), 10 * np.arange(n), n_samples=50
    )
    at = [0, 15, 40]
    found = scale.threshold(at)
    np.testing.assert_allclose(found.estimate, 0.5 * 80 * scale.sigma, rtol=0.15)
    assert (found.interval[:, 0] < found.estimate).all()
    judged = scale.threshold(at, noise="judgement")
    np.testing.assert_allclose(judged.estimate, 2 * found.estimate, rtol=0.15)
    easier = scale.threshold(at, probability=0.76025)  # Φ(1/√2)
    np.testing.assert_allclose(easier.estimate, found.estimate, rtol=1e-3)
    assert len(str(found).splitlines()) == 5


def test_a_threshold_beyond_the_last_stimulus_is_unknown(scale):
    found = scale.threshold([0.0, 4.9])
    assert np.isnan(found.estimate[1])
    assert found.beyond[1] == 1.0
    assert np.isnan(found.interval[1]).all()
    assert "beyond" in str(found)
    assert len(scale.threshold().at) == N - 1


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"at": [5.0]}, "not at, the last stimulus 5"),
        ({"at": [-1.0]}, "from 0 up to"),
        ({"at": []}, "from 0 up to"),
        ({"at": "dark"}, "at must be stimulus values"),
        ({"d_prime": 0.0}, "d_prime must be"),
        ({"level": "0.9"}, "level must lie"),
        ({"d_prime": 1.0, "probability": 0.75}, "not both"),
        ({"probability": 0.4}, "between 0.5 and 1"),
        ({"noise": "retina"}, "'percept' or 'judgement'"),
    ],
)
def test_wrong_thresholds_are_named(scale, settings, message):
    with pytest.raises(InputError, match=message):
        scale.threshold(**settings)


def test_d_prime_is_for_normal_noise():
    logit = tc.perceptual_scale(simulated(), link="logit", n_samples=2, random_state=0)
    with pytest.raises(InputError, match="link='probit'"):
        logit.threshold()


# --- intervals --------------------------------------------------------------------------------


def test_bca_of_a_mean_agrees_with_scipy():
    from scipy.stats import bootstrap

    rng = np.random.default_rng(0)
    data = rng.exponential(size=40)
    theirs = bootstrap((data,), np.mean, n_resamples=4000, method="BCa", random_state=1)
    left_out = (data.sum() - data) / 39
    ours = intervals.bca(
        theirs.bootstrap_distribution[:, None], np.array([data.mean()]), left_out[:, None]
    )
    expected = [theirs.confidence_interval.low, theirs.confidence_interval.high]
    np.testing.assert_allclose(ours[0], expected, rtol=2e-3)


def test_equal_units_may_be_counted_once():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(5, 2)) ** 3
    counts = np.array([1, 4, 2, 1, 3])
    np.testing.assert_allclose(
        intervals.acceleration(values, counts.astype(float)),
        intervals.acceleration(np.repeat(values, counts, axis=0)),
    )


# --- published figures ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("link", "aic", "daf"), [("probit", 633, 0.55), ("logit", 610, 0.57), ("cauchit", 611, 0.57)]
)
def test_kk_has_the_published_aic(kk, link, aic, daf):
    """Knoblauch & Maloney (2008), table 1."""
    answers, stimuli = kk
    scale = tc.perceptual_scale(answers, stimuli, link=link, n_samples=2, random_state=0)
    assert round(scale.aic) == aic
    assert round(1 + scale.log_likelihood / (990 * np.log(2)), 2) == daf


def test_kk_has_the_published_sigma_and_bootstrap(kk):
    """Knoblauch & Maloney (2008), section 4: σ = 0.179 by glm, and the output of boot.mlds.

    Standard errors have a Monte Carlo error of 0.7 % there (10 000 samples) and 1.6 % here.
    """
    answers, stimuli = kk
    scale = tc.perceptual_scale(
        answers, stimuli, uncertainty="parametric", n_samples=2000, random_state=0
    )
    assert round(scale.sigma, 3) == 0.179
    np.testing.assert_allclose(scale.std()[1:5], [0.0245, 0.0252, 0.0278, 0.0246], rtol=0.07)
    np.testing.assert_allclose(scale.mean()[1:4], [-0.00876, 0.00710, -0.01630], atol=0.003)


def test_the_other_published_sigma_is_that_of_a_scale_kept_within_0_and_1(kk):
    """0.175, by optim with logistic bounds: two values of the free scale are below 0."""
    answers, _ = kk
    questions = find_questions(answers)
    lower, higher = questions.counts().T

    def cost(x):
        eta = differences(questions, np.concatenate([[0.0], x[:-1], [1.0]])) * x[-1]
        return -(higher @ log_ndtr(eta) + lower @ log_ndtr(-eta))

    start = np.append(np.linspace(0.1, 0.9, 9), 5.0)
    bounds = [(0.0, 1.0)] * 9 + [(0.1, 50.0)]
    best = optimize.minimize(cost, start, bounds=bounds, options={"ftol": 1e-13})
    assert round(1 / best.x[-1], 3) == 0.175
    assert (best.x[:9] < 1e-6).sum() == 2
    free = tc.perceptual_scale(answers, n_samples=2, random_state=0)
    assert best.fun == pytest.approx(-free.log_likelihood, abs=0.2)


@pytest.mark.slow
def test_alien_eggs_follow_the_physical_order(data_folder):
    """Perception need not equal physics, so the shape is not tested, only the order."""
    table = np.loadtxt(
        data_folder / "alien_eggs" / "objects_n30.csv", str, delimiter=",", skiprows=1
    )
    smoothness = table[:, 2].astype(float)
    rows = alien_eggs(data_folder).triplets
    rank = np.arange(30)
    for model, few in (("difference", 100), (tc.STE(1), 20)):
        scale = tc.perceptual_scale(rows, smoothness, model=model, n_samples=few, random_state=0)
        assert np.corrcoef(np.argsort(np.argsort(scale.estimate)), rank)[0, 1] > 0.98
        assert scale.ill_defined == 0.0


# --- pictures ---------------------------------------------------------------------------------


def test_a_picture_shows_values_and_intervals(scale):
    ax = Figure().subplots()
    assert plot_scale(scale, ax=ax, kind="basic") is ax
    np.testing.assert_allclose(ax.lines[0].get_xydata()[:, 1], scale.estimate)
    bars = np.array([segment[:, 1] for segment in ax.collections[0].get_segments()])
    np.testing.assert_allclose(bars, scale.interval(kind="basic"))
    assert ax.get_legend() is None


def test_several_scales_have_labels_and_stand_apart(people):
    scales = scales_by_observer(people, n_samples=10, random_state=0)
    ax = plot_scale({f"${name}": one for name, one in scales.items()}, ax=Figure().subplots())
    ax.figure.draw_without_rendering()
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == [rf"\${name}" for name in scales]
    curves = scale_curves(scales, 0.95, "percentile")
    assert len({curve.x[0] for curve in curves}) == 4
    with pytest.raises(InputError, match="no scale to draw"):
        plot_scale({})
    with pytest.raises(InputError, match="some are not"):
        plot_scale({"a": scales["a"], "b": scales["b"].unnormalised()})


def test_many_scales_do_not_run_into_the_next_stimulus(scale):
    curves = scale_curves({str(k): scale for k in range(40)}, 0.95, "percentile")
    assert curves[-1].x[0] < curves[0].x[1]
    assert curves[0].x[0] < curves[-1].x[0]


def test_without_matplotlib_the_cure_is_named(scale, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(TercetError, match="pip install matplotlib"):
        plot_scale(scale)
