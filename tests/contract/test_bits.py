"""The comparison of two commits tells equal, renamed and different bits apart."""

import numpy as np
import pytest
from benchmarks.bits import compare, hash_of, tell

BEFORE = {"loss": "aa", "old.accuracy": "bb"}
RENAMED = "old.accuracy is now new.accuracy"


@pytest.mark.parametrize(
    ("after", "different", "renamed"),
    [
        (BEFORE, [], []),
        ({"loss": "aa", "new.accuracy": "bb"}, [], [RENAMED]),
        ({"loss": "ab", "old.accuracy": "bb"}, ["loss"], []),
        ({"loss": "aa"}, ["old.accuracy (gone)"], []),
        (BEFORE | {"more": "cc"}, ["more (new)"], []),
        ({"loss": "aa", "accuracy": "bc"}, ["old.accuracy (gone)", "accuracy (new)"], []),
    ],
    ids=["equal", "renamed", "different", "gone", "new", "renamed and different"],
)
def test_keys_are_compared(after, different, renamed):
    assert compare(BEFORE, after) == (different, renamed)


def test_the_last_bit_counts():
    assert hash_of(np.array([1.0, 2.0])) == hash_of([1.0, 2.0])
    assert hash_of([1.0]) != hash_of([np.nextafter(1.0, 2.0)])
    assert hash_of(np.zeros((2, 3))) != hash_of(np.zeros((3, 2)))


def test_what_differs_is_told(capsys):
    one, two = {"fit, n_jobs=1": BEFORE}, {"fit, n_jobs=1": BEFORE | {"loss": "ab"}}
    assert tell(one, one)
    assert "different" not in capsys.readouterr().out
    assert not tell(one, two)
    assert "loss" in capsys.readouterr().out
    assert not tell(one, {})


def test_bits_that_depend_on_the_threads_are_told(capsys):
    both = {"fit, n_jobs=1": BEFORE, "fit, n_jobs=2": BEFORE | {"loss": "ab"}}
    assert not tell(both, both)
    assert "other bits with n_jobs=2" in capsys.readouterr().out
