from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import tercet as tc
from tercet.metrics import reliability_table
from tercet.models import STEModel
from tercet.plots.predictions import plot_risk_coverage
from tercet.simulate import answers_from_model, choices_from_model, random_comparisons
from tercet.uses.abstain import (
    fewest,
    hold_out,
    independent_unit,
    last_passed,
    likelier_answers,
    shuffle,
    walk_down,
)

N = 12
POINTS = 1.2 * np.random.default_rng(0).normal(size=(N, 2))
NAMES = tuple(f"object {i}" for i in range(N))


@pytest.fixture(scope="module")
def ensemble():
    noise = 0.1 * np.random.default_rng(1).normal(size=(20, N, 2))
    return tc.Ensemble(POINTS + noise, model=STEModel(), names=NAMES)


def answers(m, seed=0, lapse=0.0, **labels):
    asked = random_comparisons(N, m, replace=True, random_state=seed)
    rows = answers_from_model(STEModel(), POINTS, asked, lapse=lapse, random_state=seed + 1)
    return tc.Triplets(rows, n_objects=N, **labels)


def odd_ones_out(m, seed=0, **labels):
    rng = np.random.default_rng(seed)
    shown = np.argsort(rng.random((m, N)), axis=1)[:, :3]
    choices = tc.Choices.odd_one_out(shown, n_objects=N, **labels)
    return choices_from_model(STEModel(), POINTS, choices, random_state=rng)


# --- risk and coverage ------------------------------------------------------------------------


def test_a_curve_by_hand():
    curve = tc.risk_coverage([0.9, 0.2, 0.8, 0.6, 0.5])
    assert_allclose(curve.confidence, [0.9, 0.8, 0.6, 0.5])
    assert_allclose(curve.coverage, [0.2, 0.6, 0.8, 1.0])
    assert_allclose(curve.risk, [0, 1 / 3, 1 / 4, 1.5 / 5])
    assert curve.area == pytest.approx(0.2 * 0 + 0.4 / 3 + 0.2 / 4 + 0.2 * 0.3)
    assert str(curve) == ("Risk of predicting everything: 30 %; mean over all coverages: 24.3 %.")


def test_a_point_of_the_curve_is_what_predict_does():
    curve = tc.risk_coverage([0.9, 0.25, 0.75, 0.6, 0.5])
    assert curve.at(0.7) == pytest.approx((0.6, 1 / 3))
    assert curve.at(0.75) == pytest.approx((0.2, 0.0))  # above, not at
    assert curve.at(0.5) == pytest.approx((0.8, 0.25))  # ½ is never predicted
    coverage, risk = curve.at(0.95)
    assert coverage == 0.0
    assert np.isnan(risk)


def test_without_ties_the_area_is_the_mean_of_the_risks():
    rng = np.random.default_rng(0)
    p, truth = rng.random(200), rng.random(200) < 0.5
    curve = tc.risk_coverage(p, truth)
    wrong = ((p > 0.5) != truth)[np.argsort(-np.maximum(p, 1 - p))]
    risks = np.cumsum(wrong) / np.arange(1, 201)
    assert_allclose(curve.risk, risks)
    assert curve.area == pytest.approx(risks.mean())


def test_all_of_it_agrees_with_the_reliability_table():
    rng = np.random.default_rng(1)
    p, truth = rng.integers(0, 21, 300) / 20, rng.random(300) < 0.5
    table = reliability_table(p, truth, bins=1)
    assert tc.risk_coverage(p, truth).risk[-1] == pytest.approx(1 - table.accuracy[0])


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 16), st.booleans(), st.integers(1, 4)), min_size=1))
def test_turned_rows_and_counted_rows_give_the_same_curve(rows):
    sixteenths, truth, count = (np.array(column) for column in zip(*rows, strict=True))
    p = sixteenths / 16
    curve = tc.risk_coverage(p, truth, weights=count)
    for other in (
        tc.risk_coverage(1 - p, ~truth, weights=count),
        tc.risk_coverage(np.repeat(p, count), np.repeat(truth, count)),
        tc.risk_coverage(p[::-1], np.where(truth, 1, -1)[::-1], weights=2.5 * count[::-1]),
    ):
        assert_allclose(other.confidence, curve.confidence)
        assert_allclose(other.coverage, curve.coverage)
        assert_allclose(other.risk, curve.risk)
    assert (np.diff(curve.confidence) < 0).all()
    assert (np.diff(curve.coverage) > 0).all()
    assert curve.coverage[-1] == pytest.approx(1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"probability": [0.2, 1.2]}, r"must lie in \[0, 1\], got 1.2 in row 1"),
        ({"probability": []}, "one or more numbers"),
        ({"probability": [0.2], "truth": [0]}, "True/False or"),
        ({"probability": [0.2], "weights": [0.0]}, "weights must be 1 positive numbers"),
        ({"probability": [0.2], "weights": [1.0, 1.0]}, "weights must be 1 positive numbers"),
    ],
)
def test_what_has_no_curve(arguments, message):
    with pytest.raises(tc.InputError, match=message):
        tc.risk_coverage(**arguments)


@pytest.mark.parametrize("threshold", [0.4, 1.0, np.nan])
def test_thresholds_lie_between_a_coin_and_certainty(threshold, ensemble):
    with pytest.raises(tc.InputError, match=r"threshold must lie in \[0.5, 1\)"):
        tc.risk_coverage([0.9]).at(threshold)
    with pytest.raises(tc.InputError, match=r"threshold must lie in \[0.5, 1\)"):
        tc.choose_threshold(ensemble, answers(100), thresholds=[0.7, threshold])


# --- the walk ---------------------------------------------------------------------------------


def held(confidence, wrong, unit=None, seed=0):
    unit = np.arange(len(confidence)) if unit is None else np.asarray(unit)
    rng = np.random.default_rng(seed)
    return shuffle(np.asarray(confidence, float), np.asarray(wrong, bool), unit, rng)


def test_the_fewest_answers():
    assert fewest(0.1, 0.1) == 22  # 0.9²¹ = .109, 0.9²² = .098
    assert fewest(0.05, 0.05) == 59
    assert fewest(0.1, 0.81) == 2  # 0.9² is exactly 0.81, and a little more in binary
    for error, delta in [(0.01, 0.1), (0.3, 0.01), (0.49, 0.9)]:
        n = fewest(error, delta)
        assert (1 - error) ** n <= delta * (1 + 1e-9) < (1 - error) ** (n - 1)


def test_a_walk_by_hand():
    """22 right, then 16 with one wrong, then ten wrong: the first two pass at 10 %."""
    confidence = np.repeat([0.9, 0.8, 0.7], [22, 16, 10])
    wrong = np.repeat([0, 1, 0, 1], [22, 1, 15, 10])
    walk = walk_down(held(confidence, wrong), np.array([0.95, 0.85, 0.75, 0.65, 0.55]), 0.1, 0.1)
    assert_allclose(walk.threshold, [0.85, 0.75, 0.65])  # none reach .95, and .65 fails
    assert_array_equal(walk.predicted, [22, 38, 48])
    assert_array_equal(walk.wrong, [0, 1, 11])
    assert_allclose(walk.p_value[:2], [0.9**22, 0.9**38 + 38 * 0.1 * 0.9**37])
    assert last_passed(walk, 0.1) == 1


def test_the_walk_stops_for_good():
    """What would pass further down is not looked at."""
    confidence = np.repeat([0.9, 0.8], [30, 1000])
    wrong = np.repeat([1, 0], [30, 1000])
    walk = walk_down(held(confidence, wrong), np.array([0.85, 0.75]), 0.1, 0.1)
    assert_allclose(walk.threshold, [0.85])
    assert last_passed(walk, 0.1) is None


def test_one_answer_speaks_for_a_unit():
    confidence = [0.9, 0.6, 0.8, 0.7, 0.9]
    wrong = [1, 0, 1, 0, 0]
    unit = [0, 0, 1, 1, 2]
    assert held(confidence, wrong, unit).n_units == 3
    for seed in range(20):
        some = held(confidence, wrong, unit, seed)
        assert_array_equal(some.drawn(0.85), [True, False])
        assert_array_equal(some.drawn(0.75), [True, True, False])
        assert len(some.drawn(0.5)) == 3
    firsts = np.mean([held(confidence, wrong, unit, seed).drawn(0.5) for seed in range(2000)], 0)
    assert_allclose(firsts, [0.5, 0.5, 0.0], atol=0.05)  # each with the same chance; 4.5 sd


# --- choosing ---------------------------------------------------------------------------------


def test_a_promise(ensemble):
    test = answers(2000)
    found = tc.choose_threshold(ensemble, test, error=0.1, unit="answer")
    assert found.outcome == "promised"
    assert found.threshold > 0.5
    assert (found.n_answers, found.n_units, found.unit) == (2000, 2000, "answer")
    p = ensemble.answer_probability(test)
    predicted = found.predict(test)
    assert_array_equal(predicted == 1, p > found.threshold)
    assert_array_equal(predicted == -1, p < 1 - found.threshold)
    assert found.coverage == pytest.approx(np.mean(predicted != 0))
    assert found.observed_error == pytest.approx(np.mean(predicted[predicted != 0] == -1))
    assert found.observed_error < 0.1
    last = last_passed(found.walk, 0.1)
    assert found.walk.threshold[last] == found.threshold
    assert len(found.walk.threshold) in (last + 1, last + 2)
    assert (np.diff(found.walk.threshold) < 0).all()
    assert str(found).split() == found.reason.split()
    assert max(map(len, str(found).splitlines())) <= 100
    assert f"Predict where the answer probability is above {found.threshold:.4g}" in found.reason
    assert "at most 10 % of predicted answers will be wrong" in found.reason
    assert "this guarantee fails for at most 10 % of hold-outs" in found.reason
    assert f"abstaining on {100 * (1 - found.coverage):.3g} %" in found.reason
    assert "whether or not the model is right" in found.reason
    assert len(found.table().splitlines()) == 1 + len(found.walk.threshold)


def test_stricter_promises_cost_coverage(ensemble):
    test = answers(3000)
    coverage = [
        tc.choose_threshold(ensemble, test, error=error, unit="answer").coverage
        for error in (0.03, 0.06, 0.1, 0.15)
    ]
    assert (np.diff(coverage) > 0).all()
    assert coverage[0] > 0


def test_candidates_do_not_depend_on_the_hold_outs_answers(ensemble):
    walks = [
        tc.choose_threshold(ensemble, answers(2000, seed), unit="answer").walk for seed in (0, 5)
    ]
    both = min(len(walk.threshold) for walk in walks)
    assert_array_equal(walks[0].threshold[:both], walks[1].threshold[:both])


def test_own_thresholds(ensemble):
    found = tc.choose_threshold(ensemble, answers(2000), thresholds=[0.7, 0.9, 0.8, 0.9])
    assert_array_equal(found.walk.threshold, [0.9, 0.8, 0.7][: len(found.walk.threshold)])


def test_names_and_turned_questions(ensemble):
    test = answers(2000)
    found = tc.choose_threshold(ensemble, test, error=0.1, random_state=0)
    Q = random_comparisons(N, 200, random_state=3)
    names = np.array(NAMES, dtype=object)
    assert_array_equal(found.predict(names[Q]), found.predict(Q))
    assert_array_equal(found.predict(Q[:, [0, 2, 1]]), -found.predict(Q))
    again = tc.choose_threshold(ensemble, names[test.array], error=0.1, random_state=0)
    assert again.threshold == found.threshold


def test_turning_a_question_around_changes_no_bit_of_its_confidence():
    """1 − p in binary is often not the number that its decimals stand for."""
    p = np.arange(1, 5000) / 10_000
    one, turned = (
        likelier_answers(SimpleNamespace(answer_probability=np.copy), q) for q in (p, 1.0 - p)
    )
    assert_array_equal(one[0], turned[0])
    assert_array_equal(one[1], ~turned[1])


@pytest.mark.parametrize("unit", ["screen", "comparison"])
def test_without_observers_nothing_is_said_of_other_people(ensemble, unit):
    test = answers(900, observers=np.arange(900) % 3, screens=np.arange(900))
    assert "by the same people," in tc.choose_threshold(ensemble, test, unit=unit).reason


def test_one_seed_one_promise(ensemble):
    test = answers(2000, observers=np.arange(2000) % 150)
    one, same, other = (
        tc.choose_threshold(ensemble, test, error=0.2, random_state=seed) for seed in (1, 1, 2)
    )
    assert one.unit == "observer"
    for mine, theirs in zip(one.walk, same.walk, strict=True):
        assert_array_equal(mine, theirs)
    assert not np.array_equal(one.walk.wrong[:1], other.walk.wrong[:1]) or not np.array_equal(
        one.walk.wrong, other.walk.wrong
    )


def test_votes_are_answers(ensemble):
    test = answers(900)
    count = 1 + np.arange(900) % 3
    counted = tc.Triplets(test.array, n_objects=N, weights=count)
    repeated = tc.Triplets(np.repeat(test.array, count, axis=0), n_objects=N)
    found = tc.choose_threshold(ensemble, counted, unit="answer")
    expected = tc.choose_threshold(ensemble, repeated, unit="answer")
    assert found.n_answers == count.sum()
    assert found.coverage == pytest.approx(expected.coverage)
    for mine, theirs in zip(found.walk, expected.walk, strict=True):
        assert_array_equal(mine, theirs)


def test_a_question_asked_often_is_one_unit(ensemble):
    rows = np.repeat(answers(40).array, 100, axis=0)
    found = tc.choose_threshold(ensemble, rows, error=0.1, random_state=0)
    assert found.unit == "comparison"
    assert found.n_units <= 40
    assert found.walk.predicted.max(initial=0) <= 40
    assert found.n_answers == 4000


def test_what_is_taken_as_independent():
    assert independent_unit(answers(20)) == "comparison"
    assert independent_unit(answers(20, screens=np.arange(20))) == "comparison"
    assert independent_unit(odd_ones_out(20)) == "screen"
    assert independent_unit(odd_ones_out(20, observers=np.arange(20) % 4)) == "observer"
    assert independent_unit(answers(20, observers=np.arange(20) % 4)) == "observer"
    both = answers(20, observers=np.arange(20) % 4, screens=np.arange(20))
    assert independent_unit(both) == "observer"
    assert independent_unit(answers(20, observers=np.arange(20))) == "comparison"
    assert independent_unit(answers(20, observers=np.zeros(20))) == "comparison"


# --- when nothing can be promised -------------------------------------------------------------


def test_too_few_answers(ensemble):
    found = tc.choose_threshold(ensemble, answers(21), unit="answer", error=0.1)
    assert (found.outcome, found.threshold, found.coverage) == ("too few", None, 0.0)
    assert np.isnan(found.observed_error)
    assert "at least 22 answers with a predicted answer are needed" in found.reason
    assert "the hold-out has 21 answers" in found.reason
    assert not found.predict(answers(10)).any()


def test_too_few_observers(ensemble):
    test = answers(2000, observers=np.arange(2000) % 10)
    found = tc.choose_threshold(ensemble, test)
    assert found.outcome == "too few"
    assert "at least 22 observers" in found.reason
    assert "For other answers of these same observers, use unit='comparison'." in found.reason


def test_people_who_disagree_more_than_that(ensemble):
    test = answers(3000, lapse=0.3)
    found = tc.choose_threshold(ensemble, test, error=0.05, unit="answer")
    assert (found.outcome, found.threshold) == ("impossible", None)
    assert "cannot be guaranteed: people disagree more than that" in found.reason
    assert 0.15 <= found.smallest_error <= 0.25  # a lapse of .3 is wrong in .15
    assert f"could have been guaranteed is {100 * found.smallest_error:.0f} %" in found.reason
    again = tc.choose_threshold(ensemble, test, error=found.smallest_error, unit="answer")
    assert again.outcome == "promised"
    assert again.smallest_error is None


def test_a_coin_can_promise_nothing(ensemble):
    found = tc.choose_threshold(ensemble, answers(1000, lapse=1.0), unit="answer")
    assert found.outcome == "impossible"
    assert found.smallest_error is None or found.smallest_error > 0.4


def test_undecided():
    """A model that is never sure, and 3 wrong of 40: neither."""
    draws = np.tile(POINTS, (2, 1, 1))
    ensemble = tc.Ensemble(draws, model=STEModel())
    rows = tc.simulate.true_triplets(POINTS)[::17][:40]
    rows[:3] = rows[:3, [0, 2, 1]]
    found = tc.choose_threshold(ensemble, rows, thresholds=[0.5], unit="answer")
    assert found.outcome == "undecided"
    assert "3 were wrong: too many to guarantee it, too few to rule it out" in found.reason
    assert "Collect more held-out answers to decide" in found.reason


def test_where_all_is_equal_nothing_is_predicted():
    """All probabilities are ½, which nobody predicts: turned around they are ½, too."""
    ensemble = tc.Ensemble(np.zeros((2, N, 2)), model=STEModel())
    found = tc.choose_threshold(ensemble, answers(500))
    assert found.outcome == "too few"
    assert not found.predict(answers(10)).any()


def test_an_ensemble_that_is_certain_of_everything():
    ensemble = tc.Ensemble(100 * POINTS[np.newaxis], model=STEModel())
    found = tc.choose_threshold(ensemble, tc.simulate.true_triplets(POINTS)[:400], unit="answer")
    assert found.outcome == "promised"
    assert found.threshold == 0.5
    assert found.coverage == 1.0


# --- wrong input ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"error": 0.0}, "error is the largest acceptable share .* between 0 and ½ .* got 0.0"),
        ({"error": 0.5}, "got 0.5"),
        ({"error": 10}, "got 10"),
        ({"delta": 0.0}, "delta is the probability that the guarantee fails"),
        ({"delta": 1.0}, "got 1.0"),
        ({"unit": "observer"}, "observers of the answers are unknown"),
        ({"unit": "person"}, "unit must be one of"),
        ({"thresholds": []}, "thresholds is empty"),
        ({"random_state": "now"}, "random_state must be"),
    ],
)
def test_what_cannot_be_promised_is_said_at_once(ensemble, options, message):
    with pytest.raises(tc.InputError, match=message):
        tc.choose_threshold(ensemble, answers(100), **options)


def test_hold_outs_that_cannot_be_used(ensemble):
    with pytest.raises(tc.InputError, match="at least one is needed"):
        tc.choose_threshold(ensemble, answers(5)[:0])
    weighted = tc.Triplets(answers(5).array, n_objects=N, weights=[0.5, 1, 1, 1, 1])
    with pytest.raises(tc.InputError, match="weights of the hold-out are not whole numbers"):
        tc.choose_threshold(ensemble, weighted)
    with pytest.raises(tc.InputError, match="has no model"):
        tc.choose_threshold(tc.Ensemble(POINTS[np.newaxis]), answers(100))
    with pytest.raises(tc.InputError, match=r"must be an Ensemble, such as .* got Posterior"):
        tc.choose_threshold(tc.Posterior(tc.STE(2)), answers(100))


# --- holding out ------------------------------------------------------------------------------


@pytest.mark.parametrize("unit", ["observer", "comparison", "answer", None])
def test_whole_units_are_held_out(unit):
    rows = np.tile(answers(100).array, (3, 1))
    all_of_it = tc.Triplets(rows, n_objects=N, observers=np.arange(300) % 30)
    train, test = hold_out(all_of_it, 0.4, unit=unit, random_state=0)
    assert len(train) + len(test) == 300
    assert train.n_objects == test.n_objects == N
    if unit in ("observer", None):
        assert not set(train.observers) & set(test.observers)
        assert len(set(test.observers)) == 12
    elif unit == "comparison":
        questions = [
            {(i, *sorted(rest)) for i, *rest in part.array.tolist()} for part in (train, test)
        ]
        assert not questions[0] & questions[1]
    else:
        assert len(test) == 120
    again = hold_out(all_of_it, 0.4, unit=unit, random_state=0)
    assert again[0] == train
    assert again[1] == test


@pytest.mark.parametrize("unit", ["observer", "screen", "answer", None])
def test_whole_units_of_choices_are_held_out(unit):
    shown = np.tile(np.argsort(np.random.default_rng(0).random((100, N)), axis=1)[:, :3], (3, 1))
    choices = tc.Choices.odd_one_out(shown, n_objects=N, observers=np.arange(300) % 30)
    train, test = hold_out(choices, 0.4, unit=unit, random_state=0)
    assert isinstance(test, tc.Choices)
    assert len(train) + len(test) == 300
    if unit in ("observer", None):
        assert not set(train.observers) & set(test.observers)
        assert len(set(test.observers)) == 12
    elif unit == "screen":
        questions = [{frozenset(np.ravel(each.pairs)) for each in part} for part in (train, test)]
        assert not questions[0] & questions[1]
    else:
        assert len(test) == 120
    again = hold_out(choices.triplets(), 0.4, unit=unit, random_state=0)
    assert again[1].triplets() == test.triplets()


def test_something_is_left_on_either_side():
    for share in (0.01, 0.99):
        train, test = hold_out(answers(10, observers=[0, 1] * 5), share, random_state=0)
        assert len(train) == len(test) == 5


def test_what_cannot_be_held_out():
    with pytest.raises(
        tc.InputError, match=r"share must lie between 0 and 1, such as 0\.3, got 1\.0"
    ):
        hold_out(answers(10), 1.0)
    with pytest.raises(tc.InputError, match="only 1 observer to split; use another unit"):
        hold_out(answers(10, observers=[4] * 10), unit="observer")


# --- the picture ------------------------------------------------------------------------------


def test_the_curve_is_drawn(ax):
    curve = tc.risk_coverage([0.9, 0.2, 0.8, 0.6])
    assert plot_risk_coverage(curve, ax=ax) is ax
    assert_allclose(ax.lines[0].get_xdata(), curve.coverage)
    assert_allclose(ax.lines[0].get_ydata(), curve.risk)
    assert ax.get_legend() is None


def test_several_curves_and_a_promise(ax, ensemble):
    test = answers(2000)
    p = ensemble.answer_probability(test)
    found = tc.choose_threshold(ensemble, test, error=0.1, unit="answer")
    curves = {"all $5": tc.risk_coverage(p), "half": tc.risk_coverage(p[:1000])}
    plot_risk_coverage(curves, promise=found, ax=ax)
    plot_risk_coverage(curves["half"], promise=found, ax=ax, label="again")
    marks = [line.get_xydata()[0] for line in ax.lines if line.get_marker() == "o"]
    assert_allclose(marks[0], [found.coverage, found.observed_error])
    assert sum(line.get_gid() == "tercet promise" for line in ax.lines) == 1
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == [r"all \$5", "half", "at most 10 %: guaranteed", "again"]
    ax.figure.draw_without_rendering()


def test_a_promise_that_was_not_made(ax, ensemble):
    found = tc.choose_threshold(ensemble, answers(10))
    plot_risk_coverage(tc.risk_coverage([0.9, 0.2]), promise=found, ax=ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "at most 10 %: cannot be guaranteed"
    ]
    assert not any(line.get_marker() == "o" for line in ax.lines)
