"""Plots, drawn with Matplotlib into given axes or a new figure."""

from tercet.plots.agreement import plot_observers
from tercet.plots.comparisons import plot_dimension, plot_models
from tercet.plots.learning import plot_learning, plot_plan
from tercet.plots.maps import plot_distances, plot_map, plot_pairs
from tercet.plots.predictions import (
    plot_reliability,
    plot_risk_coverage,
    plot_shepard,
    plot_uncertainty,
)
from tercet.plots.scale import plot_residuals, plot_scale
from tercet.plots.traces import plot_rank, plot_trace

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
