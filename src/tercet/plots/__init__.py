"""Pictures, drawn with Matplotlib into axes you give or into new ones."""

from tercet.plots.maps import plot_map

__all__ = ["plot_map"]
