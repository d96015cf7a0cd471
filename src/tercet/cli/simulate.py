"""``tercet simulate``: simulated answers."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from tercet.cli.common import (
    add_command,
    add_out,
    add_quiet,
    add_seed,
    count,
    positive,
    share_of_one,
)
from tercet.cli.output import note, write_csv
from tercet.cli.paths import output_file
from tercet.text import counted

if TYPE_CHECKING:
    import numpy as np

    from tercet.arrays import Floats


__all__ = ["add_to", "run"]

EXAMPLES = """
tercet simulate -o answers.csv                                        20 objects in two dimensions
tercet simulate -o scale.csv --shape line --objects 11 --answers 400  evenly spaced on a line
tercet simulate -o noisy.csv --noise 1 --lapse .1 --points world.csv  noisy; with the true points
"""
SHAPES = ("normal", "mixture", "line")


def add_to(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = add_command(
        commands,
        "simulate",
        run,
        help="write a file of simulated answers",
        description=(
            "Simulate observers who answer random questions about a true map, with the noise of "
            "the paper: a log-normal error multiplies each distance."
        ),
        examples=EXAMPLES,
    )
    add_out(parser, "the answers", required=True)
    parser.add_argument(
        "--objects", type=count, default=20, metavar="N", help="number of objects (default: 20)"
    )
    parser.add_argument(
        "--answers", type=count, default=1000, metavar="N", help="number of answers (default: 1000)"
    )
    parser.add_argument(
        "--dim", type=count, metavar="N", help="dimensions of the true map (default: 2)"
    )
    parser.add_argument(
        "--shape",
        choices=SHAPES,
        default="normal",
        help="normally distributed objects (default), the paper's mixture of three clusters in two "
        "dimensions, or evenly spaced objects on a line",
    )
    parser.add_argument(
        "--noise",
        type=positive,
        default=0.3,
        metavar="S",
        help="standard deviation of the error of log-distances (default: 0.3)",
    )
    parser.add_argument(
        "--lapse",
        type=share_of_one,
        default=0.0,
        metavar="P",
        help="share of random answers (default: 0)",
    )
    parser.add_argument(
        "--observers",
        type=count,
        default=10,
        metavar="N",
        help="number of observers, who do not differ (default: 10)",
    )
    parser.add_argument(
        "--points", type=output_file, metavar="FILE", help="write the true points to FILE (CSV)"
    )
    add_seed(parser)
    add_quiet(parser)


def run(options: argparse.Namespace) -> int:
    """Simulate answers and write them."""
    import numpy as np

    from tercet.answers.triplets import Triplets
    from tercet.io import write_triplets
    from tercet.simulate import answer, random_comparisons

    rng = np.random.default_rng(options.seed)
    points = _true_points(options, rng)
    asked = random_comparisons(len(points), options.answers, replace=True, random_state=rng)
    given = answer(points, asked, noise=options.noise, lapse=options.lapse, random_state=rng)
    who = np.sort(np.arange(len(given)) % options.observers) + 1
    triplets = Triplets(given, n_objects=len(points), observers=who)
    write_triplets(triplets, options.out)
    note(options, f"Written: {len(triplets)} answers to {options.out}.")
    if options.points is not None:
        rows = [
            {"name": i} | {f"x{k + 1}": x for k, x in enumerate(point)}
            for i, point in enumerate(points.tolist())
        ]
        write_csv(options.points, rows)
        note(options, f"Written: {len(rows)} points to {options.points}.")
    return 0


def _true_points(options: argparse.Namespace, rng: np.random.Generator) -> Floats:
    """True positions (n, d)."""
    import numpy as np

    from tercet.errors import InputError
    from tercet.simulate import gaussian_mixture

    n, shape = options.objects, options.shape
    own = {"mixture": 2, "line": 1}.get(shape)
    if own is not None and options.dim not in (None, own):
        raise InputError(f"the shape {shape} has {counted(own, 'dimension')}.")
    if shape == "mixture":
        return gaussian_mixture(n, random_state=rng)[0]
    if shape == "line":
        return np.linspace(0.0, 1.0, n)[:, np.newaxis]
    return rng.standard_normal((n, options.dim or 2))
