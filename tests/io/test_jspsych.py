import json

import pytest

from tercet.errors import InputError
from tercet.io import read_file


def trial(anchor, left, right, response, **more):
    return {
        "trial_type": "image-button-response",
        "trial_index": 3,
        "stimulus": anchor,
        "choices": [left, right],
        "response": response,
        **more,
    }


def own(anchor, left, right, response, **more):
    """The layout of an experimenter who puts the stimuli into data."""
    row = trial("<p>Which is more similar?</p>", "Left", "Right", response, **more)
    return {**row, "anchor": anchor, "left": left, "right": right}


def rows_of(T):
    return [[T.names[i] for i in row] for row in T.array]


@pytest.fixture
def read(save):
    def read_trials(trials, **options):
        return read_file(save(json.dumps(trials), "data.json"), **options)

    return read_trials


FIRST = trial("cat", "dog", "bus", 0)
BOTH = [["cat", "dog", "bus"], ["dog", "cat", "bus"]]


@pytest.mark.parametrize(
    "response", [1, "1", 1.0, "Cat", "ArrowRight"], ids=["number", "text", "float", "label", "key"]
)
def test_responses_that_mean_the_second_choice(read, response):
    second = trial("dog", "bus", "Cat", response)
    if response == "ArrowRight":
        second = own("dog", "bus", "Cat", "ArrowRight", choices=["ArrowLeft", "ArrowRight"])
        assert rows_of(read([second]).triplets) == [["dog", "Cat", "bus"]]
        return
    assert rows_of(read([trial("Cat", "dog", "bus", 0), second]).triplets) == [
        ["Cat", "dog", "bus"],
        ["dog", "Cat", "bus"],
    ]


def test_times_are_milliseconds_and_observers_have_many_names(read):
    for title in ("worker_id", "participant", "subject", "PROLIFIC_PID"):
        given = {title: "eve", "rt": 1250, "participant_id": None}
        T = read(
            [{**FIRST, **given}, trial("dog", "bus", "cat", 1, rt=None, **{title: "b"})]
        ).triplets
        assert T.observers.tolist() == ["eve", "b"]
        assert T.response_times[0] == 1.25
        assert T.response_times[1] != T.response_times[1]


def test_version_6_called_the_response_button_pressed(read):
    old = [{**FIRST, "button_pressed": "1"}]
    del old[0]["response"]
    assert rows_of(read(old).triplets) == [["cat", "bus", "dog"]]


def test_timeouts_and_other_trials_are_counted(read):
    reading = read(
        [
            {"trial_type": "preload", "trial_index": 0},
            trial("Welcome", "Continue", "x", 0) | {"choices": ["Continue"]},
            FIRST,
            trial("dog", "cat", "bus", None),
            trial("dog", "cat", "bus", 0),
        ]
    )
    assert rows_of(reading.triplets) == BOTH
    assert [(each.reason, each.count, each.first) for each in reading.skipped] == [
        ("without an anchor and two choices", 2, "trial 1"),
        ("without a response", 1, "trial 4"),
    ]


def test_questions_with_two_buttons_are_no_comparisons(read):
    reading = read(
        [
            trial("<p>Are you awake?</p>", "Yes", "No", 0),
            trial("<p>Are you <b>sure</b>?</p>", "Yes", "No", 0),
            FIRST,
            trial("dog", "cat", "bus", 0),
        ]
    )
    assert rows_of(reading.triplets) == BOTH
    (skipped,) = reading.skipped
    assert (skipped.count, skipped.first) == (2, "trial 1")
    assert skipped.reason == "without a stimulus of the comparisons"


def test_anchors_that_are_never_choices_are_fine(read):
    T = read([trial("cat", "x", "y", 0), trial("dog", "y", "z", 1)]).triplets
    assert rows_of(T) == [["cat", "x", "y"], ["dog", "z", "y"]]


def test_labels_of_buttons_are_not_taken_for_stimuli(read):
    trials = [trial(f"<img src='{i}.png'>", "Left", "Right", i % 2) for i in range(4)]
    with pytest.raises(
        InputError, match=r"trial 1: the choices are 'Left' and 'Right'.*anchor, left"
    ):
        read(trials)
    assert len(read(trials, columns={"anchor": "stimulus"}).triplets) == 4


def test_the_experimenters_own_columns_go_before_the_stimulus(read):
    T = read([own("cat", "dog", "bus", 0), own("dog", "bus", "cat", 1)]).triplets
    assert rows_of(T) == BOTH
    mapped = [{**FIRST, "probe": "ant", "first": "bee", "second": "cow", "key": "j", "id": 3}]
    columns = {"anchor": "probe", "left": "first", "right": "second", "observer": "id"}
    T = read(mapped, columns={**columns, "response": "key"}).triplets
    assert rows_of(T) == [["ant", "cow", "bee"]]
    assert T.observers.tolist() == [3]


def test_a_third_button_needs_keys(read):
    trials = [
        own("cat", "dog", "bus", i, choices=["this", "again, please", "that"]) for i in (0, 1, 2)
    ]
    with pytest.raises(InputError, match=r"trial 1: the response is 'this', .*left_key="):
        read(trials)
    reading = read(trials, columns={"left_key": "this", "right_key": "that"})
    assert rows_of(reading.triplets) == [["cat", "dog", "bus"], ["cat", "bus", "dog"]]
    assert reading.skipped[0].reason == "with a response that is not 'this' or 'that'"
    assert reading.skipped[0].first == "trial 2"


def test_a_stimulus_may_be_json(read):
    shown = {"anchor": "cat.png", "left": "dog.png", "right": "bus.png"}
    T = read([trial(shown, "Left", "Right", 1), trial(json.dumps(shown), "L", "R", 0)]).triplets
    assert rows_of(T) == [["cat", "bus", "dog"], ["cat", "dog", "bus"]]


def test_an_anchor_among_the_choices_is_a_catch_trial(read):
    reading = read([FIRST, trial("cat", "cat", "dog", 0), trial("dog", "dog", "bus", 1)])
    assert len(reading.triplets) == 1
    assert reading.catch.passed.tolist() == [True, False]
    assert reading.catch.observers is None


@pytest.mark.parametrize("layout", ["lists", "lines", "trials"])
def test_many_participants_in_one_file(save, layout):
    first, second = [FIRST], [trial("dog", "cat", "bus", 0)]
    content = {
        "lists": json.dumps([first, second]),
        "lines": f"{json.dumps(first)}\n\n{json.dumps(second)}\n",  # as JATOS has it
        "trials": json.dumps({"trials": first + second}),
    }[layout]
    if layout == "trials":
        reading = read_file(save(content), format="jspsych")
    else:
        reading = read_file(save(content))
    assert rows_of(reading.triplets) == BOTH


def test_pictures_that_only_differ_by_folder_stay_apart(read):
    T = read([trial("a/1.png", "b/1.png", "a/2.png", 0), trial("a/2.png", "a/1.png", "b/1.png", 0)])
    assert T.triplets.names == ("2", "a/1.png", "b/1.png")


def test_numbered_pictures_are_names_and_not_numbers(read):
    T = read([trial("3.png", "1.png", "2.png", 0)]).triplets
    assert T.names == ("1", "2", "3")
    assert T.array.tolist() == [[2, 0, 1]]
    assert read([trial(3, 1, 2, 0)]).triplets.array.tolist() == [[3, 1, 2]]


def test_names_can_be_given_short_or_as_in_the_file(read):
    trials = [trial("x/3.png", "x/1.png", "x/2.png", 0)]
    assert read(trials, names=["2", "3", "1", "9"]).triplets.array.tolist() == [[1, 2, 0]]
    full = ["x/1.png", "x/2.png", "x/3.png"]
    assert read(trials, names=full).triplets.array.tolist() == [[2, 0, 1]]


def test_keys_that_look_like_numbers_are_no_buttons(read):
    def pressed(key, kind):
        return own("cat", "dog", "bus", key, trial_type=kind, choices=["1", "2"])

    T = read([pressed("1", "html-keyboard-response"), pressed("2", "html-keyboard-response")])
    assert rows_of(T.triplets) == [["cat", "dog", "bus"], ["cat", "bus", "dog"]]
    T = read([pressed(1, "html-button-response"), pressed(0, "html-button-response")])
    assert rows_of(T.triplets) == [["cat", "bus", "dog"], ["cat", "dog", "bus"]]


def test_numbers_of_buttons_that_the_file_does_not_name(read):
    def unnamed(response):
        row = own("cat", "dog", "bus", response)
        del row["choices"]
        return row

    assert rows_of(read([unnamed(1), unnamed(0)]).triplets)[0] == ["cat", "bus", "dog"]
    for responses in ([1, 1], [0, 1, 2]):  # a key 1 on the left? a third button?
        with pytest.raises(InputError, match="it is unclear which side it means"):
            read([unnamed(response) for response in responses])


def test_two_missing_choices_are_refused_and_never_dropped_in_silence(read):
    rows = [own("cat", "dog", "bus", 0), own("dog", "NA", "NA", 0)]
    with pytest.raises(InputError, match="trial 2: the cell 'near' is 'NA', which stands for"):
        read(rows)
    left_out = read(rows, skip_invalid=True)
    assert (left_out.rows, len(left_out.triplets), left_out.skipped[0].places) == (
        2,
        1,
        ("trial 2",),
    )
