"""The figures by name, in the order of the paper, and the result of a reproduction."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from tercet.paper import (
    distances,
    figure1,
    figure2,
    figure2a,
    figure3,
    figure4,
    figure5,
    mixture,
    vote,
)
from tercet.paper.experiments import Figure, Measurements
from tercet.paper.settings import Size
from tercet.paper.verdicts import Verdict

__all__ = [
    "FIGURES",
    "Reproduction",
]

FIGURES: dict[str, Figure] = {
    figure.name: figure
    for figure in (
        figure1.FIGURE,
        figure2a.FIGURE,
        figure2.FIGURE_2B,
        figure2.FIGURE_2C,
        figure3.FIGURE,
        figure4.FIGURE,
        figure5.FIGURE,
        mixture.FIGURE,
        vote.FIGURE,
        distances.FIGURE,
    )
}


# --- the result of a reproduction ---------------------------------------------------------------


@dataclass(frozen=True)
class Reproduction:
    """The result of `reproduce`.

    Attributes
    ----------
    size : Size
    tables : dict of str to Measurements
        Every number, by figure.
    pictures : dict of str to list of str
        Names of the pictures of each figure, without their ending.
    verdicts : list of Verdict
    left_out : dict of str to str
        Figures whose data were not available, and why.
    failed : list of str
        Cells that failed, and why.
    current : bool
        Whether all numbers were computed with the source as it is now.
    cells : dict of str to int
        How many cells each figure has.
    warned : dict of str to Counter
        Warnings in the cells of each figure, by category.
    minutes : float
        Of one core, for all cells.
    waited : float
        Minutes that this run took; less where results were stored.
    """

    size: Size
    tables: dict[str, Measurements]
    pictures: dict[str, list[str]]
    verdicts: list[Verdict]
    left_out: dict[str, str]
    failed: list[str]
    current: bool
    cells: dict[str, int]
    warned: dict[str, Counter[str]]
    minutes: float
    waited: float
