"""What our recommended default gains over the paper's two methods, on the paper's own experiments.

Not a claim of the paper, so there is no verdict: means over grids, with standard errors over
repeats.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.paper.measurements import Measurements
from tercet.paper.methods import BAYES, BOOTSTRAP, RECOMMENDED
from tercet.paper.verdicts import Check

__all__ = ["Gain", "gains"]

Floats = NDArray[np.float64]
METHODS = (BOOTSTRAP, BAYES, RECOMMENDED)
THRESHOLD = 0.9


class Gain(NamedTuple):
    """One number by every method, a value for each repeat."""

    figure: str
    what: str
    values: dict[str, Floats]

    def text(self, method: str) -> str:
        """Mean and standard error, or nothing."""
        if method not in self.values:
            return "–"
        check = Check(self.what, self.values[method])
        error = "" if np.isnan(check.error) else f" ± {check.error:.3f}"
        return f"{check.mean:.3f}{error}"


def gains(tables: Mapping[str, Measurements]) -> list[Gain]:
    """Every number that there is."""
    found = {
        "2a": _dimension,
        "2b": lambda table: _calibration(table, "2b", "noise"),
        "2c": lambda table: _calibration(table, "2c", "fraction"),
        "3": _prediction,
        "4": _psychophysics,
        "5": _active,
    }
    return [
        gain
        for name, make in found.items()
        if len(tables.get(name, ()))
        for gain in make(tables[name])
    ]


def _dimension(table: Measurements) -> list[Gain]:
    """How often the true dimension is found, over the true dimensions."""
    hits: dict[str, list[Floats]] = {BOOTSTRAP: [], BAYES: [], RECOMMENDED: []}
    for true in table.values("true"):
        rows = table.where(true=true)
        for method in (BOOTSTRAP, BAYES):
            curve = rows.where(method=method).curve("dimension", "uncertainty")
            hits[method].append(curve.x[np.argmin(curve.values, axis=1)] == true)
        hits[RECOMMENDED].append(rows.curve("true", "chosen").values[:, 0] == true)
    shares = {method: np.mean(found, axis=0) for method, found in hits.items()}
    what = "share of true dimensions found (paper's: where the uncertainty is smallest)"
    return [Gain("2a", what, shares)]


def _calibration(table: Measurements, figure: str, x: str) -> list[Gain]:
    names = {"error": "triplet error", "calibration error": "calibration error", "brier": "Brier"}
    return [
        Gain(
            figure,
            f"{name}, mean over the grid",
            {
                method: table.where(model="STE", method=method).curve(x, column).values.mean(axis=1)
                for method in METHODS
            },
        )
        for column, name in names.items()
    ]


def _prediction(table: Measurements) -> list[Gain]:
    threshold = min(table.values("threshold"), key=lambda t: abs(t - THRESHOLD))
    names = {"error over all": "wrong, share of all triplets", "abstention": "abstention"}
    return [
        Gain(
            "3",
            f"{name} at t = {threshold:g}, mean over the fractions",
            {
                method: table.where(method=method, threshold=threshold)
                .curve("fraction", column)
                .values.mean(axis=1)
                for method in METHODS
            },
        )
        for column, name in names.items()
    ]


def _psychophysics(table: Measurements) -> list[Gain]:
    names = {
        "departure": "departure from the mean function",
        "covered": "share of stimuli whose mean function is within two standard deviations",
    }
    return [
        Gain(
            "4",
            f"{name}, mean over the lengthscales",
            {
                method: table.where(method=method).curve("lengthscale", column).values.mean(axis=1)
                for method in (BOOTSTRAP, RECOMMENDED)
            },
        )
        for column, name in names.items()
    ]


def _active(table: Measurements) -> list[Gain]:
    rows = table.where(dataset="Satellite", model="STE")
    names = {"triplet error": "triplet error", "kNN error": "kNN error", "ARI": "ARI"}
    return [
        Gain(
            "5",
            f"Satellite, STE: {name}, mean after the seed answers",
            {
                strategy: rows.where(strategy=strategy)
                .curve("answers", column)
                .values[:, 1:]
                .mean(axis=1)
                for strategy in ("random", *METHODS)
            },
        )
        for column, name in names.items()
    ]
