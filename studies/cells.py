"""Cells of studies: those of the paper's experiments, kept under ``.studies/``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tercet.paper import experiments as cells
from tercet.paper.experiments import Cell, Result, source_of

__all__ = ["ROOT", "Cell", "Result", "collect", "source_of"]

ROOT = Path(__file__).resolve().parents[1]


def collect(wanted: Sequence[Cell], jobs: int) -> list[Result]:
    """Results in order; unknown ones are computed, see `tercet.paper.experiments`."""
    return cells.collect_results(wanted, ROOT / ".studies", jobs, show=True)
