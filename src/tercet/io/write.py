"""write_triplets: answers to a file, in a format of choice."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tercet.errors import InputError
from tercet.io.known import FORMATS
from tercet.io.parquet import PARQUET, import_pyarrow
from tercet.io.read import find_format
from tercet.io.tidy import TIDY
from tercet.triplets import Triplets, as_triplets

__all__ = ["find_writer", "write_triplets"]

_BY_SUFFIX = {".npy": "array", ".npz": "array", ".parquet": "parquet"}


def write_triplets(
    triplets: Any,
    path: str | os.PathLike[str],
    format: str | None = None,  # noqa: A002 - the word people use
) -> None:
    """Write answers to a file that `read_triplets` reads, all of it or nothing.

    In a tidy table objects are written by name if they have names, and observer, screen, weight
    and response_time if they are known. A path ending in .tsv is separated by tabs, and one ending
    in .gz is compressed. A table does not hold the order of the names or objects that never occur:
    read it with ``names=triplets.names`` (or ``n_objects``) to get the same Triplets back.

    Parameters
    ----------
    triplets : Triplets, (m, 3) or (m, 4) array, or data frame
        The answers.
    path : path
        Where to; a file of that name is replaced.
    format : str, optional
        The name of a format that can be written; by default by the ending of the path, a tidy
        table where that says nothing.
    """
    answers = triplets if isinstance(triplets, Triplets) else as_triplets(triplets)
    target = Path(path)
    if target.is_dir():
        raise InputError(f"{target} is a folder; give the name of a file in it.")
    write = find_writer(target, format)
    try:
        write(answers, target)
    except BrokenPipeError:  # whoever reads from a pipe has had enough
        raise
    except OSError as error:
        raise InputError(f"{target} cannot be written: {error.strerror}.") from None
    except UnicodeEncodeError as error:
        raise InputError(
            f"{target} cannot be written: {error.object!r} has a character that no text file can "
            "hold (half of a pair of surrogates)."
        ) from None


def find_writer(path: Path, name: str | None) -> Callable[[Triplets, Path], None]:
    """What writes that format, or that of the ending; an error where nothing can."""
    chosen = find_format(name or _BY_SUFFIX.get(path.suffix.lower(), TIDY.name))
    if chosen.write is None:
        known = ", ".join(each.name for each in FORMATS if each.write is not None)
        raise InputError(f"files of format {chosen.name!r} can only be read; to write: {known}.")
    if chosen is PARQUET:
        import_pyarrow(path)
    return chosen.write
