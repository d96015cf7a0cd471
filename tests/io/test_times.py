"""Response times in seconds, whatever their unit was; those that cannot be are unknown."""

import numpy as np
import pytest
from tests.io.examples import npz, parquet

import tercet as tc
from tercet.answers.titles import find_times
from tercet.cli import main
from tercet.errors import DataWarning, InputError
from tercet.io import read_file

TIDY = "anchor,near,far,{}\na,b,c,1500\nb,c,a,900\n"
MILLISECONDS = [
    *("RT (ms)", "rt_ms", "response time [ms]", "Response.Time..ms.", "reactionTimeMs", "RTms"),
    *("Reaction time in milliseconds", "response_time_ms", "latency (msec)", "RT_MS"),
]
SECONDS = ["RT (s)", "rt_s", "response time [sec]", "Response.Time..s.", "reactionTimeSeconds"]
NEITHER = ["rt", "RTs", "time", "ms", "reaction_time", "start_ms", "target_s", "rt_min"]


@pytest.mark.parametrize("title", MILLISECONDS)
def test_milliseconds_by_their_title(save, title):
    reading = read_file(save(TIDY.format(title)))
    assert reading.triplets.response_times.tolist() == [1.5, 0.9]
    assert reading.doubts == ()
    assert title == "response_time_ms" or f"{title!r}, in milliseconds" in reading.note


@pytest.mark.parametrize("title", SECONDS)
def test_seconds_by_their_title(save, title):
    content = f"anchor,near,far,{title}\na,b,c,1.5\nb,c,a,.9\n"
    reading = read_file(save(content))
    assert reading.triplets.response_times.tolist() == [1.5, 0.9]
    assert f"{title!r}, in seconds" in reading.note


@pytest.mark.parametrize("title", NEITHER)
def test_titles_that_say_no_unit_or_no_time(save, title):
    reading = read_file(save(TIDY.format(title)))
    assert reading.triplets.response_times is None
    assert f"Columns not used: {title!r}" in reading.note


def test_two_columns_of_times_are_for_the_caller_to_choose_from():
    assert find_times(["rt_ms", "RT (s)"]) is None
    assert find_times(["rt_ms", "Response_Time"]) == 1


MAPPED = {
    "tidy": ("anchor,near,far,RT (ms)\na,b,c,1500\nb,c,a,900\n", {}),
    "odd-one-out": ("similar1,similar2,odd,RT (ms)\na,b,c,1500\nb,c,a,900\n", {}),
    "screens": ("anchor,chosen,shown,RT (ms)\na,b,b|c,1500\nb,c,c|a,900\n", {}),
    "mlds-triads": ("resp,S1,S2,S3,RT (ms)\n1,1,2,3,1500\n0,1,2,3,900\n", {}),
    "cblearn": ("i,j,k,response,RT (ms)\n0,1,2,1,1500\n1,2,0,1,900\n", {}),
    "salmon": ("head,winner,loser,RT (ms)\n0,1,2,1500\n1,2,0,900\n", {}),
    "triplettools": ("head,winner,loser,worker_id,RT (ms)\n0,1,2,w,1500\n1,2,0,w,900\n", {}),
    "left-right": ("anchor,left,right,response,RT (ms)\na,b,c,b,1500\nb,c,a,c,900\n", {}),
    "psychopy": (
        "anchor,left,right,keys,RT (ms),psychopyVersion\na,b,c,b,1500,1\nb,c,a,c,900,1\n",
        {"response": "keys"},
    ),
    "jspsych": (
        "anchor,left,right,response,RT (ms),trial_type,trial_index\na,b,c,b,1500,x,1\n"
        "b,c,a,c,900,x,2\n",
        {},
    ),
}


@pytest.mark.parametrize("kind", MAPPED)
def test_the_unit_of_a_column_that_the_caller_points_out(save, kind):
    content, more = MAPPED[kind]
    for word in ("response_time", "response_time_ms"):
        reading = read_file(save(content), columns={**more, word: "RT (ms)"})
        assert reading.format == kind
        assert set(reading.triplets.response_times.tolist()) == {1.5, 0.9}
        assert reading.doubts == ()


def test_the_callers_word_goes_before_the_title(save):
    path = save("anchor,near,far,RT (s)\na,b,c,1500\nb,c,a,900\n")
    T = read_file(path, columns={"response_time_ms": "RT (s)"}).triplets
    assert T.response_times.tolist() == [1.5, 0.9]


def test_parquet_knows_units_too(save):
    content = parquet(anchor=["a"], near=["b"], far=["c"], rt_ms=[1500])
    assert read_file(save(content)).triplets.response_times.tolist() == [1.5]
    content = parquet(anchor=["a"], near=["b"], far=["c"], **{"RT (ms)": [1500]})
    T = read_file(save(content), columns={"response_time": "RT (ms)"}).triplets
    assert T.response_times.tolist() == [1.5]


# --- what may be wrong ------------------------------------------------------------------------


def test_milliseconds_that_pass_for_seconds_are_said(save):
    path = save(TIDY.format("response_time"))
    (doubt,) = read_file(path).doubts
    assert "look like milliseconds: as seconds, their median is 1200" in doubt
    with pytest.warns(DataWarning, match="look like milliseconds"):
        assert tc.read_triplets(path).response_times.tolist() == [1500, 900]
    assert doubt in read_file(path).sentences()


def test_seconds_that_pass_for_milliseconds_are_said(save):
    (doubt,) = read_file(save("anchor,near,far,rt_ms\na,b,c,1.5\n")).doubts
    assert "median of 0.0015 seconds, too short for an answer" in doubt


def test_ordinary_and_slow_times_are_not_doubted(save):
    for times in ((0.15, 0.3), (20, 90)):
        content = "anchor,near,far,response_time\na,b,c,{}\nb,c,a,{}\n".format(*times)
        assert read_file(save(content)).doubts == ()


@pytest.mark.parametrize("wrong", ["-67.493", "inf", "1e400", "1e9", "timeout", "-1"])
def test_an_impossible_time_is_unknown_and_counted(save, wrong):
    content = f"anchor,near,far,response_time\na,b,c,1.5\nb,c,a,{wrong}\nb,a,c,NA\n"
    reading = read_file(save(content))
    seconds = reading.triplets.response_times
    assert np.array_equal(seconds, [1.5, np.nan, np.nan], equal_nan=True)
    assert reading.skipped == ()
    (doubt,) = reading.doubts
    assert doubt.startswith("1 response time is impossible")
    assert "(first: line 3)" in doubt


IMPOSSIBLE = {
    "salmon": "head,winner,loser,response_time\n0,1,2,1.5\n1,2,0,-3\n",
    "triplettools": "head,winner,loser,worker_id,rt\n0,1,2,w,1500\n1,2,0,w,-3\n",
    "odd-one-out": "similar1,similar2,odd,response_time\na,b,c,1.5\nb,c,a,-3\n",
    "left-right": "anchor,left,right,response,response_time\na,b,c,b,1.5\nb,c,a,c,-3\n",
    "jspsych": (
        "anchor,left,right,response,rt,trial_type,trial_index\na,b,c,b,1500,x,1\nb,c,a,c,-3,x,2\n"
    ),
    "parquet": parquet(anchor=[0, 1], near=[1, 2], far=[2, 0], response_time=[1.5, -3.0]),
    "array": npz(triplets=[[0, 1, 2], [1, 2, 0]], response_times=[1.5, -3.0]),
    "cblearn": npz(triplets=[[0, 1, 2], [1, 2, 0]], responses=[1, 1], response_times=[1.5, -3]),
}


@pytest.mark.parametrize("kind", IMPOSSIBLE)
def test_no_reader_refuses_a_file_for_a_time(save, kind):
    reading = read_file(save(IMPOSSIBLE[kind]))
    assert reading.format == kind
    times = reading.triplets.response_times
    assert np.nanmin(times) == np.nanmax(times) == 1.5
    assert np.isnan(times).any()
    assert [doubt[:29] for doubt in reading.doubts] == ["1 response time is impossible"]


def test_a_column_without_any_time_is_another_column(save):
    path = save("anchor,near,far,response_time\na,b,c,red\nb,c,a,blue\n")
    with pytest.raises(InputError, match="line 2: the response time is 'red', not a number"):
        read_file(path)


def test_times_that_are_given_in_python_are_checked():
    with pytest.raises(InputError, match=r"response_time is -3\.0, not a time"):
        tc.Triplets([[0, 1, 2]], response_times=[-3.0])


def test_doubts_are_told_even_by_a_quiet_command(save, tmp_path, capsys):
    path = save(TIDY.format("response_time"))
    assert main(["convert", str(path), str(tmp_path / "out.csv"), "--quiet"]) == 0
    assert "look like milliseconds" in capsys.readouterr().err
