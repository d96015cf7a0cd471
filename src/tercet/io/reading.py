"""What was read from a file, and what was not."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.errors import DataWarning
from tercet.triplets import Triplets, restore

__all__ = ["Catch", "Options", "Reading", "Skipped", "count_skipped", "no_answers"]


class Options(NamedTuple):
    """What the caller says about a file; see `read_file`."""

    n_objects: int | None = None
    names: Iterable[str] | None = None
    columns: Mapping[str, str] | None = None


@dataclass(frozen=True)
class Skipped:
    """Rows of a file that became no answer."""

    reason: str  # such as "without an answer"
    count: int
    first: str  # where the first of them is, such as "line 12"

    def __str__(self) -> str:
        return f"{_count(self.count, 'row')} {self.reason} (the first: {self.first})"


class Catch(NamedTuple):
    """Catch trials: questions whose right answer is known, to see who pays attention."""

    passed: NDArray[np.bool_]  # (k,)
    observers: NDArray[Any] | None  # (k,)


@dataclass(frozen=True)
class Reading:
    """The answers in a file, and how they were read.

    Attributes
    ----------
    triplets : Triplets
    path : str
    format : str
        The name of the format, such as "salmon".
    title : str
        The format in words, such as "Salmon CSV".
    rows : int
        How many rows, screens or trials the file has.
    skipped : tuple of Skipped
        What became no answer, and why.
    catch : Catch or None
        Catch trials, which are no answers either, where the file marks them.
    note : str
        What else is to be said, in a sentence.
    """

    triplets: Triplets
    path: str
    format: str
    title: str
    rows: int
    skipped: tuple[Skipped, ...] = ()
    catch: Catch | None = None
    note: str = ""

    def sentences(self) -> list[str]:
        """What was read and what was left out, in plain words."""
        answers, rows = _count(len(self.triplets), "answer"), _count(self.rows, "row")
        said = [f"Read as {self.title}: {answers} from {rows}."]
        said += [self.note] if self.note else []
        said += [f"Left out: {each}." for each in self.skipped]
        if self.catch is not None:
            said += [
                f"Kept apart: {_count(len(self.catch.passed), 'catch trial')}, "
                f"{np.count_nonzero(self.catch.passed)} passed."
            ]
        return said

    def by_labels(self) -> Reading:
        """The same with numbers as labels, where objects seem to be numbered from 1.

        That is so where objects have no names, and 0, alone of all numbers, never occurs.
        """
        triplets = self.triplets
        seen = np.bincount(triplets.array.ravel(), minlength=triplets.n_objects) > 0
        if triplets.names is not None or seen[0] or not seen[1:].all():
            return self
        labels = [str(number) for number in range(1, triplets.n_objects)]
        shifted = triplets._fields._replace(
            array=triplets.array - 1, n_objects=len(labels), names=tuple(labels)
        )
        note = f"Objects are taken to be numbered from 1. {self.note}".strip()
        return replace(self, triplets=restore(shifted), note=note)

    def warn(self, stacklevel: int = 2) -> None:
        """Issue what was left out as `DataWarning`."""
        for each in self.skipped:
            warnings.warn(
                f"{self.path}: of {_count(self.rows, 'row')}, left out: {each}.",
                DataWarning,
                stacklevel=stacklevel,
            )


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def no_answers(path: str, rows: int, skipped: Sequence[Skipped], caught: int) -> str:
    """What to say of a file in which no row is an answer."""
    why = [str(each) for each in skipped]
    why += [_count(caught, "catch trial")] if caught else []
    told = f": {'; '.join(why)}" if why else ""
    return (
        f"{path}: none of {_count(rows, 'row')} is an answer{told}. Is this the right file, and "
        "are these the right columns?"
    )


def count_skipped(reason: str, skipped: NDArray[np.bool_], where: Any) -> tuple[Skipped, ...]:
    """One `Skipped` for the rows of a mask, none if there are none; ``where(row)`` says where."""
    count = int(np.count_nonzero(skipped))
    return (Skipped(reason, count, where(int(skipped.argmax()))),) if count else ()
