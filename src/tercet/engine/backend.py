"""Many calls of one function: on threads of this process, or on a chosen joblib backend."""

from __future__ import annotations

import ctypes
import pickle
import sys
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import closing, contextmanager
from functools import cache, cached_property
from itertools import islice
from queue import Empty, SimpleQueue
from threading import Lock
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import uuid4
from weakref import WeakKeyDictionary

import cloudpickle
import numpy as np
from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from joblib.externals.loky.process_executor import TerminatedWorkerError
from joblib.parallel import get_active_backend
from numpy.typing import NDArray

from tercet.engine.problem import Problem
from tercet.engine.search import LARGE, Fit, Rows, Seeds, Solver, batches, fit_subsets
from tercet.errors import TercetError, ignored
from tercet.running.threads import count_threads, one_blas_thread, threads_at_most

S = TypeVar("S")
I = TypeVar("I")
R = TypeVar("R")

_LOT = 8  # tasks per worker: more would be lost together, fewer would wait for each other


def fit_anywhere(
    solver: Solver,
    problem: Problem,
    subsets: Sequence[Rows],
    seeds: Seeds,
    n_jobs: int | None = None,
) -> Generator[Fit, None, None]:
    """Solve the problems of many subsets, as `fit_subsets` does, on the active joblib backend.

    Outside of ``joblib.parallel_config(backend=...)`` that is threads of this process, all cores by
    default. Each subset has its own seed, so the result does not depend on where it is computed.
    Lazily drawn subsets are drawn where they are fitted.
    """
    if not backend_is_chosen():
        return fit_subsets(solver, problem, subsets, seeds, n_jobs)
    n_workers = count_workers(n_jobs)
    spans = batches(solver, problem, len(subsets), n_workers)
    tasks = _grouped(spans, problem.n_rows, n_workers)
    work = _Work(solver, problem, subsets, seeds)
    return chain_lists(run_anywhere(_solve_batches, work, tasks, n_jobs))


def chain_lists(lists: Generator[list[R], None, None]) -> Generator[R, None, None]:
    """The items of the lists, in order."""
    with closing(lists):
        for some in lists:
            yield from some


class _Work(NamedTuple):
    """What all batches share."""

    solver: Solver
    problem: Problem
    subsets: Sequence[Rows]
    seeds: Seeds


def _solve_batches(work: _Work, spans: Sequence[slice]) -> list[Fit]:
    solver, problem, subsets, seeds = work
    parts = (solver.solve_subsets(problem, subsets[span], seeds[span]) for span in spans)
    return [fit for part in parts for fit in part]


def _grouped(spans: Sequence[slice], n_comparisons: int, n_workers: int) -> list[Sequence[slice]]:
    """Combine up to four short batches in a task if workers have many: on Dask a task costs 4 ms.

    A task still takes well under a second, so little is lost with a worker.
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
    """Number of threads of this process: ``n_jobs``, unless it is for a chosen backend."""
    return count_threads(None if backend_is_chosen() else n_jobs)


def count_workers(n_jobs: int | None) -> int:
    """Number of tasks that the active joblib backend runs in parallel."""
    if (client := getattr(get_active_backend()[0], "client", None)) is not None:
        require_running(client)
    try:
        return int(effective_n_jobs(n_jobs))
    except (TimeoutError, OSError) as error:  # Dask without workers, or without a scheduler
        raise TercetError(f"the chosen joblib backend has no workers: {error}") from error


def run_anywhere(
    function: Callable[[S, I], R],
    shared: S | Shared[S],
    items: Iterable[I],
    n_jobs: int | None = None,
    *,
    in_order: bool = True,
) -> Generator[R, None, None]:
    """Call ``function(shared, item)`` for every item on the active joblib backend.

    If that is other processes, ``shared`` is sent to each of them once, not once per item, and a
    call there uses one thread and no backend of its own.

    Parameters
    ----------
    function : callable
    shared : object
        Large data, such as tuples of arrays; as `Shared` if the next call uses them too.
    items : iterable
        Small data, sent with each call.
    n_jobs : int, optional
        The backend's n_jobs.
    in_order : bool
        Whether to yield results in the order of the items, or as they are completed.
    """
    backend = get_active_backend()[0]
    whole: Shared[S] = shared if isinstance(shared, Shared) else Shared(shared)
    if (client := getattr(backend, "client", None)) is not None:
        patience = backend.wait_for_workers_timeout or 0.0
        with backend.retrieval_context():  # a waiting worker yields to the tasks it waits for
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
            "a worker process was killed, perhaps for lack of memory; use fewer jobs."
        ) from error


def _as_they_come(parallel: Parallel, calls: Iterable[Any]) -> Generator[Any, None, None]:
    results = parallel(calls)
    with _closed_quietly(results):
        for result in results:  # noqa: UP028 (with yield from, joblib would be closed first)
            yield result


def _in_lots(parallel: Parallel, calls: Iterable[Any], size: int) -> Generator[Any, None, None]:
    """Yield results in lots, for backends that return nothing before the end of a run."""
    todo = iter(calls)
    with parallel:
        while lot := list(islice(todo, size)):
            yield from parallel(lot)


@contextmanager
def _closed_quietly(results: Any) -> Iterator[None]:
    """Cancel remaining tasks without joblib's warning, after an interruption or an error."""
    try:
        yield
    finally:
        if hasattr(results, "close"):
            with ignored(UserWarning, ".*tasks.* have been"):
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


# --- data for workers: packed once, unpacked once in each process -------------------------------


V = TypeVar("V")

_KEPT = 2  # most recently used payloads cached in a process
_opened: dict[str, Any] = {}
_lock = Lock()  # threads of a worker start together

# From glibc's malloc.h; the second limit is the largest it allows.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_LIMITS = {_TRIM_THRESHOLD: 64 << 20, _MMAP_THRESHOLD: 32 << 20}


class Payload:
    """Packed data with a unique name."""

    def __init__(self, data: NDArray[np.uint8], name: str) -> None:
        self.data = data
        self.name = name


class Shared(Generic[V]):
    """Data shared by several runs, packed at most once."""

    def __init__(self, value: V) -> None:
        self.value = value

    @cached_property
    def payload(self) -> Payload:
        """The data, packed."""
        return pack(self.value)


def pack(value: Any) -> Payload:
    """Pack anything that can be pickled, including functions of an interactive session."""
    # From protocol 5 on, read-only arrays would stay read-only.
    text = cloudpickle.dumps(value, protocol=4)
    return Payload(np.frombuffer(text, dtype=np.uint8), uuid4().hex)


def unpack(payload: Payload) -> Any:
    """Return the data, unpacked once per process."""
    with _lock:
        known = payload.name in _opened
        value = _opened.pop(payload.name) if known else pickle.loads(payload.data.data)
        _opened[payload.name] = value
        while len(_opened) > _KEPT:
            del _opened[next(iter(_opened))]
    return value


@cache
def keep_freed_memory() -> None:
    """Let this process keep up to 64 MB of freed memory; no effect without glibc.

    A fit of 200 000 comparisons needs about 16 MB. A new process returns them to the system after
    every fit, and Dask makes its workers do so; allocating them again, page by page, took a sixth
    to a quarter of the time.
    """
    if sys.platform == "linux" and hasattr(library := ctypes.CDLL(None), "mallopt"):
        for name, limit in _LIMITS.items():
            library.mallopt(name, limit)


# --- Dask clusters, which may lose some or all workers ------------------------------------------


_placed: WeakKeyDictionary[Payload, Any] = WeakKeyDictionary()  # futures of payloads in use

_LOOK = 0.5  # seconds between checks that the cluster is alive


def run_on_dask(
    client: Any,
    patience: float,
    function: Callable[[Any, Any], Any],
    payload: Payload,
    items: Iterable[Any],
    in_order: bool,
) -> Iterator[Any]:
    """Call ``function(payload, item)`` for every item.

    Parameters
    ----------
    client : distributed.Client
    patience : float
        Seconds without any worker before an error is raised.
    function : callable
    payload : Payload
    items : iterable
    in_order : bool
        Whether to yield results in the order of the items, or as they are completed.
    """
    import dask

    with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 PB"}):
        data = _place(client, payload)
        tasks = client.map(_Task(function), list(items), payload=data, pure=False)
    futures = dict(enumerate(tasks))
    del tasks
    ended: SimpleQueue[int] = SimpleQueue()
    for k, future in futures.items():
        future.add_done_callback(lambda _, k=k: ended.put(k))
    watch = _Watch(client, patience)
    known: dict[int, Any] = {}
    waited_for = 0
    while futures:
        try:
            k = ended.get(timeout=_LOOK)
        except Empty:
            watch.look()
            continue
        known[k] = _result(futures.pop(k), watch)
        watch.saw_work()
        if not in_order:
            yield known.pop(k)
        while waited_for in known:
            yield known.pop(waited_for)
            waited_for += 1


def _place(client: Any, payload: Payload) -> Any:
    """The future of the data on the cluster, sent there once."""
    data = _placed.get(payload)
    if data is None or data.client is not client:
        data = _placed[payload] = client.submit(_same, payload, pure=False)
    return data


def require_running(client: Any) -> None:
    """Raise an error at once; Dask's own calls would retry for half a minute."""
    if client.status != "running":
        raise TercetError(_GONE)


class _Task:
    """A function with its first argument passed last, by name."""

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self.function = function
        self.__name__ = "tercet"  # its name on Dask's dashboard

    def __call__(self, item: Any, payload: Payload) -> Any:
        return self.function(payload, item)


class _Watch:
    """Checks that the cluster is alive."""

    def __init__(self, client: Any, patience: float) -> None:
        self.client = client
        self.patience = patience
        self.seen = time.monotonic()

    def saw_work(self) -> None:
        """Record that a worker is alive."""
        self.seen = time.monotonic()

    def look(self) -> None:
        """Raise an error if the scheduler is gone, or all workers for too long."""
        require_running(self.client)
        try:
            alive = bool(self.client.ncores())
        except OSError as error:
            raise TercetError(_GONE) from error
        if alive:
            self.saw_work()
        elif time.monotonic() - self.seen > self.patience:
            raise TercetError(
                f"the Dask cluster has had no worker for {self.patience:g} s. Start workers and "
                "run again; to wait longer for them, use "
                "parallel_config(backend='dask', wait_for_workers_timeout=3600)."
            )


def _result(future: Any, watch: _Watch) -> Any:
    from distributed import KilledWorker

    while True:
        try:
            return future.result(timeout=_LOOK)
        except KilledWorker as error:
            raise TercetError(
                "a task was tried on several Dask workers, and all of them were killed, perhaps "
                "for lack of memory. Give every worker more memory, or start fewer per machine."
            ) from error
        except CancelledError as error:
            raise TercetError(_GONE) from error
        except TimeoutError:  # the worker that has the result may have died
            if future.status == "error":
                raise
            watch.look()


def _same(payload: Payload) -> Payload:
    return payload


_GONE = (
    "the Dask cluster is gone: its scheduler no longer answers. Start it again, make a new "
    "Client, and run again."
)
