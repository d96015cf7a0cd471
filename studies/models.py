"""Which model to recommend: posteriors of three models predict held-out answers of people."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from benchmarks.data import HOW_TO_FIND, find_data

from studies.answers import SETS, every_answer
from studies.cells import Cell, Result, collect
from studies.methods import QUIET, health, held_out_scores
from studies.report import NONE, Goal, Section, Table, short, with_error
from studies.setting import Setting
from tercet.arrays import Floats
from tercet.embedder import Embedder
from tercet.estimators import CKL, Shepard
from tercet.posterior import Posterior

VERSION = 2  # raise it when changes in tercet affect what is measured here
FOLDS = 5  # of units; the first is predicted
MOST = 6000  # answers to learn from
FEWER = {"food100": 1500}  # long screens
ON_A_LINE = ("salmon_eggs", "transparency")  # few answers about few objects
DIMENSIONS = {
    people: (1,) if people in ON_A_LINE else (1, 2, 3)
    for people in SETS
    if people != "things_oddoneout"  # too large for posteriors
}
SHORT = {"n_samples": 500, "n_chains": 2}


class Candidate(NamedTuple):
    """A model, and what is learned with its points."""

    model: type[Embedder]
    learn: tuple[str, ...]


CANDIDATES = {
    "CKL, exponent, μ, lapse": Candidate(CKL, ("exponent", "mu", "lapse")),
    "Shepard, γ, tail, lapse": Candidate(Shepard, ("gamma", "tail", "lapse")),
    "Shepard, γ, lapse": Candidate(Shepard, ("gamma", "lapse")),
}
BASE, *OTHERS = CANDIDATES
CHALLENGER = "Shepard, γ, tail, lapse"
Losses = dict[tuple[str, int, str], list[Result]]  # by set, dimension and candidate, the folds


def measure(people: str, d: int, fold: int, candidate: str) -> Result:
    """Learn from some answers; loss and number of choices of every held-out unit."""
    folder = find_data()
    assert folder is not None
    train, test = every_answer(folder, people).part(fold, FOLDS, FEWER.get(people, MOST))
    model, learn = CANDIDATES[candidate]
    maker = Posterior(model(d), learn=learn, random_state=fold, **SHORT, **QUIET)
    ensemble = maker.fit(train.answers).ensemble_
    return {
        **held_out_scores(ensemble, test.answers, test.units),
        "rows": len(train.answers),
        "parameters": {name: _spread(ensemble.parameters[name]) for name in learn},
        "about": health(maker),
    }


def _spread(values: Floats) -> list[float]:
    return [float(np.mean(values)), float(np.std(values))]


def run(setting: Setting) -> Section:
    """Every candidate on every set."""
    section = Section("Which model predicts the next answer best?")
    if find_data() is None:
        section.parts.append(HOW_TO_FIND.replace("case", "study"))
        return section
    keys = [
        (people, d, 0, candidate)
        for people, dimensions in DIMENSIONS.items()
        if people in ON_A_LINE or not setting.quick
        for d in dimensions
        for candidate in CANDIDATES
    ]
    names = ("people", "d", "fold", "candidate")
    cells = [Cell("models", VERSION, measure, dict(zip(names, key, strict=True))) for key in keys]
    results = collect(cells, setting.jobs)
    found: Losses = {}
    for (people, d, _, candidate), result in zip(keys, results, strict=True):
        found.setdefault((people, d, candidate), []).append(result)
    section.goals.append(_goal(found))
    section.parts += [_explanation(), *tables(found)]
    section.notes += setting.notes(results)
    return section


def difference(candidate: list[Result], base: list[Result] | None = None) -> tuple[float, float]:
    """Loss per choice, minus that of the base, over the folds that both have; standard error."""
    pairs = zip(candidate, base or candidate, strict=True)
    both = [pair for pair in pairs if not any("failed" in result for result in pair)]
    if not both:
        return np.nan, np.nan
    losses = [np.subtract(a["losses"], b["losses"] if base else 0.0) for a, b in both]
    totals = np.concatenate(losses)
    sizes = np.concatenate([a["sizes"] for a, _ in both])
    mean, count = totals.sum() / sizes.sum(), len(totals)
    rest = totals - mean * sizes  # units are independent, so both sums vary
    return mean, np.sqrt(count / (count - 1) * rest @ rest) / sizes.sum()


def tables(found: Losses) -> list[Table]:
    """Losses and differences, what was learned, and how the chains did, by set and dimension."""
    places = list(dict.fromkeys((people, d) for people, d, _ in found))
    losses, learned, chains = [], [], []
    for people, d in places:
        own = {name: found[people, d, name] for name in CANDIDATES}
        first = [people, str(d)]
        losses.append(
            [*first, *(short(difference(own[name])[0], 4) for name in CANDIDATES)]
            + [_signed(*difference(own[name], own[BASE])) for name in OTHERS]
        )
        learned.append([*first, *(_learned(own[name]) for name in CANDIDATES)])
        chains.append([*first, *(_r_hats(own[name]) for name in CANDIDATES)])
    header = ["set", "d", *CANDIDATES]
    against = [f"{name} − CKL" for name in OTHERS]
    return [
        Table(
            "Log-loss of held-out choices, and differences ± standard error over units",
            [*header, *against],
            losses,
        ),
        Table("Posterior means of learned parameters, mean over folds", header, learned),
        Table("R-hat in every fold", header, chains),
    ]


def _goal(found: Losses) -> Goal:
    places = list(dict.fromkeys((people, d) for people, d, _ in found))
    gains = [difference(found[*place, CHALLENGER], found[*place, BASE]) for place in places]
    worse = sum(mean > 2.0 * error for mean, error in gains)
    better = sum(mean < 0.0 for mean, _ in gains)
    clearly = sum(mean < -2.0 * error for mean, error in gains)
    return Goal(
        f"log-loss of {CHALLENGER} beside {BASE}",
        "nowhere higher by two standard errors, lower in most places",
        f"higher by two in {worse}, lower in {better}, lower by two in {clearly}, of {len(gains)}",
        worse == 0 and 2 * better > len(gains),
    )


def _signed(mean: float, error: float) -> str:
    return ("+" if mean >= 0 else "") + with_error(mean, error, 4)


def _learned(results: list[Result]) -> str:
    known = [result["parameters"] for result in results if "parameters" in result]
    means = {name: np.mean([each[name][0] for each in known]) for name in known[0]} if known else {}
    return ", ".join(f"{name} {mean:.2f}" for name, mean in means.items()) or NONE


def _r_hats(results: list[Result]) -> str:
    known = [result["about"]["r_hat"] for result in results if "about" in result]
    return ", ".join(f"{value:.2f}" if value is not None else NONE for value in known) or NONE


def _explanation() -> str:
    fewer = ", ".join(f"{people} {rows}" for people, rows in FEWER.items())
    return (
        f"One of {FOLDS} folds of units; a unit is all answers about the same objects shown "
        f"together. Posteriors of {SHORT['n_chains']} chains of {SHORT['n_samples']} draws learn "
        f"from whole units of the other folds, {MOST} answers at most ({fewer}). The answers of a "
        "screen are one choice, of which the whole outcome is predicted; a vote is a choice."
    )
