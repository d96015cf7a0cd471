"""How long a new process takes to be ready."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from os import environ
from pathlib import Path

from benchmarks.peer import PYTHON, ROOT
from benchmarks.report import NONE, Line, Section, Table, duration, times
from benchmarks.setting import Setting, Timed, take_turns, timed

GOAL_RATIO, GOAL_SECONDS = 3.0, 2.0

_PACKAGE, _MODEL = "import tercet", "from tercet import STE"
_PEER, _PEER_MODEL = "import cblearn", "from cblearn.embedding import STE"
_IMPORT = "import time; t = time.perf_counter(); {}; print(time.perf_counter() - t)"
_FIT = """
import tercet as tc
points, _ = tc.simulate.gaussian_mixture(50, random_state=0)
answers = tc.simulate.noisy_triplets(points, 4000, noise=0.3, random_state=0)
tc.STE(2, random_state=0).fit(answers)
"""


def run(setting: Setting) -> Section:
    """Import ours and the peer's package in turn, then make a first fit."""
    own = Path(sys.executable)
    runs: dict[str, Callable[[], Timed]] = {
        code: partial(_import, own, code) for code in (_PACKAGE, _MODEL)
    }
    if setting.peer is not None:
        runs |= {code: partial(_import, PYTHON, code) for code in (_PEER, _PEER_MODEL)}
    runs[_FIT] = partial(timed, _python, own, _FIT)
    for start in runs.values():
        start()  # warms the disk, and compiles what is not yet compiled
    took = take_turns(runs, setting.choose(7, 2))
    ours, model, fit = (took[code].seconds for code in (_PACKAGE, _MODEL, _FIT))
    peer = took[_PEER_MODEL].seconds if _PEER_MODEL in took else None
    imports = [(f"`{code}`", duration(run.seconds)) for code, run in took.items() if code != _FIT]
    return Section(
        "Starting up",
        [
            Line(
                f"{_PACKAGE}; peer: {_PEER_MODEL}",
                duration(ours),
                "≤ a third of the peer's",
                None if peer is None else peer / ours >= GOAL_RATIO,
                duration(peer),
                times(peer, ours),
            ),
            Line(
                f"{_MODEL}; peer: the same",
                duration(model),
                NONE,
                None,
                duration(peer),
                times(peer, model),
            ),
            Line(
                "first fit in a new process, in total",
                duration(fit),
                f"≤ {GOAL_SECONDS:g} s",
                fit <= GOAL_SECONDS,
            ),
        ],
        [Table("Imports in a new process", ["what", "time"], imports)],
        [
            "An import is timed inside the new process, without the start of Python.",
            "`import cblearn` alone loads nothing but a version number, and `import tercet` loads "
            "names when they are first used: the goal is judged against the import that the peer's "
            "users need. To provide a model, both load scikit-learn and SciPy, which is most "
            "of the time.",
            "The first fit is the whole process from start to end: Python, imports, a simulated "
            "data set of 4 000 answers about 50 objects, and `STE(2).fit`, with compiled code in "
            "the cache.",
        ],
    )


def _import(python: Path, code: str) -> Timed:
    return Timed(float(_python(python, _IMPORT.format(code))), None)


def _python(python: Path, code: str) -> str:
    """Run code in a new process and return what it prints."""
    own = python != PYTHON  # only ours may need a path to find the package
    variables = environ if own else {k: v for k, v in environ.items() if k != "PYTHONPATH"}
    command = [python, "-W", "ignore", "-c", code]
    done = subprocess.run(
        command, cwd=ROOT, env=variables, check=True, capture_output=True, text=True
    )
    return done.stdout
