"""Figure 2 as the paper arranges it: dimension, noise and number of triplets side by side."""

from __future__ import annotations

from collections.abc import Mapping

from tercet.paper import figure2a, figure2b, figure2c
from tercet.paper.drawing import legend_below, letter, panels
from tercet.paper.figure import Pictures
from tercet.paper.measurements import Measurements

__all__ = ["draw_together"]

TITLES = ("increasing embedding dimension", "increasing noise", "increasing share of triplets")


def draw_together(tables: Mapping[str, Measurements]) -> Pictures:
    """The three columns, from the tables of 2a, 2b and 2c."""
    picture, axes = panels(2, 3, width=3.0, height=2.4)
    figure2a.draw_column(axes[:, 0], tables["2a"], tables["2a"].values("true")[0])
    figure2b.draw_column(axes[:, 1], tables["2b"], ("STE",))
    figure2c.draw_column(axes[:, 2], tables["2c"], ("STE",))
    for ax in axes[1, 1:]:
        ax.get_legend().remove()
    letter(axes[0], TITLES)
    legend_below(picture, axes[1, :1])
    return {"figure_2": picture}
