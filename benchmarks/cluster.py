"""Many bootstraps on processes: two against one, and Dask's against joblib's own."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np
from joblib import parallel_config
from numpy.typing import NDArray

import tercet as tc
from benchmarks.report import Line, Section, Table, duration, times
from benchmarks.setting import Repeated, Setting, Timed, take_turns, timed
from tercet.simulate import gaussian_mixture, noisy_triplets

N, NOISE = 500, 0.3
FASTER, OVERHEAD = 1.8, 0.15
ONE, TWO, DASK = "1 process", "2 processes", "2 Dask workers"


def run(setting: Setting) -> Section:
    """All three in turn, each process on one thread, workers warm."""
    from distributed import Client, LocalCluster

    answers, samples = setting.choose((200_000, 200), (20_000, 20))
    section = Section(f"{samples} bootstraps of {answers} answers, n = {N}, on processes")
    points, _ = gaussian_mixture(N, random_state=0)
    data = noisy_triplets(points, answers, noise=NOISE, random_state=0)
    with ExitStack() as stack:
        cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
        stack.enter_context(Client(stack.enter_context(cluster)))

        def on(backend: str, jobs: int, number: int = samples) -> Timed:
            with parallel_config(backend, n_jobs=jobs):
                return timed(_bootstrap, data, number)

        runs = {ONE: lambda: on("loky", 1), TWO: lambda: on("loky", 2), DASK: lambda: on("dask", 2)}
        for backend, jobs in (("loky", 1), ("loky", 2), ("dask", 2)):
            on(backend, jobs, 4)  # starts the processes, which load the compiled code
        took = take_turns(runs, setting.choose(3, 1))
    same = all(np.array_equal(took[ONE].result, took[name].result) for name in (TWO, DASK))
    section.lines += _lines(samples, took, "the same bits" if same else "other bits")
    section.tables.append(_table(took, samples))
    section.notes.append(
        "`Bootstrap(STE(2), n_samples)` inside `joblib.parallel_config`, alignment included, with "
        'backend="loky" and n_jobs 1 and 2, and on a Dask scheduler with two workers of one thread '
        "on the same machine. Every process uses one thread. Processes are started, and have "
        "loaded the compiled code, before the first run; a run ships the answers to them anew."
    )
    return section


def _bootstrap(answers: tc.Triplets, samples: int) -> NDArray[np.float64]:
    return tc.Bootstrap(tc.STE(2), samples, random_state=0).fit(answers).ensemble_.draws


def _lines(samples: int, took: dict[str, Repeated], bits: str) -> list[Line]:
    one, two, dask = (took[name].seconds for name in (ONE, TWO, DASK))
    overhead = dask / two - 1.0
    return [
        Line(
            f"{samples} bootstraps, 2 processes against 1",
            duration(two),
            f"≥ {FASTER:g}×",
            bool(one / two >= FASTER),
            duration(one),
            times(one, two),
            bits,
        ),
        Line(
            f"{samples} bootstraps, Dask against joblib's own",
            duration(dask),
            f"≤ {OVERHEAD:.0%} more",
            bool(overhead <= OVERHEAD),
            duration(two),
            f"{overhead:+.1%}",
            bits,
        ),
    ]


def _table(took: dict[str, Repeated], samples: int) -> Table:
    rows = [
        (
            name,
            duration(found.seconds),
            duration(found.fastest),
            duration(found.slowest),
            duration(found.seconds / samples),
        )
        for name, found in took.items()
    ]
    header = ("processes", "median", "fastest", "slowest", "per replicate")
    return Table("Times of a whole bootstrap", header, rows)
