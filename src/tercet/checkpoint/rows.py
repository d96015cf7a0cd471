"""An open checkpoint: rows of arrays and plain values, gathered and committed now and then."""

from __future__ import annotations

import io
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from threading import Lock, Timer
from time import monotonic
from types import TracebackType
from typing import Any, Self

import numpy as np

from tercet.checkpoint.file import Row, telling, write_rows
from tercet.errors import TercetError

EVERY = 1.0  # seconds between two commits: each waits for the disk

Content = Mapping[str, Any]  # arrays, and whatever JSON knows

_PLAIN = "json"  # the array that holds what is not an array


class Checkpoint:
    """Rows that are kept; without a file they are forgotten, and there are none.

    They are committed about once a second and at the end. Any thread may add some.
    """

    def __init__(self, entropy: int, file: sqlite3.Connection | None, path: str = "") -> None:
        self.entropy = entropy
        self._file = file
        self._path = path
        self._lock = Lock()
        self._waiting: list[Row] = []
        self._committed = -np.inf
        self._timer: Timer | None = None
        self._error: TercetError | None = None

    def rows(self, kind: str, number: int) -> Iterator[dict[str, Any]]:
        """What was kept under a kind and a number, part after part."""
        if self._file is None:
            return
        query = "SELECT value FROM content WHERE kind = ? AND number = ? ORDER BY part"
        with telling(self._path):
            for (value,) in self._file.execute(query, (kind, number)):
                yield unpack(value)

    def once(self, kind: str, number: int, make: Callable[[], Content]) -> Content:
        """What was kept under a kind and a number, or else what is made now, and kept."""
        for known in self.rows(kind, number):
            return known
        content = make()
        self.add(kind, number, content)
        return content

    def add(self, kind: str, number: int, content: Content, part: int = 0) -> None:
        """Keep arrays, and whatever JSON knows, by name."""
        if self._file is None:
            return
        row = kind, number, part, pack(content)
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


def pack(content: Content) -> bytes:
    """Arrays and plain values as one npz, nothing of which is executed when it is read."""
    arrays: dict[str, Any] = {k: v for k, v in content.items() if isinstance(v, np.ndarray)}
    plain = {key: value for key, value in content.items() if key not in arrays}
    text = json.dumps(plain, default=lambda number: number.item())  # NumPy's own numbers
    packed = io.BytesIO()
    np.savez(packed, **arrays | {_PLAIN: np.array(text)})
    return packed.getvalue()


def unpack(value: bytes) -> dict[str, Any]:
    """What `pack` packed."""
    with np.load(io.BytesIO(value), allow_pickle=False) as archive:
        arrays = {key: archive[key] for key in archive.files}
    plain: dict[str, Any] = json.loads(str(arrays.pop(_PLAIN)))
    return arrays | plain
