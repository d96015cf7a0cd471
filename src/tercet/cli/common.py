"""What the commands share: their declaration, options, models by name, and reading of files.

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

from tercet.cli.output import note
from tercet.cli.paths import input_file, limit_of, output_file, size
from tercet.models import FILES, LOSSES

if TYPE_CHECKING:
    from tercet.embedder import Embedder
    from tercet.ensemble import Ensemble
    from tercet.io import Reading
    from tercet.posterior import Posterior

__all__ = [
    "MODELS",
    "PROBABILITIES",
    "Formatter",
    "add_agreement",
    "add_checkpoint",
    "add_command",
    "add_device",
    "add_dimensions",
    "add_effort",
    "add_form",
    "add_format",
    "add_leave_out",
    "add_model",
    "add_names",
    "add_out",
    "add_penalty_option",
    "add_question",
    "add_quiet",
    "add_reading",
    "add_seed",
    "agreement",
    "count",
    "dimensions",
    "effort_of",
    "jobs",
    "learned_by",
    "leave_out",
    "load_answers",
    "load_map",
    "make_estimator",
    "make_model",
    "natural_number",
    "penalised",
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
    """Help that keeps indented lists, and names an option's value once: ``-o, --out FILE``."""

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
    """FILE and the options for reading it."""
    parser.add_argument("file", metavar="FILE", type=input_file, help="the answers")
    group = add_format(parser)
    add_names(group)
    add_leave_out(group)


def add_format(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    """The options for reading a file, except `add_names` and `add_leave_out`."""
    group = parser.add_argument_group("reading the file")
    group.add_argument(
        "--format",
        metavar="NAME",
        help="file format (default: detected); 'tercet convert --formats' lists them",
    )
    group.add_argument(
        "--columns",
        metavar="MAP",
        type=columns,
        help="names of the columns, such as anchor=probe,near=chosen,far=other",
    )
    group.add_argument(
        "--skip-invalid",
        action="store_true",
        help="skip and list invalid rows instead of stopping at the first",
    )
    group.add_argument(
        "--max-size",
        metavar="SIZE",
        type=size,
        help="largest file to read, after decompression, such as 4G (default: 2G)",
    )
    return group


def add_names(group: argparse._ArgumentGroup) -> None:
    """``--names``."""
    group.add_argument(
        "--names",
        metavar="FILE",
        type=input_file,
        help="names of all objects, one per line, to set their order or add some without answers",
    )


def add_leave_out(group: argparse._ArgumentGroup) -> None:
    """``--leave-out``."""
    group.add_argument(
        "--leave-out",
        metavar="OBSERVERS",
        type=words,
        default=(),
        help="observers whose answers are left out, separated by commas",
    )


def add_seed(parser: argparse.ArgumentParser) -> None:
    """``--seed``; it has a default, so that the same command gives the same result."""
    parser.add_argument(
        "--seed",
        type=natural_number,
        default=0,
        metavar="N",
        help="random seed (default: 0)",
    )


def add_quiet(parser: argparse.ArgumentParser) -> None:
    """``--quiet``."""
    parser.add_argument(
        "--quiet", action="store_true", help="no progress bar and no messages except warnings"
    )


def add_effort(parser: argparse.ArgumentParser) -> None:
    """Options of every command that computes: ``--seed``, ``--jobs``, ``--quiet``."""
    add_seed(parser)
    parser.add_argument(
        "--jobs",
        type=jobs,
        metavar="N",
        help="number of threads (default: all cores); does not change the result",
    )
    add_quiet(parser)


def add_form(parser: argparse.ArgumentParser) -> None:
    """``--json`` and ``--csv``."""
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="print one JSON object instead of text")
    forms.add_argument("--csv", action="store_true", help="print the table as CSV instead of text")


def add_out(parser: argparse.ArgumentParser, what: str, *, required: bool = False) -> None:
    """``-o``."""
    parser.add_argument(
        "-o",
        "--out",
        type=output_file,
        metavar="FILE",
        required=required,
        help=f"write {what} to FILE",
    )


def add_checkpoint(parser: argparse.ArgumentParser) -> None:
    """``--checkpoint``."""
    parser.add_argument(
        "--checkpoint",
        type=output_file,
        metavar="FILE",
        help="save progress to FILE; after an interruption, the same command resumes from it",
    )


def add_device(parser: argparse.ArgumentParser) -> None:
    """``--device``."""
    parser.add_argument(
        "--device",
        choices=("cpu", "gpu", "auto"),
        default="cpu",
        help="compute on the CPU or a GPU; gpu needs tercet[gpu] (default: cpu)",
    )


def progress_of(options: argparse.Namespace) -> bool | None:
    """Whether to show progress: on a terminal only, and not if ``--quiet``."""
    return False if options.quiet else None


def effort_of(options: argparse.Namespace) -> dict[str, Any]:
    """The options of `add_effort` as keyword arguments."""
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
    """A positive whole number."""
    return _whole(text, 1, "a whole number from 1 to a billion")


def several(text: str) -> int:
    """A count of two or more: one draw has no uncertainty."""
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


def agreement(text: str) -> float:
    """A share of agreement, such as ``0.74`` or ``74%``."""
    number, percent, rest = text.strip().partition("%")
    must = "a share between 0 and 1, such as 0.74 or 74%"
    if rest:
        raise argparse.ArgumentTypeError(f"must be {must}, got {text!r}")
    return _number(number, 0.0, 100.0, must) / 100.0 if percent else _number(text, 0.0, 1.0, must)


def add_question(parser: argparse.ArgumentParser, kind: Any, default: str, *, many: bool) -> None:
    """``--kind``, ``--shown``, ``--chosen`` and ``--ranked``: what is asked."""
    several_kinds = ", or several separated by commas to compare them" if many else ""
    parser.add_argument(
        "--kind",
        type=kind,
        metavar="KIND,…" if many else "KIND",
        help="what is asked: triplet, quadruplet, odd-one-out, most-central, nearest (or such as "
        f"3of9), ranking or best-worst{several_kinds} (default: {default})",
    )
    parser.add_argument(
        "--shown",
        type=count,
        metavar="N",
        help="objects shown with an anchor (default: 9 for nearest, 4 for ranking and best-worst)",
    )
    parser.add_argument(
        "--chosen", type=count, metavar="N", help="how many are chosen, for nearest (default: 3)"
    )
    parser.add_argument(
        "--ranked", action="store_true", help="the nearest are chosen in their order"
    )


def add_agreement(parser: argparse.ArgumentParser) -> None:
    """``--agreement``."""
    parser.add_argument(
        "--agreement",
        type=agreement,
        metavar="P",
        help="instead of --noise, how often two people give the same answer, such as 74%% or 0.74",
    )


def words(text: str) -> tuple[str, ...]:
    """Words separated by commas; none for an empty text or "none"."""
    parts = tuple(word.strip() for word in text.split(","))
    if parts in (("",), ("none",)):
        return ()
    if "" in parts:
        raise argparse.ArgumentTypeError(f"there is an empty word in {text!r}")
    return parts


def dimensions(text: str) -> list[int]:
    """Numbers such as ``1-6``, ``1,2,3`` or ``1-3,5``."""
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        low = count(first)
        high = count(last) if dash else low
        if high < low or high > 1000:
            raise argparse.ArgumentTypeError(f"{part!r} is not a range such as 1-6")
        numbers += range(low, high + 1)
    return numbers


def add_dimensions(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which numbers of dimensions to try."""
    tried = parser.add_mutually_exclusive_group()
    tried.add_argument(
        "--dimensions",
        type=dimensions,
        metavar="RANGE",
        help="dimensions to try, such as 1-4 or 1,2,5 (default: 1-6, fewer for few answers)",
    )
    tried.add_argument(
        "--max-dim",
        type=count,
        metavar="N",
        help="the largest dimension to try (default: 6); fewer if the answers support no more",
    )


def columns(text: str) -> dict[str, str]:
    """A mapping such as ``anchor=probe,near=chosen``, our words first; quotes work as in CSV."""
    titles: dict[str, str] = {}
    for part in next(csv.reader([text]), [""]):
        word, sign, title = (piece.strip() for piece in part.partition("="))
        if not (word and sign and title):
            raise argparse.ArgumentTypeError(
                f"{part!r} is not a pair such as anchor=probe; write WORD=COLUMN,WORD=COLUMN,…"
            )
        if word in titles:
            raise argparse.ArgumentTypeError(f"{word!r} occurs twice")
        titles[word] = title
    return titles


# --- reading ----------------------------------------------------------------------------------


def load_answers(
    options: argparse.Namespace,
    path: Path | None = None,
    names: Sequence[str] | None = None,
    *,
    all_known: bool = True,
) -> Reading:
    """Read the file of a command, and report what was detected and what was left out.

    Parameters
    ----------
    options : Namespace
        With those of `add_reading` and ``quiet``.
    path : path, optional
        Another file; by default ``options.file``.
    names : sequence of str, optional
        The objects, if known; by default those of ``options.names``.
    all_known : bool
        Whether the file must contain all observers that are to be left out.
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
    """What was read, without the observers of ``--leave-out``."""
    left = options.leave_out
    if not all_known:
        observers = reading.triplets.observers
        known = set() if observers is None else set(observers.astype(str).tolist())
        left = [observer for observer in left if observer in known]
    return reading.without(left) if left else reading


def tell(options: argparse.Namespace, reading: Reading) -> None:
    """Report what was detected and what was left out; the latter also if ``--quiet``."""
    if options.quiet:
        reading.warn()
    for sentence in reading.sentences():
        note(options, sentence)


def read_names(path: Path) -> Sequence[str]:
    """The lines of a file that are not empty."""
    from tercet.errors import InputError
    from tercet.io.inputfile import InputFile

    lines = io.StringIO(InputFile(path).text, newline=None)  # splits at ends of lines only
    names = [line.strip() for line in lines if line.strip()]
    if not names:
        raise InputError(f"{path} is empty; it should contain the name of one object per line.")
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
            f"{path} is not a map. If it contains answers, make a map of them first: "
            f"tercet posterior {path} -o map.npz."
        )
    ensemble = Ensemble.load(path)
    diagnostics = recorded_diagnostics(ensemble.provenance)
    if diagnostics is not None and diagnostics.problems:
        warnings.warn(
            f"{path} comes from chains that have not converged "
            f"({'; '.join(diagnostics.problems)}): results from it are provisional.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return ensemble


# --- models by their names on the command line --------------------------------------------------


NAMES = {name.lower(): name for name in FILES}  # estimators by their names on the command line
MODELS = tuple(NAMES)
PROBABILITIES = tuple(word for word, name in NAMES.items() if name not in LOSSES)
PENALTY = 1 / 30  # MAP under a normal prior of variance 15; without it, maps may grow for ever


def add_model(
    parser: argparse.ArgumentParser, default: str, models: tuple[str, ...] = MODELS
) -> None:
    """``--model`` and ``--dim``."""
    parser.add_argument(
        "--model", choices=models, help=f"model of the answers (default: {default})"
    )
    parser.add_argument(
        "--dim", type=count, default=2, metavar="N", help="dimensions of the map (default: 2)"
    )


def add_penalty_option(parser: argparse.ArgumentParser, also: str = "") -> None:
    """``--penalty``; ``also`` says when else it is 0."""
    losses = " and ".join(name.lower() for name in reversed(LOSSES))
    parser.add_argument(
        "--penalty",
        type=positive,
        metavar="X",
        help="add X times the map's sum of squares to the loss, which bounds its size "
        f"(default: 1/30, a normal prior of variance 15; 0 for {losses}{also})",
    )


def penalised(name: str, dim: int, penalty: float | None) -> Embedder:
    """The estimator of that name with this penalty, or the default one."""
    from tercet.errors import InputError

    estimator = make_estimator(name, dim)
    if "penalty" not in estimator.get_params():
        if penalty:
            raise InputError(f"{name} has no penalty, as its trace term bounds the map.")
        return estimator
    default = PENALTY if name in PROBABILITIES else 0.0
    return make_estimator(name, dim, penalty=default if penalty is None else penalty)


def make_estimator(name: str, dim: int, **parameters: float) -> Embedder:
    """The estimator of that name."""
    from tercet import estimators
    from tercet.errors import InputError

    if name not in MODELS:
        raise InputError(f"there is no model {name!r}; choose one of {', '.join(MODELS)}.")
    estimator: Embedder = getattr(estimators, NAMES[name])(dim, **parameters)
    return estimator


def learned_by(estimator: Embedder) -> tuple[str, ...]:
    """What is learned with the points by default: every learnable parameter, and lapses."""
    return (*estimator.model_class.learnable(), "lapse")


def make_model(text: str, dim: int) -> Embedder | Posterior:
    """A model to compare: its name, and learned parameters after plus signs (``ckl+mu``)."""
    from tercet.posterior import Posterior

    name, *learn = text.split("+")
    estimator = make_estimator(name, dim)
    return Posterior(estimator, learn=tuple(learn)) if learn else estimator
