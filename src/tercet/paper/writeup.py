"""The page of a reproduction: verdicts, gains of the recommended default, figures and choices."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tercet.arrays import Floats
from tercet.files import write_whole
from tercet.paper.claims import REMARKS
from tercet.paper.experiments import Measurements
from tercet.paper.figures import FIGURES, Reproduction
from tercet.paper.methods import BAYES, BOOTSTRAP, RECOMMENDED
from tercet.paper.settings import FULL, OURS, RECOMMENDED_SETTINGS
from tercet.paper.verdicts import FAILS, HOLDS, NOT_RUN, UNDECIDED, Check, Verdict
from tercet.tables import Table, table_of

__all__ = [
    "GainRow",
    "count_verdicts",
    "gains",
    "page_text",
    "verdict_tables",
    "write_page",
]

METHODS = (BOOTSTRAP, BAYES, RECOMMENDED)
THRESHOLD = 0.9


class GainRow(NamedTuple):
    """One statistic by every method, a value per repeat."""

    figure: str
    what: str
    values: dict[str, Floats]

    def text(self, method: str) -> str:
        """Mean and standard error, or a dash."""
        if method not in self.values:
            return "–"
        check = Check(self.what, self.values[method])
        error = "" if np.isnan(check.error) else f" ± {check.error:.3f}"
        return f"{check.mean:.3f}{error}"


def gains(tables: Mapping[str, Measurements]) -> list[GainRow]:
    """All statistics of the figures that were run."""
    found = {
        "2a": _dimension,
        "2b": lambda table: _calibration(table, "2b", "noise"),
        "2c": lambda table: _calibration(table, "2c", "fraction"),
        "3": _prediction,
        "4": _psychophysics,
        "5": _active,
    }
    return [
        gain
        for name, make in found.items()
        if len(tables.get(name, ()))
        for gain in make(tables[name])
    ]


def _dimension(table: Measurements) -> list[GainRow]:
    """Share of true dimensions found."""
    hits: dict[str, list[Floats]] = {BOOTSTRAP: [], BAYES: [], RECOMMENDED: []}
    for true in table.values("true"):
        rows = table.where(true=true)
        for method in (BOOTSTRAP, BAYES):
            curve = rows.where(method=method).curve("dimension", "uncertainty")
            hits[method].append(curve.x[np.argmin(curve.values, axis=1)] == true)
        hits[RECOMMENDED].append(rows.curve("true", "chosen").values[:, 0] == true)
    shares = {method: np.mean(found, axis=0) for method, found in hits.items()}
    what = "share of true dimensions found (paper's: where the uncertainty is smallest)"
    return [GainRow("2a", what, shares)]


def _calibration(table: Measurements, figure: str, x: str) -> list[GainRow]:
    names = {"error": "triplet error", "calibration error": "calibration error", "brier": "Brier"}
    return [
        GainRow(
            figure,
            f"{name}, mean over the grid",
            {
                method: table.where(model="STE", method=method).curve(x, column).values.mean(axis=1)
                for method in METHODS
            },
        )
        for column, name in names.items()
    ]


def _prediction(table: Measurements) -> list[GainRow]:
    threshold = min(table.values("threshold"), key=lambda t: abs(t - THRESHOLD))
    names = {"error over all": "wrong, share of all triplets", "abstention": "abstention"}
    return [
        GainRow(
            "3",
            f"{name} at t = {threshold:g}, mean over the fractions",
            {
                method: table.where(method=method, threshold=threshold)
                .curve("fraction", column)
                .values.mean(axis=1)
                for method in METHODS
            },
        )
        for column, name in names.items()
    ]


def _psychophysics(table: Measurements) -> list[GainRow]:
    names = {
        "departure": "departure from the mean function",
        "covered": "share of stimuli with the mean function within two standard deviations",
    }
    return [
        GainRow(
            "4",
            f"{name}, mean over the lengthscales",
            {
                method: table.where(method=method).curve("lengthscale", column).values.mean(axis=1)
                for method in (BOOTSTRAP, RECOMMENDED)
            },
        )
        for column, name in names.items()
    ]


def _active(table: Measurements) -> list[GainRow]:
    rows = table.where(dataset="Satellite", model="STE")
    names = {"triplet error": "triplet error", "kNN error": "kNN error", "ARI": "ARI"}
    return [
        GainRow(
            "5",
            f"Satellite, STE: {name}, mean after the seed answers",
            {
                strategy: rows.where(strategy=strategy)
                .curve("answers", column)
                .values[:, 1:]
                .mean(axis=1)
                for strategy in ("random", *METHODS)
            },
        )
        for column, name in names.items()
    ]


# --- the page -----------------------------------------------------------------------------------


CITATION = (
    "Lohaus, Hennig and von Luxburg, *Uncertainty Estimates for Ordinal Embeddings*, "
    "arXiv:1906.11655 (2019)"
)


RUN = """\
To reproduce it, in a few minutes with one repeat and coarse grids, or in full:

```console skip: takes hours
$ tercet reproduce
$ tercet reproduce --full
```

Single figures are selected by name: `tercet reproduce 2b 4`. Results are kept, so an interrupted
run resumes where it stopped, and a second run only draws."""


RULE = (
    "A claim is tested by checks: a statistic for each repeat, and an interval for its mean. A "
    "check holds if the one-sided 95 % bounds of the mean (Student's t over repeats) are inside, "
    "does not hold if the mean and the bound towards the interval are outside, and is undecided "
    "otherwise. A claim holds if all its checks hold, and does not hold if one of them does not, "
    "corrected for their number (Bonferroni). The rules are in `tercet.paper.claim_checks`."
)


def count_verdicts(verdicts: Sequence[Verdict]) -> str:
    """How many claims hold, in words."""
    count = Counter(verdict.verdict for verdict in verdicts)
    parts = [f"{count[HOLDS]} of {len(verdicts)} claims hold"]
    fail = "does not" if count[FAILS] == 1 else "do not"
    for name, words in ((FAILS, fail), (UNDECIDED, "undecided"), (NOT_RUN, "not run")):
        if count[name]:
            parts.append(f"{count[name]} {words}")
    return ", ".join(parts)


def verdict_tables(verdicts: Sequence[Verdict]) -> str:
    """All checks and verdicts as text; empty where no claim could be tested."""
    judged = [v for v in verdicts if v.verdict != NOT_RUN]
    if not judged:
        return ""
    checks = [
        (v.claim.name, _value(check), check.wanted, check.verdict, check.what)
        for v in judged
        for check in v.checks
    ]
    claims = [(v.claim.name, v.verdict, _tally(v), v.claim.text) for v in judged]
    tables = (
        Table("", ("claim", "mean ± se", "expected", "check", "statistic"), checks),
        Table("", ("claim", "verdict", "checks that hold", "claim of the paper"), claims),
    )
    return "\n\n".join(table.text() for table in tables) + "\n"


def write_page(reproduction: Reproduction, folder: Path) -> None:
    """``reproduction.md`` and ``claims.csv``."""
    for name, text in (
        ("reproduction.md", page_text(reproduction)),
        ("claims.csv", _claims_csv(reproduction.verdicts)),
    ):
        write_whole(folder / name, text.encode())


def page_text(reproduction: Reproduction) -> str:
    """The page; its pictures are beside it."""
    parts = [
        "# Reproducing the paper",
        f"{CITATION}. {_sentence(reproduction)}",
        f"**{count_verdicts(reproduction.verdicts)}.**",
        RUN,
        "## Claims",
        RULE,
        _table(["claim", "figure", "claim of the paper", "checks that hold", "verdict"], [
            [v.claim.name, ", ".join(v.claim.figures), v.claim.text, _tally(v), f"**{v.verdict}**"]
            for v in reproduction.verdicts
        ]),
        *_remarks(reproduction),
        "## All checks",
        _table(["claim", "statistic", "mean ± standard error", "expected", "verdict"], [
            [verdict.claim.name, check.what, _value(check), check.wanted, check.verdict]
            for verdict in reproduction.verdicts
            for check in verdict.checks
        ]),
        "## Gains of the recommended default",
        f"Recommended for the paper's noise is {_recommended(reproduction)}.",
        _gains(reproduction),
        "## Figures",
        *_figures(reproduction),
        "## Settings that the paper leaves open",
        _table(["setting", "choice"], [[name, choice] for name, choice in OURS.items()]),
        *_problems(reproduction),
    ]  # fmt: skip
    return "\n\n".join(part for part in parts if part) + "\n"


def _sentence(reproduction: Reproduction) -> str:
    return (
        f"Made with `tercet reproduce --{reproduction.size.name}`: {reproduction.size.title}, "
        f"{reproduction.minutes:.0f} minutes of one core. Means and standard deviations are over "
        "repeats with the same points and new triplets; all numbers are in the CSV file beside "
        "each figure."
    )


def _recommended(reproduction: Reproduction) -> str:
    draws = reproduction.size.draws
    return RECOMMENDED_SETTINGS.format(draws=draws, few=max(20, draws // 4))


def _remarks(reproduction: Reproduction) -> list[str]:
    """Remarks on the full run; other runs have other numbers."""
    if reproduction.size != FULL:
        return []
    judged = {v.claim.name for v in reproduction.verdicts if v.verdict != NOT_RUN}
    lines = [f"- **{name}.** {text}" for name, text in REMARKS.items() if name in judged]
    return ["### Remarks on the verdicts", "Written after the full run.", "\n".join(lines)]


def _tally(verdict: Verdict) -> str:
    held = sum(check.verdict == HOLDS for check in verdict.checks)
    return f"{held} of {len(verdict.checks)}"


def _value(check: Check) -> str:
    error = "" if math.isnan(check.error) else f" ± {check.error:.2g}"
    return f"{check.mean:.3g}{error}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return Table("", head, rows).markdown()


def _gains(reproduction: Reproduction) -> str:
    columns = ("random", *METHODS)
    return _table(
        ["figure", "statistic", *columns],
        [
            [gain.figure, gain.what, *(gain.text(method) for method in columns)]
            for gain in gains(reproduction.tables)
        ],
    )


def _figures(reproduction: Reproduction) -> list[str]:
    parts = []
    for name, files in sorted(reproduction.pictures.items()):
        title = FIGURES[name].title if name in FIGURES else "As arranged in the paper."
        heading = name.capitalize() if name.isalpha() else f"Figure {name}"
        parts.append(f"### {heading}\n\n{title}")
        parts += [f"![{file.replace('_', ' ')}]({file}.png)" for file in files]
    return parts


def _problems(reproduction: Reproduction) -> list[str]:
    lines = [f"Figure {name} was left out: {why}" for name, why in reproduction.left_out.items()]
    lines += [f"Failed: `{why}`" for why in reproduction.failed]
    if not reproduction.current:
        lines.append(
            "Some numbers were computed with another version of tercet's source than the figures: "
            "stored results are not recomputed unless the version of their figure is raised."
        )
    lines += [
        f"Figure {name}: {', '.join(f'{count} × {kind}' for kind, count in sorted(kinds.items()))} "
        f"in {reproduction.cells[name]} cells."
        for name, kinds in reproduction.warned.items()
        if kinds
    ]
    return ["## Notes", *lines] if lines else []


def _claims_csv(verdicts: Sequence[Verdict]) -> str:
    rows: list[dict[str, Any]] = []
    for verdict in verdicts:
        row: dict[str, Any] = {"claim": verdict.claim.name, "verdict": verdict.verdict}
        rows += [
            row
            | {
                "statistic": c.what,
                "mean": c.mean,
                "standard error": c.error,
                "low": c.low,
                "high": c.high,
                "check": c.verdict,
                "repeats": len(c.values),
            }
            for c in verdict.checks
        ] or [row]
    return table_of(rows).csv()
