"""The files that a command reads and writes, checked before any work.

The type of an option that names a file says whether it is read or written.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from tercet.cli.output import writing

__all__ = [
    "check_files",
    "input_file",
    "input_place",
    "inputs_of",
    "limit_of",
    "output_file",
    "output_place",
    "size",
]


def input_file(text: str) -> Path:
    """A file that is read."""
    return Path(text)


def input_place(text: str) -> Path:
    """A file that is read, or a folder whose files are read."""
    return Path(text)


def output_file(text: str) -> Path:
    """A file that is written."""
    return Path(text)


def output_place(text: str) -> Path:
    """A folder or a page; the command itself checks what it writes there."""
    return Path(text)


class Given(NamedTuple):
    """A file, and the option that named it."""

    path: Path
    option: str  # such as "-o" or "FILE"


def check_files(options: argparse.Namespace) -> None:
    """Refuse outputs that cannot be written, or that are an input or another output.

    Links are followed. Packages needed for reading and writing must be installed.
    """
    from tercet.errors import InputError
    from tercet.files import check_place, identity

    inputs, outputs = list(_given(options, input_file)), list(_given(options, output_file))
    for path, _ in outputs:
        with writing(path):
            check_place(path)
    read = {identity(path): option for path, option in inputs}
    read.pop(None, None)  # pipes and devices are not overwritten
    for path, _ in outputs:
        if (option := read.get(identity(path))) is not None:
            raise InputError(
                f"{path} would be overwritten, but it is read as {option}; give the output another "
                "name."
            )
    for one, other in combinations(outputs, 2):
        if (same := identity(one.path)) is not None and same == identity(other.path):
            raise InputError(
                f"{other.path} would be overwritten: {one.option} and {other.option} write to the "
                "same file; give one of them another name."
            )
    _check_packages(options, [path for path, _ in (*inputs, *outputs)])


def inputs_of(options: argparse.Namespace) -> list[Path]:
    """The files that a command reads, including all files of a folder."""
    places = [path for path, _ in _given(options, input_place)]
    inside = [file for place in places if place.is_dir() for file in place.iterdir()]
    return [path for path, _ in _given(options, input_file)] + places + inside


def _given(options: argparse.Namespace, kind: Callable[[str], Path]) -> Iterator[Given]:
    for action in options.parser._actions:
        found = getattr(options, action.dest, None)
        if action.type is kind and found is not None:
            name = action.option_strings[0] if action.option_strings else action.metavar
            yield from (
                Given(path, name) for path in (found if isinstance(found, list) else [found])
            )


def _check_packages(options: argparse.Namespace, paths: list[Path]) -> None:
    """Raise before any work if a required package is missing."""
    parquet = [path for path in paths if path.suffix.lower() == ".parquet"]
    if parquet:
        from tercet.io.parquet import import_pyarrow

        import_pyarrow(parquet[0])
    if getattr(options, "device", None) == "gpu":
        from tercet.accelerator.device import find_device

        find_device(options.device)
    if getattr(options, "plot", None) is not None:
        from tercet.plots.axes import require_matplotlib

        require_matplotlib()


# --- ``--max-size`` -----------------------------------------------------------------------------


def size(text: str) -> int:
    """A number of bytes, such as 500000, 500K, 100M or 4G."""
    match = re.fullmatch(r"([0-9]*\.?[0-9]+) ?([KMGT]?)(?:I?B)?", text.strip().upper())
    value = float(match[1]) * 1024 ** " KMGT".index(match[2] or " ") if match else 0.0
    if not 1.0 <= value < 2.0**62:
        raise argparse.ArgumentTypeError(f"must be a size such as 500M or 4G, got {text!r}")
    return int(value)


def limit_of(options: argparse.Namespace) -> int:
    """The largest file to read, in bytes, from ``--max-size``."""
    from tercet.files import MAX_BYTES

    return MAX_BYTES if options.max_size is None else options.max_size
