"""Settings of every case, and how ours and the peer take turns."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from benchmarks.peer import Peer

# Seconds before every run. Right after the peer's turn, ours took up to 1.5 times as long as after
# this pause (20 fits of 1 600 triplets: 13 ms against 9); no effect on the peer's times was seen.
PAUSE = 1.0


class Setting(NamedTuple):
    """How to run the cases."""

    quick: bool
    peer: Peer | None
    data: Path | None  # the folder of the human answers

    def choose(self, full: Any, quick: Any) -> Any:
        """Return one of two sizes."""
        return quick if self.quick else full


class Timed(NamedTuple):
    """A result and the seconds it took."""

    seconds: float
    result: Any


class Repeated(NamedTuple):
    """The median of several times, the fastest and the slowest, and the last result."""

    seconds: float
    result: Any
    fastest: float
    slowest: float


Run = Callable[[], Timed]


def timed(function: Callable[..., Any], *arguments: Any) -> Timed:
    """Call a function and take its time."""
    start = time.perf_counter()
    result = function(*arguments)
    return Timed(time.perf_counter() - start, result)


def take_turns(runs: dict[str, Run], repeats: int) -> dict[str, Repeated]:
    """Run all in turn, repeatedly, each after a pause."""
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    results = {}
    for _ in range(repeats):
        for name, run in runs.items():
            time.sleep(PAUSE)
            took, results[name] = run()
            seconds[name].append(took)
    return {
        name: Repeated(median(took), results[name], min(took), max(took))
        for name, took in seconds.items()
    }


@contextmanager
def counted_warnings() -> Iterator[Counter[str]]:
    """Silence warnings, and count them by category."""
    counts: Counter[str] = Counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield counts
    counts.update(warning.category.__name__ for warning in caught)
