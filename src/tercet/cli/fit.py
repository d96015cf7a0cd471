"""``tercet fit``: one map, without error bars."""

from __future__ import annotations

import argparse
from typing import Any

from tercet.cli.common import (
    add_command,
    add_device,
    add_form,
    add_model,
    add_out,
    add_penalty_option,
    add_quiet,
    add_reading,
    add_seed,
    load_answers,
    penalised,
)
from tercet.cli.output import Result, emit, labels_of, point_table, save_rows
from tercet.text import counted

__all__ = ["add_to", "run"]

EXAMPLES = """
tercet fit answers.csv -o map.csv              name, x1 and x2 of every object
tercet fit answers.csv --model soe --dim 3     another model, in three dimensions
tercet fit answers.csv --penalty 0 --json      maximum likelihood, as JSON
"""


def add_to(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = add_command(
        commands,
        "fit",
        run,
        help="one map, without error bars",
        description=(
            "Find the map that fits the answers best. For its uncertainty, use 'tercet posterior' "
            "or 'tercet bootstrap'."
        ),
        examples=EXAMPLES,
    )
    add_reading(parser)
    add_model(parser, "ste")
    add_penalty_option(parser)
    add_device(parser)
    add_out(parser, "the points as CSV")
    add_seed(parser)
    add_quiet(parser)
    add_form(parser)


def run(options: argparse.Namespace) -> int:
    """Fit, print and write."""
    answers = load_answers(options).to_fit()
    estimator = penalised(options.model or "ste", options.dim, options.penalty)
    estimator.set_params(random_state=options.seed, device=options.device).fit(answers)
    error = 1.0 - estimator.score(answers)
    points = zip(
        labels_of(answers.names, answers.n_objects), estimator.embedding_.tolist(), strict=True
    )
    rows = [
        {"name": label} | {f"x{k + 1}": x for k, x in enumerate(point)} for label, point in points
    ]
    text = (
        f"{type(estimator).__name__} in {counted(options.dim, 'dimension')}: "
        f"loss {estimator.loss_:.6g} after {estimator.n_iter_} iterations ({estimator.reason_}).\n"
        f"{error:.1%} of {answers.n_answers} answers contradict the map (training error)."
    )
    if options.out is None:
        text += f"\n\n{point_table(rows)}"
    save_rows(options, rows)
    record = {
        "seed": options.seed,
        "model": type(estimator).__name__,
        "n_components": options.dim,
        "penalty": estimator.penalty,
        "n_answers": answers.n_answers,
        "loss": estimator.loss_,
        "training_error": error,
        "iterations": estimator.n_iter_,
        "converged": estimator.converged_,
        "reason": estimator.reason_,
        "points": rows,
    }
    emit(options, Result(text, record, rows))
    return 0
