"""Fits that a checkpoint keeps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tercet.checkpoint import Checkpoint
from tercet.engine.fit import Done, Fit

_ALL, _REPLICATE = "all answers", "replicate"


Shape = tuple[int, int]  # objects and dimensions


def fit_once(checkpoint: Checkpoint, shape: Shape, fit: Callable[[], Fit]) -> Fit:
    """The fit of all answers, or the one that was kept."""
    return checkpoint.once(_ALL, 0, fit, Fit._asdict, lambda content: _restored(content, shape))


def fit_replicates(
    checkpoint: Checkpoint,
    shape: Shape,
    count: int,
    fit: Callable[[list[int], Done], list[Fit]],
    tick: Callable[[int], object],
) -> list[Fit]:
    """Fit the replicates that were not kept, and keep each.

    Parameters
    ----------
    checkpoint : Checkpoint
    shape : tuple of two ints
        Objects and dimensions of each.
    count : int
        How many replicates there are.
    fit : callable
        Takes the numbers of some replicates, and whom to hand their fits to as they come.
    tick : callable
        Is told how many there are more.
    """

    def read(content: dict[str, Any]) -> Fit:
        return _restored(content, shape)

    found = ((k, checkpoint.one(_REPLICATE, k, read)) for k in range(count))
    known = {k: one for k, one in found if one is not None}
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


_KINDS = {
    "loss": (float, int),
    "n_iter": (int,),
    "converged": (bool,),
    "separable": (bool,),
    "reason": (str,),
}


def _restored(content: dict[str, Any], shape: Shape) -> Fit:
    """A fit as it was kept; one that failed has any numbers. ValueError if it is no fit."""
    fit = Fit(**content)
    embedding: Any = fit.embedding
    if not isinstance(embedding, np.ndarray) or embedding.dtype != np.float64:
        raise ValueError("an embedding without numbers")
    if embedding.shape != shape:
        raise ValueError(f"an embedding of the shape {embedding.shape}")
    if any(type(content[name]) not in kinds for name, kinds in _KINDS.items()):
        raise ValueError("a fit with other values")
    return fit
