"""The table of formats; read_file, read_triplets and write_triplets, which use it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tercet.answers.either import Answers
from tercet.answers.triplets import Triplets, as_triplets
from tercet.errors import InputError, RowsError
from tercet.files import MAX_BYTES
from tercet.io.cblearn import CBLEARN
from tercet.io.cells import check_columns
from tercet.io.columns import UNKNOWN, UnknownColumnsError, guesses
from tercet.io.grids import SCREENS
from tercet.io.inputfile import InputFile
from tercet.io.integers import ARRAY
from tercet.io.jspsych import JSPSYCH
from tercet.io.mlds import MLDS_QUADS, MLDS_TRIADS
from tercet.io.nextml import NEXT
from tercet.io.oneofthree import MOST_CENTRAL, ODD_ONE_OUT
from tercet.io.parquet import PARQUET, import_pyarrow
from tercet.io.psychopy import LEFT_RIGHT, PSYCHOPY
from tercet.io.reading import Format, Reading, ReadOptions, Skipped
from tercet.io.salmon import SALMON
from tercet.io.tidy import TIDY
from tercet.io.triplettools import TRIPLETTOOLS
from tercet.text import alike, list_alike

__all__ = [
    "FORMATS",
    "find_writer",
    "read_answers",
    "read_file",
    "read_opened",
    "read_triplets",
    "write_triplets",
]

# All formats, in the order in which they are tried. A new one is a module with its `Format`, whose
# reader ends in `trials.build`, and a line here.
FORMATS: tuple[Format, ...] = (
    PARQUET,
    CBLEARN,
    ARRAY,
    NEXT,
    PSYCHOPY,
    JSPSYCH,
    TRIPLETTOOLS,
    SALMON,
    LEFT_RIGHT,
    TIDY,
    ODD_ONE_OUT,
    MOST_CENTRAL,
    SCREENS,
    MLDS_QUADS,
    MLDS_TRIADS,
)
_BY_SUFFIX = {".npy": "array", ".npz": "array", ".parquet": "parquet"}


def read_file(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - the word people use
    columns: Mapping[str, str] | None = None,
    n_objects: int | None = None,
    names: Iterable[str] | None = None,
    delimiter: str | None = None,
    skip_invalid: bool = False,
    max_bytes: int = MAX_BYTES,
) -> Reading:
    """Read answers from a file, with what was left out and why.

    Parameters
    ----------
    path : path
        Text in UTF-8 (CSV, TSV, whitespace, JSON), which may be gzipped; .npy, .npz or Parquet.
    format : str, optional
        The name of a format, see `tercet.io.FORMATS`; by default it is detected.
    columns : mapping of str to str, optional
        The titles of our columns in the file, such as ``{"anchor": "probe", "near": "chosen",
        "far": "other", "observer": "participant"}``. The format is detected as if the file had
        our words as titles.
    n_objects : int, optional
        Number of objects, if the last ones may not occur.
    names : sequence of str, optional
        The names of all objects; the cells are then names, even if they look like integers.
    delimiter : str, optional
        The character between cells; by default a comma, a semicolon or a tab, as detected.
    skip_invalid : bool
        Whether to skip invalid rows, such as one whose winner was not shown; they are counted and
        listed in `Reading.skipped`. By default they are an error.
    max_bytes : int
        The largest file to read, in bytes after decompression; 2 GiB by default.

    Returns
    -------
    Reading
    """
    check_columns(columns)
    file = InputFile(path, delimiter, max_bytes=max_bytes)
    return read_opened(file, format, ReadOptions(n_objects, names, columns), skip_invalid)


def read_opened(
    file: InputFile, name: str | None, options: ReadOptions, skip_invalid: bool = False
) -> Reading:
    """Read answers from a file that is open already, as a pipe can be read only once."""
    names: Any = options.names
    if names is not None and not isinstance(names, str):
        if not isinstance(names, Iterable):
            raise InputError(f"names must be a list of strings, got {names!r:.80}.")
        names = list(names)  # used more than once
        file.add_names(map(str, names))
    file.add_titles(options.columns or ())
    options = options._replace(names=names)
    try:
        chosen = detect(file) if name is None else find_format(name)
        reading = _read(chosen, file, options, skip_invalid)
    except UnknownColumnsError as error:
        parts = (str(error), _advice(file, options, error), error.otherwise)
        raise InputError(" ".join(filter(None, parts))) from None
    return replace(
        reading,
        note=" ".join(filter(None, (reading.note, _say_alike(reading.triplets)))),
        columns=options.columns,
        named=names is not None,
        skip_invalid=skip_invalid,
    )


def _say_alike(triplets: Triplets) -> str:
    """A note about observers whose labels look alike; objects are left to `diagnose`."""
    observers = triplets.observers
    if observers is None or observers.dtype.kind != "U":
        return ""
    if not (groups := alike(dict.fromkeys(observers.tolist()))):
        return ""
    return f"Treated as different observers, although they look alike: {list_alike(groups)}."


def _read(chosen: Format, file: InputFile, options: ReadOptions, skip_invalid: bool) -> Reading:
    """Read the file, again after each kind of invalid rows that is skipped."""
    skipped: list[Skipped] = []
    while True:
        try:
            reading = chosen.read(file, options)
        except RowsError as error:
            if not error.reason or file.invalid.issuperset(error.places):
                raise
            if not skip_invalid:
                error.hint = "To skip and list such rows, use skip_invalid=True."
                raise
            file.invalid.update(error.places)
            count, first = len(error.places), error.places[0]
            skipped.append(Skipped(error.reason, count, first, tuple(error.places)))
        else:
            return replace(
                reading,
                format=chosen.name,
                title=chosen.title,
                rows=reading.rows + len(file.invalid),
                skipped=(*reading.skipped, *skipped),
            )


def _advice(file: InputFile, options: ReadOptions, error: UnknownColumnsError) -> str:
    """What to do about unknown columns: the likely mapping, if it can be guessed."""
    if not error.titled:
        return ""
    if options.columns is None:
        table = file.cells if file.kind == "text" else error.table
        likely = list(guesses(table))
        columns = next((each for each in likely if _reads(file, options, each)), None)
        columns = columns or next(iter(likely), None)
        if columns is not None:
            unclear = UNKNOWN in columns.values()
            which = f", where {UNKNOWN} is the column of the anchor"
            return f"Likely: columns={columns!r}{which if unclear else ''}."
    return (
        "Rename them, or say which is which (in Python: columns={'anchor': …, …}): --columns "
        "anchor=…,near=…,far=… (for choices between sides, anchor=…,left=…,right=…,response=…)."
    )


def _reads(file: InputFile, options: ReadOptions, columns: Mapping[str, str]) -> bool:
    """Whether the file can be read with this mapping."""
    titled = file.with_titles(columns)
    try:
        detect(titled).read(titled, options._replace(columns=columns))
    except InputError:
        return False
    return True


def read_triplets(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002
    columns: Mapping[str, str] | None = None,
    n_objects: int | None = None,
    names: Iterable[str] | None = None,
    delimiter: str | None = None,
    skip_invalid: bool = False,
    max_bytes: int = MAX_BYTES,
) -> Triplets:
    """Read answers from a file; a `DataWarning` counts the rows that were left out.

    Parameters
    ----------
    path : path
        A tidy table has a header with the columns anchor, near, far (or a, b, c, d: a–b is closer
        than c–d), and perhaps observer, screen, response_time (in seconds) or response_time_ms, and
        weight or count, in any order and case; other columns are ignored. A file without a header
        has just the 3 or 4 columns. Objects are numbers from 0 if all of them are integers, and
        names if not. Files of other programs are detected.
    format, columns, n_objects, names, delimiter, skip_invalid, max_bytes
        As in `read_file`.
    """
    reading = read_file(
        path,
        format=format,
        columns=columns,
        n_objects=n_objects,
        names=names,
        delimiter=delimiter,
        skip_invalid=skip_invalid,
        max_bytes=max_bytes,
    )
    reading.warn(stacklevel=3, without_ties=True)
    return reading.triplets


def read_answers(path: str | os.PathLike[str], **settings: Any) -> Answers:
    """Read answers from a file in the form in which each row is one answer.

    Parameters
    ----------
    path, **settings
        As in `read_triplets`.

    Returns
    -------
    Choices or Triplets
        Choices where several comparisons share a screen (each screen is one choice), where the file
        says on which side each alternative was shown (`Choices.positions`), or where observers
        could not tell (`Choices.tied`). Otherwise Triplets. `read_triplets` always gives the
        comparisons.
    """
    reading = read_file(path, **settings)
    reading.warn(stacklevel=3)
    return reading.answers()


def detect(file: InputFile) -> Format:
    """The first format that the file looks like; a tidy table if it looks like none."""
    detected = next((each for each in FORMATS if each.matches(file)), TIDY)
    if detected is TIDY and file.kind == "json":
        file.json  # noqa: B018 - raises, with the line, if it is not valid JSON
        raise InputError(
            f"{file.path} is JSON of an unknown format (known: NEXT, jsPsych, Food-100); give its "
            "format, or save the answers as a table."
        )
    return detected


def find_format(name: str) -> Format:
    """The format of that name."""
    for each in FORMATS:
        if each.name == name:
            return each
    known = ", ".join(each.name for each in FORMATS)
    raise InputError(f"there is no format {name!r}; choose one of {known}.")


# --- writing ----------------------------------------------------------------------------------


def write_triplets(
    triplets: Any,
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 - the word people use
) -> None:
    """Write answers to a file that `read_triplets` reads, atomically.

    In a tidy table objects are written by name if they have names, and observer, screen, weight
    and response_time if they are known. A path ending in .tsv is separated by tabs, and one ending
    in .gz is compressed. A table loses the order of the names and objects that never occur:
    read it with ``names=triplets.names`` (or ``n_objects``) to get the same Triplets back.

    Parameters
    ----------
    triplets : Triplets, (m, 3) or (m, 4) array, or data frame
        The answers.
    path : path
        The file; an existing one is replaced.
    format : str, optional
        The name of a format that can be written; by default from the ending of the path, else a
        tidy table.
    """
    answers = triplets if isinstance(triplets, Triplets) else as_triplets(triplets)
    target = Path(path)
    if target.is_dir():
        raise InputError(f"{target} is a folder; give the name of a file in it.")
    write = find_writer(target, format)
    try:
        write(answers, target)
    except BrokenPipeError:  # the reader has closed the pipe
        raise
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}.") from None
    except UnicodeEncodeError as error:
        raise InputError(
            f"{target} cannot be written: {error.object!r} contains half of a surrogate pair, "
            "which is not a character."
        ) from None


def find_writer(path: Path, name: str | None) -> Callable[[Triplets, Path], None]:
    """The writer of that format, or of that of the ending; an error if there is none."""
    chosen = find_format(name or _BY_SUFFIX.get(path.suffix.lower(), TIDY.name))
    if chosen.write is None:
        known = ", ".join(each.name for each in FORMATS if each.write is not None)
        raise InputError(f"format {chosen.name!r} can only be read; formats to write: {known}.")
    if chosen is PARQUET:
        import_pyarrow(path)
    return chosen.write
