"""Arrays from .npy and .npz files; nothing in them is executed."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tercet.bounded import check_size
from tercet.errors import InputError
from tercet.io.source import Source

__all__ = ["array_names", "pack", "unpack"]


def array_names(source: Source) -> frozenset[str]:
    """The names of the arrays in an .npz file, in lower case; none if it is something else."""
    if source.kind != "npz":
        return frozenset()
    try:
        with np.load(io.BytesIO(source.content), allow_pickle=False) as archive:
            return frozenset(name.lower() for name in archive.files)
    except Exception:  # whatever NumPy says of a damaged file
        return frozenset()


def unpack(source: Source) -> dict[str, NDArray[Any]]:
    """The arrays of an .npz file by name, in lower case; that of an .npy file is called array."""
    try:
        if source.kind == "npz":
            with zipfile.ZipFile(io.BytesIO(source.content)) as packed:
                size = sum(member.file_size for member in packed.infolist())
            check_size(source.path, size, source.max_bytes, "unpacks to")
        loaded = np.load(io.BytesIO(source.content), allow_pickle=False)
    except InputError:
        raise
    except Exception as error:  # NumPy raises many kinds for damaged files
        raise _refusal(source, "the file", error) from None
    if isinstance(loaded, np.ndarray):
        return {"array": _plain(source, "the array", loaded)}
    arrays: dict[str, NDArray[Any]] = {}
    with loaded:
        for name in loaded.files:
            try:
                array = loaded[name]
            except Exception as error:
                raise _refusal(source, repr(name), error) from None
            if isinstance(array, np.ndarray):  # other members of a zip archive are bytes
                arrays[name.lower()] = _plain(source, repr(name), array)
    if not arrays:
        raise InputError(
            f"{source.path} is a zip archive without arrays. If it is a workbook or a packed "
            "table, save the table as CSV."
        )
    return arrays


def _plain(source: Source, what: str, array: NDArray[Any]) -> NDArray[Any]:
    """The array, if it has numbers or text."""
    if array.dtype.kind not in "biufU" or not array.dtype.itemsize:
        raise InputError(
            f"{source.path}: {what} has values of type {array.dtype}; numbers or text are needed."
        )
    return array


def _refusal(source: Source, what: str, error: Exception) -> InputError:
    if "allow_pickle" in str(error):
        return InputError(
            f"{source.path}: {what} has Python objects, which are never loaded because they can "
            "run code. Save numbers, and names as text: np.array(names, dtype=str)."
        )
    return InputError(
        f"{source.path}: {what} is damaged and cannot be read ({type(error).__name__}). "
        "Was the file cut off? Save it again."
    )


def pack(arrays: dict[str, Any]) -> bytes:
    """The content of an .npz file."""
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    return content.getvalue()
