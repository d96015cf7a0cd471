"""Value and gradient of the loss on an accelerator, in one of two forms.

*Matrix*: all squared distances by one matrix product, two look-ups per comparison, one scatter of
the derivatives into a matrix w, and the gradient as its Laplacian times the points, another
product. Its cost hardly grows with d, but it grows with n². *Rows*: the points of every comparison
are looked up, and its gradient added to their rows. Choices among more than two alternatives do the
same with all their pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from tercet.accelerator.lists import Group, choice_loss, with_bonus
from tercet.accelerator.twins import log_similarity, model_loss
from tercet.engine.problem import Index
from tercet.engine.starts import count_alternatives

# Squared distances from a product cancel: reduced precision would not do.
EXACT = jax.lax.Precision.HIGHEST

# Entries of the matrix per comparison, and one more per dimension, up to which the matrix form is
# faster (measured, see docs/accelerator.md).
_ENTRIES = 3
BY_DIFFERENCES = 16  # dimensions
_LARGEST_MATRIX = 2**31 - 1  # entries: pairs are numbered in 32 bits


class Shape(NamedTuple):
    """The shapes for which a program is compiled."""

    n_objects: int
    n_components: int
    by_matrix: bool
    groups: tuple[Group, ...] = ()  # of the choices among more than two alternatives


class Listed(NamedTuple):
    """Choices of one kind and size on the device.

    In the matrix form ``pairs`` are (1, size, m): first * n + second. In the row form they are
    objects (2, size, m). Batches have a leading axis.
    """

    pairs: jax.Array
    weights: jax.Array  # (m,)
    places: jax.Array | None = None  # (size, m), if sides matter


class Comparisons(NamedTuple):
    """Comparisons on the device, and choices.

    In the matrix form ``rows`` are pairs (m, 2): near and far as first * n + second. In the row
    form they are objects (m, 3) or (m, 4). Batches have a leading axis.
    """

    rows: jax.Array
    weights: jax.Array | None  # (m,)
    lists: tuple[Listed, ...] = ()  # in the order of the shape's groups
    bonus: jax.Array | None = None  # (2 + positions,) if some choices have ties or sides


class Loss(NamedTuple):
    """The model's code, its constants, which may be traced, and the penalty."""

    code: int
    p: Any
    q: Any
    penalty: Any


def choose_shape(n_objects: int, n_components: int, n_comparisons: int, memory: int) -> Shape:
    """The form for a number of comparisons, or as much work, and bytes of memory."""
    entries = n_objects**2
    by_matrix = Shape(n_objects, n_components, True)
    fits = entries <= _LARGEST_MATRIX and bytes_working(by_matrix, n_comparisons) <= memory
    quick = entries <= (_ENTRIES + n_components) * n_comparisons
    return Shape(n_objects, n_components, fits and quick)


def bytes_working(shape: Shape, n_comparisons: int) -> int:
    """Approximate temporary memory of one evaluation in float64, in bytes."""
    if shape.by_matrix:
        return 40 * shape.n_objects**2 + 64 * n_comparisons
    return (80 * shape.n_components + 32) * n_comparisons


def rows_of(comparisons: Index, shape: Shape) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Comparisons (m, 3) or (m, 4) in the form's representation."""
    if not shape.by_matrix:
        return comparisons.astype(np.int32)
    n = shape.n_objects
    first, third = comparisons[:, 0].astype(np.int64), comparisons[:, -2].astype(np.int64)
    if comparisons.shape[1] == 3:
        third = first
    near, far = first * n + comparisons[:, 1], third * n + comparisons[:, -1]
    return np.stack([near, far], axis=1).astype(np.int32)


def pairs_of(edges: Index, shape: Shape) -> np.ndarray[Any, np.dtype[np.int32]]:
    """Edges (size, m, 2) of choices in the form's representation."""
    ends = np.moveaxis(edges.astype(np.int64), 2, 0)
    return (ends[:1] * shape.n_objects + ends[1:] if shape.by_matrix else ends).astype(np.int32)


def value_and_gradient(
    shape: Shape, loss: Loss, comparisons: Comparisons, X: jax.Array, dtype: Any
) -> tuple[jax.Array, jax.Array]:
    """Loss of the embedding X (n, d) and its gradient, both float64, computed in that dtype."""
    form = _matrix_form if shape.by_matrix else _row_form
    points = (X - X.mean(axis=0)).astype(dtype)
    value, gradient = form(shape.groups, loss, comparisons, points)
    squares = jnp.sum(X * X)
    return (
        value + loss.penalty * squares,
        gradient.astype(jnp.float64) + 2.0 * loss.penalty * X,
    )


def _evaluate(
    loss: Loss, near: jax.Array, far: jax.Array, weights: jax.Array | None
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Sum of the losses in float64, and the derivatives."""
    p, q = (jnp.asarray(c, near.dtype) for c in (loss.p, loss.q))
    value, d_near, d_far = model_loss(loss.code, p, q, near, far)
    if weights is not None:
        w = weights.astype(near.dtype)
        value, d_near, d_far = w * value, w * d_near, w * d_far
    return jnp.sum(value, dtype=jnp.float64), d_near, d_far


def _evaluate_list(
    loss: Loss, group: Group, own: Listed, bonus: jax.Array | None, squared: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Sum of the losses in float64, and the derivatives by squared distances (size, m)."""
    p, q = (jnp.asarray(c, squared.dtype) for c in (loss.p, loss.q))

    def losses(x: jax.Array) -> jax.Array:
        log_s = log_similarity(loss.code, p, q, x)
        return choice_loss(group, with_bonus(group, log_s, own.places, bonus))

    value, pull_back = jax.vjp(losses, squared)
    w = own.weights.astype(squared.dtype)
    return jnp.sum(w * value, dtype=jnp.float64), pull_back(w)[0]


def _matrix_form(
    groups: tuple[Group, ...], loss: Loss, comparisons: Comparisons, X: jax.Array
) -> tuple[jax.Array, jax.Array]:
    n = len(X)
    near, far = comparisons.rows[:, 0], comparisons.rows[:, 1]
    D = squared_distances(X).ravel()
    value, d_near, d_far = _evaluate(loss, _get(D, near), _get(D, far), comparisons.weights)
    pairs, slopes = [near, far], [d_near, d_far]
    for group, own in zip(groups, comparisons.lists, strict=True):
        squared = _get(D, own.pairs[0])
        more, by_squared = _evaluate_list(loss, group, own, comparisons.bonus, squared)
        value += more
        pairs.append(own.pairs.ravel())
        slopes.append(by_squared.ravel())
    # One scatter of all is faster than several.
    w = _add(jnp.zeros(n * n, X.dtype), jnp.concatenate(pairs), jnp.concatenate(slopes))
    return value, _laplacian(w.reshape(n, n), X)


def squared_distances(X: jax.Array) -> jax.Array:
    """All squared distances (n, n) of centred points (n, d).

    Differences are exact for points that almost coincide, and as fast in few dimensions.
    """
    if X.shape[1] <= BY_DIFFERENCES:
        total = jnp.zeros((len(X), len(X)), X.dtype)
        for column in X.T:
            total = total + (column[:, None] - column) ** 2
        return total
    squares = jnp.sum(X * X, axis=1)
    products = jnp.matmul(X, X.T, precision=EXACT)
    return jnp.maximum(squares[:, None] + squares - 2.0 * products, 0.0)


def _laplacian(w: jax.Array, X: jax.Array) -> jax.Array:
    """2 (diag(s 1) - s) X with s = w + w': for every pair, 2 w (x_i - x_j)."""
    s = w + w.T
    return 2.0 * (jnp.sum(s, axis=1)[:, None] * X - jnp.matmul(s, X, precision=EXACT))


def _row_form(
    groups: tuple[Group, ...], loss: Loss, comparisons: Comparisons, X: jax.Array
) -> tuple[jax.Array, jax.Array]:
    a, b, c, e = _objects(comparisons.rows)
    near, far = _get(X, a) - _get(X, b), _get(X, c) - _get(X, e)
    squares = jnp.sum(near * near, axis=1), jnp.sum(far * far, axis=1)
    value, d_near, d_far = _evaluate(loss, *squares, comparisons.weights)
    pull, push = 2.0 * d_near[:, None] * near, 2.0 * d_far[:, None] * far
    if comparisons.rows.shape[1] == 3:
        rows, changes = [a, b, e], [pull + push, -pull, -push]
    else:
        rows, changes = [a, b, c, e], [pull, -pull, push, -push]
    for group, own in zip(groups, comparisons.lists, strict=True):
        apart = _get(X, own.pairs[0]) - _get(X, own.pairs[1])
        squared = jnp.sum(apart * apart, axis=2)
        more, by_squared = _evaluate_list(loss, group, own, comparisons.bonus, squared)
        value += more
        pull = (2.0 * by_squared[:, :, None] * apart).reshape(-1, X.shape[1])
        rows += [end.ravel() for end in own.pairs]
        changes += [pull, -pull]
    return value, _sum_rows(X, rows, changes)


def _sum_rows(X: jax.Array, rows: list[jax.Array], changes: list[jax.Array]) -> jax.Array:
    """Add the changes (m, d) to their rows of an array shaped as X.

    Element by element: a scatter of whole rows is up to thirteen times slower.
    """
    n, d = X.shape
    numbers = jnp.concatenate(rows)[:, None] * d + jnp.arange(d, dtype=jnp.int32)
    total = _add(jnp.zeros(n * d, X.dtype), numbers.ravel(), jnp.concatenate(changes).ravel())
    return total.reshape(n, d)


def _get(array: jax.Array, index: jax.Array) -> jax.Array:
    return array.at[index].get(mode="promise_in_bounds")


def _add(array: jax.Array, index: jax.Array, values: jax.Array) -> jax.Array:
    return array.at[index].add(values, mode="promise_in_bounds")


def _objects(rows: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """The four objects of two pairs; those of a triplet share its anchor."""
    last = rows.shape[1] - 1
    return rows[:, 0], rows[:, 1], rows[:, 0 if last == 2 else 2], rows[:, last]


def signed_counts(
    shape: Shape, comparisons: Comparisons
) -> tuple[Callable[[jax.Array], jax.Array], jax.Array]:
    """Product of the symmetric signed counts with a vector (n,), and the objects' degrees.

    Each comparison counts +1 for its near pair and -1 for its far pair, times its weight. For
    choices see `tercet.engine.starts.count_alternatives`.
    """
    n = shape.n_objects
    first, second, counts = _counted_pairs(shape, comparisons)
    degree = _add(_add(jnp.zeros(n), first, jnp.abs(counts)), second, jnp.abs(counts))
    if shape.by_matrix:
        w = _add(jnp.zeros(n * n), first * n + second, counts).reshape(n, n)
        s = w + w.T

        def multiply(v: jax.Array) -> jax.Array:
            return jnp.matmul(s, v, precision=EXACT)
    else:

        def multiply(v: jax.Array) -> jax.Array:
            out = _add(jnp.zeros(n), first, counts * _get(v, second))
            return _add(out, second, counts * _get(v, first))

    return multiply, degree


def _counted_pairs(
    shape: Shape, comparisons: Comparisons
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The two objects of all pairs in comparisons and choices, and the signed count of each."""
    n, rows = shape.n_objects, comparisons.rows
    m = rows.shape[0]
    weight = jnp.ones(m) if comparisons.weights is None else comparisons.weights.astype(float)
    if shape.by_matrix:
        a, b, c, e = (end for pair in rows.T for end in (pair // n, pair % n))
    else:
        a, b, c, e = _objects(rows)
    first, second, counts = [a, c], [b, e], [weight, -weight]
    for group, own in zip(shape.groups, comparisons.lists, strict=True):
        pairs = own.pairs
        ends = (pairs[0] // n, pairs[0] % n) if shape.by_matrix else (pairs[0], pairs[1])
        first.append(ends[0].ravel())
        second.append(ends[1].ravel())
        of_one = np.empty(group.size)
        count_alternatives(group.kind, group.chosen, of_one)
        counts.append((jnp.asarray(of_one)[:, None] * own.weights.astype(float)).ravel())
    return jnp.concatenate(first), jnp.concatenate(second), jnp.concatenate(counts)
