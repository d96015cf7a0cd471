import csv
import json
import re

import numpy as np
import pytest

from tercet import simulate
from tercet.answers.triplets import Triplets
from tercet.cli import main, plan
from tercet.io import write_triplets
from tercet.uses.plan.worlds import MEASURES, SHAPES

SMALL = ["--answers", "30,60", "--repeats", "6", "--jobs", "1", "--quiet"]


def test_choices_are_those_of_the_function():
    assert list(plan.MEASURES) == list(MEASURES)
    assert plan.SHAPES == SHAPES


@pytest.mark.slow
def test_a_table_a_file_and_a_picture(tmp_path, capsys):
    out, picture = tmp_path / "plan.csv", tmp_path / "plan.png"
    files = ["-o", str(out), "--plot", str(picture)]
    assert main(["plan", "--objects", "8", "--target", ".6", *SMALL, *files]) == 0
    text = capsys.readouterr().out
    assert "answers  accuracy" in text
    assert "60 % of all comparisons right" in text
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert [row["answers"] for row in rows] == ["30", "60"]
    assert float(rows[1]["median"]) > float(rows[0]["low"])
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_json_of_a_pilot(tmp_path, capsys):
    points = np.random.default_rng(0).standard_normal((8, 2))
    pilot = tmp_path / "pilot.csv"
    write_triplets(simulate.noisy_triplets(points, 50, noise=0.2, random_state=0), pilot)
    arguments = ["plan", "--pilot", str(pilot), "--json", *SMALL]
    assert main([*arguments, "--plot", str(tmp_path / "more.svg")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["pilot"] == 50
    assert found["n_objects"] == 8
    assert [row["answers"] for row in found["rows"]] == [30, 60]
    assert (tmp_path / "more.svg").exists()


@pytest.mark.slow
def test_screens_of_several_kinds(tmp_path, capsys):
    out, picture = tmp_path / "plan.csv", tmp_path / "plan.svg"
    kinds = ["--kind", "odd-one-out,2of5", "--agreement", "74%", "--target", ".6"]
    files = ["-o", str(out), "--plot", str(picture)]
    assert main(["plan", "--objects", "8", *kinds, *SMALL, *files]) == 0
    text = capsys.readouterr().out
    assert re.search(r"two people agree in 74 % of such\s+questions\s+\(odd one out\)", text)
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert [(row["question"], row["answers"]) for row in rows] == [
        ("odd one out", "30"),
        ("odd one out", "60"),
        ("2 of 5", "30"),
        ("2 of 5", "60"),
    ]
    assert "2-of-5 screens" in picture.read_text()


@pytest.mark.slow
def test_no_more_answers_than_the_pilot(tmp_path, capsys):
    points = np.random.default_rng(0).standard_normal((8, 2))
    pilot = tmp_path / "pilot.csv"
    answers = simulate.choices(points, 40, noise=0.2, observers=2, random_state=0)
    write_triplets(answers.triplets(), pilot)
    steps = ["--answers", "0,20", "--json", *SMALL[2:]]
    assert main(["plan", "--pilot", str(pilot), "--target", ".55", *steps]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["pilot"], found["question"]["kind"]) == (40, "odd_one_out")
    assert [row["answers"] for row in found["rows"]] == [0, 20]
    assert main(["plan", "--objects", "8", *steps]) == 2
    assert "two or more increasing whole numbers" in capsys.readouterr().err


@pytest.mark.slow
def test_observers_of_a_pilot_are_left_out(tmp_path, capsys):
    points = np.random.default_rng(0).standard_normal((8, 2))
    answers = simulate.noisy_triplets(points, 60, noise=0.2, random_state=0)
    pilot = tmp_path / "pilot.csv"
    write_triplets(Triplets(answers, observers=np.repeat(["ann", "bob", "eve"], 20)), pilot)
    arguments = ["plan", "--pilot", str(pilot), "--json", *SMALL]
    assert main([*arguments, "--leave-out", "bob,eve"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["pilot"] == 20
    assert "left out: 40 rows by observers 'bob', 'eve'" in said.err
    assert main([*arguments, "--leave-out", "joe"]) == 2
    assert "no observer 'joe'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "give either --objects N or --pilot FILE"),
        (["--objects", "8", "--pilot", "x.csv"], "give either"),
        (["--objects", "8", "--target", "2"], "between 0.5 and 1, got 2.0"),
        (["--objects", "8", "--repeats", "2"], "repeats must be at least 6"),
        (["--objects", "8", "--plot", "plan.xyz"], "must end in one of .png"),
        (["--objects", "8", "-o", "no/such/folder/x.csv"], "no folder"),
        (["--pilot", "missing.csv"], "missing.csv"),
        (["--objects", "8", "--kind", "4of5,odd"], "kind must be one of"),
        (["--objects", "8", "--kind", "triplet,3of9"], "is about 10 objects, and there are only 8"),
        (["--objects", "8", "--kind", "triplet,ranking", "--shown", "5"], "such as 3of9,ranking"),
        (["--objects", "8", "--agreement", ".4"], "must be above 0.5"),
        (["--objects", "8", "--noise", "1", "--agreement", "74%"], "either .*noise or .*agreement"),
        (["--objects", "8", "--leave-out", "P17"], "--leave-out .* give --pilot FILE"),
    ],
)
def test_bad_input_is_told_in_a_line(arguments, message, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert main(["plan", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith("tercet plan: ")
    assert re.search(message, error)


def test_bad_usage(capsys):
    for arguments in (
        ["--answers", "10,x"],
        ["--measure", "beauty"],
        ["--objects", "0"],
        ["--agreement", "74"],
    ):
        with pytest.raises(SystemExit) as stop:
            main(["plan", *arguments])
        assert stop.value.code == 2
    assert "usage" in capsys.readouterr().err
