"""Checkpoints: an append-only SQLite file from which an interrupted run resumes."""

from __future__ import annotations

import hashlib
import io
import json
import os
import sqlite3
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from hashlib import blake2b
from itertools import count
from pathlib import Path
from threading import Lock, Timer
from time import monotonic
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from tercet.arrays import read_npz
from tercet.errors import DataWarning, InputError, TercetError
from tercet.running.memory import LARGEST_NUMBER
from tercet.running.provenance import Seed, entropy_of, versions
from tercet.tables import parse_json

PathLike = str | os.PathLike[str]

# Draws do not depend on the first three; seed and device are compared separately.
_IGNORED = ("n_jobs", "progress", "checkpoint", "random_state", "device")

_LONG = 100  # characters of a value in a message


def open_checkpoint(
    path: PathLike | None,
    settings: Mapping[str, Any],
    data: Mapping[str, Any],
    random_state: Seed,
) -> Checkpoint:
    """Create a checkpoint, or resume from an existing one.

    Parameters
    ----------
    path : path, optional
        The file; None saves nothing.
    settings : mapping
        All parameters by name, as returned by `provenance.describe`.
    data : mapping
        The answers: arrays and JSON-compatible values, by their names in a message.
    random_state : None, int or numpy.random.Generator
        With None the seed of an existing checkpoint is used.
    """
    if path is None:
        return Checkpoint(entropy_of(random_state), None)
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"checkpoint must be the name of a file, got {path!r}.")
    _check_place(Path(path))
    name = os.fspath(path)
    if name == ":memory:":  # which SQLite would not write to a file
        name = os.path.join(os.curdir, name)
    wanted = {
        "settings": _relevant(settings),
        "data": {what: fingerprint(value) for what, value in data.items()},
        "versions": versions() | {"processor": _processor()},
    }
    file = open_file(name)
    try:
        with telling(name):
            known = read_about(file, name)
            sealed = known is None or known.sealed
            if known is None:
                entropy = entropy_of(random_state)
                create(file, wanted | {"seed": str(entropy)})
            else:
                entropy = _agree(name, known, json.loads(json.dumps(wanted)), random_state)
    except BaseException:
        file.close()
        raise
    return Checkpoint(entropy, file, name, sealed)


def fingerprint(value: Any) -> str:
    """A hash of an array or a JSON-compatible value."""
    digest = hashlib.sha256()
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype.str}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).data)
    else:
        digest.update(json.dumps(value).encode())
    return digest.hexdigest()[:32]


# --- inside -----------------------------------------------------------------------------------


def _relevant(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings on which draws depend, those of the estimator included."""
    return {
        key: _relevant(value) if isinstance(value, dict) else value
        for key, value in settings.items()
        if key not in _IGNORED
    }


def _check_place(path: Path) -> None:
    if path.is_dir():
        raise InputError(f"the checkpoint {path} is a folder; give the name of a file in it.")
    if path.exists() and not path.is_file():
        raise InputError(f"the checkpoint {path} is a pipe or a device; give the name of a file.")
    if not path.parent.is_dir():
        raise InputError(
            f"the checkpoint {path} cannot be written: there is no folder {path.parent}."
        )


def _processor() -> str:
    """The processor: compiled code depends on it, and last bits may differ."""
    from llvmlite.binding import get_host_cpu_name

    name: str = get_host_cpu_name()
    return name


def _agree(path: str, known: About, wanted: Mapping[str, Any], random_state: Seed) -> int:
    """The seed of a checkpoint, if it belongs to the same run."""
    changes = list(_changes(known.settings, wanted["settings"]))
    if known.settings.get("class") == wanted["settings"].get("class"):
        changes += [f"other {_word(what)}" for what in _other(known.data, wanted["data"])]
    if random_state is not None and (given := entropy_of(random_state)) != known.seed:
        changes.append(f"the seed is {given} and was {_shown(known.seed)}")
    if changes:
        raise InputError(
            f"the checkpoint {path} belongs to another run: {'; '.join(changes)}. Give this run "
            "another file, or delete that one if it is not needed."
        )
    before, now = known.versions, wanted["versions"]
    if changed := _other(before, now):
        listed = ", ".join(
            f"{_word(key)} {now.get(key)}, was {_word(str(before.get(key)))}" for key in changed
        )
        warnings.warn(
            f"the checkpoint {path} was created with other versions ({listed}): the result is "
            "valid, but its last bits may differ from those of an uninterrupted run.",
            DataWarning,
            stacklevel=5,
        )
    return known.seed


def _shown(value: Any) -> str:
    """A value of the file, which may be of any length."""
    text = repr(value)
    return text if len(text) <= _LONG else f"{text[:_LONG]}…"


def _word(text: str) -> str:
    """A text of the file, without quotes if it is short and printable."""
    return _shown(text) if len(text) > _LONG or not text.isprintable() else text


def _other(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Names under which two mappings differ."""
    return [key for key in {**before, **now} if before.get(key) != now.get(key)]


def _changes(before: Mapping[str, Any], now: Mapping[str, Any], owner: str = "") -> Iterator[str]:
    """Settings that differ, such as ``penalty of the estimator``; or only the class."""
    names = _other(before, now)
    for key in ["class"] if "class" in names else names:
        old, new = before.get(key), now.get(key)
        if isinstance(old or {}, dict) and isinstance(new or {}, dict) and (old or new):
            yield from _changes(old or {}, new or {}, f" of the {_word(key)}{owner}")
        else:
            yield f"{_word(key)}{owner} is {_shown(new)} and was {_shown(old)}"


# --- an open checkpoint: rows collected, and committed now and then -----------------------------


EVERY = 1.0  # seconds between two commits: each waits for the disk

Content = Mapping[str, Any]  # arrays and JSON-compatible values

T = TypeVar("T")
Read = Callable[[dict[str, Any]], Any]

_PLAIN = "json"  # the array that contains all other values
_SEAL = 16  # bytes before a row's content


class Checkpoint:
    """Saved rows; without a file nothing is saved.

    They are committed about once a second and at the end. Any thread may add some. Rows of files of
    version 1 have no seals.
    """

    def __init__(
        self, entropy: int, file: sqlite3.Connection | None, path: str = "", sealed: bool = True
    ) -> None:
        self.entropy = entropy
        self._file = file
        self._path = path
        self._sealed = sealed
        self._lock = Lock()
        self._waiting: list[Row] = []
        self._committed = -np.inf
        self._timer: Timer | None = None
        self._error: TercetError | None = None

    def rows(self, kind: str, number: int, read: Read = dict) -> Iterator[Any]:
        """The rows saved under a kind and a number, part after part.

        ``read`` converts a content; if it fails, the file is damaged.
        """
        if self._file is None:
            return
        query = "SELECT part, value FROM content WHERE kind = ? AND number = ? ORDER BY part"
        with telling(self._path):
            for k, (part, value) in enumerate(self._file.execute(query, (kind, number))):
                if part != k:
                    raise ValueError("a part is missing")
                yield read(unpack_row(self._opened((kind, number, part), value)))

    def one(self, kind: str, number: int, read: Read = dict) -> Any:
        """The single row saved under a kind and a number; None if there is none."""
        rows = list(self.rows(kind, number, read))
        with telling(self._path):
            if len(rows) > 1:
                raise ValueError("more than one part")
        return rows[0] if rows else None

    def once(
        self,
        kind: str,
        number: int,
        make: Callable[[], T],
        write: Callable[[T], Content],
        read: Callable[[dict[str, Any]], T],
    ) -> T:
        """What was saved under a kind and a number, or else what is made and saved now.

        ``write`` converts it to a content, and ``read`` back.
        """
        if self._file is None:
            return make()
        known: T | None = self.one(kind, number, read)
        if known is None:
            known = make()
            self.add(kind, number, write(known))
        return known

    def add(self, kind: str, number: int, content: Content, part: int = 0) -> None:
        """Save arrays and JSON-compatible values by name."""
        if self._file is None:
            return
        packed = pack_row(content)
        row = kind, number, part, self._seal((kind, number, part), packed) + packed
        with self._lock:
            self._waiting.append(row)
            wait = self._committed + EVERY - monotonic()
            if wait <= 0.0:
                self._commit()
            elif self._timer is None:
                self._timer = Timer(wait, self._commit_later)
                self._timer.daemon = True
                self._timer.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Commit the remaining rows and close the file."""
        if self._file is None:
            return
        if isinstance(error, KeyboardInterrupt):
            error.add_note(f"Progress is saved in {self._path}: run the same again to resume.")
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            try:
                self._commit()
            except TercetError:
                if error is None:
                    raise
            finally:
                self._file.close()
                self._file = None

    def _seal(self, place: tuple[str, int, int], packed: bytes) -> bytes:
        """A hash of a content, its place and the run."""
        if not self._sealed:
            return b""
        seal = blake2b(repr((self.entropy, *place)).encode(), digest_size=_SEAL)
        seal.update(packed)
        return seal.digest()

    def _opened(self, place: tuple[str, int, int], value: Any) -> bytes:
        """The packed content of a row, if its seal is valid."""
        if not isinstance(value, bytes):
            raise TypeError("a row without content")
        length = _SEAL if self._sealed else 0
        seal, packed = value[:length], value[length:]
        if seal != self._seal(place, packed):
            raise ValueError("a row that was changed or moved")
        return packed

    def _commit_later(self) -> None:
        with self._lock:
            self._timer = None
            try:
                self._commit()
            except TercetError as error:
                self._error = error  # raised by the next call

    def _commit(self) -> None:
        if self._error is not None:
            raise self._error
        if self._file is None or not self._waiting:
            return
        with telling(self._path):
            write_rows(self._file, self._waiting)
        self._waiting.clear()
        self._committed = monotonic()


NOTHING_KEPT = Checkpoint(0, None)


def pack_row(content: Content) -> bytes:
    """Arrays and other values as one npz; reading it executes nothing."""
    arrays: dict[str, Any] = {k: v for k, v in content.items() if isinstance(v, np.ndarray)}
    plain = {key: value for key, value in content.items() if key not in arrays}
    text = json.dumps(plain, default=lambda number: number.item())  # NumPy's own numbers
    packed = io.BytesIO()
    np.savez(packed, **arrays | {_PLAIN: np.array(text)})
    return packed.getvalue()


def unpack_row(value: bytes) -> dict[str, Any]:
    """What `pack_row` packed."""
    arrays = read_npz(io.BytesIO(value))
    plain = parse_json(str(arrays.pop(_PLAIN)))
    if not isinstance(plain, dict) or plain.keys() & arrays.keys():
        raise TypeError("values without names of their own")
    return arrays | plain


def floats_of(content: Content, name: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """The array of that name; ValueError unless it has this shape and moderate numbers."""
    array: Any = content[name]
    if not isinstance(array, np.ndarray) or array.dtype != np.float64 or array.shape != shape:
        raise ValueError(f"{name} is not of the shape {shape}")
    if not (np.abs(array) <= LARGEST_NUMBER).all():
        raise ValueError(f"{name} is not finite")
    return np.array(array, order="C")  # another order would need another compilation


# --- the file -----------------------------------------------------------------------------------


FORMAT = "tercet checkpoint"
VERSION = 2
UNSEALED = 1  # the version without seals; such a run is resumed without
APPLICATION = 0x74726370  # identifies our SQLite files

Row = tuple[str, int, int, bytes]  # kind, number, part and content

_TABLES = (
    "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT)",
    "CREATE TABLE content (kind TEXT, number INTEGER, part INTEGER, value BLOB, "
    "PRIMARY KEY (kind, number, part))",
)
_SCHEMA = "SELECT type, name, tbl_name, sql FROM sqlite_master"
_MOST_ENTRIES = 10  # read from the schema and about a run
_STEPS = 1_000_000  # of SQLite, a thousand times what any valid file takes
_DAMAGE = (ValueError, TypeError, KeyError, IndexError, OverflowError)
_SAFE = "What was saved before is safe: {cure} and run the same again to resume."


class About(NamedTuple):
    """The metadata of a checkpoint."""

    settings: dict[str, Any]
    data: dict[str, str]
    versions: dict[str, str]
    seed: int
    sealed: bool = True  # whether rows have a seal


def open_file(path: str) -> sqlite3.Connection:
    """Open or create a file, locked until it is closed."""
    if os.path.exists(path) and not _may_be_ours(path):
        raise InputError(_no_checkpoint(path))
    with telling(path):
        file = sqlite3.connect(path, timeout=0.0, isolation_level=None, check_same_thread=False)
        try:
            _beware(file)
            file.execute("PRAGMA locking_mode = EXCLUSIVE")
            file.execute("PRAGMA synchronous = FULL")
            with _transaction(file):  # whose lock stays
                if _application(file) == 0 and not file.execute(_SCHEMA).fetchone():
                    # Locking an empty file writes its header: a run killed now still finds its own.
                    file.execute(f"PRAGMA application_id = {APPLICATION}")
        except BaseException:
            file.close()
            raise
    return file


def _may_be_ours(path: str) -> bool:
    """Whether the header says so; read-only, as opening for writing may change a file."""
    if os.path.getsize(path) < 2:  # SQLite takes a single byte for an empty file
        return os.path.getsize(path) == 0
    address = f"{Path(path).absolute().as_uri()}?mode=ro"
    with telling(path), closing(sqlite3.connect(address, timeout=0.0, uri=True)) as file:
        _beware(file)
        try:
            application = _application(file)
            (journal,) = file.execute("PRAGMA journal_mode").fetchone()
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_READONLY_ROLLBACK:
                return True  # interrupted in a commit, which is rolled back when opened
            raise
    return bool(application == APPLICATION and journal == "delete")


def _application(file: sqlite3.Connection) -> int:
    (number,) = file.execute("PRAGMA application_id").fetchone()
    return int(number)


def _beware(file: sqlite3.Connection) -> None:
    """Run no code of the file, and let no statement run for ever."""
    file.execute("PRAGMA trusted_schema = OFF")
    file.execute("PRAGMA cell_size_check = ON")
    calls, each = count(1), 1000
    file.set_progress_handler(lambda: next(calls) * each > _STEPS, each)


def create(file: sqlite3.Connection, about: Mapping[str, Any]) -> None:
    """Write tables and metadata into an empty file."""
    header = {"format": FORMAT, "version": VERSION, **about}
    with _transaction(file):
        for statement in _TABLES:
            file.execute(statement)
        rows = [(key, json.dumps(value)) for key, value in header.items()]
        file.executemany("INSERT INTO about VALUES (?, ?)", rows)


def read_about(file: sqlite3.Connection, path: str) -> About | None:
    """The metadata of a checkpoint; None for an empty file.

    Afterwards the file is known to have our two tables, but their content is not verified.
    """
    schema = file.execute(_SCHEMA).fetchmany(_MOST_ENTRIES)
    application = _application(file)
    if not schema and application == APPLICATION:
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
            f"the checkpoint {path} has format version {min(version, 999)}, but this tercet reads "
            f"up to {VERSION}; update tercet."
        )
    file.set_progress_handler(None, 0)
    return _about(known)


@cache
def _our_schema() -> frozenset[tuple[str, str, str, str | None]]:
    """Our tables and their indices, as listed by SQLite."""
    with closing(sqlite3.connect(":memory:")) as file:
        for statement in _TABLES:
            file.execute(statement)
        return frozenset(file.execute(_SCHEMA))


def _about(known: Mapping[str, Any]) -> About:
    """The metadata, if complete and of the right types."""
    settings, data, versions = (known[name] for name in ("settings", "data", "versions"))
    if not all(isinstance(part, dict) for part in (settings, data, versions)):
        raise TypeError("about")
    if not all(isinstance(text, str) for text in (*data.values(), *versions.values())):
        raise TypeError("about")
    if not isinstance(known["seed"], str) or not known["seed"].isdecimal():
        raise ValueError("seed")
    return About(settings, data, versions, int(known["seed"]), known["version"] > UNSEALED)


def write_rows(file: sqlite3.Connection, rows: Sequence[Row]) -> None:
    """Add rows in one transaction; existing ones are replaced by the same."""
    with _transaction(file):
        file.executemany("INSERT OR REPLACE INTO content VALUES (?, ?, ?, ?)", rows)


@contextmanager
def _transaction(file: sqlite3.Connection) -> Iterator[None]:
    file.execute("BEGIN EXCLUSIVE")
    try:
        yield
        file.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):  # it may have been rolled back already
            file.execute("ROLLBACK")
        raise


@contextmanager
def telling(path: str) -> Iterator[None]:
    """Turn errors about the file into messages with a cure."""
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
            f"the checkpoint {path} is in use by another run; wait for it to finish, or give this "
            "run another file."
        )
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_INTERRUPT):
        return InputError(_no_checkpoint(path))
    # Our statements are valid, so an error in one, or invalid text (without a code), means damage.
    broken = isinstance(error, sqlite3.OperationalError) and code in (0, sqlite3.SQLITE_ERROR)
    if broken or code == sqlite3.SQLITE_CORRUPT:
        return InputError(_damaged(path))
    failed = f"the checkpoint {path} cannot be written"
    if code in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR):
        why = "the disk or your quota is full"
        if code == sqlite3.SQLITE_IOERR:
            why += f", or the disk has failed ({error})"
        return TercetError(f"{failed}: {why}. {_SAFE.format(cure='free some space')}")
    if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM):
        return TercetError(
            f"{failed}: it or its folder is write-protected. Give a file in another folder, or "
            "allow writing there."
        )
    return TercetError(f"{failed}: {error}. {_SAFE.format(cure='fix this')}")


def _no_checkpoint(path: str) -> str:
    return f"{path} is not a tercet checkpoint; it was not changed. Give another name."


def _damaged(path: str) -> str:
    return (
        f"the checkpoint {path} is damaged; it was not changed. Delete it, or give another name, "
        "to start again."
    )
