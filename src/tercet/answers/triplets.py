"""Triplets: answers, checked once and then trusted."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

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
from tercet.answers.table import AnswerTable, as_rows, freeze
from tercet.answers.titles import COLUMNS
from tercet.arrays import Index

__all__ = ["Triplets", "as_triplets"]


class Triplets(AnswerTable):
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

    __slots__ = ()
    _fields: Fields

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

    def __reduce__(self) -> tuple[Callable[[Fields], Triplets], tuple[Fields]]:
        return restore, (self._fields,)  # freezes again: an unpickled array is writable

    def __repr__(self) -> str:
        parts = self._describe("quadruplet" if self.is_quadruplets else "triplet")
        return f"Triplets({', '.join(parts)})"


def restore(fields: Fields) -> Triplets:
    """Make Triplets from checked fields."""
    triplets = Triplets.__new__(Triplets)
    triplets._fields = freeze(fields)
    return triplets


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
