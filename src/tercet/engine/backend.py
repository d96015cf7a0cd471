"""Many fits on whatever runs them: threads of this process, or a joblib backend that was chosen."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from joblib.externals.loky.process_executor import TerminatedWorkerError
from joblib.parallel import get_active_backend

from tercet.engine.fit import LARGE, Fit, Rows, Seeds, Solver, batches, fit_subsets
from tercet.engine.on_dask import require_running, run_on_dask
from tercet.engine.problem import Problem
from tercet.engine.shared_data import Payload, Shared, keep_freed_memory, unpack
from tercet.errors import TercetError
from tercet.parallel import count_threads, one_blas_thread, threads_at_most

S = TypeVar("S")
I = TypeVar("I")
R = TypeVar("R")

_LOT = 8  # tasks a worker: more would be lost together, fewer would wait for each other


def fit_anywhere(
    solver: Solver,
    problem: Problem,
    subsets: Sequence[Rows],
    seeds: Seeds,
    n_jobs: int | None = None,
) -> Generator[Fit, None, None]:
    """Solve the problems of many subsets, as `fit_subsets` does, on the active joblib backend.

    Outside of ``joblib.parallel_config(backend=...)`` that is threads of this process, all cores by
    default. Each subset has its own seed, so the result does not depend on where it was computed.
    Subsets that are made when asked for are made where they are fitted.
    """
    if not backend_is_chosen():
        return fit_subsets(solver, problem, subsets, seeds, n_jobs)
    n_workers = count_workers(n_jobs)
    spans = batches(solver, problem, len(subsets), n_workers)
    tasks = _grouped(spans, len(problem.comparisons), n_workers)
    work = _Work(solver, problem, subsets, seeds)
    return joined(run_anywhere(_solve_batches, work, tasks, n_jobs))


def joined(lists: Generator[list[R], None, None]) -> Generator[R, None, None]:
    """What is in the lists, one after the other."""
    with closing(lists):
        for some in lists:
            yield from some


class _Work(NamedTuple):
    """What every batch needs."""

    solver: Solver
    problem: Problem
    subsets: Sequence[Rows]
    seeds: Seeds


def _solve_batches(work: _Work, spans: Sequence[slice]) -> list[Fit]:
    solver, problem, subsets, seeds = work
    parts = (solver.solve_subsets(problem, subsets[span], seeds[span]) for span in spans)
    return [fit for part in parts for fit in part]


def _grouped(spans: Sequence[slice], n_comparisons: int, n_workers: int) -> list[Sequence[slice]]:
    """Let a task be up to four short batches where every worker has many: on Dask one costs 4 ms.

    Then a task is still well under a second, so that little is lost with a worker.
    """
    work = n_comparisons * max((span.stop - span.start for span in spans), default=1)
    size = max(1, min(4 * LARGE // max(1, work), 4, len(spans) // (16 * max(1, n_workers))))
    return [spans[k : k + size] for k in range(0, len(spans), size)]


def backend_is_chosen() -> bool:
    """Whether a joblib backend was chosen, by `parallel_config` or because this is its worker.

    Only the default one follows a hint to prefer threads or processes.
    """
    hints = ("threads", "processes")
    return len({type(get_active_backend(prefer=hint)[0]) for hint in hints}) == 1


def count_own_threads(n_jobs: int | None) -> int:
    """How many threads this process uses: ``n_jobs``, unless those are a chosen backend's."""
    return count_threads(None if backend_is_chosen() else n_jobs)


def count_workers(n_jobs: int | None) -> int:
    """How many tasks the active joblib backend runs side by side."""
    if (client := getattr(get_active_backend()[0], "client", None)) is not None:
        require_running(client)
    try:
        return int(effective_n_jobs(n_jobs))
    except (TimeoutError, OSError) as error:  # Dask without workers, or without a scheduler
        raise TercetError(f"the chosen joblib backend runs nothing: {error}") from error


def run_anywhere(
    function: Callable[[S, I], R],
    shared: S | Shared[S],
    items: Iterable[I],
    n_jobs: int | None = None,
    *,
    in_order: bool = True,
) -> Generator[R, None, None]:
    """Call ``function(shared, item)`` for every item on the active joblib backend.

    Where that is other processes, ``shared`` goes to each of them once, not once per item, and a
    call there uses one thread and no backend of its own.

    Parameters
    ----------
    function : callable
    shared : object
        Large data, such as tuples of arrays; as `Shared` where the next call shares them too.
    items : iterable
        Small ones: each travels with its call.
    n_jobs : int, optional
        The backend's own.
    in_order : bool
        Whether results come in the order of the items, or as they are known.
    """
    backend = get_active_backend()[0]
    whole: Shared[S] = shared if isinstance(shared, Shared) else Shared(shared)
    if (client := getattr(backend, "client", None)) is not None:
        patience = backend.wait_for_workers_timeout or 0.0
        with backend.retrieval_context():  # a worker that waits makes room for those it waits for
            yield from run_on_dask(
                client, patience, _Call(function), whole.payload, items, in_order
            )
    elif count_workers(n_jobs) == 1:
        yield from (_on_one_thread(function, whole.value, item) for item in items)
    elif getattr(backend, "supports_sharedmem", False):
        yield from _in_parallel(backend, function, whole.value, items, n_jobs, in_order)
    else:
        yield from _in_parallel(backend, _Call(function), whole.payload, items, n_jobs, in_order)


def _in_parallel(
    backend: Any,
    function: Callable[[S, I], R],
    shared: S,
    items: Iterable[I],
    n_jobs: int | None,
    in_order: bool,
) -> Generator[R, None, None]:
    streams = getattr(backend, "supports_return_generator", False)
    way = ("generator" if in_order else "generator_unordered") if streams else "list"
    parallel = Parallel(n_jobs=n_jobs, batch_size=1, return_as=way)
    calls = (delayed(function)(shared, item) for item in items)
    try:
        if streams:
            yield from _as_they_come(parallel, calls)
        else:
            yield from _in_lots(parallel, calls, _LOT * count_workers(n_jobs))
    except TerminatedWorkerError as error:
        raise TercetError(
            "a process was ended from outside, perhaps for lack of memory; use fewer jobs."
        ) from error


def _as_they_come(parallel: Parallel, calls: Iterable[Any]) -> Generator[Any, None, None]:
    results = parallel(calls)
    with _closed_quietly(results):
        for result in results:  # noqa: UP028 (joblib would be told of an end before we are)
            yield result


def _in_lots(parallel: Parallel, calls: Iterable[Any], size: int) -> Generator[Any, None, None]:
    """For backends that hand over nothing before the end, which would keep nothing till then."""
    todo = iter(calls)
    with parallel:
        while lot := list(islice(todo, size)):
            yield from parallel(lot)


@contextmanager
def _closed_quietly(results: Any) -> Iterator[None]:
    """Cancel what is left without joblib's warning: whoever asked was interrupted, or failed."""
    try:
        yield
    finally:
        if hasattr(results, "close"):
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", ".*tasks.* have been", UserWarning)
                results.close()


class _Call:
    """A function as a worker calls it: with packed data, and on one thread."""

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self.function = function

    def __call__(self, payload: Payload, item: Any) -> Any:
        keep_freed_memory()
        with parallel_config(backend="sequential"):
            return _on_one_thread(self.function, unpack(payload), item)


def _on_one_thread(function: Callable[[S, I], R], shared: S, item: I) -> R:
    with one_blas_thread(), threads_at_most(1):
        return function(shared, item)
