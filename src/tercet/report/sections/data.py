"""The answers: how many, of whom, and how far they agree with each other."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tercet.analysis.result import Analysis
from tercet.answers.repeats import Disagreement
from tercet.report.markup import Section, paragraphs, rows_of, table
from tercet.report.parts import Parts
from tercet.text import counted, percent
from tercet.uses.quality import AnswerCheck
from tercet.uses.quality.counts import Spread

__all__ = ["data_section"]


def data_section(parts: Parts) -> Section:
    """What was read, counts, repeats and connectedness."""
    analysis = parts.analysis
    rows = [*_counts(analysis), *_repeats(analysis.check), *_whole(analysis.check)]
    body = paragraphs(analysis.reading.sentences()) + table(
        ["what", "found"], rows_of(rows), "What was checked"
    )
    return Section("data", "The answers", body)


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
