import numpy as np
import pytest

from tercet import datasets
from tercet.answers.triplets import Triplets
from tercet.errors import InputError
from tercet.io import read_file, read_triplets, write_triplets


def test_quads_of_r(save):
    T = read_triplets(save('"resp","S1","S2","S3","S4"\n1,2,4,6,8\n0,6,9,1,4\n'), n_objects=9)
    assert T.array.tolist() == [[1, 3, 5, 7], [0, 3, 5, 8]]
    assert T.names == tuple("123456789")


def test_triads_have_their_anchor_in_the_middle(save):
    T = read_triplets(save("resp,S1,S2,S3\n1,3,2,1\n0,3,2,1\n"))
    assert T.array.tolist() == [[1, 2, 0], [1, 0, 2]]


def test_physical_values_are_in_numerical_order(save):
    T = read_triplets(
        save("Response,s1,s2,s3\n1,.1,0.05,10\n0,2,10.0,0.30000000000000004\n1,0.3,2,-1\n")
    )
    assert T.names == ("-1", "0.05", "0.1", "0.3", "2", "10")
    assert T.array.tolist() == [[1, 2, 5], [5, 3, 4], [4, 3, 0]]


def test_names_are_looked_up_or_ranks(save):
    path = save("resp,S1,S2,S3\n1,1,2,3\n")
    assert read_triplets(path, names=["low", "middle", "high"]).array.tolist() == [[1, 0, 2]]
    assert read_triplets(path, names=["3", "2", "1"]).array.tolist() == [[1, 2, 0]]
    with pytest.raises(InputError, match="line 2: the stimulus '3' is neither one of the 2 names"):
        read_triplets(path, names=["low", "high"])


def test_trials_without_an_answer_are_counted(save):
    reading = read_file(save("resp,S1,S2,S3,observer\nNA,1,2,3,a\n1,1,2,3,a\nFALSE,1,2,3,b\n"))
    assert reading.skipped[0].count == 1
    assert reading.rows == 3
    assert reading.triplets.observers.tolist() == ["a", "b"]
    assert reading.triplets.array.tolist() == [[1, 0, 2], [1, 2, 0]]


def test_written_triads_come_back(tmp_path):
    T = Triplets([[1, 0, 2], [2, 3, 0]], names=["0", "0.05", "0.1", "2"], observers=["a", "b"])
    write_triplets(T, tmp_path / "a.csv", format="mlds-triads")
    text = (tmp_path / "a.csv").read_text()
    assert text == "Response,s1,s2,s3,observer\n1,0,0.05,0.1,a\n0,0,0.1,2,b\n"
    assert read_triplets(tmp_path / "a.csv") == T


def test_written_quads_come_back_with_their_pairs_in_order(tmp_path):
    T = Triplets([[3, 2, 0, 1], [0, 1, 4, 2]], names=["a", "b", "c", "d", "e"])
    write_triplets(T, tmp_path / "a.csv", format="mlds-quads")
    assert (tmp_path / "a.csv").read_text() == "resp,S1,S2,S3,S4\n0,1,2,3,4\n1,1,2,3,5\n"
    back = read_triplets(tmp_path / "a.csv", names=T.names)
    assert back.array.tolist() == [[2, 3, 0, 1], [0, 1, 2, 4]]
    assert back.names == T.names


def test_counts_become_rows(tmp_path):
    write_triplets(Triplets([[1, 0, 2]], weights=[3]), tmp_path / "a.csv", format="mlds-triads")
    assert len(read_triplets(tmp_path / "a.csv")) == 3


@pytest.mark.parametrize(
    ("T", "format", "message"),
    [
        (Triplets([[1, 0, 2]], weights=[0.5]), "mlds-triads", "weights are not counts"),
        (Triplets([[0, 1, 2]]), "mlds-triads", r"row 0 .* the anchor is not between"),
        (Triplets([[0, 1, 2, 3]]), "mlds-triads", "write them as mlds-quads"),
    ],
)
def test_what_mlds_cannot_hold(tmp_path, T, format, message):  # noqa: A002
    with pytest.raises(InputError, match=message):
        write_triplets(T, tmp_path / "a.csv", format=format)
    assert not (tmp_path / "a.csv").exists()


@pytest.mark.parametrize("which", ["kk1", "kk2", "kk3", "kktriad", "AutumnLab", "Transparency"])
def test_the_examples_of_the_package(data_folder, tmp_path, which):
    T = read_triplets(data_folder / "mlds_examples" / f"{which}.csv")
    loaded = datasets.load_mlds(which).triplets
    assert (T.array == loaded.array).all()
    if which == "Transparency":
        assert (T.observers == loaded.observers).all()
    format = "mlds-triads" if which == "kktriad" else "mlds-quads"  # noqa: A001
    write_triplets(T, tmp_path / "a.csv", format=format)
    assert np.array_equal(read_triplets(tmp_path / "a.csv").array, T.array)
