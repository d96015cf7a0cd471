"""The top of the page: its title, a summary in plain sentences, and what to be careful about."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PureWindowsPath

from tercet.analysis.result import Analysis
from tercet.analysis.words import summary
from tercet.report.markup import Section, items, name, paragraphs, prose, text
from tercet.text import percent, plural

__all__ = ["file_name", "opening", "title"]


def title(analysis: Analysis) -> str:
    """Of the page, plain text."""
    kind = "scale" if analysis.n_components == 1 else "map"
    return f"{file_name(analysis)}: a {kind} of {len(analysis.objects)} objects"


def file_name(analysis: Analysis) -> str:
    """The name of the file without its folders, which are nobody's business."""
    return PureWindowsPath(analysis.reading.path).name or "answers"


def opening(analysis: Analysis, sections: Iterable[Section]) -> str:
    """Everything above the first section."""
    kind = "A scale" if analysis.n_components == 1 else "A map"
    sure = "provisional" if analysis.is_provisional else "and how sure it is"
    first, *others = summary(analysis)
    links = "".join(f'<li><a href="#{each.key}">{text(each.title)}</a></li>' for each in sections)
    return (
        f'<header><p class="file">{name(file_name(analysis))}</p>'
        f"<h1>{kind} of {len(analysis.objects)} objects, {sure}</h1>"
        f'<p class="lead">{prose(first)}</p>{_figures(analysis)}</header>'
        f'<section id="summary" aria-label="Summary">{"".join(map(_one, others))}'
        f"{_careful(analysis)}</section>"
        f'<nav aria-label="Contents"><ul>{links}</ul></nav>'
    )


def _one(sentence: str) -> str:
    return paragraphs([sentence])


def _figures(analysis: Analysis) -> str:
    """The few numbers that matter most, in large type."""
    counts, held_out, ceiling = analysis.check.counts, analysis.held_out, analysis.check.ceiling
    shown = [(_many(counts.answers), "answers")]
    if counts.observers is not None:
        shown.append((f"{counts.observers}", plural(counts.observers, "observer")))
    d = analysis.n_components
    shown.append((f"{d}", f"{plural(d, 'dimension')}{_how_found(analysis)}"))
    if not analysis.is_provisional:
        level = percent(analysis.settings.level)
        sure = f"of all comparisons are more than {level} certain"
        shown.append((f"{100 * analysis.certainty.share:.0f} %", sure))
    if held_out is not None:
        best = ""
        if ceiling is not None:
            low, high = (f"{100 * end:.0f}" for end in ceiling.accuracy_interval)
            best = f"; the noise ceiling of repeated ones lies between {low} and {high} %"
        shown.append((f"{100 * held_out.accuracy:.0f} %", f"of unseen answers predicted{best}"))
    cells = "".join(f"<div><dd>{prose(n)}</dd><dt>{prose(what)}</dt></div>" for n, what in shown)
    return f'<dl class="figures">{cells}</dl>'


def _how_found(analysis: Analysis) -> str:
    """What is to be known beside the number of dimensions, where it was estimated."""
    found, said = analysis.dimension, ""
    if found is None:
        return ""
    if found.dimension is None:
        said = " shown; how many are needed is not decided"
    elif found.verdict == "at least":
        said = ", perhaps more"
    if found.n_answers < analysis.check.counts.answers:
        said += f"; estimated from {_many(found.n_answers)} of the answers"
    return said


def _many(count: int) -> str:
    return f"{count:,}".replace(",", "\u202f")  # a narrow space between thousands


def _careful(analysis: Analysis) -> str:
    if not analysis.cautions:
        return '<p class="calm">Nothing else in these answers calls for special care.</p>'
    return (
        '<aside class="careful" role="note" aria-labelledby="careful">'
        f'<h2 id="careful">What to be careful about</h2>{items(analysis.cautions)}</aside>'
    )
