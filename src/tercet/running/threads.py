"""Threads, and a progress bar."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from itertools import islice
from numbers import Integral
from threading import Lock
from typing import Any, TypeVar

from tqdm import tqdm

from tercet.errors import InputError

__all__ = [
    "progress_bar",
]

T = TypeVar("T")
R = TypeVar("R")

_most: ContextVar[int | None] = ContextVar("_most", default=None)

_lock = Lock()
_users = 0  # of `one_blas_thread`
_limit: Any = None


@contextmanager
def threads_at_most(number: int) -> Iterator[None]:
    """Limit "all cores" to this number, as for one of several processes on a machine."""
    before = _most.set(number)
    try:
        yield
    finally:
        _most.reset(before)


def count_threads(n_jobs: int | None) -> int:
    """The number of threads; None and -1 mean all cores."""
    if n_jobs is None or n_jobs == -1:
        return _most.get() or os.cpu_count() or 1
    if not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs < 1:
        raise InputError(
            f"n_jobs must be a positive whole number, or -1 for all cores, got {n_jobs!r}."
        )
    return int(n_jobs)


def in_order(function: Callable[[T], R], items: Iterable[T], n_jobs: int) -> Iterator[R]:
    """Like ``map``, on threads, in order and only a few items ahead, so memory is bounded."""
    todo = iter(items)
    first = list(islice(todo, 2))
    if n_jobs == 1 or len(first) < 2:
        yield from map(function, first)
        yield from map(function, todo)
        return
    with ThreadPoolExecutor(n_jobs) as pool:
        ahead: deque[Future[R]] = deque(pool.submit(function, item) for item in first)
        ahead.extend(pool.submit(function, item) for item in islice(todo, n_jobs))
        while ahead:
            result = ahead.popleft().result()
            ahead.extend(pool.submit(function, item) for item in islice(todo, 1))
            yield result


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()  # finding the libraries takes milliseconds


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread until the last user, on any thread, has left.

    More threads would change the last bits of a result, and gain nothing.
    """
    global _users, _limit
    with _lock:
        _users += 1
        if _users == 1:
            _limit = _controller().limit(limits=1, user_api="blas")
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if _users == 0:
                _limit.restore_original_limits()


# --- a progress bar -----------------------------------------------------------------------------


_SHARES = "{desc}: {percentage:3.0f} % |{bar}| {elapsed}, about {remaining} left"


def progress_bar(total: float, what: str, show: bool | None = None, *, shares: bool = False) -> Any:
    """A context with ``update(count)``; by default shown on a terminal only.

    Parameters
    ----------
    total : float
        The count at the end.
    what : str
        What is counted, in a word or two.
    show : bool, optional
    shares : bool
        Whether items are of unequal size: then only the share done is shown, and the time left
        follows from the mean speed.
    """
    disable = None if show is None else not show
    how = {"bar_format": _SHARES, "smoothing": 0.0} if shares else {}
    return tqdm(total=total, desc=what, disable=disable, leave=False, **how)
