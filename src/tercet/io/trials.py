"""Trials: what readers of experiments share, and `build`, in which every reader ends.

A reader finds the trials of its file, skips those that are not answers, and determines which
objects each of the others compares. `build` checks everything, once, and makes the `Reading`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.answers.checks import check, placed, settle_observers
from tercet.answers.choices import Choices
from tercet.answers.either import as_ties
from tercet.answers.titles import COLUMNS, TIME_WORDS, find_times, time_unit
from tercet.answers.triplets import restore
from tercet.arrays import Bools, Index
from tercet.errors import InputError
from tercet.io.cells import Cells, Codes
from tercet.io.reading import Catch, Reading, ReadOptions, Skipped, count_skipped, no_answers

__all__ = [
    "BESIDE",
    "ArrayRows",
    "Beside",
    "Times",
    "Trials",
    "build",
    "check_times",
    "find_beside",
    "find_sides",
    "make_catch",
    "of_sides",
    "read_times",
    "reject_equal",
    "split_choice",
]

Text = NDArray[np.object_]

BESIDE = ("observer", *TIME_WORDS)  # our words for optional columns

_CALLED = {0.001: "milliseconds", 1.0: "seconds"}
LONGEST = 86_400.0  # a day: nobody thinks about an answer for longer
# Nobody answers in less than 100 ms, so milliseconds read as seconds have a median above SLOW, and
# seconds read as milliseconds have one below FAST.
SLOW, FAST = 100.0, 0.02


class Times(NamedTuple):
    """Response times, with a note and possible problems.

    Attributes
    ----------
    seconds : (m,) array
        NaN where unknown.
    note : str
        How they were read, if the title of their column decided that.
    doubts : tuple of str
        Possible problems, in sentences.
    """

    seconds: NDArray[np.float64]
    note: str = ""
    doubts: tuple[str, ...] = ()


class Beside(NamedTuple):
    """What is known of trials except their objects."""

    fields: Mapping[str, Any]  # observers, screens and weights (m,), if known
    times: Times | None = None

    def of_screens(self, screens: NDArray[np.int64]) -> Beside:
        """The same, with these screen numbers."""
        return self._replace(fields={**self.fields, "screens": screens})

    def take(self, trials: NDArray[Any]) -> Beside:
        """The same for the chosen trials, by a mask or by numbers."""
        times = self.times
        return Beside(
            {field: values[trials] for field, values in self.fields.items()},
            None if times is None else times._replace(seconds=times.seconds[trials]),
        )


class ArrayRows(NamedTuple):
    """Rows of an array, and what is known of them."""

    path: str
    cells: NDArray[Any]
    beside: Beside
    line: Callable[[int], str]  # place of a row
    where: Callable[[int], str]  # the same with the name of the file


def build(
    found: Cells | ArrayRows,
    cells: NDArray[Any],
    options: ReadOptions,
    beside: Beside,
    *,
    rows: int,
    trial: NDArray[np.int64] | None = None,
    skipped: tuple[Skipped, ...] = (),
    catch: Catch | None = None,
    note: str = "",
    positions: Index | None = None,
    tied: Bools | None = None,
) -> Reading:
    """Check comparisons and make a `Reading` of them.

    Parameters
    ----------
    found : Cells or ArrayRows
        The trials, with their places in the file.
    cells : (m, 3) or (m, 4) array
        The comparisons, by number or by name.
    options : ReadOptions
    beside : Beside
        Observers, screens, weights and times of every trial.
    rows : int
        Number of rows in the file.
    trial : (m,) integers, optional
        The trial that each comparison comes from; by default they are the trials.
    skipped, catch, note
        As in `Reading`.
    positions : (m, 2) integers, optional
        Where the near and the far pair of each comparison were shown, from 0; -1 if unknown.
    tied : (m,) bool array, optional
        Comparisons of choices in which the observer could not tell; their order means nothing.
    """
    tied = np.zeros(len(cells), dtype=np.bool_) if tied is None else tied
    if tied.all():
        caught = 0 if catch is None else len(catch.passed)
        undecided = len(np.unique(np.arange(len(cells)) if trial is None else trial))
        raise InputError(no_answers(found.path, rows, skipped, caught, undecided))
    number = np.arange(len(cells)) if trial is None else trial
    times = beside.times
    every = beside if trial is None else beside.take(trial)
    fields = dict(every.fields)
    if every.times is not None:
        fields["response_times"] = every.times.seconds
    with placed(lambda row: found.line(int(number[row]))):
        checked = check(
            cells,
            options.n_objects,
            options.names,
            **fields,
            where=lambda row: found.where(int(number[row])),
        )
    triplets, ties = restore(checked), None
    if positions is not None and (positions < 0).all():
        positions = None
    if tied.any():
        sides = None if positions is None else positions[tied]
        ties = as_ties(Choices.from_triplets(triplets[tied], positions=sides))
        triplets = triplets[~tied]
        positions = None if positions is None else positions[~tied]
    return Reading(
        triplets,
        found.path,
        positions=positions,
        ties=ties,
        rows=rows,
        skipped=skipped,
        catch=catch,
        note=" ".join(filter(None, (times.note if times else "", note))),
        doubts=times.doubts if times else (),
    )


class Trials(NamedTuple):
    """The trials of a table that are kept, and why others were skipped."""

    table: Cells
    rows: int
    skipped: tuple[Skipped, ...] = ()

    @classmethod
    def of(cls, table: Cells) -> Trials:
        """All rows of a table."""
        return cls(table, len(table))

    def skip(self, left_out: NDArray[np.bool_], reason: str) -> Trials:
        """Skip and count the trials of a mask; an error if none is left."""
        table = self.table
        skipped = (*self.skipped, *count_skipped(reason, left_out, table.line))
        if left_out.all():
            raise InputError(no_answers(table.path, self.rows, skipped, 0))
        kept = table.take(~left_out) if left_out.any() else table
        return Trials(kept, self.rows, skipped)

    def objects(self, *columns: Codes) -> Cells:
        """Anchor, near and far of every trial, from codes (m,) of the table."""
        return self.table.with_columns(COLUMNS[3], np.column_stack(columns))

    def build(
        self,
        cells: NDArray[Any],
        options: ReadOptions,
        beside: Beside,
        *,
        trial: NDArray[np.int64] | None = None,
        note: str = "",
        positions: Index | None = None,
        tied: Bools | None = None,
    ) -> Reading:
        """Make a `Reading` of the comparisons; see the function `build`."""
        return build(
            self.table,
            cells,
            options,
            beside,
            rows=self.rows,
            trial=trial,
            skipped=self.skipped,
            note=note,
            positions=positions,
            tied=tied,
        )

    def read(
        self,
        objects: Cells,
        options: ReadOptions,
        *,
        names: Iterable[str] | None = None,
        times: Times | None = None,
        sides: Index | None = None,
        tied: Bools | None = None,
    ) -> Reading:
        """The trials as answers.

        Parameters
        ----------
        objects : Cells
            Anchor, near and far of every trial. If near or far is the anchor itself, this is a
            catch trial.
        options : ReadOptions
        names : iterable of str, optional
            Names in the order of the file; those without answers are left out.
        times : Times, optional
            Response times (m,).
        sides : (m,) integers, optional
            Where near was shown: on the left (0) or on the right (1); -1 if unknown.
        tied : (m,) bool array, optional
            Trials in which the observer could not tell.
        """
        observers = _find_observers(self.table)
        anchor, near, far = objects.codes.T
        caught = (anchor == near) | (anchor == far)
        passed = anchor == near
        if tied is not None:
            passed &= ~tied
        if caught.all():
            raise InputError(no_answers(objects.path, self.rows, self.skipped, len(caught)))
        answers = objects.take(~caught) if caught.any() else objects
        answers.reject_blank(range(3))
        if names is not None:
            occur = set(answers.used())
            options = options._replace(names=[each for each in names if each in occur])
        cells, known = answers.objects(answers.codes, options.names)
        fields = {}
        if observers is not None:
            fields["observers"] = settle_observers(observers[~caught].tolist())
        if times is not None:
            times = times._replace(seconds=times.seconds[~caught])
        return build(
            answers,
            cells,
            options._replace(names=known),
            Beside(fields, times),
            rows=self.rows,
            skipped=self.skipped,
            catch=make_catch(passed, observers, caught),
            positions=None if sides is None else of_sides(sides)[~caught],
            tied=None if tied is None else tied[~caught],
        )


def make_catch(
    passed: NDArray[np.bool_], observers: NDArray[Any] | None, caught: NDArray[np.bool_]
) -> Catch | None:
    """The ``caught`` among all trials (m,), None if there are none.

    Observers are those of all trials, so that they have one type.
    """
    if not caught.any():
        return None
    if observers is None:
        return Catch(passed[caught], None)
    who = observers[caught]
    return Catch(passed[caught], who.astype(str) if who.dtype.kind == "O" else who)


# --- choices ----------------------------------------------------------------------------------


def of_sides(sides: Index) -> Index:
    """Positions (m, 2) of near and far, from the side (m,) of near; -1 if unknown."""
    return np.column_stack([sides, np.where(sides < 0, -1, 1 - sides)])


def find_sides(table: Cells, near: Codes, far: Codes) -> Index | None:
    """The side of near (m,), if there are columns left and right; -1 where they differ from it."""
    left, right = table.find("left"), table.find("right")
    if left is None or right is None:
        return None
    first, second = table.column(left), table.column(right)
    on_left, on_right = (first == near) & (second == far), (first == far) & (second == near)
    return np.where(on_left, 0, np.where(on_right, 1, -1))


def split_choice(
    table: Cells, left: Codes, right: Codes, chosen: Codes, what: str
) -> tuple[Codes, Codes, Index]:
    """Near and far (m,), where ``chosen`` is one of the two, and the side of near."""

    def describe(row: int) -> str:
        one, first, second = (table.unique[codes[row]] for codes in (chosen, left, right))
        return (
            f"the {what} is {one!r}, which is neither on the left ({first!r}) nor on the right "
            f"({second!r})"
        )

    table.reject(
        (chosen != left) & (chosen != right),
        describe,
        "Correct or remove it.",
        f"whose {what} was not shown",
    )
    on_left = chosen == left
    return chosen, np.where(on_left, right, left), np.where(on_left, 0, 1)


def reject_equal(table: Cells, places: Sequence[tuple[int, int]], cure: str) -> None:
    """Refuse rows whose cells are the same in one of these pairs of columns."""
    for first, second in places:
        words = f"{table.header[first]} and {table.header[second]}"
        both = table.text(table.column(first))

        def describe(row: int, words: str = words, both: Text = both) -> str:
            return f"{words} are both {both[row]!r}"

        same = table.column(first) == table.column(second)
        table.reject(same, describe, cure, f"in which {words} are the same")


# --- observers and times ----------------------------------------------------------------------


def find_beside(table: Cells) -> Beside:
    """Observers, and response times in seconds, of a table."""
    observers, time = _find_observers(table), find_times(table.header)
    fields = {} if observers is None else {"observers": observers}
    return Beside(fields, None if time is None else read_times(table, time))


def _find_observers(table: Cells) -> NDArray[Any] | None:
    """Who answered (rows,), if known."""
    place = table.find_observer()
    if place is None:
        return None
    table.reject_blank([place], objects=False)
    return settle_observers(table.text(table.column(place)))


def read_times(table: Cells, place: int, unit: float = 1.0) -> Times:
    """A column of response times; ``unit`` in seconds, unless the title states it."""
    title = table.title(place)
    # The caller's title overrides the file's.
    stated = next((u for each in (table.header[place], title) if (u := time_unit(each))), None)
    factor = unit if stated is None else stated
    found = check_times(table.times(place) * factor, table.line, as_seconds=factor == 1.0)
    if stated is None or title.lower() in TIME_WORDS:
        return found
    return found._replace(note=f"Response times are read from {title!r}, in {_CALLED[stated]}.")


def check_times(
    values: NDArray[Any], line: Callable[[int], str], *, as_seconds: bool = True
) -> Times:
    """Seconds (m,), impossible ones as NaN, with possible problems.

    ``line`` is the place of a time, ``as_seconds`` whether the file is assumed to have seconds.
    """
    seconds = np.array(values, dtype=np.float64)
    wrong = (seconds < 0) | (seconds > LONGEST)
    seconds[wrong] = np.nan
    doubts = []
    if count := np.count_nonzero(wrong):
        what = "1 response time is" if count == 1 else f"{count} response times are"
        doubts.append(
            f"{what} impossible (below 0, above a day or not a number) and treated as missing "
            f"(first: {line(int(wrong.argmax()))})."
        )
    known = seconds[~np.isnan(seconds)]
    median = float(np.median(known)) if known.size else 1.0
    if median > SLOW and as_seconds:
        doubts.append(
            f"Response times look like milliseconds: as seconds, their median is {median:g}. If "
            "so, name their column response_time_ms."
        )
    elif 0.0 < median < FAST:
        doubts.append(
            f"Response times have a median of {median:g} seconds, too short for an answer. Check "
            "their unit, and name their column response_time if they are seconds."
        )
    return Times(seconds, "", tuple(doubts))
