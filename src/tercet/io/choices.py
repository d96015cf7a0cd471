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
from tercet.io.times import Times, read_times
from tercet.observers import settle_observers
from tercet.refusals import placed
from tercet.titles import TIME_WORDS, find_times
from tercet.triplets import restore

__all__ = ["BESIDE", "Beside", "Choices", "beside", "find_observers", "reject_equal"]

BESIDE = ("observer", *TIME_WORDS)  # our words for what stands beside the objects


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
    line, where : callable
        Say where a choice is, in its file and with the file.
    times : Times, optional
        What is to be said of the response times.
    """

    cells: NDArray[Any]
    choice: NDArray[np.int64]
    known: Mapping[str, NDArray[Any]]
    line: Callable[[int], str]
    where: Callable[[int], str]
    times: Times | None = None

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
        with placed(lambda row: self.line(int(self.choice[row]))):
            checked = check(
                self.cells,
                options.n_objects,
                options.names,
                **{field: values[self.choice] for field, values in self.known.items()},
                where=lambda row: self.where(int(self.choice[row])),
            )
        reading = Reading(restore(checked), path, name, title, rows, skipped, catch)
        return reading if self.times is None else reading.with_times(self.times)


class Beside(NamedTuple):
    """What stands beside the objects of a table.

    Attributes
    ----------
    known : dict
        observers and response_times (rows,), where the table has them.
    times : Times or None
    """

    known: dict[str, NDArray[Any]]
    times: Times | None


def beside(table: Cells) -> Beside:
    """What stands beside the objects of a table: observers, and response times in seconds."""
    known: dict[str, NDArray[Any]] = {}
    if (observers := find_observers(table)) is not None:
        known["observers"] = observers
    place = find_times(table.header)
    times = None if place is None else read_times(table, place)
    if times is not None:
        known["response_times"] = times.seconds
    return Beside(known, times)


def find_observers(table: Cells) -> NDArray[Any] | None:
    """Who answered (rows,), where the table says it."""
    place = table.find_observer()
    if place is None:
        return None
    table.reject_blank([place], objects=False)
    return settle_observers(table.text(table.column(place)))


def reject_equal(table: Cells, first: int, second: int, cure: str) -> None:
    """Refuse rows whose cells in two columns are the same."""
    words = table.header[first], table.header[second]
    table.reject(
        table.column(first) == table.column(second),
        lambda row: f"{words[0]} and {words[1]} are both {table.unique[table.codes[row, first]]!r}",
        cure,
        f"in which {words[0]} and {words[1]} are the same",
    )
