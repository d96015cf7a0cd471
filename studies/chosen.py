"""Odd ones out, chosen or random: answers needed for the same accuracy on held-out answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from benchmarks.data import HOW_TO_FIND, find_data, load_from
from scipy import stats

from studies.active import needed
from studies.cells import Cell, Result, collect
from studies.methods import QUIET
from studies.report import NONE, Goal, Section, Table, short, with_error
from studies.setting import Setting
from tercet import datasets, simulate
from tercet.answers.choices import Choices
from tercet.arrays import Floats, Index
from tercet.estimators import CKL
from tercet.posterior import Posterior
from tercet.uses.active import ActiveLoop, Record, suggest

VERSION = 2  # raise it when changes in tercet affect what is measured here
REPEATS, QUICK_REPEATS = 20, 2
SHORT: dict[str, Any] = {"n_samples": 250, "n_chains": 2, "warmup": 250, **QUIET}
SIMULATED, THINGS = "simulated", "THINGS"
RANDOM, MIXED, CHOSEN = "random", "chosen, a tenth random", "chosen"
SHARES = {RANDOM: 1.0, MIXED: 0.1, CHOSEN: 0.0}  # of random questions
OBJECTS = {SIMULATED: 30, THINGS: 500}
HELD_OUT = {SIMULATED: 1500, THINGS: 800}
# Answers at the start, of a round, and at the end; random questions need more.
SIZES = {SIMULATED: (60, 30, 720), THINGS: (600, 300, 2100)}
SIZES_OF_RANDOM = {SIMULATED: (60, 60, 1260), THINGS: (600, 300, 2100)}
QUICK = {SIMULATED: (60, 30, 120), THINGS: (600, 300, 900)}
TARGETS = {SIMULATED: (0.68, 0.70, 0.72, 0.74, 0.76), THINGS: (0.39, 0.40, 0.41)}
GOAL, AIM = 0.7, 0.76  # of the answers of random questions, for that accuracy
EXPONENT, MU = 4.0, 0.05  # of simulated people: odds of a pair ∝ 1/(μ + d^β)
KIND = "odd_one_out"


# --- one run ----------------------------------------------------------------------------------


def learn(world: str, way: str, repeat: int, start: int, batch: int, end: int) -> Result:
    """A learning curve, from the same first and held-out answers for every way to choose."""
    rng = np.random.default_rng(
        np.random.SeedSequence(repeat, spawn_key=(list(OBJECTS).index(world),))
    )
    setup = _simulation if world == SIMULATED else _replay
    options = {"k": batch, "random_share": SHARES[way], "random_state": repeat, **QUIET}
    if way == RANDOM:
        options |= {"strategy": "random", "random_share": 0.0}
    loop = setup(Posterior(2, **SHORT), start, rng, {"kind": KIND, **options})
    loop.run((end - start) // batch)
    return {"curve": {name: [getattr(r, name) for r in loop.curve] for name in Record._fields}}


def _simulation(
    maker: Posterior, start: int, rng: np.random.Generator, options: dict[str, Any]
) -> ActiveLoop:
    """Standard normal points, and people who choose by Luce's rule."""
    n = OBJECTS[SIMULATED]
    points, model = rng.normal(size=(n, 2)), CKL(2, exponent=EXPONENT, mu=MU).model()

    def answer(asked: Index) -> Choices:
        questions = Choices.odd_one_out(asked, n_objects=n)
        return simulate.choices_from_model(model, points, questions, random_state=rng)

    def some(count: int) -> Choices:
        return answer(suggest(n, count, "random", kind=KIND, random_state=rng).array)

    return ActiveLoop(maker, answer, start=some(start), score=some(HELD_OUT[SIMULATED]), **options)


def _replay(
    maker: Posterior, start: int, rng: np.random.Generator, options: dict[str, Any]
) -> ActiveLoop:
    """Answers of people about some of the things; only what was answered can be asked."""
    n, held = OBJECTS[THINGS], HELD_OUT[THINGS]
    answers = things()
    number = np.full(answers.max() + 1, -1)
    number[rng.choice(len(number), n, replace=False)] = np.arange(n)
    among = number[answers]
    rows = rng.permutation(among[(among >= 0).all(axis=1)])
    rows = rows[np.unique(np.sort(rows, axis=1), axis=0, return_index=True)[1]]
    rows = rng.permutation(rows)
    test, given = rows[:held], rows[held:]
    left = {tuple(row): i for i, row in enumerate(np.sort(given, axis=1).tolist())}

    def answer(asked: Index) -> Choices:
        places = [left.pop(tuple(row)) for row in asked.tolist()]
        return Choices.odd_one_out(given[places], n_objects=n)

    return ActiveLoop(
        maker,
        answer,
        start=answer(np.sort(given[:start], axis=1)),
        score=Choices.odd_one_out(test, n_objects=n),
        candidates=lambda: given[list(left.values())],
        **options,
    )


@cache
def things() -> Index:
    """All answers (m, 3), the odd one last."""
    folder = find_data()
    assert folder is not None
    parts = []
    for which in ("random", "participants"):
        _, triplets = load_from(folder, lambda which=which: datasets.load_things(which))
        parts.append(triplets.array[::2])
    return np.concatenate(parts)


# --- the study --------------------------------------------------------------------------------


def run(setting: Setting) -> Section:
    """Chosen and random odd ones out, simulated and replayed."""
    section = Section("Odd ones out: does choosing pay?")
    repeats = setting.choose(REPEATS, QUICK_REPEATS)
    worlds = list(OBJECTS) if find_data() is not None else [SIMULATED]
    if THINGS not in worlds:
        section.parts.append(HOW_TO_FIND.replace("case", "study"))
    section.parts.append(_explanation(repeats))
    everything = []
    for world in worlds:
        curves = _results(world, setting, repeats)
        everything += [r for group in curves.values() for r in group]
        done = {way: [r for r in group if "curve" in r] for way, group in curves.items()}
        section.parts += [_needed(world, done), _on_the_way(world, done)]
        section.goals.append(_goal(world, done))
    section.notes += setting.notes(everything)
    return section


def _results(world: str, setting: Setting, repeats: int) -> dict[str, list[Result]]:
    found: dict[str, list[Result]] = {}
    keys = [(repeat, way) for repeat in range(repeats) for way in SHARES]
    cells = []
    for repeat, way in keys:
        sizes = SIZES_OF_RANDOM if way == RANDOM else SIZES
        start, batch, end = setting.choose(sizes, QUICK)[world]
        settings = {"world": world, "way": way, "repeat": repeat}
        settings |= {"start": start, "batch": batch, "end": end}
        cells.append(Cell("chosen", VERSION, learn, settings))
    for (_, way), result in zip(keys, collect(cells, setting.jobs), strict=True):
        found.setdefault(way, []).append(result)
    return found


def ratio(curves: Mapping[str, Sequence[Result]], way: str, target: float) -> Floats:
    """Answers needed over those that random questions needed in the same repeat, (repeats,).

    Infinite if only random questions reached the target, 0 if only the others did, NaN if neither.
    """
    counts = [
        {r["settings"]["repeat"]: needed(r["curve"], target) for r in curves[each]}
        for each in (way, RANDOM)
    ]
    shared = sorted(counts[0].keys() & counts[1].keys())
    mine, theirs = (np.array([count[r] for r in shared]) for count in counts)
    with np.errstate(invalid="ignore"):
        return np.asarray(mine / theirs)


def interval(ratios: Floats) -> tuple[float, float, float]:
    """Median, and the 95 % interval of the median from the order of the repeats."""
    known = np.sort(ratios[~np.isnan(ratios)])
    m = len(known)
    if m < 6:
        return (float(np.median(known)) if m else np.nan), np.nan, np.nan
    low = int(stats.binom.ppf(0.025, m, 0.5))
    return float(np.median(known)), float(known[max(low - 1, 0)]), float(known[min(m - low, m - 1)])


def _written(values: tuple[float, float, float]) -> str:
    def write(value: float) -> str:
        return "<" if value == 0.0 else ">" if np.isinf(value) else f"{value:.2f}"

    middle, low, high = values
    if np.isnan(middle):
        return NONE
    return f"×{write(middle)}" + ("" if np.isnan(low) else f" ({write(low)} to {write(high)})")


def _needed(world: str, curves: Mapping[str, Sequence[Result]]) -> Table:
    rows = []
    for way in SHARES:
        cells = []
        for target in TARGETS[world]:
            counts = [needed(r["curve"], target) for r in curves[way]]
            middle = float(np.median(counts)) if counts else np.nan
            text = f"{middle:.0f}" if np.isfinite(middle) else ">"
            if way != RANDOM:
                text += f"; {_written(interval(ratio(curves, way, target)))}"
            cells.append(text)
        rows.append([way, *cells])
    caption = (
        f"{world}: answers needed for an accuracy, median over repeats; ×: relative to random "
        "questions of the same repeat, median (95 % interval). > : not reached; < : random did "
        "not reach it"
    )
    return Table(caption, ["questions", *(f"for {short(t, 2)}" for t in TARGETS[world])], rows)


def _on_the_way(world: str, curves: Mapping[str, Sequence[Result]]) -> Table:
    """Accuracy and log-loss at numbers of answers that all have."""
    rows = []
    sizes = sorted({n for r in curves[MIXED] for n in r["curve"]["n_answers"]})
    shown = [sizes[round(i)] for i in np.linspace(0, len(sizes) - 1, 4)] if sizes else []
    for way in SHARES:
        cells = []
        for size in shown:
            found = [
                [np.interp(size, r["curve"]["n_answers"], r["curve"][name]) for r in curves[way]]
                for name in ("score", "log_loss")
            ]
            error = [float(np.std(f, ddof=1) / np.sqrt(len(f))) for f in found]
            parts = [with_error(float(np.mean(f)), e) for f, e in zip(found, error, strict=True)]
            cells.append("; ".join(parts))
        rows.append([way, *cells])
    caption = f"{world}: accuracy, and log-loss, of held-out answers, mean ± standard error"
    return Table(caption, ["questions", *(f"{size} answers" for size in shown)], rows)


def _goal(world: str, curves: Mapping[str, Sequence[Result]]) -> Goal:
    target = AIM if world == SIMULATED else TARGETS[world][1]
    values = interval(ratio(curves, MIXED, target))
    what = f"{world}: odd ones out needed for {short(target, 2)}, {MIXED}, relative to random"
    if world != SIMULATED:
        return Goal(what, NONE, _written(values), None)
    return Goal(what, f"at most ×{GOAL}", _written(values), bool(values[0] <= GOAL))


def _explanation(repeats: int) -> str:
    a, b, _ = SIZES[SIMULATED]
    c, d, e = SIZES[THINGS]
    return (
        f"{repeats} repeats, each with the same first and held-out answers for every way to "
        f"choose. Simulated: {OBJECTS[SIMULATED]} standard normal points in 2 dimensions, people "
        f"who choose by Luce's rule, the odds of a pair being 1/({MU} + d^{EXPONENT:g}), {a} "
        f"answers at first and {b} a round, {HELD_OUT[SIMULATED]} held out. THINGS: "
        f"{OBJECTS[THINGS]} of 1 854 things, others in every repeat; only what people were asked "
        f"can be asked, about 3 000 questions, from {c} answers by {d} to {e}, "
        f"{HELD_OUT[THINGS]} held out. The map is Posterior(2) with two chains of 250 draws, "
        "updated by chains that go on; questions are "
        "chosen by mutual information, with the default limit for each object."
    )
