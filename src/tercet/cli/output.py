"""What the commands print and write: text, JSON and CSV."""

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

OPTIONS = {  # options of the command line whose names differ from the parameters'
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
    r"(?<!-)\b(?:(n_samples|n_components|n_chains|n_objects|n_jobs|random_state|per_anchor|warmup)"
    r"\b(?!=)"  # alone
    r"|(\w+)=(?:'(\w+)'|True\b|(\d[\d./]*\b)))"  # with a plain value
)

_TEXT = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
COLUMNS = re.compile(rf"\bcolumns=(\{{(?:{_TEXT}: {_TEXT}(?:, )?)+\}})")


TABLE = "--csv prints all"  # where the text shows only some rows


class Result(NamedTuple):
    """The result of a command, in its three forms."""

    text: str  # for people
    record: Row  # for JSON
    rows: Sequence[Row]  # for CSV, all with the same keys


def emit(options: argparse.Namespace, result: Result) -> None:
    """Print a result in the requested form."""
    if options.json:
        print(to_json({"command": options.command, **result.record}))
    elif options.csv:
        table = table_of(result.rows).csv()
        terminal = sys.stdout is not None and sys.stdout.isatty()
        print(harmless(table) if terminal else table, end="")
    else:
        say(without_python(result.text, options))


def flush() -> None:
    """Flush the output, so that a closed pipe or a full disk is noticed now."""
    if sys.stdout is not None:
        sys.stdout.flush()


# --- text -------------------------------------------------------------------------------------


def say(text: str) -> None:
    """Print text, safe for a terminal."""
    print(harmless(text))


def note(options: argparse.Namespace, text: str) -> None:
    """Print a message to the error stream, unless ``--quiet``."""
    if not options.quiet:
        print(one_line(text), file=sys.stderr)


def with_options(message: str, options: argparse.Namespace) -> str:
    """A message with parameters replaced by the command's options.

    ``raise n_samples`` becomes ``raise --samples``, and ``unit='screen'`` ``--unit screen``.
    Remarks for programmers, ``(in Python: …)``, are removed unless they are such a parameter.
    """
    return _translated(without_python(message, options), options)


def without_python(text: str, options: argparse.Namespace) -> str:
    """The text without remarks for programmers, or with the command's option instead."""

    def replace(match: re.Match[str]) -> str:
        option = TABLE if match[1] == "table()" else _translated(match[1], options)
        return f" ({option})" if option.startswith("--") else ""

    return PYTHON.sub(replace, text)


def _translated(message: str, options: argparse.Namespace) -> str:
    def option(match: re.Match[str]) -> str:
        alone, given, quoted, number = match.groups()
        word = OPTIONS.get(alone or given, alone or given)
        if not hasattr(options, word.replace("-", "_")):
            return match[0]
        return " ".join(part for part in (f"--{word}", quoted or number) if part)

    return COLUMNS.sub(_columns, PARAMETER.sub(option, message))


def _columns(match: re.Match[str]) -> str:
    """A mapping of columns in the form of ``--columns``, quoted for a shell."""
    pairs = [f"{word}={title}" for word, title in ast.literal_eval(match[1]).items()]
    return f"--columns {shlex.quote(to_csv(pairs, ()).removesuffix(chr(10)))}"


# --- files ------------------------------------------------------------------------------------


def write_csv(path: Path, rows: Sequence[Row]) -> None:
    """Write rows as a CSV file, atomically."""
    from tercet.files import write_whole

    with writing(path):
        write_whole(path, table_of(rows).csv().encode("utf-8", errors="backslashreplace"))


def save_rows(options: argparse.Namespace, rows: Sequence[Row]) -> None:
    """Write rows to the file of ``-o``, if given."""
    if options.out is not None:
        write_csv(options.out, rows)
        note(options, f"Written: {options.out}.")


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn a failure to write the file into an `InputError`."""
    from tercet.errors import InputError

    try:
        yield
    except BrokenPipeError:  # the reader has closed the pipe
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}.") from None
