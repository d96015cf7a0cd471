"""The report in plain sentences: the summary on top, and words that other parts share."""

from __future__ import annotations

from tercet.analysis.cautions import MISFIT, WELL, is_calibrated, tell_calibration, tell_p
from tercet.analysis.result import Analysis
from tercet.text import counted, joined, percent, wrap

__all__ = ["in_lines", "provisional", "summary", "tell_why_above"]


def summary(analysis: Analysis) -> list[str]:
    """What matters most, first the answers, then the map, then how far to trust it."""
    said = [_about_data(analysis), _about_map(analysis), _about_certainty(analysis)]
    others = [_about_extremes, _about_held_out, _about_fit, _about_questions]
    if analysis.is_provisional:  # nothing that rests on where objects lie
        others = [_about_held_out, *([_about_fit] if analysis.chains_agree else [])]
    said += [sentence for tell in others if (sentence := tell(analysis))]
    return said


def in_lines(analysis: Analysis) -> str:
    """The summary and what to be careful about, for a terminal."""
    said = [f"- {sentence}" for sentence in summary(analysis)]
    said += [f"! {warning}" for warning in analysis.cautions]
    return "\n".join(wrap(line, indent="  ") for line in said)


def provisional(analysis: Analysis) -> str:
    """Why the map is provisional, in a few words."""
    found, estimate = analysis.diagnostics, analysis.dimension
    if found is not None and not found.agree:
        return f"the chains did not agree (R-hat {found.r_hat:.2f}, should be below {found.limit})"
    if estimate is not None and estimate.hangs_on is None:
        return "left-out answers are predicted no better than by a coin"
    return "how many dimensions the answers need is not decided"


def tell_why_above(analysis: Analysis) -> str:
    """Why more answers are predicted than the noise ceiling says, where that is so."""
    found, ceiling = analysis.held_out, analysis.check.ceiling
    if found is None or ceiling is None or found.accuracy <= ceiling.accuracy:
        return ""
    return (
        " That is above the ceiling, which is an estimate, and about repeated comparisons alone: "
        "the others may be easier."
    )


# --- the summary ------------------------------------------------------------------------------


def _about_data(analysis: Analysis) -> str:
    counts = analysis.check.counts
    who = "" if counts.observers is None else f" of {counted(counts.observers, 'observer')}"
    return (
        f"{counted(counts.answers, 'answer')}{who} about {counted(counts.objects, 'object')}, read "
        f"from {analysis.reading.title}."
    )


def _about_map(analysis: Analysis) -> str:
    d = analysis.n_components
    shown = f"a map of {d} dimensions" if d > 1 else "a scale, in one dimension"
    if analysis.kind == "scale":
        return f"They are shown as {shown}."
    said = [f"They are shown as {shown}.", *_about_dimension(analysis), analysis.dimension_note]
    if not analysis.is_provisional:
        said.append(_about_axes(analysis))
    return " ".join(part for part in said if part)


def _about_dimension(analysis: Analysis) -> list[str]:
    """What was tried, and what it says."""
    estimate = analysis.dimension
    if estimate is None:
        return []
    tried = [row.dimension for row in estimate.rows]
    those = f"{tried[0]} to {tried[-1]}"
    if len(tried) < tried[-1] - tried[0] + 1:
        those = joined(tried)
    said = f"{those} dimensions were tried"
    d = estimate.dimension
    if d is None:
        if estimate.verdict == "cannot tell":
            return [f"{said}: left-out answers are predicted no better than by a coin."]
        best = max(estimate.rows, key=lambda row: row.accuracy.value)
        return [
            "How many the answers need is not decided, for the chains ended in different maps in "
            f"{counted(estimate.hangs_on or tried[0], 'dimension')}. {said}: of single maps, "
            f"those of {counted(best.dimension, 'dimension')} predict most left-out answers "
            f"({percent(best.accuracy.value)})."
        ]
    place = tried.index(d)
    if place + 1 == len(tried):
        return [f"{said}; {d} predict left-out answers best, and more were not tried."]
    parts = []
    if place:
        below = tried[place - 1]
        parts.append(f"{below} {_predict(below)} left-out answers worse than {d}")
    more = tried[place + 1]
    if estimate.verdict == "decided":
        again = "" if place else " left-out answers"
        parts.append(f"{more} predict{again} no better than {d}")
    elif estimate.hangs_on is None:
        parts.append(f"whether {more} predict better than {d}, the answers do not clearly tell")
    else:
        parts.append(
            f"whether {more} predict better than {d} is not decided, for the chains ended in "
            f"different maps in {counted(estimate.hangs_on, 'dimension')}"
        )
    return [f"{said}: {', and '.join(parts)}."]


def _predict(count: int) -> str:
    return "predicts" if count == 1 else "predict"


def _about_axes(analysis: Analysis) -> str:
    """How much of the spread lies along the first dimension, where there are several."""
    if analysis.n_components == 1:
        return ""
    variance = analysis.ensemble.point_mean().var(axis=0)
    return f"{percent(variance[0] / variance.sum())} of its spread is along the first dimension."


def _about_certainty(analysis: Analysis) -> str:
    if analysis.is_provisional:
        return (
            f"The map is provisional: {provisional(analysis)}. How sure it is of a comparison "
            "cannot be said."
        )
    sure = analysis.certainty
    return (
        f"The map is sure (above {percent(analysis.settings.level)}) of {percent(sure.share)} of "
        f"all comparisons of two distances from one object. If the model is right, about "
        f"{percent(sure.expected_error)} of all its comparisons are wrong."
    )


def _about_extremes(analysis: Analysis) -> str:
    # The ends of a perceptual scale are 0 and 1 by convention, not by knowledge.
    known = analysis.objects if analysis.scale is None else analysis.objects[1:-1]
    by_radius = sorted(known, key=lambda each: each.radius)
    best, worst = by_radius[0], by_radius[-1]
    if worst.radius > 1e6 * best.radius:
        return f"The place of {worst.name} is known least."
    return (
        f"The place of {best.name} is known best, that of {worst.name} least "
        f"({worst.radius / best.radius:.1f} times as uncertain, from "
        f"{counted(worst.answers, 'answer')})."
    )


def _about_held_out(analysis: Analysis) -> str:
    found = analysis.held_out
    if found is None:
        return ""
    said = (
        f"Maps that have not seen an answer predict {percent(found.accuracy)} of the answers "
        f"(standard error {percent(found.accuracy_error)})"
    )
    if (ceiling := analysis.check.ceiling) is not None:
        low, high = ceiling.accuracy_interval
        blind = " and of models that do not know who answers"
        said += (
            "; the noise ceiling, of comparisons like the repeated ones"
            f"{blind if analysis.check.counts.observers != 1 else ''}, is "
            f"{percent(ceiling.accuracy)} ({percent(low)} to {percent(high)})"
        )
    how = "are close to what happens"
    if found.calibration_error > WELL:
        how = "cannot be checked closely with so few answers"
    if not is_calibrated(found):
        how = "are off what happens"
    return (
        f"{said}.{tell_why_above(analysis)} Their stated probabilities {how}: they differ "
        f"{tell_calibration(found)}."
    )


def _about_fit(analysis: Analysis) -> str:
    if (goodness := analysis.goodness) is not None:
        poor = min(goodness.runs_p, goodness.deviance_p) < MISFIT
        word = "does not fit well" if poor else "fits"
        return (
            f"The scale {word}: {percent(goodness.daf)} of the deviance is accounted for "
            f"(simulated answers fit no better: {tell_p(goodness.deviance_p)}; runs of residuals: "
            f"{tell_p(goodness.runs_p)})."
        )
    fit = analysis.lack_of_fit
    if fit is None:
        return ""
    if fit.p_value < MISFIT:
        return (
            "On repeated comparisons the model does not fit: the answers deviate from it "
            f"{fit.ratio:.2f} times as much as noise would ({tell_p(fit.p_value)}). Read the "
            f"{'ellipses' if analysis.n_components > 1 else 'intervals'} with care."
        )
    return f"On repeated comparisons nothing speaks against the model (p = {fit.p_value:.2f})."


def _about_questions(analysis: Analysis) -> str:
    if analysis.suggestions is None or not len(analysis.suggestions):
        return ""
    anchor, one, other = analysis.suggestions.array[0].tolist()
    names = analysis.names
    return (
        f"The question that would tell most now: is {names[anchor]} closer to {names[one]} or to "
        f"{names[other]}?"
    )
