"""Twenty fits of 40 % subsets with STE: the work of a bootstrap; plain, and as MAP."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from benchmarks.report import NONE, Line, Section, Table, duration, times
from benchmarks.setting import Repeated, Setting, Timed, take_turns, timed
from tercet.engine.problem import Problem, build_problem, take_rows
from tercet.engine.search import Fit, Objective, evaluate, fit_subsets
from tercet.engine.starts import spectral_start
from tercet.estimators import STE
from tercet.metrics import squared_distances
from tercet.models import STEModel
from tercet.simulate import gaussian_mixture, noisy_triplets

FRACTION, NOISE = 0.4, 0.3
PENALTY = 1.0 / 30.0  # the MAP under a Gaussian prior of variance 15
SAME_LOSS = 1e-6  # mean losses that differ relatively by less count as equal
GAP = 1e-6

Embeddings = NDArray[np.float64]


class World(NamedTuple):
    """A training set, its subsets, and the speed-up to reach."""

    n: int
    d: int
    m: int
    goal: float
    triplets: NDArray[np.int64]
    subsets: list[NDArray[np.int64]]
    seeds: list[np.random.SeedSequence]

    @property
    def title(self) -> str:
        """Its sizes in words."""
        return f"{len(self.subsets)} fits, n = {self.n}, d = {self.d}, {self.m} triplets"


def worlds(setting: Setting) -> list[World]:
    """Return the three cases: the paper's mixture in 2-d, normal points in 5-d."""
    made = []
    for n, d, m, goal in ((50, 2, 588, 100.0), (50, 2, 4000, 40.0), (200, 5, 10_000, 40.0)):
        rng = np.random.default_rng(m)
        points = gaussian_mixture(n, random_state=rng)[0] if d == 2 else rng.normal(size=(n, d))
        triplets = noisy_triplets(points, m, noise=NOISE, random_state=rng).array
        count, size = setting.choose(20, 4), round(FRACTION * m)
        subsets = [rng.choice(m, size, replace=False) for _ in range(count)]
        seeds = np.random.SeedSequence(m).spawn(count)
        made.append(World(n, d, m, goal, triplets, subsets, seeds))
    return made


def run_subsets(setting: Setting) -> Section:
    """Plain STE beside cblearn's STE."""
    section = Section("Many small fits: STE on 40 % subsets, σ = 0.3")
    ended, spread = [], []
    for world in worlds(setting):
        runs = {"ours": partial(_back_to_back, world)}
        if setting.peer is not None:
            runs["peer"] = partial(_peer, setting, world)
        runs["ours"]()  # loads the compiled code
        took = take_turns(runs, setting.choose(3 if world.d == 5 else 7, 1))
        ours, peer = took["ours"], took.get("peer")
        fits: list[Fit] = ours.result
        loss = _mean_loss(world, [fit.embedding for fit in fits])
        peer_loss = None if peer is None else _mean_loss(world, peer.result)
        section.lines.append(_line(world, ours, loss, peer, peer_loss))
        counts = (
            sum(fit.converged for fit in fits),
            sum(fit.separable for fit in fits),
            round(np.mean([fit.n_iter for fit in fits])),
        )
        ended.append([world.title, *map(str, counts), _loss(loss), _loss(peer_loss)])
        fastest = times(peer and peer.fastest, ours.fastest)
        spread.append([world.title, _range(ours), _range(peer), fastest])
    header = ["case", "converged", "separable", "mean iterations", "mean loss, ours", "peer"]
    section.tables.append(Table("Outcome of our fits", header, ended))
    header = ["case", "ours", "peer", "ratio of the fastest"]
    section.tables.append(Table("Fastest to slowest repeat", header, spread))
    section.notes += [
        "Ours is `fit_subsets` on all cores with default options, including the construction of "
        "the problem. One call at n = 50 takes a few milliseconds, so a turn is 20 calls in a row "
        "and their mean; a single call after a second's pause has to wake the second core and "
        "takes up to twice as long. The peer loops over `cblearn.embedding.STE(d).fit(subset)`.",
        "The loss is the negative log-likelihood of the subset, evaluated by one function in "
        f"float64 for both; means that differ relatively by less than {SAME_LOSS:g} count as "
        "equal.",
        "A goal counts as reached only if the ratio of the medians and that of the fastest "
        "repeats both reach it: the peer's BLAS threads wait for each other, so that its time "
        "multiplies when anything else runs on the machine.",
        "A separable subset has no optimum: ours stops as soon as every answer is satisfied, and "
        "says so.",
    ]
    return section


def _line(
    world: World, ours: Repeated, loss: float, peer: Repeated | None, peer_loss: float | None
) -> Line:
    reached = None
    if peer is not None and peer_loss is not None:
        lower = loss <= peer_loss * (1.0 + SAME_LOSS)
        ratio = min(peer.seconds / ours.seconds, peer.fastest / ours.fastest)
        reached = lower and ratio >= world.goal
    peer_seconds = peer and peer.seconds
    return Line(
        f"STE, {world.title}",
        duration(ours.seconds),
        f"≥ {world.goal:g}×, loss no higher",
        reached,
        duration(peer_seconds),
        times(peer_seconds, ours.seconds),
        f"mean loss {_loss(loss)}",
        f"mean loss {_loss(peer_loss)}",
    )


def _range(run: Repeated | None) -> str:
    return NONE if run is None else f"{duration(run.fastest)} to {duration(run.slowest)}"


def _loss(loss: float | None) -> str:
    return NONE if loss is None else f"{loss:.7g}"


def run_map(setting: Setting) -> Section:
    """STE with a Gaussian prior beside SciPy's optimiser on our own gradient."""
    section = Section("The same fits as MAP, v = 15")
    rows = []
    for world in worlds(setting):
        runs = {
            "ours": partial(timed, _ours, world, PENALTY),
            "scipy": partial(timed, _scipy, world),
        }
        for run in runs.values():
            run()  # loads the compiled code
        took = take_turns(runs, setting.choose(5, 1))
        fits: list[Fit] = took["ours"].result
        peer_embeddings, peer_losses = took["scipy"].result
        losses = np.array([fit.loss for fit in fits])
        gaps = _gaps(world, [fit.embedding for fit in fits], losses)
        peer_gaps = _gaps(world, peer_embeddings, peer_losses)
        converged = np.array([fit.converged for fit in fits])
        largest = gaps[converged].max(initial=0.0)
        section.lines.append(
            Line(
                f"MAP, {world.title}",
                duration(took["ours"].seconds),
                f"gap ≤ {GAP:g} where converged",
                bool(largest <= GAP and converged.any()),
                f"{duration(took['scipy'].seconds)} (SciPy)",
                times(took["scipy"].seconds, took["ours"].seconds),
                f"largest gap {largest:.1e}, {converged.sum()} of {len(fits)} converged",
                f"largest gap {peer_gaps.max():.1e}",
            )
        )
        measured = (f"{gap:.1e}" for gap in (largest, np.median(gaps), peer_gaps.max()))
        means = (f"{mean:.9g}" for mean in (losses.mean(), peer_losses.mean()))
        rows.append([world.title, f"{converged.sum()} of {len(fits)}", *measured, *means])
    header = ["case", "converged", "largest gap", "median gap", "largest gap, SciPy"]
    header += ["mean loss, ours", "SciPy"]
    section.tables.append(Table("Relative gap of the loss to a long run", header, rows))
    section.notes += [
        "The peer here is SciPy's L-BFGS-B with its default options, on our compiled value and "
        "gradient, from the same starts, in a loop.",
        "The long run continues from each solution with SciPy's L-BFGS-B: ftol = 0, gtol = 1e-12, "
        "20 corrections, up to 20 000 iterations. The gap is relative to its loss, so it measures "
        "convergence, not the choice between local optima.",
    ]
    return section


def _ours(world: World, penalty: float) -> list[Fit]:
    problem = build_problem(world.triplets, world.n)
    solver = STE(world.d, penalty=penalty).solver()
    return list(fit_subsets(solver, problem, world.subsets, world.seeds))


def _back_to_back(world: World) -> Timed:
    """Mean time of several calls in a row where one takes only a few milliseconds."""
    calls = 20 if world.d == 2 else 1
    seconds, results = timed(lambda: [_ours(world, 0.0) for _ in range(calls)])
    return Timed(seconds / calls, results[-1])


def _peer(setting: Setting, world: World) -> Timed:
    assert setting.peer is not None
    seeds = list(range(len(world.subsets)))
    return Timed(*setting.peer.fit("STE", world.triplets, world.n, world.d, world.subsets, seeds))


def _mean_loss(world: World, embeddings: Embeddings | list[Embeddings]) -> float:
    losses = [
        STEModel().loss(*squared_distances(X, world.triplets[rows]))[0].sum()
        for X, rows in zip(embeddings, world.subsets, strict=True)
    ]
    return float(np.mean(losses))


def _scipy(world: World) -> tuple[list[Embeddings], NDArray[np.float64]]:
    """Embeddings and losses of a loop over SciPy's optimiser with its default options."""
    problem = build_problem(world.triplets, world.n)
    embeddings, losses = [], []
    for rows, seed in zip(world.subsets, world.seeds, strict=True):
        subset = take_rows(problem, rows)
        start = spectral_start(subset, world.d, np.random.default_rng(seed))
        X, loss = _minimise(world, subset, start, {})
        embeddings.append(X)
        losses.append(loss)
    return embeddings, np.array(losses)


def _gaps(world: World, embeddings: list[Embeddings], losses: NDArray[np.float64]) -> Embeddings:
    """How far each loss is above that of a long run that continues from its solution."""
    options = {"ftol": 0.0, "gtol": 1e-12, "maxcor": 20, "maxiter": 20_000, "maxfun": 100_000}
    problem = build_problem(world.triplets, world.n)
    best = [
        _minimise(world, take_rows(problem, rows), X, options)[1]
        for rows, X in zip(world.subsets, embeddings, strict=True)
    ]
    return losses / np.array(best) - 1.0


def _minimise(
    world: World, problem: Problem, start: Embeddings, options: dict[str, float]
) -> tuple[Embeddings, float]:
    objective = Objective(STEModel(), world.d, PENALTY)

    def value(x: Embeddings) -> tuple[float, Embeddings]:
        loss, gradient = evaluate(objective, problem, x.reshape(start.shape))
        return loss, gradient.ravel()

    solution = minimize(value, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    return solution.x.reshape(start.shape), float(solution.fun)
