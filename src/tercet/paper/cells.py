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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from joblib import parallel_config
from threadpoolctl import threadpool_limits

from tercet.engine.backend import backend_is_chosen, run_anywhere
from tercet.errors import TercetError
from tercet.files import write_whole
from tercet.parallel import count_threads
from tercet.progress import progress_bar

__all__ = ["Cell", "Result", "collect_results", "source_of"]

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


def collect_results(
    cells: Sequence[Cell], folder: Path, jobs: int | None, what: str = "", show: bool | None = None
) -> list[Result]:
    """Return the results in order; those not known yet are computed, on as many processes.

    Inside ``joblib.parallel_config(backend=...)`` that backend computes them. This process alone
    keeps them.

    Besides what the function returned, a result has its ``settings``, ``seconds``, ``warned`` (the
    warnings, counted by category) and ``source`` (see `source_of`). Where the function failed, the
    result has its ``settings`` and ``failed``, what was wrong; that is not kept, so the next run
    tries again.

    Parameters
    ----------
    cells : sequence of Cell
    folder : Path
        Where results are kept.
    jobs : int, optional
        Processes, all cores by default, or as the chosen backend has it; the results do not depend
        on it.
    what : str
        What the progress bar is called; by default as the first experiment.
    show : bool, optional
        Whether to show it; by default on a terminal only.
    """
    known = {cell.path(folder): _read(cell, folder) for cell in cells}
    missing = [cell for cell in cells if known[cell.path(folder)] is None]
    if missing:
        for name in {cell.experiment for cell in missing}:
            folder.joinpath(name).mkdir(parents=True, exist_ok=True)
        # The long ones first, so that no process is left alone with one at the end.
        missing.sort(key=lambda cell: -cell.cost)
        total = sum(cell.cost for cell in missing)
        with progress_bar(total, what or missing[0].experiment, show, shares=True) as bar:
            for k, result in _compute_all(missing, jobs):
                path = missing[k].path(folder)
                if "failed" not in result:
                    write_whole(path, json.dumps(result).encode())
                known[path] = result
                bar.update(missing[k].cost)
    results = [known[cell.path(folder)] for cell in cells]
    return [result for result in results if result is not None]


def _read(cell: Cell, folder: Path) -> Result | None:
    """Read a result that is kept; one that is damaged counts as not known."""
    try:
        result: Any = json.loads(cell.path(folder).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return result if isinstance(result, dict) and "seconds" in result else None


def _compute_all(cells: Sequence[Cell], jobs: int | None) -> Iterator[tuple[int, Result]]:
    """Compute the cells side by side; which of them, and its result, as they are known."""
    if not backend_is_chosen():
        with parallel_config("loky"):
            yield from _compute_all(cells, count_threads(jobs))
        return
    try:
        yield from run_anywhere(_compute, None, list(enumerate(cells)), jobs, in_order=False)
    except TercetError as error:  # those of a cell are told in its result
        raise TercetError(f"{error} What was computed is kept: run again.") from error


def _compute(_: None, numbered: tuple[int, Cell]) -> tuple[int, Result]:
    """Compute a cell."""
    number, cell = numbered
    start = time.perf_counter()
    # The workers' threads would only get in each other's way.
    with warnings.catch_warnings(record=True) as caught, threadpool_limits(1):
        warnings.simplefilter("always")
        try:
            result = cell.function(**cell.settings) | {"settings": cell.settings}
            json.dumps(result)
        except Exception as error:  # one failure must not cost the rest of a long run
            told = f"{cell.experiment} {cell.settings}: {error!r}"
            return number, {"failed": told, "settings": cell.settings}
    known = result | {
        "seconds": time.perf_counter() - start,
        "warned": Counter(warning.category.__name__ for warning in caught),
        "source": source_of(),
    }
    return number, json.loads(json.dumps(known))  # as it will be read the next time


@cache
def source_of() -> str:
    """Return a short name of the state of tercet's source, which says what made a result."""
    digest = hashlib.sha256()
    folder = Path(__file__).parents[1]
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:10]
