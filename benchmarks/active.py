"""The next questions: scoring every comparison of 200 objects, one whole round, and updates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import tercet as tc
from benchmarks.report import Line, Section, Table, duration
from benchmarks.setting import Setting, Timed, take_turns, timed
from tercet.simulate import (
    answer,
    gaussian_mixture,
    noisy_triplets,
    random_comparisons,
    true_triplets,
)
from tercet.uses.active import Suggestions

N, D, DRAWS, K = 200, 5, 20, 1000
ANSWERS, NOISE = 10_000, 0.1
OTHERS = 100_000  # comparisons that none of the chosen should be worse than
GOALS = {"uncertainty": 1.0, "mutual_information": 1.0, "information_gain": 5.0}
ROUND = 5.0
UPDATES = ((30, 1000, 0.5), (60, 3000, 1.0), (100, 6000, 2.0))  # objects, answers, seconds
ASKED, NOISE_OF_UPDATES = 10, 0.3


def run(setting: Setting) -> Section:
    """Every strategy, then a round of bootstrap and choice; quality from the formulas, slowly."""
    section = Section(f"Next questions: n = {N}, {DRAWS} draws, the best {K}")
    points = np.random.default_rng(0).normal(size=(N, D))
    answers = noisy_triplets(points, ANSWERS, noise=NOISE, random_state=0)
    ensemble = _bootstrap(answers, 0)
    every = N * (N - 1) * (N - 2) // 2
    for strategy, goal in GOALS.items():

        def choose(strategy: str = strategy) -> Timed:
            return timed(
                lambda: tc.suggest(
                    ensemble,
                    K,
                    strategy,
                    triplets=answers,
                    per_anchor=None if strategy == "information_gain" else K,
                    random_state=0,
                )
            )

        choose()  # loads the compiled code
        took = take_turns({"ours": choose}, setting.choose(5, 1))["ours"]
        section.lines.append(
            Line(
                f"{strategy}, all {every / 1e6:.2f} M comparisons",
                duration(took.seconds),
                f"≤ {goal:g} s",
                took.seconds <= goal,
                quality_ours=_quality(ensemble, took.result, answers),
            )
        )
    section.lines.append(_round(setting, points, answers))
    section.tables.append(_large(setting))
    for n, m, goal in setting.choose(UPDATES, UPDATES[:1]):
        section.lines.append(_update(n, m, goal))
    section.notes.append(
        "Quality: the largest difference between the scores and the formula computed in plain "
        f"NumPy, and how many of {OTHERS} random comparisons that were not answered and not "
        "chosen score higher than the last one chosen. No peer chooses among all comparisons."
    )
    return section


def _bootstrap(answers: tc.Triplets, seed: int) -> tc.Ensemble:
    return tc.Bootstrap.paper(tc.STE(D), n_samples=DRAWS, random_state=seed).fit(answers).ensemble_


def _quality(ensemble: tc.Ensemble, found: Suggestions, answers: tc.Triplets) -> str:
    strategy = found.strategy
    if strategy == "information_gain":
        rows = found.array[::100]
        gap = np.abs(_gain(ensemble, rows, answers) - found.scores[::100]).max()
        return f"differs by {gap:.0e}; {len(set(found.array[:, 0]))} anchors"
    others = random_comparisons(N, OTHERS, random_state=1)
    known = np.concatenate([answers.array, found.array])
    others = others[~np.isin(_keys(others), _keys(known))]
    gap = np.abs(_slow(ensemble, found.array, strategy) - found.scores).max()
    higher = np.sum(_slow(ensemble, others, strategy) > found.scores[-1])
    return f"differs by {gap:.0e}; {higher} higher"


def _slow(ensemble: tc.Ensemble, rows: NDArray[np.int64], strategy: str) -> NDArray[np.float64]:
    if strategy == "uncertainty":
        p = ensemble.triplet_probability(rows)
        return np.minimum(p, 1 - p)
    p = ensemble.answer_probability(rows, by_draw=True)
    return _entropy(p.mean(axis=0)) - _entropy(p).mean(axis=0)


def _gain(
    ensemble: tc.Ensemble, rows: NDArray[np.int64], answers: tc.Triplets
) -> NDArray[np.float64]:
    """Information gain as it is defined, in logs."""
    model, total = ensemble.model, np.zeros(len(rows))
    used = ((np.arange(8) + 0.5) * len(ensemble) / 8).astype(int)
    for x in ensemble.draws[used]:
        squared = np.sum((x[:, None] - x) ** 2, axis=-1)
        for t, (a, b, c) in enumerate(rows):
            own = answers.array[answers.array[:, 0] == a]
            logs = model.log_prob(squared[:, own[:, 1]], squared[:, own[:, 2]], D).sum(axis=1)
            tau = np.exp(logs - logs.max())
            tau /= tau.sum()
            p = model.probability(squared[:, b], squared[:, c], D)
            total[t] += _entropy(tau @ p) - tau @ _entropy(p)
    return total / len(used)


def _entropy(p: NDArray[np.float64]) -> NDArray[np.float64]:
    q = np.clip(p, 1e-300, 1.0), np.clip(1.0 - p, 1e-300, 1.0)
    return -q[0] * np.log2(q[0]) - q[1] * np.log2(q[1])


def _keys(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    low, high = np.minimum(rows[:, 1], rows[:, 2]), np.maximum(rows[:, 1], rows[:, 2])
    return (rows[:, 0] * N + low) * N + high


def _round(setting: Setting, points: NDArray[np.float64], answers: tc.Triplets) -> Line:
    """The paper's bootstrap and the choice of the next batch, and what that batch brings."""

    def whole() -> Timed:
        def work() -> tuple[tc.Ensemble, Suggestions]:
            ensemble = _bootstrap(answers, 1)
            return ensemble, tc.suggest(
                ensemble, K, "uncertainty", triplets=answers, random_state=0
            )

        return timed(work)

    took = take_turns({"ours": whole}, setting.choose(3, 1))["ours"]
    before, found = took.result
    new = answer(points, found.array, noise=NOISE, random_state=2)
    after = _bootstrap(tc.Triplets(np.concatenate([answers.array, new]), n_objects=N), 1)
    test = true_triplets(points, random_comparisons(N, OTHERS, random_state=3))
    right = [np.mean(each.triplet_probability(test) > 0.5) for each in (before, after)]
    return Line(
        f"one round: bootstrap of {ANSWERS} answers, d = {D}, and {K} chosen",
        duration(took.seconds),
        f"≤ {ROUND:g} s",
        took.seconds <= ROUND,
        quality_ours=f"true comparisons right: {right[0]:.1%}, with the batch {right[1]:.1%}",
    )


def _large(setting: Setting) -> Table:
    """More objects than are scored exactly."""
    rows = []
    for n in setting.choose([1000], [400]):
        rng = np.random.default_rng(n)
        ensemble = tc.Ensemble(
            rng.normal(size=(n, D)) + 0.3 * rng.normal(size=(DRAWS, n, D)), model=tc.STE(D).model()
        )
        for strategy in ("uncertainty", "mutual_information"):
            seconds, found = timed(
                lambda s=strategy, e=ensemble: tc.suggest(e, K, s, per_anchor=K, random_state=0)
            )
            least = f"{found.scores[-1]:.4f}"
            rows.append([str(n), strategy, duration(seconds), least])
    header = ["objects", "strategy", "time", "score of the last one chosen"]
    caption = "More than 300 objects: 13.4 M comparisons, drawn at random, are scored"
    return Table(caption, header, rows)


def _update(n: int, m: int, goal: float) -> Line:
    """`ask` after one new answer, by chains that go on, and by chains that start anew.

    Quality: the information of what was chosen under another, longer run of the same posterior,
    relative to what was chosen by chains that started anew; and that of random questions.
    """
    points, _ = gaussian_mixture(n, random_state=0)
    answers = noisy_triplets(points, m + 1, noise=NOISE_OF_UPDATES, random_state=0)
    asked, took = {}, {}
    for warm in (False, True):
        loop = tc.ActiveLoop(
            tc.Posterior(2, progress=False),
            start=answers[:-1],
            k=ASKED,
            random_share=0.0,
            warm=warm,
            random_state=0,
        )
        loop.ask()
        loop.withdraw()
        loop.tell(answers[-1:])
        took[warm], found = timed(loop.ask)
        asked[warm] = found.array
    long = tc.Posterior(2, n_samples=2000, random_state=1, progress=False).fit(answers).ensemble_
    blind = tc.suggest(answers, 100, "random", random_state=0).array

    def told(rows: NDArray[np.int64]) -> float:
        return float(np.mean(_slow(long, rows, "mutual_information")))

    best = told(asked[False])
    return Line(
        f"ask after one answer more: {n} objects, {m} answers, Posterior(2)",
        duration(took[True]),
        f"≤ {goal:g} s",
        took[True] <= goal,
        quality_ours=(
            f"chains that start anew took {duration(took[False])}, ×{took[False] / took[True]:.0f};"
            f" information of the {ASKED} chosen {told(asked[True]) / best:.2f} of theirs, "
            f"of random ones {told(blind) / best:.2f}"
        ),
    )
