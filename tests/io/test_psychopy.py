import pytest

from tercet.errors import InputError
from tercet.io import read_file

MAP = {"anchor": "probe", "left": "imgL", "right": "imgR"}
KEYS = {**MAP, "response": "key_resp.keys"}


def table(*responses, title="key_resp.keys", time="key_resp.rt", times=None):
    """A file of trials (cat, dog, bus), each with its response."""
    times = times or ["0.5"] * len(responses)
    head = f"probe,imgL,imgR,{title},{time},trials.thisN,participant,expName,psychopyVersion,\n"
    return head + "".join(
        f'cat,dog,bus,"{response}","{seconds}",{i},7,e,2024.1,\n'
        for i, (response, seconds) in enumerate(zip(responses, times, strict=True))
    )


def chosen(reading):
    T = reading.triplets
    return [T.names[near] for near in T.array[:, 1]]


@pytest.mark.parametrize(
    ("left", "right"),
    [("left", "right"), ("f", "j"), ("a", "l"), ("1", "2"), ("0", "1"), ("z", "slash"), ("q", "p")],
)
def test_keys_that_are_known(save, left, right):
    reading = read_file(save(table(left, right, left)), columns=KEYS)
    assert reading.format == "psychopy"
    assert chosen(reading) == ["dog", "bus", "dog"]
    assert reading.triplets.observers.tolist() == [7, 7, 7]
    assert reading.triplets.response_times.tolist() == [0.5, 0.5, 0.5]


def test_the_chosen_stimulus_itself(save):
    reading = read_file(save(table("bus", "dog")), columns=KEYS)
    assert chosen(reading) == ["bus", "dog"]


def test_names_of_what_was_clicked(save):
    content = table(
        "['image_right']", "image_left", title="mouse.clicked_name", time="mouse.time",
        times=["[1.25]", "[]"],
    )  # fmt: skip
    reading = read_file(save(content), columns=MAP)  # the only response there is
    assert chosen(reading) == ["bus", "dog"]
    assert reading.triplets.response_times[0] == 1.25


@pytest.mark.parametrize(
    "responses", [("1", "1"), ("l",), ("up", "down"), ("f", "k"), ("f", "left")]
)
def test_keys_that_cannot_be_told_apart(save, responses):
    path = save(table(*responses))
    with pytest.raises(InputError, match=rf"line 2: the response is '{responses[0]}', .*left_key="):
        read_file(path, columns=KEYS)


def test_keys_can_be_given(save):
    path = save(table("up", "down", "space", "UP"))
    reading = read_file(path, columns={**KEYS, "left_key": "up", "right_key": "down"})
    assert chosen(reading) == ["dog", "bus", "dog"]
    (skipped,) = reading.skipped
    assert skipped.reason == "with a response that is not 'up' or 'down'"
    assert skipped.first == "line 4"
    for half in ({"left_key": "up"}, {"left_key": "up", "right_key": "Up "}):
        with pytest.raises(InputError, match="both are required and must differ"):
            read_file(path, columns={**KEYS, **half})


def test_rows_without_an_answer_are_counted(save):
    content = table("left", "None", "", "['left', 'right']", "right")
    content += ",,,,,,7,e,2024.1,\n"
    reading = read_file(save(content), columns=KEYS)
    assert chosen(reading) == ["dog", "bus"]
    assert [(each.reason, each.count, each.first) for each in reading.skipped] == [
        ("without anchor, left and right", 1, "line 7"),
        ("without a response", 2, "line 3"),
        ("with several responses", 1, "line 5"),
    ]


def test_chosen_and_other_in_columns_of_their_own(save):
    content = (
        "p,picked,rejected,psychopyVersion,participant,key_resp.rt\na,b,c,1,eve,2\n,,,1,eve,\n"
    )
    columns = {"anchor": "p", "near": "picked", "far": "rejected", "response_time": "key_resp.rt"}
    reading = read_file(save(content), columns=columns)
    assert reading.triplets.array.tolist() == [[0, 1, 2]]
    assert reading.triplets.response_times.tolist() == [2]
    assert reading.skipped[0].reason == "without anchor, near and far"


def test_without_a_map_the_error_shows_one(save):
    with pytest.raises(InputError) as caught:
        read_file(save(table("left")))
    message = str(caught.value)
    assert "say which column is the 'anchor': --columns anchor=probe" in message
    assert "response=key_resp.keys" in message
    assert "'probe', 'imgL', 'imgR'" in message


def test_no_map_is_needed_for_columns_that_have_our_names(save):
    content = table("j", "f").replace("probe,imgL,imgR", "anchor,left,right")
    assert chosen(read_file(save(content))) == ["bus", "dog"]


def test_several_responses_need_a_map(save):
    content = table("left", "right", time="other.keys", times=["a", "b"])
    with pytest.raises(
        InputError, match=r"the column of the response is unclear.*'key_resp.keys', 'other"
    ):
        read_file(save(content), columns=MAP)
    assert chosen(read_file(save(content), columns=KEYS)) == ["dog", "bus"]


def test_a_catch_trial_shows_the_anchor_again(save):
    content = table("left", "right") + "cat,cat,bus,left,0.5,2,7,e,2024.1,\n"
    reading = read_file(save(content), columns=KEYS)
    assert len(reading.triplets) == 2
    assert reading.catch.passed.tolist() == [True]
    assert reading.catch.observers.tolist() == [7]
