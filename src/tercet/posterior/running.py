"""Chains on their way: side by side on threads or on a joblib backend, block after block, kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import closing
from threading import Event
from time import monotonic
from typing import Any, NamedTuple

import numpy as np

from tercet.checkpoint import NOTHING_KEPT, Checkpoint, floats_of
from tercet.engine.backend import backend_is_chosen, run_anywhere
from tercet.engine.parcel import Shared
from tercet.parallel import count_threads
from tercet.posterior.chains import Chain
from tercet.posterior.walks import Arrays, Part, State, Walk

_ROUND = 20.0  # seconds that a backend's workers draw before they report, more or less
_PLACE, _TOOLS, _DRAWS = "place.", "tools.", "draws."  # how names in a checkpoint begin

Tick = Callable[[int], object]


def run_chains(
    walk: Walk,
    rngs: Sequence[np.random.Generator],
    n_jobs: int | None,
    tick: Tick,
    kept: Checkpoint = NOTHING_KEPT,
) -> list[Chain]:
    """Run a chain for every generator, from where a checkpoint left it; ``tick`` is told of draws.

    On threads, or on the joblib backend if one was chosen. There workers are given a state and a
    number of draws and hand back the draws and the new state, so that a lost worker costs no more
    than these; the bits are the same.
    """
    runs = [_Run(walk, k, rng, kept) for k, rng in enumerate(rngs)]
    if before := sum(run.drawn for run in runs):
        tick(before)
    if backend_is_chosen():
        _in_rounds(walk, runs, n_jobs, tick)
    else:
        _on_threads(walk, runs, count_threads(n_jobs), tick)
    return [run.chain() for run in runs]


class Stretch(NamedTuple):
    """What a chain did in a number of draws."""

    length: int
    place: Arrays
    rng: Mapping[str, Any]
    part: Part | None  # where the phase keeps its draws


def go_on(walk: Walk, task: tuple[State, int]) -> Stretch:
    """Draw so many more, within a phase."""
    state, count = task
    # Backends hand over large arrays read-only, for which samplers would be compiled anew.
    tools = {name: np.require(tool, requirements="W") for name, tool in state.tools.items()}
    state = state._replace(tools=tools)
    rng, parts = _generator(state.rng), []
    for a in range(0, count, walk.block):
        place, part = walk.advance(state, min(walk.block, count - a), rng)
        state = state._replace(place=place)
        if walk.phases[state.phase].keeps:
            parts.append(part)
    joined = Part(*map(np.concatenate, zip(*parts, strict=True))) if parts else None
    return Stretch(count, state.place, rng.bit_generator.state, joined)


# --- inside -----------------------------------------------------------------------------------


class _Run:
    """A chain on its way: its state, and the draws of its phase so far."""

    def __init__(self, walk: Walk, k: int, rng: np.random.Generator, kept: Checkpoint) -> None:
        self.walk = walk
        self.k = k
        self.kept = kept
        self.rows = 0  # in the checkpoint
        self.part = _NO_DRAWS
        place, tools = walk.start(k, rng)
        self.state = State(0, 0, place, tools, rng.bit_generator.state)
        for _ in kept.rows("chain", k, self._restore):
            pass
        if self.rows == 0:
            self._save(None)
        self._turn()

    @property
    def left(self) -> int:
        """Draws to come in this phase; none at the end."""
        return self.walk.phases[self.state.phase].length - self.state.done

    @property
    def drawn(self) -> int:
        """Draws so far, of all phases."""
        before = self.walk.phases[: self.state.phase]
        return sum(phase.length for phase in before) + self.state.done

    def take(self, stretch: Stretch) -> None:
        """Go on to where a stretch led."""
        length, place, rng, part = stretch
        self._add(part)
        self.state = self.state._replace(done=self.state.done + length, place=place, rng=rng)
        self._save(part)
        self._turn()

    def chain(self) -> Chain:
        """The chain, at its end."""
        return self.walk.chain(self.part, _generator(self.state.rng))

    def _add(self, part: Part | None) -> None:
        """Put draws to those of the phase."""
        if part is None:
            return
        if self.state.done == 0:
            self.part = self.walk.widths.empty(self.walk.phases[self.state.phase].length)
        for mine, new in zip(self.part, part, strict=True):
            mine[self.state.done : self.state.done + len(new)] = new

    def _turn(self) -> None:
        """Go over to the next phase where one is done, but not from the last."""
        turned = False
        while self.left == 0 and self.state.phase + 1 < len(self.walk.phases):
            state, turned = self.state, True
            place, tools = state.place, state.tools
            if state.done > 0:
                place, tools = self.walk.settle(state, self.part)
            self.state = State(state.phase + 1, 0, place, tools, state.rng)
            self.part = _NO_DRAWS
        if turned:
            self._save(None)

    def _save(self, part: Part | None) -> None:
        state = self.state
        content: dict[str, Any] = {"phase": state.phase, "done": state.done, "rng": state.rng}
        content |= {f"{_PLACE}{name}": array for name, array in state.place.items()}
        if state.done == 0:
            content |= {f"{_TOOLS}{name}": array for name, array in state.tools.items()}
        if part is not None:
            content |= {f"{_DRAWS}{name}": array for name, array in part._asdict().items()}
        self.kept.add("chain", self.k, content, self.rows)
        self.rows += 1

    def _restore(self, content: dict[str, Any]) -> None:
        """Go on to where a row of the checkpoint was; ValueError where no chain was."""
        before, phases = self.state, self.walk.phases
        phase, done, rng = (content[name] for name in ("phase", "done", "rng"))
        if type(phase) is not int or type(done) is not int:
            raise ValueError("a place that is no number")
        if self.rows == 0:
            follows = phase == done == 0
        elif phase == before.phase:
            follows = before.done < done <= phases[phase].length
        else:  # the next phase that has any draws
            skipped = phases[before.phase + 1 : phase]
            follows = self.left == done == 0 and before.phase < phase < len(phases)
            follows = follows and not any(each.length for each in skipped)
        if not follows:
            raise ValueError("a row that does not follow")
        drawn = done - before.done if phase == before.phase and phases[phase].keeps else 0
        self._add(_draws_of(content, self.walk, drawn) if drawn else None)
        place = _shaped_like(before.place, _PLACE, content)
        tools = before.tools if done else _shaped_like(before.tools, _TOOLS, content)
        _generator(rng)  # says if it is none
        self.state = State(phase, done, place, tools, rng)
        self.walk.check(self.state)
        self.rows += 1


_NO_DRAWS = Part(np.empty(0), np.empty(0), np.empty(0))


def _shaped_like(arrays: Arrays, prefix: str, content: dict[str, Any]) -> Arrays:
    """The arrays of a row that have the same names and shapes."""
    return {
        name: floats_of(content, f"{prefix}{name}", array.shape) for name, array in arrays.items()
    }


def _draws_of(content: dict[str, Any], walk: Walk, count: int) -> Part:
    """So many draws of a row."""
    shapes = zip(Part._fields, walk.widths.shapes(count), strict=True)
    return Part(*(floats_of(content, f"{_DRAWS}{name}", shape) for name, shape in shapes))


def _generator(state: Mapping[str, Any]) -> np.random.Generator:
    bits = np.random.PCG64()
    bits.state = state  # type: ignore[assignment]
    return np.random.Generator(bits)


def _on_threads(walk: Walk, runs: Sequence[_Run], n_threads: int, tick: Tick) -> None:
    """Run chains on threads; an interruption or an error ends them all after their blocks."""
    stop = Event()

    def run_to_its_end(run: _Run) -> None:
        while run.left and not stop.is_set():
            stretch = go_on(walk, (run.state, min(walk.block, run.left)))
            run.take(stretch)
            tick(stretch.length)

    with ThreadPoolExecutor(n_threads) as pool:
        futures = [pool.submit(run_to_its_end, run) for run in runs]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            stop.set()
    for future in futures:
        future.result()


def _in_rounds(walk: Walk, runs: Sequence[_Run], n_jobs: int | None, tick: Tick) -> None:
    """Run chains on the active joblib backend, all for a while, and then again."""
    blocks, shared = 1, Shared(walk)
    while going := [run for run in runs if run.left]:
        begun = monotonic()
        tasks = [(run.state, min(run.left, blocks * walk.block)) for run in going]
        with closing(run_anywhere(go_on, shared, tasks, n_jobs)) as stretches:
            for run, stretch in zip(going, stretches, strict=True):
                run.take(stretch)
                tick(stretch.length)
        took = monotonic() - begun
        if took < 0.5 * _ROUND:
            blocks *= 2
        elif took > 2.0 * _ROUND:
            blocks = max(1, blocks // 2)
