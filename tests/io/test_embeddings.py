"""Embeddings in files: arrays and tables, with names and without; what is refused."""

import gzip
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tercet.errors import InputError
from tercet.io.embeddings import read_embedding

TABLE = np.array([[0.5, -1.0], [2.0, 1e-3], [3.0, 4.0]])
NAMES = ("ant", "bee", "7")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("0.5,-1\n2,1e-3\n3,4\n", None),
        ("x1,x2\n0.5,-1\n2,1e-3\n3,4\n", None),
        ("ant,0.5,-1\nbee,2,1e-3\n7,3,4\n", NAMES),
        ("name,x1,x2\nant,0.5,-1\nbee,2,1e-3\n7,3,4\n", NAMES),
        ("name,x1,x2\n1,0.5,-1\n2,2,1e-3\n3,3,4\n", ("1", "2", "3")),
        ("ant\t0.5\t-1\nbee\t2\t1e-3\n7\t3\t4\n", NAMES),
        ("ant;0.5;-1\nbee;2;1e-3\n\n7;3;4\n", NAMES),
        ("0.5 -1 # the first\n2   1e-3\n3 4\n", None),
        ('"ant","0.5","-1"\r\nbee,2,1e-3\r\n7,3,4\r\n', NAMES),
    ],
)
def test_tables(text, names, tmp_path):
    for path in (tmp_path / "x.csv", tmp_path / "x.csv.gz"):
        data = text.encode()
        path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
        points, found = read_embedding(path)
        assert_array_equal(points, TABLE)
        assert found == names


def test_arrays(tmp_path):
    np.save(tmp_path / "x.npy", TABLE.astype(np.float32))
    points, names = read_embedding(tmp_path / "x.npy")
    assert points.dtype == np.float64
    assert_array_equal(points, TABLE.astype(np.float32))
    assert names is None
    np.savez(tmp_path / "x.npz", features=TABLE, things=np.array(NAMES))
    points, names = read_embedding(tmp_path / "x.npz")
    assert_array_equal(points, TABLE)
    assert names == NAMES


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"a": TABLE, "b": TABLE}, r"one table of numbers.*found: a \(3, 2\), b \(3, 2\)"),
        ({"a": TABLE[0]}, "one table of numbers"),
        ({"a": TABLE, "names": np.array(["ant"])}, "1 names for 3 rows"),
        ({"a": np.array([[object()]])}, "never loaded"),
    ],
)
def test_arrays_that_are_refused(arrays, message, tmp_path):
    np.savez(tmp_path / "x.npz", **arrays)
    with pytest.raises(InputError, match=message):
        read_embedding(tmp_path / "x.npz")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "no rows"),
        (b"x1,x2\n", "no rows"),
        (b"0.5,1\n2\n", r"line 2 has 1 cell, and the first row has 2"),
        (b"a,1,2\nb,1,two\n", r"line 2: 'two' is not a number"),
        (b"a,1,2\nb,1,nan\n", r"line 2: 'nan' is not a number"),
        (b"a,1,2\nb,,3\n", r"line 2: '' is not a number"),
        (b"ant\nbee\n", "names but no numbers"),
        (b'[{"a": 1}]', "not an embedding"),
        (pickle.dumps(TABLE), "binary"),
    ],
)
def test_text_that_is_refused(content, message, tmp_path):
    (tmp_path / "x.csv").write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_embedding(tmp_path / "x.csv")
