"""The end of the page: methods for a paper, files to save, and how the page was made."""

from __future__ import annotations

import base64
import json
import shlex

from tercet.analysis.result import Analysis
from tercet.report.markup import Section, items, name, paragraphs, text
from tercet.report.parts import Parts
from tercet.report.sections.opening import file_name
from tercet.text import counted

__all__ = ["downloads_section", "footer", "methods_section"]


def methods_section(parts: Parts) -> Section:
    """A paragraph for a paper, and what it cites."""
    analysis = parts.analysis
    body = (
        '<blockquote id="methods-text" class="methods">'
        f"{paragraphs([analysis.methods, analysis.results])}"
        f"{items(analysis.citations, 'ol')}</blockquote>"
        '<p><button type="button" class="copy" data-copy="methods-text" hidden>Copy</button></p>'
    )
    return Section("methods", "Methods, for a paper", body)


def downloads_section(parts: Parts) -> Section:
    """Every table as CSV, and everything as JSON; names are in them exactly as in the file."""
    rows = []
    for key, found in parts.tables.items():
        count = counted(len(found.rows), "row")
        link = _link(f"{key}.csv", "text/csv", found.csv())
        rows.append(f"<li>{link}<span>{text(found.title)} ({count})</span></li>")
    everything = json.dumps(parts.analysis.to_dict(), allow_nan=False)
    link = _link("report.json", "application/json", everything)
    rows.append(f"<li>{link}<span>Everything, for programs</span></li>")
    return Section(
        "downloads",
        "Tables to save",
        "<p>Each is a part of this page; nothing is fetched.</p>"
        f'<ul class="files">{"".join(rows)}</ul>',
    )


def footer(analysis: Analysis) -> str:
    """Versions, seed, settings, and the command that makes the page again."""
    versions = ", ".join(f"{key} {value}" for key, value in analysis.versions.items())
    again = ""
    if analysis.reading.path:  # answers in memory are no file that a command could read
        again = f"<p>To make it again:</p><pre><code>{text(_command(analysis))}</code></pre>"
    return (
        "<footer><h2>How this page was made</h2><p>From "
        f"{name(file_name(analysis))}, read as {text(analysis.reading.title)}, with the seed "
        f"{analysis.settings.seed}. {text(versions)}.</p>{again}</footer>"
    )


def _command(analysis: Analysis) -> str:
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
    if settings.samples is not None:
        words += ["--samples", str(settings.samples)]
    if settings.uncertainty is not None:
        words += ["--uncertainty", settings.uncertainty]
    words += ["--level", f"{settings.level:g}", "--questions", str(settings.questions)]
    return shlex.join([*words, "--seed", str(settings.seed), "-o", "report.html"])


def _link(file: str, kind: str, content: str) -> str:
    coded = base64.b64encode(content.encode("utf-8", "replace")).decode("ascii")
    return f'<a download="{file}" href="data:{kind};charset=utf-8;base64,{coded}">{file}</a>'
