"""Answers as NEXT, a server for active choice of questions, writes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from tercet.errors import InputError
from tercet.io.answered import Answered, by_position, nearest_of, skip, translate
from tercet.io.cells import Cells, make_cells
from tercet.io.formats import Format
from tercet.io.reading import Options, Reading
from tercet.io.source import Source
from tercet.io.stimuli import name_by_number
from tercet.io.times import read_times
from tercet.text import listed, shown

__all__ = ["NEXT"]

_KEY = "participant_responses"
_LABELS = ("center", "left", "right")
_HEADER = ("center", "left", "right", *("name",) * 3, "winner", "observer", "time", "problem")
_WINNER, _OBSERVER, _TIME, _PROBLEM = 6, 7, 8, 9


def _matches(source: Source) -> bool:
    if source.kind != "json" or f'"{_KEY}"'.encode() not in source.content:
        return False
    return isinstance(source.json, dict) and _KEY in source.json


def _read(source: Source, options: Options) -> Reading:
    if options.columns:
        raise InputError("columns is for tables; a JSON of NEXT has none.")
    table = source.keep_valid(_table(source))
    problems = table.text(table.column(_PROBLEM))
    table.reject(
        problems != "",
        lambda row: str(problems[row]),
        "Correct or remove it.",
        "whose winner was not shown",
    )
    trials = Answered(table, len(table))
    trials = skip(trials, table.blank([_WINNER])[:, 0], "without a winner")
    table = trials.table
    center, left, right, winner = (trials.text(i) for i in (0, 1, 2, _WINNER))
    objects = np.column_stack([center, *nearest_of(trials, left, right, winner, "winner")])
    names = None
    if options.names is None:
        names = name_by_number(table, objects, [0, 1, 2], [3, 4, 5])
    objects = by_position(trials, objects, options) if names is None else translate(objects, names)
    return trials.read(
        objects,
        options,
        NEXT.name,
        NEXT.title,
        names=None if names is None else list(names.values()),
        observer=_OBSERVER,
        times=read_times(table, _TIME),
    )


def _table(source: Source) -> Cells:
    """One row for every response, under `_HEADER`."""
    rows, places = [], []
    key = ""
    for place, observer, response in _responses(source):
        where = f"{source.path}, participant {place}"
        targets = _targets(where, response)
        found = "index" if all("index" in target for target in targets) else "target_id"
        key = key or found
        if found != key:
            raise InputError(
                f"{where}: objects have {found!r}, but {key!r} in the responses before. These "
                "are parts of different experiments; read them one by one."
            )
        winner, problem = _winner(where, response, targets, key)
        rows.append(
            [
                *(_text(where, target, key) for target in targets),
                *(_text(where, target, "primary_description", "") for target in targets),
                winner,
                observer,
                _text(where, response, "response_time", ""),
                problem,
            ]
        )
        places.append(place)
    if not rows:
        raise InputError(f"{source.path} has no responses; at least one answer is needed.")
    table = make_cells(source.path, _HEADER, rows, places)
    return replace(table, unit="participant", named=source.named)


def _responses(source: Source) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Where every response is, who gave it, and what it is."""
    content = source.json
    responses = content.get(_KEY) if isinstance(content, dict) else None
    if not isinstance(responses, dict):
        raise InputError(
            f"{source.path}: a JSON of NEXT has {_KEY!r}, with the responses of every participant."
        )
    for observer, given in responses.items():
        if not isinstance(given, list):
            raise InputError(
                f"{source.path}, participant {observer!r}: responses must be a list, got "
                f"{type(given).__name__}."
            )
        for number, response in enumerate(given, start=1):
            place = f"{observer!r}, response {number}"
            if not isinstance(response, dict):
                raise InputError(
                    f"{source.path}, participant {place}: this is no response but {response!r:.80}."
                )
            yield place, observer, response


def _targets(where: str, response: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects in the centre, on the left and on the right."""
    listed = response.get("target_indices")
    entries = listed if isinstance(listed, list) else []
    # Older servers have what they know of an object one level down.
    flat = [
        {**(e["target"] if isinstance(e.get("target"), dict) else {}), **e}
        for e in entries
        if isinstance(e, dict)
    ]
    labelled = {each["label"]: each for each in flat if isinstance(each.get("label"), str)}
    if len(entries) != 3 or labelled.keys() != set(_LABELS):
        raise InputError(
            f"{where}: 'target_indices' must have three objects with the labels center, left and "
            f"right, got {listed!r:.80}. Only triplet experiments can be read."
        )
    return [labelled[label] for label in _LABELS]


def _winner(
    where: str, response: dict[str, Any], targets: list[dict[str, Any]], key: str
) -> tuple[str, str]:
    """The object that was chosen, called as the others are, and what is wrong with it."""
    for title, of_target in ("index_winner", "index"), ("target_winner", "target_id"):
        chosen = _text(where, response, title, "")
        if not chosen:
            continue
        for target in targets:
            if _text(where, target, of_target, "") == chosen:
                return _text(where, target, key), ""
        found = listed([target.get(of_target) for target in targets])
        return "", f"{title!r} is {shown(chosen)}, but shown were {found}"
    return "", ""


def _text(where: str, entries: dict[str, Any], title: str, missing: str | None = None) -> str:
    """An entry as text; ``missing`` where there is none, which is an error by default."""
    value = entries.get(title)
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        if text := str(value).strip():
            return text
    elif value is not None:
        raise InputError(f"{where}: {title!r} must be a number or text, got {value!r:.80}.")
    if missing is None:
        raise InputError(f"{where}: an object has no {title!r}.")
    return missing


NEXT = Format(
    "next",
    "a JSON of NEXT",
    "JSON with participant_responses",
    _matches,
    _read,
)
