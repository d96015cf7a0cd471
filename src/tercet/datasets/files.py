"""Reading files of the sets: plain or gzipped, checked, never a pickle."""

from __future__ import annotations

import csv
import json
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tercet.bounded import MAX_BYTES, check_size, gunzip, require_plain
from tercet.errors import InputError
from tercet.text import listed

__all__ = [
    "Ints",
    "canonical_lines",
    "canonical_rows",
    "read_json",
    "read_lines",
    "read_rows",
    "read_table",
    "read_tar",
    "read_unpacked",
    "reading",
]

Ints = NDArray[np.int64]

_CURE = "Replace it by the published one."

_DAMAGED = (
    *(AttributeError, EOFError, IndexError, KeyError, OSError, RecursionError, TypeError),
    *(ValueError, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile, zlib.error),
)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn whatever goes wrong inside into an error that names the file."""
    try:
        yield
    except InputError:
        raise
    except _DAMAGED as error:
        what = f"no {error}" if isinstance(error, KeyError) else error
        raise InputError(
            f"{path} cannot be read ({what}). It may be damaged or another file of that name; "
            "replace it by the published one."
        ) from error


def read_unpacked(path: Path) -> bytes:
    """Return what is in a file, unpacked if its name ends in .gz."""
    require_plain(path)
    with reading(path):
        content = path.read_bytes()
        return gunzip(path, content, cure=_CURE) if path.suffix == ".gz" else content


def read_json(path: Path) -> Any:
    """Return what a JSON file says."""
    with reading(path):
        return json.loads(read_unpacked(path))


def read_rows(path: Path) -> Ints:
    """Return the whole numbers of a file without header, separated by blanks, (m, k)."""
    lines = read_lines(path)
    with reading(path):
        if not lines:
            raise ValueError("it is empty")
        return np.loadtxt(lines, dtype=np.int64, ndmin=2)


def read_lines(path: Path) -> list[str]:
    """Return the lines of a text that are not blank."""
    with reading(path):
        return [line.strip() for line in read_unpacked(path).decode().splitlines() if line.strip()]


def canonical_rows(path: Path) -> bytes:
    """Write rows of whole numbers one way, for a checksum of the content."""
    return read_rows(path).astype("<i8").tobytes()


def canonical_lines(path: Path) -> bytes:
    """Write lines one way, for a checksum of the content."""
    return "\n".join(read_lines(path)).encode()


def read_table(path: Path, *columns: str) -> list[NDArray[np.str_]]:
    """Return columns (m,) of a CSV file with a header, as text."""
    with reading(path):
        header, *rows = csv.reader(read_unpacked(path).decode("utf-8-sig").splitlines())
        for name in columns:
            if name not in header:
                raise InputError(f"{path} has no column {name!r}; it has {listed(header)}.")
        for number, row in enumerate(rows, start=2):
            if len(row) != len(header):
                raise InputError(
                    f"{path}, row {number}: {len(row)} cells where the header has {len(header)}."
                )
        table = np.array(rows, dtype=np.str_).reshape(-1, len(header))
        return [table[:, header.index(name)] for name in columns]


def read_tar(path: Path) -> dict[str, bytes]:
    """Return the files of an archive by their name; nothing is unpacked onto the disk."""
    require_plain(path)
    size, found = 0, {}
    with reading(path), tarfile.open(path) as archive:
        for member in archive:
            size += member.size
            check_size(path, size, MAX_BYTES, "unpacks to at least", _CURE)
            if member.isfile() and (file := archive.extractfile(member)):
                found[Path(member.name).name] = file.read()
    return found
