"""Answers as tripletTools, an R package for triplet experiments, writes them."""

from __future__ import annotations

import numpy as np

from tercet.io.answered import Answered, by_position, nearest_of, rename, skip, whole_numbers
from tercet.io.formats import Format
from tercet.io.reading import Options, Reading
from tercet.io.source import Source
from tercet.io.stimuli import Text
from tercet.io.times import read_times
from tercet.titles import TIME_WORDS, find_times

__all__ = ["TRIPLETTOOLS"]

_NAMED = ("center", "left", "right", "answer")
_NUMBERED = ("head", "winner", "loser")
_WORDS = (*_NAMED, *_NUMBERED, "observer", *TIME_WORDS, "rt")


def _matches(source: Source) -> bool:
    titles = source.titles
    return titles >= set(_NAMED) or (
        titles >= set(_NUMBERED) and bool(titles & {"worker_id", "samplealg"})
    )


def _read(source: Source, options: Options) -> Reading:
    table = whole_numbers(rename(source.table, options.columns, _WORDS))
    by_name = all(table.find(title) is not None for title in _NAMED)
    chosen = table.need("answer") if by_name else table.need("winner")
    trials = Answered(table, len(table))
    trials = skip(trials, table.blank([chosen])[:, 0], "without an answer")
    objects = _by_name(trials) if by_name else by_position(trials, _by_number(trials), options)

    kind = trials.table.find("samplealg")
    if kind is not None:
        caught = (objects[:, :1] == objects[:, 1:]).any(axis=1)
        unjudged = (trials.text(kind) == "check") & ~caught
        trials = skip(trials, unjudged, "of check trials that do not show the anchor again")
        objects = objects[~unjudged]
    table = trials.table
    own, rt = find_times(table.header), table.find("rt")
    times = None if own is None else read_times(table, own)
    if times is None and rt is not None:
        times = read_times(table, rt, 0.001)
    return trials.read(
        objects,
        options,
        TRIPLETTOOLS.name,
        TRIPLETTOOLS.title,
        observer=table.find_observer(),
        times=times,
    )


def _by_name(trials: Answered) -> Text:
    """Anchor, near and far (m, 3) from Center, Left, Right and Answer."""
    places = [trials.table.need(title) for title in _NAMED]
    trials.table.reject_blank(places)
    center, left, right, answer = map(trials.text, places)
    return np.column_stack([center, *nearest_of(trials, left, right, answer, "Answer")])


def _by_number(trials: Answered) -> Text:
    """Anchor, near and far (m, 3) from head, winner and loser."""
    places = [trials.table.need(title) for title in _NUMBERED]
    trials.table.reject_blank(places)
    return trials.table.text(trials.table.codes[:, places])


TRIPLETTOOLS = Format(
    "triplettools",
    "a CSV of tripletTools",
    "columns Center, Left, Right, Answer; or head, winner, loser with worker_id or sampleAlg",
    _matches,
    _read,
)
