"""``tercet report``: from a file of answers to a page that says how sure it is."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tercet.cli.common import (
    add_command,
    add_effort,
    add_reading,
    count,
    dimensions,
    load_answers,
    natural_number,
    progress_of,
    several,
    share_of_one,
)
from tercet.cli.files import input_file, input_place, inputs_of, output_place
from tercet.cli.output import say, without_python
from tercet.tables import to_json

__all__ = ["add_to", "run"]

EXAMPLES = """
tercet report answers.csv -o report.html        one page: open it, or send it around
tercet report answers.csv --dim 2 -o results/   the page, pictures, tables and maps in a folder
tercet report answers.csv --dimensions 1-12     where 6, the most tried by default, may be too few
tercet report answers.csv --columns anchor=probe,near=chosen,far=other -o report.html
tercet report answers.csv --groups groups.csv --pictures stimuli -o report.html
tercet report answers.csv --json                everything for machines, and no page
"""


def add_to(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = add_command(
        commands,
        "report",
        run,
        help="everything about a file of answers on one page: the main job",
        description=(
            "Read a file of answers, check them, choose the dimension, draw the map, and say how "
            "sure it is of every point and every comparison, on a page that needs no network and "
            "can be sent around."
        ),
        examples=EXAMPLES,
    )
    add_reading(parser)
    parser.add_argument(
        "--dim", type=count, metavar="D", help="dimensions of the map; by default estimated"
    )
    parser.add_argument(
        "--dimensions",
        type=dimensions,
        metavar="RANGE",
        help="to try, such as 1-12 or 1,2,5 (default: 1-6, or what the answers can carry)",
    )
    parser.add_argument(
        "--uncertainty",
        choices=("posterior", "bootstrap", "scale"),
        help="how maps are drawn; by default as suits the file (see docs/report.md)",
    )
    parser.add_argument(
        "--samples",
        type=several,
        metavar="N",
        help="maps of each chain, or of the bootstrap (default: as suits the file)",
    )
    parser.add_argument(
        "--level",
        type=share_of_one,
        default=0.95,
        metavar="P",
        help="of ellipses, and from which a comparison counts as certain (default: 0.95)",
    )
    parser.add_argument(
        "--questions", type=natural_number, default=10, metavar="N", help="to suggest (default: 10)"
    )
    parser.add_argument(
        "--groups",
        type=input_file,
        metavar="FILE",
        help="colours on the map: a CSV file with the columns object and group",
    )
    parser.add_argument(
        "--pictures",
        type=input_place,
        metavar="PATH",
        help="pictures of the objects: a folder with a file named after each, or a CSV file with "
        "the columns object and path",
    )
    parser.add_argument(
        "-o",
        "--out",
        type=output_place,
        metavar="PATH",
        help="a file ending in .html, or a folder for page, pictures, tables and maps "
        "(default: the name of the answers, ending in .html)",
    )
    add_effort(parser)
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object; no page unless -o is given"
    )


def run(options: argparse.Namespace) -> int:
    """Analyse, write the page, and say what is on it."""
    from tercet.analysis import analyse
    from tercet.report import check_target, read_appearance, write_report

    out = options.out
    if out is None and not options.json:
        out = Path(f"{options.file.name.partition('.')[0] or 'answers'}.html")
    if out is not None:
        check_target(out, *inputs_of(options))
    reading = load_answers(options)
    many = reading.triplets.n_objects
    names = reading.triplets.names or tuple(map(str, range(many)))
    appearance = read_appearance(names, options.groups, options.pictures)
    analysis = analyse(
        reading,
        dimension=options.dim,
        dimensions=options.dimensions,
        samples=options.samples,
        uncertainty=options.uncertainty,
        level=options.level,
        questions=options.questions,
        random_state=options.seed,
        n_jobs=options.jobs,
        progress=progress_of(options),
    )
    if out is not None:
        written = write_report(analysis, out, appearance)
    if options.json:
        print(to_json(analysis.to_dict()))
    else:
        say(without_python(analysis.summary(), options))
        say(f"The report: {written[0]}")
    return 0
