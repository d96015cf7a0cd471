"""Tables and records: as text, CSV, Markdown and JSON."""

import csv
import io
import json

import numpy as np
import pytest

from tercet.errors import InputError
from tercet.tables import DEEPEST, Table, json_ready, parse_json, table_of, to_csv, to_json
from tercet.uses.dimension.evidence import Measured

TABLE = Table("Pets", ["name", "x"], [["a|b", "1.5"], ["cat", None]])


def test_text_is_aligned_under_its_title():
    assert TABLE.text() == "Pets\nname  x\na|b   1.5\ncat"
    assert Table("", TABLE.header, TABLE.rows).text(right=True) == "name    x\n a|b  1.5\n cat"


def test_markdown_keeps_bars_in_their_cells():
    assert TABLE.markdown() == "| name | x |\n| --- | --- |\n| a\\|b | 1.5 |\n| cat |  |"


def test_records_have_the_titles():
    assert TABLE.records() == [{"name": "a|b", "x": "1.5"}, {"name": "cat", "x": None}]
    assert table_of(TABLE.records(), "Pets") == Table("Pets", ["name", "x"], TABLE.rows)


def test_a_row_that_lacks_a_cell_is_refused():
    with pytest.raises(ValueError, match="shorter"):
        Table("", ["a", "b"], [["1"]]).text()


def test_csv_leaves_what_is_no_number_empty():
    rows = [{"name": 'a, "b"', "x": float("nan")}, {"name": 3, "x": None}, {"name": "c", "x": 0.1}]
    assert table_of(rows).csv() == 'name,x\n"a, ""b""",\n3,\nc,0.1\n'
    assert table_of([]).csv() == ""


def test_records_may_lack_columns():
    text = table_of([{"a": 1}, {"b": np.float64(0.1), "a": 2}]).csv()
    assert list(csv.reader(io.StringIO(text))) == [["a", "b"], ["1", ""], ["2", "0.1"]]


def test_csv_with_tabs_keeps_cells_as_they_are():
    assert to_csv(["a", "b"], [(1, float("nan")), (None, "x,y")], "\t") == "a\tb\n1\tnan\n\tx,y\n"


def test_json_knows_numbers_and_null():
    record = {
        "array": np.array([1.5, np.nan, np.inf]),
        "count": np.int64(3),
        "yes": np.bool_(True),
        "nothing": None,
        "pair": Measured(1.0, float("nan")),
        "names": ("a", "\x1b"),
        5: {"deep": [np.float64(0.1)]},
    }
    text = to_json(record)
    assert text.isascii()
    assert json.loads(text) == {
        "array": [1.5, None, None],
        "count": 3,
        "yes": True,
        "nothing": None,
        "pair": {"value": 1.0, "error": None},
        "names": ["a", "\x1b"],
        "5": {"deep": [0.1]},
    }
    assert json_ready(InputError("x")) == "x"
    assert json_ready(Table("", ["a"], [[1]])) == {"title": "", "header": ["a"], "rows": [[1]]}


@pytest.mark.parametrize("depth", [DEEPEST + 1, 100_000])
def test_json_that_is_nested_too_deeply_is_refused(depth):
    with pytest.raises(ValueError, match=r"nested too deeply|nested more than 100 deep"):
        parse_json("[" * depth + "]" * depth)
    assert parse_json("[" * DEEPEST + "]" * DEEPEST)
