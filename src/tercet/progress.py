"""A progress bar for work that people wait for."""

from __future__ import annotations

from typing import Any

from tqdm import tqdm

__all__ = ["progress_bar"]

_SHARES = "{desc}: {percentage:3.0f} % |{bar}| {elapsed}, about {remaining} left"


def progress_bar(total: float, what: str, show: bool | None = None, *, shares: bool = False) -> Any:
    """A context with ``update(count)``; shown on a terminal only, unless ``show`` says otherwise.

    Parameters
    ----------
    total : float
        When it is full.
    what : str
        What is counted, in a word or two.
    show : bool, optional
    shares : bool
        Whether what is counted is work of unequal size: then only the share that is done is shown,
        and the time left follows from the mean speed so far.
    """
    disable = None if show is None else not show
    how = {"bar_format": _SHARES, "smoothing": 0.0} if shares else {}
    return tqdm(total=total, desc=what, disable=disable, leave=False, **how)
