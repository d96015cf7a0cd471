"""Runs with a checkpoint that are killed at random moments, and whether their bits are the same."""

from __future__ import annotations

import json
import subprocess
import sys
from tempfile import TemporaryDirectory

from studies.cells import ROOT, Cell, Result, collect
from studies.killing import KINDS
from studies.report import Goal, Section, Table
from studies.setting import Setting

VERSION = 1  # raise it when the product changes what is measured here
KILLS, QUICK_KILLS = 10, 2  # of every kind of run


def measure(kind: str, kills: int, seed: int) -> Result:
    """Kill a run so many times, and count what happened."""
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "studies.killing", kind, str(kills), str(seed), folder]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    result: Result = json.loads(done.stdout)
    return result


def run(setting: Setting) -> Section:
    """All kinds of runs."""
    section = Section("Killed, and gone on with")
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
            "runs that were killed and gone on with have the bits of an undisturbed one",
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
                "runs that reached their end",
                "of these the same to the bit",
            ],
            rows,
        )
    )
    section.notes += setting.notes(results)
    return section
