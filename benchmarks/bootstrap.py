"""The paper's bootstrap as a whole: resample, fit, align, and π of all comparisons."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

import tercet as tc
from benchmarks.report import Line, Section, duration, times
from benchmarks.setting import Setting, Timed, take_turns, timed
from tercet.simulate import all_comparisons, gaussian_mixture, noisy_triplets

N, ANSWERS, NOISE = 50, 588, 0.3
SAMPLES, FRACTION = 20, 0.4
CALLS = 20  # in a row: one alone has to wake the second core
GOAL = 50.0


def run(setting: Setting) -> Section:
    """Ours with everything, beside a loop over the peer's fits alone."""
    section = Section(f"The paper's bootstrap: {SAMPLES} subsets of {FRACTION:.0%}, n = {N}")
    points, _ = gaussian_mixture(N, random_state=0)
    answers = noisy_triplets(points, ANSWERS, noise=NOISE, random_state=0)
    every = all_comparisons(N)

    def ours() -> Timed:
        seconds, results = timed(lambda: [_ours(answers, every) for _ in range(CALLS)])
        return Timed(seconds / CALLS, results[-1])

    ours()  # loads the compiled code
    runs = {"ours": ours}
    if setting.peer is not None:
        runs["peer"] = lambda: _theirs(setting, answers.array)
    took = take_turns(runs, setting.choose(7, 1))
    mine, peer = took["ours"], took.get("peer")
    right = np.mean(mine.result[tc.metrics.satisfied(points, every)] > 0.5)
    reached = None
    if peer is not None:
        ratio = min(peer.seconds / mine.seconds, peer.fastest / mine.fastest)
        reached = bool(ratio >= GOAL)
    section.lines.append(
        Line(
            f"bootstrap, {ANSWERS} answers, all {len(every)} π",
            duration(mine.seconds),
            f"≥ {GOAL:g}×",
            reached,
            f"{duration(peer and peer.seconds)} (fits alone)",
            times(peer and peer.seconds, mine.seconds),
            f"π on the right side for {right:.1%} of true comparisons",
            "no alignment, no π",
        )
    )
    section.notes.append(
        "Ours is `Bootstrap.paper(STE(2)).fit(answers)`, alignment included, and "
        '`triplet_probability(all, method="paper")`, the mean of '
        f"{CALLS} calls in a row. The peer is a loop over `cblearn.embedding.STE(2).fit(subset)`. "
        "The goal counts as reached if the ratio of the medians and that of the fastest repeats "
        "both reach it."
    )
    return section


def _ours(answers: tc.Triplets, every: NDArray[np.int64]) -> NDArray[np.float64]:
    boot = tc.Bootstrap.paper(tc.STE(2), random_state=0).fit(answers)
    return boot.ensemble_.triplet_probability(every, method="paper")


def _theirs(setting: Setting, triplets: NDArray[np.int64]) -> Timed:
    assert setting.peer is not None
    rng = np.random.default_rng(0)
    size = int(FRACTION * len(triplets))
    subsets = [rng.choice(len(triplets), size, replace=False) for _ in range(SAMPLES)]
    return Timed(*setting.peer.fit("STE", triplets, N, 2, subsets, list(range(SAMPLES))))
