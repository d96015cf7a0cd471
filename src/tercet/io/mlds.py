"""Difference scaling: quads and triads of the R package MLDS and the Python package mlds.

In both, an answer is 1 if the second pair differs more than the first, and 0 if the first differs
more. The pairs of a quad are (S1, S2) and (S3, S4), those of a triad (S1, S2) and (S2, S3). R has
the ranks of the stimuli, from 1, and the column resp (Knoblauch & Maloney, J. Stat. Software 25(2),
2008); Python has their physical values and the column Response.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tercet.answers.checks import row_number
from tercet.answers.questions import find_questions
from tercet.answers.titles import EXTRAS
from tercet.answers.triplets import Triplets
from tercet.arrays import Index
from tercet.errors import InputError
from tercet.files import write_whole
from tercet.io.cells import Cells
from tercet.io.inputfile import InputFile
from tercet.io.reading import Format, Reading, ReadOptions
from tercet.io.tidy import check_text, texts_of
from tercet.io.trials import BESIDE, Trials, find_beside, of_sides, reject_equal
from tercet.tables import to_csv

__all__ = ["MLDS_QUADS", "MLDS_TRIADS"]


_RESPONSE = ("resp", "response")
_ANSWERS = {"0": 0, "0.0": 0, "false": 0, "1": 1, "1.0": 1, "true": 1}
# The order of a row if the first pair differs more, and if the second does.
_QUAD = np.array([[2, 3, 0, 1], [0, 1, 2, 3]])
_TRIAD = np.array([[1, 2, 0], [1, 0, 2]])


def _stimuli(n: int) -> list[str]:
    return [f"s{k}" for k in range(1, n + 1)]


def _matches(file: InputFile, n: int) -> bool:
    titles = file.titles
    if not titles >= set(_stimuli(n)) or not titles & set(_RESPONSE):
        return False
    return n == 4 or "s4" not in titles


def _read(file: InputFile, options: ReadOptions, n: int) -> Reading:
    table = file.table.renamed(options.columns, (*_RESPONSE, *_stimuli(n), *BESIDE))
    places = [table.need(title) for title in _stimuli(n)]
    resp = table.need(*_RESPONSE)
    trials = Trials.of(table).skip(table.blank([resp])[:, 0], "without an answer")
    table = trials.table
    table.reject_blank(places)
    larger = _answers(table, resp)
    different = ((0, 1), (2, 3)) if n == 4 else ((0, 1), (1, 2), (0, 2))
    cure = "The stimuli must differ; correct or remove the line."
    reject_equal(table, [(places[i], places[j]) for i, j in different], cure)
    order = (_QUAD if n == 4 else _TRIAD)[larger]
    codes = np.take_along_axis(table.codes[:, places], order, axis=1)
    numbers, names = _number(table, codes, options)
    # R's package sorts the stimuli of each row; their order is then not that of the screen.
    first, last = numbers[order == 0], numbers[order == n - 1]
    varies = (first < last).any() and (first > last).any()
    options = options._replace(names=names)
    # People point out the pair that differs more: by the position of one pair they chose the other.
    sides = of_sides(larger) if varies else None
    return trials.build(numbers, options, find_beside(table), positions=sides)


def _answers(table: Cells, resp: int) -> Index:
    """Which pair differs more (rows,): 0 the first, 1 the second."""
    answers = np.array([_ANSWERS.get(cell.lower(), -1) for cell in table.unique], dtype=np.int64)
    larger: Index = answers[table.column(resp)]
    table.reject(
        larger < 0,
        lambda row: (
            f"{table.header[resp]} is {table.unique[table.codes[row, resp]]!r}; it must be 1 if "
            "the second pair differs more, 0 if the first does, or NA if there was no answer"
        ),
        "Correct or remove the line.",
        f"whose {table.header[resp]} is neither 0 nor 1",
    )
    return larger


def _number(table: Cells, codes: Index, options: ReadOptions) -> tuple[Index, list[str]]:
    """Number the stimuli in the order of their values; returns numbers (m, k) and names."""
    labels = {code: _label(table.unique[code]) for code in np.unique(codes).tolist()}
    if options.names is None:
        names = _in_order(table, codes, labels, options.n_objects)
        place = {name: i for i, name in enumerate(names)}
    else:
        names = options.listed_names()
        place = {_label(str(name)): i for i, name in enumerate(names)}
        ranks = {str(i + 1): i for i in range(len(names))}
        if not place.keys() >= {*labels.values()}:
            _reject_unknown(table, codes, labels, (place, ranks))
            place = ranks
    numbers = np.zeros(len(table.unique), dtype=np.int64)
    numbers[list(labels)] = [place[label] for label in labels.values()]
    return numbers[codes], names


def _reject_unknown(
    table: Cells, codes: Index, labels: dict[int, str], known: Sequence[dict[str, int]]
) -> None:
    """Refuse stimuli unless all are in one of the known tables."""
    unknown = [[code for code, label in labels.items() if label not in each] for each in known]
    if all(unknown):
        row = int(np.isin(codes, unknown[-1]).any(axis=1).argmax())
        cell = next(table.unique[code] for code in codes[row] if code in unknown[-1])
        raise InputError(
            f"{table.where(row)}: the stimulus {cell!r} is neither one of the {len(known[0])} "
            "names nor a rank from 1. Add it to names or correct it."
        )


def _label(cell: str) -> str:
    """One text for one value: 0.3, .30 and 0.30000000000000004 are the same stimulus."""
    try:
        return f"{float(cell) + 0:.10g}"
    except ValueError:
        return cell


def _in_order(
    table: Cells, codes: Index, labels: dict[int, str], n_objects: int | None
) -> list[str]:
    """The values in increasing order; all ranks, if the number of objects is given."""
    for code in labels:
        try:
            finite = bool(np.isfinite(float(table.unique[code])))
        except ValueError:
            finite = False
        if not finite:
            row = int((codes == code).any(axis=1).argmax())
            raise InputError(
                f"{table.where(row)}: the stimulus is {table.unique[code]!r}, not a number. "
                "Stimuli must be ranks from 1 or physical values; else give their names in order."
            )
    names = sorted(set(labels.values()), key=float)
    ranks = [str(i + 1) for i in range(n_objects or 0)]
    return ranks if {*names} < {*ranks} else names


# --- writing ----------------------------------------------------------------------------------


def _write(triplets: Triplets, path: Path, n: int) -> None:
    """Write physical values if the names are increasing numbers, else ranks.

    Both packages expect the stimuli of a pair and of a triad in increasing order.
    """
    if triplets.weights is not None and triplets.votes is None:
        raise InputError(
            f"{path}: MLDS has one row per answer, but these weights are not counts. Write CSV."
        )
    shown, larger = _as_quads(triplets) if n == 4 else _as_triads(triplets, path)
    values = _values(triplets.names)
    if values is None:
        _reject_numbers(triplets, path)
    titles = ["resp", *(word.upper() for word in _stimuli(n))]
    stimuli: NDArray[Any] = shown + 1
    if values is not None:
        titles = ["Response", *_stimuli(n)]
        stimuli = np.array(values, dtype=object)[shown]
    columns = [larger, *stimuli.T]
    for word in ("observer", "response_time"):
        if (known := getattr(triplets, EXTRAS[word])) is not None:
            titles, columns = [*titles, word], [*columns, known]
    cells = (["" if cell != cell else cell for cell in column.tolist()] for column in columns)
    rows = list(zip(*cells, strict=True))
    text = to_csv(titles, (rows[t] for t in triplets.each_vote()))
    texts = texts_of(triplets) | {"names": []}  # stimuli are numbers
    check_text(path, texts, text)
    write_whole(path, text.encode("utf-8"))


def _reject_numbers(triplets: Triplets, path: Path) -> None:
    """Refuse ranks if names are other numbers, with which they would be confused."""
    place = {_label(name): i for i, name in enumerate(triplets.names or ())}
    ranks = [str(i + 1) for i in np.unique(triplets.array).tolist()]
    if place.keys() >= {*ranks} and any(place[rank] != int(rank) - 1 for rank in ranks):
        raise InputError(
            f"{path}: the names are numbers but not increasing, and would be read as ranks. Give "
            "them in increasing order, or write CSV."
        )


def _as_quads(triplets: Triplets) -> tuple[Index, Index]:
    """Quads (m, 4), each pair in increasing order and the lower one first, and answers (m,)."""
    questions = find_questions(triplets)
    return questions.pairs[questions.number], questions.first.astype(np.int64)


def _as_triads(triplets: Triplets, path: Path) -> tuple[Index, Index]:
    """Triads (m, 3) in increasing order, and the answers (m,)."""
    if triplets.is_quadruplets:
        raise InputError(f"{path}: these are quadruplets; write them as mlds-quads.")
    ordered = np.sort(triplets.array, axis=1)
    anchor, near, _ = triplets.array.T
    outside = ordered[:, 1] != anchor
    if outside.any():
        raise InputError(
            f"{path}: in {row_number(int(outside.argmax()))} the anchor is not between the two "
            f"others, as a triad requires ({np.count_nonzero(outside)} such rows in all). Write "
            "mlds-quads."
        )
    return ordered, (near < anchor).astype(np.int64)


def _values(names: Sequence[str] | None) -> list[str] | None:
    """The names, if they are increasing numbers but not ranks."""
    try:
        values = np.array([float(name) for name in names or ()])
    except ValueError:
        return None
    ranks = np.array_equal(values, np.arange(1, len(values) + 1))
    rising = bool(np.isfinite(values).all() and (np.diff(values) > 0).all())
    return list(names) if names and rising and not ranks else None


MLDS_QUADS = Format(
    "mlds-quads",
    "quads of MLDS",
    "columns resp (or Response), S1, S2, S3, S4",
    partial(_matches, n=4),
    partial(_read, n=4),
    partial(_write, n=4),
)
MLDS_TRIADS = Format(
    "mlds-triads",
    "triads of MLDS",
    "columns resp (or Response), S1, S2, S3",
    partial(_matches, n=3),
    partial(_read, n=3),
    partial(_write, n=3),
)
