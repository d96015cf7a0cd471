"""The report as one HTML file that needs nothing else: no network, no other file."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files

from tercet.analysis.result import Analysis
from tercet.report.markup import Section, text
from tercet.report.parts import Parts
from tercet.report.sections.closing import downloads_section, footer, methods_section
from tercet.report.sections.comparisons import comparisons_section
from tercet.report.sections.data import data_section
from tercet.report.sections.dimension import dimension_section
from tercet.report.sections.map import map_section
from tercet.report.sections.observers import observers_section
from tercet.report.sections.opening import opening, title
from tercet.report.sections.questions import questions_section
from tercet.report.sections.trust import abstain_section, trust_section

__all__ = ["page"]

_SECTIONS = (
    map_section,
    data_section,
    comparisons_section,
    trust_section,
    abstain_section,
    dimension_section,
    observers_section,
    questions_section,
    methods_section,
    downloads_section,
)


def page(analysis: Analysis) -> str:
    """The report as HTML; the same analysis give the same text.

    Names and all else that comes from data is escaped. A policy forbids the page to load anything
    and to run any script but its own.
    """
    parts = Parts(analysis)
    made = (make(parts) for make in _SECTIONS)
    sections = [section for section in made if section is not None]
    style, script = (_asset(f"report.{kind}") for kind in ("css", "js"))
    policy = (
        "default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
        f"script-src '{_digest(script)}'; base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{text(title(analysis))}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        f"{opening(analysis, sections)}\n<main>\n{''.join(map(_section, sections))}</main>\n"
        f"{footer(analysis)}\n<script>{script}</script>\n</body>\n</html>\n"
    )


def _section(section: Section) -> str:
    return (
        f'<section id="{section.key}" aria-labelledby="{section.key}-title">'
        f'<h2 id="{section.key}-title">{text(section.title)}</h2>\n{section.body}</section>\n'
    )


def _asset(file: str) -> str:
    return files("tercet.report").joinpath("assets", file).read_text("utf-8")


def _digest(script: str) -> str:
    """The script's hash as a Content-Security-Policy names it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"
