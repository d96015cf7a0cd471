"""``tercet suggest``: the most informative questions."""

from __future__ import annotations

import argparse
import csv
import dataclasses
import io
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tercet.cli.common import (
    add_command,
    add_effort,
    add_form,
    add_format,
    add_leave_out,
    add_names,
    add_out,
    count,
    load_answers,
    load_map,
    read_names,
)
from tercet.cli.output import Result, emit, mark_provisional, printable, problems_of, save_rows
from tercet.cli.paths import input_file, limit_of
from tercet.cli.predict import load_comparisons

if TYPE_CHECKING:
    from tercet.answers.triplets import Triplets
    from tercet.ensemble import Ensemble
    from tercet.uses.active.suggestions import Suggestions

__all__ = ["add_to", "run"]

KINDS = ("triplet", "odd_one_out", "quadruplet", "nearest")
EXAMPLES = """
tercet suggest map.npz --answers answers.csv -k 20 -o next.csv   for the experiment
tercet suggest map.npz --strategy uncertainty --per-anchor 2     the paper's criterion, spread out
tercet suggest --strategy random --objects 30 -k 200             first questions, without a map
tercet suggest map.npz --kind odd_one_out -k 20                  which of three is the odd one out?
"""


def add_to(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = add_command(
        commands,
        "suggest",
        run,
        help="the most informative next questions",
        description=(
            "Suggest the most informative questions, best first: is the anchor closer to one or to "
            "other? With --kind, which of three objects is the odd one out, which of two pairs is "
            "closer, or which of several objects are the nearest to an anchor. The order of "
            "objects has no meaning; shuffle their places in the experiment. This helps once a "
            "posterior map is roughly known. Before that, ask at random (--strategy random), which "
            "needs only the answers so far, or the number or names of the objects."
        ),
        examples=EXAMPLES,
    )
    parser.add_argument(
        "map",
        metavar="MAP",
        type=input_file,
        nargs="?",
        help="map written by posterior or bootstrap (npz); not needed for --strategy random",
    )
    parser.add_argument(
        "--kind",
        choices=KINDS,
        default=KINDS[0],
        help="kind of questions (default: triplet)",
    )
    parser.add_argument(
        "--shown",
        type=count,
        metavar="N",
        help="objects shown with the anchor, for --kind nearest (default: 8)",
    )
    parser.add_argument(
        "--answers",
        type=input_file,
        metavar="FILE",
        help="answers so far, whose questions are not suggested again",
    )
    parser.add_argument(
        "--pending", type=input_file, metavar="FILE", help="questions asked but not yet answered"
    )
    parser.add_argument(
        "-k",
        "--count",
        type=count,
        default=10,
        metavar="N",
        help="number of questions (default: 10)",
    )
    parser.add_argument(
        "--strategy",
        choices=("mutual_information", "information_gain", "uncertainty", "random"),
        help="criterion (default: mutual_information, or uncertainty if the model has no "
        "probabilities)",
    )
    parser.add_argument(
        "--objects", type=count, metavar="N", help="number of objects, without a map"
    )
    parser.add_argument(
        "--per-anchor",
        type=count,
        metavar="N",
        help="maximum number of questions per anchor (default: twice an even share for "
        "mutual_information and information_gain, else no limit)",
    )
    parser.add_argument(
        "--per-object",
        type=count,
        metavar="N",
        help="the same per object, for kinds without an anchor: odd_one_out and quadruplet",
    )
    parser.add_argument(
        "--repeats", action="store_true", help="allow questions that were already answered"
    )
    group = add_format(parser)
    add_names(group)
    add_leave_out(group)
    add_out(parser, "the questions as CSV")
    add_effort(parser)
    add_form(parser)


def run(options: argparse.Namespace) -> int:
    """Choose, print and write."""
    from tercet.uses.active import suggest

    check_given(options)
    ensemble = None if options.map is None else load_map(options.map)
    known = load_objects(options) if ensemble is None else ensemble
    answers = pending = None
    if options.map is not None and options.answers is not None:
        answers = load_questions(options, known, options.answers)
    if options.pending is not None:
        pending = load_questions(options, known, options.pending, everybody=True)
    found = suggest(
        known,
        options.count,
        options.strategy,
        kind=options.kind,
        n_shown=options.shown,
        triplets=answers,
        pending=pending,
        repeats=options.repeats,
        per_anchor=options.per_anchor,
        per_object=options.per_object,
        random_state=options.seed,
        n_jobs=options.jobs,
    )
    rows: list[dict[str, Any]] = [
        dict(zip(found.columns, row, strict=True)) | {"score": score}
        for row, score in zip(found, found.scores.tolist(), strict=True)
    ]
    save_rows(options, rows)
    problems = problems_of(ensemble)
    record = {
        "seed": options.seed,
        "strategy": found.strategy,
        "kind": found.kind,
        "problems": problems,
        "comparisons": rows,
    }
    emit(options, Result(mark_provisional(str(_printable(found)), problems), record, rows))
    return 0


def check_given(options: argparse.Namespace) -> None:
    """Raise if options do not fit together."""
    from tercet.errors import InputError

    if options.strategy == "information_gain" and options.answers is None:
        raise InputError("--strategy information_gain needs the answers so far: --answers FILE.")
    if options.leave_out and options.answers is None:
        raise InputError("--leave-out leaves out observers of the answers; give --answers FILE.")
    if options.map is not None:
        for option in ("objects", "names"):
            if getattr(options, option) is not None:
                raise InputError(f"--{option} is for questions without a map; leave it out.")
        return
    if options.strategy != "random":
        raise InputError(
            "informative questions need a map: give MAP, written by 'tercet posterior', or ask at "
            "random with --strategy random."
        )
    if (options.answers, options.objects, options.names) == (None, None, None):
        raise InputError(
            "the objects are unknown; give --answers FILE, --names FILE or --objects N."
        )


def load_objects(options: argparse.Namespace) -> Triplets:
    """The answers so far, perhaps none, and the objects given by options instead of a map."""
    from tercet.answers.triplets import as_triplets
    from tercet.errors import InputError
    from tercet.uses.active.candidates import without_answers

    n_objects = options.objects
    if options.answers is not None:
        answers = load_answers(options, options.answers).triplets
        if n_objects is None:
            return answers
        if answers.names is not None:
            raise InputError(
                "--objects is for objects numbered from 0, but these have names; give all of them "
                "with --names FILE."
            )
        if n_objects < answers.n_objects:
            raise InputError(
                f"--objects is {n_objects}, but the answers have {answers.n_objects} objects."
            )
        return as_triplets(answers, n_objects)
    names = None if options.names is None else read_names(options.names)
    if names is not None and n_objects is not None:
        raise InputError("--names determines the number of objects; leave --objects out.")
    return without_answers(n_objects if names is None else len(names), names)


def load_questions(
    options: argparse.Namespace,
    objects: Ensemble | Triplets,
    path: Path,
    *,
    everybody: bool = False,
) -> Any:
    """Answers, or questions as this command writes them: Triplets, or rows of the kind."""
    from tercet.io.inputfile import InputFile
    from tercet.uses.active.question_kinds import find_kind

    kind = find_kind(options.kind, options.shown)
    if kind.name in ("odd_one_out", "nearest"):
        source = InputFile(path, max_bytes=limit_of(options))
        if source.kind == "text" and source.titles >= set(kind.columns):
            rows = csv.DictReader(io.StringIO(source.text))
            names = [[row[column] for column in kind.columns] for row in rows]
            return names if objects.names else [[int(cell) for cell in row] for row in names]
    return load_comparisons(options, objects, path, everybody=everybody).triplets


def _printable(found: Suggestions) -> Suggestions:
    """The same with names that are safe to print."""
    if found.objects is None:
        return found
    return dataclasses.replace(found, objects=tuple(map(printable, found.objects)))
