"""One value and gradient: the work that every fit repeats."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from benchmarks.report import NONE, Line, Section, Table, times
from benchmarks.setting import Repeated, Setting, Timed, take_turns, timed
from tercet.answers.choices import Choices
from tercet.embedder import problem_of
from tercet.engine.chunks import loss_in_chunks
from tercet.engine.problem import Problem, build_problem
from tercet.engine.search import Objective, evaluate
from tercet.models import CKLModel, ShepardModel, STEModel
from tercet.simulate import answer, random_comparisons

THREADS = 2
GOAL_NS, GOAL_RATIO = 5.0, 20.0
GOAL_CHOICE = 3.0  # times a triplet
PEER_BYTES = 4100  # the peer needs so much memory a triplet in 49 dimensions
OURS, PLAIN = "ours, one thread", "plain pass over the indices"
SPREAD = 0.3  # of the points along each axis

Array = NDArray[np.float64]


def run(setting: Setting) -> Section:
    """Few objects in two dimensions, odd ones out, and the size of the THINGS data."""
    section = Section("Value and gradient")
    _few_objects(setting, section)
    _odd_ones_out(setting, section)
    _many_dimensions(setting, section)
    section.notes += [
        "The plain pass only reads the two arrays of edge numbers and combines them by XOR: the "
        "least that any evaluation must do.",
        "One evaluation on several threads is what a single fit uses from 200 000 comparisons on.",
    ]
    return section


def _few_objects(setting: Setting, section: Section) -> None:
    n, d, m = 100, 2, setting.choose(1_000_000, 100_000)
    triplets, X = _world(n, d, m)
    problem = build_problem(triplets, n)
    objective = Objective(STEModel(), d)
    runs = {
        OURS: partial(timed, evaluate, objective, problem, X),
        PLAIN: partial(timed, _plain_pass, problem.near, problem.far),
        "NumPy": partial(timed, numpy_value_and_gradient, triplets, X),
    }
    if setting.peer is not None:
        runs["cblearn"] = partial(_peer, setting, triplets, X)
    took = _measure(runs, setting.choose(21, 3))
    ns = {name: 1e9 * run.seconds / m for name, run in took.items()}
    ours, plain = ns[OURS], ns[PLAIN]
    section.lines.append(
        Line(
            f"value and gradient, n = {n}, d = {d}, {m:.0e} triplets, one thread",
            f"{ours:.3g} ns/triplet",
            f"≤ {GOAL_NS:g} ns/triplet",
            ours <= GOAL_NS,
            f"{ns['NumPy']:.3g} ns (NumPy)",
            times(ns["NumPy"], ours),
            f"{ours / plain:.3g}× a plain pass",
        )
    )
    section.tables.append(_table(f"n = {n}, d = {d}, {m} triplets, one thread", took, ns))


def _odd_ones_out(setting: Setting, section: Section) -> None:
    """Choices of one of three pairs beside triplets, for several models."""
    n, d, m = 100, 2, setting.choose(1_000_000, 100_000)
    triplets, X = _world(n, d, m)
    problems = {
        "triplets": build_problem(triplets, n),
        "odd ones out": problem_of(Choices.odd_one_out(triplets, n_objects=n)),
    }
    models = {"STE": STEModel(), "CKL": CKLModel(), "Shepard": ShepardModel()}
    runs = {
        f"{model}, {kind}": partial(timed, evaluate, Objective(models[model], d), problem, X)
        for model in models
        for kind, problem in problems.items()
    }
    took = _measure(runs, setting.choose(21, 3))
    ns = {name: 1e9 * run.seconds / m for name, run in took.items()}
    rows = []
    for model in models:
        triplet, choice = (ns[f"{model}, {kind}"] for kind in problems)
        rows.append((model, f"{triplet:.3g}", f"{choice:.3g}", f"{choice / triplet:.3g}"))
    ratio = ns["STE, odd ones out"] / ns["STE, triplets"]
    section.lines.append(
        Line(
            f"value and gradient, {m:.0e} odd ones out, STE, one thread",
            f"{ns['STE, odd ones out']:.3g} ns/choice",
            f"≤ {GOAL_CHOICE:g}× a triplet",
            ratio <= GOAL_CHOICE,
            f"{ns['STE, triplets']:.3g} ns (a triplet)",
            f"{ratio:.3g}×",
        )
    )
    caption = f"n = {n}, d = {d}, {m} answers, one thread"
    section.tables.append(Table(caption, ["", "ns/triplet", "ns/odd one out", "ratio"], rows))


def _many_dimensions(setting: Setting, section: Section) -> None:
    n, d, m = setting.choose((1854, 49, 4_700_000), (300, 49, 100_000))
    triplets, X = _world(n, d, m)
    problem = build_problem(triplets, n)
    objective = Objective(STEModel(), d)
    share = 1 if _free_memory() > PEER_BYTES * m else 4
    with ThreadPoolExecutor(THREADS) as pool:
        spread = _spread(objective, problem, pool)
        runs = {
            f"ours, {THREADS} threads": partial(timed, spread, X),
            OURS: partial(timed, evaluate, objective, problem, X),
        }
        if setting.peer is not None:
            runs["cblearn"] = partial(_peer, setting, triplets[: m // share], X)
        took = _measure(runs, setting.choose(3, 1))
    counts = dict.fromkeys(took, m) | {"cblearn": m // share}
    ns = {name: 1e9 * run.seconds / counts[name] for name, run in took.items()}
    ours, peer = ns[f"ours, {THREADS} threads"], ns.get("cblearn")
    section.lines.append(
        Line(
            f"value and gradient, n = {n}, d = {d}, {m:.2g} triplets, {THREADS} threads",
            f"{ours:.3g} ns/triplet",
            f"≥ {GOAL_RATIO:g}×",
            None if peer is None else peer / ours >= GOAL_RATIO,
            NONE if peer is None else f"{peer:.4g} ns/triplet",
            times(peer, ours),
            f"one thread {ns[OURS]:.3g} ns",
        )
    )
    section.tables.append(_table(f"n = {n}, d = {d}, {m} triplets", took, ns))
    if share > 1:
        section.notes.append(
            f"Memory was short: the peer evaluated 1/{share} of the {m} triplets, and its time "
            "is given for each of those."
        )


def _world(n: int, d: int, m: int) -> tuple[NDArray[np.int64], Array]:
    """Noisy answers about points, and other points to evaluate at."""
    rng = np.random.default_rng(n)
    asked = random_comparisons(n, m, replace=True, random_state=rng)
    triplets = answer(rng.normal(size=(n, d)), asked, noise=0.3, random_state=rng)
    return triplets, SPREAD * rng.normal(size=(n, d))


def _measure(runs: dict[str, Callable[[], Timed]], repeats: int) -> dict[str, Repeated]:
    for name, run in runs.items():
        if name != "cblearn":  # the peer warms up by itself
            run()
    return take_turns(runs, repeats)


def _spread(
    objective: Objective, problem: Problem, pool: ThreadPoolExecutor
) -> Callable[[Array], tuple[float, Array]]:
    """Evaluate as a large fit does."""
    loss = loss_in_chunks(*objective.arguments, problem, pool.map)

    def value_and_gradient(X: Array) -> tuple[float, Array]:
        gradient = np.empty_like(X)
        return loss(X, gradient), gradient

    return value_and_gradient


def _peer(setting: Setting, triplets: NDArray[np.int64], X: Array) -> Timed:
    assert setting.peer is not None
    seconds, result = setting.peer.call("objective", {"triplets": triplets, "embedding": X})
    return Timed(seconds, (float(result["loss"]), result["gradient"]))


@numba.njit(cache=True)
def _plain_pass(near: NDArray[np.uint32], far: NDArray[np.uint32]) -> int:
    total = np.uint32(0)
    for t in range(len(near)):
        total ^= near[t] ^ far[t]
    return total


def numpy_value_and_gradient(triplets: NDArray[np.int64], X: Array) -> tuple[float, Array]:
    """STE's loss and its gradient as one would write them in NumPy."""
    i, j, l = triplets.T
    to_near, to_far = X[i] - X[j], X[i] - X[l]
    z = (to_near**2).sum(axis=1) - (to_far**2).sum(axis=1)
    slope = 2.0 * expit(z)[:, None]
    pull, push = slope * to_near, -slope * to_far
    gradient = np.empty_like(X)
    for k in range(X.shape[1]):
        gradient[:, k] = np.bincount(i, pull[:, k] + push[:, k], len(X))
        gradient[:, k] -= np.bincount(j, pull[:, k], len(X))
        gradient[:, k] -= np.bincount(l, push[:, k], len(X))
    return float(np.logaddexp(0.0, z).sum()), gradient


def _table(caption: str, took: dict[str, Repeated], ns: dict[str, float]) -> Table:
    """Times, and how far each gradient is from ours, relative to its largest entry."""
    ours = took[OURS].result
    rows = [
        (name, f"{ns[name]:.4g}", f"{ns[name] / ns[OURS]:.3g}", _difference(run.result, ours))
        for name, run in took.items()
    ]
    return Table(caption, ["who", "ns/triplet", "times ours, one thread", "gradient off by"], rows)


def _difference(result: Any, ours: tuple[float, Array]) -> str:
    if not isinstance(result, tuple) or abs(result[0] / ours[0] - 1.0) > 0.5:
        return NONE  # no gradient, or that of a part of the triplets
    return f"{np.abs(result[1] - ours[1]).max() / np.abs(ours[1]).max():.1e}"


def _free_memory() -> float:
    """Bytes that a new process could use; 0 where the system does not tell."""
    info = Path("/proc/meminfo")
    lines = info.read_text().splitlines() if info.exists() else []
    return sum(1024.0 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable"))
