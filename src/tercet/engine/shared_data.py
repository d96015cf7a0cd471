"""Data and memory of the workers of a backend: packed once, and unpacked once in each process.

Every task of a run needs the same data, and backends differ in what they do with that: loky maps
large arrays into memory, Ray keeps arguments in its store, Dask sends what is not a future with
every task. What is packed here is a single array of bytes, which all of them hand on cheaply, and a
process that has unpacked it keeps the data for its next task. Unpacked arrays are a process's own
and can be written to: for the read-only ones that backends hand over, compiled code would be
compiled anew.
"""

from __future__ import annotations

import ctypes
import pickle
import sys
from functools import cache, cached_property
from threading import Lock
from typing import Any, Generic, TypeVar
from uuid import uuid4

import cloudpickle
import numpy as np
from numpy.typing import NDArray

S = TypeVar("S")

_KEPT = 2  # so many at most in a process, those used last
_opened: dict[str, Any] = {}
_lock = Lock()  # threads of a worker start together

# Names and numbers of glibc's malloc.h; the second limit is the highest that it allows.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_LIMITS = {_TRIM_THRESHOLD: 64 << 20, _MMAP_THRESHOLD: 32 << 20}


class Payload:
    """Packed data, and a name that no other has."""

    def __init__(self, data: NDArray[np.uint8], name: str) -> None:
        self.data = data
        self.name = name


class Shared(Generic[S]):
    """Data that several runs share: packed at most once, and not again for the next run."""

    def __init__(self, value: S) -> None:
        self.value = value

    @cached_property
    def payload(self) -> Payload:
        """The data, packed."""
        return pack(self.value)


def pack(value: Any) -> Payload:
    """Pack whatever can be pickled, functions of an interactive session included."""
    # From protocol 5 on, arrays that are read-only here would be so there.
    text = cloudpickle.dumps(value, protocol=4)
    return Payload(np.frombuffer(text, dtype=np.uint8), uuid4().hex)


def unpack(payload: Payload) -> Any:
    """Return the data; only the first time in this process are they unpacked."""
    with _lock:
        known = payload.name in _opened
        value = _opened.pop(payload.name) if known else pickle.loads(payload.data.data)
        _opened[payload.name] = value
        while len(_opened) > _KEPT:
            del _opened[next(iter(_opened))]
    return value


@cache
def keep_freed_memory() -> None:
    """Let this process keep up to 64 MB of freed memory; without effect where there is no glibc.

    A fit of 200 000 comparisons needs some 16 MB. A young process hands them back to the system
    after every fit, and Dask tells its workers to, so that getting them again, page by page, took a
    sixth to a quarter of the time.
    """
    if sys.platform == "linux" and hasattr(library := ctypes.CDLL(None), "mallopt"):
        for name, limit in _LIMITS.items():
            library.mallopt(name, limit)
