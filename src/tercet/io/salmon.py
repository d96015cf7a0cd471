"""Answers written by Salmon, a server for crowdsourced triplets."""

from __future__ import annotations

from dataclasses import replace

from tercet.answers.titles import TIME_WORDS, find_times
from tercet.arrays import Index
from tercet.io.cells import Cells, Codes, whole_numbers
from tercet.io.inputfile import InputFile
from tercet.io.reading import Format, Reading, ReadOptions
from tercet.io.stimuli import name_by_label, name_by_position
from tercet.io.trials import Times, Trials, read_times, split_choice

__all__ = ["SALMON"]

_ROLES = ("head", "left", "right", "winner", "loser")
_LABELS = ("filename", "html", "object")  # in order of preference
_WORDS = (*_ROLES, "observer", *TIME_WORDS)


def _matches(file: InputFile) -> bool:
    titles = file.titles
    if titles & {"worker_id", "samplealg", "center"}:  # tripletTools
        return False
    return titles >= {"head", "winner"} and ("loser" in titles or titles >= {"left", "right"})


def _read(file: InputFile, options: ReadOptions) -> Reading:
    table = whole_numbers(file.table.renamed(options.columns, _WORDS))
    places = {role: table.find(role) for role in _ROLES}
    head, winner = table.need("head"), table.need("winner")
    trials = Trials.of(table).skip(table.blank([winner])[:, 0], "without a winner")
    table = trials.table
    table.reject_blank([head])

    near, far, sides = _choice(table, places, winner)
    objects = trials.objects(table.column(head), near, far)
    named = _label(table, objects, places) if options.names is None else None
    objects, names = named or (name_by_position(objects, options), None)
    return trials.read(objects, options, names=names, times=_times(table), sides=sides)


def _choice(
    table: Cells, places: dict[str, int | None], winner: int
) -> tuple[Codes, Codes, Index | None]:
    """Near and far (m,) and the side of near, if known.

    Older files have no loser, which is then the other of the two.
    """
    near, left, right = table.column(winner), places["left"], places["right"]
    if left is None or right is None:
        return near, table.column(table.need("loser")), None
    near, far, sides = split_choice(table, table.column(left), table.column(right), near, "winner")
    if places["loser"] is not None:
        loser, other = table.text(table.column(places["loser"])), table.text(far)
        table.reject(
            (loser != other) & (loser != ""),
            lambda row: f"the loser is {loser[row]!r}, but the object not chosen is {other[row]!r}",
            "Correct or remove the line.",
            "whose loser is not the object not chosen",
        )
    return near, far, sides


def _label(
    table: Cells, objects: Cells, places: dict[str, int | None]
) -> tuple[Cells, list[str]] | None:
    """The objects by the names in their own columns."""
    for label in _LABELS:
        pairs = {
            place: title
            for role, place in places.items()
            if place is not None and (title := table.find(f"{role}_{label}")) is not None
        }
        named = name_by_label(objects, table, [*pairs], [*pairs.values()])
        if named is not None:
            return named
    return None


def _times(table: Cells) -> Times | None:
    """Response times (m,); Salmon writes -1 for a missing one."""
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
