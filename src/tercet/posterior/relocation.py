"""Moves that put one object elsewhere, or exchange two, compiled.

Few answers about an object may leave it several plausible places, with a barrier between them that
no trajectory crosses. Given the other objects, a place costs the answers about this object only, so
its conditional posterior is explored directly. Some of the others, chosen at random, mark places in
the map; from the most probable of these the conditional density is climbed to its maxima, around
which a mixture of Student distributions approximates it. Candidates are drawn from the mixture, and
one of them or the present place is chosen with probability proportional to its density divided by
that of the mixture: a Gibbs step with several candidates (Tjelmeland 2004; Andrieu, Doucet &
Holenstein 2010). The mixture depends only on the other objects, on the parameters and on random
numbers, never on the present place, so the posterior is left invariant whatever its quality.

An exchange of two objects is its own inverse. The first is any object, the second the nearest of a
few others: what is near depends on the places, not on who occupies them, so an exchange and its
inverse are proposed equally often.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.compiled import jit
from tercet.engine.constants import (
    CANDIDATES,
    CLIMBING,
    CLIMBS,
    DIFFERENCE,
    FLATTER,
    MARKS,
    STUDENT_FREEDOM,
    STUDENT_WIDER,
    SWAPPED_AMONG,
)
from tercet.engine.kernels import edge_lengths, edge_similarities, edge_weights
from tercet.engine.lists import list_weights
from tercet.engine.problem import (
    NO_EDGES,
    NO_INDEX,
    NO_LISTS,
    Index,
    Lists,
    Problem,
    number_pairs,
)
from tercet.models.base import Array
from tercet.posterior.target import Target, bonus_of, constants, prior_of_squares

LARGEST = 300_000  # answers up to which objects are relocated; more leave no doubt of a place


class Own(NamedTuple):
    """The answers about every object, those of object i one after the other.

    Its edges are numbered from 0. Its comparisons are ``near[rows[i]:rows[i + 1]]`` and so on.
    """

    rows: NDArray[np.int64]  # (n + 1,)
    near: Index  # edge numbers
    far: Index
    weights: Array  # of comparisons, or (0,)
    first_edge: NDArray[np.int64]  # (n + 1,)
    edges: Index  # (E, 2)
    first_choice: NDArray[np.int64]  # (n + 1,)
    lists: Lists


NO_ANSWERS = Own(
    np.zeros(1, dtype=np.int64),
    NO_INDEX,
    NO_INDEX,
    np.empty(0),
    np.zeros(1, dtype=np.int64),
    NO_EDGES,
    np.zeros(1, dtype=np.int64),
    NO_LISTS,
)


def own_answers(problem: Problem) -> Own:
    """List the answers about every object; none of more than `LARGEST`, of which none moves."""
    if problem.n_rows > LARGEST:
        return NO_ANSWERS
    n, c, lists = problem.n_objects, problem.comparisons, problem.lists
    near, far, edges = problem.near, problem.far, problem.edges
    if len(edges) == 0:  # the row form
        numbers, edges = number_pairs(
            np.concatenate([c[:, 0], c[:, 0]]), np.concatenate([c[:, 1], c[:, 2]]), n
        )
        near, far = np.split(numbers, 2)
    whose, row = _incidences(c.astype(np.int64), np.repeat(np.arange(len(c)), c.shape[1]), n)
    ends = edges[lists.edges].astype(np.int64)
    sizes = np.diff(lists.cuts)
    of_list = np.repeat(np.arange(len(sizes)), 2 * sizes)
    chooser, choice = _incidences(ends, of_list, n)
    length = sizes[choice]
    cuts = np.concatenate([[0], np.cumsum(length)])
    copied = np.repeat(lists.cuts[choice] - cuts[:-1], length) + np.arange(cuts[-1])
    owner = np.concatenate([whose, whose, np.repeat(chooser, length)])
    edge = np.concatenate([near[row], far[row], lists.edges[copied]]).astype(np.int64)
    keys, place = np.unique(owner * max(len(edges), 1) + edge, return_inverse=True)
    owners, distinct = np.divmod(keys, max(len(edges), 1))
    first_edge = _starts(owners, n)
    local = (place - first_edge[owner]).astype(np.uint32)
    own_near, own_far, own_listed = np.split(local, [len(row), 2 * len(row)])
    return Own(
        _starts(whose, n),
        own_near,
        own_far,
        problem.weights[row] if len(problem.weights) else np.empty(0),
        first_edge,
        np.ascontiguousarray(edges[distinct]),
        _starts(chooser, n),
        Lists(
            own_listed,
            cuts,
            lists.kinds[choice],
            lists.chosen[choice],
            lists.weights[choice],
            lists.places[copied] if len(lists.places) else lists.places,
            lists.bonus,
        ),
    )


def _incidences(
    objects: NDArray[np.int64], answers: NDArray[np.int64], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Every object with each answer in which it occurs, once, sorted by object."""
    count = int(answers.max()) + 1 if len(answers) else 1
    keys = np.unique(objects.ravel() * count + answers)
    whose, which = np.divmod(keys, count)
    return whose, which


def _starts(sorted_objects: NDArray[np.int64], n: int) -> NDArray[np.int64]:
    return np.searchsorted(sorted_objects, np.arange(n + 1))


class Others(NamedTuple):
    """What the conditional density of one object needs, besides its place."""

    i: int
    p: float
    q: float
    lapse: float
    bonus: Array
    squares: float  # of the other objects, around their centre, by the prior's precision


@jit
def _own_energy(target: Target, own: Own, others: Others, X: Array, slope: Array) -> float:
    """-log conditional density, up to a constant, of object i at X[i]; writes its gradient (d,).

    The other objects are centred.
    """
    i = others.i
    n, d = X.shape
    edges = own.edges[own.first_edge[i] : own.first_edge[i + 1]]
    rows = slice(own.rows[i], own.rows[i + 1])
    lengths, w = np.empty(len(edges)), np.zeros(len(edges))
    edge_lengths(X, edges, lengths)
    weights = own.weights[rows] if len(own.weights) > 0 else own.weights
    p, q, lapse = others.p, others.q, others.lapse
    energy, _ = edge_weights(
        target.code, p, q, lapse, own.near[rows], own.far[rows], weights, lengths, w
    )
    first, last = own.first_choice[i], own.first_choice[i + 1]
    if last > first:
        log_s, slopes, unused = np.empty_like(w), np.empty_like(w), np.zeros_like(others.bonus)
        edge_similarities(target.code, p, q, lengths, log_s, slopes)
        energy += list_weights(
            lapse, others.bonus, own.lists, first, last, log_s, slopes, w, unused
        )[0]
    energy *= target.power
    slope[:] = 0.0
    for e in range(len(edges)):
        a, b = edges[e, 0], edges[e, 1]
        if a == i or b == i:
            other = b if a == i else a
            for k in range(d):
                slope[k] += 2.0 * target.power * w[e] * (X[i, k] - X[other, k])
    share = (n - 1.0) / n
    squares = 0.0
    for k in range(d):
        for l in range(d):
            squares += X[i, k] * target.precision[k, l] * X[i, l]
    prior, by_squares = prior_of_squares(target, others.squares + share * squares, (n - 1.0) * d)
    for k in range(d):
        for l in range(d):
            slope[k] += 2.0 * by_squares * share * target.precision[k, l] * X[i, l]
    return energy + prior


@jit
def _root(H: Array, damping: float, L: Array) -> bool:
    """Cholesky root L of H + damping I; whether it is positive definite."""
    d = len(H)
    for a in range(d):
        for b in range(a + 1):
            total = H[a, b]
            if a == b:
                total += damping
            for k in range(b):
                total -= L[a, k] * L[b, k]
            if a > b:
                L[a, b] = total / L[b, b]
            elif not total > 1e-12:
                return False
            else:
                L[a, a] = math.sqrt(total)
    return True


@jit
def _solve(L: Array, g: Array, out: Array) -> None:
    """Out = inverse(L L') g."""
    d = len(L)
    for a in range(d):
        total = g[a]
        for k in range(a):
            total -= L[a, k] * out[k]
        out[a] = total / L[a, a]
    for a in range(d - 1, -1, -1):
        total = out[a]
        for k in range(a + 1, d):
            total -= L[k, a] * out[k]
        out[a] = total / L[a, a]


@jit
def _curvature(
    target: Target, own: Own, others: Others, X: Array, step: float, slope: Array, H: Array
) -> None:
    """Second derivatives at X[i], by differences of the gradient, which is ``slope`` there.

    Zero if they are not finite.
    """
    d, i = X.shape[1], others.i
    moved = np.empty(d)
    for k in range(d):
        X[i, k] += step
        _own_energy(target, own, others, X, moved)
        X[i, k] -= step
        for l in range(d):
            H[k, l] = (moved[l] - slope[l]) / step
    for k in range(d):
        for l in range(k):
            H[k, l] = H[l, k] = 0.5 * (H[k, l] + H[l, k])
    if not np.isfinite(np.sum(H)):
        H[:] = 0.0


@jit
def _climb(
    target: Target, own: Own, others: Others, X: Array, spread: float, place: Array, L: Array
) -> float:
    """Climb from a place (d,), overwritten, to a maximum of the conditional density nearby.

    Writes the Cholesky root L of the second derivatives there, and returns the energy. Damped
    Newton steps (Levenberg 1944).
    """
    d, i = X.shape[1], others.i
    H, slope, new_slope, step = np.empty((d, d)), np.empty(d), np.empty(d), np.empty(d)
    difference = DIFFERENCE * spread
    X[i] = place
    energy = _own_energy(target, own, others, X, slope)
    # A place is never wider than the map.
    least = 1.0 / (spread * spread)
    damping = least
    for _ in range(CLIMBING):
        _curvature(target, own, others, X, difference, slope, H)
        size = 0.0
        for k in range(d):
            size = max(size, abs(H[k, k]))
        while not _root(H, damping, L):
            damping = max(4.0 * damping, 0.1 * size)
        _solve(L, slope, step)
        for k in range(d):
            X[i, k] = place[k] - step[k]
        reached = _own_energy(target, own, others, X, new_slope)
        if reached < energy:
            gain = energy - reached
            energy = reached
            place[:], slope[:] = X[i], new_slope
            damping = max(0.1 * damping, least)
            if gain < 0.05:
                break
        else:
            X[i] = place
            damping = max(8.0 * damping, 0.3 * size)
    X[i] = place
    _curvature(target, own, others, X, difference, slope, H)
    damping = least
    while not _root(H, damping, L):
        damping *= 4.0
    return energy


@jit
def _log_mixture(
    place: Array, centres: Array, roots: Array, log_weights: Array, work: Array
) -> float:
    """Log density, up to a constant, of a mixture of Student distributions at a place (d,)."""
    d = len(place)
    top, total = -math.inf, 0.0
    for c in range(len(centres)):
        L = roots[c]
        square, log_root = 0.0, 0.0
        for a in range(d):  # the transpose of L times the difference
            z = 0.0
            for k in range(a, d):
                z += L[k, a] * (place[k] - centres[c, k])
            square += z * z
            log_root += math.log(L[a, a])
        square /= STUDENT_WIDER * STUDENT_WIDER
        work[c] = (
            log_weights[c]
            + log_root
            - 0.5 * (STUDENT_FREEDOM + d) * math.log1p(square / STUDENT_FREEDOM)
        )
        top = max(top, work[c])
    for c in range(len(centres)):
        total += math.exp(work[c] - top)
    return top + math.log(total)


@jit
def _draw_student(centre: Array, L: Array, rng: np.random.Generator, out: Array) -> None:
    d = len(centre)
    chi = 0.0
    for _ in range(int(STUDENT_FREEDOM)):
        chi += rng.standard_normal() ** 2
    factor = STUDENT_WIDER / math.sqrt(chi / STUDENT_FREEDOM)
    for a in range(d - 1, -1, -1):  # the transpose of L times z is normal
        total = rng.standard_normal()
        for k in range(a + 1, d):
            total -= L[k, a] * out[k]
        out[a] = total / L[a, a]
    for a in range(d):
        out[a] = centre[a] + factor * out[a]


@jit
def choose_by_log_weight(log_weights: Array, rng: np.random.Generator) -> int:
    """A number, with probability proportional to the exponential of its weight."""
    top = np.max(log_weights)
    left = rng.random() * np.sum(np.exp(log_weights - top))
    for k in range(len(log_weights)):
        left -= math.exp(log_weights[k] - top)
        if left < 0.0:
            return k
    return int(np.argmax(log_weights))


@jit
def _marks(X: Array, i: int, count: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Some objects other than i, all different, chosen at random."""
    n = len(X)
    pool = np.arange(n - 1)
    for k in range(count):
        j = k + rng.integers(0, n - 1 - k)
        pool[k], pool[j] = pool[j], pool[k]
    marks = pool[:count]
    return np.where(marks >= i, marks + 1, marks)


@jit
def relocate(
    target: Target, own: Own, theta: Array, X: Array, i: int, rng: np.random.Generator
) -> bool:
    """Draw object i anew given the others; X (n, d) is overwritten, and centred.

    Returns whether it moved.
    """
    n, d = X.shape
    p, q, lapse = constants(target, theta)
    for k in range(d):
        X[:, k] -= (np.sum(X[:, k]) - X[i, k]) / (n - 1.0)  # the centre of the others
    squares, spread = 0.0, 0.0
    for j in range(n):
        if j != i:
            for k in range(d):
                spread += X[j, k] * X[j, k]
                for l in range(d):
                    squares += X[j, k] * target.precision[k, l] * X[j, l]
    spread = math.sqrt(spread / ((n - 2.0) * d))
    others = Others(i, p, q, lapse, bonus_of(target, theta), squares)
    present, slope = X[i].copy(), np.empty(d)
    count = min(n - 1, MARKS)
    marks = _marks(X, i, count, rng)
    near = spread * count ** (-1.0 / d)
    places, energies = np.empty((count, d)), np.empty(count)
    for m in range(count):
        for k in range(d):
            places[m, k] = X[marks[m], k] + near * rng.standard_normal()
        X[i] = places[m]
        energies[m] = _own_energy(target, own, others, X, slope)
    best = np.argsort(energies)[: min(count, CLIMBS)]
    centres, roots = np.empty((len(best), d)), np.zeros((len(best), d, d))
    log_weights, work = np.empty(len(best)), np.empty(len(best))
    for c in range(len(best)):
        centres[c] = places[best[c]]
        energy = _climb(target, own, others, X, spread, centres[c], roots[c])
        log_weights[c] = -FLATTER * energy
        for a in range(d):
            log_weights[c] -= math.log(roots[c, a, a])
    log_weights -= np.max(log_weights)
    candidates, worth = np.empty((CANDIDATES + 1, d)), np.empty(CANDIDATES + 1)
    candidates[0] = present
    for c in range(1, CANDIDATES + 1):
        one = choose_by_log_weight(log_weights, rng)
        _draw_student(centres[one], roots[one], rng, candidates[c])
    for c in range(CANDIDATES + 1):
        X[i] = candidates[c]
        energy = _own_energy(target, own, others, X, slope)
        worth[c] = -energy - _log_mixture(candidates[c], centres, roots, log_weights, work)
        if not worth[c] < math.inf:
            worth[c] = -math.inf
    chosen = choose_by_log_weight(worth, rng)
    X[i] = candidates[chosen]
    for k in range(d):
        X[:, k] -= np.mean(X[:, k])
    return chosen > 0


@jit
def propose_swap(Y: Array, rng: np.random.Generator, out: Array) -> None:
    """Exchange the places of an object and of the nearest of a few others."""
    n, d = Y.shape
    i = rng.integers(0, n)
    nearest, least = i, math.inf
    for _ in range(SWAPPED_AMONG):
        j = rng.integers(0, n - 1)
        j += int(j >= i)
        apart = 0.0
        for k in range(d):
            apart += (Y[i, k] - Y[j, k]) ** 2
        if apart < least:
            nearest, least = j, apart
    out[:] = Y
    out[i], out[nearest] = Y[nearest], Y[i]
