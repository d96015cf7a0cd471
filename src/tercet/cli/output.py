"""What the commands print and write: tables for people, JSON and CSV for machines."""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tercet.plain import plain

__all__ = [
    "Result",
    "cell",
    "check_out",
    "emit",
    "flush",
    "harmless",
    "note",
    "one_line",
    "say",
    "to_csv",
    "to_json",
    "with_options",
    "write_csv",
    "write_rows",
    "writing",
]

Row = Mapping[str, Any]

OPTIONS = {  # what parameters are called on the command line, where that differs
    "n_samples": "samples",
    "n_components": "dim",
    "n_chains": "chains",
    "per_anchor": "per-anchor",
    "skip_invalid": "skip-invalid",
    "max_bytes": "max-size",
}
PARAMETER = re.compile(
    r"\b(?:(n_samples|n_components|n_chains|per_anchor|warmup)\b(?!=)"  # alone
    r"|(\w+)=(?:'(\w+)'|True\b|(\d[\d./]*\b)))"  # with a plain value
)


class Result(NamedTuple):
    """What a command found, in the three forms in which it can be asked for."""

    text: str  # for people
    record: Row  # for JSON
    rows: Sequence[Row]  # for CSV, all with the same keys


def emit(options: argparse.Namespace, result: Result) -> None:
    """Print a result in the form that was asked for."""
    if options.json:
        print(to_json({"command": options.command, **result.record}))
    elif options.csv:
        print(to_csv(result.rows), end="")
    else:
        say(result.text)


def flush() -> None:
    """Send off what was printed, so that a closed pipe or a full disk is seen now."""
    if sys.stdout is not None:
        sys.stdout.flush()


# --- for people -------------------------------------------------------------------------------


def say(text: str) -> None:
    """Print text, harmless to a terminal."""
    print(harmless(text))


def note(options: argparse.Namespace, text: str) -> None:
    """Remark something on the error stream, unless the command is to be quiet."""
    if not options.quiet:
        print(one_line(text), file=sys.stderr)


def harmless(text: str) -> str:
    r"""Text whose control characters are spelled out, as ``\x1b``; lines stay lines.

    Names come from files, and a terminal obeys some characters.
    """
    return "\n".join(map(cell, text.split("\n")))


def cell(value: object) -> str:
    """A value as one printable line."""
    text = str(value)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def one_line(text: str) -> str:
    """A message as one harmless line."""
    return cell(" ".join(text.splitlines()))


def with_options(message: str, options: argparse.Namespace) -> str:
    """A message that speaks of options where it had parameters that the command has options for.

    ``raise n_samples`` becomes ``raise --samples``, and ``unit='screen'`` ``--unit screen``.
    """

    def option(found: re.Match[str]) -> str:
        alone, given, quoted, number = found.groups()
        word = OPTIONS.get(alone or given, alone or given)
        if not hasattr(options, word.replace("-", "_")):
            return found[0]
        return " ".join(part for part in (f"--{word}", quoted or number) if part)

    return PARAMETER.sub(option, message)


# --- for machines -----------------------------------------------------------------------------


def to_json(record: Row) -> str:
    """One JSON object: numbers as numbers, and null for what is no number."""
    return json.dumps(plain(record), indent=2, allow_nan=False)


def to_csv(rows: Sequence[Row]) -> str:
    """Rows as CSV under a header; cells of what is no number, or not known, are empty."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    if rows:
        writer.writerow(rows[0])
    for row in rows:
        writer.writerow(["" if (v := plain(value)) is None else v for value in row.values()])
    return text.getvalue()


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """Write rows as a CSV file, all of it or nothing."""
    from tercet.files import write_whole

    with writing(path):
        write_whole(path, to_csv(rows).encode("utf-8", errors="backslashreplace"))


def write_rows(options: argparse.Namespace, rows: Sequence[Row]) -> None:
    """Write rows to the file of ``-o``, if there is one, and say so."""
    if options.out is not None:
        write_csv(options.out, rows)
        note(options, f"Written: {options.out}.")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say it in a line if the file cannot be written."""
    from tercet.errors import InputError

    try:
        yield
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}.") from None


def check_out(path: Path | None, *inputs: Path | None) -> None:
    """Refuse a file that cannot be written, or that is one of the inputs, before any work."""
    from tercet.errors import InputError

    if path is None:
        return
    if any(other is not None and path.resolve() == other.resolve() for other in inputs):
        raise InputError(f"{path} would be overwritten; give the output another name.")
    if path.is_dir():
        raise InputError(f"{path} is a folder; give the name of a file in it.")
    if not path.parent.is_dir():
        raise InputError(f"{path} cannot be written: there is no folder {path.parent}.")
    if not os.access(path.parent, os.W_OK):
        raise InputError(f"{path} cannot be written: the folder {path.parent} is write-protected.")
