"""Two choices, on the left and on the right, and a response: PsychoPy's CSV, or any other table.

The experimenter names the columns, so a mapping identifies the anchor, the stimuli on the left and
on the right, and the response. PsychoPy, a program for experiments, adds columns of its own, such
as ``key_resp.keys``, ``key_resp.rt`` (in seconds), ``mouse.clicked_name`` and ``participant``.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from tercet.answers.titles import TIME_WORDS, find_times
from tercet.errors import InputError
from tercet.io.cells import Cells
from tercet.io.inputfile import InputFile
from tercet.io.reading import Format, Reading, ReadOptions
from tercet.io.sides import KEYS, Keys, Sides, split_keys, tell_sides, unanswered
from tercet.io.stimuli import shorten
from tercet.io.trials import Times, Trials, find_sides, read_times
from tercet.text import listed

__all__ = ["LEFT_RIGHT", "PSYCHOPY"]

_PSYCHOPY = "a CSV of PsychoPy"
_LEFT_RIGHT = "a table of choices on the left and on the right"

_WORDS = ("anchor", "left", "right", "near", "far", "response", "observer", *TIME_WORDS, *KEYS)
_SIGNS = {"expname", "framerate", "psychopyversion", "participant", "session", "date"}
_TIME_BESIDE = {".keys": ".rt", ".clicked_name": ".time"}
_BOOKKEEPING = (".thisrepn", ".thistrialn", ".thisn", ".thisindex", ".ran", ".started", ".stopped")
_EXAMPLE = "anchor=probe,left=image_left,right=image_right,response=key_resp.keys"


def _is_psychopy(file: InputFile) -> bool:
    titles = file.titles
    if "psychopyversion" in titles:
        return True
    loops = any(title.endswith((".thisn", ".thisrepn", ".thistrialn")) for title in titles)
    return loops and len(titles & _SIGNS) >= 2


def _is_left_right(file: InputFile) -> bool:
    return file.titles >= {"anchor", "left", "right", "response"}


def _read(file: InputFile, options: ReadOptions, title: str) -> Reading:
    """Read a table with mapped columns anchor, left, right and response.

    Or anchor, near and far, if these are columns. ``title`` describes the format.
    """
    columns, keys = split_keys(options.columns)
    table = file.table.renamed(columns, _WORDS)
    direct = table.find("near") is not None and table.find("far") is not None
    words = ("anchor", "near", "far") if direct else ("anchor", "left", "right")
    places = [_place(table, word, file.table.header, title) for word in words]
    empty = np.logical_and.reduce(table.blank(places), axis=1)
    trials = Trials.of(table).skip(empty, f"without {', '.join(words[:2])} and {words[2]}")
    time, sides, tied = None, None, None
    if direct:
        none = np.logical_and.reduce(trials.table.blank(places[1:]), axis=1)
        trials = trials.skip(none, "without an answer")
        trials.table.reject_blank(places)
        objects = trials.objects(*(trials.table.column(place) for place in places))
        sides = find_sides(trials.table, *objects.codes.T[1:])
    else:
        response, time = _response(trials.table, columns.get("response", ""))
        trials, objects, (sides, tied) = _choices(trials, places, response, keys)
    objects, names = shorten(objects, options)
    table = trials.table
    if (own := find_times(table.header)) is not None:
        time = own
    times = None if time is None else _times(table, time)
    return trials.read(objects, options, names=names, times=times, sides=sides, tied=tied)


def _place(table: Cells, word: str, titles: list[str], title: str) -> int:
    place = table.find(word)
    if place is None:
        theirs = [title for title in titles if title and not _is_own(title.lower())]
        raise InputError(
            f"{table.path}: this is {title}, whose columns are named by the experimenter; "
            f"say which column is the {word!r}: --columns {_EXAMPLE} (in Python: "
            "columns={'anchor': 'probe', …}). If one column has the stimulus that was chosen and "
            "another the one that was not, they are near and far. "
            f"Columns found: {listed(theirs, 30)}."
        )
    return place


def _is_own(title: str) -> bool:
    """Whether PsychoPy adds a column of this title by itself."""
    return title in _SIGNS or title.endswith(_BOOKKEEPING)


def _response(table: Cells, title: str) -> tuple[int, int | None]:
    """The columns of the response and of its time."""
    place = table.find("response")
    if place is None:
        endings = tuple(_TIME_BESIDE)
        places = [i for i, each in enumerate(table.header) if each.lower().endswith(endings)]
        filled = [i for i in places if not table.blank([i]).all()]
        if len(filled) != 1:
            found = listed([table.header[i] for i in filled or range(len(table.header))])
            raise InputError(
                f"{table.path}: the column of the response is unclear; add it to the columns, such "
                f"as response=key_resp.keys. Candidates: {found}."
            )
        place = filled[0]
        title = table.header[place]
    stem, dot, ending = title.lower().rpartition(".")
    beside = _TIME_BESIDE.get(dot + ending)
    return place, None if beside is None else table.find(stem + beside)


def _choices(
    trials: Trials, places: list[int], response: int, keys: Keys
) -> tuple[Trials, Cells, Sides]:
    """The trials with a response, anchor, near and far of each, and the side of near."""
    trials = trials.skip(unanswered(trials.table, response), "without a response")
    several = np.array([_is_several(cell) for cell in trials.table.unique], dtype=bool)
    trials = trials.skip(several[trials.table.column(response)], "with several responses")
    table = trials.table
    table.reject_blank(places)
    anchor, left, right = (table.column(place) for place in places)
    responses = table.text(table.column(response))
    found = tell_sides(table, responses, table.text(left), table.text(right), keys)
    near, far = np.where(found.sides == 0, (left, right), (right, left))
    objects, other = trials.objects(anchor, near, far), found.sides < 0
    if not other.any():
        return trials, objects, found
    trials = trials.skip(other, f"with a response that is not {keys}")
    return trials, objects.take(~other), found.take(~other)


def _is_several(word: str) -> bool:
    return word.startswith("[") and "," in word


def _times(table: Cells, place: int) -> Times:
    """Response times (m,), which may each be in a list of one."""
    bare = [cell.removeprefix("[").removesuffix("]") for cell in table.unique]
    return read_times(replace(table, unique=bare), place)


PSYCHOPY = Format(
    "psychopy",
    _PSYCHOPY,
    "columns psychopyVersion; or a loop, such as trials.thisN, with participant and date",
    _is_psychopy,
    partial(_read, title=_PSYCHOPY),
)
LEFT_RIGHT = Format(
    "left-right",
    _LEFT_RIGHT,
    "columns anchor, left, right, response",
    _is_left_right,
    partial(_read, title=_LEFT_RIGHT),
)
