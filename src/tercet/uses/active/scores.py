"""Scores by which the next questions are chosen: the expected value of each answer.

The three probabilistic models give the odds of "j is nearer than l" as a ratio of one positive
number per distance. With u the logarithm of that number, p = 1 / (1 + exp(u_j − u_l)), so that
only a table of u depends on the model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tercet.arrays import Floats, Index
from tercet.compiled import exp, inline_sums, jit, jit_sums, log, softplus
from tercet.ensemble import Ensemble
from tercet.models import Model
from tercet.running.memory import need_memory
from tercet.running.threads import in_order
from tercet.uncertainty import (
    constants_by_draw,
    distances,
    pairwise_probability,
    triplet_probability,
)
from tercet.uses.active.question_kinds import Kind

Score = Callable[[int, Index, Index], Floats]  # of an anchor and two lists (m,) of objects: (m,)
RowScore = Callable[[Index], Floats]  # of questions (m, w): (m,)

BIT = np.log(2.0)
LARGEST_TABLE = 2**25  # numbers, up to which those of all pairs are computed once
DIGITS = 12  # decimals of bits; smaller differences are ties
BLOCK = 512  # pairs of objects per task


# --- the paper's score ------------------------------------------------------------------------


def uncertainty(ensemble: Ensemble, method: str) -> Score:
    """min(π, 1 − π): the largest is the paper's argmin of (π − ½)² (section 4.4)."""
    n = ensemble.n_objects
    ensemble.distances([[0, 1]])  # aligns the draws before threads need it

    def score(anchor: int, one: Index, other: Index) -> Floats:
        table = ensemble.distances(np.column_stack([np.full(n, anchor), np.arange(n)]))
        # π of both orders: 1 − π would be rounded, which would break ties.
        if 8 * len(one) > n * n:
            p = pairwise_probability(table, method)
            return np.asarray(np.minimum(p[one, other], p[other, one]))
        return np.minimum(
            triplet_probability(table, one, other, method),
            triplet_probability(table, other, one, method),
        )

    return score


# --- expected information ---------------------------------------------------------------------


class Answers(NamedTuple):
    """How people answer, in each draw."""

    squared: Floats | None  # (S, n, n) squared distances, or
    points: Floats  # (S, n, d)
    model: Model
    constants: Floats  # (S, 2) of the model, or (1, 2) for all draws
    keep: Floats  # (S,) share of answers that are not given at random


def predict_answers(ensemble: Ensemble) -> Answers:
    """Predictions of answers by an ensemble with a probabilistic model."""
    model, drawn = ensemble.model, ensemble.parameters
    assert model is not None
    by_points = ensemble.kind == "points"
    d = ensemble.n_components if by_points else 2
    return Answers(
        None if by_points else ensemble.draws**2,
        ensemble.draws,
        model,
        constants_by_draw(model, d, drawn),
        1.0 - drawn.get("lapse", np.zeros(len(ensemble))),
    )


def strengths(answers: Answers, anchor: int, draws: slice = slice(None)) -> Floats:
    """The table u (S, n) of the distances from the anchor, up to a constant of each draw.

    The model's log-odds that an object at distance 1 is nearer than the object.
    """
    if answers.squared is None:
        step = answers.points[draws] - answers.points[draws, anchor, np.newaxis]
        squared = np.einsum("snd,snd->sn", step, step)
    else:
        squared = answers.squared[draws, anchor]
    shared = len(answers.constants) == 1
    constants = answers.constants if shared else answers.constants[draws]
    table = np.ascontiguousarray(squared).reshape(len(constants), -1)
    ones, slopes = np.ones(table.shape[1]), np.empty((2, table.shape[1]))
    out = np.empty((2, *table.shape))
    kernel = type(answers.model).kernel
    for s, (p, q) in enumerate(constants):
        kernel(p, q, table[s], ones, out[0, s], slopes[0], slopes[1])
        kernel(p, q, ones, table[s], out[1, s], slopes[0], slopes[1])
    return np.asarray(out[0] - out[1]).reshape(squared.shape)


def mutual_information(ensemble: Ensemble) -> Score:
    """Expected information about which draw is true, in bits: h(mean of p) − mean of h(p).

    Houlsby et al. (2011). High where draws disagree, and low where each of them predicts random
    answers.
    """
    answers = predict_answers(ensemble)
    weight = np.full(len(ensemble), 1.0 / len(ensemble))

    def score(anchor: int, one: Index, other: Index) -> Floats:
        u = np.ascontiguousarray(strengths(answers, anchor).T)
        out = np.empty(len(one))
        _information(u, weight, answers.keep, one, other, out)
        return out.round(DIGITS)

    return score


def information_gain(
    ensemble: Ensemble, rows: Index, weights: Floats, *, every: bool, n_jobs: int
) -> Score:
    """Expected information about the position of the anchor, in bits (Tamuz et al. 2011).

    For an anchor a, τ_a(x) ∝ Π p_x(b, c) over its answers "b is nearer than c", where x runs
    through the points of the n objects and p_x is the model's probability with a moved to x. The
    gain H(τ_a) − p·H(τ_b) − (1 − p)·H(τ_c) is the mutual information of position and answer, which
    equals h(Σ τ_a p_x) − Σ τ_a h(p_x). Gains are averaged over the draws, each of which has its own
    points.

    Parameters
    ----------
    ensemble : Ensemble
    rows : (m, 3) integer array
        The answers so far.
    weights : (m,) array
        How often each was given.
    every : bool
        Whether all comparisons will be scored: then p_x, which does not depend on a, is computed
        once for all anchors.
    n_jobs : int
    """
    answers = predict_answers(ensemble)
    n, size = ensemble.n_objects, len(ensemble)
    need_memory(
        2 * size * n**2 + (n**3 // 2 if every else 0),
        f"The gain of information among {n} objects in {size} draws",
        "use strategy='mutual_information', or fewer draws",
    )
    tables = [
        np.stack([strengths(answers, x, slice(s, s + 1))[0] for x in range(n)]).T.copy()
        for s in range(size)
    ]  # (object, position)
    places = [
        _places(u, rows, weights, float(keep)) for u, keep in zip(tables, answers.keep, strict=True)
    ]
    keeps = [np.full(n, keep) for keep in answers.keep]
    if every:
        return _gains_of_all(tables, places, keeps, n_jobs)

    def score(anchor: int, one: Index, other: Index) -> Floats:
        out, total = np.empty(len(one)), np.zeros(len(one))
        for u, place, keep in zip(tables, places, keeps, strict=True):
            _information(u, place[anchor], keep, one, other, out)
            total += out
        return np.round(total / size, DIGITS)

    return score


def _gains_of_all(
    tables: list[Floats], places: list[Floats], keeps: list[Floats], n_jobs: int
) -> Score:
    n = len(tables[0])
    one, other = np.triu_indices(n, 1)
    row = np.arange(n) * n - np.arange(n) * (np.arange(n) + 3) // 2 - 1  # plus other: its place
    gains = np.zeros((len(one), n))

    def block(start: int) -> None:
        chosen = slice(start, start + BLOCK)
        for u, place, keep in zip(tables, places, keeps, strict=True):
            _add_gains(u, place, keep, one[chosen], other[chosen], gains[chosen])

    for _ in in_order(block, range(0, len(one), BLOCK), n_jobs):
        pass
    gains /= len(tables)

    def score(anchor: int, one: Index, other: Index) -> Floats:
        return np.asarray(gains[row[one] + other, anchor].round(DIGITS))

    return score


def _places(u: Floats, rows: Index, weights: Floats, keep: float) -> Floats:
    """τ (n, n): probability of each position of each anchor, given the anchor's own answers.

    Summed in logs and normalised by the largest, so that thousands of answers do not underflow.
    """
    total = np.zeros_like(u)
    _add_logs(u, rows, weights, keep, total)
    total -= total.max(axis=1, keepdims=True)
    np.exp(total, out=total)
    return np.asarray(total / total.sum(axis=1, keepdims=True))


# --- questions of any kind --------------------------------------------------------------------


def choice_information(ensemble: Ensemble, kind: Kind) -> RowScore:
    """Expected information about which draw is true, in bits: H(mean of p) − mean of H(p).

    H is the entropy of all outcomes, p their probabilities: one of the alternatives is chosen, with
    odds that are proportional to their similarities, or by a lapse any of them. Of several chosen
    ones this is the information of the first.
    """
    answers = predict_answers(ensemble)
    keep = np.ascontiguousarray(np.broadcast_to(answers.keep, len(ensemble)))

    def score(u: Floats, places: Index) -> Floats:
        out = np.empty(len(places))
        _choice_information(u, keep, places, out)
        return out.round(DIGITS)

    return _by_pairs(ensemble, kind, lambda pairs: _similarities(answers, pairs), score)


def dissent(ensemble: Ensemble, kind: Kind) -> RowScore:
    """Share of the draws in which another pair is the nearest than in most draws."""
    ensemble.distances([[0, 1]])  # aligns the draws before threads need it

    def score(lengths: Floats, places: Index) -> Floats:
        out = np.empty(len(places))
        _dissent(lengths, places, out)
        return out.round(DIGITS)

    return _by_pairs(
        ensemble, kind, lambda pairs: np.ascontiguousarray(ensemble.distances(pairs).T), score
    )


def _by_pairs(
    ensemble: Ensemble,
    kind: Kind,
    table: Callable[[Index], Floats],
    score: Callable[[Floats, Index], Floats],
) -> RowScore:
    """Score questions by a table (E, S) of all pairs or, if that is too large, of those needed."""
    n = ensemble.n_objects
    first, second = kind.alternatives.T
    every = None
    if n * (n - 1) // 2 * len(ensemble) <= LARGEST_TABLE:
        every = table(np.column_stack(np.triu_indices(n, 1)))

    def of_rows(rows: Index) -> Floats:
        low = np.minimum(rows[:, first], rows[:, second])
        high = np.maximum(rows[:, first], rows[:, second])
        if every is not None:
            return score(every, low * n - low * (low + 3) // 2 + high - 1)
        codes, places = np.unique(low * n + high, return_inverse=True)
        return score(table(np.column_stack(np.divmod(codes, n))), places.reshape(low.shape))

    return of_rows


def _similarities(answers: Answers, pairs: Index) -> Floats:
    """Log-similarities (E, S) of pairs in each draw, up to a constant."""
    i, j = pairs.T
    if answers.squared is None:
        columns = answers.points.transpose(1, 2, 0)
        squared = distances(columns, pairs, squared=True)
    else:
        squared = answers.squared[:, i, j]
    similarity = type(answers.model).similarity
    assert similarity is not None
    table, unused = np.empty((len(squared), len(pairs))), np.empty(len(pairs))
    constants = np.broadcast_to(answers.constants, (len(squared), 2))
    for s, (p, q) in enumerate(constants):
        similarity(p, q, np.ascontiguousarray(squared[s]), table[s], unused)
    return np.ascontiguousarray(table.T)


# --- compiled ---------------------------------------------------------------------------------


@jit_sums
def _choice_information(u: Floats, keep: Floats, places: Index, out: Floats) -> None:
    """Bits of choices among alternatives, rows of u (E, S) at these places (m, A)."""
    count, size = places.shape[1], u.shape[1]
    strength, total = np.empty((count, size)), np.empty(size)
    for t in range(len(places)):
        for s in range(size):
            most = u[places[t, 0], s]
            for i in range(1, count):
                most = max(most, u[places[t, i], s])
            total[s] = most
        for i in range(count):
            own = u[places[t, i]]
            for s in range(size):
                strength[i, s] = exp(own[s] - total[s])
        for s in range(size):
            sum_of = 0.0
            for i in range(count):
                sum_of += strength[i, s]
            total[s] = keep[s] / sum_of
        told, noise = 0.0, 0.0
        for i in range(count):
            mean = 0.0
            for s in range(size):
                p = strength[i, s] * total[s] + (1.0 - keep[s]) / count
                mean += p
                noise -= p * log(max(p, 1e-300))
            mean /= size
            told -= mean * log(max(mean, 1e-300))
        out[t] = max(told - noise / size, 0.0) / BIT


@jit
def _dissent(lengths: Floats, places: Index, out: Floats) -> None:
    """One minus the share of draws in which the most frequent of the nearest pairs is nearest."""
    count, size = places.shape[1], lengths.shape[1]
    for t in range(len(places)):
        votes = np.zeros(count)
        for s in range(size):
            least, ties = np.inf, 0
            for i in range(count):
                length = lengths[places[t, i], s]
                if length < least:
                    least, ties = length, 1
                elif length == least:
                    ties += 1
            for i in range(count):
                if lengths[places[t, i], s] == least:
                    votes[i] += 1.0 / ties
        out[t] = 1.0 - votes.max() / size


@inline_sums
def _answer(z: float, keep: float, lapses: bool) -> tuple[float, float]:
    """Probability of "near" at log-odds z, and its entropy in nats."""
    size = abs(z)
    cost, tail = softplus(-size)  # the less likely answer: no cancellation
    entropy = cost + size * tail
    if lapses:
        tail = 0.5 - keep * (0.5 - tail)
        entropy = -tail * log(max(tail, 1e-300)) - (1.0 - tail) * log(1.0 - tail)
    return tail if z < 0.0 else 1.0 - tail, entropy


@inline_sums
def _entropy(p: float) -> float:
    """Entropy in nats of a probability that rounding may have moved out of [0, 1]."""
    p = min(max(p, 1e-300), 1.0)
    return -p * log(p) - (1.0 - p) * log(max(1.0 - p, 1e-300))


@jit_sums
def _information(
    u: Floats, weight: Floats, keep: Floats, one: Index, other: Index, out: Floats
) -> None:
    """Bits h(Σ w p) − Σ w h(p) for pairs of rows of u (n, S), with weights w (S,) that sum to 1."""
    lapses = keep.min() < 1.0
    for t in range(len(one)):
        j, l = one[t], other[t]
        mean, noise = 0.0, 0.0
        if lapses:
            for s in range(u.shape[1]):
                p, entropy = _answer(u[l, s] - u[j, s], keep[s], True)
                mean += weight[s] * p
                noise += weight[s] * entropy
        else:
            for s in range(u.shape[1]):
                p, entropy = _answer(u[l, s] - u[j, s], 1.0, False)
                mean += weight[s] * p
                noise += weight[s] * entropy
        out[t] = max(_entropy(mean) - noise, 0.0) / BIT


@jit_sums
def _add_gains(
    u: Floats, places: Floats, keep: Floats, one: Index, other: Index, out: Floats
) -> None:
    """Add the same, for every row of weights (n, n), to out (m, n)."""
    n = len(u)
    p, entropy = np.empty(n), np.empty(n)
    for t in range(len(one)):
        j, l = one[t], other[t]
        if keep[0] != 1.0:
            for x in range(n):
                p[x], entropy[x] = _answer(u[l, x] - u[j, x], keep[0], True)
        else:
            for x in range(n):
                p[x], entropy[x] = _answer(u[l, x] - u[j, x], 1.0, False)
        for a in range(n):
            mean, noise = 0.0, 0.0
            for x in range(n):
                mean += places[a, x] * p[x]
                noise += places[a, x] * entropy[x]
            out[t, a] += max(_entropy(mean) - noise, 0.0) / BIT


@jit_sums
def _add_logs(u: Floats, rows: Index, weights: Floats, keep: float, out: Floats) -> None:
    """Add the logarithm of the probability of each answer to its anchor's row of out (n, n)."""
    for t in range(len(rows)):
        a, near, far = rows[t]
        for x in range(len(u)):
            cost, p = softplus(u[near, x] - u[far, x])
            chance = 0.5 + keep * (0.5 - p)
            out[a, x] -= weights[t] * (cost if keep == 1.0 else -log(max(chance, 1e-300)))
