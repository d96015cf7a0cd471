"""Coverage where each object is in few answers, as the musicians are."""

from __future__ import annotations

import numpy as np

from studies.cells import Cell, Result, collect
from studies.methods import QUIET, health, is_suspect
from studies.recommended import D, coverage, covered, in_percent
from studies.report import NONE, Section, Table
from studies.setting import Setting
from studies.worlds import ABOUT_NOISES, NOISES, answers_with
from tercet.arrays import Floats
from tercet.engine.problem import some_pairs
from tercet.posterior import Posterior

VERSION = 1  # raise it when changes in tercet affect what is measured here
OBJECTS, ANSWERS = 400, 9090
WORLDS, QUICK_WORLDS = 8, 1
PAIRS = 2000  # whose intervals are counted: all 79 800 would take gigabytes


def measure(noise: str, world: int) -> Result:
    """Coverage of the relative distances of a world, and how its chains did."""
    rng = np.random.default_rng([world, ANSWERS, OBJECTS])
    points = rng.standard_normal((OBJECTS, D))
    triplets = answers_with(noise, points, ANSWERS, rng)
    made = Posterior(D, random_state=world, **QUIET).fit(triplets)
    found = coverage(_distances(made.ensemble_.draws), _distances(points[None])[0])
    return found | {"about": health(made)}


def _distances(draws: Floats) -> Floats:
    """Distances (S, K) of a fixed random choice of pairs, of points (S, n, d)."""
    first, second = some_pairs(draws.shape[1], PAIRS)
    apart = np.empty((len(draws), len(first)))
    for each, X in zip(apart, draws, strict=True):
        each[:] = np.linalg.norm(X[first] - X[second], axis=1)
    return apart


def run(setting: Setting) -> Section:
    """The default posterior with every noise."""
    section = Section("Sparse worlds: do 95 % intervals contain the truth?")
    worlds = setting.choose(WORLDS, QUICK_WORLDS)
    cells = setting.part(
        Cell("sparse", VERSION, measure, {"noise": noise, "world": world})
        for world in range(worlds)
        for noise in NOISES
    )
    results = collect(cells, setting.jobs)
    found: dict[str, list[Result]] = {}
    for cell, result in zip(cells, results, strict=True):
        group = found.setdefault(cell.settings["noise"], [])
        if "failed" not in result:
            group.append(result)
    section.parts.append(
        f"{worlds} worlds (seeds 0 to {worlds - 1}) of {OBJECTS} standard normal points in {D} "
        f"dimensions and {ANSWERS:,} random comparisons, as many as about the musicians: each "
        f"object is in {round(3 * ANSWERS / OBJECTS)} of them. {ABOUT_NOISES} Intervals are those "
        f"of `tc.Posterior({D}, random_state=seed)` with all defaults, of the distances of "
        f"{PAIRS:,} random pairs over their root mean square."
    )
    section.goals += [
        covered(f"coverage of Posterior({D}), {OBJECTS} objects, noise: {noise}", group)
        for noise, group in found.items()
    ]
    rows = [_row(noise, group) for noise, group in found.items() if group]
    section.parts.append(
        Table(
            "Coverage, % ± standard error over worlds (mean width); R-hat, median and largest; "
            "smallest effective sample size; worlds that warn, by the limits of earlier pages in "
            "brackets",
            ["noise", "coverage", "R-hat", "ESS", "warn"],
            rows,
        )
    )
    section.notes += setting.notes(results)
    return section


def _row(noise: str, group: list[Result]) -> list[str]:
    about = [result["about"] for result in group]
    r_hats = [each["r_hat"] for each in about if each["r_hat"] is not None]
    sizes = [each[name] for each in about for name in ("ess_bulk", "ess_tail")]
    warn = sum(bool(each["problems"]) for each in about)
    return [
        noise,
        in_percent(group),
        f"{np.median(r_hats):.3f}, {max(r_hats):.3f}" if r_hats else NONE,
        NONE if None in sizes else f"{min(sizes):.0f}",
        f"{warn} of {len(group)} ({sum(map(is_suspect, about))})",
    ]
