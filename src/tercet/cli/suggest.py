"""``tercet suggest``: the comparisons whose answers would tell most."""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING, Any

from tercet.cli.common import (
    add_command,
    add_effort,
    add_form,
    add_format,
    add_out,
    count,
    load_map,
)
from tercet.cli.files import input_file
from tercet.cli.output import Result, cell, emit, write_rows
from tercet.cli.predict import read_comparisons

if TYPE_CHECKING:
    from tercet.uses.active.suggestions import Suggestions

__all__ = ["add_to", "run"]

EXAMPLES = """
tercet suggest map.npz --answers answers.csv -k 20 -o next.csv   for the experiment
tercet suggest map.npz --strategy uncertainty --per-anchor 2     the paper's choice, spread out
"""


def add_to(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = add_command(
        commands,
        "suggest",
        run,
        help="which comparisons to ask next",
        description=(
            "The comparisons whose answers would tell most, best first: is the anchor closer to "
            "one or to other? Which of the two is called one means nothing; shuffle left and "
            "right in the experiment. Choosing pays once the map is roughly known, from a "
            "posterior, and spread over anchors (--per-anchor 4); before that ask at random."
        ),
        examples=EXAMPLES,
    )
    parser.add_argument(
        "map", metavar="MAP", type=input_file, help="from posterior or bootstrap (npz)"
    )
    parser.add_argument(
        "--answers",
        type=input_file,
        metavar="FILE",
        help="the answers so far, which are not asked again",
    )
    parser.add_argument(
        "--pending", type=input_file, metavar="FILE", help="comparisons that wait for an answer"
    )
    parser.add_argument(
        "-k", "--count", type=count, default=10, metavar="N", help="how many (default: 10)"
    )
    parser.add_argument(
        "--strategy",
        choices=("mutual_information", "information_gain", "uncertainty", "random"),
        help="what is worth most (default: mutual_information, or uncertainty where the model has "
        "no probabilities)",
    )
    parser.add_argument("--per-anchor", type=count, metavar="N", help="the most of one anchor")
    parser.add_argument(
        "--repeats", action="store_true", help="what was answered may be asked again"
    )
    add_format(parser)
    add_out(parser, "the comparisons as CSV")
    add_effort(parser)
    add_form(parser)


def run(options: argparse.Namespace) -> int:
    """Choose, print and write."""
    from tercet.errors import InputError
    from tercet.uses.active import suggest

    if options.strategy == "information_gain" and options.answers is None:
        raise InputError("--strategy information_gain needs the answers so far: --answers FILE.")
    ensemble = load_map(options.map)
    answers, pending = (
        None if path is None else read_comparisons(options, ensemble, path).triplets
        for path in (options.answers, options.pending)
    )
    known = ensemble.model is not None and ensemble.model.is_probability
    found = suggest(
        ensemble,
        options.count,
        options.strategy or ("mutual_information" if known else "uncertainty"),
        triplets=answers,
        pending=pending,
        repeats=options.repeats,
        per_anchor=options.per_anchor,
        random_state=options.seed,
        n_jobs=options.jobs,
    )
    rows = [
        {"anchor": anchor, "one": one, "other": other, "score": score}
        for (anchor, one, other), score in zip(found, found.scores.tolist(), strict=True)
    ]
    write_rows(options, rows)
    record = {"seed": options.seed, "strategy": found.strategy, "comparisons": rows}
    emit(options, Result(str(_printable(found)), record, rows))
    return 0


def _printable(found: Suggestions) -> Suggestions:
    """The same with names that fit into a table."""
    if found.objects is None:
        return found
    return dataclasses.replace(found, objects=tuple(map(cell, found.objects)))
