"""The spectral start on an accelerator, equal to that of `tercet.engine.starts`."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from tercet.accelerator.forms import EXACT, Comparisons, Shape, signed_counts
from tercet.engine.starts import LEAST_STEPS, SPREAD, STEPS_PER_DIMENSION

_NOTHING = 1e-10  # left of a vector: all of an invariant subspace is known
_NEVER = -2.0  # below every eigenvalue of the scaled counts


def spectral_start(shape: Shape, comparisons: Comparisons, vector: jax.Array) -> jax.Array:
    """Top eigenvectors (n, d) of the scaled signed counts; Lanczos iteration begins at the vector.

    Equal to the CPU's up to the signs of the columns.
    """
    n, d = shape.n_objects, shape.n_components
    count = min(n, max(LEAST_STEPS, STEPS_PER_DIMENSION * d))
    multiply, degree = signed_counts(shape, comparisons)
    scale = jnp.where(degree > 0.0, 1.0 / jnp.sqrt(jnp.maximum(degree, 1.0e-300)), 0.0)

    def step(
        j: jax.Array, known: tuple[jax.Array, jax.Array, jax.Array]
    ) -> tuple[jax.Array, jax.Array, jax.Array]:
        basis, diagonal, beside = known
        product = scale * multiply(scale * basis[j])
        alive = jnp.any(basis[j] != 0.0)
        diagonal = diagonal.at[j].set(jnp.where(alive, jnp.dot(product, basis[j]), _NEVER))
        for _ in range(2):  # once loses orthogonality
            overlap = jnp.matmul(basis, product, precision=EXACT)
            product = product - jnp.matmul(overlap, basis, precision=EXACT)
        left = jnp.linalg.norm(product)
        more = left > _NOTHING
        following = jnp.where(more, product / jnp.where(more, left, 1.0), 0.0)
        return basis.at[j + 1].set(following), diagonal, beside.at[j].set(more * left)

    basis = jnp.zeros((count + 1, n)).at[0].set(vector / jnp.linalg.norm(vector))
    start = basis, jnp.zeros(count), jnp.zeros(count)
    basis, diagonal, beside = jax.lax.fori_loop(0, count, step, start)
    tridiagonal = jnp.diag(diagonal)
    tridiagonal += jnp.diag(beside[: count - 1], 1) + jnp.diag(beside[: count - 1], -1)
    _, vectors = jnp.linalg.eigh(tridiagonal)
    largest = vectors[:, ::-1][:, :d]
    X = SPREAD * jnp.sqrt(1.0 * n) * jnp.matmul(basis[:count].T, largest, precision=EXACT)
    return jnp.pad(X, ((0, 0), (0, d - X.shape[1])))
