"""Cells: the pieces an experiment is computed in, side by side, each kept once it is known.

A cell is a function and its settings. Its result is kept as JSON in a file named after the settings
and the version of the experiment, so that an experiment that was interrupted goes on where it
stopped, and one whose version was raised starts anew.
"""

from __future__ import annotations

import hashlib
import json
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky.process_executor import TerminatedWorkerError
from threadpoolctl import threadpool_limits

from tercet.errors import TercetError
from tercet.files import write_whole
from tercet.progress import progress_bar

__all__ = ["Cell", "Result", "collect", "source_of"]

Result = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One piece of an experiment; the function takes the settings by name, and both are JSON."""

    experiment: str
    version: int
    function: Callable[..., Result] = field(repr=False)
    settings: dict[str, Any]
    cost: float = 1.0  # about how long it takes, in any unit, for the progress bar

    def path(self, folder: Path) -> Path:
        """Where the result is kept."""
        known = [self.experiment, self.version, self.function.__name__, self.settings]
        key = hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()
        return folder / self.experiment / f"{key[:24]}.json"


def collect(
    cells: Sequence[Cell], folder: Path, jobs: int, what: str = "", show: bool | None = None
) -> list[Result]:
    """Return the results in order; those not known yet are computed, on as many processes.

    Besides what the function returned, a result has its ``settings``, ``seconds``, ``warned`` (the
    warnings, counted by category) and ``source`` (see `source_of`). Where the function failed, the
    result has its ``settings`` and ``failed``, what was wrong; that is not kept, so the next run
    tries again.

    Parameters
    ----------
    cells : sequence of Cell
    folder : Path
        Where results are kept.
    jobs : int
        Processes; the results do not depend on it.
    what : str
        What the progress bar is called; by default as the first experiment.
    show : bool, optional
        Whether to show it; by default on a terminal only.
    """
    folder = folder.absolute()  # workers may have been started in another folder
    known = {cell.path(folder): _read(cell, folder) for cell in cells}
    missing = [cell for cell in cells if known[cell.path(folder)] is None]
    if missing:
        for name in {cell.experiment for cell in missing}:
            folder.joinpath(name).mkdir(parents=True, exist_ok=True)
        # The long ones first, so that no process is left alone with one at the end.
        missing.sort(key=lambda cell: -cell.cost)
        total = sum(cell.cost for cell in missing)
        # The workers' threads would only get in each other's way.
        with (
            parallel_config("loky", inner_max_num_threads=1),
            progress_bar(total, what or missing[0].experiment, show, shares=True) as bar,
        ):
            parallel = Parallel(n_jobs=jobs, batch_size=1, return_as="generator_unordered")
            try:
                done = parallel(delayed(_compute)(cell, folder) for cell in missing)
                for path, result, cost in done:
                    known[path] = result
                    bar.update(cost)
            except TerminatedWorkerError as error:
                raise TercetError(
                    "a process was ended from outside, perhaps for lack of memory. What was "
                    "computed is kept: run again, with fewer jobs."
                ) from error
    results = [known[cell.path(folder)] for cell in cells]
    return [result for result in results if result is not None]


def _read(cell: Cell, folder: Path) -> Result | None:
    """Read a result that is kept; one that is damaged counts as not known."""
    try:
        result: Any = json.loads(cell.path(folder).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return result if isinstance(result, dict) and "seconds" in result else None


def _compute(cell: Cell, folder: Path) -> tuple[Path, Result, float]:
    """Compute a cell and keep it."""
    start = time.perf_counter()
    path = cell.path(folder)
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(1):
        warnings.simplefilter("always")
        try:
            result = cell.function(**cell.settings) | {"settings": cell.settings}
            json.dumps(result)
        except Exception as error:  # one failure must not cost the rest of a long run
            told = f"{cell.experiment} {cell.settings}: {error!r}"
            return path, {"failed": told, "settings": cell.settings}, cell.cost
    known = result | {
        "seconds": time.perf_counter() - start,
        "warned": Counter(warning.category.__name__ for warning in caught),
        "source": source_of(),
    }
    text = json.dumps(known)
    write_whole(path, text.encode())
    # As it will be read the next time.
    return path, json.loads(text), cell.cost


@cache
def source_of() -> str:
    """Return a short name of the state of tercet's source, which says what made a result."""
    digest = hashlib.sha256()
    folder = Path(__file__).parents[1]
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:10]
