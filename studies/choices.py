"""Choices on screens: coverage of their intervals, and the dimension found from them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from studies.cells import Cell, Result, collect
from studies.methods import QUIET, Maker
from studies.recommended import COVERED, coverage, in_percent
from studies.report import Goal, Section, Table
from studies.setting import Setting
from tercet import simulate
from tercet.answers.choices import Choices
from tercet.answers.either import Answers
from tercet.answers.triplets import Triplets
from tercet.arrays import Floats
from tercet.bootstrap import Bootstrap
from tercet.estimators import CKL
from tercet.posterior import NormalPrior, Posterior
from tercet.uses.dimension import estimate_dimension

VERSION = 2  # raise it when changes in tercet affect what is measured here
D, N = 2, 12
EXPONENT, MU = 4.0, 0.05  # of people: odds of a pair ∝ 1/(μ + d^β)
WORLDS, QUICK_WORLDS = 100, 4
SOME, REFERENCES, QUICK_REFERENCES = 40, 6, 1  # worlds of other makers, and of the sampler
SHORT: dict[str, Any] = {"n_samples": 400, "n_chains": 2}
PEOPLE = CKL(D, exponent=EXPONENT, mu=MU)

DIMENSIONS, RUNS, QUICK_RUNS = (1, 2, 3), 20, 2
OBJECTS, SCREENS = 20, 200  # of the dimension's worlds

ODD, NINE = "300 odd ones out", "60 times 3 of 9"
DEFAULT, KNOWN, SPLIT = "Posterior(2)", "posterior, model known", "Posterior(2), as triplets"
BOOT, REFERENCE = "Bootstrap(2)", "Metropolis, model known"
MAKERS: dict[str, Callable[[int], Maker]] = {
    DEFAULT: lambda seed: Posterior(D, random_state=seed, **SHORT, **QUIET),
    KNOWN: lambda seed: Posterior(
        PEOPLE, prior=NormalPrior(1.0), random_state=seed, **SHORT, **QUIET
    ),
    SPLIT: lambda seed: Posterior(D, random_state=seed, **SHORT, **QUIET),
    BOOT: lambda seed: Bootstrap(D, random_state=seed, **QUIET),
}


def ask(kind: str, n: int, count: int, rng: np.random.Generator) -> Choices:
    """Questions about n objects; what is chosen has no meaning yet."""
    if kind == ODD:
        rows = [rng.choice(n, 3, replace=False) for _ in range(count)]
        return Choices.odd_one_out(rows, n_objects=n)
    shown = np.array([rng.choice(n, 10, replace=False) for _ in range(count)])
    return Choices.nearest(shown[:, 0], shown[:, 1:], shown[:, 1:4], n_objects=n)


def world(kind: str, number: int) -> tuple[Floats, Choices]:
    """Standard normal points, and people's choices by Luce's rule."""
    rng = np.random.default_rng([number, 77])
    points = rng.standard_normal((N, D))
    questions = ask(kind, N, 300 if kind == ODD else 60, rng)
    return points, simulate.choices_from_model(PEOPLE.model(), points, questions, random_state=rng)


def cover(kind: str, maker: str, number: int) -> Result:
    """The share of relative distances inside their intervals, and the intervals' mean width."""
    points, choices = world(kind, number)
    if maker == REFERENCE:
        drawn = _pairwise(metropolis(choices, points, np.random.default_rng([number, 78])))
    else:
        answers: Answers = choices
        if maker == SPLIT:
            answers = Triplets(choices.triplets().array, n_objects=N)
        drawn = MAKERS[maker](number).fit(answers).ensemble_.distances()
    return coverage(drawn, pdist(points))


# --- an independent sampler: plain NumPy, one object at a time ----------------------------------


CHAINS, SWEEPS, DISCARDED, KEPT = 64, 900, 300, 20


def metropolis(choices: Choices, start: Floats, rng: np.random.Generator) -> Floats:
    """Draws (S, n, d) of the exact posterior given the model and a standard normal prior.

    Random-walk Metropolis, one object after the other, many chains side by side. The likelihood is
    the sum over all orders of the chosen alternatives, written out. Chains start at the truth.
    """
    size = int(choices.n_alternatives[0])
    pairs, k = choices.pairs.reshape(-1, size, 2), int(choices.n_chosen[0])
    orders = [list(order) for order in permutations(range(k))]

    def log_likelihood(X: Floats) -> Floats:
        apart = X[:, pairs[..., 0]] - X[:, pairs[..., 1]]
        s = 1.0 / (MU + np.sum(apart**2, axis=-1) ** (EXPONENT / 2))  # (chains, screens, size)
        rest = s[..., k:].sum(axis=-1)
        total = np.zeros(s.shape[:2])
        for order in orders:
            chosen = s[..., order]
            left = rest[..., None] + np.cumsum(chosen[..., ::-1], axis=-1)[..., ::-1]
            total += np.prod(chosen / left, axis=-1)
        return np.asarray(np.log(total).sum(axis=-1))

    X = np.repeat(start[None], CHAINS, axis=0)
    height, step, kept = log_likelihood(X), np.full(len(start), 0.3), []
    for sweep in range(SWEEPS):
        for i in range(len(start)):
            moved = X.copy()
            moved[:, i] += step[i] * rng.standard_normal(moved[:, i].shape)
            found = log_likelihood(moved)
            prior = 0.5 * np.sum(X[:, i] ** 2 - moved[:, i] ** 2, axis=-1)
            accepted = np.log(rng.random(CHAINS)) < found - height + prior
            X[accepted], height[accepted] = moved[accepted], found[accepted]
            if sweep < DISCARDED:
                step[i] *= np.exp(0.5 * (accepted.mean() - 0.35))
        if sweep >= DISCARDED and sweep % KEPT == 0:
            kept.append(X.copy())
    return np.concatenate(kept)


def _pairwise(points: Floats) -> Floats:
    return np.array([pdist(each) for each in points])


# --- the dimension ------------------------------------------------------------------------------


def find(dimension: int, run: int) -> Result:
    """The dimension found from screens on which 3 of 9 were chosen."""
    rng = np.random.default_rng([run, dimension, 79])
    points = rng.standard_normal((OBJECTS, dimension))
    questions = ask(NINE, OBJECTS, SCREENS, rng)
    model = CKL(dimension, exponent=EXPONENT, mu=MU).model()
    answers = simulate.choices_from_model(model, points, questions, random_state=rng)
    found = estimate_dimension(
        answers,
        range(1, dimension + 3),
        thorough=False,
        n_jobs=1,
        random_state=run,
        progress=False,
    )
    return {"found": found.dimension or 0, "verdict": found.verdict}


# --- the study ----------------------------------------------------------------------------------


def run(setting: Setting) -> Section:
    """Coverage at both kinds of screens, and the dimension."""
    worlds = setting.choose(WORLDS, QUICK_WORLDS)
    references = setting.choose(REFERENCES, QUICK_REFERENCES)
    keys = [
        (kind, maker, number)
        for number in range(worlds)
        for kind in (ODD, NINE)
        for maker in (*MAKERS, REFERENCE)
        if number < {SPLIT: SOME, BOOT: SOME, REFERENCE: references}.get(maker, worlds)
    ]
    cells = [
        Cell("choices-coverage", VERSION, cover, {"kind": kind, "maker": maker, "number": number})
        for kind, maker, number in keys
    ]
    runs = setting.choose(RUNS, QUICK_RUNS)
    searches = [
        Cell("choices-dimension", VERSION, find, {"dimension": d, "run": number})
        for number in range(runs)
        for d in DIMENSIONS
    ]
    results = collect(cells + searches, setting.jobs)
    covered: dict[tuple[str, str], dict[int, Result]] = {}
    for (kind, maker, number), result in zip(keys, results[: len(cells)], strict=True):
        if "failed" not in result:
            covered.setdefault((kind, maker), {})[number] = result
    section = Section("Choices on screens")
    section.parts += [_explanation(worlds, references), _coverage(covered), _widths(covered)]
    section.parts += [_dimensions(searches, results[len(cells) :])]
    section.goals += _goals(covered, searches, results[len(cells) :])
    section.notes += setting.notes(results)
    return section


def _explanation(worlds: int, references: int) -> str:
    return (
        f"{worlds} worlds of {N} standard normal points in {D} dimensions (seeds 0 to "
        f"{worlds - 1}), and people who choose by Luce's rule, the odds of a pair being 1/({MU:g} "
        f"+ d^{EXPONENT:g}): {ODD}, or {NINE}. Posteriors have 2 chains of 400 draws. Triplets and "
        f"bootstraps are of the first {SOME} worlds only. In the first {references} worlds the "
        "exact posterior is also sampled by plain Metropolis steps with a likelihood of their own "
        f"({CHAINS} chains of {SWEEPS} sweeps). For the dimension, points "
        f"are standard normal in 1, 2 and 3 dimensions: {OBJECTS} objects, {SCREENS} screens of "
        "3 of 9."
    )


def _coverage(covered: dict[tuple[str, str], dict[int, Result]]) -> Table:
    rows = [
        [maker, *(in_percent([*covered.get((kind, maker), {}).values()]) for kind in (ODD, NINE))]
        for maker in (*MAKERS, REFERENCE)
    ]
    return Table(
        "Coverage of distances over their root mean square, % ± standard error over worlds (mean "
        "width)",
        ["", ODD, NINE],
        rows,
    )


def _ratio(covered: dict[tuple[str, str], dict[int, Result]], kind: str) -> Floats:
    """Widths of the posterior over those of the independent sampler, in the same worlds."""
    ours, theirs = covered.get((kind, KNOWN), {}), covered.get((kind, REFERENCE), {})
    return np.array([ours[w]["width"] / theirs[w]["width"] for w in theirs if w in ours])


def _widths(covered: dict[tuple[str, str], dict[int, Result]]) -> Table:
    rows = []
    for kind in (ODD, NINE):
        ratio = _ratio(covered, kind)
        spread = (
            f"{ratio.mean():.3f} ({ratio.min():.3f} to {ratio.max():.3f})" if len(ratio) else "–"
        )
        rows.append([kind, str(len(ratio)), spread])
    return Table(
        "Width of intervals relative to the independent sampler of the same posterior",
        ["", "worlds", "mean (range)"],
        rows,
    )


def _found(searches: list[Cell], results: list[Result]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {d: [] for d in DIMENSIONS}
    for cell, result in zip(searches, results, strict=True):
        if "failed" not in result:
            found[cell.settings["dimension"]].append(result["found"])
    return found


def _dimensions(searches: list[Cell], results: list[Result]) -> Table:
    rows = []
    for d, found in _found(searches, results).items():
        counts = [sum(each == other for each in found) for other in range(1, d + 3)]
        rows.append([str(d), *map(str, counts), *[""] * (5 - len(counts)), str(found.count(0))])
    return Table(
        "Dimension found from 3 of 9: number of worlds",
        ["true", "1", "2", "3", "4", "5", "undecided"],
        rows,
    )


def _goals(
    covered: dict[tuple[str, str], dict[int, Result]],
    searches: list[Cell],
    results: list[Result],
) -> list[Goal]:
    goals = []
    for kind in (ODD, NINE):
        for maker in (DEFAULT, KNOWN):
            found = [result["inside"] for result in covered.get((kind, maker), {}).values()]
            mean = float(np.mean(found)) if found else float("nan")
            reached = COVERED[0] <= mean <= COVERED[1]
            goals.append(Goal(f"coverage, {kind}, {maker}", "93 to 97 %", f"{mean:.1%}", reached))
        ratio = _ratio(covered, kind)
        if len(ratio):
            off = float(abs(ratio.mean() - 1.0))
            goals.append(
                Goal(f"width, {kind}", "within 5 % of the sampler", f"{off:.1%}", off <= 0.05)
            )
    found_by = _found(searches, results)
    high = sum(each > d for d, found in found_by.items() for each in found)
    total = sum(map(len, found_by.values()))
    if total:
        goals.append(
            Goal(
                "dimension too high, 3 of 9",
                "at most 5 %",
                f"{high} of {total}",
                high <= 0.05 * total,
            )
        )
    return goals
