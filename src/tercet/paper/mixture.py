"""The mixture of three Gaussians that the calibration experiments use (supplement), drawn."""

from __future__ import annotations

from tercet.paper import methods
from tercet.paper.drawing import panels
from tercet.paper.experiments import Cell, Figure, Measurements, Pictures, Result
from tercet.paper.settings import Size
from tercet.plots.axes import COLOURS

__all__ = ["FIGURE"]

VERSION = 1


def _cells(size: Size) -> list[Cell]:
    """The points."""
    return [Cell("mixture", VERSION, scatter, {"points": size.points}, 0.1)]


def scatter(points: int) -> Result:
    """Position and component of every point."""
    X, component = methods.mixture(points)
    return {
        "rows": [
            {"x": float(x), "y": float(y), "component": int(k) + 1}
            for (x, y), k in zip(X, component, strict=True)
        ]
    }


def _draw(table: Measurements) -> Pictures:
    """The scatter."""
    picture, axes = panels(1, 1, width=3.6, height=3.2)
    ax = axes[0, 0]
    for component, marker in zip(sorted(table.values("component")), "os^", strict=False):
        rows = table.where(component=component).rows
        ax.scatter(
            [row["x"] for row in rows],
            [row["y"] for row in rows],
            color=COLOURS[component - 1],
            marker=marker,
            label=f"component {component}",
            s=22,
        )
    ax.set_aspect("equal")
    ax.set_xlabel("$x_1$")
    ax.set_ylabel("$x_2$")
    ax.legend()
    return {"mixture": picture}


FIGURE = Figure("mixture", "The mixture of three Gaussians.", _cells, _draw)
