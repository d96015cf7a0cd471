"""Plots, drawn with Matplotlib into given axes or a new figure."""

from tercet.plots.chains import plot_rank, plot_trace
from tercet.plots.learning import plot_learning, plot_plan
from tercet.plots.maps import plot_distances, plot_map, plot_pairs
from tercet.plots.models import plot_dimension, plot_models
from tercet.plots.observers import plot_observers
from tercet.plots.predictions import (
    plot_reliability,
    plot_risk_coverage,
    plot_shepard,
    plot_uncertainty,
)
from tercet.plots.scale import plot_residuals, plot_scale

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
