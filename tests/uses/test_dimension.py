import argparse
import dataclasses
import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.worlds import ste_answers

import tercet as tc
from tercet import InputError
from tercet.answers.questions import number_units
from tercet.cli.output import without_python
from tercet.models import STEModel
from tercet.uses.dimension import estimate as module
from tercet.uses.dimension import tried as limits
from tercet.uses.dimension.evidence import (
    NATS,
    NOTHING,
    DimensionEstimate,
    DimensionRow,
    Gain,
    LeftOut,
    Measured,
    corrected_t_test,
    cross_validate_embedding,
    decide,
    decide_by_folds,
    first_not_rejected,
    gain,
    make_splits,
)
from tercet.uses.dimension.tried import check_dimensions, default_repeats

ROWS = np.array([[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 0], [4, 0, 1], [0, 2, 4]] * 3)


answers = partial(ste_answers, m=120)


def odd_ones_out(m):
    rng = np.random.default_rng(0)
    points = rng.standard_normal((10, 2))
    three = np.argsort(rng.random((m, 10)), axis=1)[:, :3]
    choices = tc.Choices.odd_one_out(three, n_objects=10)
    return tc.simulate.choices_from_model(tc.STE(2).model(), points, choices, random_state=rng)


def quick(T, dimensions=(1, 2, 3), **more):
    """Few draws, few folds."""
    small = {
        "posterior": tc.Posterior(tc.STE(penalty=0.25), n_samples=30, n_chains=2, warmup=60),
        "bootstrap": tc.Bootstrap(tc.STE(penalty=0.25), 5),
        "folds": 3,
        "repeats": 2,
        "random_state": 0,
        "n_jobs": 1,
    }
    return tc.estimate_dimension(T, dimensions, **(small | more))


@pytest.fixture(scope="module")
def found():
    return quick(answers(size=2.0))


# --- the two tests of a step ------------------------------------------------------------------


def test_the_t_test_by_hand():
    difference = np.array([0.02, 0.04, 0.00, 0.02])
    # Mean .02, sd √(.0008/3) = .01633; √(1/4 + 1/1) = 1.1180; t = 1.0954 on 3 degrees of freedom.
    assert corrected_t_test(difference, 2) == pytest.approx(stats.t.sf(1.0954, 3), abs=1e-5)


def test_the_number_of_folds_is_not_that_of_splits():
    """The error of a released implementation: K = 100 makes t 2.45 times too large."""
    difference = np.random.default_rng(0).normal(0.01, 0.03, 100)
    right, wrong = (stats.t.isf(corrected_t_test(difference, k), 99) for k in (10, 100))
    assert wrong / right == pytest.approx(2.45, abs=0.01)
    assert wrong / right == pytest.approx(math.sqrt((1 / 100 + 1 / 9) / (1 / 100 + 1 / 99)))


def test_the_t_test_is_one_sided():
    rise = np.array([0.1, 0.2, 0.15, 0.12])
    assert corrected_t_test(rise, 2) + corrected_t_test(-rise, 2) == pytest.approx(1.0)
    assert corrected_t_test(rise, 2) < 0.05


def test_differences_that_do_not_vary():
    assert corrected_t_test(np.zeros(10), 5) == 1.0
    assert corrected_t_test(np.full(10, -0.25), 5) == 1.0
    assert corrected_t_test(np.full(10, 0.25), 5) == 0.0


@given(st.lists(st.floats(-10, 10), min_size=2, max_size=30), st.floats(0.1, 10.0))
def test_a_gain_adds_up(values, times):
    higher, lower = np.array(values), np.zeros(len(values))
    found = gain(lower, higher)
    assert found.nats == pytest.approx(sum(values), abs=1e-9)
    assert found.error == pytest.approx(math.sqrt(len(values)) * np.std(values, ddof=1), abs=1e-9)
    turned = gain(higher, lower)
    assert (turned.nats, turned.error) == pytest.approx((-found.nats, found.error))
    scaled = gain(lower, times * higher)
    assert scaled.error == pytest.approx(times * found.error, abs=1e-7)


def test_a_gain_in_standard_errors():
    assert Gain(6.0, 2.0).z == 3.0
    assert Gain(-1.0, 0.0).z == -math.inf


@pytest.mark.parametrize(
    ("p_values", "taken"),
    [([], 0), ([0.2, 0.001], 0), ([0.01, 0.05, 0.01], 1), ([0.01, 0.04], 2), ([math.nan], 0)],
)
def test_steps_stop_at_the_first_that_is_not_rejected(p_values, taken):
    assert first_not_rejected(p_values, 0.05) == taken


# --- the rule ---------------------------------------------------------------------------------

U = 100
SIZES = np.ones(U)
SWING = np.resize([-1.0, 1.0], U)  # sums to zero


def densities(*totals, swing=0.0):
    """Held-out log-densities whose sums over all units are the totals."""
    return [np.full(U, total / U) + k * swing * SWING for k, total in enumerate(totals)]


def ask(tables, p_values, dimensions=None, rough=0.0, disagree=()):
    """The decision, and the dimensions that it had to ask for."""
    dimensions = dimensions or list(range(1, len(tables) + 1))
    asked = []

    def left_out(d):
        asked.append(d)
        r_hat, agrees = (2.9, False) if d in disagree else (1.01, True)
        return LeftOut(tables[dimensions.index(d)], rough, r_hat, agrees)

    return decide(dimensions, p_values, 0.05, left_out, SIZES), set(asked)


def test_a_gain_that_is_a_guess_is_not_believed():
    tables = densities(-50.0, -40.0)
    assert ask(tables, [0.4], rough=0.3)[0].dimension == 2
    decision, _ = ask(tables, [0.4], rough=0.31)
    assert (decision.dimension, decision.verdict) == (1, "at least")
    assert "2 dimensions seem to predict better (total gain +10.0 ± 0.0 nats)" in decision.reason
    assert "unreliable for 31% of the answers" in decision.reason


def test_decided_at_the_lowest():
    decision, asked = ask(densities(-50.0, -51.0, -10.0), [0.4, 0.4])
    assert (decision.dimension, decision.verdict) == (1, "decided")
    assert decision.reason == (
        "Accuracy on held-out answers does not clearly increase beyond 1 dimension. "
        "2 dimensions predict no better than 1 (total gain -1.0 ± 0.0 nats)."
    )
    assert asked == {1, 2}


def test_decided_by_both_stages():
    decision, asked = ask(densities(-60.0, -50.0, -50.0 + 2 * NATS, -50.0), [0.01, 0.3, 0.001])
    assert (decision.dimension, decision.verdict) == (3, "decided")
    assert "increases up to 2 dimensions (t-tests, last p = 0.01)" in decision.reason
    told = f"3 dimensions predict held-out answers better than 2 (total gain {2 * NATS:.1f}"
    assert told in decision.reason
    assert "4 dimensions predict no better than 3" in decision.reason
    assert asked == {2, 3, 4}


def test_at_least_where_the_range_ends_by_accuracy():
    decision, asked = ask(densities(-60.0, -55.0), [0.01])
    assert (decision.dimension, decision.verdict) == (2, "at least")
    assert "largest number of dimensions tried" in decision.reason
    assert asked == {2}


def test_at_least_where_the_range_ends_by_log_probability():
    decision, _ = ask(densities(-60.0, -60.0 + 2 * NATS), [0.5])
    assert (decision.dimension, decision.verdict) == (2, "at least")
    assert "largest number of dimensions tried" in decision.reason


def test_at_least_where_the_next_is_a_little_better():
    decision, _ = ask(densities(-50.0, -50.0 + NATS / 2), [0.5])
    assert (decision.dimension, decision.verdict) == (1, "at least")
    assert "the answers do not clearly distinguish 1 from 2" in decision.reason


def test_a_gain_must_also_exceed_its_error():
    sure = ask(densities(-50.0, -50.0 + 2 * NATS), [0.5])[0]
    unsure = ask(densities(-50.0, -50.0 + 2 * NATS, swing=NATS), [0.5])[0]
    assert (sure.dimension, unsure.dimension) == (2, 1)
    assert unsure.verdict == "at least"


def test_dimensions_need_not_follow_each_other():
    decision, _ = ask(densities(-60.0, -30.0, -31.0), [0.5, 0.5], [1, 3, 5])
    assert decision.dimension == 3
    assert "5 dimensions predict no better than 3" in decision.reason


def test_cannot_tell_what_is_no_better_than_a_coin():
    coin = -U * math.log(2.0)
    decision, _ = ask([np.full(U, coin / U) + 0.1 * SWING] * 2, [0.5])
    assert (decision.dimension, decision.verdict) == (None, "cannot tell")
    assert "at chance level (total gain +0.0 ± 1.0 nats)" in decision.reason
    better = [np.full(U, coin / U) + 0.1 * SWING + 0.03] * 2
    assert ask(better, [0.5])[0].verdict == "decided"


def test_a_coin_answers_each_of_many_votes():
    """A unit of ten answers is left to a coin ten times; that it is larger is no uncertainty."""
    sizes = np.resize([1.0, 10.0], U)
    density = -0.6 * sizes
    assert decide([1, 2], [0.5], 0.05, lambda d: LeftOut(density, 0.0), sizes).verdict == "decided"
    assert (
        decide([1, 2], [0.5], 0.05, lambda d: LeftOut(1.2 * density, 0.0), sizes).verdict
        == "cannot tell"
    )


def test_chains_that_disagree_prove_nothing_by_losing():
    stopped, _ = ask(densities(-50.0, -60.0), [0.4], disagree=[2])
    assert (stopped.dimension, stopped.verdict, stopped.undecided_at) == (None, "not decided", 2)
    assert stopped.reason.endswith(
        "Whether 2 dimensions predict better than 1 is undecided: in 2 dimensions the chains "
        "ended in different maps (R-hat 2.90), so their predictions are not evidence."
    )
    climbed, _ = ask(densities(-60.0, -30.0, -31.0), [0.6, 0.4], disagree=[1])
    assert (climbed.dimension, climbed.verdict, climbed.undecided_at) == (None, "not decided", 1)
    both, _ = ask(densities(-60.0, -30.0, -31.0), [0.4, 0.4], disagree=[1])  # accuracy rises, too
    assert (both.dimension, both.verdict, both.undecided_at) == (2, "decided", None)


def test_chains_that_disagree_and_win_all_the_same_are_believed():
    won, _ = ask(densities(-60.0, -30.0, -31.0), [0.4, 0.4], disagree=[2])
    assert (won.dimension, won.verdict, won.undecided_at) == (2, "decided", None)
    held, _ = ask(densities(-50.0, -60.0), [0.4], disagree=[1])
    assert (held.dimension, held.verdict, held.undecided_at) == (1, "decided", None)


def test_what_was_found_without_those_chains_is_stated():
    tables = densities(-60.0, -50.0, -60.0)
    by_accuracy, _ = ask(tables, [0.01, 0.4], disagree=[3])
    assert (by_accuracy.dimension, by_accuracy.verdict) == (2, "at least")
    by_chains, _ = ask(tables, [0.4, 0.4], disagree=[3])
    assert (by_chains.dimension, by_chains.verdict, by_chains.undecided_at) == (2, "at least", 3)
    assert "Whether 3 dimensions predict better than 2 is undecided" in by_chains.reason


def test_that_chains_disagree_is_not_taken_for_coins():
    coins = [np.full(U, -math.log(2.0)) + 0.1 * SWING] * 2
    assert ask(coins, [0.5])[0].verdict == "cannot tell"
    assert ask(coins, [0.5], disagree=[1, 2])[0].verdict == "not decided"
    assert ask(coins, [0.5], disagree=[1])[0].verdict == "cannot tell"  # 2 does no better


# --- cross-validation -------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["comparison", "screen", "observer"])
def test_folds_never_split_a_unit(unit):
    rng = np.random.default_rng(0)
    T = tc.Triplets(
        np.repeat(answers().array, 2, axis=0),
        screens=rng.integers(40, size=240),
        observers=rng.integers(12, size=240),
    )
    units = number_units(T, unit)
    splits = make_splits(units, 4, 3, 17)
    assert len(splits.train) == len(splits.test) == len(splits.seeds) == 12
    for train, test in zip(splits.train, splits.test, strict=True):
        assert not set(units[train]) & set(units[test])
        assert sorted([*train, *test]) == list(range(240))
    for k in range(3):  # every repeat leaves every row out once
        rows = np.concatenate(splits.test[4 * k : 4 * k + 4])
        np.testing.assert_array_equal(np.sort(rows), np.arange(240))
    assert not np.array_equal(splits.test[0], splits.test[4])


def test_cross_validation_is_a_loop_of_fits():
    T, estimator = answers(m=60, weights=np.resize([1.0, 3.0], 60)), tc.STE(2, penalty=0.25)
    splits = make_splits(np.arange(60), 3, 2, 0)
    folds = cross_validate_embedding(estimator, T, splits, 1, lambda n: None)
    right, loss = np.zeros(60), np.zeros(60)
    for j, (train, test) in enumerate(zip(splits.train, splits.test, strict=True)):
        fit = tc.STE(2, penalty=0.25, random_state=np.random.default_rng(splits.seeds[j]))
        X = fit.fit(T[train]).embedding_
        i, near, far = T.array[test].T
        a, b = (((X[i] - X[other]) ** 2).sum(axis=1) for other in (near, far))
        right[test] += (a < b) / 2
        loss[test] += np.log1p(np.exp(a - b)) / 2
        assert folds.accuracy[j] == pytest.approx(np.average(a < b, weights=T.weights[test]))
    np.testing.assert_allclose(folds.right, right)
    np.testing.assert_allclose(folds.log_loss, loss, rtol=1e-4)


def test_a_loss_that_is_no_probability_has_no_log_loss():
    T = answers(m=60)
    splits = make_splits(np.arange(60), 2, 1, 0)
    folds = cross_validate_embedding(tc.SOE(2), T, splits, 1, lambda n: None)
    assert np.isnan(folds.log_loss).all()
    assert np.isfinite(folds.accuracy).all()


# --- the whole --------------------------------------------------------------------------------


def test_everything_is_measured(found):
    assert [row.dimension for row in found.rows] == [1, 2, 3]
    assert (found.unit, found.n_answers) == ("comparison", 120)
    for row in found.rows:
        for name in ("training_loss", "accuracy", "log_loss", "left_out", "bootstrap", "posterior"):
            measured = getattr(row, name)
            assert measured.value > 0.0, name
            assert measured.error > 0.0, name
        assert 0.0 <= row.k_hat <= 1.0
        assert row.r_hat > 0.9
    assert math.isnan(found.rows[0].p_value)
    assert found.rows[0].gain == NOTHING
    assert all(0.0 <= row.p_value <= 1.0 for row in found.rows[1:])
    losses = [row.training_loss.value for row in found.rows]
    assert losses[0] > losses[1]


def test_gains_are_differences_of_what_is_left_out(found):
    for below, row in zip(found.rows, found.rows[1:], strict=False):
        nats = found.n_answers * (below.left_out.value - row.left_out.value)
        assert row.gain.value == pytest.approx(nats)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bits(found):
    T = answers(size=2.0)
    assert repr(quick(T, n_jobs=2)) == repr(found)
    assert repr(quick(T, random_state=1)) != repr(found)


def test_only_what_is_needed_is_measured(found):
    some = quick(answers(size=2.0), thorough=False)
    assert (some.dimension, some.verdict) == (found.dimension, found.verdict)
    assert some.reason == found.reason
    for row, full in zip(some.rows, found.rows, strict=True):
        assert row.training_loss == row.bootstrap == row.posterior == NOTHING
        assert (row.accuracy, row.log_loss) == (full.accuracy, full.log_loss)
        if not math.isnan(row.left_out.value):
            assert (row.left_out, row.r_hat) == (full.left_out, full.r_hat)


def test_dimensions_that_are_not_needed_are_not_drawn():
    some = quick(answers(d=1, size=3.0), (1, 2, 3, 4), thorough=False)
    measured = [not math.isnan(row.left_out.value) for row in some.rows]
    assert measured[0]
    assert not measured[-1]
    assert "–" in some.table()


def test_votes_count_as_often_as_rows():
    T = answers(m=60)
    repeated = tc.Triplets(np.repeat(T.array, 2, axis=0), n_objects=8)
    counted = tc.Triplets(T.array, n_objects=8, weights=np.full(60, 2))
    one, other = (quick(each, (1, 2), thorough=False) for each in (repeated, counted))
    assert one.n_answers == other.n_answers == 120
    for a, b in zip(one.rows, other.rows, strict=True):
        assert a.accuracy == pytest.approx(b.accuracy, abs=0.02)
        assert a.log_loss.value == pytest.approx(b.log_loss.value, rel=0.05)
        assert a.left_out.value == pytest.approx(b.left_out.value, rel=0.1)


def test_quadruplets():
    rng = np.random.default_rng(0)
    points = 2.0 * rng.normal(size=(8, 2))
    asked = np.array([rng.permutation(8)[:4] for _ in range(120)])
    T = tc.Triplets(tc.simulate.answers_from_model(STEModel(), points, asked, random_state=rng))
    found = quick(T, (1, 2))
    assert found.rows[1].accuracy.value > 0.6


def test_names():
    rows = answers().array
    names = np.array(list("abcdefgh"))
    by_name = quick(tc.Triplets(names[rows]), (1, 2), thorough=False)
    assert repr(by_name) == repr(quick(answers(), (1, 2), thorough=False))


def test_an_estimator_without_a_probability():
    found = quick(answers(), (1, 2), estimator=tc.SOE())
    assert math.isnan(found.rows[0].log_loss.value)
    assert found.rows[0].accuracy.value > 0.5


def test_makers_are_left_as_they_were():
    posterior = tc.Posterior(tc.STE(5), n_samples=20, n_chains=2, warmup=20)
    estimator, bootstrap = tc.STE(5, penalty=0.1), tc.Bootstrap(tc.STE(5), 3)
    given = {"posterior": posterior, "estimator": estimator, "bootstrap": bootstrap}
    before = {name: maker.get_params(deep=False) for name, maker in given.items()}
    quick(answers(), (1, 2), **given)
    for name, maker in given.items():
        assert maker.get_params(deep=False) == before[name]
    assert posterior.estimator.n_components == bootstrap.estimator.n_components == 5


def test_screens_and_observers_are_left_out_together():
    shared = odd_ones_out(60).triplets()
    found = quick(shared, (1, 2), thorough=False)
    assert (found.unit, found.n_answers) == ("screen", 60)
    observed = answers(observers=np.resize(["ann", "bob", "cy", "dee"], 120))
    assert quick(observed, (1, 2), unit="observer", thorough=False).unit == "observer"


def test_a_chain_that_is_stuck_does_not_decide():
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(30, 5, 2))
    height = np.concatenate([rng.normal(size=20) - 1000.0, rng.normal(size=10)])
    chains = np.repeat([0, 1, 2], 10)

    def kept(height):
        made = tc.Ensemble(draws, chains=chains, statistics={"log_posterior": height})
        return set(module._without_stuck_chains(made).chains)

    assert kept(height) == {2}
    assert kept(rng.normal(size=30)) == {0, 1, 2}


# --- chains that disagree ---------------------------------------------------------------------


def r_hats(monkeypatch, *values):
    """Chains have these R-hats, one after the other; the sizes of those that were judged."""
    seen = []

    def agree(maker):
        if not seen or seen[-1] is not maker.diagnostics_:
            seen.append(maker.diagnostics_)
        return values[len(seen) - 1] < module.R_HAT

    monkeypatch.setattr(module, "_agree", agree)
    return seen


def left_out_of(answers, **settings):
    entropy, answers = 3, tc.Triplets(answers.array)
    how = module.DimensionSettings(thorough=False, n_jobs=1, **settings)
    posterior = settings.get("posterior") or tc.Posterior(2)
    makers = module.check_makers(how, posterior, answers, True)
    work = module._Work(answers, number_units(answers), makers, entropy, how, False)
    return module._leave_out(work, 1)


def test_chains_that_disagree_run_longer_before_they_are_judged(monkeypatch):
    posterior = tc.Posterior(tc.STE(penalty=0.25), n_samples=60, n_chains=3, warmup=40)
    seen = r_hats(monkeypatch, 2.0, 1.0)
    given = left_out_of(answers(), posterior=posterior)
    assert [(d.n_chains, d.n_samples) for d in seen] == [(3, 60), (3, 240)]
    assert given.ran_longer
    assert given.agrees
    seen = r_hats(monkeypatch, 1.0)
    assert not left_out_of(answers(), posterior=posterior).ran_longer
    assert len(seen) == 1


@pytest.mark.slow
def test_the_recommended_chains_go_on_to_their_ends(monkeypatch):
    """The first draws of two chains are continued, not drawn anew: all draws of all four."""
    seen = r_hats(monkeypatch, 2.0, 1.5)
    found = left_out_of(answers())
    assert [(d.n_chains, d.n_samples) for d in seen] == [(2, 250), (4, 1000)]
    assert found.ran_longer
    assert not found.agrees
    alone = tc.Posterior(1, random_state=np.random.default_rng(module.seed_for(3, 2, 1)))
    assert found.r_hat == alone._fit_quietly(answers()).diagnostics_.r_hat


def made(ran_longer=False, agrees=True, dropped=0):
    return module._Posterior(
        np.zeros(3), 0.0, 1.3, agrees, NOTHING, None, ran_longer, dropped, n_chains=4
    )


def test_what_happened_to_the_chains_is_told():
    assert module._about_chains({1: made(), 2: made()}) == ""
    said = module._about_chains({3: made(True), 1: made(True), 2: made(True, False, dropped=1)})
    assert "In 1 and 3 dimensions the chains had to run longer before they agreed." in said
    assert "In 2 dimensions the chains ran longer and still disagree, so that what" in said
    assert "is left out." in said
    assert "In 2 dimensions 1 of 4 chains is left out, because every draw is less probable" in said


# --- many objects: cross-validation alone -----------------------------------------------------


def test_fewer_repeats_of_very_many_answers():
    assert [default_repeats(m) for m in (10, 30_000, 60_000, 148_920, 10**7)] == [10, 10, 5, 2, 1]


def by_folds(p_values, by_loss, accuracy=0.7):
    dimensions = list(range(1, len(p_values) + 2))
    measured = [Measured(accuracy + 0.01 * d, 0.01) for d in dimensions]
    return decide_by_folds(dimensions, p_values, by_loss, 0.05, measured)


def test_cross_validation_decides_by_accuracy_and_then_by_log_loss():
    both = by_folds([0.01, 0.3, 0.3], [0.3, 0.02, 0.3])
    assert (both.dimension, both.verdict) == (3, "at least")
    assert "increases up to 2 dimensions (t-tests, last p = 0.01)" in both.reason
    assert "Their log-loss decreases up to 3 dimensions (last p = 0.02)." in both.reason
    assert "73.0% ± 1.0% of held-out comparisons are predicted correctly, 71.0% in" in both.reason
    assert "Single maps in 4 dimensions do not clearly predict better" in both.reason
    assert by_folds([0.4, 0.001], [0.4, 0.001]).dimension == 1  # the first that is not rejected
    assert by_folds([0.01], [math.nan]).dimension == 2  # a loss that is no probability


def test_the_largest_tried_is_not_the_largest_that_helps():
    at_end = by_folds([0.01, 0.01], [0.5, 0.5])
    assert (at_end.dimension, at_end.verdict) == (3, "at least")
    assert "more were not tried, and may be needed" in at_end.reason


def test_cross_validation_at_chance_cannot_tell():
    coin = by_folds([0.4], [0.4], accuracy=0.5)
    assert (coin.dimension, coin.verdict) == (None, "cannot tell")
    assert "at chance level (51.0% ± 1.0% correct)" in coin.reason


def test_accuracy_that_clearly_rises_is_not_overruled_by_chains_at_chance():
    coins = [np.full(U, -math.log(2.0)) + 0.1 * SWING] * 3
    assert ask(coins, [0.5, 0.5])[0].verdict == "cannot tell"
    assert ask(coins, [0.001, 0.5])[0].dimension == 2


def sparse(n=60, d=3, m=4000):
    points = 2.0 * np.random.default_rng(0).standard_normal((n, d))
    return tc.simulate.noisy_triplets(points, m, noise=0.3, random_state=0)


def test_many_objects_need_no_chains(monkeypatch):
    monkeypatch.setattr(limits, "MOST_OBJECTS", 59)
    monkeypatch.setattr(module, "MOST_OBJECTS", 59)
    monkeypatch.setattr(module, "_leave_out", None)
    found = tc.estimate_dimension(sparse(), (1, 2), folds=4, repeats=1, random_state=0, n_jobs=1)
    assert (found.dimension, found.verdict, found.by_chains) == (2, "at least", False)
    assert "rests on cross-validation of single maps alone: with 60 objects" in found.reason
    assert found.n_answers == 4000
    row = found.rows[1]
    assert math.isnan(row.bootstrap.value)
    assert row.agrees is None
    assert row.training_loss.value < row.log_loss.value
    shown = " ".join(str(found).split())
    assert shown.startswith("At least 2 dimensions.")
    assert "Try more (in Python: max_dimension=4)." in shown
    on_terminal = without_python(shown, argparse.Namespace(max_dim=None))
    assert "Try more (--max-dim 4)." in on_terminal
    higher = tc.estimate_dimension(
        sparse(), max_dimension=4, folds=4, repeats=1, random_state=0, n_jobs=1
    )
    assert [row.dimension for row in higher.rows] == [1, 2, 3, 4]
    assert higher.dimension == 3


def test_a_given_posterior_is_used_for_any_number_of_objects(monkeypatch):
    monkeypatch.setattr(limits, "MOST_OBJECTS", 5)
    assert quick(answers(), (1, 2), thorough=False).by_chains


# --- errors -----------------------------------------------------------------------------------


def test_the_limit_of_dimensions():
    T = answers(n=20, m=600)
    assert check_dimensions(None, T, 9) == list(range(1, 10))
    assert check_dimensions(None, answers(m=20), 9) == [1, 2, 3]  # as many as are supported
    for limit in (1, 2.5, "3"):
        with pytest.raises(InputError, match="max_dimension must be a whole number of at least 2"):
            check_dimensions(None, T, limit)
    with pytest.raises(InputError, match="either dimensions or max_dimension, not both"):
        check_dimensions([1, 2], T, 3)


@pytest.mark.parametrize(
    "dimensions", [3, [2], [], [2, 1], [1, 1], [0, 1], [1, 2.5], [True, 2], "12", [[1, 2]], None]
)
def test_dimensions_that_cannot_be_tried(dimensions):
    if dimensions is None:
        with pytest.raises(InputError, match="3 answers about 5 objects do not support even two"):
            quick(tc.Triplets(ROWS[:3]), None)
        return
    with pytest.raises(InputError, match="two or more positive whole numbers in increasing order"):
        quick(answers(), dimensions)


def test_dimensions_may_be_any_sequence():
    found = quick(answers(), np.arange(1, 3), thorough=False)
    assert [row.dimension for row in found.rows] == [1, 2]
    assert type(found.rows[0].dimension) is int


def test_a_dimension_larger_than_the_data_support():
    with pytest.raises(InputError, match=r"5 objects span 4 dimensions at most. Use up to 4, or"):
        quick(tc.Triplets(ROWS), (1, 5))
    # 8·4 − 4·5/2 = 22 coordinates are free in 4 dimensions, and 18 in 3.
    with pytest.raises(InputError, match=r"20 answers are fewer than the 22 free .* Use up to 3"):
        quick(answers(m=20), (1, 2, 3, 4))


def test_the_default_stops_where_the_answers_do():
    T = answers(m=20)
    assert check_dimensions(None, T) == [1, 2, 3]
    assert check_dimensions(None, answers(n=20, m=600)) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"folds": 1}, "folds must be a whole number of at least 2, got 1"),
        ({"folds": 2.5}, "folds must be a whole number of at least 2, got 2.5"),
        ({"repeats": 0}, "repeats must be a whole number of at least 1, got 0"),
        ({"folds": 121}, r"120 comparisons cannot be split into 121 folds; .* unit='answer'"),
        ({"folds": 121, "unit": "answer"}, r"120 answers cannot be split .* use fewer folds\."),
        ({"level": 0.0}, "level must be between 0 and 0.5, such as 0.05, got 0.0"),
        ({"level": 0.5}, "got 0.5"),
        ({"level": math.nan}, "got nan"),
        ({"unit": "person"}, "unit must be one of"),
        ({"unit": "screen"}, "screens of the answers are unknown"),
        ({"unit": "observer"}, "observers of the answers are unknown"),
        ({"estimator": tc.Posterior(tc.STE())}, r"estimator must be an estimator such as STE\(\)"),
        ({"estimator": tc.STE(penalty=-1.0)}, "penalty"),
        ({"posterior": tc.STE()}, r"posterior must be a Posterior that samples"),
        ({"posterior": tc.Posterior(tc.STE(), sampler="laplace")}, "a Posterior that samples"),
        ({"posterior": tc.Posterior(tc.STE(), sampler="gibbs")}, "sampler"),
        (
            {"posterior": tc.Posterior(tc.STE(), n_samples=5)},
            "at least 20 draws per .* n_samples=5",
        ),
        ({"bootstrap": tc.STE()}, r"bootstrap must be a Bootstrap such as Bootstrap\(STE\(\)\)"),
        ({"bootstrap": tc.Bootstrap(tc.STE(), fraction=2.0)}, "fraction"),
        (
            {"bootstrap": tc.Bootstrap(tc.STE(), unit="observer")},
            "observers of the answers are unknown",
        ),
    ],
)
def test_what_cannot_be_used_is_named_before_work_starts(options, message, monkeypatch):
    monkeypatch.setattr(module, "_cross_validate", None)
    with pytest.raises(InputError, match=message):
        quick(answers(), (1, 2), **options)


def test_distances_have_no_dimension():
    prior = tc.DistancePrior(np.ones((8, 8)) - np.eye(8))
    with pytest.raises(InputError, match="distances, which have no dimension"):
        quick(answers(), (1, 2), posterior=tc.Posterior(tc.STE(), prior=prior))


def test_what_the_answers_lack_is_said():
    with pytest.warns(tc.DataWarning, match="in no comparison|never"):
        quick(tc.Triplets(answers().array, n_objects=9), (1, 2), thorough=False)


# --- words ------------------------------------------------------------------------------------


def estimate(dimension, verdict):
    row = DimensionRow(
        dimension=1,
        training_loss=Measured(0.5, 0.01),
        accuracy=Measured(0.75, 0.02),
        log_loss=NOTHING,
        p_value=math.nan,
        left_out=NOTHING,
        gain=NOTHING,
        bootstrap=NOTHING,
        posterior=NOTHING,
        r_hat=math.nan,
        k_hat=math.nan,
    )
    second = row._replace(
        dimension=2, p_value=0.012, gain=Measured(8.0, 2.0), r_hat=1.01, k_hat=0.1
    )
    return DimensionEstimate(dimension, verdict, "Because.", (row, second), "comparison", 100)


@pytest.mark.parametrize(
    ("dimension", "verdict", "start"),
    [
        (1, "decided", "1 dimension. Because."),
        (2, "decided", "2 dimensions. Because."),
        (1, "at least", "1 dimension, perhaps more. Because."),
        (2, "at least", "At least 2 dimensions. Because."),
        (None, "cannot tell", "Cannot tell. Because."),
    ],
)
def test_words_come_first(dimension, verdict, start):
    shown = str(estimate(dimension, verdict))
    assert shown.startswith(f"{start}\n\n")
    assert shown.endswith(estimate(dimension, verdict).table())


def test_a_star_marks_the_recommendation():
    head, one, two = estimate(2, "decided").table().splitlines()
    assert head.split()[:3] == ["d", "training", "loss"]
    assert one.startswith(" 1  0.500 ± 0.010  0.750 ± 0.020")
    assert two.startswith("*2")
    assert "8.0 ± 2.0" in two
    assert two.endswith("1.01         10%")
    assert len(one) == len(two) == len(head)
    assert "*" not in estimate(None, "cannot tell").table()


@pytest.mark.parametrize(("share", "told"), [(0.0, False), (0.1, False), (0.25, True)])
def test_rough_guesses_are_told(share, told):
    row = estimate(1, "decided").rows[1]._replace(r_hat=1.0, k_hat=0.0)
    good, bad = row._replace(dimension=1), row._replace(k_hat=share)
    said = module._caution([good, bad], 1)
    assert ("leave-one-out is unreliable for 25% of the answers in 2 dimensions." in said) == told
    assert (
        "leave-one-out is unreliable for 25% of the answers in 2 dimensions."
        in module._caution([good, bad], 2)
    ) == told
    # Nothing hangs on dimensions that are too low.
    assert module._caution([bad._replace(dimension=1), good._replace(dimension=2)], 2) == ""
    assert module._caution([good, bad], None) == ""


def test_nothing_is_decided_by_chains_that_did_not_converge(monkeypatch):
    monkeypatch.setattr(module, "R_HAT", 0.0)
    found = quick(answers(size=2.0), thorough=False)
    assert (found.dimension, found.verdict) == (None, "not decided")
    assert found.undecided_at in found.disagreeing
    assert all(row.agrees is False for row in found.rows if not math.isnan(row.r_hat))
    best = max(row.accuracy.value for row in found.rows)
    assert "Of 1 to 3 dimensions, cross-validation, which needs no chains, favours" in found.reason
    assert f"({best:.1%} ±" in found.reason
    shown = str(found)
    assert shown.startswith("Not decided. ")
    assert f"!{found.rows[0].r_hat:.2f}" in shown
    assert shown.endswith(
        "! The chains ended in different maps: by themselves they are not evidence."
    )
    assert "*" not in found.table()
    assert found.records()[0]["agrees"] is False
    for word in ("posterior=", "table()", "`"):
        assert word not in shown


def test_chains_that_agree_are_not_marked(found):
    rows = found.rows
    for agree in (True, False):
        marked = (rows[0], *(row._replace(agrees=agree) for row in rows[1:]))
        shown = str(dataclasses.replace(found, rows=(rows[0]._replace(agrees=True), *marked[1:])))
        assert ("!" not in shown) == agree


def test_lines_are_short_enough_to_read(found):
    words = str(found).split("\n\n")[0]
    assert max(map(len, words.splitlines())) <= 100


def test_records_are_plain():
    rows = estimate(2, "decided").records()
    assert [row["dimension"] for row in rows] == [1, 2]
    assert {"accuracy", "accuracy_se", "p_value", "r_hat"} <= rows[0].keys()
    assert all(isinstance(value, (int, float)) for row in rows for value in row.values())
