"""The pictures of the report, as PNG."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from tercet.demo.sureness import LEVEL, Sureness
from tercet.demo.world import World
from tercet.plots import plot_map, plot_reliability

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_map(world: World, sure: Sureness) -> bytes:
    """Draw the simulated world and its map side by side."""
    figure = _figure(11, 5.4)
    left, right = figure.subplots(1, 2)
    left.set_title("The simulated world", loc="left")
    right.set_title(
        f"Its map from {len(world.answers)} noisy answers, with {LEVEL:.0%} ellipses", loc="left"
    )
    plot_map(sure.ensemble, groups=world.kinds, level=LEVEL, ax=right)
    left.update_datalim(right.dataLim.get_points())  # the same scale on both sides
    plot_map(world.positions, world.answers.names, groups=world.kinds, ax=left)
    return _png(figure)


def draw_reliability(sure: Sureness) -> bytes:
    """Draw how often the map is right when it is so and so sure."""
    figure = _figure(4.2, 4.2)
    plot_reliability(sure.probability, ax=figure.subplots())
    return _png(figure)


def _figure(width: float, height: float) -> Figure:
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def _png(figure: Figure) -> bytes:
    picture = io.BytesIO()
    figure.savefig(picture, dpi=130)
    return picture.getvalue()
