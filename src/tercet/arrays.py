"""Types of arrays, and reading .npy and .npz files, which are checked first."""

from __future__ import annotations

import math
import sys
import zipfile
from collections.abc import Callable
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Bools",
    "Floats",
    "Header",
    "Index",
    "UnreadableError",
    "read_header",
    "read_npy",
    "read_npz",
]

Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Index = NDArray[np.int64]

# Largest plausible compression ratio; a file that exceeds it may be a zip bomb.
_LARGEST_RATIO = 100
_HARMLESS = 2**30  # unpacked bytes up to which the ratio is not checked
_WAYS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # NumPy's compression methods
_KINDS = "biufU"  # numbers and text
_ENCRYPTED = 0x1  # bit of a member's flags


class UnreadableError(ValueError):
    """Describes what is wrong with a file of arrays."""


class Header(NamedTuple):
    """Header of an array."""

    shape: tuple[int, ...]
    by_columns: bool  # Fortran's order
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        """Bytes of its values."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_npy(file: IO[bytes], what: str = "the file") -> NDArray[Any]:
    """The array of an .npy file; ``what`` is its name in errors."""
    try:
        header = read_header(file)
        start = file.tell()
        size = file.seek(0, 2) - start
        file.seek(0)
    except Exception as error:
        raise _damaged(what, error) from None
    return _read_values(file, header, size, what)


def read_npz(
    file: IO[bytes], allow: Callable[[int], object] = lambda size: None
) -> dict[str, NDArray[Any]]:
    """The arrays of an .npz file by name; other members of the zip archive are ignored.

    ``allow`` is called first with the number of unpacked bytes, and raises an error if that is too
    many.
    """
    try:
        archive = zipfile.ZipFile(file)
        members = archive.infolist()
        packed = file.seek(0, 2)
    except Exception as error:  # zipfile and NumPy raise almost anything for a damaged file
        raise _damaged("the file", error) from None
    unpacked = sum(member.file_size for member in members)
    allow(unpacked)
    if unpacked > max(_HARMLESS, _LARGEST_RATIO * packed):
        raise UnreadableError(
            f"the file has {packed:,} bytes and would decompress to {unpacked:,}, more than "
            f"{_LARGEST_RATIO} times as many: it is damaged or malicious."
        )
    arrays: dict[str, NDArray[Any]] = {}
    with archive:
        for member in members:
            name = member.filename.removesuffix(".npy")
            if name == member.filename:
                continue
            if name in arrays:
                raise UnreadableError(f"the file has two arrays named {name!r}.")
            arrays[name] = _read_member(archive, member, repr(name))
    return arrays


def read_header(file: IO[bytes]) -> Header:
    """The header of an .npy file; its values follow."""
    version = np.lib.format.read_magic(file)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in read:  # the third is for named columns, which our arrays do not have
        raise ValueError(f"an array of format {version}")
    shape, by_columns, dtype = read[version](file)
    if any(isinstance(length, bool) or length < 0 for length in shape):
        raise ValueError(f"an array of shape {shape}")
    return Header(shape, by_columns, dtype)


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, what: str) -> NDArray[Any]:
    if member.flag_bits & _ENCRYPTED:
        raise UnreadableError(f"{what} is encrypted. Save it without a password.")
    if member.compress_type not in _WAYS:
        raise UnreadableError(f"{what} is not compressed by NumPy. Save it with np.savez.")
    try:
        with archive.open(member) as file:
            header = read_header(file)
            size = member.file_size - file.tell()
    except Exception as error:
        raise _damaged(what, error) from None
    try:
        with archive.open(member) as file:
            return _read_values(file, header, size, what)
    except UnreadableError:
        raise
    except Exception as error:  # of the member's end, such as its checksum
        raise _damaged(what, error) from None


def _read_values(file: IO[bytes], header: Header, size: int, what: str) -> NDArray[Any]:
    """The array that starts here, if the size of its values agrees with its header."""
    if header.dtype.hasobject:
        raise UnreadableError(
            f"{what} has Python objects, which are never loaded because they can run code. Save "
            "numbers, and names as text: np.array(names, dtype=str)."
        )
    if header.dtype.kind not in _KINDS or not header.dtype.itemsize:
        raise UnreadableError(
            f"{what} has values of type {header.dtype}; numbers or text are needed."
        )
    if header.size != size:
        raise UnreadableError(
            f"{what} is damaged and cannot be read: it has {size:,} bytes, but its shape "
            f"{header.shape} takes {header.size:,}. Was the file truncated? Save it again."
        )
    try:
        array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    except Exception as error:
        raise _damaged(what, error) from None
    if array.dtype.kind == "U" and not _is_text(array):
        raise UnreadableError(f"{what} is damaged: it contains invalid characters.")
    return array


def _is_text(array: NDArray[Any]) -> bool:
    """Whether an array of text has only valid characters, no lone surrogates."""
    codes = np.frombuffer(array.tobytes(), dtype=array.dtype.byteorder + "u4")
    return not ((codes > sys.maxunicode) | ((codes >= 0xD800) & (codes < 0xE000))).any()


def _damaged(what: str, error: Exception) -> UnreadableError:
    return UnreadableError(
        f"{what} is damaged and cannot be read ({type(error).__name__}). Was the file truncated? "
        "Save it again."
    )
