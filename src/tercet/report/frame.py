"""The parts of the page around its sections: opening, files to save, and command."""

from __future__ import annotations

import base64
import json
import shlex
from collections.abc import Iterator
from pathlib import PureWindowsPath
from typing import NamedTuple

from tercet.analysis.analysis import Analysis
from tercet.analysis.numbers import tables
from tercet.analysis.words import summary
from tercet.answers.choices import Choices
from tercet.held_out import RARELY
from tercet.report.appearance import Appearance
from tercet.text import counted, percent, plural

__all__ = ["File", "Opening", "command", "files_to_save", "opening"]


class Opening(NamedTuple):
    """The top of the page."""

    title: str  # of the window
    file: str
    heading: str
    lead: str
    figures: list[tuple[str, str]]  # the numbers that matter most, and what they are
    summary: list[str]
    cautions: tuple[str, ...]


class File(NamedTuple):
    """A file to save."""

    name: str
    link: str
    title: str


def opening(analysis: Analysis) -> Opening:
    """Everything above the first section."""
    kind = "scale" if analysis.n_components == 1 else "map"
    count = len(analysis.objects)
    certain = "provisional" if analysis.is_provisional else "and how certain it is"
    lead, *others = summary(analysis)
    return Opening(
        title=f"{file_name(analysis)}: a {kind} of {count} objects",
        file=file_name(analysis),
        heading=f"A {kind} of {count} objects, {certain}",
        lead=lead,
        figures=list(_figures(analysis)),
        summary=others,
        cautions=analysis.cautions,
    )


def file_name(analysis: Analysis) -> str:
    """The name of the file without its folders, which may be private."""
    return PureWindowsPath(analysis.reading.path).name or "answers"


def _figures(analysis: Analysis) -> Iterator[tuple[str, str]]:
    """The main numbers, and what they are."""
    counts, held_out, ceiling = analysis.check.counts, analysis.held_out, analysis.ceiling
    many, choice = analysis.answers.n_answers, ""
    if isinstance(analysis.answers, Choices):
        choice = f", each one choice ({analysis.answers.in_words})"
    yield _many(many), f"{plural(many, 'answer')}{choice}"
    if counts.observers is not None:
        yield f"{counts.observers}", plural(counts.observers, "observer")
    d = analysis.n_components
    yield f"{d}", f"{plural(d, 'dimension')}{_how_found(analysis)}"
    if not analysis.is_provisional:
        level = percent(analysis.settings.level)
        share = f"{100 * analysis.certainty.share:.0f} %"
        yield share, f"of all comparisons are more than {level} certain"
    if held_out is not None:
        best = f" ({100 * held_out.chance:.3g} % by guessing)" if choice else ""
        if ceiling is not None:
            low, high = (f"{100 * end:.0f}" for end in ceiling.accuracy_interval)
            best += f"; the noise ceiling for repeated {ceiling.asked}s is {low} to {high} %"
        share = f"{100 * held_out.accuracy:.0f} %"
        yield share, f"of held-out answers predicted correctly{best}"
        if held_out.chance < RARELY:
            share = f"{100 * held_out.in_order:.0f} %"
            yield share, "of the comparisons within held-out answers predicted correctly"


def _how_found(analysis: Analysis) -> str:
    """What to say beside the number of dimensions, if it was estimated."""
    found, said = analysis.dimension, ""
    if found is None:
        return ""
    if found.dimension is None:
        said = " shown; how many are needed is undecided"
    elif found.verdict == "at least":
        said = " at least; more were not tried" if found.at_the_end else ", perhaps more"
    return said


def _many(count: int) -> str:
    return f"{count:,}".replace(",", "\u202f")  # a narrow space between thousands


def files_to_save(analysis: Analysis) -> Iterator[File]:
    """Every table as CSV, and everything as JSON; names are exactly as in the file."""
    for key, table in tables(analysis).items():
        count = counted(len(table.rows), "row")
        yield File(f"{key}.csv", _link("text/csv", table.csv()), f"{table.title} ({count})")
    everything = json.dumps(analysis.to_dict(), allow_nan=False)
    link = _link("application/json", everything)
    yield File("report.json", link, "Everything, for programs")


def _link(kind: str, content: str) -> str:
    coded = base64.b64encode(content.encode("utf-8", "replace")).decode("ascii")
    return f"data:{kind};charset=utf-8;base64,{coded}"


def command(analysis: Analysis, looks: Appearance) -> str:
    """The command that reproduces the page; empty if the answers are not from a file."""
    if not analysis.reading.path:
        return ""
    settings = analysis.settings
    words = ["tercet", "report", file_name(analysis), "--format", analysis.reading.format]
    if analysis.reading.columns:
        pairs = (f"{word}={title}" for word, title in analysis.reading.columns.items())
        words += ["--columns", ",".join(pairs)]
    if analysis.reading.named:
        words += ["--names", "names.txt"]
    if analysis.reading.left_out:
        words += ["--leave-out", ",".join(analysis.reading.left_out)]
    words += ["--skip-invalid"] if analysis.reading.skip_invalid else []
    if settings.dimension is not None:
        words += ["--dim", str(settings.dimension)]
    if settings.dimensions is not None:
        words += ["--dimensions", ",".join(map(str, settings.dimensions))]
    if settings.max_dimension is not None:
        words += ["--max-dim", str(settings.max_dimension)]
    if settings.samples is not None:
        words += ["--samples", str(settings.samples)]
    if settings.warmup is not None:
        words += ["--warmup", str(settings.warmup)]
    if settings.uncertainty is not None:
        words += ["--uncertainty", settings.uncertainty]
    words += ["--groups", "groups.csv"] if looks.groups else []
    words += ["--pictures", "pictures"] if looks.pictures else []
    words += ["--level", f"{settings.level:g}", "--questions", str(settings.questions)]
    return shlex.join([*words, "--seed", str(settings.seed), "-o", "report.html"])
