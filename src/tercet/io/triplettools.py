"""Answers written by tripletTools, an R package for triplet experiments."""

from __future__ import annotations

import numpy as np

from tercet.answers.titles import TIME_WORDS, find_times
from tercet.arrays import Index
from tercet.io.cells import Cells, Codes, whole_numbers
from tercet.io.inputfile import InputFile
from tercet.io.reading import Format, Reading, ReadOptions
from tercet.io.stimuli import name_by_position
from tercet.io.trials import Trials, read_times, split_choice

__all__ = ["TRIPLETTOOLS"]

_NAMED = ("center", "left", "right", "answer")
_NUMBERED = ("head", "winner", "loser")
_WORDS = (*_NAMED, *_NUMBERED, "observer", *TIME_WORDS, "rt")


def _matches(file: InputFile) -> bool:
    titles = file.titles
    return titles >= set(_NAMED) or (
        titles >= set(_NUMBERED) and bool(titles & {"worker_id", "samplealg"})
    )


def _read(file: InputFile, options: ReadOptions) -> Reading:
    table = whole_numbers(file.table.renamed(options.columns, _WORDS))
    by_name = all(table.find(title) is not None for title in _NAMED)
    chosen = table.need("answer") if by_name else table.need("winner")
    trials = Trials.of(table).skip(table.blank([chosen])[:, 0], "without an answer")
    *compared, sides = _compared(trials.table, by_name)
    objects = trials.objects(*compared)
    if not by_name:
        objects = name_by_position(objects, options)

    kind = trials.table.find("samplealg")
    if kind is not None:
        caught = (objects.codes[:, :1] == objects.codes[:, 1:]).any(axis=1)
        check = trials.table.text(trials.table.column(kind)) == "check"
        unjudged = check & ~caught
        trials = trials.skip(unjudged, "of check trials that do not show the anchor again")
        objects, sides = objects.take(~unjudged), sides[~unjudged]
    table = trials.table
    own, rt = find_times(table.header), table.find("rt")
    times = None if own is None else read_times(table, own)
    if times is None and rt is not None:
        times = read_times(table, rt, 0.001)
    return trials.read(objects, options, times=times, sides=sides)


def _compared(table: Cells, by_name: bool) -> tuple[Codes, Codes, Codes, Index]:
    """Anchor, near and far: head, winner and loser, or from Center, Left, Right and Answer.

    And the side of near, which is known in the latter.
    """
    places = [table.need(title) for title in (_NAMED if by_name else _NUMBERED)]
    table.reject_blank(places)
    anchor, left, right = (table.column(place) for place in places[:3])
    if not by_name:
        return anchor, left, right, np.full(len(anchor), -1)
    return anchor, *split_choice(table, left, right, table.column(places[3]), "Answer")


TRIPLETTOOLS = Format(
    "triplettools",
    "a CSV of tripletTools",
    "columns Center, Left, Right, Answer; or head, winner, loser with worker_id or sampleAlg",
    _matches,
    _read,
)
