import io
import os
import warnings
import zipfile

import numpy as np
import pytest
from tests.io.examples import ROWS, npy, npz

from tercet.answers.triplets import Triplets
from tercet.errors import InputError
from tercet.io import read_file, read_triplets, write_triplets

FULL = Triplets(
    ROWS,
    names=["a", "b", "ü", "d", "never asked"],
    observers=["eve", "bob", "eve"],
    screens=[4, 4, 5],
    weights=[1, 2, 0.1],
    response_times=[0.25, np.nan, 1 / 3],
)


def test_npz_keeps_everything(tmp_path):
    for T in (FULL, Triplets(ROWS, n_objects=9), Triplets([[0, 1, 2, 3]])):
        write_triplets(T, tmp_path / "a.npz")
        assert read_triplets(tmp_path / "a.npz") == T


@pytest.mark.parametrize("name", ["a.npy", "a.txt"])
def test_numbers_alone(tmp_path, name):
    for T in (Triplets(ROWS), Triplets([[0, 1, 2, 3]])):
        write_triplets(T, tmp_path / name, format="array")
        assert read_triplets(tmp_path / name) == T
    (tmp_path / name).write_bytes(b"old")
    with pytest.raises(InputError, match=r"these answers have observers, screens, weights.*npz"):
        write_triplets(FULL, tmp_path / name, format="array")
    assert (tmp_path / name).read_bytes() == b"old"


def test_other_endings_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"must end in \.npz, \.npy or \.txt"):
        write_triplets(Triplets(ROWS), tmp_path / "a.dat", format="array")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("key", ["triplets", "X", "arr_0", "comparisons"])
def test_the_names_of_arrays(save, key):
    content = npz(**{key: ROWS, "observer": [1, 2, 2], "unrelated": np.eye(2)})
    T = read_triplets(save(content))
    assert T.array.tolist() == ROWS.tolist()
    assert T.observers.tolist() == [1, 2, 2]


def test_what_is_said_goes_before_the_file(save):
    path = save(npz(triplets=ROWS, names=list("abcd")))
    assert read_triplets(path).names == ("a", "b", "c", "d")
    assert read_triplets(path, names=list("wxyz")).names == ("w", "x", "y", "z")
    assert read_triplets(save(npy(ROWS)), n_objects=7).n_objects == 7


def test_arrays_of_names_and_of_whole_floats(save):
    named = np.array([["cat", "dog", "bus"]])
    assert read_triplets(save(npy(named))).names == ("bus", "cat", "dog")
    assert read_triplets(save(npy(ROWS.astype(float)))).array.tolist() == ROWS.tolist()


def test_text_as_numpy_writes_it(tmp_path):
    np.savetxt(tmp_path / "a.txt", ROWS, header="anchor near far")
    assert read_triplets(tmp_path / "a.txt").array.tolist() == ROWS.tolist()


def test_nothing_in_a_file_is_executed(save, tmp_path):
    class Bomb:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "ran"),)

    bomb = np.array([[Bomb()]], dtype=object)
    for content in (npy(bomb, allow_pickle=True), npz(triplets=bomb)):
        with pytest.raises(InputError, match="Python objects, which are never loaded"):
            read_triplets(save(content, "a.npz"))
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"observer": ["a"], "observers": ["b"]}, "both 'observers' and 'observer'"),
        ({"weight": [1.0], "count": [2.0]}, "both 'weight' and 'count'"),
        ({"Triplets": [[0, 2, 1]]}, "the array 'triplets' twice"),
    ],
)
def test_arrays_that_are_there_twice_are_refused(save, arrays, message):
    with pytest.raises(InputError, match=message):
        read_file(save(npz(triplets=[[0, 1, 2]], **arrays), "a.npz"))


def zipped(content, times=1, **more):
    packed = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(packed, "w", **more) as archive:
        warnings.simplefilter("ignore", UserWarning)  # of names that are there twice
        for _ in range(times):
            archive.writestr("triplets.npy", content)
    return packed.getvalue()


def with_flag(at, value):
    """With another byte in the list of the members of a zip archive."""
    content = bytearray(npz(triplets=ROWS))
    content[content.index(b"PK\x01\x02") + at] = value
    return bytes(content)


def with_header(header):
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (zipped(npy(ROWS), 2), "two arrays named 'triplets'"),
        (npz(X=ROWS, x=ROWS), "the array 'x' twice"),
        (zipped(npy(ROWS), compression=zipfile.ZIP_LZMA), "is not compressed by NumPy"),
        (with_flag(8, 1), "is encrypted"),
        (with_flag(10, 99), "is not compressed by NumPy"),
        (with_flag(6, 99), "damaged"),
        (with_header(b"-" * 9000 + b"1"), "the file is damaged"),
        (zipped(with_header(b"(" * 9000)), "'triplets' is damaged"),
        (npy(ROWS) + npy(ROWS), "the file is damaged and cannot be read: it has"),
        (
            npz(triplets=ROWS, names=np.array([2**31], "<u4").view("<U1")),
            "contains invalid characters",
        ),
        (
            npz(triplets=ROWS, names=np.array([0xD800], "<u4").view("<U1")),
            "contains invalid characters",
        ),
    ],
)
def test_archives_that_nobody_saved_like_this(save, content, told):
    with pytest.raises(InputError, match=told):
        read_triplets(save(content, "a.npz"))


def test_a_small_archive_does_not_fill_the_memory(save, monkeypatch):
    monkeypatch.setattr("tercet.arrays._HARMLESS", 2**20)
    array = npy(np.zeros((2**17, 3), dtype=np.int64))
    content = zipped(array, compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(InputError, match=r"would decompress to 3,145,856, more than 100 times"):
        read_triplets(save(content, "a.npz"))


def test_arrays_in_any_order_are_arrays(save):
    for array in (np.asfortranarray(ROWS), ROWS.astype(">i4"), ROWS.astype(">f8")):
        assert read_triplets(save(npy(array), "a.npy")).array.tolist() == ROWS.tolist()
