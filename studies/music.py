"""Held-out answers about musicians: draws beside resamples of the same model."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from benchmarks.data import HOW_TO_FIND, find_data

from studies.answers import every_answer
from studies.cells import Cell, Result, collect
from studies.methods import PENALTY, QUIET, REPLICATES, Maker, health, held_out_scores
from studies.models import difference
from studies.report import NONE, Goal, Section, Table, short, with_error
from studies.setting import Setting
from tercet.bootstrap import Bootstrap
from tercet.estimators import STE
from tercet.posterior import Posterior

VERSION = 1  # raise it when changes in tercet affect what is measured here
PEOPLE, D = "music_aset400", 2
FOLDS, SPLITS, QUICK_SPLITS = 10, 3, 1  # folds of units, and those that are held out
DEFAULT, SAME = "Posterior(2)", "Bootstrap(2)"
OF_STE, SAME_STE = "Posterior(tc.STE(2))", "Bootstrap(tc.STE(2))"
MAP_OF_STE = "Bootstrap(tc.STE(2)) with penalty 1/30"
MAKERS: dict[str, Callable[[int], Maker]] = {
    DEFAULT: lambda seed: Posterior(D, random_state=seed, **QUIET),
    SAME: lambda seed: Bootstrap(D, REPLICATES, random_state=seed, **QUIET),
    OF_STE: lambda seed: Posterior(STE(D), random_state=seed, **QUIET),
    SAME_STE: lambda seed: Bootstrap(STE(D), REPLICATES, random_state=seed, **QUIET),
    MAP_OF_STE: lambda seed: Bootstrap(
        STE(D, penalty=PENALTY), REPLICATES, random_state=seed, **QUIET
    ),
}
OPPONENTS = {DEFAULT: (SAME,), OF_STE: (SAME_STE, MAP_OF_STE)}
COSTS = {DEFAULT: 10.0, OF_STE: 5.0}


def measure(maker: str, split: int) -> Result:
    """Learn from nine tenths of the units; loss and number of answers of each of the others."""
    folder = find_data()
    assert folder is not None
    held = every_answer(folder, PEOPLE)
    train, test = held.part(split, FOLDS, len(held.answers))
    made = MAKERS[maker](split).fit(train.answers)
    return {
        **held_out_scores(made.ensemble_, test.answers, test.units),
        "rows": len(train.answers),
        "about": health(made),
    }


def run(setting: Setting) -> Section:
    """Every maker on every split."""
    section = Section("Musicians: do draws predict held-out answers as well as resamples?")
    if find_data() is None:
        section.parts.append(HOW_TO_FIND.replace("case", "study"))
        return section
    splits = setting.choose(SPLITS, QUICK_SPLITS)
    cells = setting.part(
        Cell("music", VERSION, measure, {"maker": maker, "split": split}, COSTS.get(maker, 1.0))
        for split in range(splits)
        for maker in MAKERS
    )
    results = collect(cells, setting.jobs)
    found: dict[str, list[Result]] = {}
    for cell, result in zip(cells, results, strict=True):
        found.setdefault(cell.settings["maker"], []).append(result)
    whole = {
        maker: group
        for maker, group in found.items()
        if len(group) == splits and any("failed" not in result for result in group)
    }
    section.parts.append(
        f"400 musicians, 9,090 answers, {D} dimensions. A tenth of the triples of musicians is "
        f"held out with all answers about them, another tenth in each of {splits} splits; "
        f"bootstraps have {REPLICATES} replicates. Standard errors are over triples, of "
        "differences between two methods on the same answers."
    )
    if whole:
        section.parts.append(_table(whole))
        section.goals += [
            _goal(maker, other, whole)
            for maker, others in OPPONENTS.items()
            for other in others
            if maker in whole and other in whole
        ]
    section.notes += setting.notes(results)
    return section


def _table(found: dict[str, list[Result]]) -> Table:
    rows = []
    for maker, group in found.items():
        done = [result for result in group if "failed" not in result]
        loss = with_error(*difference(group), 4)
        base = found.get(DEFAULT)
        against = _signed(*difference(group, base)) if base and maker != DEFAULT else NONE
        hats = [result["about"]["r_hat"] for result in done if "r_hat" in result["about"]]
        rows.append(
            [
                maker,
                loss,
                against,
                short(float(np.mean([result["wrong"] for result in done]))),
                short(float(np.mean([result["calibration"] for result in done]))),
                ", ".join(NONE if hat is None else f"{hat:.3f}" for hat in hats) or NONE,
            ]
        )
    return Table(
        "Log-loss of held-out answers ± standard error, error rate, expected calibration error, "
        "and R-hat in every split",
        ["", "log-loss", f"minus {DEFAULT}", "wrong", "calibration", "R-hat"],
        rows,
    )


def _goal(maker: str, other: str, found: dict[str, list[Result]]) -> Goal:
    mean, error = difference(found[maker], found[other])
    return Goal(
        f"music, held-out log-loss of {maker} minus {other}",
        "not above 0 by two standard errors",
        _signed(mean, error),
        bool(mean <= 2.0 * error),
    )


def _signed(mean: float, error: float) -> str:
    return ("+" if mean >= 0 else "") + with_error(mean, error, 4)
