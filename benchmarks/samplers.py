"""Effective sample size per second of the posterior of STE: ours beside NumPyro and BlackJAX.

The two run in a process and a virtual environment of their own; sampler_worker.py is their side.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from arviz_stats.base import array_stats
from numpy.typing import NDArray

import tercet as tc
from benchmarks.peer import ROOT, Peer
from benchmarks.report import NONE, Line, Section, Table, duration
from benchmarks.setting import PAUSE, Setting, timed
from tercet.models import STEModel
from tercet.posterior.draw import Plan, draw
from tercet.posterior.posterior import WARMUPS
from tercet.simulate import gaussian_mixture, noisy_triplets

PYTHON = ROOT / ".venv-samplers" / "bin" / "python"
HOW_TO_INSTALL = (
    f"{PYTHON.relative_to(ROOT)} is absent, so ours is measured alone. To install the other "
    "samplers: python3 -m venv .venv-samplers && .venv-samplers/bin/pip install numpyro==0.22.0 "
    "blackjax==1.7.1 arviz-stats"
)
_WORKER = Path(__file__).with_name("sampler_worker.py")

NOISE, VARIANCE, CHAINS = 0.3, 15.0, 2
MOST_PAIRS = 1_300  # more distances than these are represented by a random choice
CHOSEN_PAIRS = 1_000
LARGEST_RHAT = {"ours, gradient": 1.01, "ours, elliptical slice": 1.05}
RIVALS = {
    "ours, gradient": "NumPyro NUTS",
    "ours, elliptical slice": "BlackJAX elliptical slice",
}
GOALS = {"ours, gradient": 4.0, "ours, elliptical slice": 10.0}


class World(NamedTuple):
    """Answers, where the chains of a peer start, and the distances that are looked at."""

    n: int
    d: int
    triplets: NDArray[np.int64]
    start: NDArray[np.float64]  # (chains, n, d)
    pairs: NDArray[np.int64]  # (2, pairs)

    @property
    def title(self) -> str:
        """Its sizes in words."""
        return f"n = {self.n}, d = {self.d}, {len(self.triplets)} triplets"


class Budget(NamedTuple):
    """Draws of one chain: thrown away, kept, and which of those the diagnostics see."""

    warmup: int
    draws: int
    every: int = 1


class Cost(NamedTuple):
    """Seconds of a run, and work per draw."""

    draws: int  # kept, of one chain
    sampling: float
    warmup: float
    compiling: float | None = None
    steps: float | None = None  # gradients (NUTS) or tries on the ellipse, for one draw
    form: str = NONE  # of the likelihood, where there is a choice


class Measured(NamedTuple):
    """One run: the smallest effective sample size, the largest R-hat, and what it cost."""

    ess: float
    rhat: float
    cost: Cost

    @property
    def rate(self) -> float:
        """Effective sample size per second of sampling."""
        return self.ess / self.cost.sampling

    @property
    def rate_in_all(self) -> float:
        """Effective sample size per second of warm-up and sampling."""
        return self.ess / (self.cost.sampling + self.cost.warmup)


Draws = NDArray[np.float64]  # (chains, draws, n, d)
Sampler = Callable[[int], tuple[Draws, Cost]]  # of a seed


def run(setting: Setting) -> Section:
    """Sample two worlds with every sampler there is, in turn."""
    section = Section(f"Posterior sampling: STE, prior variance {VARIANCE:g}, σ = {NOISE:g}")
    rows = []
    with running_samplers() as peer:
        for world, gradient, ellipse in _cases(setting):
            measured = _measure(_samplers(world, peer, gradient, ellipse), world, setting)
            for name, rival in RIVALS.items():
                if name in measured or rival in measured:
                    section.lines.append(_line(world, name, rival, measured))
            rows += [_row(world, name, runs) for name, runs in measured.items()]
        if peer is None:
            section.notes.append(HOW_TO_INSTALL)
        else:
            section.notes.append(f"Peers: {', '.join(map(' '.join, peer.versions().items()))}.")
    header = ["case", "sampler", "likelihood", "draws per chain", "steps per draw", "smallest ESS"]
    header += [
        "ESS per second",
        "with warm-up",
        "compiling",
        "warm-up",
        "sampling",
        "largest R-hat",
    ]
    section.tables.append(Table(f"{CHAINS} chains side by side, medians of the runs", header, rows))
    section.notes += [
        "ESS is the smallest bulk effective sample size, and R-hat the largest rank R-hat "
        f"(ArviZ), of all distances; for n = 200 of {CHOSEN_PAIRS} random ones. An ESS below 100 "
        "per chain is a rough estimate, and chains with an R-hat far above 1.01 have not "
        "converged.",
        "The peers run in float64 with one device per chain, compiled ahead of time, and start "
        "from maximum a posteriori maps; ours finds its own starts within its warm-up. "
        "Diagnostics are not timed. NUTS has NumPyro's default settings "
        "(diagonal mass, target 0.8) and the "
        "faster of two forms of the likelihood, by edges or by the matrix of distances. A step "
        "is one gradient for NUTS, one proposal on the ellipse for elliptical slice.",
    ]
    return section


@contextmanager
def running_samplers() -> Iterator[Peer | None]:
    """Start the worker, and end it afterwards; None where the peers are not installed."""
    if not PYTHON.exists():
        yield None
        return
    with TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [PYTHON, "-I", _WORKER, str(CHAINS)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        with process:  # leaving closes the worker's input, which ends it
            yield Peer(process, Path(folder))


def _cases(setting: Setting) -> Iterator[tuple[World, Budget, Budget | None]]:
    """Worlds with the budgets of a gradient sampler and, where it stands a chance, a slice."""
    rng = np.random.default_rng(0)
    small = _world(gaussian_mixture(50, random_state=rng)[0], 2_000, rng)
    gradient = setting.choose(Budget(1000, 2000), Budget(200, 200))
    ellipse = setting.choose(Budget(1000, 40_000, every=20), Budget(200, 2000, every=20))
    yield small, gradient, ellipse
    if not setting.quick:
        yield _world(2.0 * rng.normal(size=(200, 5)), 10_000, rng), Budget(1000, 2000), None


def _world(points: NDArray[np.float64], m: int, rng: np.random.Generator) -> World:
    n, d = points.shape
    triplets = noisy_triplets(points, m, noise=NOISE, random_state=rng).array
    maps = (tc.STE(d, penalty=0.5 / VARIANCE, random_state=chain) for chain in range(CHAINS))
    start = np.array([map_.fit(triplets, n_objects=n).embedding_ for map_ in maps])
    pairs = np.array(np.triu_indices(n, 1))
    if pairs.shape[1] > MOST_PAIRS:
        pairs = pairs[:, rng.choice(pairs.shape[1], CHOSEN_PAIRS, replace=False)]
    return World(n, d, triplets, start, pairs)


def _samplers(
    world: World, peer: Peer | None, gradient: Budget, ellipse: Budget | None
) -> dict[str, Sampler]:
    (ours, nuts), (our_slice, their_slice) = RIVALS.items()
    samplers: dict[str, Sampler] = {}
    samplers[ours] = partial(_ours, world, "hmc", gradient)
    if ellipse is not None:
        samplers[our_slice] = partial(_ours, world, "elliptical_slice", ellipse)
    if peer is not None:
        samplers[nuts] = partial(_theirs, world, peer, "nuts", gradient)
        if ellipse is not None:
            samplers[their_slice] = partial(_theirs, world, peer, "elliptical_slice", ellipse)
    return samplers


def _ours(world: World, sampler: str, budget: Budget, seed: int) -> tuple[Draws, Cost]:
    """Sample with ours; what a run of a few draws takes, with the same seed, is the warm-up."""

    def sample(count: int) -> Draws:
        prior, warmup = tc.NormalPrior(VARIANCE), WARMUPS[sampler]
        plan = Plan(STEModel(), world.d, prior, {}, sampler, count, CHAINS, warmup, "mode")
        drawn = draw(plan, tc.Triplets(world.triplets, n_objects=world.n), seed, CHAINS)
        return np.reshape(drawn.draws, (CHAINS, count, world.n, world.d))

    sample(4)  # loads the compiled code
    short = timed(sample, 4).seconds
    seconds, draws = timed(sample, budget.draws)
    return draws[:, :: budget.every], Cost(budget.draws, seconds - short, short)


def _theirs(world: World, peer: Peer, task: str, budget: Budget, seed: int) -> tuple[Draws, Cost]:
    _, result = peer.call(
        task,
        {"triplets": world.triplets, "start": world.start},
        n_warmup=budget.warmup,
        n_draws=budget.draws,
        seed=seed,
        variance=VARIANCE,
    )
    names = ("sampling", "warmup", "compile", "steps_per_draw")
    sampling, warmup, compiling, steps = (float(result[name]) for name in names)
    cost = Cost(budget.draws, sampling, warmup, compiling, steps, str(result["form"]))
    return result["draws"][:, :: budget.every], cost


def _measure(
    samplers: dict[str, Sampler], world: World, setting: Setting
) -> dict[str, list[Measured]]:
    """Run all in turn, each time with another seed."""
    measured: dict[str, list[Measured]] = {name: [] for name in samplers}
    for seed in range(setting.choose(3, 1)):
        for name, sample in samplers.items():
            time.sleep(PAUSE)
            draws, cost = sample(seed)
            distances = _distances(draws, world.pairs)
            ess = float(array_stats.ess(distances, method="bulk").min())
            rhat = float(array_stats.rhat(distances).max())
            measured[name].append(Measured(ess, rhat, cost))
    return measured


def _distances(draws: Draws, pairs: NDArray[np.int64]) -> NDArray[np.float64]:
    """Distances (pairs, chains, draws) of draws (chains, draws, n, d)."""
    points = np.moveaxis(draws, 2, 0)
    return np.array([np.linalg.norm(points[a] - points[b], axis=-1) for a, b in pairs.T])


def _line(world: World, name: str, rival: str, measured: dict[str, list[Measured]]) -> Line:
    ours, theirs = _middle(measured.get(name)), _middle(measured.get(rival))
    ratio = None if ours is None or theirs is None else ours.rate / theirs.rate
    goal = GOALS[name]
    return Line(
        f"STE posterior, {world.title}; {name.partition(', ')[2]}",
        NONE if ours is None else f"{ours.rate:.3g} ESS/s",
        f"≥ {goal:g}×",
        None if ours is None or ratio is None else ratio >= goal and ours.rhat < LARGEST_RHAT[name],
        "not installed" if theirs is None else f"{theirs.rate:.3g} ESS/s ({rival})",
        NONE if ratio is None else f"{ratio:.3g}×",
        _quality(ours),
        _quality(theirs),
    )


def _middle(runs: list[Measured] | None) -> Measured | None:
    """The run with the median rate (of an even number, the lower of two)."""
    return None if runs is None else sorted(runs, key=lambda run: run.rate)[(len(runs) - 1) // 2]


def _quality(run: Measured | None) -> str:
    return NONE if run is None else f"ESS {run.ess:.0f}, R-hat {run.rhat:.3f}"


def _row(world: World, name: str, runs: list[Measured]) -> list[str]:
    costs = [run.cost for run in runs]
    steps = [cost.steps for cost in costs if cost.steps is not None]
    compiling = [cost.compiling for cost in costs if cost.compiling is not None]
    return [
        world.title,
        name,
        " or ".join(sorted({cost.form for cost in costs})),
        str(costs[0].draws),
        f"{median(steps):.3g}" if steps else NONE,
        f"{median(run.ess for run in runs):.0f}",
        f"{median(run.rate for run in runs):.3g}",
        f"{median(run.rate_in_all for run in runs):.3g}",
        duration(median(compiling)) if compiling else NONE,
        duration(median(cost.warmup for cost in costs)),
        duration(median(cost.sampling for cost in costs)),
        f"{max(run.rhat for run in runs):.3f}",
    ]
