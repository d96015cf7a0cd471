"""The loss of choices that are no plain comparisons, given the similarities of the edges.

A choice sees the points only through the log-similarities of its alternatives, which are evaluated
once per edge. Choices are processed in blocks of one kind and size; one choice among few
alternatives, the usual screen, as vector loops over the block. What adds to the odds of
alternatives and of "cannot tell" without the map, the bonus, is that of `Lists`.
"""

from __future__ import annotations

import numpy as np

from tercet.compiled import exp, inline, inline_sums, jit, jit_sums, log
from tercet.engine.problem import Lists
from tercet.kinds import BEST_WORST, ORDERED, UNORDERED
from tercet.models.base import Array
from tercet.models.luce import TIE, allows_tie, choice_loss, count_outcomes, sign_of

BLOCK = 256
FEW = 16  # alternatives up to which one choice is evaluated as vector loops


@jit
def list_weights(
    lapse: float,
    bonus: Array,
    lists: Lists,
    start: int,
    stop: int,
    log_s: Array,
    slopes: Array,
    w: Array,
    by_bonus: Array,
) -> tuple[float, float]:
    """Add the derivatives of the loss of choices by squared lengths to w; return the loss.

    ``log_s`` and ``slopes`` are the log-similarities of the edges and their derivatives by the
    squared lengths. With a lapse rate, that share of answers is one of all outcomes at random. The
    second number returned is the derivative of the loss by the lapse rate, zero if there is none.
    Derivatives by the bonus are added to ``by_bonus``.
    """
    total, by_lapse = 0.0, 0.0
    block = np.empty((FEW + 3, BLOCK))
    first = start
    while first < stop:
        size, last = _run(lists, first, stop)
        kind, chosen = lists.kinds[first], lists.chosen[first]
        chance = 1.0 / count_outcomes(kind, chosen, size)
        several = kind in (UNORDERED, BEST_WORST) or (kind == ORDERED and chosen > 1)
        if size <= FEW and not several:
            more = _add_block(
                lapse, chance, bonus, lists, first, last, size, log_s, slopes, block, w, by_bonus
            )
        else:
            more = _add_one_by_one(
                lapse, chance, bonus, lists, first, last, log_s, slopes, w, by_bonus
            )
        total += more[0]
        by_lapse += more[1]
        first = last
    return total, by_lapse


@jit
def list_loss(lists: Lists, log_s: Array, limit: float) -> float:
    """Loss of all choices, without derivatives; a partial sum above the limit is returned."""
    nothing, unused = np.zeros(len(log_s)), np.zeros(len(log_s))
    by_bonus = np.zeros(len(lists.bonus))
    total, first = 0.0, 0
    while first < len(lists.kinds) and total <= limit:
        last = min(first + 16 * BLOCK, len(lists.kinds))
        total += list_weights(
            0.0, lists.bonus, lists, first, last, log_s, nothing, unused, by_bonus
        )[0]
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
    ties: int,
    sign: float,
    lapse: float,
    chance: float,
    bonus: Array,
    lists: Lists,
    first: int,
    last: int,
    log_s: Array,
    slopes: Array,
    block: Array,
    w: Array,
    by_bonus: Array,
) -> tuple[float, float]:
    """One choice among ``size`` alternatives each: a softmax of sign log s, plus the bonus.

    If there may be ties, "cannot tell" is one more alternative, after the others.
    """
    count = last - first
    edges = lists.edges[lists.cuts[first] : lists.cuts[last]]
    top, loss = block[FEW + 1, :count], block[FEW + 2, :count]
    shown = lists.places
    if len(shown) > 0:
        shown = shown[lists.cuts[first] : lists.cuts[last]]
    picked = 0 if lists.chosen[first] > 0 else size
    for j in range(size):
        u = block[j]
        for t in range(count):
            u[t] = sign * log_s[edges[t * size + j]]
    if len(shown) > 0:
        for j in range(size):
            for t in range(count):
                block[j, t] += bonus[shown[t * size + j]]
    if ties > 0:
        for t in range(count):
            mean = 0.0
            for j in range(size):
                mean += block[j, t] / size
            block[size, t] = bonus[TIE] + mean
    top[:] = block[0, :count]
    for j in range(1, size + ties):
        u = block[j]
        for t in range(count):
            top[t] = max(top[t], u[t])
    for t in range(count):
        loss[t] = top[t] - block[picked, t]
    _exponentials(block, size + ties, count, top)
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
    for j in range(size + ties):
        u = block[j]
        for t in range(count):
            u[t] *= top[t]
    for t in range(count):
        block[picked, t] -= loss[t]
    if ties > 0:
        for t in range(count):
            by_bonus[TIE] += sign * block[size, t]
            for j in range(size):
                block[j, t] += block[size, t] / size
    for t in range(count):
        for j in range(size):
            e = edges[t * size + j]
            w[e] += block[j, t] * slopes[e]
    if len(shown) > 0:
        for t in range(count):
            for j in range(size):
                by_bonus[shown[t * size + j]] += sign * block[j, t]
    return total, by_lapse


@jit_sums
def _add_block(
    lapse: float,
    chance: float,
    bonus: Array,
    lists: Lists,
    first: int,
    last: int,
    size: int,
    log_s: Array,
    slopes: Array,
    block: Array,
    w: Array,
    by_bonus: Array,
) -> tuple[float, float]:
    """As `_block`, compiled for three alternatives and for any number."""
    sign, ties = sign_of(lists.kinds[first]), allows_tie(lists.kinds[first])
    if size == 3 and not ties:
        return _block(
            3, 0, sign, lapse, chance, bonus, lists, first, last, log_s, slopes, block, w, by_bonus
        )
    more = 1 if ties else 0
    return _block(
        size,
        more,
        sign,
        lapse,
        chance,
        bonus,
        lists,
        first,
        last,
        log_s,
        slopes,
        block,
        w,
        by_bonus,
    )


@jit
def _add_one_by_one(
    lapse: float,
    chance: float,
    bonus: Array,
    lists: Lists,
    first: int,
    last: int,
    log_s: Array,
    slopes: Array,
    w: Array,
    by_bonus: Array,
) -> tuple[float, float]:
    """Choices of any kind."""
    size, kind = lists.cuts[first + 1] - lists.cuts[first], lists.kinds[first]
    sign, ties = sign_of(kind), allows_tie(kind)
    u, by_u = np.empty(size + 1 if ties else size), np.empty(size + 1 if ties else size)
    total, by_lapse = 0.0, 0.0
    shifted = len(lists.places) > 0 and kind != BEST_WORST
    for c in range(first, last):
        edges = lists.edges[lists.cuts[c] : lists.cuts[c + 1]]
        for j in range(size):
            u[j] = log_s[edges[j]]
            if shifted:
                u[j] += sign * bonus[lists.places[lists.cuts[c] + j]]
        if ties:
            u[size] = bonus[TIE]
        loss = choice_loss(kind, lists.chosen[c], u, by_u)
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
            if shifted:
                by_bonus[lists.places[lists.cuts[c] + j]] += sign * weight * by_u[j]
        if ties:
            by_bonus[TIE] += weight * by_u[size]
    return total, by_lapse
