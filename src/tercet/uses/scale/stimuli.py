"""Objects that are physical stimuli: put in the order of their values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tercet.errors import InputError
from tercet.triplets import Triplets, as_triplets, restore

Floats = NDArray[np.float64]
Index = NDArray[np.int64]


def read_with(answers: Any, n_stimuli: int | None) -> Triplets:
    """Answers about as many objects as there are stimuli, mentioned or not."""
    triplets = as_triplets(answers)
    if n_stimuli is not None and triplets.names is None and n_stimuli > triplets.n_objects:
        return as_triplets(triplets, n_stimuli)
    return triplets


def order_of(
    stimuli: ArrayLike | Mapping[str, float] | None, n: int, names: tuple[str, ...] | None
) -> tuple[Index, Floats]:
    """The objects (n,) from the smallest stimulus to the largest, and their values."""
    if stimuli is None:
        return np.arange(n), np.arange(n, dtype=np.float64)
    if isinstance(stimuli, Mapping):
        if names is None:
            raise InputError(
                "stimuli are given by name, but the objects have no names; give an array in the "
                "order of the objects."
            )
        if unknown := [name for name in names if name not in stimuli]:
            raise InputError(f"there is no stimulus value for the object {unknown[0]!r}.")
        stimuli = [stimuli[name] for name in names]
    try:
        values = np.asarray(stimuli, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError("stimuli must be numbers, one for each object.") from error
    if values.shape != (n,):
        raise InputError(
            f"stimuli must have one value for each of the {n} objects, got shape {values.shape}."
        )
    if not np.isfinite(values).all():
        bad = int(np.argmin(np.isfinite(values)))
        label = label_of(bad, names)
        raise InputError(f"the stimulus of object {label} is {values[bad]}, which is not a number.")
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    if (same := np.flatnonzero(np.diff(ordered) == 0.0)).size:
        one, other = (label_of(int(order[k]), names) for k in (same[0], same[0] + 1))
        raise InputError(
            f"objects {one} and {other} have the same stimulus value {ordered[same[0]]:g}, so "
            "their order is unknown; give every object a value of its own."
        )
    return order.astype(np.int64), ordered


def label_of(number: int, names: tuple[str, ...] | None) -> str:
    """What an error calls an object: by its name where it has one."""
    return str(number) if names is None else repr(names[number])


def renumber(triplets: Triplets, order: Index) -> Triplets:
    """The same answers with objects numbered in the order of the stimuli, all of them asked."""
    missing = np.setdiff1d(np.arange(len(order)), triplets.array)
    if missing.size:
        raise InputError(
            f"object {label_of(int(missing[0]), triplets.names)} is in no comparison, so its "
            "stimulus has no place on the scale; leave it out, or ask about it."
        )
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    names = None if triplets.names is None else tuple(triplets.names[k] for k in order)
    return restore(triplets._fields._replace(array=rank[triplets.array], names=names))
