from pathlib import Path

import numpy as np
import pytest
from tests.io.examples import EXAMPLES

from tercet.answers.triplets import Triplets
from tercet.errors import InputError
from tercet.io import FORMATS, Catch, Reading, read_file
from tercet.io.inputfile import InputFile

by_name = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)


@by_name
def test_a_file_looks_like_its_own_format_and_no_other(save, example):
    path = save(example.content, example.name)
    looks = {each.name for each in FORMATS if each.matches(InputFile(path))}
    if example.name == "headless.csv":
        assert looks == set()  # nothing but numbers: a tidy table is what is left
    elif example.format == "cblearn" and example.name.endswith("npz"):
        assert looks == {"cblearn", "array"}  # the first of them in FORMATS
    else:
        assert looks == {example.format}


@by_name
def test_it_is_read_as_that_and_all_rows_are_counted(save, example):
    reading = read_file(save(example.content, example.name))
    assert reading.format == example.format
    assert reading.rows == example.rows
    assert len(reading.triplets) == example.answers
    triplets = reading.triplets
    said = f"{triplets.n_answers} answers"
    if triplets.shares_screens:
        screens = len(np.unique(triplets.number_screens()))
        said = f"{triplets.n_answers} comparisons on {screens} screens"
    assert reading.sentences()[0].startswith(f"Read as {reading.title}: {said}")


@by_name
def test_the_format_can_be_asked_for(save, example):
    path = save(example.content, "answers.dat")
    assert read_file(path, format=example.format).triplets == read_file(path).triplets


def test_formats_have_distinct_names_and_say_what_they_look_like():
    assert len({each.name for each in FORMATS}) == len(FORMATS)
    assert all(each.title and each.looks for each in FORMATS)
    assert {example.format for example in EXAMPLES} <= {each.name for each in FORMATS}


def test_an_unknown_format_is_refused(save):
    with pytest.raises(InputError, match="no format 'excel'; choose one of parquet, cblearn"):
        read_file(save("0,1,2\n"), format="excel")


def test_the_page_about_files_lists_every_format():
    page = (Path(__file__).parents[2] / "docs" / "files.md").read_text("utf-8")
    for each in FORMATS:
        written = "no" if each.write is None else "yes"
        assert f"| `{each.name}` | {each.looks} | {written} |" in page, each.name


def test_numbers_from_1_can_be_taken_as_labels(save):
    reading = read_file(save("anchor,near,far,observer\n1,2,3,eve\n3,1,2,bob\n"))
    assert reading.triplets.n_objects == 4
    labelled = reading.by_labels()
    assert labelled.triplets.names == ("1", "2", "3")
    assert labelled.triplets.array.tolist() == [[0, 1, 2], [2, 0, 1]]
    assert labelled.triplets.observers.tolist() == ["eve", "bob"]
    assert "Objects are assumed to be numbered from 1." in labelled.sentences()
    for content in ("0,1,2\n", "1,2,4\n", "anchor,near,far\na,b,c\n"):
        other = read_file(save(content))
        assert other.by_labels() is other


def test_numbers_far_apart_are_labels(save):
    reading = read_file(save("anchor,near,far\n7,900001,40\n40,7,900001\n")).by_labels()
    assert reading.triplets.names == ("7", "40", "900001")
    assert reading.triplets.array.tolist() == [[0, 2, 1], [1, 0, 2]]
    assert "Numbers up to 900001 are treated as labels of 3 objects." in reading.note


def test_observers_can_be_left_out(save):
    content = "anchor,near,far,observer\na,b,c,1\nb,c,a,2\nc,a,b,1\na,c,b,3\n"
    reading = read_file(save(content))
    left = reading.without(["1", "3"])
    assert left.triplets.array.tolist() == [[1, 2, 0]]
    assert left.triplets.observers.tolist() == [2]
    assert "Left out: 3 rows by observers '1', '3'." in left.sentences()
    for observers, message in ((["4"], "no observer '4'; found: '1', '2', '3'"),):
        with pytest.raises(InputError, match=message):
            reading.without(observers)
    with pytest.raises(InputError, match="no answer is left"):
        reading.without(["1", "2", "3"])
    with pytest.raises(InputError, match="the observers of the answers are unknown"):
        read_file(save("anchor,near,far\na,b,c\n")).without(["1"])


def test_catch_trials_of_those_left_out_go_with_them(save):
    triplets = Triplets([[0, 1, 2], [1, 0, 2]], observers=["a", "b"])
    catch = Catch(np.array([True, False, True]), np.array(["a", "b", "b"]))
    left = Reading(triplets, "f.csv", "tidy", "a tidy table", 5, catch=catch).without(["b"])
    assert left.catch.passed.tolist() == [True]
    assert left.catch.observers.tolist() == ["a"]


def test_formats_are_recognised_by_columns_that_are_pointed_out(save):
    content = "a1,a2,a3,q7,who\ncat,dog,car,car,p1\nbus,car,dog,dog,p2\n"
    columns = {"object1": "a1", "object2": "a2", "object3": "a3", "odd": "q7", "observer": "who"}
    reading = read_file(save(content), columns=columns)
    assert reading.format == "odd-one-out"
    assert len(reading.triplets) == 4
    left = reading.without(["p1"])
    assert "Left out: 1 row by observer 'p1'." in left.sentences()
    tidy = read_file(save("x,near,far,participant\na,b,c,p1\n"), columns={"anchor": "x"})
    assert tidy.triplets.observers.tolist() == ["p1"]
