"""Answers as PsychoPy, a program for experiments, writes them: a CSV with a column map.

The experimenter names the columns, so a map says which are the anchor, the stimuli on the left and
on the right, and the response. PsychoPy adds columns of its own, such as ``key_resp.keys``,
``key_resp.rt`` (in seconds), ``mouse.clicked_name`` and ``participant``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tercet.errors import InputError
from tercet.io.answered import Answered, rename, shorten, skip
from tercet.io.cells import Cells
from tercet.io.formats import Format
from tercet.io.reading import Options, Reading
from tercet.io.sides import KEYS, Keys, split_keys, tell_sides, unanswered
from tercet.io.source import Source
from tercet.io.stimuli import Text
from tercet.io.times import Times, read_times
from tercet.text import listed, listing
from tercet.titles import TIME_WORDS, find_times

__all__ = ["PSYCHOPY", "read_sides"]

_WORDS = ("anchor", "left", "right", "near", "far", "response", "observer", *TIME_WORDS, *KEYS)
_SIGNS = {"expname", "framerate", "psychopyversion", "participant", "session", "date"}
_TIME_BESIDE = {".keys": ".rt", ".clicked_name": ".time"}
_BOOKKEEPING = (".thisrepn", ".thistrialn", ".thisn", ".thisindex", ".ran", ".started", ".stopped")
_EXAMPLE = "anchor=probe,left=image_left,right=image_right,response=key_resp.keys"


def _matches(source: Source) -> bool:
    titles = source.titles
    if "psychopyversion" in titles:
        return True
    loops = any(title.endswith((".thisn", ".thisrepn", ".thistrialn")) for title in titles)
    return loops and len(titles & _SIGNS) >= 2


def _read(source: Source, options: Options) -> Reading:
    return read_sides(source, options, PSYCHOPY.name, PSYCHOPY.title)


def read_sides(source: Source, options: Options, name: str, title: str) -> Reading:
    """Read a table whose columns are pointed out: anchor, left, right and response.

    Or anchor, near and far, where these stand in columns of their own.
    """
    columns, keys = split_keys(options.columns)
    table = rename(source.table, columns, _WORDS)
    direct = table.find("near") is not None and table.find("far") is not None
    words = ("anchor", "near", "far") if direct else ("anchor", "left", "right")
    places = [_place(table, word, source.table.header, title) for word in words]
    trials = Answered(table, len(table))
    empty = np.logical_and.reduce(table.blank(places), axis=1)
    trials = skip(trials, empty, f"without {', '.join(words[:2])} and {words[2]}")
    time = None
    if direct:
        none = np.logical_and.reduce(trials.table.blank(places[1:]), axis=1)
        trials = skip(trials, none, "without an answer")
        trials.table.reject_blank(places)
        objects = np.column_stack([trials.text(place) for place in places])
    else:
        response, time = _response(trials.table, columns.get("response", ""))
        trials, objects = _choices(trials, places, response, keys)
    objects, names = shorten(objects, options)
    table = trials.table
    if (own := find_times(table.header)) is not None:
        time = own
    return trials.read(
        objects,
        options,
        name,
        title,
        names=names,
        observer=table.find_observer(),
        times=None if time is None else _times(table, time),
    )


def _place(table: Cells, word: str, titles: list[str], title: str) -> int:
    place = table.find(word)
    if place is None:
        theirs = [title for title in titles if title and not _is_own(title.lower())]
        found = listing(theirs, range(len(theirs)), limit=30)
        raise InputError(
            f"{table.path}: this is {title}, where the experimenter names the columns; "
            f"say which is the {word!r}, such as columns {_EXAMPLE}. If one column has the "
            "stimulus that was chosen and one the other, they are near and far. Columns found: "
            f"{found}."
        )
    return place


def _is_own(title: str) -> bool:
    """Whether PsychoPy adds a column of this title by itself, which is no stimulus."""
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
                f"{table.path}: say which column has the response, such as "
                f"response=key_resp.keys among the columns. It may be one of: {found}."
            )
        place = filled[0]
        title = table.header[place]
    stem, dot, ending = title.lower().rpartition(".")
    beside = _TIME_BESIDE.get(dot + ending)
    return place, None if beside is None else table.find(stem + beside)


def _choices(
    trials: Answered, places: list[int], response: int, keys: Keys | None
) -> tuple[Answered, Text]:
    """The trials with a response, and anchor, near and far (m, 3) of each."""
    trials = skip(trials, unanswered(trials.table, response), "without a response")
    several = np.array([_is_several(word) for word in trials.text(response)])
    trials = skip(trials, several, "with several responses")
    trials.table.reject_blank(places)
    anchor, left, right = (trials.text(place) for place in places)
    sides = tell_sides(trials, trials.text(response), left, right, keys)
    objects = np.column_stack(
        [anchor, np.where(sides == 0, left, right), np.where(sides == 0, right, left)]
    )
    other = sides < 0
    return skip(trials, other, f"with a response that is not {keys}"), objects[~other]


def _is_several(word: str) -> bool:
    return word.startswith("[") and "," in word


def _times(table: Cells, place: int) -> Times:
    """Response times (m,), which may each be in a list of one."""
    plain = [cell.removeprefix("[").removesuffix("]") for cell in table.unique]
    return read_times(replace(table, unique=plain), place)


PSYCHOPY = Format(
    "psychopy",
    "a CSV of PsychoPy",
    "columns psychopyVersion; or a loop, such as trials.thisN, with participant and date",
    _matches,
    _read,
)
