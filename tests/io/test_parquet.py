import sys

import numpy as np
import pyarrow
import pytest
from tests.io.examples import parquet

from tercet.answers.triplets import Triplets
from tercet.errors import InputError
from tercet.io import read_file, read_triplets, write_triplets

FULL = Triplets(
    [["cat", "dog", "bus"], ["bus", "cat", "dog"], ["dog", "cat", "bus"]],
    observers=["eve", "bob", "eve"],
    screens=[4, 4, 5],
    weights=[1, 2, 0.1],
    response_times=[0.25, np.nan, 1 / 3],
)


@pytest.mark.parametrize(
    "T", [FULL, Triplets([[0, 1, 2], [2, 0, 1]]), Triplets([[0, 1, 2, 3]], names=list("wxyz"))]
)
def test_round_trip(tmp_path, T):
    path = tmp_path / "a.parquet"
    write_triplets(T, path)
    assert read_triplets(path) == T
    assert read_file(path).format == "parquet"


def test_a_table_that_pandas_wrote(tmp_path):
    import pandas as pd

    frame = pd.DataFrame({"Anchor": [0.0, 2.0], "near": [1, 1], "far": [2, 0], "who": ["a", "b"]})
    frame["near"] = pd.Categorical(frame["near"])
    frame.to_parquet(tmp_path / "a.parquet")
    T = read_triplets(tmp_path / "a.parquet", columns={"observer": "who"})
    assert T.array.tolist() == [[0, 1, 2], [2, 1, 0]]
    assert T.observers.tolist() == ["a", "b"]


def test_several_parts_with_dictionaries_of_their_own(tmp_path):
    parts = [[["x", "y"], ["p", "q"], ["q", "p"]], [["p", "x"], ["y", "q"], ["q", "y"]]]
    tables = [
        pyarrow.table(dict(zip(("anchor", "near", "far"), part, strict=True))) for part in parts
    ]
    schema = pyarrow.schema(
        [
            (word, pyarrow.dictionary(pyarrow.int32(), pyarrow.string()))
            for word in tables[0].schema.names
        ]
    )
    with pyarrow.parquet.ParquetWriter(tmp_path / "a.parquet", schema) as writer:
        for table in tables:
            writer.write_table(table.cast(schema))
    T = read_triplets(tmp_path / "a.parquet")
    rows = [[T.names[i] for i in row] for row in T.array]
    assert rows == [["x", "p", "q"], ["y", "q", "p"], ["p", "y", "q"], ["x", "q", "y"]]


def test_rows_are_named_in_errors(save):
    content = parquet(anchor=["a", "b", "c"], near=["b", None, "a"], far=["c", "c", "b"])
    with pytest.raises(InputError, match=r"row 2: the cell 'near' is empty"):
        read_triplets(save(content))
    content = parquet(anchor=[0, 1], near=[1, 1], far=[2, 2])
    with pytest.raises(InputError, match="row 2: anchor and near are both 1"):
        read_triplets(save(content))


def test_without_pyarrow_the_message_names_the_extra(tmp_path, save, monkeypatch):
    path = save(parquet(anchor=[0], near=[1], far=[2]))
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(InputError, match=r"pip install 'tercet\[parquet\]'"):
        read_triplets(path)
    with pytest.raises(InputError, match=r"pip install 'tercet\[parquet\]'"):
        write_triplets(FULL, tmp_path / "b.parquet")


@pytest.mark.filterwarnings("ignore::tercet.errors.DataWarning")
def test_damage_in_what_a_file_says_of_itself_never_ends_the_process(tmp_path):
    """Pyarrow aborts where it is asked about columns whose description is damaged."""
    content = parquet(anchor=["a", "b"], near=["b", "c"], far=["c", "a"])
    footer = len(content) - int.from_bytes(content[-8:-4], "little") - 8
    path, refused = tmp_path / "a.parquet", 0
    for at in range(footer + 16, footer + 64):
        for value in (0, 18, 90, 255):
            path.write_bytes(content[:at] + bytes([value]) + content[at + 1 :])
            try:
                read_file(path)
            except InputError:
                refused += 1
    assert refused > 100
