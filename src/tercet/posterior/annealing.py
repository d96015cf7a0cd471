"""Starts that know better: annealed chains, of which those that cannot matter start elsewhere.

A search from random points may end in a mode that is far less probable than one found by another
search of the same run. A chain there says nothing about the posterior. So if the searches disagree,
a chain leaves each of their modes with the likelihood raised to a small power, at which objects
move freely, and the power grows to 1 (Kirkpatrick, Gelatt & Vecchi 1983). Trajectories are long,
since groups of objects must pass each other. The power grows in steps inversely proportional to the
standard deviation of the log-likelihood, so that draws at successive powers overlap.

The integral of the mean log-likelihood over the power is the logarithm of the probability mass that
the chain has reached, up to a constant that all chains share (thermodynamic integration: Gelman &
Meng 1998). It accounts for the volume of a mode, which the density there does not. A chain so far
below the best one that it cannot matter starts where one of the others ended.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import closing
from threading import Event
from typing import NamedTuple

import numpy as np

from tercet.engine.backend import backend_is_chosen, run_anywhere
from tercet.models.base import LAPSE, Array
from tercet.posterior.hamiltonian import (
    Hamiltonian,
    Metric,
    make_metric,
    sample,
    start_tuning,
    tuned_step,
)
from tercet.posterior.mode import Mode, Modes
from tercet.posterior.relocation import LARGEST, Own
from tercet.posterior.target import Target, log_likelihoods
from tercet.running.checkpoint import NOTHING_KEPT, Checkpoint, floats_of
from tercet.running.threads import count_threads, progress_bar

FIRST_POWER = 0.1
DRAWS = 30  # at each power, of which the last two thirds are measured
OVERLAP = 2.0  # step of the power times the standard deviation of the log-likelihood, at most
GROWTH = 1.2  # factor of the power, at most
LENGTH, MOST_STEPS = 6.0, 64  # of the trajectories
# Nats below the best at which a chain is dropped, and standard errors of the difference added.
LEAST_DEFICIT, ERRORS = 8.0, 3.0
INDEPENDENT = 0.5  # draws that count, as a share of those measured at a power
# Standard deviations of the model's parameters at small powers, in units of the prior's.
HELD = 0.05
_SAME = 0.2  # nats by which two searches that found one mode may differ


class Annealed(NamedTuple):
    """Where a chain ended, and the mass it reached."""

    X: Array  # (n, d), centred
    theta: Array  # (k,)
    log_mass: float  # up to a constant
    error: float  # standard error of the logarithm


class Starts(NamedTuple):
    """The modes with a start for every chain, and what became of the searches."""

    modes: Modes
    found: int  # different modes
    deficits: Array  # nats by which the masses of the dropped chains are below the best


def count_modes(modes: Modes) -> int:
    """The number of different modes among those of the searches."""
    energies = np.sort([start.energy for start in modes.starts])
    return 1 + int(np.sum(np.diff(energies) > _SAME))


def better_starts(
    target: Target,
    own: Own,
    modes: Modes,
    rngs: Sequence[np.random.Generator],
    n_jobs: int | None = None,
    checkpoint: Checkpoint = NOTHING_KEPT,
    progress: bool | None = None,
) -> Starts:
    """Anneal from every chain's mode if they differ, and drop chains that cannot matter."""
    found = count_modes(modes)
    if found == 1 or target.problem.n_rows > LARGEST:
        return Starts(modes, found, np.empty(0))
    sampler = Hamiltonian(target, own, modes, 0, 0)
    annealed = _anneal_all(sampler, rngs, n_jobs, checkpoint, progress)
    masses = np.array([end.log_mass for end in annealed])
    errors = np.array([end.error for end in annealed])
    deficits = masses.max() - masses
    hopeless = deficits > LEAST_DEFICIT + ERRORS * np.hypot(errors, errors[np.argmax(masses)])
    kept, dropped = np.flatnonzero(~hopeless), np.flatnonzero(hopeless)
    kept = kept[np.argsort(deficits[kept], kind="stable")]
    sources = np.arange(len(annealed))
    sources[dropped] = np.resize(kept, len(dropped))
    starts = [
        Mode(annealed[k].X, annealed[k].theta, start.energy, start.log_scale)
        for k, start in zip(sources, modes.starts, strict=True)
    ]
    return Starts(modes._replace(starts=starts), found, np.sort(deficits[dropped]))


def _anneal_all(
    sampler: Hamiltonian,
    rngs: Sequence[np.random.Generator],
    n_jobs: int | None,
    checkpoint: Checkpoint,
    progress: bool | None,
) -> list[Annealed]:
    """The annealed chains, side by side, or from the checkpoint.

    An interruption stops all of them at their next power.
    """
    n, d = sampler.modes.mode.X.shape
    shapes = {"X": (n, d), "theta": (len(sampler.target.learned),), "mass": (2,)}

    def restore(row: dict[str, object]) -> Annealed:
        X, theta, mass = (floats_of(row, name, shape) for name, shape in shapes.items())
        return Annealed(X, theta, *map(float, mass))

    known = {k: checkpoint.one("annealed", k, restore) for k in range(len(rngs))}
    missing = [(k, rng) for k, rng in enumerate(rngs) if known[k] is None]

    def keep(k: int, end: Annealed) -> None:
        known[k] = end
        mass = np.array([end.log_mass, end.error])
        checkpoint.add("annealed", k, {"X": end.X, "theta": end.theta, "mass": mass})

    with progress_bar(len(missing), "annealing", progress, shares=True) as bar:
        if backend_is_chosen():
            with closing(run_anywhere(anneal, sampler, missing, n_jobs)) as coming:
                for (k, _), end in zip(missing, coming, strict=True):
                    keep(k, end)
                    bar.update(1)
            return [end for end in known.values() if end is not None]
        stop = Event()

        def tick(share: float) -> None:
            if stop.is_set():
                raise CancelledError
            bar.update(share)

        with ThreadPoolExecutor(count_threads(n_jobs)) as pool:
            ends = pool.map(lambda one: anneal(sampler, one, tick), missing)
            try:
                for (k, _), end in zip(missing, ends, strict=True):
                    keep(k, end)
            finally:
                stop.set()
    return [end for end in known.values() if end is not None]


def anneal(
    sampler: Hamiltonian,
    chain: tuple[int, np.random.Generator],
    tick: Callable[[float], object] = lambda share: None,
) -> Annealed:
    """Anneal chain k from near its mode; ``tick`` counts the share of the way that is done."""
    k, rng = chain
    position, adapted = sampler.start(k, rng)
    Y, eta, step = position["Y"].copy(), position["eta"].copy(), float(position["step"])
    powers, means, variances = [FIRST_POWER], [], []
    while True:
        power = powers[-1]
        draws, tuner = sampler.shapes.empty(DRAWS), start_tuning(step)
        heated = _heated_target(sampler, power)
        metric = heated_metric(adapted["A"], adapted["widths"], power)
        settings = step, LENGTH, MOST_STEPS, True, tuner, rng
        sample(heated, sampler.own, metric, Y, eta, *settings, *draws)
        step = tuned_step(tuner)
        later = slice(DRAWS // 3, None)
        thetas = np.ascontiguousarray(draws.others[later, 1:])
        likelihoods = log_likelihoods(sampler.target, draws.points[later], thetas)
        means.append(float(likelihoods.mean()))
        variances.append(float(likelihoods.var()) / (INDEPENDENT * len(likelihoods)))
        if power == 1.0:
            break
        # Where the posterior is normal, this is the standard deviation.
        usual = np.sqrt(0.5 * Y.size) / power
        longest = OVERLAP / max(float(likelihoods.std()), usual)
        powers.append(min(1.0, GROWTH * power, power + longest))
        tick(math.log(powers[-1] / power) / -math.log(FIRST_POWER))
    error = math.sqrt(np.sum(_trapezoids(powers) ** 2 * variances))
    log_mass = float(np.sum(_trapezoids(powers) * means))
    return Annealed(draws.points[-1], draws.others[-1, 1:], log_mass, error)


def _trapezoids(powers: Sequence[float]) -> Array:
    """Weights of the trapezium rule."""
    steps = np.diff(powers)
    return np.asarray(0.5 * (np.append(steps, 0.0) + np.append(0.0, steps)))


def _heated_target(sampler: Hamiltonian, power: float) -> Target:
    """The posterior at a power of the likelihood, below 1 with parameters held near the best mode.

    If they were free, those at which answers are mere chance would win at small powers, and hold
    the chain there for long at larger ones.
    """
    target = sampler.target._replace(power=power)
    if power == 1.0:
        return target
    held = target.priors.copy()
    free = target.learned == LAPSE
    held[~free, 0] = sampler.modes.mode.theta[~free]
    held[~free, 1] *= HELD
    return target._replace(priors=held)


def heated_metric(A: Array, widths: Array, power: float) -> Metric:
    """The metric at a power of the likelihood: wider, but no wider than the prior.

    Shapes have a variance of one, and so has their prior.
    """
    if len(A) == 1:
        return make_metric(1.0 / (power / A + 1.0), widths)
    wider = np.linalg.inv(power * np.linalg.inv(A) + np.eye(len(A)))
    return make_metric(np.asarray(wider, dtype=np.float64), widths)
