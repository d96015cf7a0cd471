"""Choices: the usual questions, what is refused, the split into comparisons, rows and joining."""

import copy
import math
import pickle

import numpy as np
import pandas as pd
import pytest

from tercet import Choices, Triplets
from tercet.answers.choices import (
    BEST_WORST,
    FARTHEST,
    ORDERED,
    UNORDERED,
    as_answers,
    number_choices,
)
from tercet.answers.making import simplify
from tercet.errors import InputError, RowsError

ROW1 = r"row 1 \(counting from 0\): "
TRIANGLE = [[0, 1], [0, 2], [1, 2]]


def pairs_of(choices):
    """The alternatives of each choice, as lists."""
    return [part.tolist() for part in np.split(choices.pairs, choices.cuts[1:-1])]


def form_of(choices):
    """Kind, number of chosen and of alternatives of the only choice."""
    assert len(choices) == 1
    return choices.kinds[0], choices.n_chosen[0], choices.n_alternatives[0]


@pytest.fixture
def mixed():
    """A choice of every kind, by two observers."""

    def about(observer, screen, weight, time):
        keys = ("observers", "screens", "weights", "response_times")
        return dict(zip(keys, ([observer], [screen], [weight], [time]), strict=True))

    parts = [
        Choices.odd_one_out([[0, 1, 2]], **about("eve", 7, 1, 0.5)),
        Choices.nearest([3], [[0, 1, 2, 4]], [[4, 0]], **about("bob", 7, 2, np.nan)),
        Choices.most_central([[4, 5, 0]], **about("eve", 8, 1, 1.0)),
        Choices.best_worst([0], [[1, 2, 3, 4]], [2], [1], **about("eve", 9, 3, 2.0)),
        Choices.ranking([5], [[4, 3, 2]], **about("bob", 9, 1, 3.0)),
    ]
    return Choices.concatenate(parts)


# --- what is accepted


def test_chosen_alternatives_come_first_and_pairs_ascend():
    choices = Choices([[[1, 0], [2, 0], [2, 1], [3, 0]]], [[2, 0]])
    assert pairs_of(choices) == [[[1, 2], [0, 1], [0, 2], [0, 3]]]
    assert form_of(choices) == (ORDERED, 2, 4)
    assert (choices.n_objects, choices.names, choices.positions) == (4, None, None)
    assert choices.kinds.dtype == np.int8
    assert choices.pairs.dtype == choices.cuts.dtype == choices.n_chosen.dtype == np.int64


def test_ragged_alternatives_and_several_or_one_chosen():
    choices = Choices(
        [TRIANGLE, [[0, 1], [2, 3]], [[0, 1], [0, 2], [0, 3], [0, 4]]], [1, [0], [3, 1]]
    )
    assert choices.cuts.tolist() == [0, 3, 5, 9]
    assert pairs_of(choices)[0] == [[0, 2], [0, 1], [1, 2]]
    assert choices.n_chosen.tolist() == [1, 1, 2]
    assert choices.n_alternatives.tolist() == [3, 2, 4]


def test_arrays_lists_and_columns_of_lists_are_the_same():
    alternatives = [TRIANGLE, [[3, 1], [3, 2], [1, 2]]]
    expected = Choices(alternatives, [0, 2])
    assert Choices(np.array(alternatives), np.array([0, 2])) == expected
    assert Choices(np.array(alternatives, dtype=float), [0.0, 2.0]) == expected
    assert Choices([list(map(tuple, row)) for row in alternatives], [(0,), (2,)]) == expected
    shown = pd.Series([[1, 2], [0, 2, 3]])
    assert Choices.nearest([0, 1], shown, pd.Series([[2], [0]])) == Choices.nearest(
        [0, 1], [[1, 2], [0, 2, 3]], [2, 0]
    )


def test_names_are_numbered_in_natural_order():
    choices = Choices.nearest(["img10"], [["img2", "img1", "img3"]], ["img3"])
    assert choices.names == ("img1", "img2", "img3", "img10")
    assert pairs_of(choices) == [[[2, 3], [1, 3], [0, 3]]]
    again = Choices.nearest([3], [[1, 0, 2]], [2], names=choices.names)
    assert again == choices


def test_given_names_fix_the_numbering():
    choices = Choices([[["b", "a"], ["a", "c"]]], [1], names=["c", "b", "a", "d"])
    assert pairs_of(choices) == [[[0, 2], [1, 2]]]
    assert choices.n_objects == 4


def test_arrays_are_read_only_and_those_given_stay_writable():
    alternatives, weights = np.array([TRIANGLE]), np.array([2.0])
    choices = Choices(alternatives, [0], weights=weights, positions=[[2, 0, 1]])
    for array in choices._fields:
        if isinstance(array, np.ndarray):
            assert not array.flags.writeable
    assert alternatives.flags.writeable
    assert weights.flags.writeable


def test_positions_follow_the_alternatives():
    choices = Choices([TRIANGLE, TRIANGLE[:2]], [2, 1], positions=[[5, 6, 7], [0, -1]])
    assert choices.positions.tolist() == [7, 5, 6, -1, 0]
    assert choices[1].positions.tolist() == [-1, 0]


# --- the usual questions, by hand


def test_odd_one_out():
    choices = Choices.odd_one_out([[4, 2, 0], [0, 1, 2]])
    assert pairs_of(choices) == [[[2, 4], [0, 4], [0, 2]], TRIANGLE]
    assert choices.kinds.tolist() == [ORDERED] * 2
    assert choices.triplets().array.tolist() == [[4, 2, 0], [2, 4, 0], [0, 1, 2], [1, 0, 2]]


def test_most_central_has_the_farthest_pair_first():
    choices = Choices.most_central([[1, 0, 2]])
    assert pairs_of(choices) == [[[0, 2], [0, 1], [1, 2]]]
    assert form_of(choices) == (FARTHEST, 1, 3)
    # each of the others is closer to the central one than to the other
    assert choices.triplets().array.tolist() == [[0, 1, 2], [2, 1, 0]]


def test_data_frames_are_read_by_the_titles_of_their_columns():
    frame = pd.DataFrame({"odd": ["c", "a"], "similar1": ["a", "b"], "similar2": ["b", "c"]})
    assert Choices.odd_one_out(frame) == Choices.odd_one_out([["a", "b", "c"], ["b", "c", "a"]])
    with pytest.raises(InputError, match="no column 'central'; it needs the columns central, oth"):
        Choices.most_central(frame)


@pytest.mark.parametrize("ranked", [False, True])
def test_nearest_of_several(ranked):
    choices = Choices.nearest([2], [[0, 1, 3, 4]], [[4, 0]], ranked=ranked)
    assert pairs_of(choices) == [[[2, 4], [0, 2], [1, 2], [2, 3]]]
    assert form_of(choices) == (ORDERED if ranked else UNORDERED, 2, 4)
    others = [[2, 4, 1], [2, 4, 3], [2, 0, 1], [2, 0, 3]]
    expected = [[2, 4, 0], *others] if ranked else others
    assert choices.triplets().array.tolist() == expected


def test_ranking():
    choices = Choices.ranking([0, 1], [[3, 1, 2], [0, 2]])
    assert choices.kinds.tolist() == [ORDERED] * 2
    assert choices.n_chosen.tolist() == [2, 1]
    assert choices.triplets().array.tolist() == [[0, 3, 1], [0, 3, 2], [0, 1, 2], [1, 0, 2]]
    assert choices.triplets().screens.tolist() == [0, 0, 0, 1]


def test_best_worst():
    choices = Choices.best_worst([0], [[1, 2, 3, 4]], [3], [1])
    assert pairs_of(choices) == [[[0, 3], [0, 1], [0, 2], [0, 4]]]
    assert form_of(choices) == (BEST_WORST, 2, 4)
    rows = [[0, 3, 1], [0, 3, 2], [0, 3, 4], [0, 2, 1], [0, 4, 1]]
    assert choices.triplets().array.tolist() == rows


# --- one form for what says the same


@pytest.mark.parametrize(
    ("choices", "same"),
    [
        (Choices([TRIANGLE], [1], ordered=False), Choices([TRIANGLE], [1])),
        (Choices([TRIANGLE], [[2, 0, 1]]), Choices([TRIANGLE], [[2, 0]])),
        (Choices.best_worst([0], [[1, 2]], [2], [1]), Choices.nearest([0], [[1, 2]], [2])),
        (Choices.ranking([0], [[2, 1]]), Choices.nearest([0], [[1, 2]], [2])),
    ],
)
def test_the_simplest_kind_is_used(choices, same):
    assert choices == same


def test_nearest_and_farthest_of_three_is_no_ranking():
    assert form_of(Choices.best_worst([0], [[1, 2, 3]], [2], [1])) == (BEST_WORST, 2, 3)


def test_the_farthest_of_two_is_the_other_one():
    fields = Choices([TRIANGLE[:2], TRIANGLE], [0, 0], positions=[[5, 6], [1, 2, 3]])._fields
    farthest = fields._replace(kinds=np.full(2, FARTHEST, dtype=np.int8))
    found = simplify(farthest)
    assert found.kinds.tolist() == [ORDERED, FARTHEST]
    assert found.pairs.tolist() == [[0, 2], [0, 1], *TRIANGLE]
    assert found.positions.tolist() == [6, 5, 1, 2, 3]


# --- what is refused, and what is said


@pytest.mark.parametrize(
    ("alternatives", "chosen", "message"),
    [
        ([[0, 1], [2, 0], [1, 0]], 0, "the pair 0–1 is given twice"),
        ([[0, 1], [2, 2]], 0, "the pair 2–2 is one of an object with itself"),
        ([[0, 1]], 0, "it has only 1 alternative. A choice is made among two or more"),
        ([], 0, "it has only 0 alternatives"),
        ([[0, 1], [0, 2, 1]], 0, r"an alternative is \[0, 2, 1\], which is not a pair"),
        ([[0, 1], 2], 0, "an alternative is 2, which is not a pair"),
        ([[0, 1], [0, -2]], 0, "an object is -2, a negative object number"),
        ([[0, 1], [0, 1.5]], 0, "an object is 1.5, not a whole number"),
        ([[0, 1], [0, 10**12]], 0, "an object is 1000000000000, too large"),
        ([[0, 1], [0, None]], 0, "an object is None, which is missing"),
        ([[0, 1], [0, 9]], 0, "an object is 9, but there are only 5 objects, numbered 0 to 4"),
        (TRIANGLE, 3, "chosen is 3, but there are 3 alternatives, numbered 0 to 2"),
        (TRIANGLE, -1, "chosen is -1, but there are 3 alternatives"),
        (TRIANGLE, [0, 2, 0], r"alternative 0 \(counting from 0\) is chosen twice"),
        (TRIANGLE, [], "nothing is chosen"),
        (TRIANGLE, 0.5, "chosen is 0.5, which is not a whole number"),
        (TRIANGLE, None, "chosen is None, which is missing"),
    ],
)
def test_a_bad_choice_is_named(alternatives, chosen, message):
    with pytest.raises(InputError, match=ROW1 + message):
        Choices([TRIANGLE, alternatives], [0, chosen], n_objects=5)


def test_all_chosen_without_an_order_say_nothing():
    with pytest.raises(InputError, match=ROW1 + "all 3 alternatives are chosen, and their order"):
        Choices([TRIANGLE, TRIANGLE], [[0, 1], [0, 1, 2]], ordered=False)
    with pytest.raises(InputError, match=ROW1 + "all 2 alternatives .*ranked=True"):
        Choices.nearest([0, 0], [[1, 2, 3], [1, 2]], [1, [1, 2]])


def test_bad_rows_are_counted_by_choice():
    with pytest.raises(RowsError, match=r"row 0 .*the pair 2–2 .* \(2 such rows in all\)") as error:
        Choices([[[2, 2], [3, 3]], TRIANGLE, [[0, 1], [4, 4]]], [0, 0, 0])
    assert error.value.rows == [0, 2]


@pytest.mark.parametrize(
    ("anchor", "shown", "chosen", "message"),
    [
        ("cat", ["dog", "car"], "bus", r"chosen is 'bus', which is not one of .*\('dog', 'car'\)"),
        ("cat", ["dog", "car"], ["dog", "cat"], r"chosen is 'cat', which is not one of those"),
        ("cat", ["dog", "cat"], "dog", "shown has 'cat', which is the anchor"),
        ("cat", ["dog", "car", "dog"], "dog", "shown has 'dog' twice"),
        ("cat", ["dog"], "dog", "it has only 1 alternative"),
        ("cat", ["dog", "car", "bus"], ["dog", "dog"], "alternative 0 .* is chosen twice"),
        ("cat", ["dog", "cab"], "dog", "shown is 'cab', which is not one of the 4 names. Did you"),
        ("cow", ["dog", "cat"], "dog", "anchor is 'cow', which is not one of the 4 names"),
        ("cat", ["dog", 3], "dog", "shown is 3, but the first entry is a name"),
        ("cat", "dog", "dog", "shown is 'dog', which is not a list. Give a list of objects"),
        ("cat", ["dog", ""], "dog", "shown is '', which is missing"),
    ],
)
def test_a_bad_choice_of_the_nearest_is_named(anchor, shown, chosen, message):
    with pytest.raises(InputError, match=ROW1 + message):
        Choices.nearest(
            ["bus", anchor],
            [["dog", "car", "cat"], shown],
            ["dog", chosen],
            names=["cat", "dog", "car", "bus"],
        )


@pytest.mark.parametrize(
    ("best", "worst", "message"),
    [
        (2, 2, "best and worst are both 2"),
        (4, 2, r"best is 4, which is not one of those shown \(1, 2, 3\)"),
        (1, 0, "worst is 0, which is not one of those shown"),
        ([1, 2], 3, "best has 2 objects"),
    ],
)
def test_a_bad_nearest_and_farthest_is_named(best, worst, message):
    with pytest.raises(InputError, match=ROW1 + message):
        Choices.best_worst([0, 0], [[1, 2], [1, 2, 3]], [1, best], [2, worst], n_objects=5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Choices.odd_one_out([[0, 1, 2], [1, 3, 3]]), ROW1 + "similar2 and odd are both 3"),
        (lambda: Choices.most_central([[0, 1, 2], [1, 3, 1]]), ROW1 + "central and other2 are bo"),
        (lambda: Choices.odd_one_out([["a", "b", "c"], ["a", "b", None]]), ROW1 + "odd is None"),
        (lambda: Choices.odd_one_out([[0, 1]]), "3 columns similar1, similar2 and odd, got shape"),
        (lambda: Choices.odd_one_out(np.empty((0, 3))), "there are no choices"),
        (lambda: Choices([], []), "there are no choices"),
        (lambda: Choices.nearest([], [], []), "there are no choices"),
        (lambda: Choices([TRIANGLE], [0, 1]), "chosen must have one entry per choice, 1 in all; g"),
        (lambda: Choices([TRIANGLE], ["x"]), "chosen is 'x', which is not a whole number"),
        (lambda: Choices([TRIANGLE], [True]), "neither numbers nor names"),
        (lambda: Choices(TRIANGLE, [0, 0, 0]), "alternative is 0, which is not a pair of objects"),
        (lambda: Choices.nearest([0], [1, 2], [1]), "row 0 .*shown is 1, which is not a list"),
        (lambda: Choices.nearest([0, 1], [[1, 2]], [1]), "anchor must have one object per choice"),
        (lambda: Choices.nearest([0], [[1, 2]], [1, 2]), "chosen must have one entry per choice"),
        (lambda: Choices.nearest([0], [["a", "b"]], ["a"]), "shown has names, such as 'a', but an"),
        (lambda: Choices.nearest([0], np.ones((1, 2, 3)), [1]), "shown must have two dimensions"),
        (lambda: Choices.ranking([0], [[1, 0]]), "ranked has 0, which is the anchor"),
        (lambda: Choices.ranking([0], [[1, 2, 1]]), "ranked has 1 twice"),
        (lambda: Choices([TRIANGLE], [0], weights=[0]), "weight is 0.0, not a positive weight"),
        (lambda: Choices([TRIANGLE], [0], observers=["a", "b"]), "one entry per answer, 1 in all"),
        (lambda: Choices([TRIANGLE], [0], response_times=[-1]), "response_time is -1.0, not a t"),
        (lambda: Choices([TRIANGLE], [0], positions=[[0, 1]]), "2 positions, but 3 alternatives"),
        (lambda: Choices([TRIANGLE], [0], positions=[[0, 1, -2]]), "a position is -2"),
        (lambda: Choices([TRIANGLE], [0], names=["a", "b"]), "there are only 2 objects"),
        (lambda: Choices([TRIANGLE], [0], names=["a", "b", "a"]), "'a' occurs twice in names"),
        (lambda: Choices([TRIANGLE], [0], n_objects=2), "an object is 2, but there are only 2"),
    ],
)
def test_what_else_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


GARBAGE = {
    "None": None,
    "text": "answers.csv",
    "a number": 7,
    "floats": [[0.5, 1.5, 2.5]],
    "ragged": [[0, 1, 2], [0, 1]],
    "nothing": [],
    "empty rows": [[], []],
    "a row": [0, 1, 2],
    "mixed": [[0, "cat", 2]],
    "a dict": {"anchor": 0},
    "bytes": b"abc",
    "objects": [[object(), object(), object()]],
    "four dimensions": np.zeros((2, 3, 3, 2), dtype=int),
    "a set": {1, 2, 3},
    "a generator": (row for row in [[0, 1, 2]]),
    "complex": [[0j, 1j, 2j]],
    "Triplets": Triplets([[0, 1, 2]]),
    "Choices": Choices([TRIANGLE], [0]),
}
TAKERS = {
    "alternatives": lambda given: Choices(given, [0]),
    "odd one out": Choices.odd_one_out,
    "most central": Choices.most_central,
    "shown": lambda given: Choices.nearest([3], given, [0]),
    "ranked": lambda given: Choices.ranking([1], given),
    "anchor": lambda given: Choices.nearest(given, [[0, 1, 2]], [0]),
    "positions": lambda given: Choices([TRIANGLE[:2]], [0], positions=given),
    "chosen": lambda given: Choices([TRIANGLE[:2]], given),
    "best": lambda given: Choices.best_worst([3], [[0, 1]], given, [1]),
}


@pytest.mark.parametrize("garbage", GARBAGE)
@pytest.mark.parametrize("taker", TAKERS)
def test_garbage_is_refused_in_words(taker, garbage):
    if (taker, garbage) == ("positions", "None"):  # which are optional
        assert TAKERS[taker](None).positions is None
        return
    with pytest.raises(InputError) as raised:
        TAKERS[taker](GARBAGE[garbage])
    assert len(str(raised.value)) < 1000


# --- the split


def test_pairs_without_a_common_object_are_quadruplets():
    choices = Choices([[[0, 1], [2, 3], [0, 2]], [[0, 1], [0, 2]]], [0, 1])
    assert choices.triplets().array.tolist() == [[0, 1, 2, 3], [0, 1, 0, 2], [0, 2, 0, 1]]


def test_the_split_repeats_what_is_known_of_a_choice(mixed):
    triplets = mixed.triplets()
    sizes = np.bincount(triplets.screens)
    assert sizes.tolist() == [2, 4, 2, 5, 3]
    assert triplets.observers.tolist() == np.repeat(mixed.observers, sizes).tolist()
    assert triplets.weights.tolist() == np.repeat(mixed.weights, sizes).tolist()
    np.testing.assert_array_equal(triplets.response_times, np.repeat(mixed.response_times, sizes))
    assert triplets.n_objects == mixed.n_objects


def test_the_split_of_a_part_is_the_part_of_the_split(mixed):
    whole, part = mixed.triplets(), mixed[[3, 1]].triplets()
    rows = np.concatenate([np.flatnonzero(whole.screens == choice) for choice in (3, 1)])
    assert np.array_equal(part.array, whole.array[rows])


# --- rows, as in Triplets


def test_length_slices_masks_and_iteration(mixed):
    assert len(mixed) == 5
    assert mixed[2] == mixed[[2]] == mixed[-3] == mixed[2:3] == mixed[np.arange(5) == 2]
    assert mixed[[4, 0]].observers.tolist() == ["bob", "eve"]
    assert pairs_of(mixed[[4, 0]]) == [pairs_of(mixed)[4], pairs_of(mixed)[0]]
    assert list(mixed) == [mixed[i] for i in range(5)]
    assert len(mixed[[]]) == 0
    assert mixed[[]].n_objects == mixed.n_objects
    assert mixed[[]].triplets().shape == (0, 3)
    assert Choices.concatenate([mixed[:2], mixed[2:]]) == mixed
    with pytest.raises(IndexError, match="rows are selected by"):
        mixed["a"]
    with pytest.raises(IndexError):
        mixed[5]


def test_votes(mixed):
    assert mixed.votes.tolist() == [1, 2, 1, 3, 1]
    assert mixed.n_answers == 8
    assert mixed.each_vote().tolist() == [0, 1, 1, 2, 3, 3, 3, 4]
    plain = Choices([TRIANGLE] * 2, [0, 1])
    assert (plain.votes, plain.n_answers, plain.each_vote().tolist()) == (None, 2, [0, 1])
    assert Choices([TRIANGLE], [0], weights=[0.5]).votes is None


def test_equality_copies_and_pickles(mixed):
    for twin in (pickle.loads(pickle.dumps(mixed)), copy.deepcopy(mixed)):
        assert twin == mixed
        assert not twin.pairs.flags.writeable
    assert mixed != mixed[::-1]
    assert mixed != "mixed"
    assert Choices([TRIANGLE], [[0, 1]]) != Choices([TRIANGLE], [[0, 1]], ordered=False)


@pytest.mark.parametrize(
    ("choices", "text"),
    [
        (Choices([TRIANGLE], [0]), "Choices(1 choice of 3 objects, 1 of 3)"),
        (
            Choices.nearest([0] * 4, [range(1, 10)] * 4, [[1, 2, 3]] * 4, observers=list("abca")),
            "Choices(4 choices of 10 objects, 3 observers, 3 of 9)",
        ),
        (
            Choices.nearest([0], [[1, 2, 3, 4]], [[1, 2]], ranked=True),
            "Choices(1 choice of 5 objects, ranked 2 of 4)",
        ),
        (Choices.ranking([0], [[1, 2, 3]]), "Choices(1 choice of 4 objects, ranking of 3)"),
        (
            Choices.most_central([["a", "b", "c"]], weights=[3]),
            "Choices(1 choice of 3 objects named 'a', 'b', 'c', total weight 3, farthest of 3)",
        ),
        (
            Choices.best_worst([0], [[1, 2, 3]], [1], [2], screens=["x"]),
            "Choices(1 choice of 4 objects, 1 screen, nearest and farthest of 3)",
        ),
        (Choices([TRIANGLE], [0])[:0], "Choices(0 choices of 3 objects)"),
    ],
)
def test_repr(choices, text):
    assert repr(choices) == text


def test_a_repr_lists_few_kinds(mixed):
    assert repr(mixed).endswith("total weight 8, 1 of 3, ranking of 3, 2 of 4 and 2 more)")


def test_outcomes_are_counted():
    parts = [
        Choices.ranking([0], [[1, 2, 3, 4, 5]]),
        Choices.nearest([0], [range(1, 9)], [[1, 2]], ranked=True),
        Choices.nearest([0], [range(1, 9)], [[1, 2]]),
        Choices.most_central([[0, 1, 2]]),
        Choices.best_worst([0], [range(1, 6)], [1], [2]),
        Choices.odd_one_out([[0, 1, 2]]),
    ]
    outcomes = Choices.concatenate(parts).n_outcomes
    assert outcomes.dtype == np.float64
    assert outcomes.tolist() == [math.factorial(5), 56, 28, 3, 20, 3]


# --- questions


def test_questions_have_numbers_whatever_was_answered():
    choices = Choices.concatenate(
        [
            Choices.odd_one_out([[0, 1, 2], [2, 1, 0], [0, 1, 3]]),
            Choices.most_central([[0, 1, 2], [2, 1, 0]]),
            Choices.nearest([0, 0], [[1, 2, 3], [3, 2, 1]], [[1, 2], [3, 1]]),
            Choices.nearest([0], [[1, 2, 3]], [[1, 2]], ranked=True),
            Choices.nearest([0], [[1, 2]], [1]),
        ]
    )
    number = number_choices(choices)
    same = number[:, None] == number
    expected = np.eye(9, dtype=bool)
    for a, b in (0, 1), (3, 4), (5, 6):
        expected[a, b] = expected[b, a] = True
    assert np.array_equal(same, expected)
    assert sorted(set(number.tolist())) == list(range(6))


def test_questions_agree_with_sets_of_pairs():
    rng = np.random.default_rng(0)
    choices = Choices.odd_one_out([rng.permutation(5)[:3] for _ in range(200)])
    sets = [frozenset(map(tuple, each)) for each in pairs_of(choices)]
    number = number_choices(choices)
    assert len(set(zip(sets, number.tolist(), strict=True))) == len(set(sets)) == number.max() + 1


# --- joining


def test_parts_are_matched_by_name():
    first = Choices.odd_one_out([["cat", "dog", "car"]])
    second = Triplets([["ape", "dog", "cat"]], weights=[2], response_times=[1.5])
    joined = Choices.concatenate([first, second])
    assert joined.names == ("car", "cat", "dog", "ape")
    assert pairs_of(joined) == [[[1, 2], [0, 1], [0, 2]], [[2, 3], [1, 3]]]
    assert joined.weights.tolist() == [1, 2]
    np.testing.assert_array_equal(joined.response_times, [np.nan, 1.5])
    assert joined.observers is joined.screens is joined.positions is None


def test_parts_without_names_have_the_most_objects():
    joined = Choices.concatenate([Choices([TRIANGLE], [0]), Triplets([[0, 1, 6]])])
    assert joined.n_objects == 7


def test_unknown_positions_are_minus_one():
    parts = [Choices([TRIANGLE], [0]), Choices([TRIANGLE[:2]], [1], positions=[[0, 1]])]
    assert Choices.concatenate(parts).positions.tolist() == [-1, -1, -1, 1, 0]


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([], "nothing to join"),
        ([Triplets([[0, 1, 2]]), [[0, 1, 2]]], "only Choices and Triplets can be joined, got list"),
        ([Triplets([[0, 1, 2]]), Triplets([["a", "b", "c"]])], "part 0 .* without names, but thos"),
        (
            [Triplets([[0, 1, 2]], observers=["a"]), Triplets([[0, 1, 2]])],
            r"part 1 \(counting from 0\) has no observers, but part 0 has them",
        ),
    ],
)
def test_parts_that_do_not_fit_are_refused(parts, message):
    with pytest.raises(InputError, match=message):
        Choices.concatenate(parts)


# --- answers of either kind


def test_choices_stay_what_they_are_and_may_get_more_objects(mixed):
    assert as_answers(mixed) is mixed
    assert as_answers(mixed, mixed.n_objects) is mixed
    assert as_answers(mixed, 9).n_objects == 9
    assert pairs_of(as_answers(mixed, 9)) == pairs_of(mixed)
    with pytest.raises(InputError, match="n_objects is 3, but the Choices have 6 objects"):
        as_answers(mixed, 3)
    with pytest.raises(InputError, match="there are no choices"):
        as_answers(mixed[:0])
    named = Choices.odd_one_out([["a", "b", "c"]])
    with pytest.raises(InputError, match="n_objects is 4, but there are 3 names"):
        as_answers(named, 4)
