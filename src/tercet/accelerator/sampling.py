"""Many chains from their starts to their draws: the warm-up of all at once, then the sampling.

The warm-up finds the step by the mean acceptance of the chains, the metric by the spread of the
points over chains, and the length of trajectories by what moves the map most for the time it
takes. As in ChEES (Hoffman, Radul & Sountsov 2021) the change between two draws is what counts,
here of quantities that rotations leave alone, and the slowest of them decides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from tercet.accelerator.lockstep import (
    Draws,
    Floats,
    State,
    advance,
    make_metric,
    retuned,
    settled,
    start_state,
)
from tercet.accelerator.target import Data, Form
from tercet.align import generalised_procrustes
from tercet.engine.constants import (
    ALIGNED,
    FEWEST_SHAPES,
    FIRST_STEP,
    FIRST_STEPS,
    LEAST_VARIANCE,
    LEAST_WIDTH,
    LENGTH_IN_LOCKSTEP,
    LENGTHS,
    MOST_STEPS,
    MOST_STEPS_ON_A_LINE,
    WATCHED_PAIRS,
)
from tercet.engine.problem import some_pairs

_SHORT = 50  # draws of a warm-up that finds a step and no more
_FIXED = 5.0  # gradients that the rest of a draw takes the time of, roughly, on an H200
_BLOCK = 25  # draws between two looks at the progress bar
_BLOCK_BYTES = 2**29
_FEW = 500  # jumps of chains, below which none is the better length for sure
_MOST_SHAPES = 4000  # for the metric
_NEVER = 0.999  # correlation of draws that are as good as the same

Tick = Callable[[int], object]


class Tuned(NamedTuple):
    """Chains that are warmed up, and what they go on with."""

    state: State
    A: Floats  # (n, n), or (n,)
    widths: Floats  # (1 + k,)
    length: float


class Kept(NamedTuple):
    """Draws on the host."""

    points: NDArray[np.floating]  # (C, S, n, d), in the form's precision
    etas: Floats  # (C, S, 1 + k)
    energies: Floats  # (C, S) of the points
    divergent: NDArray[np.bool_]  # (C, S)
    accepted: Floats  # (S,)
    steps: Floats  # (S,)


class Lockstep(NamedTuple):
    """A posterior, and the seed of its draws."""

    form: Form
    data: Data
    key: Any
    tick: Tick = lambda count: None

    def run(
        self, tuned: Tuned, count: int, most: int, tune: bool, keep: bool = True
    ) -> tuple[Tuned, Kept]:
        """Make so many draws, block by block, and keep them, or nothing.

        While the device makes a block, the one before comes to the host.
        """
        form, state = self.form, tuned.state
        metric = make_metric(tuned.A, tuned.widths, form.dtype)
        row = state.Y.size * np.dtype(form.dtype).itemsize
        block = int(np.clip(_BLOCK_BYTES // row, 1, _BLOCK))
        kept = _room(state, count if keep else 0)
        coming: list[tuple[Draws, slice]] = []
        for a in range(0, count, block):
            size = min(block, count - a)
            state, draws = advance(
                form, self.data, metric, state, self.key, size, block, tuned.length, most, tune
            )
            coming.append((draws, slice(a, a + size)))
            if len(coming) > 1:
                self._fetch(kept, *coming.pop(0))
        for draws, part in coming:
            self._fetch(kept, draws, part)
        return tuned._replace(state=state), kept

    def _fetch(self, kept: Kept, draws: Draws, part: slice) -> None:
        size = part.stop - part.start
        draws.steps.block_until_ready()
        if len(kept.steps):
            for name in ("points", "etas", "energies", "divergent"):
                getattr(kept, name)[:, part] = np.asarray(getattr(draws, name))[:, :size]
            for name in ("accepted", "steps"):
                getattr(kept, name)[part] = np.asarray(getattr(draws, name))[:size]
        self.tick(size * len(kept.points))


def make_sampler(form: Form, data: Data, seed: np.random.SeedSequence, tick: Tick) -> Lockstep:
    """Put the data on the device and seed the draws."""
    words = jax.numpy.asarray(seed.generate_state(2))
    key = jax.random.wrap_key_data(words, impl="threefry2x32")
    return Lockstep(form, jax.device_put(data), key, tick)


def start_chains(sampler: Lockstep, A: Floats, widths: Floats, X: Floats, theta: Floats) -> Tuned:
    """Chains at points X (C, n, d), centred, and theta (C, k).

    A (n, n), or its diagonal (n,), is the covariance of the objects around a mode, and ``widths``
    (k,) the standard deviations of theta there.
    """
    form = sampler.form
    sizes = np.sqrt(np.sum(X**2, axis=(1, 2)) / form.freedom)
    eta = np.concatenate([np.log(sizes)[None], theta.T])
    A = A / np.median(sizes) ** 2
    spread = np.trace(A) / len(A) if A.ndim == 2 else A.mean()
    width = 2.0 * np.sqrt(spread / form.freedom) + LEAST_WIDTH
    step = FIRST_STEP * (form.n_objects * form.n_components) ** -0.25
    Y = np.moveaxis(X / sizes[:, None, None], 0, -1)
    state = start_state(form, sampler.data, Y, eta, step)
    return Tuned(state, A, np.concatenate([[width], widths]), LENGTH_IN_LOCKSTEP)


def warm_up(sampler: Lockstep, tuned: Tuned, count: int, groups: int) -> Tuned:
    """Warm up with so many draws; chains c, c + groups, ... began at the same point."""
    most = MOST_STEPS if sampler.form.n_components > 1 else MOST_STEPS_ON_A_LINE

    def tune(tuned: Tuned, count: int, most: int, keep: bool = False) -> tuple[Tuned, Kept]:
        tuned, kept = sampler.run(tuned, count, most, True, keep)
        return tuned._replace(state=retuned(tuned.state)), kept

    if count == 0:
        return tuned
    fifth, C = count // 5 if count >= _SHORT else 0, tuned.state.Y.shape[-1]
    trials = fifth // len(LENGTHS)
    if (trials - 1) * C < _FEW:
        trials = 0
    tuned, _ = tune(tuned, count - 3 * fifth - trials * len(LENGTHS), FIRST_STEPS)
    if fifth > 0:
        tuned, kept = tune(tuned, fifth, most, keep=True)
        tuned = refined(tuned, kept, groups)
        tuned, _ = tune(tuned, fifth, most)
        if trials > 0:
            tuned = _best_length(sampler, tuned, trials, most, groups)
        tuned, _ = tune(tuned, fifth, most)
    return tuned._replace(state=settled(tuned.state))


def draw_chains(sampler: Lockstep, tuned: Tuned, count: int) -> tuple[Tuned, Kept]:
    """Draw so many times with everything as the warm-up left it."""
    most = MOST_STEPS if sampler.form.n_components > 1 else MOST_STEPS_ON_A_LINE
    return sampler.run(tuned, count, most, False)


def refined(tuned: Tuned, kept: Kept, groups: int) -> Tuned:
    """The metric by the spread of the shapes and of eta that was seen.

    Shapes are laid on those that began at the same point, so that different maps do not count as
    one that is spread out. Few draws do not tell how objects move together, but how much each.
    """
    later = slice(kept.points.shape[1] // 2, None)
    shapes = kept.points[:, later].astype(np.float64) / np.exp(kept.etas[:, later, :1, None])
    n = shapes.shape[2]
    each = max(_MOST_SHAPES // groups, FEWEST_SHAPES)
    seen, total = np.zeros((n, n)), 0
    for group in range(groups):
        some = shapes[group::groups].reshape(-1, *shapes.shape[2:])
        some = some[:: -(-len(some) // each)]
        aligned, mean = generalised_procrustes(some, translate=False, tol=ALIGNED)
        apart = (aligned - mean).transpose(1, 0, 2).reshape(n, -1)
        seen += apart @ apart.T / shapes.shape[3]
        total += len(some) - 1
    if total < FEWEST_SHAPES:
        return tuned
    seen, A = seen / total, tuned.A
    widths = kept.etas[:, later].std(axis=(0, 1))
    widths = np.where(widths > 0, widths, tuned.widths)
    factor = np.sqrt(np.maximum(np.diag(seen) / (A if A.ndim == 1 else np.diag(A)), LEAST_VARIANCE))
    if A.ndim == 1:
        return tuned._replace(A=A * factor**2, widths=widths)
    share = total / (total + 10.0 * n)
    return tuned._replace(
        A=share * seen + (1 - share) * A * np.outer(factor, factor), widths=widths
    )


def _best_length(sampler: Lockstep, tuned: Tuned, trials: int, most: int, groups: int) -> Tuned:
    """Try all lengths, and go on with the one whose draws are worth most for their time."""
    state, watched, costs = settled(tuned.state), [], []
    tuner = tuned.state.tuner
    for length in LENGTHS:
        trial = tuned._replace(state=state, length=length)
        trial, kept = sampler.run(trial, trials, most, False)
        state = trial.state
        watched.append(_watched(kept))
        costs.append(2.0 * kept.steps.mean() + _FIXED)
    # Around the map that chains began at: no length takes them from one to another.
    together = np.concatenate(watched, axis=1)
    variance = np.mean([together[g::groups].var(axis=(0, 1)) for g in range(groups)], axis=0)
    worth = [
        1.0 / (np.max(_forgetting(values, variance)) * cost)
        for values, cost in zip(watched, costs, strict=True)
    ]
    best = LENGTHS[int(np.argmax(worth))]
    return tuned._replace(state=state._replace(tuner=tuner), length=best)


def _forgetting(values: Floats, variance: Floats) -> Floats:
    """Draws (K,) that an independent one of each quantity (C, S, K) takes, by autocorrelations.

    They are those of all chains, from their jumps; negative ones are no merit. What is still
    remembered after the last draw is taken to fade on as it did until then.
    """
    lags = values.shape[1] - 1
    jumps = [
        np.mean((values[:, lag:] - values[:, :-lag]) ** 2, axis=(0, 1))
        for lag in range(1, lags + 1)
    ]
    correlations = 1.0 - np.array(jumps) / (2.0 * variance)
    correlations = np.where(np.cumprod(correlations > 0.0, axis=0), correlations, 0.0)
    last = np.minimum(correlations[-1], _NEVER)
    fading = last ** (1.0 / lags)
    return 1.0 + 2.0 * (correlations.sum(axis=0) + last * fading / (1.0 - fading))


def _watched(kept: Kept) -> Floats:
    """Distances, log-posterior, and eta (C, S, K)."""
    first, second = some_pairs(kept.points.shape[2], WATCHED_PAIRS)
    points = kept.points.astype(np.float64)
    apart = points[:, :, first] - points[:, :, second]
    distances = np.linalg.norm(apart, axis=3)
    return np.concatenate([distances, kept.energies[:, :, None], kept.etas], axis=2)


def _room(state: State, count: int) -> Kept:
    """Where so many draws will be."""
    n, d, C = state.Y.shape
    return Kept(
        np.empty((C, count, n, d), dtype=state.Y.dtype),
        np.empty((C, count, len(state.eta))),
        np.empty((C, count)),
        np.empty((C, count), dtype=bool),
        np.empty(count),
        np.empty(count),
    )
