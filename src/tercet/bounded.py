"""Reading that ends: a file, a pipe or a packed file, up to a size that is said beforehand."""

from __future__ import annotations

import gzip
import io
import os
import stat
import time
from pathlib import Path
from typing import BinaryIO

from tercet.errors import InputError

__all__ = [
    "MAX_BYTES",
    "check_size",
    "gunzip",
    "is_gzipped",
    "read_bytes",
    "read_start",
    "require_plain",
]

MAX_BYTES = 2**31  # of a file as it is read, unpacked if it was packed
WAIT = 10.0  # seconds for somebody to write into a named pipe
_PAUSE = 0.02
_PIECE = 2**20
_MOST_PACKED = 1032  # times that deflate can make zeros smaller


def read_bytes(path: str | os.PathLike[str], max_bytes: int = MAX_BYTES) -> bytes:
    """The bytes of a file or of a pipe; an `InputError` if there are more than allowed.

    A named pipe into which nobody writes is given up after a while. Devices are refused, since many
    never end; a terminal is read. What the system says otherwise is raised as it is.
    """
    mode = os.stat(path).st_mode
    if stat.S_ISREG(mode):
        check_size(path, os.path.getsize(path), max_bytes)
        return Path(path).read_bytes()
    if stat.S_ISFIFO(mode):
        return _read_pipe(path, max_bytes)
    if not stat.S_ISCHR(mode) and not stat.S_ISBLK(mode):
        return Path(path).read_bytes()  # a folder, a socket: the system says what it is
    with open(path, "rb") as file:
        if not file.isatty():
            raise InputError(f"{path} is a device, not a file; give a file or a pipe.")
        return _read_on(path, file, b"", max_bytes)


def require_plain(path: str | os.PathLike[str]) -> None:
    """Refuse what cannot be read again and again: a pipe or a device, which may never end."""
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise InputError(f"{path} is a pipe or a device; here a file on the disk is needed.")


def read_start(path: str | os.PathLike[str], size: int = 8) -> bytes:
    """The first bytes of a file on the disk, which will be read again."""
    require_plain(path)
    try:
        with open(path, "rb") as file:
            return file.read(size)
    except FileNotFoundError:
        raise InputError(f"there is no file {path}; check the name and the folder.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None


def check_size(
    path: str | os.PathLike[str], size: int, max_bytes: int, how: str = "has", cure: str = ""
) -> None:
    """Refuse a file of a size that is known beforehand; without a cure, the limit is raised."""
    if size > max_bytes:
        raise InputError(
            f"{path} {how} {_size(size)}, and the limit is {_size(max_bytes)}. "
            f"{cure or _raise(size)}"
        )


def is_gzipped(content: bytes) -> bool:
    """Whether the first bytes are those of gzip."""
    return content[:2] == b"\x1f\x8b"


def gunzip(
    path: str | os.PathLike[str], content: bytes, max_bytes: int = MAX_BYTES, cure: str = ""
) -> bytes:
    """Unpack gzip; where it could pass the limit, it is counted before any of it is kept."""
    if len(content) * _MOST_PACKED > max_bytes:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as packed:
            size = 0
            while piece := packed.read(_PIECE):
                size += len(piece)
                if size > max_bytes:
                    how = f"has {_size(len(content))} that unpack to more than"
                    raise _too_large(path, how, max_bytes, cure)
    return gzip.decompress(content)


def _read_pipe(path: str | os.PathLike[str], max_bytes: int) -> bytes:
    # Opened so that it does not wait for a writer, who may never come.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        end = time.monotonic() + (WAIT if _is_named(path) else 0.0)
        # None: somebody has it open but has not written yet; nothing: nobody has it open.
        while (start := file.read(_PIECE)) == b"" and time.monotonic() < end:
            time.sleep(_PAUSE)
        if start == b"" and _is_named(path):
            raise InputError(
                f"{path} is a pipe into which nobody wrote for {WAIT:.0f} seconds. Start the "
                "program that writes into it first, or give a file."
            )
        os.set_blocking(descriptor, True)
        return b"" if start == b"" else _read_on(path, file, start or b"", max_bytes)


def _is_named(path: str | os.PathLike[str]) -> bool:
    """Whether a pipe has a name of its own, so that somebody may still open it to write."""
    try:
        return stat.S_ISFIFO(os.lstat(os.path.realpath(path)).st_mode)
    except OSError:  # /dev/fd/63 is a pipe without a place in any folder
        return False


def _read_on(
    path: str | os.PathLike[str], file: BinaryIO | io.RawIOBase, start: bytes, max_bytes: int
) -> bytes:
    """Read to the end, or until there is more than allowed."""
    content = bytearray(start)
    while len(content) <= max_bytes and (piece := file.read(_PIECE)):
        content += piece
    if len(content) > max_bytes:
        raise _too_large(path, "gives more than", max_bytes)
    return bytes(content)


def _too_large(
    path: str | os.PathLike[str], how: str, max_bytes: int, cure: str = ""
) -> InputError:
    """The error about what was not read to its end, so that nobody knows how much it is."""
    return InputError(
        f"{path} {how} {_size(max_bytes)}, which is the limit. {cure or _raise(2 * max_bytes)}"
    )


def _raise(size: int) -> str:
    return f"If it is what you think it is, raise the limit: max_bytes={size}."


def _size(size: int) -> str:
    """A number of bytes as people say it."""
    for factor, unit in (2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"):
        if size >= factor:
            return f"{size / factor:.4g} {unit}"
    return f"{size} bytes"
