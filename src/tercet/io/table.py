"""Answers as a tidy table: one row per answer, in CSV or TSV, plain or gzipped."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import os
import re
import zlib
from array import array
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.checks import COLUMNS, EXTRAS, check, find_columns
from tercet.errors import InputError
from tercet.triplets import Triplets, restore

__all__ = ["read_triplets", "write_triplets"]

_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")  # 18 digits always fit into int64


class _Table(NamedTuple):
    path: str
    header: list[str]
    unique: list[str]  # every distinct cell once, stripped: answers repeat few names many times
    codes: NDArray[np.int64]  # (rows, columns), into unique
    lines: array[int]  # the line of the file on which each row ends

    def where(self, row: int) -> str:
        return f"{self.path}, line {self.lines[row]}"

    def text(self, codes: NDArray[np.int64]) -> NDArray[np.object_]:
        return np.array(self.unique, dtype=object)[codes]

    def numbers_or_text(self, codes: NDArray[np.int64]) -> NDArray[Any]:
        """Return integers if the cells of these codes are all integers, and text if not."""
        values = np.zeros(len(self.unique), dtype=np.int64)
        for code in np.unique(codes):
            if not _INTEGER.fullmatch(self.unique[code]):
                return self.text(codes)
            values[code] = int(self.unique[code])
        return values[codes]

    def weights(self, codes: NDArray[np.int64]) -> NDArray[np.float64]:
        values = np.zeros(len(self.unique))
        for code in np.unique(codes):
            try:
                values[code] = float(self.unique[code])
            except ValueError:
                row = int((codes == code).argmax())
                raise InputError(
                    f"{self.where(row)}: the weight is {self.unique[code]!r}, not a number. "
                    "Write it like 2 or 0.5."
                ) from None
        return values[codes]


def read_triplets(
    path: str | os.PathLike[str],
    *,
    n_objects: int | None = None,
    names: Iterable[str] | None = None,
    delimiter: str | None = None,
) -> Triplets:
    """Read answers from a CSV or TSV file, which may be gzipped.

    Parameters
    ----------
    path : path
        A UTF-8 text file. Its header has the columns anchor, near, far (or a, b, c, d: a–b is
        closer than c–d), and perhaps observer, screen, and weight or count, in any order and
        case; other columns are ignored. A file without a header has just the 3 or 4 columns.
        Objects are numbers from 0 if all of them are integers, and names if not.
    n_objects : int, optional
        How many objects there are, if the last ones may not occur.
    names : sequence of str, optional
        The names of all objects; the cells are then names, even if they look like integers.
    delimiter : str, optional
        The character between cells; by default a comma, a semicolon or a tab, as the file has.
    """
    table = _read_table(path, delimiter)
    try:
        columns, extras = find_columns(table.header)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    used = [*columns, *extras.values()]
    blank = np.array([not cell for cell in table.unique])[table.codes[:, used]]
    if blank.any():
        row, column = np.argwhere(blank)[0]
        raise InputError(
            f"{table.where(row)}: the cell {table.header[used[column]]!r} is empty "
            f"({np.count_nonzero(blank)} empty cells in all). Fill it or remove the line."
        )
    objects = table.codes[:, columns]
    cells = table.numbers_or_text(objects) if names is None else table.text(objects)
    fields: dict[str, NDArray[Any]] = {}
    for field, i in extras.items():
        convert = table.weights if field == "weights" else table.numbers_or_text
        fields[field] = convert(table.codes[:, i])
    return restore(check(cells, n_objects, names, **fields, where=table.where))


def _read_table(path: str | os.PathLike[str], delimiter: str | None) -> _Table:
    """Split a file into cells, all rows equally long."""
    text = _read_text(path)
    if delimiter is None:
        first_line = text.lstrip().partition("\n")[0]
        delimiter = max(",;\t", key=first_line.count)
    elif len(delimiter) != 1 or delimiter in '\r\n"':
        raise InputError(f"delimiter must be a single character, got {delimiter!r}.")

    place: dict[str, int] = {}
    codes, lines = array("q"), array("q")
    header: list[str] = []
    has_header = False
    reader = csv.reader(io.StringIO(text, newline=None), delimiter=delimiter)
    try:
        for row in reader:
            if not row or (len(row) == 1 and not row[0].strip()):
                continue
            if not header:
                header, has_header = _header([cell.strip() for cell in row])
                if has_header:
                    continue
            if len(row) != len(header):
                raise InputError(
                    f"{path}, line {reader.line_num}: {len(row)} cells where the first line has "
                    f"{len(header)}. Every line needs the same number of cells."
                )
            codes.extend([place.setdefault(cell.strip(), len(place)) for cell in row])
            lines.append(reader.line_num)
    except csv.Error as error:
        raise InputError(f"{path}, line {reader.line_num}: this is not CSV ({error}).") from None
    if not lines:
        what = "has a header but no answers" if has_header else "is empty"
        raise InputError(f"{path} {what}; at least one answer is needed.")

    table = _Table(
        os.fspath(path),
        header,
        list(place),
        np.frombuffer(codes, dtype=np.int64).reshape(len(lines), -1),
        lines,
    )
    if not has_header:
        _reject_unknown_header(table)
    return table


def _header(first: list[str]) -> tuple[list[str], bool]:
    """Return the titles of the columns, and whether the first row holds them."""
    words = {cell.lower() for cell in first}
    # Two of our words make a header, perhaps one that lacks a column; one may be an object.
    ours = words & {*COLUMNS[3], *EXTRAS}
    if len(ours) >= 2 or words >= set(COLUMNS[4]) or len(first) not in COLUMNS:
        return first, True
    return list(COLUMNS[len(first)]), False


def _reject_unknown_header(table: _Table) -> None:
    """Refuse words over columns of integers, which would become names together with them."""
    first, rest = table.codes[0], np.unique(table.codes[1:])
    integer = [_INTEGER.fullmatch(cell) is not None for cell in table.unique]
    if rest.size and all(integer[code] for code in rest) and not any(integer[i] for i in first):
        found = ", ".join(repr(table.unique[code]) for code in first)
        raise InputError(
            f"{table.where(0)}: the header must have the columns anchor, near, far "
            f"(or a, b, c, d); columns found: {found}. Rename them or remove the line."
        )


def _read_text(path: str | os.PathLike[str]) -> str:
    try:
        data = Path(path).read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
    except FileNotFoundError:
        raise InputError(f"there is no file {path}; check the name and the folder.") from None
    except IsADirectoryError:
        raise InputError(f"{path} is a folder; give a file in it.") from None
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{path} is a damaged gzip file ({error}).") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    save = "save it as CSV with the encoding UTF-8"
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InputError(f"{path} is text in UTF-16, not UTF-8; {save}.")
    if b"\0" in data:
        raise InputError(f"{path} is a binary file and not a table in text; {save}.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        byte = data[error.start]
        raise InputError(
            f"{path}, line {line}: the byte 0x{byte:02x} is not UTF-8; {save}."
        ) from None


def write_triplets(triplets: Triplets, path: str | os.PathLike[str]) -> None:
    """Write a tidy table that `read_triplets` reads, all of it or nothing.

    Objects are written by name if they have names, and observer, screen and weight if they are
    known. A path ending in .tsv is separated by tabs, and one ending in .gz is compressed. A
    table does not hold the order of the names or objects that never occur: read it with
    ``names=triplets.names`` (or ``n_objects``) to get the same Triplets back.

    Parameters
    ----------
    triplets : Triplets
        The answers.
    path : path
        Where to; a file of that name is replaced.
    """
    target = Path(path)
    if target.is_dir():
        raise InputError(f"{target} is a folder; give the name of a file in it.")
    titles = list(COLUMNS[triplets.shape[1]])
    names = None if triplets.names is None else np.array(triplets.names, dtype=object)
    objects = triplets.array if names is None else names[triplets.array]
    columns = [column.tolist() for column in objects.T]
    for title, field in ("observer", "observers"), ("screen", "screens"), ("weight", "weights"):
        if (values := getattr(triplets, field)) is not None:
            titles.append(title)
            columns.append(values.tolist())

    # A neighbour in the same folder, so that the final rename cannot be half done.
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    opener: Any = gzip.open if target.suffix == ".gz" else open
    delimiter = "\t" if ".tsv" in target.suffixes[-2:] else ","
    try:
        with opener(temporary, "wt", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
            writer.writerow(titles)
            writer.writerows(zip(*columns, strict=True))
        os.replace(temporary, target)
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}.") from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
