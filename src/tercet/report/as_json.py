"""Everything a report tells, for machines."""

from __future__ import annotations

import dataclasses
from pathlib import PurePath
from typing import Any

from tercet.report.analysis import Analysis
from tercet.report.methods import citations, methods
from tercet.report.tables import tables
from tercet.report.words import summary
from tercet.tables import json_ready

__all__ = ["as_json"]


def as_json(analysis: Analysis) -> dict[str, Any]:
    """The analysis as JSON knows them; None where a number is unknown."""
    lack = analysis.lack_of_fit if analysis.chains_agree else None
    found: dict[str, Any] = {
        "file": PurePath(analysis.reading.path).name,
        "format": analysis.reading.format,
        "read": analysis.reading.sentences(),
        "skipped": [dataclasses.asdict(each) for each in analysis.reading.skipped],
        "summary": summary(analysis),
        "warnings": analysis.warnings,
        "provisional": analysis.is_provisional,
        "check": analysis.check.as_dict(),
        "dimension": {
            "used": analysis.n_components,
            "recommended": analysis.dimension and analysis.dimension.dimension,
            "verdict": analysis.dimension and analysis.dimension.verdict,
            "reason": analysis.dimension and analysis.dimension.reason,
            "hangs_on": analysis.dimension and analysis.dimension.hangs_on,
            "n_answers": analysis.dimension and analysis.dimension.n_answers,
            "note": analysis.dimension_note,
        },
        "uncertainty": {"kind": analysis.kind, "why": analysis.why},
        "diagnostics": analysis.diagnostics and analysis.diagnostics.describe(),
        "certainty": None
        if analysis.is_provisional
        else _without(analysis.certainty._asdict(), "most", "least", "contested"),
        "held_out": analysis.held_out
        and _without(analysis.held_out._asdict(), "probability", "curve"),
        "lack_of_fit": lack and dataclasses.asdict(lack),
        "goodness": analysis.goodness
        and {
            "deviance": analysis.goodness.deviance,
            "deviance_p": analysis.goodness.deviance_p,
            "accounted_for": analysis.goodness.daf,
            "runs": analysis.goodness.runs,
            "runs_p": analysis.goodness.runs_p,
        },
        "tables": {name: table.records() for name, table in tables(analysis).items()},
        "methods": methods(analysis),
        "citations": citations(analysis),
        "settings": _without(dataclasses.asdict(analysis.settings), "n_jobs", "progress"),
        "versions": analysis.versions,
    }
    simple: dict[str, Any] = json_ready(found)
    return simple


def _without(values: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in names}
