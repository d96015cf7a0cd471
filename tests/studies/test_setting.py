"""Parts of a study, chosen on the command line."""

import pytest
from studies.__main__ import parse_only
from studies.cells import Cell
from studies.setting import Setting


def cells(**settings):
    return [
        Cell("some", 1, dict, {"people": people, "d": d, **settings})
        for people in ("eggs", "cars")
        for d in (1, 2)
    ]


def test_all_cells_by_default():
    assert Setting(quick=False, jobs=1).part(cells()) == cells()


def test_values_are_alternatives_and_names_are_conditions():
    setting = Setting(False, 1, parse_only(["people=eggs,cars", "d=2"]))
    assert [cell.settings["d"] for cell in setting.part(cells())] == [2, 2]
    setting = Setting(False, 1, parse_only(["people=eggs", "d=1", "d=2"]))
    assert [cell.settings["people"] for cell in setting.part(cells())] == ["eggs", "eggs"]


def test_cells_without_a_setting_are_not_meant():
    assert Setting(False, 1, parse_only(["world=0"])).part(cells()) == []


@pytest.mark.parametrize("condition", ["people", "=eggs", "people="])
def test_a_condition_has_a_name_and_values(condition):
    with pytest.raises(ValueError, match="NAME=VALUE"):
        parse_only([condition])
