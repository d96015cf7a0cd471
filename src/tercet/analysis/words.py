"""The summary of an analysis in sentences, and phrases that the page and the paragraphs share."""

from __future__ import annotations

from tercet.analysis.analysis import Analysis
from tercet.analysis.cautions import CLOSE, MISFIT, describe_calibration, format_p, is_calibrated
from tercet.answers.choices import Choices
from tercet.held_out import RARELY
from tercet.text import counted, joined, percent, wrap

__all__ = ["explain_above_ceiling", "in_lines", "modelled_as", "provisional", "summary"]


def summary(analysis: Analysis) -> list[str]:
    """The main results: the answers, the map, and how far to trust it."""
    said = [_about_data(analysis), _about_map(analysis), _about_certainty(analysis)]
    others = [_about_extremes, _about_held_out, _about_fit, _about_questions]
    if analysis.is_provisional:  # nothing that depends on positions
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
    chains, estimate = analysis.diagnostics, analysis.dimension
    if chains is not None and not chains.agree:
        return (
            f"the chains did not converge (R-hat {chains.r_hat:.2f}, should be below "
            f"{chains.limit})"
        )
    if estimate is not None and estimate.undecided_at is None:
        return "held-out answers are predicted at chance level"
    return "the number of dimensions is undecided"


def explain_above_ceiling(analysis: Analysis) -> str:
    """Why the accuracy can be above the noise ceiling, where it is."""
    held_out, ceiling = analysis.held_out, analysis.ceiling
    if held_out is None or ceiling is None or held_out.accuracy <= ceiling.accuracy:
        return ""
    return (
        f" That is above the ceiling, which is estimated from repeated {ceiling.asked}s alone; the "
        "others may be easier."
    )


def modelled_as(analysis: Analysis) -> str:
    """How the answers on screens were modelled; empty if each is one comparison."""
    if not isinstance(analysis.answers, Choices):
        return ""
    return (
        f"Each answer is one choice among pairs of objects on a screen "
        f"({analysis.answers.in_words}), and is modelled as such by its exact likelihood; together "
        f"the answers contain {counted(analysis.check.counts.answers, 'comparison')}."
    )


# --- the summary ------------------------------------------------------------------------------

_WORDS = ("No", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")


def _about_data(analysis: Analysis) -> str:
    counts = analysis.check.counts
    who = "" if counts.observers is None else f" by {counted(counts.observers, 'observer')}"
    return (
        f"{counted(analysis.answers.n_answers, 'answer')}{who} about "
        f"{counted(counts.objects, 'object')}, read from {analysis.reading.title}. "
        f"{modelled_as(analysis)}"
    ).rstrip()


def _about_map(analysis: Analysis) -> str:
    if analysis.kind == "scale":
        return "The stimuli are shown on a perceptual scale, in one dimension."
    said = [_about_dimension(analysis), analysis.dimension_note]
    if not analysis.is_provisional and analysis.n_components > 1:
        variance = analysis.ensemble.point_mean().var(axis=0)
        share = percent(variance[0] / variance.sum())
        said.append(f"{share} of the variance is along the first dimension.")
    return " ".join(part for part in said if part)


def _about_dimension(analysis: Analysis) -> str:
    """The number of dimensions, and the evidence for it."""
    estimate, d = analysis.dimension, analysis.n_components
    shown = f"{_WORDS[d] if d < len(_WORDS) else d} dimension{'' if d == 1 else 's'}"
    if estimate is None:
        return f"{shown}."
    dimensions = [row.dimension for row in estimate.rows]
    tried = f"{dimensions[0]} to {dimensions[-1]}"
    if len(dimensions) < dimensions[-1] - dimensions[0] + 1:
        tried = joined(dimensions)
    tried += " tried" if estimate.by_chains else " tried, by cross-validation alone"
    stuck = estimate.undecided_at and (
        f"the chains ended in different maps in {counted(estimate.undecided_at, 'dimension')}"
    )
    if estimate.dimension is None:
        if not stuck:
            return f"{shown} by default: held-out answers are predicted at chance level ({tried})."
        best = max(estimate.rows, key=lambda row: row.accuracy.value)
        return (
            f"{shown} by default: how many are needed is undecided, because {stuck}. Of single "
            f"maps, those in {counted(best.dimension, 'dimension')} predict held-out "
            f"{analysis.check.counts.word}s best ({percent(best.accuracy.value)} correct; {tried})."
        )
    place = dimensions.index(estimate.dimension)
    worse = "fewer predict held-out answers worse" if place else ""
    if place + 1 == len(dimensions):
        return f"At least {shown.lower()}: {worse}, more were not tried ({tried})."
    more = dimensions[place + 1]
    if estimate.verdict == "decided":
        after = ", more do not help" if place else "more do not predict held-out answers better"
    else:
        after = f"; whether {more} predict" if place else f"whether {more} predict held-out answers"
        after += " better is "
        after += f"undecided, because {stuck}" if stuck else "unclear from these answers"
    return f"{shown}: {worse}{after} ({tried})."


def _about_certainty(analysis: Analysis) -> str:
    if analysis.is_provisional:
        return (
            f"The map is provisional: {provisional(analysis)}. The certainty of comparisons cannot "
            "be stated."
        )
    certainty = analysis.certainty
    return (
        f"{percent(certainty.share)} of all comparisons (is x closer to y or to z?) are more than "
        f"{percent(analysis.settings.level)} certain. If the model is right, about "
        f"{percent(certainty.expected_error)} of all comparisons on the map are wrong."
    )


def _about_extremes(analysis: Analysis) -> str:
    # The ends of a perceptual scale are 0 and 1 by convention, not by knowledge.
    free = analysis.objects if analysis.scale is None else analysis.objects[1:-1]
    by_radius = sorted(free, key=lambda each: each.radius)
    best, worst = by_radius[0], by_radius[-1]
    if worst.radius > 1e6 * best.radius:
        return f"The position of {worst.name} is the least certain."
    return (
        f"The position of {best.name} is the most certain, that of {worst.name} the least "
        f"({worst.radius / best.radius:.1f} times as uncertain, from "
        f"{counted(worst.answers, 'answer')})."
    )


def _about_held_out(analysis: Analysis) -> str:
    held_out = analysis.held_out
    if held_out is None:
        return ""
    guessing = ""
    if isinstance(analysis.answers, Choices):
        guessing = f"; {percent(held_out.chance)} by guessing"
    said = (
        f"{percent(held_out.accuracy)} of held-out answers are predicted correctly (standard error "
        f"{percent(held_out.accuracy_error)}{guessing})."
    )
    if held_out.chance < RARELY:
        said += (
            f" Of the comparisons within them, {percent(held_out.in_order)} are predicted "
            "correctly."
        )
    if (ceiling := analysis.ceiling) is not None:
        low, high = ceiling.accuracy_interval
        blind = " and models that do not know who answers"
        said += (
            f" The noise ceiling is {percent(ceiling.accuracy)} ({percent(low)} to "
            f"{percent(high)}), for {ceiling.asked}s like the repeated ones"
            f"{blind if analysis.check.counts.observers != 1 else ''}."
        )
    how = "The probabilities are calibrated"
    if held_out.calibration_error > held_out.calibration_limit:
        how = "The probabilities are nearly calibrated"
    if held_out.calibration_error > CLOSE:
        how = "There are too few answers to check the probabilities closely"
    if not is_calibrated(held_out):
        how = "The probabilities are not calibrated"
    return (
        f"{said}{explain_above_ceiling(analysis)} {how}: they differ from observed frequencies "
        f"{describe_calibration(held_out)}."
    )


def _about_fit(analysis: Analysis) -> str:
    if (goodness := analysis.goodness) is not None:
        poor = min(goodness.runs_p, goodness.deviance_p) < MISFIT
        return (
            f"The scale {'does not fit well' if poor else 'fits'}: it accounts for "
            f"{percent(goodness.daf)} of the deviance (deviance {format_p(goodness.deviance_p)}, "
            f"runs of residuals {format_p(goodness.runs_p)})."
        )
    fit = analysis.lack_of_fit
    if fit is None:
        return ""
    if fit.p_value < MISFIT:
        return (
            "The model does not fit the repeated comparisons: the answers deviate from it "
            f"{fit.ratio:.2f} times as much as noise explains ({format_p(fit.p_value)}). Interpret "
            f"the {'ellipses' if analysis.n_components > 1 else 'intervals'} with care."
        )
    return f"No lack of fit was found on repeated comparisons (p = {fit.p_value:.2f})."


def _about_questions(analysis: Analysis) -> str:
    if analysis.suggestions is None or not len(analysis.suggestions):
        return ""
    anchor, one, other = (analysis.names[i] for i in analysis.suggestions.array[0].tolist())
    return f"Most informative next question: is {anchor} closer to {one} or to {other}?"
