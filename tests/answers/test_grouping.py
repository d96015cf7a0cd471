"""The comparisons of a screen as one choice: what is recognised, and what is not."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tercet import Choices, Triplets
from tercet.answers.choices import BEST_WORST, FARTHEST, ORDERED, UNORDERED, as_answers, restore
from tercet.errors import DataWarning

N = 7
PAIRS = [list(pair) for pair in itertools.combinations(range(N), 2)]


def forms(choices):
    """Kind, number of chosen and of alternatives of each choice."""
    return list(
        zip(
            choices.kinds.tolist(),
            choices.n_chosen.tolist(),
            choices.n_alternatives.tolist(),
            strict=True,
        )
    )


def on_one_screen(rows, **about):
    return Triplets(rows, screens=[0] * len(rows), **about)


def said(triplets):
    """The comparisons as a set, each of a nearer and a farther pair."""
    ends = np.sort(triplets.pairs().reshape(-1, 2, 2), axis=2)
    return set(map(tuple, ends.reshape(-1, 4).tolist()))


def is_triangle(pairs):
    return len(pairs) == 3 and len(set(itertools.chain(*pairs))) == 3


# --- there and back


@st.composite
def one_choice(draw):
    """A choice that its comparisons tell from all others."""
    kind = draw(st.sampled_from(["ordered", "unordered", "central", "best and worst"]))
    if kind == "central":
        return Choices.most_central([draw(st.permutations(range(N)))[:3]], n_objects=N)
    if kind == "best and worst":
        anchor, *shown = draw(st.permutations(range(N)))
        shown = shown[: draw(st.integers(4, N - 1))]
        best, worst = draw(st.permutations(shown))[:2]
        return Choices.best_worst([anchor], [shown], [best], [worst], n_objects=N)
    pairs = draw(st.permutations(PAIRS))[: draw(st.integers(2, 8))]
    ordered = kind == "ordered" or is_triangle(pairs)
    most = len(pairs) if ordered else len(pairs) - 1
    chosen = draw(st.permutations(range(len(pairs))))[: draw(st.integers(1, most))]
    return Choices([pairs], [chosen], ordered=ordered, n_objects=N)


@st.composite
def many_choices(draw):
    choices = Choices.concatenate(draw(st.lists(one_choice(), min_size=1, max_size=6)))
    m = len(choices)
    about = {"screens": np.arange(m)}
    if draw(st.booleans()):
        about["observers"] = np.array(draw(st.lists(st.sampled_from("ab"), min_size=m, max_size=m)))
    if draw(st.booleans()):
        about["weights"] = np.arange(1.0, m + 1)
    if draw(st.booleans()):
        about["response_times"] = np.linspace(0.5, 2, m)
    if draw(st.booleans()):
        about["names"] = tuple("abcdefg")
    return replace(choices, **about)


def replace(choices, **about):
    """The same choices with other fields."""
    return restore(choices._fields._replace(**about))


@given(many_choices())
def test_choices_come_back_from_their_comparisons(choices):
    triplets = choices.triplets()
    assert Choices.from_triplets(triplets) == choices
    if triplets.shares_screens:
        assert as_answers(triplets) == choices
    else:
        assert as_answers(triplets) is triplets


@given(many_choices(), st.randoms(use_true_random=False))
def test_the_order_of_comparisons_does_not_matter(choices, random):
    triplets = choices.triplets()
    rows = list(range(len(triplets)))
    random.shuffle(rows)
    found = Choices.from_triplets(triplets[rows])
    appear = list(dict.fromkeys(triplets.screens[rows].tolist()))
    assert found.screens.tolist() == appear
    assert forms(found) == forms(choices[appear])
    for one, other in zip(found, choices[appear], strict=True):
        ((kind, k, _),) = forms(one)
        mine, theirs = one.pairs.tolist(), other.pairs.tolist()
        assert sorted(mine) == sorted(theirs)
        assert sorted(mine[:k]) == sorted(theirs[:k])
        if kind != UNORDERED:
            assert mine[:k] == theirs[:k]


# --- by hand


@pytest.mark.parametrize(
    ("rows", "form", "pairs"),
    [
        # an odd one out: the pair 0–1 among the three
        ([[0, 1, 2], [1, 0, 2]], (ORDERED, 1, 3), [[0, 1], [0, 2], [1, 2]]),
        # 0 is the most central: 1–2 is the farthest pair
        ([[1, 0, 2], [2, 0, 1]], (FARTHEST, 1, 3), [[1, 2], [0, 1], [0, 2]]),
        # the same wins around an anchor: two of three
        ([[0, 1, 3], [0, 2, 3]], (UNORDERED, 2, 3), [[0, 1], [0, 2], [0, 3]]),
        # a chain of neighbours in full is a ranking
        ([[0, 1, 2], [0, 2, 3], [0, 1, 3]], (ORDERED, 2, 3), [[0, 1], [0, 2], [0, 3]]),
        ([[0, 1, 2], [0, 1, 3], [0, 1, 4]], (ORDERED, 1, 4), [[0, 1], [0, 2], [0, 3], [0, 4]]),
        (
            [[0, 1, 4], [0, 2, 4], [0, 1, 2], [0, 1, 3], [0, 3, 4]],
            (BEST_WORST, 2, 4),
            [[0, 1], [0, 4], [0, 2], [0, 3]],
        ),
        ([[0, 1, 2, 3], [0, 1, 4, 5]], (ORDERED, 1, 3), [[0, 1], [2, 3], [4, 5]]),
        ([[1, 0, 3, 2], [0, 1, 2, 0]], (ORDERED, 1, 3), [[0, 1], [2, 3], [0, 2]]),
    ],
)
def test_a_screen_is_recognised(rows, form, pairs):
    choices = as_answers(on_one_screen(rows))
    assert forms(choices) == [form]
    assert choices.pairs.tolist() == pairs
    assert said(choices.triplets()) == said(Triplets(rows))


def test_nearest_and_farthest_of_three_is_read_as_their_ranking():
    split = Choices.best_worst([0], [[1, 2, 3]], [2], [1]).triplets()
    assert as_answers(split) == Choices.ranking([0], [[2, 3, 1]], screens=[0])


def test_what_has_no_pair_in_common_is_several_choices():
    rows = [[0, 1, 2], [3, 4, 5], [0, 1, 4], [3, 2, 1]]
    choices = as_answers(on_one_screen(rows, response_times=[1, 2, 3, 4]))
    assert forms(choices) == [(ORDERED, 1, 3), (ORDERED, 1, 2), (ORDERED, 1, 2)]
    assert choices.response_times.tolist() == [1, 2, 4]
    assert choices.screens.tolist() == [0, 0, 0]


def test_a_label_of_two_observers_is_two_screens():
    rows = [[0, 1, 2], [0, 1, 3], [0, 2, 1], [0, 2, 3]]
    answers = Triplets(rows, screens=[5] * 4, observers=["a", "a", "b", "b"], weights=[2, 2, 1, 1])
    choices = as_answers(answers)
    assert forms(choices) == [(ORDERED, 1, 3)] * 2
    assert choices.observers.tolist() == ["a", "b"]
    assert choices.weights.tolist() == [2, 1]
    assert choices.screens.tolist() == [5, 5]


def test_comparisons_on_screens_of_their_own_stay_comparisons():
    for screens in (None, [1, 2]):
        answers = Triplets([[0, 1, 2], [0, 1, 2]], screens=screens)
        assert as_answers(answers) is answers
        assert forms(Choices.from_triplets(answers)) == [(ORDERED, 1, 2)] * 2
        assert Choices.from_triplets(answers).pairs.tolist() == [[0, 1], [0, 2]] * 2


def test_anything_that_is_no_choice_is_read_as_comparisons():
    assert as_answers([[0, 1, 2]], 5) == Triplets([[0, 1, 2]], n_objects=5)
    frame = pd.DataFrame(
        [["a", "b", "c", 1], ["b", "a", "c", 1]], columns=["anchor", "near", "far", "screen"]
    )
    assert as_answers(frame) == Choices.odd_one_out([["a", "b", "c"]], screens=[1])


# --- what is not recognised


@pytest.mark.parametrize(
    "rows",
    [
        [[0, 1, 2], [0, 1, 2]],  # twice
        [[0, 1, 2], [0, 2, 1]],  # contradicting
        [[0, 1, 2], [0, 1, 3], [0, 1, 3]],  # a choice among three, one comparison twice
        [[0, 1, 2], [0, 2, 3]],  # neighbours of a ranking
        [[0, 1, 2], [0, 2, 3], [0, 3, 1]],  # a circle
        [[0, 1, 3], [0, 1, 4], [0, 2, 3]],  # two of four, one comparison missing
        # a circle of three before the fourth: as many losses as a ranking, but not one
        [[0, 1, 2], [0, 2, 3], [0, 3, 1], [0, 1, 4], [0, 2, 4], [0, 3, 4]],
    ],
)
def test_other_screens_are_counted_row_by_row_with_a_warning(rows):
    with pytest.warns(DataWarning, match="1 of 1 screen is not recognised as one choice") as told:
        choices = as_answers(on_one_screen(rows, response_times=np.arange(len(rows))))
    assert len(told) == 1
    assert forms(choices) == [(ORDERED, 1, 2)] * len(rows)
    assert choices.triplets().array.tolist() == rows
    assert choices.response_times.tolist() == list(range(len(rows)))


def test_different_weights_are_not_one_choice():
    rows = [[0, 1, 2], [0, 1, 3]]
    with pytest.warns(DataWarning, match="with the same weight"):
        choices = as_answers(on_one_screen(rows, weights=[1, 2]))
    assert choices.weights.tolist() == [1, 2]
    assert forms(as_answers(on_one_screen(rows, weights=[2, 2]))) == [(ORDERED, 1, 3)]


def test_the_warning_counts_screens_and_names_the_first():
    good = [[0, 1, 2], [1, 0, 2]]
    bad = [[0, 1, 2], [0, 2, 3]]
    answers = Triplets(
        good + bad + good + bad,
        observers=np.repeat(["al", "bo", "al", "cy"], 2),
        screens=np.repeat(["s1", "s2", "s3", "s1"], 2),
    )
    message = r"2 of 4 screens are not recognised .* the first is screen 's2' of observer 'bo'\."
    with pytest.warns(DataWarning, match=message) as told:
        choices = as_answers(answers)
    assert told[0].filename == __file__
    assert choices.n_alternatives.tolist() == [3, 2, 2, 3, 2, 2]
    assert choices.observers.tolist() == ["al", "bo", "bo", "al", "cy", "cy"]


def test_many_screens_in_any_order():
    rng = np.random.default_rng(0)
    anchors = rng.integers(1000, size=(20_000, 3)) + np.array([0, 1000, 2000])
    choices = Choices.odd_one_out(anchors, screens=np.arange(20_000))
    triplets = choices.triplets()
    shuffled = rng.permutation(len(triplets))
    assert as_answers(triplets) == choices
    again = as_answers(triplets[shuffled])
    assert np.array_equal(
        again[np.argsort(again.screens)].pairs.reshape(-1, 3, 2)[:, 0],
        choices.pairs.reshape(-1, 3, 2)[:, 0],
    )
