"""One list of titles, one of missing values, whatever the answers come in."""

import numpy as np
import pandas as pd
import pytest
from tests.io.examples import parquet

from tercet.answers.titles import OBSERVERS, find_observer, is_missing, plain_title
from tercet.answers.triplets import Triplets
from tercet.errors import InputError
from tercet.io import read_file, read_triplets

TITLES = ["participant", "Participant ID", "subject_id", "worker_id", "WorkerId", "PROLIFIC_PID"]
TITLES += ["VP-Nr.", "puid", "sub_id", "participant.id", "sessionID", "survey_round"]
FILES = {
    "tidy": "anchor,near,far,{}\na,b,c,{}\nb,c,a,{}\n",
    "quadruplets": "a,b,c,d,{}\nx,y,z,w,{}\ny,z,x,w,{}\n",
    "odd-one-out": "similar1,similar2,odd,{}\na,b,c,{}\nb,c,a,{}\n",
    "most-central": "central,other1,other2,{}\na,b,c,{}\nb,c,a,{}\n",
    "screens": "anchor,chosen,shown,{}\na,b,b|c,{}\nb,c,c|a,{}\n",
    "mlds-triads": "resp,S1,S2,S3,{}\n1,1,2,3,{}\n0,1,2,3,{}\n",
    "cblearn": "i,j,k,response,{}\n0,1,2,1,{}\n0,1,2,0,{}\n",
    "salmon": "head,left,right,winner,samplea,{}\n0,1,2,1,x,{}\n0,1,2,2,x,{}\n",
    "triplettools": "Center,Left,Right,Answer,{}\na,b,c,b,{}\nb,c,a,c,{}\n",
    "left-right": "anchor,left,right,response,{}\na,b,c,left,{}\nb,c,a,right,{}\n",
    "jspsych": "trial_type,trial_index,anchor,left,right,response,{}\n"
    "t,1,a,b,c,left,{}\nt,2,b,c,a,right,{}\n",
    "psychopy": "psychopyVersion,anchor,left,right,response,{}\n"
    "2024,a,b,c,left,{}\n2024,b,c,a,right,{}\n",
}


@pytest.mark.parametrize(
    ("format", "title"),
    [
        (format, title)
        for format in FILES  # noqa: A001
        for title in TITLES
        if (format, title) != ("salmon", "worker_id")  # which makes it a file of tripletTools
    ],
)
def test_every_format_knows_every_title_of_observers(tmp_path, format, title):  # noqa: A002
    path = tmp_path / "answers.csv"
    path.write_text(FILES[format].format(title, "eve", "bob"))
    reading = read_file(path)
    assert list(dict.fromkeys(reading.triplets.observers.tolist())) == ["eve", "bob"]


@pytest.mark.parametrize("title", TITLES)
def test_data_frames_and_parquet_know_them_too(tmp_path, title):
    columns = {"probe": ["a", "b"], "closer": ["b", "c"], "farther": ["c", "a"]}
    frame = pd.DataFrame(columns | {title: ["eve", "bob"]})
    path = tmp_path / "a.parquet"
    path.write_bytes(parquet(**columns, **{title: ["eve", "bob"]}))
    csv = tmp_path / "a.csv"
    frame.to_csv(csv, index=False)
    expected = Triplets([["a", "b", "c"], ["b", "c", "a"]], observers=["eve", "bob"])
    assert Triplets(frame) == expected
    assert read_triplets(path) == expected
    assert read_triplets(csv) == expected
    assert f"{title!r} as observer" in read_file(path).note


def test_the_first_of_several_is_taken_and_empty_ones_are_not():
    header = ["session_id", "worker_id", "Participant"]
    assert find_observer(header) == 2
    assert find_observer(header, lambda place: place == 2) == 1
    assert find_observer(["anchor", "near"]) is None
    with pytest.raises(InputError, match="'Subject_ID' is there twice"):
        find_observer(["Subject_ID", "subject id"])


def test_a_frame_whose_observers_are_all_unknown_has_none():
    frame = pd.DataFrame({"anchor": [0], "near": [1], "far": [2], "participant": [None]})
    assert Triplets(frame).observers is None
    with pytest.raises(InputError, match="observer is None, which is missing"):
        Triplets(pd.concat([frame, frame.assign(participant="eve")]))


def test_titles_in_the_plural_are_kept():
    columns = {"anchor": [0, 1], "near": [1, 2], "far": [2, 0]}
    beside = {"observers": ["eve", "bob"], "weights": [2.0, 1.0], "screens": [5, 6]}
    T = Triplets(pd.DataFrame(columns | beside))
    assert Triplets([[0, 1, 2], [1, 2, 0]], **beside) == T
    with pytest.raises(InputError, match="both 'weights' and 'count'"):
        Triplets(pd.DataFrame(columns | beside | {"count": [1, 1]}))


def test_titles_are_in_the_form_in_which_they_are_compared():
    assert all(plain_title(each) == each for each in OBSERVERS)
    assert len(set(OBSERVERS)) == len(OBSERVERS)


MISSING = ["NA", "na", "N/A", "NaN", "nan", "null", "NULL", "None", "#N/A", "<NA>", "undefined"]


@pytest.mark.parametrize("token", MISSING)
def test_what_stands_for_a_missing_value_is_no_object(tmp_path, token):
    assert is_missing(token)
    path = tmp_path / "a.csv"
    path.write_text(f"anchor,near,far\na,b,c\nb,{token},a\n")
    message = f"near' is '{token}', which stands for a missing value"
    with pytest.raises(InputError, match=f"line 3: the cell '{message}.*give the names of all"):
        read_file(path)
    names = ["a", "b", "c", token]
    T = read_triplets(path, names=names)
    assert T.array.tolist() == [[0, 1, 2], [1, 3, 0]]

    rows = [["a", "b", "c"], ["b", token, "a"]]
    for answers in (rows, np.array(rows), pd.DataFrame(rows, columns=["anchor", "near", "far"])):
        with pytest.raises(InputError, match=rf"row 1 .*near is '{token}', which stands for"):
            Triplets(answers)
        assert Triplets(answers, names=names) == T
    with pytest.raises(InputError, match=f"observer is '{token}', which stands for a missing"):
        Triplets([[0, 1, 2]], observers=[token])


@pytest.mark.parametrize("name", ["Na", "Nan", "nab", "nothing", "no", "0", "-", "nullify"])
def test_what_may_be_a_name_is_one(name):
    assert not is_missing(name)
    assert name in Triplets([["a", "b", name]]).names


@pytest.mark.parametrize(
    "content",
    [
        "similar1,similar2,odd\na,b,NA\na,b,c\n",
        "head,left,right,winner\n0,1,2,NaN\n0,1,2,1\n",
        "resp,S1,S2,S3\nNA,1,2,3\n1,1,2,3\n",
        "i,j,k,response\n0,1,2,null\n0,1,2,1\n",
        "anchor,left,right,response\na,b,c,None\na,b,c,left\n",
        "Center,Left,Right,Answer\na,b,c,NA\na,b,c,b\n",
        "anchor,chosen,shown\na,NA,b|c\na,b,b|c\n",
    ],
)
def test_answers_that_are_missing_are_counted(tmp_path, content):
    path = tmp_path / "a.csv"
    path.write_text(content)
    (skipped,) = read_file(path).skipped
    assert (skipped.count, skipped.first) == (1, "line 2")


@pytest.mark.parametrize(
    ("content", "title"),
    [
        ("similar1,similar2,odd,Odd\na,b,c,d\n", "odd"),
        ("central,other1,other2,other1\na,b,c,d\n", "other1"),
        ("anchor,chosen,shown,shown\na,b,b|c,b|d\n", "shown"),
        ("resp,S1,S2,S3,s3\n1,1,2,3,4\n", "s3"),
        ("i,j,k,k,response\n0,1,2,3,1\n", "k"),
        ("head,left,right,right,winner\n0,1,2,3,1\n", "right"),
        ("Center,Left,Right,Answer,answer\na,b,c,b,c\n", "answer"),
        ("anchor,left,right,response,Response\na,b,c,left,right\n", "response"),
        ("trial_type,trial_index,anchor,left,Left,right,response\nt,1,a,b,d,c,left\n", "left"),
        ("anchor,near,far,participant,Participant\na,b,c,eve,bob\n", "participant"),
        ("similar1,similar2,odd,participant,Participant\na,b,c,eve,bob\n", "participant"),
    ],
)
def test_a_title_that_is_there_twice_is_refused(tmp_path, content, title):
    path = tmp_path / "a.csv"
    path.write_text(content)
    with pytest.raises(InputError, match=rf"(?i)the column '{title}' is there twice") as caught:
        read_file(path)
    assert str(path) in str(caught.value)


def test_a_title_that_is_not_used_may_be_there_twice(tmp_path):
    path = tmp_path / "a.csv"
    for content in (
        "anchor,near,far,note,note\na,b,c,x,y\n",
        "similar1,similar2,odd,note,note\na,b,c,x,y\n",
    ):
        path.write_text(content)
        assert len(read_triplets(path)) > 0


def test_names_that_are_no_list_are_refused(tmp_path):
    (tmp_path / "a.csv").write_text("anchor,near,far\na,b,c\n")
    with pytest.raises(InputError, match="names must be a list of strings, got 5"):
        read_triplets(tmp_path / "a.csv", names=5)
    with pytest.raises(InputError, match="names must be a list of strings, got 5"):
        Triplets([[0, 1, 2]], names=5)


def test_frames_know_the_unit_of_response_times_as_files_do():
    rows = {"anchor": list("abc"), "near": list("bca"), "far": list("cab")}
    for title, values in ("RT (ms)", [900, 1200, 1500]), ("rt_s", [0.9, 1.2, 1.5]):
        frame = pd.DataFrame(rows | {title: values})
        np.testing.assert_allclose(Triplets(frame).response_times, [0.9, 1.2, 1.5])
    unclear = pd.DataFrame(rows | {"rt": [900, 1200, 1500]})
    assert Triplets(unclear).response_times is None
