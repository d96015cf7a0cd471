"""Answers as jsPsych, a library for experiments in the browser, writes them: CSV or JSON.

Trials are those of the button and keyboard plugins (``html-button-response`` and its sisters):
``response`` is the number of the button, from 0, or the key; ``rt`` is in milliseconds;
``stimulus`` is what was shown; ``choices`` are there if the experiment saves trial parameters.
Whatever the experimenter gives as ``data`` becomes columns too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tercet.answers.titles import OBSERVERS, TIME_WORDS, find_times, plain_title
from tercet.errors import InputError
from tercet.io.cells import Cells, make_cells, whole_numbers
from tercet.io.inputfile import InputFile, decode_json
from tercet.io.reading import Format, Reading, ReadOptions
from tercet.io.sides import KEYS, Keys, Sides, split_keys, tell_sides, unanswered
from tercet.io.stimuli import shorten
from tercet.io.trials import Trials, read_times

__all__ = ["JSPSYCH"]

_ANCHOR = ("anchor", "head", "center", "centre", "probe", "reference")
_RESPONSE = ("response", "button_pressed")  # the latter until version 6
_WORDS = ("anchor", "left", "right", "choices", "response", "observer", *TIME_WORDS, *KEYS)
_USED = {*_ANCHOR, "stimulus", *_RESPONSE, *_WORDS, "rt", "trial_type"}
_MOST_TITLES = 200  # of JSON; those in use are always kept


def _matches(file: InputFile) -> bool:
    if file.kind == "text":
        titles = file.titles
    elif file.kind == "json" and b'"trial_' in file.content:
        first = next(_trials(file), None)
        titles = frozenset(map(str.lower, first)) if isinstance(first, dict) else frozenset()
    else:
        return False
    return titles >= {"trial_type", "trial_index"} or titles >= {"stimulus", "choices", "response"}


def _read(file: InputFile, options: ReadOptions) -> Reading:
    columns, keys = split_keys(options.columns)
    from_json = file.kind == "json"
    table = file.keep_valid(_json_table(file, columns.values())) if from_json else file.table
    table = whole_numbers(table.renamed(columns, _WORDS))
    own = table.find(*_ANCHOR)
    anchor = table.need("stimulus") if own is None else own
    response = table.need(*_RESPONSE)
    table = _look(table, anchor)

    empty = np.array([cell == "" for cell in table.unique], dtype=bool)[table.codes[:, -3:]]
    other: NDArray[np.bool_] = np.logical_or.reduce(empty, axis=1)
    trials = Trials.of(table).skip(other, "without an anchor and two choices")
    if own is None:
        other = _elsewhere(shorten(trials.objects(*trials.table.codes.T[-3:]), options)[0])
        trials = trials.skip(other, "without a stimulus of the comparisons")
        _reject_buttons(trials.table)
    trials = trials.skip(unanswered(trials.table, response), "without a response")
    found = _sides(trials.table, response, keys)
    other = found.sides < 0
    if other.any():
        trials, found = (
            trials.skip(other, f"with a response that is not {keys}"),
            found.take(~other),
        )

    table = trials.table
    asked, left, right = table.codes.T[-3:]
    near, far = np.where(found.sides == 0, (left, right), (right, left))
    objects, names = shorten(trials.objects(asked, near, far), options)
    mapped = any(word in columns for word in TIME_WORDS)
    time = find_times(table.header) if mapped else table.find("rt")
    times = None if time is None else read_times(table, time, 0.001)
    sides, tied = found
    return trials.read(objects, options, names=names, times=times, sides=sides, tied=tied)


# --- stimuli ----------------------------------------------------------------------------------


def _look(table: Cells, anchor: int) -> Cells:
    """Append the columns anchor, left and right, which are empty in trials of another kind.

    They come from their own columns, the choices, or the stimulus.
    """
    left, right = table.find("left"), table.find("right")
    if left is not None and right is not None:
        pairs = [*zip(_column(table, left), _column(table, right), strict=True)]
    else:
        pairs = [(each[0], each[1]) if len(each) == 2 else ("", "") for each in _buttons(table)]
    rows = [
        _three(cell) or (_alone(cell), *pair)
        for cell, pair in zip(_column(table, anchor), pairs, strict=True)
    ]
    return table.extended([""] * 3, rows)


def _buttons(table: Cells) -> list[list[str]]:
    """The labels of the buttons in every trial."""
    return [_choices(cell) for cell in _column(table, table.find("choices"))]


def _column(table: Cells, place: int | None) -> list[str]:
    if place is None:
        return [""] * len(table)
    column: list[str] = table.text(table.column(place)).tolist()
    return column


def _json(cell: str) -> Any:
    """The value of a JSON cell; None if it is not JSON."""
    if cell[:1] not in ("[", "{", '"'):
        return None
    try:
        return decode_json("", cell)
    except InputError:
        return None


def _choices(cell: str) -> list[str]:
    listed = _json(cell)
    return [_text(each).strip() for each in listed] if isinstance(listed, list) else []


def _three(cell: str) -> tuple[str, str, str] | None:
    """Anchor, left and right of a stimulus that is JSON with these words."""
    parts = _json(cell)
    if not isinstance(parts, dict) or not {"left", "right"} <= parts.keys():
        return None
    anchor = next((parts[word] for word in _ANCHOR if word in parts), "")
    return _text(anchor).strip(), _text(parts["left"]).strip(), _text(parts["right"]).strip()


def _alone(cell: str) -> str:
    """A stimulus, out of a JSON list that has only it."""
    value = _json(cell)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value.strip() if isinstance(value, str) else cell


def _elsewhere(objects: Cells) -> NDArray[np.bool_]:
    """Trials (m,) that are not comparisons, such as a consent form with two buttons.

    Trials that share a stimulus form a group. If in some groups a stimulus is both an anchor and
    a choice, the other groups are left out.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    anchor, left, right = objects.codes.T
    links = np.concatenate([anchor, anchor]), np.concatenate([left, right])
    size = len(objects.unique)
    graph = coo_array((np.ones(len(links[0])), links), shape=(size, size))
    group = connected_components(graph, directed=False)[1]
    both = np.intersect1d(links[0], links[1])
    if not both.size:
        return np.zeros(len(anchor), dtype=bool)
    return ~np.isin(group[anchor], group[both])


def _reject_buttons(table: Cells) -> None:
    """Refuse choices that are always the same and never an anchor: labels of buttons."""
    anchors = set(table.column(-3).tolist())
    pairs = {(left, right) for left, right in table.codes[:, -2:].tolist()}
    if len(pairs) == 1 and len(anchors) > 1 and not anchors & set(*pairs):
        left, right = (table.unique[code] for code in pairs.pop())
        raise InputError(
            f"{table.where(0)}: the choices are {left!r:.60} and {right!r:.60}, as in all "
            "trials. If they are labels of buttons, name the columns of the stimuli: anchor, left "
            "and right. If they are stimuli, add anchor=stimulus to the columns."
        )


# --- responses --------------------------------------------------------------------------------


def _sides(table: Cells, response: int, keys: Keys) -> Sides:
    """What every response (m,) means: the number of a button, a label, or a key."""
    kinds, buttons = _column(table, table.find("trial_type")), _buttons(table)
    responses = table.text(table.column(response))
    labels = responses.copy()
    sides, tied = np.full(len(table), -1), np.zeros(len(table), dtype=np.bool_)
    for row, (given, choices) in enumerate(zip(responses, buttons, strict=True)):
        if given.isdecimal() and choices and "keyboard" not in kinds[row]:
            number = int(given[:9])
            labels[row] = choices[number] if number < len(choices) else f"button {given}"
        if len(choices) == 2 and not keys.are_given and labels[row] in choices:
            sides[row] = choices.index(labels[row])
    numbered = not any(buttons) and "0" in responses and {*responses} <= {"0", "1"}
    if not keys.are_given and numbered and keys.tie not in ("0", "1"):
        return Sides(responses.astype(np.int64), tied)
    unclear = sides < 0
    if unclear.any():
        rest = table.take(unclear)
        pair = rest.text(rest.column(-2)), rest.text(rest.column(-1))
        sides[unclear], tied[unclear] = tell_sides(rest, labels[unclear], *pair, keys)
    return Sides(sides, tied)


# --- JSON -------------------------------------------------------------------------------------


def _trials(file: InputFile) -> Iterator[Any]:
    """The trials in JSON: a list of them, or of such lists, or one list on each line (JATOS)."""
    lines = [line for line in file.text.splitlines() if line.strip()]
    if len(lines) > 1 and all(line.strip()[0] + line.strip()[-1] == "[]" for line in lines):
        content = decode_json(file.path, "[" + ",\n".join(lines) + "]")
    else:
        content = file.json
    if isinstance(content, dict):
        content = content.get("trials", content.get("data"))
    for each in content if isinstance(content, list) else ():
        yield from each if isinstance(each, list) else (each,)


def _json_table(file: InputFile, mapped: Iterable[str]) -> Cells:
    """One row for every trial."""
    trials = list(_trials(file))
    if not trials:
        raise InputError(f"{file.path}: a JSON of jsPsych is a list of trials, but there are none.")
    for number, trial in enumerate(trials, start=1):
        if not isinstance(trial, dict):
            raise InputError(f"{file.path}, trial {number}: expected a trial, got {trial!r:.80}.")
    titles = dict.fromkeys(title for trial in trials for title in trial)
    used = [
        title
        for title in titles
        if title.lower() in _USED or plain_title(title) in OBSERVERS or title in mapped
    ]
    header = list(dict.fromkeys([*used, *titles]))[: max(len(used), _MOST_TITLES)]
    rows = [[_text(trial.get(title)) for title in header] for trial in trials]
    table = make_cells(file.path, header, rows, range(1, len(rows) + 1))
    return replace(table, unit="trial", named=file.named)


def _text(value: Any) -> str:
    """A value of JSON as a cell."""
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value, ensure_ascii=False)


JSPSYCH = Format(
    "jspsych",
    "data of jsPsych",
    "columns trial_type and trial_index, or stimulus, choices and response; CSV or JSON",
    _matches,
    _read,
)
