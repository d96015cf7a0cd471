"""A progress bar for work that people wait for."""

from __future__ import annotations

from typing import Any

from tqdm import tqdm

__all__ = ["progress_bar"]


def progress_bar(total: int, what: str, show: bool | None = None) -> Any:
    """A context with ``update(count)``; shown on a terminal only, unless ``show`` says otherwise.

    Parameters
    ----------
    total : int
        When it is full.
    what : str
        What is counted, in a word or two.
    show : bool, optional
    """
    disable = None if show is None else not show
    return tqdm(total=total, desc=what, disable=disable, leave=False)
