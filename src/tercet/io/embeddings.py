"""An embedding in a file: .npy, .npz, or a table of numbers with or without names and titles.

Nothing in such a file is executed.
"""

from __future__ import annotations

import csv
import io
import math
import os
from typing import NamedTuple

import numpy as np

from tercet.arrays import Floats
from tercet.errors import InputError
from tercet.files import MAX_BYTES
from tercet.io.inputfile import InputFile
from tercet.io.integers import unpack_arrays
from tercet.text import counted, listed

__all__ = ["NamedRows", "read_embedding"]

# Titles of a column of names, whose cells may be numbers.
_TITLES = frozenset({"name", "names", "object", "objects", "label", "labels", "id", "index"})


class NamedRows(NamedTuple):
    """The rows of an embedding."""

    points: Floats  # (n, d)
    names: tuple[str, ...] | None


def read_embedding(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> NamedRows:
    """Read an embedding, a row for each object.

    Parameters
    ----------
    path : path
        An .npy file, an .npz file with one table of numbers and perhaps one list of names, or text:
        CSV, TSV or numbers separated by spaces, perhaps with names in the first column and titles
        in the first line. Text may be gzipped.
    max_bytes : int
        The largest size of the file, after decompression.
    """
    file = InputFile(path, max_bytes=max_bytes)
    if file.kind in ("npy", "npz"):
        return _from_arrays(file)
    if file.kind != "text":
        raise InputError(
            f"{file.path} is not an embedding: an .npy or .npz file, or a table of numbers with a "
            "row for each object, is needed."
        )
    return _from_text(file)


def _from_arrays(file: InputFile) -> NamedRows:
    arrays = unpack_arrays(file)
    tables = {k: v for k, v in arrays.items() if v.ndim == 2 and v.dtype.kind in "iuf"}
    lists = [v for v in arrays.values() if v.ndim == 1 and v.dtype.kind == "U"]
    if len(tables) != 1 or len(lists) > 1:
        found = listed([f"{k} {v.shape}" for k, v in arrays.items()], show=str)
        raise InputError(
            f"{file.path} must contain one table of numbers, with a row for each object, and at "
            f"most one list of names; found: {found}."
        )
    (points,) = tables.values()
    names = tuple(lists[0].tolist()) if lists else None
    if names is not None and len(names) != len(points):
        raise InputError(f"{file.path} has {len(names)} names for {counted(len(points), 'row')}.")
    return NamedRows(points.astype(np.float64), names)


def _from_text(file: InputFile) -> NamedRows:
    lines = [(k, row) for k, row in enumerate(_rows(file), 1) if any(cell for cell in row)]
    titles = None
    if lines and not all(map(_is_number, lines[0][1][1:] or lines[0][1])):
        titles = lines.pop(0)[1]
    if not lines:
        raise InputError(f"{file.path} has no rows; a row of numbers for each object is needed.")
    named = (titles is not None and titles[0].strip().lower() in _TITLES) or not all(
        _is_number(row[0]) for _, row in lines
    )
    width = len(lines[0][1])
    points = np.empty((len(lines), width - named))
    if not points.shape[1]:
        raise InputError(f"{file.path} has names but no numbers; each row needs coordinates.")
    for place, (line, row) in enumerate(lines):
        if len(row) != width:
            raise InputError(
                f"{file.path}, line {line} has {counted(len(row), 'cell')}, and the first row "
                f"has {width}; every row needs as many."
            )
        for column, cell in enumerate(row[named:]):
            if not _is_number(cell):
                raise InputError(
                    f"{file.path}, line {line}: {cell!r:.80} is not a number; every object needs "
                    "finite numbers."
                )
            points[place, column] = float(cell)
    return NamedRows(points, tuple(row[0].strip() for _, row in lines) if named else None)


def _rows(file: InputFile) -> list[list[str]]:
    """The cells of every line; those of comments and empty lines are empty."""
    if file.words is not None:  # separated by spaces
        lines = io.StringIO(file.text, newline=None)
        return [line.partition("#")[0].split() for line in lines]
    first = file.text[:4096].partition("\n")[0]
    mark = "\t" if "\t" in first else (";" if ";" in first else ",")
    try:
        return list(csv.reader(io.StringIO(file.text, newline=""), delimiter=mark, strict=True))
    except csv.Error as error:
        raise InputError(f"{file.path} is not a valid table: {error}.") from None


def _is_number(cell: str) -> bool:
    """Whether it is a finite number."""
    try:
        return math.isfinite(float(cell))
    except ValueError:
        return False
