"""Grids: objects chosen as most similar to an anchor (rank k of m, Food-100)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tercet.answers.titles import is_missing
from tercet.arrays import Bools, Index
from tercet.errors import InputError
from tercet.io.cells import Cells, make_cells
from tercet.io.inputfile import InputFile
from tercet.io.reading import Format, Reading, ReadOptions, count_skipped
from tercet.io.sides import could_not_tell
from tercet.io.stimuli import short_names
from tercet.io.trials import BESIDE, build, find_beside, make_catch
from tercet.running.memory import need_memory
from tercet.text import first_again, listed, shown

__all__ = ["SCREENS"]

_ANCHOR = ("anchor", "probe")
_SHOWN = ("shown", "images")
_KEY = "HIT_screens"  # in the JSON of Food-100
_CATCH, _TIED = "catch", "tied"
_NUMBERS_A_COMPARISON = 16  # in memory at once, roughly
_REASONS = (
    "without an answer",
    "on which nothing was left unchosen",
    "of catch trials whose correct answer is unknown",
)
_UNTOLD = "in which the observer could not tell, which is kept for choices of one object only"


class _Problem(NamedTuple):
    """What is wrong with a screen, as in `RowsError`."""

    message: str
    cure: str
    reason: str


class _Screen(NamedTuple):
    """A grid, and what was chosen from it."""

    anchor: str
    chosen: list[str]
    shown: list[str]
    ranked: bool = False  # the chosen are in order, the most similar first
    right: list[str] | None = None  # of a catch trial; empty if unknown
    tied: bool = False  # the observer could not tell

    def any_answer(self) -> _Screen:
        """The screen if the first object had been chosen."""
        return self._replace(chosen=self.shown[:1], tied=False)

    def positions(self) -> list[tuple[int, int]]:
        """Where near and far of each comparison are among the shown."""
        place = {each: i for i, each in enumerate(self.shown)}
        return [(place[near], place[far]) for _, near, far in self.comparisons()]

    def comparisons(self) -> list[tuple[str, str, str]]:
        """The chosen are nearer than the others, and if ranked each nearer than the next."""
        chosen = set(self.chosen)
        far = [each for each in self.shown if each not in chosen]
        rest = [
            (self.chosen[i + 1 :] if self.ranked else []) + far for i in range(len(self.chosen))
        ]
        return [
            (self.anchor, near, far)
            for near, others in zip(self.chosen, rest, strict=True)
            for far in others
        ]

    def problem(self) -> _Problem | None:
        """What is wrong with the screen, or None."""
        for word, objects in ("chosen", self.chosen), ("shown", self.shown):
            if (twice := first_again(objects)) is not None:
                message = f"{shown(twice)} occurs twice among the {word}"
                return _Problem(message, "Remove one.", f"with an object twice among the {word}")
        seen = set(self.shown)
        unseen = next((each for each in self.chosen if each not in seen), None)
        if unseen is None:
            return None
        return _Problem(
            f"{shown(unseen)} was chosen, but is not among the shown ({listed(self.shown, 8)})",
            "The objects shown must include those chosen; separate objects by |.",
            "on which a chosen object was not shown",
        )

    def kind(self) -> str:
        """Empty if this is an answer; else tied, catch, or why it is not an answer."""
        if not self.chosen and not self.tied:
            return _REASONS[0]
        if self.right is not None:
            return _CATCH if self.right else _REASONS[2]
        if self.tied:
            return _TIED if self.any_answer().comparisons() else _REASONS[1]
        return "" if self.comparisons() else _REASONS[1]


def _matches(file: InputFile) -> bool:
    if file.kind == "json":
        return f'"{_KEY}"'.encode() in file.content and isinstance(file.json, list)
    titles = file.titles
    return bool(titles & {*_ANCHOR} and titles & {*_SHOWN} and titles & {"chosen", "ranked"})


def _read(file: InputFile, options: ReadOptions) -> Reading:
    from_json = file.kind == "json"
    screens, about = _from_json(file, options) if from_json else _from_table(file, options)
    kept = file.are_valid(about.line, len(screens))
    screens, about = [screens[row] for row in np.flatnonzero(kept)], about.take(kept)
    _reject_impossible(screens, about)
    kinds = np.array([screen.kind() for screen in screens], dtype=object)
    if any(len(screens[row].chosen) > 1 for row in np.flatnonzero(kinds == "")):
        kinds[kinds == _TIED] = _UNTOLD
    reasons = (*_REASONS, _UNTOLD)
    skipped = [count_skipped(reason, kinds == reason, about.line) for reason in reasons]
    tied = kinds == _TIED
    screens = [each.any_answer() if tie else each for each, tie in zip(screens, tied, strict=True)]
    asked = np.flatnonzero((kinds == "") | tied)
    count = sum(len(screens[row].chosen) * len(screens[row].shown) for row in asked)
    need_memory(_NUMBERS_A_COMPARISON * count, f"{file.path}: all comparisons", "split the grids")
    comparisons = [screens[row].comparisons() for row in asked]
    objects = make_cells(
        file.path, _ANCHOR[:1] * 3, [row for rows in comparisons for row in rows], []
    )
    if from_json:  # objects are files of images
        short = short_names(objects.unique, options.listed_names())
        objects = objects.mapped(short.__getitem__)
    caught = kinds == _CATCH
    used = np.flatnonzero((kinds == "") | tied | caught)
    beside = find_beside(about.take(used))
    screen = np.arange(len(asked))
    trial = np.repeat(screen, [len(rows) for rows in comparisons])
    cells = objects.numbers_or_text(objects.codes)  # a name such as "NA" is refused by `check`
    if options.names is not None:
        cells, _ = objects.objects(objects.codes, options.names, positions=True)
    return build(
        about.take(asked),
        cells,
        options,
        beside.take(~caught[used]).of_screens(screen),
        rows=len(screens),
        trial=trial,
        positions=_positions([screens[row] for row in asked], tied[asked]),
        tied=tied[asked][trial],
        skipped=sum(skipped, ()),
        catch=make_catch(
            np.array([set(screens[i].right or ()) <= set(screens[i].chosen) for i in used]),
            beside.fields.get("observers"),
            caught[used],
        ),
    )


def _positions(screens: list[_Screen], tied: Bools) -> Index | None:
    """Where near and far of each comparison were shown, (m, 2).

    The shown are taken to be in the order of the screen, unless the chosen always come first.
    """
    told = [screen for screen, tie in zip(screens, tied, strict=True) if not tie]
    if all(set(each.shown[: len(each.chosen)]) == set(each.chosen) for each in told):
        return None
    return np.array([row for screen in screens for row in screen.positions()], dtype=np.int64)


def _reject_impossible(screens: list[_Screen], about: Cells) -> None:
    """Refuse invalid screens, those with the same problem at once."""
    problems = [screen.problem() for screen in screens]
    first = next((each for each in problems if each is not None), None)
    if first is not None:
        bad = np.array([each is not None and each.reason == first.reason for each in problems])
        about.reject(bad, lambda _: first.message, first.cure, first.reason)


# --- tables -----------------------------------------------------------------------------------


def _from_table(file: InputFile, options: ReadOptions) -> tuple[list[_Screen], Cells]:
    words = ("anchor", "chosen", "ranked", "shown", *BESIDE)
    table = file.table.renamed(options.columns, words)
    anchor, shown, ranked = table.need(*_ANCHOR), table.need(*_SHOWN), table.find("ranked")
    chosen = table.need("chosen") if ranked is None else ranked
    if ranked is not None and table.find("chosen") is not None:
        raise InputError(f"{table.path} has both 'chosen' and 'ranked'; keep one of them.")
    table.reject_blank([anchor, shown])
    missing = {cell for cell in table.unique if is_missing(cell) and cell not in table.named}
    lists = [[] if cell in missing else _split(cell) for cell in table.unique]
    screens = []
    for codes in table.codes:
        name, others = table.unique[codes[anchor]], lists[codes[shown]]
        right = [name] if name in others else None  # a catch trial: the anchor itself is shown
        answer = lists[codes[chosen]]
        tied = len(answer) == 1 and could_not_tell(answer[0]) and answer[0] not in others
        answer = [] if tied else answer
        screens.append(_Screen(name, answer, others, ranked is not None, right, tied))
    return screens, table


def _split(cell: str) -> list[str]:
    """The objects in a cell: separated by |, or by spaces if all of them are integers."""
    words = cell.split()
    if "|" not in cell and all(word.isascii() and word.isdigit() for word in words):
        return words
    return [part.strip() for part in cell.split("|") if part.strip()]


# --- the JSON of Food-100 ---------------------------------------------------------------------


def _from_json(file: InputFile, options: ReadOptions) -> tuple[list[_Screen], Cells]:
    if options.columns:
        raise InputError(f"{file.path}: columns is for tables, but this is JSON; leave it out.")
    tasks = file.json
    if not isinstance(tasks, list):
        raise InputError(f"{file.path}: expected a list of tasks with {_KEY!r}.")
    screens, about, places = [], [], []
    for number, task in enumerate(tasks, start=1):
        where = f"{file.path}, task {number}"
        listed = _get(where, task, _KEY)
        if not isinstance(listed, list):
            raise InputError(f"{where}: {_KEY!r} must be a list, got {listed!r:.80}.")
        worker = task.get("worker_id")
        for count, screen in enumerate(listed, start=1):
            place = f"{number}, screen {count}"
            screens.append(_json_screen(f"{where}, screen {count}", screen))
            timer = screen.get("timer")
            about.append(["" if each is None else str(each) for each in (worker, timer)])
            places.append(place)
    if not screens:
        raise InputError(f"{file.path} has no screens; at least one answer is needed.")
    header = ["observer", "response_time_ms"]
    table = replace(make_cells(file.path, header, about, places), unit="task")
    return screens, table.titled(["nobody", header[1]]) if table.blank([0]).all() else table


def _json_screen(where: str, screen: Any) -> _Screen:
    anchor = _name(where, "probe", _get(where, screen, "probe"))
    shown = _names(where, "images", _get(where, screen, "images"))
    chosen = _names(where, "near_answer", _get(where, screen, "near_answer"))
    if not screen.get("is_catchtrial"):
        return _Screen(anchor, chosen, shown, right=[anchor] if anchor in shown else None)
    right = screen.get("correct_answer")
    known = isinstance(right, list) and all(
        isinstance(i, int) and not isinstance(i, bool) and 0 <= i < len(shown) for i in right
    )
    return _Screen(anchor, chosen, shown, right=[shown[i] for i in right] if known else [])


def _get(where: str, entry: Any, key: str) -> Any:
    if not isinstance(entry, dict) or key not in entry:
        raise InputError(f"{where}: {key!r} is missing; found {entry!r:.80}.")
    return entry[key]


def _names(where: str, word: str, value: Any) -> list[str]:
    if value is None:
        return []
    if not isinstance(value, list):
        raise InputError(f"{where}: {word!r} must be a list of objects, got {value!r:.80}.")
    return [_name(where, word, each) for each in value]


def _name(where: str, word: str, value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | str) or not str(value).strip():
        raise InputError(f"{where}: {word!r} contains {value!r:.80}, which is not a name.")
    return str(value).strip()


SCREENS = Format(
    "screens",
    "choices from grids",
    "columns anchor, shown, and chosen or ranked; or JSON with HIT_screens",
    _matches,
    _read,
)
