"""The types of arrays, and arrays from .npy and .npz files, looked at before they are believed."""

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

# What numbers and names can be packed to: a file that unpacks to more is made to fill memory.
_LARGEST_RATIO = 100
_HARMLESS = 2**30  # bytes unpacked, for which nobody asks
_WAYS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # in which NumPy packs
_KINDS = "biufU"  # numbers and text
_ENCRYPTED = 0x1  # of a member's flags


class UnreadableError(ValueError):
    """What is wrong with a file of arrays, in words that follow its name."""


class Header(NamedTuple):
    """What an array says of itself."""

    shape: tuple[int, ...]
    by_columns: bool  # Fortran's order
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        """Bytes of its values."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_npy(file: IO[bytes], what: str = "the file") -> NDArray[Any]:
    """The array of an .npy file; ``what`` it is called in an error."""
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
    """The arrays of an .npz file by name; other members of the zip archive are left alone.

    ``allow`` is told beforehand how many bytes it unpacks to, and raises an error if that is more
    than the caller wants.
    """
    try:
        archive = zipfile.ZipFile(file)
        members = archive.infolist()
        packed = file.seek(0, 2)
    except Exception as error:  # zipfile and NumPy raise almost any kind for a damaged file
        raise _damaged("the file", error) from None
    unpacked = sum(member.file_size for member in members)
    allow(unpacked)
    if unpacked > max(_HARMLESS, _LARGEST_RATIO * packed):
        raise UnreadableError(
            f"the file has {packed:,} bytes and would unpack to {unpacked:,}, more than "
            f"{_LARGEST_RATIO} times as many: it is damaged, or made to fill the memory."
        )
    arrays: dict[str, NDArray[Any]] = {}
    with archive:
        for member in members:
            name = member.filename.removesuffix(".npy")
            if name == member.filename:
                continue
            if name in arrays:
                raise UnreadableError(f"the file has two arrays of the name {name!r}.")
            arrays[name] = _read_member(archive, member, repr(name))
    return arrays


def read_header(file: IO[bytes]) -> Header:
    """What an .npy file says of itself; its values come next."""
    version = np.lib.format.read_magic(file)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in read:  # the third is for titles of columns, which our arrays do not have
        raise ValueError(f"an array of the format {version}")
    shape, by_columns, dtype = read[version](file)
    if any(isinstance(length, bool) or length < 0 for length in shape):
        raise ValueError(f"an array of the shape {shape}")
    return Header(shape, by_columns, dtype)


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, what: str) -> NDArray[Any]:
    if member.flag_bits & _ENCRYPTED:
        raise UnreadableError(f"{what} is encrypted. Save it without a password.")
    if member.compress_type not in _WAYS:
        raise UnreadableError(
            f"{what} is packed in a way that is not NumPy's. Save it with np.savez."
        )
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
    """The array that begins here, if its values are as many bytes as there are."""
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
            f"{what} is damaged and cannot be read: it has {size:,} bytes where its shape "
            f"{header.shape} takes {header.size:,}. Was the file cut off? Save it again."
        )
    try:
        array: NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    except Exception as error:
        raise _damaged(what, error) from None
    if array.dtype.kind == "U" and not _is_text(array):
        raise UnreadableError(f"{what} has letters that do not exist: it is damaged.")
    return array


def _is_text(array: NDArray[Any]) -> bool:
    """Whether all letters of an array of text exist; half of a pair does not."""
    codes = np.frombuffer(array.tobytes(), dtype=array.dtype.byteorder + "u4")
    return not ((codes > sys.maxunicode) | ((codes >= 0xD800) & (codes < 0xE000))).any()


def _damaged(what: str, error: Exception) -> UnreadableError:
    return UnreadableError(
        f"{what} is damaged and cannot be read ({type(error).__name__}). Was the file cut off? "
        "Save it again."
    )
