"""A file of unknown kind: opened once, looked at from all sides."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from functools import cached_property
from pathlib import Path
from typing import Any

from tercet.errors import InputError
from tercet.io.cells import Cells, first_row, read_cells

__all__ = ["Source"]

_CURE = "save it as CSV with the encoding UTF-8"


class Source:
    """A file to be read; whatever is asked for is worked out once.

    Parameters
    ----------
    path : path
    delimiter : str, optional
        The character between cells; by default a comma, a semicolon or a tab, as the file has.
    """

    def __init__(self, path: str | os.PathLike[str], delimiter: str | None = None) -> None:
        if delimiter is not None and (len(delimiter) != 1 or delimiter in '\r\n"'):
            raise InputError(f"delimiter must be a single character, got {delimiter!r}.")
        self.path = os.fspath(path)
        self.delimiter = delimiter

    @cached_property
    def content(self) -> bytes:
        """The bytes of the file, decompressed if they were gzipped."""
        path = self.path
        try:
            data = Path(path).read_bytes()
            return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        except FileNotFoundError:
            raise InputError(f"there is no file {path}; check the name and the folder.") from None
        except IsADirectoryError:
            raise InputError(f"{path} is a folder; give a file in it.") from None
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise InputError(f"{path} is a damaged gzip file ({error}).") from None
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}.") from None

    @cached_property
    def kind(self) -> str:
        """What the first bytes say: "npy", "npz", "parquet", "json" or "text"."""
        start = self.content[:8]
        if start.startswith(b"\x93NUMPY"):
            return "npy"
        if start.startswith(b"PK\x03\x04"):
            return "npz"
        if start.startswith(b"PAR1"):
            return "parquet"
        head = self.content[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
        return "json" if head[:1] in (b"[", b"{") else "text"

    @cached_property
    def text(self) -> str:
        """The file as UTF-8 text."""
        path, data = self.path, self.content
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise InputError(f"{path} is text in UTF-16, not UTF-8; {_CURE}.")
        if b"\0" in data:
            raise InputError(f"{path} is a binary file and not a table in text; {_CURE}.")
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            byte = data[error.start]
            raise InputError(
                f"{path}, line {line}: the byte 0x{byte:02x} is not UTF-8; {_CURE}."
            ) from None

    @cached_property
    def cells(self) -> Cells:
        """The text as a table with a header."""
        return read_cells(self.path, self.text, self.delimiter)

    @property
    def table(self) -> Cells:
        """The same, with at least one row."""
        if not len(self.cells):
            raise InputError(
                f"{self.path} has a header but no answers; at least one answer is needed."
            )
        return self.cells

    @cached_property
    def titles(self) -> frozenset[str]:
        """The cells of the first row in lower case; none if this is no text."""
        if self.kind != "text":
            return frozenset()
        return frozenset(cell.lower() for cell in first_row(self.path, self.text, self.delimiter))

    @cached_property
    def json(self) -> Any:
        """The file as JSON."""
        try:
            return json.loads(self.text)
        except json.JSONDecodeError as error:
            raise InputError(
                f"{self.path}, line {error.lineno}: this is not JSON ({error.msg}, column "
                f"{error.colno}). Was the file cut off, or edited by hand?"
            ) from None
        except RecursionError:
            raise InputError(f"{self.path}: this JSON is nested too deeply.") from None
