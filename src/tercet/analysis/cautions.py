"""What to be careful about, one small function each; every threshold is stated here, and once.

Each function returns a sentence or two in plain words, or nothing where there is no reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tercet.answers.repeats import NoiseCeiling
from tercet.posterior.diagnostics import Diagnostics
from tercet.text import counted, joined, percent
from tercet.uses.compare.comparison import LackOfFit
from tercet.uses.dimension import DimensionEstimate
from tercet.uses.predict import HeldOut
from tercet.uses.quality import AnswerCheck
from tercet.uses.scale import GoodnessOfFit, PerceptualScale

__all__ = [
    "MISFIT",
    "WELL",
    "about_calibration",
    "about_ceiling",
    "about_chains",
    "about_dimension",
    "about_dimension_chains",
    "about_fit",
    "about_guesses",
    "about_part",
    "about_people",
    "about_replicates",
    "is_bold",
    "is_calibrated",
    "tell_calibration",
    "tell_p",
]

MISFIT = 0.05  # a p-value below that is called a misfit
WELL = 0.03  # of calibration error, below which stated and true shares are close, chance or not
ROUGH = 0.1  # share of left-out units that are a rough guess, from which that is told
GAP = 0.05  # of accuracy below the noise ceiling, chance being allowed for, from which it is told
ERRORS = 2.0  # standard errors that are chance
# Observers who are too few to stand for people in general, and answers of each from which what they
# have in common is known better than how they differ.
FEW_OBSERVERS, MANY_EACH = 10, 50


def about_chains(found: Diagnostics | None) -> str:
    """Chains that ended in different maps, or whose draws are worth little."""
    if found is None or not found.problems:
        return ""
    wrong = "; ".join(found.problems)
    if found.agree:
        return (
            f"The maps are drawn roughly: {wrong}. Take intervals and probabilities with care, or "
            f"draw more (--samples {4 * found.n_samples})."
        )
    return (
        f"The maps did not settle: {wrong}. The map, its "
        "intervals and all probabilities on this page are provisional; do not report them. Try "
        "another --seed, which starts the chains elsewhere, longer chains "
        f"(--samples {4 * found.n_samples}), another number of dimensions (--dim), or "
        "--uncertainty bootstrap, which needs no chains."
    )


def about_dimension(estimate: DimensionEstimate | None, shown: int, most: int) -> str:
    """A number of dimensions that is not decided, or is the largest that was tried.

    Parameters
    ----------
    estimate : DimensionEstimate or None
    shown : int
        Dimensions of the map.
    most : int
        Dimensions that the answers can carry.
    """
    if estimate is None or estimate.verdict == "decided":
        return ""
    first, last = estimate.rows[0].dimension, estimate.rows[-1].dimension
    if estimate.dimension is None:
        why = (
            "left-out answers are predicted no better than by a coin"
            if estimate.hangs_on is None
            else f"the chains ended in different maps in {counted(estimate.hangs_on, 'dimension')}"
        )
        return (
            f"How many dimensions the answers need is not decided: {why}. The map has {shown} "
            "because it must have some number, not because the answers ask for it."
        )
    if estimate.at_the_end:
        cure = "These answers can carry no more; ask more"
        if last < most:
            cure = f"--dimensions {first}-{min(2 * last, most)} tries more"
        return (
            f"The number of dimensions is the largest of those tried ({first} to {last}) and still "
            f"predicts best, so that more may be needed. {cure}."
        )
    following = next(row.dimension for row in estimate.rows if row.dimension > estimate.dimension)
    more = f"Whether {following} dimensions predict better than {estimate.dimension}"
    if estimate.hangs_on is None:
        return f"{more}, the answers do not tell: more may be needed."
    return (
        f"{more} is not decided, for the chains ended in different maps in "
        f"{counted(estimate.hangs_on, 'dimension')}: more may be needed."
    )


def about_dimension_chains(estimate: DimensionEstimate | None) -> str:
    """Chains that ended in different maps in the chosen number of dimensions, or in the next.

    Where the choice hangs on them, `about_dimension` tells it. In lower dimensions chains often
    disagree; that these are too low is then not decided without accuracy, which needs no chains.
    """
    if estimate is None or estimate.dimension is None:
        return ""
    tried = [row.dimension for row in estimate.rows]
    place = tried.index(estimate.dimension)
    compared = set(tried[place : place + 2]) - {estimate.hangs_on}
    poor = sorted(compared.intersection(estimate.disagreeing))
    if not poor:
        return ""
    return (
        f"Of the chains with which the number of dimensions was chosen, those of "
        f"{joined(poor)} dimension{'' if poor == [1] else 's'} ended in different "
        "maps. The choice does not rest on them alone, but it is rough."
    )


def about_part(estimate: DimensionEstimate | None, n_answers: int) -> str:
    """Answers that had no say in the number of dimensions, to save time."""
    if estimate is None or estimate.n_answers >= n_answers:
        return ""
    return (
        f"To save time the number of dimensions was chosen with {estimate.n_answers} of the "
        f"{n_answers} answers, drawn at random. All of them might show more dimensions."
    )


def about_replicates(provenance: Mapping[str, Any]) -> str:
    """Maps of a bootstrap that are no good; nothing for draws of another kind."""
    counts = provenance.get("counts", {})
    total, said = counts.get("replicates", 0), []
    if counts.get("failed"):
        said.append(f"{counts['failed']} of {total} maps could not be fitted and were left out.")
    if counts.get("not_converged"):
        said.append(
            f"{counts['not_converged']} of {total} maps were kept though their fit was cut off "
            "before its end."
        )
    if 2 * counts.get("separable", 0) > total:
        said.append(
            f"{counts['separable']} of {total} maps satisfy every answer they were fitted to, so "
            "that their size means nothing."
        )
    return " ".join(said)


def about_fit(fit: LackOfFit | None, goodness: GoodnessOfFit | None, converged: bool) -> str:
    """Answers that deviate from the model more than noise would."""
    if fit is not None and converged and fit.p_value < MISFIT:
        return (
            "The model does not fit: answers to repeated comparisons deviate from it "
            f"{fit.ratio:.2f} times as much as noise would ({tell_p(fit.p_value)}). Intervals and "
            "probabilities hold only where the model does."
        )
    if goodness is not None and min(goodness.runs_p, goodness.deviance_p) < MISFIT:
        return (
            "The scale does not fit well: answers simulated from it look different (deviance "
            f"{tell_p(goodness.deviance_p)}, runs of residuals {tell_p(goodness.runs_p)}). "
            "Intervals hold only where the scale does."
        )
    return ""


def about_calibration(found: HeldOut | None) -> str:
    """Stated probabilities that are off, by more than chance and by enough to matter."""
    if found is None or is_calibrated(found):
        return ""
    return (
        f"Stated probabilities are not to be taken at their word: what happens differs from them "
        f"{tell_calibration(found)}. On the whole they are too "
        f"{'bold' if is_bold(found) else 'cautious'}."
    )


def about_ceiling(found: HeldOut | None, ceiling: NoiseCeiling | None) -> str:
    """Predictions that stay far below what the noise in the answers allows."""
    if found is None or ceiling is None:
        return ""
    low, high = ceiling.accuracy_interval
    beyond_chance = found.accuracy + ERRORS * found.accuracy_error < low
    if not beyond_chance or ceiling.accuracy - found.accuracy <= GAP:
        return ""
    return (
        f"The map predicts {percent(found.accuracy)} of the answers it has not seen, and people "
        f"agree well enough with each other for about {percent(ceiling.accuracy)} "
        f"({percent(low)} to {percent(high)}) of comparisons like the repeated ones: it misses "
        "something that people see. More dimensions, another model or more answers may find it."
    )


def about_guesses(found: HeldOut | None) -> str:
    """Answers on which the map hangs so much that what it would be without them is a guess."""
    if found is None or found.rough <= ROUGH:
        return ""
    return (
        "What a map without some of the answers would predict is a rough guess for "
        f"{percent(found.rough)} of them: take accuracy and calibration with care."
    )


def about_people(check: AnswerCheck, scale: PerceptualScale | None) -> str:
    """Whom the intervals are about, where observers are few and the check does not say it."""
    counts, shown = check.counts, "map" if scale is None else "scale"
    if counts.observers is None or counts.per_observer is None or counts.observers > FEW_OBSERVERS:
        return ""
    if counts.observers == 1:
        return (
            f"All answers are by one observer: the {shown} is of this observer, and its intervals "
            "say nothing about other people."
        )
    if scale is not None and scale.made.resamples_observers:
        return scale.about
    if check.observers_differ or counts.per_observer.median < MANY_EACH:
        return ""
    return (
        f"The answers are by {counts.observers} observers, pooled: the intervals are about the "
        f"{shown} of these people. For people in general they would be wider, as people differ."
    )


# --- words that other parts share -------------------------------------------------------------


def is_calibrated(found: HeldOut) -> bool:
    """Whether stated and true shares are close, or differ by no more than chance would have it."""
    return found.calibration_error <= max(WELL, found.calibration_limit)


def is_bold(found: HeldOut) -> bool:
    """Whether fewer answers came out right than the stated probabilities promised."""
    p = found.probability
    return bool(np.maximum(p, 1.0 - p).mean() > np.mean(p > 0.5))


def tell_calibration(found: HeldOut) -> str:
    """By how much stated and true shares differ, and whether that may be chance."""
    error, limit = found.calibration_error, found.calibration_limit
    chance = "as chance alone may do" if error <= limit else "more than by chance alone"
    return f"by {percent(error)} on average, {chance} (up to {percent(limit)})"


def tell_p(p: float) -> str:
    """A p-value from simulations, which is never 0."""
    return f"p = {p:.3f}" if p >= 0.001 else "p < 0.001"
