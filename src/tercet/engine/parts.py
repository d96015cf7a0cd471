"""One evaluation of a large problem, spread over threads.

The problem is cut into a fixed number of parts and the parts are summed in order: the number of
threads changes the time, never the bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any

import numpy as np

from tercet.engine.kernels import add_laplacian, add_penalty, add_rows, edge_lengths, edge_weights
from tercet.engine.problem import Problem
from tercet.models.base import Array

PARTS = 8

Map = Callable[..., Iterable[Any]]  # of a pool of threads, or Python's own


def loss_in_parts(
    code: int, p: float, q: float, penalty: float, problem: Problem, run: Map
) -> Callable[[Array, Array], float]:
    """Return the function that takes an embedding, writes the gradient and returns the loss."""
    form = _edge_form if len(problem.edges) > 0 else _row_form
    add = form(code, p, q, problem, run)

    def loss(X: Array, gradient: Array) -> float:
        gradient[:] = 0.0
        return add(X, gradient) + float(add_penalty(penalty, X, gradient))

    return loss


def _row_form(
    code: int, p: float, q: float, problem: Problem, run: Map
) -> Callable[[Array, Array], float]:
    def part(span: slice, X: Array) -> tuple[float, Array]:
        gradient = np.zeros_like(X)
        weights = problem.weights[span]
        return add_rows(code, p, q, problem.comparisons[span], weights, X, gradient), gradient

    def add(X: Array, gradient: Array) -> float:
        total = 0.0
        for loss, part_gradient in run(lambda span: part(span, X), spans):
            total += loss
            gradient += part_gradient
        return total

    spans = _spans(len(problem.comparisons))
    return add


def _edge_form(
    code: int, p: float, q: float, problem: Problem, run: Map
) -> Callable[[Array, Array], float]:
    def slopes(span: slice, w: Array) -> float:
        w[:] = 0.0
        near, far, weights = problem.near[span], problem.far[span], problem.weights[span]
        return float(edge_weights(code, p, q, 0.0, near, far, weights, lengths, w)[0])

    def laplacian(span: slice, X: Array, w: Array) -> Array:
        gradient = np.zeros_like(X)
        add_laplacian(X, problem.edges[span], w[span], gradient)
        return gradient

    def add(X: Array, gradient: Array) -> float:
        list(run(lambda s: edge_lengths(X, problem.edges[s], lengths[s]), edge_spans))
        total = 0.0
        w[:] = 0.0
        for loss, part_w in zip(run(slopes, spans, own), own, strict=True):
            total += loss
            np.add(w, part_w, out=w)
        for part_gradient in run(lambda s: laplacian(s, X, w), edge_spans):
            gradient += part_gradient
        return total

    lengths, w = np.empty(len(problem.edges)), np.empty(len(problem.edges))
    # Parts that come one after the other share their place, which stays in the cache.
    own = [np.empty_like(w)] * PARTS if run is map else list(np.empty((PARTS, len(w))))
    spans, edge_spans = _spans(len(problem.comparisons)), _spans(len(problem.edges))
    return add


def _spans(size: int) -> list[slice]:
    cuts = np.linspace(0, size, PARTS + 1).astype(int).tolist()
    return [slice(a, b) for a, b in pairwise(cuts)]
