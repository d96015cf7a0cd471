"""Does active learning pay? Answers needed for the same accuracy, by strategy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from benchmarks.data import HOW_TO_FIND, find_data, load_from
from numpy.typing import NDArray
from sklearn.isotonic import IsotonicRegression

from studies.cells import Cell, Result, collect
from studies.methods import QUIET
from studies.plots import FOLDER
from studies.report import NONE, Goal, Image, Section, Table, short, with_error
from studies.setting import Setting
from tercet import datasets, simulate
from tercet.answers.triplets import Triplets
from tercet.arrays import Floats, Index
from tercet.estimators import CKL
from tercet.plots.learning import plot_learning
from tercet.posterior import Posterior
from tercet.uses.active.candidates import number_rows
from tercet.uses.active.loop import ActiveLoop, Record

VERSION = 1  # raise it when changes in tercet affect what is measured here
REPEATS, QUICK_REPEATS = 10, 2
DRAWS: dict[str, Any] = {"n_samples": 500, "n_chains": 2, **QUIET}
EGGS, TEST = 30, "Test"
RANDOM = "random"
# The strategy, and whether no anchor may have more than twice its share.
WAYS: dict[str, tuple[str, bool]] = {
    RANDOM: ("random", False),
    "uncertainty": ("uncertainty", False),
    "mutual information": ("mutual_information", False),
    "mutual information, capped": ("mutual_information", True),
    "information gain, capped": ("information_gain", True),
}
SCHEMES = ("RandomSampling", "UncertaintySampling", "STE", "CrowdKernel")
FIRST = (250, 500, 1000, 2000, 3900)
N, NOISE = 60, 0.3
PEOPLE, MACHINES = "people", "simulated"
KINDS = {PEOPLE: "alien eggs, answers of people", MACHINES: f"{N} objects, simulated observers"}
SIZES = {PEOPLE: (100, 50, 1500), MACHINES: (200, 100, 2000)}  # start, a round, end
QUICK = {PEOPLE: (100, 50, 300), MACHINES: (200, 100, 500)}
TARGETS = {PEOPLE: (0.78, 0.80, 0.82, 0.83), MACHINES: (0.80, 0.85, 0.88, 0.90)}
BAND = (10.0, 90.0)


# --- one run ----------------------------------------------------------------------------------


def learn(kind: str, way: str, repeat: int, start: int, batch: int, end: int) -> Result:
    """A learning curve, from the same start for every way to choose."""
    rng = np.random.default_rng(
        np.random.SeedSequence(repeat, spawn_key=(list(KINDS).index(kind),))
    )
    maker = Posterior(CKL(1 if kind == PEOPLE else 2), **DRAWS)
    strategy, capped = WAYS[way]
    cap = -(-2 * batch // (EGGS if kind == PEOPLE else N)) if capped else batch
    options: dict[str, Any] = {"strategy": strategy, "k": batch, "per_anchor": cap}
    options |= {"random_state": repeat, "random_share": 0.0, "warm": False}
    setup = _replay if kind == PEOPLE else _simulation
    loop = setup(maker, start, rng, options | QUIET)
    loop.run((end - start) // batch)
    curve = {name: [getattr(r, name) for r in loop.curve] for name in Record._fields}
    anchors = np.bincount(loop.triplets.array[start:, 0], minlength=loop.triplets.n_objects)
    return {"curve": curve, "anchors": int(np.count_nonzero(anchors)), "most": int(anchors.max())}


def _replay(
    maker: Posterior, start: int, rng: np.random.Generator, options: dict[str, Any]
) -> ActiveLoop:
    """Comparisons that people answered; each answer is handed out once, in random order."""
    answers, scheme = alien_eggs()
    given = rng.permutation(answers[scheme != TEST])
    numbers = number_rows(given, EGGS)
    left: dict[int, list[int]] = {}
    for row, which in enumerate(numbers.tolist()):
        left.setdefault(which, []).append(row)

    def ask(asked: Index) -> Index:
        return given[[left[which].pop() for which in number_rows(asked, EGGS).tolist()]]

    def offer() -> Index:
        return given[[rows[-1] for rows in left.values() if rows]]

    first = ask(rng.permutation(offer())[:start])
    return ActiveLoop(
        maker,
        ask,
        start=Triplets(first, n_objects=EGGS),
        candidates=offer,
        repeats=True,
        score=answers[scheme == TEST],
        **options,
    )


def _simulation(
    maker: Posterior, start: int, rng: np.random.Generator, options: dict[str, Any]
) -> ActiveLoop:
    """Points of the paper's mixture; the score is π on all true triplets."""
    points, _ = simulate.gaussian_mixture(N, random_state=rng)
    truth = simulate.true_triplets(points)
    return ActiveLoop(
        maker,
        lambda asked: simulate.answer(points, asked, noise=NOISE, random_state=rng),
        start=simulate.noisy_triplets(points, start, noise=NOISE, random_state=rng),
        score=lambda ensemble: np.mean(ensemble.triplet_probability(truth, n_jobs=1) > 0.5),
        **options,
    )


def collected(scheme: str, answers: int) -> Result:
    """Learn from the first answers of a scheme as they were collected; which tests are right."""
    rows, schemes = alien_eggs()
    train = Triplets(rows[schemes == scheme][:answers], n_objects=EGGS)
    p = (
        Posterior(CKL(1), random_state=0, **DRAWS)
        .fit(train)
        .ensemble_.answer_probability(rows[schemes == TEST])
    )
    return {"right": (p > 0.5).astype(int).tolist(), "loss": float(-np.log(p).mean())}


@cache
def alien_eggs() -> tuple[Index, NDArray[np.str_]]:
    """All answers, oldest first, and the scheme that chose each."""
    folder = find_data()
    assert folder is not None
    data, triplets = load_from(folder, datasets.load_alien_eggs)
    oldest_first = np.argsort(data.columns["order"], kind="stable")
    return triplets.array[oldest_first], data.columns["sampling"][oldest_first]


# --- the study --------------------------------------------------------------------------------


def run(setting: Setting) -> Section:
    """Every strategy on people's answers and on simulated ones; then the schemes as collected."""
    section = Section("Next questions: does active learning pay?")
    repeats = setting.choose(REPEATS, QUICK_REPEATS)
    kinds = list(KINDS) if find_data() is not None else [MACHINES]
    if PEOPLE not in kinds:
        section.parts.append(HOW_TO_FIND.replace("case", "study"))
    section.parts.append(_explanation(repeats))
    everything = []
    for kind in kinds:
        results = _results(kind, setting, repeats)
        everything += [r for group in results.values() for r in group]
        curves = {s: [r for r in group if "curve" in r] for s, group in results.items()}
        section.parts += [f"### {KINDS[kind][0].upper()}{KINDS[kind][1:]}"]
        section.parts += [_needed(kind, curves), _at_the_end(curves), _picture(kind, curves)]
        section.goals += _goals(kind, curves)
    if PEOPLE in kinds:
        table, results = _collected(setting)
        section.parts += ["### Alien eggs, as they were collected", table]
        everything += results
    section.notes += setting.notes(everything)
    section.notes.append(_health(everything))
    return section


def _health(results: Sequence[Result]) -> str:
    done = [r for r in results if "failed" not in r]
    fits = sum(len(r["curve"]["score"]) if "curve" in r else 1 for r in done)
    warned = sum(r["warned"].get("ConvergenceWarning", 0) for r in done)
    return f"{warned} of {fits} posteriors warned that they did not converge; they are included."


def _results(kind: str, setting: Setting, repeats: int) -> dict[str, list[Result]]:
    start, batch, end = setting.choose(SIZES, QUICK)[kind]
    keys = [(s, r) for r in range(repeats) for s in WAYS]
    cells = [
        Cell(
            "active",
            VERSION,
            learn,
            {"kind": kind, "way": s, "repeat": r, "start": start, "batch": batch, "end": end},
        )
        for s, r in keys
    ]
    found: dict[str, list[Result]] = {}
    for (strategy, _), result in zip(keys, collect(cells, setting.jobs), strict=True):
        found.setdefault(strategy, []).append(result)
    return found


def needed(curve: Mapping[str, Sequence[float]], target: float) -> float:
    """Answers at which a curve reaches the target; infinity where it never does.

    The curve is first made one that never falls (isotonic regression), so that a lucky round does
    not count.
    """
    answers, score = np.array(curve["n_answers"], float), np.array(curve["score"])
    rising = IsotonicRegression().fit_transform(answers, score)
    if rising[-1] < target:
        return np.inf
    if rising[0] >= target:
        return float(answers[0])
    i = int(np.argmax(rising >= target))
    share = (target - rising[i - 1]) / (rising[i] - rising[i - 1])
    return float(answers[i - 1] + share * (answers[i] - answers[i - 1]))


def _paired(
    curves: Mapping[str, Sequence[Result]], strategy: str, of: Callable[[Any], float]
) -> tuple[Floats, Floats]:
    """What the strategy and the random choice of the same repeat got."""
    both: list[dict[int, float]] = [
        {r["settings"]["repeat"]: of(r["curve"]) for r in curves[s]} for s in (strategy, RANDOM)
    ]
    shared = sorted(both[0].keys() & both[1].keys())
    mine, theirs = (np.array([each[r] for r in shared]) for each in both)
    return mine, theirs


def _ratio(curves: Mapping[str, Sequence[Result]], strategy: str, target: float) -> Floats:
    """Answers needed over those that random choice needed: 0 where only random did not get there.

    NaN where neither did.
    """
    mine, blind = _paired(curves, strategy, lambda curve: needed(curve, target))
    with np.errstate(invalid="ignore"):
        return np.asarray(mine / blind)


def _needed(kind: str, curves: Mapping[str, Sequence[Result]]) -> Table:
    rows = []
    for strategy in WAYS:
        cells = []
        for target in TARGETS[kind]:
            count = np.array([needed(r["curve"], target) for r in curves[strategy]])
            text = _band(count, "{:.0f}")
            if strategy != RANDOM:
                text += f"; ×{_band(_ratio(curves, strategy, target), '{:.2f}')}"
            cells.append(text)
        rows.append([strategy, *cells])
    caption = (
        "Answers needed, median over repeats (10th to 90th percentile); ×: relative to random "
        "choice from the same start. > : not reached; < : random did not reach it"
    )
    return Table(caption, ["strategy", *(f"for {short(t, 2)}" for t in TARGETS[kind])], rows)


def _band(values: Floats, form: str) -> str:
    """Median and band; what was never reached counts as infinite, and comes last."""
    known = np.sort(values[~np.isnan(values)])
    if not len(known):
        return NONE
    ends = np.percentile(np.arange(len(known)), [50.0, *BAND])
    middle, low, high = (known[round(end)] for end in ends)

    def write(value: float) -> str:
        return "<" if value == 0.0 else form.format(value) if np.isfinite(value) else ">"

    return f"{write(middle)} ({write(low)} to {write(high)})"


def _at_the_end(curves: Mapping[str, Sequence[Result]]) -> Table:
    rows = []
    for strategy in WAYS:
        row = [strategy]
        for name in ("score", "log_loss", "uncertainty"):
            own = np.array([r["curve"][name][-1] for r in curves[strategy]])
            row.append(NONE if np.isnan(own).any() else with_error(own.mean(), _error(own), 4))
        mine, blind = _paired(curves, strategy, lambda curve: curve["score"][-1])
        gap = mine - blind
        row.append(NONE if strategy == RANDOM else with_error(gap.mean(), _error(gap), 4))
        row.append(f"{np.mean([r['most'] for r in curves[strategy]]):.0f}")
        rows.append(row)
    header = ["strategy", "accuracy", "log-loss", "average uncertainty"]
    header += ["accuracy minus that of random", "questions with the most frequent anchor"]
    return Table("At the end of the curves, mean ± standard error", header, rows)


def _error(values: Floats) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))


def _goals(kind: str, curves: Mapping[str, Sequence[Result]]) -> list[Goal]:
    """No goal: what the best strategy saves where random choice still improves."""
    target = TARGETS[kind][2]
    ratios = {s: _ratio(curves, s, target) for s in WAYS if s != RANDOM}
    found = ", ".join(f"{s} ×{_band(ratio, '{:.2f}')}" for s, ratio in ratios.items())
    what = f"{KINDS[kind]}: answers needed for {short(target, 2)}, relative to random"
    return [Goal(what, NONE, found, None)]


def _picture(kind: str, curves: Mapping[str, Sequence[Result]]) -> Image:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.5, 4.5), layout="constrained")
    ax = figure.subplots()
    drawn = {
        strategy: [
            [Record(*row) for row in zip(*(r["curve"][f] for f in Record._fields), strict=True)]
            for r in group
        ]
        for strategy, group in curves.items()
    }
    what = "accuracy on held-out answers" if kind == PEOPLE else "accuracy on true triplets"
    plot_learning(drawn, ylabel=what, ax=ax)
    ax.grid(color="0.92")
    ax.spines[["top", "right"]].set_visible(False)
    name = f"active_{kind}.png"
    FOLDER.mkdir(parents=True, exist_ok=True)
    figure.savefig(FOLDER / name, dpi=110)
    return Image(name, f"Learning curves, {KINDS[kind]}: mean and middle 80 % of the repeats")


def _collected(setting: Setting) -> tuple[Table, list[Result]]:
    sizes = setting.choose(FIRST, FIRST[:2])
    keys = [(scheme, m) for scheme in SCHEMES for m in sizes]
    cells = [Cell("active", VERSION, collected, {"scheme": s, "answers": m}) for s, m in keys]
    results = collect(cells, setting.jobs)
    right = {
        key: np.array(r["right"], float)
        for key, r in zip(keys, results, strict=True)
        if "right" in r
    }
    rows = []
    for scheme in SCHEMES:
        row = [scheme]
        for m in sizes:
            own, blind = right.get((scheme, m)), right.get(("RandomSampling", m))
            text = NONE if own is None else short(float(own.mean()))
            if scheme != "RandomSampling" and own is not None and blind is not None:
                gap = own - blind  # of the same test answers, so most of their noise is gone
                text += f"; {'+' if gap.mean() >= 0 else ''}{with_error(gap.mean(), _error(gap))}"
            row.append(text)
        rows.append(row)
    caption = (
        "Accuracy on the test answers after the first answers of each scheme; then the difference "
        "from random, ± standard error over the test answers"
    )
    return Table(caption, ["scheme", *(f"{m} answers" for m in sizes)], rows), results


def _explanation(repeats: int) -> str:
    (a, b, c), (d, e, f) = SIZES[PEOPLE], SIZES[MACHINES]
    return (
        f"Every strategy starts from the same {a} (people) or {d} (simulated) answers to random "
        f"comparisons and asks {b} or {e} more per round, up to {c} or {f}; {repeats} repeats. The "
        "posterior is that of CKL, two chains of 500 draws. People: the comparisons of alien_eggs "
        "from all its schemes but the test, each answer used once, so that a strategy can only ask "
        "what somebody was asked; accuracy on the answers of the test set. Simulated: "
        f"points of the paper's mixture, log-normal noise σ = {NOISE}; the share of all true "
        "triplets for which π is on the right side of ½."
    )
