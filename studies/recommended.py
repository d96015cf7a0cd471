"""Coverage of the recommended defaults, Posterior(2) and Bootstrap(2), on triplets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from studies.cells import Cell, Result, collect
from studies.methods import QUIET, Maker
from studies.report import NONE, Section, Table
from studies.setting import Setting
from tercet import simulate
from tercet.arrays import Floats
from tercet.bootstrap import Bootstrap
from tercet.estimators import CKL
from tercet.posterior import Posterior

VERSION = 2  # raise it when changes in tercet affect what is measured here
LEVEL, D, NOISE = 0.95, 2, 0.3
OBJECTS, ANSWERS = 15, (800, 4000)
WORLDS, QUICK_WORLDS = 24, 4
SHORT: dict[str, Any] = {"n_samples": 400, "n_chains": 2}
MAKERS: dict[str, Callable[[int], Maker]] = {
    "Posterior(2)": lambda seed: Posterior(D, random_state=seed, **SHORT, **QUIET),
    "Bootstrap(2)": lambda seed: Bootstrap(D, random_state=seed, **QUIET),
    "posterior of CKL, exponent, μ, lapse": lambda seed: Posterior(
        CKL(D), learn=("exponent", "mu", "lapse"), random_state=seed, **SHORT, **QUIET
    ),
}


def measure(place: str, maker: str, world: int) -> Result:
    """Coverage of the relative distances of a world."""
    answers = int(place.split()[0])
    rng = np.random.default_rng([world, answers, OBJECTS])
    points = rng.standard_normal((OBJECTS, D))
    triplets = simulate.noisy_triplets(points, answers, noise=NOISE, replace=True, random_state=rng)
    return coverage(MAKERS[maker](world).fit(triplets).ensemble_.distances(), points)


def coverage(drawn: Floats, points: Floats) -> Result:
    """The share of distances, relative to their root mean square, in their intervals; the width."""
    truth = pdist(points)
    truth /= np.sqrt(np.mean(truth**2))
    drawn = drawn / np.sqrt(np.mean(drawn**2, axis=1, keepdims=True))
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    inside = float(np.mean((low <= truth) & (truth <= high)))
    return {"inside": inside, "width": float(np.mean(high - low))}


def in_percent(results: Sequence[Result]) -> str:
    """Mean coverage of worlds in percent ± standard error, and the mean width."""
    if len(results) < 2:
        return NONE
    inside, width = (np.array([result[key] for result in results]) for key in ("inside", "width"))
    error = inside.std(ddof=1) / np.sqrt(len(inside))
    return f"{100 * inside.mean():.1f} ± {100 * error:.1f} ({width.mean():.3f})"


def run(setting: Setting) -> Section:
    """Every maker with few and with many answers."""
    section = Section("The recommended defaults: do 95 % intervals contain the truth?")
    worlds = setting.choose(WORLDS, QUICK_WORLDS)
    places = [f"{answers} triplets" for answers in ANSWERS]
    keys = [
        (place, maker, world) for world in range(worlds) for place in places for maker in MAKERS
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
        [maker, *(in_percent(found.get((place, maker), [])) for place in places)]
        for maker in MAKERS
    ]
    section.parts += [
        f"{worlds} worlds (seeds 0 to {worlds - 1}) of standard normal points in {D} dimensions: "
        f"{OBJECTS} objects and random comparisons with log-normal noise of σ = {NOISE:g}, of "
        "which CKL is the model; the tail of the recommended one comes close to it. Posteriors "
        "have 2 chains of 400 draws. People who choose on screens: "
        "[Choices, measured](choices.md).",
        Table(
            "Coverage of distances over their root mean square, % ± standard error over worlds "
            "(mean width)",
            ["maker", *places],
            rows,
        ),
    ]
    section.notes += setting.notes(results)
    return section
