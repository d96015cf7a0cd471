"""``tercet reproduce``: the figures and claims of the paper."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from tercet.cli.common import Formatter, jobs
from tercet.cli.output import one_line, say
from tercet.cli.paths import output_place

__all__ = ["add_to", "run"]

EPILOG = """\
examples:
  tercet reproduce 1 mixture        two figures
  tercet reproduce                  all figures, quickly: one repeat, coarse grids
  tercet reproduce 2b --full        one figure as in the paper
  tercet reproduce --full --jobs 8  all figures; resumes after an interruption

Figures: 1, 2a, 2b, 2c (2 is all three), 3, 4, 5, mixture, vote, distances. 2a and 5 need data sets,
which are downloaded, or read from the folder named by the environment variable TERCET_DATA.
"""


def add_to(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = commands.add_parser(
        "reproduce",
        help="reproduce the figures of the paper and test its claims",
        description="Reproduce the figures and numbers of the paper, and test its claims.",
        epilog=EPILOG,
        formatter_class=Formatter,
    )
    parser.add_argument(
        "figures", nargs="*", metavar="FIGURE", help="figures to reproduce (default: all)"
    )
    size = parser.add_mutually_exclusive_group()
    size.add_argument(
        "--quick",
        dest="size",
        action="store_const",
        const="quick",
        default="quick",
        help="one repeat and coarse grids, a few minutes (default)",
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
        help="folder to write to (default: reproduction)",
    )
    parser.add_argument(
        "--jobs", type=jobs, metavar="N", help="number of processes (default: all cores)"
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar, no table")
    parser.set_defaults(run=run, parser=parser)


def run(options: argparse.Namespace) -> int:
    """Reproduce, and print the verdicts."""
    from tercet.paper.reproduce import reproduce
    from tercet.paper.writeup import count_verdicts, verdict_tables

    try:
        result = reproduce(
            options.figures,
            size=options.size,
            out=options.out,
            n_jobs=options.jobs,
            progress=False if options.quiet else None,
        )
    except KeyboardInterrupt:
        print("\nCompleted results are saved; the same command resumes from them.", file=sys.stderr)
        raise
    if not options.quiet and (tables := verdict_tables(result.verdicts)):
        print(tables)
    print(f"{count_verdicts(result.verdicts)}.")
    say(
        f"Figures, tables and the page reproduction.md: {options.out} "
        f"({result.waited:.1f} minutes; {result.minutes:.1f} core minutes for all results)"
    )
    for name, why in result.left_out.items():
        print(one_line(f"figure {name} was left out: {why}"), file=sys.stderr)
    for why in result.failed:
        print(one_line(f"failed: {why}"), file=sys.stderr)
    return 1 if result.failed or result.left_out else 0
