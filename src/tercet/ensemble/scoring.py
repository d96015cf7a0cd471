"""How likely given answers are in the draws of an ensemble, and whether it predicts them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tercet.answers.choices import Choices, as_answers
from tercet.answers.either import weights_of
from tercet.arrays import Floats
from tercet.ensemble.answering import in_portions
from tercet.metrics import predicted_correctly
from tercet.models.luce import agreement_with
from tercet.running.memory import need_memory

if TYPE_CHECKING:
    from tercet.ensemble.ensemble import Ensemble

__all__ = ["log_likelihood", "predicts_choices"]

LEAST = float(np.nextafter(0.0, 1.0))  # below it a probability is rounded to 0
LARGEST_TABLE = 2**24  # probabilities of alternatives in memory at a time: 128 MB


def log_likelihood(ensemble: Ensemble, answers: Any) -> Floats:
    """Log-probability (S, m) of each answer in each draw, times the answer's weight.

    Comparisons that share a screen are one answer, as in ``fit``.
    """
    given = as_answers(answers)
    need_memory(
        3 * len(ensemble) * len(given),
        f"The log-likelihood of {len(given)} answers in {len(ensemble)} draws",
        "use fewer answers, or select draws with [...] first",
    )
    p = ensemble.choice_probability(given, by_draw=True)
    return np.asarray(np.log(np.maximum(p, LEAST)) * weights_of(given))


def predicts_choices(ensemble: Ensemble, choices: Choices) -> Floats:
    """Whether the most likely outcome of each choice (m,) is what was chosen.

    1, 0, or a share if several outcomes are as likely. For models without a likelihood, whether
    every comparison within the choice is more likely true than not.
    """
    if ensemble.model is None or not ensemble.model.is_probability:
        split = choices.triplets()
        right = predicted_correctly(ensemble.triplet_probability(split))
        starts = np.flatnonzero(np.diff(split.number_screens(), prepend=-1))
        return np.asarray(np.minimum.reduceat(right, starts))
    parts = []
    for part in in_portions(choices, LARGEST_TABLE // len(ensemble)):
        first = ensemble.choice_tables(part)[1].mean(axis=1)
        right, in_order = np.empty(len(part)), np.empty(len(part))
        agreement_with(part.kinds, part.cuts, part.n_chosen, first, right, in_order)
        parts.append(right)
    return np.concatenate(parts)
