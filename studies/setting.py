"""Settings of every study."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from studies.cells import Cell, Result, source_of


class Setting(NamedTuple):
    """How to run the studies."""

    quick: bool
    jobs: int
    only: Mapping[str, frozenset[str]] = MappingProxyType({})  # values of settings of cells

    def choose(self, full: Any, quick: Any) -> Any:
        """Return one of two sizes."""
        return quick if self.quick else full

    def part(self, cells: Iterable[Cell]) -> list[Cell]:
        """The cells with the values that ``only`` names; a cell without such a setting is not."""
        return [
            cell
            for cell in cells
            if all(str(cell.settings.get(name)) in allowed for name, allowed in self.only.items())
        ]

    def notes(self, results: Sequence[Result]) -> list[str]:
        """Notes for readers on how the results were computed."""
        failed = [result["failed"] for result in results if "failed" in result]
        done = [result for result in results if "failed" not in result]
        minutes = sum(result["seconds"] for result in done) / 60.0
        notes = [f"{len(done)} fits or blocks of fits, {minutes:.0f} minutes of one core."]
        if failed:
            notes.append(f"{len(failed)} failed and are left out: {'; '.join(failed[:5])} …")
        sources = {result["source"] for result in done}
        if sources and source_of() not in sources:
            notes.append(
                "tercet's source has changed since; results are recomputed only when the study's "
                "VERSION is raised."
            )
        if len(sources) > 1:
            notes.append(
                f"These results were computed with {len(sources)} versions of tercet's source; for "
                "a single one, raise the study's VERSION and run it again."
            )
        return notes
