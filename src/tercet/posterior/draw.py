"""From answers to draws: the target, the chains on threads, and what is drawn apart."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from tercet.compiled import announce_compilation, jit
from tercet.engine.blas import one_blas_thread
from tercet.engine.fit import Descent, Objective, Options
from tercet.engine.kernels import value_and_gradient
from tercet.engine.problem import build_problem
from tercet.models import Model, TSTEModel
from tercet.models.base import Array
from tercet.posterior import hamiltonian
from tercet.posterior.chains import (
    Chain,
    Hill,
    Tick,
    explore,
    jittered,
    run_elliptical,
    run_hamiltonian,
    run_matrices,
)
from tercet.posterior.diagnostics import distances_to_watch
from tercet.posterior.laplace import sample_laplace
from tercet.posterior.priors import DistancePrior, NormalPrior, log_normal
from tercet.posterior.scale import draw_variance
from tercet.posterior.settings import PARAMETERS, Learn, first_theta, natural, theta_priors
from tercet.posterior.target import Target, energy_and_gradient
from tercet.progress import progress_bar
from tercet.provenance import seed_for
from tercet.triplets import Triplets

# What random numbers are for: the first word of the key that spawns a seed; the second is the
# number of the chain.
_CHAIN, _START, _LOCKSTEP = range(3)

SUPERCHAINS = 16  # most starts of chains that run in lockstep

_LEVEL = 1e-6  # share of the loss, and nats, by which a map twice as large may be less likely
_SIZES = (-15.0, 15.0)  # logarithms of the sizes that are tried


class Plan(NamedTuple):
    """What to draw, settled."""

    model: Model
    n_components: int
    prior: NormalPrior | DistancePrior
    learn: Learn
    sampler: str
    n_samples: int
    n_chains: int
    warmup: int
    start: str
    device: str = "cpu"  # or "gpu"

    @property
    def superchains(self) -> int:
        """Points that chains begin at in groups; 0 where each has its own."""
        return SUPERCHAINS if self.device == "gpu" and self.n_chains > SUPERCHAINS else 0

    def known_model(self) -> Model:
        """The model with what it takes from the dimension written out."""
        if isinstance(self.model, TSTEModel):
            return replace(self.model, alpha=self.model.constants(self.n_components)[0])
        return self.model


class Drawn(NamedTuple):
    """All draws, chain after chain."""

    draws: Array  # (S, n, d) points or (S, n, n) matrices
    parameters: dict[str, Array]
    statistics: dict[str, Array]
    watched: dict[str, Array]  # what tells whether chains agree: (chains, draws, ...) each
    astray: int  # trajectories or slices that failed


def draw(
    plan: Plan, triplets: Triplets, entropy: int, n_threads: int, progress: bool | None = None
) -> Drawn:
    """Draw from the posterior; every chain has its own seed.

    BLAS is held to one thread: with more, the last bits of the metric would depend on how many.
    """
    with one_blas_thread():
        return _draw(plan, triplets, entropy, n_threads, progress)


def _draw(
    plan: Plan, triplets: Triplets, entropy: int, n_threads: int, progress: bool | None
) -> Drawn:
    announce_compilation(hamiltonian.sample)
    target = build_target(plan, triplets)
    seeds = range(plan.n_chains)
    rngs = [np.random.default_rng(seed_for(entropy, _CHAIN, k)) for k in seeds]
    searching = [np.random.default_rng(seed_for(entropy, _START, k)) for k in seeds]
    if plan.device == "gpu":
        searching = searching[: plan.superchains or None]
        return _draw_in_lockstep(plan, target, searching, rngs, entropy, progress)
    if isinstance(plan.prior, DistancePrior):
        run = _matrix_runner(plan, target, plan.prior, searching)
    else:
        run = _point_runner(plan, target, plan.prior, searching)
    total = plan.n_chains * (plan.warmup + plan.n_samples)
    with progress_bar(total, "draws", progress) as bar:
        chains = _side_by_side(lambda k, tick: run(k, rngs[k], tick), seeds, n_threads, bar.update)
    return _collect(plan, target, chains, rngs)


def _draw_in_lockstep(
    plan: Plan,
    target: Target,
    searching: list[np.random.Generator],
    rngs: list[np.random.Generator],
    entropy: int,
    progress: bool | None,
) -> Drawn:
    """Draw on the accelerator, from as many starts as there are generators to search with."""
    from tercet.posterior.accelerated import run_in_lockstep  # imports JAX

    theta = first_theta(plan.learn, plan.model)
    hill = explore(target, plan.model, theta, plan.n_components, searching)
    starts = [jittered(hill, k, rng) for k, rng in enumerate(searching)]
    seed = seed_for(entropy, _LOCKSTEP)
    total = plan.n_chains * (plan.warmup + plan.n_samples)
    with progress_bar(total, "draws", progress) as bar:
        chains = run_in_lockstep(
            target, hill, starts, plan.n_chains, plan.warmup, plan.n_samples, seed, bar.update
        )
    return _collect(plan, target, chains, rngs)


def _side_by_side(
    run: Callable[[int, Tick], Chain], numbers: range, n_threads: int, tick: Tick
) -> list[Chain]:
    """Run chains on threads; an interruption ends them all at their next tick."""
    stop = Event()

    def tick_or_stop(count: int) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        tick(count)

    with ThreadPoolExecutor(n_threads) as pool:
        try:
            return list(pool.map(lambda k: run(k, tick_or_stop), numbers))
        except BaseException:
            stop.set()
            raise


def build_target(plan: Plan, triplets: Triplets) -> Target:
    """The posterior of these answers, as the compiled code takes it."""
    d, prior = plan.n_components, plan.prior
    # The ellipse, learned parameters and the accelerator need the lengths of the edges.
    by_edges = plan.learn or plan.sampler == "elliptical_slice" or plan.device == "gpu"
    use_edges = True if by_edges else None
    problem = build_problem(
        triplets.array, triplets.n_objects, triplets.weights, use_edges=use_edges
    )
    p, q = plan.model.constants(d)
    block, mean, sd = np.eye(d), 0.0, 0.0
    if isinstance(prior, NormalPrior):
        block, (mean, sd) = prior.covariance(d), log_normal(prior)
    return Target(
        problem,
        type(plan.model).code,
        float(p),
        float(q),
        np.asarray(np.linalg.inv(block), dtype=np.float64),
        float(mean),
        float(sd),
        np.array([PARAMETERS[name] for name in plan.learn], dtype=np.int64),
        theta_priors(plan.learn),
    )


Run = Callable[[int, np.random.Generator, Tick], Chain]


def _point_runner(
    plan: Plan, target: Target, prior: NormalPrior, searching: list[np.random.Generator]
) -> Run:
    """How chain k draws points."""
    d, warmup, count = plan.n_components, plan.warmup, plan.n_samples
    if plan.start == "likelihood" and plan.sampler == "elliptical_slice":
        starts = _maxima(plan, target, searching)
    theta = first_theta(plan.learn, plan.model)
    hill: Hill | None = None
    if plan.start == "mode" or plan.sampler != "elliptical_slice":
        hill = explore(target, plan.model, theta, d, searching)

    def run(k: int, rng: np.random.Generator, tick: Tick) -> Chain:
        if plan.sampler == "laplace" and hill:
            points, variances = sample_laplace(target, hill.mode, count, rng)
            tick(count)
            unknown = np.full(count, np.nan)
            return Chain(points, np.empty((count, 0)), variances, unknown, 0)
        if plan.sampler == "hmc" and hill:
            return run_hamiltonian(target, hill, k, warmup, count, rng, tick)
        X = jittered(hill, k, rng)[0] if hill else starts[k]
        log_scale = hill.mode.log_scale if hill else target.scale_mean
        block = prior.covariance(d)
        return run_elliptical(target, block, X, log_scale, warmup, count, rng, tick)

    return run


def _matrix_runner(
    plan: Plan, target: Target, prior: DistancePrior, searching: list[np.random.Generator]
) -> Run:
    """How chain k draws distance matrices: from the distances of a maximum of the likelihood."""
    centre, root = prior.matrices(target.problem.n_objects)
    starts = _maxima(plan, target, searching)

    def run(k: int, rng: np.random.Generator, tick: Tick) -> Chain:
        D = np.linalg.norm(starts[k][:, None] - starts[k], axis=2)
        return run_matrices(target, centre, root, D, plan.warmup, plan.n_samples, rng, tick)

    return run


def _maxima(plan: Plan, target: Target, searching: list[np.random.Generator]) -> list[Array]:
    """A maximum of the likelihood for every chain, all after the first from random places."""
    objective, found = Objective(plan.model, plan.n_components), []
    for k, rng in enumerate(searching):
        options = Options() if k == 0 else Options(start="random")
        X = Descent(objective, options).solve(target.problem, rng).embedding
        X = X - X.mean(axis=0)
        found.append(_in_best_size(target, X) if isinstance(plan.prior, NormalPrior) else X)
    return found


def _in_best_size(target: Target, X: Array) -> Array:
    """The points (n, d), in the size that suits the prior best where any size is as likely.

    Where answers do not contradict each other, and often with t-STE and CKL, a copy of the map
    twice as large is no less likely. At which size the search ended is then an accident, and draws
    that start there would show little but the way back.
    """
    gradient = np.empty_like(X)

    def loss(size: float) -> float:
        model = target.code, target.p, target.q
        return float(value_and_gradient(*model, 0.0, target.problem, size * X, gradient))

    if loss(2.0) > (1.0 + _LEVEL) * loss(1.0) + _LEVEL:
        return X
    X = X / np.sqrt(np.mean(X**2))  # the search may have ended anywhere, at 1e50 too
    square = math.exp(-target.scale_mean) * float(np.sum((X @ target.precision) * X))
    best = minimize_scalar(
        lambda u: loss(math.exp(u)) + 0.5 * square * math.exp(2.0 * u),
        bounds=_SIZES,
        method="bounded",
    )
    return np.asarray(X * math.exp(best.x))


def _collect(
    plan: Plan, target: Target, chains: list[Chain], rngs: list[np.random.Generator]
) -> Drawn:
    """Draw what is drawn apart, and gather what tells whether the chains agree."""
    draws = np.concatenate([chain.points for chain in chains])
    thetas = np.concatenate([chain.thetas for chain in chains])
    parameters: dict[str, Array] = natural(plan.learn, thetas)
    statistics: dict[str, Array] = {}
    watched: dict[str, Array] = {}
    shape = (plan.n_chains, plan.n_samples)
    kind = "distances" if isinstance(plan.prior, DistancePrior) else "points"
    if isinstance(plan.prior, NormalPrior):
        variances = np.concatenate([chain.variances for chain in chains])
        centred = draws - draws.mean(axis=1, keepdims=True)
        if plan.sampler != "elliptical_slice":
            block = plan.prior.covariance(plan.n_components)
            parts = zip(np.split(centred, plan.n_chains), rngs, strict=True)
            placed = [
                _place(target, block, X, v, rng)
                for (X, rng), v in zip(parts, np.split(variances, plan.n_chains), strict=True)
            ]
            draws = np.concatenate([X for X, _ in placed])
            variances = np.concatenate([v for _, v in placed])
        if plan.prior.learned:
            parameters["variance"] = variances
        log_posterior = np.concatenate([chain.log_posterior for chain in chains])
        if np.isnan(log_posterior).any():
            log_posterior = -_energies(target, centred, thetas)
        statistics["log_posterior"] = log_posterior
        watched["the size of the map"] = np.sum(centred**2, axis=(1, 2)).reshape(shape)
        watched["the log-posterior"] = log_posterior.reshape(shape)
    distances = distances_to_watch(draws, kind)
    watched["distances"] = distances.reshape(*shape, -1)
    watched |= {f"the {name}": column.reshape(shape) for name, column in parameters.items()}
    astray = sum(chain.astray for chain in chains)
    return Drawn(draws, parameters, statistics, watched, astray)


def _place(
    target: Target, block: Array, X: Array, variances: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Draw the variance of the prior, where it is not known yet, and the centres of the points."""
    S, n, d = X.shape
    if target.scale_sd == 0.0:
        variances = np.full(S, np.exp(target.scale_mean))
    elif np.isnan(variances).any():
        squares = np.einsum("sik,kl,sil->s", X, target.precision, X)
        freedom, mean, sd = (n - 1.0) * d, target.scale_mean, target.scale_sd
        variances = np.array([draw_variance(s, freedom, mean, sd, rng) for s in squares])
    normal = rng.standard_normal((S, d)) @ np.linalg.cholesky(block).T
    centres = np.sqrt(variances / n)[:, None] * normal
    return X + centres[:, None], variances


@jit
def _energies(target: Target, points: Array, thetas: Array) -> Array:
    """-log posterior density of centred points (S, n, d) and thetas (S, k)."""
    by_X, by_theta = np.empty(points.shape[1:]), np.zeros(thetas.shape[1])
    out = np.empty(len(points))
    for s in range(len(points)):
        out[s] = energy_and_gradient(target, points[s], thetas[s], by_X, by_theta)
    return out
