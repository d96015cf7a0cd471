"""StreamedTriplets: answers that stay on disk and are read a block at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.answers.checks import Fields, settle_n_objects
from tercet.answers.triplets import Triplets, restore
from tercet.arrays import Index
from tercet.errors import InputError, TercetError
from tercet.text import listing

__all__ = ["BLOCK_ROWS", "Column", "Stream", "StreamedTriplets", "blocks_of"]

BLOCK_ROWS = 2**17  # 1.5 MB as the engine reads them; the block of a row is part of the bits


class Column(NamedTuple):
    """Consecutive rows of numbers in a file, from some byte on."""

    path: str
    offset: int
    dtype: str
    width: int  # numbers per row

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """The rows from ``start`` up to ``stop``, (stop - start, width)."""
        dtype, count = np.dtype(self.dtype), (stop - start) * self.width
        try:
            skipped = self.offset + start * self.width * dtype.itemsize
            found = np.fromfile(self.path, dtype, count, offset=skipped)
        except OSError as error:
            raise TercetError(
                f"{self.path} can no longer be read: {error.strerror}. It must exist under this "
                "path on every machine that computes."
            ) from None
        if found.size < count:
            raise TercetError(
                f"{self.path} has become shorter since it was opened; open it again with "
                "tc.open_triplets."
            )
        return found.reshape(-1, self.width)


class Stream(NamedTuple):
    """The fields of `StreamedTriplets`."""

    comparisons: Column
    weights: Column | None
    length: int
    n_objects: int
    names: tuple[str, ...] | None
    least_weight: float
    whole_weights: bool


class StreamedTriplets:
    """Answers on disk, checked once and read in blocks, from `tercet.open_triplets`.

    An estimator's ``fit`` and ``score`` and ``Bootstrap.fit`` accept them like Triplets. A slice,
    ``stream[:1000]``, is Triplets in memory. They contain no data, so they are cheap to send to
    other processes that see the same files.
    """

    __slots__ = ("_stream",)

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    @property
    def n_objects(self) -> int:
        """Number of objects, mentioned or not."""
        return self._stream.n_objects

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the objects, if they have names."""
        return self._stream.names

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, and 3 columns (anchor, near, far) or 4 (a, b, c, d)."""
        return len(self), self._stream.comparisons.width

    @property
    def is_quadruplets(self) -> bool:
        """Whether the rows are (a, b, c, d) and not (anchor, near, far)."""
        return self.shape[1] == 4

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return -(-len(self) // BLOCK_ROWS)

    @property
    def least_weight(self) -> float:
        """The smallest weight; 1 without weights."""
        return self._stream.least_weight

    @property
    def has_votes(self) -> bool:
        """Whether weights are whole numbers, which count answers."""
        return self._stream.weights is not None and self._stream.whole_weights

    def read(self, number: int) -> tuple[NDArray[np.uint32], NDArray[np.float64]]:
        """A block for the engine: rows (b, 3) or (b, 4), weights (b,) or none (0,)."""
        start, stop = number * BLOCK_ROWS, min((number + 1) * BLOCK_ROWS, len(self))
        rows = self._objects(start, stop).astype(np.uint32, copy=False)
        weights = self._stream.weights
        return rows, np.empty(0) if weights is None else weights.read(start, stop).ravel()

    def _objects(self, start: int, stop: int) -> NDArray[Any]:
        """The objects of some rows, which were checked when the file was opened."""
        rows = self._stream.comparisons.read(start, stop)
        # For an invalid object, compiled code would read beyond its arrays.
        if rows.size and not (rows.min() >= 0 and rows.max() < self.n_objects):
            wrong = rows[(rows < 0) | (rows >= self.n_objects)][0]
            raise TercetError(
                f"{self._stream.comparisons.path} has changed since it was checked: it contains "
                f"the object {wrong}, but there are {self.n_objects}. Open the answers again; if "
                "this is a copy in a folder that ends in .tercet, delete that folder first."
            )
        return rows

    def digest(self) -> str:
        """A hash of answers and weights; takes one pass."""
        digest = hashlib.sha256(f"{self.shape}".encode())
        for number in range(self.n_blocks):
            for part in self.read(number):
                digest.update(np.ascontiguousarray(part).data)
        return digest.hexdigest()

    def blocks(self) -> Iterator[Triplets]:
        """All blocks, as Triplets of all objects."""
        return (self[start:stop] for start, stop in self.spans())

    def spans(self) -> list[tuple[int, int]]:
        """Start and stop of each block."""
        cuts = [*range(0, len(self), BLOCK_ROWS), len(self)]
        return list(pairwise(cuts))

    def with_objects(self, n_objects: int | None) -> StreamedTriplets:
        """The same answers with more objects; None keeps their number."""
        count = settle_n_objects(n_objects, self.names, self.n_objects)
        if count < self.n_objects:
            raise InputError(
                f"n_objects is {count}, but the stream has {self.n_objects} objects; give at least "
                f"{self.n_objects}, or leave it out."
            )
        return StreamedTriplets(self._stream._replace(n_objects=count))

    def __len__(self) -> int:
        return self._stream.length

    def __getitem__(self, rows: slice) -> Triplets:
        """Consecutive rows, read into memory as Triplets."""
        if not isinstance(rows, slice) or rows.step not in (None, 1):
            raise IndexError(f"a stream can only be sliced, such as stream[:1000], got {rows!r}")
        start, stop, _ = rows.indices(len(self))
        stop = max(start, stop)
        stream = self._stream
        array: Index = self._objects(start, stop).astype(np.int64)
        weights = None if stream.weights is None else stream.weights.read(start, stop).ravel()
        return restore(Fields(array, stream.n_objects, stream.names, None, None, weights))

    def __iter__(self) -> Iterator[Triplets]:
        raise TypeError("iterate over a stream by blocks: for block in stream.blocks()")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        raise TercetError(
            "these answers are streamed from disk, but this needs all of them in memory. If they "
            "fit, use stream[:], else a part of them, such as stream[:1_000_000]. Estimators and "
            "Bootstrap accept the stream itself."
        )

    def __reduce__(self) -> tuple[type[StreamedTriplets], tuple[Stream]]:
        return StreamedTriplets, (self._stream,)

    def __repr__(self) -> str:
        kind = "quadruplets" if self.is_quadruplets else "triplets"
        named = (
            f" named {listing(self.names, range(self.n_objects), limit=3)}" if self.names else ""
        )
        return (
            f"StreamedTriplets({len(self)} {kind} of {self.n_objects} objects{named}, "
            f"from {self._stream.comparisons.path})"
        )


def blocks_of(triplets: Triplets | StreamedTriplets) -> Iterator[Triplets]:
    """The blocks of a stream; Triplets in memory are one block."""
    return triplets.blocks() if isinstance(triplets, StreamedTriplets) else iter([triplets])
