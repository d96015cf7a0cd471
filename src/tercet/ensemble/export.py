"""An ensemble in ArviZ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tercet.ensemble.draws import encode_pairs
from tercet.ensemble.scoring import log_likelihood
from tercet.errors import InputError, TercetError, ignored

if TYPE_CHECKING:
    from tercet.ensemble.ensemble import Ensemble

__all__ = ["in_arviz", "to_arviz"]


def to_arviz(ensemble: Ensemble, pairs: ArrayLike | None, answers: Any) -> Any:
    """See `Ensemble.to_arviz`."""
    labels, counts = np.unique(ensemble.chains, return_counts=True)
    if counts.min() < counts.max():
        raise InputError(
            f"ArviZ needs chains of equal length, and these have {counts.tolist()} draws; "
            "select draws with [...] first."
        )
    rows = np.argsort(ensemble.chains, kind="stable").reshape(len(labels), -1)
    distances = ensemble.distances(pairs)
    chosen = encode_pairs(pairs, ensemble.n_objects, ensemble.names)
    names = ensemble.names or tuple(map(str, range(ensemble.n_objects)))
    coords: dict[str, Any] = {
        "chain": labels,
        "object": list(names) if ensemble.names else list(range(ensemble.n_objects)),
        "pair": [f"{names[i]}–{names[j]}" for i, j in chosen.tolist()],
    }
    dims = {"distance": ["pair"], "embedding": ["object", "dimension"], "answers": ["answer"]}
    posterior = {"distance": distances[rows]}
    if ensemble.kind == "points":
        posterior["embedding"] = ensemble.samples[rows]
        coords["dimension"] = list(range(ensemble.n_components))
    posterior |= {name: column[rows] for name, column in ensemble.parameters.items()}
    stats = {
        "lp" if name == "log_posterior" else name: column[rows]
        for name, column in ensemble.statistics.items()
    }
    groups = {"posterior": posterior, "sample_stats": stats}
    if answers is not None:
        likelihood = log_likelihood(ensemble, answers)
        groups["log_likelihood"] = {"answers": likelihood[rows]}
        coords["answer"] = list(range(likelihood.shape[1]))
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
