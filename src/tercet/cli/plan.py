"""``tercet plan``: how many answers a map of a given quality needs."""

from __future__ import annotations

import argparse
import io
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tercet.cli.common import (
    add_agreement,
    add_command,
    add_effort,
    add_form,
    add_format,
    add_leave_out,
    add_out,
    add_question,
    count,
    effort_of,
    load_answers,
    natural_number,
    positive,
    share_of_one,
)
from tercet.cli.output import Result, emit, note, write_csv, writing
from tercet.cli.paths import input_file, output_file

if TYPE_CHECKING:
    from tercet.uses.plan import AnswerPlan, KindPlans

__all__ = ["add_to", "run"]

EXAMPLES = """
tercet plan --objects 60                                    for 90 % of all comparisons correct
tercet plan --objects 20 --dim 1 --measure sure --target .8
tercet plan --objects 60 --noise .5 --lapse .05 --plot plan.png
tercet plan --pilot answers.csv --target .95                how many more answers
tercet plan --objects 30 --kind triplet,odd-one-out,3of9 --agreement 74%
"""
MEASURES = ("accuracy", "sure", "radius", "agreement")
SHAPES = ("normal", "mixture")
PICTURES = (".png", ".pdf", ".svg")


def add_to(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = add_command(
        commands,
        "plan",
        run,
        help="how many answers a map of a given quality needs",
        description=(
            "Simulate true maps and observers who answer random questions about them, fit maps to "
            "increasing numbers of answers, and report how many are enough. With a pilot, its own "
            "maps are the true ones, and the plan says how many more answers are needed."
        ),
        examples=EXAMPLES,
    )
    parser.add_argument(
        "--objects", type=count, metavar="N", help="number of objects; required without a pilot"
    )
    parser.add_argument("--dim", type=count, metavar="N", help="dimensions (default: 2)")
    add_question(parser, kinds, "triplet, or that of the pilot", many=True)
    parser.add_argument(
        "--noise",
        type=positive,
        metavar="S",
        help="standard deviation of the error of log-distances (default: 0.3)",
    )
    add_agreement(parser)
    parser.add_argument(
        "--lapse", type=share_of_one, metavar="P", help="share of random answers (default: 0)"
    )
    parser.add_argument(
        "--shape",
        choices=SHAPES,
        help="normally distributed objects (default), or the paper's mixture of three clusters in "
        "two dimensions",
    )
    parser.add_argument(
        "--pilot",
        type=input_file,
        metavar="FILE",
        help="answers of a pilot study, instead of --objects and --noise",
    )
    parser.add_argument(
        "--measure",
        choices=MEASURES,
        default=MEASURES[0],
        help="accuracy: share of all comparisons that are correct (default); sure: share that are "
        "certain; radius: of the points' 95 %% ellipses, relative to the map's; agreement: share "
        "of another observer's answers that are predicted correctly",
    )
    parser.add_argument(
        "--target",
        type=positive,
        metavar="X",
        help="target value of the measure (default: accuracy 0.9, sure 0.7, radius 0.2, "
        "agreement 0.8)",
    )
    parser.add_argument(
        "--assurance",
        type=share_of_one,
        default=0.5,
        metavar="P",
        help="probability that an experiment reaches the target (default: 0.5)",
    )
    parser.add_argument(
        "--answers",
        type=steps,
        metavar="N,N,…",
        help="numbers of answers to try (default: doubled until the target is reached); with a "
        "pilot the first may be 0",
    )
    parser.add_argument(
        "--limit",
        type=count,
        metavar="N",
        help="maximum number of answers to try (default: 50 n log2 n, or 8 times the pilot's "
        "if more)",
    )
    parser.add_argument(
        "--repeats",
        type=count,
        metavar="N",
        help="simulations (default: 10, or more as the assurance needs)",
    )
    add_leave_out(add_format(parser))
    parser.set_defaults(names=None)
    add_out(parser, "the curve as CSV")
    parser.add_argument(
        "--plot", type=output_file, metavar="FILE", help="draw the curve (PNG, PDF, SVG)"
    )
    add_effort(parser)
    add_form(parser)


def steps(text: str) -> list[int]:
    """Numbers of answers, such as ``500,1000,2000``."""
    return [natural_number(part) for part in text.split(",")]


def kinds(text: str) -> list[str]:
    """Kinds of questions, such as ``triplet,odd-one-out``."""
    return [part.strip() for part in text.split(",")]


def run(options: argparse.Namespace) -> int:
    """Plan, print and draw."""
    from tercet.errors import InputError
    from tercet.uses.plan import plan_answers, plan_kinds

    if (options.objects is None) == (options.pilot is None):
        raise InputError("give either --objects N or --pilot FILE.")
    if options.leave_out and options.pilot is None:
        raise InputError("--leave-out leaves out observers of a pilot; give --pilot FILE.")
    if options.plot is not None and options.plot.suffix.lower() not in PICTURES:
        raise InputError(f"{options.plot} must end in one of {', '.join(PICTURES)}.")
    asked: list[str] = options.kind or []
    sizes = {"shown": options.shown, "chosen": options.chosen, "ranked": options.ranked}
    if len(asked) > 1 and any(sizes.values()):
        raise InputError("of several kinds, --kind tells the sizes: such as 3of9,ranking-of-5.")
    settings: dict[str, Any] = {
        "noise": options.noise,
        "agreement": options.agreement,
        "lapse": options.lapse,
        "shape": options.shape,
        "like": None if options.pilot is None else load_answers(options, options.pilot).to_fit(),
        "measure": options.measure,
        "target": options.target,
        "assurance": options.assurance,
        "answers": options.answers,
        "limit": options.limit,
        "repeats": options.repeats,
        **effort_of(options),
    }
    found: AnswerPlan | KindPlans
    if len(asked) < 2:
        kind = asked[0] if asked else None
        found = plan_answers(options.objects, options.dim, kind=kind, **sizes, **settings)
        plans: Sequence[AnswerPlan] = [found]
        rows = [row._asdict() for row in found.rows]
    else:
        found = plan_kinds(options.objects, options.dim, kinds=asked, **settings)
        plans = found.plans
        rows = [
            {"question": plan.question.name} | row._asdict() for plan in plans for row in plan.rows
        ]
    if options.out is not None:
        write_csv(options.out, rows)
        note(options, f"Written: {options.out}.")
    if options.plot is not None:
        draw_plans(plans, options.plot)
        note(options, f"Written: {options.plot}.")
    emit(options, Result(str(found), {"seed": options.seed, **found.as_dict()}, rows))
    return 0


def draw_plans(plans: Sequence[AnswerPlan], path: Path) -> None:
    """Draw the plans, counting the pilot's answers."""
    from matplotlib import pyplot

    from tercet.files import write_whole
    from tercet.plots import plot_plan
    from tercet.plots.axes import COLOURS

    ax = None
    for number, plan in enumerate(plans):
        _, median, low, high = zip(*plan.rows, strict=True)
        needed = [plan.pilot + end for end in plan.needed if end is not None]
        counted = plan.counted.removeprefix("more ")
        ax = plot_plan(
            [plan.pilot + row.answers for row in plan.rows],
            median,
            low,
            high,
            target=plan.target,
            needed=needed if len(needed) == 3 else None,
            ylabel=plan.measure,
            counted=plan.question.plural if len(plans) > 1 else counted,
            colour=COLOURS[number % len(COLOURS)] if len(plans) > 1 else None,
            ax=ax,
        )
        counted = counted if len(plans) == 1 else "screens"
        pilot = f", including {plan.pilot} of the pilot" if plan.pilot else ""
        ax.set_xlabel(f"{counted}{pilot}")
    assert ax is not None
    figure = ax.get_figure(root=True)
    assert figure is not None
    image = io.BytesIO()
    figure.savefig(image, format=path.suffix[1:].lower(), dpi=150)
    pyplot.close(figure)
    with writing(path):
        write_whole(path, image.getvalue())
