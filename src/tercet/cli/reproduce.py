"""``tercet reproduce``: every figure and every claim of the paper."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from tercet.cli.common import Formatter, jobs
from tercet.cli.files import output_place
from tercet.cli.output import one_line, say

__all__ = ["add_to", "run"]

EPILOG = """\
examples:
  tercet reproduce 1 mixture        two figures
  tercet reproduce                  everything, quickly: one repeat, coarse grids
  tercet reproduce 2b --full        one figure as in the paper
  tercet reproduce --full --jobs 8  everything; interrupted, it goes on where it stopped

Figures: 1, 2a, 2b, 2c (2 is all three), 3, 4, 5, mixture, vote, distances. 2a and 5 need data sets,
which are downloaded, or read from the folder that the environment variable TERCET_DATA names.
"""


def add_to(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser(
        "reproduce",
        help="make the paper's figures again and judge its claims",
        description="Make the paper's figures again, with their numbers, and judge its claims.",
        epilog=EPILOG,
        formatter_class=Formatter,
    )
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help="default: all")
    size = parser.add_mutually_exclusive_group()
    size.add_argument(
        "--quick",
        dest="size",
        action="store_const",
        const="quick",
        default="quick",
        help="one repeat and coarse grids, a few minutes (the default)",
    )
    size.add_argument(
        "--full",
        dest="size",
        action="store_const",
        const="full",
        help="five repeats and all grids, an hour or two on two cores",
    )
    parser.add_argument(
        "--out",
        type=output_place,
        default=Path("reproduction"),
        metavar="DIR",
        help="where to write to",
    )
    parser.add_argument("--jobs", type=jobs, metavar="N", help="processes (default: all cores)")
    parser.add_argument("--quiet", action="store_true", help="no progress bar, no table")
    parser.set_defaults(run=run, parser=parser)


def run(options: argparse.Namespace) -> int:
    """Run it, print the verdicts, and say where everything is."""
    # Only here: other commands need none of it.
    from tercet.paper.page import count_verdicts, verdict_tables
    from tercet.paper.reproduce import reproduce

    try:
        made = reproduce(
            options.figures,
            size=options.size,
            out=options.out,
            n_jobs=options.jobs,
            progress=False if options.quiet else None,
        )
    except KeyboardInterrupt:
        print("\nWhat was computed is kept; the same command goes on from there.", file=sys.stderr)
        raise
    if not options.quiet and (tables := verdict_tables(made.verdicts)):
        print(tables)
    print(f"{count_verdicts(made.verdicts)}.")
    say(
        f"Figures, tables and the page reproduction.md: {options.out} "
        f"(in {made.waited:.1f} minutes; {made.minutes:.1f} of one core for all that was computed)"
    )
    for name, why in made.left_out.items():
        print(one_line(f"figure {name} was left out: {why}"), file=sys.stderr)
    for why in made.failed:
        print(one_line(f"failed: {why}"), file=sys.stderr)
    return 1 if made.failed or made.left_out else 0
