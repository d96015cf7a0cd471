import csv
import io

import numpy as np
import pytest

from tercet.errors import TercetError
from tercet.paper.experiments import Measurements, measurements_of

ROWS = [
    {"repeat": r, "x": x, "method": m, "y": 10.0 * r + x}
    for r in (0, 1)
    for x in (3, 1, 2)
    for m in ("a", "b")
]


def test_a_curve_has_a_row_for_each_repeat_and_rises_in_x():
    curve = Measurements(ROWS).where(method="a").curve("x", "y")
    np.testing.assert_array_equal(curve.x, [1, 2, 3])
    np.testing.assert_array_equal(curve.values, [[1, 2, 3], [11, 12, 13]])
    np.testing.assert_array_equal(curve.mean, [6, 7, 8])
    np.testing.assert_allclose(curve.sd, np.std([0, 10], ddof=1))
    np.testing.assert_array_equal(curve.at(2), [2, 12])
    with pytest.raises(TercetError, match="no 4"):
        curve.at(4)


def test_a_curve_of_one_repeat_has_no_spread():
    curve = Measurements(ROWS[:6]).where(method="a").curve("x", "y")
    np.testing.assert_array_equal(curve.sd, 0.0)


def test_rows_that_are_not_told_apart_are_refused():
    with pytest.raises(TercetError, match="two rows"):
        Measurements(ROWS).curve("x", "y")


def test_a_repeat_with_a_hole_is_left_out():
    rows = [r for r in ROWS if r["method"] == "a"]
    np.testing.assert_array_equal(Measurements(rows[:-1]).curve("x", "y").values, [[1, 2, 3]])
    with pytest.raises(TercetError, match="left out"):
        Measurements(rows[:2] + rows[5:]).curve("x", "y")


def test_values_and_where():
    table = Measurements(ROWS)
    assert table.values("x") == [3, 1, 2]
    assert len(table.where(method="a", x=1)) == 2
    assert len(table.where(method="c")) == 0


def test_the_summary_has_means_and_standard_deviations():
    (first, *_) = Measurements(ROWS).summary(("method", "x"), ("y", "z")).rows
    assert first == {
        "method": "a",
        "x": 3,
        "repeats": 2,
        "y mean": 8.0,
        "y sd": pytest.approx(np.std([3, 13], ddof=1)),
    }


def test_csv_has_every_number():
    text = Measurements([{"a": 1, "b": 0.1}, {"a": 2, "c": "x, y"}]).csv()
    assert list(csv.DictReader(io.StringIO(text))) == [
        {"a": "1", "b": "0.1", "c": ""},
        {"a": "2", "b": "", "c": "x, y"},
    ]


def test_rows_carry_the_settings_of_their_cell():
    table = measurements_of([{"settings": {"a": 1, "list": [1]}, "rows": [{"y": 2}]}])
    assert table.rows == [{"a": 1, "y": 2}]


def test_a_repeat_with_a_failed_cell_is_left_out_as_a_whole():
    whole = [
        {"settings": {"repeat": r, "x": x}, "rows": [{"y": x}]} for r in (0, 1) for x in (1, 2)
    ]
    failed = {"settings": {"repeat": 1, "x": 3}, "failed": "why"}
    assert measurements_of([*whole, failed]).values("repeat") == [0]
    assert measurements_of(whole).values("repeat") == [0, 1]
