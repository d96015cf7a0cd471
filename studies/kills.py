"""Runs with a checkpoint, killed at random moments and resumed, against undisturbed ones."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import tercet as tc
from studies.cells import ROOT, Cell, Result, collect
from studies.killing import KINDS
from studies.report import Goal, Section, Table
from studies.setting import Setting
from tercet.makers import Maker

VERSION = 1  # raise it when changes in tercet affect what is measured here
KILLS, QUICK_KILLS = 10, 2  # of every kind of run
REPEATS = 5
COSTS: dict[str, tuple[int, int, Callable[[], Maker]]] = {  # objects, answers and the run
    "1000 bootstraps of 4000 answers about 50 objects": (
        50,
        4000,
        lambda: tc.Bootstrap(tc.STE(2), 1000, random_state=0),
    ),
    "the default posterior of 2000 answers about 50 objects": (
        50,
        2000,
        lambda: tc.Posterior(tc.STE(2), random_state=0),
    ),
    "the same of 20 000 answers about 200 objects, 2 chains of 300 draws": (
        200,
        20_000,
        lambda: tc.Posterior(tc.STE(2), n_samples=300, warmup=200, n_chains=2, random_state=0),
    ),
    "distance matrices of 50 objects, 2 chains of 500 draws": (
        50,
        2000,
        lambda: tc.Posterior(
            tc.STE(2), prior=tc.DistancePrior(2.0), n_samples=500, n_chains=2, random_state=0
        ),
    ),
}


def measure(kind: str, kills: int, seed: int) -> Result:
    """Kill a run so many times, and count what happened."""
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "studies.killing", kind, str(kills), str(seed), folder]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    result: Result = json.loads(done.stdout)
    return result


def measure_cost(run: str) -> Result:
    """Seconds without a checkpoint, with one and with a finished one, and the size of the file."""
    objects, answers, make = COSTS[run]
    points, _ = tc.simulate.gaussian_mixture(objects, random_state=0)
    triplets = tc.simulate.noisy_triplets(points, answers, noise=0.3, replace=True, random_state=0)
    maker = make()
    maker.fit(triplets)  # compiles
    seconds: dict[str, list[float]] = {"without": [], "with": [], "finished": []}
    for _ in range(REPEATS):
        with TemporaryDirectory() as folder:
            path = Path(folder) / "run.ckpt"
            for name, checkpoint in (("without", None), ("with", path), ("finished", path)):
                start = time.perf_counter()
                maker.set_params(checkpoint=checkpoint).fit(triplets)
                seconds[name].append(time.perf_counter() - start)
            size = path.stat().st_size
    best = {name: min(times) for name, times in seconds.items()}
    return best | {"size": size, "draws": maker.ensemble_.draws.nbytes}


def run(setting: Setting) -> Section:
    """All kinds of runs, and what a checkpoint costs."""
    section = Section("Killed and resumed")
    kills = setting.choose(KILLS, QUICK_KILLS)
    cells = [
        Cell("kills", VERSION, measure, {"kind": kind, "kills": kills, "seed": seed})
        for seed, kind in enumerate(KINDS)
    ]
    results = collect(cells, setting.jobs)
    done = [result for result in results if "failed" not in result]
    names = ("kills", "before", "within", "after", "runs", "same")
    rows = [[r["settings"]["kind"], *(str(r[name]) for name in names)] for r in done]
    totals = {name: sum(result[name] for result in done) for name in names}
    rows.append(["all", *(str(totals[name]) for name in names)])
    section.goals.append(
        Goal(
            "killed and resumed runs are bit-identical to an undisturbed one",
            f"all, after {kills * len(KINDS)} kills",
            f"{totals['same']} of {totals['runs']}, after {totals['kills']} kills",
            len(done) == len(KINDS) and totals["same"] == totals["runs"],
        )
    )
    section.parts.append(
        Table(
            "SIGKILL at random moments: a third at once, a third at any time and a third in the "
            "first commit after it; all draws, statistics and the provenance are compared",
            [
                "run",
                "kills",
                "before the first commit",
                "within a commit",
                "after commits",
                "finished runs",
                "of these bit-identical",
            ],
            rows,
        )
    )
    costs = collect([Cell("kills", VERSION, measure_cost, {"run": run}) for run in COSTS], 1)
    section.parts.append(
        Table(
            f"What a checkpoint costs, the best of {REPEATS} times",
            ["run", "without", "with", "finished, read again", "file", "of it draws"],
            [
                [
                    cost["settings"]["run"],
                    *(f"{cost[name]:.2f} s" for name in ("without", "with", "finished")),
                    *(f"{cost[name] / 1e6:.1f} MB" for name in ("size", "draws")),
                ]
                for cost in costs
                if "failed" not in cost
            ],
        )
    )
    section.notes += setting.notes([*results, *costs])
    return section
