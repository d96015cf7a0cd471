"""What each section of the page says, as plain text and tables; templates make HTML of it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tercet.analysis.cautions import MISFIT, is_bold, is_calibrated, tell_calibration, tell_p
from tercet.analysis.result import Analysis, Object
from tercet.analysis.words import provisional, tell_why_above
from tercet.answers.repeats import Disagreement
from tercet.report.appearance import Appearance
from tercet.report.frame import files_to_save
from tercet.tables import Table
from tercet.text import counted, percent
from tercet.uses.certainty import Claim
from tercet.uses.compare.comparison import LackOfFit
from tercet.uses.quality import AnswerCheck
from tercet.uses.quality.counts import Spread
from tercet.uses.quality.observers import CANNOT_TELL
from tercet.uses.scale import GoodnessOfFit

__all__ = ["CROWD", "Section", "sections", "tell_chance"]

CROWD = 80  # objects, beyond which a map of all ellipses would be a blot: it shows points
MOST_FLAGGED = 8  # observers who are named one by one
_WHY_ASK = {
    "mutual_information": "The answers to these would tell most about which of the maps is true.",
    "uncertainty": "The map is least certain of these comparisons.",
}


@dataclass(frozen=True)
class Section:
    """A section of the page; its template is called like its key."""

    key: str  # its id
    title: str
    paragraphs: list[str] = field(default_factory=list)
    told: dict[str, Any] = field(default_factory=dict)  # what else its template shows


class Ask(NamedTuple):
    """A comparison as a question, by the names of its objects."""

    anchor: str
    one: str
    other: str
    score: float


class Fact(NamedTuple):
    """A comparison as the map sees it, by the names of its objects."""

    anchor: str
    near: str
    far: str
    probability: float
    shown: str
    asked: str


def sections(analysis: Analysis, looks: Appearance) -> list[Section]:
    """All sections that there is something to put into, in the order of their reading."""
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
            ["Each is a part of this page; nothing is fetched."],
            {"files": list(files_to_save(analysis))},
        ),
    )
    return [section for section in made if section is not None]


# --- the map ----------------------------------------------------------------------------------


def _map(analysis: Analysis, looks: Appearance) -> Section:
    """The picture, how to read it, who is near whom, and the numbers behind it."""
    banner = ""
    if analysis.is_provisional:
        more = (
            "Maps with other numbers of dimensions look different."
            if analysis.chains_agree
            else "Places and their uncertainty mix several different maps."
        )
        banner = f"Provisional: {provisional(analysis)}. {more}"
    neighbours = [_near(each, analysis, looks) for each in analysis.objects]
    told = {
        "banner": banner,
        "caption": _how_to_read(analysis),
        "neighbours": neighbours,
        "is_scale": analysis.n_components == 1,
        "is_flat": analysis.n_components <= 2,
        "heat": (
            "The expected distance of every two objects in all dimensions together, dark being "
            "near. Like stands beside like, so that groups are dark squares along the diagonal."
        ),
    }
    return Section("map", "The scale" if analysis.n_components == 1 else "The map", told=told)


def _how_to_read(analysis: Analysis) -> str:
    level = percent(analysis.settings.level)
    d, draws = analysis.n_components, f"{analysis.ensemble.n_samples} maps that fit the answers"
    if analysis.kind != "posterior":
        draws = f"{analysis.ensemble.n_samples} maps, each of answers drawn anew"
    held = f"where it may be {_given(analysis)}"
    if not analysis.chains_agree:
        held = "the draws, which do not agree"
    if analysis.scale is not None:
        return (
            "How far apart stimuli look: the perceived value of each, with a line that holds "
            f"{level} of {analysis.ensemble.n_samples} scales, each of answers drawn anew. The "
            "first stimulus is 0 and the last is 1."
        )
    if d == 1:
        return (
            f"A point is where an object lies on average over {draws}; its line holds {level} of "
            f"{held}. Only the order and the ratios of distances mean something: the scale may be "
            "turned around, moved and stretched."
        )
    certain = "" if analysis.is_provisional else ": which comparisons are certain is told below"
    seen = (
        f"Two of {d} dimensions are shown, at first the two along which the objects differ most. "
        if d > 2
        else ""
    )
    shown = ", shown where you point," if len(analysis.objects) > CROWD else ""
    return (
        f"{seen}A point is where an object lies on average over {draws}; its ellipse{shown} holds "
        f"{level} of {held}. Whether two ellipses overlap is no test{certain}. What is near on the "
        "map was judged alike. The map may be turned, mirrored, moved and stretched: its axes have "
        "no names, and no units."
    )


def _given(analysis: Analysis) -> str:
    """What an ellipse takes for granted."""
    many = analysis.check.counts.observers
    whose = "the pooled map of these observers" if many != 1 else "the map of this observer"
    return f"on {whose}, if the model and the number of dimensions are right"


def _near(each: Object, analysis: Analysis, looks: Appearance) -> dict[str, Any]:
    """A row of the table of nearest neighbours."""
    return {
        "number": each.number,
        "name": each.name,
        "group": looks.groups[each.number] if looks.groups else None,
        "picture": looks.pictures[each.number] if looks.pictures else None,
        "near": [
            (analysis.objects[other.object].name, tell_chance(other.probability))
            for other in each.neighbours
        ],
    }


def tell_chance(share: float) -> str:
    """A probability in whole percent, certain only where all draws agree."""
    return f"{100.0 * share:.0f} %" if share < 0.995 or share == 1.0 else "over 99 %"


# --- the answers ------------------------------------------------------------------------------


def _data(analysis: Analysis) -> Section:
    """What was read, counts, repeats and connectedness."""
    rows = [*_counts(analysis), *_repeats(analysis.check), *_whole(analysis.check)]
    checked = Table("What was checked", ["what", "found"], [list(row) for row in rows])
    return Section("data", "The answers", analysis.reading.sentences(), {"checked": checked})


def _counts(analysis: Analysis) -> Iterator[tuple[str, str]]:
    counts = analysis.check.counts
    yield "answers", f"{counts.answers}"
    yield "different comparisons", f"{counts.comparisons}"
    yield "objects", f"{counts.objects}"
    yield "observers", "unknown" if counts.observers is None else f"{counts.observers}"
    if counts.screens is not None:
        yield "screens", f"{counts.screens}"
    rarest = ", ".join(map(str, counts.rarest[:3]))
    yield "answers that mention an object", f"{_spread(counts.per_object)}; fewest: {rarest}"
    if counts.per_observer is not None:
        yield "answers of an observer", _spread(counts.per_observer)


def _repeats(check: AnswerCheck) -> Iterator[tuple[str, str]]:
    found = check.repeats
    if found is None:
        why = check.no_repeats[:1].upper() + check.no_repeats[1:]
        yield "comparisons asked more than once", f"none can be used. {why}."
        yield "noise ceiling", "unknown: it needs comparisons that were asked again"
        return
    yield "comparisons asked more than once", f"{found.comparisons}, with {found.answers} answers"
    yield "of these answered both ways", f"{found.contradicted}"
    for who, kind in (
        ("two answers of one observer differ", found.within),
        ("answers of two observers differ", found.between),
        ("two answers to one comparison differ", found.overall if not found.within else None),
    ):
        if kind is not None and not math.isnan(kind.rate):
            yield who, _rate(kind)
    if found.ceiling is None:
        yield "noise ceiling", "unknown: too few comparisons were asked again"
    several = check.counts.observers != 1
    own = found.own_ceiling if several else None
    for who, ceiling in (("does not know", found.ceiling), ("knows", own)):
        if ceiling is not None:
            low, high = ceiling.accuracy_interval
            which = f" that {who} who answers" if several else ""
            yield (
                f"noise ceiling: the most that a model can predict{which}",
                f"{percent(ceiling.accuracy)} of such answers (95 % interval {percent(low)} to "
                f"{percent(high)})",
            )


def _whole(check: AnswerCheck) -> Iterator[tuple[str, str]]:
    yield "gaps", " ".join(check.gaps) or "none: every object is tied to all others by answers"
    if check.catch_trials:
        yield "catch trials passed", f"{check.catch_passed} of {check.catch_trials}"


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
            f"This cannot be said, for {provisional(analysis)}. What is certain in one map may be "
            "wrong in another, so no comparisons are listed."
        )
        return Section("comparisons", title, [why])
    certain, level = analysis.certainty, percent(analysis.settings.level)
    which = f"all {certain.counted} comparisons of these objects"
    if certain.is_sample:
        which = f"{certain.counted} comparisons of these objects, drawn at random"
    intro = [
        f"Is x closer to y or to z? Of {which}, asked or not, the map is more "
        f"than {level} certain of {percent(certain.share)}. If it had to decide them all, it would "
        f"expect to have {percent(certain.expected_error)} wrong."
    ]
    held_out = analysis.held_out
    if held_out is not None and not is_calibrated(held_out) and is_bold(held_out):
        intro.append(
            "Take this with care: of held-out answers, fewer were predicted correctly than the "
            "stated probabilities promised."
        )
    rows = [[percent(at), percent(share)] for at, share in certain.shares]
    told: dict[str, Any] = {
        "caption": (
            "Share of comparisons by certainty. 50 % is a coin toss. The higher the line stays to "
            "the right, the more the map knows."
        ),
        "shares": Table("Shares of comparisons", ["more certain than", "comparisons"], rows),
        "lists": [
            (
                "Most certain",
                "One for each anchor, the clearest first.",
                _facts(certain.most, analysis, "so"),
            )
        ],
        "counted": not analysis.triplets.is_quadruplets,
    }
    if certain.least:
        why = (
            "Here the map knows least, one for each anchor. The two distances may be equal, or too "
            "few were asked."
        )
        told["lists"].append(("Least certain", why, _facts(certain.least, analysis, "the first")))
    if certain.contested:
        why = (
            f"The map is more than {level} certain of these, and most of those who were asked said "
            "the contrary: slips, people who see it differently, or a map that is too simple."
        )
        contested = _facts(certain.contested, analysis, "so")
        told["lists"].append(("Answered against the map", why, contested))
    return Section("comparisons", title, intro, told)


def _facts(claims: Iterable[Claim], analysis: Analysis, so: str) -> list[Fact]:
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
    """Whether confidence is deserved, and whether the model fits."""
    said, held_out = [], analysis.held_out
    if held_out is not None:
        said.append(
            f"Held-out answers were predicted ({held_out.how}). Confidence and the share that "
            f"came out right differ {tell_calibration(held_out)}. This is about what people "
            "answer, which noise keeps from ever being certain; how certain the map is of the "
            "truth is another question."
        )
    elif analysis.kind != "scale":
        said.append("There are too few answers to leave some out and predict them.")
    lack = analysis.lack_of_fit if analysis.chains_agree else None
    rows = [*_scores(analysis), *_fit(lack), *_scale_fit(analysis.goodness), *_draws(analysis)]
    told = {
        "is_scale": analysis.kind == "scale",
        "caption": (
            "Of the answers predicted with 80 % confidence, 80 % should come out right. On the "
            "diagonal the probabilities hold, below it they are too bold, above it too cautious. A "
            "large dot stands for many answers."
        ),
        "fit": Table("Goodness of fit", ["what", "found", "in words"], [list(row) for row in rows]),
        "residuals": (
            "Left: how far each answer is from what the scale says, sorted; it should stay within "
            "the band. Right: how often the sign of these changes, in the order of what the scale "
            "predicts, beside simulations; few changes mean that the scale misses something."
        ),
    }
    return Section("trust", "How far to trust it", said, told)


def _abstain(analysis: Analysis) -> Section | None:
    """What it gains to predict only where the map is certain; None where nothing was left out."""
    found = analysis.held_out
    if found is None:
        return None
    said = [f"Predicting every answer, the map is wrong in {percent(float(found.curve.risk[-1]))}."]
    for threshold in (0.8, 0.9):
        at = found.curve.at(threshold)
        if at.coverage > 0.0:
            said.append(
                f"Where its confidence is above {percent(threshold)}, which is so for "
                f"{percent(at.coverage)} of the answers, it is wrong in {percent(at.risk)}."
            )
    caption = (
        "From right to left fewer answers are predicted, those with the highest confidence last. "
        "The faster the line falls to the left, the better the map knows what it does not know."
    )
    return Section("abstain", "When to abstain", said, {"caption": caption})


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
    yield "held-out answers predicted correctly", accuracy, best
    coin = f"Less is better. A coin has {math.log(2.0):.3f}."
    if ceiling is not None:
        coin = f"{coin[:-1]}, such a model on such comparisons at least {ceiling.log_loss:.3f}."
    loss = f"{found.log_loss:.3f} ± {found.log_loss_error:.3f}"
    yield "log-loss of held-out answers", loss, coin
    if found.rough > 0.0:
        yield (
            "influential answers (Pareto k̂ > 0.7)",
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
        "effective sample size",
        f"{fewest:.0f} of {found.n_chains * found.n_samples} draws",
        "How many independent draws these are worth, at the least.",
    )


# --- dimension, observers, questions ----------------------------------------------------------


def _dimension(analysis: Analysis) -> Section:
    """The evidence, or that the dimension was given."""
    found, d = analysis.dimension, analysis.n_components
    shown = f"The map has {counted(d, 'dimension')}."
    said, caption = [shown], ""
    if found is not None:
        caption = (
            "Each dimension that is needed predicts held-out answers better; one too many predicts "
            "them no better, or worse. Bars are one standard error; the grey band is the "
            "recommended dimension."
        )
        if found.disagreeing:
            caption += (
                " A hollow point is from chains that ended in different maps: by itself it proves "
                "nothing."
            )
        if found.dimension is None:
            said = [f"The number of dimensions is not decided; the map shows {d}."]
        said.append(found.reason)
    said += [analysis.dimension_note] if analysis.dimension_note else []
    return Section("dimension", "How many dimensions", said, {"caption": caption})


def _observers(analysis: Analysis) -> Section:
    """Each observer beside the others, or why there is nothing to say."""
    check, title = analysis.check, "Observers"
    if not check.observers:
        why = "Who gave each answer is not known, so observers could not be checked."
        return Section("observers", title, [why])
    if len(check.observers) == 1:
        why = "There is one observer, so there is nobody to compare with."
        return Section("observers", title, [why])
    flagged = [each for each in check.observers if each.flags]
    said = []
    if not math.isnan(check.typical):
        said.append(
            f"A map of the others' answers predicts {percent(check.typical)} of the typical "
            "observer's."
        )
    said += [f"{each.observer}: {', '.join(each.flags)}." for each in flagged[:MOST_FLAGGED]]
    if len(flagged) > MOST_FLAGGED:
        said.append(f"{len(flagged) - MOST_FLAGGED} more need attention; see the table.")
    unknown = sum(each.verdict == CANNOT_TELL for each in check.observers)
    if unknown:
        whom = "any of them" if unknown == len(check.observers) else f"{unknown} of them"
        said.append(f"Whether {whom} guessed cannot be told.")
    elif not flagged:
        said.append("Nobody looks like guessing, or like answering the other way round.")
    if check.catch_trials:
        said.append(f"{check.catch_passed} of {check.catch_trials} catch trials were passed.")
    caption = (
        "How many of each observer's answers a map of the others' predicts, with 95 % intervals. "
        "At 50 %, the grey line, answers are like guesses. Those in orange need attention."
    )
    return Section("observers", title, said, {"caption": caption})


def _questions(analysis: Analysis) -> Section:
    """Comparisons whose answers would tell most."""
    found, names, title = analysis.suggestions, analysis.names, "What to ask next"
    if found is None:
        return Section("questions", title, [_why_none(analysis)])
    why = _WHY_ASK.get(found.strategy, "")
    if analysis.is_provisional:
        why = "The map is provisional, and these were chosen with it: others may tell more."
    how = "Ask them of several people, and shuffle on which side the two objects are shown."
    rows = zip(found.array.tolist(), found.scores.tolist(), strict=True)
    told = {
        "asks": [Ask(names[a], names[b], names[c], score) for (a, b, c), score in rows],
        "unit": "bits" if found.strategy == "mutual_information" else "",
    }
    return Section("questions", title, [part for part in (why, how) if part], told)


def _why_none(analysis: Analysis) -> str:
    """Why nothing is suggested."""
    if analysis.kind == "scale":
        return "Questions are suggested for maps, and this is a scale."
    if analysis.triplets.is_quadruplets:
        return "Questions are suggested for answers about three objects; these are about four."
    return "No question was asked for, or none is left that was not answered."
