"""Predict, or abstain: risk against coverage, and a threshold that keeps a promised error rate.

`Ensemble.predict` has the paper's rule (section 4.1): predict where π is above a threshold. This
file asks what a threshold costs, and which one keeps a promise about people's answers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tercet.answers.questions import default_unit, number_units, single_answers
from tercet.ensemble import Ensemble
from tercet.errors import InputError
from tercet.metrics import check_threshold
from tercet.provenance import Seed, entropy_of, seed_for
from tercet.simulate import random_comparisons
from tercet.triplets import Triplets, as_triplets
from tercet.uses.abstain.promise import Promise, likelier_answers
from tercet.uses.abstain.walk import (
    Floats,
    TestedThresholds,
    last_passed,
    lay_candidates,
    name_ending,
    shuffle,
    walk_down,
)

__all__ = ["choose_threshold", "hold_out"]

PILOTS = 2000  # random comparisons that the candidate thresholds are laid on


def choose_threshold(
    ensemble: Ensemble,
    holdout: Any,
    *,
    error: float = 0.1,
    delta: float = 0.1,
    unit: str | None = None,
    thresholds: ArrayLike | None = None,
    random_state: Seed = None,
) -> Promise:
    """Choose the threshold above which at most the share ``error`` of answers is predicted wrongly.

    Learn then test (Angelopoulos, Bates, Candès, Jordan and Lei, 2021) with a fixed sequence of
    thresholds. The candidates are laid down before a hold-out answer is looked at, and tested from
    the strictest down: of n units with a predicted answer, w are wrong, and the threshold passes
    if P(Binomial(n, error) ≤ w) ≤ delta. The walk stops at the first that fails, and the last that
    passed is chosen.

    Why the promise holds: at a threshold fixed in advance, each unit that has a predicted answer
    is wrong independently with the same probability, the risk. Given n, the number of wrong ones
    is therefore binomial, whatever the model is worth, and a threshold whose risk is above
    ``error`` passes with probability ``delta`` at most. To choose a bad threshold the walk has to
    pass the first bad one on its way, which is one and the same threshold for all hold-outs; so no
    correction for testing many is needed.

    The answers of one unit depend on each other: they are put in a random order once, and at each
    threshold the first predicted one speaks for the unit. The promise is then about one predicted
    answer, drawn at random, of a new unit.

    Parameters
    ----------
    ensemble : Ensemble
        Of a model that is a probability, made **without** the hold-out answers.
    holdout : Triplets, or (m, 3) or (m, 4) array of numbers or names
        Answers; where all weights are whole numbers, every vote is an answer.
    error : float
        Share of wrong ones among predicted answers that may not be exceeded, between 0 and ½.
    delta : float
        Probability, over hold-outs, that it is exceeded all the same.
    unit : {"observer", "screen", "comparison", "answer"}, optional
        What is independent of each other. By default observers where several gave more than one
        answer, else screens where some have several, else comparisons (a question asked twice is
        one unit).
    thresholds : array, optional
        Candidates, from ½ up to, but not including, 1, that you chose **before** looking at the
        hold-out. By default those that predict 1, 2, …, 99 % of 2000 random comparisons of the
        objects, and ½, beginning where enough units are to be expected for a fair chance to pass.
        A threshold is left out while there are too few units to ever pass, (1 − error)^n > delta.
    random_state : None, int or numpy.random.Generator
        For the order within units; decide on it before you look, too.

    Returns
    -------
    Promise
        Prints as a sentence; when there is nothing to promise, it says why.
    """
    _check_rates(error, delta)
    if not isinstance(ensemble, Ensemble):
        raise InputError(
            "ensemble must be an Ensemble, such as Posterior(...).fit(answers).ensemble_, got "
            f"{type(ensemble).__name__}."
        )
    answers = as_triplets(holdout)
    rows = single_answers(answers, "the hold-out")
    unit = independent_unit(answers) if unit is None else unit
    labels = np.arange(len(rows)) if unit == "answer" else number_units(answers, unit)[rows]
    grid = None if thresholds is None else _check_grid(thresholds)
    rng = np.random.default_rng(seed_for(entropy_of(random_state)))

    confidence, near = likelier_answers(ensemble, answers)
    held = shuffle(confidence[rows], ~near[rows], labels, rng)
    pilots = np.empty(0) if grid is not None else _pilots(ensemble)

    def attempt(error: float) -> TestedThresholds:
        laid = lay_candidates(pilots, held, unit, error, delta) if grid is None else grid
        return walk_down(held, laid, error, delta)

    walk = attempt(error)
    outcome, smallest = name_ending(walk, error, delta), None
    if outcome in ("impossible", "undecided"):
        larger = (float(e) for e in np.arange(1, 50) / 100 if e > error)
        smallest = next((e for e in larger if last_passed(attempt(e), delta) is not None), None)
    last = last_passed(walk, delta)
    threshold = None if last is None else float(walk.threshold[last])
    return Promise(
        threshold=threshold,
        error=error,
        delta=delta,
        coverage=0.0 if threshold is None else float(np.mean(held.confidence > threshold)),
        observed_error=np.nan if last is None else float(walk.wrong[last] / walk.predicted[last]),
        unit=unit,
        n_answers=len(rows),
        n_units=held.n_units,
        outcome=outcome,
        smallest_error=smallest,
        walk=walk,
        ensemble=ensemble,
    )


def hold_out(
    triplets: Any,
    share: float = 0.3,
    *,
    unit: str | None = None,
    random_state: Seed = None,
) -> tuple[Triplets, Triplets]:
    """Part answers into some to learn from and others to hold out: (train, holdout).

    Whole units are drawn at random, each with the same chance, so that the hold-out's are
    independent of what was learned, and drawn like those to come.

    Parameters
    ----------
    triplets : Triplets, or array of answers
    share : float
        Of the units, to hold out; between 0 and 1.
    unit : {"observer", "screen", "comparison", "answer"}, optional
        As in `choose_threshold`; use the same there.
    random_state : None, int or numpy.random.Generator
    """
    if not 0.0 < share < 1.0:
        raise InputError(f"share must lie between 0 and 1, such as 0.3, got {share!r}.")
    answers = as_triplets(triplets)
    unit = independent_unit(answers) if unit is None else unit
    units = number_units(answers, unit)
    count = int(units.max(initial=-1)) + 1
    if count < 2:
        raise InputError(f"there is only {count} {unit} to part; use another unit.")
    rng = np.random.default_rng(seed_for(entropy_of(random_state)))
    held = np.zeros(count, dtype=np.bool_)
    held[rng.permutation(count)[: min(max(round(share * count), 1), count - 1)]] = True
    return answers[~held[units]], answers[held[units]]


def independent_unit(triplets: Triplets) -> str:
    """What to take as independent: observers where there are several, who answered repeatedly.

    A person who is often wrong is so on many screens; only whole people are drawn independently
    from the people there are. Else screens where some have several answers, else comparisons.
    """
    if triplets.observers is not None:
        count = len(np.unique(triplets.observers))
        if 1 < count < triplets.n_answers:
            return "observer"
    return default_unit(triplets)


def _pilots(ensemble: Ensemble) -> Floats:
    """Confidence of random comparisons of the objects, the same for every hold-out."""
    asked = random_comparisons(ensemble.n_objects, PILOTS, replace=True, random_state=0)
    return likelier_answers(ensemble, asked)[0]


# ---- checks


def _check_rates(error: float, delta: float) -> None:
    if not 0.0 < error < 0.5:
        raise InputError(
            "error is the share of wrong predictions to promise, between 0 and ½ (a coin is wrong "
            f"in half of the cases), such as 0.1; got {error!r}."
        )
    if not 0.0 < delta < 1.0:
        raise InputError(
            "delta is the probability that the promise fails, between 0 and 1, such as 0.1; got "
            f"{delta!r}."
        )


def _check_grid(thresholds: ArrayLike) -> Floats:
    grid = np.unique(np.asarray(thresholds, dtype=np.float64))[::-1]
    if not grid.size:
        raise InputError("thresholds are empty; leave them out for the default.")
    for threshold in grid:
        check_threshold(float(threshold))
    return grid
