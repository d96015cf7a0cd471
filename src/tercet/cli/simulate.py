"""``tercet simulate``: simulated answers."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from tercet.cli.common import (
    add_agreement,
    add_command,
    add_out,
    add_question,
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
tercet simulate -o odd.csv --kind odd-one-out --agreement 74%         odd ones out
"""
SHAPES = ("normal", "mixture", "line")
NOISE = 0.3


def add_to(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = add_command(
        commands,
        "simulate",
        run,
        help="write a file of simulated answers",
        description=(
            "Simulate observers who answer random questions about a true map, with the noise of "
            "the paper: a log-normal error multiplies each distance. Each question is one screen, "
            "of any kind; the comparisons that an answer implies share the number of its screen."
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
    add_question(parser, str, "triplet", many=False)
    parser.add_argument(
        "--noise",
        type=positive,
        metavar="S",
        help="standard deviation of the error of log-distances (default: 0.3)",
    )
    add_agreement(parser)
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
    from tercet.errors import InputError
    from tercet.io import write_triplets
    from tercet.simulate import answer, choices, noise_for_agreement, random_comparisons
    from tercet.simulate.questions import settle_question

    question = settle_question(
        options.kind or "triplet", options.shown, options.chosen, options.ranked
    )
    rng = np.random.default_rng(options.seed)
    points, m = _true_points(options, rng), options.answers
    noise = NOISE if options.noise is None else options.noise
    if options.agreement is not None:
        if options.noise is not None:
            raise InputError("give either --noise or --agreement: each says how people answer.")
        noise = noise_for_agreement(options.agreement, points, question, lapse=options.lapse)
    who = np.sort(np.arange(m) % options.observers) + 1
    if question.kind == "triplet":
        asked = random_comparisons(len(points), m, replace=True, random_state=rng)
        given = answer(points, asked, noise=noise, lapse=options.lapse, random_state=rng)
        triplets = Triplets(given, n_objects=len(points), observers=who)
    else:
        settings = {"noise": noise, "lapse": options.lapse, "observers": who}
        triplets = choices(points, m, question, **settings, random_state=rng).triplets()
    write_triplets(triplets, options.out)
    screens = "" if question.kind == "triplet" else f" ({question.plural})"
    note(options, f"Written: {m} answers{screens} to {options.out}.")
    if options.agreement is not None:
        share = f"{100 * options.agreement:.3g} %"
        note(options, f"Noise: σ = {noise:.2g}, at which two people agree in {share} of questions.")
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
