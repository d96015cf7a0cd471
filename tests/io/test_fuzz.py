"""Whatever is in a file: answers, all rows accounted for, or one `InputError`."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.io.examples import EXAMPLES, FOOD

from tercet.errors import InputError
from tercet.io import read_file

FORMATS = sorted({example.format for example in EXAMPLES})
ONE_SCREEN_A_ROW = ("odd-one-out", "most-central", "screens")
JUNK = [
    *("", " ", "nan", "NA", "inf", "-1", "1e400", "9" * 30, "1_0", "1.5", "0x1", "true", "１"),
    *("'", '"', "|", "a|b", "1 2", "#", ",", ";", "\t", "[", "{}", "\\", "null", "resp", "anchor"),
    *("\x1c", "\u2028", "\x00", "\r", "\n", "\ufeff", "é", "=1+1", "<b>", "$x$", "images/a.png"),
]
few = settings(max_examples=50, deadline=None)


def outcome(path, content, format):  # noqa: A002
    """Read the file; a reading accounts for all of its rows. None if it was refused."""
    path.write_bytes(content)
    reading = problem = None
    try:
        reading = read_file(path, format=format)
    except InputError as error:
        problem = str(error)
    if reading is None:
        assert str(path) in problem
        reading = without_invalid(path, format)
    if reading is None:
        return None
    T = reading.triplets
    given = len(np.unique(T.screens)) if reading.format in ONE_SCREEN_A_ROW else len(T)
    left_out = sum(each.count for each in reading.skipped)
    caught = 0 if reading.catch is None else len(reading.catch.passed)
    assert reading.rows == given + left_out + caught
    return reading


def without_invalid(path, format):  # noqa: A002
    """The reading without rows that cannot be answers, None if it was refused anyway."""
    try:
        return read_file(path, format=format, skip_invalid=True)
    except InputError:
        return None


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz") / "answers.dat"


@pytest.mark.parametrize("format", [*FORMATS, None])
@few
@given(
    start=st.sampled_from(
        [b"", b"\x93NUMPY\x01\0", b"PK\x03\x04", b"PAR1", b"\x1f\x8b", b"[", b"{"]
    ),
    content=st.binary(max_size=200),
)
def test_any_bytes(path, format, start, content):  # noqa: A002
    outcome(path, start + content, format)


CELL = st.one_of(st.sampled_from(JUNK), st.sampled_from("012345"), st.text(max_size=3))


@pytest.mark.parametrize("format", [*FORMATS, None])
@few
@given(
    rows=st.lists(st.lists(CELL, min_size=1, max_size=5), max_size=5), mark=st.sampled_from(", ;\t")
)
def test_any_table(path, format, rows, mark):  # noqa: A002
    text = "\n".join(mark.join(row) for row in rows)
    outcome(path, text.encode("utf-8", "surrogatepass"), format)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
@few
@given(data=st.data())
def test_flipped_cut_and_doubled_bytes(path, example, data):
    content = bytearray(example.content)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(content) - 1))
        match data.draw(st.sampled_from(["flip", "cut", "double", "remove"])):
            case "flip":
                content[at] ^= 1 << data.draw(st.integers(0, 7))
            case "cut":
                del content[max(at, 1) :]
            case "double":
                content[at:at] = content[at : at + 20]
            case "remove":
                del content[at : min(at + 4, len(content) - 1)]
    outcome(path, bytes(content), example.format)
    outcome(path, bytes(content), None)


TABLES = [example for example in EXAMPLES if example.name.endswith(".csv")]


@pytest.mark.parametrize("example", TABLES, ids=lambda example: example.name)
@few
@given(data=st.data())
def test_changed_cells_and_lines_of_a_table(path, example, data):
    rows = [line.split(",") for line in example.content.decode().splitlines()]
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(rows) - 1))
        match data.draw(st.sampled_from(["cell", "delete", "double", "swap", "shorten"])):
            case "cell":
                cell = data.draw(st.integers(0, max(len(rows[at]) - 1, 0)))
                rows[at][cell : cell + 1] = [data.draw(st.sampled_from(JUNK))]
            case "delete" if len(rows) > 1:
                del rows[at]
            case "double":
                rows.insert(at, list(rows[at]))
            case "swap":
                other = data.draw(st.integers(0, len(rows) - 1))
                rows[at], rows[other] = rows[other], rows[at]
            case _:
                rows[at] = rows[at][:-1] or [""]
    text = "\n".join(",".join(row) for row in rows)
    reading = outcome(path, text.encode(), example.format)
    plain = not set(text) & set("\r\x1c\u2028")
    if reading is not None and plain:  # no line may get lost on the way to the rows
        lines = sum(bool(line.strip()) for line in text.split("\n"))
        assert lines - reading.rows in (0, 1)  # 1: the header


@few
@given(data=st.data())
def test_changed_values_of_json(path, data):
    content = json.loads(json.dumps(FOOD))
    junk = st.one_of(
        st.sampled_from(
            [None, True, -1, 1e400, float("nan"), 10**400, "", [], {}, [[]], "x", [None]]
        ),
        st.text(max_size=3),
    )
    for _ in range(data.draw(st.integers(1, 3))):
        task = data.draw(st.sampled_from(content))
        if not isinstance(task, dict) or not isinstance(task.get("HIT_screens"), list):
            break
        screens = [each for each in task["HIT_screens"] if isinstance(each, dict)]
        place = data.draw(st.sampled_from([task, *screens]))
        key = data.draw(st.sampled_from(sorted(place)))
        if data.draw(st.booleans()):
            place[key] = data.draw(junk)
        else:
            del place[key]
        if not place:
            break
    outcome(path, json.dumps(content).encode("utf-8", "surrogatepass"), "screens")
