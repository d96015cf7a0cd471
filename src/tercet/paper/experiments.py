"""Experiments as cells with stored results, their measurements, and figures."""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from joblib import parallel_config
from threadpoolctl import threadpool_limits

from tercet.arrays import Floats
from tercet.engine.backend import backend_is_chosen, run_anywhere
from tercet.errors import TercetError, recorded
from tercet.files import write_whole
from tercet.paper.settings import Size
from tercet.running.threads import count_threads, progress_bar
from tercet.tables import table_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Picture

__all__ = [
    "Cell",
    "Curve",
    "Figure",
    "Measurements",
    "Pictures",
    "Result",
    "Row",
    "collect_results",
    "measurements_of",
    "source_of",
]

Result = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One part of an experiment; the function takes the settings as keywords, all JSON."""

    experiment: str
    version: int
    function: Callable[..., Result] = field(repr=False)
    settings: dict[str, Any]
    cost: float = 1.0  # approximate run time, in any unit, for the progress bar

    def path(self, folder: Path) -> Path:
        """Where the result is stored."""
        known = [self.experiment, self.version, self.function.__name__, self.settings]
        key = hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()
        return folder / self.experiment / f"{key[:24]}.json"


def collect_results(
    cells: Sequence[Cell], folder: Path, jobs: int | None, what: str = "", show: bool | None = None
) -> list[Result]:
    """Return the results in order; missing ones are computed in parallel.

    Inside ``joblib.parallel_config(backend=...)`` that backend computes them. Only this process
    stores them.

    Besides what the function returned, a result has its ``settings``, ``seconds``, ``warned`` (the
    warnings, counted by category) and ``source`` (see `source_of`). Where the function failed, the
    result has its ``settings`` and the error as ``failed``; that is not stored, so the next run
    tries again.

    Parameters
    ----------
    cells : sequence of Cell
    folder : Path
        Where results are stored.
    jobs : int, optional
        Processes, all cores by default, or those of the chosen backend; the results do not depend
        on it.
    what : str
        Label of the progress bar; by default the first experiment.
    show : bool, optional
        Whether to show it; by default on a terminal only.
    """
    known = {cell.path(folder): _read(cell, folder) for cell in cells}
    missing = [cell for cell in cells if known[cell.path(folder)] is None]
    if missing:
        for name in {cell.experiment for cell in missing}:
            folder.joinpath(name).mkdir(parents=True, exist_ok=True)
        # The longest first, so that all processes end at about the same time.
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
    """Read a stored result; None if it is missing or damaged."""
    try:
        result: Any = json.loads(cell.path(folder).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return result if isinstance(result, dict) and "seconds" in result else None


def _compute_all(cells: Sequence[Cell], jobs: int | None) -> Iterator[tuple[int, Result]]:
    """Compute the cells in parallel; yields the number of each and its result when done."""
    if not backend_is_chosen():
        with parallel_config("loky"):
            yield from _compute_all(cells, count_threads(jobs))
        return
    try:
        yield from run_anywhere(_compute, None, list(enumerate(cells)), jobs, in_order=False)
    except TercetError as error:  # errors of a cell are in its result
        raise TercetError(f"{error} Finished results are stored: run again.") from error


def _compute(_: None, numbered: tuple[int, Cell]) -> tuple[int, Result]:
    """Compute a cell."""
    number, cell = numbered
    start = time.perf_counter()
    # More threads per worker would oversubscribe the cores.
    with recorded() as caught, threadpool_limits(1):
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
    """Return a short hash of tercet's source, which identifies the version behind a result."""
    digest = hashlib.sha256()
    folder = Path(__file__).parents[1]
    for path in sorted(folder.rglob("*.py")):
        digest.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:10]


# --- figures: cells to compute, measurements, pictures ------------------------------------------


Pictures: TypeAlias = "dict[str, Picture]"  # by the name of the file, without its ending


@dataclass(frozen=True)
class Figure:
    """One figure of the paper, with those of the supplement from the same experiment.

    Attributes
    ----------
    name : str
        As on the command line: "2b".
    title : str
        What the figure shows, in one sentence.
    cells : function of a Size
        What has to be computed.
    draw : function of a Measurements
        The pictures, by file name.
    summary : (columns, numbers)
        Columns to group by, and numbers whose means and standard deviations are listed.
    loaders : functions without arguments
        Load the data sets that the cells need, or raise an error.
    """

    name: str
    title: str
    cells: Callable[[Size], list[Cell]]
    draw: Callable[[Measurements], Pictures]
    summary: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    loaders: tuple[Callable[[], Any], ...] = ()


def measurements_of(results: list[Result]) -> Measurements:
    """The rows of all results, each with the settings of its cell.

    A repeat with a failed cell is left out entirely, so that means and differences are over the
    same repeats.
    """
    failed = {result["settings"].get("repeat") for result in results if "failed" in result}
    rows = [_flat(result["settings"]) | row for result in results for row in result.get("rows", ())]
    return Measurements(row for row in rows if row.get("repeat", -1) not in failed)


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that are numbers or words."""
    return {k: v for k, v in settings.items() if isinstance(v, int | float | str)}


# --- measurements and curves, for figures and claims --------------------------------------------


Row = dict[str, Any]


class Curve(NamedTuple):
    """A quantity over a grid, once for every repeat."""

    x: Floats  # (k,), rising
    values: Floats  # (repeats, k)

    @property
    def mean(self) -> Floats:
        """Over the repeats, (k,)."""
        return np.asarray(self.values.mean(axis=0))

    @property
    def sd(self) -> Floats:
        """Standard deviation over the repeats, (k,); 0 of a single one."""
        if len(self.values) < 2:
            return np.zeros(len(self.x))
        return np.asarray(self.values.std(axis=0, ddof=1))

    def at(self, x: float) -> Floats:
        """The quantity at one value of the grid, (repeats,)."""
        found = np.flatnonzero(np.isclose(self.x, x))
        if not len(found):
            raise TercetError(f"the grid {self.x.tolist()} has no {x}.")
        return self.values[:, found[0]]


class Measurements:
    """Rows of settings and numbers.

    Parameters
    ----------
    rows : iterable of dict
        A column that a row lacks is empty there.
    """

    def __init__(self, rows: Iterable[Row] = ()) -> None:
        self.rows = list(rows)

    def __len__(self) -> int:
        return len(self.rows)

    def where(self, **wanted: Any) -> Measurements:
        """The rows that have these values."""
        return Measurements(r for r in self.rows if all(r.get(k) == v for k, v in wanted.items()))

    def values(self, column: str) -> list[Any]:
        """The different values of a column, in the order of their first row."""
        return list(dict.fromkeys(row[column] for row in self.rows if column in row))

    def curve(self, x: str, y: str) -> Curve:
        """Column y over column x, for every repeat.

        All other columns must be fixed (see `where`), so that no two rows share repeat and x.
        """
        rows = [row for row in self.rows if y in row]
        grid = sorted({row[x] for row in rows})
        repeats = sorted({row["repeat"] for row in rows})
        known: dict[tuple[Any, Any], float] = {}
        for row in rows:
            if (row["repeat"], row[x]) in known:
                raise TercetError(f"two rows for repeat {row['repeat']} and {x} = {row[x]}.")
            known[row["repeat"], row[x]] = row[y]
        # Incomplete repeats are left out: means would be over different things.
        whole = [r for r in repeats if all((r, value) in known for value in grid)]
        if not whole:
            raise TercetError(f"there are no numbers for {y} over {x}; were cells left out?")
        values = [[known[r, value] for value in grid] for r in whole]
        return Curve(np.array(grid, dtype=float), np.array(values, dtype=float))

    def summary(self, by: Sequence[str], numbers: Sequence[str]) -> Measurements:
        """Mean and standard deviation over the repeats, for every combination of columns."""
        groups: dict[tuple[Any, ...], list[Row]] = {}
        for row in self.rows:
            groups.setdefault(tuple(row.get(name) for name in by), []).append(row)
        out: list[Row] = []
        for key, rows in groups.items():
            line: Row = dict(zip(by, key, strict=True))
            line["repeats"] = len({row.get("repeat") for row in rows})
            for name in numbers:
                found = np.array([r[name] for r in rows if r.get(name) is not None], dtype=float)
                found = found[np.isfinite(found)]
                if len(found):
                    line[f"{name} mean"] = float(found.mean())
                    line[f"{name} sd"] = float(found.std(ddof=1)) if len(found) > 1 else 0.0
            if any(f"{name} mean" in line for name in numbers):
                out.append(line)
        return Measurements(out)

    def csv(self) -> str:
        """CSV text; columns in the order of their first occurrence."""
        return table_of(self.rows).csv()
