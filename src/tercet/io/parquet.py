"""Answers as a tidy table in Parquet, through pyarrow."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tercet.answers.titles import EXTRAS, find_columns, find_times, is_missing
from tercet.answers.triplets import Triplets
from tercet.errors import InputError
from tercet.files import check_size, write_whole
from tercet.io.cells import Cells, make_cells
from tercet.io.columns import UnknownColumnsError
from tercet.io.inputfile import InputFile
from tercet.io.reading import Format, Reading, ReadOptions
from tercet.io.tidy import BESIDE_ANSWERS, check_table, columns_of, read_columns, texts_of

__all__ = ["PARQUET", "encode_column", "import_pyarrow", "refuse_parquet"]


def import_pyarrow(path: str | Path) -> Any:
    """Return pyarrow with its Parquet, or raise an error about how to install it."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise InputError(
            f"{path}: Parquet needs pyarrow; install it with pip install 'tercet[parquet]', or "
            "use CSV."
        ) from None
    return pyarrow


def _matches(file: InputFile) -> bool:
    return file.kind == "parquet"


def _read(file: InputFile, options: ReadOptions) -> Reading:
    path = file.path
    if file.kind != "parquet":
        raise InputError(f"{path} is not a Parquet file: it does not begin with PAR1.")
    pyarrow = import_pyarrow(path)
    damage = (pyarrow.ArrowException, OSError, ValueError, KeyError, TypeError)
    try:
        parquet = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(file.content))
        titles = list(parquet.schema_arrow.names)
    except damage as error:
        raise refuse_parquet(path, error) from None
    table = make_cells(path, titles, [], []).renamed(options.columns)
    header = table.header

    def is_blank(place: int) -> bool:
        cells, found = encode_column(pyarrow, parquet.read(columns=[titles[place]]).column(0))
        return all(is_missing(cells[i]) for i in set(found.tolist()) if i >= 0)

    try:
        columns, extras = find_columns(header, is_blank)
    except InputError as error:
        raise UnknownColumnsError(f"{path}: {error}", table) from None
    except damage as error:
        raise refuse_parquet(path, error) from None
    if (time := find_times(header)) is not None:
        extras["response_times"] = time
    beside = (table.find(title) for title in BESIDE_ANSWERS)
    places = [*columns, *extras.values(), *(place for place in beside if place is not None)]
    _check_size(file, parquet, places)
    try:
        wanted = parquet.read(columns=[titles[i] for i in places]).unify_dictionaries()
        parts = [encode_column(pyarrow, wanted.column(titles[i])) for i in places]
    except damage as error:
        raise refuse_parquet(path, error) from None
    if not len(wanted):
        raise InputError(f"{path} has a header but no answers; at least one answer is needed.")
    table = _make_table(path, [header[i] for i in places], parts)
    table = replace(table, titles=[titles[i] for i in places], named=file.named)
    return read_columns(file.keep_valid(table), options)


def _check_size(file: InputFile, parquet: Any, places: Sequence[int]) -> None:
    """Refuse a table that is too large when decompressed, by the metadata of its row groups.

    Not by those of its columns: for damaged ones pyarrow ends the process.
    """
    about = parquet.metadata
    size = sum(about.row_group(group).total_byte_size for group in range(about.num_row_groups))
    cells = 8 * about.num_rows * len(places)  # repeated values take no space in the file
    check_size(file.path, max(size, cells), file.max_bytes, "decompresses to")


def refuse_parquet(path: str, error: Exception) -> InputError:
    """The error about a damaged file, with pyarrow's message."""
    said = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
    return InputError(f"{path} is a damaged Parquet file ({said}). Save it again.")


def encode_column(pyarrow: Any, column: Any) -> tuple[list[str], Any]:
    """The distinct cells of a column as text, and the index of each row's; −1 if missing."""
    whole = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    if not pyarrow.types.is_dictionary(whole.type):
        whole = whole.dictionary_encode()
    indices = whole.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return [_as_text(value) for value in whole.dictionary.to_pylist()], indices


def _as_text(value: Any) -> str:
    """A cell as in a text table; empty if missing."""
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))  # integers become floats in a column with missing values
    return value.decode("utf-8") if isinstance(value, bytes) else str(value)


def _make_table(path: str, header: list[str], parts: list[tuple[list[str], Any]]) -> Cells:
    """Cells of encoded columns; their rows are counted from 1."""
    place: dict[str, int] = {"": 0}
    codes = []
    for texts, indices in parts:
        own = [place.setdefault(text.strip(), len(place)) for text in texts]
        codes.append(np.array([*own, 0], dtype=np.int64)[indices])  # −1 is the last
    rows = range(1, len(codes[0]) + 1)
    return Cells(path, header, list(place), np.column_stack(codes), rows, unit="row")


def _write(triplets: Triplets, path: Path) -> None:
    """Write the columns of a tidy table; names are stored once and numbered."""
    pyarrow = import_pyarrow(path)
    check_table(path, texts_of(triplets))
    columns: dict[str, Any] = dict(columns_of(triplets))
    if triplets.names is not None:
        objects = [title for title in columns if title not in EXTRAS]
        names = pyarrow.array(triplets.names, pyarrow.string())
        for title, numbers in zip(objects, triplets.array.T, strict=True):
            indices = pyarrow.array(numbers, pyarrow.int32())
            columns[title] = pyarrow.DictionaryArray.from_arrays(indices, names)
    if "response_time" in columns:
        columns["response_time"] = pyarrow.array(columns["response_time"], from_pandas=True)
    content = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), content)
    write_whole(path, content.getvalue())


PARQUET = Format(
    "parquet",
    "a tidy table in Parquet",
    "Parquet, with columns anchor, near, far (or a, b, c, d)",
    _matches,
    _read,
    _write,
)
