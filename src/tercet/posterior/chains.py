"""Chains: the interface of a sampler, and running its chains block by block.

A sampler has everything its chains share. The state of a chain determines its next draws exactly,
so a chain can stop between any two blocks and resume elsewhere: on another thread, on a worker of a
joblib backend, or later from a checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import closing
from threading import Event
from time import monotonic
from typing import Any, NamedTuple, Protocol

import numpy as np

from tercet.engine.backend import Shared, backend_is_chosen, run_anywhere
from tercet.models.base import Array
from tercet.running.checkpoint import NOTHING_KEPT, Checkpoint, floats_of
from tercet.running.threads import count_threads

BLOCK = 50  # draws between updates of the progress bar
_ROUND = 20.0  # approximate seconds that a backend's workers draw before they report
_POSITION, _ADAPTED, _DRAWS = "place.", "tools.", "draws."  # prefixes of names in a checkpoint

Arrays = dict[str, Array]
Tick = Callable[[int], object]


class Chain(NamedTuple):
    """The draws of one chain."""

    points: Array  # (S, n, d), centred; or matrices (S, n, n)
    thetas: Array  # (S, k)
    variances: Array  # (S,) of the prior; NaN if still to be drawn
    log_posterior: Array  # (S,); NaN if still to be computed
    divergences: int  # divergent transitions, or failed slices
    rng: np.random.Generator  # for what is still to be drawn


class Phase(NamedTuple):
    """Draws of one kind; those of the last phase are the chain."""

    length: int  # in draws
    keeps: bool  # whether they are needed


class ChainState(NamedTuple):
    """Complete state of a chain between two blocks of draws."""

    phase: int
    done: int  # draws so far in this phase
    position: Arrays  # what changes with every draw
    adapted: Arrays  # what changes between phases
    rng: Mapping[str, Any]  # of its random generator


class ChainDraws(NamedTuple):
    """Some draws of a chain, in order."""

    points: Array  # (S, n, d), or matrices (S, n, n)
    others: Array  # (S, k): parameters drawn with them
    notes: Array  # (S, K): statistics of the sampler


class DrawShapes(NamedTuple):
    """Shape of the arrays of one draw."""

    points: tuple[int, int]
    others: int
    notes: int

    def empty(self, count: int) -> ChainDraws:
        """Uninitialised arrays for ``count`` draws."""
        return ChainDraws(*(np.empty(shape) for shape in self.of(count)))

    def of(self, count: int) -> tuple[tuple[int, ...], ...]:
        """The shapes of the arrays of ``count`` draws."""
        return (count, *self.points), (count, self.others), (count, self.notes)


class Sampler(Protocol):
    """A sampler, with everything its chains share."""

    @property
    def phases(self) -> tuple[Phase, ...]:
        """The phases of a chain."""

    @property
    def block(self) -> int:
        """Draws at a time; a state within a block would not be exact."""

    @property
    def shapes(self) -> DrawShapes:
        """Shape of the arrays of one draw."""

    def check(self, state: ChainState) -> None:
        """Raise ValueError unless the state, of the right shapes, is valid."""

    def start(self, k: int, rng: np.random.Generator) -> tuple[Arrays, Arrays]:
        """Initial position and adapted quantities of chain k."""

    def advance(
        self, state: ChainState, count: int, rng: np.random.Generator
    ) -> tuple[Arrays, ChainDraws]:
        """Draw a block, or less at the end of a phase; return the new position and the draws."""

    def adapt(self, state: ChainState, draws: ChainDraws) -> tuple[Arrays, Arrays]:
        """Position and adapted quantities after a phase, given its draws if it keeps them."""

    def chain(self, draws: ChainDraws, rng: np.random.Generator) -> Chain:
        """The chain, from the draws of the last phase."""


def begin_chains(
    sampler: Sampler, rngs: Sequence[np.random.Generator], checkpoint: Checkpoint = NOTHING_KEPT
) -> list[ChainRun]:
    """One chain per generator, at its start or where the checkpoint left it."""
    return [ChainRun(sampler, k, rng, checkpoint) for k, rng in enumerate(rngs)]


def run_chains(
    sampler: Sampler,
    runs: Sequence[ChainRun],
    n_jobs: int | None,
    tick: Tick,
    n_samples: int | None = None,
) -> list[Chain]:
    """Run chains to their ends, or for so many draws after the warm-up; ``tick`` counts draws.

    On threads, or on the joblib backend if one was chosen. There workers receive a state and a
    number of draws and return the draws and the new state, so a lost worker costs no more than
    these. The bits are the same, also if chains stopped and go on: after whole blocks.
    """
    length = sampler.phases[-1].length
    for run in runs:
        run.until = length if n_samples is None else min(n_samples, length)
    if before := sum(run.drawn for run in runs):
        tick(before)
    if backend_is_chosen():
        _in_rounds(sampler, runs, n_jobs, tick)
    else:
        _on_threads(sampler, runs, count_threads(n_jobs), tick)
    return [run.chain() for run in runs]


class Segment(NamedTuple):
    """Result of advancing a chain by some draws."""

    length: int
    position: Arrays
    rng: Mapping[str, Any]
    draws: ChainDraws | None  # if the phase keeps them


def advance_chain(sampler: Sampler, task: tuple[ChainState, int]) -> Segment:
    """Advance a chain by a number of draws, within a phase."""
    state, count = task
    # Backends pass large arrays read-only, for which samplers would be recompiled.
    own = {name: np.require(array, requirements="W") for name, array in state.adapted.items()}
    state = state._replace(adapted=own)
    rng, blocks = _generator(state.rng), []
    for a in range(0, count, sampler.block):
        position, draws = sampler.advance(state, min(sampler.block, count - a), rng)
        state = state._replace(position=position)
        if sampler.phases[state.phase].keeps:
            blocks.append(draws)
    joined = ChainDraws(*map(np.concatenate, zip(*blocks, strict=True))) if blocks else None
    return Segment(count, state.position, rng.bit_generator.state, joined)


class ChainRun:
    """A running chain: its state, and the draws of its phase so far."""

    def __init__(
        self, sampler: Sampler, k: int, rng: np.random.Generator, checkpoint: Checkpoint
    ) -> None:
        self.sampler = sampler
        self.k = k
        self.checkpoint = checkpoint
        self.rows = 0  # in the checkpoint
        self.draws = _NO_DRAWS
        self.until = sampler.phases[-1].length  # draws of the last phase after which to stop
        position, adapted = sampler.start(k, rng)
        self.state = ChainState(0, 0, position, adapted, rng.bit_generator.state)
        for _ in checkpoint.rows("chain", k, self._restore):
            pass
        if self.rows == 0:
            self._save(None)
        self._next_phase()

    @property
    def left(self) -> int:
        """Draws remaining in this phase; 0 at the end."""
        phases, phase = self.sampler.phases, self.state.phase
        length = phases[phase].length if phase + 1 < len(phases) else self.until
        return max(0, length - self.state.done)

    @property
    def drawn(self) -> int:
        """Draws so far, in all phases."""
        before = self.sampler.phases[: self.state.phase]
        return sum(phase.length for phase in before) + self.state.done

    def take(self, segment: Segment) -> None:
        """Append a segment and save."""
        length, position, rng, draws = segment
        self._add(draws)
        done = self.state.done + length
        self.state = self.state._replace(done=done, position=position, rng=rng)
        self._save(draws)
        self._next_phase()

    def chain(self) -> Chain:
        """The chain, up to where it should stop."""
        draws = ChainDraws(*(array[: self.until] for array in self.draws))
        return self.sampler.chain(draws, _generator(self.state.rng))

    def _add(self, draws: ChainDraws | None) -> None:
        """Append draws to those of the phase."""
        if draws is None:
            return
        if self.state.done == 0:
            self.draws = self.sampler.shapes.empty(self.sampler.phases[self.state.phase].length)
        for mine, new in zip(self.draws, draws, strict=True):
            mine[self.state.done : self.state.done + len(new)] = new

    def _next_phase(self) -> None:
        """Enter the next phase if this one is done and not the last."""
        turned = False
        while self.left == 0 and self.state.phase + 1 < len(self.sampler.phases):
            state, turned = self.state, True
            position, adapted = state.position, state.adapted
            if state.done > 0:
                position, adapted = self.sampler.adapt(state, self.draws)
            self.state = ChainState(state.phase + 1, 0, position, adapted, state.rng)
            self.draws = _NO_DRAWS
        if turned:
            self._save(None)

    def _save(self, draws: ChainDraws | None) -> None:
        state = self.state
        content: dict[str, Any] = {"phase": state.phase, "done": state.done, "rng": state.rng}
        content |= {f"{_POSITION}{name}": array for name, array in state.position.items()}
        if state.done == 0:
            content |= {f"{_ADAPTED}{name}": array for name, array in state.adapted.items()}
        if draws is not None:
            content |= {f"{_DRAWS}{name}": array for name, array in draws._asdict().items()}
        self.checkpoint.add("chain", self.k, content, self.rows)
        self.rows += 1

    def _restore(self, content: dict[str, Any]) -> None:
        """Restore the state from a row of the checkpoint; ValueError if it is invalid."""
        before, phases = self.state, self.sampler.phases
        phase, done, rng = (content[name] for name in ("phase", "done", "rng"))
        if type(phase) is not int or type(done) is not int:
            raise ValueError("a phase or a count that is not a number")
        if self.rows == 0:
            follows = phase == done == 0
        elif phase == before.phase:
            follows = before.done < done <= phases[phase].length
        else:  # the next phase that has any draws
            skipped = phases[before.phase + 1 : phase]
            follows = self.left == done == 0 and before.phase < phase < len(phases)
            follows = follows and not any(each.length for each in skipped)
        if not follows:
            raise ValueError("a row that does not follow the one before")
        drawn = done - before.done if phase == before.phase and phases[phase].keeps else 0
        self._add(_draws_of(content, self.sampler, drawn) if drawn else None)
        position = _shaped_like(before.position, _POSITION, content)
        adapted = before.adapted if done else _shaped_like(before.adapted, _ADAPTED, content)
        _generator(rng)  # raises if invalid
        self.state = ChainState(phase, done, position, adapted, rng)
        self.sampler.check(self.state)
        self.rows += 1


# --- inside -----------------------------------------------------------------------------------


_NO_DRAWS = ChainDraws(np.empty(0), np.empty(0), np.empty(0))


def _shaped_like(arrays: Arrays, prefix: str, content: dict[str, Any]) -> Arrays:
    """The arrays of a row with these names and shapes."""
    return {
        name: floats_of(content, f"{prefix}{name}", array.shape) for name, array in arrays.items()
    }


def _draws_of(content: dict[str, Any], sampler: Sampler, count: int) -> ChainDraws:
    """The draws in a row."""
    shapes = zip(ChainDraws._fields, sampler.shapes.of(count), strict=True)
    return ChainDraws(*(floats_of(content, f"{_DRAWS}{name}", shape) for name, shape in shapes))


def _generator(state: Mapping[str, Any]) -> np.random.Generator:
    bits = np.random.PCG64()
    bits.state = state  # type: ignore[assignment]
    return np.random.Generator(bits)


def _on_threads(sampler: Sampler, runs: Sequence[ChainRun], n_threads: int, tick: Tick) -> None:
    """Run chains on threads; an interruption or an error stops all of them after their blocks."""
    stop = Event()

    def run_to_its_end(run: ChainRun) -> None:
        while run.left and not stop.is_set():
            segment = advance_chain(sampler, (run.state, min(sampler.block, run.left)))
            run.take(segment)
            tick(segment.length)

    with ThreadPoolExecutor(n_threads) as pool:
        futures = [pool.submit(run_to_its_end, run) for run in runs]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            stop.set()
    for future in futures:
        future.result()


def _in_rounds(sampler: Sampler, runs: Sequence[ChainRun], n_jobs: int | None, tick: Tick) -> None:
    """Run chains on the active joblib backend, in rounds of about `_ROUND` seconds."""
    blocks, shared = 1, Shared(sampler)
    while going := [run for run in runs if run.left]:
        started = monotonic()
        tasks = [(run.state, min(run.left, blocks * sampler.block)) for run in going]
        with closing(run_anywhere(advance_chain, shared, tasks, n_jobs)) as segments:
            for run, segment in zip(going, segments, strict=True):
                run.take(segment)
                tick(segment.length)
        took = monotonic() - started
        if took < 0.5 * _ROUND:
            blocks *= 2
        elif took > 2.0 * _ROUND:
            blocks = max(1, blocks // 2)
