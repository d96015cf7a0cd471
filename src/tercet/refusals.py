"""Refusing rows: the first of them is told, and all are counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tercet.errors import RowsError
from tercet.text import shown

__all__ = ["placed", "reject_cells", "reject_rows"]


@contextmanager
def placed(line: Callable[[int], str]) -> Iterator[None]:
    """Say of rows that are refused inside where in the file they are; ``line(row)`` knows."""
    try:
        yield
    except RowsError as error:
        error.places = list(dict.fromkeys(map(line, error.rows)))
        raise


def reject_rows(
    bad: NDArray[np.bool_],
    problem: Callable[[int], str],
    cure: str,
    where: Callable[[int], str],
    reason: str = "",
) -> None:
    """Raise a `RowsError` about the first of the bad rows, if there is one; it counts them all."""
    if bad.any():
        rows = np.flatnonzero(bad).tolist()
        raise RowsError.about(rows, where(rows[0]), problem(rows[0]), cure, reason)


def reject_cells(
    bad: NDArray[np.bool_],
    cells: NDArray[Any],
    words: Sequence[str],
    problem: str,
    cure: str,
    where: Callable[[int], str],
    reason: str = "",
) -> None:
    """Raise an error about the first bad cell, naming its column and its value."""
    if not bad.any():
        return
    bad, cells = bad.reshape(len(cells), -1), cells.reshape(len(cells), -1)

    def describe(row: int) -> str:
        column = int(bad[row].argmax())
        return f"{words[column]} is {shown(cells[row, column : column + 1].tolist()[0])}, {problem}"

    reject_rows(np.logical_or.reduce(bad, axis=1), describe, cure, where, reason)
