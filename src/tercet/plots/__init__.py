"""Pictures, drawn with Matplotlib into axes you give or into new ones."""

from tercet.plots.abstain import plot_risk_coverage
from tercet.plots.active import plot_learning
from tercet.plots.chains import plot_rank, plot_trace
from tercet.plots.compare import plot_models
from tercet.plots.dimension import plot_dimension
from tercet.plots.distances import plot_distances
from tercet.plots.maps import plot_map, plot_pairs
from tercet.plots.observers import plot_observers
from tercet.plots.plan import plot_plan
from tercet.plots.reliability import plot_reliability
from tercet.plots.scale import plot_residuals, plot_scale
from tercet.plots.shepard import plot_shepard
from tercet.plots.uncertainty import plot_uncertainty

__all__ = [
    "plot_dimension",
    "plot_distances",
    "plot_learning",
    "plot_map",
    "plot_models",
    "plot_observers",
    "plot_pairs",
    "plot_plan",
    "plot_rank",
    "plot_reliability",
    "plot_residuals",
    "plot_risk_coverage",
    "plot_scale",
    "plot_shepard",
    "plot_trace",
    "plot_uncertainty",
]
