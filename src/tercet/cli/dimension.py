"""``tercet dimension``: how many dimensions the answers need."""

from __future__ import annotations

import argparse
from typing import Any

from tercet.cli.common import (
    add_command,
    add_dimensions,
    add_effort,
    add_form,
    add_out,
    add_reading,
    count,
    effort_of,
    load_answers,
)
from tercet.cli.output import Result, emit, save_rows

__all__ = ["add_to", "run"]

EXAMPLES = """
tercet dimension answers.csv --quick           only what the recommendation needs
tercet dimension answers.csv --dimensions 1-3  the whole table, for 1, 2 and 3 dimensions
tercet dimension answers.csv --max-dim 12      if 6, the default maximum, may be too few
"""


def add_to(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = add_command(
        commands,
        "dimension",
        run,
        help="how many dimensions the answers need, with the evidence",
        description=(
            "Weigh the evidence for each number of dimensions and recommend one, or say that the "
            "answers do not decide. The evidence is the prediction of held-out answers, by "
            "cross-validation and leave-one-out."
        ),
        examples=EXAMPLES,
    )
    add_reading(parser)
    add_dimensions(parser)
    parser.add_argument(
        "--quick", action="store_true", help="compute only what the recommendation needs"
    )
    parser.add_argument(
        "--unit",
        choices=("comparison", "screen", "observer", "answer"),
        help="what is held out together (default: all answers to one question, which is a screen "
        "or a comparison)",
    )
    parser.add_argument(
        "--folds",
        type=count,
        default=10,
        metavar="N",
        help="folds of the cross-validation (default: 10)",
    )
    parser.add_argument(
        "--repeats",
        type=count,
        metavar="N",
        help="repeats of the cross-validation (default: 10, fewer for more than 30 000 answers)",
    )
    add_out(parser, "the table as CSV")
    add_effort(parser)
    add_form(parser)


def run(options: argparse.Namespace) -> int:
    """Estimate, print and write."""
    from tercet.uses.dimension import estimate_dimension

    found = estimate_dimension(
        load_answers(options).to_fit(),
        options.dimensions,
        max_dimension=options.max_dim,
        unit=options.unit,
        folds=options.folds,
        repeats=options.repeats,
        thorough=not options.quick,
        **effort_of(options),
    )
    rows = found.records()
    save_rows(options, rows)
    record = {
        "seed": options.seed,
        "dimension": found.dimension,
        "verdict": found.verdict,
        "reason": found.reason,
        "undecided_at": found.undecided_at,
        "ran_longer": list(found.ran_longer),
        "by_chains": found.by_chains,
        "unit": found.unit,
        "n_answers": found.n_answers,
        "dimensions": rows,
    }
    emit(options, Result(str(found), record, rows))
    return 0
