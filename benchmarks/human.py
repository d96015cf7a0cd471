"""Training error of all models on the answers of people, in two dimensions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from benchmarks import data
from benchmarks.report import NONE, Line, Section, Table, duration, times
from benchmarks.setting import Setting, timed
from tercet.answers.triplets import Triplets
from tercet.embedder import Embedder
from tercet.estimators import CKL, GNMDS, SOE, STE, TSTE
from tercet.metrics import triplet_error

SEEDS = 3
PATIENCE = 30.0  # seconds; a slower fit of the peer is not repeated with further seeds
EXCESS, EQUAL = 0.005, 0.0005
KERNEL_OBJECTS = 500  # the kernel of GNMDS costs n³ an iteration

SETS = (
    data.car60,
    data.food100,
    data.material_appearance,
    data.music_aset400,
    data.things_oddoneout,
)


class Pair(NamedTuple):
    """A model of ours and what it is compared with."""

    name: str
    ours: Embedder
    peer: str
    parameters: dict[str, float]


PAIRS = (
    Pair("STE", STE(2), "STE", {}),
    Pair("t-STE", TSTE(2), "TSTE", {}),
    Pair("CKL (μ = .05; peer's default 0)", CKL(2), "CKL", {}),
    Pair("CKL (both μ = .05)", CKL(2), "CKL", {"mu": 0.05}),
    Pair("SOE", SOE(2), "SOE", {}),
    Pair("GNMDS, points", GNMDS(2, direct=True), "GNMDS", {}),
    Pair("GNMDS, kernel (peer: points)", GNMDS(2), "GNMDS", {}),
)


class Measured(NamedTuple):
    """Means over the seeds, and the standard error of the mean training error."""

    error: float
    seconds: float
    seeds: int
    standard_error: float


@dataclass
class Tally:
    """Seconds of both sides, and how much higher our errors are."""

    name: str
    ours: float = 0.0
    peer: float = 0.0
    excesses: list[float] = field(default_factory=list)

    def add(self, ours: Measured, peer: Measured | None) -> None:
        """Count one model on one set."""
        self.ours += ours.seconds
        if peer is not None:
            self.peer += peer.seconds
            self.excesses.append(ours.error - peer.error)


def run(setting: Setting) -> Section:
    """Every model on every set."""
    section = Section("Answers of people: training error, d = 2")
    if setting.data is None:
        section.notes.append(data.HOW_TO_FIND)
        return section
    rows = []
    alike, kernel = Tally("all models, the same objective"), Tally("GNMDS over the kernel")
    for load in (data.car60, data.music_aset400) if setting.quick else SETS:
        answers = load(setting.data)
        STE(2, random_state=0).fit(_triplets(answers))  # loads the compiled code
        for pair in PAIRS:
            if pair.name.startswith("GNMDS, kernel") and answers.n_objects > KERNEL_OBJECTS:
                continue
            ours, peer = _measure(setting, answers, pair)
            (kernel if pair.name.startswith("GNMDS, kernel") else alike).add(ours, peer)
            rows.append(_row(answers.name, pair.name, ours, peer))
    section.lines += [_line(alike), _line(kernel)]
    header = ["data", "model", "error, ours", "peer", "difference", "time, ours", "peer", "ratio"]
    section.tables.append(
        Table("Means over the seeds, the difference ± its standard error", [*header, "seeds"], rows)
    )
    section.notes += [
        "Both with their default options; the peer's SOE then takes the best of ten starts. "
        "The peer's GNMDS works on the points in two dimensions, as ours does with direct=True. "
        "Over the kernel, the paper's form, dimensions beyond the second are cut off after the "
        "fit, which costs training error; it has a line of its own.",
        "Votes of material_appearance (its training split) are weights for us and repeated rows "
        "for the peer. The 17 rows of music_aset400 that compare an artist with itself are "
        "dropped. An answer of things_oddoneout gives two triplets.",
        f"{SEEDS} seeds each; where a fit of the peer took longer than {PATIENCE:g} s no further "
        "seed was tried for either.",
    ]
    return section


def _triplets(answers: data.Answers) -> Triplets:
    return Triplets(answers.triplets, n_objects=answers.n_objects, weights=answers.counts)


def _measure(
    setting: Setting, answers: data.Answers, pair: Pair
) -> tuple[Measured, Measured | None]:
    """Ours and the peer take turns, seed by seed."""
    triplets = _triplets(answers)
    repeated = np.repeat(answers.triplets, 1 if answers.counts is None else answers.counts, axis=0)

    def ours(seed: int) -> tuple[float, float]:
        estimator = clone(pair.ours).set_params(random_state=seed)
        seconds, fitted = timed(estimator.fit, triplets)
        return triplet_error(fitted.embedding_, triplets), seconds

    def peer(seed: int) -> tuple[float, float]:
        assert setting.peer is not None
        everything = [np.arange(len(repeated))]
        seconds, embeddings = setting.peer.fit(
            pair.peer, repeated, answers.n_objects, 2, everything, [seed], pair.parameters
        )
        return triplet_error(embeddings[0], triplets), seconds

    results: dict[Callable[[int], tuple[float, float]], list[tuple[float, float]]] = {ours: []}
    if setting.peer is not None:
        results[peer] = []
    for seed in range(setting.choose(SEEDS, 1)):
        for side, found in results.items():
            found.append(side(seed))
        if any(seconds > PATIENCE for _, seconds in results.get(peer, [])):
            break
    means = [_mean(found) for found in results.values()]
    return means[0], means[1] if len(means) > 1 else None


def _mean(found: list[tuple[float, float]]) -> Measured:
    error, seconds = np.mean(found, axis=0)
    several = len(found) > 1
    spread = np.std([e for e, _ in found], ddof=1) if several else np.nan
    return Measured(error, seconds, len(found), spread / np.sqrt(len(found)))


def _row(name: str, model: str, ours: Measured, peer: Measured | None) -> list[str]:
    if peer is None:
        compared = [NONE, NONE]
        took = [duration(ours.seconds), NONE, NONE]
    else:
        noise = np.hypot(ours.standard_error, peer.standard_error)
        sure = "" if np.isnan(noise) else f" ± {noise:.4f}"
        compared = [f"{peer.error:.4f}", f"{ours.error - peer.error:+.4f}{sure}"]
        took = [duration(ours.seconds), duration(peer.seconds), times(peer.seconds, ours.seconds)]
    return [name, model, f"{ours.error:.4f}", *compared, *took, str(ours.seeds)]


def _line(tally: Tally) -> Line:
    excesses = np.array(tally.excesses)
    known = len(excesses) > 0
    better, worse = (excesses < -EQUAL).sum(), (excesses > EQUAL).sum()
    equal = len(excesses) - better - worse
    return Line(
        f"training error, human answers, d = 2, {tally.name}",
        duration(tally.ours),
        f"excess ≤ {EXCESS:g} on any, better or equal on most",
        bool(excesses.max() <= EXCESS and better + equal > worse) if known else None,
        duration(tally.peer) if known else NONE,
        times(tally.peer, tally.ours) if known else NONE,
        f"better on {better}, equal on {equal}, worse on {worse}" if known else NONE,
        f"largest excess {excesses.max():+.4f}" if known else NONE,
    )
