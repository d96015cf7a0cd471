"""From answers to draws: the target, its sampler, and what is drawn given the chains.

Chains can stop after some draws, be looked at, and go on. On an accelerator all chains run in
lockstep; the result has the same form.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from tercet.accelerator.device import computing_on, find_device, memory_of
from tercet.answers.either import Answers
from tercet.compiled import announce_compilation, jit
from tercet.embedder import problem_of
from tercet.engine.backend import count_own_threads
from tercet.engine.kernels import code_of, value_and_gradient
from tercet.engine.search import Objective
from tercet.errors import TercetError
from tercet.makers import Sizes
from tercet.models.base import BIAS, Array, Model
from tercet.posterior import hamiltonian
from tercet.posterior.annealing import Starts, better_starts
from tercet.posterior.chains import Chain, ChainRun, Sampler, Tick, begin_chains, run_chains
from tercet.posterior.diagnostics import Diagnostics, diagnose_chains, distances_to_watch
from tercet.posterior.elliptical import Elliptical, Matrices
from tercet.posterior.hamiltonian import Hamiltonian
from tercet.posterior.laplace import Laplace
from tercet.posterior.mode import Modes, find_maps, find_modes, jittered
from tercet.posterior.priors import (
    DistancePrior,
    Learn,
    NormalPrior,
    first_theta,
    log_normal,
    natural,
    roles,
    theta_priors,
)
from tercet.posterior.relocation import LARGEST, own_answers
from tercet.posterior.target import Target, energy_and_gradient
from tercet.posterior.tempering import Tempered, make_ladder
from tercet.posterior.variance import draw_variances
from tercet.running.checkpoint import NOTHING_KEPT, Checkpoint
from tercet.running.provenance import seed_for
from tercet.running.threads import one_blas_thread, progress_bar, threads_at_most

if TYPE_CHECKING:
    from tercet.accelerator.target import Data, Form

# Purposes of random numbers: the first word of the key that spawns a seed; the second is the
# number of the chain.
_CHAIN, _START, _LOCKSTEP, _ANNEALING = range(4)

HAMILTONIAN = ("hmc", "tempered")  # samplers that learn parameters with the points

SUPERCHAINS = 16  # maximal number of starts of chains in lockstep

APART = 1.2  # R-hat of chains that are in different maps, not only slow

_LEVEL = 1e-6  # share of the loss, and nats, by which a map twice as large may be less likely
_SIZES = (-15.0, 15.0)  # log sizes to search


class Plan(NamedTuple):
    """Complete settings of the draws."""

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
    most_samples: int = 0  # up to which chains go on until they have converged, if more

    @property
    def superchains(self) -> int:
        """Starts shared by groups of chains; 0 if each chain has its own."""
        return SUPERCHAINS if self.device == "gpu" and self.n_chains > SUPERCHAINS else 0

    def beginning(self, sizes: Sizes) -> Plan:
        """The same with fewer chains and draws."""
        return self._replace(
            n_chains=min(self.n_chains, sizes.n_chains),
            n_samples=min(self.n_samples, sizes.n_samples),
        )


class Drawn(NamedTuple):
    """All draws, chain after chain."""

    draws: Array  # (S, n, d) points or (S, n, n) matrices
    parameters: dict[str, Array]
    statistics: dict[str, Array]
    watched: dict[str, Array]  # quantities to diagnose, (chains, draws, ...) each
    diagnostics: Diagnostics | None  # None for the Laplace approximation


def draw(
    plan: Plan,
    answers: Answers,
    entropy: int,
    n_jobs: int | None,
    progress: bool | None = None,
    checkpoint: Checkpoint = NOTHING_KEPT,
) -> Drawn:
    """Draw from the posterior, or resume from a checkpoint; every chain has its own seed.

    BLAS uses one thread: otherwise the last bits of the metric would depend on their number.
    """
    if plan.device == "gpu":
        with one_blas_thread(), threads_at_most(count_own_threads(n_jobs)):
            return _draw_in_lockstep(plan, answers, entropy, progress)
    return go_on_until_converged(
        begin(plan, answers, entropy, n_jobs, checkpoint, progress), n_jobs, progress
    )


class Begun(NamedTuple):
    """Chains that have started, and can go on to any number of draws up to that of the plan."""

    plan: Plan
    entropy: int
    target: Target
    sampler: Sampler
    runs: list[ChainRun]
    starts: Starts | None = None


def begin(
    plan: Plan,
    answers: Answers,
    entropy: int,
    n_jobs: int | None,
    checkpoint: Checkpoint = NOTHING_KEPT,
    progress: bool | None = None,
) -> Begun:
    """Search for the chains' starts, and place the chains there; on the CPU."""
    assert plan.device == "cpu"  # elsewhere all chains run in lockstep, to their ends
    with one_blas_thread(), threads_at_most(count_own_threads(n_jobs)):
        announce_compilation(hamiltonian.sample)
        target = build_target(plan, answers)
        rngs, searching, annealing = _generators(plan, entropy)
        search = _Search(searching, n_jobs, checkpoint)
        starts: Starts | None = None
        sampler: Sampler
        if isinstance(plan.prior, DistancePrior):
            sampler = _matrix_sampler(plan, plan.prior, target, search)
        elif plan.sampler in HAMILTONIAN:
            modes, own = _modes(plan, target, search), own_answers(target.problem)
            starts = better_starts(target, own, modes, annealing, n_jobs, checkpoint, progress)
            most = max(plan.n_samples, plan.most_samples)
            sampler = Hamiltonian(target, own, starts.modes, plan.warmup, most)
            if plan.sampler == "tempered":
                sampler = _tempered(sampler)
        else:
            sampler = _point_sampler(plan, plan.prior, target, search)
        runs = begin_chains(sampler, rngs, checkpoint)
        return Begun(plan, entropy, target, sampler, runs, starts)


def begin_where_ended(plan: Plan, answers: Answers, entropy: int, ended: Begun) -> Begun | None:
    """Chains of Hamiltonian Monte Carlo that go on from others, which have ended.

    None if those had other parameters.

    Parameters
    ----------
    plan : Plan
        Of as many chains, or fewer.
    answers : Triplets or Choices
        Nearly the same answers, about the same objects.
    entropy : int
    ended : Begun
    """
    assert isinstance(ended.sampler, Hamiltonian)
    with one_blas_thread():
        target = build_target(plan, answers)
        if not np.array_equal(target.learned, ended.target.learned):
            return None
        states = [run.state for run in ended.runs]
        own = own_answers(target.problem)
        modes = ended.sampler.modes
        sampler = Hamiltonian(target, own, modes, plan.warmup, plan.n_samples, states)
        rngs, *_ = _generators(plan, entropy)
        return Begun(plan, entropy, target, sampler, begin_chains(sampler, rngs))


def go_on(
    begun: Begun, n_jobs: int | None, progress: bool | None, sizes: Sizes | None = None
) -> Drawn:
    """Run the chains for the draws of the plan, or only the first of them for some draws."""
    plan, runs = begun.plan, begun.runs
    if sizes is not None:
        plan, runs = plan.beginning(sizes), runs[: sizes.n_chains]
    total = plan.n_chains * (plan.warmup + plan.n_samples)
    with (
        one_blas_thread(),
        threads_at_most(count_own_threads(n_jobs)),
        progress_bar(total, "draws", progress) as bar,
    ):
        chains = run_chains(begun.sampler, runs, n_jobs, bar.update, plan.n_samples)
        return _collect(plan, begun.target, chains, begun.starts)


def go_on_until_converged(begun: Begun, n_jobs: int | None, progress: bool | None) -> Drawn:
    """Run the chains for the draws of the plan, and twice as many as long as that helps.

    Up to the plan's maximum. Chains far apart after they have gone on once are in different maps,
    between which more draws would not move them.
    """
    while True:
        drawn, plan = go_on(begun, n_jobs, progress), begun.plan
        found, more = drawn.diagnostics, min(2 * plan.n_samples, plan.most_samples)
        if found is None or found.enough or more <= plan.n_samples:
            return drawn
        if found.r_hat > APART and 2 * plan.n_samples >= plan.most_samples:
            return drawn
        begun = begun._replace(plan=plan._replace(n_samples=more))


def _generators(plan: Plan, entropy: int) -> tuple[list[np.random.Generator], ...]:
    """A generator per chain, one per search for its start, and one for its annealing."""
    return tuple(
        [np.random.default_rng(seed_for(entropy, what, k)) for k in range(plan.n_chains)]
        for what in (_CHAIN, _START, _ANNEALING)
    )


def _draw_in_lockstep(plan: Plan, answers: Answers, entropy: int, progress: bool | None) -> Drawn:
    """Draw on the accelerator, from as many starts as there are superchains."""
    target = build_target(plan, answers)
    rngs, searching, annealing = (
        part[: plan.superchains or None] if k > 0 else part
        for k, part in enumerate(_generators(plan, entropy))
    )
    found = _modes(plan, target, _Search(searching, None, NOTHING_KEPT))
    own = own_answers(target.problem)
    better = better_starts(target, own, found, annealing, progress=progress)
    modes = better.modes
    # Not the generators of the search: those advance in a worker if a backend does the search.
    starts = [jittered(modes, k, rngs[k]) for k in range(len(searching))]
    seed = seed_for(entropy, _LOCKSTEP)
    total = plan.n_chains * (plan.warmup + plan.n_samples)
    with progress_bar(total, "draws", progress) as bar:
        chains = run_in_lockstep(
            target, modes, starts, rngs, plan.warmup, plan.n_samples, seed, bar.update
        )
    return _collect(plan, target, chains, better)


def run_in_lockstep(
    target: Target,
    modes: Modes,
    starts: list[tuple[Array, Array]],
    rngs: list[np.random.Generator],
    warmup: int,
    n_samples: int,
    seed: np.random.SeedSequence,
    tick: Tick,
) -> list[Chain]:
    """Warm up and run chains; chain c starts at points and theta of start c modulo their number.

    Chains with the same start are a superchain, as nested R-hat requires. All chains share one
    seed, so a chain depends on their number; ``rngs``, one per chain, are for what is drawn given
    the chains.
    """
    device, n_chains = find_device("gpu"), len(rngs)
    from tercet.accelerator.sampling import draw_chains, make_sampler, start_chains, warm_up
    from tercet.accelerator.target import bytes_a_chain

    relocating = target.problem.n_rows <= LARGEST
    form, data = convert(target, modes.mode.X.shape[1], relocating=relocating)
    if (needed := n_chains * bytes_a_chain(form, data)) > (there := memory_of(device)):
        fitting = max(1, there * n_chains // needed)
        raise TercetError(
            f"{n_chains} chains need about {needed / 2**30:.1f} GiB on the device, which has "
            f"{there / 2**30:.1f} GiB: use n_chains={fitting} or fewer, or device='cpu'."
        )
    X = np.array([points for points, _ in starts])
    theta = np.array([numbers for _, numbers in starts])
    numbers = np.arange(n_chains) % len(starts)
    A = modes.A[0] if len(modes.A) == 1 else modes.A
    with computing_on(device):
        sampler = make_sampler(form, data, seed, tick)
        tuned = start_chains(sampler, A, modes.widths, X[numbers], theta[numbers])
        tuned = warm_up(sampler, tuned, warmup, len(starts))
        _, kept = draw_chains(sampler, tuned, n_samples)
    unknown = np.full(n_samples, np.nan)
    return [
        Chain(points.astype(np.float64), etas[:, 1:], unknown, -energies, int(divergent.sum()), rng)
        for points, etas, energies, divergent, rng in zip(
            kept.points, kept.etas, kept.energies, kept.divergent, rngs, strict=True
        )
    ]


def convert(
    target: Target, n_components: int, dtype: str = "float32", *, relocating: bool = False
) -> tuple[Form, Data]:
    """Form and data of the accelerator's program, from answers in the edge form.

    If objects are to be relocated, the data has the answers about each.
    """
    from tercet.accelerator.lists import parts_of
    from tercet.accelerator.relocation import own_tables
    from tercet.accelerator.target import Form, make_data

    problem = target.problem
    form = Form(
        int(target.code),
        tuple(int(name) for name in target.learned),
        problem.n_objects,
        n_components,
        target.scale_sd > 0.0,
        dtype,
        tuple(part.group for part in parts_of(problem.lists)),
    )
    data = make_data(
        form,
        problem,
        (target.p, target.q),
        target.precision,
        (target.scale_mean, target.scale_sd),
        target.priors,
    )
    return form, data._replace(own=own_tables(problem)) if relocating else data


def build_target(plan: Plan, answers: Answers) -> Target:
    """The posterior of these answers, for the compiled code."""
    d, prior = plan.n_components, plan.prior
    # Elliptical slices, learned parameters and the accelerator need the edge form.
    by_edges = plan.learn or plan.sampler == "elliptical_slice" or plan.device == "gpu"
    use_edges = True if by_edges else None
    sides = sum(name.startswith(BIAS) for name in plan.learn)
    problem = problem_of(answers, use_edges=use_edges, sides=sides)
    p, q = plan.model.constants(d)
    block, mean, sd = np.eye(d), 0.0, 0.0
    if isinstance(prior, NormalPrior):
        block, (mean, sd) = prior.covariance(d), log_normal(prior)
    return Target(
        problem,
        code_of(plan.model),
        float(p),
        float(q),
        np.asarray(np.linalg.inv(block), dtype=np.float64),
        float(mean),
        float(sd),
        roles(plan.learn, plan.model),
        theta_priors(plan.learn),
        1.0,
    )


class _Search(NamedTuple):
    """Settings of the search for the chains' starts."""

    rngs: Sequence[np.random.Generator]  # one per chain
    n_jobs: int | None
    checkpoint: Checkpoint


def _modes(plan: Plan, target: Target, search: _Search) -> Modes:
    """The modes of the posterior that the chains' searches find."""
    theta = first_theta(plan.learn, plan.model)
    return find_modes(target, plan.model, theta, plan.n_components, *search)


def _tempered(single: Hamiltonian) -> Tempered:
    """Replica exchange of such chains; parameters are held near those of the chains' starts."""
    modes = single.modes
    theta = np.mean([start.theta for start in modes.starts], axis=0)
    return Tempered(single, make_ladder(single.target, theta, modes.widths, modes.mode.X.size))


def _point_sampler(plan: Plan, prior: NormalPrior, target: Target, search: _Search) -> Sampler:
    """The sampler of points that is not Hamiltonian."""
    d, warmup, count = plan.n_components, plan.warmup, plan.n_samples
    block = prior.covariance(d)
    if plan.sampler == "elliptical_slice" and plan.start != "mode":
        starts = _maxima(plan, target, search)
        if plan.start == "likelihood":
            starts = [_in_best_size(target, X) for X in starts]
        return Elliptical(target, block, starts, None, warmup, count)
    modes = _modes(plan, target, search)
    if plan.sampler == "laplace":
        return Laplace(target, modes.mode, count)
    return Elliptical(target, block, None, modes, warmup, count)


def _matrix_sampler(plan: Plan, prior: DistancePrior, target: Target, search: _Search) -> Sampler:
    """The sampler of distance matrices, starting at the distances of a maximum likelihood map."""
    centre, root = prior.matrices(target.problem.n_objects)
    starts = _maxima(plan, target, search)
    return Matrices(target, centre, root, starts, plan.warmup, plan.n_samples)


def _maxima(plan: Plan, target: Target, search: _Search) -> list[Array]:
    """A maximum of the likelihood for every chain, all but the first from random starts."""
    objective = Objective(plan.model, plan.n_components)
    found = find_maps(objective, target.problem, None, *search)
    return [X - X.mean(axis=0) for X in found]


def _in_best_size(target: Target, X: Array) -> Array:
    """The points (n, d), scaled to the size most probable under the prior if any is as likely.

    If answers do not contradict each other, and often with t-STE and CKL, a copy of the map twice
    as large is no less likely. The size at which the search ended is then arbitrary, and a chain
    that starts there would spend most of its draws on the way back.
    """
    gradient = np.empty_like(X)

    def loss(size: float) -> float:
        model = target.code, target.p, target.q
        return float(value_and_gradient(*model, 0.0, target.problem, size * X, gradient))

    if loss(2.0) > (1.0 + _LEVEL) * loss(1.0) + _LEVEL:
        return X
    X = X / np.sqrt(np.mean(X**2))  # the search may end at any size, even 1e50
    square = math.exp(-target.scale_mean) * float(np.sum((X @ target.precision) * X))
    best = minimize_scalar(
        lambda u: loss(math.exp(u)) + 0.5 * square * math.exp(2.0 * u),
        bounds=_SIZES,
        method="bounded",
    )
    return np.asarray(X * math.exp(best.x))


def _collect(
    plan: Plan, target: Target, chains: list[Chain], starts: Starts | None = None
) -> Drawn:
    """Draw variances and centres, and diagnose the chains."""
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
            parts = zip(np.split(centred, plan.n_chains), chains, strict=True)
            placed = [_place(target, block, X, chain.variances, chain.rng) for X, chain in parts]
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
    found = None
    if plan.sampler != "laplace":
        divergences = sum(chain.divergences for chain in chains)
        searched = () if starts is None else starts[1:]
        found = diagnose_chains(watched, divergences, plan.superchains, *searched)
    return Drawn(draws, parameters, statistics, watched, found)


def _place(
    target: Target, block: Array, X: Array, variances: Array, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Draw the variance of the prior, if not drawn yet, and the centres of the points."""
    S, n, d = X.shape
    if target.scale_sd == 0.0:
        variances = np.full(S, np.exp(target.scale_mean))
    elif np.isnan(variances).any():
        squares = np.einsum("sik,kl,sil->s", X, target.precision, X)
        freedom, mean, sd = (n - 1.0) * d, target.scale_mean, target.scale_sd
        variances = draw_variances(squares, freedom, mean, sd, rng)
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
