"""What the files of experiment programs have in common: trials, of which some are answers."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.checks import natural_key
from tercet.errors import InputError
from tercet.io.cells import Cells, make_cells
from tercet.io.reading import (
    Options,
    Reading,
    Skipped,
    count_skipped,
    make_catch,
    no_answers,
)
from tercet.io.stimuli import Text, short_names
from tercet.io.tidy import read_columns
from tercet.io.times import Times
from tercet.observers import settle_observers

__all__ = [
    "Answered",
    "by_position",
    "named",
    "nearest_of",
    "rename",
    "shorten",
    "skip",
    "translate",
    "whole_numbers",
]


class Answered(NamedTuple):
    """The trials of a table that are left, and why the others were left out."""

    table: Cells
    rows: int
    skipped: tuple[Skipped, ...] = ()

    def text(self, place: int) -> Text:
        """A column (m,) as text."""
        return self.table.text(self.table.column(place))

    def read(
        self,
        objects: Text,
        options: Options,
        name: str,
        title: str,
        *,
        names: Sequence[str] | None = None,
        observer: int | None = None,
        times: Times | None = None,
    ) -> Reading:
        """The trials as answers.

        Parameters
        ----------
        objects : (m, 3) array of str
            Anchor, near and far of every trial. Where one of the two is the anchor itself, this is
            a catch trial.
        options : Options
        name, title : str
            Of the format.
        names : sequence of str, optional
            Names in their order, as the file has it; those that no answer has are left out.
        observer : int, optional
            The column of the observers; empty if they are unknown.
        times : Times, optional
            Response times (m,).
        """
        table = self.table
        if observer is not None and table.blank([observer]).all():
            observer = None
        if observer is not None:
            table.reject_blank([observer], objects=False)
        caught = (objects[:, :1] == objects[:, 1:]).any(axis=1)
        if caught.all():
            raise InputError(no_answers(self.table.path, self.rows, self.skipped, len(caught)))
        if names is not None:
            occur = set(objects[~caught].ravel().tolist())
            options = options._replace(names=[each for each in names if each in occur])
        columns: list[Sequence[str]] = [*objects.T.tolist()]
        header = ["anchor", "near", "far"]
        who = None if observer is None else settle_observers(self.text(observer))
        if who is not None:
            header, columns = [*header, "observer"], [*columns, list(map(str, who.tolist()))]
        if times is not None:
            seconds = ["" if time != time else repr(time) for time in times.seconds.tolist()]
            header, columns = [*header, "response_time"], [*columns, seconds]
        tidy = make_cells(table.path, header, list(zip(*columns, strict=True)), table.lines)
        tidy = replace(tidy, unit=table.unit, named=table.named)
        reading = read_columns(tidy.take(~caught), options, name, title)
        passed = tidy.column(0) == tidy.column(1)
        reading = replace(
            reading,
            rows=self.rows,
            skipped=self.skipped,
            catch=make_catch(passed, who, caught),
        )
        if times is None:
            return reading
        # Their unit was settled here; that they are impossible is said of the file's own cells.
        return replace(reading, doubts=()).with_times(times)


def skip(trials: Answered, left_out: NDArray[np.bool_], reason: str) -> Answered:
    """Leave out the trials of a mask and count them; an error if no trial is left."""
    skipped = (*trials.skipped, *count_skipped(reason, left_out, trials.table.line))
    if left_out.all():
        raise InputError(no_answers(trials.table.path, trials.rows, skipped, 0))
    kept = trials.table.take(~left_out) if left_out.any() else trials.table
    return Answered(kept, trials.rows, skipped)


def rename(table: Cells, columns: Mapping[str, str] | None, words: Sequence[str]) -> Cells:
    """The table with our words over the columns that ``columns`` maps them to."""
    for word in columns or ():
        if word not in words:
            raise InputError(
                f"columns: {word!r} is not known for this format; known are {', '.join(words)}."
            )
    for word, other in itertools.combinations(columns or (), 2):
        if columns and columns[word] == columns[other]:
            raise InputError(
                f"columns: {columns[word]!r} is given for both {word!r} and {other!r}."
            )
    return table.renamed(columns)


def named(options: Options) -> list[str]:
    """The names that the caller gives, none if there are none."""
    names: Any = options.names
    return [] if names is None or isinstance(names, str) else list(names)


def shorten(objects: Text, options: Options) -> tuple[Text, list[str] | None]:
    """Stimuli by their short names, and these in their order if they are not as in the file."""
    names = short_names(np.unique(objects).tolist(), named(options))
    if all(cell == name for cell, name in names.items()):
        return objects, None
    ordered = sorted(set(names.values()), key=natural_key) if options.names is None else None
    return translate(objects, names), ordered


def translate(objects: Text, names: Mapping[str, str]) -> Text:
    """Every cell of an array replaced by its name."""
    return np.array([[names[cell] for cell in row] for row in objects], dtype=object)


def by_position(trials: Answered, objects: Text, options: Options) -> Text:
    """Numbers from 0 (m, 3) replaced by the names that the caller gives, unless these are names."""
    names = named(options)
    cells = np.unique(objects).tolist()
    if not names or not set(names).isdisjoint(cells):
        return objects
    name_of = {str(i): name for i, name in enumerate(names)}
    beyond = ~np.isin(objects, list(name_of))
    if beyond.any():
        row, column = np.argwhere(beyond)[0]
        raise InputError(
            f"{trials.table.where(row)}: there is an object {objects[row, column]!r}, but the "
            f"{len(names)} names are for the objects 0 to {len(names) - 1}. Give all names."
        )
    return translate(objects, name_of)


def nearest_of(
    trials: Answered, left: Text, right: Text, chosen: Text, what: str
) -> tuple[Text, Text]:
    """Near and far (m,), where ``chosen`` is one of the two."""
    trials.table.reject(
        (chosen != left) & (chosen != right),
        lambda row: (
            f"the {what} is {chosen[row]!r}, which is neither on the left ({left[row]!r}) nor on "
            f"the right ({right[row]!r})"
        ),
        "Correct or remove it.",
        f"whose {what} was not shown",
    )
    return chosen, np.where(chosen == left, right, left)


def whole_numbers(table: Cells) -> Cells:
    """The table with 3 for 3.0: programs write numbers so in a column that has a gap."""
    return replace(table, unique=[_whole(cell) for cell in table.unique])


def _whole(cell: str) -> str:
    start, dot, end = cell.partition(".")
    whole = dot and start.isascii() and start.isdigit() and end.strip("0") == ""
    return start if whole else cell
