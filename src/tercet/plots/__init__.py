"""Pictures, drawn with Matplotlib into axes you give or into new ones."""

from tercet.plots.abstain import plot_risk_coverage
from tercet.plots.active import plot_learning
from tercet.plots.compare import plot_models
from tercet.plots.dimension import plot_dimension
from tercet.plots.maps import plot_map
from tercet.plots.reliability import plot_reliability
from tercet.plots.scale import plot_residuals, plot_scale

__all__ = [
    "plot_dimension",
    "plot_learning",
    "plot_map",
    "plot_models",
    "plot_reliability",
    "plot_residuals",
    "plot_risk_coverage",
    "plot_scale",
]
