"""Value and gradient of the loss of an embedding, compiled.

Comparisons are processed block by block: read distances, evaluate the model as one vector loop, add
up its derivatives. In the edge form these add up to one weight w per edge and the gradient is a
graph Laplacian times the points: for every edge, +-2 w (x_i - x_j). Choices among more than two
alternatives, in `tercet.engine.lists`, add to the same weights.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from tercet.compiled import exp, inline, inline_sums, jit, jit_sums, log
from tercet.engine.lists import list_weights
from tercet.engine.problem import Index, Problem
from tercet.errors import InputError
from tercet.models import known_models
from tercet.models.base import Array, Model
from tercet.models.ste import STEModel

BLOCK = 256

Kernel = Callable[..., None]

_MODELS = tuple(known_models().values())  # compiled code identifies a model by its index here
_STE = _MODELS.index(STEModel)


def code_of(model: Model) -> int:
    """The index by which compiled code identifies a model; an error for any other class."""
    kind = type(model)
    for code, known in enumerate(_MODELS):
        own = (kind.kernel, kind.similarity, kind.loss)
        if own == (known.kernel, known.similarity, known.loss):
            return code
    names = ", ".join(known.__name__ for known in _MODELS)
    raise InputError(
        f"{kind.__name__} is not a model that the engine can fit; it has {names}. To add a model, "
        "write a file with its compiled kernel and similarity and a line in "
        "tercet/models/__init__.py (and for a GPU its JAX versions in "
        "tercet/accelerator/twins.py): see CONTRIBUTING.md."
    )


def _by_code(kernels: Sequence[Kernel], code: int = 0) -> Kernel:
    """Compile the dispatch to a kernel by its code: the first of these, or one of the others."""
    if not kernels:
        return inline(_no_model)
    kernel, others = kernels[0], _by_code(kernels[1:], code + 1)

    @inline  # because its callers are cached on disk, and a function made at run time cannot be
    def choose(
        wanted: int,
        p: float,
        q: float,
        near: Array,
        far: Array,
        loss: Array,
        d_near: Array,
        d_far: Array,
    ) -> None:
        if wanted == code:
            kernel(p, q, near, far, loss, d_near, d_far)
        else:
            others(wanted, p, q, near, far, loss, d_near, d_far)

    return choose


def _no_model(
    code: int, p: float, q: float, near: Array, far: Array, loss: Array, d_near: Array, d_far: Array
) -> None:
    """Never called: `code_of` rejects other models."""


# Evaluates the model with a code on arrays of squared distances:
# model_loss(code, p, q, near, far, loss, d_near, d_far).
model_loss = _by_code([known.kernel for known in _MODELS])


def _similarity_by_code(kernels: Sequence[Kernel | None], code: int = 0) -> Kernel:
    """Compile the dispatch to a similarity by its model's code, as `_by_code` does."""
    if not kernels:
        return inline(_no_similarity)
    kernel, others = kernels[0] or inline(_no_kernel), _similarity_by_code(kernels[1:], code + 1)

    @inline
    def choose(wanted: int, p: float, q: float, squared: Array, log_s: Array, slope: Array) -> None:
        if wanted == code:
            kernel(p, q, squared, log_s, slope)
        else:
            others(wanted, p, q, squared, log_s, slope)

    return choose


def _no_similarity(
    code: int, p: float, q: float, squared: Array, log_s: Array, slope: Array
) -> None:
    """Never called: losses get no choices, see `tercet.embedder`."""


def _no_kernel(p: float, q: float, squared: Array, log_s: Array, slope: Array) -> None:
    """Never called either."""


# Evaluates the similarity of the model with a code:
# model_similarity(code, p, q, squared, log_s, slope).
model_similarity = _similarity_by_code([known.similarity for known in _MODELS])


@inline_sums
def squared_distance(dimension: int, X: Array, i: int, j: int) -> float:
    """Squared distance of two rows of X."""
    total = 0.0
    for k in range(dimension):
        difference = X[i, k] - X[j, k]
        total += difference * difference
    return total


# Each of the inlined loops below is compiled for 1, 2, 3 and 5 dimensions and for any number.


@inline_sums
def _edge_lengths(dimension: int, X: Array, edges: Index, lengths: Array) -> None:
    for e in range(len(edges)):
        lengths[e] = squared_distance(dimension, X, edges[e, 0], edges[e, 1])


@jit
def edge_lengths(X: Array, edges: Index, lengths: Array) -> None:
    """Squared length of every edge."""
    if X.shape[1] == 1:
        _edge_lengths(1, X, edges, lengths)
    elif X.shape[1] == 2:
        _edge_lengths(2, X, edges, lengths)
    elif X.shape[1] == 3:
        _edge_lengths(3, X, edges, lengths)
    else:
        _edge_lengths(X.shape[1], X, edges, lengths)


@jit_sums
def edge_weights(
    code: int,
    p: float,
    q: float,
    lapse: float,
    near: Index,
    far: Index,
    weights: Array,
    lengths: Array,
    w: Array,
) -> tuple[float, float]:
    """Add the derivatives of the loss by the squared lengths to w; return the loss.

    With a lapse rate, that share of answers is random: p becomes (1 - lapse) p + lapse / 2. The
    second number returned is the derivative of the loss by the lapse rate, zero if there is none.
    """
    buffers = np.ones((5, BLOCK))
    x, y, loss, d_near, d_far = buffers[0], buffers[1], buffers[2], buffers[3], buffers[4]
    total, by_lapse = 0.0, 0.0
    for start in range(0, len(near), BLOCK):
        size = min(BLOCK, len(near) - start)
        i = near[start : start + size]
        j = far[start : start + size]
        for t in range(size):
            x[t] = lengths[i[t]]
            y[t] = lengths[j[t]]
        model_loss(code, p, q, x, y, loss, d_near, d_far)
        if lapse > 0.0:
            # Derivatives by the lapse rate overwrite the distances, which are no longer needed.
            _mix(lapse, loss, d_near, d_far, x)
            for t in range(size):
                by_lapse += x[t] * (weights[start + t] if len(weights) > 0 else 1.0)
        if len(weights) > 0:
            _multiply(weights[start : start + size], loss, d_near, d_far)
        for t in range(size):
            total += loss[t]
        for t in range(size):
            w[i[t]] += d_near[t]
            w[j[t]] += d_far[t]
    return total, by_lapse


@jit_sums
def edge_loss(
    code: int,
    p: float,
    q: float,
    near: Index,
    far: Index,
    weights: Array,
    lengths: Array,
    limit: float,
) -> float:
    """Loss of edges of these squared lengths, without derivatives.

    No loss is negative, so a partial sum above the limit is returned at once.
    """
    buffers = np.ones((5, BLOCK))
    x, y, loss, d_near, d_far = buffers[0], buffers[1], buffers[2], buffers[3], buffers[4]
    total = 0.0
    for start in range(0, len(near), BLOCK):
        size = min(BLOCK, len(near) - start)
        i = near[start : start + size]
        j = far[start : start + size]
        for t in range(size):
            x[t] = lengths[i[t]]
            y[t] = lengths[j[t]]
        if code == _STE and len(weights) == 0:
            # The logarithm of a product, at most 2**BLOCK, instead of BLOCK logarithms.
            _ste_factors(x[:size], y[:size], loss, d_near)
            product = 1.0
            for t in range(size):
                product *= d_near[t]
            total += math.log(product)
        else:
            model_loss(code, p, q, x, y, loss, d_near, d_far)
        if len(weights) > 0:
            for t in range(size):
                loss[t] *= weights[start + t]
        for t in range(size):
            total += loss[t]
        if total > limit:
            break
    return total


@jit
def _ste_factors(near: Array, far: Array, whole: Array, factor: Array) -> None:
    """Split the loss of STE, log(1 + exp(z)), into max(z, 0) and log(1 + exp(-abs(z)))."""
    for t in range(len(near)):
        z = near[t] - far[t]
        whole[t] = max(z, 0.0)
        factor[t] = 1.0 + exp(-abs(z))


@jit
def _mix(lapse: float, loss: Array, d_near: Array, d_far: Array, by_lapse: Array) -> None:
    """Turn the loss -log p and its derivatives into those of (1 - lapse) p + lapse / 2."""
    for t in range(len(loss)):
        probability = exp(-loss[t])
        mixed = (1.0 - lapse) * probability + 0.5 * lapse
        share = (1.0 - lapse) * probability / mixed
        loss[t] = -log(mixed)
        d_near[t] *= share
        d_far[t] *= share
        by_lapse[t] = (probability - 0.5) / mixed


@jit
def _multiply(weights: Array, loss: Array, d_near: Array, d_far: Array) -> None:
    for t in range(len(weights)):
        loss[t] *= weights[t]
        d_near[t] *= weights[t]
        d_far[t] *= weights[t]


@inline
def _add_laplacian(dimension: int, X: Array, edges: Index, w: Array, gradient: Array) -> None:
    for e in range(len(edges)):
        i, j = edges[e, 0], edges[e, 1]
        twice = 2.0 * w[e]
        for k in range(dimension):
            pull = twice * (X[i, k] - X[j, k])
            gradient[i, k] += pull
            gradient[j, k] -= pull


@jit
def add_laplacian(X: Array, edges: Index, w: Array, gradient: Array) -> None:
    """Add 2 w (x_i - x_j) to row i and subtract it from row j, for every edge."""
    if X.shape[1] == 1:
        _add_laplacian(1, X, edges, w, gradient)
    elif X.shape[1] == 2:
        _add_laplacian(2, X, edges, w, gradient)
    elif X.shape[1] == 3:
        _add_laplacian(3, X, edges, w, gradient)
    else:
        _add_laplacian(X.shape[1], X, edges, w, gradient)


@inline_sums
def _add_rows(
    dimension: int,
    code: int,
    p: float,
    q: float,
    triplets: Index,
    weights: Array,
    X: Array,
    gradient: Array,
) -> float:
    buffers = np.ones((5, BLOCK))
    x, y, loss, d_near, d_far = buffers[0], buffers[1], buffers[2], buffers[3], buffers[4]
    total = 0.0
    for start in range(0, len(triplets), BLOCK):
        size = min(BLOCK, len(triplets) - start)
        block = triplets[start : start + size]
        for t in range(size):
            x[t] = squared_distance(dimension, X, block[t, 0], block[t, 1])
            y[t] = squared_distance(dimension, X, block[t, 0], block[t, 2])
        model_loss(code, p, q, x, y, loss, d_near, d_far)
        if len(weights) > 0:
            _multiply(weights[start : start + size], loss, d_near, d_far)
        for t in range(size):
            total += loss[t]
        for t in range(size):
            i, j, l = block[t, 0], block[t, 1], block[t, 2]
            near, far = 2.0 * d_near[t], 2.0 * d_far[t]
            for k in range(dimension):
                pull = near * (X[i, k] - X[j, k])
                push = far * (X[i, k] - X[l, k])
                gradient[j, k] -= pull
                gradient[l, k] -= push
                gradient[i, k] += pull + push
    return total


@jit
def add_rows(
    code: int, p: float, q: float, triplets: Index, weights: Array, X: Array, gradient: Array
) -> float:
    """Row form: add the gradient of the triplets (m, 3) to ``gradient``; return the loss."""
    if X.shape[1] == 1:
        return _add_rows(1, code, p, q, triplets, weights, X, gradient)
    if X.shape[1] == 2:
        return _add_rows(2, code, p, q, triplets, weights, X, gradient)
    if X.shape[1] == 3:
        return _add_rows(3, code, p, q, triplets, weights, X, gradient)
    if X.shape[1] == 5:
        return _add_rows(5, code, p, q, triplets, weights, X, gradient)
    return _add_rows(X.shape[1], code, p, q, triplets, weights, X, gradient)


@jit_sums
def add_penalty(penalty: float, X: Array, gradient: Array) -> float:
    """Add the gradient of penalty * sum of squares; return its value."""
    total = 0.0
    for i in range(X.shape[0]):
        for k in range(X.shape[1]):
            total += X[i, k] * X[i, k]
            gradient[i, k] += 2.0 * penalty * X[i, k]
    return penalty * total


@jit
def edge_similarities(
    code: int, p: float, q: float, lengths: Array, log_s: Array, slope: Array
) -> None:
    """Log-similarity of every edge, and its derivative by the squared length."""
    model_similarity(code, p, q, lengths, log_s, slope)


@jit
def add_edges(
    code: int,
    p: float,
    q: float,
    lapse: float,
    bonus: Array,
    problem: Problem,
    X: Array,
    gradient: Array,
) -> tuple[float, float, Array, Array, Array]:
    """Edge form: add the gradient of all comparisons and choices to ``gradient``.

    Returns the loss, its derivative by the lapse rate, the squared lengths of the edges, the
    derivatives by them, and those by the bonus.
    """
    lengths = np.empty(len(problem.edges))
    w = np.zeros(len(problem.edges))
    by_bonus = np.zeros(len(bonus))
    edge_lengths(X, problem.edges, lengths)
    total, by_lapse = edge_weights(
        code, p, q, lapse, problem.near, problem.far, problem.weights, lengths, w
    )
    if len(problem.lists.kinds) > 0:
        log_s, slopes = np.empty_like(w), np.empty_like(w)
        edge_similarities(code, p, q, lengths, log_s, slopes)
        more, more_by_lapse = list_weights(
            lapse,
            bonus,
            problem.lists,
            0,
            len(problem.lists.kinds),
            log_s,
            slopes,
            w,
            by_bonus,
        )
        total += more
        by_lapse += more_by_lapse
    add_laplacian(X, problem.edges, w, gradient)
    return total, by_lapse, lengths, w, by_bonus


@jit
def value_and_gradient(
    code: int, p: float, q: float, penalty: float, problem: Problem, X: Array, gradient: Array
) -> float:
    """Loss of the embedding X (n, d) and its gradient, on one thread."""
    gradient[:] = 0.0
    if len(problem.edges) > 0:
        total = add_edges(code, p, q, 0.0, problem.lists.bonus, problem, X, gradient)[0]
    else:
        total = add_rows(code, p, q, problem.comparisons, problem.weights, X, gradient)
    return total + add_penalty(penalty, X, gradient)
