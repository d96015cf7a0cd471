import numpy as np
import pytest

from tercet.errors import InputError
from tercet.io import read_file

NEW = """\
head,left,right,winner,loser,sampler,puid,response_time,head_filename,left_filename,right_filename
0,1,2,1,2,ARR,p1,1.5,i10.png,i2.png,i3.png
2,0,1,1,0,Random,p1,-1,i3.png,i10.png,i2.png
1,0,2,0,2,ARR,p2,0.75,i2.png,i10.png,i3.png
"""


def test_names_observers_and_times(save):
    reading = read_file(save(NEW))
    T = reading.triplets
    assert (reading.format, reading.rows, reading.skipped) == ("salmon", 3, ())
    assert T.names == ("i10", "i2", "i3")  # in Salmon's order, not in that of the names
    assert T.array.tolist() == [[0, 1, 2], [2, 1, 0], [1, 0, 2]]
    assert T.observers.tolist() == ["p1", "p1", "p2"]
    assert np.array_equal(T.response_times, [1.5, np.nan, 0.75], equal_nan=True)


def test_older_files_have_no_loser(save):
    content = (
        "alg_ident,head,left,right,winner,head_object,left_object,right_object\n"
        'RandomSampling,4,2,0,0,"<img src=""/static/targets/e.png"" />",'
        '"<img src=""/static/targets/c.png"" />","<img src=""/static/targets/a.png"" />"\n'
        'RandomSampling,0,2,4,2,"<img src=""/static/targets/a.png"" />",'
        '"<img src=""/static/targets/c.png"" />","<img src=""/static/targets/e.png"" />"\n'
    )
    T = read_file(save(content)).triplets
    assert T.names == ("a", "c", "e")
    assert T.array.tolist() == [[2, 0, 1], [0, 1, 2]]
    assert T.observers is None
    assert T.response_times is None


def test_numbers_without_names(save):
    T = read_file(save("head,winner,loser\n0,1,5\n"), n_objects=9).triplets
    assert T.array.tolist() == [[0, 1, 5]]
    assert (T.names, T.n_objects) == (None, 9)


def test_names_can_be_given(save):
    T = read_file(save(NEW), names=["a", "b", "c", "never"]).triplets
    assert T.names == ("a", "b", "c", "never")
    assert T.array.tolist() == [[0, 1, 2], [2, 1, 0], [1, 0, 2]]


def test_a_number_that_lacks_its_name_leaves_numbers(save):
    content = "head,winner,loser,head_html,winner_html\n0,1,2,a,b\n1,0,2,b,a\n"
    assert read_file(save(content)).triplets.names is None


def test_numbers_that_pandas_made_of_a_column_with_gaps(save):
    content = "head,left,right,winner\n0,1,2,1.0\n0,1,2,\n0,2,1,2.0\n"
    reading = read_file(save(content))
    assert reading.triplets.array.tolist() == [[0, 1, 2], [0, 2, 1]]
    (skipped,) = reading.skipped
    assert (skipped.reason, skipped.count, skipped.first) == ("without a winner", 1, "line 3")


def test_the_head_among_the_choices_is_a_catch_trial(save):
    content = "head,left,right,winner,puid\n0,0,1,0,p\n0,1,0,1,q\n0,1,2,2,q\n"
    reading = read_file(save(content))
    assert len(reading.triplets) == 1
    assert reading.catch.passed.tolist() == [True, False]
    assert reading.catch.observers.tolist() == ["p", "q"]


def test_columns_of_other_names(save):
    content = "probe,head,winner,loser,who\n7,0,1,2,eve\n"
    T = read_file(save(content), columns={"head": "probe", "observer": "who"}).triplets
    assert T.array.tolist() == [[7, 1, 2]]
    assert T.observers.tolist() == ["eve"]
    with pytest.raises(InputError, match="'hed' is unknown for this format; choose among head,"):
        read_file(save(content), columns={"hed": "probe"})
