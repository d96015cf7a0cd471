"""Answers for the engine: each distinct pair of objects (an edge) listed once.

Every loss depends on the points only through squared distances, so a comparison is two edge
numbers, near and far, and a choice among more alternatives a list of edge numbers. If hardly any
edge occurs twice, listing edges gains nothing and the three objects of each triplet are used
directly: the row form. Quadruplets and choices always use edges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.compiled import jit
from tercet.kinds import ORDERED

Index = NDArray[np.uint32]

# Edges per triplet above which the row form is faster (measured, d = 1 ... 10).
EDGES_PER_TRIPLET = 0.8

SMALL = 500  # objects

NO_INDEX = np.empty(0, dtype=np.uint32)
NO_EDGES = np.empty((0, 2), dtype=np.uint32)


class Lists(NamedTuple):
    """Choices that are no comparisons, sorted by kind and size: blocks of them are alike.

    The alternatives of choice c are ``edges[cuts[c]:cuts[c + 1]]``, the chosen ones first. Their
    odds also depend on a *bonus*, which is not in the map. Its logarithm is ``bonus[0]`` for
    "cannot tell", and ``bonus[places[a]]`` for alternative a, by where it was shown; at place 1,
    which stands for an unknown position, it is 0.
    """

    edges: Index  # (A,) edge numbers
    cuts: NDArray[np.int64]  # (C + 1,)
    kinds: NDArray[np.int64]  # (C,) ORDERED, UNORDERED, …
    chosen: NDArray[np.int64]  # (C,) how many
    weights: NDArray[np.float64]  # (C,)
    places: NDArray[np.int64]  # (A,), or (0,) if sides do not matter
    bonus: NDArray[np.float64]  # (2 + positions,)


UNKNOWN = 1  # place of an alternative whose position is unknown; position p has the place 2 + p
NO_BONUS = np.zeros(2)
_NO_PLACES = np.empty(0, dtype=np.int64)
NO_LISTS = Lists(
    NO_INDEX,
    np.zeros(1, dtype=np.int64),
    np.empty(0, dtype=np.int64),
    np.empty(0, dtype=np.int64),
    np.empty(0),
    _NO_PLACES,
    NO_BONUS,
)


class Problem(NamedTuple):
    """Comparisons sorted by their first object, so that neighbours in memory are used together.

    In the row form ``near``, ``far`` and ``edges`` are empty. Empty ``weights`` stand for ones.
    Choices among more than two alternatives are in ``lists``, numbered after the comparisons, and
    those between two if "cannot tell" was an answer or sides matter.
    """

    comparisons: Index  # (m, 3) anchor, near, far; or (m, 4): a-b is nearer than c-d
    weights: NDArray[np.float64]  # (m,) or (0,)
    near: Index  # (m,) edge numbers
    far: Index  # (m,)
    edges: Index  # (E, 2), the smaller number first
    position: NDArray[np.int64]  # (m + C,) where each of the caller's rows is
    n_objects: int
    lists: Lists

    @property
    def n_rows(self) -> int:
        """Number of comparisons and choices."""
        return len(self.position)


def build_problem(
    comparisons: NDArray[np.integer],
    n_objects: int,
    weights: NDArray[np.float64] | None = None,
    *,
    use_edges: bool | None = None,
) -> Problem:
    """Sort comparisons (m, 3) or (m, 4) and number their edges; choose the form by counting."""
    anchors = comparisons[:, 0].astype(np.uint16 if n_objects < 2**16 else np.uint32)
    rows = np.argsort(anchors, kind="stable")  # NumPy's sort of 16-bit numbers is linear
    position = np.empty_like(rows)
    position[rows] = np.arange(len(rows))
    problem = Problem(
        comparisons[rows].astype(np.uint32),
        np.empty(0) if weights is None else np.asarray(weights, dtype=np.float64)[rows],
        NO_INDEX,
        NO_INDEX,
        NO_EDGES,
        position,
        int(n_objects),
        NO_LISTS,
    )
    if comparisons.shape[1] == 4:
        use_edges = True
    return problem if use_edges is False else _number_edges(problem, always=bool(use_edges))


def build_choice_problem(
    pairs: NDArray[np.int64],
    cuts: NDArray[np.int64],
    kinds: NDArray[np.integer],
    chosen: NDArray[np.int64],
    n_objects: int,
    weights: NDArray[np.float64] | None = None,
    positions: NDArray[np.int64] | None = None,
    bonus: NDArray[np.float64] = NO_BONUS,
) -> Problem:
    """Convert choices: plain ones between two alternatives are comparisons, all others lists.

    The pairs (A, 2) of choice c, the chosen ones first, are ``pairs[cuts[c]:cuts[c + 1]]``. Where
    they were shown, ``positions`` (A,), -1 if unknown, is given if sides matter.
    """
    sizes, count = np.diff(cuts), len(kinds)
    plain = (sizes == 2) & (kinds == ORDERED)
    if positions is not None:
        plain &= positions[cuts[:-1]] < 0
    twos = np.flatnonzero(plain)
    quadruplets = np.concatenate([pairs[cuts[twos]], pairs[cuts[twos] + 1]], axis=1)
    given = None if weights is None else weights[twos]
    problem = build_problem(quadruplets, n_objects, given, use_edges=False)
    others = np.flatnonzero(~plain)
    lead = pairs[cuts[others], 0]
    others = others[np.lexsort((lead, chosen[others], sizes[others], kinds[others]))]
    ends = np.concatenate([[0], np.cumsum(sizes[others])])
    places = np.repeat(cuts[others] - ends[:-1], sizes[others]) + np.arange(ends[-1])
    position = np.empty(count, dtype=np.int64)
    position[twos] = problem.position
    position[others] = len(twos) + np.arange(len(others))
    c, listed = problem.comparisons, pairs[places].astype(np.uint32)
    numbers, edges = number_pairs(
        np.concatenate([c[:, 0], c[:, 2], listed[:, 0]]),
        np.concatenate([c[:, 1], c[:, 3], listed[:, 1]]),
        n_objects,
    )
    near, far, in_lists = np.split(numbers, [len(c), 2 * len(c)])
    each = np.ones(count) if weights is None else weights
    of_lists = kinds[others].astype(np.int64), chosen[others], each[others]
    shown = _NO_PLACES if positions is None else positions[places] + (UNKNOWN + 1)
    lists = Lists(in_lists, ends, *of_lists, shown, bonus)
    return problem._replace(near=near, far=far, edges=edges, position=position, lists=lists)


def some_pairs(n_objects: int, most: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The two objects of all pairs i < j, or of a fixed random choice of ``most`` of them.

    Pairs are numbered row by row, (0, 1), (0, 2), …, and chosen by number, so that even a million
    objects need no list of all pairs.
    """
    n = n_objects
    count = n * (n - 1) // 2
    number = np.arange(min(count, most))
    if count > most:
        number = np.random.default_rng(0).choice(count, most, replace=False)
    # Counted from the end, row n - 2 - r begins, backwards, at the number r (r + 1) / 2.
    from_end = count - 1 - number
    row = ((np.sqrt(8.0 * from_end + 1.0) - 1.0) / 2.0).astype(np.int64)
    row -= row * (row + 1) // 2 > from_end  # the square root may round either way
    row += (row + 1) * (row + 2) // 2 <= from_end
    return n - 2 - row, n - 1 - (from_end - row * (row + 1) // 2)


@jit
def least_weight(problem: Problem) -> float:
    """The smallest weight of a comparison or choice."""
    least = np.inf
    if len(problem.comparisons) > 0:
        least = np.min(problem.weights) if len(problem.weights) > 0 else 1.0
    if len(problem.lists.weights) > 0:
        least = min(least, np.min(problem.lists.weights))
    return least


@jit
def take_rows(problem: Problem, rows: NDArray[np.int64]) -> Problem:
    """Return the problem of some of the caller's rows, which may repeat; its rows are sorted."""
    c = problem.comparisons
    times = np.zeros(len(problem.position), dtype=np.int32)
    for row in rows:
        times[problem.position[row]] += 1
    m = int(np.sum(times[: len(c)]))
    comparisons = np.empty((m, c.shape[1]), dtype=np.uint32)
    weights = np.empty(m if len(problem.weights) > 0 else 0)
    near = np.empty(m if len(problem.edges) > 0 else 0, dtype=np.uint32)
    far = np.empty_like(near)
    filled = 0
    for t in range(len(c)):
        for _ in range(times[t]):
            for column in range(c.shape[1]):
                comparisons[filled, column] = c[t, column]
            if len(weights) > 0:
                weights[filled] = problem.weights[t]
            if len(near) > 0:
                near[filled] = problem.near[t]
                far[filled] = problem.far[t]
            filled += 1
    lists = _take_lists(problem.lists, times[len(c) :])
    edges = _renumber(problem.edges, near, far, lists.edges)
    # Fewer triplets share even fewer edges: if rows are better for all, so they are for a subset.
    if c.shape[1] == 3 and len(edges) > EDGES_PER_TRIPLET * m:
        near, far, edges = near[:0], far[:0], edges[:0]
    position = np.arange(m + len(lists.kinds))
    return Problem(comparisons, weights, near, far, edges, position, problem.n_objects, lists)


@jit
def _take_lists(lists: Lists, times: NDArray[np.int32]) -> Lists:
    """The choices that are taken, each once, with their weights multiplied."""
    kept = np.flatnonzero(times)
    cuts = np.zeros(len(kept) + 1, dtype=np.int64)
    for new, c in enumerate(kept):
        cuts[new + 1] = cuts[new] + lists.cuts[c + 1] - lists.cuts[c]
    edges = np.empty(cuts[-1], dtype=np.uint32)
    for new, c in enumerate(kept):
        edges[cuts[new] : cuts[new + 1]] = lists.edges[lists.cuts[c] : lists.cuts[c + 1]]
    places = np.empty(cuts[-1] if len(lists.places) > 0 else 0, dtype=np.int64)
    if len(places) > 0:
        for new, c in enumerate(kept):
            places[cuts[new] : cuts[new + 1]] = lists.places[lists.cuts[c] : lists.cuts[c + 1]]
    weights = lists.weights[kept] * times[kept]
    kinds, chosen = lists.kinds[kept], lists.chosen[kept]
    return Lists(edges, cuts, kinds, chosen, weights, places, lists.bonus)


@jit
def _renumber(edges: Index, near: Index, far: Index, listed: Index) -> Index:
    """Renumber the edges in use, in place, and return them."""
    number = np.zeros(len(edges), dtype=np.uint32)
    for t in range(len(near)):
        number[near[t]] = 1
        number[far[t]] = 1
    for t in range(len(listed)):
        number[listed[t]] = 1
    used = np.empty((np.sum(number), 2), dtype=np.uint32)
    count = 0
    for e in range(len(edges)):
        if number[e] > 0:
            used[count, 0], used[count, 1] = edges[e, 0], edges[e, 1]
            number[e] = count
            count += 1
    for t in range(len(near)):
        near[t] = number[near[t]]
        far[t] = number[far[t]]
    for t in range(len(listed)):
        listed[t] = number[listed[t]]
    return used


def _number_edges(problem: Problem, *, always: bool) -> Problem:
    c = problem.comparisons
    first = np.concatenate([c[:, 0], c[:, -2] if c.shape[1] == 4 else c[:, 0]])
    second = np.concatenate([c[:, 1], c[:, -1]])
    numbers, edges = number_pairs(first, second, problem.n_objects)
    if len(edges) > EDGES_PER_TRIPLET * len(c) and not always:
        return problem
    near, far = numbers.reshape(2, -1)
    return problem._replace(near=near, far=far, edges=edges)


def number_pairs(first: Index, second: Index, n_objects: int) -> tuple[Index, Index]:
    """The edge number of every pair, and the objects (E, 2) of the distinct edges."""
    n = np.uint64(n_objects)
    low, high = np.minimum(first, second).astype(np.uint64), np.maximum(first, second)
    # With few objects, consecutive edges share no object, so that updates need not wait for each
    # other (saves a tenth of the time); with many, they share one, for the cache.
    by_difference = n <= SMALL
    keys = (high - low) * n + low if by_difference else low * n + high
    if n * n <= 8 * len(keys):  # a table of all pairs is smaller than the list of comparisons
        seen = np.zeros(int(n * n), dtype=bool)
        seen[keys] = True
        distinct = np.flatnonzero(seen).astype(np.uint64)
        numbers = (np.cumsum(seen, dtype=np.uint32) - np.uint32(1))[keys]
    else:
        distinct, inverse = np.unique(keys, return_inverse=True)
        numbers = inverse.astype(np.uint32)
    major, minor = np.divmod(distinct, n)
    ends = (minor, minor + major) if by_difference else (major, minor)
    return numbers, np.stack(ends, axis=1).astype(np.uint32)
