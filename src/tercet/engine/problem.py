"""Comparisons as the engine sees them: each distinct pair of objects (an edge) listed once.

Every loss sees the points only through squared distances, so a comparison is two edge numbers,
near and far. Where hardly any edge occurs twice, listing edges gains nothing and the three objects
of each triplet are used directly: the row form. Quadruplets always use edges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.compiled import jit

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
    chosen, used = _choose(problem, np.ascontiguousarray(rows, dtype=np.int64))
    subset = problem._replace(
        comparisons=problem.comparisons[chosen],
        weights=problem.weights[chosen] if problem.weights.size else problem.weights,
        near=_NONE,
        far=_NONE,
        edges=_NO_EDGES,
        position=np.arange(len(chosen)),
    )
    # Fewer triplets share even fewer edges: what prefers rows as a whole does so in part.
    if len(used) == 0 or _prefers_rows(subset, len(used)):
        return subset
    near, far = _renumber(problem, chosen, used)
    return subset._replace(near=near, far=far, edges=problem.edges[used])


@jit
def _choose(
    problem: Problem, rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions of the rows, sorted, and the edges they use."""
    times = np.zeros(len(problem.position), dtype=np.int32)
    for row in rows:
        times[problem.position[row]] += 1
    chosen = np.empty(len(rows), dtype=np.int64)
    seen = np.zeros(len(problem.edges), dtype=np.bool_)
    filled = 0
    for t in range(len(times)):
        for _ in range(times[t]):
            chosen[filled] = t
            filled += 1
        if times[t] > 0 and len(seen) > 0:
            seen[problem.near[t]] = True
            seen[problem.far[t]] = True
    return chosen, np.flatnonzero(seen)


@jit
def _renumber(
    problem: Problem, chosen: NDArray[np.int64], used: NDArray[np.int64]
) -> tuple[Index, Index]:
    """Edge numbers of the chosen comparisons, counted among the edges in use."""
    number = np.empty(len(problem.edges), dtype=np.uint32)
    for e in range(len(used)):
        number[used[e]] = e
    near = np.empty(len(chosen), dtype=np.uint32)
    far = np.empty(len(chosen), dtype=np.uint32)
    for t in range(len(chosen)):
        near[t] = number[problem.near[chosen[t]]]
        far[t] = number[problem.far[chosen[t]]]
    return near, far


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
