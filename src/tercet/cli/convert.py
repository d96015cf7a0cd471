"""``tercet convert``: answers from one format to another."""

from __future__ import annotations

import argparse
from typing import Any

from tercet.cli.common import add_command, add_quiet, add_reading, load_answers
from tercet.cli.output import note, say
from tercet.cli.paths import output_file
from tercet.tables import Table

__all__ = ["add_to", "run"]

EXAMPLES = """
tercet convert answers.csv answers.npz       as arrays, for Python
tercet convert answers.csv table.tsv.gz      a tidy table with tabs, compressed
tercet convert --formats                     all formats, and how they are detected
"""


class _ListFormats(argparse.Action):
    """``--formats``: list them and exit."""

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from tercet.io import FORMATS

        lines = [
            [each.name, each.title, "yes" if each.write else "", each.looks] for each in FORMATS
        ]
        say(Table("", ["name", "reads", "writes", "detected by"], lines).text())
        parser.exit()


def add_to(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = add_command(
        commands,
        "convert",
        run,
        help="read answers in any known format and write them in another",
        description=(
            "Read answers in any known format and write them in another. The ending of OUT "
            "determines its format: .csv, .tsv, .csv.gz or .tsv.gz for a tidy table, .npy or .npz "
            "for arrays, .parquet."
        ),
        examples=EXAMPLES,
    )
    add_reading(parser)
    parser.add_argument("out", metavar="OUT", type=output_file, help="the file to write")
    parser.add_argument("--to", metavar="NAME", help="format of OUT (default: from its ending)")
    parser.add_argument("--formats", action=_ListFormats, nargs=0, help="list all formats and exit")
    add_quiet(parser)


def run(options: argparse.Namespace) -> int:
    """Read and write."""
    from tercet.io import write_triplets
    from tercet.io.formats import find_writer

    find_writer(options.out, options.to)  # raises now if there is none
    reading = load_answers(options)
    write_triplets(reading.triplets, options.out, options.to)
    note(options, f"Written: {len(reading.triplets)} answers to {options.out}.")
    return 0
