"""What sections of the page are put together from: analysis, tables and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tercet.analysis.result import Analysis
from tercet.analysis.tables import tables
from tercet.report.markup import fold, prose, rows_of, table, text
from tercet.report.pictures import Picture, draw_pictures
from tercet.tables import Table

__all__ = ["Parts"]

CURVES, MOST_ROWS = ("coverage",), 25  # tables of which the page shows at most so many rows


@dataclass(frozen=True)
class Parts:
    """Analysis, and their tables and pictures as HTML."""

    analysis: Analysis

    @cached_property
    def tables(self) -> dict[str, Table]:
        """By their keys."""
        return tables(self.analysis)

    @cached_property
    def pictures(self) -> dict[str, Picture]:
        """By their keys."""
        return draw_pictures(self.analysis)

    def table(self, key: str) -> str:
        """A table as HTML; of very long curves some rows, evenly spaced."""
        found = self.tables[key]
        rows = found.rows
        if key in CURVES:
            rows = rows[:: -(-len(rows) // MOST_ROWS)]
        return table(found.header, rows_of(rows), found.title)

    def behind(self, keys: Sequence[str]) -> str:
        """Tables that are folded away."""
        return "".join(
            fold(self.tables[key].title, self.table(key)) for key in keys if key in self.tables
        )

    def picture(self, key: str, caption: str, behind: Sequence[str] = ()) -> str:
        """A picture with how to read it, plain text, and the tables behind it; or nothing."""
        found = self.pictures.get(key)
        if found is None:
            return ""
        role = "group" if key == "map" else "img"  # the points of a map can be visited
        return (
            f'<figure id="{key}-picture" class="picture">'
            f'<div class="drawing" role="{role}" aria-label="{text(found.title)}">'
            f"{found.inline()}</div>"
            f"<figcaption>{prose(caption)}</figcaption></figure>{self.behind(behind)}"
        )
