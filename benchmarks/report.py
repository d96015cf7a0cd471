"""Results of a case: a table on the terminal, a page in Markdown."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from benchmarks.setting import PAUSE

NONE = "–"


class Line(NamedTuple):
    """One line of the summary; ``reached`` is None where there is no criterion."""

    case: str
    ours: str
    goal: str
    reached: bool | None
    peer: str = NONE
    ratio: str = NONE
    quality_ours: str = NONE
    quality_peer: str = NONE


class Table(NamedTuple):
    """Details of a case."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass
class Section:
    """All that a case measured."""

    title: str
    lines: list[Line] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


_HEADER = ("case", "ours", "peer", "ratio", "quality, ours", "quality, peer", "goal", "reached")


def duration(seconds: float | None) -> str:
    """Seconds with three digits, in a unit that suits them."""
    if seconds is None:
        return NONE
    for unit, scale in (("µs", 1e-6), ("ms", 1e-3)):
        if seconds < 1000 * scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds:.3g} s" if seconds < 1000 else f"{seconds:.0f} s"


def times(peer: float | None, ours: float) -> str:
    """How many times faster ours is."""
    return NONE if peer is None else f"{peer / ours:.3g}×"


def terminal(sections: Sequence[Section]) -> str:
    """Return the summary as a table with aligned columns."""
    rows = [_HEADER, *_summary(sections)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    texts = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) for row in rows]
    texts.insert(1, "  ".join("-" * w for w in widths))
    return "\n".join(text.rstrip() for text in texts)


def page(
    sections: Sequence[Section], command: str, load: float, peer_versions: dict[str, str]
) -> str:
    """Return the whole report in Markdown; ``load`` is the load average before the run."""
    peer = (
        ", ".join(f"{name} {number}" for name, number in peer_versions.items())
        or "not installed: ours was measured alone"
    )
    own = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "scipy"))
    parts = [
        "# Benchmarks",
        f"Measured on {date.today():%d %B %Y}: {os.cpu_count()} cores, {_cpu()}, "
        f"{platform.system()}; load average {load:.1f} at the start. "
        f"Ours: Python {platform.python_version()}, {own}. Peer: {peer}.",
        f"    {command}",
        "Ours and the peer take turns in one run, on the same data; a time is the median of the "
        "repeats, a ratio is that of the two medians. Random starts have fixed seeds. Where runs "
        f"are repeated, each is preceded by a pause of {PAUSE:g} s: without it, ours (on all "
        "cores) can be up to 1.5 times slower right after the peer's turn.",
        "## Summary",
        _markdown(_HEADER, _summary(sections)),
    ]
    for section in sections:
        parts.append(f"## {section.title}")
        for table in section.tables:
            parts += [f"{table.caption}:", _markdown(table.header, table.rows)]
        if section.notes:
            parts.append("\n".join(f"- {note}" for note in section.notes))
    return "\n\n".join(parts) + "\n"


def _summary(sections: Sequence[Section]) -> list[tuple[str, ...]]:
    words = {True: "yes", False: "no", None: NONE}
    return [
        (
            line.case,
            line.ours,
            line.peer,
            line.ratio,
            line.quality_ours,
            line.quality_peer,
            line.goal,
            words[line.reached],
        )
        for section in sections
        for line in section.lines
    ]


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cpu() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
