"""Hamiltonian Monte Carlo over centred points, compiled (Neal 2011, Hoffman & Gelman 2014).

The posterior is invariant to rotation, and so is the metric: a matrix A over objects, the same for
every dimension. It comes from the Laplace approximation, rescaled per object after the warm-up.
Trajectories have random lengths, which avoids periodic orbits, and occasionally short steps, which
leave regions of high curvature. A step takes two gradients; its size is tuned by dual averaging.
Between trajectories some objects are relocated or exchanged (`relocation`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tercet.align import generalised_procrustes
from tercet.compiled import jit, jit_sums
from tercet.engine.constants import (
    ACCEPT,
    ALIGNED,
    DELAY,
    DIVERGED,
    FEWEST_SHAPES,
    FIRST_PUSH,
    FIRST_STEP,
    FIRST_STEPS,
    FORGETTING,
    GOAL,
    LEAST_VARIANCE,
    LEAST_WIDTH,
    LENGTH,
    MOST_STEPS,
    MOST_STEPS_ON_A_LINE,
    RELOCATED,
    SHORTEST,
    SHRINKAGE,
)
from tercet.models.base import Array
from tercet.posterior.chains import BLOCK, Arrays, Chain, ChainDraws, ChainState, DrawShapes, Phase
from tercet.posterior.mode import Modes, check_metric, jittered
from tercet.posterior.relocation import Own, propose_swap, relocate
from tercet.posterior.target import Target, split_energy

_MOST_LOG = 600.0  # largest logarithm of a step, so that it does not overflow

_BLOCK_OF_COMPARISONS = 5_000_000  # evaluated in a block of long trajectories, roughly
_TRUST = 0.8  # weight of the variances seen in the warm-up against those of the approximation

ENERGY, ACCEPTED, STEPS, DIVERGENT = range(4)  # columns of the notes
N_NOTES = 4


class Metric(NamedTuple):
    """Covariance of the objects, up to scale, and standard deviations of theta."""

    A: Array  # (n, n), or (1, n): its diagonal
    root: Array  # the same shape: root @ root.T is the inverse of A
    widths: Array  # (k,): standard deviations of theta


def make_metric(A: Array, widths: Array) -> Metric:
    """Metric of a positive definite A (n, n), or of its diagonal (1, n)."""
    if len(A) == 1:
        return Metric(A, 1.0 / np.sqrt(A), widths)
    inverse = np.linalg.inv(np.linalg.cholesky(A))
    return Metric(np.ascontiguousarray(A), np.ascontiguousarray(inverse.T), widths)


@jit_sums
def _apply(A: Array, P: Array, out: Array) -> None:
    """Out = A P for (n, d) P, with A (n, n) or a diagonal (1, n)."""
    n, d = P.shape
    if len(A) == 1:
        for i in range(n):
            for k in range(d):
                out[i, k] = A[0, i] * P[i, k]
        return
    columns = np.ascontiguousarray(P.T)
    for i in range(n):
        for k in range(d):
            total = 0.0
            for j in range(n):
                total += A[i, j] * columns[k, j]
            out[i, k] = total


@jit_sums
def _inner(P: Array, Q: Array) -> float:
    total = 0.0
    for i in range(P.shape[0]):
        for k in range(P.shape[1]):
            total += P[i, k] * Q[i, k]
    return total


@jit
def _centre(X: Array) -> None:
    n, d = X.shape
    for k in range(d):
        mean = 0.0
        for i in range(n):
            mean += X[i, k]
        mean /= n
        for i in range(n):
            X[i, k] -= mean


@jit
def _draw_momentum(metric: Metric, shift: Array, rng: np.random.Generator, P: Array) -> None:
    """Normal with covariance inverse(A), conditioned on columns that sum to zero."""
    _apply(metric.root, rng.standard_normal(P.shape), P)
    n, d = P.shape
    for k in range(d):
        total = 0.0
        for i in range(n):
            total += P[i, k]
        for i in range(n):
            P[i, k] -= total * shift[i]


@jit
def _shift(metric: Metric) -> Array:
    """inverse(A) 1 / (1' inverse(A) 1): the correction of a momentum whose sum is one."""
    n = metric.A.shape[1]
    if len(metric.A) == 1:
        shift = metric.root[0] * metric.root[0]
    else:
        sums = np.zeros(n)
        for i in range(n):
            sums += metric.root[i]
        shift = np.empty(n)
        for i in range(n):
            shift[i] = np.sum(metric.root[i] * sums)
    return np.asarray(shift / np.sum(shift))


@jit
def sample(
    target: Target,
    own: Own,
    metric: Metric,
    Y: Array,
    eta: Array,
    step: float,
    length: float,
    max_steps: int,
    tune: bool,
    tuner: Array,
    rng: np.random.Generator,
    points: Array,
    etas: Array,
    notes: Array,
) -> float:
    """Draw len(points) times, starting at the shape Y (n, d) and eta, which are overwritten.

    Writes the points X (n, d) and the eta of each draw. With ``tune`` the step adapts to the
    acceptance rate. Returns the last step.
    """
    X, Z, V, P = np.empty_like(Y), np.empty_like(Y), np.empty_like(Y), np.empty_like(Y)
    by_Y, by_Z, moved = np.empty_like(Y), np.empty_like(Y), np.empty_like(Y)
    zeta, by_eta, by_zeta = np.empty_like(eta), np.zeros_like(eta), np.zeros_like(eta)
    energy = split_energy(target, Y, eta, X, by_Y, by_eta)
    shift = _shift(metric)
    variances = metric.widths * metric.widths
    n, d = Y.shape
    relocations = -(-n // RELOCATED) if len(own.rows) > 1 and n > 2 else 0
    for draw in range(len(points)):
        _draw_momentum(metric, shift, rng, P)
        r = rng.standard_normal(eta.shape) / metric.widths
        _apply(metric.A, P, V)
        start = energy + 0.5 * (_inner(P, V) + np.sum(variances * r * r))
        h = step * SHORTEST ** (rng.random() ** 8)
        count = max(1, math.ceil(min(2.0 * length * rng.random() / h, float(max_steps))))
        Z[:], by_Z[:], zeta[:], by_zeta[:] = Y, by_Y, eta, by_eta
        reached = energy
        for _ in range(count):
            P -= FIRST_PUSH * h * by_Z
            r -= FIRST_PUSH * h * by_zeta
            for inner in (1.0 - 2.0 * FIRST_PUSH, FIRST_PUSH):
                _apply(metric.A, P, V)
                _centre(V)
                Z += 0.5 * h * V
                zeta += 0.5 * h * variances * r
                reached = split_energy(target, Z, zeta, moved, by_Z, by_zeta)
                P -= inner * h * by_Z
                r -= inner * h * by_zeta
            if not reached - start < DIVERGED:
                break
        _apply(metric.A, P, V)
        error = reached + 0.5 * (_inner(P, V) + np.sum(variances * r * r)) - start
        divergent = not error < DIVERGED  # NaN too
        probability = 0.0 if divergent else min(1.0, math.exp(-error))
        if rng.random() < probability:
            X[:], Y[:], by_Y[:], eta[:], by_eta[:] = moved, Z, by_Z, zeta, by_zeta
            energy = reached
        if relocations > 0:
            propose_swap(Y, rng, Z)
            reached = split_energy(target, Z, eta, moved, by_Z, by_zeta)
            if rng.random() < math.exp(min(0.0, energy - reached)):
                X[:], Y[:], by_Y[:], by_eta[:] = moved, Z, by_Z, by_zeta
                energy = reached
            elsewhere = False
            moved[:] = X
            for _ in range(relocations):
                if relocate(target, own, eta[1:], X, int(rng.integers(0, n)), rng):
                    elsewhere = True
            if elsewhere:  # the length of Y is arbitrary, and stays
                squares = _inner(X, X)
                eta[0] = 0.5 * math.log(squares / ((n - 1.0) * d))
                Y[:] = X * math.sqrt(_inner(Y, Y) / squares)
                energy = split_energy(target, Y, eta, X, by_Y, by_eta)
            else:  # to the last bit
                X[:] = moved
        points[draw], etas[draw] = X, eta
        # The energy of X alone, see `split_energy`.
        of_X = energy + (len(Y) - 1.0) * Y.shape[1] * eta[0] - 0.5 * _inner(Y, Y)
        notes[draw, ENERGY], notes[draw, ACCEPTED] = of_X, probability
        notes[draw, STEPS], notes[draw, DIVERGENT] = count, divergent
        if tune:
            step = _retune(tuner, probability)
    return step


def start_tuning(step: float) -> Array:
    """State of dual averaging: its goal, the mean gap, the mean log-step and the count."""
    return np.array([math.log(GOAL * step), 0.0, math.log(step), 0.0])


def tuned_step(tuner: Array) -> float:
    """The step at the end of the tuning, within the range of floats."""
    return math.exp(min(max(tuner[2], -_MOST_LOG), _MOST_LOG))


@jit
def _retune(tuner: Array, probability: float) -> float:
    """Update the tuner by an acceptance probability; returns the step to try next.

    Dual averaging: Hoffman & Gelman 2014, section 3.2.
    """
    tuner[3] += 1.0
    k = tuner[3]
    tuner[1] += (ACCEPT - probability - tuner[1]) / (k + DELAY)
    log_step = tuner[0] - math.sqrt(k) / SHRINKAGE * tuner[1]
    tuner[2] += k**FORGETTING * (log_step - tuner[2])
    return math.exp(log_step)


class Hamiltonian(NamedTuple):
    """Hamiltonian Monte Carlo over shapes and eta = (log size, theta).

    Chains start near the modes or, if there are states, where other chains ended: those of the
    posterior of nearly the same answers, whose metrics are kept.
    """

    target: Target
    own: Own
    modes: Modes
    warmup: int
    n_samples: int
    states: Sequence[ChainState] = ()  # one per chain

    @property
    def phases(self) -> tuple[Phase, ...]:
        """A third of the warm-up tunes the step, a third the metric, a third the step again.

        All of it tunes the step if the chains go on from others.
        """
        if self.states:
            nothing, tuning = Phase(0, False), Phase(self.warmup, False)
            return nothing, nothing, tuning, Phase(self.n_samples, True)
        third = self.warmup // 3
        return (
            Phase(self.warmup - 2 * third, False),
            Phase(third, True),
            Phase(third, False),
            Phase(self.n_samples, True),
        )

    @property
    def block(self) -> int:
        """Fewer draws of a larger problem; any number would be exact."""
        return max(1, min(BLOCK, _BLOCK_OF_COMPARISONS // self.target.problem.n_rows))

    @property
    def shapes(self) -> DrawShapes:
        """Points, eta, and notes."""
        k = 1 + len(self.target.learned)
        return DrawShapes(self.modes.mode.X.shape, k, N_NOTES)

    def check(self, state: ChainState) -> None:
        """The metric, the size and the step must be valid."""
        check_metric(state.adapted["A"], state.adapted["widths"])
        if not np.isfinite(np.exp(state.position["eta"])).all():
            raise ValueError("a size that is not a number")
        if not np.all(state.position["step"] > 0.0):
            raise ValueError("a step that is not positive")

    def start(self, k: int, rng: np.random.Generator) -> tuple[Arrays, Arrays]:
        """Start near the mode of chain k, with the metric of the modes; or where another ended."""
        if self.states:
            position, adapted = self.states[k].position, self.states[k].adapted
            return position | _untuned(float(position["step"])), adapted
        X, theta = jittered(self.modes, k, rng)
        freedom = (len(X) - 1.0) * X.shape[1]
        size = float(np.sqrt(np.sum(X**2) / freedom))
        A = self.modes.A / size**2
        log_width = np.sqrt(np.trace(A) / len(A) if len(A) > 1 else A.mean()) / np.sqrt(freedom)
        widths = np.concatenate([[2.0 * log_width + LEAST_WIDTH], self.modes.widths])
        position = {
            "Y": np.ascontiguousarray(X / size),
            "eta": np.concatenate([[np.log(size)], theta]),
        }
        metric = make_metric(A, widths)
        return position | _untuned(FIRST_STEP * X.size**-0.25), metric._asdict()

    def advance(
        self, state: ChainState, count: int, rng: np.random.Generator
    ) -> tuple[Arrays, ChainDraws]:
        """Draw a block."""
        Y, eta, tuner = (state.position[name].copy() for name in ("Y", "eta", "tuner"))
        draws, metric = self.shapes.empty(count), Metric(**state.adapted)
        step = float(state.position["step"])
        step = draw_block(self, metric, Y, eta, step, state.phase, tuner, rng, draws)
        return {"Y": Y, "eta": eta, "step": np.array(step), "tuner": tuner}, draws

    def adapt(self, state: ChainState, draws: ChainDraws) -> tuple[Arrays, Arrays]:
        """Take the tuned step and, once, refine the metric."""
        metric = Metric(**state.adapted)
        if state.phase == 1:
            metric = refine(metric, draws.points, draws.others)
        tuned = _untuned(tuned_step(state.position["tuner"]))
        return state.position | tuned, metric._asdict()

    def chain(self, draws: ChainDraws, rng: np.random.Generator) -> Chain:
        """Variances are still to be drawn."""
        points, etas, notes = draws
        divergences = int(notes[:, DIVERGENT].sum())
        unknown = np.full(len(points), np.nan)
        return Chain(points, etas[:, 1:], unknown, -notes[:, ENERGY], divergences, rng)


def draw_block(
    sampler: Hamiltonian,
    metric: Metric,
    Y: Array,
    eta: Array,
    step: float,
    phase: int,
    tuner: Array,
    rng: np.random.Generator,
    draws: ChainDraws,
) -> float:
    """Fill ``draws`` in a phase of the sampler; Y, eta and the tuner are overwritten.

    Returns the last step.
    """
    most = MOST_STEPS if Y.shape[1] > 1 else MOST_STEPS_ON_A_LINE
    return sample(
        sampler.target,
        sampler.own,
        metric,
        Y,
        eta,
        step,
        LENGTH,
        FIRST_STEPS if phase == 0 else most,
        phase < 3,
        tuner,
        rng,
        *draws,
    )


def _untuned(step: float) -> Arrays:
    return {"step": np.array(step), "tuner": start_tuning(step)}


def refine(metric: Metric, points: Array, etas: Array) -> Metric:
    """Rescale the metric by the variances seen of each object's position, and of eta."""
    if len(points) < FEWEST_SHAPES:
        return metric
    shapes = points / np.exp(etas[:, :1, None])
    aligned, mean = generalised_procrustes(shapes, translate=False, tol=ALIGNED)
    seen = np.mean((aligned - mean) ** 2, axis=(0, 2))
    A = metric.A
    expected = np.diag(A) if len(A) > 1 else A[0]
    factor = np.sqrt(np.maximum(seen / expected, LEAST_VARIANCE)) ** _TRUST
    scaled = A * factor[:, None] * factor if len(A) > 1 else A * factor**2
    widths = etas.std(axis=0)
    return make_metric(scaled, np.where(widths > 0, widths, metric.widths))
