"""What the commands share: how they are declared, their common options, and how they read files.

Nothing heavy is imported before a command runs, so that ``tercet --help`` is quick.
"""

from __future__ import annotations

import argparse
import csv
import io
import math
import sys
import warnings
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tercet.cli.files import input_file, limit_of, output_file, size
from tercet.cli.output import note

if TYPE_CHECKING:
    from tercet.ensemble import Ensemble
    from tercet.io import Reading

__all__ = [
    "Formatter",
    "add_checkpoint",
    "add_command",
    "add_device",
    "add_effort",
    "add_form",
    "add_format",
    "add_leave_out",
    "add_names",
    "add_out",
    "add_quiet",
    "add_reading",
    "add_seed",
    "count",
    "dimensions",
    "effort_of",
    "jobs",
    "leave_out",
    "load_answers",
    "load_map",
    "natural_number",
    "positive",
    "progress_of",
    "read_names",
    "several",
    "share_of_one",
    "tell",
    "words",
]


LARGEST = 10**9  # count of anything


class Formatter(argparse.HelpFormatter):
    """Help that keeps lists as they are, and names an option's value once: ``-o, --out FILE``."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        filled = [
            part if "\n  " in part else super(Formatter, self)._fill_text(part, width, indent)
            for part in text.strip().split("\n\n")
        ]
        return "\n\n".join(filled) + "\n"

    def _format_action_invocation(self, action: argparse.Action) -> str:
        if not action.option_strings or action.nargs == 0:
            return super()._format_action_invocation(action)
        value = self._format_args(action, self._get_default_metavar_for_optional(action))
        return f"{', '.join(action.option_strings)} {value}"


def add_command(
    commands: Any,
    name: str,
    run: Callable[[argparse.Namespace], int],
    *,
    help: str,  # noqa: A002 - argparse's word
    description: str,
    examples: str,
) -> argparse.ArgumentParser:
    """Declare a command; ``examples`` are lines "tercet NAME …  what it does"."""
    lines = "".join(f"  {line}\n" for line in examples.strip().splitlines())
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=help,
        description=description,
        epilog=f"examples:\n{lines}",
        formatter_class=Formatter,
    )
    parser.set_defaults(run=run, parser=parser)
    return parser


# --- options ----------------------------------------------------------------------------------


def add_reading(parser: argparse.ArgumentParser) -> None:
    """The file of answers of a command, and how to read it."""
    parser.add_argument("file", metavar="FILE", type=input_file, help="the answers")
    group = add_format(parser)
    add_names(group)
    add_leave_out(group)


def add_format(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """How to read files of answers whose objects are known from a map."""
    group = parser.add_argument_group("reading the file")
    group.add_argument(
        "--format",
        metavar="NAME",
        help="its format, where it is not to be recognised; 'tercet convert --formats' lists them",
    )
    group.add_argument(
        "--columns",
        metavar="MAP",
        type=columns,
        help="which columns are what, such as anchor=probe,near=chosen,far=other",
    )
    group.add_argument(
        "--skip-invalid",
        action="store_true",
        help="leave out rows that cannot be answers, counted and listed, instead of stopping",
    )
    group.add_argument(
        "--max-size",
        metavar="SIZE",
        type=size,
        help="the most to read of a file, unpacked if it is packed, such as 4G (default: 2G)",
    )
    return group


def add_names(group: argparse._ArgumentGroup) -> None:
    """``--names``: what the objects are called."""
    group.add_argument(
        "--names",
        metavar="FILE",
        type=input_file,
        help="the names of all objects, one a line, where some may not occur or the order matters",
    )


def add_leave_out(group: argparse._ArgumentGroup) -> None:
    """``--leave-out``: for every command that reads answers."""
    group.add_argument(
        "--leave-out",
        metavar="OBSERVERS",
        type=words,
        default=(),
        help="observers whose answers are left out, with commas between them",
    )


def add_seed(parser: argparse.ArgumentParser) -> None:
    """``--seed``: the same command gives the same result, unless told otherwise."""
    parser.add_argument(
        "--seed",
        type=natural_number,
        default=0,
        metavar="N",
        help="of all that is random; the same seed gives the same result (default: 0)",
    )


def add_quiet(parser: argparse.ArgumentParser) -> None:
    """``--quiet``."""
    parser.add_argument(
        "--quiet", action="store_true", help="no progress bar and no remarks; warnings stay"
    )


def add_effort(parser: argparse.ArgumentParser) -> None:
    """Options of every command that computes: ``--seed``, ``--jobs``, ``--quiet``."""
    add_seed(parser)
    parser.add_argument(
        "--jobs",
        type=jobs,
        metavar="N",
        help="threads, all cores by default; the result does not depend on it",
    )
    add_quiet(parser)


def add_form(parser: argparse.ArgumentParser) -> None:
    """``--json`` or ``--csv`` instead of a table for people."""
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="print one JSON object instead")
    forms.add_argument("--csv", action="store_true", help="print the table as CSV instead")


def add_out(parser: argparse.ArgumentParser, what: str, *, required: bool = False) -> None:
    """``-o``: a file to write."""
    parser.add_argument(
        "-o",
        "--out",
        type=output_file,
        metavar="FILE",
        required=required,
        help=f"write {what} to FILE",
    )


def add_checkpoint(parser: argparse.ArgumentParser) -> None:
    """``--checkpoint``: a file that keeps what is done."""
    parser.add_argument(
        "--checkpoint",
        type=output_file,
        metavar="FILE",
        help="keep what is done in FILE; the same command goes on from there after an interruption",
    )


def add_device(parser: argparse.ArgumentParser) -> None:
    """``--device``: what computes."""
    parser.add_argument(
        "--device",
        choices=("cpu", "gpu", "auto"),
        default="cpu",
        help="what computes; gpu needs tercet[gpu] (default: cpu)",
    )


def progress_of(options: argparse.Namespace) -> bool | None:
    """Whether to show progress: on a terminal only, and not if ``--quiet``."""
    return False if options.quiet else None


def effort_of(options: argparse.Namespace) -> dict[str, Any]:
    """What the options of `add_effort` are called in Python."""
    return {
        "n_jobs": options.jobs,
        "random_state": options.seed,
        "progress": progress_of(options),
    }


# --- kinds of values --------------------------------------------------------------------------


def _number(text: str, least: float, most: float, must: str) -> float:
    try:
        value = float(Fraction(text))  # knows 0.5, 1e-3 and 1/30
    except (ValueError, ArithmeticError):
        value = math.nan
    if not least <= value <= most:
        raise argparse.ArgumentTypeError(f"must be {must}, got {text!r}")
    return value


def _whole(text: str, least: int, must: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if not least <= value <= LARGEST:
        raise argparse.ArgumentTypeError(f"must be {must}, got {text!r}")
    return value


def count(text: str) -> int:
    """A positive whole number, for which there might be memory."""
    return _whole(text, 1, "a whole number from 1 to a billion")


def several(text: str) -> int:
    """A count of two or more: one draw knows no uncertainty."""
    return _whole(text, 2, "a whole number from 2 to a billion")


def natural_number(text: str) -> int:
    """A whole number from 0."""
    return _whole(text, 0, "a whole number from 0 to a billion")


def jobs(text: str) -> int:
    """A positive number, or -1 for all cores."""
    return -1 if text == "-1" else _whole(text, 1, "at least 1, or -1 for all cores")


def positive(text: str) -> float:
    """A finite number from 0."""
    return _number(text, 0.0, sys.float_info.max, "a number from 0")


def share_of_one(text: str) -> float:
    """A number from 0 to 1."""
    return _number(text, 0.0, 1.0, "a share from 0 to 1")


def words(text: str) -> tuple[str, ...]:
    """Words with commas between them; none for an empty text or "none"."""
    found = tuple(word.strip() for word in text.split(","))
    if found in (("",), ("none",)):
        return ()
    if "" in found:
        raise argparse.ArgumentTypeError(f"there is an empty word in {text!r}")
    return found


def dimensions(text: str) -> list[int]:
    """Numbers such as ``1-6``, ``1,2,3`` or ``1-3,5``."""
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        low = count(first)
        high = count(last) if dash else low
        if high < low or high > 1000:
            raise argparse.ArgumentTypeError(f"{part!r} is no range such as 1-6")
        found += range(low, high + 1)
    return found


def columns(text: str) -> dict[str, str]:
    """A map such as ``anchor=probe,near=chosen``, our words first; as in CSV, quotes join."""
    found: dict[str, str] = {}
    for part in next(csv.reader([text]), [""]):
        word, sign, title = (piece.strip() for piece in part.partition("="))
        if not (word and sign and title):
            raise argparse.ArgumentTypeError(
                f"{part!r} is no pair such as anchor=probe; write WORD=COLUMN,WORD=COLUMN,…"
            )
        if word in found:
            raise argparse.ArgumentTypeError(f"{word!r} is there twice")
        found[word] = title
    return found


# --- reading ----------------------------------------------------------------------------------


def load_answers(
    options: argparse.Namespace,
    path: Path | None = None,
    names: Sequence[str] | None = None,
    *,
    all_known: bool = True,
) -> Reading:
    """Read the file of a command, and say what was recognised and what was left out.

    Parameters
    ----------
    options : Namespace
        With those of `add_reading` and ``quiet``.
    path : path, optional
        Another file; by default ``options.file``.
    names : sequence of str, optional
        The objects, where they are known; by default those of ``options.names``, if given.
    all_known : bool
        Whether the file must know all observers that are to be left out.
    """
    from tercet.io import read_file

    if names is None and options.names is not None:
        names = read_names(options.names)
    reading = read_file(
        options.file if path is None else path,
        format=options.format,
        columns=options.columns,
        names=names,
        skip_invalid=options.skip_invalid,
        max_bytes=limit_of(options),
    ).by_labels()
    reading = leave_out(options, reading, all_known=all_known)
    tell(options, reading)
    return reading


def leave_out(options: argparse.Namespace, reading: Reading, *, all_known: bool = True) -> Reading:
    """What was read without the observers of ``--leave-out``, or those of them that it knows."""
    left = options.leave_out
    if not all_known:
        observers = reading.triplets.observers
        known = set() if observers is None else set(observers.astype(str).tolist())
        left = [observer for observer in left if observer in known]
    return reading.without(left) if left else reading


def tell(options: argparse.Namespace, reading: Reading) -> None:
    """Say what was recognised and what was left out; the latter also if ``--quiet``."""
    if options.quiet:
        reading.warn()
    for sentence in reading.sentences():
        note(options, sentence)


def read_names(path: Path) -> Sequence[str]:
    """The lines of a file that are not empty."""
    from tercet.errors import InputError
    from tercet.io.inputfile import InputFile

    lines = io.StringIO(InputFile(path).text, newline=None)  # ends of lines, and no other marks
    names = [line.strip() for line in lines if line.strip()]
    if not names:
        raise InputError(f"{path} is empty; it should have the name of an object on every line.")
    return names


def load_map(path: Path) -> Ensemble:
    """The ensemble that ``bootstrap`` or ``posterior`` wrote."""
    from tercet.ensemble import Ensemble
    from tercet.errors import ConvergenceWarning, InputError
    from tercet.files import read_start
    from tercet.posterior.diagnostics import recorded_diagnostics

    if not path.exists():
        raise InputError(
            f"there is no file {path}; 'tercet posterior answers.csv -o {path}' makes a map."
        )
    if path.is_dir():
        raise InputError(f"{path} is a folder; give a file in it.")
    if not read_start(path).startswith(b"PK\x03\x04"):
        raise InputError(
            f"{path} is no map. If it holds answers, make a map of them first: tercet posterior "
            f"{path} -o map.npz."
        )
    ensemble = Ensemble.load(path)
    found = recorded_diagnostics(ensemble.provenance)
    if found is not None and found.problems:
        warnings.warn(
            f"{path} comes from chains that have not converged ({'; '.join(found.problems)}): what "
            "it says is provisional.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return ensemble
