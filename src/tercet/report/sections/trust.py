"""How far to trust the map: calibration, goodness of fit, and when to abstain."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tercet.analysis.cautions import MISFIT, tell_calibration, tell_p
from tercet.analysis.result import Analysis
from tercet.analysis.words import tell_why_above
from tercet.report.markup import Section, paragraphs, rows_of, table
from tercet.report.parts import Parts
from tercet.text import percent
from tercet.uses.compare.misfit import LackOfFit
from tercet.uses.predict import HeldOut
from tercet.uses.scale import GoodnessOfFit

__all__ = ["abstain_section", "trust_section"]


def trust_section(parts: Parts) -> Section:
    """Whether confidence is deserved, and whether the model fits."""
    analysis = parts.analysis
    body = []
    if analysis.kind != "scale":
        body.append("<h3>Calibration: is it as good as its word?</h3>")
    if analysis.held_out is not None:
        body.append(paragraphs([_calibrated(analysis.held_out)]))
        caption = (
            "Of the answers predicted with 80 % confidence, 80 % should come out right. On "
            "the diagonal the map is as good as its word, below it too bold, above it too "
            "cautious. A large dot stands for many answers."
        )
        body.append(parts.picture("calibration", caption, behind=("calibration",)))
    elif analysis.kind != "scale":
        body.append("<p>There are too few answers to leave some out and predict them.</p>")
    body.append("<h3>Goodness of fit</h3>")
    lack = analysis.lack_of_fit if analysis.chains_agree else None
    fit = [*_fit(lack), *_scale_fit(analysis.goodness)]
    rows = rows_of([*_scores(analysis), *fit, *_draws(analysis)])
    body.append(table(["what", "found", "in words"], rows, "Goodness of fit"))
    residuals = (
        "Left: how far each answer is from what the scale says, sorted; it should stay within the "
        "band. Right: how often the sign of these changes, in the order of what the scale "
        "predicts, beside simulations; few changes mean that the scale misses something."
    )
    body.append(parts.picture("residuals", residuals))
    return Section("trust", "How far to trust it", "".join(body))


def abstain_section(parts: Parts) -> Section | None:
    """What it gains to predict only where the map is sure; None where nothing was left out."""
    found = parts.analysis.held_out
    if found is None:
        return None
    everything = float(found.curve.risk[-1])
    said = [f"Predicting every answer, the map is wrong in {percent(everything)}."]
    for threshold in (0.8, 0.9):
        at = found.curve.at(threshold)
        if at.coverage > 0.0:
            said.append(
                f"Where it is more than {percent(threshold)} sure, which is so for "
                f"{percent(at.coverage)} of the answers, it is wrong in {percent(at.risk)}."
            )
    caption = (
        "From right to left the map answers only the questions it is surer of. The faster the line "
        "falls to the left, the better the map knows what it does not know."
    )
    picture = parts.picture("coverage", caption, behind=("coverage",))
    return Section("abstain", "When to abstain", paragraphs(said) + picture)


def _calibrated(found: HeldOut) -> str:
    return (
        f"Held-out answers were predicted ({found.how}). Confidence and the share that "
        f"came out right differ {tell_calibration(found)}. This is about what people "
        "answer, which noise keeps from ever being certain; how sure the map is of the truth is "
        "another question."
    )


def _scores(analysis: Analysis) -> Iterator[tuple[str, str, str]]:
    found, ceiling = analysis.held_out, analysis.check.ceiling
    if found is None:
        return
    accuracy = f"{percent(found.accuracy)} ± {percent(found.accuracy_error)}"
    if ceiling is None:
        why = analysis.check.no_repeats or "too few comparisons were asked more than once"
        best = f"A coin has 50 %. The most possible is unknown: {why}."
    else:
        best = (
            f"A coin has 50 %. On comparisons like the repeated ones a model{_blind(analysis)} can "
            f"have at most about {percent(ceiling.accuracy)} (noise ceiling)."
            f"{tell_why_above(analysis)}"
        )
    yield "unseen answers predicted", accuracy, best
    coin = f"Less is better. A coin has {math.log(2.0):.3f}."
    if ceiling is not None:
        coin = f"{coin[:-1]}, such a model on such comparisons at least {ceiling.log_loss:.3f}."
    yield "log-loss of unseen answers", f"{found.log_loss:.3f} ± {found.log_loss_error:.3f}", coin
    if found.rough > 0.0:
        yield (
            "answers on which the map hangs",
            percent(found.rough),
            "The map depends strongly on these. What it would be without them is a rough guess, "
            "and the numbers above with it.",
        )


def _blind(analysis: Analysis) -> str:
    """What the models have in common that the noise ceiling is of; nothing of one observer's."""
    if analysis.check.counts.observers == 1:
        return ""
    return " that does not know who answers, such as this one,"


def _fit(found: LackOfFit | None) -> Iterator[tuple[str, str, str]]:
    if found is None:
        return
    words = (
        "The answers deviate more than noise would: more dimensions, another model, or groups of "
        "observers who see it differently."
        if found.p_value < MISFIT
        else "No more than noise would deviate. The model fits as far as the repeats can tell."
    )
    numbers = (
        f"deviance {found.deviance:.0f}, {found.expected:.0f} expected; {tell_p(found.p_value)}"
    )
    yield "lack of fit on repeated comparisons", numbers, words


def _scale_fit(found: GoodnessOfFit | None) -> Iterator[tuple[str, str, str]]:
    if found is None:
        return
    yield (
        "deviance accounted for",
        percent(found.daf),
        f"0 % is a coin. Answers simulated from the scale fit no better with "
        f"{tell_p(found.deviance_p)}.",
    )
    words = "Few runs: the scale misses something." if found.runs_p < MISFIT else "As it should be."
    yield "runs of residuals", f"{found.runs:.0f}; {tell_p(found.runs_p)}", words


def _draws(analysis: Analysis) -> Iterator[tuple[str, str, str]]:
    found = analysis.diagnostics
    if found is None:
        drawn = "scales" if analysis.kind == "scale" else "maps"
        yield (
            drawn,
            f"{analysis.ensemble.n_samples} of answers drawn anew",
            f"A bootstrap: {analysis.why}.",
        )
        return
    fewest = min(found.ess_bulk, found.ess_tail)
    words = (
        "; ".join(found.problems)
        if found.problems
        else f"The chains agree (1 is perfect, {found.limit} too much)."
    )
    yield f"R-hat of {found.n_chains} chains", f"{found.r_hat:.3f}", words
    yield (
        "independent maps",
        f"{fewest:.0f} of {found.n_chains * found.n_samples} drawn",
        "What the draws are worth, at the least.",
    )
