"""Starts of the optimisation: random, or eigenvectors of the signed count matrix."""

from __future__ import annotations

import math

import numpy as np

from tercet.compiled import jit
from tercet.engine.lbfgs import dot
from tercet.engine.problem import Index, Problem
from tercet.kinds import FARTHEST, ORDERED
from tercet.models.base import Array
from tercet.models.luce import allows_tie, choice_loss, sign_of

# Lanczos steps for a start in d dimensions: more gained nothing on simulated worlds.
_LEAST_STEPS, _STEPS_PER_DIMENSION = 20, 10
_ENTRIES_PER_PAIR = 8  # up to which a full matrix is faster than the list of pairs
INVARIANT = 1e-10  # remaining length of a vector at which an invariant subspace is complete
SPREAD = 0.75  # of the points along each axis


def random_start(n_objects: int, n_components: int, rng: np.random.Generator) -> Array:
    """Points from a standard normal distribution."""
    return np.ascontiguousarray(rng.standard_normal((n_components, n_objects)).T)


def spectral_start(problem: Problem, n_components: int, rng: np.random.Generator) -> Array:
    """Top eigenvectors of the signed counts: +1 for each near pair, -1 for each far pair.

    Objects often called near get similar coordinates. The symmetric matrix is scaled by how often
    each object occurs. Lanczos iteration needs only its product with a vector, so it is formed only
    if n² is small.
    """
    return spectral_points(problem, rng.standard_normal(problem.n_objects), n_components)


@jit
def spectral_points(problem: Problem, start: Array, n_components: int) -> Array:
    """Points (n, d) of the spectral start; Lanczos iteration begins at the vector ``start``."""
    n = problem.n_objects
    pairs, values = _signed_counts(problem)
    steps = lanczos_steps(n, n_components)
    matrix = np.zeros((n, n)) if n * n <= _ENTRIES_PER_PAIR * len(pairs) else np.zeros((0, 0))
    if len(matrix) > 0:
        for e in range(len(pairs)):
            matrix[pairs[e, 0], pairs[e, 1]] += values[e]
            matrix[pairs[e, 1], pairs[e, 0]] += values[e]
    basis = np.zeros((steps, n))
    diagonal, off_diagonal = np.zeros(steps), np.zeros(steps)
    product = np.empty(n)
    normalise(start, basis[0])
    built = steps
    for j in range(steps):
        if len(matrix) > 0:
            for i in range(n):
                product[i] = dot(matrix[i], basis[j])
        else:
            multiply(pairs, values, basis[j], product)
        diagonal[j] = dot(product, basis[j])
        if j + 1 == steps:
            break
        remove(product, basis[: j + 1])
        off_diagonal[j] = normalise(product, basis[j + 1])
        if off_diagonal[j] < INVARIANT:
            built = j + 1
            break
    return ritz_points(diagonal[:built], off_diagonal[:built], basis, n_components)


@jit
def lanczos_steps(n_objects: int, n_components: int) -> int:
    """Number of Lanczos steps for a start."""
    return min(n_objects, max(_LEAST_STEPS, _STEPS_PER_DIMENSION * n_components))


@jit
def ritz_points(diagonal: Array, off_diagonal: Array, basis: Array, n_components: int) -> Array:
    """Points (n, d) from the largest eigenvalues of the tridiagonal matrix of a Lanczos basis."""
    built, n = len(diagonal), basis.shape[1]
    X = np.zeros((n, n_components))
    vector = np.empty(built)
    for k in range(min(n_components, built)):
        value = _eigenvalue(diagonal, off_diagonal, k)
        _eigenvector(diagonal, off_diagonal, value, vector)
        for j in range(built):
            scaled = SPREAD * math.sqrt(n) * vector[j]
            for i in range(n):
                X[i, k] += scaled * basis[j, i]
    return X


@jit
def _signed_counts(problem: Problem) -> tuple[Index, Array]:
    """Entries (i, j) of the symmetric matrix and their values, scaled by the objects' degrees."""
    c, weights = problem.comparisons, problem.weights
    m, last = c.shape[0], c.shape[1] - 1
    degree = np.zeros(problem.n_objects)
    third = 0 if last == 2 else 2  # a triplet compares two pairs that share its anchor
    if len(problem.edges) > 0:
        pairs = problem.edges
        values = np.zeros(len(pairs))
    else:
        pairs = np.empty((2 * m, 2), dtype=np.uint32)
        values = np.empty(2 * m)
    for t in range(m):
        weight = weights[t] if len(weights) > 0 else 1.0
        i, j, k, l = c[t, 0], c[t, 1], c[t, third], c[t, last]
        degree[i] += weight
        degree[j] += weight
        degree[k] += weight
        degree[l] += weight
        if len(problem.edges) > 0:
            values[problem.near[t]] += weight
            values[problem.far[t]] -= weight
        else:
            pairs[2 * t, 0], pairs[2 * t, 1], values[2 * t] = i, j, weight
            pairs[2 * t + 1, 0], pairs[2 * t + 1, 1], values[2 * t + 1] = k, l, -weight
    _count_lists(problem, values, degree)
    for e in range(len(pairs)):
        values[e] /= math.sqrt(max(degree[pairs[e, 0]] * degree[pairs[e, 1]], 1e-300))
    return pairs, values


@jit
def _count_lists(problem: Problem, values: Array, degree: Array) -> None:
    """Add the choices."""
    lists, edges = problem.lists, problem.edges
    counts = np.empty(np.max(np.diff(lists.cuts)) if len(lists.kinds) > 0 else 0)
    for c in range(len(lists.kinds)):
        listed = lists.edges[lists.cuts[c] : lists.cuts[c + 1]]
        count_alternatives(lists.kinds[c], lists.chosen[c], counts[: len(listed)])
        for j in range(len(listed)):
            count = lists.weights[c] * counts[j]
            values[listed[j]] += count
            degree[edges[listed[j], 0]] += abs(count)
            degree[edges[listed[j], 1]] += abs(count)


@jit
def count_alternatives(kind: int, chosen: int, counts: Array) -> None:
    """Write the signed counts of the alternatives of a choice, the chosen ones first.

    They are twice the slopes of its log-likelihood where all pairs are equally near: for two
    alternatives, 1 and -1. "Cannot tell" has none.
    """
    if chosen == 0:
        counts[:] = 0.0
        return
    if allows_tie(kind):
        kind = ORDERED if sign_of(kind) > 0.0 else FARTHEST
    choice_loss(kind, chosen, np.zeros(len(counts)), counts)
    for j in range(len(counts)):
        counts[j] *= -2.0


@jit
def multiply(pairs: Index, values: Array, v: Array, out: Array) -> None:
    """Product of the symmetric matrix with the vector v."""
    out[:] = 0.0
    for e in range(len(pairs)):
        i, j = pairs[e, 0], pairs[e, 1]
        out[i] += values[e] * v[j]
        out[j] += values[e] * v[i]


@jit
def normalise(v: Array, out: Array) -> float:
    """Write v scaled to length one; return its length."""
    norm = math.sqrt(dot(v, v))
    for k in range(v.size):
        out[k] = v[k] / max(norm, 1e-300)
    return norm


@jit
def remove(v: Array, basis: Array) -> None:
    """Make v orthogonal to the rows of the basis."""
    for row in range(len(basis)):
        overlap = dot(v, basis[row])
        for k in range(v.size):
            v[k] -= overlap * basis[row, k]


@jit
def _eigenvalue(diagonal: Array, off_diagonal: Array, rank: int) -> float:
    """Eigenvalue of a symmetric tridiagonal matrix with ``rank`` larger ones, by bisection.

    The signs of the pivots count the eigenvalues above a number (Sylvester's law of inertia).
    """
    low, high = -1.0, 1.0  # the scaled matrix has no eigenvalue outside
    for _ in range(50):
        middle = 0.5 * (low + high)
        above, pivot = 0, 1.0
        for j in range(len(diagonal)):
            coupling = off_diagonal[j - 1] ** 2 / pivot if j > 0 else 0.0
            pivot = diagonal[j] - middle - coupling
            if abs(pivot) < 1e-290:
                pivot = -1e-290
            above += pivot > 0.0
        if above > rank:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


@jit
def _eigenvector(diagonal: Array, off_diagonal: Array, value: float, vector: Array) -> None:
    """Write the unit eigenvector of that eigenvalue, by inverse iteration.

    Solves (T - value - tiny) v = v without exchanging rows, which is exact enough for a start.
    """
    n = len(diagonal)
    pivots, right = np.empty(n), np.ones(n)
    for _ in range(3):
        for j in range(n):
            coupling = off_diagonal[j - 1] / pivots[j - 1] if j > 0 else 0.0
            pivots[j] = diagonal[j] - value - 1e-13
            if j > 0:
                pivots[j] -= coupling * off_diagonal[j - 1]
                right[j] -= coupling * right[j - 1]
            if abs(pivots[j]) < 1e-14:
                pivots[j] = 1e-14
        for j in range(n - 1, -1, -1):
            following = off_diagonal[j] * vector[j + 1] if j + 1 < n else 0.0
            vector[j] = (right[j] - following) / pivots[j]
        normalise(vector, right)
    vector[:] = right
