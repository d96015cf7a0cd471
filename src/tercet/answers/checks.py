"""Validation of answers; errors name the row and the value."""

from __future__ import annotations

import itertools
import operator
import re
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.answers.titles import COLUMNS, find_columns, find_times, is_missing, time_unit
from tercet.arrays import Index
from tercet.errors import InputError, RowsError
from tercet.text import closest, first_again, shown

__all__ = [
    "label_observers",
    "match_observers",
    "placed",
    "reject_cells",
    "reject_rows",
    "settle_observers",
    "whole_observers",
]

_WHOLE = re.compile(r"([+-]?[0-9]+)\.0*")
_PLAIN = re.compile(r"0|-?[1-9][0-9]{0,17}")  # 18 digits always fit into int64


def label_observers(values: Iterable[Any]) -> list[str]:
    """The label of every observer as text, with 11 for 11.0, as in a column with missing values.

    Labels such as 011 are kept, since 011 and 11 may be two people.

    Examples
    --------
    >>> label_observers([11.0, 11, "11.0", "011", "eve"])
    ['11', '11', '11', '011', 'eve']
    """
    texts = (str(value).strip() for value in values)
    return [found[1] if (found := _WHOLE.fullmatch(text)) else text for text in texts]


def settle_observers(values: Iterable[Any]) -> NDArray[Any]:
    """Observers (m,) of a file: whole numbers if all of them are, else labels."""
    labels = label_observers(values)
    if all(_PLAIN.fullmatch(label) for label in set(labels)):
        return np.array([int(label) for label in labels], dtype=np.int64)
    return np.array(labels, dtype=object)


def whole_observers(values: NDArray[Any]) -> NDArray[Any]:
    """Observers (m,) that are numbers, as integers if all are whole."""
    if values.dtype.kind != "f" or not (np.abs(values) < 2.0**53).all():
        return values
    return values.astype(np.int64) if (np.floor(values) == values).all() else values


def match_observers(wanted: Iterable[Any], known: Iterable[Any]) -> NDArray[np.int64]:
    """The place of each wanted observer among the known ones, (k,); -1 if there is none."""
    place = {label: k for k, label in enumerate(label_observers(known))}
    return np.array([place.get(label, -1) for label in label_observers(wanted)], dtype=np.int64)


# --- refusing rows: the first is described, and all are counted ---------------------------------


@contextmanager
def placed(line: Callable[[int], str]) -> Iterator[None]:
    """Add the places of refused rows in the file to the error; ``line(row)`` is the place."""
    try:
        yield
    except RowsError as error:
        error.places = list(dict.fromkeys(map(line, error.rows)))
        raise


def reject_rows(
    bad: NDArray[np.bool_],
    problem: Callable[[int], str],
    cure: str,
    where: Callable[[int], str],
    reason: str = "",
) -> None:
    """Raise a `RowsError` about the first of the bad rows, if any; it counts them all."""
    if bad.any():
        rows = np.flatnonzero(bad).tolist()
        raise RowsError.about(rows, where(rows[0]), problem(rows[0]), cure, reason)


def reject_cells(
    bad: NDArray[np.bool_],
    cells: NDArray[Any],
    words: Sequence[str],
    problem: str,
    cure: str,
    where: Callable[[int], str],
    reason: str = "",
) -> None:
    """Raise an error about the first bad cell, naming its column and its value."""
    if not bad.any():
        return
    bad, cells = bad.reshape(len(cells), -1), cells.reshape(len(cells), -1)

    def describe(row: int) -> str:
        column = int(bad[row].argmax())
        return f"{words[column]} is {shown(cells[row, column : column + 1].tolist()[0])}, {problem}"

    reject_rows(np.logical_or.reduce(bad, axis=1), describe, cure, where, reason)


# --- limits and fields --------------------------------------------------------------------------


# Weights count answers, and nobody gives more than two billion; pairs of answers stay in int64.
# Smaller weights vanish in single precision.
LARGEST_TOTAL, LEAST_WEIGHT = 2**31, 1e-30

# A larger index is probably an identifier; and the number of a pair of objects, i * n + j, stays
# within int64.
LARGEST_INDEX = 2**31 - 2

Array = NDArray[Any]
Where = Callable[[int], str]


class Fields(NamedTuple):
    """The fields of `Triplets`."""

    array: Index
    n_objects: int
    names: tuple[str, ...] | None
    observers: Array | None
    screens: Array | None
    weights: NDArray[np.float64] | None
    response_times: NDArray[np.float64] | None = None


def row_number(row: int) -> str:
    """The place of a row of an array; readers of files give the line instead."""
    return f"row {row} (counting from 0)"


# --- input of any kind ------------------------------------------------------------------------


def read_array(values: Any) -> Array:
    """Convert values to an array without turning missing or mixed values into strings."""
    if isinstance(values, np.ma.MaskedArray):
        values = np.array(values.tolist(), dtype=object)  # None where masked
    try:
        array = np.asarray(values)
        if array.dtype.kind in "UT" and not isinstance(values, np.ndarray):
            array = np.asarray(values, dtype=object)
    except ValueError:
        lengths = [len(row) if hasattr(row, "__len__") else 1 for row in values]
        odd = next((i for i, length in enumerate(lengths) if length != lengths[0]), 0)
        raise InputError(
            f"{row_number(odd)} has {lengths[odd]} entries, but row 0 has {lengths[0]}; "
            "every row needs the same number (anchor, near, far)."
        ) from None
    return array.astype(object) if array.dtype.kind == "T" else array


def read_answers(answers: Any) -> tuple[Array, dict[str, Any]]:
    """Split answers of any kind into the cells of the comparisons and optional columns."""
    if callable(split := getattr(answers, "triplets", None)):  # Choices
        answers = split()
    if isinstance(fields := getattr(answers, "_fields", None), Fields):  # a Triplets
        extras = fields._asdict()
        return extras.pop("array"), extras
    if hasattr(answers, "tocoo"):
        raise InputError(
            "comparisons must not be sparse, as every cell names an object; use .toarray()."
        )
    if not hasattr(answers, "columns"):
        return read_array(answers), {}
    titles = list(answers.columns)

    def is_blank(place: int) -> bool:
        column = np.asarray(answers[titles[place]], dtype=object)
        return all(_kind(cell) == "missing" for cell in column.flat)

    header = [str(title) for title in titles]
    columns, places = find_columns(header, is_blank)
    if (time := find_times(header)) is not None:
        places["response_times"] = time
    parts = [np.asarray(answers[titles[i]]) for i in columns]
    if any(part.dtype.kind not in "iuf" for part in parts):  # or True would be stacked as 1
        parts = [part.astype(object) for part in parts]
    extras = {field: np.asarray(answers[titles[i]]) for field, i in places.items()}
    if time is not None and extras["response_times"].dtype.kind in "iuf":
        extras["response_times"] = extras["response_times"] * (time_unit(header[time]) or 1.0)
    return np.column_stack(parts), extras


def check_shape(cells: Array) -> None:
    """Check that there are rows with three or four columns."""
    if cells.ndim != 2:
        raise InputError(
            f"comparisons must have two dimensions, got {cells.ndim} (shape "
            f"{cells.shape}); a single comparison is [[anchor, near, far]]."
        )
    if len(cells) == 0:
        raise InputError("there are no comparisons (0 rows); at least one is needed.")
    if cells.shape[1] not in COLUMNS:
        raise InputError(
            f"comparisons must have 3 columns (anchor, near, far) or 4 columns (a, b, c, d: "
            f"a–b is closer than c–d), got {cells.shape[1]} (shape {cells.shape})."
        )


def _kind(value: Any, names: Container[Any] = ()) -> str:
    """The kind of a cell of an object array: "missing", "text", "number", or something else.

    A word such as "NA" is text if it is in ``names``, else missing.
    """
    # pandas' NA and NaT are recognised by name, so that pandas need not be imported.
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return "missing"
    if isinstance(value, str):
        return "missing" if is_missing(value) and value not in names else "text"
    if isinstance(value, float | np.floating):
        return "missing" if value != value else "number"
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return "number" if -(2**63) <= value < 2**63 else "a number too large"
    return f"of type {type(value).__name__}"


def settle_types(
    cells: Array, words: Sequence[str], where: Where, names: Container[Any] = ()
) -> Array:
    """Return cells that are all numbers or all text, none of them missing.

    ``names`` are those of objects, if known: one may be called "NA".
    """
    missing = "which is missing", "Remove the row or fill the gap."
    if cells.dtype.kind == "O":
        each = [_kind(cell, names) for cell in cells.flat]
        kinds = np.array(each, dtype=object).reshape(cells.shape)
        gaps = kinds == "missing"
        if any(isinstance(cell, str) and cell.strip() for cell in cells[gaps]):
            objects = tuple(words) in COLUMNS.values()
            called = " If it is the name of an object, give all names." if objects else ""
            missing = "which stands for a missing value", f"{missing[1]}{called}"
        reject_cells(gaps, cells, words, *missing, where, "with a missing value")
        first = kinds.flat[0]
        cure = "Use names (text) everywhere, or numbers everywhere."
        if first not in ("text", "number"):
            reject_cells(kinds == first, cells, words, first, cure, where)
        problem = f"but the first entry is a {'name' if first == 'text' else first}"
        reject_cells(kinds != first, cells, words, problem, cure, where)
        return cells if first == "text" else np.asarray(cells.tolist())
    if cells.dtype.kind == "U":
        if any(_kind(cell, names) == "missing" for cell in set(cells.ravel().tolist())):
            return settle_types(cells.astype(object), words, where, names)  # raises
    elif cells.dtype.kind == "f":
        reject_cells(np.isnan(cells), cells, words, *missing, where, "with a missing value")
    elif cells.dtype.kind not in "iu":
        raise InputError(
            f"{', '.join(words)}: values of type {cells.dtype} are neither numbers nor names; "
            "use integers or strings."
        )
    return cells


# --- from cells to checked numbers ------------------------------------------------------------


def natural_key(name: str) -> tuple[list[Any], str]:
    """Sort key that puts "img2" before "img10"."""
    parts: list[Any] = re.split(r"([0-9]+)", name)
    digits = [part.lstrip("0") for part in parts[1::2]]
    parts[1::2] = [(len(part), part) for part in digits]  # any length, as int() has a limit
    return parts, name


def look_up(
    cells: Array, names: Sequence[str] | None, where: Where, words: Sequence[str] = ()
) -> Index:
    """Replace every name by its place in `names`; ``words`` are those of other columns."""
    if names is None:
        raise InputError(
            "the comparisons use names, but the objects have only numbers; use numbers, or give "
            "the objects names (in Python: Triplets(..., names=...))."
        )
    place = {name: i for i, name in enumerate(names)}
    flat = cells.ravel().tolist()
    found = np.fromiter((place.get(name, -1) for name in flat), np.int64, len(flat))
    unknown = found.reshape(cells.shape) < 0
    if unknown.any():
        meant = closest(flat[int(unknown.argmax())], names)
        cure = "Add it to names or correct it." if meant is None else f"Did you mean {meant!r}?"
        words = words or COLUMNS[cells.shape[1]]
        problem = f"which is not one of the {len(names)} names"
        reject_cells(unknown, cells, words, problem, cure, where)
    return found.reshape(cells.shape)


def whole(cells: Array, where: Where, words: Sequence[str] = ()) -> Index:
    """Return an int64 copy of cells that are valid object numbers."""
    words = words or COLUMNS[cells.shape[1]]
    if cells.dtype.kind == "f":
        cure = "Objects are numbered 0, 1, 2, …; are these the right columns?"
        reason = "with an object that is not a whole number"
        broken = np.floor(cells) != cells
        reject_cells(broken, cells, words, "not a whole number", cure, where, reason)
    if cells.min() < 0:
        cure = "Objects are numbered from 0."
        reason = "with a negative object number"
        reject_cells(cells < 0, cells, words, "a negative object number", cure, where, reason)
    if cells.max() > LARGEST_INDEX:
        cure = "If the numbers are identifiers, give them as text."
        problem = "too large for an object number"
        reject_cells(cells > LARGEST_INDEX, cells, words, problem, cure, where)
    return cells.astype(np.int64, order="C", copy=True)


def check_range(
    array: Index, n_objects: int, names: Sequence[str] | None, words: Sequence[str], where: Where
) -> None:
    """Check that all objects exist."""
    largest = int(array.max())
    if largest >= n_objects:
        problem = f"but there are only {n_objects} objects, numbered 0 to {n_objects - 1}"
        what = "n_objects" if names is None else "the names"
        cure = f"Numbers up to {largest} occur: correct them, or extend {what} to {largest + 1}."
        reject_cells(array >= n_objects, array, words, problem, cure, where)


def show_object(number: int, names: Sequence[str] | None) -> str:
    """An object in an error: its name if it has one, else its number."""
    return str(int(number)) if names is None else shown(names[number])


def check_different(
    array: Index, names: Sequence[str] | None, words: Sequence[str], cure: str, where: Where
) -> None:
    """Check that the objects of each row are different."""
    for first, second in itertools.combinations(range(array.shape[1]), 2):
        one, other = words[first], words[second]

        def describe(row: int, one: str = one, other: str = other, column: int = first) -> str:
            return f"{one} and {other} are both {show_object(array[row, column], names)}"

        reason = f"in which {one} and {other} are the same"
        reject_rows(array[:, first] == array[:, second], describe, cure, where, reason)


def check_comparisons(
    array: Index, n_objects: int, names: Sequence[str] | None, where: Where
) -> None:
    """Check that all objects exist and that every row compares two different distances."""
    words = COLUMNS[array.shape[1]]
    check_range(array, n_objects, names, words, where)
    if array.shape[1] == 3:
        cure = "A triplet compares three different objects; correct or remove it."
        check_different(array, names, words, cure, where)
        return
    cure = "A pair needs two different objects; correct or remove the row."
    for pair in slice(0, 2), slice(2, 4):
        check_different(array[:, pair], names, words[pair], cure, where)
    a, b, c, d = array.T
    reject_rows(
        ((a == c) & (b == d)) | ((a == d) & (b == c)),
        lambda row: f"a–b and c–d are the same pair, {array[row].tolist()}",
        "A comparison needs two different pairs; correct or remove the row.",
        where,
        "in which both pairs are the same",
    )


def check_names(names: Iterable[str]) -> tuple[str, ...]:
    """Check that every object has a name of its own."""
    if isinstance(names, str):
        raise InputError(f"names must be a list of strings, got the one string {shown(names)}.")
    if not isinstance(names, Iterable):
        raise InputError(f"names must be a list of strings, got {shown(names)}.")
    names = list(names)
    for i, name in enumerate(names):
        if not isinstance(name, str) or not name.strip():
            raise InputError(f"names[{i}] is {shown(name)}; every name must be a non-empty string.")
    if (twice := first_again(names)) is not None:
        raise InputError(f"the name {shown(twice)} occurs twice in names; names must be distinct.")
    return tuple(map(str, names))


def settle_n_objects(n_objects: int | None, names: Sequence[str] | None, at_least: int) -> int:
    """Return the number of objects, from n_objects, the names or the largest number."""
    if n_objects is None:
        return at_least if names is None else len(names)
    try:
        count = operator.index(n_objects)
    except TypeError:
        count = 0
    if not 1 <= count <= LARGEST_INDEX + 1 or isinstance(n_objects, bool):
        got = shown(n_objects) + (f"; the limit is {LARGEST_INDEX + 1}" if count > 1 else "")
        raise InputError(f"n_objects must be a positive whole number, got {got}.")
    if names is not None and count != len(names):
        raise InputError(
            f"n_objects is {count}, but there are {len(names)} names; leave n_objects out, or give "
            "the names of all objects."
        )
    return count


def settle_more_objects(
    n_objects: int | None, names: Sequence[str] | None, at_least: int, what: str
) -> int:
    """Return the number of objects of checked answers, which may only grow."""
    count = settle_n_objects(n_objects, names, at_least)
    if count < at_least:
        raise InputError(
            f"n_objects is {count}, but the {what} have {at_least} objects; "
            f"give at least {at_least}, or leave it out."
        )
    return count


def check_column(values: Any, m: int, field: str, where: Where) -> Array | None:
    """Check observers, screens or weights: one value per answer, none missing; returns a copy."""
    if values is None:
        return None
    column = read_array(values)
    if column.shape != (m,):
        raise InputError(
            f"{field} must have one entry per answer, {m} in all; got shape {column.shape}."
        )
    word = (field.removesuffix("s"),)
    column = settle_types(column, word, where)
    if field != "weights":
        column = whole_observers(column) if field == "observers" else column
        return _as_text(column, word, where) if column.dtype.kind == "O" else column.copy()
    if column.dtype.kind not in "iuf":
        raise InputError(f"weights must be numbers, got values of type {column.dtype}.")
    column = column.astype(np.float64)
    cure = "A weight is a positive number, such as how often the answer was given."
    wrong, reason = ~(column > 0) | np.isinf(column), "whose weight is not positive"
    reject_cells(wrong, column, word, "not a positive weight", cure, where, reason)
    cure = "Multiply or divide all weights by the same number, so that they are near 1."
    reject_cells(column < LEAST_WEIGHT, column, word, "too small to count", cure, where)
    if (total := float(np.clip(column, 0.0, 1e200).sum())) > LARGEST_TOTAL:
        raise InputError(
            f"the weights add up to {total:.3g}, but the limit is {LARGEST_TOTAL} answers. {cure}"
        )
    return column


def _as_text(column: Array, word: tuple[str], where: Where) -> Array:
    """Labels as an array of text, which cannot keep a NUL character at the end of one."""
    cut = np.array([str(label).endswith("\0") for label in column], dtype=bool)
    cure = "Remove the character, which most programs do not show."
    reject_cells(cut, column, word, "which ends in a NUL character", cure, where)
    return column.astype(str)


def check_times(values: Any, m: int, where: Where) -> NDArray[np.float64] | None:
    """Check response times: a copy in seconds, NaN if missing; None if all are."""
    if values is None:
        return None
    try:
        column = np.array(values, dtype=np.float64)  # None becomes NaN
    except (TypeError, ValueError) as error:
        raise InputError(f"response_times must be numbers, in seconds ({error}).") from None
    if column.shape != (m,):
        raise InputError(f"response_times must have {m} entries, got shape {column.shape}.")
    wrong, cure = (column < 0) | np.isinf(column), "It must be a number of seconds, or missing."
    reject_cells(wrong, column, ("response_time",), "not a time", cure, where)
    return None if np.isnan(column).all() else column


def check(
    answers: Any,
    n_objects: int | None = None,
    names: Iterable[str] | None = None,
    observers: Any = None,
    screens: Any = None,
    weights: Any = None,
    response_times: Any = None,
    where: Where = row_number,
) -> Fields:
    """Check all fields of `Triplets`; ``where`` gives the place of a row, for errors."""
    cells, extras = read_answers(answers)
    given = {
        "n_objects": n_objects,
        "names": names,
        "observers": observers,
        "screens": screens,
        "weights": weights,
        "response_times": response_times,
    }
    extras.update({field: value for field, value in given.items() if value is not None})

    check_shape(cells)
    known = None if extras.get("names") is None else check_names(extras["names"])
    cells = settle_types(cells, COLUMNS[cells.shape[1]], where, frozenset(known or ()))
    if cells.dtype.kind in "OU":
        if known is None:
            known = tuple(sorted(set(map(str, cells.ravel().tolist())), key=natural_key))
        array = look_up(cells, known, where)
    else:
        array = whole(cells, where)
    count = settle_n_objects(extras.get("n_objects"), known, int(array.max()) + 1)
    check_comparisons(array, count, known, where)
    observer, screen, weight = (
        check_column(extras.get(field), len(array), field, where)
        for field in ("observers", "screens", "weights")
    )
    times = check_times(extras.get("response_times"), len(array), where)
    return Fields(array, count, known, observer, screen, weight, times)
