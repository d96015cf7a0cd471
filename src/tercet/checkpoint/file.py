"""The file of a checkpoint: an SQLite database of rows that are only ever added.

Every row stands under a kind, a number and a part. A transaction is there as a whole or not at all,
whenever the process or the machine stopped.

A database can have statements of its own, in views, triggers and columns. What is opened has
exactly the tables that are made here, and none of them; else it is refused before it is asked.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from tercet.errors import InputError, TercetError
from tercet.tables import parse_json

FORMAT = "tercet checkpoint"
VERSION = 2
UNSEALED = 1  # the version whose rows have no seal; such a run goes on without
APPLICATION = 0x74726370  # how SQLite files tell whose they are

Row = tuple[str, int, int, bytes]  # kind, number, part and content

_TABLES = (
    "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT)",
    "CREATE TABLE content (kind TEXT, number INTEGER, part INTEGER, value BLOB, "
    "PRIMARY KEY (kind, number, part))",
)
_SCHEMA = "SELECT type, name, tbl_name, sql FROM sqlite_master"
_MOST_ENTRIES = 10  # of the schema, or about a run, that are looked at
_STEPS = 1_000_000  # of SQLite's, in which it has looked at any file of ours a thousand times
_DAMAGE = (ValueError, TypeError, KeyError, IndexError, OverflowError)
_SAFE = "What was saved before is safe in it: {cure} and run the same again to go on."


class About(NamedTuple):
    """What a checkpoint says of itself."""

    settings: dict[str, Any]
    data: dict[str, str]
    versions: dict[str, str]
    seed: int
    sealed: bool = True  # whether rows have a seal


def open_file(path: str) -> sqlite3.Connection:
    """Open a file, or begin a new one; no other process can until it is closed."""
    if os.path.exists(path) and not _may_be_ours(path):
        raise InputError(_no_checkpoint(path))
    with telling(path):
        file = sqlite3.connect(path, timeout=0.0, isolation_level=None, check_same_thread=False)
        try:
            _beware(file)
            file.execute("PRAGMA locking_mode = EXCLUSIVE")
            file.execute("PRAGMA synchronous = FULL")
            with _transaction(file):
                pass  # the lock stays
        except BaseException:
            file.close()
            raise
    return file


def _may_be_ours(path: str) -> bool:
    """Whether the head of a file says so; it is only read, for to open it is to change some."""
    if os.path.getsize(path) < 2:  # SQLite takes a single byte for an empty file
        return os.path.getsize(path) == 0
    address = f"{Path(path).absolute().as_uri()}?mode=ro"
    with telling(path), closing(sqlite3.connect(address, timeout=0.0, uri=True)) as file:
        _beware(file)
        try:
            (application,) = file.execute("PRAGMA application_id").fetchone()
            (journal,) = file.execute("PRAGMA journal_mode").fetchone()
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_READONLY_ROLLBACK:
                return True  # left in the middle of a commit, which is undone when it is opened
            raise
    return bool(application == APPLICATION and journal == "delete")


def _beware(file: sqlite3.Connection) -> None:
    """Let nothing that the file says run, nor any statement run without an end."""
    file.execute("PRAGMA trusted_schema = OFF")
    file.execute("PRAGMA cell_size_check = ON")
    calls, each = count(1), 1000
    file.set_progress_handler(lambda: next(calls) * each > _STEPS, each)


def create(file: sqlite3.Connection, about: Mapping[str, Any]) -> None:
    """Write what the file is, into an empty one."""
    header = {"format": FORMAT, "version": VERSION, **about}
    with _transaction(file):
        file.execute(f"PRAGMA application_id = {APPLICATION}")
        for statement in _TABLES:
            file.execute(statement)
        rows = [(key, json.dumps(value)) for key, value in header.items()]
        file.executemany("INSERT INTO about VALUES (?, ?)", rows)


def read_about(file: sqlite3.Connection, path: str) -> About | None:
    """What a checkpoint says of itself; None where nothing was ever written.

    From here on the file can be trusted to have two plain tables, though not what is in them.
    """
    schema = file.execute(_SCHEMA).fetchmany(_MOST_ENTRIES)
    (application,) = file.execute("PRAGMA application_id").fetchone()
    if not schema and application == 0:
        file.set_progress_handler(None, 0)
        return None
    if application != APPLICATION or set(schema) != _our_schema():
        raise InputError(_no_checkpoint(path))
    rows = file.execute("SELECT name, value FROM about").fetchmany(_MOST_ENTRIES)
    known = {name: parse_json(value) for name, value in rows}
    version = known["version"]
    if known["format"] != FORMAT or type(version) is not int or version < 1:
        raise ValueError("format")
    if version > VERSION:
        raise InputError(
            f"the checkpoint {path} has format version {min(version, 999)}, and this tercet reads "
            f"up to {VERSION}; update tercet."
        )
    file.set_progress_handler(None, 0)
    return _about(known)


@cache
def _our_schema() -> frozenset[tuple[str, str, str, str | None]]:
    """The tables that are made here, and their indices, as SQLite lists them."""
    with closing(sqlite3.connect(":memory:")) as file:
        for statement in _TABLES:
            file.execute(statement)
        return frozenset(file.execute(_SCHEMA))


def _about(known: Mapping[str, Any]) -> About:
    """What was read, if all is there and of the right kind."""
    settings, data, versions = (known[name] for name in ("settings", "data", "versions"))
    if not all(isinstance(part, dict) for part in (settings, data, versions)):
        raise TypeError("about")
    if not all(isinstance(text, str) for text in (*data.values(), *versions.values())):
        raise TypeError("about")
    if not isinstance(known["seed"], str) or not known["seed"].isdecimal():
        raise ValueError("seed")
    return About(settings, data, versions, int(known["seed"]), known["version"] > UNSEALED)


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
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_INTERRUPT):
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
