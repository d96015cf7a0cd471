"""The page of a reproduction: verdicts, what is gained, figures and choices, as Markdown."""

from __future__ import annotations

import csv
import io
import math
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tercet.files import write_whole
from tercet.paper.figures import FIGURES
from tercet.paper.gains import METHODS, gains
from tercet.paper.remarks import REMARKS
from tercet.paper.reproduction import Reproduction
from tercet.paper.settings import FULL, OURS, RECOMMENDED
from tercet.paper.verdicts import FAILS, HOLDS, NOT_RUN, UNDECIDED, Check, Verdict
from tercet.uses.columns import lay_out

__all__ = ["count_verdicts", "page", "verdict_tables", "write_page"]

CITATION = (
    "Lohaus, Hennig and von Luxburg, *Uncertainty Estimates for Ordinal Embeddings*, "
    "arXiv:1906.11655 (2019)"
)


RUN = """\
To see it for yourself, in a few minutes with one repeat and coarse grids, or in full:

```console skip: takes hours
$ tercet reproduce
$ tercet reproduce --full
```

Single figures are named: `tercet reproduce 2b 4`. What was computed is kept, so an interrupted run
goes on where it stopped, and the second run only draws."""


RULE = (
    "A claim is judged by checks: a statistic for each repeat, and an interval in which its mean "
    "has to lie. A check holds if the one-sided 95 % bounds of the mean (Student's t over repeats) "
    "are inside, does not hold if the mean and the bound towards the interval are outside, and is "
    "undecided otherwise. A claim holds if all its checks hold, and does not hold if one does not "
    "by a bound that allows for their number (Bonferroni). The rules stand in "
    "`tercet.paper.checks`."
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
    """Every check and every verdict, for a terminal; nothing where no claim could be judged."""
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
        lay_out([("claim", "mean ± se", "wanted", "check", "statistic"), *checks]),
        lay_out([("claim", "verdict", "checks that hold", "what the paper says"), *claims]),
    )
    return "\n\n".join(tables) + "\n"


def write_page(reproduction: Reproduction, folder: Path) -> None:
    """``reproduction.md`` and ``claims.csv``."""
    for name, text in (
        ("reproduction.md", page(reproduction)),
        ("claims.csv", _claims_csv(reproduction.verdicts)),
    ):
        write_whole(folder / name, text.encode())


def page(reproduction: Reproduction) -> str:
    """The page; its pictures are beside it."""
    parts = [
        "# The paper, made again",
        f"{CITATION}. {_sentence(reproduction)}",
        f"**{count_verdicts(reproduction.verdicts)}.**",
        RUN,
        "## Claims",
        RULE,
        _table(["claim", "figure", "what the paper says", "checks that hold", "verdict"], [
            [v.claim.name, ", ".join(v.claim.figures), v.claim.text, _tally(v), f"**{v.verdict}**"]
            for v in reproduction.verdicts
        ]),
        *_remarks(reproduction),
        "## Every check",
        _table(["claim", "statistic", "mean ± standard error", "wanted", "verdict"], [
            [verdict.claim.name, check.what, _value(check), check.wanted, check.verdict]
            for verdict in reproduction.verdicts
            for check in verdict.checks
        ]),
        "## What the recommended default gains",
        f"Recommended is {_recommended(reproduction)}.",
        _gains(reproduction),
        "## Figures",
        *_figures(reproduction),
        "## What the paper leaves open, and we chose",
        _table(["setting", "choice"], [[name, choice] for name, choice in OURS.items()]),
        *_problems(reproduction),
    ]  # fmt: skip
    return "\n\n".join(part for part in parts if part) + "\n"


def _sentence(reproduction: Reproduction) -> str:
    return (
        f"Made with `tercet reproduce --{reproduction.size.name}`: {reproduction.size.title}, "
        f"{reproduction.minutes:.0f} minutes of one core. Means and standard deviations are over "
        "repeats with the same points and fresh triplets; every number is in the CSV file beside "
        "its picture."
    )


def _recommended(reproduction: Reproduction) -> str:
    draws = reproduction.size.draws
    return RECOMMENDED.format(draws=draws, few=max(20, draws // 4))


def _remarks(reproduction: Reproduction) -> list[str]:
    """What was seen of the claims in the full run; other runs have other numbers."""
    if reproduction.size != FULL:
        return []
    judged = {v.claim.name for v in reproduction.verdicts if v.verdict != NOT_RUN}
    lines = [f"- **{name}.** {text}" for name, text in REMARKS.items() if name in judged]
    return ["### What lies behind the verdicts", "Written after the full run.", "\n".join(lines)]


def _tally(verdict: Verdict) -> str:
    held = sum(check.verdict == HOLDS for check in verdict.checks)
    return f"{held} of {len(verdict.checks)}"


def _value(check: Check) -> str:
    error = "" if math.isnan(check.error) else f" ± {check.error:.2g}"
    return f"{check.mean:.3g}{error}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    # A bar inside a cell would end it.
    return "\n".join(
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines
    )


def _gains(reproduction: Reproduction) -> str:
    columns = ("random", *METHODS)
    return _table(
        ["figure", "number", *columns],
        [
            [gain.figure, gain.what, *(gain.text(method) for method in columns)]
            for gain in gains(reproduction.tables)
        ],
    )


def _figures(reproduction: Reproduction) -> list[str]:
    parts = []
    for name, files in sorted(reproduction.pictures.items()):
        title = FIGURES[name].title if name in FIGURES else "As the paper arranges it."
        heading = name.capitalize() if name.isalpha() else f"Figure {name}"
        parts.append(f"### {heading}\n\n{title}")
        parts += [f"![{file.replace('_', ' ')}]({file}.png)" for file in files]
    return parts


def _problems(reproduction: Reproduction) -> list[str]:
    lines = [f"Figure {name} was left out: {why}" for name, why in reproduction.left_out.items()]
    lines += [f"Failed: `{why}`" for why in reproduction.failed]
    if not reproduction.current:
        lines.append(
            "Some numbers were computed with another state of tercet's source than drew the "
            "figures: what is known is not computed again unless the version of its figure is "
            "raised."
        )
    lines += [
        f"Figure {name}: {', '.join(f'{count} × {kind}' for kind, count in sorted(kinds.items()))} "
        f"in {reproduction.cells[name]} cells."
        for name, kinds in reproduction.warned.items()
        if kinds
    ]
    return ["## Notes", *lines] if lines else []


def _claims_csv(verdicts: Sequence[Verdict]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        [
            "claim",
            "verdict",
            "statistic",
            "mean",
            "standard error",
            "low",
            "high",
            "check",
            "repeats",
        ]
    )
    for verdict in verdicts:
        if not verdict.checks:
            writer.writerow([verdict.claim.name, verdict.verdict])
        for c in verdict.checks:
            numbers = [c.mean, c.error, c.low, c.high, c.verdict, len(c.values)]
            writer.writerow([verdict.claim.name, verdict.verdict, c.what, *numbers])
    return text.getvalue()
