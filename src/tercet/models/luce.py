"""Luce's choice rule: the probability of a choice from the similarities of its alternatives.

The odds of a pair are proportional to its similarity s (Luce 1959). One choice among m alternatives
is a softmax of log s. Several in order are choices without replacement (Plackett 1975, Luce 1959).
Several without order are the sum over all their orders. The least similar pair has odds 1/s. The
most and the least similar one are chosen one after the other, the least similar among the rest.
"Cannot tell" competes with a single choice by odds proportional to the geometric mean of those of
the alternatives (Davidson 1970; of more than two, Firth, Kosmidis & Turner 2019).

An alternative is a number here, and the chosen ones come first.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tercet.arrays import Index
from tercet.compiled import exp, inline, jit, log
from tercet.kinds import (
    BEST_WORST,
    FARTHEST,
    FARTHEST_OR_TIE,
    ONE_OR_TIE,
    ORDERED,
    UNORDERED,
)
from tercet.models.base import Array

# Place of the odds of "cannot tell" among the odds that do not depend on the map.
TIE = 0

# Chosen alternatives up to which all subsets of them are visited; above, an integral is faster.
MOST_SUBSETS = 8

# The integral over log time: its step, the length of its lower tail and of its upper one. The
# integrand falls like exp(x) below and like exp(-exp(x)) above. If all k chosen ones are weak its
# width is 1 / sqrt(k + 1), of which a step is at most a share.
_STEP, _SHARE, _BELOW, _ABOVE = 0.2, 0.6, 34.0, 4.0
EARLY = -37.0  # log z below which 1 - exp(-z) is z, to rounding


@jit
def allows_tie(kind: int) -> bool:
    """Whether "cannot tell" is an outcome."""
    return kind in (ONE_OR_TIE, FARTHEST_OR_TIE)


@jit
def sign_of(kind: int) -> float:
    """1, or -1 if dissimilar pairs are chosen first."""
    return -1.0 if kind in (FARTHEST, FARTHEST_OR_TIE) else 1.0


@jit
def count_outcomes(kind: int, chosen: int, size: int) -> float:
    """The number of outcomes of a choice of ``chosen`` among ``size`` alternatives."""
    if allows_tie(kind):
        return size + 1.0
    outcomes = 1.0
    for i in range(chosen if kind != FARTHEST else 1):
        outcomes *= size - i
        if kind == UNORDERED:
            outcomes /= i + 1.0
    return outcomes


@inline
def _add_logs(a: float, b: float) -> float:
    """log(exp(a) + exp(b))."""
    return max(a, b) + log(1.0 + exp(-abs(a - b)))


@inline
def _log_sum(u: Array, first: int) -> float:
    """Logarithm of the sum of exp(u) from that place on."""
    top = -math.inf
    for j in range(first, len(u)):
        top = max(top, u[j])
    total = 0.0
    for j in range(first, len(u)):
        total += exp(u[j] - top)
    return top + log(total)


@jit
def choice_loss(kind: int, chosen: int, u: Array, slope: Array) -> float:
    """-log probability of a choice, given log-similarities u (m,); writes its derivatives by u.

    If "cannot tell" is an outcome, the logarithm of its odds against the geometric mean follows in
    u (m + 1,).
    """
    if allows_tie(kind):
        return _one_or_tie(sign_of(kind), chosen, u, slope)
    if kind == ORDERED:
        return _ordered(chosen, u, slope)
    if kind == UNORDERED:
        return _subsets(chosen, u, slope) if chosen <= MOST_SUBSETS else _integral(chosen, u, slope)
    if kind == FARTHEST:
        return _farthest(u, slope, 0)
    first = _ordered(1, u, slope)
    best = slope.copy()
    second = _farthest(u, slope, 1)
    for j in range(len(u)):
        slope[j] = best[j] + (slope[j] if j > 0 else 0.0)
    return float(first + second)


@jit
def _ordered(chosen: int, u: Array, slope: Array) -> float:
    """The first ``chosen`` alternatives in this order, each among those that are left."""
    left = _log_sum(u, chosen)
    loss = 0.0
    for r in range(chosen - 1, -1, -1):
        left = _add_logs(u[r], left)
        slope[r] = left  # to be replaced below
        loss += left - u[r]
    visits = 0.0  # sum over the steps so far of what is left now relative to what was left then
    before = slope[0]
    for r in range(chosen):
        left = slope[r]
        visits = 1.0 + visits * exp(left - before)
        slope[r] = exp(u[r] - left) * visits - 1.0
        before = left
    for j in range(chosen, len(u)):
        slope[j] = exp(u[j] - before) * visits
    return loss


@jit
def _farthest(u: Array, slope: Array, first: int) -> float:
    """The alternative at the place ``first`` as the least similar of those from there on."""
    top = -math.inf
    for j in range(first, len(u)):
        top = max(top, -u[j])
    total = 0.0
    for j in range(first, len(u)):
        slope[j] = exp(-u[j] - top)
        total += slope[j]
    for j in range(first, len(u)):
        slope[j] /= -total
    slope[first] += 1.0
    return float(top + log(total) + u[first])


@jit
def _one_or_tie(sign: float, chosen: int, u: Array, slope: Array) -> float:
    """The first alternative, or a tie if none is chosen: the last of the numbers u."""
    m = len(u) - 1
    mean = 0.0
    for j in range(m):
        slope[j] = sign * u[j]
        mean += slope[j] / m
    slope[m] = u[m] + mean
    loss = _log_sum(slope, 0)
    for j in range(m + 1):
        slope[j] -= loss
    picked = 0 if chosen > 0 else m
    loss = -slope[picked]
    for j in range(m + 1):
        slope[j] = exp(slope[j])
    slope[picked] -= 1.0
    for j in range(m):
        slope[j] = sign * (slope[j] + slope[m] / m)
    return float(loss)


@jit
def _subsets(chosen: int, u: Array, slope: Array) -> float:
    """The first ``chosen`` alternatives in any order, by a recursion over subsets of them.

    A subset is the bits of a number. ``reached`` is the log-probability that its members are chosen
    first, and the sum of positive terms only.
    """
    full = (1 << chosen) - 1
    left = np.empty(full + 1)  # logarithm of the similarities of all that are not in the subset
    reached = np.empty(full + 1)
    passed = np.zeros(full + 1)  # probability that the choices go through the subset, given the end
    left[full] = _log_sum(u, chosen)
    for subset in range(full - 1, -1, -1):
        i = 0
        while subset >> i & 1:
            i += 1
        left[subset] = _add_logs(left[subset | 1 << i], u[i])
    reached[0] = 0.0
    for subset in range(1, full + 1):
        top = -math.inf
        for i in range(chosen):
            if subset >> i & 1:
                before = subset ^ 1 << i
                top = max(top, reached[before] + u[i] - left[before])
        total = 0.0
        for i in range(chosen):
            if subset >> i & 1:
                before = subset ^ 1 << i
                total += exp(reached[before] + u[i] - left[before] - top)
        reached[subset] = top + log(total)
    passed[full] = 1.0
    for subset in range(full, 0, -1):
        for i in range(chosen):
            if subset >> i & 1:
                before = subset ^ 1 << i
                step = reached[before] + u[i] - left[before] - reached[subset]
                passed[before] += passed[subset] * exp(step)
    for i in range(chosen):
        slope[i] = -1.0
        for subset in range(full):
            if not subset >> i & 1:
                slope[i] += passed[subset] * exp(u[i] - left[subset])
    visits = 0.0
    for subset in range(full):
        visits += passed[subset] * exp(left[full] - left[subset])
    for j in range(chosen, len(u)):
        slope[j] = visits * exp(u[j] - left[full])
    return float(-reached[full])


@jit
def integral_nodes(chosen: int) -> Array:
    """Nodes of the integral for that many chosen alternatives, from the last one down."""
    above = math.log(chosen + 1.0) + _ABOVE
    step = min(_STEP, _SHARE / math.sqrt(chosen + 1.0))
    nodes = np.empty(int((above + _BELOW) / step))
    for node in range(len(nodes)):
        nodes[node] = above - node * step
    return nodes


@jit
def _integral(chosen: int, u: Array, slope: Array) -> float:
    """The first ``chosen`` alternatives in any order, by an integral.

    If alternatives arrive at exponential times of rates s, the chosen ones must come before the
    first of the others, whose rates sum to R: the integral over v from 0 to 1 of the product of
    1 - v**(s_i / R). With v = exp(-exp(x)) the trapezoidal rule converges exponentially.
    """
    rest = _log_sum(u, chosen)
    nodes = integral_nodes(chosen)
    size = len(nodes)
    logs = np.empty(size)
    top = -math.inf
    for node in range(size):
        x = nodes[node]
        value = x - exp(x)
        for i in range(chosen):
            arrival = u[i] - rest + x
            if arrival < EARLY:
                value += arrival
            elif arrival < -EARLY:
                value += math.log(-math.expm1(-exp(arrival)))
        logs[node] = value
        top = max(top, value)
    total = 0.0
    for node in range(size):
        logs[node] = exp(logs[node] - top)
        total += logs[node]
    arrivals = 0.0
    for i in range(chosen):
        slope[i] = 0.0
        for node in range(size):
            arrival = u[i] - rest + nodes[node]
            share = 1.0
            if arrival > EARLY:
                time = exp(min(arrival, -EARLY))
                share = time / math.expm1(time)
            slope[i] -= logs[node] / total * share
        arrivals -= slope[i]
    for j in range(chosen, len(u)):
        slope[j] = arrivals * exp(u[j] - rest)
    return -(math.log((nodes[0] - nodes[1]) * total) + top)


@jit
def choice_probabilities(
    lapse: float,
    bonus: Array,
    alternatives: Index,
    places: Index,
    cuts: Index,
    kinds: NDArray[np.int8],
    chosen: Index,
    log_s: Array,
    probability: Array,
    first: Array,
) -> None:
    """Probability (m,) of choices, and (A,) of each alternative to be chosen first, lapses apart.

    ``alternatives`` (A,) are numbers in ``log_s``; those of choice c are from ``cuts[c]`` on.
    ``bonus`` and ``places`` are those of `tercet.engine.problem.Lists`.
    """
    size = np.max(np.diff(cuts)) + 1 if len(kinds) > 0 else 0
    u, unused = np.empty(size), np.empty(size)
    for c in range(len(kinds)):
        m, sign = cuts[c + 1] - cuts[c], sign_of(kinds[c])
        for j in range(m):
            u[j] = log_s[alternatives[cuts[c] + j]]
            if len(places) > 0 and kinds[c] != BEST_WORST:
                u[j] += sign * bonus[places[cuts[c] + j]]
        many = m
        if allows_tie(kinds[c]):
            u[m] = bonus[TIE]
            many = m + 1
        loss = choice_loss(kinds[c], chosen[c], u[:many], unused[:many])
        chance = 1.0 / count_outcomes(kinds[c], chosen[c], m)
        probability[c] = (1.0 - lapse) * exp(-loss) + lapse * chance
        for j in range(m):
            u[j] *= sign
        if many > m:
            u[m] += np.mean(u[:m])
        total = _log_sum(u[:many], 0)
        for j in range(m):
            first[cuts[c] + j] = exp(u[j] - total)


@jit
def order_outcomes(
    kinds: NDArray[np.int8], cuts: Index, scores: Array, order: Index, chosen: Index
) -> None:
    """Arrange the alternatives of choices by scores (A,), the highest first; writes their places.

    Of a choice of the most and the least similar, the lowest score comes second. Where "cannot
    tell" is an outcome, also writes how many are chosen, 1 or 0.
    """
    for c in range(len(kinds)):
        start, stop = cuts[c], cuts[c + 1]
        places = np.argsort(-scores[start:stop], kind="mergesort")
        if kinds[c] == BEST_WORST:
            worst = places[-1]
            places[2:] = places[1:-1].copy()
            places[1] = worst
        if allows_tie(kinds[c]):
            own = scores[start:stop]
            chosen[c] = 1 if np.max(own) >= 1.0 - np.sum(own) else 0
        for j in range(stop - start):
            order[start + j] = places[j]


@jit
def agreement_with(
    kinds: NDArray[np.int8],
    cuts: Index,
    chosen: Index,
    scores: Array,
    right: Array,
    in_order: Array,
) -> None:
    """Whether the scores (A,) predict the given outcome: 1, 0, or a share of those that tie.

    Also writes the share of the comparisons within each choice that the scores get right; for
    "cannot tell", which has none, whether that was predicted.
    """
    for c in range(len(kinds)):
        start, m, k = cuts[c], cuts[c + 1] - cuts[c], chosen[c]
        own = scores[start : start + m]
        if allows_tie(kinds[c]):  # the probabilities of the alternatives leave the rest to a tie
            tie = 1.0 - np.sum(own)
            given = tie if k == 0 else own[0]
            best = max(tie, np.max(own))
            ties = float(np.sum(own == best)) + (1.0 if tie == best else 0.0)
            right[c] = 1.0 / ties if given == best else 0.0
            if k == 0:
                in_order[c] = right[c]
                continue
        elif kinds[c] == UNORDERED:
            right[c] = _share_of_sets(own, k)
        elif kinds[c] == BEST_WORST:
            right[c] = _share_of_first(own) * _share_of_first(-own[1:])
        else:
            right[c] = 1.0
            for r in range(k):
                right[c] *= _share_of_first(own[r:])
        won, count = 0.0, 0.0
        for i in range(k):
            for j in range(k if kinds[c] == UNORDERED else i + 1, m):
                if kinds[c] == BEST_WORST and i == 1:
                    higher, lower = own[j], own[1]
                else:
                    higher, lower = own[i], own[j]
                count += 1.0
                won += 1.0 if higher > lower else (0.5 if higher == lower else 0.0)
        in_order[c] = won / count


@jit
def _share_of_first(scores: Array) -> float:
    """1 if the first score is the highest, a share if others are as high, else 0."""
    if scores[0] < np.max(scores):
        return 0.0
    return 1.0 / float(np.sum(scores == scores[0]))


@jit
def _share_of_sets(scores: Array, chosen: int) -> float:
    """1 if the first ``chosen`` scores are the highest, a share if other sets tie, else 0."""
    lowest = np.min(scores[:chosen])
    if lowest < np.max(scores[chosen:]):
        return 0.0
    inside, all_of_them = np.sum(scores[:chosen] == lowest), np.sum(scores == lowest)
    return 1.0 / count_outcomes(UNORDERED, inside, all_of_them)


@jit
def draw_outcomes(
    lapse: float,
    tie: float,
    cuts: Index,
    kinds: NDArray[np.int8],
    u: Array,
    rng: np.random.Generator,
    order: Index,
    chosen: Index,
) -> None:
    """Draw an outcome of each choice: writes the places of its alternatives, the chosen ones first.

    The largest of log-similarities u (A,) with Gumbel noise added is a Luce choice, and their order
    a choice without replacement (Yellott 1977). ``tie`` is the logarithm of the odds of "cannot
    tell"; where that is an outcome, also writes how many are chosen, 1 or 0.
    """
    for c in range(len(kinds)):
        start, stop = cuts[c], cuts[c + 1]
        sign = sign_of(kinds[c])
        if rng.random() < lapse:
            sign = 0.0
        scores = np.empty(stop - start)
        for j in range(stop - start):
            scores[j] = sign * u[start + j] - math.log(rng.standard_exponential())
        places = np.argsort(-scores)
        if allows_tie(kinds[c]):
            even = sign * np.mean(u[start:stop]) + (tie if sign != 0.0 else 0.0)
            even -= math.log(rng.standard_exponential())
            chosen[c] = 1 if scores[places[0]] > even else 0
        if kinds[c] == BEST_WORST:
            last, highest = 1, -math.inf
            for j in range(1, stop - start):
                score = -sign * u[start + places[j]] - math.log(rng.standard_exponential())
                if score > highest:
                    last, highest = j, score
            places[1], places[last] = places[last], places[1]
        for j in range(stop - start):
            order[start + j] = places[j]
