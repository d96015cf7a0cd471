import json
import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from tercet import simulate
from tercet.answers.choices import Choices
from tercet.answers.triplets import Triplets
from tercet.bootstrap import Bootstrap
from tercet.ensemble import Ensemble
from tercet.errors import InputError
from tercet.estimators import CKL, SOE, STE
from tercet.metrics import satisfied
from tercet.posterior import Posterior
from tercet.simulate.questions import Question, question_of, settle_question
from tercet.uses.plan import AnswerPlan, Needed, PlanRow, plan_answers, plan_kinds
from tercet.uses.plan.curve import crossing, fewest_worlds, needed_answers
from tercet.uses.plan.worlds import MEASURES, answers_in, best_agreement, drawn_world, made_world

QUICK = {"maker": Posterior(STE(), sampler="laplace", n_samples=100), "repeats": 6}


def plan(n_objects=12, **settings):
    return plan_answers(n_objects, **({"random_state": 0, "noise": 0.2} | QUICK | settings))


@pytest.fixture(scope="module")
def pilot():
    points = np.random.default_rng(3).standard_normal((10, 2))
    return simulate.noisy_triplets(points, 60, noise=0.3, random_state=3)


# --- worlds -----------------------------------------------------------------------------------


def test_the_first_answers_of_a_world_are_always_the_same():
    world = made_world(10, 2, "normal", 0.3, 0.1, (5, 0, 1))
    many = answers_in(world, 2500, (5, 0, 1)).array
    assert many.shape == (2500, 3)
    assert answers_in(world, 0, (5, 0, 1)) is None
    for m in (1, 1024, 1025):
        np.testing.assert_array_equal(answers_in(world, m, (5, 0, 1)).array, many[:m])
    assert (answers_in(world, 100, (5, 0, 2)).array != many[:100]).any()


@pytest.mark.parametrize("kind", ["odd_one_out", "3 of 9", "quadruplet"])
def test_the_first_screens_of_a_world_are_always_the_same(kind):
    world = made_world(10, 2, "normal", 0.3, 0.1, (5, 0, 1), settle_question(kind))
    many = answers_in(world, 1100, (5, 0, 1))
    assert question_of(many) == world.question
    few = answers_in(world, 1030, (5, 0, 1))
    np.testing.assert_array_equal(few.pairs, many[:1030].pairs)


@pytest.mark.parametrize(("noise", "lapse"), [(0.0, 0.0), (0.3, 0.0), (0.5, 0.2)])
def test_people_answer_as_in_the_paper(noise, lapse):
    """The same probabilities as ``simulate.answer``, which perceives two distances."""
    world = made_world(8, 2, "normal", noise, lapse, (1, 0))
    m = 40_000
    asked = simulate.random_comparisons(8, m, replace=True, random_state=0)
    other = simulate.answer(world.points, asked, noise=noise, lapse=lapse, random_state=1)
    shares = [
        satisfied(world.points, rows).mean() for rows in (answers_in(world, m, (1, 0)), other)
    ]
    assert shares[0] == pytest.approx(shares[1], abs=4.5 * math.sqrt(0.5 / m))
    assert best_agreement(world) == pytest.approx(shares[0], abs=4.5 * math.sqrt(0.25 / m))


def test_a_drawn_world_answers_with_its_own_parameters():
    draws = np.random.default_rng(0).standard_normal((3, 6, 2))
    drawn = {"exponent": np.array([1.0, 3.0, 9.0]), "lapse": np.array([0.0, 0.5, 0.1])}
    ensemble = Ensemble(draws, model=CKL().model(), parameters=drawn)
    world = drawn_world(ensemble, 1)
    Q = simulate.all_comparisons(6)
    near, far = (np.sum((draws[1][Q[:, 0]] - draws[1][Q[:, k]]) ** 2, axis=1) for k in (1, 2))
    expected = ensemble[[1]].answer_probability(Q)
    np.testing.assert_allclose(world.answer_probability(near, far), expected, rtol=1e-10)


def test_a_drawn_world_has_the_pilots_ties_and_sides():
    draws = np.random.default_rng(0).standard_normal((2, 6, 2))
    drawn = {"tie": [0.5, 2.0], "bias_0": [0.3, 0.7], "bias_1": [-0.3, -0.7]}
    parameters = {name: np.array(values) for name, values in drawn.items()}
    ensemble = Ensemble(draws, model=STE(2).model(), parameters=parameters)
    people = drawn_world(ensemble, 1, settle_question("1 of 4")).people
    assert (people.tie, people.bias) == (2.0, (0.7, -0.7, 0.0, 0.0))
    given = answers_in(drawn_world(ensemble, 1), 200, (1, 0))
    assert given.may_tie.all()
    assert 0.1 < given.tied.mean() < 0.7


# --- measures ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def near_truth():
    world = made_world(9, 2, "normal", 0.4, 0.1, (2, 0))
    steps = np.random.default_rng(0).standard_normal((200, 9, 2))
    return world, Ensemble(world.points + 0.15 * steps)


def test_measures_are_what_they_say(near_truth):
    world, ensemble = near_truth
    truth = simulate.true_triplets(world.points)
    p = ensemble.triplet_probability(truth)
    assert MEASURES["accuracy"].compute(ensemble, world) == pytest.approx(np.mean(p > 0.5))
    certain = np.maximum(p, 1 - p) > 0.95
    assert MEASURES["sure"].compute(ensemble, world) == pytest.approx(np.mean(certain))
    squared = [
        np.sum((world.points[truth[:, 0]] - world.points[truth[:, k]]) ** 2, 1) for k in (1, 2)
    ]
    predicted = world.answer_probability(*squared)
    expected = np.mean(np.where(p > 0.5, predicted, 1 - predicted))
    assert MEASURES["agreement"].compute(ensemble, world) == pytest.approx(expected)
    assert expected < best_agreement(world)


def test_radius_is_that_of_the_ellipses_and_knows_no_size(near_truth):
    world, ensemble = near_truth
    found = MEASURES["radius"].compute(ensemble, world)
    size = np.sqrt(np.mean(np.sum((world.points - world.points.mean(axis=0)) ** 2, axis=1)))
    # Rotation, shift and size take a little of the spread away: 4 of 18 numbers.
    assert found == pytest.approx(0.15 * math.sqrt(5.991 * 14 / 18) / size, rel=0.1)
    scales = np.random.default_rng(1).uniform(0.5, 2.0, (200, 1, 1))
    resized = Ensemble(ensemble.draws * scales)
    assert MEASURES["radius"].compute(resized, world) == pytest.approx(found, rel=0.02)


# --- from curves to a number ------------------------------------------------------------------


def test_crossing_is_linear_in_the_logarithm():
    steps = np.array([100, 200, 400])
    assert crossing(steps, np.array([0.6, 0.8, 0.9]), 0.7) == pytest.approx(100 * math.sqrt(2))
    assert crossing(steps, np.array([0.6, 0.8, 0.9]), 0.5) == 100
    assert crossing(steps, np.array([0.6, 0.8, 0.9]), 0.95) == math.inf
    # A step down is levelled out: 0.8 and 0.7 become 0.75 twice.
    assert crossing(steps, np.array([0.8, 0.7, 0.9]), 0.775) == pytest.approx(200 * 2 ** (1 / 6))


def test_needed_is_a_quantile_with_an_interval_from_the_order():
    numbers = np.arange(1.0, 11.0) * 100
    assert needed_answers(numbers, 0.5) == Needed(550, 200, 900)
    cover = binom.cdf(8, 10, 0.5) - binom.cdf(1, 10, 0.5)  # 2 to 8 of 10 lie below the median
    assert cover >= 0.95
    numbers[-5:] = math.inf
    assert needed_answers(numbers, 0.5) == Needed(None, 200, None)
    assert needed_answers(np.full(10, math.inf), 0.5) == Needed(None, None, None)
    odd = np.array([1.0, 2.0, 3.0, 4.0, math.inf, math.inf, math.inf])
    assert needed_answers(odd, 0.5).value == 4


def test_interval_holds_what_it_promises():
    rng = np.random.default_rng(0)
    for share, size in ((0.5, 10), (0.8, 17)):
        truth = np.exp(norm.ppf(share))
        found = [needed_answers(1e6 * rng.lognormal(size=size), share) for _ in range(400)]
        held = np.mean([low <= 1e6 * truth <= high for _, low, high in found])
        assert held >= 0.95 - 3 * math.sqrt(0.05 * 0.95 / 400)


@pytest.mark.parametrize(("share", "fewest"), [(0.5, 6), (0.8, 17), (0.9, 36), (0.1, 36)])
def test_fewest_worlds(share, fewest):
    assert fewest_worlds(share) == fewest
    assert max(share, 1 - share) ** fewest <= 0.025 < max(share, 1 - share) ** (fewest - 1)


# --- plans ------------------------------------------------------------------------------------


def test_a_plan_finds_a_number_and_says_it():
    found = plan(target=0.8)
    value, low, high = found.needed
    assert low <= value <= high
    steps = [row.answers for row in found.rows]
    assert steps == sorted(set(steps))
    assert steps[0] < low
    assert high <= steps[-1]
    reached = [row.answers for row in found.rows if row.median >= 0.8]
    assert value <= 1.5 * reached[0]
    assert all(row.low <= row.median <= row.high for row in found.rows)
    assert "80 % of all comparisons right" in found.sentence
    assert "half of such experiments" in found.sentence
    assert str(found).startswith("answers  accuracy")
    record = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert record["needed"]["value"] == value
    assert len(record["by_world"]) == 6


@pytest.mark.slow
def test_same_bits_for_any_number_of_threads():
    one, two = (plan(target=0.75, n_jobs=jobs) for jobs in (1, 2))
    assert one == two
    assert one != plan(target=0.75, random_state=1)


def test_steps_do_not_depend_on_each_other():
    few = plan(answers=[40, 160])
    many = plan(answers=[20, 40, 80, 160])
    assert [row for row in many.rows if row.answers in (40, 160)] == list(few.rows)


@pytest.mark.slow
def test_more_noise_dimensions_or_lapses_need_more():
    settings = {"target": 0.75, "answers": [30, 60, 120, 240]}
    base = plan(**settings).needed.value
    for harder in ({"noise": 0.6}, {"n_components": 4}, {"lapse": 0.3}):
        assert (plan(**settings | harder).needed.value or math.inf) > 1.15 * base, harder


def test_a_radius_gets_smaller():
    found = plan(measure="radius", target=0.5, answers=[60, 240, 960])
    medians = [row.median for row in found.rows]
    assert medians == sorted(medians, reverse=True)
    assert 60 <= found.needed.value <= 960


def test_too_low_a_limit():
    found = plan(target=0.99, limit=60)
    assert found.needed == Needed(None, None, None)
    assert found.rows[-1].answers == 60
    assert found.sentence.startswith("More than 60 answers are needed")
    assert found.as_dict()["by_world"] == [None] * 6


def test_agreement_has_a_best():
    found = plan(noise=1.0, measure="agreement", target=0.9)
    assert 0.6 < found.best < 0.75
    assert found.sentence.startswith("Not reachable")
    assert all(row.median < found.best for row in found.rows)


@pytest.mark.slow
def test_assurance_takes_more_answers_than_half():
    settings = {"answers": [40, 80, 160, 320], "target": 0.75, "repeats": 17}
    assert plan(**settings, assurance=0.8).needed.value > plan(**settings).needed.value


def test_a_bootstrap_makes_plans_too():
    maker = Bootstrap(SOE(), n_samples=5)
    found = plan(maker=maker, answers=[60, 240], target=0.7)
    assert found.rows[1].median > found.rows[0].median


@pytest.mark.slow
def test_the_number_is_enough_for_about_half_of_fresh_worlds():
    value = plan(target=0.8, random_state=5, repeats=20).needed.value
    fresh = plan(target=0.8, random_state=6, repeats=20, answers=[value - 1, value])
    reached = np.isfinite(fresh.by_world).sum()
    assert 3 <= reached <= 17  # P < .002 either way, were it half


# --- a pilot ----------------------------------------------------------------------------------


def test_a_pilot_says_how_many_more(pilot):
    found = plan(None, like=pilot, noise=None, target=0.8)
    assert found.pilot == 60
    assert found.rows[0].answers == 0
    assert found.n_objects == 10
    assert found.noise is None
    assert found.needed.value > 0
    assert "more answers" in found.sentence
    easy = plan(None, like=pilot, noise=None, target=0.52, answers=[0, 10])
    assert easy.needed.value == 0
    assert easy.sentence.startswith("No more answers are needed")


def test_an_ensemble_plans_a_new_experiment(pilot):
    ensemble = Posterior(STE(2), sampler="laplace", n_samples=50, random_state=0).fit(pilot)
    found = plan(None, like=ensemble.ensemble_, noise=None, answers=[40, 160])
    assert found.pilot == 0
    assert [row.answers for row in found.rows] == [40, 160]


def test_votes_of_a_pilot_are_answers(pilot):
    twice = Triplets(pilot.array, n_objects=10, weights=np.full(60, 2.0))
    found = plan(None, like=twice, noise=None, answers=[0, 10])
    assert found.pilot == 120


@pytest.fixture
def fitted(monkeypatch):
    """The answers of all fits in a test."""
    seen, original = [], Posterior._fit_quietly

    def fit(maker, answers):
        seen.append(answers)
        return original(maker, answers)

    monkeypatch.setattr(Posterior, "_fit_quietly", fit)
    return seen


@pytest.mark.parametrize(("votes", "kind", "size"), [(1, None, 3), (2, None, 3), (1, "triplet", 2)])
def test_screens_of_a_pilot_are_choices(pilot, fitted, votes, kind, size):
    choices = Choices.odd_one_out(pilot.array, n_objects=10, weights=np.full(60, votes))
    for like in (choices, choices.triplets()):
        found = plan(None, like=like, noise=None, answers=[0, 10], n_jobs=1, kind=kind)
        assert found.pilot == 60 * votes
        assert found.question.kind == (kind or "odd_one_out")
        first, *others = fitted
        assert isinstance(first, Choices)
        assert first.n_answers == 60 * votes
        assert {len(each) for each in others} == {60 * votes, 60 * votes + 10}
        for each in others:
            assert each[: 60 * votes].n_alternatives.tolist() == [3] * 60 * votes
            assert each[60 * votes :].n_alternatives.tolist() == [size] * (len(each) - 60 * votes)
        fitted.clear()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["quadruplet", "ranking"])
def test_a_pilot_says_what_is_asked(kind):
    points = np.random.default_rng(3).standard_normal((8, 2))
    answers = simulate.choices(points, 60, kind, noise=0.3, observers=2, random_state=0)
    for like in (answers, answers.triplets()):
        found = plan(None, like=like, noise=None, answers=[0, 20], target=0.7)
        assert found.question == question_of(answers)
        assert f"more {found.question.plural}" in str(found)


# --- questions of other kinds -----------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "counted"), [("odd_one_out", "odd-one-out screens"), ("3 of 9", "3-of-9 screens")]
)
def test_a_plan_of_screens(kind, counted, fitted):
    found = plan(kind=kind, answers=[4, 60], target=0.75, n_jobs=1)
    assert found.rows[0].median < found.rows[1].median
    assert 4 < found.needed.value <= 60
    assert f"{counted} (between" in found.sentence
    assert str(found).startswith(f"{counted}  accuracy")
    assert {len(each) for each in fitted} == {4, 60}
    assert {question_of(each).name for each in fitted} == {found.question.name}
    assert found.as_dict()["question"]["kind"] == found.question.kind


@pytest.mark.slow
def test_screens_are_searched_for_from_fewer():
    found = plan(kind="3 of 9", target=0.7)
    assert found.rows[0].answers < 12  # one answer per object, were they triplets
    assert found.needed.low <= found.needed.value <= found.needed.high


@pytest.mark.slow
def test_noise_given_as_agreement():
    found = plan(12, noise=None, agreement=0.7, kind="odd_one_out", answers=[10, 40], target=0.6)
    assert found.agreement == 0.7
    assert "at which two people agree in 70 % of such questions (odd one out)" in found.sentence
    shares = [
        simulate.expected_agreement(
            np.random.default_rng(seed).standard_normal((60, 2)), "odd_one_out", noise=found.noise
        )
        for seed in range(5)
    ]
    assert np.mean(shares) == pytest.approx(0.7, abs=0.01)


@pytest.mark.slow
def test_kinds_beside_each_other():
    kinds = ["odd_one_out", "3 of 9"]
    settings = {**QUICK, "target": 0.75, "answers": [5, 20, 80], "agreement": 0.75}
    found = plan_kinds(12, kinds=kinds, random_state=0, **settings)
    assert [plan.question.kind for plan in found.plans] == ["odd_one_out", "nearest"]
    assert found.plans[0].noise == found.plans[1].noise
    assert found.worth[0] == 1.0
    assert found.worth[1] > 1.5
    assert found.plans[0] == plan(12, noise=None, kind="odd_one_out", **settings)
    assert found.sentence.startswith("For a map that gets 75 % of all comparisons right, about")
    assert "two people agree in 75 % of such questions (odd one out)" in found.sentence
    assert str(found).splitlines()[0].split("  ")[-1] == "worth (odd one out = 1)"
    assert json.loads(json.dumps(found.as_dict(), allow_nan=False))["worth"][0] == 1.0
    with pytest.raises(InputError, match="kinds must be a list"):
        plan_kinds(12, kinds="triplet")


def test_agreement_of_a_map_with_choices():
    """Prediction of whole outcomes: the true map is best, and guesses one in three."""
    world = made_world(9, 2, "normal", 0.4, 0.1, (2, 0), settle_question("odd_one_out"))
    steps = np.random.default_rng(0).standard_normal((100, 9, 2))
    model = CKL().model()
    near = Ensemble(world.points + 0.05 * steps, model=model)
    wrong = Ensemble(np.roll(world.points, 1, axis=0) + 0.05 * steps, model=model)
    best = best_agreement(world)
    compute = MEASURES["agreement"].compute
    assert compute(wrong, world) < compute(near, world) <= best + 0.01
    asked = simulate.random_questions(9, 20_000, "odd_one_out", random_state=1)
    given = simulate.answer(world.points, asked, noise=0.4, lapse=0.1, random_state=2)
    right = satisfied(world.points, given).mean()
    assert best == pytest.approx(right, abs=0.03)
    with pytest.raises(InputError, match="a maker with a probabilistic model"):
        compute(Ensemble(world.points + 0.05 * steps), world)


# --- words ------------------------------------------------------------------------------------


def words(**changes):
    settings = {
        "measure": "accuracy",
        "target": 0.9,
        "assurance": 0.5,
        "needed": Needed(1283, 1107, 1425),
        "rows": (PlanRow(700, 0.85, 0.83, 0.87), PlanRow(1400, 0.91, 0.9, 0.92)),
        "by_world": (1283.0,) * 6,
        "best": None,
        "n_objects": 60,
        "n_components": 2,
        "question": Question("triplet", 2, 1),
        "noise": 0.3,
        "agreement": None,
        "lapse": 0.0,
        "pilot": 0,
        "poor": 0,
    }
    return AnswerPlan(**settings | changes).sentence


def test_sentences():
    assert words() == (
        "About 1 300 answers (between 1 100 and 1 500) are needed for a map that gets 90 % of all "
        "comparisons right; with that many, half of such experiments reach the target."
    )
    assert "and more than 1 400)" in words(needed=Needed(1283, 1107, None))
    assert words(needed=Needed(700, 700, 700)).startswith("700 answers or fewer are enough")
    assert "95 % of such experiments" in words(assurance=0.95)
    assert "Caution: in 2 of 12 fits" in words(poor=2)
    nowhere = {"needed": Needed(None, None, None)}
    assert "It still improves" in words(**nowhere, target=0.95)
    flat = (PlanRow(700, 0.8, 0.7, 0.9), PlanRow(1400, 0.801, 0.7, 0.9))
    assert "out of reach in practice" in words(**nowhere, rows=flat)
    reached = (PlanRow(700, 0.92, 0.88, 0.94), PlanRow(1400, 0.921, 0.89, 0.94))
    said = words(**nowhere, rows=reached, assurance=0.95)
    assert "Half of such experiments reach it, but not 95 %" in said
    small = (PlanRow(700, 0.19, 0.1, 0.3), PlanRow(1400, 0.18, 0.1, 0.3))
    said = words(**nowhere, rows=small, assurance=0.95, measure="radius", target=0.2)
    assert "Half of such experiments reach it, but not 95 %" in said


# --- bad input --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_objects": 3}, "n_objects must be a whole number from 4, got 3"),
        ({"n_objects": None}, "n_objects must be"),
        ({"n_components": 11}, "n_components must be a whole number from 1 to 10"),
        ({"noise": -1.0}, "noise must be"),
        ({"lapse": 1.0}, "lapse must be a share"),
        ({"shape": "line"}, "shape must be one of 'normal', 'mixture'"),
        ({"shape": "mixture", "n_components": 3}, "two dimensions.*got 3"),
        ({"measure": "beauty"}, "measure must be one of"),
        ({"target": 0.4}, "between 0.5 and 1, got 0.4"),
        ({"measure": "radius", "target": 0.0}, "above 0"),
        ({"target": math.nan}, "got nan"),
        ({"assurance": 1.0}, "assurance must lie"),
        ({"assurance": 0.9}, "repeats must be at least 36"),
        ({"repeats": 5}, "repeats must be at least 6"),
        ({"limit": 5}, "limit must be"),
        ({"answers": [100]}, "two or more increasing whole numbers"),
        ({"answers": [0, 100]}, "two or more increasing whole numbers"),
        ({"answers": [200, 100]}, "increasing"),
        ({"kind": "odd"}, "kind must be one of 'triplet', .* got 'odd'"),
        ({"kind": "3 of 12"}, "'3 of 12' is about 13 objects, and there are only 12"),
        ({"shown": 5}, "shown has no meaning for kind='triplet'"),
        ({"agreement": 0.74}, "either noise or agreement"),
        ({"noise": None, "agreement": 0.5}, "agreement must be above 0.5"),
        ({"noise": None, "agreement": 0.9, "lapse": 0.4}, "agreement cannot be 0.9"),
        ({"kind": "odd_one_out", "measure": "agreement", "target": 0.3}, "between 0.333 and 1"),
        ({"kind": "3 of 9", "limit": 1}, "limit must be a whole number of at least 2"),
        ({"maker": STE()}, "maker must be an unfitted Posterior or Bootstrap"),
        ({"like": [[0, 1]]}, "like must be the answers of a pilot, or an Ensemble"),
        ({"like": STE()}, "two dimensions"),
    ],
)
def test_bad_input_is_told(settings, message):
    with pytest.raises(InputError, match=message):
        plan(**settings)


def test_a_pilot_may_be_an_array_as_well(pilot):
    found = [
        plan(None, noise=None, like=like, answers=[0, 20]) for like in (pilot, pilot.array.tolist())
    ]
    assert found[0].rows == found[1].rows


def test_a_pilot_contradicted(pilot):
    for settings, message in (
        ({"noise": 0.3}, "leave noise out"),
        ({"noise": None, "n_objects": 11}, "has 10 objects"),
        ({"noise": None, "n_components": 9}, "from 1 to 8"),
    ):
        with pytest.raises(InputError, match=message):
            plan(**({"n_objects": None, "like": pilot} | settings))
    mute = Ensemble(np.random.default_rng(0).standard_normal((5, 10, 2)))
    with pytest.raises(InputError, match="this one cannot simulate answers"):
        plan(None, like=mute, noise=None)
    with pytest.raises(InputError, match="leave agreement out"):
        plan(None, like=pilot, noise=None, agreement=0.7)
