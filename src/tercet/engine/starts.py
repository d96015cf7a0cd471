"""Where an optimisation begins: at random, or at the eigenvectors of the signed count matrix."""

from __future__ import annotations

import math

import numpy as np

from tercet.compiled import jit, jit_sums
from tercet.engine.problem import Index, Problem
from tercet.models.base import Array

# Lanczos steps for a start in d dimensions: more gained nothing on simulated worlds.
_STEPS, _STEPS_PER_DIMENSION = 12, 8
_SPREAD = 0.5  # of the points along each axis


def random_start(n_objects: int, n_components: int, rng: np.random.Generator) -> Array:
    """Points from a standard normal distribution."""
    return rng.standard_normal((n_objects, n_components))


def spectral_start(problem: Problem, n_components: int, rng: np.random.Generator) -> Array:
    """Top eigenvectors of the signed counts: +1 for each near pair, -1 for each far pair.

    Objects often called near pull each other together. The symmetric matrix is scaled by how often
    each object occurs and never formed: Lanczos iteration needs only its product with a vector.
    """
    n = problem.n_objects
    steps = min(n, _STEPS + _STEPS_PER_DIMENSION * n_components)
    vectors = lanczos(problem, rng.standard_normal(n), steps, min(n_components, n))
    X = np.zeros((n, n_components))
    X[:, : vectors.shape[1]] = _SPREAD * np.sqrt(n) * vectors
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
    for e in range(len(pairs)):
        values[e] /= np.sqrt(degree[pairs[e, 0]] * degree[pairs[e, 1]])
    return pairs, values


@jit
def _multiply(pairs: Index, values: Array, v: Array, out: Array) -> None:
    """Product of the symmetric matrix with the vector v."""
    out[:] = 0.0
    for e in range(len(pairs)):
        i, j = pairs[e, 0], pairs[e, 1]
        out[i] += values[e] * v[j]
        out[j] += values[e] * v[i]


@jit_sums
def _dot(a: Array, b: Array) -> float:
    total = 0.0
    for k in range(a.size):
        total += a[k] * b[k]
    return total


@jit
def _normalise(v: Array, out: Array) -> float:
    """Write v scaled to length one; return its length."""
    norm = math.sqrt(_dot(v, v))
    for k in range(v.size):
        out[k] = v[k] / max(norm, 1e-300)
    return norm


@jit_sums
def _remove(v: Array, basis: Array) -> None:
    """Make v orthogonal to the rows of the basis."""
    for row in range(len(basis)):
        overlap = _dot(v, basis[row])
        for k in range(v.size):
            v[k] -= overlap * basis[row, k]


@jit
def lanczos(problem: Problem, start: Array, steps: int, n_vectors: int) -> Array:
    """Approximate eigenvectors (n, k) of the signed counts with the largest eigenvalues."""
    n = start.size
    pairs, values = _signed_counts(problem)
    basis = np.zeros((steps, n))
    small = np.zeros((steps, steps))
    _normalise(start, basis[0])
    product = np.empty(n)
    built = steps
    for j in range(steps):
        _multiply(pairs, values, basis[j], product)
        small[j, j] = _dot(product, basis[j])
        if j + 1 == steps:
            break
        _remove(product, basis[: j + 1])
        norm = _normalise(product, basis[j + 1])
        if norm < 1e-10:  # the start lies in an invariant subspace: all of it is known
            built = j + 1
            break
        small[j, j + 1] = norm
        small[j + 1, j] = norm
    _, rotation = np.linalg.eigh(small[:built, :built])
    vectors = np.zeros((n, min(n_vectors, built)))
    for k in range(vectors.shape[1]):
        for j in range(built):
            for i in range(n):
                vectors[i, k] += rotation[j, built - 1 - k] * basis[j, i]
    return vectors
