"""A file of unknown format, opened once."""

from __future__ import annotations

import copy
import gzip
import io
import json
import os
import zlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tercet.errors import InputError
from tercet.files import MAX_BYTES, gunzip, is_gzipped, read_bytes
from tercet.io.cells import Cells, first_row, read_cells, read_words
from tercet.io.columns import reject_repeated_header

__all__ = ["InputFile", "decode_json"]

_CURE = "save it as CSV with the encoding UTF-8"


class InputFile:
    """A file to read; what is derived from it is computed once.

    Parameters
    ----------
    path : path
    delimiter : str, optional
        The character between cells; by default a comma, a semicolon or a tab, as detected.
    max_bytes : int
        The largest size of the file, after decompression.

    Attributes
    ----------
    invalid : set of str
        Invalid rows to skip, by their places such as "line 12".
    named : frozenset of str
        Names of objects given by the caller: not missing, even if one is "NA".
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        delimiter: str | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        if delimiter is not None and (len(delimiter) != 1 or delimiter in '\r\n"'):
            raise InputError(f"delimiter must be a single character, got {delimiter!r}.")
        if not isinstance(max_bytes, int) or isinstance(max_bytes, bool) or max_bytes < 1:
            raise InputError(f"max_bytes must be a positive whole number, got {max_bytes!r}.")
        self.path = os.fspath(path)
        self.delimiter = delimiter
        self.max_bytes = max_bytes
        self.invalid: set[str] = set()
        self.named: frozenset[str] = frozenset()
        self._also: frozenset[str] = frozenset()

    def with_titles(self, also: Iterable[str]) -> InputFile:
        """The same file with other titles; it is not opened again."""
        other = copy.copy(self)
        other._also = frozenset(word.lower() for word in also)
        return other

    @cached_property
    def content(self) -> bytes:
        """The bytes of the file, decompressed if they were gzipped."""
        path = self.path
        try:
            data = read_bytes(path, self.max_bytes)
            return gunzip(path, data, self.max_bytes) if is_gzipped(data) else data
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
        """The kind by the first bytes: "npy", "npz", "parquet", "json" or "text"."""
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
            raise InputError(f"{path} is a binary file, not a text table; {_CURE}.")
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
        return replace(read_cells(self.path, self.text, self.delimiter), named=self.named)

    @property
    def headerless(self) -> Cells:
        """The text as a table without a header; the titles are the numbers of the columns."""
        if self.words is not None:
            return self.keep_valid(replace(read_words(self.path, self.text), named=self.named))
        titles = [str(i + 1) for i in range(len(self.cells.header))]
        return self.keep_valid(self.cells.headless(titles))

    def keep_valid(self, table: Cells) -> Cells:
        """The table without invalid rows that are to be skipped."""
        kept = self.are_valid(table.line, len(table))
        return table if kept.all() else table.take(kept)

    def are_valid(self, line: Callable[[int], str], rows: int) -> NDArray[np.bool_]:
        """Which rows (rows,) are not to be skipped."""
        if not self.invalid:
            return np.ones(rows, dtype=bool)
        kept = np.array([line(row) not in self.invalid for row in range(rows)])
        if not kept.any():
            raise InputError(
                f"{self.path}: none of {rows} rows is a valid answer. Is this the right file, and "
                "are these the right columns?"
            )
        return kept

    @cached_property
    def words(self) -> list[str] | None:
        """The words of the first line that is not a comment; None if another delimiter is used."""
        lines = io.StringIO(self.text, newline=None)
        line = next((line for line in lines if line.partition("#")[0].strip()), "")
        marked = self.delimiter is not None or any(mark in line for mark in ",;\t")
        return None if marked else line.partition("#")[0].split()

    @property
    def table(self) -> Cells:
        """The text as a table with a header and at least one row."""
        if not len(self.cells):
            raise InputError(
                f"{self.path} has a header but no answers; at least one answer is needed."
            )
        reject_repeated_header(self.cells)
        return self.keep_valid(self.cells)

    @property
    def titles(self) -> frozenset[str]:
        """The cells of the first row and those added, in lower case; none if not text."""
        return self._first_row.union(self._also) if self.kind == "text" else frozenset()

    @cached_property
    def _first_row(self) -> frozenset[str]:
        first = first_row(self.path, self.text, self.delimiter)
        return frozenset(cell.lower() for cell in first)

    def add_names(self, names: Iterable[str]) -> None:
        """Treat these cells as objects, even if one looks like a missing value."""
        self.named = self.named.union(names)
        self.__dict__.pop("cells", None)

    def add_titles(self, words: Iterable[str]) -> None:
        """Add our words for columns that the caller maps to the titles of the file."""
        self._also = self._also.union(word.lower() for word in words)

    @cached_property
    def json(self) -> Any:
        """The file as JSON."""
        return decode_json(self.path, self.text)


def decode_json(path: str, text: str) -> Any:
    """Read JSON; errors name the line."""
    try:
        value = json.loads(text, object_pairs_hook=_without_repeats)
        if "\\ud" in text.lower():  # half a surrogate pair cannot be encoded
            json.dumps(value, ensure_ascii=False).encode()
    except _RepeatedKeyError as error:
        raise InputError(
            f"{path}: the key {error.args[0]!r:.80} occurs twice in one JSON object, with "
            "different values. Rename or remove one."
        ) from None
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path}, line {error.lineno}: invalid JSON ({error.msg}, column {error.colno}). "
            "Was the file truncated, or edited by hand?"
        ) from None
    except RecursionError:
        raise InputError(f"{path}: the JSON is nested too deeply.") from None
    except UnicodeEncodeError as error:
        raise InputError(
            f"{path}: the JSON contains {error.object[error.start]!r}, which is half a character."
        ) from None
    except ValueError:  # Python reads no more than 4300 digits
        raise InputError(f"{path}: the JSON contains a number with too many digits.") from None
    return value


class _RepeatedKeyError(ValueError):
    """A key that occurs twice in a JSON object."""


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object; raises if a key has several values."""
    entries = dict(pairs)
    if len(entries) < len(pairs):
        for key, value in pairs:
            if json.dumps(value) != json.dumps(entries[key]):
                raise _RepeatedKeyError(key)
    return entries
