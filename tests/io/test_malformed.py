"""Broken files: one clear message each, with the place, the value and what to do."""

import gzip
import json
import re

import numpy as np
import pytest
from tests.io.examples import EXAMPLES, FOOD, ROWS, npy, npz, parquet

from tercet.errors import InputError
from tercet.io import read_file

SCREEN = FOOD[0]["HIT_screens"][0]


def food(**changes):
    return json.dumps([{"worker_id": 1, "HIT_screens": [SCREEN | changes]}])


def example(name):
    return next(each.content for each in EXAMPLES if each.name == name)


def damaged(name):
    """With zeros in the middle."""
    content = example(name)
    half = len(content) // 2
    return content[: half - 20] + bytes(40) + content[half + 20 :]


def huge_npy():
    """With a shape that no memory holds, in a header of the same length."""
    content = npy(np.zeros((1, 3), dtype=np.int64))
    changed = content.replace(b"(1, 3), }" + b" " * 11, b"(999999999999, 3), }", 1)
    assert len(changed) == len(content)
    assert changed != content
    return changed


ODD, CENTRAL = "similar1,similar2,odd\n", "central,other1,other2\n"
QUADS, TRIADS = "resp,S1,S2,S3,S4\n", "resp,S1,S2,S3\n"
GRID, TIDY = "anchor,chosen,shown\n", "anchor,near,far\n"
# what it is, its content, the format that is asked for, words of the message
FILES = [
    # tidy tables
    ("empty", "", None, "is empty; at least one answer"),
    ("only a header", "anchor,near,far\n", None, "has a header but no answers"),
    ("a short line", "anchor,near,far\n0,1,2\n0,1\n", None, "line 3: 2 cells where the first"),
    ("a long line", "anchor,near,far\n0,1,2,9\n", None, "line 2: 4 cells where the first"),
    ("a gap", "anchor,near,far\n0,,2\n", None, "line 2: the cell 'near' is empty"),
    ("a triplet of two", "anchor,near,far\n0,1,2\n0,1,1\n", None, "line 3: near and far are both"),
    ("a negative number", "anchor,near,far\n0,-1,2\n", None, "line 2: near is -1, a negative"),
    ("a time that is none", "anchor,near,far,response_time\na,b,c,soon\n", None, "is 'soon', not"),
    ("Latin-1", b"anchor,near,far\na,b,\xe9\n", None, "line 2: the byte 0xe9 is not UTF-8"),
    ("UTF-16", "anchor,near,far\na,b,c\n".encode("utf-16"), None, "is text in UTF-16"),
    ("zeros", b"anchor,near,far\n\0\0\0", None, "is a binary file"),
    ("an open quote", 'anchor,near,far\n"a,b,c\n', None, "line 2: 1 cell where"),
    ("cut gzip", gzip.compress(b"anchor,near,far\na,b,c\n" * 9)[:-12], None, "damaged gzip file"),
    ("unknown titles", "x,y,z\n0,1,2\n", None, "the header must have the columns anchor, near"),
    # arrays
    ("cut npy", npy(ROWS)[:-8], None, "the file is damaged"),
    ("npy without a header", b"\x93NUMPY\x01\x00", None, "the file is damaged"),
    ("npy of a silly size", huge_npy(), None, "the file is damaged"),
    ("npy of empty text", npy(np.zeros((2, 3), "U")), None, "anchor is '', which is missing"),
    ("npy of no size", huge_npy().replace(b"<i8", b"<U0"), None, "values of type"),
    ("npy of one dimension", npy(np.arange(3)), None, "must have two dimensions"),
    ("npy of five columns", npy(np.arange(5)[None]), None, "3 columns (anchor, near, far) or 4"),
    ("npy without rows", npy(np.zeros((0, 3), int)), None, "there are no comparisons (0 rows)"),
    ("npy of fractions", npy(ROWS + 0.5), None, "row 0 (counting from 0): anchor is 0.5, not a"),
    ("npy of complex numbers", npy(ROWS + 1j), None, "values of type complex128"),
    ("npy of truths", npy(ROWS > 0), None, "values of type bool are neither numbers nor names"),
    ("npy of objects", npy(np.array([[None]]), allow_pickle=True), None, "never loaded"),
    ("npz of objects", npz(names=np.array([None])), None, "'names' has Python objects"),
    ("cut npz", npz(triplets=ROWS)[:-30], None, "the file is damaged"),
    ("damaged npz", damaged("triplets.npz"), None, "damaged"),
    ("npz without triplets", npz(a=ROWS, b=ROWS), None, "no array 'triplets'"),
    ("npz of an ensemble", npz(header=np.array("{}"), draws=ROWS), None, "is a map"),
    ("npz, too few observers", npz(triplets=ROWS, observers=[1]), None, "one entry per answer, 3"),
    ("npz, too few names", npz(triplets=ROWS, names=["a"]), None, "there are only 1 objects"),
    ("npz, not a count", npz(triplets=ROWS, n_objects=-2), None, "n_objects must be a positive"),
    ("text, ragged", "0 1 2\n0 1\n", None, "line 2: 2 entries where the first line has 3"),
    ("text, a name", "0 1 2\n0 cat 2\n", None, "line 2: 'cat' is not a number"),
    ("text, a fraction", "0 1 2\n0 1.5 2\n", None, "line 2: near is 1.5, not a whole number"),
    ("text, five columns", "0 1 2 3 4\n", "array", "5 columns found; an array has 3"),
    ("text, comments", "# nothing\n# at all\n", "array", "is empty"),
    ("text, infinite", "0 1 2\n0 inf 2\n", None, "line 2: near is inf"),
    # Parquet
    ("cut parquet", example("tidy.parquet")[:-20], None, "is a damaged Parquet file"),
    ("damaged parquet", damaged("tidy.parquet"), None, "is a damaged Parquet file"),
    ("nothing but PAR1", b"PAR1", None, "is a damaged Parquet file"),
    ("parquet, no far", parquet(anchor=[0], near=[1]), None, "columns found: 'anchor', 'near'"),
    ("parquet, no rows", parquet(anchor=[], near=[], far=[]), None, "a header but no answers"),
    ("parquet, lists", parquet(anchor=[[0]], near=[1], far=[2]), None, "damaged Parquet file"),
    ("not parquet", "anchor,near,far\n0,1,2\n", "parquet", "it does not begin with PAR1"),
    # one of three
    ("odd, twice", ODD + "0,1,2\n3,3,1\n", None, "line 3: similar1 and similar2 are both '3'"),
    ("odd, the same", ODD + "0,1,1\n", None, "line 2: odd and similar2 are both '1'"),
    ("odd, a gap", ODD + "0,,1\n", None, "line 2: the cell 'similar2' is empty"),
    ("joined", TIDY + "a,b,c\n" + TIDY + "b,c,a\n", None, "line 3: the header is repeated"),
    ("joined odd", ODD + "0,1,2\n" + ODD, None, "line 3: the header is repeated (1 in all"),
    ("odd, none", ODD + "0,1,\n", None, "none of 1 row is an answer: 1 row without an answer"),
    ("odd, two columns", "0 1\n0 1\n", "odd-one-out", "similar1, similar2, odd are required"),
    ("odd, nobody", ODD[:-1] + ",participant\n0,1,2,\n0,1,2,7\n", None, "'participant' is empty"),
    ("odd, not shown", "object1,object2,object3,odd\na,b,c,d\n", None, "not one of those shown"),
    ("central, twice", CENTRAL + "a,a,b\n", None, "central and other1 are both 'a'"),
    ("central, negative", CENTRAL + "-1,0,2\n", None, "line 2: near is -1, a negative"),
    # grids
    ("grid, not shown", GRID + "a,x,b|c\n", None, "line 2: 'x' was chosen, but is not among"),
    ("grid, twice", GRID + "a,b,b|c|b\n", None, "'b' occurs twice among the shown"),
    ("grid, chosen twice", GRID + "a,b|b,b|c\n", None, "'b' occurs twice among the chosen"),
    ("grid, all chosen", GRID + "a,b|c,b|c\n", None, "1 row on which nothing was left unchosen"),
    ("grid, no anchor", GRID + ",b,b|c\n", None, "the cell 'anchor' is empty"),
    ("grid, both", "anchor,chosen,ranked,shown\na,b,b,b|c\n", None, "both 'chosen' and 'ranked'"),
    ("cut JSON", example("food.json")[:-40], None, "invalid JSON"),
    ("JSON of nothing", "[]", "screens", "has no screens"),
    ("JSON, an object", "{}", "screens", "expected a list of tasks with 'HIT_screens'"),
    ("JSON, no probe", json.dumps([{"HIT_screens": [{}]}]), None, "task 1, screen 1: 'probe' is"),
    ("JSON, no list", json.dumps([{"HIT_screens": 3}]), None, "task 1: 'HIT_screens' must be a"),
    ("JSON, a number", json.dumps([3, {"HIT_screens": []}]), None, "'HIT_screens' is missing"),
    ("JSON, images", food(images="x"), None, "screen 1: 'images' must be a list of objects"),
    ("JSON, null", food(probe=None), None, "'probe' contains None, which is not a name"),
    ("JSON, a timer", food(timer="soon"), None, "screen 1: the response time is 'soon'"),
    ("JSON, digits", '[{"HIT_screens": 1' + "0" * 5000 + "}]", None, "too many digits"),
    ("JSON, deep", '[{"HIT_screens":' + "[" * 10**5, None, "nested too deeply"),
    # MLDS
    ("resp of 2", QUADS + "2,1,2,3,4\n", None, "resp is '2'; it must be 1 if the second pair"),
    ("a pair of one", QUADS + "1,1,1,3,4\n", None, "line 2: S1 and S2 are both '1'"),
    ("a pair with itself", QUADS + "1,1,2,2,1\n", None, "line 2: a–b and c–d are the same pair"),
    ("no stimulus", TRIADS + "1,1,2,\n", None, "line 2: the cell 'S3' is empty"),
    ("a stimulus in words", TRIADS + "1,1,2,big\n", None, "line 2: the stimulus is 'big', not a"),
    ("an infinite stimulus", TRIADS + "1,1,2,inf\n", None, "line 2: the stimulus is 'inf', not a"),
    ("no answers", TRIADS + "NA,1,2,3\n", None, "none of 1 row is an answer"),
    ("one column less", "resp,S1,S2\n1,1,2\n", "mlds-triads", "the column 's3' is missing"),
    ("equal values", TRIADS + "1,1,1.0,3\n", None, "line 2: anchor and near are both '1'"),
    # cblearn
    ("half a response", "i,j,k,response\n0,1,2,0.5\n", None, "line 2: the response is 0.5"),
    ("a word", "i,j,k,response\n0,1,2,maybe\n", None, "line 2: the response is 'maybe', not a"),
    ("a query of two", "i,j,k,response\n0,1,1,1\n", None, "line 2: near and far are both 1"),
    ("few responses", npz(triplets=ROWS, responses=[1]), None, "responses must have one entry"),
    ("no response", "i,j,k,response\n0,1,2,\n", None, "none of 1 row is an answer"),
    ("weights twice", npz(X=ROWS, y=[2, 1, -1], weights=[1, 1, 1]), None, "counts and weights"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("content", "format", "words"), [f[1:] for f in FILES], ids=[f[0] for f in FILES]
)
def test_one_clear_message(save, content, format, words):  # noqa: A002
    path = save(content, "broken.dat")
    with pytest.raises(InputError, match=re.escape(words)) as caught:
        read_file(path, format=format)
    message = str(caught.value)
    assert len(message) < 500 + len(str(path))
    assert str(path) in message


def test_there_are_enough_of_them():
    assert len({name for name, *_ in FILES}) == len(FILES) >= 35


@pytest.mark.parametrize("content", ["", "x", "[1, 2]", "a,b\n1,2\n", npy(ROWS), "anchor,near\n"])
@pytest.mark.parametrize(
    "format", ["tidy", "array", "parquet", "odd-one-out", "most-central", "screens", "mlds-quads"]
)
def test_columns_that_are_not_there(save, content, format):  # noqa: A002
    with pytest.raises(InputError):
        read_file(save(content), format=format, columns={"anchor": "nowhere"})


@pytest.mark.parametrize("kind", [None, "tidy", "odd-one-out", "screens", "psychopy"])
@pytest.mark.parametrize("width", [1, 2000])
def test_very_many_columns_make_no_long_message(kind, width, tmp_path):
    titles = [f"{'t' * width}{i}" for i in range(3_000 // width + 50)]
    rows = [titles, ["x"] * len(titles), ["y"] * len(titles)]
    path = tmp_path / "wide.csv"
    path.write_text("\n".join(map(",".join, rows)))
    with pytest.raises(InputError) as error:
        read_file(path, format=kind)
    assert len(str(error.value)) < 3100
