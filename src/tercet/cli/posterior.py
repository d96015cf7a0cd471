"""``tercet posterior``: maps drawn from the posterior."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from tercet.cli.common import (
    PROBABILITIES,
    add_checkpoint,
    add_command,
    add_device,
    add_effort,
    add_form,
    add_model,
    add_out,
    add_reading,
    count,
    effort_of,
    learned_by,
    load_answers,
    make_estimator,
    natural_number,
    several,
    words,
)
from tercet.cli.output import LEVEL, describe_map, emit, save_map
from tercet.text import counted

if TYPE_CHECKING:
    from tercet.ensemble import Ensemble
    from tercet.posterior import Posterior

__all__ = ["add_to", "run"]

EXAMPLES = """
tercet posterior answers.csv -o map.npz       the recommended model
tercet posterior answers.csv --dim 1 --csv    one dimension; points with intervals as CSV
tercet posterior answers.csv --model ste --learn none --samples 500 --chains 2
"""

SAMPLERS = ("hmc", "tempered")  # others do not learn parameters


def add_to(commands: Any) -> None:
    """Add the command to the parser's."""
    parser = add_command(
        commands,
        "posterior",
        run,
        help="a map with error bars from Bayesian inference (recommended)",
        description=(
            "Draw maps from the posterior. The recommended model is the default: Shepard's law, "
            "whose exponent, tail and lapse rate (the share of random answers) are learned "
            "from the answers. The answers of one screen are one choice. The convergence of the "
            "chains is checked."
        ),
        examples=EXAMPLES,
    )
    add_reading(parser)
    add_model(parser, "shepard, with --paper ste", PROBABILITIES)
    parser.add_argument(
        "--samples",
        type=several,
        metavar="N",
        help="draws per chain (default: 1000; 500 for more than 30 000 answers)",
    )
    parser.add_argument(
        "--warmup",
        type=natural_number,
        metavar="N",
        help="discarded draws per chain before these (default: 500; 300 with --sampler tempered; "
        "200 on a GPU)",
    )
    parser.add_argument(
        "--chains",
        type=count,
        metavar="N",
        help="chains (default: 4; 2 for more than 30 000 answers)",
    )
    parser.add_argument(
        "--sampler",
        choices=SAMPLERS,
        help="tempered: for answers that allow several maps, which it visits in the right shares, "
        "at ten to forty times the cost (default: hmc)",
    )
    parser.add_argument(
        "--learn",
        type=words,
        metavar="WORDS",
        help="parameters to learn: exponent and mu (of ckl), gamma and tail (of shepard), lapse, "
        "bias (of positions, where the file has them), or none (default: all of the model's)",
    )
    parser.add_argument(
        "--paper",
        action="store_true",
        help="settings of the paper: one chain of 500 elliptical slice steps, which is too short",
    )
    add_out(parser, "all maps (npz)")
    add_checkpoint(parser)
    add_device(parser)
    add_effort(parser)
    add_form(parser)


def run(options: argparse.Namespace) -> int:
    """Draw, print and write."""
    from tercet.errors import InputError
    from tercet.posterior import Posterior

    given = {
        "n_samples": options.samples,
        "warmup": options.warmup,
        "n_chains": options.chains,
        "learn": options.learn,
        "sampler": options.sampler,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    if options.paper and changes:
        raise InputError(
            "--paper sets --samples, --warmup, --chains, --sampler and --learn; omit them."
        )
    effort = effort_of(options) | {"checkpoint": options.checkpoint, "device": options.device}
    if options.paper:
        maker = Posterior.paper(make_estimator(options.model or "ste", options.dim), **effort)
    elif options.model is None:
        maker = Posterior(options.dim, **changes, **effort)
    else:
        estimator = make_estimator(options.model, options.dim)
        maker = Posterior(estimator, **({"learn": learned_by(estimator)} | changes), **effort)
    reading = load_answers(options)
    sided = "bias" in (options.learn or ())
    maker.fit(reading.answers() if sided else reading.to_fit())
    ensemble = maker.ensemble_
    save_map(options, ensemble)
    learned = _parameters(ensemble)
    more = {
        "model": type(maker.embedder).__name__,
        "n_chains": ensemble.n_chains,
        "parameters": learned,
        "diagnostics": None if maker.diagnostics_ is None else maker.diagnostics_.describe(),
    }
    sentences = [_about_chains(maker)]
    if learned:
        values = "; ".join(
            f"{name} {value['mean']:.3g} ({value['low']:.3g} to {value['high']:.3g})"
            for name, value in learned.items()
        )
        sentences.append(f"Learned, with {LEVEL:.0%} intervals: {values}.")
    emit(options, describe_map(options, ensemble, sentences, more))
    return 0


def _parameters(ensemble: Ensemble) -> dict[str, dict[str, float]]:
    """Mean and interval of each parameter that was learned with the points."""
    import numpy as np

    ends = [(1.0 - LEVEL) / 2.0, (1.0 + LEVEL) / 2.0]
    learned = {}
    for name, values in ensemble.parameters.items():
        if np.ptp(values) > 0.0:
            low, high = np.quantile(values, ends).tolist()
            learned[name] = {"mean": float(values.mean()), "low": low, "high": high}
    return learned


def _about_chains(maker: Posterior) -> str:
    diagnostics, n_chains = maker.diagnostics_, maker.ensemble_.n_chains
    settings = f"{type(maker.embedder).__name__}, {counted(n_chains, 'chain')}"
    if diagnostics is None:
        return f"{settings}."
    size = f"effective sample size {min(diagnostics.ess_bulk, diagnostics.ess_tail):.0f}"
    verdict = "have not converged" if diagnostics.problems else "agree"
    who = "Halves of the chain" if n_chains == 1 else "Chains"
    searched = f" {diagnostics.starts.capitalize()}." if diagnostics.starts else ""
    return f"{settings}. {who} {verdict} (R-hat {diagnostics.r_hat:.3f}, {size}).{searched}"
