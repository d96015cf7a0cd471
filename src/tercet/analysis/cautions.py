"""What to be careful about, with all thresholds.

Each function returns a sentence or two, or an empty text where there is no reason for caution.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tercet.answers.repeats import NoiseCeiling
from tercet.held_out import HeldOut
from tercet.posterior.diagnostics import Diagnostics
from tercet.text import counted, joined, percent
from tercet.uses.compare.comparison import LackOfFit
from tercet.uses.dimension import DimensionEstimate
from tercet.uses.quality import AnswerCheck
from tercet.uses.scale import GoodnessOfFit, PerceptualScale

__all__ = [
    "CLOSE",
    "MISFIT",
    "about_calibration",
    "about_ceiling",
    "about_chains",
    "about_dimension",
    "about_dimension_chains",
    "about_fit",
    "about_influential",
    "about_people",
    "about_replicates",
    "describe_calibration",
    "format_p",
    "is_calibrated",
    "is_overconfident",
]

MISFIT = 0.05  # p-values below it are called a misfit
CLOSE = 0.03  # calibration errors up to it are called close, whether or not due to chance
ROUGH = 0.1  # share of influential units above which it is reported
GAP = 0.05  # accuracy below the noise ceiling, beyond chance, from which it is reported
ERRORS = 2.0  # standard errors that are attributed to chance
# Up to this many observers do not stand for people in general; from this many answers each, what
# they have in common is known better than how they differ.
FEW_OBSERVERS, MANY_EACH = 10, 50


def about_chains(found: Diagnostics | None) -> str:
    """Chains that ended in different maps, or whose effective sample size is small."""
    if found is None or not found.problems:
        return ""
    wrong, longer = "; ".join(found.problems), f"--samples {4 * found.n_samples}"
    if found.agree:
        return (
            f"The draws are imprecise: {wrong}. Interpret intervals and probabilities with care, "
            f"or use longer chains ({longer})."
        )
    return (
        f"The chains did not converge: {wrong}. The map, its intervals and all probabilities on "
        "this page are provisional; do not report them. Use longer chains "
        f"({longer} --warmup 2000). If they still disagree, the answers allow several different "
        "maps: answers about the objects concerned, or another number of dimensions (--dim), would "
        "decide."
    )


def about_dimension(estimate: DimensionEstimate | None, shown: int) -> str:
    """A number of dimensions that is undecided, or is the largest that was tried.

    ``shown`` are the dimensions of the map.
    """
    if estimate is None or estimate.verdict == "decided":
        return ""
    first, last = estimate.rows[0].dimension, estimate.rows[-1].dimension
    stuck = estimate.undecided_at and (
        f"the chains ended in different maps in {counted(estimate.undecided_at, 'dimension')}"
    )
    if estimate.dimension is None:
        return (
            "The number of dimensions is undecided: "
            f"{stuck or 'held-out answers are predicted at chance level'}. The map has {shown} by "
            "default, not because the answers call for it."
        )
    if estimate.at_the_end:
        cure = "These answers support no more; collect more"
        if estimate.next_limit is not None:
            cure = f"--max-dim {estimate.next_limit} tries more"
        return (
            f"The number of dimensions is the largest of those tried ({first} to {last}): at least "
            f"{last} are needed, and more were not tried. {cure}."
        )
    following = next(row.dimension for row in estimate.rows if row.dimension > estimate.dimension)
    return (
        f"Whether {following} dimensions predict better than {estimate.dimension} is "
        f"{f'undecided, because {stuck}' if stuck else 'unclear from these answers'}: more may be "
        "needed."
    )


def about_dimension_chains(estimate: DimensionEstimate | None) -> str:
    """Chains that ended in different maps in the chosen number of dimensions, or in the next.

    Where the choice depends on them, `about_dimension` says so. In lower dimensions chains often
    disagree; these are ruled out by accuracy, which needs no chains.
    """
    if estimate is None or estimate.dimension is None:
        return ""
    tried = [row.dimension for row in estimate.rows]
    place = tried.index(estimate.dimension)
    compared = set(tried[place : place + 2]) - {estimate.undecided_at}
    poor = sorted(compared.intersection(estimate.disagreeing))
    if not poor:
        return ""
    return (
        f"In {joined(poor)} dimension{'' if poor == [1] else 's'}, the chains with which the "
        "number of dimensions was chosen ended in different maps. The choice does not depend on "
        "them alone, but it is imprecise."
    )


def about_replicates(provenance: Mapping[str, Any]) -> str:
    """Replicates of a bootstrap that failed; nothing for other ensembles."""
    counts = provenance.get("counts", {})
    total, said = counts.get("replicates", 0), []
    if counts.get("failed"):
        said.append(f"{counts['failed']} of {total} maps could not be fitted and were left out.")
    if counts.get("not_converged"):
        said.append(
            f"{counts['not_converged']} of {total} maps were kept although their fit stopped "
            "before it converged."
        )
    if 2 * counts.get("separable", 0) > total:
        said.append(
            f"{counts['separable']} of {total} maps satisfy every answer they were fitted to, so "
            "their size is arbitrary."
        )
    return " ".join(said)


def about_fit(fit: LackOfFit | None, goodness: GoodnessOfFit | None, converged: bool) -> str:
    """Answers that deviate from the model more than noise explains."""
    if fit is not None and converged and fit.p_value < MISFIT:
        return (
            "The model does not fit: answers to repeated comparisons deviate from it "
            f"{fit.ratio:.2f} times as much as noise explains ({format_p(fit.p_value)}). Intervals "
            "and probabilities are valid only if the model is."
        )
    if goodness is not None and min(goodness.runs_p, goodness.deviance_p) < MISFIT:
        return (
            "The scale does not fit well: answers simulated from it look different (deviance "
            f"{format_p(goodness.deviance_p)}, runs of residuals {format_p(goodness.runs_p)}). "
            "Intervals are valid only if the scale is."
        )
    return ""


def about_calibration(found: HeldOut | None) -> str:
    """Probabilities that are off by more than chance allows, and by enough to matter."""
    if found is None or is_calibrated(found):
        return ""
    return (
        "The probabilities are not calibrated: they differ from observed frequencies "
        f"{describe_calibration(found)}. Overall they are "
        f"{'overconfident' if is_overconfident(found) else 'underconfident'}."
    )


def about_ceiling(found: HeldOut | None, ceiling: NoiseCeiling | None) -> str:
    """Accuracy far below the noise ceiling."""
    if found is None or ceiling is None:
        return ""
    low, high = ceiling.accuracy_interval
    beyond_chance = found.accuracy + ERRORS * found.accuracy_error < low
    if not beyond_chance or ceiling.accuracy - found.accuracy <= GAP:
        return ""
    return (
        f"{percent(found.accuracy)} of held-out answers are predicted correctly, but the noise "
        f"ceiling is about {percent(ceiling.accuracy)} ({percent(low)} to {percent(high)}) for "
        f"{ceiling.asked}s like the repeated ones: the map misses something that people see. More "
        "dimensions, another model or more answers may capture it."
    )


def about_influential(found: HeldOut | None) -> str:
    """Influential answers, without which the map would change too much for leave-one-out."""
    if found is None or found.rough <= ROUGH:
        return ""
    return (
        f"Leave-one-out predictions are unreliable for {percent(found.rough)} of the answers "
        "(influential answers, Pareto k̂ > 0.7): interpret accuracy and calibration with care."
    )


def about_people(check: AnswerCheck, scale: PerceptualScale | None) -> str:
    """To whom the intervals apply, where observers are few and the check does not say it."""
    counts, shown = check.counts, "map" if scale is None else "scale"
    if counts.observers is None or counts.per_observer is None or counts.observers > FEW_OBSERVERS:
        return ""
    if counts.observers == 1:
        return (
            f"All answers are by one observer: the {shown} is that of this observer, and its "
            "intervals say nothing about other people."
        )
    if scale is not None and scale.made.resamples_observers:
        return scale.about
    if check.observers_differ or counts.per_observer.median < MANY_EACH:
        return ""
    return (
        f"The answers are by {counts.observers} observers, pooled: the intervals apply to the "
        f"{shown} of these people. For people in general they would be wider, because people "
        "differ."
    )


# --- shared phrases ---------------------------------------------------------------------------


def is_calibrated(found: HeldOut) -> bool:
    """Whether probabilities and observed frequencies are close, or differ only by chance."""
    return found.calibration_error <= max(CLOSE, found.calibration_limit)


def is_overconfident(found: HeldOut) -> bool:
    """Whether fewer answers were predicted correctly than the probabilities stated."""
    return bool(np.mean(found.confidence) > np.mean(found.right))


def describe_calibration(found: HeldOut) -> str:
    """By how much probabilities and observed frequencies differ, and whether by chance."""
    error, limit = found.calibration_error, found.calibration_limit
    chance = "no more than" if error <= limit else "more than"
    return f"by {percent(error)} on average, {chance} chance allows ({percent(limit)})"


def format_p(p: float) -> str:
    """A p-value from simulations, which is never 0."""
    return f"p = {p:.3f}" if p >= 0.001 else "p < 0.001"
