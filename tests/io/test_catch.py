"""Catch trials are those of the observers who answered, numeric or not."""

import json

import pytest
from tests.io.examples import FOOD

from tercet.io import read_file
from tercet.uses.quality import check_answers

# Anchor, left, right and the choice: two answers, and ten times the anchor shown but not chosen.
TRIALS = [("a", "b", "c", "b"), ("b", "c", "a", "c"), *([("a", "a", "b", "b")] * 10)]
NUMBERS = {"a": "0", "b": "1", "c": "2"}


def table(titles, rows):
    return "\n".join(",".join(row) for row in [titles, *rows]) + "\n"


def salmon(*who):
    rows = [[*(NUMBERS[each] for each in trial), o] for o in who for trial in TRIALS]
    return table(["head", "left", "right", "winner", "puid"], rows)


def triplettools(*who):
    rows = [[*trial, o] for o in who for trial in TRIALS]
    return table(["Center", "Left", "Right", "Answer", "worker_id"], rows)


def jspsych(*who):
    rows = [[*trial, o, "x", str(i)] for o in who for i, trial in enumerate(TRIALS)]
    titles = ["anchor", "left", "right", "response", "participant", "trial_type", "trial_index"]
    return table(titles, rows)


def psychopy(*who):
    rows = [[*trial, o, "1"] for o in who for trial in TRIALS]
    return table(["anchor", "left", "right", "response", "participant", "psychopyVersion"], rows)


def left_right(*who):
    rows = [[*trial, o] for o in who for trial in TRIALS]
    return table(["anchor", "left", "right", "response", "participant"], rows)


def grids(*who):
    rows = [[a, chosen, f"{b}|{c}", o] for o in who for a, b, c, chosen in TRIALS]
    return table(["anchor", "chosen", "shown", "participant"], rows)


def next_json(*who):
    def given(trial):
        places = zip(("center", "left", "right"), trial[:3], strict=True)
        shown = [{"label": label, "index": int(NUMBERS[each])} for label, each in places]
        return {"target_indices": shown, "index_winner": int(NUMBERS[trial[3]])}

    return json.dumps({"participant_responses": {o: [given(t) for t in TRIALS] for o in who}})


def food(*who):
    asked, caught = FOOD[0]["HIT_screens"]
    missed = caught | {"near_answer": ["images/stew.jpg"]}
    workers = [float(o) if "." in o else int(o) if o in ("11", "12") else o for o in who]
    tasks = [{"worker_id": o, "HIT_screens": [asked, asked, *[missed] * 10]} for o in workers]
    return json.dumps(tasks)


FILES = (salmon, triplettools, jspsych, psychopy, left_right, grids, next_json, food)
OBSERVERS = [("11", "12"), ("11.0", "12.0"), ("011", "eve"), ("11", "eve"), ("11.0", "eve")]


@pytest.mark.parametrize("write", FILES)
@pytest.mark.parametrize("who", OBSERVERS, ids="-".join)
def test_everybody_who_fails_is_found(save, write, who):
    reading = read_file(save(write(*who)))
    assert len(reading.catch.passed) == 20
    found = check_answers(reading.triplets, catch=reading.catch, random_state=0)
    assert {o.observer for o in found.observers} == {each.removesuffix(".0") for each in who}
    for observer in found.observers:
        assert (observer.catch_trials, observer.catch_passed) == (10, 0)
        assert "failed catch trials" in observer.flags


@pytest.mark.parametrize("write", FILES)
@pytest.mark.parametrize("left_out", ["11", "11.0", 11])
def test_observers_are_left_out_with_their_catch_trials(save, write, left_out):
    reading = read_file(save(write("11.0", "12"))).without([left_out])
    assert reading.triplets.observers.tolist() == [12] * len(reading.triplets)
    assert reading.catch.observers.tolist() == [12] * 10
    assert reading.left_out == (str(left_out),)


def test_somebody_who_only_did_catch_trials_changes_nothing(save):
    content = left_right("11", "12") + "a,a,b,b,bob\n"
    reading = read_file(save(content))
    found = check_answers(reading.triplets, catch=reading.catch, random_state=0)
    assert [(o.observer, o.catch_trials) for o in found.observers] == [("11", 10), ("12", 10)]
