"""Whatever the names: they come back as they were, or are refused before anything is written."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tercet.answers.diagnosis import diagnose
from tercet.answers.triplets import Triplets
from tercet.errors import InputError
from tercet.io import read_file, read_triplets, write_triplets

NASTY = [
    *("a", "a ", " a", "A", "1", "01", "1.0", "+1", "-0", "0", "x\ry", "x\r\ny", "x\ny", "\n"),
    *("x\0", "\0x", "\ufeff", "\ufeffx", "x\n\ufeffy", '"', '""', 'x"', '"x', "x,y", "x;y", "x\ty"),
    *("x\ny,z,w", 'x"\n"y', "NA", "None", "#N/A", "anchor", "near", "far", "observer", "Probe"),
    *("b", "c", "d", "#", "'", "\\", "\x1c", "\x85", "\u2028x", "é", "e\u0301", "=1+1", "x" * 300),
]
NAME = st.one_of(st.sampled_from(NASTY), st.text(max_size=4)).filter(str.strip)
NAMES = st.lists(NAME, min_size=4, max_size=8, unique=True)
FILES = [("a.csv", None), ("a.tsv", None), ("a.csv.gz", None), ("a.parquet", None)]
FILES += [("a.npz", None), ("a.npz", "cblearn")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("written")


def problem_of(function, *arguments):
    """What an `InputError` says; None if there is none."""
    try:
        function(*arguments)
    except InputError as error:
        return str(error)
    return None


@pytest.mark.parametrize(("file", "format"), FILES)
@settings(max_examples=60, deadline=None)
@given(names=NAMES, columns=st.sampled_from([3, 4]), seed=st.integers(0, 999), seen=st.booleans())
@example(names=["a", "a ", "b", "c"], columns=3, seed=0, seen=True)
@example(names=["1", "01", "2", "3"], columns=3, seed=0, seen=True)
@example(names=["1", "1.0", "2", "3"], columns=3, seed=0, seen=True)
@example(names=["x\r", "x\0", "b", "c"], columns=3, seed=0, seen=False)
@example(names=["a", "A", "1", "\0"], columns=3, seed=0, seen=True)
@example(names=["a", "b", "c", "d"], columns=4, seed=1, seen=False)
@example(names=["anchor", "near", "far", "x"], columns=3, seed=0, seen=False)
def test_round_trip(folder, file, format, names, columns, seed, seen):  # noqa: A002
    rng = np.random.default_rng(seed)
    rows = np.array([rng.permutation(len(names))[:columns] for _ in range(6)])
    observers = None
    if seen and not {"NA", "None", "#N/A"} & {*names}:
        observers = [names[i] for i in rows[:, 0]]
    try:
        T = Triplets(rows, names=names, observers=observers)
    except InputError:  # a missing value by chance
        return
    path = folder / file
    path.unlink(missing_ok=True)
    if (problem := problem_of(write_triplets, T, path, format)) is not None:
        assert str(path) in problem
        assert not path.exists()
        return
    back = read_triplets(path, names=T.names)
    assert back.names == T.names
    assert (np.sort(back.array, axis=0) == np.sort(T.array, axis=0)).all()
    if format is None:
        assert (back.array == T.array).all()
    if T.observers is not None and format is None and back.observers.dtype.kind == "U":
        assert back.observers.tolist() == T.observers.tolist()
    if (problem := problem_of(read_triplets, path)) is not None:
        assert "give the names of all objects" in problem  # such as NA
        return
    plain = read_triplets(path)
    if plain.names is not None and format is None:
        found = [[plain.names[i] for i in row] for row in plain.array]
        assert found == [[names[i] for i in row] for row in rows]
    elif plain.names is None:
        assert {int(float(names[i])) for i in np.unique(rows)} == {*np.unique(plain.array)}
        assert len(np.unique(plain.array)) == len(np.unique(rows))


@pytest.mark.parametrize(
    ("names", "file", "message"),
    [
        (["a", "a ", "b"], "a.csv", "'a ' cannot be written, because spaces around it"),
        (["a", "a ", "b"], "a.parquet", "'a ' cannot be written, because spaces around it"),
        (["x\ry", "a", "b"], "a.tsv", r"'x\\ry' cannot be written, because it has a character"),
        (["x\0y", "a", "b"], "a.csv", r"'x\\x00y' cannot be written, because it has"),
        (
            ["1", "1.0", "2"],
            "a.csv",
            "'1.0' cannot be written, because another one becomes the same",
        ),
        (["anchor", "near", "far"], "a.csv", "'anchor' cannot be written, because it would be"),
        (["x\0", "a", "b"], "a.npz", r"'x\\x00' ends in a null character"),
    ],
)
def test_the_name_is_named(tmp_path, names, file, message):
    path = tmp_path / file
    path.write_text("old")
    with pytest.raises(InputError, match=message):
        write_triplets(Triplets([[0, 1, 2]], names=names), path)
    assert path.read_text() == "old"


def test_zeros_before_a_number_count(save):
    T = read_triplets(save("anchor,near,far\n1,01,2\n01,2,1\n"))
    assert T.names == ("01", "1", "2")
    assert (
        "Some names look alike, but are treated as different objects: '01' and '1'."
        in diagnose(T)[0]
    )


def test_a_column_that_had_a_gap_has_the_same_objects(save):
    T = read_triplets(save("anchor,near,far,observer\n0,1.0,2,7.0\n1,2.0,0,8.0\n"))
    assert T.names is None
    assert T.array.tolist() == [[0, 1, 2], [1, 2, 0]]
    assert T.observers.tolist() == [7, 8]


def test_ranks_that_would_be_taken_for_names_are_not_written(tmp_path):
    T = Triplets([[0, 1, 1, 2]], names=["3", "2", "1"])
    with pytest.raises(InputError, match="names are numbers but not increasing"):
        write_triplets(T, tmp_path / "a.csv", "mlds-quads")
    assert not (tmp_path / "a.csv").exists()


@pytest.mark.parametrize(
    "names", [("Cat", "cat"), ("é", "e\u0301"), ("x  y", "x y"), ("1.50", "1.5")]
)
def test_names_that_look_alike_are_told(save, names):
    one, other = names
    reading = read_file(save(f"anchor,near,far,observer\n{one},b,c,P1\n{other},c,b,p1\n"))
    told = diagnose(reading.triplets)[0]
    assert "Some names look alike, but are treated as different objects" in told
    assert f"{one!r}" in told
    assert (
        "Treated as different observers, although they look alike: 'P1' and 'p1'." in reading.note
    )
    assert reading.triplets.n_objects == 4
