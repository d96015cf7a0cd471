"""Models by their names on the command line."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from tercet.cli.common import count, positive
from tercet.models import FILES, LOSSES

if TYPE_CHECKING:
    from tercet.embedder import Embedder
    from tercet.posterior import Posterior

__all__ = [
    "MODELS",
    "PROBABILITIES",
    "add_model",
    "add_penalty_option",
    "learned_by",
    "make_estimator",
    "make_model",
    "penalised",
]

NAMES = {name.lower(): name for name in FILES}  # estimators by their names on the command line
MODELS = tuple(NAMES)
PROBABILITIES = tuple(word for word, name in NAMES.items() if name not in LOSSES)
PENALTY = 1 / 30  # MAP under a normal prior of variance 15; without it, maps may grow for ever


def add_model(
    parser: argparse.ArgumentParser, default: str, models: tuple[str, ...] = MODELS
) -> None:
    """``--model`` and ``--dim``."""
    parser.add_argument(
        "--model", choices=models, help=f"model of the answers (default: {default})"
    )
    parser.add_argument(
        "--dim", type=count, default=2, metavar="N", help="dimensions of the map (default: 2)"
    )


def add_penalty_option(parser: argparse.ArgumentParser, also: str = "") -> None:
    """``--penalty``; ``also`` says when else it is 0."""
    losses = " and ".join(name.lower() for name in reversed(LOSSES))
    parser.add_argument(
        "--penalty",
        type=positive,
        metavar="X",
        help="add X times the map's sum of squares to the loss, which bounds its size "
        f"(default: 1/30, a normal prior of variance 15; 0 for {losses}{also})",
    )


def penalised(name: str, dim: int, penalty: float | None) -> Embedder:
    """The estimator of that name with this penalty, or the default one."""
    from tercet.errors import InputError

    estimator = make_estimator(name, dim)
    if "penalty" not in estimator.get_params():
        if penalty:
            raise InputError(f"{name} has no penalty, as its trace term bounds the map.")
        return estimator
    default = PENALTY if name in PROBABILITIES else 0.0
    return make_estimator(name, dim, penalty=default if penalty is None else penalty)


def make_estimator(name: str, dim: int, **parameters: float) -> Embedder:
    """The estimator of that name."""
    from tercet import estimators
    from tercet.errors import InputError

    if name not in MODELS:
        raise InputError(f"there is no model {name!r}; choose one of {', '.join(MODELS)}.")
    estimator: Embedder = getattr(estimators, NAMES[name])(dim, **parameters)
    return estimator


def learned_by(estimator: Embedder) -> tuple[str, ...]:
    """What is learned with the points by default: every learnable parameter, and lapses."""
    return (*estimator.model_class.learnable(), "lapse")


def make_model(text: str, dim: int) -> Embedder | Posterior:
    """A model to compare: its name, and learned parameters after plus signs (``ckl+mu``)."""
    from tercet.posterior import Posterior

    name, *learn = text.split("+")
    estimator = make_estimator(name, dim)
    return Posterior(estimator, learn=tuple(learn)) if learn else estimator
