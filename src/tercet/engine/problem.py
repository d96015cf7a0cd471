"""Comparisons as the engine sees them: each distinct pair of objects (an edge) listed once.

Every loss sees the points only through squared distances, so a comparison is two edge numbers,
near and far. Where hardly any edge occurs twice, listing edges gains nothing and the three objects
of each triplet are used directly: the row form. Quadruplets always use edges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.uint32]

# Above so many edges a triplet the row form is the faster one (measured, d = 1 ... 10).
EDGES_PER_TRIPLET = 1.3

_NONE = np.empty(0, dtype=np.uint32)
_NO_EDGES = np.empty((0, 2), dtype=np.uint32)


class Problem(NamedTuple):
    """Comparisons sorted by their first object, so that neighbours in memory are used together.

    In the row form ``near``, ``far`` and ``edges`` are empty. Empty ``weights`` stand for ones.
    """

    comparisons: Index  # (m, 3) anchor, near, far; or (m, 4): a-b is nearer than c-d
    weights: NDArray[np.float64]  # (m,) or (0,)
    near: Index  # (m,) edge numbers
    far: Index  # (m,)
    edges: Index  # (E, 2), sorted
    position: NDArray[np.int64]  # (m,) where each of the caller's rows is
    n_objects: int


def build_problem(
    comparisons: NDArray[np.integer],
    n_objects: int,
    weights: NDArray[np.float64] | None = None,
    *,
    use_edges: bool | None = None,
) -> Problem:
    """Sort comparisons (m, 3) or (m, 4) and number their edges; counting chooses the form."""
    anchors = comparisons[:, 0].astype(np.uint16 if n_objects < 2**16 else np.uint32)
    rows = np.argsort(anchors, kind="stable")  # NumPy's sort of 16-bit numbers is linear
    position = np.empty_like(rows)
    position[rows] = np.arange(len(rows))
    problem = Problem(
        comparisons[rows].astype(np.uint32),
        np.empty(0) if weights is None else np.asarray(weights, dtype=np.float64)[rows],
        _NONE,
        _NONE,
        _NO_EDGES,
        position,
        int(n_objects),
    )
    if comparisons.shape[1] == 4:
        use_edges = True
    return problem if use_edges is False else _number_edges(problem, always=bool(use_edges))


def take(problem: Problem, rows: NDArray[np.integer]) -> Problem:
    """Return the problem of some of the caller's rows, which may repeat; its rows are sorted."""
    chosen = np.sort(problem.position[rows])
    subset = problem._replace(
        comparisons=problem.comparisons[chosen],
        weights=problem.weights[chosen] if problem.weights.size else problem.weights,
        near=_NONE,
        far=_NONE,
        edges=_NO_EDGES,
        position=np.arange(len(chosen)),
    )
    if len(problem.edges) == 0:  # fewer triplets share even fewer edges
        return subset
    both = np.concatenate([problem.near[chosen], problem.far[chosen]])
    number = np.zeros(len(problem.edges), dtype=np.uint32)
    number[both] = 1
    used = np.flatnonzero(number)
    if _prefers_rows(subset, len(used)):
        return subset
    number[used] = np.arange(len(used), dtype=np.uint32)
    near, far = number[both].reshape(2, -1)
    return subset._replace(near=near, far=far, edges=problem.edges[used])


def _prefers_rows(problem: Problem, n_edges: int) -> bool:
    m, columns = problem.comparisons.shape
    return bool(columns == 3 and n_edges > EDGES_PER_TRIPLET * m)


def _number_edges(problem: Problem, *, always: bool) -> Problem:
    c, n = problem.comparisons, np.uint64(problem.n_objects)
    first = np.concatenate([c[:, 0], c[:, -2] if c.shape[1] == 4 else c[:, 0]])
    second = np.concatenate([c[:, 1], c[:, -1]])
    keys = np.minimum(first, second).astype(np.uint64) * n + np.maximum(first, second)
    if n * n <= 8 * len(keys):  # a table of all pairs is smaller than the list of comparisons
        seen = np.zeros(int(n * n), dtype=bool)
        seen[keys] = True
        distinct = np.flatnonzero(seen).astype(np.uint64)
        numbers = (np.cumsum(seen, dtype=np.uint32) - np.uint32(1))[keys]
    else:
        distinct, inverse = np.unique(keys, return_inverse=True)
        numbers = inverse.astype(np.uint32)
    if _prefers_rows(problem, len(distinct)) and not always:
        return problem
    near, far = numbers.reshape(2, -1)
    edges = np.stack(np.divmod(distinct, n), axis=1).astype(np.uint32)
    return problem._replace(near=near, far=far, edges=edges)
