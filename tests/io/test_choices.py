"""Odd ones out, most central ones and grids: several triplets of one screen."""

import numpy as np
import pytest
from tests.io.examples import FOOD

from tercet import Choices, DataWarning, Triplets, datasets
from tercet.io import read_answers, read_file, read_triplets


def by_name(T):
    return [tuple(T.names[i] for i in row) for row in T.array]


@pytest.mark.parametrize(
    "content",
    [
        "similar1,similar2,odd,participant\ncat,dog,car,eve\n",
        "Odd,Pair1,pair2,observer\ncar,cat,dog,eve\n",
        "object1,object2,object3,odd,worker_id\ncat,car,dog,car,eve\n",
    ],
)
def test_odd_one_out(save, content):
    T = read_triplets(save(content))
    assert by_name(T) == [("cat", "dog", "car"), ("dog", "cat", "car")]
    assert T.screens.tolist() == [0, 0]
    assert T.observers.tolist() == ["eve", "eve"]


@pytest.mark.parametrize("content", ["0 1 2\n3 4 0\n", "0,1,2\n3,4,0\n", "0\t1\t2\n3\t4\t0\n"])
def test_odd_one_out_without_titles(save, content):
    T = read_triplets(save(content), format="odd-one-out")
    assert T.array.tolist() == [[0, 1, 2], [1, 0, 2], [3, 4, 0], [4, 3, 0]]
    named = read_triplets(save(content), format="odd-one-out", names=list("abcde"))
    assert (named.array == T.array).all()
    assert named.names == tuple("abcde")


def test_odd_one_out_with_participants_in_a_fourth_column(save):
    T = read_triplets(save("0 1 2 17\n3 4 0 18\n"), format="odd-one-out")
    assert T.observers.tolist() == [17, 17, 18, 18]


@pytest.mark.parametrize(
    "content",
    [
        "central,other1,other2,response_time_ms\nB,A,C,2500\n",
        "object1,object2,object3,central,response_time\nA,B,C,B,2.5\n",
    ],
)
def test_most_central(save, content):
    T = read_triplets(save(content))
    assert by_name(T) == [("A", "B", "C"), ("C", "B", "A")]
    assert T.screens.tolist() == [0, 0]
    assert T.response_times.tolist() == [2.5, 2.5]


def test_rows_without_an_answer_are_counted(save):
    reading = read_file(save("central,other1,other2\nB,A,C\n,A,C\n,B,C\n"))
    assert (reading.rows, len(reading.triplets)) == (3, 2)
    (skipped,) = reading.skipped
    assert (skipped.reason, skipped.count, skipped.first) == ("without an answer", 2, "line 3")


def test_columns_of_other_names(save):
    path = save("x,y,z,who\ncat,dog,car,eve\n")
    columns = {"similar1": "x", "similar2": "y", "odd": "z", "observer": "who"}
    T = read_triplets(path, format="odd-one-out", columns=columns)
    assert by_name(T)[0] == ("cat", "dog", "car")
    assert T.observers.tolist() == ["eve", "eve"]


def test_every_chosen_one_is_nearer_than_every_other(save):
    T = read_triplets(save("anchor,chosen,shown\np,b|a,a|b|c|d\nq,c,c|d\n"))
    assert by_name(T) == [
        *[("p", "b", "c"), ("p", "b", "d"), ("p", "a", "c"), ("p", "a", "d")],
        ("q", "c", "d"),
    ]
    assert T.screens.tolist() == [0, 0, 0, 0, 1]


def test_ranked_ones_are_compared_with_each_other_too(save):
    T = read_triplets(save("anchor,ranked,shown\n0,3 1,1 2 3\n"))
    assert T.array.tolist() == [[0, 3, 1], [0, 3, 2], [0, 1, 2]]


def test_a_grid_with_the_anchor_in_it_is_a_catch_trial(save):
    content = (
        "anchor,chosen,shown,observer\na,b,b|c,eve\na,a,a|b,eve\na,c,a|c,bob\na,,b|c,bob\n"
        "a,b|c,b|c,bob\na,,a|c,bob\n"
    )
    reading = read_file(save(content))
    assert reading.catch.passed.tolist() == [True, False]
    assert reading.catch.observers.tolist() == ["eve", "bob"]
    assert [each.reason for each in reading.skipped] == [
        "without an answer",
        "on which nothing was left unchosen",
    ]
    assert reading.skipped[0].count == 2
    assert (reading.rows, len(reading.triplets)) == (6, 1)


def test_food(save):
    reading = read_file(save(FOOD, "food.json"))
    T = reading.triplets
    assert by_name(T) == [
        ("soup", "stew", "cake"),
        ("soup", "stew", "pie"),
        ("pie", "cake", "stew"),
    ]
    assert T.observers.tolist() == [345, 345, 346]
    assert T.response_times.tolist() == pytest.approx([32.447, 32.447, 1.5])
    assert reading.catch.passed.tolist() == [True]
    assert reading.catch.observers.tolist() == [345]


def test_catch_trials_that_cannot_be_judged_are_counted(save):
    screen = FOOD[0]["HIT_screens"][1] | {"correct_answer": None}
    task = FOOD[0] | {"HIT_screens": [FOOD[0]["HIT_screens"][0], screen]}
    reading = read_file(save([task], "food.json"))
    assert reading.catch is None
    (skipped,) = reading.skipped
    assert (skipped.count, skipped.first) == (1, "task 1, screen 2")


@pytest.mark.slow
def test_published_files(data_folder):
    things = read_triplets(data_folder / "things_oddoneout" / "oddoneout_random50k.csv.gz")
    loaded = datasets.load_things("random").triplets
    assert (things.array == loaded.array).all()
    assert (things.screens == loaded.screens).all()

    cars = read_triplets(data_folder / "car60" / "original_survey_data.csv")
    loaded = datasets.load_cars()
    assert cars.names == tuple(str(number) for number in range(1, 61))
    assert np.array_equal(np.unique(cars.array, axis=0), np.unique(loaded.triplets.array, axis=0))
    assert (cars.observers == loaded.triplets.observers).all()
    assert (cars.response_times == loaded.columns["response_time"]).all()


# --- screens as choices -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("similar1,similar2,odd,participant\ncat,dog,car,eve\ncar,dog,cat,ann\n", "1 of 3"),
        ("central,other1,other2,participant\nB,A,C,eve\nA,C,D,ann\n", "farthest of 3"),
    ],
)
def test_each_screen_is_an_answer(save, content, words):
    path = save(content)
    found = read_answers(path)
    assert isinstance(found, Choices)
    assert found == Choices.from_triplets(read_triplets(path))
    assert len(found) == 2
    assert found.in_words == words
    assert found.observers.tolist() == ["eve", "ann"]


def test_comparisons_stay_comparisons(save):
    path = save("anchor,near,far\ncat,dog,car\ndog,cat,car\n")
    found = read_answers(path)
    assert isinstance(found, Triplets)
    assert found == read_triplets(path)


def test_settings_and_warnings_are_those_of_triplets(save):
    path = save("0 1 2\n3 4 0\n")
    found = read_answers(path, format="odd-one-out", names=list("abcde"))
    assert found == Choices.odd_one_out([[0, 1, 2], [3, 4, 0]], names=list("abcde"), screens=[0, 1])
    doubtful = save("anchor,near,far\ncat,dog,car\ncat,dog,\n")
    with pytest.warns(DataWarning) as told:
        read_answers(doubtful, skip_invalid=True)
    with pytest.warns(DataWarning) as expected:
        read_triplets(doubtful, skip_invalid=True)
    assert [str(each.message) for each in told] == [str(each.message) for each in expected]
    assert {each.filename for each in told} == {__file__}
