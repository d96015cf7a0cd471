"""Checks of the uses: prediction, dimension, psychophysics, active learning."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tercet.paper.methods import BAYES, BOOTSTRAP
from tercet.paper.settings import LENGTHSCALES
from tercet.paper.tables import Curve, Table
from tercet.paper.verdicts import Check, falls, rises

__all__ = [
    "abstention",
    "bayes_predicts",
    "bayes_stays_level",
    "bootstrap_is_least",
    "cost_falls",
    "error_falls",
    "first_dimension",
    "gain_is_behind",
    "gaussian_process",
    "grows_as_lengthscale_falls",
    "margin",
    "no_effect",
    "other_dimensions",
    "other_panels",
]

Floats = NDArray[np.float64]
Tables = Mapping[str, Table]

LEVEL_SHARE = 0.25  # of the drop before
VISIBLE, OVERWHELMING = 0.05, 0.5  # of the error of random choice
SAME_ERROR, SAME_INDEX = 0.02, 0.05
PINNED = 1e-5  # the mean function is 4e-6 away from 0 and 1 at the ends


# --- 3: prediction ----------------------------------------------------------------------------


def _pooled(table: Table, method: str, x: str, top: str, bottom: str | None) -> Curve:
    """Over one column, all values of the other together: a ratio of sums, or a mean."""
    rows = table.where(method=method).rows
    grid, repeats = sorted({r[x] for r in rows}), sorted({r["repeat"] for r in rows})

    def cell(repeat: int, value: float) -> float:
        chosen = [r for r in rows if r["repeat"] == repeat and r[x] == value]
        total = sum(r[bottom] for r in chosen) if bottom else len(chosen)
        return float(sum(r[top] for r in chosen) / total) if total else np.nan

    values = [[cell(repeat, value) for value in grid] for repeat in repeats]
    return Curve(np.array(grid, dtype=float), np.array(values))


def error_falls(tables: Tables) -> list[Check]:
    """P1: the error over what is predicted, all values of the other axis together."""
    table = tables["3"]
    return [
        falls(
            f"bootstrap: prediction error over the {name}",
            _pooled(table, BOOTSTRAP, x, "wrong", "predicted"),
        )
        for x, name in (("threshold", "threshold"), ("fraction", "number of triplets"))
    ]


def abstention(tables: Tables) -> list[Check]:
    """P2: the share abstained from, averaged over the other axis."""
    by = {
        x: _pooled(tables["3"], BOOTSTRAP, x, "abstention", None) for x in ("threshold", "fraction")
    }
    return [
        rises("bootstrap: abstention over the threshold", by["threshold"]),
        falls("bootstrap: abstention over the number of triplets", by["fraction"]),
    ]


def bayes_predicts(tables: Tables) -> list[Check]:
    """P3: the area between the abstention curves, and the errors with fewest triplets."""
    boot, bayes = (
        _pooled(tables["3"], method, "fraction", "abstention", None)
        for method in (BOOTSTRAP, BAYES)
    )
    few, few_bayes = (
        _pooled(tables["3"], method, "fraction", "wrong", "predicted").values[:, 0]
        for method in (BOOTSTRAP, BAYES)
    )
    area = (boot.values - bayes.values).mean(axis=1)
    return [
        Check("bootstrap − Bayes: abstention, mean over triplets and thresholds", area, low=0.0),
        Check(
            f"Bayes − bootstrap: prediction error with {boot.x[0]:.1%} of the triplets",
            few_bayes - few,
            low=0.0,
        ),
    ]


# --- 2a: dimension ----------------------------------------------------------------------------


def cost_falls(table: Table, true: int) -> list[Check]:
    """D1: every step up in dimension lowers the cost."""
    curve = table.where(true=true, method=BOOTSTRAP).curve("dimension", "cost")
    steps = -np.diff(curve.values, axis=1) / curve.values[:, :1]
    what = f"d = {true}: smallest fall of the STE cost in a step, share of the first cost"
    return [Check(what, steps.min(axis=1), low=0.0)]


def bootstrap_is_least(table: Table, true: int) -> list[Check]:
    """D2: how far the true dimension is above the best, against the sd of the best."""
    curve = table.where(true=true, method=BOOTSTRAP).curve("dimension", "uncertainty")
    best = int(np.argmin(curve.mean))
    excess = curve.at(true) - curve.values[:, best]
    what = f"d = {true}: bootstrap uncertainty above its smallest (at {curve.x[best]:g})"
    return [Check(what, excess, high=float(curve.sd[best]))]


def bayes_stays_level(table: Table, true: int) -> list[Check]:
    """D3: every step up to the true dimension lowers it, and then it stays."""
    curve = table.where(true=true, method=BAYES).curve("dimension", "uncertainty")
    until, after = curve.x <= true, curve.x > true
    drop = curve.values[:, 0] - curve.at(true)
    change = np.abs(curve.values[:, after] - curve.at(true)[:, None]).max(axis=1)
    steps = -np.diff(curve.values[:, until], axis=1)
    return [
        Check(f"d = {true}: smallest fall of the Bayesian uncertainty", steps.min(axis=1), low=0.0),
        Check(
            f"d = {true}: largest change of the Bayesian uncertainty after d, share of the drop",
            change / drop,
            high=LEVEL_SHARE,
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


def _after_seed(table: Table, dataset: str, model: str, strategy: str, column: str) -> Floats:
    """Mean over the steps after the seed answers, for each repeat."""
    rows = table.where(dataset=dataset, model=model, strategy=strategy)
    return np.asarray(rows.curve("answers", column).values[:, 1:].mean(axis=1))


def margin(table: Table, dataset: str, model: str) -> list[Check]:
    """A1: how much less than random the active strategies err, mean over the steps."""
    random = _after_seed(table, dataset, model, "random", "triplet error")
    return [
        Check(
            f"{dataset}, {model}, {strategy}: triplet error below random's, as a share of it",
            (random - _after_seed(table, dataset, model, strategy, "triplet error")) / random,
            VISIBLE,
            OVERWHELMING,
        )
        for strategy in (BOOTSTRAP, BAYES)
    ]


def no_effect(table: Table, dataset: str, model: str) -> list[Check]:
    """A2: what they change in the two other tasks."""
    checks = []
    for column, margin in (("kNN error", SAME_ERROR), ("ARI", SAME_INDEX)):
        random = _after_seed(table, dataset, model, "random", column)
        for strategy in (BOOTSTRAP, BAYES):
            difference = _after_seed(table, dataset, model, strategy, column) - random
            what = f"{dataset}, {model}, {strategy}: {column} minus random's"
            checks.append(Check(what, difference, -margin, margin))
    return checks


def _panels(table: Table) -> list[tuple[str, str]]:
    return [(d, m) for d in table.values("dataset") for m in table.values("model")]


def other_panels(tables: Tables) -> list[Check]:
    """A3: A1 and A2 everywhere else."""
    table = tables["5"]
    others = [panel for panel in _panels(table) if panel != ("Satellite", "STE")]
    return [c for panel in others for rule in (margin, no_effect) for c in rule(table, *panel)]


def gain_is_behind(tables: Tables) -> list[Check]:
    """A4: how far the information gain is behind the better of the two strategies."""
    table, checks = tables["5"], []
    for dataset, model in _panels(table):
        by = {
            strategy: _after_seed(table, dataset, model, strategy, "triplet error")
            for strategy in ("random", BOOTSTRAP, BAYES, "information gain")
        }
        behind = by["information gain"] - np.minimum(by[BOOTSTRAP], by[BAYES])
        what = f"{dataset}, {model}: triplet error of information gain above the better strategy's"
        checks.append(Check(f"{what}, as a share of random's", behind / by["random"], low=0.0))
    return checks
