"""The figures by their names, in the order of the paper."""

from __future__ import annotations

from tercet.paper import (
    distances,
    figure1,
    figure2a,
    figure2b,
    figure2c,
    figure3,
    figure4,
    figure5,
    mixture,
    vote,
)
from tercet.paper.figure import Figure

__all__ = ["FIGURES"]

MODULES = (
    figure1,
    figure2a,
    figure2b,
    figure2c,
    figure3,
    figure4,
    figure5,
    mixture,
    vote,
    distances,
)
FIGURES: dict[str, Figure] = {module.FIGURE.name: module.FIGURE for module in MODULES}
