"""Files that are written whole or not at all; whatever tercet writes, it writes here."""

from __future__ import annotations

import errno
import io
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

from tercet.text import harmless

__all__ = ["check_place", "identity", "is_stream", "whole_file", "write_whole"]

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
