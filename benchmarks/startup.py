"""How long a new process takes to be ready."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from os import environ
from pathlib import Path

from benchmarks.peer import PYTHON, ROOT
from benchmarks.report import NONE, Line, Section, duration, times
from benchmarks.setting import Setting, Timed, take_turns, timed

GOAL_RATIO, GOAL_SECONDS = 3.0, 2.0

_IMPORT = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
_FIT = """
import numpy as np, tercet as tc
points, _ = tc.simulate.gaussian_mixture(50, random_state=0)
answers = tc.simulate.noisy_triplets(points, 4000, noise=0.3, random_state=0)
tc.STE(2, random_state=0).fit(answers)
"""


def run(setting: Setting) -> Section:
    """Import ours and the peer's package in turn, then make a first fit."""
    runs: dict[str, Callable[[], Timed]] = {
        "ours": partial(_import, Path(sys.executable), "tercet")
    }
    if setting.peer is not None:
        runs["peer"] = partial(_import, PYTHON, "cblearn")
    runs["fit"] = partial(timed, _python, Path(sys.executable), _FIT)
    for start in runs.values():
        start()  # warms the disk, and compiles what is not yet compiled
    took = take_turns(runs, setting.choose(7, 2))
    ours, fit = took["ours"].seconds, took["fit"].seconds
    peer = took["peer"].seconds if "peer" in took else None
    return Section(
        "Starting up",
        [
            Line(
                "import tercet, new process",
                duration(ours),
                "≤ a third of the peer's",
                None if peer is None else peer / ours >= GOAL_RATIO,
                duration(peer),
                times(peer, ours),
            ),
            Line(
                "first fit in a new process, all in all",
                duration(fit),
                f"≤ {GOAL_SECONDS:g} s",
                fit <= GOAL_SECONDS,
                NONE,
            ),
        ],
        notes=[
            "An import is timed inside the new process, without the start of Python. Names of "
            "tercet are loaded when they are first used; the first fit loads what it needs.",
            "The first fit is the whole process from start to end: Python, imports, a simulated "
            "data set of 4 000 answers about 50 objects, and `STE(2).fit`, with compiled code in "
            "the cache.",
        ],
    )


def _import(python: Path, package: str) -> Timed:
    return Timed(float(_python(python, _IMPORT.format(package))), None)


def _python(python: Path, code: str) -> str:
    """Run code in a new process and return what it prints."""
    own = python != PYTHON  # only ours may need a path to find the package
    variables = environ if own else {k: v for k, v in environ.items() if k != "PYTHONPATH"}
    command = [python, "-W", "ignore", "-c", code]
    done = subprocess.run(
        command, cwd=ROOT, env=variables, check=True, capture_output=True, text=True
    )
    return done.stdout
