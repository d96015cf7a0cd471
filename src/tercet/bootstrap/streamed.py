"""Replicates of answers on disk, resampled block by block.

The number of answers from each block is drawn once per replicate; which ones, whenever the block is
read, from a seed of the replicate and the block. The distribution is that of a replicate in memory
(with different random numbers), and no list of rows is ever stored.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from tercet.answers.streams import StreamedTriplets
from tercet.arrays import Floats
from tercet.bootstrap.resampling import Rows, sample_size
from tercet.engine.backend import backend_is_chosen, run_anywhere
from tercet.engine.blocks import Blocks
from tercet.engine.search import Fit, Seeds, Solver
from tercet.running.provenance import seed_for

__all__ = ["StreamReplicates", "fit_streams"]

# NumPy's hypergeometric numbers are limited to 10**9 answers; more are drawn in groups of blocks,
# with a fixed share per group. With groups this large the difference is negligible.
GROUP = 500_000_000


class Resampled(NamedTuple):
    """One replicate of a stream, as the engine reads it."""

    stream: StreamedTriplets
    sizes: Rows  # (n_blocks,) answers from each block
    replace: bool
    entropy: int
    key: tuple[int, ...]

    @property
    def n_objects(self) -> int:
        """Number of objects."""
        return self.stream.n_objects

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return self.stream.n_blocks

    @property
    def least_weight(self) -> float:
        """The smallest weight of an answer; a vote weighs 1."""
        return 1.0 if self.stream.has_votes else self.stream.least_weight

    def read(self, number: int) -> tuple[NDArray[np.uint32], Floats]:
        """The rows drawn from a block, and their weights."""
        comparisons, weights = self.stream.read(number)
        rng = np.random.default_rng(seed_for(self.entropy, *self.key, number))
        size, count = int(self.sizes[number]), len(comparisons)
        if self.stream.has_votes:
            times = _draw_votes(rng, weights.astype(np.int64), size, self.replace)
            weights = np.empty(0)
        elif self.replace:
            times = np.bincount(rng.integers(count, size=size), minlength=count)
        else:
            times = np.zeros(count, dtype=bool)
            times[rng.choice(count, size, replace=False, shuffle=False)] = True
        rows = np.flatnonzero(times)
        own = weights[rows] if len(weights) else weights
        if times.dtype != bool:
            own = np.asarray(times[rows] * (own if len(weights) else 1.0), dtype=np.float64)
        return np.take(comparisons, rows, axis=0), own


def _draw_votes(rng: np.random.Generator, votes: Rows, size: int, replace: bool) -> Rows:
    """How often each row is drawn when every vote for it is a unit."""
    if replace:
        return rng.multinomial(size, votes / votes.sum())
    return rng.multivariate_hypergeometric(votes, size, method="marginals")


class StreamReplicates(Sequence[Resampled]):
    """The replicates of a stream, each drawn on access.

    Parameters
    ----------
    stream : StreamedTriplets
    fraction : float
        Share of the answers in a replicate.
    replace : bool
    entropy : int
    keys : sequence of tuple of int
        The spawn key of each replicate's seeds.
    """

    def __init__(
        self,
        stream: StreamedTriplets,
        fraction: float,
        replace: bool,
        entropy: int,
        keys: Sequence[tuple[int, ...]],
    ) -> None:
        self._stream, self._replace, self._entropy, self._keys = stream, replace, entropy, keys
        self._units = _units(stream)
        self.n_answers = int(self._units.sum())
        self.size = sample_size(fraction, self.n_answers, "answer")

    def __len__(self) -> int:
        return len(self._keys)

    @overload
    def __getitem__(self, key: int) -> Resampled: ...
    @overload
    def __getitem__(self, key: slice) -> list[Resampled]: ...
    def __getitem__(self, key: int | slice) -> Any:
        if isinstance(key, slice):
            return [self[k] for k in range(*key.indices(len(self)))]
        own = self._keys[key]
        rng = np.random.default_rng(seed_for(self._entropy, *own))
        sizes = share_out(rng, self._units, self.size, self._replace)
        return Resampled(self._stream, sizes, self._replace, self._entropy, own)


def _units(stream: StreamedTriplets) -> Rows:
    """Answers in each block: rows, or the votes that weights count."""
    if stream.has_votes:
        blocks = (stream.read(number)[1] for number in range(stream.n_blocks))
        return np.array([int(weights.sum()) for weights in blocks])
    return np.array([stop - start for start, stop in stream.spans()])


def share_out(rng: np.random.Generator, units: Rows, size: int, replace: bool) -> Rows:
    """How many of ``size`` units drawn from all blocks come from each."""
    if replace:
        return rng.multinomial(size, units / units.sum())
    ends = np.cumsum(units)
    group = (ends - 1) // GROUP
    sizes, drawn, seen = np.zeros_like(units), 0, 0
    for number in np.unique(group):
        own = group == number
        seen += int(units[own].sum())
        upto = size * seen // int(ends[-1])  # Python integers do not overflow
        sizes[own] = rng.multivariate_hypergeometric(units[own], upto - drawn, method="marginals")
        drawn = upto
    return sizes


def fit_streams(
    solver: Solver,
    replicates: Sequence[Blocks],
    seeds: Seeds,
    numbers: Sequence[int],
    n_jobs: int | None,
) -> Generator[Fit, None, None]:
    """Fit replicates one at a time on all cores, or side by side on a joblib backend."""
    work = _Work(solver, replicates, seeds)
    if backend_is_chosen():
        return run_anywhere(_solve, work, numbers, n_jobs)
    return (_solve(work, number) for number in numbers)


class _Work(NamedTuple):
    """What every replicate needs."""

    solver: Solver
    replicates: Sequence[Blocks]
    seeds: Seeds


def _solve(work: _Work, number: int) -> Fit:
    rng = np.random.default_rng(work.seeds[number])
    return work.solver.solve(work.replicates[number], rng)
