import numpy as np
import pytest

import tercet as tc
from tercet.answers.checks import label_observers, match_observers, settle_observers


def test_labels_are_one_for_numbers_and_text():
    assert label_observers([11, 11.0, np.int64(11), np.float64(11), "11", "11.0", " 11 "]) == (
        ["11"] * 7
    )
    assert label_observers(["011", "1.5", 1.5, "eve", "11.", "v1.0"]) == [
        *("011", "1.5", "1.5", "eve", "11", "v1.0")
    ]


def test_numbers_are_numbers_only_where_nothing_is_lost():
    assert settle_observers(["11.0", "12"]).tolist() == [11, 12]
    assert settle_observers(["011", "12"]).tolist() == ["011", "12"]
    assert settle_observers(["12.0", "eve"]).tolist() == ["12", "eve"]
    assert settle_observers(["9" * 30, "1"]).tolist() == ["9" * 30, "1"]


def test_observers_are_found_whatever_they_are_written_as():
    assert match_observers([11.0, "12", "eve", "011"], [12, 11]).tolist() == [1, 0, -1, -1]


@pytest.mark.parametrize("observers", [[11.0, 12.0], [11, 12]])
def test_a_gap_elsewhere_does_not_change_who_answered(observers):
    T = tc.Triplets([[0, 1, 2], [0, 2, 1]], observers=observers)
    assert T.observers.dtype == np.int64
    assert T.observers.tolist() == [11, 12]
    assert tc.Triplets([[0, 1, 2]], observers=[1.5]).observers.tolist() == [1.5]
