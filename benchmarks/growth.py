"""How cost grows with triplets and with objects: one value and gradient, and one whole fit.

Points are kept in a JSON file by device, so that a machine with an accelerator can add its own
(`add_points`) and draw all of them again (`draw`).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.kernels import SPREAD
from benchmarks.peer import ROOT
from benchmarks.report import NONE, Line, Section, Table, duration
from benchmarks.setting import Setting, timed
from tercet.answers.triplets import Triplets
from tercet.engine.problem import build_problem
from tercet.engine.search import Objective, evaluate
from tercet.estimators import STE
from tercet.models import STEModel
from tercet.simulate import answer, random_comparisons

JSON = ROOT / "docs" / "images" / "growth.json"
PICTURE = JSON.with_suffix(".png")

D, NOISE = 2, 0.3
N = 1000  # objects, while triplets grow
FIXED = 1_000_000  # triplets, while objects grow, for one evaluation
PER_OBJECT = 100  # triplets, while objects grow, for a fit
GOAL = 1.1
REPEATS, PAUSE = 5, 0.2
ONCE = 3_000_000  # triplets from which on a fit is made once

Work = Callable[[], float]  # seconds it took
Points = dict[str, list[list[float]]]  # by what is measured: [size, seconds]

WORDS = {
    "evaluation by triplets": f"value and gradient, {N} objects",
    "fit by triplets": f"whole fit, {N} objects",
    "evaluation by objects": "value and gradient, 10⁶ triplets",
    "fit by objects": f"whole fit, {PER_OBJECT} triplets per object",
}


def run(setting: Setting) -> Section:
    """Measure on the CPU, keep the points, draw them and fit slopes."""
    triplets = setting.choose(
        [10**4, 10**4.5, 10**5, 10**5.5, 10**6, 10**6.5, 10**7], [10**4, 10**5]
    )
    objects = setting.choose(
        [10**2, 10**2.5, 10**3, 10**3.5, 10**4, 10**4.5, 10**5], [10**2, 10**3]
    )
    fixed = setting.choose(FIXED, 10**5)
    m, n = [round(size) for size in triplets], [round(size) for size in objects]
    repeats = setting.choose(REPEATS, 1)
    points = {
        "evaluation by triplets": _measure({size: (N, size) for size in m}, _evaluation, repeats),
        "fit by triplets": _measure({size: (N, size) for size in m}, _fit, repeats),
        "evaluation by objects": _measure(
            {size: (size, fixed) for size in n}, _evaluation, repeats
        ),
        "fit by objects": _measure({size: (size, PER_OBJECT * size) for size in n}, _fit, repeats),
    }
    if not setting.quick:
        add_points("CPU", points)
        draw()
    return _section(points, repeats)


def _section(points: Points, repeats: int) -> Section:
    section = Section("How cost grows", [_line(what, points[what]) for what in points])
    for what, pairs in points.items():
        rows = [(f"{size:.0f}", duration(seconds)) for size, seconds in pairs]
        axis = what.rpartition(" ")[2]
        section.tables.append(Table(f"STE in {D} dimensions: {WORDS[what]}", [axis, "time"], rows))
    section.notes += [
        "The picture is docs/images/growth.png, its points are growth.json beside it.",
        f"Medians of {repeats} runs, sizes in turn; fits from {ONCE:.0e} triplets on were made "
        "once. An evaluation is on one thread; a fit to convergence, with all that `fit` does, is "
        "on all cores from 200 000 comparisons on. Slopes are of the logarithms, by least squares.",
        "Answers are simulated: points normal in the plane, noise of 0.3 on the logarithms of "
        "distances.",
    ]
    return section


def slope(pairs: Sequence[Sequence[float]]) -> float:
    """Slope of log time against log size, by least squares."""
    size, seconds = np.log(np.array(pairs).T)
    return float(np.polyfit(size, seconds, 1)[0])


def add_points(device: str, points: Mapping[str, Any], path: Path = JSON) -> None:
    """Keep the points of a device, instead of those it had before."""
    kept = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(kept | {device: points}, indent=1) + "\n")


def draw(path: Path = JSON, picture: Path = PICTURE) -> None:
    """Draw the points of all devices that were kept."""
    from matplotlib import pyplot
    from matplotlib.ticker import FuncFormatter

    kept: dict[str, Points] = json.loads(path.read_text())
    colours = {"evaluation": "#1b6ca8", "fit": "#c8553d"}
    styles = dict(zip(kept, ("-", "--", ":"), strict=False))
    markers = dict(zip(kept, "os^", strict=False))
    figure, panels = pyplot.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
    for panel, axis in zip(panels, ("triplets", "objects"), strict=True):
        for device, points in kept.items():
            for what, pairs in points.items():
                if not what.endswith(axis) or not pairs:
                    continue
                size, seconds = np.array(pairs).T
                label = f"{WORDS[what]}: {slope(pairs):.2f}"
                if len(kept) > 1:
                    label = f"{device}, {label}"
                colour = colours[what.partition(" ")[0]]
                panel.loglog(
                    size, seconds, styles[device], marker=markers[device], ms=4, color=colour,
                    label=label,
                )  # fmt: skip
        panel.set_xlabel(axis)
        panel.grid(alpha=0.3)
        panel.legend(frameon=False, fontsize=8, loc="upper left", title="slope", title_fontsize=8)
        for side in ("top", "right"):
            panel.spines[side].set_visible(False)
    panels[0].set_ylabel("time")
    panels[0].set_ylim(top=20 * panels[0].get_ylim()[1])  # room for the legends
    panels[0].yaxis.set_major_formatter(FuncFormatter(lambda value, _: duration(value)))
    figure.savefig(picture, dpi=150)
    pyplot.close(figure)


def _measure(
    sizes: Mapping[int, tuple[int, int]], prepare: Callable[[int, int], Work], repeats: int
) -> list[list[float]]:
    """Median seconds of what ``prepare(n, m)`` returns, all sizes in turn."""
    works = {size: prepare(n, m) for size, (n, m) in sizes.items()}
    took: dict[int, list[float]] = {size: [] for size in sizes}
    for repeat in range(repeats):
        for size, work in works.items():
            if repeat and prepare is _fit and sizes[size][1] >= ONCE:
                continue
            time.sleep(PAUSE)
            took[size].append(work())
    return [[size, median(seconds)] for size, seconds in took.items()]


def _answers(n: int, m: int) -> Triplets:
    rng = np.random.default_rng(n)
    asked = random_comparisons(n, m, replace=True, random_state=rng)
    rows = answer(rng.normal(size=(n, D)), asked, noise=NOISE, random_state=rng)
    return Triplets(rows, n_objects=n)


def _evaluation(n: int, m: int) -> Work:
    problem = build_problem(_answers(n, m).array, n)
    X = SPREAD * np.random.default_rng(0).normal(size=(n, D))
    objective = Objective(STEModel(), D)
    calls = max(1, FIXED // (2 * m))  # one of a small problem is too quick to be timed

    def work() -> float:
        start = time.perf_counter()
        for _ in range(calls):
            evaluate(objective, problem, X)
        return (time.perf_counter() - start) / calls

    work()
    return work


def _fit(n: int, m: int) -> Work:
    triplets = _answers(n, m)
    return lambda: timed(STE(D, random_state=0).fit, triplets).seconds


def _line(what: str, pairs: list[list[float]]) -> Line:
    found, by_triplets = slope(pairs), what.endswith("triplets")
    return Line(
        f"slope of log time by log {what.rpartition(' ')[2]}, {WORDS[what]}",
        f"{found:.2f}",
        f"≤ {GOAL}" if by_triplets else NONE,
        found <= GOAL if by_triplets else None,
        quality_ours=f"{duration(pairs[0][1])} to {duration(pairs[-1][1])}",
    )
