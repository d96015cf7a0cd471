"""Files of comparisons that are read a piece at a time: .npy arrays and Parquet tables."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tercet.bounded import read_start
from tercet.checks import COLUMNS, find_columns, settle_types, whole
from tercet.errors import InputError
from tercet.io.cells import make_cells
from tercet.io.parquet import encode_column, import_pyarrow, refuse_parquet
from tercet.npz import read_header
from tercet.streamed import BLOCK_ROWS, Column

__all__ = ["ArrayPart", "Chunk", "Part", "TablePart", "open_part"]


class Chunk(NamedTuple):
    """Some rows of a part, from ``start`` on."""

    start: int
    cells: NDArray[np.int64]  # (b, 3) or (b, 4): numbers of objects, or codes of their names
    weights: Any  # (b,) or None


class Part(Protocol):
    """One file of comparisons."""

    @property
    def path(self) -> str:
        """Its path."""

    @property
    def length(self) -> int:
        """How many rows it has."""

    @property
    def width(self) -> int:
        """How many objects a row has, 3 or 4."""

    @property
    def has_names(self) -> bool:
        """Whether its cells may be names."""

    @property
    def extras(self) -> frozenset[str]:
        """What else it knows of the answers, such as "weights" and "screens"."""

    def where(self, row: int) -> str:
        """Say where a row is, for an error."""

    def chunks(self, codes: dict[str, int] | None) -> Iterator[Chunk]:
        """All rows, some at a time; names are numbered by ``codes``, which grows."""


def open_part(path: Path, columns: Mapping[str, str] | None) -> Part:
    """Look into a file and say what it has."""
    start = read_start(path)
    if start.startswith(b"\x93NUMPY"):
        if columns:
            raise InputError(f"{path} is an array, which has no titles; leave columns out.")
        return _open_array(path)
    if start.startswith(b"PAR1"):
        return _open_table(path, columns)
    raise InputError(
        f"{path} is neither an .npy array nor Parquet, which are what can be streamed. Read it "
        "with tc.read_triplets, or convert it to Parquet with 'tercet convert'."
    )


def _whole(cells: NDArray[Any], part: Part, start: int) -> NDArray[np.int64]:
    """Numbers of objects, none of them missing or broken; the first is in row ``start``."""
    _reject_missing(cells, part, start)
    return whole(cells, lambda row: part.where(start + row))


def _reject_missing(cells: NDArray[Any], part: Part, start: int) -> None:
    settle_types(cells, COLUMNS[part.width], lambda row: part.where(start + row))


# --- arrays -----------------------------------------------------------------------------------


class ArrayPart(NamedTuple):
    """An .npy file of integers."""

    path: str
    length: int
    width: int
    column: Column
    by_columns: bool  # Fortran's order
    has_names: bool = False
    extras: frozenset[str] = frozenset()

    def where(self, row: int) -> str:
        """Say where a row is, for an error."""
        return f"{self.path}: row {row} (counting from 0)"

    def chunks(self, codes: dict[str, int] | None) -> Iterator[Chunk]:
        """All rows, some at a time."""
        for start in range(0, self.length, BLOCK_ROWS):
            stop = min(start + BLOCK_ROWS, self.length)
            read = self._by_columns if self.by_columns else self.column.read
            yield Chunk(start, _whole(read(start, stop), self, start), None)

    def _by_columns(self, start: int, stop: int) -> NDArray[Any]:
        one = self.column._replace(width=1)
        firsts = (self.length * k for k in range(self.width))
        return np.hstack([one.read(first + start, first + stop) for first in firsts])


def _open_array(path: Path) -> ArrayPart:
    try:
        with path.open("rb") as file:
            shape, by_columns, dtype = read_header(file)
            offset = file.tell()
    except Exception as error:  # of NumPy, which raises almost any kind
        told = type(error).__name__
        raise InputError(f"{path} is a damaged .npy file ({told}). Save it again.") from None
    if dtype.kind not in "iuf":
        raise InputError(
            f"{path} has values of type {dtype}; an array that is streamed has integers. Names "
            "can be streamed from Parquet."
        )
    if len(shape) != 2 or shape[1] not in COLUMNS:
        raise InputError(
            f"{path} has the shape {shape}; it must have 3 columns (anchor, near, far) or 4 "
            "(a, b, c, d: a–b is closer than c–d)."
        )
    if os.path.getsize(path) < offset + shape[0] * shape[1] * dtype.itemsize:
        raise InputError(f"{path} is shorter than it says. Was it cut off? Save it again.")
    column = Column(os.path.abspath(path), offset, dtype.str, shape[1])  # workers start elsewhere
    return ArrayPart(str(path), shape[0], shape[1], column, by_columns)


# --- tables -----------------------------------------------------------------------------------


class TablePart(NamedTuple):
    """A Parquet file with the columns of a tidy table."""

    path: str
    length: int
    width: int
    titles: list[str]  # of the objects, in the file's words
    weight: str | None  # title
    has_names: bool
    extras: frozenset[str]

    def where(self, row: int) -> str:
        """Say where a row is, for an error."""
        return f"{self.path}, row {row + 1}"

    def chunks(self, codes: dict[str, int] | None) -> Iterator[Chunk]:
        """All rows, some at a time."""
        pyarrow = import_pyarrow(self.path)
        titles = [*self.titles, *([self.weight] if self.weight else [])]
        start = 0
        try:
            # With a buffer of its own a column is read on, and not as a whole.
            with pyarrow.parquet.ParquetFile(
                self.path, buffer_size=2**20, pre_buffer=False
            ) as file:
                for batch in file.iter_batches(BLOCK_ROWS, columns=titles):
                    yield self._chunk(pyarrow, batch, start, codes)
                    start += len(batch)
        except (pyarrow.ArrowException, OSError, KeyError, TypeError) as error:
            raise refuse_parquet(self.path, error) from None

    def _chunk(self, pyarrow: Any, batch: Any, start: int, codes: dict[str, int] | None) -> Chunk:
        columns = [batch.column(title) for title in self.titles]
        weights = None
        if self.weight:
            weights = batch.column(self.weight).to_numpy(zero_copy_only=False)
        if codes is None:
            cells = np.column_stack([c.to_numpy(zero_copy_only=False) for c in columns])
            return Chunk(start, _whole(cells, self, start), weights)
        parts = []
        for column in columns:
            texts, places = encode_column(pyarrow, column)
            own = [codes.setdefault(text.strip(), len(codes)) for text in texts]
            parts.append(np.array([*own, codes.setdefault("", len(codes))])[places])  # −1: missing
        cells = np.column_stack(parts).astype(np.int64)
        blank = cells == codes[""]
        if blank.any():
            _reject_missing(np.where(blank, "", "?"), self, start)
        return Chunk(start, cells, weights)


def _open_table(path: Path, columns: Mapping[str, str] | None) -> TablePart:
    pyarrow = import_pyarrow(path)
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            schema, length = file.schema_arrow, file.metadata.num_rows
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise refuse_parquet(str(path), error) from None
    titles = list(schema.names)
    header = make_cells(str(path), titles, [], []).renamed(columns).header
    try:
        places, extras = find_columns(header)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    types = [schema.field(titles[i]).type for i in places]
    numeric = (pyarrow.types.is_integer, pyarrow.types.is_floating)
    has_names = not all(any(test(each) for test in numeric) for each in types)
    weight = titles[extras["weights"]] if "weights" in extras else None
    chosen = [titles[i] for i in places]
    return TablePart(str(path), length, len(places), chosen, weight, has_names, frozenset(extras))
