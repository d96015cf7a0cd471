"""Answers written by NEXT, a server for adaptive experiments."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from tercet.errors import InputError
from tercet.io.cells import Cells, make_cells
from tercet.io.inputfile import InputFile
from tercet.io.reading import Format, Reading, ReadOptions
from tercet.io.stimuli import name_by_label, name_by_position
from tercet.io.trials import Trials, read_times, split_choice
from tercet.text import listed, shown

__all__ = ["NEXT"]

_KEY = "participant_responses"
_LABELS = ("center", "left", "right")
_HEADER = ("center", "left", "right", *("name",) * 3, "winner", "observer", "time", "problem")
_WINNER, _TIME, _PROBLEM = 6, 8, 9


def _matches(file: InputFile) -> bool:
    if file.kind != "json" or f'"{_KEY}"'.encode() not in file.content:
        return False
    return isinstance(file.json, dict) and _KEY in file.json


def _read(file: InputFile, options: ReadOptions) -> Reading:
    if options.columns:
        raise InputError("columns is for tables; a JSON of NEXT has no columns.")
    table = file.keep_valid(_table(file))
    problems = table.text(table.column(_PROBLEM))
    table.reject(
        problems != "",
        lambda row: str(problems[row]),
        "Correct or remove it.",
        "whose winner was not shown",
    )
    trials = Trials.of(table).skip(table.blank([_WINNER])[:, 0], "without a winner")
    table = trials.table
    center, left, right, winner = (table.column(i) for i in (0, 1, 2, _WINNER))
    near, far, sides = split_choice(table, left, right, winner, "winner")
    objects = trials.objects(center, near, far)
    named = None
    if options.names is None:
        named = name_by_label(objects, table, [0, 1, 2], [3, 4, 5])
    objects, names = named or (name_by_position(objects, options), None)
    times = read_times(table, _TIME)
    return trials.read(objects, options, names=names, times=times, sides=sides)


def _table(file: InputFile) -> Cells:
    """One row for every response, under `_HEADER`."""
    rows, places = [], []
    key = ""
    for place, observer, response in _responses(file):
        where = f"{file.path}, participant {place}"
        targets = _targets(where, response)
        found = "index" if all("index" in target for target in targets) else "target_id"
        key = key or found
        if found != key:
            raise InputError(
                f"{where}: objects have {found!r}, but {key!r} in the responses before. These "
                "are different experiments; read them separately."
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
        raise InputError(f"{file.path} has no responses; at least one answer is needed.")
    table = make_cells(file.path, _HEADER, rows, places)
    return replace(table, unit="participant", named=file.named)


def _responses(file: InputFile) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The place, the observer and the content of every response."""
    content = file.json
    responses = content.get(_KEY) if isinstance(content, dict) else None
    if not isinstance(responses, dict):
        raise InputError(
            f"{file.path}: a JSON of NEXT has {_KEY!r}, with the responses of every participant."
        )
    for observer, given in responses.items():
        if not isinstance(given, list):
            raise InputError(
                f"{file.path}, participant {observer!r}: responses must be a list, got "
                f"{type(given).__name__}."
            )
        for number, response in enumerate(given, start=1):
            place = f"{observer!r}, response {number}"
            if not isinstance(response, dict):
                raise InputError(
                    f"{file.path}, participant {place}: expected a response, got {response!r:.80}."
                )
            yield place, observer, response


def _targets(where: str, response: dict[str, Any]) -> list[dict[str, Any]]:
    """The objects in the centre, on the left and on the right."""
    listed = response.get("target_indices")
    entries = listed if isinstance(listed, list) else []
    # Older servers describe an object one level deeper.
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
    """The object that was chosen, and what is wrong with it."""
    for title, of_target in ("index_winner", "index"), ("target_winner", "target_id"):
        chosen = _text(where, response, title, "")
        if not chosen:
            continue
        for target in targets:
            if _text(where, target, of_target, "") == chosen:
                return _text(where, target, key), ""
        found = listed([target.get(of_target) for target in targets])
        return "", f"{title!r} is {shown(chosen)}, but the objects shown were {found}"
    return "", ""


def _text(where: str, entries: dict[str, Any], title: str, missing: str | None = None) -> str:
    """An entry as text; ``missing`` if there is none, which is an error by default."""
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
