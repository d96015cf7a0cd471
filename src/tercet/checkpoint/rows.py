"""An open checkpoint: rows of arrays and plain values, gathered and committed now and then."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from hashlib import blake2b
from threading import Lock, Timer
from time import monotonic
from types import TracebackType
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from tercet.checkpoint.file import Row, telling, write_rows
from tercet.errors import TercetError
from tercet.limits import LARGEST_NUMBER
from tercet.npz import read_npz
from tercet.tables import parse_json

EVERY = 1.0  # seconds between two commits: each waits for the disk

Content = Mapping[str, Any]  # arrays, and whatever JSON knows

T = TypeVar("T")
Read = Callable[[dict[str, Any]], Any]

_PLAIN = "json"  # the array that holds what is not an array
_SEAL = 16  # bytes before a row's content


class Checkpoint:
    """Rows that are kept; without a file they are forgotten, and there are none.

    They are committed about once a second and at the end. Any thread may add some. Those of a file
    that was begun before rows had seals have none.
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
        """What was kept under a kind and a number, part after part.

        ``read`` makes of a content what is wanted; whatever is wrong with that is damage.
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
        """What was kept under a kind and a number, in a single part; None if nothing was."""
        found = list(self.rows(kind, number, read))
        with telling(self._path):
            if len(found) > 1:
                raise ValueError("more than one part")
        return found[0] if found else None

    def once(
        self,
        kind: str,
        number: int,
        make: Callable[[], T],
        write: Callable[[T], Content],
        read: Callable[[dict[str, Any]], T],
    ) -> T:
        """What was kept under a kind and a number, or else what is made now, and kept.

        ``write`` makes a content of it, of which ``read`` makes the same again.
        """
        if self._file is None:
            return make()
        known: T | None = self.one(kind, number, read)
        if known is None:
            known = make()
            self.add(kind, number, write(known))
        return known

    def add(self, kind: str, number: int, content: Content, part: int = 0) -> None:
        """Keep arrays, and whatever JSON knows, by name."""
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
        """Commit what waits and let go of the file."""
        if self._file is None:
            return
        if isinstance(error, KeyboardInterrupt):
            error.add_note(f"What was done is in {self._path}: run the same again to go on.")
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
        """Bytes that belong to a content in this place of this run, and to no other."""
        if not self._sealed:
            return b""
        seal = blake2b(repr((self.entropy, *place)).encode(), digest_size=_SEAL)
        seal.update(packed)
        return seal.digest()

    def _opened(self, place: tuple[str, int, int], value: Any) -> bytes:
        """The packed content of a row, if its seal is whole."""
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
                self._error = error  # for whoever adds or leaves next

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
    """Arrays and plain values as one npz, nothing of which is executed when it is read."""
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
    """The array of that name, if it has this shape and moderate numbers; ValueError if not."""
    array: Any = content[name]
    if not isinstance(array, np.ndarray) or array.dtype != np.float64 or array.shape != shape:
        raise ValueError(f"{name} is not of the shape {shape}")
    if not (np.abs(array) <= LARGEST_NUMBER).all():
        raise ValueError(f"{name} is not finite")
    return np.array(array, order="C")  # another order would be compiled for anew
