"""``tercet bootstrap``: maps of resamples of the answers."""

from __future__ import annotations

import argparse
from typing import Any

from tercet.cli.common import (
    add_checkpoint,
    add_command,
    add_device,
    add_effort,
    add_form,
    add_model,
    add_out,
    add_penalty_option,
    add_reading,
    effort_of,
    load_answers,
    penalised,
    several,
    share_of_one,
)
from tercet.cli.output import describe_map, emit, save_map

__all__ = ["add_to", "run"]

EXAMPLES = """
tercet bootstrap answers.csv -o map.npz           200 resamples, the recommended model
tercet bootstrap answers.csv --model soe          any other model
tercet bootstrap answers.csv --unit observer      resample observers: what holds for other people?
tercet bootstrap answers.csv --paper --csv        settings of the paper; points as CSV
"""


def add_to(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = add_command(
        commands,
        "bootstrap",
        run,
        help="a map with error bars from resamples of the answers, for every model",
        description=(
            "Embed many resamples of the answers; the spread of the maps measures their "
            "uncertainty. The default model is Shepard's law with parameters estimated from "
            "the answers. Every model can be used, and whole observers can be resampled "
            "instead of answers."
        ),
        examples=EXAMPLES,
    )
    add_reading(parser)
    add_model(parser, "shepard, with --paper ste")
    add_penalty_option(parser, " and with --paper; only with --model")
    parser.add_argument(
        "--samples", type=several, metavar="N", help="resamples (default: 200; 100 with --model)"
    )
    parser.add_argument(
        "--fraction",
        type=share_of_one,
        metavar="R",
        help="share of the answers in each resample; below 1 without replacement (default: 1)",
    )
    parser.add_argument(
        "--unit",
        choices=("answer", "observer"),
        help="what is resampled; the choice made on a screen is one answer (default: answer)",
    )
    parser.add_argument(
        "--paper", action="store_true", help="settings of the paper: 20 subsamples of 40 %%"
    )
    add_out(parser, "all maps (npz)")
    add_checkpoint(parser)
    add_device(parser)
    add_effort(parser)
    add_form(parser)


def run(options: argparse.Namespace) -> int:
    """Resample, print and write."""
    from tercet.bootstrap import Bootstrap
    from tercet.errors import InputError

    given = {
        "n_samples": options.samples,
        "fraction": options.fraction,
        "unit": options.unit,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    if options.paper and (changes or options.penalty):
        raise InputError("--paper sets --samples, --fraction, --unit and --penalty; omit them.")
    if options.model is None and options.penalty is not None and not options.paper:
        raise InputError("--penalty needs --model; the recommended model has its own penalty.")
    answers = load_answers(options).to_fit()
    effort = effort_of(options) | {"checkpoint": options.checkpoint, "device": options.device}
    if options.paper:
        maker = Bootstrap.paper(penalised(options.model or "ste", options.dim, 0.0), **effort)
    elif options.model is None:
        maker = Bootstrap(options.dim, **changes, **effort)
    else:
        estimator = penalised(options.model, options.dim, options.penalty)
        maker = Bootstrap(estimator, **changes, **effort)
    ensemble = maker.fit(answers).ensemble_
    save_map(options, ensemble)
    settings = ensemble.provenance["settings"]
    model, count, unit = (settings[name] for name in ("estimator", "n_samples", "unit"))
    learned = ""
    if options.model is None and not options.paper:
        learned = f" with gamma {model['gamma']:.3g} and tail {model['tail']:.3g}"
    failed = f" ({maker.n_failed_} could not be fitted)" if maker.n_failed_ else ""
    sentence = (
        f"{model['class']}{learned}, {count} resamples of {maker.fraction:.0%} of the "
        f"{unit}s{failed}."
    )
    more = {
        "model": model["class"],
        "penalty": model.get("penalty", 0.0),
        "n_samples": count,
        "fraction": maker.fraction,
        "unit": unit,
        "n_failed": maker.n_failed_,
    }
    emit(options, describe_map(options, ensemble, [sentence], more))
    return 0
