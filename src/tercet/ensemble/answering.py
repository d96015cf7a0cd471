"""Probabilities of what people answer, in the draws of an ensemble."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tercet import uncertainty
from tercet.answers.choices import Choices
from tercet.answers.either import match_objects
from tercet.arrays import Floats, Index
from tercet.ensemble.draws import Draws
from tercet.errors import InputError
from tercet.models import Model

__all__ = ["answering_model", "choice_tables", "in_portions"]


def answering_model(fields: Draws) -> tuple[Model, int]:
    """The model of answers, and the dimension its constants depend on."""
    if fields.model is None:
        raise InputError(
            "this ensemble has no model, so it cannot predict what people will answer; "
            "triplet_probability gives the probability that near is truly nearer."
        )
    if fields.kind == "points":
        return fields.model, fields.draws.shape[2]
    if getattr(fields.model, "alpha", 0.0) is None:
        raise InputError("alpha depends on the dimension, which distances lack; set alpha.")
    return fields.model, 2


def choice_tables(
    fields: Draws, squared: Callable[[Index], Floats], choices: Choices
) -> tuple[Floats, Floats]:
    """Probabilities in every draw of choices, and of their alternatives to be chosen first.

    See `tercet.uncertainty.choice_probability`; ``squared`` gives squared distances (S, E) of pairs
    (E, 2), as they were drawn.
    """
    model, d = answering_model(fields)
    n = fields.draws.shape[1]
    known = match_objects(choices, n, fields.names)
    codes = known.pairs.min(axis=1) * n + known.pairs.max(axis=1)
    distinct, places = np.unique(codes, return_inverse=True)
    table = squared(np.stack(np.divmod(distinct, n), axis=1))
    return uncertainty.choice_probability(
        table, places.reshape(-1), known, model, d, fields.parameters
    )


def in_portions(choices: Choices, most: int) -> Iterator[Choices]:
    """The choices in portions of roughly that many alternatives."""
    number = choices.cuts[:-1] // max(1, most)
    for part in np.split(np.arange(len(choices)), np.flatnonzero(np.diff(number)) + 1):
        yield choices[part]
