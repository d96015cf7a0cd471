"""Answers as Salmon, a server that asks crowds for triplets, writes them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tercet.io.answered import (
    Answered,
    by_position,
    nearest_of,
    rename,
    skip,
    translate,
    whole_numbers,
)
from tercet.io.cells import Cells
from tercet.io.formats import Format
from tercet.io.reading import Options, Reading
from tercet.io.source import Source
from tercet.io.stimuli import Text, name_by_number
from tercet.io.times import Times, read_times
from tercet.titles import TIME_WORDS, find_times

__all__ = ["SALMON"]

_ROLES = ("head", "left", "right", "winner", "loser")
_LABELS = ("filename", "html", "object")  # in the order in which they are preferred
_WORDS = (*_ROLES, "observer", *TIME_WORDS)


def _matches(source: Source) -> bool:
    titles = source.titles
    if titles & {"worker_id", "samplealg", "center"}:  # tripletTools
        return False
    return titles >= {"head", "winner"} and ("loser" in titles or titles >= {"left", "right"})


def _read(source: Source, options: Options) -> Reading:
    table = whole_numbers(rename(source.table, options.columns, _WORDS))
    places = {role: table.find(role) for role in _ROLES}
    head, winner = table.need("head"), table.need("winner")
    trials = Answered(table, len(table))
    trials = skip(trials, table.blank([winner])[:, 0], "without a winner")
    table = trials.table
    table.reject_blank([head])

    objects = np.column_stack([trials.text(head), *_choice(trials, places, winner)])
    names = _names(table, objects, places) if options.names is None else None
    objects = by_position(trials, objects, options) if names is None else translate(objects, names)
    return trials.read(
        objects,
        options,
        SALMON.name,
        SALMON.title,
        names=None if names is None else list(names.values()),
        observer=table.find_observer(),
        times=_times(table),
    )


def _choice(trials: Answered, places: dict[str, int | None], winner: int) -> tuple[Text, Text]:
    """Near and far (m,); older files have no loser, which is then the other one of the two."""
    near = trials.text(winner)
    if places["left"] is None or places["right"] is None:
        return near, trials.text(trials.table.need("loser"))
    near, far = nearest_of(
        trials, trials.text(places["left"]), trials.text(places["right"]), near, "winner"
    )
    if places["loser"] is not None:
        loser = trials.text(places["loser"])
        trials.table.reject(
            (loser != far) & (loser != ""),
            lambda row: (
                f"the loser is {loser[row]!r}, but the one that was not chosen is {far[row]!r}"
            ),
            "Correct or remove the line.",
            "whose loser is not the one that was not chosen",
        )
    return near, far


def _names(table: Cells, objects: Text, places: dict[str, int | None]) -> dict[str, str] | None:
    """The name of every number, from the columns beside them."""
    for label in _LABELS:
        pairs = {
            place: title
            for role, place in places.items()
            if place is not None and (title := table.find(f"{role}_{label}")) is not None
        }
        names = name_by_number(table, objects, [*pairs], [*pairs.values()])
        if names is not None:
            return names
    return None


def _times(table: Cells) -> Times | None:
    """Response times (m,); Salmon writes -1 where it knows none."""
    place = find_times(table.header)
    if place is None:
        return None
    known = ["" if cell in ("-1", "-1.0") else cell for cell in table.unique]
    return read_times(replace(table, unique=known), place)


SALMON = Format(
    "salmon",
    "a CSV of Salmon",
    "columns head and winner, with loser or left and right",
    _matches,
    _read,
)
