import json

import numpy as np
import pytest

from tercet.errors import InputError
from tercet.io import read_file


def response(center, left, right, winner, **more):
    targets = [("left", left), ("center", center), ("right", right)]
    entries = [{"index": i, "label": label, "flag": 0} for label, i in targets]
    chosen = {} if winner is None else {"index_winner": winner}
    return {"target_indices": entries, **chosen, **more}


def test_answers_by_index(save):
    content = {
        "participant_responses": {
            "u1": [response(6, 8, 5, 8, response_time=1.25), response(6, 8, 5, None)],
            "u2": [response(5, 8, 6, 6, response_time=2)],
        }
    }
    reading = read_file(save(json.dumps(content), "responses.json"))
    T = reading.triplets
    assert (reading.format, reading.rows) == ("next", 3)
    assert T.array.tolist() == [[6, 8, 5], [5, 6, 8]]
    assert T.names is None
    assert T.observers.tolist() == ["u1", "u2"]
    assert T.response_times.tolist() == [1.25, 2]
    (skipped,) = reading.skipped
    assert (skipped.reason, skipped.count) == ("without a winner", 1)
    assert skipped.first == "participant 'u1', response 2"


def test_answers_by_target_with_descriptions(save):
    def target(label, i, nested):
        known = {"target_id": f"t{i}", "primary_description": f"fruit/i{i}.png"}
        return {"label": label, **({"target": known} if nested else known)}

    for nested in (False, True):
        shown = [target(*each, nested) for each in (("center", 10), ("left", 2), ("right", 3))]
        given = {"target_indices": shown, "target_winner": "t3", "response_time": None}
        T = read_file(save(json.dumps({"participant_responses": {"u": [given]}}))).triplets
        assert T.names == ("i2", "i3", "i10")
        assert T.array.tolist() == [[2, 1, 0]]
        assert T.response_times is None


def test_a_description_that_two_objects_have_needs_names(save):
    given = response(0, 1, 2, 2)
    for entry in given["target_indices"]:
        entry["primary_description"] = "a" if entry["index"] else "b"
    path = save(json.dumps({"participant_responses": {"u": [given]}}))
    with pytest.raises(InputError, match="objects '1' and '2' are both called 'a'"):
        read_file(path)
    assert read_file(path, names=["x", "y", "z"]).triplets.array.tolist() == [[0, 2, 1]]


def test_columns_are_refused(save):
    path = save(json.dumps({"participant_responses": {"u": [response(0, 1, 2, 2)]}}))
    with pytest.raises(InputError, match="columns is for tables"):
        read_file(path, columns={"anchor": "center"})


def test_a_large_file_is_read_once_and_as_it_was(save):
    rng = np.random.default_rng(0)
    rows = np.array([rng.permutation(20)[:3] for _ in range(300)])
    responses = [response(a, b, c, b) for a, b, c in rows.tolist()]
    path = save(json.dumps({"participant_responses": {"u": responses}}))
    assert read_file(path).triplets.array.tolist() == rows.tolist()


def test_a_participant_that_is_there_twice_is_refused(save):
    one, other = (json.dumps([response(0, 1, 2, winner)]) for winner in (1, 2))
    path = save(f'{{"participant_responses": {{"u": {one}, "u": {other}}}}}', "r.json")
    with pytest.raises(
        InputError, match=r"key 'u' occurs twice in one JSON object, with different values"
    ):
        read_file(path)
    path = save(f'{{"participant_responses": {{"u": {one}, "u": {one}}}}}', "r.json")
    assert read_file(path).rows == 1


def test_an_entry_that_is_there_twice_is_refused(save):
    given = json.dumps(response(0, 1, 2, 1))
    twice = given[:-1] + ', "index_winner": 2}'
    path = save(f'{{"participant_responses": {{"u": [{twice}]}}}}', "r.json")
    with pytest.raises(InputError, match="key 'index_winner' occurs twice"):
        read_file(path)
