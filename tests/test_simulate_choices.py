import math
from itertools import combinations, permutations

import numpy as np
import pytest
from scipy.stats import chisquare
from tests.luce import by_definition

import tercet as tc
from tercet.answers.repeats import number_outcomes
from tercet.errors import InputError
from tercet.kinds import BEST_WORST, FARTHEST, UNORDERED
from tercet.metrics import satisfied
from tercet.simulate import (
    all_comparisons,
    answer,
    choices,
    expected_agreement,
    noise_for_agreement,
    noisy_triplets,
    random_questions,
    scale_for_agreement,
)
from tercet.simulate.questions import question_of, settle_question

POINTS = np.random.default_rng(7).standard_normal((12, 2))
STE = tc.STE(2).model()
# A kind, how many objects are needed to have few questions, their number, and of outcomes of each.
SMALL = [
    ("triplet", 3, 3, 2),
    ("quadruplet", 4, 3, 2),
    ("odd_one_out", 3, 1, 3),
    ("most_central", 3, 1, 3),
    ("2 of 4", 5, 5, 6),
    ({"kind": "nearest", "shown": 4, "chosen": 2, "ranked": True}, 5, 5, 12),
    ({"kind": "ranking", "shown": 3}, 4, 4, 6),
    ("best_worst", 5, 5, 12),
]
KINDS = [kind for kind, *_ in SMALL]


def ask(kind):
    return kind if isinstance(kind, dict) else {"kind": kind}


def counted(given):
    """One choice of each outcome that occurs, and how often it does."""
    _, outcome = number_outcomes(given)
    _, first, count = np.unique(outcome, return_index=True, return_counts=True)
    return given[first], count


def distances(points, given):
    """Distances (m, a) of the alternatives of choices of one form."""
    apart = points[given.pairs[:, 0]] - points[given.pairs[:, 1]]
    return np.sqrt((apart**2).sum(axis=1)).reshape(len(given), -1)


def said(given):
    """What was chosen, (m, k): the same for the same outcome."""
    k = given.n_chosen[0]
    pairs = (given.pairs @ [given.n_objects, 1]).reshape(len(given), -1)[:, :k]
    return np.sort(pairs, axis=1) if given.kinds[0] == UNORDERED else pairs


# ---- frequencies of answers


@pytest.mark.parametrize(("kind", "n", "n_questions", "n_outcomes"), SMALL)
def test_answers_of_a_model_have_its_probabilities(kind, n, n_questions, n_outcomes):
    lapse, m, points = 0.1, 6000, 0.8 * POINTS[:n]
    given = choices(points, m, **ask(kind), model=STE, lapse=lapse, random_state=3)
    outcomes, count = counted(given)
    assert len(outcomes) == n_questions * n_outcomes
    similarity = np.exp(-(distances(points, outcomes) ** 2))
    form, k = int(given.kinds[0]), int(given.n_chosen[0])
    p = np.array([by_definition(form, k, row.tolist()) for row in similarity])
    expected = m / n_questions * ((1 - lapse) * p + lapse / n_outcomes)
    assert expected.sum() == pytest.approx(m)
    assert chisquare(count, expected).pvalue > 1e-4


def perceived(form, k, delta, sigma, size=400_000):
    """How often each outcome has the smallest perceived distances, from the definition."""
    a = len(delta)
    z = np.log(delta) + sigma * np.random.default_rng(0).standard_normal((size, a))
    order = np.argsort(z, axis=1)
    if form == FARTHEST:
        return {(j,): np.mean(order[:, -1] == j) for j in range(a)}
    if form == BEST_WORST:
        both = order[:, [0, -1]]
        return {some: np.mean((both == some).all(1)) for some in permutations(range(a), 2)}
    if form == UNORDERED:
        first = np.sort(order[:, :k], axis=1)
        return {some: np.mean((first == some).all(1)) for some in combinations(range(a), k)}
    return {some: np.mean((order[:, :k] == some).all(1)) for some in permutations(range(a), k)}


@pytest.mark.parametrize(("kind", "n", "_", "n_outcomes"), SMALL)
def test_noise_is_that_of_perceived_distances(kind, n, _, n_outcomes):
    sigma, m = 1.0, 4000
    asked = random_questions(n, 1, **ask(kind), random_state=1)[np.zeros(m, dtype=int)]
    outcomes, count = counted(answer(POINTS, asked, noise=sigma, random_state=2))
    form, k = int(asked.kinds[0]), int(asked.n_chosen[0])
    p = perceived(form, k, distances(POINTS, asked[:1])[0], sigma)
    place = {tuple(pair): j for j, pair in enumerate(asked[:1].pairs.tolist())}
    found = dict.fromkeys(p, 0)
    for outcome, times in zip(outcomes, count.tolist(), strict=True):
        some = [place[tuple(pair)] for pair in outcome.pairs[:k].tolist()]
        found[tuple(sorted(some) if form == UNORDERED else some)] = times
    expected = m * np.array(list(p.values()))
    assert len(expected) == n_outcomes
    assert expected.min() > 5
    assert chisquare(list(found.values()), expected).pvalue > 1e-4


@pytest.mark.parametrize("kind", KINDS)
def test_without_noise_answers_are_true_and_lapses_uniform(kind):
    exact = choices(POINTS, 300, **ask(kind), random_state=0)
    assert satisfied(POINTS, exact).all()
    n, n_outcomes = next(row[1::2] for row in SMALL if row[0] is kind)
    guessed = choices(POINTS[:n], 4000, **ask(kind), lapse=1.0, random_state=0)
    _, count = counted(guessed)
    assert chisquare(count).pvalue > 1e-4
    assert len(count) % n_outcomes == 0


def test_equal_distances_are_told_by_a_coin():
    square = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])
    asked = tc.Choices.nearest([0] * 3000, [[1, 2, 3]] * 3000, [1] * 3000)
    for noise in (0.0, 0.5):
        _, count = counted(answer(square, asked, noise=noise, random_state=0))
        assert chisquare(count).pvalue > 1e-4
    same = np.zeros((4, 2))  # all distances are zero, with any noise
    assert len(counted(answer(same, asked, noise=0.5, random_state=0))[1]) == 3


def test_choices_among_two_pairs_are_comparisons():
    rows = all_comparisons(5)
    asked = tc.Choices.nearest(rows[:, 0], rows[:, 1:], rows[:, 1], n_objects=5)
    points = POINTS[:5]
    truth = answer(points, rows)
    np.testing.assert_array_equal(answer(points, asked).triplets().array, truth)
    matrix = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
    np.testing.assert_array_equal(
        answer(matrix, asked, precomputed=True).pairs, answer(points, asked).pairs
    )
    with pytest.raises(InputError, match="square"):
        answer(points, asked, precomputed=True)


@pytest.mark.parametrize("kind", ["odd_one_out", "most_central", "1 of 3"])
def test_ties_and_sides_have_their_odds(kind):
    """Among equal distances the odds are ν for "cannot tell" and exp(b) for each position."""
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, math.sqrt(0.75)]])
    points = np.vstack([corners, [[0.5, math.sqrt(1 / 12)]]]) if kind == "1 of 3" else corners
    bias, tie, m = np.array([0.8, 0.1, -0.9]), 1.5, 6000
    given = choices(points, m, kind, model=STE, tie=tie, bias=bias, random_state=0)
    if kind == "1 of 3":  # only those with the centre as the anchor have equal distances
        given = given[(given.pairs.reshape(m, -1) == 3).sum(axis=1) == 3]
    position = given.positions[given.cuts[:-1]]
    count = np.bincount(np.where(given.tied, 3, position), minlength=4)
    odds = np.array([*np.exp(bias), tie])
    assert chisquare(count, len(given) * odds / odds.sum()).pvalue > 1e-4
    assert question_of(given) == settle_question(kind)


# ---- questions


@pytest.mark.parametrize(("kind", "n", "n_questions", "n_outcomes"), SMALL)
def test_questions_are_uniform_and_recognised(kind, n, n_questions, n_outcomes):
    asked = random_questions(n + 1, 4000, **ask(kind), random_state=0)
    question = settle_question(**ask(kind))
    assert question_of(asked) == question
    assert question.n_outcomes == n_outcomes
    assert set(asked.n_outcomes) == {n_outcomes}
    assert len(np.unique(asked[:1].pairs)) == question.n_objects == n
    _, count = np.unique(number_outcomes(asked)[0], return_counts=True)
    assert len(count) == n_questions * (n + 1)
    assert chisquare(count).pvalue > 1e-4
    places = asked.positions.reshape(4000, -1)
    assert (np.sort(places, axis=1) == np.arange(question.n_alternatives)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_places_on_the_screen_do_not_matter(kind):
    given = choices(POINTS, 3000, **ask(kind), noise=0.3, random_state=0)
    first = given.positions[given.cuts[:-1]]
    assert chisquare(np.bincount(first)).pvalue > 1e-4


def test_mixtures_are_no_question():
    odd, nearest = choices(POINTS, 5, random_state=0), choices(POINTS, 5, "1 of 4", random_state=0)
    assert question_of(tc.Choices.concatenate([odd, nearest])) is None
    three_pairs = tc.Choices([[[0, 1], [2, 3], [4, 5]]], [0])
    assert question_of(three_pairs) is None


# ---- observers


def test_observers_have_equal_shares_or_maps_of_their_own():
    same = choices(POINTS, 10, observers=3, random_state=0)
    assert np.bincount(same.observers).tolist() == [4, 3, 3]
    named = choices(POINTS, 2, observers=["ann", "bob"], random_state=0)
    assert named.observers.tolist() == ["ann", "bob"]
    maps = np.stack([POINTS, POINTS[::-1]])
    own = choices(maps, 200, "3 of 9", random_state=0)
    for who, points in enumerate(maps):
        mine = own[own.observers == who]
        assert len(mine) == 100
        assert satisfied(points, mine).all()
    assert not satisfied(POINTS, own).all()


# ---- files


@pytest.mark.parametrize("kind", [*KINDS, "3 of 9"])
def test_a_file_keeps_the_choices(kind, tmp_path):
    given = choices(POINTS, 60, **ask(kind), noise=0.3, observers=4, random_state=0)
    tc.write_triplets(given.triplets(), tmp_path / "answers.csv")
    found = tc.read_answers(tmp_path / "answers.csv", n_objects=12)
    found = found if isinstance(found, tc.Choices) else tc.Choices.from_triplets(found)
    for field in ("pairs", "cuts", "kinds", "n_chosen", "observers"):
        np.testing.assert_array_equal(getattr(found, field), getattr(given, field))


# ---- agreement


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "agreement"), [("triplet", 0.74), ("odd_one_out", 0.6), ("3 of 9", 0.2)]
)
def test_two_people_agree_as_often_as_told(kind, agreement):
    sigma = noise_for_agreement(agreement, POINTS, kind, lapse=0.05)
    asked = random_questions(12, 20_000, kind, random_state=5)
    one, other = (
        said(answer(POINTS, asked, noise=sigma, lapse=0.05, random_state=seed)) for seed in (1, 2)
    )
    share = (one == other).all(axis=1).mean()
    # Five standard errors of this share, and what the search may be wrong by.
    assert share == pytest.approx(agreement, abs=5 * math.sqrt(0.25 / 20_000) + 0.003)
    assert sigma == noise_for_agreement(agreement, POINTS, kind, lapse=0.05)


@pytest.mark.slow
def test_agreement_about_triplets_in_closed_form():
    sigma = noise_for_agreement(0.74, POINTS)
    rows = all_comparisons(12)
    near, far = tc.metrics.squared_distances(POINTS, rows)
    p = tc.simulate.people.People(sigma).probability(near, far, 2)
    assert np.mean(p**2 + (1 - p) ** 2) == pytest.approx(0.74, abs=0.004)
    pilot = noisy_triplets(POINTS, 300, agreement=0.74, random_state=0)
    by_noise = noisy_triplets(POINTS, 300, noise=sigma, random_state=0)
    np.testing.assert_array_equal(pilot.array, by_noise.array)


@pytest.mark.slow
def test_agreement_sets_the_size_of_a_models_map():
    scale = scale_for_agreement(0.6, POINTS, STE, "odd_one_out")
    found = expected_agreement(scale * POINTS, "odd_one_out", model=STE)
    assert found == pytest.approx(0.6, abs=0.002)
    one = choices(POINTS, 200, model=STE, agreement=0.6, random_state=0)
    other = choices(scale * POINTS, 200, model=STE, random_state=0)
    np.testing.assert_array_equal(one.pairs, other.pairs)
    with pytest.raises(InputError, match="do not depend on the size of the map"):
        scale_for_agreement(0.6, POINTS, tc.CKL(2, mu=0.0).model())


@pytest.mark.parametrize("value", [0.0, 1.0, 74, -0.1, math.nan, "74%", True, None])
def test_agreement_is_a_share(value):
    with pytest.raises(InputError, match="agreement is the share of questions"):
        noise_for_agreement(value, POINTS)


@pytest.mark.parametrize(
    ("value", "settings", "message"),
    [
        (0.5, {}, "must be above 0.5, .* 'triplet', got 0.5"),
        (0.3, {"kind": "odd_one_out"}, "must be above 0.333"),
        (0.9, {"lapse": 0.3}, "with a lapse of 0.3 agree in only 7"),
    ],
)
def test_impossible_agreement(value, settings, message):
    with pytest.raises(InputError, match=message):
        noise_for_agreement(value, POINTS, **settings)


def test_agreement_next_to_guessing():
    twins = np.repeat(POINTS[:3], 3, axis=0)  # twins are nearest under any noise
    with pytest.raises(InputError, match="too close to guessing"):
        noise_for_agreement(0.51, twins)


# ---- bad input


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"kind": "odd"}, "kind must be one of 'triplet', .*'3 of 9', got 'odd'"),
        ({"kind": 3}, "kind must be one of"),
        ({"kind": "3 of 9", "shown": 5}, "leave those out"),
        ({"kind": "9 of 3"}, "chosen must be a whole number from 1 to 2"),
        ({"kind": "nearest", "shown": 1}, "shown must be a whole number from 2"),
        ({"kind": "nearest", "chosen": 1.5}, "chosen must be a whole number"),
        ({"kind": "best_worst", "shown": 3}, "of three, that is a ranking, got 3"),
        ({"kind": "ranking", "chosen": 2}, "chosen has no meaning for kind='ranking'"),
        ({"kind": "odd_one_out", "ranked": True}, "ranked has no meaning"),
        ({"kind": "3 of 12"}, "is about 13 objects, and there are only 12"),
        ({"m": 0}, "number of questions"),
        ({"noise": -1.0}, "noise must be"),
        ({"lapse": 2.0}, "lapse is a share"),
        ({"noise": 0.3, "agreement": 0.7}, "either noise or agreement"),
        ({"noise": 0.3, "model": STE}, "either noise or model"),
        ({"model": tc.SOE(2).model()}, "gives no probability of a choice"),
        ({"tie": 1.0}, "tie and bias are odds of answers by a model"),
        ({"model": STE, "tie": -1.0}, "tie must be zero or a positive number"),
        ({"model": STE, "bias": [0.1, -0.1]}, "have 3 positions, got 2 log-odds"),
        ({"model": STE, "bias": [0.1, np.nan, 0.0]}, "one finite log-odds"),
        ({"observers": 0}, "observers must be a whole number from 1"),
        ({"observers": [1, 2]}, "observers must be 20 labels"),
        ({"points": POINTS[0]}, "points must have shape"),
        ({"points": POINTS * np.nan}, "not finite"),
        ({"points": np.stack([POINTS] * 2), "agreement": 0.7}, "people who share one map"),
        ({"points": np.stack([POINTS] * 2), "observers": 3}, "has 2 maps"),
    ],
)
def test_unusable_settings_are_named(settings, message):
    with pytest.raises(InputError, match=message):
        choices(**({"points": POINTS, "m": 20} | settings))
