import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tercet import Choices, InputError, Triplets, simulate
from tercet.answers.choices import number_choices
from tercet.answers.questions import (
    UNITS,
    deal,
    default_unit,
    find_questions,
    number_comparisons,
    number_units,
)

N = 6


@st.composite
def triplets(draw):
    row = st.permutations(range(N)).map(lambda order: order[:3])
    return np.array(draw(st.lists(row, min_size=1, max_size=30)))


@st.composite
def quadruplets(draw):
    row = st.permutations(range(N)).map(lambda order: order[:4])
    return np.array(draw(st.lists(row, min_size=1, max_size=30)))


def numbers(rows):
    return number_comparisons(Triplets(rows, n_objects=N))


def same_parts(a, b):
    """Whether two numberings put the same rows together."""
    return np.array_equal(a[:, None] == a, b[:, None] == b)


# --- comparisons ------------------------------------------------------------------------------


@given(triplets())
def test_either_answer_is_the_same_question(rows):
    both = numbers(np.concatenate([rows, rows[:, [0, 2, 1]]]))
    np.testing.assert_array_equal(both[: len(rows)], both[len(rows) :])


@given(quadruplets())
def test_the_order_of_and_in_pairs_makes_no_question(rows):
    turned = [rows, rows[:, [2, 3, 0, 1]], rows[:, [1, 0, 2, 3]], rows[:, [3, 2, 1, 0]]]
    parts = np.split(numbers(np.concatenate(turned)), 4)
    for part in parts[1:]:
        np.testing.assert_array_equal(part, parts[0])


@given(triplets())
def test_triplets_as_quadruplets_are_the_same_questions(rows):
    assert same_parts(numbers(rows), numbers(rows[:, [1, 0, 0, 2]]))


@given(triplets(), st.permutations(range(N)))
def test_other_numbers_for_the_objects_make_no_question(rows, order):
    assert same_parts(numbers(rows), numbers(np.array(order)[rows]))


def test_all_comparisons_are_different_questions():
    rows = simulate.all_comparisons(N)
    np.testing.assert_array_equal(np.sort(numbers(rows)), np.arange(len(rows)))
    # The anchor counts: 0 between 1 and 2 is not 1 between 0 and 2.
    assert len(np.unique(numbers([[0, 1, 2], [1, 0, 2], [2, 0, 1]]))) == 3


# --- units ------------------------------------------------------------------------------------


def labelled(**more):
    return Triplets([[0, 1, 2], [0, 2, 1], [1, 2, 3], [3, 0, 1]], **more)


def test_units_are_numbered_from_zero():
    T = labelled(observers=["b", "a", "b", "b"], screens=[7, 7, 3, 9])  # each has their own 7
    np.testing.assert_array_equal(number_units(T, "answer"), [0, 1, 2, 3])
    np.testing.assert_array_equal(number_units(T, "observer"), [1, 0, 1, 1])
    assert same_parts(number_units(T, "comparison"), np.array([0, 0, 1, 2]))
    for unit in UNITS:
        assert number_units(T, unit).dtype == np.int64


def test_units_of_choices_are_numbered_from_zero():
    rows = [[0, 1, 2], [0, 2, 1], [1, 2, 3], [3, 2, 1]]  # two questions, each asked twice
    choices = Choices.odd_one_out(rows, observers=["b", "a", "b", "b"], screens=[7, 8, 7, 9])
    np.testing.assert_array_equal(number_units(choices, "answer"), [0, 1, 2, 3])
    np.testing.assert_array_equal(number_units(choices, "observer"), [1, 0, 1, 1])
    assert same_parts(number_units(choices, "screen"), np.array([0, 0, 1, 1]))
    with pytest.raises(InputError, match="these are choices on screens: use unit='screen'"):
        number_units(choices, "comparison")
    for unit in ("answer", "screen", "observer"):
        assert number_units(choices, unit).dtype == np.int64


def test_by_default_a_question_is_a_unit():
    assert default_unit(labelled()) == "comparison"
    np.testing.assert_array_equal(number_units(labelled()), number_comparisons(labelled()))
    alone = labelled(screens=[7, 8, 3, 9])  # screens of one comparison
    assert default_unit(alone) == "comparison"
    np.testing.assert_array_equal(number_units(alone, "screen"), number_comparisons(alone))
    choices = Choices.odd_one_out([[0, 1, 2], [0, 2, 1], [1, 2, 3]])
    assert default_unit(choices) == "screen"
    np.testing.assert_array_equal(number_units(choices), number_choices(choices))


@pytest.mark.parametrize(
    ("answers", "unit"),
    [
        (labelled(), "observer"),
        (labelled(), "screen"),
        (Choices.odd_one_out([[0, 1, 2]]), "observer"),
    ],
)
def test_units_that_the_answers_do_not_know(answers, unit):
    with pytest.raises(
        InputError, match=rf"{unit}s of the answers are unknown.*in Python: {unit}s="
    ):
        number_units(answers, unit)


def test_an_unknown_unit_is_named():
    with pytest.raises(InputError, match="'screen', 'observer', got 'person'"):
        number_units(labelled(), "person")


# --- folds ------------------------------------------------------------------------------------


@given(st.lists(st.integers(1, 9), min_size=2, max_size=40), st.data())
def test_folds_are_of_whole_units_and_none_is_empty(sizes, data):
    units = np.repeat(np.arange(len(sizes)), sizes)
    units = np.random.default_rng(0).permutation(units)
    k = data.draw(st.integers(2, len(sizes)))
    fold = deal(units, k, np.random.default_rng(data.draw(st.integers(0, 99))))
    assert set(fold) == set(range(k))
    for unit in range(len(sizes)):
        assert len(set(fold[units == unit])) == 1


@given(st.lists(st.integers(1, 5), min_size=40, max_size=80), st.integers(2, 6))
def test_folds_have_about_as_many_rows(sizes, k):
    units = np.repeat(np.arange(len(sizes)), sizes)
    counts = np.bincount(deal(units, k, np.random.default_rng(0)))
    # Each end of a fold is half a unit off at most.
    assert np.abs(counts - len(units) / k).max() <= max(sizes)


def test_equal_units_are_dealt_evenly():
    counts = np.bincount(deal(np.arange(103), 10, np.random.default_rng(0)))
    assert set(counts) == {10, 11}


def test_one_large_unit_leaves_no_fold_empty():
    units = np.array([0] * 100 + [1, 2, 3])
    fold = deal(units, 4, np.random.default_rng(0))
    assert set(fold) == {0, 1, 2, 3}


def test_another_draw_deals_otherwise():
    first, again, other = (deal(np.arange(50), 5, np.random.default_rng(s)) for s in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.parametrize("k", [1, 4])
def test_folds_that_cannot_be(k):
    with pytest.raises(InputError, match=rf"{k} folds of 3 units are impossible; use 2 to 3"):
        deal(np.array([0, 1, 2, 2]), k, np.random.default_rng(0))


# --- the questions themselves -----------------------------------------------------------------


@given(st.one_of(triplets(), quadruplets()))
def test_questions_have_their_pairs_in_order_and_rows_say_which_is_nearer(rows):
    answers = Triplets(rows, n_objects=N)
    found = find_questions(answers)
    near, far = np.sort(answers.pairs()[:, :2], axis=1), np.sort(answers.pairs()[:, 2:], axis=1)
    asked = found.pairs[found.number]
    first, second = asked[:, :2], asked[:, 2:]
    np.testing.assert_array_equal(np.where(found.first[:, None], first, second), near)
    np.testing.assert_array_equal(np.where(found.first[:, None], second, first), far)
    assert all(tuple(one) < tuple(other) for one, other in found.pairs.reshape(-1, 2, 2))
    assert len(np.unique(found.pairs, axis=0)) == len(found.pairs)


@given(st.one_of(triplets(), quadruplets()))
def test_counts_are_of_rows_and_of_either_answer(rows):
    found = find_questions(Triplets(rows, n_objects=N))
    counts = found.counts(np.arange(1.0, len(rows) + 1.0))
    for question, (second, first) in enumerate(counts):
        asked = found.number == question
        weights = np.arange(1.0, len(rows) + 1.0)
        assert first == weights[asked & found.first].sum()
        assert second == weights[asked & ~found.first].sum()
