"""The rules know a world in which the paper is right from one in which it is wrong."""

import numpy as np
import pytest

from tercet.paper import claim_checks
from tercet.paper.claims import CLAIMS
from tercet.paper.experiments import Measurements
from tercet.paper.settings import FULL, LENGTHSCALES
from tercet.paper.verdicts import FAILS, HOLDS, UNDECIDED, judge_claims
from tercet.paper.writeup import gains

REPEATS = range(5)
SERIES = {"STE": ("bootstrap", "Bayes", "recommended"), "t-STE": ("bootstrap", "Bayes")}
SERIES |= {"GNMDS": ("bootstrap",)}
HIGHER = {"bootstrap": 0.02, "Bayes": 0.0, "recommended": 0.0}


def calibrated(x, right):
    """Rows over noise or fraction; in the wrong world every curve goes the other way."""
    rows = []
    grid = FULL.noises if x == "noise" else FULL.fractions
    for place, value in enumerate(grid):
        step = place / (len(grid) - 1)  # from 0 to 1
        step = step if (x == "noise") == right else 1.0 - step
        step = step if x == "noise" else step**4
        for repeat in REPEATS:
            key = {x: value, "repeat": repeat, "points": 50}
            for model, methods in SERIES.items():
                shared = key | {"model": model}
                rows.append(shared | {"method": "embedding", "procrustes": 1 + 9 * step})
                for method in methods:
                    up = HIGHER[method] * (1 if right else -1) * (1 - step)
                    u = 0.02 + 0.46 * step + up + 1e-4 * repeat
                    numbers = {"uncertainty": u, "error": u, "calibration error": u, "brier": u}
                    rows.append(shared | {"method": method} | numbers)
    return Measurements(rows)


def predicted(right):
    rows = []
    for i, fraction in enumerate(FULL.fractions):
        for j, t in enumerate(FULL.thresholds):
            f, h = (i, j) if right else (5 - i, 9 - j)
            for repeat in REPEATS:
                for method in ("bootstrap", "Bayes", "recommended"):
                    cautious = (method == "bootstrap") == right
                    rows.append(
                        {
                            "method": method,
                            "fraction": fraction,
                            "threshold": t,
                            "repeat": repeat,
                            "abstention": 0.05 * h / (1 + f) + 0.1 * cautious,
                            "error": 0.3 - 0.03 * f - 0.01 * h - 0.02 * cautious + 1e-3 * repeat,
                            "error over all": 0.1,
                        }
                    )
    return Measurements(rows)


def dimensional(right):
    rows = []
    for true in FULL.true_dimensions:
        for d in FULL.dimensions(true):
            for repeat in REPEATS:
                key = {"true": true, "dimension": d, "repeat": repeat}
                off = abs(d - true) if right else -abs(d - true)
                cost = 100 - d if right else 100 + d
                level = max(true - d, 0) if right else -max(true - d, 0) + d
                small = 1e-3 * (repeat % 3)
                boot = {"uncertainty": 0.3 + 0.02 * off + small, "cost": cost}
                rows.append(key | {"method": "bootstrap"} | boot)
                rows.append(key | {"method": "Bayes", "uncertainty": 0.3 + 0.02 * level})
                if d == 1:
                    rows.append({"true": true, "repeat": repeat, "chosen": true})
    return Measurements(rows)


def perceived(right):
    rows = []
    for place, lengthscale in enumerate(LENGTHSCALES):
        step = place if right else 3 - place
        for repeat in REPEATS:
            for method in ("bootstrap", "recommended"):
                key = {"method": method, "lengthscale": lengthscale, "repeat": repeat}
                names = ("departure", "spread", "function spread", "covered")
                numbers = dict.fromkeys(names, 0.1 * step + 0.001 * repeat)
                rows.append(key | numbers | {"ends": 4e-6 if right else 0.1})
    return Measurements(rows)


def chosen(right):
    error = {"random": 0.2, "bootstrap": 0.16, "Bayes": 0.16, "information gain": 0.25}
    error["recommended"] = 0.15
    if not right:
        error |= {"bootstrap": 0.24, "Bayes": 0.24, "information gain": 0.1}
    other = 0.0 if right else 0.2
    rows = [
        {
            "dataset": dataset,
            "model": model,
            "strategy": strategy,
            "answers": answers,
            "repeat": repeat,
            "triplet error": error[strategy] * (1 + 0.01 * repeat),
            "kNN error": 0.3 + other * (strategy != "random"),
            "ARI": 0.5 - other * (strategy != "random"),
        }
        for dataset in ("Satellite", "MNIST", "Breast Cancer")
        for model in ("STE", "t-STE")
        for strategy in error
        for answers in (2000, 3000, 4000)
        for repeat in REPEATS
    ]
    features = [{"dataset": "Satellite", "strategy": "features", "repeat": 0, "ARI": 0.9}]
    return Measurements(rows + features)


def voted(right):
    return Measurements(
        {
            "ensemble": "bootstrap",
            "grid": grid,
            "rule": rule,
            "noise": x,
            "fraction": x,
            "repeat": repeat,
            "error": 0.2 + 0.1 * ((rule == "vote") == right),
            "brier": 0.1 + 0.1 * ((rule == "vote") == right) + 0.001 * repeat,
        }
        for grid in ("noise", "fraction")
        for rule in ("vote", "paper")
        for x in (0.1, 0.2)
        for repeat in REPEATS
    )


def matrices(right):
    return Measurements(
        {
            "prior": prior,
            "noise": noise,
            "fraction": fraction,
            "repeat": repeat,
            "asymmetry": 0.0 if right else 0.1,
            "error": 0.2 + 0.1 * ((prior == "distances") == right) + 0.001 * repeat,
            "error later": 0.3 + 0.1 * ((prior == "distances") == right) + 0.001 * repeat,
            "triangle": 0.2 if right else 0.0,
            "triangle later": 0.3 if right else 0.0,
        }
        for prior in ("distances", "embeddings")
        for noise in (0.0, 0.75)
        for fraction in (0.01, 0.02)
        for repeat in REPEATS
    )


def tables(right):
    return {
        "2a": dimensional(right),
        "2b": calibrated("noise", right),
        "2c": calibrated("fraction", right),
        "3": predicted(right),
        "4": perceived(right),
        "5": chosen(right),
        "vote": voted(right),
        "distances": matrices(right),
    }


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_a_claim_holds_where_it_is_true_and_fails_where_it_is_not(claim):
    for right, verdict in ((True, HOLDS), (False, FAILS)):
        (found,) = judge_claims([claim], tables(right))
        assert found.verdict == verdict, [(c.what, c.mean, c.verdict) for c in found.checks]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_a_single_repeat_leaves_every_claim_open(claim):
    first = {name: table.where(repeat=0) for name, table in tables(True).items()}
    assert judge_claims([claim], first)[0].verdict == UNDECIDED


def test_errors_that_the_threshold_does_not_change_do_not_fall_with_it():
    """Although the training sets with most errors abstain first, so a pool of all would."""

    def rows(tilt):
        return Measurements(
            {"method": "bootstrap", "fraction": f, "threshold": t, "repeat": r}
            | ({"error": 0.3 - f + tilt * (t - 0.5) + 1e-3 * (r + 1) * f} if t < 0.6 + f else {})
            for f in (0.01, 0.1, 0.3)
            for t in (0.5, 0.6, 0.65, 0.7, 0.8)
            for r in REPEATS
        )

    flat, falling = (claim_checks.error_falls({"3": rows(tilt)})[0] for tilt in (0.0, -0.1))
    assert flat.verdict == FAILS
    assert falling.verdict == HOLDS


def test_the_uncertainty_at_enough_triplets_lies_between_the_fractions():
    """10·d·n·log n are 3 912 triplets of 58 800, between 5 % and 10 %."""
    (boot, _) = claim_checks.close_to_zero({"2c": calibrated("fraction", True)})
    curve = calibrated("fraction", True).where(model="STE", method="bootstrap")
    values = curve.curve("fraction", "uncertainty")
    assert (values.at(0.1) < boot.values).all()
    assert (boot.values < values.at(0.05)).all()


def test_the_best_dimension_is_held_against_its_own_spread():
    """True dimension 3 is worse than 4 by half the spread of 4: within one standard deviation."""

    def rows(excess):
        return Measurements(
            {"true": 3, "dimension": d, "method": "bootstrap", "repeat": r, "uncertainty": u}
            for r, small in enumerate((-0.01, 0.0, 0.01))
            for d, u in ((2, 0.5), (3, 0.2 + small + excess), (4, 0.2 + small))
        )

    assert claim_checks.bootstrap_is_least(rows(0.005), 3)[0].verdict == HOLDS
    assert claim_checks.bootstrap_is_least(rows(0.02), 3)[0].verdict == FAILS


def test_what_is_gained_is_a_mean_over_the_grid():
    found = {(gain.figure, gain.what): gain for gain in gains(tables(True))}
    gain = found["2b", "triplet error, mean over the grid"]
    curve = calibrated("noise", True).where(model="STE", method="Bayes").curve("noise", "error")
    np.testing.assert_allclose(gain.values["Bayes"], curve.values.mean(axis=1))
    assert {figure for figure, _ in found} == {"2a", "2b", "2c", "3", "4", "5"}
    (dimension,) = [g for (figure, _), g in found.items() if figure == "2a"]
    assert (dimension.values["recommended"] == 1.0).all()
    assert dimension.text("recommended") == "1.000 ± 0.000"
    assert dimension.text("random") == "–"


def test_nothing_is_gained_where_nothing_was_run():
    assert gains({}) == []
