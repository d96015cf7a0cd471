"""Questions of any kind to choose from, and the best of them under a limit for each object.

Triplets, of which there are many millions, have candidates of their own (`candidates`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.arrays import Floats, Index
from tercet.compiled import jit
from tercet.running.provenance import seed_for
from tercet.running.threads import in_order
from tercet.uses.active.candidates import POOL, TIES, scrambled
from tercet.uses.active.question_kinds import Kind, number_alike
from tercet.uses.active.scores import RowScore

BLOCK = 4096  # questions per task
TOP = 4096  # of the best questions, looked at first


class Pool(NamedTuple):
    """Questions that may be asked."""

    kind: Kind
    n: int
    rows: Index  # (m, w), all different
    size: int  # of a sample, roughly
    is_sample: bool  # of all questions, which were too many
    entropy: int


def find_pool(
    kind: Kind, n: int, taken: Index, offered: Index | None, size: int, entropy: int
) -> Pool:
    """The questions about n objects, without those taken; or a sample of about ``size`` of them."""
    is_sample = offered is None and kind.count(n) > size
    if offered is not None:
        rows = offered
    elif is_sample:
        rows = kind.draw(n, size, np.random.default_rng(seed_for(entropy, POOL)))
    else:
        rows = kind.every(n)
    mine, theirs = number_alike(n, rows, taken)
    first = np.unique(mine, return_index=True)[1]
    free = first[~np.isin(mine[first], theirs)]
    return Pool(kind, n, np.ascontiguousarray(rows[free]), size, is_sample, entropy)


def choose_rows(
    pool: Pool, score: RowScore, k: int, cap: int | None, n_jobs: int
) -> tuple[Index, Floats]:
    """The best k questions (k, w) or fewer, and their scores, best first.

    Ties are broken by a hash of the question and the seed.

    Parameters
    ----------
    pool : Pool
    score : RowScore
    k : int
    cap : int, optional
        The most questions with the same anchor or, without anchors, with the same object.
    n_jobs : int
    """
    rows = pool.rows
    blocks = [rows[i : i + BLOCK] for i in range(0, len(rows), BLOCK)]
    found = list(in_order(score, blocks, n_jobs))
    scores = np.concatenate(found) if found else np.empty(0)
    seed = seed_for(pool.entropy, TIES).generate_state(1, np.uint64).astype(np.uint64)
    hashes = scrambled(_folded(rows).astype(np.int64), seed)
    counted = 1 if pool.kind.has_anchor else pool.kind.width
    limit = k if cap is None else cap
    size = max(TOP, 16 * k)
    while True:
        order = _best_first(scores, hashes, size)
        chosen = np.empty(k, dtype=np.int64)
        count = _take(rows, order, counted, limit, np.zeros(pool.n, dtype=np.int64), chosen)
        if count == k or size >= len(rows):
            best = chosen[:count]
            return rows[best], scores[best]
        size *= 8


def _folded(rows: Index) -> NDArray[np.uint64]:
    """A number of each row, modulo 2**64."""
    total = np.zeros(len(rows), dtype=np.uint64)
    for column in rows.T:
        total = total * np.uint64(0x9E3779B97F4A7C15) + column.astype(np.uint64)
    return total


def _best_first(scores: Floats, hashes: NDArray[np.uint64], size: int) -> Index:
    """The places of the highest scores, ``size`` of them and those that tie with the last."""
    kept = np.arange(len(scores))
    if len(scores) > size:
        least = np.partition(scores, len(scores) - size)[len(scores) - size]
        kept = np.flatnonzero(scores >= least)
    return kept[np.lexsort((hashes[kept], -scores[kept]))]


@jit
def _take(rows: Index, order: Index, counted: int, limit: int, used: Index, chosen: Index) -> int:
    """Take rows in this order unless one of their first objects is used up; returns how many."""
    count = 0
    for place in order:
        if count == len(chosen):
            break
        room = True
        for i in range(counted):
            room = room and used[rows[place, i]] < limit
        if room:
            for i in range(counted):
                used[rows[place, i]] += 1
            chosen[count] = place
            count += 1
    return count


def cover(
    kind: Kind,
    seen: Index,
    goal: int,
    k: int,
    taken: Index,
    offered: Index | None,
    rng: np.random.Generator,
) -> Index:
    """Random questions, k at most, about the objects that were in fewer than ``goal`` so far.

    Parameters
    ----------
    kind : Kind
    seen : (n,) integer array
        How many questions each object was in.
    goal, k : int
    taken : (m, w) integer array
        Questions that may not be asked.
    offered : (m, w) integer array, optional
        The only questions that may be asked.
    rng : Generator
    """
    n, seen, rows = len(seen), seen.copy(), []
    known = {tuple(row) for row in taken.tolist()}
    if offered is not None:
        offered = rng.permutation(offered)
    for _ in range(k):
        order = rng.permutation(n)
        order = order[np.argsort(seen[order], kind="stable")]
        found = None
        for needy in order[seen[order] < goal].tolist():
            found = _question_about(kind, needy, order, seen, goal, known, offered, rng)
            if found is not None:
                break
        if found is None:
            break
        known.add(found)
        seen[list(found)] += 1
        rows.append(found)
    return np.array(rows, dtype=np.int64).reshape(-1, kind.width)


TRIES = 20  # random questions about an object before it is left alone


def _question_about(
    kind: Kind,
    needy: int,
    order: Index,
    seen: Index,
    goal: int,
    known: set[tuple[int, ...]],
    offered: Index | None,
    rng: np.random.Generator,
) -> tuple[int, ...] | None:
    """A question about an object that was not asked; None if none is found.

    Where most objects need questions, the others in it are those that need them most.
    """
    if offered is not None:
        about = offered[(offered == needy).any(axis=1)]
        return next((row for row in map(tuple, about.tolist()) if row not in known), None)
    others = order[order != needy]
    most = 2 * np.count_nonzero(seen < goal) > len(seen)
    for attempt in range(TRIES):
        company = others if most and attempt == 0 else rng.permutation(others)
        row = rng.permutation(np.append(company[: kind.width - 1], needy))
        question = tuple(kind.usual(row[None])[0].tolist())
        if question not in known:
            return question
    return None
