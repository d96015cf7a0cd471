"""``tercet compare``: which model predicts held-out answers best."""

from __future__ import annotations

import argparse
from typing import Any

from tercet.cli.common import (
    MODELS,
    PROBABILITIES,
    add_command,
    add_effort,
    add_form,
    add_out,
    add_reading,
    count,
    effort_of,
    load_answers,
    make_model,
    words,
)
from tercet.cli.output import Result, emit, save_rows
from tercet.cli.paths import input_file

__all__ = ["add_to", "run"]

EXAMPLES = """
tercet compare answers.csv --models ste,ckl,shepard        three models
tercet compare answers.csv --models ste,ckl+exponent+mu    learn exponent and mu
"""


def add_to(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = add_command(
        commands,
        "compare",
        run,
        help="which model predicts held-out answers best, and whether it fits",
        description=(
            "Compare models by how well they predict held-out answers, and say which of them are "
            "distinguishable. If questions were repeated, also test whether each model fits, and "
            "estimate the noise ceiling."
        ),
        examples=EXAMPLES,
    )
    add_reading(parser)
    parser.add_argument(
        "--models",
        type=words,
        metavar="LIST",
        help=f"models among {', '.join(MODELS)}, with learned parameters after plus signs "
        f"(default: {', '.join(PROBABILITIES)}, ste+lapse, ckl+exponent+mu, "
        "ckl+exponent+mu+lapse, shepard+gamma+tail+lapse)",
    )
    parser.add_argument(
        "--dim", type=count, default=2, metavar="N", help="dimensions of the maps (default: 2)"
    )
    parser.add_argument(
        "--holdout",
        type=input_file,
        metavar="FILE",
        help="answers to predict, instead of holding some out",
    )
    parser.add_argument(
        "--method",
        choices=("loo", "kfold"),
        default="loo",
        help="leave-one-out or cross-validation (default: loo)",
    )
    parser.add_argument(
        "--unit",
        choices=("answer", "comparison", "screen", "observer"),
        help="what is held out together (default: all answers to one question, which is a screen "
        "or a comparison)",
    )
    parser.add_argument(
        "--folds", type=count, default=5, metavar="N", help="folds of kfold (default: 5)"
    )
    add_out(parser, "the table as CSV")
    add_effort(parser)
    add_form(parser)


def run(options: argparse.Namespace) -> int:
    """Compare, print and write."""
    from tercet.errors import InputError
    from tercet.uses.compare import compare_models

    if options.models == ():
        raise InputError("--models is empty; give at least one, such as --models ste,ckl.")
    models = options.models and [make_model(text, options.dim) for text in options.models]
    answers = load_answers(options).to_fit()
    holdout = None
    if options.holdout is not None:
        held_out = load_answers(options, options.holdout, answers.names, all_known=False)
        holdout = held_out.to_fit()
    found = compare_models(
        answers,
        models,
        n_components=options.dim,
        method=options.method,
        holdout=holdout,
        unit=options.unit,
        folds=options.folds,
        **effort_of(options),
    )
    rows = [
        {name: value for name, value in row.items() if name != "failed_refits"}
        for row in found.records()
    ]
    save_rows(options, rows)
    record = {
        "seed": options.seed,
        "best": found.best,
        "verdict": found.verdict,
        "unit": found.unit,
        "n_units": found.n_units,
        "n_answers": found.n_answers,
        "chance": found.chance,
        "chance_log_loss": found.chance_log_loss,
        "noise_ceiling": found.ceiling,
        "models": rows,
    }
    emit(options, Result(str(found), record, rows))
    return 0
