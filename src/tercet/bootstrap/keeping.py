"""Fits that a checkpoint keeps."""

from __future__ import annotations

from collections.abc import Callable

from tercet.checkpoint import Checkpoint
from tercet.engine.fit import Done, Fit

_ALL, _REPLICATE = "all answers", "replicate"


def fit_once(checkpoint: Checkpoint, fit: Callable[[], Fit]) -> Fit:
    """The fit of all answers, or the one that was kept."""
    return Fit(**checkpoint.once(_ALL, 0, lambda: fit()._asdict()))


def fit_replicates(
    checkpoint: Checkpoint,
    count: int,
    fit: Callable[[list[int], Done], list[Fit]],
    tick: Callable[[int], object],
) -> list[Fit]:
    """Fit the replicates that were not kept, and keep each.

    Parameters
    ----------
    checkpoint : Checkpoint
    count : int
        How many replicates there are.
    fit : callable
        Takes the numbers of some replicates, and whom to hand their fits to as they come.
    tick : callable
        Is told how many there are more.
    """
    known = {k: Fit(**content) for k in range(count) for content in checkpoint.rows(_REPLICATE, k)}
    if known:
        tick(len(known))
    missing = [k for k in range(count) if k not in known]
    coming = iter(missing)

    def keep(fits: list[Fit]) -> None:
        for one in fits:
            checkpoint.add(_REPLICATE, next(coming), one._asdict())
        tick(len(fits))

    if missing:
        known |= dict(zip(missing, fit(missing, keep), strict=True))
    return [known[k] for k in range(count)]
