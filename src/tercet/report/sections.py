"""The text and tables of each section of the page; templates turn them into HTML."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tercet.analysis.analysis import Analysis, Object
from tercet.analysis.cautions import (
    MISFIT,
    describe_calibration,
    format_p,
    is_calibrated,
    is_overconfident,
)
from tercet.analysis.words import explain_above_ceiling, provisional
from tercet.answers.choices import Choices
from tercet.answers.repeats import Disagreement, NoiseCeiling
from tercet.held_out import RARELY
from tercet.report.appearance import Appearance
from tercet.report.frame import files_to_save
from tercet.tables import Table
from tercet.text import counted, percent
from tercet.uses.certainty import CertainComparison
from tercet.uses.compare.comparison import LackOfFit
from tercet.uses.quality import AnswerCheck
from tercet.uses.quality.counts import Spread
from tercet.uses.quality.observers import CANNOT_TELL
from tercet.uses.quality.side_words import about_positions
from tercet.uses.scale import GoodnessOfFit

__all__ = ["CROWD", "Section", "format_probability", "sections"]

CROWD = 80  # objects, above which the map shows points without ellipses
MOST_FLAGGED = 8  # observers who are named one by one
_WHY_ASK = {
    "mutual_information": "These are the most informative about which map is true.",
    "uncertainty": "The map is least certain of these comparisons.",
}


@dataclass(frozen=True)
class Section:
    """A section of the page; its template has the name of its key."""

    key: str  # its id
    title: str
    paragraphs: list[str] = field(default_factory=list)
    context: dict[str, Any] = field(default_factory=dict)  # for its template


class Ask(NamedTuple):
    """A comparison as a question, by the names of its objects."""

    anchor: str
    one: str
    other: str
    score: float


class Fact(NamedTuple):
    """A comparison with its probability, by the names of its objects."""

    anchor: str
    near: str
    far: str
    probability: float
    shown: str
    asked: str


def sections(analysis: Analysis, looks: Appearance) -> list[Section]:
    """All sections that have content, in order."""
    made = (
        _map(analysis, looks),
        _data(analysis),
        _comparisons(analysis),
        _trust(analysis),
        _abstain(analysis),
        _dimension(analysis),
        _observers(analysis),
        _questions(analysis),
        Section(
            "methods",
            "Methods, for a paper",
            [analysis.methods, analysis.results],
            {"citations": analysis.citations},
        ),
        Section(
            "downloads",
            "Tables to save",
            ["These files are part of this page; nothing is downloaded from the network."],
            {"files": list(files_to_save(analysis))},
        ),
    )
    return [section for section in made if section is not None]


# --- the map ----------------------------------------------------------------------------------


def _map(analysis: Analysis, looks: Appearance) -> Section:
    """The figure, how to read it, nearest neighbours, and the numbers behind it."""
    banner = ""
    if analysis.is_provisional:
        more = (
            "Maps with other numbers of dimensions look different."
            if analysis.chains_agree
            else "Positions and their uncertainty mix several different maps."
        )
        banner = f"Provisional: {provisional(analysis)}. {more}"
    neighbours = [_near(each, analysis, looks) for each in analysis.objects]
    context = {
        "banner": banner,
        "caption": _how_to_read(analysis),
        "neighbours": neighbours,
        "is_scale": analysis.n_components == 1,
        "is_flat": analysis.n_components <= 2,
        "heat": (
            "The expected distance of every two objects over all dimensions; dark is near. Similar "
            "objects are adjacent, so groups are dark squares along the diagonal."
        ),
    }
    return Section("map", "The scale" if analysis.n_components == 1 else "The map", context=context)


def _how_to_read(analysis: Analysis) -> str:
    level = percent(analysis.settings.level)
    d, draws = analysis.n_components, f"{analysis.ensemble.n_samples} maps that fit the answers"
    if analysis.kind != "posterior":
        draws = f"{analysis.ensemble.n_samples} maps of resampled answers"
    whose = "the map of this observer"
    if analysis.check.counts.observers != 1:
        whose = "the pooled map of these observers"
    kind = "credible" if analysis.kind == "posterior" else "confidence"
    contains = (
        f"is the {level} {kind} {'interval' if d == 1 else 'region'} of its position on {whose}, "
        "if the model and the number of dimensions are right"
    )
    if not analysis.chains_agree:
        contains = f"contains {level} of the draws, but the chains disagree"
    if analysis.scale is not None:
        return (
            f"The perceived value of each stimulus, with {level} intervals from "
            f"{analysis.ensemble.n_samples} scales of resampled answers. The first stimulus is 0 "
            "and the last is 1."
        )
    if d == 1:
        return (
            f"A point is the mean position of an object over {draws}; its line {contains}. Only "
            "the order and the ratios of distances are meaningful: the scale may be reflected, "
            "shifted and rescaled."
        )
    certain = "" if analysis.is_provisional else ": see below which comparisons are certain"
    seen = f"Two of {d} dimensions are shown, at first those with the largest spread. "
    shown = ", shown where you point," if len(analysis.objects) > CROWD else ""
    return (
        f"{seen if d > 2 else ''}A point is the mean position of an object over {draws}; its "
        f"ellipse{shown} {contains}. Overlap of two ellipses is not a test{certain}. Objects that "
        "are close on the map were judged similar. The map may be rotated, reflected, shifted and "
        "rescaled: its axes have no names and no units."
    )


def _near(each: Object, analysis: Analysis, looks: Appearance) -> dict[str, Any]:
    """A row of the table of nearest neighbours."""
    return {
        "number": each.number,
        "name": each.name,
        "group": looks.groups[each.number] if looks.groups else None,
        "picture": looks.pictures[each.number] if looks.pictures else None,
        "near": [
            (analysis.objects[other.object].name, format_probability(other.probability))
            for other in each.neighbours
        ],
    }


def format_probability(share: float) -> str:
    """A probability in whole percent; 100 % only if all draws agree."""
    return f"{100.0 * share:.0f} %" if share < 0.995 or share == 1.0 else "over 99 %"


# --- the answers ------------------------------------------------------------------------------


def _data(analysis: Analysis) -> Section:
    """What was read: counts, repeats and gaps."""
    rows = [*_counts(analysis), *_repeats(analysis), *_whole(analysis.check)]
    checked = Table("What was checked", ["measure", "value"], [list(row) for row in rows])
    return Section("data", "The answers", analysis.reading.sentences(), {"checked": checked})


def _counts(analysis: Analysis) -> Iterator[tuple[str, str]]:
    counts, answers = analysis.check.counts, analysis.answers
    yield "answers", f"{answers.n_answers}"
    if isinstance(answers, Choices):
        yield "each is a choice on a screen", answers.in_words
        yield "comparisons within these choices", f"{counts.answers}"
    yield "different comparisons", f"{counts.comparisons}"
    yield "objects", f"{counts.objects}"
    yield "observers", "unknown" if counts.observers is None else f"{counts.observers}"
    if counts.screens is not None and not isinstance(answers, Choices):
        yield "screens", f"{counts.screens}"
    rarest = ", ".join(map(str, counts.rarest[:3]))
    yield f"{counts.word}s per object", f"{_spread(counts.per_object)}; fewest: {rarest}"
    if counts.per_observer is not None:
        yield f"{counts.word}s per observer", _spread(counts.per_observer)


def _repeats(analysis: Analysis) -> Iterator[tuple[str, str]]:
    check, found = analysis.check, analysis.check.repeats
    if found is None:
        why = check.no_repeats[:1].upper() + check.no_repeats[1:]
        yield "comparisons asked more than once", f"None can be used. {why}."
        yield "noise ceiling", "unknown: it requires comparisons asked more than once"
        return
    often, what, of = f"with {found.answers} answers", "noise ceiling", " of"
    of_what = "answers"
    if check.counts.shares_screens:
        often = f"{found.answers} times in all"
    yield "comparisons asked more than once", f"{found.comparisons}, {often}"
    yield "of these, answered both ways", f"{found.contradicted}"
    for who, kind in (
        ("two answers of one observer differ", found.within),
        ("answers of two observers differ", found.between),
        ("two answers to one comparison differ", found.overall if not found.within else None),
    ):
        if kind is not None and not math.isnan(kind.rate):
            yield who, _rate(kind)
    if isinstance(analysis.answers, Choices):
        what, of, of_what = "noise ceiling of single comparisons", ", for", "comparisons"
        unknown, whole = f"unknown: {analysis.no_ceiling}", analysis.ceiling
        yield "noise ceiling of whole answers", _share(whole, "answers") if whole else unknown
    if found.ceiling is None:
        yield what, "unknown: too few comparisons were asked more than once"
    several = check.counts.observers != 1
    own = found.own_ceiling if several else None
    for who, ceiling in (("does not know", found.ceiling), ("knows", own)):
        if ceiling is not None:
            which = f"{of} a model that {who} who answers" if several else ""
            yield f"{what}{which}", _share(ceiling, of_what)


def _share(ceiling: NoiseCeiling, of: str) -> str:
    low, high = ceiling.accuracy_interval
    return (
        f"{percent(ceiling.accuracy)} of these {of} (95 % interval {percent(low)} to "
        f"{percent(high)})"
    )


def _whole(check: AnswerCheck) -> Iterator[tuple[str, str]]:
    yield "gaps", " ".join(check.gaps) or "none: answers connect every object with all others"
    if check.catch_trials:
        yield "catch trials passed", f"{check.catch_passed} of {check.catch_trials}"
    if said := about_positions(check.side_bias, check.serial_dependence):
        yield "positions on the screen", " ".join(said)


def _rate(kind: Disagreement) -> str:
    return f"in {percent(kind.rate)} of {counted(kind.pairs, 'pair')} (50 % if everyone guessed)"


def _spread(spread: Spread) -> str:
    return f"{spread.least:.0f} to {spread.most:.0f}, median {spread.median:g}"


# --- comparisons ------------------------------------------------------------------------------


def _comparisons(analysis: Analysis) -> Section:
    """How certain the map is of all comparisons, and of some of them by name."""
    title = "Which comparisons are certain"
    if analysis.is_provisional:
        why = (
            f"This cannot be stated, because {provisional(analysis)}. What is certain in one map "
            "may be wrong in another, so no comparisons are listed."
        )
        return Section("comparisons", title, [why])
    certain, level = analysis.certainty, percent(analysis.settings.level)
    which = f"all {certain.counted} comparisons of these objects"
    if certain.is_sample:
        which = f"{certain.counted} comparisons of these objects, drawn at random"
    intro = [
        f"Is x closer to y or to z? Of {which}, asked or not, {percent(certain.share)} are more "
        f"than {level} certain. If the map had to decide them all, "
        f"{percent(certain.expected_error)} would be expected to be wrong."
    ]
    held_out = analysis.held_out
    if held_out is not None and not is_calibrated(held_out) and is_overconfident(held_out):
        intro.append(
            "Interpret this with care: fewer held-out answers were predicted correctly than the "
            "probabilities stated."
        )
    rows = [[percent(at), percent(share)] for at, share in certain.shares]
    context: dict[str, Any] = {
        "caption": (
            "Share of comparisons by certainty. 50 % is chance. The higher the line stays to the "
            "right, the more comparisons are certain."
        ),
        "shares": Table(
            "Share of comparisons by certainty", ["more certain than", "comparisons"], rows
        ),
        "lists": [
            (
                "Most certain",
                "One for each anchor, the most certain first.",
                _facts(certain.most, analysis, "so"),
            )
        ],
        "counted": not analysis.triplets.is_quadruplets,
    }
    if certain.least:
        why = (
            "One for each anchor, the least certain first. The two distances may be equal, or too "
            "few people were asked."
        )
        context["lists"].append(
            ("Least certain", why, _facts(certain.least, analysis, "the first"))
        )
    if certain.contested:
        why = (
            f"These are more than {level} certain on the map, but most people who were asked said "
            "the opposite: slips, people who see it differently, or a map that is too simple."
        )
        contested = _facts(certain.contested, analysis, "so")
        context["lists"].append(("Contested", why, contested))
    return Section("comparisons", title, intro, context)


def _facts(claims: Iterable[CertainComparison], analysis: Analysis, so: str) -> list[Fact]:
    names = analysis.names
    return [
        Fact(
            names[claim.anchor],
            names[claim.near],
            names[claim.far],
            claim.probability,
            "over 99.9 %" if claim.probability > 0.999 else percent(claim.probability),
            f"{claim.agreed} of {claim.answers} said {so}" if claim.answers else "never asked",
        )
        for claim in claims
    ]


# --- trust ------------------------------------------------------------------------------------


def _trust(analysis: Analysis) -> Section:
    """Whether the probabilities are calibrated, and whether the model fits."""
    said, held_out = [], analysis.held_out
    if held_out is not None:
        said.append(
            f"Held-out answers were predicted ({held_out.how}). Stated probabilities differ from "
            f"observed frequencies {describe_calibration(held_out)}. This concerns what people "
            "will answer, which noise always leaves uncertain; how certain the map is of the truth "
            "is a separate question."
        )
    elif analysis.kind != "scale":
        said.append("There are too few answers to hold some out and predict them.")
    lack = analysis.lack_of_fit if analysis.chains_agree else None
    rows = [*_scores(analysis), *_fit(lack), *_scale_fit(analysis.goodness), *_draws(analysis)]
    context = {
        "is_scale": analysis.kind == "scale",
        "caption": (
            "Of the predictions made with 80 % confidence, 80 % should be correct. On the "
            "diagonal the probabilities are calibrated; below it they are overconfident, above it "
            "underconfident. Larger dots stand for more answers."
        ),
        "fit": Table(
            "Goodness of fit", ["measure", "value", "meaning"], [list(row) for row in rows]
        ),
        "residuals": (
            "Left: sorted deviance residuals of the answers; they should stay within the band. "
            "Right: the number of runs of residuals of the same sign, ordered by the predictions, "
            "beside simulations; too few runs mean that the scale misses something."
        ),
    }
    return Section("trust", "How far to trust it", said, context)


def _abstain(analysis: Analysis) -> Section | None:
    """The gain of predicting only where certain; None if nothing was held out."""
    found = analysis.held_out
    if found is None:
        return None
    whole = " as a whole" if found.chance < RARELY else ""
    wrong = percent(float(found.curve.risk[-1]))
    said = [f"If every answer is predicted{whole}, {wrong} are wrong."]
    for threshold in (0.8, 0.9):
        at = found.curve.at(threshold)
        if at.coverage > 0.0:
            said.append(
                f"Confidence is above {percent(threshold)} for {percent(at.coverage)} of the "
                f"answers; of these predictions {percent(at.risk)} are wrong."
            )
    caption = (
        "From right to left only the more confident predictions are kept. The faster the line "
        "falls to the left, the better the map separates what it knows from what it does not."
    )
    return Section("abstain", "When to abstain", said, {"caption": caption})


def _scores(analysis: Analysis) -> Iterator[tuple[str, str, str]]:
    found, ceiling = analysis.held_out, analysis.ceiling
    if found is None:
        return
    accuracy = f"{percent(found.accuracy)} ± {percent(found.accuracy_error)}"
    blind = ""
    if analysis.check.counts.observers != 1:
        blind = " and models that, like this one, do not know who answers"
    if ceiling is None:
        best = f"The noise ceiling is unknown: {analysis.no_ceiling}."
    else:
        best = (
            f"The noise ceiling is about {percent(ceiling.accuracy)}, for {ceiling.asked}s like "
            f"the repeated ones{blind}.{explain_above_ceiling(analysis)}"
        )
    chance = f"Chance is {percent(found.chance)}."
    yield "held-out answers predicted correctly", accuracy, f"{chance} {best}"
    if found.chance < RARELY:
        single, within = "", analysis.check.ceiling
        if within is not None:
            single = (
                f" The noise ceiling of single comparisons is about {percent(within.accuracy)}."
            )
        yield (
            "comparisons within held-out answers predicted correctly",
            percent(found.in_order),
            f"Chance is 50 %.{single} An answer counts as predicted correctly only if all of it "
            "is.",
        )
    lowest = "" if ceiling is None else f", at the noise ceiling {ceiling.log_loss:.3f}"
    yield (
        "log-loss of held-out answers",
        f"{found.log_loss:.3f} ± {found.log_loss_error:.3f}",
        f"Lower is better: {found.chance_log_loss:.3f} by chance{lowest}.",
    )
    if found.rough > 0.0:
        yield (
            "influential answers (Pareto k̂ > 0.7)",
            percent(found.rough),
            "The map depends strongly on these, which makes leave-one-out, and the numbers above, "
            "less reliable.",
        )


def _fit(found: LackOfFit | None) -> Iterator[tuple[str, str, str]]:
    if found is None:
        return
    words = (
        "The answers deviate more than noise explains: more dimensions may be needed, another "
        "model, or separate maps for groups of observers who differ."
        if found.p_value < MISFIT
        else "No lack of fit was found: deviations are no larger than noise explains."
    )
    numbers = (
        f"deviance {found.deviance:.0f}, {found.expected:.0f} expected; {format_p(found.p_value)}"
    )
    yield "lack of fit on repeated comparisons", numbers, words


def _scale_fit(found: GoodnessOfFit | None) -> Iterator[tuple[str, str, str]]:
    if found is None:
        return
    yield (
        "deviance accounted for",
        percent(found.daf),
        f"0 % is chance. Compared with answers simulated from the scale: "
        f"{format_p(found.deviance_p)}.",
    )
    words = "Too few runs: the scale misses something."
    if found.runs_p >= MISFIT:
        words = "As expected if the scale is right."
    yield "runs of residuals", f"{found.runs:.0f}; {format_p(found.runs_p)}", words


def _draws(analysis: Analysis) -> Iterator[tuple[str, str, str]]:
    found = analysis.diagnostics
    if found is None:
        drawn = "scales" if analysis.kind == "scale" else "maps"
        yield (
            drawn,
            f"{analysis.ensemble.n_samples}, of resampled answers",
            f"A bootstrap: {analysis.why}.",
        )
        return
    fewest = min(found.ess_bulk, found.ess_tail)
    words = (
        "; ".join(found.problems)
        if found.problems
        else f"The chains agree (should be below {found.limit})."
    )
    yield f"R-hat of {found.n_chains} chains", f"{found.r_hat:.3f}", words
    yield (
        "effective sample size",
        f"{fewest:.0f} of {found.n_chains * found.n_samples} draws",
        "The draws are equivalent to at least this many independent ones.",
    )


# --- dimension, observers, questions ----------------------------------------------------------


def _dimension(analysis: Analysis) -> Section:
    """The evidence, or that the dimension was given."""
    found, d = analysis.dimension, analysis.n_components
    shown = f"The map has {counted(d, 'dimension')}."
    said, caption = [shown], ""
    if found is not None:
        caption = (
            "Every dimension that is needed improves the prediction of held-out answers; one too "
            "many does not. Bars are one standard error; the grey band is the recommended number."
        )
        if found.disagreeing:
            caption += (
                " Hollow points are from chains that ended in different maps: by themselves they "
                "are not evidence."
            )
        if found.dimension is None:
            said = [f"The number of dimensions is undecided; the map shows {d}."]
        said.append(found.reason)
    said += [analysis.dimension_note] if analysis.dimension_note else []
    return Section("dimension", "How many dimensions", said, {"caption": caption})


def _observers(analysis: Analysis) -> Section:
    """Each observer compared with the others, or why that is impossible."""
    check, title = analysis.check, "Observers"
    if not check.observers:
        why = "It is not known who gave each answer, so observers could not be checked."
        return Section("observers", title, [why])
    if len(check.observers) == 1:
        why = "There is one observer, and nobody to compare with."
        return Section("observers", title, [why])
    flagged = [each for each in check.observers if each.flags]
    said = []
    if not math.isnan(check.typical):
        said.append(
            f"For the typical observer, a map of the others' answers predicts "
            f"{percent(check.typical)} of the {check.counts.word}s correctly."
        )
    said += [f"{each.observer}: {', '.join(each.flags)}." for each in flagged[:MOST_FLAGGED]]
    if len(flagged) > MOST_FLAGGED:
        said.append(f"{len(flagged) - MOST_FLAGGED} more need attention; see the table.")
    unknown = sum(each.verdict == CANNOT_TELL for each in check.observers)
    if unknown:
        whom = "any of them" if unknown == len(check.observers) else f"{unknown} of them"
        said.append(f"Whether {whom} guessed cannot be determined.")
    elif not flagged:
        said.append("No observer appears to guess or to reverse the answers.")
    if check.catch_trials:
        said.append(f"{check.catch_passed} of {check.catch_trials} catch trials were passed.")
    caption = (
        f"Share of each observer's {check.counts.word}s that a map of the others' answers predicts "
        "correctly, with 95 % intervals. 50 %, the grey line, is chance level. Observers in orange "
        "need attention."
    )
    return Section("observers", title, said, {"caption": caption})


def _questions(analysis: Analysis) -> Section:
    """The most informative next questions."""
    found, names, title = analysis.suggestions, analysis.names, "What to ask next"
    if found is None:
        return Section("questions", title, [_why_none(analysis)])
    why = _WHY_ASK.get(found.strategy, "")
    if analysis.is_provisional:
        why = "The map is provisional, so other questions may be more informative."
    how = "Ask several people, and randomise on which side the two objects are shown."
    rows = zip(found.array.tolist(), found.scores.tolist(), strict=True)
    context = {
        "asks": [Ask(names[a], names[b], names[c], score) for (a, b, c), score in rows],
        "unit": "bits" if found.strategy == "mutual_information" else "",
    }
    return Section("questions", title, [part for part in (why, how) if part], context)


def _why_none(analysis: Analysis) -> str:
    """Why nothing is suggested."""
    if analysis.kind == "scale":
        return "Questions are suggested for maps only, and this is a scale."
    if analysis.triplets.is_quadruplets:
        return "Questions are suggested for triplets only; these answers are about four objects."
    return "None were requested, or all comparisons have been asked."
