"""Coverage of the recommended defaults, Posterior(2) and Bootstrap(2), on triplets and screens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from studies.cells import Cell, Result, collect
from studies.methods import QUIET, Maker
from studies.report import Section, Table
from studies.setting import Setting
from tercet import simulate
from tercet.answers.triplets import Triplets
from tercet.arrays import Floats
from tercet.bootstrap import Bootstrap
from tercet.ensemble import Ensemble
from tercet.estimators import CKL
from tercet.posterior import Posterior

Rng = np.random.Generator

VERSION = 2  # raise it when changes in tercet affect what is measured here
LEVEL, D, NOISE = 0.95, 2, 0.3
TRIPLET_OBJECTS, SCREEN_OBJECTS = 15, 12
EXPONENT, MU = 4.0, 0.05  # of people who choose from screens: odds of a pair ∝ 1/(μ + d^β)
WORLDS, QUICK_WORLDS = 24, 4
SHORT: dict[str, Any] = {"n_samples": 400, "n_chains": 2}

AS_INDEPENDENT = "Posterior(2), screens dropped"  # every comparison is an answer of its own
PLACES = ("800 triplets", "4000 triplets", "300 odd ones out", "60 times 3 of 9")
MAKERS: dict[str, Callable[[int], Maker]] = {
    "Posterior(2)": lambda seed: Posterior(D, random_state=seed, **SHORT, **QUIET),
    "Bootstrap(2)": lambda seed: Bootstrap(D, random_state=seed, **QUIET),
    AS_INDEPENDENT: lambda seed: Posterior(D, random_state=seed, **SHORT, **QUIET),
    "Bootstrap(CKL(2, penalty=0.25), 200)": lambda seed: Bootstrap(
        CKL(D, penalty=0.25), 200, random_state=seed, **QUIET
    ),
}


def measure(place: str, maker: str, world: int) -> Result:
    """The share of relative distances inside their intervals, and the intervals' mean width."""
    if place.endswith("triplets"):
        answers = int(place.split()[0])
        rng = np.random.default_rng([world, answers, TRIPLET_OBJECTS])
        points = rng.standard_normal((TRIPLET_OBJECTS, D))
        triplets = simulate.noisy_triplets(
            points, answers, noise=NOISE, replace=True, random_state=rng
        )
    else:
        rng = np.random.default_rng([world, 77])
        points = rng.standard_normal((SCREEN_OBJECTS, D))
        triplets = _odd_ones_out(points, rng) if "odd" in place else _three_of_nine(points, rng)
    if maker == AS_INDEPENDENT:
        triplets = Triplets(triplets.array, n_objects=triplets.n_objects)
    inside, width = _coverage(MAKERS[maker](world).fit(triplets).ensemble_, points)
    return {"inside": inside, "width": width}


def _similarity(points: Floats, others: Floats) -> Floats:
    distance = np.linalg.norm(points - others, axis=-1)
    return np.asarray(1.0 / (MU + distance**EXPONENT))


def _odd_ones_out(points: Floats, rng: Rng, count: int = 300) -> Triplets:
    """One of three pairs is chosen; the third object is the odd one."""
    rows, screens = [], []
    for screen in range(count):
        three = rng.choice(len(points), 3, replace=False)
        ways = three[[[0, 1, 2], [0, 2, 1], [1, 2, 0]]]
        odds = _similarity(points[ways[:, 0]], points[ways[:, 1]])
        a, b, odd = ways[rng.choice(3, p=odds / odds.sum())]
        rows += [(a, b, odd), (b, a, odd)]
        screens += [screen, screen]
    return Triplets(rows, n_objects=len(points), screens=screens)


def _three_of_nine(points: Floats, rng: Rng, count: int = 60) -> Triplets:
    """The three of nine that are most like an anchor, chosen one after the other."""
    rows, screens = [], []
    for screen in range(count):
        anchor, *shown = rng.choice(len(points), 10, replace=False)
        odds = _similarity(points[shown], points[anchor])
        chosen = rng.choice(9, 3, replace=False, p=odds / odds.sum())
        left = np.setdiff1d(np.arange(9), chosen)
        rows += [(anchor, shown[near], shown[far]) for near in chosen for far in left]
        screens += [screen] * (len(chosen) * len(left))
    return Triplets(rows, n_objects=len(points), screens=screens)


def _coverage(ensemble: Ensemble, points: Floats) -> tuple[float, float]:
    truth, drawn = pdist(points), ensemble.distances()
    truth /= np.sqrt(np.mean(truth**2))
    drawn = drawn / np.sqrt(np.mean(drawn**2, axis=1, keepdims=True))
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return float(np.mean((low <= truth) & (truth <= high))), float(np.mean(high - low))


def run(setting: Setting) -> Section:
    """Every maker at every place."""
    section = Section("The recommended defaults: do 95 % intervals contain the truth?")
    worlds = setting.choose(WORLDS, QUICK_WORLDS)
    keys = [
        (place, maker, world) for world in range(worlds) for place in PLACES for maker in MAKERS
    ]
    cells = [
        Cell("recommended", VERSION, measure, {"place": place, "maker": maker, "world": world})
        for place, maker, world in keys
    ]
    results = collect(cells, setting.jobs)
    found: dict[tuple[str, str], list[Result]] = {}
    for (place, maker, _), result in zip(keys, results, strict=True):
        if "failed" not in result:
            found.setdefault((place, maker), []).append(result)
    rows = [
        [maker, *(_text(found.get((place, maker), [])) for place in PLACES)] for maker in MAKERS
    ]
    section.parts += [
        f"{worlds} worlds (seeds 0 to {worlds - 1}) of standard normal points in {D} dimensions: "
        f"{TRIPLET_OBJECTS} objects and random comparisons with log-normal noise of σ = {NOISE:g}; "
        f"{SCREEN_OBJECTS} objects and screens of people who choose by Luce's rule, the odds of a "
        f"pair being 1/({MU:g} + d^{EXPONENT:g}). Posteriors have 2 chains of 400 draws.",
        Table(
            "Coverage of distances over their root mean square, % ± standard error over worlds "
            "(mean width)",
            ["maker", *PLACES],
            rows,
        ),
    ]
    section.notes += setting.notes(results)
    return section


def _text(results: list[Result]) -> str:
    if len(results) < 2:
        return "failed"
    inside, width = (np.array([r[key] for r in results]) for key in ("inside", "width"))
    error = inside.std(ddof=1) / np.sqrt(len(inside))
    return f"{100 * inside.mean():.1f} ± {100 * error:.1f} ({width.mean():.3f})"
