"""The file of a checkpoint: an SQLite database of rows that are only ever added.

Every row stands under a kind, a number and a part. A transaction is there as a whole or not at all,
whenever the process or the machine stopped.
"""

from __future__ import annotations

import json
import os
import sqlite3
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from tercet.errors import InputError, TercetError

FORMAT = "tercet checkpoint"
VERSION = 1
APPLICATION = 0x74726370  # how SQLite files tell whose they are

Row = tuple[str, int, int, bytes]  # kind, number, part and content

_SCHEMA = (
    f"PRAGMA application_id = {APPLICATION}",
    "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT)",
    "CREATE TABLE content (kind TEXT, number INTEGER, part INTEGER, value BLOB, "
    "PRIMARY KEY (kind, number, part))",
)
_DAMAGE = (ValueError, TypeError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile)
_SAFE = "What was saved before is safe in it: {cure} and run the same again to go on."


def open_file(path: str) -> sqlite3.Connection:
    """Open a file, or begin a new one; no other process can until it is closed."""
    if os.path.exists(path) and os.path.getsize(path) == 1:  # SQLite would take it for an empty one
        raise InputError(_no_checkpoint(path))
    with telling(path):
        file = sqlite3.connect(path, timeout=0.0, isolation_level=None, check_same_thread=False)
        try:
            file.execute("PRAGMA locking_mode = EXCLUSIVE")
            file.execute("PRAGMA synchronous = FULL")
            with _transaction(file):
                pass  # the lock stays
        except BaseException:
            file.close()
            raise
    return file


def create(file: sqlite3.Connection, about: Mapping[str, Any]) -> None:
    """Write what the file is, into an empty one."""
    header = {"format": FORMAT, "version": VERSION, **about}
    with _transaction(file):
        for statement in _SCHEMA:
            file.execute(statement)
        rows = [(key, json.dumps(value)) for key, value in header.items()]
        file.executemany("INSERT INTO about VALUES (?, ?)", rows)


def read_about(file: sqlite3.Connection, path: str) -> dict[str, Any] | None:
    """What a checkpoint says of itself; None where nothing was ever written."""
    tables = {table for (table,) in file.execute("SELECT name FROM sqlite_master")}
    if not tables:
        return None
    (application,) = file.execute("PRAGMA application_id").fetchone()
    if application != APPLICATION or not {"about", "content"} <= tables:
        raise InputError(_no_checkpoint(path))
    known = {key: json.loads(value) for key, value in file.execute("SELECT * FROM about")}
    if known["version"] > VERSION:
        raise InputError(
            f"the checkpoint {path} has format version {known['version']}, and this tercet reads "
            f"up to {VERSION}; update tercet."
        )
    return known


def write_rows(file: sqlite3.Connection, rows: Sequence[Row]) -> None:
    """Add rows, all or none; one that is there already is the same again."""
    with _transaction(file):
        file.executemany("INSERT OR REPLACE INTO content VALUES (?, ?, ?, ?)", rows)


@contextmanager
def _transaction(file: sqlite3.Connection) -> Iterator[None]:
    file.execute("BEGIN EXCLUSIVE")
    try:
        yield
        file.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # the disk may have undone it already
            file.execute("ROLLBACK")
        raise


@contextmanager
def telling(path: str) -> Iterator[None]:
    """Say what went wrong with the file, and what to do."""
    try:
        yield
    except TercetError:
        raise
    except sqlite3.Error as error:
        raise _explained(path, error) from error
    except _DAMAGE as error:
        raise InputError(_damaged(path)) from error


def _explained(path: str, error: sqlite3.Error) -> TercetError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the rest of the bits are details
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return InputError(
            f"the checkpoint {path} is in use by another run; wait until that one is done, or give "
            "this one a file of its own."
        )
    if code == sqlite3.SQLITE_NOTADB:
        return InputError(_no_checkpoint(path))
    # Our statements are right, so an error in one, or text that is none (which has no code), is
    # the file's.
    broken = isinstance(error, sqlite3.OperationalError) and code in (0, sqlite3.SQLITE_ERROR)
    if broken or code == sqlite3.SQLITE_CORRUPT:
        return InputError(_damaged(path))
    failed = f"the checkpoint {path} cannot be written"
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        why = "the disk, or your share of it, is full"
        if code == sqlite3.SQLITE_IOERR:
            why += f", or it does not work ({error})"
        return TercetError(f"{failed}: {why}. {_SAFE.format(cure='make room')}")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return TercetError(
            f"{failed}: it or its folder is write-protected. Give a file in another folder, or "
            "allow writing there."
        )
    return TercetError(f"{failed}: {error}. {_SAFE.format(cure='see to that')}")


def _no_checkpoint(path: str) -> str:
    return f"{path} is no checkpoint of tercet; it was left as it is. Give another name."


def _damaged(path: str) -> str:
    return (
        f"the checkpoint {path} is damaged; it was left as it is. Delete it, or give another name, "
        "to begin anew."
    )
