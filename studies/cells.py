"""Cells: the pieces a study is computed in, side by side, each kept once it is known.

A cell is a function and its settings. Its result is kept as JSON under ``.studies/``, in a file
named after the settings and the version of the study, so that a study that was interrupted goes on
where it stopped, and one whose version was raised starts anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from joblib import Parallel, delayed, parallel_config
from threadpoolctl import threadpool_limits
from tqdm import tqdm

import tercet

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".studies"

Result = dict[str, Any]


class Cell(NamedTuple):
    """One piece of a study; the function takes the settings by name, and both are JSON."""

    study: str
    version: int
    function: Callable[..., Result]
    settings: dict[str, Any]

    def path(self) -> Path:
        """Where the result is kept."""
        known = [self.study, self.version, self.function.__name__, self.settings]
        key = hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()
        return FOLDER / self.study / f"{key[:24]}.json"


def collect(cells: Sequence[Cell], jobs: int) -> list[Result]:
    """Return the results in order; those not known yet are computed, on as many processes.

    Besides what the function returned, a result has ``seconds``, ``warned`` (the warnings, counted
    by category) and ``source`` (see `source_of`). Where the function failed, the result is only
    ``failed``, what was wrong; that is not kept, so the next run tries again.
    """
    missing = [cell for cell in cells if not cell.path().exists()]
    failed: dict[Path, str] = {}
    if missing:
        name = missing[0].study
        FOLDER.joinpath(name).mkdir(parents=True, exist_ok=True)
        # The workers' threads would only get in each other's way.
        with parallel_config("loky", inner_max_num_threads=1):
            parallel = Parallel(n_jobs=jobs, batch_size=1, return_as="generator_unordered")
            done = parallel(delayed(_compute)(cell) for cell in missing)
            watched = tqdm(done, name, total=len(missing), unit="cell", mininterval=5.0)
            failed = {path: problem for path, problem in watched if problem}
    return [
        {"failed": failed[path]} if path in failed else json.loads(path.read_text())
        for path in (cell.path() for cell in cells)
    ]


def _compute(cell: Cell) -> tuple[Path, str]:
    """Compute a cell and keep it; returns where, and what went wrong if something did.

    Nothing half written is ever seen under its name.
    """
    start = time.perf_counter()
    path = cell.path()
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(1):
        warnings.simplefilter("always")
        try:
            result = cell.function(**cell.settings)
        except Exception as error:  # one failure must not cost the rest of a long run
            return path, f"{cell.settings}: {error!r}"
    known = result | {
        "settings": cell.settings,
        "seconds": time.perf_counter() - start,
        "warned": Counter(warning.category.__name__ for warning in caught),
        "source": source_of(),
    }
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps(known))
    part.replace(path)
    return path, ""


@cache
def source_of() -> str:
    """Return a short name of the state of tercet's source, which says what made a result."""
    digest = hashlib.sha256()
    folder = Path(tercet.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:10]
