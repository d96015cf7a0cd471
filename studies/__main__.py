"""Run or resume the studies, and write the page if requested."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from studies import (
    abstain,
    active,
    calibration,
    choices,
    chosen,
    convergence,
    coverage,
    dimension,
    human,
    kills,
    models,
    music,
    published,
    ranks,
    recommended,
    sparse,
    ties,
)
from studies.report import page
from studies.setting import Setting

UNCERTAINTIES = {
    "calibration": calibration.run,
    "coverage": coverage.run,
    "recommended": recommended.run,
    "human": human.run,
    "sbc": ranks.run,
}
CHOICES = {
    "choices": choices.run,
    "ties": ties.run,
    "models": models.run,
    "published": published.run,
}
USES = {
    "abstain": abstain.run,
    "dimension": dimension.run,
    "active": active.run,
    "chosen": chosen.run,
}
CONVERGENCE = {"convergence": convergence.run, "music": music.run, "sparse": sparse.run}
RUNS = {"kills": kills.run}
STUDIES = UNCERTAINTIES | CHOICES | USES | CONVERGENCE | RUNS
TITLES = {
    "The uses, measured": USES,
    "Choices of people, measured": CHOICES,
    "Convergence on people's answers": CONVERGENCE,
    "Resuming killed runs": RUNS,
    "Are the uncertainties true?": STUDIES,
}


def parse_only(given: Sequence[str]) -> dict[str, frozenset[str]]:
    """Allowed values by setting, from conditions such as ``d=1,2``."""
    only: dict[str, frozenset[str]] = {}
    for condition in given:
        name, found, values = condition.partition("=")
        if not (name and found and values):
            raise ValueError(f"--only needs NAME=VALUE, got {condition!r}")
        only[name] = only.get(name, frozenset()) | frozenset(values.split(","))
    return only


def main() -> None:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(prog="python -m studies", description=__doc__)
    parser.add_argument("studies", nargs="*", metavar="STUDY", help=f"of {', '.join(STUDIES)}")
    parser.add_argument("--quick", action="store_true", help="few repeats, to see that it works")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write a page in Markdown")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="processes (default 2)")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME=VALUE,…",
        help="only cells with these settings, as people=car60,music_aset400; may be repeated "
        f"({', '.join(CONVERGENCE)})",
    )
    arguments = parser.parse_args()
    if unknown := set(arguments.studies) - set(STUDIES):
        parser.error(f"no such study: {', '.join(sorted(unknown))}; there are {', '.join(STUDIES)}")
    try:
        only = parse_only(arguments.only)
    except ValueError as error:
        parser.error(str(error))
    if only and not set(arguments.studies or STUDIES) <= set(CONVERGENCE):
        parser.error(f"--only is for {', '.join(CONVERGENCE)}")

    # As if interrupted, so that the worker processes end too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    setting = Setting(arguments.quick, arguments.jobs, only)
    sections = []
    for name in arguments.studies or STUDIES:
        start = time.perf_counter()
        sections.append(STUDIES[name](setting))
        print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    for goal in (goal for section in sections for goal in section.goals):
        print(*goal, sep=" | ")
    if arguments.out is not None:
        command = ["python -m studies", *arguments.studies, *["--quick"] * arguments.quick]
        command += [f"--only {condition}" for condition in arguments.only]
        named = arguments.studies or STUDIES
        title = next(title for title, part in TITLES.items() if set(named) <= set(part))
        arguments.out.write_text(page(title, sections, " ".join(command)))


if __name__ == "__main__":
    main()
