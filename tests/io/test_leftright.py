"""Any table with sides and a response, its columns pointed out."""

import pytest

from tercet.errors import InputError
from tercet.io import read_file

COLUMNS = {"anchor": "probe", "left": "l_img", "right": "r_img", "response": "key"}


def table(*rows):
    return "\n".join(["probe,l_img,r_img,key,participant", *rows]) + "\n"


def test_sides_and_a_response(save):
    reading = read_file(
        save(table("cat,dog,car,L,p1", "car,dog,bus,R,p2", "bus,cat,dog,,p2")), columns=COLUMNS
    )
    assert reading.format == "left-right"
    names = reading.triplets.names
    shown = [[names[i] for i in row] for row in reading.triplets.array.tolist()]
    assert shown == [["cat", "dog", "car"], ["car", "bus", "dog"]]
    assert reading.triplets.observers.tolist() == ["p1", "p2"]
    assert [(each.reason, each.count) for each in reading.skipped] == [("without a response", 1)]
    own = "anchor,left,right,response,response_time\na,b,c,left,1.5\n"
    assert read_file(save(own)).triplets.response_times.tolist() == [1.5]


def test_all_responses_are_read_alike(save):
    """Keys 1 and 2 where some objects are called 1 and 2 as well."""
    rows = ["12,14,1,1,p", "3,2,9,2,p", "5,6,7,1,p"]
    reading = read_file(save(table(*rows)), columns=COLUMNS)
    assert reading.triplets.array[:, 1].tolist() == [14, 9, 6]


def test_the_stimulus_itself_may_be_the_response(save):
    reading = read_file(save(table("ape,bee,cat,cat,p", "bee,cat,ape,cat,p")), columns=COLUMNS)
    assert reading.triplets.array[:, 1].tolist() == [2, 2]


def test_where_both_readings_fit_and_differ_it_asks(save):
    content = table("5,2,1,1,p", "6,2,1,2,p")
    with pytest.raises(
        InputError, match="line 2: the response is '1', and it is unclear which side"
    ):
        read_file(save(content), columns=COLUMNS)
    keys = COLUMNS | {"left_key": "1", "right_key": "2"}
    reading = read_file(save(content), columns=keys)
    assert reading.triplets.array[:, 1].tolist() == [2, 1]


def test_a_table_that_lacks_a_side_says_so(save):
    wrong = {"anchor": "probe", "left": "l_img", "response": "key", "near": "r_img"}
    with pytest.raises(InputError, match="columns"):
        read_file(save(table("a,b,c,L,p")), columns=wrong, format="left-right")
