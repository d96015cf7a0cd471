"""Coverage of the recommended defaults, Posterior(2) and Bootstrap(2), on triplets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from studies.cells import Cell, Result, collect
from studies.methods import QUIET, Maker, health, is_suspect
from studies.report import NONE, Goal, Section, Table
from studies.setting import Setting
from studies.worlds import ABOUT_NOISES, NOISES, answers_with
from tercet.arrays import Floats
from tercet.bootstrap import Bootstrap
from tercet.estimators import CKL
from tercet.posterior import Posterior

VERSION = 3  # raise it when changes in tercet affect what is measured here
LEVEL, D = 0.95, 2
COVERED = (0.93, 0.97)
OBJECTS, ANSWERS = 15, (800, 4000)
WORLDS, QUICK_WORLDS = 24, 4
SHORT: dict[str, Any] = {"n_samples": 400, "n_chains": 2}
DEFAULT = "Posterior(2)"
MAKERS: dict[str, Callable[[int], Maker]] = {
    DEFAULT: lambda seed: Posterior(D, random_state=seed, **SHORT, **QUIET),
    "Bootstrap(2)": lambda seed: Bootstrap(D, random_state=seed, **QUIET),
    "posterior of CKL, exponent, μ, lapse": lambda seed: Posterior(
        CKL(D), learn=("exponent", "mu", "lapse"), random_state=seed, **SHORT, **QUIET
    ),
}


def measure(noise: str, place: str, maker: str, world: int) -> Result:
    """Coverage of the relative distances of a world."""
    answers = int(place.split()[0])
    rng = np.random.default_rng([world, answers, OBJECTS])
    points = rng.standard_normal((OBJECTS, D))
    triplets = answers_with(noise, points, answers, rng, replace=True)
    made = MAKERS[maker](world).fit(triplets)
    return coverage(made.ensemble_.distances(), pdist(points)) | {"about": health(made)}


def coverage(drawn: Floats, truth: Floats) -> Result:
    """The share of distances, relative to their root mean square, in their intervals; the width.

    Parameters
    ----------
    drawn : (S, K) array
    truth : (K,) array
        Of the same pairs.
    """
    truth = truth / np.sqrt(np.mean(truth**2))
    drawn = drawn / np.sqrt(np.mean(drawn**2, axis=1, keepdims=True))
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    inside = float(np.mean((low <= truth) & (truth <= high)))
    return {"inside": inside, "width": float(np.mean(high - low))}


def in_percent(results: Sequence[Result]) -> str:
    """Mean coverage of worlds in percent ± standard error, and the mean width."""
    if len(results) < 2:
        return NONE
    return f"{_inside(results)} ({np.mean([result['width'] for result in results]):.3f})"


def _inside(results: Sequence[Result]) -> str:
    inside = np.array([result["inside"] for result in results])
    error = inside.std(ddof=1) / np.sqrt(len(inside))
    return f"{100 * inside.mean():.1f} ± {100 * error:.1f}"


def covered(what: str, results: Sequence[Result]) -> Goal:
    """Whether the mean coverage of worlds is near its level."""
    low, high = COVERED
    wanted = f"{100 * low:.0f} to {100 * high:.0f} %"
    if len(results) < 2:
        return Goal(what, wanted, NONE, None)
    mean = np.mean([result["inside"] for result in results])
    return Goal(what, wanted, f"{_inside(results)} %", bool(low <= mean <= high))


def run(setting: Setting) -> Section:
    """Every maker with every noise, with few and with many answers."""
    section = Section("The recommended defaults: do 95 % intervals contain the truth?")
    worlds = setting.choose(WORLDS, QUICK_WORLDS)
    places = [f"{answers} triplets" for answers in ANSWERS]
    keys = [
        (noise, place, maker, world)
        for world in range(worlds)
        for noise in NOISES
        for place in places
        for maker in MAKERS
    ]
    names = ("noise", "place", "maker", "world")
    cells = [
        Cell("recommended", VERSION, measure, dict(zip(names, key, strict=True))) for key in keys
    ]
    results = collect(cells, setting.jobs)
    found: dict[tuple[str, str, str], list[Result]] = {key[:3]: [] for key in keys}
    for key, result in zip(keys, results, strict=True):
        if "failed" not in result:
            found[key[:3]].append(result)
    section.goals += [
        covered(f"coverage of {DEFAULT}, {place}, noise: {noise}", found[noise, place, DEFAULT])
        for noise in NOISES
        for place in places
    ]
    rows = [
        [noise, maker, *(in_percent(found[noise, place, maker]) for place in places)]
        for noise in NOISES
        for maker in MAKERS
    ]
    section.parts += [
        f"{worlds} worlds (seeds 0 to {worlds - 1}) of standard normal points in {D} dimensions: "
        f"{OBJECTS} objects and random comparisons. {ABOUT_NOISES} CKL is the model of log-normal "
        "noise; the tail of the recommended one comes close to it. Posteriors have 2 chains of "
        "400 draws. People who choose on screens: [Choices, measured](choices.md); as few answers "
        "as about the musicians: [Convergence](convergence.md).",
        Table(
            "Coverage of distances over their root mean square, % ± standard error over worlds "
            "(mean width)",
            ["noise", "maker", *places],
            rows,
        ),
    ]
    about = [result["about"] for group in found.values() for result in group]
    chains = [each for each in about if "r_hat" in each]
    section.notes += setting.notes(results)
    section.notes.append(
        f"{sum(map(is_suspect, chains))} of {len(chains)} posteriors did not converge (R-hat, "
        "effective sample size or divergences); they are included."
    )
    return section
