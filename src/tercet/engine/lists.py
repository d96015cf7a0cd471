"""The loss of choices among more than two alternatives, given the similarities of the edges.

A choice sees the points only through the log-similarities of its alternatives, which are evaluated
once per edge. Choices are processed in blocks of one kind and size; one choice among few
alternatives, the usual screen, as vector loops over the block.
"""

from __future__ import annotations

import numpy as np

from tercet.compiled import exp, inline, inline_sums, jit, jit_sums, log
from tercet.engine.problem import Lists
from tercet.kinds import FARTHEST, ORDERED
from tercet.models.base import Array
from tercet.models.luce import choice_loss, count_outcomes

BLOCK = 256
FEW = 16  # alternatives up to which one choice is evaluated as vector loops


@jit
def list_weights(
    lapse: float,
    lists: Lists,
    start: int,
    stop: int,
    log_s: Array,
    slopes: Array,
    w: Array,
) -> tuple[float, float]:
    """Add the derivatives of the loss of choices by squared lengths to w; return the loss.

    ``log_s`` and ``slopes`` are the log-similarities of the edges and their derivatives by the
    squared lengths. With a lapse rate, that share of answers is one of all outcomes at random. The
    second number returned is the derivative of the loss by the lapse rate, zero if there is none.
    """
    total, by_lapse = 0.0, 0.0
    block = np.empty((FEW + 2, BLOCK))
    first = start
    while first < stop:
        size, last = _run(lists, first, stop)
        kind, chosen = lists.kinds[first], lists.chosen[first]
        chance = 1.0 / count_outcomes(kind, chosen, size)
        if size <= FEW and (kind == FARTHEST or (kind == ORDERED and chosen == 1)):
            sign = -1.0 if kind == FARTHEST else 1.0
            more = _add_block(
                sign, lapse, chance, lists, first, last, size, log_s, slopes, block, w
            )
        else:
            more = _add_one_by_one(lapse, chance, lists, first, last, log_s, slopes, w)
        total += more[0]
        by_lapse += more[1]
        first = last
    return total, by_lapse


@jit
def list_loss(lists: Lists, log_s: Array, limit: float) -> float:
    """Loss of all choices, without derivatives; a partial sum above the limit is returned."""
    nothing, unused = np.zeros(len(log_s)), np.zeros(len(log_s))
    total, first = 0.0, 0
    while first < len(lists.kinds) and total <= limit:
        last = min(first + 16 * BLOCK, len(lists.kinds))
        total += list_weights(0.0, lists, first, last, log_s, nothing, unused)[0]
        first = last
    return total


@jit
def _run(lists: Lists, first: int, stop: int) -> tuple[int, int]:
    """Number of alternatives of a choice, and the end of the block of choices like it."""
    size = lists.cuts[first + 1] - lists.cuts[first]
    last = first + 1
    while (
        last < min(stop, first + BLOCK)
        and lists.kinds[last] == lists.kinds[first]
        and lists.chosen[last] == lists.chosen[first]
        and lists.cuts[last + 1] - lists.cuts[last] == size
    ):
        last += 1
    return size, last


@inline
def _exponentials(block: Array, size: int, count: int, top: Array) -> None:
    """Replace u by exp(u - top) and top by the sum of these."""
    for j in range(size):
        u = block[j]
        for t in range(count):
            u[t] = exp(u[t] - top[t])
    top[:] = 0.0
    for j in range(size):
        u = block[j]
        for t in range(count):
            top[t] += u[t]


@inline
def _logarithms(sums: Array, loss: Array) -> None:
    for t in range(len(sums)):
        loss[t] += log(sums[t])


@inline
def _with_lapses(loss: float, lapse: float, chance: float) -> tuple[float, float, float]:
    """The loss mixed with guesses, and its derivatives by the loss and by the lapse rate."""
    probability = exp(-loss)
    mixed = (1.0 - lapse) * probability + lapse * chance
    return -log(mixed), (1.0 - lapse) * probability / mixed, (probability - chance) / mixed


@inline_sums
def _block(
    size: int,
    sign: float,
    lapse: float,
    chance: float,
    lists: Lists,
    first: int,
    last: int,
    log_s: Array,
    slopes: Array,
    block: Array,
    w: Array,
) -> tuple[float, float]:
    """One choice among ``size`` alternatives each: a softmax of sign log s."""
    count = last - first
    edges = lists.edges[lists.cuts[first] : lists.cuts[last]]
    top, loss = block[FEW, :count], block[FEW + 1, :count]
    for j in range(size):
        u = block[j]
        for t in range(count):
            u[t] = sign * log_s[edges[t * size + j]]
    top[:] = block[0, :count]
    for j in range(1, size):
        u = block[j]
        for t in range(count):
            top[t] = max(top[t], u[t])
    for t in range(count):
        loss[t] = top[t] - block[0, t]
    _exponentials(block, size, count, top)
    # From here on top is the sum of the exponentials.
    _logarithms(top, loss)
    total, by_lapse = 0.0, 0.0
    weights = lists.weights[first:last]
    if lapse > 0.0:
        for t in range(count):
            mixed, by_loss, change = _with_lapses(loss[t], lapse, chance)
            total += weights[t] * mixed
            by_lapse += weights[t] * change
            loss[t] = sign * weights[t] * by_loss
    else:
        for t in range(count):
            total += weights[t] * loss[t]
            loss[t] = sign * weights[t]
    # From here on loss is the weight of the slopes by log s.
    for t in range(count):
        top[t] = loss[t] / top[t]
    for j in range(size):
        u = block[j]
        for t in range(count):
            u[t] *= top[t]
    for t in range(count):
        block[0, t] -= loss[t]
        for j in range(size):
            e = edges[t * size + j]
            w[e] += block[j, t] * slopes[e]
    return total, by_lapse


@jit_sums
def _add_block(
    sign: float,
    lapse: float,
    chance: float,
    lists: Lists,
    first: int,
    last: int,
    size: int,
    log_s: Array,
    slopes: Array,
    block: Array,
    w: Array,
) -> tuple[float, float]:
    """As `_block`, compiled for three alternatives and for any number."""
    if size == 3:
        return _block(3, sign, lapse, chance, lists, first, last, log_s, slopes, block, w)
    return _block(size, sign, lapse, chance, lists, first, last, log_s, slopes, block, w)


@jit
def _add_one_by_one(
    lapse: float,
    chance: float,
    lists: Lists,
    first: int,
    last: int,
    log_s: Array,
    slopes: Array,
    w: Array,
) -> tuple[float, float]:
    """Choices of any kind."""
    size = lists.cuts[first + 1] - lists.cuts[first]
    u, by_u = np.empty(size), np.empty(size)
    total, by_lapse = 0.0, 0.0
    for c in range(first, last):
        edges = lists.edges[lists.cuts[c] : lists.cuts[c + 1]]
        for j in range(size):
            u[j] = log_s[edges[j]]
        loss = choice_loss(lists.kinds[c], lists.chosen[c], u, by_u)
        weight = lists.weights[c]
        if lapse > 0.0:
            mixed, by_loss, change = _with_lapses(loss, lapse, chance)
            total += weight * mixed
            by_lapse += weight * change
            weight *= by_loss
        else:
            total += weight * loss
        for j in range(size):
            w[edges[j]] += weight * by_u[j] * slopes[edges[j]]
    return total, by_lapse
