"""The observers as a table for people."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tercet.tables import Table
from tercet.text import percent
from tercet.uses.quality.observers import ObserverCheck

__all__ = ["tabulate_observers"]


def tabulate_observers(observers: Sequence[ObserverCheck], limit: int | None = None) -> str:
    """The observers in aligned columns, those that need attention first."""
    order = sorted(observers, key=lambda o: (-len(o.flags), _or(o.accuracy, 1.0)))
    columns: list[tuple[str, Callable[[ObserverCheck], str]]] = [
        ("observer", lambda o: o.observer if o.observer.isprintable() else repr(o.observer)),
        ("answers", lambda o: str(o.answers)),
        ("predicted correctly", lambda o: _share(o.accuracy, o.predicted)),
        ("95 % interval", _interval),
        ("with majority", lambda o: _share(o.agreement, o.shared)),
        ("with self", lambda o: _share(o.consistency, o.retests)),
        ("seconds", lambda o: "" if math.isnan(o.response_time) else f"{o.response_time:.2f}"),
        ("catch trials", lambda o: f"{o.catch_passed}/{o.catch_trials}" if o.catch_trials else ""),
        ("", lambda o: "; ".join(o.flags or (o.verdict,))),
    ]
    cells = [[head, *(cell(o) for o in order[:limit])] for head, cell in columns]
    used = [column for column in cells if any(column[1:])]
    header, *rows = zip(*used, strict=True)
    return Table("", header, rows).text()


def _interval(observer: ObserverCheck) -> str:
    low, high = observer.interval
    return "" if math.isnan(low) else f"{percent(low)} to {percent(high)}"


def _share(share: float, of: int) -> str:
    return f"{percent(share)} of {of}" if of else ""


def _or(value: float, instead: float) -> float:
    return instead if math.isnan(value) else value
