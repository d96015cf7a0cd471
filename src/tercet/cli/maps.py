"""A map with intervals as text, JSON and CSV, for `bootstrap` and `posterior`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tercet.cli.output import Result, note, printable, writing
from tercet.tables import Table
from tercet.text import counted

if TYPE_CHECKING:
    from tercet.ensemble import Ensemble

__all__ = [
    "LEVEL",
    "describe_map",
    "labels_of",
    "mark_provisional",
    "point_rows",
    "point_table",
    "problems_of",
    "save_map",
]

LEVEL = 0.95  # of the intervals


def problems_of(ensemble: Ensemble | None) -> list[str]:
    """Problems of the chains that drew a map; none for other maps."""
    from tercet.posterior.diagnostics import recorded_diagnostics

    diagnostics = None if ensemble is None else recorded_diagnostics(ensemble.provenance)
    return [] if diagnostics is None else diagnostics.problems


def mark_provisional(text: str, problems: list[str]) -> str:
    """The text, preceded by the problems of the chains that it comes from."""
    if not problems:
        return text
    return f"Provisional: the chains have not converged ({'; '.join(problems)}).\n\n{text}"


def labels_of(names: tuple[str, ...] | None, n: int) -> list[Any]:
    """The names of the objects, or their numbers."""
    return list(range(n)) if names is None else list(names)


def point_rows(ensemble: Ensemble) -> list[dict[str, Any]]:
    """A row for each object: its name, and the mean and interval of every coordinate."""
    mean, interval = ensemble.point_mean(), ensemble.point_interval(LEVEL)
    rows = []
    for i, label in enumerate(labels_of(ensemble.names, ensemble.n_objects)):
        row = {"name": label}
        for k in range(ensemble.n_components):
            low, high = interval[i, k]
            row |= {f"x{k + 1}": mean[i, k], f"x{k + 1}_low": low, f"x{k + 1}_high": high}
        rows.append(row)
    return rows


def point_table(rows: list[dict[str, Any]]) -> str:
    """The rows as a table, intervals in one cell; also of points without intervals."""
    axes = [key for key in rows[0] if key != "name" and "_" not in key]
    intervals = f"{axes[0]}_low" in rows[0]
    head = ["name"]
    for axis in axes:
        head += [axis, f"{LEVEL:.0%} interval"] if intervals else [axis]
    lines = []
    for row in rows:
        line = [printable(row["name"])]
        for axis in axes:
            line.append(f"{row[axis]:.3f}")
            if intervals:
                line.append(f"{row[f'{axis}_low']:.3f} to {row[f'{axis}_high']:.3f}")
        lines.append(line)
    return Table("", head, lines).text()


def describe_map(
    options: argparse.Namespace,
    ensemble: Ensemble,
    sentences: list[str],
    more: dict[str, Any],
) -> Result:
    """The map in three forms; the text has no table if that is written to a file.

    Parameters
    ----------
    options : Namespace
        With ``out`` and ``seed``.
    ensemble : Ensemble
    sentences : list of str
        How the map was made and whether it can be trusted.
    more : dict
        The same for JSON.
    """
    expected, of = expected_error(ensemble, options.seed)
    problems = problems_of(ensemble)
    doubt = ", but the chains have not converged" if problems else ""
    text = [
        f"A map of {ensemble.n_objects} objects in "
        f"{counted(ensemble.n_components, 'dimension')}: {ensemble.n_samples} draws.",
        *sentences,
        f"Average uncertainty {expected:.4f}: {expected:.1%} of {of} are expected to be wrong"
        f"{doubt}.",
    ]
    rows = point_rows(ensemble)
    if options.out is None:
        text += ["", point_table(rows)]
    record = {
        "seed": options.seed,
        "n_objects": ensemble.n_objects,
        "n_components": ensemble.n_components,
        "n_draws": ensemble.n_samples,
        "average_uncertainty": expected,
        **more,
        "problems": problems,
        "level": LEVEL,
        "points": rows,
    }
    return Result("\n".join(text), record, rows)


def expected_error(ensemble: Ensemble, seed: int) -> tuple[float, str]:
    """Mean of min(π, 1 − π), and over which comparisons: all, or a sample for many objects."""
    mean = ensemble.average_uncertainty(random_state=seed)
    return mean, "all comparisons" if mean.exact else f"{mean.n_comparisons} random comparisons"


def save_map(options: argparse.Namespace, ensemble: Ensemble) -> None:
    """Write the ensemble to ``-o``, if given."""
    path: Path | None = options.out
    if path is not None:
        with writing(path):
            ensemble.save(path)
        note(options, f"Written: {path}, for 'tercet predict' and 'tercet suggest'.")
