"""Intervals by resampling units, and the noise ceiling in words: what both kinds of scores have."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtri

from tercet.answers.choices import Choices
from tercet.answers.either import Answers
from tercet.answers.questions import number_units
from tercet.answers.repeats import NoiseCeiling, ceiling_of_answers
from tercet.arrays import Floats
from tercet.held_out import mean_per_answer

__all__ = ["as_choices", "ceiling_between", "ceiling_dict", "resample", "span", "tell_ceiling"]

RESAMPLES = 2000
MANY = 2000  # units above which an interval is normal: resampling would find the same


def resample(
    totals: Floats, sizes: Floats, level: float, rng: np.random.Generator
) -> tuple[list[float], list[tuple[float, float]]]:
    """Means per answer of K measures, and their intervals over units.

    Parameters
    ----------
    totals : (K, U) array
        Sum over the answers of each unit.
    sizes : (U,) array
        Number of answers of each.
    level : float
    rng : numpy.random.Generator

    Returns
    -------
    means : list of K numbers
    intervals : list of K pairs
        Percentiles over resamples of the units; those of a normal distribution if there are many.
        NaN for a single unit.
    """
    found = [mean_per_answer(total, sizes) for total in totals]
    means = [mean for mean, _ in found]
    count = len(sizes)
    if count > MANY or count < 2:
        width = float(ndtri((1.0 + level) / 2.0))
        return means, [(mean - width * error, mean + width * error) for mean, error in found]
    times = rng.multinomial(count, np.full(count, 1.0 / count), size=RESAMPLES)
    drawn = (times @ totals.T) / (times @ sizes)[:, None]
    ends = np.quantile(drawn, [(1.0 - level) / 2.0, (1.0 + level) / 2.0], axis=0)
    return means, [(float(low), float(high)) for low, high in ends.T]


def span(interval: tuple[float, float], show: Callable[[float], str]) -> str:
    """An interval in parentheses; a single unit has none."""
    low, high = interval
    return "(no interval)" if math.isnan(low) else f"({show(low)} to {show(high)})"


def ceiling_between(answers: Answers) -> NoiseCeiling | str:
    """The noise ceiling of people who are not told apart, or why it is unknown.

    Where observers are known, only the first answer of each to a question counts: people agree with
    themselves more often than with others.
    """
    if answers.observers is not None:
        who = np.unique(answers.observers, return_inverse=True)[1]
        if who.max() > 0:
            first = np.unique(number_units(answers) * (who.max() + 1) + who, return_index=True)[1]
            answers = answers[np.sort(first)]
    return ceiling_of_answers(answers)


def tell_ceiling(ceiling: NoiseCeiling | str) -> str:
    """A sentence about the noise ceiling, or about why it is unknown."""
    if isinstance(ceiling, str):
        return f"The noise ceiling is unknown: {ceiling}."
    return f"{str(ceiling)[0].upper()}{str(ceiling)[1:]}."


def ceiling_dict(ceiling: NoiseCeiling | str) -> dict[str, Any]:
    """The noise ceiling for a table or JSON; None where it is unknown."""
    names = "ceiling", "ceiling_low", "ceiling_high", "ceiling_log_loss"
    if isinstance(ceiling, str):
        return dict.fromkeys(names)
    found = ceiling.accuracy, *ceiling.accuracy_interval, ceiling.log_loss
    return dict(zip(names, found, strict=True))


def as_choices(answers: Answers) -> Choices:
    """The answers as choices; a comparison is one between two pairs."""
    return answers if isinstance(answers, Choices) else Choices.from_triplets(answers)
