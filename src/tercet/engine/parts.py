"""One evaluation of a large problem, spread over threads.

The problem is cut into a fixed number of parts and the parts are summed in order: the number of
threads changes the time, never the bits.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np

from tercet.engine.kernels import add_laplacian, add_penalty, add_rows, edge_lengths, edge_weights
from tercet.engine.problem import Index, Problem
from tercet.models.base import Array

PARTS = 8

Add = Callable[[Array, Array], float]


def loss_in_parts(
    code: int, p: float, q: float, penalty: float, problem: Problem, pool: ThreadPoolExecutor
) -> Add:
    """Return the function that takes an embedding, writes the gradient and returns the loss."""

    def rows(span: slice, X: Array, gradient: Array) -> float:
        weights = problem.weights[span]
        return add_rows(code, p, q, problem.comparisons[span], weights, X, gradient)

    def slopes(span: slice, lengths: Array, w: Array) -> float:
        near, far, weights = problem.near[span], problem.far[span], problem.weights[span]
        return edge_weights(code, p, q, 0.0, near, far, weights, lengths, w)[0]

    size = len(problem.comparisons)
    if len(problem.edges) == 0:
        return with_penalty(penalty, sum_rows(rows, size, pool))
    return with_penalty(penalty, sum_edges(slopes, problem.edges, size, pool))


def with_penalty(penalty: float, add: Add) -> Add:
    """The loss whose parts ``add`` sums, and the penalty on the sum of squares."""

    def loss(X: Array, gradient: Array) -> float:
        gradient[:] = 0.0
        return add(X, gradient) + float(add_penalty(penalty, X, gradient))

    return loss


def sum_rows(
    rows: Callable[[slice, Array, Array], float], size: int, pool: ThreadPoolExecutor
) -> Add:
    """Row form: ``rows(span, X, gradient)`` adds the gradient of a part and returns its loss."""

    def part(span: slice, X: Array) -> tuple[float, Array]:
        gradient = np.zeros_like(X)
        return rows(span, X, gradient), gradient

    def add(X: Array, gradient: Array) -> float:
        total = 0.0
        for loss, part_gradient in pool.map(lambda span: part(span, X), spans(size)):
            total += loss
            gradient += part_gradient
        return total

    return add


def sum_edges(
    slopes: Callable[[slice, Array, Array], float],
    edges: Index,
    size: int,
    pool: ThreadPoolExecutor,
) -> Add:
    """Edge form: ``slopes(span, lengths, w)`` adds the slopes of a part to w, returns its loss."""

    def part(span: slice) -> tuple[float, Array]:
        w = np.zeros(len(edges))
        return slopes(span, lengths, w), w

    def laplacian(span: slice, X: Array, w: Array) -> Array:
        gradient = np.zeros_like(X)
        add_laplacian(X, edges[span], w[span], gradient)
        return gradient

    def add(X: Array, gradient: Array) -> float:
        list(pool.map(lambda s: edge_lengths(X, edges[s], lengths[s]), edge_spans))
        total, w = 0.0, np.zeros(len(edges))
        for loss, part_w in pool.map(part, spans(size)):
            total += loss
            w += part_w
        for part_gradient in pool.map(lambda s: laplacian(s, X, w), edge_spans):
            gradient += part_gradient
        return total

    lengths = np.empty(len(edges))
    edge_spans = spans(len(edges))
    return add


def spans(size: int) -> list[slice]:
    """Cut so many rows, edges or blocks into parts."""
    cuts = np.linspace(0, size, PARTS + 1).astype(int).tolist()
    return [slice(a, b) for a, b in pairwise(cuts)]
