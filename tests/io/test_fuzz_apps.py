"""Whatever is in a file of a program for experiments, it is read in full or refused in words."""

import csv
import io
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.io.examples_apps import EXAMPLES, columns_of

from tercet.errors import InputError
from tercet.io import read_file

APPS = sorted({example.format for example in EXAMPLES})
quick = settings(max_examples=50, deadline=None)
by_name = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz") / "answers.dat"


def outcome(path, kind, columns, **more):
    try:
        return read_file(path, format=kind, columns=columns, **more)
    except InputError:
        return None


def check(path, content, kind=None, columns=None):
    """Read it, and see that every row is accounted for; or that it is refused in words."""
    path.write_bytes(content)
    reading = outcome(path, kind, columns) or outcome(path, kind, columns, skip_invalid=True)
    if reading is None:
        return
    apart = 0 if reading.catch is None else len(reading.catch.passed)
    left_out = sum(each.count for each in reading.skipped)
    if reading.format in APPS:
        assert len(reading.triplets) + apart + left_out == reading.rows
    for name in reading.triplets.names or ():
        assert name.encode()
    times = reading.triplets.response_times
    assert times is None or not (times < 0).any()


@pytest.mark.parametrize("kind", APPS)
@quick
@given(content=st.binary(max_size=300))
def test_any_bytes(path, kind, content):
    check(path, content, kind)


@pytest.mark.parametrize("kind", APPS)
@quick
@given(content=st.text(st.sampled_from('head,winerlstcg[]{}":0123\n\t;\\u<>.-'), max_size=200))
def test_any_text(path, kind, content):
    check(path, content.encode(), kind)


@by_name
@quick
@given(data=st.data())
def test_damaged_bytes(path, example, data):
    content = bytearray(example.content)
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(0, len(content)))
    for part in (content, content[:end]):
        check(path, bytes(part), columns=columns_of(example))
        check(path, bytes(part), example.format, columns_of(example))


CELLS = (
    *("", " ", "-1", "1", "0.5", "nan", "inf", "1e400", "9" * 30, "9" * 5000, "٣", "²", "True"),
    *("null", "None", "left", "j", "cat", "img/cat.png", "p1", "=1+1", "a\nb", "\x00", '"'),
    *("<script>", "<img src=", "[", "[]", '["a"]', '["a","a"]', "{}", '{"left": 1, "right": 2}'),
)
JUNK = st.sampled_from(CELLS) | st.text(max_size=6)
TABLES = [example for example in EXAMPLES if example.name.endswith(".csv")]


@pytest.mark.parametrize("example", TABLES, ids=lambda example: example.name)
@quick
@given(data=st.data())
def test_damaged_tables(path, example, data):
    rows = list(csv.reader(io.StringIO(example.content.decode())))
    for _ in range(data.draw(st.integers(1, 4))):
        row = data.draw(st.integers(0, len(rows) - 1))
        what = data.draw(
            st.sampled_from(["cell", "cell", "cell", "delete", "double", "swap", "cut"])
        )
        if what == "cell" and rows[row]:
            rows[row][data.draw(st.integers(0, len(rows[row]) - 1))] = data.draw(JUNK)
        elif what == "delete" and len(rows) > 1:
            del rows[row]
        elif what == "double":
            rows.insert(row, list(rows[row]))
        elif what == "swap":
            other = data.draw(st.integers(0, len(rows) - 1))
            rows[row], rows[other] = rows[other], rows[row]
        elif what == "cut":
            rows[row] = rows[row][:-1]
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    content = text.getvalue().encode("utf-8", "replace")
    check(path, content, example.format, columns_of(example))
    check(path, content, None, columns_of(example))


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4) | JUNK,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=5,
)


def places(value, way=()):
    """All ways into nested JSON."""
    yield way
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[key], (*way, key))


@pytest.mark.parametrize(
    "example",
    [example for example in EXAMPLES if example.name.endswith(".json")],
    ids=lambda example: example.name,
)
@quick
@given(data=st.data())
def test_damaged_json(path, example, data):
    content = json.loads(example.content)
    for _ in range(data.draw(st.integers(1, 3))):
        ways = [way for way in places(content) if way]
        *way, last = data.draw(st.sampled_from(ways))
        inner = content
        for key in way:
            inner = inner[key]
        if data.draw(st.booleans()):
            inner[last] = data.draw(VALUES)
        elif len(inner) > 1:
            del inner[last]
        if not isinstance(content, dict | list) or not content:
            break
    written = json.dumps(content).encode()
    check(path, written, example.format)
    check(path, written)
