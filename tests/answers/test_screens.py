"""How much a comparison counts as a part of its screen."""

from itertools import combinations, permutations

import numpy as np
import pytest
from tercet.answers.screens import screen_weights, weigh_screens

import tercet as tc


def weights_of(rows, screens=None):
    screens = np.zeros(len(rows), dtype=int) if screens is None else screens
    return screen_weights(tc.Triplets(rows, screens=screens))


def chosen_of(k, m):
    """Rows of a screen on which objects 1 to k of 1 to m were chosen, around object 0."""
    return [(0, near, far) for near in range(1, k + 1) for far in range(k + 1, m + 1)]


def ranked(m):
    return [(0, near, far) for near, far in combinations(range(1, m + 1), 2)]


@pytest.mark.parametrize("m", [2, 3, 5, 9])
def test_one_choice_counts_two_by_the_number_of_alternatives(m):
    assert weights_of(chosen_of(1, m)) == pytest.approx(2 / m)


@pytest.mark.parametrize(("k", "m"), [(2, 4), (3, 9), (8, 9), (2, 8)])
def test_so_do_several_of_them(k, m):
    assert weights_of(chosen_of(k, m)) == pytest.approx(2 / m)


@pytest.mark.parametrize("m", [2, 3, 8])
def test_a_full_ranking_counts_three_by_one_more_than_the_alternatives(m):
    assert weights_of(ranked(m)) == pytest.approx(3 / (m + 1))


def test_odd_one_out_and_most_central_are_choices_among_three_pairs():
    odd_one_out = [(0, 1, 2), (1, 0, 2)]
    most_central = [(1, 0, 2), (2, 0, 1)]
    assert weights_of(odd_one_out) == pytest.approx(2 / 3)
    assert weights_of(most_central) == pytest.approx(2 / 3)


def test_the_same_by_quadruplets():
    assert weights_of([(0, 1, 0, 2), (0, 1, 1, 2)]) == pytest.approx(2 / 3)


def test_a_partial_ranking_is_what_the_variance_of_its_score_says():
    """Two of five are ranked, the first of all and the second of the rest: computed one by one."""
    rows = [(0, 1, far) for far in (2, 3, 4, 5)] + [(0, 2, far) for far in (3, 4, 5)]
    scores = []
    for order in permutations(range(5)):  # all equally likely where nobody prefers anything
        score = np.zeros(5)
        for near, far in [(0, j) for j in (1, 2, 3, 4)] + [(1, j) for j in (2, 3, 4)]:
            score[order[near]] += 0.5
            score[order[far]] -= 0.5
        scores.append(score)
    variance = np.trace(np.cov(np.array(scores).T, bias=True))
    assert weights_of(rows) == pytest.approx(0.5 * len(rows) / variance)


def test_single_rows_and_rows_without_a_pair_in_common_are_independent():
    assert weights_of([(0, 1, 2), (0, 1, 2), (3, 1, 2)], [0, 1, 2]) == pytest.approx(1.0)
    assert weights_of([(0, 1, 2), (3, 4, 5)]) == pytest.approx(1.0)
    assert screen_weights(tc.Triplets([(0, 1, 2), (0, 1, 3)])) == pytest.approx(1.0)


def test_what_is_said_twice_on_a_screen_counts_once():
    assert weights_of([(0, 1, 2), (0, 1, 2)]) == pytest.approx(0.5)


def test_a_part_of_a_choice_is_a_choice_among_fewer():
    assert weights_of(chosen_of(1, 9)[:3]) == pytest.approx(2 / 4)


@pytest.mark.parametrize(
    "rows",
    [
        [(0, 1, 2), (0, 2, 1)],
        [(0, 1, 2), (0, 2, 3), (0, 3, 1)],
        [(0, 1, 2), (0, 2, 1), (0, 1, 3)],
        [(0, 1, 2), (0, 2, 3)],  # neighbours in a ranking
    ],
)
def test_contradictions_are_taken_as_independent(rows):
    assert weights_of(rows) == pytest.approx(1.0)


def test_every_screen_has_its_own_weight_whatever_their_order():
    rows = chosen_of(1, 3) + ranked(4) + [(5, 6, 7)]
    screens = np.array(["b"] * 2 + ["a"] * 6 + ["c"])
    expected = np.array([2 / 3] * 2 + [3 / 5] * 6 + [1.0])
    order = np.random.default_rng(0).permutation(len(rows))
    found = weights_of(np.array(rows)[order], screens[order])
    assert found == pytest.approx(expected[order])


def test_observers_may_count_their_screens_from_one():
    rows, screens = chosen_of(1, 3) * 2, [1, 1, 1, 1]
    answers = tc.Triplets(rows, screens=screens, observers=["a", "a", "b", "b"])
    assert screen_weights(answers) == pytest.approx(2 / 3)
    assert answers.number_screens().tolist() == [0, 0, 1, 1]
    assert not tc.Triplets(rows[1:3], screens=[1, 1], observers=["a", "b"]).shares_screens


def test_votes_multiply():
    rows, screens = [(0, 1, 2), (1, 0, 2), (0, 3, 4)], [0, 0, 1]
    answers = tc.Triplets(rows, screens=screens, weights=[3, 3, 5])
    assert weigh_screens(answers).weights == pytest.approx([2, 2, 5])
    assert weigh_screens(answers).screens.tolist() == screens


def test_answers_without_shared_screens_stay_as_they_are():
    answers = tc.Triplets([(0, 1, 2), (1, 0, 2)], screens=[0, 1])
    assert weigh_screens(answers) is answers


@pytest.mark.slow
def test_a_million_rows_take_seconds():
    rng = np.random.default_rng(0)
    three = np.argsort(rng.random((500_000, 20)), axis=1)[:, :3]
    rows = np.concatenate([three, three[:, [1, 0, 2]]])
    answers = tc.Triplets(rows, screens=np.tile(np.arange(500_000), 2))
    assert screen_weights(answers) == pytest.approx(2 / 3)
