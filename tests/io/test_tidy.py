import gzip
import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tercet.answers.triplets import Triplets
from tercet.errors import InputError
from tercet.io import read_file, read_triplets, write_triplets


@pytest.fixture
def csv(tmp_path):
    """Write bytes or text to a file and return its path."""

    def write(content, name="answers.csv"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def test_integers_with_header(csv):
    T = read_triplets(csv("anchor,near,far\n0,1,2\n2,0,1\n"))
    assert T.array.tolist() == [[0, 1, 2], [2, 0, 1]]
    assert T.names is None
    assert read_triplets(csv("anchor,near,far\n0,1,2\n"), n_objects=7).n_objects == 7


def test_any_order_case_and_extra_columns(csv):
    T = read_triplets(
        csv(
            "Trial,FAR,Observer, Near ,anchor,count,screen,note\n"
            '1,img 10, eve ,img 2,"img 1",3,7,\n'
            "\n"
            '2,img 2,bob,"img 1",img 10,1,8,hm\n'
        )
    )
    assert T.names == ("img 1", "img 2", "img 10")
    assert T.array.tolist() == [[0, 1, 2], [2, 0, 1]]
    assert T.observers.tolist() == ["eve", "bob"]
    assert T.screens.tolist() == [7, 8]
    assert T.weights.tolist() == [3.0, 1.0]


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_headerless_and_line_endings(csv, ending):
    T = read_triplets(csv(ending.join(["0,1,2", "2,1,0", ""])))
    assert T.array.tolist() == [[0, 1, 2], [2, 1, 0]]
    assert read_triplets(csv(ending.join(["0,1,2,3", "2,1,0,3"]))).is_quadruplets
    words = read_triplets(csv(ending.join(["anchor,boat,ship", "ship,anchor,boat"])))
    assert words.names == ("anchor", "boat", "ship")


def test_quadruplets_with_header(csv):
    T = read_triplets(csv("d,c,b,a\n0,1,2,3\n"))
    assert T.array.tolist() == [[3, 2, 1, 0]]


def test_utf8_with_and_without_bom(csv):
    for bom in (b"", b"\xef\xbb\xbf"):
        T = read_triplets(csv(bom + "anchor,near,far\nÄpfel,猫,π\n".encode()))
        assert set(T.names) == {"Äpfel", "猫", "π"}


@pytest.mark.parametrize(("name", "mark"), [("a.tsv", "\t"), ("a.csv", ";"), ("a.txt", "\t")])
def test_delimiter_is_found(csv, name, mark):
    path = csv(f"anchor{mark}near{mark}far\nx{mark}y, or z{mark}w\n", name)
    assert read_triplets(path).names == ("w", "x", "y, or z")


def test_delimiter_can_be_given(csv):
    assert len(read_triplets(csv("0 1 2\n2 1 0\n"), delimiter=" ")) == 2
    for bad in ("", ", ", "\n"):
        with pytest.raises(InputError, match="single character"):
            read_triplets(csv("0,1,2\n"), delimiter=bad)


def test_gzip_is_recognised_whatever_the_name(csv):
    for name in ("answers.csv.gz", "answers.csv"):
        assert len(read_triplets(csv(gzip.compress(b"0,1,2\n"), name))) == 1


def test_names_argument_makes_integers_names(csv):
    T = read_triplets(csv("anchor,near,far\n30,10,20\n"), names=["10", "20", "30", "40"])
    assert T.array.tolist() == [[2, 0, 1]]
    assert T.n_objects == 4


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("\n \n", "is empty"),
        ("anchor,near,far\n", "has a header but no answers"),
        ("anchor,near,far\n0,1,2\n\n0,1\n", "line 4: 2 cells where the first line has 3"),
        ("anchor,near,far\n0,1,2\n0,,2\n,1,2\n", r"line 3: .*'near' is empty \(2 such rows"),
        ("anchor,near,far,observer\n0,1,2,\n", "line 2: the cell 'observer' is empty"),
        ("anchor,near,distance\n0,1,2\n", "columns found: 'anchor', 'near', 'distance'"),
        ("x,y,z\n0,1,2\n", "line 1: the header must have .* columns found: 'x', 'y', 'z'"),
        ("0,1\n1,2\n", "columns found: '0', '1'"),
        ("anchor,near,far\n0,1,2\n0,0,2\n", "line 3: anchor and near are both 0"),
        ("anchor,near,far\n\n0,1,-2\n", "line 3: far is -2, a negative"),
        ("anchor,near,far\nx,y,z\nx,x,y\n", "line 3: anchor and near are both 'x'"),
        ('anchor,near,far\n"x\ny",b,c\nb,c,c\n', "line 4: near and far are both 'c'"),
        ("anchor,near,far,weight\n0,1,2,1\n0,1,2,many\n", "line 3: the weight is 'many', not a"),
        ("anchor,near,far,weight\n0,1,2,1\n0,1,2,0\n", "line 3: weight is 0.0, not a positive"),
        ("anchor,near,far,weight\n0,1,2,nan\n", "line 2: the cell 'weight' is 'nan', which"),
        ("anchor,near,far,weight,count\n0,1,2,1,1\n", "both 'weight' and 'count'"),
        ("anchor,near,near,far\n0,1,2,3\n", "'near' occurs twice"),
        (b"anchor,near,far\n0,1,2\nM\xfcll,b,c\n", "line 3: the byte 0xfc is not UTF-8; save"),
        ("anchor,near,far\n0,1,2\n".encode("utf-16"), "UTF-16, not UTF-8"),
        (b"PK\x03\x04\x00\x00", "the file is damaged"),
        (gzip.compress(b"0,1,2\n" * 100, mtime=0)[:-12], "damaged gzip"),
        ('anchor,near,far\n"' + "x" * 200_000 + '",b,c\n', "line 2: invalid CSV"),
    ],
)
def test_errors_name_the_file_and_the_line(csv, content, message):
    path = csv(content)
    with pytest.raises(InputError, match=message) as caught:
        read_triplets(path)
    assert str(path) in str(caught.value)


def test_unknown_name_and_too_few_objects_have_a_line(csv):
    with pytest.raises(InputError, match=r"line 2: far is 'dgo', .*Did you mean 'dog'"):
        read_triplets(csv("anchor,near,far\ncat,elk,dgo\n"), names=["cat", "dog", "elk"])
    with pytest.raises(InputError, match="line 2: far is 9, but there are only 5"):
        read_triplets(csv("0,1,2\n0,1,9\n"), n_objects=5)


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        read_triplets(tmp_path / "nowhere.csv")
    with pytest.raises(InputError, match="is a folder"):
        read_triplets(tmp_path)
    with pytest.raises(InputError, match="is a folder"):
        write_triplets(Triplets([[0, 1, 2]]), tmp_path)
    for path in (tmp_path / "no" / "a.csv", tmp_path / "file" / "a.csv"):
        (tmp_path / "file").touch()
        with pytest.raises(InputError, match="cannot be written"):
            write_triplets(Triplets([[0, 1, 2]]), path)
    with pytest.raises(InputError, match="cannot be read"):
        read_triplets(tmp_path / "file" / "a.csv")


@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.csv.gz", "a.tsv.gz"])
def test_written_table(tmp_path, name):
    T = Triplets(
        [["cat", "dog", "a, b"], ["dog", "cat", 'say "hi"']],
        observers=["eve", "bob"],
        screens=[1, 1],
        weights=[0.1, 2],
    )
    path = tmp_path / name
    path.write_text("old")
    write_triplets(T, path)
    assert read_triplets(path) == T
    assert os.listdir(tmp_path) == [name]
    data = path.read_bytes()
    text = (gzip.decompress(data) if name.endswith("gz") else data).decode()
    assert text.splitlines()[0].split("\t" if "tsv" in name else ",") == [
        "anchor",
        "near",
        "far",
        "observer",
        "screen",
        "weight",
    ]


def test_a_failed_write_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("old")

    def full_disk(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full_disk)
    with pytest.raises(InputError, match="No space left"):
        write_triplets(Triplets([[0, 1, 2]]), path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.csv"]


names = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\0\r\ufeff"), min_size=1).filter(
        lambda name: name == name.strip()
    ),
    min_size=4,
    max_size=7,
    unique=True,
)


@settings(deadline=None)
@pytest.mark.slow
@given(names, st.sampled_from([3, 4]), st.integers(0, 2**32), st.booleans())
def test_round_trip(tmp_path_factory, names, columns, seed, weighted):
    rng = np.random.default_rng(seed)
    rows = np.array([rng.permutation(len(names))[:columns] for _ in range(5)])
    weights = rng.exponential(size=5) if weighted else None
    path = tmp_path_factory.getbasetemp() / "round_trip.csv"
    for T in (
        Triplets(rows, names=names, weights=weights, observers=rng.integers(0, 3, 5)),
        Triplets(rows, n_objects=len(names), weights=weights),
    ):
        write_triplets(T, path)
        assert read_triplets(path, names=T.names, n_objects=len(names)) == T


def test_other_titles_for_our_columns_are_taken_and_said(save):
    reading = read_file(save("trial,probe,Closer,farther,participant\n1,a,b,c,eve\n2,c,a,b,bob\n"))
    assert reading.triplets.names == ("a", "b", "c")
    assert reading.triplets.array.tolist() == [[0, 1, 2], [2, 0, 1]]
    assert reading.triplets.observers.tolist() == ["eve", "bob"]
    assert "'Closer' as near" in reading.sentences()[1]
    assert read_file(save("anchor,positive,negative\n0,1,2\n")).triplets.names is None


@pytest.mark.parametrize(
    "header", ["anchor,closer,nearer,farther", "anchor,closer,other,farther", "probe,head,near,far"]
)
def test_titles_that_could_be_several_are_not_guessed(save, header):
    with pytest.raises(InputError, match="--columns anchor=…,near=…,far=…"):
        read_file(save(f"{header}\na,b,c,d\n"))


def test_our_own_words_go_before_others(save):
    reading = read_file(save("anchor,near,far,closer,participant\na,b,c,x,\n"))
    assert reading.triplets.array.tolist() == [[0, 1, 2]]
    assert reading.triplets.observers is None
    assert reading.note == "Columns not used: 'closer', 'participant'."


def test_a_reading_counts_votes_and_knows_what_it_was_told(save):
    path = save("probe,near,far,count\na,b,c,3\nb,a,c,2\n")
    reading = read_file(path, columns={"anchor": "probe"}, names=["a", "b", "c"])
    assert reading.sentences()[0] == "Read as a tidy table: 5 answers from 2 rows."
    assert reading.columns == {"anchor": "probe"}
    assert reading.named
    assert not read_file(path).named


def test_numbers_with_a_comma_where_semicolons_stand_between_cells(save):
    content = "anchor;near;far;response_time;weight\na;b;c;1,25;2\nb;c;a;0,5;1,5\n"
    T = read_triplets(save(content))
    assert T.response_times.tolist() == [1.25, 0.5]
    assert T.weights.tolist() == [2.0, 1.5]
    with pytest.raises(InputError, match="line 2: the response time is '1,25', not a number"):
        read_triplets(save('anchor,near,far,response_time\na,b,c,"1,25"\n'))


@pytest.mark.parametrize("columns", [["probe"], "probe"])
def test_columns_that_are_no_mapping_are_refused(columns, tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("probe,near,far\na,b,c\n")
    with pytest.raises(InputError, match="must map our words to the file's titles"):
        read_file(path, columns=columns)


@pytest.mark.parametrize("gap", ["0,,", ",,"])
def test_a_row_without_an_answer_is_counted(csv, gap):
    reading = read_file(csv(f"anchor,near,far\n0,1,2\n{gap}\n2,1,0\n"))
    assert len(reading.triplets) == 2
    assert reading.rows == 3
    assert [(each.reason, each.count, each.first) for each in reading.skipped] == [
        ("without an answer", 1, "line 3")
    ]


def test_quadruplets_without_an_answer_are_counted(csv):
    reading = read_file(csv("a,b,c,d\n0,1,2,3\n,,,\n"))
    assert (reading.rows, len(reading.triplets)) == (2, 1)
    with pytest.raises(InputError, match="line 3: the cell 'c' is empty"):
        read_file(csv("a,b,c,d\n0,1,2,3\n0,1,,\n"))


def test_a_table_without_any_answer_is_refused(csv):
    with pytest.raises(InputError, match="none of 1 row is an answer: 1 row without an answer"):
        read_file(csv("anchor,near,far\n0,,\n"))
