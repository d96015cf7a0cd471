import numpy as np

from tercet.io import read_file

CLEAN = """\
head,winner,loser,worker_id,rt,Center,Left,Right,Answer,sampleAlg,sampleSet
1,2,0,w1,1500,cat,dog,bee,dog,random,train
0,1,2,w1,NA,bee,dog,cat,cat,validation,test
2,2,0,w1,800,dog,dog,bee,dog,check,train
1,0,1,w2,650,cat,cat,bee,bee,check,train
2,1,0,w2,1000,dog,bee,cat,cat,random,train
"""


def test_names_times_and_catch_trials(save):
    reading = read_file(save(CLEAN))
    T = reading.triplets
    assert (reading.format, reading.rows, reading.skipped) == ("triplettools", 5, ())
    assert T.names == ("bee", "cat", "dog")
    assert T.array.tolist() == [[1, 2, 0], [0, 1, 2], [2, 1, 0]]
    assert T.observers.tolist() == ["w1", "w1", "w2"]
    assert np.array_equal(T.response_times, [1.5, np.nan, 1.0], equal_nan=True)
    assert reading.catch.passed.tolist() == [True, False]
    assert reading.catch.observers.tolist() == ["w1", "w2"]


def test_numbers_alone(save):
    reading = read_file(save("head,winner,loser,worker_id\n0,1,2,7\n2,2,1,7\n"))
    assert reading.format == "triplettools"
    assert reading.triplets.array.tolist() == [[0, 1, 2]]
    assert reading.triplets.observers.tolist() == [7]
    assert reading.catch.passed.tolist() == [True]
    assert reading.catch.observers.tolist() == [7]


def test_the_older_layout(save):
    content = (
        "Participant.ID,Center,Left,Right,Answer,Alg.Label\n9,i1,i2,i3,i3,Train\n9,i1,i2,i3,,T\n"
    )
    reading = read_file(save(content))
    assert reading.triplets.array.tolist() == [[0, 2, 1]]
    assert reading.triplets.observers.tolist() == [9]
    assert [(each.reason, each.count, each.first) for each in reading.skipped] == [
        ("without an answer", 1, "line 3")
    ]


def test_seconds_where_the_title_or_the_caller_says_so(save):
    content = "Center,Left,Right,Answer,Response.Time..s.\na,b,c,c,2.5\n"
    assert read_file(save(content)).triplets.response_times.tolist() == [2.5]
    for word, seconds in (("response_time", 2.5), ("rt", 2.5), ("response_time_ms", 0.0025)):
        T = read_file(save(content), columns={word: "Response.Time..s."}).triplets
        assert T.response_times.tolist() == [seconds]
    content = "Center,Left,Right,Answer,time\na,b,c,c,2.5\n"
    for word, seconds in (("response_time", 2.5), ("rt", 0.0025)):
        T = read_file(save(content), columns={word: "time"}).triplets
        assert T.response_times.tolist() == [seconds]


def test_check_trials_that_cannot_be_judged_are_counted(save):
    content = "Center,Left,Right,Answer,sampleAlg\na,b,c,c,random\na,b,c,b,check\n"
    reading = read_file(save(content))
    assert len(reading.triplets) == 1
    assert reading.catch is None
    assert reading.skipped[0].first == "line 3"
    assert "check trials" in reading.skipped[0].reason
