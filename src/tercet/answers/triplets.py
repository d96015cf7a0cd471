"""Triplets: answers, checked once and then trusted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tercet.answers.checks import (
    Array,
    Fields,
    check,
    check_comparisons,
    check_shape,
    look_up,
    read_answers,
    row_number,
    settle_more_objects,
    settle_types,
    whole,
)
from tercet.answers.titles import COLUMNS
from tercet.arrays import Floats, Index
from tercet.running.memory import need_memory
from tercet.text import counted, listing

__all__ = ["Triplets", "as_triplets"]

FieldsT = TypeVar("FieldsT", bound=NamedTuple)
_NUMBERS_A_VOTE = 4  # in memory at once, roughly, if votes are repeated


class Triplets:
    """Comparisons of distances made by observers: validated, immutable, sliceable.

    Repeated and contradicting answers are data, and are kept.

    Parameters
    ----------
    answers : array-like of shape (m, 3) or (m, 4), data frame, or Triplets
        Rows (anchor, near, far), "anchor is closer to near than to far", or rows (a, b, c, d),
        "a–b is closer than c–d", as numbers from 0 or as names. A data frame has columns of
        these names, and may have observer, screen, response_time, and weight or count; other
        columns are ignored. As in files, usual synonyms are accepted: participant or subject_id
        for observer; probe, closer and farther for anchor, near and far.
    n_objects : int, optional
        Number of objects; by default the largest number plus one.
    names : sequence of str, optional
        The name of every object. By default the names that occur, "img2" before "img10".
    observers : array-like of shape (m,), optional
        Who gave each answer. Like the next three it overrides a column of a data frame.
    screens : array-like of shape (m,), optional
        The screen of each answer: answers from one screen are one choice. The same label of two
        observers means two screens.
    weights : array-like of shape (m,), optional
        Positive weights, or how often each answer was given.
    response_times : array-like of shape (m,), optional
        Seconds that each answer took, NaN if missing.

    Examples
    --------
    >>> answers = Triplets([["cat", "dog", "car"], ["car", "bus", "dog"]])
    >>> answers.names
    ('bus', 'car', 'cat', 'dog')
    >>> answers.array
    array([[2, 3, 1],
           [1, 0, 3]])
    """

    __slots__ = ("_fields",)

    def __init__(
        self,
        answers: Any,
        *,
        n_objects: int | None = None,
        names: Iterable[str] | None = None,
        observers: Any = None,
        screens: Any = None,
        weights: Any = None,
        response_times: Any = None,
    ) -> None:
        self._fields = freeze(
            check(answers, n_objects, names, observers, screens, weights, response_times)
        )

    @property
    def array(self) -> Index:
        """The comparisons, (m, 3) rows (anchor, near, far) or (m, 4) rows (a, b, c, d)."""
        return self._fields.array

    @property
    def n_objects(self) -> int:
        """Number of objects, mentioned or not."""
        return self._fields.n_objects

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the objects, if they have names."""
        return self._fields.names

    @property
    def observers(self) -> Array | None:
        """Who gave each answer, if known."""
        return self._fields.observers

    @property
    def screens(self) -> Array | None:
        """The screen each answer comes from, if known."""
        return self._fields.screens

    @property
    def shares_screens(self) -> bool:
        """Whether some screen has several answers, which are one choice."""
        numbers = self.number_screens()
        return len(numbers) > 0 and int(numbers.max()) + 1 < len(self)

    def number_screens(self) -> Index:
        """Return the screen of each answer (m,), numbered from 0 over all observers.

        Without screens every answer is its own screen.
        """
        if self.screens is None:
            return np.arange(len(self))
        number = np.unique(self.screens, return_inverse=True)[1].reshape(-1)
        if self.observers is not None:
            observer = np.unique(self.observers, return_inverse=True)[1].reshape(-1)
            pair = number * (observer.max(initial=0) + 1) + observer
            number = np.unique(pair, return_inverse=True)[1].reshape(-1)
        return number.astype(np.int64)

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """The weight or count of each answer, if they differ."""
        return self._fields.weights

    @property
    def response_times(self) -> NDArray[np.float64] | None:
        """Seconds that each answer took, NaN if missing; None if all are."""
        return self._fields.response_times

    @property
    def votes(self) -> Index | None:
        """How often each answer was given (m,), if all weights are whole numbers, else None."""
        return count_votes(self.weights)

    @property
    def n_answers(self) -> int:
        """Number of answers: rows, or votes if weights count them."""
        return len(self) if self.votes is None else int(self.votes.sum())

    def each_vote(self) -> Index:
        """Return the row of every single answer: one with three votes occurs three times."""
        need_votes(self)
        rows = np.arange(len(self))
        return rows if self.votes is None else np.repeat(rows, self.votes)

    @property
    def is_quadruplets(self) -> bool:
        """Whether the rows are (a, b, c, d) and not (anchor, near, far)."""
        return bool(self.array.shape[1] == 4)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of `array`."""
        return self.array.shape

    @property
    def ndim(self) -> int:
        """Always 2."""
        return self.array.ndim

    @property
    def dtype(self) -> np.dtype[np.int64]:
        """Always int64."""
        return self.array.dtype

    def pairs(self) -> Index:
        """Return all comparisons as (m, 4) quadruplets: (i, j, l) becomes (i, j, i, l)."""
        return self.array if self.is_quadruplets else self.array[:, [0, 1, 0, 2]]

    def encode(self, comparisons: Any) -> Index:
        """Turn other comparisons of these objects, by number or by name, into a checked array.

        Parameters
        ----------
        comparisons : array-like of shape (m, 3) or (m, 4), data frame, or Triplets
            Named Triplets are matched by name.

        Returns
        -------
        ndarray of int64 of the same shape
        """
        cells, extras = read_answers(comparisons)
        names = extras.get("names")
        if names is not None and names != self.names:
            cells = np.array(names, dtype=object)[cells]
        check_shape(cells)
        words = COLUMNS[cells.shape[1]]
        cells = settle_types(cells, words, row_number, frozenset(self.names or ()))
        by_name = cells.dtype.kind in "OU"
        array = look_up(cells, self.names, row_number) if by_name else whole(cells, row_number)
        check_comparisons(array, self.n_objects, self.names, row_number)
        return array

    def __len__(self) -> int:
        return len(self.array)

    def __iter__(self) -> Iterator[Triplets]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        """Return the chosen rows as Triplets (columns such as `T[:, 0]` as an array)."""
        if isinstance(key, tuple):
            if len(key) != 2 or not (key[1] is Ellipsis or key[1] == slice(None)):
                return self.array[key]
            key = key[0]
        rows = as_rows(key)
        array, n_objects, names, *columns = self._fields
        chosen = [None if column is None else column[rows] for column in columns]
        return restore(Fields(array[rows], n_objects, names, *chosen))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        return np.array(self.array, dtype=dtype, copy=copy)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Triplets):
            return NotImplemented
        fields: Iterator[tuple[Any, Any]] = zip(self._fields, other._fields, strict=True)
        return all(map(same_field, *zip(*fields, strict=True)))

    def __reduce__(self) -> tuple[Callable[[Fields], Triplets], tuple[Fields]]:
        return restore, (self._fields,)  # freezes again: an unpickled array is writable

    def __repr__(self) -> str:
        kind = "quadruplet" if self.is_quadruplets else "triplet"
        parts = [f"{counted(len(self), kind)} of {self.n_objects} objects"]
        if self.names is not None:
            parts[0] += f" named {listing(self.names, range(self.n_objects), limit=3)}"
        for word, labels in ("observer", self.observers), ("screen", self.screens):
            if labels is not None:
                parts += [counted(len(np.unique(labels)), word)]
        if self.weights is not None:
            parts += [f"total weight {self.weights.sum():g}"]
        return f"Triplets({', '.join(parts)})"


def same_field(mine: Any, theirs: Any) -> bool:
    """Whether two fields are equal; missing response times equal each other."""
    numbers = all(isinstance(a, np.ndarray) and a.dtype.kind == "f" for a in (mine, theirs))
    return np.array_equal(mine, theirs, equal_nan=numbers)


def freeze(fields: FieldsT) -> FieldsT:
    """The same fields, whose arrays can no longer be written."""
    for field in fields:
        if isinstance(field, np.ndarray):
            field.setflags(write=False)
    return fields


def restore(fields: Fields) -> Triplets:
    """Make Triplets from checked fields."""
    triplets = Triplets.__new__(Triplets)
    triplets._fields = freeze(fields)
    return triplets


def count_votes(weights: Floats | None) -> Index | None:
    """Weights (m,) as numbers of votes, if all of them are whole, else None."""
    if weights is None or (np.floor(weights) != weights).any():
        return None
    return weights.astype(np.int64)


class _Counted(Protocol):
    @property
    def n_answers(self) -> int: ...


def need_votes(answers: _Counted) -> None:
    """Raise an error if the single votes would not fit into memory."""
    need_memory(
        _NUMBERS_A_VOTE * answers.n_answers,
        "Weights that are whole numbers count answers, and repeating all "
        f"{answers.n_answers} of them",
        "give smaller counts or, if the weights do not count answers, divide all of them by the "
        "same number",
    )


def as_rows(key: Any) -> slice | Array:
    """Turn a row index into one that keeps two dimensions."""
    if isinstance(key, slice):
        return key
    rows = np.asarray(key)
    if rows.size == 0 and rows.ndim == 1 and rows.dtype.kind == "f":  # an empty list
        rows = rows.astype(np.intp)
    if rows.ndim == 1 and rows.dtype.kind in "iub":
        return rows
    if rows.ndim == 0 and rows.dtype.kind in "iu":
        return rows[np.newaxis]
    raise IndexError(f"rows are selected by an int, a slice, integers or a mask, got {key!r}")


def as_triplets(answers: Any, n_objects: int | None = None) -> Triplets:
    """Return Triplets unchanged, or make them from anything that `Triplets` accepts.

    Parameters
    ----------
    answers : Triplets, Choices, array-like or data frame
        The comparisons; of Choices, those within them.
    n_objects : int, optional
        Number of objects; may exceed that of Triplets without names.
    """
    if callable(split := getattr(answers, "triplets", None)):
        answers = split()
    if not isinstance(answers, Triplets):
        return Triplets(answers, n_objects=n_objects)
    check_shape(answers.array)
    count = settle_more_objects(n_objects, answers.names, answers.n_objects, "Triplets")
    return (
        answers
        if count == answers.n_objects
        else restore(answers._fields._replace(n_objects=count))
    )
