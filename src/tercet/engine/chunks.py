"""One evaluation of a large problem, spread over threads.

The problem is cut into a fixed number of chunks and the chunks are summed in order: the number of
threads changes the time, never the bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from tercet.engine.kernels import (
    add_laplacian,
    add_penalty,
    add_rows,
    edge_lengths,
    edge_similarities,
    edge_weights,
)
from tercet.engine.lists import list_weights
from tercet.engine.problem import Index, Problem
from tercet.models.base import Array

CHUNKS = 8

Add = Callable[[Array, Array], float]
Map = Callable[..., Iterable[Any]]  # of a thread pool, or the built-in one


def loss_in_chunks(
    code: int, p: float, q: float, penalty: float, problem: Problem, run: Map
) -> Add:
    """Return the function that takes an embedding, writes the gradient and returns the loss."""

    def rows(span: slice, X: Array, gradient: Array) -> float:
        weights = problem.weights[span]
        return add_rows(code, p, q, problem.comparisons[span], weights, X, gradient)

    def slopes(span: slice, lengths: Array, w: Array) -> float:
        near, far, weights = problem.near[span], problem.far[span], problem.weights[span]
        return float(edge_weights(code, p, q, 0.0, near, far, weights, lengths, w)[0])

    size = len(problem.comparisons)
    if len(problem.edges) == 0:
        return with_penalty(penalty, sum_rows(rows, size, run))
    if len(problem.lists.kinds) == 0:
        return with_penalty(penalty, sum_edges(slopes, problem.edges, spans(size), run))
    log_s, by_length = np.empty((2, len(problem.edges)))

    def prepare(lengths: Array) -> None:
        edge_similarities(code, p, q, lengths, log_s, by_length)

    def both(part: tuple[slice, slice], lengths: Array, w: Array) -> float:
        span, (start, stop) = part[0], (part[1].start, part[1].stop)
        lists, unused = problem.lists, np.zeros(len(problem.lists.bonus))
        more = list_weights(0.0, lists.bonus, lists, start, stop, log_s, by_length, w, unused)[0]
        return slopes(span, lengths, w) + float(more)

    parts = list(zip(spans(size), spans(len(problem.lists.kinds)), strict=True))
    return with_penalty(penalty, sum_edges(both, problem.edges, parts, run, prepare))


def with_penalty(penalty: float, add: Add) -> Add:
    """The loss computed by ``add``, plus the penalty on the sum of squares."""

    def loss(X: Array, gradient: Array) -> float:
        gradient[:] = 0.0
        return add(X, gradient) + float(add_penalty(penalty, X, gradient))

    return loss


def sum_rows(rows: Callable[[slice, Array, Array], float], size: int, run: Map) -> Add:
    """Row form: ``rows(span, X, gradient)`` adds the gradient of a chunk and returns its loss."""

    def chunk(span: slice, X: Array) -> tuple[float, Array]:
        gradient = np.zeros_like(X)
        return rows(span, X, gradient), gradient

    def add(X: Array, gradient: Array) -> float:
        total = 0.0
        for loss, own_gradient in run(lambda span: chunk(span, X), spans(size)):
            total += loss
            gradient += own_gradient
        return total

    return add


def sum_edges(
    slopes: Callable[[Any, Array, Array], float],
    edges: Index,
    parts: Sequence[Any],
    run: Map,
    prepare: Callable[[Array], None] | None = None,
) -> Add:
    """Edge form: ``slopes(part, lengths, w)`` adds a chunk's derivatives to w, returns its loss.

    ``prepare(lengths)`` is called before the chunks of every evaluation.
    """

    def chunk(part: Any, own_w: Array) -> float:
        own_w[:] = 0.0
        return slopes(part, lengths, own_w)

    def laplacian(span: slice, X: Array) -> Array:
        gradient = np.zeros_like(X)
        add_laplacian(X, edges[span], w[span], gradient)
        return gradient

    def add(X: Array, gradient: Array) -> float:
        list(run(lambda s: edge_lengths(X, edges[s], lengths[s]), edge_spans))
        if prepare is not None:
            prepare(lengths)
        total = 0.0
        w[:] = 0.0
        for loss, chunk_w in zip(run(chunk, parts, own), own, strict=True):
            total += loss
            np.add(w, chunk_w, out=w)
        for own_gradient in run(lambda s: laplacian(s, X), edge_spans):
            gradient += own_gradient
        return total

    lengths, w = np.empty(len(edges)), np.empty(len(edges))
    # Consecutive chunks share a buffer, which stays in the cache.
    own = [np.empty_like(w)] * CHUNKS if run is map else list(np.empty((CHUNKS, len(w))))
    edge_spans = spans(len(edges))
    return add


def spans(size: int) -> list[slice]:
    """Cut ``size`` rows, edges or blocks into chunks."""
    cuts = np.linspace(0, size, CHUNKS + 1).astype(int).tolist()
    return [slice(a, b) for a, b in pairwise(cuts)]
