"""What Triplets and Choices share: rows that say who answered, on which screen and how often."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from tercet.answers.alternatives import ChoiceFields
from tercet.answers.checks import Array, Fields
from tercet.arrays import Floats, Index
from tercet.running.memory import need_memory
from tercet.text import counted, listing

FieldsT = TypeVar("FieldsT", bound=NamedTuple)
_NUMBERS_A_VOTE = 4  # in memory at once, roughly, if votes are repeated


class AnswerTable(ABC):
    """Rows of answers about the same objects, which cannot be changed."""

    __slots__ = ("_fields",)
    _fields: Fields | ChoiceFields

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
        """The screen of each answer, if known."""
        return self._fields.screens

    @property
    def weights(self) -> Floats | None:
        """The weight or count of each answer, if they differ."""
        return self._fields.weights

    @property
    def response_times(self) -> Floats | None:
        """Seconds that each answer took, NaN if missing; None if all are."""
        return self._fields.response_times

    @property
    def votes(self) -> Index | None:
        """How often each answer was given (m,), if all weights are whole numbers, else None."""
        if self.weights is None or (np.floor(self.weights) != self.weights).any():
            return None
        return self.weights.astype(np.int64)

    @property
    def n_answers(self) -> int:
        """Number of answers: rows, or votes if weights count them."""
        votes = self.votes
        return len(self) if votes is None else int(votes.sum())

    def each_vote(self) -> Index:
        """Return the row of every single answer: one with three votes occurs three times."""
        need_votes(self)
        rows = np.arange(len(self))
        return rows if self.votes is None else np.repeat(rows, self.votes)

    @abstractmethod
    def __len__(self) -> int:
        """Number of rows."""

    @abstractmethod
    def __getitem__(self, key: Any) -> Any:
        """Some of the rows."""

    def __iter__(self) -> Iterator[Self]:
        return (self[i] for i in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return all(map(_same_field, self._fields, other._fields))

    def _describe(self, kind: str) -> list[str]:
        """What there is of objects, observers, screens and weights, in words."""
        parts = [f"{counted(len(self), kind)} of {self.n_objects} objects"]
        if self.names is not None:
            parts[0] += f" named {listing(self.names, range(self.n_objects), limit=3)}"
        for word, labels in ("observer", self.observers), ("screen", self.screens):
            if labels is not None:
                parts += [counted(len(np.unique(labels)), word)]
        if self.weights is not None:
            parts += [f"total weight {self.weights.sum():g}"]
        return parts


def _same_field(mine: Any, theirs: Any) -> bool:
    """Whether two fields are equal; missing response times equal each other."""
    numbers = all(isinstance(a, np.ndarray) and a.dtype.kind == "f" for a in (mine, theirs))
    return np.array_equal(mine, theirs, equal_nan=numbers)


def freeze(fields: FieldsT) -> FieldsT:
    """The same fields, whose arrays can no longer be written."""
    for field in fields:
        if isinstance(field, np.ndarray):
            field.setflags(write=False)
    return fields


def need_votes(answers: AnswerTable) -> None:
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
