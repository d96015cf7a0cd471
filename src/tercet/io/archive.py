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
from tercet.npz import UnreadableError, read_npy, read_npz

__all__ = ["array_names", "pack", "unpack"]


def array_names(source: Source) -> frozenset[str]:
    """The names of the arrays in an .npz file, in lower case; none if it is something else."""
    if source.kind != "npz":
        return frozenset()
    try:
        with zipfile.ZipFile(io.BytesIO(source.content)) as archive:
            return frozenset(name.removesuffix(".npy").lower() for name in archive.namelist())
    except Exception:  # whatever zipfile says of a damaged file
        return frozenset()


def unpack(source: Source) -> dict[str, NDArray[Any]]:
    """The arrays of an .npz file by name, in lower case; that of an .npy file is called array."""
    file = io.BytesIO(source.content)
    try:
        if source.kind == "npy":
            return {"array": read_npy(file)}
        found = read_npz(
            file, lambda size: check_size(source.path, size, source.max_bytes, "unpacks to")
        )
    except UnreadableError as error:
        raise InputError(f"{source.path}: {error}") from None
    arrays: dict[str, NDArray[Any]] = {}
    for name, array in found.items():
        if name.lower() in arrays:
            raise InputError(
                f"{source.path} has the array {name.lower()!r} twice; keep one of them."
            )
        arrays[name.lower()] = array
    if not arrays:
        raise InputError(
            f"{source.path} is a zip archive without arrays. If it is a workbook or a packed "
            "table, save the table as CSV."
        )
    return arrays


def pack(arrays: dict[str, Any]) -> bytes:
    """The content of an .npz file."""
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    return content.getvalue()
