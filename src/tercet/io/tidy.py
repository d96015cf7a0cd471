"""Answers as a tidy table: one row per answer, in CSV or TSV, plain or gzipped."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tercet.checks import COLUMNS, EXTRAS, check, find_columns, listing
from tercet.errors import InputError
from tercet.files import write_whole
from tercet.io.cells import Cells
from tercet.io.formats import Format
from tercet.io.reading import Options, Reading, count_skipped, no_answers
from tercet.io.source import Source
from tercet.io.times import find_times, read_times
from tercet.observers import settle_observers
from tercet.refusals import placed
from tercet.triplets import Triplets, restore

__all__ = ["TIDY", "columns_of", "read_columns"]

# What else people call our columns; taken where the file has just one of them, and said.
_ALSO = {
    "anchor": ("probe", "reference", "head", "target"),
    "near": ("nearer", "closer", "closest", "chosen", "positive", "winner"),
    "far": ("farther", "further", "rejected", "unchosen", "other", "negative", "loser"),
    "observer": ("participant", "participant_id", "subject", "subject_id", "worker_id", "worker"),
}


def _matches(source: Source) -> bool:
    return source.kind == "text" and (
        source.titles >= set(COLUMNS[3]) or source.titles >= set(COLUMNS[4])
    )


def _read(source: Source, options: Options) -> Reading:
    given = dict(options.columns or {})
    also = _also(source.cells.renamed(given))
    table = _with_header(source, given | also)
    reading = read_columns(table, options, TIDY.name, TIDY.title)
    if not also:
        return reading
    taken = ", ".join(f"{title!r} as {word}" for word, title in also.items())
    return replace(reading, note=f"Taken from the titles: {taken}. {reading.note}".strip())


def _also(cells: Cells) -> dict[str, str]:
    """Titles of the file that mean ours, by our words; none if that makes no comparison."""
    words = [title.lower() for title in cells.header]
    found: dict[str, str] = {}
    for word, others in _ALSO.items():
        places = [i for i, title in enumerate(words) if title in others]
        if word not in words and len(places) == 1 and not cells.blank(places).any():
            found[word] = cells.header[places[0]]
    is_whole = all(word in words or word in found for word in COLUMNS[3])
    return found if is_whole else {}


def read_columns(table: Cells, options: Options, name: str, title: str) -> Reading:
    """Read the columns anchor, near, far (or a, b, c, d) and what stands beside them."""
    try:
        columns, extras = find_columns(table.header)
    except InputError as error:
        raise InputError(
            f"{table.path}: {error} Rename them, or say which is which with columns, on the "
            "command line --columns anchor=…,near=…,far=… or, where sides were shown, "
            "anchor=…,left=…,right=…,response=…"
        ) from None
    rows, time = len(table), find_times(table.header)
    if time is not None:
        extras["response_times"] = time
    unanswered = _unanswered(table, columns)
    skipped = count_skipped("without an answer", unanswered, table.line)
    if unanswered.all():
        raise InputError(no_answers(table.path, rows, skipped, 0))
    table = table.take(~unanswered) if skipped else table
    table.reject_blank([*columns, *(i for field, i in extras.items() if field != "response_times")])
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
    used = {*columns, *extras.values()}
    unused = [title for i, title in enumerate(table.header) if i not in used and title]
    note = f"Columns not used: {listing(unused, range(len(unused)))}." if unused else ""
    reading = Reading(restore(checked), table.path, name, title, rows, skipped, note=note)
    return reading if times is None else reading.with_times(times)


def _unanswered(table: Cells, columns: Sequence[int]) -> NDArray[np.bool_]:
    """Rows (m,) that ask but do not answer: near and far are empty, or all of a, b, c and d."""
    answer = columns[1:] if len(columns) == 3 else columns
    unanswered: NDArray[np.bool_] = np.logical_and.reduce(table.blank(answer), axis=1)
    return unanswered


def _with_header(source: Source, columns: Mapping[str, str] | None) -> Cells:
    """The table under titles of ours, which a file of 3 or 4 columns need not have."""
    cells = source.cells
    words = {cell.lower() for cell in cells.header}
    # Two such words make a header, perhaps one that lacks a column; one may be an object.
    ours = words & {*COLUMNS[3], *EXTRAS, *(title for titles in _ALSO.values() for title in titles)}
    titled = bool(columns) or len(ours) >= 2 or words >= set(COLUMNS[4])
    if titled or len(cells.header) not in COLUMNS:
        return source.table.renamed(columns)
    table = cells.headless(COLUMNS[len(cells.header)])
    _reject_unknown_header(table)
    return source.keep_valid(table)


def _reject_unknown_header(table: Cells) -> None:
    """Refuse words over columns of integers, which would become names together with them."""
    first, rest = table.codes[0], np.unique(table.codes[1:])
    integer = table.is_integer()
    if rest.size and all(integer[code] for code in rest) and not any(integer[i] for i in first):
        found = ", ".join(repr(table.unique[code]) for code in first)
        raise InputError(
            f"{table.where(0)}: the header must have the columns anchor, near, far "
            f"(or a, b, c, d); columns found: {found}. Rename them, say which is which with "
            "columns, or remove the line."
        )


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
    text = io.StringIO(newline="")
    delimiter = "\t" if ".tsv" in path.suffixes[-2:] else ","
    writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    data = text.getvalue().encode("utf-8")
    write_whole(path, gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


TIDY = Format(
    "tidy",
    "a tidy table",
    "columns anchor, near, far (or a, b, c, d)",
    _matches,
    _read,
    _write,
)
