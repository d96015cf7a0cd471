"""Everything a report tells, for machines."""

from __future__ import annotations

import dataclasses
from pathlib import PurePath
from typing import Any

from tercet.plain import plain
from tercet.report.findings import Findings
from tercet.report.methods import citations, methods
from tercet.report.tables import tables
from tercet.report.words import summary

__all__ = ["as_json"]


def as_json(findings: Findings) -> dict[str, Any]:
    """The findings as JSON knows them; None where a number is unknown."""
    lack = findings.lack_of_fit if findings.chains_agree else None
    found: dict[str, Any] = {
        "file": PurePath(findings.reading.path).name,
        "format": findings.reading.format,
        "read": findings.reading.sentences(),
        "skipped": [dataclasses.asdict(each) for each in findings.reading.skipped],
        "summary": summary(findings),
        "warnings": findings.warnings,
        "provisional": findings.is_provisional,
        "check": findings.check.as_dict(),
        "dimension": {
            "used": findings.n_components,
            "recommended": findings.dimension and findings.dimension.dimension,
            "verdict": findings.dimension and findings.dimension.verdict,
            "reason": findings.dimension and findings.dimension.reason,
            "hangs_on": findings.dimension and findings.dimension.hangs_on,
            "n_answers": findings.dimension and findings.dimension.n_answers,
            "note": findings.dimension_note,
        },
        "uncertainty": {"kind": findings.kind, "why": findings.why},
        "diagnostics": findings.diagnostics and findings.diagnostics.describe(),
        "sureness": None
        if findings.is_provisional
        else _without(findings.sureness._asdict(), "most", "least", "contested"),
        "foretold": findings.foretold
        and _without(findings.foretold._asdict(), "probability", "curve"),
        "lack_of_fit": lack and dataclasses.asdict(lack),
        "goodness": findings.goodness
        and {
            "deviance": findings.goodness.deviance,
            "deviance_p": findings.goodness.deviance_p,
            "accounted_for": findings.goodness.daf,
            "runs": findings.goodness.runs,
            "runs_p": findings.goodness.runs_p,
        },
        "tables": {
            name: [dict(zip(table.header, row, strict=True)) for row in table.rows]
            for name, table in tables(findings).items()
        },
        "methods": methods(findings),
        "citations": citations(findings),
        "settings": _without(dataclasses.asdict(findings.settings), "n_jobs", "progress"),
        "versions": findings.versions,
    }
    simple: dict[str, Any] = plain(found)
    return simple


def _without(values: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name not in names}
