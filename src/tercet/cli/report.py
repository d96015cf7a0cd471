"""``tercet report``: a file of answers analysed on one page."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tercet.cli.common import (
    add_command,
    add_dimensions,
    add_effort,
    add_reading,
    count,
    load_answers,
    natural_number,
    progress_of,
    several,
    share_of_one,
)
from tercet.cli.output import say, without_python
from tercet.cli.paths import input_file, input_place, inputs_of, output_place
from tercet.tables import to_json

__all__ = ["add_to", "run"]

EXAMPLES = """
tercet report answers.csv -o report.html        one page, to open or share
tercet report answers.csv --dim 2 -o results/   a folder with page, figures, tables and maps
tercet report answers.csv --max-dim 12          if 6 dimensions, the default, may be too few
tercet report answers.csv --columns anchor=probe,near=chosen,far=other -o report.html
tercet report answers.csv --groups groups.csv --pictures stimuli -o report.html
tercet report answers.csv --json                all results as JSON, without a page
"""


def add_to(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = add_command(
        commands,
        "report",
        run,
        help="analyse a file of answers and report everything on one page (start here)",
        description=(
            "Read a file of answers, check them, choose the dimension, and report the map and the "
            "certainty of every point and every comparison, on one self-contained page."
        ),
        examples=EXAMPLES,
    )
    add_reading(parser)
    parser.add_argument(
        "--dim", type=count, metavar="D", help="dimensions of the map (default: estimated)"
    )
    add_dimensions(parser)
    parser.add_argument(
        "--uncertainty",
        choices=("posterior", "bootstrap", "scale"),
        help="source of the uncertainty (default: depends on the answers, see docs/report.md)",
    )
    parser.add_argument(
        "--samples",
        type=several,
        metavar="N",
        help="draws per chain, or resamples (default: depends on the answers)",
    )
    parser.add_argument(
        "--warmup",
        type=natural_number,
        metavar="N",
        help="discarded draws per chain before these (default: 500)",
    )
    parser.add_argument(
        "--level",
        type=share_of_one,
        default=0.95,
        metavar="P",
        help="level of the ellipses; comparisons above it are called certain (default: 0.95)",
    )
    parser.add_argument(
        "--questions",
        type=natural_number,
        default=10,
        metavar="N",
        help="next questions to suggest (default: 10)",
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
        help="a file ending in .html, or a folder for page, figures, tables and maps "
        "(default: the name of FILE, ending in .html)",
    )
    add_effort(parser)
    parser.add_argument(
        "--json", action="store_true", help="print one JSON object; no page unless -o is given"
    )


def run(options: argparse.Namespace) -> int:
    """Analyse, write the page, and print a summary."""
    from tercet.analysis import analyse
    from tercet.report import check_target, read_appearance, write_report

    out = options.out
    if out is None and not options.json:
        out = Path(f"{options.file.name.partition('.')[0] or 'answers'}.html")
    if out is not None:
        check_target(out, *inputs_of(options))
    reading = load_answers(options)
    names = reading.triplets.names or tuple(map(str, range(reading.triplets.n_objects)))
    appearance = read_appearance(names, options.groups, options.pictures)
    analysis = analyse(
        reading,
        dimension=options.dim,
        dimensions=options.dimensions,
        max_dimension=options.max_dim,
        samples=options.samples,
        warmup=options.warmup,
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
