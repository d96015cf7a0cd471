"""The top of the page: its title, a summary in plain sentences, and what to be careful about."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PureWindowsPath

from tercet.report.findings import Findings
from tercet.report.markup import Section, items, name, paragraphs, prose, text
from tercet.report.words import summary
from tercet.uses.abstain.risk import percent

__all__ = ["file_name", "opening", "title"]


def title(findings: Findings) -> str:
    """Of the page, plain text."""
    kind = "scale" if findings.n_components == 1 else "map"
    return f"{file_name(findings)}: a {kind} of {len(findings.objects)} objects"


def file_name(findings: Findings) -> str:
    """The name of the file without its folders, which are nobody's business."""
    return PureWindowsPath(findings.reading.path).name or "answers"


def opening(findings: Findings, sections: Iterable[Section]) -> str:
    """Everything above the first section."""
    kind = "A scale" if findings.n_components == 1 else "A map"
    sure = "provisional" if findings.is_provisional else "and how sure it is"
    first, *others = summary(findings)
    links = "".join(f'<li><a href="#{each.key}">{text(each.title)}</a></li>' for each in sections)
    return (
        f'<header><p class="file">{name(file_name(findings))}</p>'
        f"<h1>{kind} of {len(findings.objects)} objects, {sure}</h1>"
        f'<p class="lead">{prose(first)}</p>{_figures(findings)}</header>'
        f'<section id="summary" aria-label="Summary">{"".join(map(_one, others))}'
        f"{_careful(findings)}</section>"
        f'<nav aria-label="Contents"><ul>{links}</ul></nav>'
    )


def _one(sentence: str) -> str:
    return paragraphs([sentence])


def _figures(findings: Findings) -> str:
    """The few numbers that matter most, in large type."""
    counts, foretold, ceiling = findings.check.counts, findings.foretold, findings.check.ceiling
    shown = [(_many(counts.answers), "answers")]
    if counts.observers is not None:
        shown.append((f"{counts.observers}", "observers" if counts.observers != 1 else "observer"))
    d = findings.n_components
    shown.append((f"{d}", f"dimension{'' if d == 1 else 's'}{_how_found(findings)}"))
    if not findings.is_provisional:
        level = percent(findings.settings.level)
        sure = f"of all comparisons are more than {level} certain"
        shown.append((f"{100 * findings.sureness.share:.0f} %", sure))
    if foretold is not None:
        best = ""
        if ceiling is not None:
            low, high = (f"{100 * end:.0f}" for end in ceiling.accuracy_interval)
            best = f"; the noise ceiling of repeated ones lies between {low} and {high} %"
        shown.append((f"{100 * foretold.accuracy:.0f} %", f"of unseen answers foretold{best}"))
    cells = "".join(f"<div><dd>{prose(n)}</dd><dt>{prose(what)}</dt></div>" for n, what in shown)
    return f'<dl class="figures">{cells}</dl>'


def _how_found(findings: Findings) -> str:
    """What is to be known beside the number of dimensions, where it was estimated."""
    found, said = findings.dimension, ""
    if found is None:
        return ""
    if found.dimension is None:
        said = " shown; how many are needed is not decided"
    elif found.verdict == "at least":
        said = ", perhaps more"
    if found.n_answers < findings.check.counts.answers:
        said += f"; estimated from {_many(found.n_answers)} of the answers"
    return said


def _many(count: int) -> str:
    return f"{count:,}".replace(",", "\u202f")  # a narrow space between thousands


def _careful(findings: Findings) -> str:
    if not findings.warnings:
        return '<p class="calm">Nothing else in these answers calls for special care.</p>'
    return (
        '<aside class="careful" role="note" aria-labelledby="careful">'
        f'<h2 id="careful">What to be careful about</h2>{items(findings.warnings)}</aside>'
    )
