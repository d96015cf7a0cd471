"""Integer arrays: .npy, .npz and whitespace text, rows (anchor, near, far) or (a, b, c, d).

Nothing in such a file is executed.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tercet.answers.checks import check_shape, row_number
from tercet.answers.titles import COLUMNS, EXTRAS
from tercet.answers.triplets import Triplets
from tercet.arrays import UnreadableError, read_npy, read_npz
from tercet.errors import InputError, RowsError
from tercet.files import check_size, write_whole
from tercet.io.cells import is_number
from tercet.io.columns import reject_apart, say_untitled
from tercet.io.inputfile import InputFile
from tercet.io.reading import Format, Options, Reading
from tercet.io.trials import ArrayRows, Beside, build, check_times
from tercet.text import listed

__all__ = [
    "ARRAY",
    "array_names",
    "check_arrays",
    "extras_of",
    "find_comparisons",
    "known_of",
    "pack",
    "refuse_columns",
    "select_rows",
    "unpack",
]

# The names under which an .npz file may have its comparisons, the first that is there.
_KEYS = ("triplets", "quadruplets", "comparisons", "answers", "array", "x", "arr_0")
_FIELDS = ("observers", "screens", "weights", "response_times")


def _matches(file: InputFile) -> bool:
    if file.kind in ("npy", "npz"):
        return True
    words = (file.words if file.kind == "text" else None) or []
    return len(words) in COLUMNS and all(map(is_number, words))


def _read(file: InputFile, options: Options) -> Reading:
    refuse_columns(file, options)
    if file.kind not in ("npy", "npz"):
        return _read_text(file, options)
    arrays = unpack(file)
    cells = find_comparisons(file, arrays)
    fields, options = extras_of(file.path, arrays, options)
    found = select_rows(file, cells, fields)
    try:
        check_shape(found.cells)
        return build(found, found.cells, options, found.beside, rows=len(found.cells))
    except RowsError:
        raise
    except InputError as error:
        raise InputError(f"{file.path}: {error}") from None


def select_rows(file: InputFile, cells: NDArray[Any], fields: dict[str, Any]) -> ArrayRows:
    """Leave out the rows of an array that cannot be answers; none before some are known."""
    rows = None
    if file.invalid:
        rows = np.flatnonzero(file.are_valid(row_number, len(cells)))
        fields = {k: v[rows] if v.shape == (len(cells),) else v for k, v in fields.items()}
        cells = cells[rows]

    def line(row: int) -> str:
        return row_number(row if rows is None else int(rows[row]))

    times, given = None, fields.get("response_times")
    if given is not None and given.ndim == 1 and given.dtype.kind in "iuf":
        times = check_times(given, line)
    beside = Beside(fields, times)
    return ArrayRows(file.path, cells, beside, line, lambda row: f"{file.path}: {line(row)}")


def refuse_columns(file: InputFile, options: Options) -> None:
    """Refuse a map of columns for a file that has no titles."""
    if options.columns:
        raise InputError(
            f"{file.path}: columns are for tables with titles, and this file is an array "
            "without any; leave columns out."
        )


def find_comparisons(
    file: InputFile, arrays: dict[str, NDArray[Any]], keys: tuple[str, ...] = _KEYS
) -> NDArray[Any]:
    """The comparisons among the arrays of a file; the only array, whatever its name."""
    found = next((arrays[key] for key in keys if key in arrays), None)
    if found is None and len(arrays) == 1:
        (found,) = arrays.values()
    if found is None:
        if "header" in arrays:
            raise InputError(
                f"{file.path} is a map, which was made of answers; give the answers (in Python: "
                "tc.Ensemble.load reads the map)."
            )
        raise InputError(
            f"{file.path} has no array 'triplets' (or {', '.join(map(repr, keys[1:]))}); arrays "
            f"found: {listed(list(arrays))}."
        )
    return found


def extras_of(
    path: str, arrays: dict[str, NDArray[Any]], options: Options
) -> tuple[dict[str, Any], Options]:
    """What else the arrays of a file say about the comparisons; other arrays are ignored.

    Names, and how many objects there are, become options unless the caller says it.
    """
    keys = {field: [field] for field in _FIELDS}
    for title, field in EXTRAS.items():
        keys[field] += [title]
    fields: dict[str, Any] = {}
    for field, known in keys.items():
        found = [key for key in known if key in arrays]
        if len(found) > 1:
            raise InputError(f"{path} has both {found[0]!r} and {found[1]!r}; keep one of them.")
        if found:
            fields[field] = arrays[found[0]]
    if "names" in arrays and options.names is None:
        options = options._replace(names=np.atleast_1d(arrays["names"]).astype(str).tolist())
    if "n_objects" in arrays and options.n_objects is None:
        options = options._replace(n_objects=arrays["n_objects"].tolist())
    return fields, options


def _read_text(file: InputFile, options: Options) -> Reading:
    table = file.headerless
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
    note = say_untitled(len(table.header))
    return build(table, cells, options, Beside({}), rows=len(table), note=note)


# --- archives ---------------------------------------------------------------------------------


def array_names(file: InputFile) -> frozenset[str]:
    """The names of the arrays in an .npz file, in lower case; none if it is something else."""
    if file.kind != "npz":
        return frozenset()
    try:
        with zipfile.ZipFile(io.BytesIO(file.content)) as archive:
            return frozenset(name.removesuffix(".npy").lower() for name in archive.namelist())
    except Exception:  # whatever zipfile says of a damaged file
        return frozenset()


def unpack(file: InputFile) -> dict[str, NDArray[Any]]:
    """The arrays of an .npz file by name, in lower case; that of an .npy file is called array."""
    content = io.BytesIO(file.content)
    try:
        if file.kind == "npy":
            return {"array": read_npy(content)}
        found = read_npz(
            content, lambda size: check_size(file.path, size, file.max_bytes, "unpacks to")
        )
    except UnreadableError as error:
        raise InputError(f"{file.path}: {error}") from None
    arrays: dict[str, NDArray[Any]] = {}
    for name, array in found.items():
        if name.lower() in arrays:
            raise InputError(f"{file.path} has the array {name.lower()!r} twice; keep one of them.")
        arrays[name.lower()] = array
    if not arrays:
        raise InputError(
            f"{file.path} is a zip archive without arrays. If it is a workbook or a packed "
            "table, save the table as CSV."
        )
    return arrays


def pack(arrays: dict[str, Any]) -> bytes:
    """The content of an .npz file."""
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    return content.getvalue()


def check_arrays(path: Path, names: Iterable[str] | None) -> None:
    """Refuse names that arrays of text cut short."""
    for name in names or ():
        if name.endswith("\0"):
            raise InputError(
                f"{path}: the name {name!r:.80} ends in a character 0, which is cut off. Rename it."
            )


def known_of(triplets: Triplets) -> dict[str, Any]:
    """The arrays beside the comparisons: names, observers, … where they are known."""
    arrays = {field: getattr(triplets, field) for field in _FIELDS}
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
