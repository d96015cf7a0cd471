"""``tercet scale``: a perceptual scale with intervals."""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tercet.cli.common import (
    MODELS,
    PROBABILITIES,
    add_command,
    add_effort,
    add_form,
    add_out,
    add_reading,
    effort_of,
    learned_by,
    load_answers,
    make_estimator,
    several,
)
from tercet.cli.output import (
    LEVEL,
    Result,
    emit,
    mark_provisional,
    printable,
    problems_of,
    save_rows,
)
from tercet.cli.paths import input_file

if TYPE_CHECKING:
    from tercet.answers.triplets import Triplets
    from tercet.uses.scale.result import PerceptualScale

__all__ = ["add_to", "run"]

EXAMPLES = """
tercet scale answers.csv                                      signed differences (MLDS)
tercet scale answers.csv --stimuli stimuli.csv -o scale.csv   with physical values
tercet scale answers.csv --unit answer                        intervals for these observers only
tercet scale answers.csv --model ckl                          distances on a line
"""


def add_to(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = add_command(
        commands,
        "scale",
        run,
        help="a perceptual scale with intervals",
        description=(
            "Estimate the perceived values of stimuli on a line, from 0 for the first to 1 for the "
            "last, with intervals, from triplets, triads or quadruplets. The order of the stimuli "
            "must be known: from a file of physical values, or from names or objects that are "
            "numbers."
        ),
        examples=EXAMPLES,
    )
    add_reading(parser)
    parser.add_argument(
        "--stimuli",
        type=input_file,
        metavar="FILE",
        help="two columns: name (or number) and physical value of every object",
    )
    parser.add_argument(
        "--model",
        choices=("difference", *MODELS),
        default="difference",
        help="signed differences (MLDS, default), or distances on a line by another model",
    )
    parser.add_argument(
        "--uncertainty",
        choices=("bootstrap", "parametric", "posterior"),
        help="resample answers, simulate answers from the fit, or draw from the posterior "
        f"(default: posterior for {', '.join(PROBABILITIES)}, else bootstrap)",
    )
    parser.add_argument(
        "--unit",
        choices=("answer", "observer"),
        help="what is resampled; the choice made on a screen is one answer (default: observers if "
        "there are five or more, else answers)",
    )
    parser.add_argument(
        "--link",
        choices=("probit", "logit", "cauchit"),
        default="probit",
        help="link function of signed differences (default: probit)",
    )
    parser.add_argument(
        "--lapse", action="store_true", help="also estimate the share of answers given at random"
    )
    parser.add_argument("--samples", type=several, metavar="N", help="draws, or resamples")
    add_out(parser, "the scale as CSV")
    add_effort(parser)
    add_form(parser)


def run(options: argparse.Namespace) -> int:
    """Scale, print and write."""
    from tercet.uses.scale import perceptual_scale

    triplets = load_answers(options).triplets
    found = perceptual_scale(
        triplets,
        _stimuli(options, triplets),
        **_settings(options),
        **effort_of(options),
    )
    rows = _rows(found)
    problems = problems_of(found.made.ensemble)
    save_rows(options, rows)
    record = {
        "seed": options.seed,
        "model": found.made.model,
        "uncertainty": found.made.uncertainty,
        "unit": found.made.unit,
        "observers": found.made.n_observers,
        "intervals": found.about or None,
        "n_samples": len(found.samples),
        "sigma": found.sigma,
        "lapse": found.lapse,
        "log_likelihood": found.log_likelihood,
        "aic": found.aic,
        "problems": problems,
        "level": LEVEL,
        "scale": rows,
    }
    shown = found
    if found.names is not None:
        shown = dataclasses.replace(found, names=tuple(map(printable, found.names)))
    emit(options, Result(mark_provisional(str(shown), problems), record, rows))
    return 0


def _settings(options: argparse.Namespace) -> dict[str, Any]:
    """The keyword arguments of `perceptual_scale` that apply to the model."""
    from tercet.errors import InputError
    from tercet.posterior import Posterior

    name = options.model
    how = options.uncertainty or ("posterior" if name in PROBABILITIES else "bootstrap")
    if how == "posterior" and options.unit is not None:
        raise InputError("--unit needs --uncertainty bootstrap; a posterior does not resample.")
    size = {} if options.samples is None else {"n_samples": options.samples}
    if name != "difference":
        if options.link != "probit" or options.lapse:
            raise InputError("--link and --lapse need --model difference.")
        if how == "posterior" and name in PROBABILITIES:
            estimator = make_estimator(name, 1)
            return {"model": Posterior(estimator, learn=learned_by(estimator), **size)}
    more = {"uncertainty": how, "unit": options.unit, **size}
    if name == "difference":
        return {"model": name, "link": options.link, "lapse": options.lapse, **more}
    return {"model": make_estimator(name, 1), **more}


def _stimuli(options: argparse.Namespace, triplets: Triplets) -> Any:
    """Physical values from the file, or from names that are all numbers, or None."""
    if options.stimuli is not None:
        return _read_stimuli(options.stimuli, triplets)
    if triplets.names is None:
        return None
    try:
        return [float(name) for name in triplets.names]
    except ValueError:
        from tercet.errors import InputError
        from tercet.text import listing

        raise InputError(
            "the order of the stimuli is unknown: their names are not numbers "
            f"({listing(triplets.names, range(triplets.n_objects), limit=3)}). Give their physical "
            "values with --stimuli FILE, two columns: name, value."
        ) from None


def _read_stimuli(path: Path, triplets: Triplets) -> Any:
    """Values by name, or in the order of the objects if these have no names."""
    from tercet.errors import InputError
    from tercet.io.inputfile import InputFile
    from tercet.text import first_again, shown

    cells = InputFile(path).cells
    if len(cells.header) != 2:
        raise InputError(
            f"{path}: {len(cells.header)} columns, expected two: the name of every object and its "
            "value."
        )
    if _is_number(cells.header[1]):
        cells = cells.headless(("name", "value"))
    cells.reject_blank([0, 1])
    names = cells.text(cells.column(0)).tolist()
    values = dict(zip(names, cells.numbers(1, "value").tolist(), strict=True))
    if (twice := first_again(names)) is not None:
        raise InputError(f"{path}: the object {shown(twice)} occurs twice.")
    if triplets.names is not None:
        return values
    missing = [i for i in range(triplets.n_objects) if str(i) not in values]
    if missing:
        raise InputError(f"{path}: the value of object {missing[0]} is missing.")
    return [values[str(i)] for i in range(triplets.n_objects)]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _rows(found: PerceptualScale) -> list[dict[str, Any]]:
    limits, sd = found.interval(LEVEL), found.std()
    labels = found.names or (None,) * len(found.stimuli)
    return [
        {
            "name": label,
            "stimulus": found.stimuli[i],
            "scale": found.estimate[i],
            "sd": sd[i],
            "low": limits[i, 0],
            "high": limits[i, 1],
        }
        for i, label in enumerate(labels)
    ]
