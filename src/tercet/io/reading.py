"""A format, the options of its reader, and what was read: `Format`, `ReadOptions`, `Reading`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.answers.checks import label_observers, match_observers
from tercet.answers.choices import Choices, as_answers
from tercet.answers.choices import restore as restore_choices
from tercet.answers.either import Answers, join_ties
from tercet.answers.positions import side_bias
from tercet.answers.triplets import Triplets, restore
from tercet.arrays import Index
from tercet.errors import DataWarning, InputError, list_places
from tercet.io.inputfile import InputFile
from tercet.text import counted, listed, plural

__all__ = ["Catch", "Format", "ReadOptions", "Reading", "Skipped", "count_skipped", "no_answers"]


class ReadOptions(NamedTuple):
    """The options of `read_file`."""

    n_objects: int | None = None
    names: Iterable[str] | None = None
    columns: Mapping[str, str] | None = None

    def listed_names(self) -> list[str]:
        """The names given by the caller, perhaps none."""
        names: Any = self.names
        return [] if names is None or isinstance(names, str) else list(names)


@dataclass(frozen=True)
class Skipped:
    """Rows of a file that are not answers."""

    reason: str  # such as "without an answer"
    count: int
    first: str = ""  # place of the first of them, such as "line 12"
    places: tuple[str, ...] = ()  # place of each of them, if they are invalid

    def __str__(self) -> str:
        where = f" (first: {self.first})" if self.first else ""
        if self.places:
            where = f" ({list_places(self.places)})"
        return f"{counted(self.count, 'row')} {self.reason}{where}"


class Catch(NamedTuple):
    """Catch trials: questions whose correct answer is known, to test attention."""

    passed: NDArray[np.bool_]  # (k,)
    observers: NDArray[Any] | None  # (k,)


@dataclass(frozen=True)
class Reading:
    """The answers in a file, and how they were read.

    Attributes
    ----------
    triplets : Triplets
        The comparisons, without those of choices in which the observer could not tell.
    path : str
    format, title : str
        The format by its name, such as "salmon", and in words, such as "a CSV of Salmon".
    rows : int
        Number of rows, screens or trials in the file.
    skipped : tuple of Skipped
        Rows that are not answers, and why.
    catch : Catch or None
        Catch trials, which are not answers either, if the file marks them.
    note : str
        Anything else about the file, in sentences.
    doubts : tuple of str
        Possible problems of the file, in sentences; also issued as warnings.
    columns : mapping of str to str, optional
        The titles of our columns in the file, as given by the caller.
    named : bool
        Whether the caller gave the names of the objects.
    left_out : tuple of str
        Observers that the caller left out; their answers are counted in ``skipped``.
    skip_invalid : bool
        Whether invalid rows were skipped; they are counted in ``skipped``.
    positions : (m, 2) integer array or None
        Where the near and the far pair of each comparison were shown, from 0 (the left one), or
        -1. For an odd one out, the position of a pair is that of the object left out.
    ties : Choices or None
        The choices in which the observer could not tell.
    """

    triplets: Triplets
    path: str
    format: str = ""
    title: str = ""
    rows: int = 0
    skipped: tuple[Skipped, ...] = ()
    catch: Catch | None = None
    note: str = ""
    columns: Mapping[str, str] | None = None
    named: bool = False
    left_out: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    skip_invalid: bool = False
    positions: Index | None = None
    ties: Choices | None = None

    def answers(self) -> Answers:
        """The answers in the form in which each row is one answer.

        Returns
        -------
        Choices or Triplets
            Choices where several comparisons share a screen, where sides are known, or where
            observers could not tell, which come last; otherwise Triplets.
        """
        if self.positions is None and self.ties is None:
            return as_answers(self.triplets)
        told = Choices.from_triplets(self.triplets, positions=self.positions)
        return told if self.ties is None else join_ties(told, self.ties)

    def to_fit(self) -> Answers:
        """The answers as fits take them: with positions only if these affect the answers."""
        every = self.answers()
        sided = self.positions is not None and side_bias(every).found
        return every if sided or self.ties is not None else as_answers(self.triplets)

    def sentences(self) -> list[str]:
        """What was read and what was left out, in sentences."""
        answers, rows = counted(self.triplets.n_answers, "answer"), counted(self.rows, "row")
        if self.triplets.shares_screens:
            screens = counted(int(self.triplets.number_screens().max()) + 1, "screen")
            answers = f"{counted(self.triplets.n_answers, 'comparison')} on {screens}"
        lines = [f"Read as {self.title}: {answers} from {rows}."]
        lines += [f"{self._about_ties()}."] if self.ties is not None else []
        lines += [self.note] if self.note else []
        lines += self.doubts
        lines += [f"Left out: {each}." for each in self.skipped]
        if self.catch is not None:
            trials = counted(len(self.catch.passed), "catch trial")
            lines += [f"Separated: {trials}, {np.count_nonzero(self.catch.passed)} passed."]
        return lines

    def _about_ties(self) -> str:
        count = 0 if self.ties is None else self.ties.n_answers
        what = "answer says" if count == 1 else "answers say"
        return (
            f"{count} more {what} that the observer could not tell; maps use "
            f"{'it' if count == 1 else 'them'}, single comparisons do not"
        )

    def by_labels(self) -> Reading:
        """The same with numbers as labels, if they do not seem to number objects from 0.

        That is the case if objects have no names, and either only 0 never occurs, or most numbers
        up to the largest never occur.
        """
        triplets = self.triplets
        if triplets.names is not None:
            return self
        ties = self.ties
        mentioned = triplets.array.reshape(-1)
        if ties is not None:
            mentioned = np.concatenate([mentioned, ties.pairs.reshape(-1)])
        labels = np.unique(mentioned)
        if labels[0] == 1 and len(labels) == triplets.n_objects - 1:
            why = "Objects are assumed to be numbered from 1."
        elif len(labels) < triplets.n_objects / 2:
            why = f"Numbers up to {labels[-1]} are treated as labels of {len(labels)} objects."
        else:
            return self
        known: dict[str, Any] = {
            "n_objects": len(labels),
            "names": tuple(map(str, labels.tolist())),
        }
        array = np.searchsorted(labels, triplets.array)
        labelled = restore(triplets._fields._replace(array=array, **known))
        if ties is not None:
            pairs = np.searchsorted(labels, ties.pairs)
            ties = restore_choices(ties._fields._replace(pairs=pairs, **known))
        note = f"{why} {self.note}".strip()
        return replace(self, triplets=labelled, ties=ties, note=note)

    def without(self, observers: Sequence[str]) -> Reading:
        """The same without the answers, and the catch trials, of some observers."""
        known = self.triplets.observers
        if known is None:
            raise InputError(
                f"{self.path}: the observers of the answers are unknown, so none can be left out; "
                "give their column with columns, observer=…"
            )
        everybody, ties = np.unique(known), self.ties
        if ties is not None and ties.observers is not None:
            everybody = np.unique(np.concatenate([known, ties.observers]))
        unknown = match_observers(observers, everybody) < 0
        if unknown.any():
            who = label_observers(everybody.tolist())
            wrong = observers[int(unknown.argmax())]
            raise InputError(
                f"{self.path}: there is no observer {wrong!r}; found: {listed(who, 10)}."
            )
        kept = match_observers(known, observers) < 0
        if not kept.any():
            raise InputError(f"{self.path}: no answer is left without these observers.")
        named = list(dict.fromkeys(map(str, observers)))
        who_left = f"{plural(len(named), 'observer')} {listed(named, 10)}"
        left = Skipped(f"by {who_left}", self._count_rows(~kept))
        catch = self.catch
        if catch is not None and catch.observers is not None:
            fine = match_observers(catch.observers, observers) < 0
            catch = Catch(catch.passed[fine], catch.observers[fine])
        if ties is not None and ties.observers is not None:
            stay = match_observers(ties.observers, observers) < 0
            ties = ties[stay] if stay.any() else None
        return replace(
            self,
            triplets=self.triplets[kept],
            positions=None if self.positions is None else self.positions[kept],
            ties=ties,
            skipped=(*self.skipped, left),
            catch=catch,
            left_out=(*self.left_out, *named),
        )

    def _count_rows(self, answers: NDArray[np.bool_]) -> int:
        """How many rows of the file these answers (m,) come from: a row may be a whole screen."""
        apart = sum(each.count for each in self.skipped)
        apart += 0 if self.catch is None else len(self.catch.passed)
        apart += 0 if self.ties is None else len(self.ties)
        screens = self.triplets.screens
        if screens is None or len(self.triplets) + apart == self.rows:
            return int(np.count_nonzero(answers))
        return len(np.unique(screens[answers]))

    def warn(self, stacklevel: int = 2, *, without_ties: bool = False) -> None:
        """Issue a `DataWarning` for what was left out and for possible problems.

        Parameters
        ----------
        stacklevel : int
        without_ties : bool
            Whether choices in which the observer could not tell are left out, too.
        """
        if without_ties and self.ties is not None:
            said = f"{self.path}: {self._about_ties()} (in Python: read_answers keeps ties)."
            warnings.warn(said, DataWarning, stacklevel=stacklevel)
        for each in self.skipped:
            warnings.warn(
                f"{self.path}: of {counted(self.rows, 'row')}, left out: {each}.",
                DataWarning,
                stacklevel=stacklevel,
            )
        for doubt in self.doubts:
            warnings.warn(f"{self.path}: {doubt}", DataWarning, stacklevel=stacklevel)


def no_answers(
    path: str, rows: int, skipped: Sequence[Skipped], caught: int, undecided: int = 0
) -> str:
    """The message about a file without answers."""
    why = [str(each) for each in skipped]
    why += [counted(caught, "catch trial")] if caught else []
    why += [f"{counted(undecided, 'row')} in which the observer could not tell"] * bool(undecided)
    reasons = f": {'; '.join(why)}" if why else ""
    return (
        f"{path}: none of {counted(rows, 'row')} is an answer{reasons}. Is this the right file, "
        "and are these the right columns?"
    )


def count_skipped(reason: str, skipped: NDArray[np.bool_], where: Any) -> tuple[Skipped, ...]:
    """One `Skipped` for the rows of a mask, if any; ``where(row)`` is the place of a row."""
    count = int(np.count_nonzero(skipped))
    return (Skipped(reason, count, where(int(skipped.argmax()))),) if count else ()


class Format(NamedTuple):
    """A format of files.

    Attributes
    ----------
    name : str
        Its name for `read_file`, such as "salmon".
    title : str
        In words, such as "a CSV of Salmon".
    looks : str
        How it is detected, in words, for the documentation.
    matches : callable
        Whether a file looks like it. Never raises for files of other formats.
    read : callable
        Reads a file of this format.
    write : callable, optional
        Writes Triplets in this format, atomically.
    """

    name: str
    title: str
    looks: str
    matches: Callable[[InputFile], bool]
    read: Callable[[InputFile, ReadOptions], Reading]
    write: Callable[[Triplets, Path], None] | None = None
