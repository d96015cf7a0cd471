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
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.errors import InputError
from tercet.io.answered import Answered, rename, shorten, skip, whole_numbers
from tercet.io.cells import Cells, make_cells
from tercet.io.formats import Format
from tercet.io.reading import Options, Reading
from tercet.io.sides import KEYS, Keys, split_keys, tell_sides, unanswered
from tercet.io.source import Source, decode_json
from tercet.io.stimuli import Text
from tercet.io.times import read_times
from tercet.titles import OBSERVERS, TIME_WORDS, find_times, plain_title

__all__ = ["JSPSYCH"]

_ANCHOR = ("anchor", "head", "center", "centre", "probe", "reference")
_RESPONSE = ("response", "button_pressed")  # until version 6 the latter
_WORDS = ("anchor", "left", "right", "choices", "response", "observer", *TIME_WORDS, *KEYS)
_USED = {*_ANCHOR, "stimulus", *_RESPONSE, *_WORDS, "rt", "trial_type"}
_MOST_TITLES = 200  # of JSON; none of those that are used is left out


class _Shown(NamedTuple):
    """What was shown in every trial (m,); empty in trials of another kind."""

    anchor: Text
    left: Text
    right: Text
    buttons: list[list[str]]


def _matches(source: Source) -> bool:
    if source.kind == "text":
        titles = source.titles
    elif source.kind == "json" and b'"trial_' in source.content:
        first = next(_trials(source), None)
        titles = frozenset(map(str.lower, first)) if isinstance(first, dict) else frozenset()
    else:
        return False
    return titles >= {"trial_type", "trial_index"} or titles >= {"stimulus", "choices", "response"}


def _read(source: Source, options: Options) -> Reading:
    columns, keys = split_keys(options.columns)
    from_json = source.kind == "json"
    table = source.keep_valid(_json_table(source, columns.values())) if from_json else source.table
    table = whole_numbers(rename(table, columns, _WORDS))
    own = table.find(*_ANCHOR)
    anchor = table.need("stimulus") if own is None else own
    response = table.need(*_RESPONSE)
    shown = _look(table, anchor)

    trials = Answered(table, len(table))
    other = (shown.anchor == "") | (shown.left == "") | (shown.right == "")
    trials, shown = _drop(trials, shown, other, "without an anchor and two choices")
    if own is None:
        other = _elsewhere(shorten(np.column_stack(shown[:3]), options)[0])
        trials, shown = _drop(trials, shown, other, "without a stimulus of the comparisons")
        _reject_buttons(trials, shown)
    none = unanswered(trials.table, response)
    trials, shown = _drop(trials, shown, none, "without a response")
    sides = _sides(trials, shown, trials.text(response), keys)
    other = sides < 0
    if keys is not None:
        trials, shown = _drop(trials, shown, other, f"with a response that is not {keys}")
    sides = sides[~other]

    near = np.where(sides == 0, shown.left, shown.right)
    far = np.where(sides == 0, shown.right, shown.left)
    objects, names = shorten(np.column_stack([shown.anchor, near, far]), options)
    table = trials.table
    mapped = any(word in columns for word in TIME_WORDS)
    time = find_times(table.header) if mapped else table.find("rt")
    return trials.read(
        objects,
        options,
        JSPSYCH.name,
        JSPSYCH.title,
        names=names,
        observer=table.find_observer(),
        times=None if time is None else read_times(table, time, 0.001),
    )


def _drop(
    trials: Answered, shown: _Shown, left_out: NDArray[np.bool_], reason: str
) -> tuple[Answered, _Shown]:
    kept = ~left_out
    buttons = [each for each, keep in zip(shown.buttons, kept, strict=True) if keep]
    return (
        skip(trials, left_out, reason),
        _Shown(shown.anchor[kept], shown.left[kept], shown.right[kept], buttons),
    )


# --- what was shown ---------------------------------------------------------------------------


def _look(table: Cells, anchor: int) -> _Shown:
    """Anchor, left and right of all rows: from their columns, the choices, or the stimulus."""
    left, right = table.find("left"), table.find("right")
    buttons = [_choices(cell) for cell in _column(table, table.find("choices"))]
    if left is not None and right is not None:
        pairs = [*zip(_column(table, left), _column(table, right), strict=True)]
    else:
        pairs = [(each[0], each[1]) if len(each) == 2 else ("", "") for each in buttons]
    rows = [
        _three(cell) or (_alone(cell), *pair)
        for cell, pair in zip(_column(table, anchor), pairs, strict=True)
    ]
    shown = np.array(rows, dtype=object)
    return _Shown(shown[:, 0], shown[:, 1], shown[:, 2], buttons)


def _column(table: Cells, place: int | None) -> list[str]:
    if place is None:
        return [""] * len(table)
    column: list[str] = table.text(table.column(place)).tolist()
    return column


def _json(cell: str) -> Any:
    """What a cell of JSON holds; None if it is not JSON."""
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


def _elsewhere(objects: Text) -> NDArray[np.bool_]:
    """Trials (m,) that are no comparisons, such as a consent with two buttons.

    Trials that share a stimulus hang together. If in some of these groups a stimulus is both
    an anchor and a choice, groups where none is are left out.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    stimuli, numbers = np.unique(objects, return_inverse=True)
    anchor, left, right = numbers.reshape(-1, 3).T
    links = np.concatenate([anchor, anchor]), np.concatenate([left, right])
    size = len(stimuli)
    graph = coo_array((np.ones(len(links[0])), links), shape=(size, size))
    group = connected_components(graph, directed=False)[1]
    both = np.intersect1d(links[0], links[1])
    if not both.size:
        return np.zeros(len(anchor), dtype=bool)
    return ~np.isin(group[anchor], group[both])


def _reject_buttons(trials: Answered, shown: _Shown) -> None:
    """Refuse choices that are always the same, and never an anchor: labels of buttons."""
    pairs = set(zip(shown.left.tolist(), shown.right.tolist(), strict=True))
    anchors = set(shown.anchor.tolist())
    if len(pairs) == 1 and len(anchors) > 1 and not anchors & set(*pairs):
        left, right = pairs.pop()
        raise InputError(
            f"{trials.table.where(0)}: the choices are {left!r:.60} and {right!r:.60}, as in all "
            "trials. If they are labels of buttons, say which columns have the stimuli: anchor, "
            "left and right. If they are stimuli, say so with anchor=stimulus among the columns."
        )


# --- what was answered ------------------------------------------------------------------------


def _sides(
    trials: Answered, shown: _Shown, responses: Text, keys: Keys | None
) -> NDArray[np.int64]:
    """Left (0) or right (1) for every response (m,): the number of a button, a label, or a key."""
    kinds = _column(trials.table, trials.table.find("trial_type"))
    labels = responses.copy()
    sides = np.full(len(responses), -1)
    for row, (response, buttons) in enumerate(zip(responses, shown.buttons, strict=True)):
        if response.isdecimal() and buttons and "keyboard" not in kinds[row]:
            number = int(response[:9])
            labels[row] = buttons[number] if number < len(buttons) else f"button {response}"
        if len(buttons) == 2 and keys is None and labels[row] in buttons:
            sides[row] = buttons.index(labels[row])
    if keys is None and not any(shown.buttons) and "0" in responses and {*responses} <= {"0", "1"}:
        return responses.astype(np.int64)
    unclear = sides < 0
    if unclear.any():
        rest = Answered(trials.table.take(unclear), trials.rows)
        pair = shown.left[unclear], shown.right[unclear]
        sides[unclear] = tell_sides(rest, labels[unclear], *pair, keys)
    return sides


# --- JSON -------------------------------------------------------------------------------------


def _trials(source: Source) -> Iterator[Any]:
    """The trials in JSON: a list of them, or of such lists, or one list on each line (JATOS)."""
    lines = [line for line in source.text.splitlines() if line.strip()]
    if len(lines) > 1 and all(line.strip()[0] + line.strip()[-1] == "[]" for line in lines):
        content = decode_json(source.path, "[" + ",\n".join(lines) + "]")
    else:
        content = source.json
    if isinstance(content, dict):
        content = content.get("trials", content.get("data"))
    for each in content if isinstance(content, list) else ():
        yield from each if isinstance(each, list) else (each,)


def _json_table(source: Source, mapped: Iterable[str]) -> Cells:
    """One row for every trial."""
    trials = list(_trials(source))
    if not trials:
        raise InputError(
            f"{source.path}: a JSON of jsPsych is a list of trials, and here are none."
        )
    for number, trial in enumerate(trials, start=1):
        if not isinstance(trial, dict):
            raise InputError(f"{source.path}, trial {number}: this is no trial but {trial!r:.80}.")
    titles = dict.fromkeys(title for trial in trials for title in trial)
    used = [
        title
        for title in titles
        if title.lower() in _USED or plain_title(title) in OBSERVERS or title in mapped
    ]
    header = list(dict.fromkeys([*used, *titles]))[: max(len(used), _MOST_TITLES)]
    rows = [[_text(trial.get(title)) for title in header] for trial in trials]
    table = make_cells(source.path, header, rows, range(1, len(rows) + 1))
    return replace(table, unit="trial", named=source.named)


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
