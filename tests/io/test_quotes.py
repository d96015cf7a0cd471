"""Quotes: a cell may run over the end of a line; a stray quote swallows no row."""

import csv
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tercet.errors import InputError
from tercet.io import read_file, read_triplets

ROWS = [[f"o{(i * k) % 7 + 7 * k}" for k in (1, 2, 3)] + [f"p{i % 5}"] for i in range(300)]
HEADER = ["anchor", "near", "far", "observer"]


def lines(rows=ROWS, header=HEADER):
    return [",".join(row) for row in [header, *rows]]


def outcome(path, text):
    """How many answers are read; None if the file is refused."""
    path.write_text(text)
    try:
        return len(read_file(path).triplets)
    except InputError:
        return None


@pytest.mark.parametrize("line", [0, 1, 2, 150, 299])
@pytest.mark.parametrize("cell", [0, 1, 2, 3])
def test_one_stray_quote(tmp_path, line, cell):
    rows = [row.copy() for row in [HEADER, *ROWS]]
    rows[line][cell] = '"' + rows[line][cell]
    text = "\n".join(map(",".join, rows)) + "\n"
    path = tmp_path / "a.csv"
    assert outcome(path, text) is None
    with pytest.raises(InputError, match=f"line {line + 1}: a quote"):
        read_file(path)


def test_the_message_names_the_first_line(save):
    path = save('anchor,near,far,observer\na,b,c,"eve\na,c,b,bob\nb,c,a,bob\n')
    with pytest.raises(InputError, match=r"line 2: a quote .* 3 lines would become one row"):
        read_file(path)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_stray_quotes_never_swallow_rows(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "quotes.csv"
    some = ROWS[:12]
    text = "\n".join(lines(some)) + "\n"
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        text = text[:at] + '"' + text[at:]
    assert outcome(path, text) in (None, len(some))


@pytest.mark.parametrize("cell", [0, 1, 2, 3])
def test_two_stray_quotes_that_would_make_one_good_row(tmp_path, cell):
    rows = [row.copy() for row in ROWS[:10]]
    rows[2][cell], rows[6][cell] = '"' + rows[2][cell], rows[6][cell] + '"'
    assert outcome(tmp_path / "a.csv", "\n".join(lines(rows)) + "\n") is None


def test_cells_of_several_lines_are_read(save):
    rows = [
        ["a\nb", "c", "d, e\n\nf", "eve"],
        ["c", 'say "hi"\nor, not', "a\nb", "bob"],
        ["d, e\n\nf", "c", "a\nb", 'one\n"two"\nthree'],
    ]
    text = io.StringIO(newline="")
    csv.writer(text).writerows([[*HEADER[:3], "a title\nof two lines, and more"], *rows])
    T = read_triplets(
        save(text.getvalue()), columns={"observer": "a title\nof two lines, and more"}
    )
    assert [[T.names[i] for i in row] for row in T.array] == [row[:3] for row in rows]
    assert T.observers.tolist() == [row[3] for row in rows]


def test_json_over_several_lines_in_a_cell(save):
    choices = '"[\n  ""dog"",\n  ""bus""\n]"'
    header = "rt,stimulus,choices,response,trial_type,trial_index\n"
    rows = "".join(f"900,cat,{choices},{i % 2},button,{i}\n" for i in range(3))
    reading = read_file(save(header + rows))
    assert reading.format == "jspsych"
    assert [reading.triplets.names[i] for i in reading.triplets.array[:, 1]] == [
        "dog",
        "bus",
        "dog",
    ]


def test_too_much_within_quotes_names_the_first_line(save):
    text = "anchor,near,far\na,b,c\n" + 'a,"b,c\n' + "b,c,a\n" * 40_000
    with pytest.raises(InputError, match="line 3: invalid CSV"):
        read_file(save(text))
