"""Answers as a tidy table: one row per answer, in CSV or TSV, plain or gzipped."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tercet.answers.checks import label_observers, settle_observers
from tercet.answers.titles import COLUMNS, EXTRAS, find_columns, find_times
from tercet.answers.triplets import Triplets
from tercet.arrays import Bools
from tercet.errors import InputError
from tercet.files import write_whole
from tercet.io.cells import Cells, make_cells, read_cells
from tercet.io.columns import (
    UnknownColumnsError,
    is_title,
    reject_repeated_header,
    reject_titles,
    say_untitled,
)
from tercet.io.inputfile import InputFile
from tercet.io.reading import Format, Reading, ReadOptions
from tercet.io.trials import Beside, Trials, find_sides, of_sides, read_times
from tercet.tables import to_csv
from tercet.text import listed

__all__ = [
    "BESIDE_ANSWERS",
    "TIDY",
    "check_table",
    "check_text",
    "columns_of",
    "read_columns",
    "texts_of",
]

Texts = Mapping[str, Sequence[str]]

# Columns beside those of `EXTRAS`: what was on each side, and whether the observer could not tell.
CANNOT_TELL = "cannot_tell"
BESIDE_ANSWERS = ("left", "right", CANNOT_TELL)
_BOOLEAN = {
    **dict.fromkeys(("1", "1.0", "true", "yes"), 1),
    **dict.fromkeys(("", "0", "0.0", "false", "no", "na", "nan"), 0),
}


def _matches(file: InputFile) -> bool:
    return file.kind == "text" and (
        file.titles >= set(COLUMNS[3]) or file.titles >= set(COLUMNS[4])
    )


def _read(file: InputFile, options: ReadOptions) -> Reading:
    table = _with_header(file, options)
    reading = read_columns(table, options)
    if table.lines[0] == table.header_line:
        return replace(reading, note=say_untitled(len(table.header)))
    return reading


def read_columns(table: Cells, options: ReadOptions) -> Reading:
    """Read the columns anchor, near, far (or a, b, c, d) and the optional ones."""
    try:
        columns, extras = find_columns(
            table.header, lambda place: bool(table.blank([place]).all()) and len(table) > 0
        )
    except InputError as error:
        raise UnknownColumnsError(f"{table.path}: {error}", table) from None
    extras.pop("response_times", None)  # found by `find_times`, under other titles too
    time = find_times(table.header)
    trials = Trials.of(table).skip(_unanswered(table, columns), "without an answer")
    table = trials.table
    table.reject_blank(columns)
    table.reject_blank(list(extras.values()), objects=False)
    cells, names = table.objects(table.codes[:, columns], options.names)
    times = None if time is None else read_times(table, time)
    fields: dict[str, NDArray[Any]] = {}
    for field, i in extras.items():
        if field == "weights":
            fields[field] = table.numbers(i, "weight")
        elif field == "observers":
            fields[field] = settle_observers(table.text(table.column(i)))
        else:
            fields[field] = table.numbers_or_text(table.column(i))
    sides = None
    if len(columns) == 3:
        sides = find_sides(table, *table.codes.T[list(columns[1:])])
    tie = table.find(CANNOT_TELL)
    options, note = options._replace(names=names), _note(table.header, columns, extras, time)
    return trials.build(
        cells,
        options,
        Beside(fields, times),
        note=note,
        positions=None if sides is None else of_sides(sides),
        tied=None if tie is None else _tied(table, tie),
    )


def _tied(table: Cells, place: int) -> Bools:
    """Rows (m,) in which the observer could not tell."""
    meaning = np.array([_BOOLEAN.get(cell.lower(), -1) for cell in table.unique], dtype=np.int64)
    found = meaning[table.column(place)]
    table.reject(
        found < 0,
        lambda row: f"{CANNOT_TELL} is {table.unique[table.codes[row, place]]!r:.60}",
        "It is 1 (true, yes) if the observer could not tell, else 0 (false, no) or empty.",
        f"whose {CANNOT_TELL} is neither yes nor no",
    )
    return np.asarray(found == 1)


def _unanswered(table: Cells, columns: Sequence[int]) -> NDArray[np.bool_]:
    """Rows (m,) without an answer: near and far are empty, or all of a, b, c and d."""
    answer = columns[1:] if len(columns) == 3 else columns
    unanswered: NDArray[np.bool_] = np.logical_and.reduce(table.blank(answer), axis=1)
    return unanswered


def _note(
    header: Sequence[str], columns: Sequence[int], extras: Mapping[str, int], time: int | None
) -> str:
    """A note about titles that were interpreted, and about unused columns."""
    words = dict(zip(COLUMNS[len(columns)], columns, strict=True))
    words |= {field.removesuffix("s"): i for field, i in extras.items()}
    ours = {*COLUMNS[len(columns)], *EXTRAS}
    taken = [
        f"{header[i]!r} as {word}"
        for word, i in words.items()
        if header[i].strip().lower() not in ours
    ]
    used = {*columns, *extras.values(), time}
    unused = [
        title
        for i, title in enumerate(header)
        if i not in used and title and title.lower() not in BESIDE_ANSWERS
    ]
    notes = [f"Columns used: {', '.join(taken)}."] if taken else []
    notes += [f"Columns not used: {listed(unused, 10)}."] if unused else []
    return " ".join(notes)


def _with_header(file: InputFile, options: ReadOptions) -> Cells:
    """The table under our titles; a file of 3 or 4 columns may have no header."""
    cells = file.cells
    words = {cell.lower() for cell in cells.header}
    # Two known titles make a header, perhaps with a column missing; one may be an object.
    ours = sum(map(is_title, words))
    titled = bool(options.columns) or ours >= 2 or words >= set(COLUMNS[4])
    if titled or len(cells.header) not in COLUMNS:
        return file.table.renamed(options.columns)
    table = cells.headless(COLUMNS[len(cells.header)])
    if options.names is None or not set(cells.header) <= table.named:
        reject_titles(table)
    return file.keep_valid(table)


def columns_of(triplets: Triplets) -> dict[str, list[Any]]:
    """The columns of a tidy table: objects, by name if they have names, and optional columns."""
    names = None if triplets.names is None else np.array(triplets.names, dtype=object)
    objects = triplets.array if names is None else names[triplets.array]
    table = dict(zip(COLUMNS[triplets.shape[1]], objects.T.tolist(), strict=True))
    for title in ("observer", "screen", "weight", "response_time"):
        if (values := getattr(triplets, EXTRAS[title])) is not None:
            table[title] = values.tolist()
    return table


def _write(triplets: Triplets, path: Path) -> None:
    """Write a tidy table: with tabs if the name ends in .tsv, compressed if it ends in .gz."""
    columns = columns_of(triplets)
    if "response_time" in columns:
        columns["response_time"] = ["" if t != t else t for t in columns["response_time"]]
    delimiter = "\t" if ".tsv" in path.suffixes[-2:] else ","
    text = to_csv(columns, zip(*columns.values(), strict=True), delimiter)
    check_text(path, texts_of(triplets), text, delimiter)
    data = text.encode("utf-8")
    write_whole(path, gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


# --- text must survive writing and reading ----------------------------------------------------


def texts_of(triplets: Triplets) -> dict[str, list[str]]:
    """The distinct names, and observers and screens if they are text."""
    columns = {"observers": triplets.observers, "screens": triplets.screens}
    return {"names": list(triplets.names or ())} | {
        kind: list(dict.fromkeys(column.tolist()))
        for kind, column in columns.items()
        if column is not None and column.dtype.kind == "U"
    }


def check_table(path: Path, texts: Texts) -> None:
    """Refuse text that would change when a table of any format is read again.

    Parameters
    ----------
    path : path
        The file to write.
    texts : mapping of str to sequences of str
        The distinct cells of each kind, as from `texts_of`.
    """
    for observer in texts.get("observers", ()):
        (label,) = label_observers([observer])
        if label != observer.strip():
            raise _refusal(path, observer, f"as an observer it becomes {label!r} when read")
    for group in texts.values():
        for each in group:
            if each != each.strip():
                raise _refusal(path, each, "spaces around it are removed when a table is read")
        cells = make_cells(str(path), ["text"], [[each] for each in group], [])
        numbers = cells.numbers_or_text(cells.codes[:, 0])
        if numbers.dtype == object:
            continue
        first = np.unique(numbers, return_index=True)[1]
        for i in sorted({*range(len(group))} - {*first.tolist()}):
            raise _refusal(
                path, group[i], "another one becomes the same number when a table is read"
            )


def check_text(path: Path, texts: Texts, table: str, delimiter: str = ",") -> None:
    """Refuse text that would change when a text table is read again.

    Parameters
    ----------
    path, texts
        As in `check_table`.
    table : str
        The whole table, with its header.
    delimiter : str
    """
    check_table(path, texts)
    every = [each for group in texts.values() for each in group]
    for each in every:
        if "\r" in each or "\0" in each or "\n\ufeff" in f"\n{each}":
            raise _refusal(path, each, "it has a character that a text table cannot contain")
    titles = (each for each in every if is_title(each) or each in COLUMNS[4])
    doubtful = [*titles, *(each for each in every if "\n" in each or len(each) > 2**16)]
    if not doubtful:
        return
    try:
        reject_repeated_header(read_cells(str(path), table, delimiter))
    except InputError:
        raise _refusal(path, doubtful[0], "it would be read as rows or titles") from None


def _refusal(path: Path, text: str, why: str) -> InputError:
    return InputError(
        f"{path}: {text!r:.80} cannot be written, because {why}. Rename it, or write .npz, which "
        "keeps every name."
    )


TIDY = Format(
    "tidy",
    "a tidy table",
    "columns anchor, near, far (or a, b, c, d)",
    _matches,
    _read,
    _write,
)
