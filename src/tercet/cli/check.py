"""``tercet check``: what can be said of the answers before anything is embedded."""

from __future__ import annotations

import argparse
import dataclasses
from typing import Any

from tercet.cli.common import add_command, add_form, add_quiet, add_reading, add_seed, load_answers
from tercet.cli.output import Result, emit

__all__ = ["add_to", "run"]

EXAMPLES = """
tercet check answers.csv        gaps, repeats, contradictions, observers who guess
tercet check answers.csv --csv  one line for each observer
"""


def add_to(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = add_command(
        commands,
        "check",
        run,
        help="look at the answers: gaps, contradictions, observers who guess",
        description=(
            "Say what can be said of the answers before anything is embedded: how many there are, "
            "what they leave open, how often people contradict each other and themselves, and who "
            "looks like guessing."
        ),
        examples=EXAMPLES,
    )
    add_reading(parser)
    add_seed(parser)
    add_quiet(parser)
    add_form(parser)


def run(options: argparse.Namespace) -> int:
    """Check the answers and print what was found."""
    from tercet.uses.quality import check_answers

    reading = load_answers(options)
    found = check_answers(reading.triplets, catch=reading.catch, random_state=options.seed)
    record = {
        "file": str(options.file),
        "format": reading.format,
        "read": reading.sentences(),
        "skipped": [dataclasses.asdict(each) for each in reading.skipped],
        **found.as_dict(),
    }
    emit(options, Result(str(found), record, found.records()))
    return 0
