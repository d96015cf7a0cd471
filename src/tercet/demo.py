"""A demonstration: a report from the answers of a simulated world, compared with the truth."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tercet import simulate
from tercet.align import procrustes
from tercet.analysis import analyse
from tercet.answers.triplets import Triplets
from tercet.arrays import Floats
from tercet.ensemble import Ensemble
from tercet.errors import InputError
from tercet.files import write_whole
from tercet.io import write_triplets
from tercet.plots import plot_map
from tercet.report import check_target

__all__ = [
    "Truth",
    "draw_both",
    "look",
    "run_demo",
]


def run_demo(
    out: Path, seed: int = 0, n_jobs: int | None = None, progress: bool | None = None
) -> None:
    """Simulate answers, report on them, and compare the map with the truth.

    Parameters
    ----------
    out : Path
        Output folder, for answers.csv, report.html and truth.png.
    seed : int
        Random seed of the simulated world.
    n_jobs : int, optional
        Threads, all cores by default; the result does not depend on them.
    progress : bool, optional
        Whether to show progress bars; by default on a terminal only.
    """
    check_target(out / "report.html")
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write to {out}: {error.strerror}.") from None
    world = make_world(seed)
    answers = out / "answers.csv"
    write_triplets(world.answers, answers)
    print(f"A simulated world: {world.answers}\nIts answers: {answers}\n")

    analysis = analyse(answers, random_state=seed, n_jobs=n_jobs, progress=progress)
    print(analysis.summary())
    truth = look(world, analysis.ensemble, analysis.settings.level)
    print(
        "\nThis world is simulated, so the truth is known:\n"
        f"  of the {truth.n_certain} certain comparisons, {truth.certain_right:.1%} are right\n"
        f"  of all {len(world.truth)} comparisons, {truth.expected_error:.1%} are expected to be "
        f"wrong, and {truth.error:.1%} are wrong\n"
        f"  {truth.inside} of {world.answers.n_objects} animals are inside their ellipses\n"
    )
    page = analysis.write(out / "report.html")[0]
    write_whole(out / "truth.png", draw_both(world, truth))
    print(f"Map and truth: {out / 'truth.png'}\nThe report: {page}")


# --- the world: animals at known positions, and observers who answer ----------------------------


NAMES = (
    ("wren", "robin", "eagle", "gull", "duck", "swan", "heron", "crow", "finch", "stork"),
    ("trout", "perch", "shark", "eel", "carp", "tuna", "pike", "cod", "salmon", "herring"),
    ("fox", "otter", "hare", "bear", "mouse", "deer", "wolf", "bat", "badger", "lynx"),
)
N_OBSERVERS = 25
N_OWN = 60  # comparisons of each observer alone
N_SHARED = 40  # comparisons that all observers are asked
NOISE = 0.3
GUESSER = 16  # this observer guesses


class DemoWorld(NamedTuple):
    """Animals at simulated positions, and noisy answers about them."""

    positions: Floats
    kinds: list[int]
    answers: Triplets
    truth: Triplets


def make_world(seed: int) -> DemoWorld:
    """Place ten animals of each kind around the means of the paper's mixture, and ask observers."""
    rng = np.random.default_rng(seed)
    kinds = [kind for kind, names in enumerate(NAMES) for _ in names]
    names = [name for group in NAMES for name in group]
    positions = simulate.MIXTURE_MEANS[kinds] + 0.9 * rng.standard_normal((len(names), 2))
    shared = simulate.random_comparisons(len(names), N_SHARED, random_state=rng)
    own = simulate.random_comparisons(len(names), N_OBSERVERS * N_OWN, random_state=rng)
    asked = [np.concatenate([mine, shared]) for mine in np.split(own, N_OBSERVERS)]
    given = [
        simulate.answer(positions, each, noise=NOISE, lapse=float(k == GUESSER), random_state=rng)
        for k, each in enumerate(asked)
    ]
    who = np.repeat([f"P{k + 1:02d}" for k in range(N_OBSERVERS)], N_OWN + N_SHARED)
    pace = np.repeat(rng.uniform(1.2, 3.0, N_OBSERVERS), N_OWN + N_SHARED)
    seconds = (pace * rng.lognormal(0.0, 0.35, len(who))).round(2)
    answers = Triplets(np.concatenate(given), names=names, observers=who, response_times=seconds)
    truth = Triplets(simulate.true_triplets(positions), names=names)
    return DemoWorld(positions, kinds, answers, truth)


# --- the map compared with the truth ------------------------------------------------------------


class Truth(NamedTuple):
    """How accurate the map is."""

    aligned: Ensemble  # the map, aligned with the world
    level: float
    n_certain: int  # comparisons more certain than the level
    certain_right: float  # share of them that are right
    expected_error: float  # expected share of wrong comparisons
    error: float  # actual share
    inside: int  # animals whose true positions are inside their ellipses


def look(world: DemoWorld, ensemble: Ensemble, level: float) -> Truth:
    """Compare the map with the world."""
    order = [(ensemble.names or ()).index(name) for name in world.truth.names or ()]
    fit = procrustes(ensemble.point_mean()[order], world.positions, scale=True)
    samples = fit.scale * ensemble.samples[:, order] @ fit.rotation + fit.shift
    aligned = Ensemble(samples, names=world.truth.names, alignment="none")
    p = ensemble.triplet_probability(world.truth)
    certain = np.maximum(p, 1.0 - p) > level
    away = world.positions - aligned.point_mean()
    solved = np.linalg.solve(aligned.point_covariance(), away[:, :, None])[:, :, 0]
    inside = np.sum(away * solved, axis=1) <= -2.0 * math.log1p(-level)
    return Truth(
        aligned,
        level,
        int(np.count_nonzero(certain)),
        float(np.mean(p[certain] > 0.5)),
        float(np.minimum(p, 1.0 - p).mean()),
        float(np.mean(p < 0.5)),
        int(np.count_nonzero(inside)),
    )


def draw_both(world: DemoWorld, truth: Truth) -> bytes:
    """The world and its map side by side, as PNG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.set_title("The simulated world", loc="left")
    right.set_title(
        f"Its map from {len(world.answers)} noisy answers, with {truth.level:.0%} ellipses",
        loc="left",
    )
    plot_map(truth.aligned, groups=world.kinds, level=truth.level, ax=right)
    left.update_datalim(right.dataLim.get_points())  # the same scale on both sides
    plot_map(world.positions, world.answers.names, groups=world.kinds, ax=left)
    picture = io.BytesIO()
    figure.savefig(picture, dpi=130)
    return picture.getvalue()
