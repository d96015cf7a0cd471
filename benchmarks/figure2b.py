"""What figure 2b of the paper costs: all its STE bootstraps, ours and as a loop over the peer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import tercet as tc
from benchmarks.report import Line, Section, duration, times
from benchmarks.setting import Setting, Timed, take_turns, timed
from tercet.arrays import Floats
from tercet.paper.figure2 import training_set
from tercet.paper.methods import mixture
from tercet.paper.settings import FULL, QUICK

SAMPLES, FRACTION = 20, 0.4


class Fits(NamedTuple):
    """For every training set the embedding of all answers (n, 2) and of each replicate."""

    whole: list[Floats]
    ensembles: list[tc.Ensemble]


def run(setting: Setting) -> Section:
    """Every noise level and repeat: one fit of all answers, twenty of subsamples, and π of all."""
    size = setting.choose(FULL, QUICK)
    sets = [
        training_set(size.points, noise, size.noise_fraction, repeat)
        for noise in size.noises
        for repeat in range(size.repeats)
    ]
    points, _ = mixture(size.points)
    true = tc.simulate.true_triplets(points)

    def ours() -> Timed:
        return timed(lambda: _judge(_ours(sets), true))

    ours()  # loads the compiled code
    runs = {"ours": ours}
    if setting.peer is not None:
        runs["peer"] = lambda: _theirs(setting, sets, true)
    took = take_turns(runs, setting.choose(3, 1))
    mine, peer = took["ours"], took.get("peer")
    section = Section("Figure 2b of the paper: all STE bootstraps")
    section.lines.append(
        Line(
            f"{len(sets)} training sets, {len(sets) * (SAMPLES + 1)} fits, all π",
            duration(mine.seconds),
            "",
            None,
            f"{duration(peer and peer.seconds)} (fits alone)",
            times(peer and peer.seconds, mine.seconds),
            mine.result,
            peer.result if peer else "",
        )
    )
    section.notes.append(
        "The peer is a loop over `cblearn.embedding.STE(2).fit(subset)` on the same training sets; "
        "it has no bootstrap, no alignment, no π and no posterior, so the π of its replicates are "
        "computed by `tercet.Ensemble`, outside the time. Ours includes all of it. Errors are "
        "shares of true triplets, means over all training sets."
    )
    return section


def _ours(sets: list[tc.Triplets]) -> Fits:
    return Fits(
        [tc.STE(2, random_state=0).fit(answers).embedding_ for answers in sets],
        [tc.Bootstrap.paper(tc.STE(2), random_state=0).fit(answers).ensemble_ for answers in sets],
    )


def _theirs(setting: Setting, sets: list[tc.Triplets], true: NDArray[np.int64]) -> Timed:
    assert setting.peer is not None
    seconds, whole, ensembles = 0.0, [], []
    rng = np.random.default_rng(0)
    for answers in sets:
        m, n = len(answers), answers.n_objects
        subsets = [rng.choice(m, int(FRACTION * m), replace=False) for _ in range(SAMPLES)]
        rows, seeds = [np.arange(m), *subsets], list(range(SAMPLES + 1))
        took, found = setting.peer.fit("STE", answers.array, n, 2, rows, seeds)
        seconds += took
        whole.append(found[0])
        ensembles.append(tc.Ensemble(found[1:], alignment="scale"))
    return Timed(seconds, _judge(Fits(whole, ensembles), true))


def _judge(fits: Fits, true: NDArray[np.int64]) -> str:
    error = np.mean([tc.metrics.triplet_error(X, true) for X in fits.whole])
    pi = [e.triplet_probability(true, method="paper") for e in fits.ensembles]
    return (
        f"error {error:.3f}, of the bootstraps {np.mean(np.concatenate(pi) < 0.5):.3f}, "
        f"average uncertainty {1.0 - np.mean(np.concatenate(pi)):.3f}"
    )
