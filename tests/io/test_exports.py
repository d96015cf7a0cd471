"""Files as programs wrote them, unchanged."""

import numpy as np
import pytest

from tercet.errors import InputError
from tercet.io import read_file


@pytest.fixture
def export(data_folder):
    """The path of a file in the folder of exports."""

    def find(name):
        path = data_folder / "exports" / name
        if not path.exists():
            pytest.skip(f"{path} is not here")
        return path

    return find


@pytest.mark.slow
def test_next_with_one_impossible_time(export):
    reading = read_file(export("next/next-fig3.json.gz"))
    T = reading.triplets
    assert (reading.format, reading.rows, len(T)) == ("next", 20_504, 20_086)
    assert [(each.reason, each.count) for each in reading.skipped] == [("without a winner", 418)]
    assert np.count_nonzero(np.isnan(T.response_times)) == 1
    (doubt,) = reading.doubts
    assert doubt.startswith("1 response time is impossible")
    assert len(np.unique(T.observers)) == 416  # of 424, 8 answered nothing


def test_salmon_with_two_impossible_winners(export):
    path = export("salmon/responses.csv")
    with pytest.raises(
        InputError, match=r"line 340: .* \(2 such rows in all: line 340, line 715\)"
    ):
        read_file(path)
    reading = read_file(path, skip_invalid=True)
    assert (reading.format, reading.rows, len(reading.triplets)) == ("salmon", 1000, 998)
    assert [(each.reason, each.places) for each in reading.skipped] == [
        ("whose winner was not shown", ("line 340", "line 715"))
    ]


def test_jspsych_with_catch_trials(export):
    reading = read_file(export("jspsych/tripletTools_icon_faceplace_demo_d8mmm1qn.csv"))
    assert (reading.format, reading.rows, len(reading.triplets)) == ("jspsych", 469, 220)
    assert (len(reading.catch.passed), reading.catch.passed.all()) == (10, True)
