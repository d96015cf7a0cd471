"""Pictures, drawn with Matplotlib into axes you give or into new ones."""

from tercet.plots.maps import plot_map
from tercet.plots.reliability import plot_reliability

__all__ = ["plot_map", "plot_reliability"]
