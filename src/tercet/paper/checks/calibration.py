"""Checks of the calibration experiments: noise, number of triplets, votes, distance matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from tercet.paper.calibration import EMBEDDING
from tercet.paper.figure2c import enough
from tercet.paper.measurements import Curve, Measurements
from tercet.paper.methods import BAYES, BOOTSTRAP
from tercet.paper.verdicts import Check, between, falls, rises

__all__ = [
    "close_to_zero",
    "conservative",
    "error_rises",
    "fall_together",
    "matrices",
    "other_models_noise",
    "other_models_triplets",
    "uncertainty_rises",
    "vote_is_worse",
]

Floats = NDArray[np.float64]
Tables = Mapping[str, Measurements]

TENDS_TO_HALF = 0.45
CLOSE_TO_ZERO = 0.05
BROKEN = 0.01  # share of triangles, from which matrices are no distances
SYMMETRIC = 1e-9


# --- 2b and 2c: noise and number of triplets --------------------------------------------------


def _uncertainty(table: Measurements, model: str, method: str, x: str) -> Curve:
    return table.where(model=model, method=method).curve(x, "uncertainty")


def _procrustes(table: Measurements, model: str, x: str) -> Curve:
    return table.where(model=model, method=EMBEDDING).curve(x, "procrustes")


def error_rises(table: Measurements, model: str) -> list[Check]:
    """N1: the Procrustes error, with the best scale."""
    return [rises(f"{model}: Procrustes error over σ", _procrustes(table, model, "noise"))]


def uncertainty_rises(table: Measurements, model: str, methods: Sequence[str]) -> list[Check]:
    """N2: the average uncertainty rises, and where it ends."""
    checks = []
    for method in methods:
        curve = _uncertainty(table, model, method, "noise")
        checks += [
            rises(f"{model} {method}: uncertainty over σ", curve),
            Check(
                f"{model} {method}: uncertainty at σ = {curve.x[-1]:g}",
                curve.values[:, -1],
                TENDS_TO_HALF,
                1.0 - TENDS_TO_HALF,
            ),
        ]
    return checks


def other_models_noise(tables: Tables) -> list[Check]:
    """N4: the same for t-STE and GNMDS."""
    table = tables["2b"]
    checks = []
    for model, methods in (("t-STE", (BOOTSTRAP, BAYES)), ("GNMDS", (BOOTSTRAP,))):
        checks += error_rises(table, model) + uncertainty_rises(table, model, methods)
    return checks


def conservative(tables: Tables) -> list[Check]:
    """N3: by how much the uncertainty of the bootstrap is larger."""
    boot, bayes = (
        _uncertainty(tables["2b"], "STE", method, "noise").values.mean(axis=1)
        for method in (BOOTSTRAP, BAYES)
    )
    return [Check("bootstrap − Bayes: mean uncertainty over the σ grid", boot - bayes, low=0.0)]


def fall_together(table: Measurements, model: str, methods: Sequence[str]) -> list[Check]:
    """T1: error and uncertainty fall, and rank the training sets alike."""
    error = _procrustes(table, model, "fraction")
    checks = [falls(f"{model}: Procrustes error over triplets", error)]
    for method in methods:
        curve = _uncertainty(table, model, method, "fraction")
        checks += [
            falls(f"{model} {method}: uncertainty over triplets", curve),
            between(f"{model} {method}: uncertainty and Procrustes error", curve, error),
        ]
    return checks


def close_to_zero(tables: Tables) -> list[Check]:
    """T2: the uncertainty there, between the fractions by the logarithm of their number."""
    (points,) = tables["2c"].values("points")
    checks = []
    for method in (BOOTSTRAP, BAYES):
        curve = _uncertainty(tables["2c"], "STE", method, "fraction")
        place = np.log(enough(points))
        at = np.array([np.interp(place, np.log(curve.x), values) for values in curve.values])
        what = f"{method}: uncertainty at 10·d·n·log n triplets"
        checks.append(Check(what, at, high=CLOSE_TO_ZERO))
    return checks


def other_models_triplets(tables: Tables) -> list[Check]:
    """T3: the same for t-STE and GNMDS."""
    both = fall_together(tables["2c"], "t-STE", (BOOTSTRAP, BAYES))
    return both + fall_together(tables["2c"], "GNMDS", (BOOTSTRAP,))


# --- the vote, and distance matrices ----------------------------------------------------------


def vote_is_worse(tables: Tables) -> list[Check]:
    """V1: triplet error and Brier score of the same replicates, by vote and by π."""
    table, checks = tables["vote"].where(ensemble=BOOTSTRAP), []
    for x, name in (("noise", "σ"), ("fraction", "triplets")):
        rows = table.where(grid=x)
        for column in ("error", "brier"):
            vote, paper = (
                rows.where(rule=rule).curve(x, column).values.mean(axis=1)
                for rule in ("vote", "paper")
            )
            what = f"vote − π: {column}, mean over the grid of {name}"
            checks.append(Check(what, vote - paper, low=0.0))
    return checks


def matrices(tables: Tables) -> list[Check]:
    """G1: symmetry, and what makes the posterior unsatisfactory."""
    rows = tables["distances"]

    def mean(prior: str, column: str) -> Floats:
        found = rows.where(prior=prior)
        curves = [
            found.where(noise=noise).curve("fraction", column) for noise in found.values("noise")
        ]
        return np.asarray(np.mean([curve.values.mean(axis=1) for curve in curves], axis=0))

    symmetric = np.array(
        [
            max(r["asymmetry"] for r in rows.where(prior="distances", repeat=repeat).rows)
            for repeat in sorted(rows.values("repeat"))
        ]
    )
    checks = [Check("largest |D − Dᵀ| of a draw", symmetric, high=SYMMETRIC)]
    for suffix, when in (("", "500 draws"), (" later", "500 later draws")):
        worse = mean("distances", f"error{suffix}") - mean("embeddings", f"error{suffix}")
        broken = mean("distances", f"triangle{suffix}")
        checks += [
            Check(f"{when}: triplet error above that of the prior over embeddings", worse, low=0.0),
            Check(f"{when}: share of triangles that are broken", broken, low=BROKEN),
        ]
    return checks
