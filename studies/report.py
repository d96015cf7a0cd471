"""Results of a study, and the page made of them."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import version
from typing import NamedTuple

NONE = "–"


class Goal(NamedTuple):
    """A goal; ``reached`` is None where there is no criterion."""

    what: str
    wanted: str
    found: str
    reached: bool | None


class Table(NamedTuple):
    """A table with its caption."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


class Image(NamedTuple):
    """A picture in ``docs/images``, and what it shows."""

    name: str
    words: str


@dataclass
class Section:
    """Results of one study."""

    title: str
    goals: list[Goal] = field(default_factory=list)
    parts: list[Table | Image | str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def page(title: str, sections: Sequence[Section], command: str) -> str:
    """Return the whole page in Markdown."""
    own = ", ".join(f"{name} {version(name)}" for name in ("tercet", "numpy", "numba", "scipy"))
    parts = [
        f"# {title}",
        f"Assembled on {date.today():%d %B %Y}, Python {platform.python_version()}, {own}; "
        f"{os.cpu_count()} cores. All numbers on this page come from",
        f"    {command}",
        "and are given with their settings; all seeds are fixed.",
    ]
    goals = [goal for section in sections for goal in section.goals]
    if goals:
        words = {True: "yes", False: "**no**", None: NONE}
        rows = [[g.what, g.wanted, g.found, words[g.reached]] for g in goals]
        parts += ["## Goals", markdown(("what", "goal", "found", "reached"), rows)]
    for section in sections:
        parts.append(f"## {section.title}")
        for part in section.parts:
            if isinstance(part, Table):
                parts += [f"{part.caption}:", markdown(part.header, part.rows)]
            elif isinstance(part, Image):
                parts.append(f"![{part.words}](images/{part.name})")
            else:
                parts.append(part)
        if section.notes:
            parts.append("\n".join(f"- {note}" for note in section.notes))
    return "\n\n".join(parts) + "\n"


def markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def short(value: float, digits: int = 3) -> str:
    """A share without the zero before its point: .031."""
    text = f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if text.lstrip("-+").startswith("0.") else text


def with_error(value: float, error: float, digits: int = 3) -> str:
    """A value and its standard error."""
    return f"{short(value, digits)} ± {short(error, digits)}"
