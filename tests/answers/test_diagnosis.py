import numpy as np
import pytest

from tercet.answers.choices import Choices
from tercet.answers.diagnosis import diagnose, warn_about
from tercet.answers.either import with_weights
from tercet.answers.triplets import Triplets
from tercet.errors import DataWarning

NAMES = ("ape", "bee", "cat", "dog", "elk")


def all_triplets(objects):
    return [[i, j, k] for i in objects for j in objects for k in objects if i != j < k != i]


def test_nothing_to_say():
    assert diagnose(Triplets(all_triplets(range(6)))) == []


@pytest.mark.parametrize("m", [1, 2])
def test_weights_that_shrink_the_answers_are_told_once(m):
    rows = np.array(all_triplets(range(6)) * m)
    for weight, told in ((1e-3, True), (0.45, True), (0.6, False), (1.0, False), (1.5, False)):
        T = Triplets(rows, weights=np.full(len(rows), weight))
        said = diagnose(T)
        assert len(said) == told
        if told:
            total = f"{weight * len(rows):.3g}"
            assert f"The weights of {len(rows)} answers sum to {total}: they count as" in said[0]
            assert "divide the weights by their mean" in said[0]
            with pytest.warns(DataWarning, match="weights") as caught:
                warn_about(T)
            assert len(caught) == 1
    some = np.zeros(len(rows))
    some[0] = 1.0
    assert diagnose(Triplets(rows, weights=some + 0.01 * (some == 0.0)))
    odd = Choices.odd_one_out(rows, n_objects=6)
    shrunk = with_weights(odd, np.full(len(rows), 0.01))
    assert f"The weights of {len(rows)} answers" in diagnose(shrunk)[0]


def test_objects_never_mentioned():
    T = Triplets(all_triplets(range(4)), n_objects=16)
    (unseen, few) = diagnose(T)
    assert unseen.startswith("12 objects are never mentioned")
    assert unseen.endswith("4, 5, 6, 7, 8, 9, 10, 11, 12, 13 and 2 more.")
    assert "12 answers are too few for 16 objects" in few
    named = Triplets(all_triplets(range(4)), names=NAMES)
    assert diagnose(named)[0].startswith("1 object is never mentioned")
    assert "'elk'" in diagnose(named)[0]


def test_unconnected_parts_are_listed():
    T = Triplets(all_triplets([0, 2, 4, 6]) + all_triplets([1, 3, 5, 7]), n_objects=9)
    unseen, parts = diagnose(T)
    assert "8" in unseen
    assert "2 parts" in parts
    assert "[0, 2, 4, 6], [1, 3, 5, 7]." in parts


@pytest.mark.parametrize("bridge", [[0, 4, 5], [4, 0, 1], [4, 5, 0]])
def test_any_place_in_a_comparison_connects(bridge):
    rows = all_triplets([0, 1, 2, 3]) + all_triplets([4, 5, 6, 7])
    assert any("parts" in message for message in diagnose(Triplets(rows)))
    assert not any("parts" in message for message in diagnose(Triplets([*rows, bridge])))


def test_a_quadruplet_connects_its_two_pairs():
    assert diagnose(Triplets([[0, 1, 2, 3]] * 9)) == []


def test_rarely_mentioned_objects():
    T = Triplets([*all_triplets(range(4)), [0, 1, 4], [4, 2, 3]], names=NAMES)
    (message,) = diagnose(T)
    assert message.startswith("1 object is mentioned in fewer than 3 answers")
    assert "'elk'" in message
    assert diagnose(T, min_answers=2) == []
    assert "mentioned in fewer than 12" in diagnose(T, min_answers=12)[0]


def test_too_few_answers_to_order_a_line():
    rows = np.array([[i, (i + 1) % 20, (i + 2) % 20] for i in range(20)] * 3)
    assert diagnose(Triplets(rows[:20]))[-1].startswith("20 answers are too few for 20 objects")
    assert "at least 61 " in diagnose(Triplets(rows))[-1]  # log2(20!/2) = 60.08
    assert diagnose(Triplets(np.vstack([rows, rows[:1]]))) == []


def test_diagnosis_of_no_rows():
    assert "3 objects are never mentioned" in diagnose(Triplets([[0, 1, 2]])[:0])[0]


def test_warnings_point_at_the_caller():
    with pytest.warns(DataWarning, match="never mentioned") as caught:
        warn_about(Triplets(all_triplets(range(5)), n_objects=6))
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_names_that_differ_only_by_capitals_or_spaces():
    rows = [["Cheese", "jam", "bread"], ["cheese", "bread", "jam"], ["jam", "br ead", "Cheese"]]
    messages = diagnose(Triplets(rows * 3))
    told = next(message for message in messages if "look alike" in message)
    assert "'Cheese' and 'cheese'" in told
    assert "'br ead' and 'bread'" in told
    assert not any(
        "look alike" in m for m in diagnose(Triplets([["a", "b", "c"], ["b", "c", "a"]]))
    )


def test_answers_in_any_form_are_diagnosed():
    rows = [[0, 1, 2], [2, 1, 0]]
    assert diagnose(rows) == diagnose(np.array(rows)) == diagnose(Triplets(rows))


def test_messages_stay_short_whatever_the_names():
    names = [f"{'x' * 10_000}{i}" for i in range(300)] + [f"{'X' * 10_000}{i}" for i in range(300)]
    rows = np.arange(600).reshape(-1, 3)
    said = diagnose(Triplets(rows, names=names))
    assert len(said) == 4
    assert all(len(message) < 7000 for message in said)
