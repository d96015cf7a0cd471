"""Alternatives of choices as they are given, and their objects by number; errors name the row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from tercet.answers.checks import (
    Array,
    Where,
    check_names,
    check_range,
    look_up,
    natural_key,
    read_array,
    reject_cells,
    reject_rows,
    row_number,
    settle_n_objects,
    settle_types,
    show_object,
    whole,
)
from tercet.arrays import Bools, Floats, Index
from tercet.errors import InputError, RowsError
from tercet.text import joined, listed, shown

__all__ = [
    "About",
    "Cells",
    "ChoiceFields",
    "Objects",
    "Ragged",
    "again",
    "find_forms",
    "number_objects",
    "of_rows",
    "pair_with_anchor",
    "read_columns",
    "read_pairs",
    "read_places",
    "take",
]

_NO_CHOICES = "there are no choices (0 rows); at least one is needed."


class ChoiceFields(NamedTuple):
    """The fields of `Choices`.

    The alternatives of all choices stand one after the other, those that were chosen first. The
    objects of a pair are in ascending order.
    """

    pairs: Index  # (A, 2)
    cuts: Index  # (m + 1,): choice c has the alternatives cuts[c] to cuts[c + 1]
    kinds: Array  # (m,) of int8
    n_chosen: Index  # (m,)
    positions: Index | None  # (A,): where each was shown, -1 if unknown
    n_objects: int
    names: tuple[str, ...] | None
    observers: Array | None
    screens: Array | None
    weights: Floats | None
    response_times: Floats | None


class About(NamedTuple):
    """What is given beside the choices, not yet checked."""

    n_objects: int | None
    names: Iterable[str] | None
    observers: Any
    screens: Any
    weights: Any
    response_times: Any
    cannot_tell: Any = None
    positions: Any = None


class Ragged(NamedTuple):
    """Rows of different lengths, one after the other."""

    values: Array  # (A,) or (A, 2)
    cuts: Index  # (m + 1,)

    def rows(self) -> Index:
        """The row of each value, (A,)."""
        return np.repeat(np.arange(len(self.cuts) - 1), np.diff(self.cuts))

    def places(self) -> Index:
        """The place of each value in its row, (A,)."""
        return np.arange(len(self.values)) - np.repeat(self.cuts[:-1], np.diff(self.cuts))


def take(cuts: Index, rows: Index) -> tuple[Index, Index]:
    """The places of the values of some rows, one row after the other, and their cuts."""
    sizes = np.diff(cuts)[rows]
    after = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return np.arange(after[-1]) + np.repeat(cuts[:-1][rows] - after[:-1], sizes), after


def find_forms(fields: ChoiceFields) -> tuple[Index, Index]:
    """The forms of choices, (F, 3) rows (kind, chosen, alternatives), and that of each, (m,)."""
    sizes = np.diff(fields.cuts)
    base = int(sizes.max(initial=0)) + 1
    code = (fields.kinds.astype(np.int64) * base + fields.n_chosen) * base + sizes
    codes, form = np.unique(code, return_inverse=True)
    forms = np.column_stack([codes // base**2, codes // base % base, codes % base])
    return forms, form.reshape(-1).astype(np.int64)


# --- input of any kind ------------------------------------------------------------------------


def _equal_rows(values: Any, word: str) -> Array | None:
    """An array of the values; None if rows have different lengths."""
    if isinstance(getattr(values, "_fields", None), tuple):  # Triplets or Choices
        raise InputError(
            f"{word} must be an array or lists, got {type(values).__name__}, which are answers "
            "already. Make choices of Triplets with Choices.from_triplets."
        )
    try:
        array = read_array(values)
    except InputError:
        return None
    if array.ndim == 0:
        raise InputError(
            f"{word} must be an array or lists, with one entry per choice, got {shown(values)}."
        )
    return None if array.dtype.kind == "O" and any(map(_is_row, array.flat)) else array


def _is_row(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str)


def _ragged(rows: Sequence[Sequence[Any]]) -> Ragged:
    cuts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return Ragged(read_array([value for row in rows for value in row]), cuts)


def _even(array: Array, length: int) -> Ragged:
    cuts = np.arange(len(array) + 1, dtype=np.int64) * length
    return Ragged(array.reshape(-1, *array.shape[2:]), cuts)


def read_objects(values: Any, word: str, *, single: bool = False) -> Ragged:
    """Read rows of cells: an array (m, s), or a list of lists of any length.

    Parameters
    ----------
    values : array-like or sequence of sequences
    word : str
        Its name in errors.
    single : bool
        Whether a row may also be one cell instead of a list.
    """
    array = _equal_rows(values, word)
    if array is not None and array.ndim == (1 if single else 2) and len(array):
        return _even(array, array.size // len(array))
    if array is not None and array.ndim == 2 and len(array):
        return _even(array, array.shape[1])
    if array is not None and array.size == 0:
        raise InputError(_NO_CHOICES if len(array) == 0 else f"{word} has only empty rows.")
    if array is not None and array.ndim != 1:
        raise InputError(
            f"{word} must have two dimensions, one row per choice, got {array.ndim} (shape "
            f"{array.shape}); a single choice is a list with one list in it."
        )
    rows = []
    for i, row in enumerate(values):
        if not _is_row(row) and not single:
            raise InputError(
                f"{row_number(i)}: {word} is {shown(row)}, which is not a list. Give a list of "
                "objects for every choice."
            )
        rows.append(list(row) if _is_row(row) else [row])
    return _ragged(rows)


def read_pairs(values: Any) -> Ragged:
    """Read alternatives: an array (m, a, 2), or a list of lists of pairs."""
    array = _equal_rows(values, "alternatives")
    if array is not None and array.ndim == 3 and array.shape[2] == 2 and array.size:
        return _even(array, array.shape[1])
    if array is not None and len(array) == 0:
        raise InputError(_NO_CHOICES)
    rows: list[list[Any]] = []
    for i, row in enumerate(values):
        alternatives = list(row) if _is_row(row) else [row]
        wrong = [each for each in alternatives if not _is_row(each) or len(each) != 2]
        if wrong:
            raise InputError(
                f"{row_number(i)}: an alternative is {shown(wrong[0])}, which is not a pair of "
                "objects. Give a list of pairs for every choice, such as [[a, b], [a, c]]."
            )
        rows.append([tuple(each) for each in alternatives])
    flat = [cell for row in rows for pair in row for cell in pair]
    cuts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return Ragged(read_array(flat).reshape(-1, 2), cuts)


def read_columns(values: Any, words: Sequence[str]) -> Array:
    """Read a table (m, len(words)); columns of a data frame are found by these words."""
    if hasattr(values, "columns"):
        missing = [word for word in words if word not in list(values.columns)]
        if missing:
            raise InputError(
                f"the data frame has no column {shown(missing[0])}; it needs the columns "
                f"{joined(words)}, but has {listed(list(values.columns))}."
            )
        parts = [np.asarray(values[word]) for word in words]
        if any(part.dtype.kind not in "iuf" for part in parts):
            parts = [part.astype(object) for part in parts]
        array: Array = np.column_stack(parts)
    else:
        found = _equal_rows(values, "the choices")
        array = read_array(values) if found is None else found
    if array.ndim != 2 or array.shape[1] != len(words):
        raise InputError(
            f"the choices must have the {len(words)} columns {joined(words)}, got shape "
            f"{array.shape}."
        )
    if len(array) == 0:
        raise InputError(_NO_CHOICES)
    return array


def read_places(values: Any, word: str, m: int, *, single: bool = False) -> Ragged:
    """Read whole numbers that belong to m choices, such as places among the alternatives."""
    found = read_objects(values, word, single=single)
    _check_length(found, word, m)
    row = found.rows()
    with of_rows(row) as where:
        cells = settle_types(found.values, (word,), where)
        numbers = cells.dtype.kind in "iuf"
        reject_cells(
            np.floor(cells) != cells if numbers else np.ones(len(cells), dtype=bool),
            cells,
            (word,),
            "which is not a whole number",
            "Alternatives are numbered 0, 1, 2, … in the order in which they are given.",
            where,
        )
    return Ragged(cells.astype(np.int64), found.cuts)


# --- from cells to numbered objects -----------------------------------------------------------


@contextmanager
def of_rows(row: Index) -> Iterator[Where]:
    """The place of a cell in errors; numbers of refused cells become those of their rows."""
    try:
        yield lambda cell: row_number(int(row[cell]))
    except RowsError as error:
        error.rows = np.unique(row[list(error.rows)]).tolist()
        raise


class Cells(NamedTuple):
    """Names or numbers of objects."""

    values: Array  # (r, c)
    words: Sequence[str]  # (c,): the names of the columns in errors
    row: Index  # (r,): the choice that each row of cells belongs to


class Objects(NamedTuple):
    """Objects by number, and what they are called."""

    arrays: list[Index]  # the cells of each table, (r, c)
    n_objects: int
    names: tuple[str, ...] | None


def number_objects(tables: Sequence[Cells], about: About) -> Objects:
    """Number the objects of several tables of cells, which use names or numbers alike."""
    known = None if about.names is None else check_names(about.names)
    settled: list[Array] = []
    for values, words, row in tables:
        with of_rows(row) as where:
            settled += [settle_types(values, words, where, frozenset(known or ()))]
    named = [values.dtype.kind in "OU" for values in settled]
    if any(named) and not all(named):
        text, number = named.index(True), named.index(False)
        raise InputError(
            f"{tables[text].words[0]} has names, such as {shown(str(settled[text].flat[0]))}, but "
            f"{tables[number].words[0]} has numbers, such as {settled[number].flat[0]}. Use names "
            "everywhere, or numbers everywhere."
        )
    if named[0] and known is None:
        every = {str(name) for values in settled for name in values.ravel().tolist()}
        known = tuple(sorted(every, key=natural_key))
    arrays: list[Index] = []
    for values, (_, words, row) in zip(settled, tables, strict=True):
        with of_rows(row) as where:
            if named[0]:
                arrays += [look_up(values, known, where, words)]
            else:
                arrays += [whole(values, where, words)]
    largest = max(int(array.max()) for array in arrays)
    count = settle_n_objects(about.n_objects, known, largest + 1)
    for array, (_, words, row) in zip(arrays, tables, strict=True):
        with of_rows(row) as where:
            check_range(array, count, known, words, where)
    return Objects(arrays, count, known)


# --- an anchor and the objects shown with it --------------------------------------------------


class Star(NamedTuple):
    """Choices among the pairs of an anchor with other objects."""

    objects: Objects
    pairs: Ragged
    places: list[Ragged]  # of those chosen, among those shown


def pair_with_anchor(
    anchor: Any, offered: Any, word: str, chosen: Mapping[str, Any], about: About
) -> Star:
    """Pair each anchor with the objects shown, and find those chosen among them.

    Parameters
    ----------
    anchor : array-like of shape (m,)
    offered : array-like of shape (m, s), or a sequence of sequences
        The objects shown.
    word : str
        Their name in errors.
    chosen : mapping of str to array-like
        By its name in errors, what was chosen: an object of each row, or several.
    about : About
    """
    cells = read_objects(offered, word)
    m, row = len(cells.cuts) - 1, cells.rows()
    anchors = read_array(anchor)
    if anchors.shape != (m,):
        raise InputError(
            f"anchor must have one object per choice, {m} in all; got shape {anchors.shape}."
        )
    picks = [read_objects(values, name, single=True) for name, values in chosen.items()]
    for name, pick in zip(chosen, picks, strict=True):
        _check_length(pick, name, m)
    objects = number_objects(
        [
            Cells(anchors[:, None], ("anchor",), np.arange(m)),
            Cells(cells.values[:, None], (word,), row),
            *(
                Cells(pick.values[:, None], (name,), pick.rows())
                for name, pick in zip(chosen, picks, strict=True)
            ),
        ],
        about,
    )
    centre, others = objects.arrays[0][row, 0], objects.arrays[1][:, 0]

    def tell(cell: int) -> str:
        return f"{word} has {show_object(others[cell], objects.names)}"

    with of_rows(row) as where:
        reject_rows(
            centre == others,
            lambda cell: f"{tell(cell)}, which is the anchor",
            "The anchor is not among the objects shown with it; leave it out.",
            where,
            f"whose anchor is in {word}",
        )
        reject_rows(
            again(row, others),
            lambda cell: f"{tell(cell)} twice",
            "Every object is shown once; leave out the second.",
            where,
            "in which an object is shown twice",
        )
    places = [
        _find_among(Ragged(array[:, 0], pick.cuts), Ragged(others, cells.cuts), name, objects)
        for name, pick, array in zip(chosen, picks, objects.arrays[2:], strict=True)
    ]
    return Star(objects, Ragged(np.column_stack([centre, others]), cells.cuts), places)


def again(row: Index, values: Index) -> Bools:
    """Whether each value occurs in its row before, (A,)."""
    order = np.lexsort((values, row))
    again = np.zeros(len(row), dtype=bool)
    twice = (np.diff(values[order]) == 0) & (np.diff(row[order]) == 0)
    again[order[1:]] = twice
    return again


def _find_among(chosen: Ragged, offered: Ragged, word: str, objects: Objects) -> Ragged:
    """The places of the chosen objects among those shown in the same row."""
    row = chosen.rows()
    keys = offered.rows() * objects.n_objects + offered.values
    order = np.argsort(keys)
    wanted = row * objects.n_objects + chosen.values
    at = order[np.minimum(np.searchsorted(keys[order], wanted), len(keys) - 1)]

    def describe(cell: int) -> str:
        start, end = offered.cuts[row[cell] : row[cell] + 2]
        names = [show_object(each, objects.names) for each in offered.values[start:end]]
        found = show_object(chosen.values[cell], objects.names)
        return f"{word} is {found}, which is not one of those shown ({listed(names, show=str)})"

    with of_rows(row) as where:
        cure = "Correct it, or remove the row."
        reject_rows(keys[at] != wanted, describe, cure, where, f"whose {word} was not shown")
    return Ragged(at - offered.cuts[row], chosen.cuts)


def _check_length(found: Ragged, word: str, m: int) -> None:
    if len(found.cuts) != m + 1:
        raise InputError(
            f"{word} must have one entry per choice, {m} in all; got {len(found.cuts) - 1}."
        )
