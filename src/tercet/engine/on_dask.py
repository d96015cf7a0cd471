"""Many tasks on a Dask cluster that loses workers, or all of them.

joblib's own way to Dask puts shared data on one worker, whose death is the end of the run, takes a
lost task's error for its result, and waits for ever where no worker is left. Here Dask's scheduler
keeps the data and hands them to a worker that asks, a lost task is run again elsewhere, and there
is an error when nobody is left.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from queue import Empty, SimpleQueue
from typing import Any
from weakref import WeakKeyDictionary

from tercet.engine.shared_data import Payload
from tercet.errors import TercetError

_placed: WeakKeyDictionary[Payload, Any] = WeakKeyDictionary()  # futures of payloads in use

_LOOK = 0.5  # seconds between two looks whether anybody is still there


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
        Seconds without any worker, after which it is an error.
    function : callable
    payload : Payload
    items : iterable
    in_order : bool
        Whether results come in the order of the items, or as they are known.
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
    """Where on the cluster the data are; those of a run before are there still."""
    data = _placed.get(payload)
    if data is None or data.client is not client:
        data = _placed[payload] = client.submit(_same, payload, pure=False)
    return data


def require_running(client: Any) -> None:
    """Raise an error at once where Dask's own calls would try for half a minute."""
    if client.status != "running":
        raise TercetError(_GONE)


class _Task:
    """A function whose first argument comes by name, and last."""

    def __init__(self, function: Callable[[Any, Any], Any]) -> None:
        self.function = function
        self.__name__ = "tercet"  # as Dask's dashboard calls it

    def __call__(self, item: Any, payload: Payload) -> Any:
        return self.function(payload, item)


class _Watch:
    """Looks whether the cluster is still there."""

    def __init__(self, client: Any, patience: float) -> None:
        self.client = client
        self.patience = patience
        self.seen = time.monotonic()

    def saw_work(self) -> None:
        """Somebody must be there."""
        self.seen = time.monotonic()

    def look(self) -> None:
        """Raise an error where the scheduler, or for too long every worker, is gone."""
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
                "run again; to wait longer for them, say "
                "parallel_config(backend='dask', wait_for_workers_timeout=3600)."
            )


def _result(future: Any, watch: _Watch) -> Any:
    from distributed import KilledWorker

    while True:
        try:
            return future.result(timeout=_LOOK)
        except KilledWorker as error:
            raise TercetError(
                "a task was tried on several Dask workers, and all of them were ended, perhaps "
                "for lack of memory. Give every worker more, or start fewer on a machine."
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
    "the Dask cluster is gone: its scheduler does not answer any more. Start it again, make a new "
    "Client, and run again."
)
