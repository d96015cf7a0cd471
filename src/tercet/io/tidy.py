"""Answers as a tidy table: one row per answer, in CSV or TSV, plain or gzipped."""

from __future__ import annotations

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tercet.checks import check
from tercet.errors import InputError
from tercet.files import write_whole
from tercet.io.cells import Cells
from tercet.io.formats import Format
from tercet.io.headers import is_title
from tercet.io.reading import Options, Reading, count_skipped, no_answers
from tercet.io.source import Source
from tercet.io.times import read_times
from tercet.io.untitled import UnknownColumnsError, reject_titles, say_untitled
from tercet.io.written import check_text, texts_of
from tercet.observers import settle_observers
from tercet.refusals import placed
from tercet.tables import to_csv
from tercet.text import listing
from tercet.titles import COLUMNS, EXTRAS, find_columns, find_times
from tercet.triplets import Triplets, restore

__all__ = ["TIDY", "columns_of", "read_columns"]


def _matches(source: Source) -> bool:
    return source.kind == "text" and (
        source.titles >= set(COLUMNS[3]) or source.titles >= set(COLUMNS[4])
    )


def _read(source: Source, options: Options) -> Reading:
    table = _with_header(source, options)
    reading = read_columns(table, options, TIDY.name, TIDY.title)
    if table.lines[0] == table.header_line:
        return replace(reading, note=say_untitled(len(table.header)))
    return reading


def read_columns(table: Cells, options: Options, name: str, title: str) -> Reading:
    """Read the columns anchor, near, far (or a, b, c, d) and what stands beside them."""
    try:
        columns, extras = find_columns(
            table.header, lambda place: bool(table.blank([place]).all()) and len(table) > 0
        )
    except InputError as error:
        raise UnknownColumnsError(f"{table.path}: {error}", table) from None
    rows, time = len(table), find_times(table.header)
    if time is not None:
        extras["response_times"] = time
    unanswered = _unanswered(table, columns)
    skipped = count_skipped("without an answer", unanswered, table.line)
    if unanswered.all():
        raise InputError(no_answers(table.path, rows, skipped, 0))
    table = table.take(~unanswered) if skipped else table
    table.reject_blank(columns)
    beside = [i for field, i in extras.items() if field != "response_times"]
    table.reject_blank(beside, objects=False)
    objects, names = table.codes[:, columns], options.names
    if names is None:
        cells, names = table.numbered(objects)
    else:
        cells = table.text(objects)
    times = None if time is None else read_times(table, time)
    fields: dict[str, NDArray[Any]] = {} if times is None else {"response_times": times.seconds}
    for field, i in extras.items():
        if field == "weights":
            fields[field] = table.numbers(i, "weight")
        elif field == "observers":
            fields[field] = settle_observers(table.text(table.column(i)))
        elif field != "response_times":
            fields[field] = table.numbers_or_text(table.column(i))
    with placed(table.line):
        checked = check(cells, options.n_objects, names, **fields, where=table.where)
    note = _note(table.header, columns, extras)
    reading = Reading(restore(checked), table.path, name, title, rows, skipped, note=note)
    return reading if times is None else reading.with_times(times)


def _unanswered(table: Cells, columns: Sequence[int]) -> NDArray[np.bool_]:
    """Rows (m,) that ask but do not answer: near and far are empty, or all of a, b, c and d."""
    answer = columns[1:] if len(columns) == 3 else columns
    unanswered: NDArray[np.bool_] = np.logical_and.reduce(table.blank(answer), axis=1)
    return unanswered


def _note(header: Sequence[str], columns: Sequence[int], extras: Mapping[str, int]) -> str:
    """Which titles were taken as ours, and which columns were not used."""
    words = dict(zip(COLUMNS[len(columns)], columns, strict=True))
    words |= {  # of response times more is said
        field.removesuffix("s"): i for field, i in extras.items() if field != "response_times"
    }
    ours = {*COLUMNS[len(columns)], *EXTRAS}
    taken = [
        f"{header[i]!r} as {word}"
        for word, i in words.items()
        if header[i].strip().lower() not in ours
    ]
    used = {*columns, *extras.values()}
    unused = [title for i, title in enumerate(header) if i not in used and title]
    said = [f"Taken from the titles: {', '.join(taken)}."] if taken else []
    said += [f"Columns not used: {listing(unused, range(len(unused)))}."] if unused else []
    return " ".join(said)


def _with_header(source: Source, options: Options) -> Cells:
    """The table under titles of ours, which a file of 3 or 4 columns need not have."""
    cells = source.cells
    words = {cell.lower() for cell in cells.header}
    # Two such words make a header, perhaps one that lacks a column; one may be an object.
    ours = sum(map(is_title, words))
    titled = bool(options.columns) or ours >= 2 or words >= set(COLUMNS[4])
    if titled or len(cells.header) not in COLUMNS:
        return source.table.renamed(options.columns)
    table = cells.headless(COLUMNS[len(cells.header)])
    if options.names is None or not set(cells.header) <= table.named:
        reject_titles(table)
    return source.keep_valid(table)


def columns_of(triplets: Triplets) -> dict[str, list[Any]]:
    """The columns of a tidy table: objects by name if they have names, and what else is known."""
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


TIDY = Format(
    "tidy",
    "a tidy table",
    "columns anchor, near, far (or a, b, c, d)",
    _matches,
    _read,
    _write,
)
