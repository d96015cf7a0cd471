"""Comparisons read block by block, so that they need not fit into memory.

Every evaluation is one pass over the blocks. With few objects in many dimensions there is a table
of all pairs, into which each block is numbered; otherwise the points are used directly.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Protocol, runtime_checkable

import numpy as np

from tercet.compiled import inline, jit
from tercet.engine.chunks import Add, Map, spans, sum_edges, sum_rows, with_penalty
from tercet.engine.kernels import BLOCK, add_rows, edge_weights, model_loss, squared_distance
from tercet.engine.problem import Index
from tercet.engine.starts import INVARIANT, lanczos_steps, multiply, normalise, remove, ritz_points
from tercet.models.base import Array

# Objects per dimension up to which a table of all pairs is faster. Measured on one core, ns per
# triplet by points and by the table: 1000 objects in 2 dimensions 8 and 11, in 10 dimensions 25 and
# 11; 2000 in 10 dimensions 26 and 31, in 20 dimensions 38 and 40. Ten tables of 2000 are 160 MB.
TABLE_PER_COMPONENT, TABLE_OBJECTS = 100, 2000


@runtime_checkable
class Blocks(Protocol):
    """Comparisons read block by block; every read gives the same ones."""

    @property
    def n_objects(self) -> int:
        """Number of objects."""

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""

    @property
    def least_weight(self) -> float:
        """The smallest weight of a comparison."""

    def read(self, number: int) -> tuple[Index, Array]:
        """Comparisons (b, 3) or (b, 4) of a block, and their weights (b,), or (0,) for ones."""


def loss_over_blocks(
    code: int,
    p: float,
    q: float,
    penalty: float,
    blocks: Blocks,
    n_components: int,
    run: Map,
) -> Add:
    """Return the function that takes an embedding, writes the gradient and returns the loss."""
    n, size = blocks.n_objects, blocks.n_blocks

    def rows(span: slice, X: Array, gradient: Array) -> float:
        total = 0.0
        for number in range(span.start, span.stop):
            comparisons, weights = blocks.read(number)
            add = add_rows if comparisons.shape[1] == 3 else add_pairs
            total += add(code, p, q, comparisons, weights, X, gradient)
        return total

    def slopes(span: slice, lengths: Array, w: Array) -> float:
        total = 0.0
        for number in range(span.start, span.stop):
            comparisons, weights = blocks.read(number)
            near, far = number_pairs(comparisons, n)
            total += edge_weights(code, p, q, 0.0, near, far, weights, lengths, w)[0]
        return total

    if n > min(TABLE_OBJECTS, TABLE_PER_COMPONENT * n_components):
        return with_penalty(penalty, sum_rows(rows, size, run))
    return with_penalty(penalty, sum_edges(slopes, all_pairs(n), spans(size), run))


@inline
def _place(n: int, first: np.uint32, second: np.uint32) -> int:
    """Number of a pair among all pairs i < j, in the order of ``np.triu_indices(n, 1)``."""
    i, j = int(min(first, second)), int(max(first, second))
    return i * n + j - (i + 1) * (i + 2) // 2


@jit
def number_pairs(comparisons: Index, n_objects: int) -> tuple[Index, Index]:
    """Numbers (b,) of the near and of the far pair of comparisons (b, 3) or (b, 4)."""
    size, last = comparisons.shape[0], comparisons.shape[1] - 1
    third = 0 if last == 2 else 2
    near, far = np.empty(size, dtype=np.uint32), np.empty(size, dtype=np.uint32)
    for t in range(size):
        near[t] = _place(n_objects, comparisons[t, 0], comparisons[t, 1])
        far[t] = _place(n_objects, comparisons[t, third], comparisons[t, last])
    return near, far


@jit
def add_pairs(
    code: int, p: float, q: float, quadruplets: Index, weights: Array, X: Array, gradient: Array
) -> float:
    """Add the gradient of quadruplets (b, 4) to ``gradient``; return the loss."""
    buffers = np.ones((5, BLOCK))
    x, y, loss, d_near, d_far = buffers[0], buffers[1], buffers[2], buffers[3], buffers[4]
    dimension, total = X.shape[1], 0.0
    for start in range(0, len(quadruplets), BLOCK):
        size = min(BLOCK, len(quadruplets) - start)
        block = quadruplets[start : start + size]
        for t in range(size):
            x[t] = squared_distance(dimension, X, block[t, 0], block[t, 1])
            y[t] = squared_distance(dimension, X, block[t, 2], block[t, 3])
        model_loss(code, p, q, x, y, loss, d_near, d_far)
        for t in range(size):
            weight = weights[start + t] if len(weights) > 0 else 1.0
            total += weight * loss[t]
            near, far = 2.0 * weight * d_near[t], 2.0 * weight * d_far[t]
            for k in range(dimension):
                pull = near * (X[block[t, 0], k] - X[block[t, 1], k])
                push = far * (X[block[t, 2], k] - X[block[t, 3], k])
                gradient[block[t, 0], k] += pull
                gradient[block[t, 1], k] -= pull
                gradient[block[t, 2], k] += push
                gradient[block[t, 3], k] -= push
    return total


def spectral_start_of_blocks(
    blocks: Blocks, n_components: int, rng: np.random.Generator, run: Map
) -> Array:
    """The points (n, d) of `spectral_start`, by Lanczos steps.

    With a table of all pairs, the signed counts are collected in one pass; otherwise each step is a
    pass.
    """
    n = blocks.n_objects
    degree = _sum_blocks(blocks, _add_degrees, n, run)
    scale = np.where(degree > 0.0, 1.0 / np.sqrt(np.maximum(degree, 1e-300)), 0.0)
    times = _signed_counts(blocks, run)
    steps = lanczos_steps(n, n_components)
    basis = np.zeros((steps, n))
    diagonal, off_diagonal = np.zeros(steps), np.zeros(steps)
    normalise(rng.standard_normal(n), basis[0])
    for j in range(steps):
        product = scale * times(scale * basis[j])
        diagonal[j] = product @ basis[j]
        if j + 1 == steps:
            break
        remove(product, basis[: j + 1])
        off_diagonal[j] = normalise(product, basis[j + 1])
        if off_diagonal[j] < INVARIANT:
            steps = j + 1
            break
    return ritz_points(diagonal[:steps], off_diagonal[:steps], basis, n_components)


def _signed_counts(blocks: Blocks, run: Map) -> Callable[[Array], Array]:
    """The product of the signed counts, +1 for near and -1 for far pairs, with a vector."""
    n = blocks.n_objects
    if n > TABLE_OBJECTS:
        return lambda v: _sum_blocks(blocks, partial(_add_product, v), n, run)
    pairs = all_pairs(n)
    values = _sum_blocks(blocks, partial(_add_counts, n), len(pairs), run)
    product = np.empty(n)

    def times(v: Array) -> Array:
        multiply(pairs, values, v, product)
        return product

    return times


def _sum_blocks(blocks: Blocks, add: Callable[..., None], size: int, run: Map) -> Array:
    """Sum (size,) over blocks of what ``add(comparisons, weights, out)`` adds to out."""

    def part(span: slice) -> Array:
        out = np.zeros(size)
        for number in range(span.start, span.stop):
            add(*blocks.read(number), out)
        return out

    total = np.zeros(size)
    for out in run(part, spans(blocks.n_blocks)):
        total += out
    return total


def all_pairs(n_objects: int) -> Index:
    """All pairs i < j, in the order of `number_pairs`."""
    return np.stack(np.triu_indices(n_objects, 1), axis=1).astype(np.uint32)


@jit
def _add_degrees(comparisons: Index, weights: Array, degree: Array) -> None:
    """Add how often each object is in a pair; an anchor is in two."""
    last = comparisons.shape[1] - 1
    third = 0 if last == 2 else 2
    for t in range(len(comparisons)):
        weight = weights[t] if len(weights) > 0 else 1.0
        degree[comparisons[t, 0]] += weight
        degree[comparisons[t, 1]] += weight
        degree[comparisons[t, third]] += weight
        degree[comparisons[t, last]] += weight


@jit
def _add_counts(n_objects: int, comparisons: Index, weights: Array, values: Array) -> None:
    """Add the signed counts of all pairs, near 1 and far -1."""
    near, far = number_pairs(comparisons, n_objects)
    for t in range(len(near)):
        weight = weights[t] if len(weights) > 0 else 1.0
        values[near[t]] += weight
        values[far[t]] -= weight


@jit
def _add_product(v: Array, comparisons: Index, weights: Array, out: Array) -> None:
    """Add the product of the signed counts with a vector."""
    last = comparisons.shape[1] - 1
    third = 0 if last == 2 else 2
    for t in range(len(comparisons)):
        weight = weights[t] if len(weights) > 0 else 1.0
        i, j = comparisons[t, 0], comparisons[t, 1]
        k, l = comparisons[t, third], comparisons[t, last]
        out[i] += weight * v[j]
        out[j] += weight * v[i]
        out[k] -= weight * v[l]
        out[l] -= weight * v[k]
