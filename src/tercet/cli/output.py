"""What the commands print and write: tables for people, JSON and CSV for machines."""

from __future__ import annotations

import argparse
import ast
import re
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tercet.tables import table_of, to_csv, to_json
from tercet.text import PYTHON, harmless, one_line, printable

__all__ = [
    "Result",
    "emit",
    "flush",
    "harmless",
    "note",
    "one_line",
    "printable",
    "save_rows",
    "say",
    "with_options",
    "without_python",
    "write_csv",
    "writing",
]

Row = Mapping[str, Any]

OPTIONS = {  # what parameters are called on the command line, where that differs
    "n_samples": "samples",
    "n_components": "dim",
    "n_chains": "chains",
    "per_anchor": "per-anchor",
    "n_objects": "objects",
    "n_jobs": "jobs",
    "random_state": "seed",
    "skip_invalid": "skip-invalid",
    "max_bytes": "max-size",
}
PARAMETER = re.compile(
    r"\b(?:(n_samples|n_components|n_chains|n_objects|n_jobs|random_state|per_anchor|warmup)"
    r"\b(?!=)"  # alone
    r"|(\w+)=(?:'(\w+)'|True\b|(\d[\d./]*\b)))"  # with a plain value
)

_TEXT = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
COLUMNS = re.compile(rf"\bcolumns=(\{{(?:{_TEXT}: {_TEXT}(?:, )?)+\}})")  # a map of them


TABLE = "--csv has all"  # of those commands whose results have more rows than they show


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
        table = table_of(result.rows).csv()
        shown = sys.stdout is not None and sys.stdout.isatty()  # else a program reads it
        print(harmless(table) if shown else table, end="")
    else:
        say(without_python(result.text, options))


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


def with_options(message: str, options: argparse.Namespace) -> str:
    """A message that speaks of options where it had parameters that the command has options for.

    ``raise n_samples`` becomes ``raise --samples``, and ``unit='screen'`` ``--unit screen``. What
    is said for programmers, as ``(in Python: …)``, is left out unless it is such a parameter.
    """
    return _translated(without_python(message, options), options)


def without_python(text: str, options: argparse.Namespace) -> str:
    """The text without what is said for programmers; an option where the command has one for it."""

    def instead(found: re.Match[str]) -> str:
        said = TABLE if found[1] == "table()" else _translated(found[1], options)
        return f" ({said})" if said.startswith("--") else ""

    return PYTHON.sub(instead, text)


def _translated(message: str, options: argparse.Namespace) -> str:
    def option(found: re.Match[str]) -> str:
        alone, given, quoted, number = found.groups()
        word = OPTIONS.get(alone or given, alone or given)
        if not hasattr(options, word.replace("-", "_")):
            return found[0]
        return " ".join(part for part in (f"--{word}", quoted or number) if part)

    return COLUMNS.sub(_columns, PARAMETER.sub(option, message))


def _columns(found: re.Match[str]) -> str:
    """A map of columns as ``--columns`` takes it, quoted for a shell."""
    pairs = [f"{word}={title}" for word, title in ast.literal_eval(found[1]).items()]
    return f"--columns {shlex.quote(to_csv(pairs, ()).removesuffix(chr(10)))}"


# --- for machines -----------------------------------------------------------------------------


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """Write rows as a CSV file, all of it or nothing."""
    from tercet.files import write_whole

    with writing(path):
        write_whole(path, table_of(rows).csv().encode("utf-8", errors="backslashreplace"))


def save_rows(options: argparse.Namespace, rows: Sequence[Row]) -> None:
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
    except BrokenPipeError:  # whoever reads has had enough
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}.") from None
