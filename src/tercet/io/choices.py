"""Choices among several objects at once, and the comparisons that they say."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.checks import check
from tercet.errors import InputError
from tercet.io.cells import Cells
from tercet.io.reading import Catch, Options, Reading, Skipped, no_answers
from tercet.triplets import restore

__all__ = ["BESIDE", "Choices", "beside", "reject_equal"]

BESIDE = ("observer", "response_time")  # our words for what stands beside the objects


class Choices(NamedTuple):
    """Comparisons that choices say, and what is known of the choices.

    Attributes
    ----------
    cells : (m, 3) or (m, 4) array
        The comparisons, by number or by name.
    choice : (m,) integers
        The choice that each comparison comes from.
    known : dict
        observers, response_times, … with one entry for every choice.
    where : callable
        Says where a choice is.
    """

    cells: NDArray[Any]
    choice: NDArray[np.int64]
    known: Mapping[str, NDArray[Any]]
    where: Callable[[int], str]

    def read(
        self,
        path: str,
        options: Options,
        name: str,
        title: str,
        *,
        rows: int,
        skipped: tuple[Skipped, ...] = (),
        catch: Catch | None = None,
    ) -> Reading:
        """Check the comparisons and say how they were read."""
        if not len(self.cells):
            caught = 0 if catch is None else len(catch.passed)
            raise InputError(no_answers(path, rows, skipped, caught))
        checked = check(
            self.cells,
            options.n_objects,
            options.names,
            **{field: values[self.choice] for field, values in self.known.items()},
            where=lambda row: self.where(int(self.choice[row])),
        )
        return Reading(restore(checked), path, name, title, rows, skipped, catch)


def beside(table: Cells) -> dict[str, NDArray[Any]]:
    """What stands beside the objects of a table: observers, and response times in seconds."""
    known: dict[str, NDArray[Any]] = {}
    observer = table.find_observer()
    if observer is not None:
        table.reject_blank([observer], objects=False)
        known["observers"] = table.numbers_or_text(table.column(observer))
    seconds, milliseconds = table.find("response_time"), table.find("response_time_ms")
    if seconds is not None:
        known["response_times"] = table.times(seconds)
    elif milliseconds is not None:
        known["response_times"] = table.times(milliseconds, unit=0.001)
    return known


def reject_equal(table: Cells, first: int, second: int, cure: str) -> None:
    """Refuse rows whose cells in two columns are the same."""
    same = table.column(first) == table.column(second)
    if same.any():
        row = int(same.argmax())
        raise InputError(
            f"{table.where(row)}: {table.header[first]} and {table.header[second]} are both "
            f"{table.unique[table.codes[row, first]]!r} ({np.count_nonzero(same)} such rows in "
            f"all). {cure}"
        )
