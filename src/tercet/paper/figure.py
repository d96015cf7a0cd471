"""What a figure of the paper is: cells to compute, a table of numbers, pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from tercet.paper.cells import Cell, Result
from tercet.paper.measurements import Measurements
from tercet.paper.settings import Size

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

__all__ = ["Figure", "Pictures", "measurements_of"]

Pictures: TypeAlias = "dict[str, Picture]"  # by the name of the file, without its ending


@dataclass(frozen=True)
class Figure:
    """One figure of the paper, with what the supplement shows of the same experiment.

    Attributes
    ----------
    name : str
        As on the command line: "2b".
    title : str
        What is to be seen, in one sentence.
    cells : function of a Size
        What has to be computed.
    draw : function of a Measurements
        The pictures, by the names of their files.
    summary : (columns, numbers)
        Over which columns means and standard deviations are listed, and of which numbers.
    loaders : functions without arguments
        Load the data sets that the cells need, or say why they cannot be had.
    """

    name: str
    title: str
    cells: Callable[[Size], list[Cell]]
    draw: Callable[[Measurements], Pictures]
    summary: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    loaders: tuple[Callable[[], Any], ...] = ()


def measurements_of(results: list[Result]) -> Measurements:
    """The rows that cells left, each with the settings of its cell.

    A repeat of which a cell failed is left out as a whole: means and differences are over repeats,
    and have to be over the same ones.
    """
    failed = {result["settings"].get("repeat") for result in results if "failed" in result}
    rows = [_flat(result["settings"]) | row for result in results for row in result.get("rows", ())]
    return Measurements(row for row in rows if row.get("repeat", -1) not in failed)


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that are numbers or words."""
    return {k: v for k, v in settings.items() if isinstance(v, int | float | str)}
