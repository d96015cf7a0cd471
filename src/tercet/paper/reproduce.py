"""reproduce: run the experiments, draw the figures, test the claims, write the page."""

from __future__ import annotations

import io
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from tercet.errors import InputError, TercetError
from tercet.files import write_whole
from tercet.paper.claims import CLAIMS
from tercet.paper.drawing import style
from tercet.paper.experiments import (
    Figure,
    Measurements,
    Pictures,
    Result,
    collect_results,
    measurements_of,
    source_of,
)
from tercet.paper.figure2 import draw_together
from tercet.paper.figures import FIGURES, Reproduction
from tercet.paper.settings import SIZES
from tercet.paper.verdicts import judge_claims
from tercet.paper.writeup import write_page
from tercet.running.threads import count_threads

__all__ = ["reproduce"]

PARTS = ("2a", "2b", "2c")  # of figure 2


def reproduce(
    figures: Sequence[str] = (),
    *,
    size: str = "quick",
    out: str | os.PathLike[str] = "reproduction",
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Reproduction:
    """Reproduce figures of the paper, and test the claims based on them.

    Parameters
    ----------
    figures : sequence of str
        Of "1", "2a", "2b", "2c" ("2" for all three), "3", "4", "5", "mixture", "vote",
        "distances"; by default all, except those whose data are not available, which are listed.
    size : {"quick", "full", "tiny"}
        "full" has the paper's repeats and all grids; "quick" one repeat and coarse grids, to see
        that it works; "tiny" is for tests.
    out : path
        Folder for figures (PNG and PDF), tables (CSV), ``claims.csv`` and ``reproduction.md``.
        Its folder ``cells`` has the results, from which an interrupted run resumes.
    n_jobs : int, optional
        Processes, all cores by default. Inside ``joblib.parallel_config(backend=...)`` that backend
        is used, with its own number of jobs. The results do not depend on either.
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal only.
    """
    chosen = _choose(figures)
    if size not in SIZES:
        raise InputError(f"size must be one of {', '.join(SIZES)}, got {size!r}.")
    folder, start = Path(out), time.perf_counter()
    _make_folder(folder)
    count_threads(n_jobs)
    with style():  # raises now if Matplotlib is missing, not after an hour
        pass
    left_out = _missing_data(chosen, strict=bool(figures))
    chosen = [figure for figure in chosen if figure.name not in left_out]

    cells = [(figure.name, cell) for figure in chosen for cell in figure.cells(SIZES[size])]
    results = collect_results(
        [cell for _, cell in cells], folder / "cells", n_jobs, what="reproducing", show=progress
    )
    by_figure: dict[str, list[Result]] = {figure.name: [] for figure in chosen}
    for (name, _), result in zip(cells, results, strict=True):
        by_figure[name].append(result)
    done = [result for result in results if "failed" not in result]
    tables = {name: measurements_of(found) for name, found in by_figure.items()}
    failed = [result["failed"] for result in results if "failed" in result]
    pictures = _write_figures(chosen, tables, folder, failed)
    reproduction = Reproduction(
        SIZES[size],
        tables,
        pictures,
        judge_claims(CLAIMS, tables),
        left_out,
        failed,
        {result["source"] for result in done} <= {source_of()},
        {name: len(found) for name, found in by_figure.items()},
        {name: _warnings(found) for name, found in by_figure.items()},
        sum(result["seconds"] for result in done) / 60.0,
        (time.perf_counter() - start) / 60.0,
    )
    write_page(reproduction, folder)
    return reproduction


def _choose(names: Sequence[str]) -> list[Figure]:
    wanted = [part for name in names for part in (PARTS if name == "2" else (name,))]
    unknown = [name for name in wanted if name not in FIGURES]
    if unknown:
        raise InputError(f"there is no figure {unknown[0]!r}; there are {', '.join(FIGURES)}.")
    return [figure for name, figure in FIGURES.items() if not names or name in wanted]


def _warnings(results: Sequence[Result]) -> Counter[str]:
    return sum((Counter(result.get("warned", {})) for result in results), Counter())


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror}. Choose another.") from error
    if not os.access(folder, os.W_OK):
        raise InputError(f"cannot write to {folder}: it is read-only. Choose another.")


def _missing_data(chosen: Sequence[Figure], strict: bool) -> dict[str, str]:
    """Figures whose data are not available, and why; an error for those requested by name."""
    missing = {}
    for figure in chosen:
        for load in figure.loaders:
            try:
                load()
            except TercetError as error:
                if strict:
                    raise
                missing[figure.name] = str(error)
    return missing


def _write_figures(
    chosen: Sequence[Figure], tables: Mapping[str, Measurements], folder: Path, failed: list[str]
) -> dict[str, list[str]]:
    """Write pictures and tables of every figure with results; returns the names of the pictures."""
    names: dict[str, list[str]] = {}
    with style():
        for figure in chosen:
            table = tables[figure.name]
            if not len(table):
                continue
            stem = figure.name if figure.name.isalpha() else f"figure_{figure.name}"
            write_whole(folder / f"{stem}.csv", table.csv().encode())
            by, numbers = figure.summary
            if numbers:
                summary = table.summary(by, numbers)
                write_whole(folder / f"{stem}_summary.csv", summary.csv().encode())
            try:
                names[figure.name] = _save(figure.draw(table), folder)
            except TercetError as error:  # cells failed, and are listed
                failed.append(f"the pictures of {figure.name}: {error}")
        if set(PARTS) <= set(names):
            names["2"] = _save(draw_together(tables), folder)
    return names


def _save(pictures: Pictures, folder: Path) -> list[str]:
    for name, picture in pictures.items():
        for ending in ("png", "pdf"):
            drawn = io.BytesIO()
            picture.savefig(drawn, format=ending)
            write_whole(folder / f"{name}.{ending}", drawn.getvalue())
    return list(pictures)
