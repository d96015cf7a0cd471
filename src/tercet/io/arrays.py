"""Integer arrays: .npy, .npz and whitespace text, rows (anchor, near, far) or (a, b, c, d)."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.checks import COLUMNS, EXTRAS, check, row_number
from tercet.errors import InputError, RowsError
from tercet.files import write_whole
from tercet.io.archive import pack, unpack
from tercet.io.formats import Format
from tercet.io.reading import Options, Reading
from tercet.io.source import Source
from tercet.io.times import Times, check_times
from tercet.io.untitled import is_number, reject_apart, say_untitled
from tercet.io.written import check_arrays
from tercet.refusals import placed
from tercet.text import listed
from tercet.triplets import Triplets, restore

__all__ = [
    "ARRAY",
    "FIELDS",
    "Taken",
    "extras_of",
    "find_comparisons",
    "keep_valid",
    "known_of",
    "refuse_columns",
]

# The names under which an .npz file may have its comparisons, the first that is there.
_KEYS = ("triplets", "quadruplets", "comparisons", "answers", "array", "x", "arr_0")
FIELDS = ("observers", "screens", "weights", "response_times")


def _matches(source: Source) -> bool:
    if source.kind in ("npy", "npz"):
        return True
    words = (source.words if source.kind == "text" else None) or []
    return len(words) in COLUMNS and all(map(is_number, words))


def _read(source: Source, options: Options) -> Reading:
    refuse_columns(source, options)
    if source.kind not in ("npy", "npz"):
        return _read_text(source, options)
    arrays = unpack(source)
    cells = find_comparisons(source, arrays)
    given = options._asdict()
    fields = extras_of(source.path, arrays) | {
        field: given[field] for field in ("names", "n_objects") if given[field] is not None
    }
    taken = keep_valid(source, cells, fields)
    try:
        with placed(taken.line):
            checked = check(taken.cells, **taken.fields, where=taken.where)
    except RowsError:
        raise
    except InputError as error:
        raise InputError(f"{source.path}: {error}") from None
    reading = Reading(restore(checked), source.path, ARRAY.name, ARRAY.title, len(taken.cells))
    return reading if taken.times is None else reading.with_times(taken.times)


class Taken(NamedTuple):
    """The rows of an array that may be answers, and what is known of them.

    Attributes
    ----------
    cells : array
    fields : dict
        Of these rows; response times with those that cannot be as unknown.
    line, where : callable
        Say where a row is, in its file and with the file.
    times : Times or None
    """

    cells: NDArray[Any]
    fields: dict[str, Any]
    line: Callable[[int], str]
    where: Callable[[int], str]
    times: Times | None


def keep_valid(source: Source, cells: NDArray[Any], fields: dict[str, Any]) -> Taken:
    """Leave out the rows of an array that cannot be answers; none before some are known."""
    rows = None
    if source.invalid:
        rows = np.flatnonzero(source.are_valid(row_number, len(cells)))
        one_each = {k for k, v in fields.items() if k != "names" and np.shape(v) == (len(cells),)}
        fields = {k: v[rows] if k in one_each else v for k, v in fields.items()}
        cells = cells[rows]

    def line(row: int) -> str:
        return row_number(row if rows is None else int(rows[row]))

    times, given = None, fields.get("response_times")
    if given is not None and given.ndim == 1 and given.dtype.kind in "iuf":
        times = check_times(given, line)
        fields = fields | {"response_times": times.seconds}
    return Taken(cells, fields, line, lambda row: f"{source.path}: {line(row)}", times)


def refuse_columns(source: Source, options: Options) -> None:
    """Refuse a map of columns for a file that has no titles."""
    if options.columns:
        raise InputError(
            f"{source.path}: columns are for tables with titles, and this file is an array "
            "without any; leave columns out."
        )


def find_comparisons(
    source: Source, arrays: dict[str, NDArray[Any]], keys: tuple[str, ...] = _KEYS
) -> NDArray[Any]:
    """The comparisons among the arrays of a file; the only array, whatever its name."""
    found = next((arrays[key] for key in keys if key in arrays), None)
    if found is None and len(arrays) == 1:
        (found,) = arrays.values()
    if found is None:
        if "header" in arrays:
            raise InputError(
                f"{source.path} is a map, which was made of answers; give the answers (in Python: "
                "tc.Ensemble.load reads the map)."
            )
        raise InputError(
            f"{source.path} has no array 'triplets' (or {', '.join(map(repr, keys[1:]))}); arrays "
            f"found: {listed(list(arrays))}."
        )
    return found


def extras_of(path: str, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    """What else the arrays of a file say about the comparisons; other arrays are ignored."""
    keys = {field: [field] for field in FIELDS}
    for title, field in EXTRAS.items():
        keys[field] += [title]
    fields: dict[str, Any] = {}
    for field, known in keys.items():
        found = [key for key in known if key in arrays]
        if len(found) > 1:
            raise InputError(f"{path} has both {found[0]!r} and {found[1]!r}; keep one of them.")
        if found:
            fields[field] = arrays[found[0]]
    if "names" in arrays:
        fields["names"] = np.atleast_1d(arrays["names"]).astype(str).tolist()
    if "n_objects" in arrays:
        fields["n_objects"] = arrays["n_objects"].tolist()
    return fields


def _read_text(source: Source, options: Options) -> Reading:
    table = source.headerless
    wrong = next((code for code in table.codes.flat if not is_number(table.unique[code])), None)
    if wrong is not None:
        row = int((table.codes == wrong).any(axis=1).argmax())
        raise InputError(
            f"{table.where(row)}: {table.unique[wrong]!r} is not a number. An array has the "
            "numbers of objects; a table of names needs commas or tabs between its columns."
        )
    if len(table.header) not in COLUMNS:
        raise InputError(
            f"{table.where(0)}: there are {len(table.header)} columns; an array has 3 (anchor, "
            "near, far) or 4 (a, b, c, d: a–b is closer than c–d)."
        )
    reject_apart(table)
    cells = table.numbers_or_text(table.codes)
    if cells.dtype.kind == "O":  # such as 1.0, which NumPy writes
        cells = np.array([float(cell) for cell in table.unique])[table.codes]
    with placed(table.line):
        checked = check(cells, options.n_objects, options.names, where=table.where)
    note = say_untitled(len(table.header))
    return Reading(restore(checked), source.path, ARRAY.name, ARRAY.title, len(table), note=note)


def known_of(triplets: Triplets) -> dict[str, Any]:
    """The arrays beside the comparisons: names, observers, … where they are known."""
    arrays = {field: getattr(triplets, field) for field in FIELDS}
    if triplets.names is not None:
        arrays["names"] = np.array(triplets.names)
    return {field: values for field, values in arrays.items() if values is not None}


def _write(triplets: Triplets, path: Path) -> None:
    """Write .npz, which keeps all; .npy or text, if there is nothing but numbers."""
    known = known_of(triplets)
    suffix = path.suffix.lower()
    if suffix == ".npz":
        check_arrays(path, triplets.names)
        arrays = {"triplets": triplets.array, "n_objects": np.array(triplets.n_objects), **known}
        write_whole(path, pack(arrays))
        return
    if suffix not in (".npy", ".txt"):
        raise InputError(f"{path}: the name of an array ends in .npz, .npy or .txt.")
    if known:
        raise InputError(
            f"{path}: {suffix} holds the comparisons only, and these answers have "
            f"{', '.join(known)}. Write .npz or .csv instead, which keep all."
        )
    content = io.BytesIO()
    if suffix == ".npy":
        np.save(content, triplets.array, allow_pickle=False)
    else:
        np.savetxt(content, triplets.array, fmt="%d")
    write_whole(path, content.getvalue())


ARRAY = Format(
    "array",
    "an array of object numbers",
    ".npy, .npz, or 3 or 4 numbers on each line with spaces between",
    _matches,
    _read,
    _write,
)
