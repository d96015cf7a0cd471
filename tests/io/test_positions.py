"""Where alternatives were shown, and answers of those who could not tell."""

import numpy as np
import pytest

from tercet import Choices, Triplets, check_answers
from tercet.cli.main import main
from tercet.errors import DataWarning, InputError
from tercet.io import read_answers, read_file, read_triplets

SIDES = {
    "left-right": "anchor,left,right,response\na,b,c,left\nb,c,a,right\nc,a,b,left\n",
    "triplettools": "Center,Left,Right,Answer\na,b,c,b\nb,c,a,a\nc,a,b,a\n",
    "salmon": "head,left,right,winner\n0,1,2,1\n1,2,0,0\n2,0,1,0\n",
    "jspsych": (
        "trial_type,trial_index,anchor,left,right,response\n"
        "key,0,a,b,c,arrowleft\nkey,1,b,c,a,arrowright\nkey,2,c,a,b,arrowleft\n"
    ),
    "tidy": "anchor,near,far,left,right\na,b,c,b,c\nb,a,c,c,a\nc,a,b,a,b\n",
}


@pytest.mark.parametrize("form", SIDES)
def test_sides_are_kept(save, form):
    path = save(SIDES[form])
    reading = read_file(path)
    assert reading.format == form
    assert reading.positions.tolist() == [[0, 1], [1, 0], [0, 1]]
    answers = read_answers(path)
    assert isinstance(answers, Choices)
    assert answers.positions.tolist() == [0, 1, 1, 0, 0, 1]
    assert answers.triplets().array.tolist() == read_triplets(path).array.tolist()
    assert isinstance(read_triplets(path), Triplets)


def test_sides_of_next(save):
    def response(left, right, winner):
        shown = zip((6, left, right), ("center", "left", "right"), strict=True)
        targets = [{"index": index, "label": label} for index, label in shown]
        return {"target_indices": targets, "index_winner": winner, "response_time": 1.0}

    given = {"anna": [response(8, 5, 8), response(8, 5, 5)]}
    reading = read_file(save({"participant_responses": given}, "next.json"))
    assert reading.positions.tolist() == [[0, 1], [1, 0]]


def test_a_catch_trial_between_answers_does_not_shift_sides(save):
    reading = read_file(save("head,left,right,winner\n0,1,2,1\n1,1,0,1\n2,0,1,1\n"))
    assert reading.catch.passed.tolist() == [True]
    assert reading.positions.tolist() == [[0, 1], [1, 0]]


def test_sides_that_are_not_near_and_far_are_unknown(save):
    path = save("anchor,near,far,left,right\na,b,c,b,c\nb,a,c,x,y\n")
    assert read_file(path).positions.tolist() == [[0, 1], [-1, -1]]
    nowhere = save("anchor,near,far,left,right\na,b,c,x,y\nb,a,c,x,y\n")
    assert read_file(nowhere).positions is None
    assert isinstance(read_answers(nowhere), Triplets)


def test_the_position_of_an_odd_one_out_is_that_of_its_pair(save):
    path = save("object1,object2,object3,odd\ncat,car,dog,car\nbus,cat,dog,bus\n")
    answers = read_answers(path)
    names = answers.names
    for row, shown in enumerate([["cat", "car", "dog"], ["bus", "cat", "dog"]]):
        for pair, position in zip(
            answers[row].pairs.tolist(), answers[row].positions.tolist(), strict=True
        ):
            left_out = {*shown} - {names[i] for i in pair}
            assert left_out == {shown[position]}
    assert answers.positions[answers.cuts[:-1]].tolist() == [1, 0]  # those chosen
    same = Choices.odd_one_out(
        [["cat", "dog", "car"], ["cat", "dog", "bus"]], positions=[[0, 2, 1], [1, 2, 0]]
    )
    assert sorted(same[0].positions) == sorted(answers[0].positions) == [0, 1, 2]
    assert same.positions[same.cuts[:-1]].tolist() == [1, 0]


def test_most_central_ones_are_where_they_were_shown(save):
    answers = read_answers(save("object1,object2,object3,central\na,b,c,b\nd,a,b,d\n"))
    assert answers.positions[answers.cuts[:-1]].tolist() == [1, 0]


@pytest.mark.parametrize(
    "content",
    [
        "object1,object2,object3,odd\na,b,c,c\na,c,d,d\n",  # the odd one is always the last
        "similar1,similar2,odd\na,b,c\nc,a,b\n",
        "anchor,chosen,shown\np,a|b,a|b|c|d\nq,c,c|d\n",  # the chosen are always the first
        "resp,S1,S2,S3,S4\n1,1,2,3,4\n0,1,3,4,5\n",  # sorted
    ],
)
def test_an_order_that_is_not_of_the_screen_is_no_position(save, content):
    assert read_file(save(content)).positions is None


def test_grids_have_the_order_of_the_shown(save):
    answers = read_answers(save("anchor,chosen,shown\np,c|b,a|b|c|d\nq,c,c|d|a\n"))
    assert answers.positions[:4].tolist() == [2, 1, 0, 3]
    assert answers.positions[4:].tolist() == [0, 1, 2]


def test_difference_scaling_has_the_position_of_the_pair_pointed_out(save):
    content = "Response,s1,s2,s3\n1,10,20,40\n0,10,20,40\n1,40,20,10\n"
    answers = read_answers(save(content))
    assert answers.positions.reshape(-1, 2)[:, 0].tolist() == [1, 0, 1]


def test_without_an_observer_the_other_sides_stay(save):
    content = "anchor,left,right,response,observer\na,b,c,left,x\nb,c,a,right,y\nc,a,b,left,x\n"
    reading = read_file(save(content)).without(["y"])
    assert reading.positions.tolist() == [[0, 1], [0, 1]]


def test_the_check_of_a_file_includes_sides(save, capsys):
    rng = np.random.default_rng(0)
    rows = ["anchor,left,right,response,observer"]
    for i in range(200):
        objects = rng.permutation(6)[:3]
        side = "left" if rng.random() < 0.8 else "right"
        rows.append(",".join([*map(str, objects), side, f"p{i % 4}"]))
    path = save("\n".join(rows) + "\n")
    assert main(["check", str(path), "--seed", "0", "--quiet"]) == 0
    assert "Side bias: the left (first) position was chosen in" in capsys.readouterr().out
    assert check_answers(read_answers(path), random_state=0).side_bias.found


# --- those who could not tell -----------------------------------------------------------------

PLAIN = "anchor,left,right,response,observer\n"


@pytest.mark.parametrize("word", ["cannot tell", "Can't tell", "equal", "tie", "don't know"])
def test_those_who_could_not_tell_are_kept(save, word):
    path = save(PLAIN + f"a,b,c,left,x\nb,c,d,{word},x\nc,a,b,right,y\n")
    answers = read_answers(path)
    assert answers.tied.tolist() == [False, False, True]
    assert answers.may_tie.all()
    assert answers.names == ("a", "b", "c", "d")
    assert answers[2].pairs.tolist() == [[1, 2], [1, 3]]
    assert answers[2].positions.tolist() == [0, 1]
    assert answers.observers.tolist() == ["x", "y", "x"]
    with pytest.warns(DataWarning, match="1 more answer says that the observer could not tell;"):
        triplets = read_triplets(path)
    assert len(triplets) == 2
    said = read_file(path)
    assert "1 more answer says that the observer could not tell;" in " ".join(said.sentences())
    assert not said.skipped


def test_a_missing_answer_is_another_matter(save):
    reading = read_file(save(PLAIN + "a,b,c,left,x\nb,c,d,equal,x\nc,a,b,right,y\nd,a,b,,y\n"))
    assert [each.reason for each in reading.skipped] == ["without a response"]
    assert len(reading.answers()) == 3


def test_a_key_of_those_who_could_not_tell(save):
    content = PLAIN + "a,b,c,f,x\nb,c,d,space,x\nc,a,b,j,y\nc,a,d,q,y\n"
    with pytest.raises(InputError, match="tie_key=space"):
        read_file(save(content))
    wrong = {"left_key": "f", "right_key": "j", "tie_key": "F"}
    with pytest.raises(InputError, match="must differ from left_key and right_key, got 'F'"):
        read_file(save(content), columns=wrong)
    keys = {"left_key": "f", "right_key": "j", "tie_key": "space"}
    reading = read_file(save(content), columns=keys)
    assert (len(reading.triplets), len(reading.ties)) == (2, 1)
    assert reading.skipped[0].reason == "with a response that is not 'f' or 'j' or 'space'"
    fewer = save(PLAIN + "a,b,c,f,x\nb,c,d,space,x\nc,a,b,j,y\n")
    assert len(read_file(fewer, columns={"tie_key": "Space"}).ties) == 1


def test_a_stimulus_of_such_a_name_is_a_stimulus(save):
    content = PLAIN + "sum,equal,more,equal,x\nmore,sum,equal,sum,x\n"
    reading = read_file(save(content))
    assert reading.ties is None
    assert len(reading.triplets) == 2


def test_a_button_of_jspsych_for_those_who_cannot_tell(save):
    rows = [
        {
            "trial_type": "html-button-response",
            "trial_index": i,
            "anchor": "cat",
            "left": "dog",
            "right": "bus",
            "choices": ["left", "cannot tell", "right"],
            "response": i,
        }
        for i in range(3)
    ]
    answers = read_answers(save(rows, "trials.json"))
    assert answers.tied.tolist() == [False, False, True]


def test_odd_ones_out_of_those_who_could_not_tell(save):
    path = save("object1,object2,object3,odd\na,b,c,a\na,b,d,cannot tell\nd,b,c,c\n")
    answers = read_answers(path)
    assert answers.tied.tolist() == [False, False, True]
    assert answers.n_alternatives.tolist() == [3, 3, 3]
    assert answers.may_tie.all()
    tie = answers[2]
    assert sorted(map(tuple, tie.pairs.tolist())) == [(0, 1), (0, 3), (1, 3)]
    left_out = {(0, 1): 2, (0, 3): 1, (1, 3): 0}
    assert [left_out[tuple(pair)] for pair in tie.pairs.tolist()] == tie.positions.tolist()


def test_grids_keep_them_if_one_object_is_chosen_elsewhere(save):
    one = save("anchor,chosen,shown\np,b,a|b|c\nq,undecided,a|b|c\nq,a,a|b|c\n")
    answers = read_answers(one)
    assert answers.tied.tolist() == [False, False, True]
    several = save("anchor,chosen,shown\np,b|a,a|b|c\nq,undecided,a|b|c\n")
    reading = read_file(several)
    assert reading.ties is None
    (skipped,) = reading.skipped
    assert (skipped.count, skipped.first) == (1, "line 3")
    assert skipped.reason.startswith("in which the observer could not tell")


def test_a_tidy_table_marks_them_in_a_column(save):
    path = save("anchor,near,far,cannot_tell\na,b,c,0\nb,c,d,yes\nc,a,b,\n")
    answers = read_answers(path)
    assert answers.tied.tolist() == [False, False, True]
    with pytest.raises(InputError, match="line 2: cannot_tell is 'perhaps'"):
        read_file(save("anchor,near,far,cannot_tell\na,b,c,perhaps\n"))


def test_a_file_in_which_nobody_could_tell_has_no_answers(save):
    with pytest.raises(InputError, match="2 rows in which the observer could not tell"):
        read_file(save(PLAIN + "a,b,c,tie,x\nb,c,d,tie,x\n"))


def test_numbers_that_are_labels_are_those_of_undecided_answers_too(save):
    content = PLAIN + "100,200,300,left,x\n200,400,300,tie,y\n300,100,200,right,x\n"
    reading = read_file(save(content)).by_labels()
    answers = reading.answers()
    assert answers.names == ("100", "200", "300", "400")
    assert answers[2].pairs.tolist() == [[1, 3], [1, 2]]
    assert reading.without(["y"]).ties is None


def test_a_check_leaves_them_out(save):
    path = save(PLAIN + "a,b,c,left,x\nb,c,d,tie,x\nc,a,b,right,y\nd,a,b,left,y\n")
    found = check_answers(read_answers(path), random_state=0)
    assert found.counts.answers == 3
    assert found.counts.screens is None
