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
from tercet.io.cells import looks_like_number
from tercet.io.columns import reject_apart, say_untitled
from tercet.io.inputfile import InputFile
from tercet.io.reading import Format, Reading, ReadOptions
from tercet.io.trials import ArrayRows, Beside, build, check_times
from tercet.text import listed

__all__ = [
    "ARRAY",
    "array_names",
    "check_arrays",
    "extras_of",
    "find_comparisons",
    "known_of",
    "pack_arrays",
    "refuse_columns",
    "select_rows",
    "unpack_arrays",
]

# Names of the comparisons in an .npz file, in order of preference.
_KEYS = ("triplets", "quadruplets", "comparisons", "answers", "array", "x", "arr_0")
_FIELDS = ("observers", "screens", "weights", "response_times")


def _matches(file: InputFile) -> bool:
    if file.kind in ("npy", "npz"):
        return True
    words = (file.words if file.kind == "text" else None) or []
    return len(words) in COLUMNS and all(map(looks_like_number, words))


def _read(file: InputFile, options: ReadOptions) -> Reading:
    refuse_columns(file, options)
    if file.kind not in ("npy", "npz"):
        return _read_text(file, options)
    arrays = unpack_arrays(file)
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
    """Skip the invalid rows of an array."""
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


def refuse_columns(file: InputFile, options: ReadOptions) -> None:
    """Refuse a mapping of columns for a file without titles."""
    if options.columns:
        raise InputError(
            f"{file.path}: columns is for tables with titles, but this file is an array without "
            "titles; leave it out."
        )


def find_comparisons(
    file: InputFile, arrays: dict[str, NDArray[Any]], keys: tuple[str, ...] = _KEYS
) -> NDArray[Any]:
    """The comparisons among the arrays of a file; a single array may have any name."""
    found = next((arrays[key] for key in keys if key in arrays), None)
    if found is None and len(arrays) == 1:
        (found,) = arrays.values()
    if found is None:
        if "header" in arrays:
            raise InputError(
                f"{file.path} is a map, not answers; give the answers it was made from (in Python: "
                "tc.Ensemble.load reads the map)."
            )
        raise InputError(
            f"{file.path} has no array 'triplets' (or {', '.join(map(repr, keys[1:]))}); arrays "
            f"found: {listed(list(arrays))}."
        )
    return found


def extras_of(
    path: str, arrays: dict[str, NDArray[Any]], options: ReadOptions
) -> tuple[dict[str, Any], ReadOptions]:
    """The other arrays about the comparisons; unknown arrays are ignored.

    Names and the number of objects become options unless the caller gives them.
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


def _read_text(file: InputFile, options: ReadOptions) -> Reading:
    table = file.headerless
    wrong = next(
        (code for code in table.codes.flat if not looks_like_number(table.unique[code])), None
    )
    if wrong is not None:
        row = int((table.codes == wrong).any(axis=1).argmax())
        raise InputError(
            f"{table.where(row)}: {table.unique[wrong]!r} is not a number. An array has the "
            "numbers of objects; a table of names needs commas or tabs between columns."
        )
    if len(table.header) not in COLUMNS:
        raise InputError(
            f"{table.where(0)}: {len(table.header)} columns found; an array has 3 (anchor, "
            "near, far) or 4 (a, b, c, d: a–b is closer than c–d)."
        )
    reject_apart(table)
    cells = table.numbers_or_text(table.codes)
    if cells.dtype.kind == "O":  # such as 1.0, written by NumPy
        cells = np.array([float(cell) for cell in table.unique])[table.codes]
    note = say_untitled(len(table.header))
    return build(table, cells, options, Beside({}), rows=len(table), note=note)


# --- archives ---------------------------------------------------------------------------------


def array_names(file: InputFile) -> frozenset[str]:
    """The names of the arrays in an .npz file, in lower case; none for another file."""
    if file.kind != "npz":
        return frozenset()
    try:
        with zipfile.ZipFile(io.BytesIO(file.content)) as archive:
            return frozenset(name.removesuffix(".npy").lower() for name in archive.namelist())
    except Exception:  # zipfile raises almost anything for a damaged file
        return frozenset()


def unpack_arrays(file: InputFile) -> dict[str, NDArray[Any]]:
    """The arrays of an .npz file by name, in lower case; that of an .npy file is "array"."""
    content = io.BytesIO(file.content)
    try:
        if file.kind == "npy":
            return {"array": read_npy(content)}
        found = read_npz(
            content, lambda size: check_size(file.path, size, file.max_bytes, "decompresses to")
        )
    except UnreadableError as error:
        raise InputError(f"{file.path}: {error}") from None
    arrays: dict[str, NDArray[Any]] = {}
    for name, array in found.items():
        if name.lower() in arrays:
            raise InputError(
                f"{file.path} contains the array {name.lower()!r} twice; keep one of them."
            )
        arrays[name.lower()] = array
    if not arrays:
        raise InputError(
            f"{file.path} is a zip archive without arrays. If it is a workbook or a compressed "
            "table, save the table as CSV."
        )
    return arrays


def pack_arrays(arrays: dict[str, Any]) -> bytes:
    """The content of an .npz file."""
    content = io.BytesIO()
    np.savez_compressed(content, **arrays)
    return content.getvalue()


def check_arrays(path: Path, names: Iterable[str] | None) -> None:
    """Refuse names that arrays of text would truncate."""
    for name in names or ():
        if name.endswith("\0"):
            raise InputError(
                f"{path}: the name {name!r:.80} ends in a null character, which is lost. Rename it."
            )


def known_of(triplets: Triplets) -> dict[str, Any]:
    """The other arrays: names, observers, …, if known."""
    arrays = {field: getattr(triplets, field) for field in _FIELDS}
    if triplets.names is not None:
        arrays["names"] = np.array(triplets.names)
    return {field: values for field, values in arrays.items() if values is not None}


def _write(triplets: Triplets, path: Path) -> None:
    """Write .npz, which keeps everything, or .npy or text for comparisons only."""
    known = known_of(triplets)
    suffix = path.suffix.lower()
    if suffix == ".npz":
        check_arrays(path, triplets.names)
        arrays = {"triplets": triplets.array, "n_objects": np.array(triplets.n_objects), **known}
        write_whole(path, pack_arrays(arrays))
        return
    if suffix not in (".npy", ".txt"):
        raise InputError(f"{path}: the name of an array must end in .npz, .npy or .txt.")
    if known:
        raise InputError(
            f"{path}: {suffix} stores the comparisons only, but these answers have "
            f"{', '.join(known)}. Write .npz or .csv instead, which keep everything."
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
    ".npy, .npz, or lines of 3 or 4 numbers separated by spaces",
    _matches,
    _read,
    _write,
)
