"""``tercet check``: the quality of the answers."""

from __future__ import annotations

import argparse
import dataclasses
from typing import Any

from tercet.cli.common import add_command, add_form, add_quiet, add_reading, add_seed, load_answers
from tercet.cli.output import Result, emit

__all__ = ["add_to", "run"]

EXAMPLES = """
tercet check answers.csv        gaps, repeats, contradictions, guessing
tercet check answers.csv --csv  one row per observer
"""


def add_to(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = add_command(
        commands,
        "check",
        run,
        help="check the answers: gaps, contradictions, guessing",
        description=(
            "Check the answers before making a map: how many there are, what is missing, how often "
            "observers contradict each other and themselves, who may be guessing, and whether "
            "sides matter."
        ),
        examples=EXAMPLES,
    )
    add_reading(parser)
    add_seed(parser)
    add_quiet(parser)
    add_form(parser)


def run(options: argparse.Namespace) -> int:
    """Check the answers and print the result."""
    from tercet.uses.quality import check_answers

    reading = load_answers(options)
    quality = check_answers(reading.answers(), catch=reading.catch, random_state=options.seed)
    record = {
        "file": str(options.file),
        "format": reading.format,
        "read": reading.sentences(),
        "skipped": [dataclasses.asdict(each) for each in reading.skipped],
        **quality.as_dict(),
    }
    emit(options, Result(str(quality), record, quality.records()))
    return 0
