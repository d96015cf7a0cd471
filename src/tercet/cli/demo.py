"""``tercet demo``: a report on simulated answers."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tercet.cli.common import add_command, add_effort, progress_of
from tercet.cli.paths import output_place

__all__ = ["add_to", "run"]

EXAMPLES = """
tercet demo            a map and a report in the folder demo
tercet demo -o folder  in another folder
"""


def add_to(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = add_command(
        commands,
        "demo",
        run,
        help="map and report of simulated answers about thirty animals",
        description=(
            "Simulate noisy answers about thirty animals, and write their map and a report."
        ),
        examples=EXAMPLES,
    )
    parser.add_argument(
        "-o",
        "--out",
        type=output_place,
        default=Path("demo"),
        metavar="DIR",
        help="folder to write to (default: demo)",
    )
    add_effort(parser)


def run(options: argparse.Namespace) -> int:
    """Run the demonstration."""
    from tercet.demo import run_demo

    run_demo(options.out, options.seed, options.jobs, progress_of(options))
    return 0
