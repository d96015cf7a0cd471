"""Files: read within bounds and never executed, written whole or not at all."""

from __future__ import annotations

import errno
import gzip
import io
import os
import secrets
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO

from tercet.errors import InputError
from tercet.text import harmless

__all__ = [
    "MAX_BYTES",
    "check_place",
    "check_size",
    "gunzip",
    "identity",
    "is_gzipped",
    "is_stream",
    "read_bytes",
    "read_start",
    "require_plain",
    "whole_file",
    "write_whole",
]

PathLike = str | os.PathLike[str]

_LINKS = 40  # in a chain; as many as Linux follows
_CREATE = (
    os.O_WRONLY
    | os.O_CREAT
    | os.O_EXCL
    | getattr(os, "O_NOFOLLOW", 0)  # these two are not everywhere
    | getattr(os, "O_BINARY", 0)
)


def write_whole(path: PathLike, content: bytes) -> None:
    """Write a file as `whole_file` does."""
    with whole_file(path) as file:
        file.write(content)


@contextmanager
def whole_file(path: PathLike) -> Iterator[IO[bytes]]:
    """A file to write to, which is there under its name once all of it is on the disk.

    Until then it has a name of its own, which nobody can guess, in the same folder. A link stays a
    link: the file that it leads to is replaced, and keeps its permissions. Into pipes and devices
    such as /dev/stdout is written as it comes; what goes to a terminal is made harmless to it.

    Raises
    ------
    OSError
        As `check_place` does, or where writing fails. What was there before is still there.
    """
    found = check_place(path)
    if is_stream(path):
        with _open_stream(path) as stream:
            if not stream.isatty():
                yield stream
                return
            shown = io.BytesIO()
            yield shown
            text = shown.getvalue().decode("utf-8", "backslashreplace")
            stream.write(harmless(text, keep="\n\t").encode("utf-8", "backslashreplace"))
        return
    target = os.path.realpath(path)
    part = os.path.join(os.path.dirname(target), f".tercet-{secrets.token_hex(8)}.part")
    try:
        with _create(part, found) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # else a crash may leave the new name with nothing in it
        os.replace(part, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(part)
        raise


def check_place(path: PathLike) -> os.stat_result | None:
    """Raise OSError, in plain words, unless a file can be written there.

    Returns
    -------
    os.stat_result, optional
        Of what is there already.
    """
    found = _look(path)
    if is_stream(path):
        return found
    folder = os.path.dirname(os.path.realpath(path))
    if found is None and not os.path.isdir(folder):
        raise _error(errno.ENOENT, f"there is no folder {os.path.dirname(path)}", path)
    if found is not None and stat.S_ISDIR(found.st_mode):
        raise _error(errno.EISDIR, "it is a folder; give the name of a file in it", path)
    if found is not None and not os.access(path, os.W_OK):
        raise _error(errno.EACCES, "it is write-protected", path)
    if not os.access(folder, os.W_OK):
        raise _error(errno.EACCES, f"the folder {folder} is write-protected", path)
    return found


def is_stream(path: PathLike) -> bool:
    """Whether it is a pipe, a device, or what a process has open: nothing to be replaced."""
    if _descriptor(path) is not None:
        return True
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def identity(path: PathLike) -> object:
    """What two names of one file share, through links too; None for what is no file, as a pipe."""
    if is_stream(path):
        return None
    try:
        found = os.stat(path)
    except OSError:
        return os.path.realpath(path)
    return found.st_dev, found.st_ino


# --- inside -----------------------------------------------------------------------------------


def _look(path: PathLike) -> os.stat_result | None:
    """What is there, through links; None for a new name."""
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        if os.path.islink(path):
            told = f"it is a link to {os.readlink(path)}, and there is no such file"
            raise _error(errno.ENOENT, told, path) from None
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _error(errno.ELOOP, "it is a link that leads in a circle", path) from None
        raise


def _error(number: int, told: str, path: PathLike) -> OSError:
    return OSError(number, told, os.fspath(path))  # Python makes it a PermissionError and so on


def _descriptor(path: PathLike) -> int | None:
    """The number of a file that this process has open, where that is what the name means."""
    ours = {os.path.realpath("/dev/fd"), f"/proc/{os.getpid()}/fd"}
    name = os.fspath(path)
    for _ in range(_LINKS):
        folder, last = os.path.split(name)
        folder = os.path.realpath(folder)
        if folder in ours and last.isdecimal():
            return int(last)
        name = os.path.join(folder, last)
        if not os.path.islink(name):
            return None
        name = os.path.join(folder, os.readlink(name))
    return None


def _open_stream(path: PathLike) -> IO[bytes]:
    number = _descriptor(path)
    if number is None:
        return os.fdopen(os.open(path, os.O_WRONLY | getattr(os, "O_NOCTTY", 0)), "wb")
    for stream in (sys.stdout, sys.stderr):  # what was printed before comes before
        if stream is not None:
            stream.flush()
    return os.fdopen(os.dup(number), "wb")  # opened anew, it would begin at its start again


def _create(part: str, found: os.stat_result | None) -> IO[bytes]:
    """A new file, with the permissions of the one that it shall replace."""
    file = os.open(part, _CREATE, 0o666 if found is None else 0o600)
    if found is not None and hasattr(os, "fchmod"):
        if (found.st_uid, found.st_gid) != (os.geteuid(), os.getegid()):
            with suppress(OSError):  # only root can give files away
                os.fchown(file, found.st_uid, found.st_gid)
        os.fchmod(file, stat.S_IMODE(found.st_mode) & 0o777)
    return os.fdopen(file, "wb")


# --- reading that ends: a file, a pipe or a packed file, up to a size ---------------------------


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
