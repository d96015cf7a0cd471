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
from typing import TYPE_CHECKING, Any, NamedTuple

from tercet.tables import Table, table_of, to_csv, to_json
from tercet.text import PYTHON, counted, harmless, one_line, printable

if TYPE_CHECKING:
    from tercet.ensemble import Ensemble

__all__ = [
    "LEVEL",
    "Result",
    "describe_map",
    "emit",
    "flush",
    "harmless",
    "labels_of",
    "mark_provisional",
    "note",
    "one_line",
    "point_rows",
    "point_table",
    "printable",
    "problems_of",
    "save_map",
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
    "per_object": "per-object",
    "n_shown": "shown",
    "n_objects": "objects",
    "n_jobs": "jobs",
    "random_state": "seed",
    "skip_invalid": "skip-invalid",
    "max_bytes": "max-size",
    "max_dimension": "max-dim",
}
PARAMETER = re.compile(
    r"(?<!-)\b(?:(n_samples|n_components|n_chains|n_objects|n_jobs|random_state|per_anchor|warmup|"
    r"per_object|n_shown|max_dimension)"
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


# --- a map with intervals as text, JSON and CSV, for `bootstrap` and `posterior` ----------------


LEVEL = 0.95  # of the intervals


def problems_of(ensemble: Ensemble | None) -> list[str]:
    """Problems of the chains that drew a map; none for other maps."""
    from tercet.posterior.diagnostics import recorded_diagnostics

    diagnostics = None if ensemble is None else recorded_diagnostics(ensemble.provenance)
    return [] if diagnostics is None else diagnostics.problems


def mark_provisional(text: str, problems: list[str]) -> str:
    """The text, preceded by the problems of the chains that it comes from."""
    if not problems:
        return text
    return f"Provisional: the chains have not converged ({'; '.join(problems)}).\n\n{text}"


def labels_of(names: tuple[str, ...] | None, n: int) -> list[Any]:
    """The names of the objects, or their numbers."""
    return list(range(n)) if names is None else list(names)


def point_rows(ensemble: Ensemble) -> list[dict[str, Any]]:
    """A row for each object: its name, and the mean and interval of every coordinate."""
    mean, interval = ensemble.point_mean(), ensemble.point_interval(LEVEL)
    rows = []
    for i, label in enumerate(labels_of(ensemble.names, ensemble.n_objects)):
        row = {"name": label}
        for k in range(ensemble.n_components):
            low, high = interval[i, k]
            row |= {f"x{k + 1}": mean[i, k], f"x{k + 1}_low": low, f"x{k + 1}_high": high}
        rows.append(row)
    return rows


def point_table(rows: list[dict[str, Any]]) -> str:
    """The rows as a table, intervals in one cell; also of points without intervals."""
    axes = [key for key in rows[0] if key != "name" and "_" not in key]
    intervals = f"{axes[0]}_low" in rows[0]
    head = ["name"]
    for axis in axes:
        head += [axis, f"{LEVEL:.0%} interval"] if intervals else [axis]
    lines = []
    for row in rows:
        line = [printable(row["name"])]
        for axis in axes:
            line.append(f"{row[axis]:.3f}")
            if intervals:
                line.append(f"{row[f'{axis}_low']:.3f} to {row[f'{axis}_high']:.3f}")
        lines.append(line)
    return Table("", head, lines).text()


def describe_map(
    options: argparse.Namespace,
    ensemble: Ensemble,
    sentences: list[str],
    more: dict[str, Any],
) -> Result:
    """The map in three forms; the text has no table if that is written to a file.

    Parameters
    ----------
    options : Namespace
        With ``out`` and ``seed``.
    ensemble : Ensemble
    sentences : list of str
        How the map was made and whether it can be trusted.
    more : dict
        The same for JSON.
    """
    expected, of = expected_error(ensemble, options.seed)
    problems = problems_of(ensemble)
    doubt = ", but the chains have not converged" if problems else ""
    source = ensemble.provenance.get("source")
    many = counted(ensemble.n_samples, "replicate" if source == "bootstrap" else "draw")
    text = [
        f"A map of {ensemble.n_objects} objects in "
        f"{counted(ensemble.n_components, 'dimension')}: {many}.",
        *sentences,
        f"Average uncertainty {expected:.4f}: {expected:.1%} of {of} are expected to be wrong"
        f"{doubt}.",
    ]
    rows = point_rows(ensemble)
    if options.out is None:
        text += ["", point_table(rows)]
    record = {
        "seed": options.seed,
        "n_objects": ensemble.n_objects,
        "n_components": ensemble.n_components,
        "n_draws": ensemble.n_samples,
        "average_uncertainty": expected,
        **more,
        "problems": problems,
        "level": LEVEL,
        "points": rows,
    }
    return Result("\n".join(text), record, rows)


def expected_error(ensemble: Ensemble, seed: int) -> tuple[float, str]:
    """Mean of min(π, 1 − π), and over which comparisons: all, or a sample for many objects."""
    mean = ensemble.average_uncertainty(random_state=seed)
    return mean, "all comparisons" if mean.exact else f"{mean.n_comparisons} random comparisons"


def save_map(options: argparse.Namespace, ensemble: Ensemble) -> None:
    """Write the ensemble to ``-o``, if given."""
    path: Path | None = options.out
    if path is not None:
        with writing(path):
            ensemble.save(path)
        note(options, f"Written: {path}, for 'tercet predict' and 'tercet suggest'.")
