import gzip

import pytest
from tests.io.examples_apps import EXAMPLES, columns_of

from tercet.errors import DataWarning
from tercet.io import FORMATS, read_file, read_triplets
from tercet.io.inputfile import InputFile

by_name = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)


@by_name
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_a_file_looks_like_its_own_format_and_no_other(save, example, pack):
    path = save(pack(example.content), example.name)
    assert {each.name for each in FORMATS if each.matches(InputFile(path))} == {example.format}


@by_name
def test_it_is_read_as_that_and_all_rows_are_counted(save, example):
    reading = read_file(save(example.content, example.name), columns=columns_of(example))
    assert reading.format == example.format
    assert reading.rows == example.rows
    assert len(reading.triplets) == example.answers
    apart = 0 if reading.catch is None else len(reading.catch.passed)
    assert sum(each.count for each in reading.skipped) + apart == example.rows - example.answers


@by_name
def test_the_three_objects_have_their_names(save, example):
    T = read_file(save(example.content, example.name), columns=columns_of(example)).triplets
    if example.name != "indices.csv":
        assert set(T.names) == {"cat", "dog", "bus"}
        assert [T.names[i] for i in T.array[0]] == ["cat", "dog", "bus"]


@by_name
def test_the_format_can_be_asked_for(save, example):
    path = save(example.content, "answers.dat")
    asked = read_file(path, format=example.format, columns=columns_of(example))
    assert asked.triplets == read_file(path, columns=columns_of(example)).triplets


def test_what_is_left_out_is_a_warning(save):
    example = next(each for each in EXAMPLES if each.name == "next.json")
    path = save(example.content, example.name)
    with pytest.warns(DataWarning, match="of 2 rows, left out: 1 row without a winner"):
        read_triplets(path)
