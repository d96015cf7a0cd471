"""Finding, downloading and reading the files of data sets.

Files come from the folder named by the environment variable TERCET_DATA, else from the cache, else
from where they were published. Downloads are stored in the user's cache (or the folder named by
TERCET_CACHE) after their checksum was verified. Both have the same layout, one folder for each data
set. Files are plain or gzipped, checked, and never a pickle.
"""

from __future__ import annotations

import csv
import hashlib
import json
import lzma
import os
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.arrays import Index
from tercet.datasets.catalogue import Entry
from tercet.errors import InputError, TercetError
from tercet.files import MAX_BYTES, check_size, gunzip, require_plain
from tercet.text import listed

__all__ = [
    "canonical_lines",
    "canonical_rows",
    "download",
    "find_folder",
    "locate",
    "published",
    "read_json",
    "read_lines",
    "read_rows",
    "read_sources",
    "read_table",
    "read_tar",
    "read_unpacked",
    "reading",
    "require_files",
]


_CURE = "Replace it by the published one."
_DAMAGED = (
    *(AttributeError, EOFError, IndexError, KeyError, OSError, RecursionError, TypeError),
    *(ValueError, lzma.LZMAError, tarfile.TarError, zipfile.BadZipFile, zlib.error),
)
_TIMEOUT = 60  # seconds without a byte
_LONG = 200  # characters, above which a library's message about a lost connection is no help

Canonical = Callable[[Path], bytes]


class PublishedFile(NamedTuple):
    """A published file: its name in the cache, its checksum, and its address."""

    name: str
    check: str  # "sha256" of the file, or of its "content"
    digest: str
    url: str


@cache
def read_sources() -> dict[str, PublishedFile]:
    """Return the published files by their name in the cache: the table ``sources.txt``."""
    text = files("tercet.datasets").joinpath("sources.txt").read_text("utf-8")
    sources = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, checked, url = line.split()
            check, digest = checked.split(":")
            sources[name] = PublishedFile(name, check, digest, url)
    return sources


def published(folder: str) -> list[str]:
    """Return the names in the cache of all published files of a folder."""
    return [name for name in read_sources() if name.startswith(f"{folder}/")]


def find_folder(entry: Entry, folder: str = "") -> Path | None:
    """Return the folder of a data set inside TERCET_DATA, or None."""
    root = os.environ.get("TERCET_DATA")
    if not root:
        return None
    if not Path(root).is_dir():
        raise InputError(
            f"TERCET_DATA is {root!r}, which is not a folder. Set it to the folder that contains "
            f"{entry.folder} and the others, or unset it to download the data."
        )
    found = Path(root) / (folder or entry.folder)
    return found if found.is_dir() else None


def require_files(folder: Path, *names: str) -> list[Path]:
    """Return files that must be in a folder of TERCET_DATA, each plain or gzipped."""
    paths = []
    for name in names:
        found = next((p for p in (folder / name, folder / f"{name}.gz") if p.is_file()), None)
        if found is None:
            raise InputError(
                f"{folder} has no file {name} or {name}.gz. Add it, or remove the folder (or unset "
                "TERCET_DATA) to download the data set if possible."
            )
        paths.append(found)
    return paths


def locate(entry: Entry, *names: str) -> list[Path]:
    """Return files that have the same names in TERCET_DATA and in the cache."""
    folder = find_folder(entry)
    if folder is not None:
        return require_files(folder, *names)
    return download(entry, *(f"{entry.folder}/{name}" for name in names))


def download(entry: Entry, *names: str, canonical: Canonical | None = None) -> list[Path]:
    """Return published files from the cache, or download and verify them.

    Parameters
    ----------
    entry : Entry
        Their data set.
    *names : str
        Their names in the cache, as in ``sources.txt``.
    canonical : callable, optional
        The content of a file in canonical form, for files of which only this is known.
    """
    if entry.no_download:
        raise TercetError(f"{entry.title}: {entry.no_download} {_offline(entry)}")
    try:
        import pooch
    except ImportError:
        raise TercetError(
            f"{entry.title}: downloading needs the package pooch; install it with "
            f"pip install 'tercet[datasets]'. {_offline(entry)}"
        ) from None
    folder = Path(os.environ.get("TERCET_CACHE") or pooch.os_cache("tercet"))
    return [_fetch(pooch, entry, read_sources()[name], folder, canonical) for name in names]


def _fetch(
    pooch: Any, entry: Entry, source: PublishedFile, folder: Path, canonical: Canonical | None
) -> Path:
    """Return one file of the cache; files with a wrong checksum are not kept."""
    path = folder / source.name
    try:
        pooch.retrieve(
            source.url,
            known_hash=f"sha256:{source.digest}" if source.check == "sha256" else None,
            fname=path.name,
            path=path.parent,
            downloader=pooch.HTTPDownloader(timeout=_TIMEOUT),
        )
    except ValueError as error:  # pooch: another checksum
        raise TercetError(_refusal(entry, source)) from error
    except OSError as error:  # requests: no connection, no such file, broken off; or a full disk
        reason = str(error) if len(str(error)) < _LONG else "no connection"
        raise TercetError(
            f"{entry.title}: {source.url} could not be downloaded ({type(error).__name__}: "
            f"{reason}). Try again later. {_offline(entry)}"
        ) from error
    if source.check == "content" and not (canonical and _has_content(path, source, canonical)):
        path.unlink()
        raise TercetError(_refusal(entry, source))
    return path


def _has_content(path: Path, source: PublishedFile, canonical: Canonical) -> bool:
    try:
        return hashlib.sha256(canonical(path)).hexdigest() == source.digest
    except ValueError:
        return False


def _refusal(entry: Entry, source: PublishedFile) -> str:
    return (
        f"{entry.title}: the {source.check} of the file from {source.url} differs from that of the "
        "published file, so it was not kept. The transfer failed or the file has changed; try "
        f"again, or see {entry.home}. {_offline(entry)}"
    )


def _offline(entry: Entry) -> str:
    return (
        "Without a download: set the environment variable TERCET_DATA to a folder that contains "
        f"{entry.folder}/ with {entry.files}. Published at {entry.home}"
    )


# --- reading ----------------------------------------------------------------------------------


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn errors inside into an `InputError` that names the file."""
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
    """Return the content of a file, decompressed if its name ends in .gz."""
    require_plain(path)
    with reading(path):
        content = path.read_bytes()
        return gunzip(path, content, cure=_CURE) if path.suffix == ".gz" else content


def read_json(path: Path) -> Any:
    """Return the value of a JSON file."""
    with reading(path):
        return json.loads(read_unpacked(path))


def read_rows(path: Path) -> Index:
    """Return the integers of a file without header, separated by spaces, (m, k)."""
    lines = read_lines(path)
    with reading(path):
        if not lines:
            raise ValueError("it is empty")
        return np.loadtxt(lines, dtype=np.int64, ndmin=2)


def read_lines(path: Path) -> list[str]:
    """Return the nonempty lines of a text."""
    with reading(path):
        return [line.strip() for line in read_unpacked(path).decode().splitlines() if line.strip()]


def canonical_rows(path: Path) -> bytes:
    """Return rows of integers in canonical form, for a checksum of the content."""
    return read_rows(path).astype("<i8").tobytes()


def canonical_lines(path: Path) -> bytes:
    """Return lines in canonical form, for a checksum of the content."""
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
                    f"{path}, row {number}: {len(row)} cells, but the header has {len(header)}."
                )
        table = np.array(rows, dtype=np.str_).reshape(-1, len(header))
        return [table[:, header.index(name)] for name in columns]


def read_tar(path: Path) -> dict[str, bytes]:
    """Return the files of an archive by name; nothing is written to the disk."""
    require_plain(path)
    size, found = 0, {}
    with reading(path), tarfile.open(path) as archive:
        for member in archive:
            size += member.size
            check_size(path, size, MAX_BYTES, "decompresses to at least", _CURE)
            if member.isfile() and (file := archive.extractfile(member)):
                found[Path(member.name).name] = file.read()
    return found
