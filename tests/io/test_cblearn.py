"""Held against cblearn 0.4.0: what `check_query_response` made of these arrays."""

import numpy as np
import pytest

from tercet.answers.triplets import Triplets
from tercet.errors import DataWarning, InputError
from tercet.io import from_cblearn, read_file, read_triplets, to_cblearn, write_triplets

ORDER = [[3, 2, 5], [4, 5, 1], [3, 2, 0], [5, 4, 2]]
QUADS = [[0, 2, 1, 3], [1, 3, 0, 5], [0, 2, 3, 5]]


def test_triplets_as_cblearn_converts_them():
    query, response = to_cblearn(ORDER, "list-boolean")
    assert query.tolist() == [[3, 2, 5], [4, 1, 5], [3, 0, 2], [5, 2, 4]]
    assert response.tolist() == [True, False, False, False]
    query, response = to_cblearn(ORDER, "list-count")
    assert response.tolist() == [1, -1, -1, -1]
    assert to_cblearn(ORDER).tolist() == ORDER


def test_quadruplets_as_cblearn_converts_them():
    query, response = to_cblearn(QUADS, "list-boolean")
    assert query.tolist() == [[0, 2, 1, 3], [0, 5, 1, 3], [0, 2, 3, 5]]
    assert response.tolist() == [True, False, True]


@pytest.mark.parametrize("rows", [ORDER, QUADS])
@pytest.mark.parametrize("format", ["list-order", "list-boolean", "list-count"])
def test_there_and_back(rows, format):  # noqa: A002
    arrays = to_cblearn(rows, format)
    back = from_cblearn(arrays) if format == "list-order" else from_cblearn(*arrays)
    assert back.array.tolist() == rows
    assert back.weights is None


@pytest.mark.parametrize("response", [[True, False], [1, 0], [1, -1], np.array([1.0, -1.0])])
def test_kinds_of_responses(response):
    assert from_cblearn([[0, 1, 2], [0, 1, 2]], response).array.tolist() == [[0, 1, 2], [0, 2, 1]]


def test_counts_are_weights():
    with pytest.warns(DataWarning, match=r"1 of 3 responses are 0 \(undecided\)"):
        T = from_cblearn([[0, 1, 2], [1, 0, 2], [2, 0, 1]], [3, 0, -2], names=list("abc"))
    assert T.array.tolist() == [[0, 1, 2], [2, 1, 0]]
    assert T.weights.tolist() == [3, 2]
    assert T.names == ("a", "b", "c")
    assert to_cblearn(T).tolist() == [[0, 1, 2]] * 3 + [[2, 1, 0]] * 2
    assert to_cblearn(T, "list-count")[1].tolist() == [3, -2]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: from_cblearn([[0, 1, 2]], [0.5]), "row 0 .* the response is 0.5"),
        (lambda: from_cblearn([[0, 1, 2]], ["yes"]), "True or False, or whole numbers"),
        (lambda: from_cblearn([[0, 1, 2]], [1, 0]), "1 queries, but 2 responses"),
        (lambda: from_cblearn([[0, 1, 1]], [1]), "near and far are both 1"),
        (lambda: to_cblearn(Triplets([[0, 1, 2]], weights=[0.5])), "weights are not whole"),
        (lambda: to_cblearn([[0, 1, 2]], "tensor-count"), "format must be 'list-order'"),
    ],
)
def test_what_cannot_be_converted(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_written_arrays_come_back(tmp_path):
    for T in (
        Triplets(ORDER, names=list("abcdef"), weights=[1, 3, 1, 2], observers=list("uvuv")),
        Triplets(QUADS, n_objects=9),
    ):
        write_triplets(T, tmp_path / "a.npz", format="cblearn")
        assert read_file(tmp_path / "a.npz").format == "cblearn"
        assert read_triplets(tmp_path / "a.npz") == T
    with pytest.raises(InputError, match=r"cblearn file must end in \.npz"):
        write_triplets(T, tmp_path / "a.csv", format="cblearn")


def test_tables(save):
    content = "i,j,k,Response,participant\n0,1,2,True,eve\n0,1,2,,eve\n0,1,2,False,bob\n"
    reading = read_file(save(content))
    assert reading.triplets.array.tolist() == [[0, 1, 2], [0, 2, 1]]
    assert reading.triplets.observers.tolist() == ["eve", "bob"]
    assert [(each.reason, each.first) for each in reading.skipped] == [
        ("without an answer", "line 3")
    ]
    T = read_triplets(save("i,j,k,l,y\n0,1,2,3,-1\n0,1,2,3,1\n"))
    assert T.array.tolist() == [[2, 3, 0, 1], [0, 1, 2, 3]]


def test_undecided_rows_of_a_file_are_counted(save):
    reading = read_file(save("i,j,k,response\n0,1,2,2\n0,1,2,0\n0,1,2,-1\n"))
    assert reading.triplets.weights.tolist() == [2, 1]
    assert "undecided" in reading.skipped[0].reason
    assert reading.skipped[0].first == "line 3"
