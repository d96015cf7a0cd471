"""Rows that cannot be answers: they stop, with count and places, or are left out and listed."""

import json

import numpy as np
import pytest
from tests.io.examples import EXAMPLES, FOOD, npz, parquet
from tests.io.examples_apps import EXAMPLES as APPS
from tests.io.examples_apps import columns_of

import tercet as tc
from tercet.cli import main
from tercet.errors import DataWarning, InputError
from tercet.io import read_file

SHOWN = [
    {"index": 0, "label": "center"},
    {"index": 1, "label": "left"},
    {"index": 2, "label": "right"},
]
SCREEN = FOOD[0]["HIT_screens"][0]


def next_json(*winners):
    given = [{"target_indices": SHOWN, "index_winner": winner} for winner in winners]
    return json.dumps({"participant_responses": {"u": given}})


def food(*answers):
    screens = [SCREEN | {"near_answer": [f"images/{each}.jpg"]} for each in answers]
    return json.dumps([{"worker_id": 1, "HIT_screens": screens}])


# what it is; the file, of which the 2nd and 4th row cannot be; the reason; the place of the 2nd row
SALMON = "head,left,right,winner\n0,1,2,1\n0,1,2,5\n0,1,2,2\n0,1,2,7\n"
CASES = [
    ("salmon", SALMON, "whose winner was not shown", "line 3"),
    (
        "salmon",
        "head,left,right,winner,loser\n0,1,2,1,2\n0,1,2,1,3\n0,1,2,2,1\n0,1,2,2,3\n",
        "whose loser is not the object not chosen",
        "line 3",
    ),
    ("next", next_json(1, 5, 2, 7), "whose winner was not shown", "participant 'u', response 2"),
    ("next", next_json(1, 0, 2, 0), "whose winner was not shown", "participant 'u', response 2"),
    (
        "triplettools",
        "Center,Left,Right,Answer\na,b,c,b\na,b,c,x\na,b,c,c\na,b,c,y\n",
        "whose Answer was not shown",
        "line 3",
    ),
    (
        "tidy",
        "anchor,near,far\na,b,c\na,b,b\na,c,b\na,c,c\n",
        "in which near and far are the same",
        "line 3",
    ),
    ("tidy", "0,1,2\n0,1,1\n0,2,1\n0,2,2\n", "in which near and far are the same", "line 2"),
    ("tidy", "anchor,near,far\n0,1,2\n0,-1,2\n0,2,1\n0,2,-1\n", "with a negative object", "line 3"),
    ("tidy", "anchor,near,far\na,b,c\na,b,\na,c,b\n,c,b\n", "with an empty cell", "line 3"),
    (
        "tidy",
        "anchor,near,far,weight\na,b,c,1\na,b,c,0\na,c,b,2\na,b,c,-1\n",
        "whose weight is not positive",
        "line 3",
    ),
    (
        "tidy",
        "anchor,near,far,weight\na,b,c,1\na,b,c,x\na,c,b,2\na,b,c,y\n",
        "whose weight is not a number",
        "line 3",
    ),
    (
        "tidy",
        "a,b,c,d\n0,1,2,3\n0,1,1,0\n0,2,1,3\n0,1,0,1\n",
        "in which both pairs are the same",
        "line 3",
    ),
    (
        "odd-one-out",
        "object1,object2,object3,odd\na,b,c,c\na,b,c,x\na,b,c,b\na,b,c,y\n",
        "whose odd was not shown",
        "line 3",
    ),
    (
        "odd-one-out",
        "similar1,similar2,odd\na,b,c\na,b,a\na,c,b\nb,a,b\n",
        "in which odd and similar1 are the same",
        "line 3",
    ),
    (
        "screens",
        "anchor,chosen,shown\na,b,b|c\na,x,b|c\na,c,b|c\na,y,b|c\n",
        "on which a chosen object was not shown",
        "line 3",
    ),
    ("screens", food("stew", "tea", "pie", "tea"), "on which a chosen object was not", "task 1, s"),
    (
        "mlds-triads",
        "resp,S1,S2,S3\n1,1,2,3\n7,1,2,3\n0,1,2,3\n8,1,2,3\n",
        "whose resp is neither 0 nor 1",
        "line 3",
    ),
    (
        "cblearn",
        "i,j,k,response\n0,1,2,1\n0,1,1,1\n0,2,1,1\n0,2,2,1\n",
        "in which near and far are the same",
        "line 3",
    ),
    (
        "cblearn",
        npz(triplets=[[0, 1, 2], [0, 1, 1], [0, 2, 1], [0, 2, 2]], responses=[1, 1, 1, 1]),
        "in which near and far are the same",
        "row 1 (counting from 0)",
    ),
    (
        "array",
        npz(triplets=[[0, 1, 2], [0, 1, 1], [0, 2, 1], [0, 2, 2]], observers=[1, 2, 3, 4]),
        "in which near and far are the same",
        "row 1 (counting from 0)",
    ),
    ("array", "0 1 2\n0 1 1\n0 2 1\n0 2 2\n", "in which near and far are the same", "line 2"),
    (
        "parquet",
        parquet(anchor=[0, 0, 0, 0], near=[1, 1, 2, 2], far=[2, 1, 1, 2]),
        "in which near and far are the same",
        "row 2",
    ),
    (
        "left-right",
        "anchor,left,right,response\na,b,c,b\na,b,c,x\na,b,c,c\na,b,c,y\nb,a,c,a\n",
        "whose response was on neither side",
        "line 3",
    ),
]


@pytest.mark.parametrize(("kind", "content", "reason", "place"), CASES)
def test_they_stop_or_are_left_out(save, kind, content, reason, place):
    path = save(content)
    with pytest.raises(InputError) as caught:
        read_file(path)
    message = str(caught.value)
    assert place in message
    assert "(2 such rows in all: " in message
    assert "skip_invalid=True" in message
    reading = read_file(path, skip_invalid=True)
    assert reading.format == kind
    assert reading.skip_invalid
    (skipped,) = reading.skipped
    assert skipped.reason.startswith(reason)
    assert (skipped.count, len(skipped.places)) == (2, 2)
    assert skipped.places[0].startswith(place)
    assert skipped.first == skipped.places[0]
    assert reading.rows in (4, 5)
    screens = reading.triplets.screens
    answers = len(reading.triplets) if screens is None else len(np.unique(screens))
    assert answers == reading.rows - 2


def test_several_kinds_are_listed_one_by_one(save):
    content = (
        "puid,head,left,right,winner\np,0,1,2,1\np,0,1,2,5\np,0,1,1,1\n,0,1,2,2\np,0,1,2,\n"
        "p,0,0,1,0\n"
    )
    reading = read_file(save(content), skip_invalid=True)
    assert [(each.reason, each.first) for each in reading.skipped] == [
        ("without a winner", "line 6"),
        ("whose winner was not shown", "line 3"),
        ("with an empty cell", "line 5"),
        ("in which near and far are the same", "line 4"),
    ]
    assert (reading.rows, len(reading.triplets), len(reading.catch.passed)) == (6, 1, 1)


def test_what_belongs_to_a_row_goes_with_it(save):
    content = "anchor,near,far,observer,response_time\na,b,c,1,1.5\na,b,b,2,2.5\na,c,b,3,3.5\n"
    T = read_file(save(content), skip_invalid=True).triplets
    assert T.observers.tolist() == [1, 3]
    assert T.response_times.tolist() == [1.5, 3.5]
    arrays = npz(triplets=[[0, 1, 2], [0, 1, 1], [0, 2, 1]], observers=[1, 2, 3], names=list("abc"))
    T = read_file(save(arrays), skip_invalid=True).triplets
    assert T.observers.tolist() == [1, 3]
    assert T.names == ("a", "b", "c")


def test_a_file_of_nothing_else_is_refused(save):
    path = save("anchor,near,far\na,b,b\na,c,c\n")
    with pytest.raises(InputError, match="none of 2 rows is a valid answer"):
        read_file(path, skip_invalid=True)


def test_what_may_be_the_lists_fault_stops_anyway(save):
    path = save("anchor,near,far\na,b,c\na,b,x\n")
    with pytest.raises(InputError, match="not one of the 3 names") as caught:
        read_file(path, names=["a", "b", "c"], skip_invalid=True)
    assert "skip_invalid" not in str(caught.value)


def test_many_places_are_counted_and_the_first_are_named(save):
    reading = read_file(
        save("anchor,near,far\na,b,c\n" + "a,b,b\n" * 9),
        skip_invalid=True,
    )
    assert reading.sentences()[1] == (
        "Left out: 9 rows in which near and far are the same (line 3, line 4, line 5, line 6, "
        "line 7 and 4 more)."
    )
    assert len(reading.skipped[0].places) == 9


@pytest.mark.parametrize("example", [*EXAMPLES, *APPS], ids=lambda example: example.name)
def test_a_file_without_such_rows_is_read_as_ever(save, example):
    path = save(example.content, example.name)
    columns = columns_of(example)
    plain = read_file(path, columns=columns)
    reading = read_file(path, columns=columns, skip_invalid=True)
    assert reading.triplets == plain.triplets
    assert reading.skipped == plain.skipped


def test_read_triplets_warns_of_them(save):
    with pytest.warns(DataWarning, match=r"of 4 rows, left out: 2 rows whose winner was not shown"):
        assert len(tc.read_triplets(save(SALMON), skip_invalid=True)) == 2


# --- on the command line ----------------------------------------------------------------------


def test_the_option_of_commands(save, tmp_path, capsys):
    path, out = save(SALMON), tmp_path / "out.csv"
    assert main(["convert", str(path), str(out)]) == 2
    told = capsys.readouterr().err
    assert "(2 such rows in all: line 3, line 5)" in told
    assert "--skip-invalid" in told
    assert "skip_invalid" not in told
    assert not out.exists()
    assert main(["convert", str(path), str(out), "--skip-invalid"]) == 0
    assert (
        "Left out: 2 rows whose winner was not shown (line 3, line 5)." in capsys.readouterr().err
    )
    assert len(read_file(out).triplets) == 2


def test_check_lists_them_in_json(save, capsys):
    assert main(["check", str(save(SALMON)), "--skip-invalid", "--json", "--quiet"]) == 0
    record = json.loads(capsys.readouterr().out)
    (skipped,) = record["skipped"]
    assert skipped["count"] == 2
    assert skipped["places"] == ["line 3", "line 5"]
    assert record["read"][1].startswith("Left out: 2 rows whose winner")


READ_ANSWERS = (
    *("report", "check", "convert", "fit", "bootstrap", "posterior", "dimension", "compare"),
    *("scale", "predict", "suggest", "plan"),
)


def test_every_command_that_reads_answers_has_the_options(tercet):
    wrong = []
    for command in READ_ANSWERS:
        _, told, _ = tercet(command, "--help")
        wrong += [
            f"tercet {command} has no {option}"
            for option in ("--skip-invalid", "--max-size")
            if option not in told
        ]
    assert not wrong, "\n".join(wrong)
