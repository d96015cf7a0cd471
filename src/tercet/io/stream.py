"""open_triplets: answers that stay on disk, for data beyond memory (.npy arrays, Parquet)."""

from __future__ import annotations

import glob
import hashlib
import json
import os
import secrets
import shutil
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import accumulate
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tercet.answers.checks import (
    LARGEST_INDEX,
    check_column,
    check_comparisons,
    look_up,
    natural_key,
    settle_n_objects,
    settle_types,
    whole,
)
from tercet.answers.streams import BLOCK_ROWS, Column, Stream, StreamedTriplets
from tercet.answers.titles import COLUMNS, find_columns, is_missing
from tercet.answers.triplets import Triplets
from tercet.arrays import read_header
from tercet.errors import DataWarning, InputError, TercetError
from tercet.files import read_start
from tercet.io.cells import Cells, check_columns, make_cells
from tercet.io.parquet import encode_column, import_pyarrow, refuse_parquet
from tercet.tables import parse_json

__all__ = ["open_triplets"]

_ROWS, _WEIGHTS, _ABOUT = "triplets.npy", "weights.npy", "about.json"
_SUFFIXES = (".npy", ".parquet")
_LEFT = 3600.0  # seconds without a byte after which half a copy belongs to nobody

PathLike = str | os.PathLike[str]


def open_triplets(
    path: PathLike | Sequence[PathLike],
    *,
    columns: Mapping[str, str] | None = None,
    n_objects: int | None = None,
    names: Iterable[str] | None = None,
    cache: PathLike | None = None,
) -> StreamedTriplets:
    """Open answers that are too many for memory; they are checked and then read when needed.

    A single .npy file is used as it is. Everything else is copied once, a piece at a time, into a
    file of compact integers (12 or 16 bytes an answer, 8 more with weights), which is found again
    the next time while the files stay the same.

    Parameters
    ----------
    path : path, or list of paths
        An .npy file of integers (m, 3) or (m, 4); a Parquet file with the columns anchor, near,
        far (or a, b, c, d) and perhaps weight or count; a folder of such files; or a list of them.
        Observers, screens and response times are not read.
    columns : mapping of str to str, optional
        Which columns of Parquet to take as ours, as in `read_triplets`.
    n_objects : int, optional
        How many objects there are, if the last ones may not occur.
    names : sequence of str, optional
        The names of all objects.
    cache : path, optional
        The folder for the copy; by default that of the (first) file.

    Examples
    --------
    >>> stream = tc.open_triplets("answers/")  # doctest: +SKIP
    >>> tc.STE(2, random_state=0).fit(stream).embedding_  # doctest: +SKIP
    """
    files = _find_files(path)
    check_columns(columns)
    parts = [_open_part(file, columns) for file in files]
    _agree(parts)
    known = None if names is None else Triplets([[0, 1, 2]], names=names).names  # checked there
    first = parts[0]
    if len(parts) == 1 and isinstance(first, _ArrayPart) and _is_plain(first):
        return _use_as_it_is(first, n_objects, known)
    if any("screens" in part.extras for part in parts):
        warnings.warn(
            "answers of one screen are one choice, but a stream takes them as independent, so "
            "uncertainties will look surer than they are.",
            DataWarning,
            stacklevel=2,
        )
    key = _fingerprint(files, columns, n_objects, known)
    parent = Path(cache) if cache is not None else files[0].parent
    folder = parent / f"{files[0].stem}-{key[:12]}.tercet"
    if not (folder / _ABOUT).exists():
        _convert(parts, folder, n_objects, known)
    return _open_copy(folder)


# --- finding ----------------------------------------------------------------------------------


def _find_files(path: PathLike | Sequence[PathLike]) -> list[Path]:
    given = [path] if isinstance(path, str) or not isinstance(path, Iterable) else list(path)
    if not all(isinstance(each, str | os.PathLike) for each in given):
        raise InputError(
            "open_triplets takes the name of a file or a folder, or a list of names, got "
            f"{type(path).__name__}. An array in memory is taken by fit itself."
        )
    files: list[Path] = []
    for each in map(Path, given):
        if not each.is_dir():
            files.append(each)
            continue
        inside = [file for file in each.iterdir() if file.suffix in _SUFFIXES]
        files += sorted(inside, key=lambda file: natural_key(file.name))
    if not files:
        raise InputError(f"there are no .parquet or .npy files in {path}.")
    return files


def _agree(parts: Sequence[_Part]) -> None:
    """Refuse parts that do not go together, and parts without rows."""
    first = parts[0]
    for part in parts[1:]:
        if part.width != first.width:
            raise InputError(
                f"{part.path} has {part.width} objects a row, and {first.path} has {first.width}; "
                "stream triplets and quadruplets apart."
            )
        if ("weights" in part.extras) != ("weights" in first.extras):
            raise InputError(f"only one of {first.path} and {part.path} has weights; give both.")
    if not sum(part.length for part in parts):
        raise InputError(f"{first.path} has no answers; at least one answer is needed.")


def _fingerprint(
    files: Sequence[Path],
    columns: Mapping[str, str] | None,
    n_objects: int | None,
    names: tuple[str, ...] | None,
) -> str:
    stats = [(str(file.resolve()), file.stat()) for file in files]
    said = [[name, stat.st_size, stat.st_mtime_ns] for name, stat in stats]
    text = json.dumps([1, said, dict(columns or {}), n_objects, names])
    return hashlib.sha256(text.encode()).hexdigest()


# --- an array as it is ------------------------------------------------------------------------


def _is_plain(part: _ArrayPart) -> bool:
    return not part.by_columns and np.dtype(part.column.dtype).kind in "iu"


def _use_as_it_is(
    part: _ArrayPart, n_objects: int | None, names: tuple[str, ...] | None
) -> StreamedTriplets:
    largest = 0
    limit = _limit(n_objects, names)
    for chunk in part.chunks(None):
        check_comparisons(chunk.cells, limit, names, _after(part, chunk.start))
        largest = max(largest, int(chunk.cells.max()))
    count = settle_n_objects(n_objects, names, largest + 1)
    return StreamedTriplets(Stream(part.column, None, part.length, count, names, 1.0, False))


def _limit(n_objects: int | None, names: tuple[str, ...] | None) -> int:
    """The number of objects beyond which a number is wrong."""
    return settle_n_objects(n_objects, names, LARGEST_INDEX + 1)


def _after(part: _Part, start: int) -> Callable[[int], str]:
    """Says where rows are that are counted from ``start`` on."""
    return lambda row: part.where(start + row)


# --- a copy of compact integers ---------------------------------------------------------------


def _convert(
    parts: Sequence[_Part], folder: Path, n_objects: int | None, names: tuple[str, ...] | None
) -> None:
    """Write the copy under another name first, so that nobody ever sees half of it."""
    unfinished = folder.with_name(f".{folder.name}.{secrets.token_hex(8)}.part")
    _clear(folder)
    try:
        unfinished.mkdir(parents=True)
        about = _copy(parts, unfinished, n_objects, names)
        (unfinished / _ABOUT).write_text(json.dumps(about), "utf-8")
        unfinished.rename(folder)
    except OSError as error:
        if (folder / _ABOUT).exists():
            return  # another was quicker
        raise TercetError(
            f"the copy that is streamed cannot be written to {folder.parent}: {error.strerror}. "
            "Make room there, or give another folder as cache."
        ) from None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _clear(folder: Path) -> None:
    """Remove the halves that processes which were killed have left, of this copy."""
    for half in folder.parent.glob(f".{glob.escape(folder.name)}.*.part"):
        with suppress(OSError):  # another process may be done with it just now
            written = max(file.stat().st_mtime for file in (half, *half.iterdir()))
            if time.time() - written > _LEFT:
                shutil.rmtree(half, ignore_errors=True)


def _copy(
    parts: Sequence[_Part], folder: Path, n_objects: int | None, names: tuple[str, ...] | None
) -> dict[str, Any]:
    length, width = sum(part.length for part in parts), parts[0].width
    by_name = any(part.has_names for part in parts)
    # As in `read_triplets`: the cells of a table are names where names are given.
    by_name = by_name or (names is not None and not isinstance(parts[0], _ArrayPart))
    if by_name and any(isinstance(part, _ArrayPart) for part in parts):
        raise InputError("some files have names and some have numbers; use the same in all.")
    codes: dict[str, int] | None = {} if by_name else None
    limit, largest = _limit(n_objects, names), 0
    weighing = _Weighing()
    with _array_file(folder / _ROWS, np.uint32, (length, width)) as rows:
        with _array_file(folder / _WEIGHTS, np.float64, (length,)) as weights:
            for part in parts:
                for chunk in part.chunks(codes):
                    if codes is None:
                        where = _after(part, chunk.start)
                        check_comparisons(chunk.cells, limit, names, where)
                        largest = max(largest, int(chunk.cells.max()))
                    rows.write(chunk.cells.astype(np.uint32).tobytes())
                    if chunk.weights is not None:
                        weights.write(weighing.check(chunk.weights, part, chunk.start).tobytes())
        if codes is not None:
            numbers, names = _number(parts, codes, names)
            largest = _renumber(rows, parts, numbers, list(codes), names, limit)
    if not weighing.used:
        (folder / _WEIGHTS).unlink()
    return {
        "length": length,
        "n_objects": settle_n_objects(n_objects, names, largest + 1),
        "names": names,
        "weighted": weighing.used,
        "least_weight": weighing.least if weighing.used else 1.0,
        "whole_weights": weighing.used and weighing.whole,
    }


class _Weighing:
    """Weights, checked as they pass by: the smallest of them, and whether all are whole."""

    def __init__(self) -> None:
        self.used, self.least, self.whole = False, np.inf, True

    def check(self, values: Any, part: _Part, start: int) -> NDArray[np.float64]:
        weights = check_column(values, len(values), "weights", _after(part, start))
        assert weights is not None
        self.used = True
        self.least = min(self.least, float(weights.min()))
        self.whole = self.whole and bool((np.floor(weights) == weights).all())
        return weights


def _number(
    parts: Sequence[_Part], codes: Mapping[str, int], names: tuple[str, ...] | None
) -> tuple[NDArray[np.int64], tuple[str, ...] | None]:
    """The number of every code, -1 where ``names`` lacks it, and the names of the objects."""
    texts = [text for text in codes if text]
    numbers = np.full(len(codes), -1)
    used = [codes[text] for text in texts]
    if names is not None:
        place = {name: i for i, name in enumerate(names)}
        numbers[used] = [place.get(text, -1) for text in texts]
        return numbers, names
    if missing := [text for text in texts if is_missing(text)]:
        raise InputError(
            f"{parts[0].path}: among the objects is {missing[0]!r}, which stands for a missing "
            "value. Remove such rows; if an object is called so, give the names of all objects."
        )
    every = np.arange(len(texts))
    cells = Cells(parts[0].path, ["object"], texts, every[:, None], range(len(texts)))
    numbers[used], found = cells.numbered(every)
    return numbers, found


def _renumber(
    rows: BinaryIO,
    parts: Sequence[_Part],
    numbers: NDArray[np.int64],
    texts: Sequence[str],
    names: tuple[str, ...] | None,
    limit: int,
) -> int:
    """Replace codes by numbers in the file, checking them; return the largest."""
    rows.flush()
    width, largest = parts[0].width, 0
    column = Column(rows.name, rows.tell() - _bytes(parts), np.dtype(np.uint32).str, width)
    ends = accumulate(part.length for part in parts)
    limit = limit if names is None else len(names)
    for part, end in zip(parts, ends, strict=True):
        first = end - part.length
        for start in range(0, part.length, BLOCK_ROWS):
            stop = min(start + BLOCK_ROWS, part.length)
            codes = column.read(first + start, first + stop)
            array = numbers[codes]
            where = _after(part, start)
            if names is not None and array.min() < 0:
                look_up(np.array(texts, dtype=object)[codes], names, where)  # says which
            array = whole(array, where)
            check_comparisons(array, limit, names, where)
            largest = max(largest, int(array.max()))
            rows.seek(column.offset + (first + start) * 4 * width)
            rows.write(array.astype(np.uint32).tobytes())
            rows.flush()
    return largest


def _bytes(parts: Sequence[_Part]) -> int:
    return 4 * parts[0].width * sum(part.length for part in parts)


@contextmanager
def _array_file(path: Path, dtype: type[np.generic], shape: tuple[int, ...]) -> Iterator[BinaryIO]:
    """An .npy file whose rows are still to be written."""
    descr = np.lib.format.dtype_to_descr(np.dtype(dtype))
    with path.open("wb") as file:
        header = {"descr": descr, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        yield file


def _open_copy(folder: Path) -> StreamedTriplets:
    try:
        about = parse_json((folder / _ABOUT).read_text("utf-8"))
        rows = _open_part(folder / _ROWS, None)
        if not isinstance(rows, _ArrayPart) or rows.length != about["length"]:
            raise ValueError("rows")
        weights = None
        if about["weighted"]:
            offset = os.path.getsize(folder / _WEIGHTS) - 8 * rows.length
            if offset < 0 or not about["least_weight"] > 0:
                raise ValueError("weights")
            path = os.path.abspath(folder / _WEIGHTS)
            weights = Column(path, offset, np.dtype(np.float64).str, 1)
        names = (
            None if about["names"] is None else Triplets([[0, 1, 2]], names=about["names"]).names
        )
        count = settle_n_objects(about["n_objects"], names, 1)
    except (OSError, TypeError, ValueError, KeyError) as error:
        raise InputError(
            f"{folder}, the copy that is streamed, is damaged. Delete it: it is made again from "
            "the files."
        ) from error
    held = (rows.column, weights, rows.length, count, names)
    return StreamedTriplets(Stream(*held, about["least_weight"], about["whole_weights"]))


# --- one file ---------------------------------------------------------------------------------


class _Chunk(NamedTuple):
    """Some rows of a part, from ``start`` on."""

    start: int
    cells: NDArray[np.int64]  # (b, 3) or (b, 4): numbers of objects, or codes of their names
    weights: Any  # (b,) or None


def _open_part(path: Path, columns: Mapping[str, str] | None) -> _Part:
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


def _whole(cells: NDArray[Any], part: _Part, start: int) -> NDArray[np.int64]:
    """Numbers of objects, none of them missing or broken; the first is in row ``start``."""
    where = _after(part, start)
    settle_types(cells, COLUMNS[part.width], where)
    return whole(cells, where)


# --- arrays -----------------------------------------------------------------------------------


class _ArrayPart(NamedTuple):
    """An .npy file of integers."""

    path: str
    length: int  # rows
    width: int  # objects a row, 3 or 4
    column: Column
    by_columns: bool  # Fortran's order
    has_names: bool = False
    extras: frozenset[str] = frozenset()

    def where(self, row: int) -> str:
        """Say where a row is, for an error."""
        return f"{self.path}: row {row} (counting from 0)"

    def chunks(self, codes: dict[str, int] | None) -> Iterator[_Chunk]:
        """All rows, some at a time."""
        for start in range(0, self.length, BLOCK_ROWS):
            stop = min(start + BLOCK_ROWS, self.length)
            read = self._by_columns if self.by_columns else self.column.read
            yield _Chunk(start, _whole(read(start, stop), self, start), None)

    def _by_columns(self, start: int, stop: int) -> NDArray[Any]:
        one = self.column._replace(width=1)
        firsts = (self.length * k for k in range(self.width))
        return np.hstack([one.read(first + start, first + stop) for first in firsts])


def _open_array(path: Path) -> _ArrayPart:
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
    return _ArrayPart(str(path), shape[0], shape[1], column, by_columns)


# --- tables -----------------------------------------------------------------------------------


class _TablePart(NamedTuple):
    """A Parquet file with the columns of a tidy table."""

    path: str
    length: int
    width: int
    titles: list[str]  # of the objects, in the file's words
    weight: str | None  # title
    has_names: bool
    extras: frozenset[str]  # what else it knows of the answers, such as "weights" and "screens"

    def where(self, row: int) -> str:
        """Say where a row is, for an error."""
        return f"{self.path}, row {row + 1}"

    def chunks(self, codes: dict[str, int] | None) -> Iterator[_Chunk]:
        """All rows, some at a time; names are numbered by ``codes``, which grows."""
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

    def _chunk(self, pyarrow: Any, batch: Any, start: int, codes: dict[str, int] | None) -> _Chunk:
        columns = [batch.column(title) for title in self.titles]
        weights = None
        if self.weight:
            weights = batch.column(self.weight).to_numpy(zero_copy_only=False)
        if codes is None:
            cells = np.column_stack([c.to_numpy(zero_copy_only=False) for c in columns])
            return _Chunk(start, _whole(cells, self, start), weights)
        parts = []
        for column in columns:
            texts, places = encode_column(pyarrow, column)
            own = [codes.setdefault(text.strip(), len(codes)) for text in texts]
            parts.append(np.array([*own, codes.setdefault("", len(codes))])[places])  # −1: missing
        cells = np.column_stack(parts).astype(np.int64)
        blank = cells == codes[""]
        if blank.any():
            settle_types(np.where(blank, "", "?"), COLUMNS[self.width], _after(self, start))
        return _Chunk(start, cells, weights)


def _open_table(path: Path, columns: Mapping[str, str] | None) -> _TablePart:
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
    return _TablePart(str(path), length, len(places), chosen, weight, has_names, frozenset(extras))


_Part: TypeAlias = _ArrayPart | _TablePart  # one file of a stream
