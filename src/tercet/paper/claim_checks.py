"""The checks that test the claims: calibration experiments first, then the uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tercet.arrays import Floats
from tercet.paper.experiments import Curve, Measurements
from tercet.paper.figure2 import EMBEDDING, enough
from tercet.paper.methods import BAYES, BOOTSTRAP
from tercet.paper.settings import LENGTHSCALES
from tercet.paper.verdicts import RANK, Check, between, falls, rank_correlation, rises

__all__ = [
    "abstention",
    "bayes_predicts",
    "bayes_stays_level",
    "bootstrap_is_least",
    "close_to_zero",
    "conservative",
    "cost_falls",
    "error_falls",
    "error_rises",
    "fall_together",
    "first_dimension",
    "gain_is_behind",
    "gaussian_process",
    "grows_as_lengthscale_falls",
    "margin",
    "matrices",
    "no_effect",
    "other_dimensions",
    "other_models_noise",
    "other_models_triplets",
    "other_panels",
    "uncertainty_rises",
    "vote_is_worse",
]

Tables = Mapping[str, Measurements]

TENDS_TO_HALF = 0.45
CLOSE_TO_ZERO = 0.05
BROKEN = 0.01  # share of violated triangle inequalities above which matrices are no distances
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
    """N2: the average uncertainty rises to about ½."""
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
    """T1: error and uncertainty fall together."""
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
    """T2: the uncertainty there, interpolated in the logarithm of the fraction."""
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
            Check(f"{when}: share of violated triangle inequalities", broken, low=BROKEN),
        ]
    return checks


# --- the uses -----------------------------------------------------------------------------------


LEVEL_SHARE = 0.25  # of the drop before
FEWEST = 2  # places of an axis that have an order
VISIBLE, OVERWHELMING = 0.05, 0.5  # of the error of random choice
SAME_ERROR, SAME_INDEX = 0.02, 0.05
PINNED = 1e-5  # the mean function is 4e-6 away from 0 and 1 at the ends


# --- 3: prediction ----------------------------------------------------------------------------


class Plane(NamedTuple):
    """A number of every repeat, fraction and threshold; NaN where nothing is predicted."""

    fractions: Floats  # (f,)
    thresholds: Floats  # (t,)
    values: Floats  # (repeats, f, t)


def _plane(table: Measurements, method: str, column: str) -> Plane:
    rows = table.where(method=method)
    thresholds = sorted(rows.values("threshold"))
    fractions = sorted(rows.values("fraction"))
    repeats = sorted(rows.values("repeat"))
    known = {(r["repeat"], r["fraction"], r["threshold"]): r.get(column, np.nan) for r in rows.rows}
    values = [[[known[r, f, t] for t in thresholds] for f in fractions] for r in repeats]
    return Plane(np.array(fractions), np.array(thresholds), np.array(values, dtype=float))


def _along(plane: Plane, axis: str) -> Floats:
    """Rank correlation of a number with one axis, mean over the places of the other, (repeats,).

    Values are never pooled over the other axis: where a threshold is too high for some training
    sets, the pool would change with what remains in it.
    """
    grid = plane.thresholds if axis == "threshold" else plane.fractions
    values = plane.values if axis == "threshold" else plane.values.swapaxes(1, 2)

    def mean(lines: Floats) -> float:
        found = [
            rank_correlation(grid[known], line[known])
            for line in lines
            for known in [np.isfinite(line)]
            if np.count_nonzero(known) >= FEWEST
        ]
        return float(np.mean(found)) if found else np.nan

    return np.array([mean(lines) for lines in values])


def error_falls(tables: Tables) -> list[Check]:
    """P1: the error among predicted triplets, at every value of the other axis."""
    plane = _plane(tables["3"], BOOTSTRAP, "error")
    return [
        Check(f"bootstrap: prediction error over the {name}: rank correlation", values, high=-RANK)
        for axis, name in (("threshold", "threshold"), ("fraction", "number of triplets"))
        for values in [_along(plane, axis)]
    ]


def abstention(tables: Tables) -> list[Check]:
    """P2: the abstention rate, at every value of the other axis where there is any."""
    plane = _above_half(_plane(tables["3"], BOOTSTRAP, "abstention"))
    what = "bootstrap: abstention over the"
    rising, falling = _along(plane, "threshold"), _along(plane, "fraction")
    return [
        Check(f"{what} threshold: rank correlation", rising, low=RANK),
        Check(f"{what} number of triplets: rank correlation", falling, high=-RANK),
    ]


def bayes_predicts(tables: Tables) -> list[Check]:
    """P3: remaining share of the first abstention, abstention, and error with the fewest triplets.

    Errors are compared at every threshold at which both methods predict something.
    """
    boot, bayes = (
        _above_half(_plane(tables["3"], method, "abstention")).values.mean(axis=2)
        for method in (BOOTSTRAP, BAYES)
    )
    left = bayes[:, 1:] / bayes[:, :1] - boot[:, 1:] / boot[:, :1]
    few_boot, few_bayes = (
        _plane(tables["3"], method, "error").values[:, 0] for method in (BOOTSTRAP, BAYES)
    )
    fewest = _plane(tables["3"], BAYES, "error").fractions[0]
    return [
        Check(
            "Bayes − bootstrap: remaining share of the first abstention",
            left.mean(axis=1),
            high=0.0,
        ),
        Check("Bayes − bootstrap: abstention", (bayes - boot).mean(axis=1), high=0.0),
        Check(
            f"Bayes − bootstrap: prediction error with {fewest:.1%} of the triplets",
            np.nanmean(few_bayes - few_boot, axis=1),
            low=0.0,
        ),
    ]


def _above_half(plane: Plane) -> Plane:
    """Without the threshold ½, at which nobody abstains."""
    above = plane.thresholds > 0.5
    return Plane(plane.fractions, plane.thresholds[above], plane.values[:, :, above])


# --- 2a: dimension ----------------------------------------------------------------------------


def cost_falls(table: Measurements, true: int) -> list[Check]:
    """D1: every step up in dimension lowers the cost."""
    curve = table.where(true=true, method=BOOTSTRAP).curve("dimension", "cost")
    steps = -np.diff(curve.values, axis=1) / curve.values[:, :1]
    what = f"d = {true}: smallest fall of the STE cost in a step, share of the first cost"
    return [Check(what, steps.min(axis=1), low=0.0)]


def bootstrap_is_least(table: Measurements, true: int) -> list[Check]:
    """D2: how far the true dimension is above the best, against the sd of the best."""
    curve = table.where(true=true, method=BOOTSTRAP).curve("dimension", "uncertainty")
    best = int(np.argmin(curve.mean))
    excess = curve.at(true) - curve.values[:, best]
    what = f"d = {true}: bootstrap uncertainty above its smallest (at {curve.x[best]:g})"
    return [Check(what, excess, high=float(curve.sd[best]))]


def bayes_stays_level(table: Measurements, true: int) -> list[Check]:
    """D3: every step up to the true dimension lowers it, and then it stays."""
    curve = table.where(true=true, method=BAYES).curve("dimension", "uncertainty")
    until, after = curve.x <= true, curve.x > true
    drop = curve.values[:, 0] - curve.at(true)
    change = np.abs(curve.values[:, after] - curve.at(true)[:, None]).max(axis=1)
    steps = -np.diff(curve.values[:, until], axis=1)
    return [
        Check(f"d = {true}: smallest fall of the Bayesian uncertainty", steps.min(axis=1), low=0.0),
        Check(
            f"d = {true}: largest change of the Bayesian uncertainty after d, less a quarter of "
            "its drop",
            change - LEVEL_SHARE * drop,
            high=0.0,
        ),
    ]


def other_dimensions(tables: Tables) -> list[Check]:
    """D4: D1 to D3 for the other true dimensions."""
    _, *others = tables["2a"].values("true")
    rules = (cost_falls, bootstrap_is_least, bayes_stays_level)
    return [check for true in others for rule in rules for check in rule(tables["2a"], true)]


def first_dimension(tables: Tables) -> int:
    """The true dimension of the main figure."""
    return int(tables["2a"].values("true")[0])


# --- 4: psychophysics -------------------------------------------------------------------------


def grows_as_lengthscale_falls(tables: Tables, column: str, what: str) -> list[Check]:
    """S1, S2: a number grows from each lengthscale to the next shorter one."""
    curve = tables["4"].where(method=BOOTSTRAP).curve("lengthscale", column)
    return [
        Check(
            f"{what}: l = {short:g} minus l = {long:g}", curve.at(short) - curve.at(long), low=0.0
        )
        for long, short in pairwise(LENGTHSCALES)
    ]


def gaussian_process(tables: Tables) -> list[Check]:
    """S3: the functions are pinned, and vary more for shorter lengthscales."""
    ends = tables["4"].where(method=BOOTSTRAP).curve("lengthscale", "ends").values.max(axis=1)
    return [
        Check("perception functions: largest distance from 0 and 1 at the ends", ends, high=PINNED),
        *grows_as_lengthscale_falls(tables, "function spread", "deviation of the process"),
    ]


# --- 5: active learning -----------------------------------------------------------------------


def _after_seed(
    table: Measurements, dataset: str, model: str, strategy: str, column: str
) -> Floats:
    """Mean over the steps after the seed answers, for each repeat."""
    rows = table.where(dataset=dataset, model=model, strategy=strategy)
    return np.asarray(rows.curve("answers", column).values[:, 1:].mean(axis=1))


def margin(table: Measurements, dataset: str, model: str) -> list[Check]:
    """A1: relative reduction of the error over random choice, mean over the steps."""
    random = _after_seed(table, dataset, model, "random", "triplet error")
    return [
        Check(
            f"{dataset}, {model}, {strategy}: relative reduction of random's triplet error",
            (random - _after_seed(table, dataset, model, strategy, "triplet error")) / random,
            VISIBLE,
            OVERWHELMING,
        )
        for strategy in (BOOTSTRAP, BAYES)
    ]


def no_effect(table: Measurements, dataset: str, model: str) -> list[Check]:
    """A2: differences in the two other tasks."""
    checks = []
    for column, margin in (("kNN error", SAME_ERROR), ("ARI", SAME_INDEX)):
        random = _after_seed(table, dataset, model, "random", column)
        for strategy in (BOOTSTRAP, BAYES):
            difference = _after_seed(table, dataset, model, strategy, column) - random
            what = f"{dataset}, {model}, {strategy}: {column} minus random's"
            checks.append(Check(what, difference, -margin, margin))
    return checks


def _panels(table: Measurements) -> list[tuple[str, str]]:
    return [(d, m) for d in table.values("dataset") for m in table.values("model")]


def other_panels(tables: Tables) -> list[Check]:
    """A3: A1 and A2 everywhere else."""
    table = tables["5"]
    others = [panel for panel in _panels(table) if panel != ("Satellite", "STE")]
    return [c for panel in others for rule in (margin, no_effect) for c in rule(table, *panel)]


def gain_is_behind(tables: Tables) -> list[Check]:
    """A4: how far the information gain is behind each of the two strategies."""
    table, checks = tables["5"], []
    for dataset, model in _panels(table):
        random, gain = (
            _after_seed(table, dataset, model, strategy, "triplet error")
            for strategy in ("random", "information gain")
        )
        for strategy in (BOOTSTRAP, BAYES):
            behind = gain - _after_seed(table, dataset, model, strategy, "triplet error")
            what = f"{dataset}, {model}: triplet error of information gain above {strategy}'s"
            checks.append(Check(f"{what}, as a share of random's", behind / random, low=0.0))
    return checks
