"""Malformed files of programs for experiments: each gets one message that one can act on."""

import gzip
import json
from typing import NamedTuple

import pytest

from tercet.errors import InputError
from tercet.io import read_file

SALMON = "head,left,right,winner,loser,puid,response_time\n0,1,2,1,2,p,1\n"
TOOLS = "head,winner,loser,worker_id,rt,Center,Left,Right,Answer,sampleAlg\n"
TOOLS_ROW = "1,2,0,w,1500,cat,dog,bus,dog,random\n"
PSYCHOPY = "probe,imgL,imgR,key_resp.keys,key_resp.rt,participant,psychopyVersion\n"
PSYCHOPY_ROW = "cat,dog,bus,left,0.5,7,2024.1\n"
MAP = {"anchor": "probe", "left": "imgL", "right": "imgR", "response": "key_resp.keys"}
JSPSYCH = "rt,stimulus,choices,response,trial_type,trial_index,worker_id\n"
JSPSYCH_ROW = '1500,cat,"[""dog"",""bus""]",0,image-button-response,1,w\n'


def target(label, index, **more):
    return {"label": label, "index": index, **more}


CENTER, LEFT, RIGHT = target("center", 0), target("left", 1), target("right", 2)
SHOWN = [CENTER, LEFT, RIGHT]


def following(*responses, participants=None):
    """A JSON of NEXT with one good response before these."""
    good = {"target_indices": SHOWN, "index_winner": 1}
    return json.dumps({"participant_responses": participants or {"u": [good, *responses]}})


def trial(**changes):
    row = {"trial_type": "t", "trial_index": 1, "stimulus": "a", "choices": ["b", "c"]}
    return {**row, "response": 0, **changes}


class Case(NamedTuple):
    name: str
    content: str | bytes
    words: str  # in the message
    kind: str | None = None
    columns: dict[str, str] | None = None


CASES = [
    # --- Salmon
    Case("no answers", SALMON.splitlines()[0] + "\n", "has a header but no answers"),
    Case(
        "a winner that was not shown",
        SALMON + "0,1,2,3,2,p,1\n",
        "line 3: the winner is '3', which is neither on the left ('1') nor on the right ('2')",
    ),
    Case("the head wins", SALMON + "0,1,2,0,2,p,1\n", "line 3: the winner is '0'"),
    Case(
        "a loser that was not shown",
        SALMON + "0,1,2,1,3,p,1\n",
        "line 3: the loser is '3', but the object not chosen is '2'",
    ),
    Case("left is right", SALMON + "0,1,1,1,1,p,1\n", "line 3: near and far are both 1"),
    Case("a negative number", SALMON + "-4,1,2,1,2,p,1\n", "line 3: anchor is -4"),
    Case(
        "an enormous number",
        SALMON + "99999999999,1,2,1,2,p,1\n",
        "line 3: anchor is 99999999999, too large",
    ),
    Case("an empty head", SALMON + ",1,2,1,2,p,1\n", "line 3: the cell 'head' is empty"),
    Case("no observer in one line", SALMON + "0,1,2,1,2,,1\n", "line 3: the cell 'puid' is empty"),
    Case(
        "no winner at all",
        "head,left,right,winner\n0,1,2,\n0,1,2,\n",
        "none of 2 rows is an answer: 2 rows without a winner (first: line 2)",
    ),
    Case(
        "neither loser nor sides",
        "head,winner,left\n0,1,2\n",
        "the column 'loser' is missing; columns found: 'head', 'winner', 'left'",
        kind="salmon",
    ),
    Case(
        "another table", "anchor,near,far\n0,1,2\n", "the column 'head' is missing", kind="salmon"
    ),
    Case(
        "two names of an object",
        "head,winner,loser,head_html,winner_html,loser_html\n0,1,2,a,b,c\n0,1,2,d,b,c\n",
        "line 3: the object '0' is called 'd', but earlier 'a'",
    ),
    Case(
        "two objects of a name",
        "head,winner,loser,head_html,winner_html,loser_html\n0,1,2,a,b,b\n",
        "the objects '1' and '2' are both called 'b'",
    ),
    Case(
        "a row that was cut off", SALMON + "0,1,2\n", "line 3: 3 cells where the first line has 7"
    ),
    Case(
        "Latin-1",
        SALMON.encode() + b"0,1,2,1,2,M\xfcller,1\n",
        "line 3: the byte 0xfc is not UTF-8",
    ),
    Case("damaged gzip", gzip.compress(SALMON.encode())[:-9], "is a damaged gzip file"),
    Case(
        "a column map to nowhere",
        SALMON,
        "there is no column 'who' to use as 'observer'; columns found: 'head'",
        columns={"observer": "who"},
    ),
    Case(
        "a column map of unknown words",
        SALMON,
        "columns: 'anchr' is unknown for this format; choose among head",
        columns={"anchr": "head"},
    ),
    # --- NEXT
    Case("cut-off JSON", following()[:-3], "line 1: invalid JSON"),
    Case(
        "JSON with half a character",
        following({"target_indices": SHOWN, "target_winner": "\ud800"}),
        "which is half a character",
    ),
    Case("no participants", '{"participant_responses": {}}', "has no responses"),
    Case(
        "participants in a list",
        '{"participant_responses": []}',
        "a JSON of NEXT has 'participant_responses'",
    ),
    Case(
        "another JSON", '{"answers": 3}', "a JSON of NEXT has 'participant_responses'", kind="next"
    ),
    Case(
        "responses that are no list",
        '{"participant_responses": {"u": 3}}',
        "participant 'u': responses must be a list, got int",
    ),
    Case(
        "a response that is none",
        following(7),
        "participant 'u', response 2: expected a response, got 7",
    ),
    Case(
        "two objects only",
        following({"target_indices": [LEFT, RIGHT], "index_winner": 1}),
        "participant 'u', response 2: 'target_indices' must have three objects",
    ),
    Case(
        "no centre",
        following({"target_indices": [LEFT, LEFT, RIGHT], "index_winner": 1}),
        "labels center, left and right",
    ),
    Case("no objects", following({"index_winner": 1}), "must have three objects"),
    Case(
        "a winner that was not there",
        following({"target_indices": SHOWN, "index_winner": 9}),
        "participant 'u', response 2: 'index_winner' is '9', but the objects shown were 0, 1, 2",
    ),
    Case(
        "the centre wins",
        following({"target_indices": SHOWN, "index_winner": 0}),
        "participant 'u', response 2: the winner is '0', which is neither",
    ),
    Case(
        "an index that is a list",
        following({"target_indices": [CENTER, LEFT, target("right", [2])], "index_winner": 1}),
        "'index' must be a number or text, got [2]",
    ),
    Case(
        "an object without a number",
        following(
            participants={
                "u": [
                    {
                        "target_indices": [{"label": each} for each in ("center", "left", "right")],
                        "index_winner": 1,
                    }
                ]
            }
        ),
        "an object has no 'target_id'",
    ),
    Case(
        "two experiments",
        following(
            {
                "target_indices": [
                    {"label": each, "target_id": each} for each in ("center", "left", "right")
                ],
                "target_winner": "left",
            }
        ),
        "objects have 'target_id', but 'index' in the responses before",
    ),
    Case(
        "no winner in JSON",
        following(participants={"u": [{"target_indices": SHOWN}]}),
        "none of 1 row is an answer",
    ),
    Case(
        "too many digits",
        '{"participant_responses": ' + "9" * 5000 + "}",
        "a number with too many digits",
    ),
    Case("nested too deeply", '{"participant_responses": ' + "[" * 100_000, "nested too deeply"),
    # --- tripletTools
    Case(
        "an Answer that was not shown",
        TOOLS + TOOLS_ROW + "1,2,0,w,1,cat,dog,bus,ant,random\n",
        "line 3: the Answer is 'ant', which is neither on the left ('dog')",
    ),
    Case(
        "nothing but catch trials",
        TOOLS + "1,1,0,w,1,cat,cat,bus,cat,check\n",
        "none of 1 row is an answer: 1 catch trial",
    ),
    Case(
        "nothing but check trials",
        TOOLS + "1,2,0,w,1,cat,dog,bus,dog,check\n",
        "none of 1 row is an answer: 1 row of check trials",
    ),
    Case(
        "an rt in words",
        TOOLS + TOOLS_ROW.replace("1500", "1.5 s"),
        "line 2: the response time is '1.5 s', not a number",
    ),
    Case(
        "an empty Center",
        TOOLS + TOOLS_ROW.replace("cat", ""),
        "line 2: the cell 'Center' is empty",
    ),
    Case(
        "no loser",
        "head,winner,worker_id\n0,1,w\n",
        "the column 'loser' is missing",
        kind="triplettools",
    ),
    # --- jsPsych
    Case(
        "no response column",
        "rt,stimulus,choices,trial_type,trial_index\n1,a,b,c,1\n",
        "the column 'response' is missing",
    ),
    Case(
        "no stimulus column",
        "rt,response,trial_type,trial_index\n1,0,c,1\n",
        "the column 'stimulus' is missing",
    ),
    Case(
        "choices that are no JSON",
        JSPSYCH + JSPSYCH_ROW.replace('"[""dog"",""bus""]"', "dog"),
        "none of 1 row is an answer: 1 row without an anchor and two choices",
    ),
    Case(
        "a third button of two",
        JSPSYCH + JSPSYCH_ROW.replace(",0,", ",2,"),
        "line 2: the response is 'button 2', and it is unclear which side it means",
    ),
    Case(
        "a choice twice",
        json.dumps([trial(choices=["b", "b"])]),
        "trial 1: near and far are both 'b'",
    ),
    Case(
        "timeouts only",
        json.dumps([trial(response=None)]),
        "none of 1 row is an answer: 1 row without a response (first: trial 1)",
    ),
    Case("an empty list", "[]", "is a list of trials, but there are none", kind="jspsych"),
    Case("numbers for trials", json.dumps([trial(), 5]), "trial 2: expected a trial, got 5"),
    Case(
        "an rt that is text",
        json.dumps([trial(), trial(rt="soon")]),
        "trial 2: the response time is 'soon'",
    ),
    Case("half of a file", json.dumps([trial(), trial()], indent=1)[:-20], ": invalid JSON"),
    Case(
        "a worker without an id",
        json.dumps([trial(worker_id="w"), trial()]),
        "trial 2: the cell 'worker_id' is empty",
    ),
    Case(
        "one key only", JSPSYCH + JSPSYCH_ROW, "left_key and right_key", columns={"left_key": "f"}
    ),
    Case(
        "keys nobody pressed",
        JSPSYCH + JSPSYCH_ROW,
        "1 row with a response that is not 'x' or 'y'",
        columns={"left_key": "x", "right_key": "y"},
    ),
    # --- PsychoPy
    Case(
        "no map",
        PSYCHOPY + PSYCHOPY_ROW,
        "say which column is the 'anchor': --columns anchor=probe",
    ),
    Case(
        "half a map",
        PSYCHOPY + PSYCHOPY_ROW,
        "say which column is the 'left'",
        columns={"anchor": "probe"},
    ),
    Case(
        "a map to a column that occurs twice",
        PSYCHOPY.replace("imgL", "probe") + PSYCHOPY_ROW,
        "the column 'probe' occurs twice",
        columns=MAP,
    ),
    Case(
        "keys that mean nothing",
        PSYCHOPY + PSYCHOPY_ROW + PSYCHOPY_ROW.replace(",left", ",up"),
        "line 2: the response is 'left', and it is unclear which side it means; responses found",
        columns=MAP,
    ),
    Case(
        "a trial that lacks a picture",
        PSYCHOPY + PSYCHOPY_ROW.replace("dog", ""),
        "line 2: the cell 'left' is empty",
        columns=MAP,
    ),
    Case(
        "nobody answered",
        PSYCHOPY + PSYCHOPY_ROW.replace("left", "None"),
        "none of 1 row is an answer: 1 row without a response",
        columns=MAP,
    ),
    Case(
        "bookkeeping only",
        PSYCHOPY + ",,,,,7,2024.1\n",
        "none of 1 row is an answer: 1 row without anchor, left and right",
        columns=MAP,
    ),
    Case(
        "a time that is none",
        PSYCHOPY + PSYCHOPY_ROW.replace("0.5", "[a]"),
        "line 2: the response time is",
        columns=MAP,
    ),
    Case(
        "anchor and left from one column",
        PSYCHOPY + PSYCHOPY_ROW,
        "columns: 'probe' is given for both 'anchor' and 'left'",
        columns={**MAP, "left": "probe"},
    ),
]


def test_there_are_enough_and_every_one_is_another():
    assert len(CASES) >= 35
    assert len({case.name for case in CASES}) == len(CASES)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_one_message_says_where_and_what(save, case):
    path = save(case.content)
    with pytest.raises(InputError) as caught:
        read_file(path, format=case.kind, columns=case.columns)
    message = str(caught.value)
    assert case.words in message
    assert str(path) in message or message.startswith("columns:")
    assert len(message) < 700
    assert "\n" not in message


def test_too_few_names_have_a_line(save):
    path = save("head,winner,loser,worker_id\n0,1,2,w\n0,1,7,w\n")
    with pytest.raises(InputError, match=r"line 3: the object '7' has no name; the 3 names are"):
        read_file(path, names=["a", "b", "c"])
