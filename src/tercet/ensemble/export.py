"""An ensemble in ArviZ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tercet.arrays import Floats, Index
from tercet.ensemble.draws import Draws
from tercet.errors import InputError, TercetError, ignored

__all__ = ["in_arviz", "to_arviz"]


def to_arviz(
    fields: Draws,
    samples: Floats | None,
    pairs: Index,
    distances: Floats,
    log_likelihood: Floats | None,
) -> Any:
    """See `Ensemble.to_arviz`.

    Parameters
    ----------
    fields : Draws
    samples : (S, n, d) array, optional
        Aligned points, if there are any.
    pairs : (E, 2) integer array
    distances : (S, E) array
    log_likelihood : (S, m) array, optional
    """
    labels, counts = np.unique(fields.chains, return_counts=True)
    if counts.min() < counts.max():
        raise InputError(
            f"ArviZ needs chains of equal length, and these have {counts.tolist()} draws; "
            "select draws with [...] first."
        )
    rows = np.argsort(fields.chains, kind="stable").reshape(len(labels), -1)
    numbers = range(fields.draws.shape[1])
    names = fields.names or tuple(map(str, numbers))
    coords: dict[str, Any] = {
        "chain": labels,
        "object": list(fields.names or numbers),
        "pair": [f"{names[i]}–{names[j]}" for i, j in pairs.tolist()],
    }
    dims = {"distance": ["pair"], "embedding": ["object", "dimension"], "answers": ["answer"]}
    posterior = {"distance": distances[rows]}
    if samples is not None:
        posterior["embedding"] = samples[rows]
        coords["dimension"] = list(range(samples.shape[2]))
    posterior |= {name: column[rows] for name, column in fields.parameters.items()}
    stats = {
        "lp" if name == "log_posterior" else name: column[rows]
        for name, column in fields.statistics.items()
    }
    groups = {"posterior": posterior, "sample_stats": stats}
    if log_likelihood is not None:
        groups["log_likelihood"] = {"answers": log_likelihood[rows]}
        coords["answer"] = list(range(log_likelihood.shape[1]))
    return in_arviz(groups, coords, dims)


def in_arviz(
    groups: Mapping[str, Mapping[str, NDArray[Any]]],
    coords: Mapping[str, Sequence[Any]],
    dims: Mapping[str, Sequence[str]],
) -> Any:
    """Arrays (chain, draw, ...) as ArviZ's InferenceData (0.x) or DataTree (1.x)."""
    try:
        with ignored(FutureWarning):  # once a day 0.23 announces 1.0, which works too
            arviz = import_module("arviz")
    except ImportError as error:
        raise TercetError("to_arviz needs ArviZ: pip install 'tercet[arviz]'.") from error
    filled = {name: group for name, group in groups.items() if group}
    if int(arviz.__version__.split(".")[0]) >= 1:
        return arviz.from_dict(filled, coords=coords, dims=dims)
    return arviz.from_dict(**filled, coords=coords, dims=dims)
