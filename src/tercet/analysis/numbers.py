"""The numbers of an analysis: tables to read and to save as CSV, and everything as JSON."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable
from pathlib import PurePath
from typing import Any

import numpy as np

from tercet.analysis.analysis import Analysis
from tercet.analysis.words import summary
from tercet.tables import Table, json_ready
from tercet.uses.certainty import CertainComparison

__all__ = ["MAKERS", "Cell", "as_dict", "tables"]

Cell = str | int | float | None

CURVE_POINTS = 100  # of the risk–coverage curve, at most


def tables(analysis: Analysis) -> dict[str, Table]:
    """All tables that are not empty, by name."""
    found = {name: make(analysis) for name, make in MAKERS.items()}
    return {name: table for name, table in found.items() if table is not None and table.rows}


def _objects(analysis: Analysis) -> Table:
    d = analysis.n_components
    header = ["object", "answers"]
    for k in range(1, d + 1):
        header += [f"x{k}", f"x{k}_low", f"x{k}_high"]
    header += ["radius", "nearest", "nearest_probability", "second", "third"]
    names = analysis.names
    rows: list[list[Cell]] = []
    for each in analysis.objects:
        row: list[Cell] = [each.name, each.answers]
        for k in range(d):
            row += [float(each.position[k]), *map(float, each.interval[k])]
        near = [names[neighbour.object] for neighbour in each.neighbours]
        near += [""] * (3 - len(near))
        row += [each.radius, near[0], each.neighbours[0].probability, near[1], near[2]]
        rows.append(row)
    return Table("Objects: positions with their intervals, and nearest neighbours", header, rows)


def _comparisons(analysis: Analysis) -> Table | None:
    if analysis.is_provisional:
        return None
    header = ["kind", "anchor", "near", "far", "probability", "answers", "agreed"]
    certainty = analysis.certainty
    rows = [
        *_claims("most certain", certainty.most, analysis),
        *_claims("least certain", certainty.least, analysis),
        *_claims("contested", certainty.contested, analysis),
    ]
    return Table("Comparisons: most certain, least certain and contested", header, rows)


def _claims(kind: str, claims: Iterable[CertainComparison], analysis: Analysis) -> list[list[Cell]]:
    names = analysis.names
    return [[kind, *(names[i] for i in each[:3]), *each[3:]] for each in claims]


def _observers(analysis: Analysis) -> Table | None:
    records = analysis.check.records()
    if not records:
        return None
    header = list(records[0])
    rows = [[_cell(record[key]) for key in header] for record in records]
    return Table("Observers: agreement with the others", header, rows)


def _dimensions(analysis: Analysis) -> Table | None:
    if analysis.dimension is None:
        return None
    records = analysis.dimension.records()
    rows: list[list[Cell]] = [list(map(_cell, record.values())) for record in records]
    known = [any(row[k] is not None for row in rows) for k in range(len(rows[0]))]
    header = [title for title, keep in zip(records[0], known, strict=True) if keep]
    kept = [[cell for cell, keep in zip(row, known, strict=True) if keep] for row in rows]
    return Table("Evidence for each number of dimensions", header, kept)


def _calibration(analysis: Analysis) -> Table | None:
    if analysis.held_out is None:
        return None
    bins = analysis.held_out.reliability
    rows: list[list[Cell]] = [
        [float(low), float(high), int(count), _cell(confidence), _cell(accuracy)]
        for low, high, count, confidence, accuracy in zip(
            bins.edges[:-1],
            bins.edges[1:],
            bins.count,
            bins.confidence,
            bins.accuracy,
            strict=True,
        )
    ]
    header = ["from", "to", "answers", "confidence", "accuracy"]
    return Table("Calibration: confidence and accuracy of held-out predictions", header, rows)


def _coverage(analysis: Analysis) -> Table | None:
    if analysis.held_out is None:
        return None
    curve = analysis.held_out.curve
    count = len(curve.coverage)
    chosen = np.unique(np.linspace(0, count - 1, min(count, CURVE_POINTS)).round().astype(int))
    rows: list[list[Cell]] = [
        [float(curve.confidence[i]), float(curve.coverage[i]), float(curve.risk[i])] for i in chosen
    ]
    return Table(
        "Risk and coverage of held-out predictions", ["confidence", "coverage", "risk"], rows
    )


def _scale(analysis: Analysis) -> Table | None:
    scale = analysis.scale
    if scale is None:
        return None
    limits = scale.interval(analysis.settings.level)
    labels = scale.names or tuple(map(str, range(len(scale.stimuli))))
    rows: list[list[Cell]] = [
        [label, float(stimulus), float(value), float(sd), float(low), float(high)]
        for label, stimulus, value, sd, (low, high) in zip(
            labels, scale.stimuli, scale.estimate, scale.std(), limits, strict=True
        )
    ]
    header = ["object", "stimulus", "scale", "sd", "low", "high"]
    return Table("Perceptual scale", header, rows)


def _questions(analysis: Analysis) -> Table | None:
    found = analysis.suggestions
    if found is None:
        return None
    names = analysis.names
    rows: list[list[Cell]] = [
        [names[anchor], names[one], names[other], float(score)]
        for (anchor, one, other), score in zip(found.array.tolist(), found.scores, strict=True)
    ]
    return Table("Questions to ask next", ["anchor", "one", "other", "score"], rows)


def _cell(value: object) -> Cell:
    """A value; None where it is not a finite number."""
    if isinstance(value, float | np.floating):
        return float(value) if math.isfinite(value) else None
    if isinstance(value, int | np.integer):
        return int(value)
    return None if value is None else str(value)


MAKERS: dict[str, Callable[[Analysis], Table | None]] = {
    "objects": _objects,
    "comparisons": _comparisons,
    "observers": _observers,
    "dimensions": _dimensions,
    "calibration": _calibration,
    "coverage": _coverage,
    "scale": _scale,
    "questions": _questions,
}


# --- everything -------------------------------------------------------------------------------


def as_dict(analysis: Analysis) -> dict[str, Any]:
    """Everything, JSON-compatible; missing values are None."""
    lack = analysis.lack_of_fit if analysis.chains_agree else None
    found: dict[str, Any] = {
        "file": PurePath(analysis.reading.path).name or None,
        "format": analysis.reading.format,
        "read": analysis.reading.sentences(),
        "skipped": [dataclasses.asdict(each) for each in analysis.reading.skipped],
        "summary": summary(analysis),
        "cautions": analysis.cautions,
        "provisional": analysis.is_provisional,
        "check": analysis.check.as_dict(),
        "dimension": {
            "used": analysis.n_components,
            "recommended": analysis.dimension and analysis.dimension.dimension,
            "verdict": analysis.dimension and analysis.dimension.verdict,
            "reason": analysis.dimension and analysis.dimension.reason,
            "undecided_at": analysis.dimension and analysis.dimension.undecided_at,
            "ran_longer": analysis.dimension and list(analysis.dimension.ran_longer),
            "by_chains": analysis.dimension and analysis.dimension.by_chains,
            "n_answers": analysis.dimension and analysis.dimension.n_answers,
            "note": analysis.dimension_note,
        },
        "uncertainty": {"kind": analysis.kind, "why": analysis.why},
        "diagnostics": analysis.diagnostics and analysis.diagnostics.describe(),
        "certainty": None if analysis.is_provisional else _certainty(analysis),
        "held_out": analysis.held_out
        and _without(analysis.held_out._asdict(), "probability", "confidence", "right", "curve"),
        "noise_ceiling": analysis.ceiling,
        "lack_of_fit": lack and dataclasses.asdict(lack),
        "goodness_of_fit": analysis.goodness
        and {
            "deviance": analysis.goodness.deviance,
            "deviance_p": analysis.goodness.deviance_p,
            "accounted_for": analysis.goodness.daf,
            "runs": analysis.goodness.runs,
            "runs_p": analysis.goodness.runs_p,
        },
        "tables": {
            name: [dict(zip(table.header, row, strict=True)) for row in table.rows]
            for name, table in tables(analysis).items()
        },
        "methods": analysis.methods,
        "results": analysis.results,
        "citations": analysis.citations,
        "settings": _without(dataclasses.asdict(analysis.settings), "n_jobs", "progress"),
        "versions": analysis.versions,
    }
    simple: dict[str, Any] = json_ready(found)
    return simple


def _certainty(analysis: Analysis) -> dict[str, Any]:
    """Certainty over all comparisons; single ones and neighbours are in the tables."""
    names = ("level", "share", "shares", "expected_error", "counted", "is_sample")
    return {name: getattr(analysis.certainty, name) for name in names}


def _without(values: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in names}
