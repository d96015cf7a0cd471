import dataclasses
import json
import math

import numpy as np
import pytest
from scipy import stats

import tercet as tc
from tercet.answers.repeats import noise_ceiling, prepare
from tercet.answers.shares import at_least, at_most, interval
from tercet.errors import DataWarning, InputError
from tercet.io.reading import Catch
from tercet.simulate import answer, random_comparisons
from tercet.uses.quality import check_answers
from tercet.uses.quality.counts import compare_observers
from tercet.uses.quality.observers import (
    answers_needed,
    design_effect,
    fit_typical,
    judge_observers,
)

N = 12


def study(k=20, m=60, guessers=(), reversed_ones=(), noise=0.5, seed=0, **more):
    """Answers of k observers about the same points; some guess, some answer the other way round."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(N, 2))
    parts = []
    for o in range(k):
        asked = random_comparisons(N, m, random_state=rng)
        rows = answer(points, asked, noise=noise, lapse=float(o in guessers), random_state=rng)
        parts.append(rows[:, [0, 2, 1]] if o in reversed_ones else rows)
    return tc.Triplets(
        np.concatenate(parts), n_objects=N, observers=np.repeat(np.arange(k), m), **more
    )


def verdicts(found, kind):
    return {int(o.observer) for o in found.observers if o.verdict == kind}


# --- counts and repeats -----------------------------------------------------------------------


def test_counts_are_those_of_a_small_example():
    T = tc.Triplets(
        [["a", "b", "c"], ["a", "c", "b"], ["b", "a", "c"], ["a", "b", "d"]],
        observers=["x", "x", "y", "y"],
        screens=[1, 2, 3, 3],
    )
    counts = check_answers(T, random_state=0).counts
    assert counts[:5] == (4, 3, 4, 2, 3)
    assert counts.per_object == (1, 3.5, 4)
    assert counts.rarest == ("d", "c", "a", "b")
    assert counts.per_observer == (2, 2, 2)


@pytest.mark.parametrize("timed", [False, True])
def test_a_file_that_was_joined_with_itself_is_noticed(timed):
    once = study(k=4, m=30)
    if timed:
        seconds = np.random.default_rng(0).gamma(3.0, size=len(once))
        once = tc.Triplets(once, response_times=seconds)
    assert check_answers(once, random_state=0).copies == 0
    twice = once[np.tile(np.arange(len(once)), 2)]
    found = check_answers(twice, random_state=0)
    assert found.copies == len(once) == 120
    assert any("120 rows repeat other rows in every cell" in each for each in found.warnings())


def test_a_single_copy_is_seen_by_its_response_time():
    once = study(k=4, m=30)
    seconds = np.random.default_rng(0).gamma(3.0, size=len(once))
    seconds[:5] = np.nan  # unknown times tell nothing
    timed = tc.Triplets(once, response_times=seconds)
    again = timed[[*range(len(timed)), 2, 7]]
    assert check_answers(again, random_state=0).copies == 1


def test_an_object_that_is_twice_in_a_quadruplet_is_mentioned_once():
    T = tc.Triplets([[0, 1, 0, 2], [1, 3, 2, 3]], weights=[2, 1])
    counts = check_answers(T, random_state=0).counts
    assert counts.per_object == (1, 2.5, 3)
    assert counts.rarest == (3, 0, 1, 2)


def test_a_few_contradictions_are_no_sign_of_guessing():
    one = [[0, 1, 2], [0, 2, 1], [1, 2, 3], [2, 0, 3], [3, 0, 1]]
    assert not any("hardly agree" in said for said in check_answers(one).warnings())
    asked = random_comparisons(8, 40, random_state=0)
    both = np.concatenate([asked, asked[:, [0, 2, 1]]])
    assert any("hardly agree" in said for said in check_answers(both).warnings())


def test_contradictions_within_and_between_observers():
    # One comparison: x says near, near, far; y says far. Another: x and y agree, once each.
    rows = [[0, 1, 2], [0, 1, 2], [0, 2, 1], [0, 2, 1], [1, 0, 2], [1, 0, 2]]
    T = tc.Triplets(rows, observers=["x", "x", "x", "y", "x", "y"])
    repeats = check_answers(T, random_state=0).repeats
    assert repeats[:3] == (2, 6, 1)
    assert repeats.overall == (2, 7, pytest.approx((4 / 6 + 0) / 2))
    assert repeats.within == (1, 3, pytest.approx(2 / 3))
    assert repeats.between == (2, 4, pytest.approx((2 / 3 + 0) / 2))
    assert repeats.ceiling is None  # two comparisons are too few


def test_a_noise_ceiling_takes_twenty_comparisons_that_were_asked_again():
    rows = random_comparisons(8, 20, random_state=0)
    answers = np.concatenate([rows, rows[:, [0, 2, 1]][:7], rows[7:]])
    found = check_answers(answers, random_state=0)
    assert found.ceiling == found.repeats.ceiling == noise_ceiling([1] * 7 + [2] * 13, [2] * 20)
    few = check_answers(answers[1:], random_state=0)  # one is asked only once now
    assert few.repeats.comparisons == 19
    assert few.ceiling is None
    assert "too few to estimate the noise ceiling" in " ".join(few.sentences())


def test_a_turned_question_is_the_same_question():
    T = tc.Triplets([[0, 1, 2, 3], [3, 2, 0, 1], [1, 0, 3, 2]])
    repeats = check_answers(T, random_state=0).repeats
    assert (repeats.comparisons, repeats.answers, repeats.contradicted) == (1, 3, 1)


def test_votes_are_answers_and_say_the_same_as_rows():
    rows = study(k=2, m=150).array
    distinct, votes = np.unique(rows, axis=0, return_counts=True)
    by_row = check_answers(tc.Triplets(rows), random_state=0)
    by_vote = check_answers(tc.Triplets(distinct, weights=votes), random_state=0)
    assert by_vote.as_dict() == by_row.as_dict()


def test_without_repeats_it_says_why():
    once = check_answers(tc.Triplets([[0, 1, 2], [1, 0, 2]]), random_state=0)
    assert once.repeats is None
    assert once.ceiling is None
    assert "no comparison was asked more than once" in str(once)
    weighted = check_answers(tc.Triplets([[0, 1, 2]] * 2, weights=[0.5, 1.5]), random_state=0)
    assert "not whole numbers" in weighted.no_repeats


def test_what_the_answers_cannot_tell_is_a_warning():
    T = tc.Triplets([[0, 1, 2]] * 3, n_objects=4)
    assert check_answers(T, random_state=0).warnings()[: len(tc.diagnose(T))] == tc.diagnose(T)


def test_the_ceiling_is_of_models_that_do_not_know_who_answers():
    """Two observers who never contradict themselves, and disagree on half of the comparisons."""
    asked = random_comparisons(N, 60, random_state=0)
    other = np.where(np.arange(60)[:, None] < 30, asked, asked[:, [0, 2, 1]])
    T = tc.Triplets(np.concatenate([asked, asked, other, other]), observers=[0] * 120 + [1] * 120)
    found = check_answers(T, random_state=0)
    assert found.ceiling.accuracy < 0.85
    assert found.repeats.own_ceiling.accuracy > 0.99
    text = " ".join(found.sentences())
    assert "a model that does not know who answers can predict at most about 7" in text
    assert "a model that knows who answers can predict at most about 100 %" in text
    alone = check_answers(T[:120], random_state=0)
    assert "a model of this observer can predict" in " ".join(alone.sentences())
    once = check_answers(tc.Triplets(T[::2], observers=range(120)), random_state=0)
    assert once.repeats.own_ceiling is None
    assert "nobody answered the same comparison twice" in " ".join(once.sentences())


def test_a_typical_observer_above_the_ceiling_is_explained():
    found = check_answers(study(m=100, guessers={0, 1, 2, 3}, noise=0.2), random_state=0)
    assert found.typical > found.ceiling.accuracy
    assert "That is above the noise ceiling" in " ".join(found.sentences())
    assert "no model" not in str(found)


def test_one_observer_is_compared_with_others_on_the_same_comparisons():
    # Of 40 comparisons x was asked 20 twice, and said both; y agrees with x on the others.
    asked = random_comparisons(N, 40, random_state=0)
    rows = np.concatenate([asked, asked[:20][:, [0, 2, 1]], asked])
    T = tc.Triplets(rows, observers=["x"] * 60 + ["y"] * 40)
    found = check_answers(T, random_state=0)
    assert found.repeats.between.rate == 0.25
    assert found.repeats.between_same == (20, 40, 0.5)
    said = "that one observer answered more than once: 50 % between observers"
    assert said in " ".join(found.sentences())
    few = check_answers(T[np.arange(100) != 40], random_state=0)
    assert few.repeats.within.comparisons == 19
    assert few.repeats.own_ceiling is None
    assert "hardly anyone answered the same comparison twice" in " ".join(few.sentences())


# --- observers --------------------------------------------------------------------------------


def test_agreement_is_with_the_majority_of_the_others():
    rows = [[0, 1, 2]] * 3 + [[0, 2, 1]] + [[1, 0, 2], [1, 2, 0]]
    T = tc.Triplets(rows, observers=["a", "b", "c", "d", "a", "d"])
    found = {o.observer: (o.shared, o.agreement) for o in check_answers(T).observers}
    # d disagrees with three on one comparison and with one on the other; so does a with d.
    assert found["d"] == (2, 0.0)
    assert found["a"] == (2, 0.5)
    assert found["b"] == (1, 1.0)


def test_a_tied_majority_of_others_counts_for_nothing():
    T = tc.Triplets([[0, 1, 2], [0, 2, 1], [0, 1, 2]], observers=["a", "b", "c"])
    shared = {o.observer: o.shared for o in check_answers(T).observers}
    assert shared == {"a": 0, "b": 1, "c": 0}


@pytest.mark.parametrize("seed", range(5))
def test_guessers_are_found_and_others_are_not_accused(seed):
    found = check_answers(study(m=80, guessers={3, 11}, noise=0.3, seed=seed), random_state=seed)
    assert verdicts(found, "looks like guessing") == {3, 11}
    assert "2 observers ('3', '11')" in " ".join(found.warnings())


def test_observers_who_answer_the_other_way_round_are_found():
    found = check_answers(study(reversed_ones={7}), random_state=0)
    assert verdicts(found, "the other way round") == {7}
    assert "near and far are swapped" in " ".join(found.warnings())


@pytest.mark.slow
def test_with_a_noisy_task_equal_observers_are_rarely_accused():
    """Nobody guesses: 5 % of studies may name somebody; 6 in 40 would be bad luck at 2 %."""
    accused = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        x, n = rng.binomial(60, 0.62, size=15).astype(float), np.full(15, 60.0)
        accused += "looks like guessing" in judge_observers(x, n).verdicts
    assert accused <= stats.binom.ppf(0.99, 40, 0.05)


@pytest.mark.slow
def test_observers_who_differ_are_rarely_accused():
    """Of 600 observers who follow, more or less well, less than 1 in 50 is named."""
    accused = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        share = 1.0 / (1.0 + np.exp(-(1.3 + 0.4 * rng.standard_normal(20))))
        found = judge_observers(rng.binomial(60, share).astype(float), np.full(20, 60.0))
        accused += found.verdicts.count("looks like guessing")
    assert accused < 600 / 50


def test_guessers_do_not_change_what_is_ordinary():
    rng = np.random.default_rng(0)
    n = np.full(30, 100.0)
    x = rng.binomial(100, 0.8, 30).astype(float)
    alone = fit_typical(x, n)
    x[:8] = rng.binomial(100, 0.5, 8)
    assert fit_typical(x, n).centre == pytest.approx(alone.centre, abs=0.1)
    assert fit_typical(x, n).spread < 0.35  # 0.6 if they were ordinary


def test_too_few_answers_cannot_tell():
    found = check_answers(study(k=6, m=5), random_state=0)
    assert not any(o.flags for o in found.observers)
    everyone_guesses = check_answers(study(k=6, guessers=set(range(6))), random_state=0)
    assert verdicts(everyone_guesses, "looks like guessing") == set()
    assert "predicted at chance level from those" in " ".join(everyone_guesses.warnings())


def test_why_it_cannot_be_told_is_said():
    """Too few answers, or enough of them from somebody between a coin and ordinary observers."""
    T = study(k=30, m=80, noise=0.3, seed=2)
    flip = np.arange(80)[:, None] < 33
    rows = T.array.copy()
    rows[:80] = np.where(flip, rows[:80][:, [0, 2, 1]], rows[:80])
    poor = tc.Triplets(rows, observers=T.observers)
    shown = np.concatenate([np.arange(80), 80 + np.arange(8), np.arange(160, 2400)])
    found = check_answers(poor[shown], random_state=0)
    assert found.observers[1].answers < found.answers_needed < found.observers[0].answers
    changed = [o._replace(verdict="cannot tell") for o in found.observers[:2]]
    unclear = dataclasses.replace(found, observers=(*changed, *found.observers[2:]))
    enough, few = (
        next(said for said in unclear.warnings() if f"('{who}') guessed" in said) for who in "01"
    )
    assert "are needed" not in enough
    assert "below the range of typical observers" in enough
    assert f"about {found.answers_needed:.0f} are needed" in few


@pytest.mark.slow
@pytest.mark.usefixtures("data_folder")
def test_verdicts_hardly_depend_on_the_seed():
    """The maps of several deals vote: one deal alone changed its mind on 139 from seed to seed."""
    cars = tc.datasets.load_cars()
    for seed in (0, 2):
        found = check_answers(cars.triplets, random_state=seed)
        (one,) = (o for o in found.observers if o.observer == "139")
        assert one.verdict != "follows the others"
        assert 0.55 < one.accuracy < 0.6
        if one.verdict == "cannot tell":
            (said,) = (w for w in found.warnings() if "'139'" in w)
            assert "are needed" not in said


def test_an_ensemble_of_other_answers_predicts_instead():
    T = study(k=4, guessers={0})
    earlier = tc.Bootstrap(tc.STE(2), n_samples=5, fraction=0.8, random_state=0)
    earlier.fit(study(k=6, seed=0, m=60)[240:])
    alone = T[T.observers == 1]
    assert math.isnan(check_answers(alone).observers[0].accuracy)
    judged = check_answers(T, ensemble=earlier.ensemble_).observers
    expected = np.mean(earlier.ensemble_.predict(alone, threshold=0.5) == 1)
    assert judged[1].predicted <= 60
    assert judged[1].accuracy == pytest.approx(expected, abs=0.05)


def test_answers_about_objects_that_only_one_observer_saw_are_not_predicted():
    T = study(k=3, m=30)
    own = tc.Triplets(
        np.concatenate([T.array, [[N, 0, 1]] * 9]),
        observers=np.append(T.observers, [0] * 9),
    )
    assert [o.predicted for o in check_answers(own, random_state=0).observers] == [30, 30, 30]
    assert check_answers(own, random_state=0).observers[0].answers == 39


def test_answers_of_one_screen_count_less():
    T = study(k=10, m=60)
    twice = tc.Triplets(
        np.repeat(T.array, 4, axis=0),
        observers=np.repeat(T.observers, 4),
        screens=np.repeat(np.arange(len(T)), 4),
    )
    once, screens = (check_answers(each, random_state=0).observers[0] for each in (T, twice))
    assert screens.predicted == 4 * once.predicted
    width = np.diff(screens.interval) / np.diff(once.interval)
    assert width == pytest.approx(1.0, abs=0.1)  # and not ½


def test_response_times_are_means_over_screens():
    T = study(k=2, m=4)
    times = [0.5, 0.5, 0.5, 9.0, 0.2, np.nan, 0.4, 0.6]
    timed = tc.Triplets(T, response_times=times)
    slow, fast = check_answers(timed, random_state=0).observers
    assert slow.response_time == pytest.approx(2.625)
    assert fast.response_time == pytest.approx(0.4)
    assert (slow.flags, fast.flags) == ((), ("very fast",))
    shared = tc.Triplets(T, response_times=times, screens=[0, 0, 0, 1, 2, 3, 4, 5])
    assert check_answers(shared, random_state=0).observers[0].response_time == pytest.approx(4.75)


def test_catch_trials():
    T = study(k=3, m=10)
    catch = Catch(np.array([True] * 9 + [False]), np.array([0] * 5 + [1] * 4 + [1]))
    found = check_answers(T, catch=catch, random_state=0)
    assert [(o.catch_passed, o.catch_trials) for o in found.observers] == [(5, 5), (4, 5), (0, 0)]
    assert not any("failed catch trials" in o.flags for o in found.observers)  # 20 % is not more
    worse = check_answers(T, catch=catch._replace(passed=~catch.passed), random_state=0)
    assert [o.flags for o in worse.observers] == [("failed catch trials",)] * 2 + [()]
    assert worse.sentences()[-1] == "1 of 10 catch trials was passed."
    nobody = check_answers(T, catch=catch._replace(observers=None), random_state=0)
    assert nobody.catch_passed == 9
    assert "10 catch trials cannot be matched to an observer." in nobody.sentences()
    with pytest.raises(InputError, match="each of the 10 catch trials"):
        check_answers(T, catch=catch._replace(observers=np.arange(3)))


@pytest.mark.parametrize("answers", [np.int64, np.float64, np.str_])
@pytest.mark.parametrize("trials", [np.int64, np.float64, np.str_, object])
def test_catch_trials_find_numeric_observers(answers, trials):
    T = study(3)
    T = tc.Triplets(T.array, n_objects=N, observers=T.observers.astype(answers))
    catch = Catch(np.zeros(10, dtype=bool), np.full(10, 1).astype(trials))
    failed = check_answers(T, catch=catch, random_state=0).observers[1]
    assert (failed.observer, failed.catch_trials, failed.catch_passed) == ("1", 10, 0)
    assert "failed catch trials" in failed.flags


def test_catch_trials_that_find_nobody_are_said():
    catch = Catch(np.zeros(2, dtype=bool), np.array(["x1", "x2"]))
    with pytest.warns(DataWarning, match="they are by 'x1', 'x2', the answers by '0', '1', '2'"):
        check_answers(study(3), catch=catch, random_state=0)


# --- the arithmetic ---------------------------------------------------------------------------


def test_tails_and_intervals_are_binomial():
    x, n = np.arange(11.0), np.full(11, 10.0)
    np.testing.assert_allclose(at_most(x, n, 0.7), stats.binom.cdf(x, 10, 0.7))
    np.testing.assert_allclose(at_least(x, n, 0.7), stats.binom.sf(x - 1, 10, 0.7))
    low, high = interval(x, n)
    exact = [stats.binomtest(int(k), 10).proportion_ci(method="exact") for k in x]
    np.testing.assert_allclose(np.transpose([low, high]), exact, atol=1e-12)


def test_the_design_effect_of_copies_is_their_number():
    residuals = np.random.default_rng(0).choice([0.3, -0.7], 200)
    ones = np.ones(600, dtype=np.int64)
    clusters = np.repeat(np.arange(200), 3)
    assert design_effect(np.repeat(residuals, 3), ones, clusters) == pytest.approx(3.0)
    assert design_effect(residuals, ones[:200], np.arange(200)) == 1.0


@pytest.mark.parametrize("typical", [0.6, 0.75, 0.9])
def test_the_answers_needed_have_the_power_they_promise(typical):
    n = int(answers_needed(typical))
    most = stats.binom.ppf(0.05, n, typical) - 1  # the largest x with a tail of 5 % at most
    assert stats.binom.cdf(most, n, 0.5) == pytest.approx(0.8, abs=0.12)
    assert math.isinf(answers_needed(0.5))


# --- the whole --------------------------------------------------------------------------------


def quadruplets():
    rng = np.random.default_rng(0)
    rows = [rng.choice(8, 4, replace=False) for _ in range(90)]
    ordered = [r if abs(r[0] - r[1]) < abs(r[2] - r[3]) else r[[2, 3, 0, 1]] for r in rows]
    return tc.Triplets(ordered, observers=np.arange(90) % 3)


@pytest.mark.parametrize(
    "T",
    [
        tc.Triplets([[0, 1, 2]]),
        tc.Triplets([[0, 1, 2], [0, 2, 1], [1, 0, 2]], observers=["a"] * 3),
        tc.Triplets([[0, 1, 2], [0, 2, 1], [1, 0, 2]], observers=["a", "b", "c"]),
        tc.Triplets([["$", "<b>", "c"]] * 2, observers=["<script>", "{who}"]),
        quadruplets(),
    ],
    ids=["one answer", "one observer", "three answers", "odd names", "quadruplets"],
)
def test_every_kind_of_answers_is_described(T):
    found = check_answers(T, random_state=0)
    assert str(found).startswith(found.sentences()[0][:20])
    assert all(line.endswith((".", ").")) for line in found.sentences() + found.warnings())
    assert "nan" not in str(found).lower()
    again = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert again["counts"]["answers"] == len(T)
    assert len(found.records()) == len(found.observers)


def test_quadruplets_are_predicted():
    found = check_answers(quadruplets(), random_state=0)
    assert verdicts(found, "follows the others") == {0, 1, 2}


def test_odd_names_survive_the_warnings_and_the_table():
    rows = study(k=2, m=20).array
    T = tc.Triplets(rows, observers=["{who}"] * 20 + ["a\nb"] * 20, response_times=[0.1] * 40)
    found = check_answers(T, random_state=0)
    assert "'{who}'" in " ".join(found.warnings())
    assert found.table().count("\n") == 2


@pytest.mark.slow
def test_the_seed_makes_it_again():
    T = study(k=12, m=20)
    first = check_answers(T)
    assert check_answers(T, random_state=first.seed).as_dict() == first.as_dict()
    assert check_answers(T, random_state=np.random.default_rng(0)).seed != first.seed


# --- whether observers differ -----------------------------------------------------------------


def people(k=6, m=150, n=8, spread=0.4, seed=0, **more):
    """Answers of k observers, each with a map of their own around a common one."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 2))
    parts = []
    for _ in range(k):
        own = points + spread * rng.normal(size=(n, 2))
        asked = random_comparisons(n, m, replace=True, random_state=rng)
        parts.append(answer(own, asked, noise=0.3, random_state=rng))
    return tc.Triplets(
        np.concatenate(parts), n_objects=n, observers=np.repeat(np.arange(k), m), **more
    )


def differ(T, seed=0):
    prepared = prepare(T)
    nobody = np.zeros(len(prepared.labels), dtype=bool)
    return compare_observers(prepared, nobody, np.random.default_rng(seed))


def test_observers_who_differ_are_noticed():
    found = check_answers(people(), random_state=0)
    assert found.differences.p_value <= 0.01
    assert found.observers_differ
    (said,) = (w for w in found.warnings() if "Observers differ" in w)
    assert "these 6 people" in said
    assert "wider" in said
    alike = check_answers(people(spread=0.0), random_state=0)
    assert alike.differences.p_value > 0.05
    assert not alike.observers_differ
    assert not any("differ from each other" in w for w in alike.warnings())
    assert "No difference between observers was found" in " ".join(alike.sentences())
    assert json.loads(json.dumps(found.as_dict()))["differences"]["p_value"] <= 0.01


def test_the_shuffles_are_those_that_can_be_counted():
    """x says near twice and y far twice: 2 of 6 orders are as extreme."""
    T = tc.Triplets([[0, 1, 2], [0, 1, 2], [0, 2, 1], [0, 2, 1]], observers=list("xxyy"))
    found = differ(T)
    assert found[:2] == (1, 4)
    assert found.p_value == pytest.approx(1 / 3, abs=0.05)
    # Sums over two pairs and two observers: 4·1² in those two orders, and 0 in the other four.
    assert found.ratio == pytest.approx(3.0, rel=0.15)
    votes = tc.Triplets([[0, 1, 2], [0, 2, 1]], weights=[2, 2], observers=["x", "y"])
    assert differ(votes)[:2] == (1, 4)
    assert differ(votes).p_value == pytest.approx(1 / 3, abs=0.05)


def test_observers_who_guess_are_no_sign_that_others_differ():
    found = check_answers(study(k=6, m=200, guessers={0}, reversed_ones={1}), random_state=0)
    assert verdicts(found, "the other way round") == {1}
    assert found.differences.p_value > 0.05


def test_one_answer_stands_for_a_screen():
    T = people(m=60, spread=0.0)
    twice = np.repeat(np.arange(len(T)), 2)
    copies = tc.Triplets(T[twice], screens=twice)
    assert differ(copies)[:2] == differ(T)[:2]
    assert differ(copies).p_value > 0.05


@pytest.mark.parametrize(
    ("T", "why"),
    [
        (study(k=3, m=5), "answered the same comparison differently"),
        (tc.Triplets([[0, 1, 2], [0, 2, 1]], observers=["x", "x"]), "no two observers"),
        (tc.Triplets([[0, 1, 2], [0, 2, 1]], observers=["x", "y"]), "hardly anyone"),
        (people(m=20, weights=np.full(120, 0.5)), "not whole numbers"),
    ],
)
def test_why_differences_cannot_be_told(T, why):
    found = check_answers(T, random_state=0)
    assert found.differences is None
    assert why in found.no_differences
    assert len(found.observers) == 1 or why in " ".join(found.sentences())


# --- positions on the screen ------------------------------------------------------------------


def sided(bias=0.0, stay=0.0, k=6, m=80, seed=0):
    """The answers of `study`, in random positions; some are changed for the left one, or the last.

    Each with its probability.
    """
    rng = np.random.default_rng(seed)
    answers = study(k, m, seed=seed)
    anchor, near, far = answers.array.T
    side = rng.permutation(np.arange(len(near)) % 2)  # of the nearer one
    last = np.roll(side, 1)
    for wanted, often in (np.zeros(len(near), int), bias), (last, stay):
        swap = (rng.random(len(near)) < often) & (side != wanted)
        near, far = np.where(swap, far, near), np.where(swap, near, far)
        side = np.where(swap, wanted, side)
    pairs = np.stack([np.column_stack([anchor, near]), np.column_stack([anchor, far])], axis=1)
    positions = np.column_stack([side, 1 - side])
    zeros = np.zeros(len(near), dtype=int)
    observers = answers.observers
    return tc.Choices(pairs, zeros, positions=positions, observers=observers, n_objects=N)


def test_positions_without_an_effect_need_no_attention():
    found = check_answers(sided(), random_state=0)
    assert not found.side_bias.found
    said = " ".join(found.sentences())
    assert "No side bias was found: the left (first) position was chosen in" in said
    assert "No dependence on the position of the last answer was found" in said
    assert not any("ide bias" in each for each in found.warnings())
    without = check_answers(sided().triplets(), random_state=0)
    assert "position" not in " ".join(without.sentences())
    assert without.side_bias.unknown


def test_choices_between_two_are_checked_like_their_comparisons():
    choices = sided()
    plain = tc.Triplets(choices.triplets().array, n_objects=N, observers=choices.observers)
    found, expected = (check_answers(each, random_state=0) for each in (choices, plain))
    assert found.counts == expected.counts
    assert repr(found.observers) == repr(expected.observers)  # NaN is not equal to itself


def test_a_side_bias_is_reported_with_what_to_do():
    found = check_answers(sided(bias=0.4), random_state=0)
    assert found.side_bias.found
    (said,) = (each for each in found.warnings() if each.startswith("Side bias:"))
    assert "learns it with the map" in said
    assert f"{found.side_bias.positions[0].share:.1%}".replace("%", " %") in said
    written = json.loads(json.dumps(found.as_dict()))
    assert written["side_bias"]["positions"][0]["position"] == 0
    assert written["side_bias"]["p_value"] < 0.05


def test_serial_dependence_is_reported():
    found = check_answers(sided(stay=0.6), random_state=0)
    assert found.serial_dependence.found
    assert any("position of the last one" in each for each in found.warnings())
    assert any("position of their last answer more often" in each for each in found.sentences())


def test_an_observer_who_answers_left_is_named():
    whole = sided(bias=0.0, k=12)
    lazy = sided(bias=1.0, k=12)
    mixed = tc.Choices.concatenate([whole[whole.observers != 3], lazy[lazy.observers == 3]])
    said = check_answers(mixed, random_state=0).warnings()
    assert any(each.startswith("Side bias of 1 observer ('3')") for each in said)


def test_without_anybody_who_could_tell_there_is_nothing_to_check():
    nobody = tc.Choices.odd_one_out([[0, 1, 2], [1, 2, 3]], cannot_tell=[True, True])
    with pytest.raises(InputError, match="in none of the choices could the observer tell"):
        check_answers(nobody)
