"""Losses and similarities of the models in JAX, equal to the compiled ones of `tercet.models`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from tercet.errors import InputError
from tercet.models import FILES
from tercet.models.base import CORNER, TINY

Arrays = tuple[jax.Array, jax.Array, jax.Array]
Loss = Callable[..., Arrays]
Similarity = Callable[..., jax.Array]
Twin = TypeVar("Twin")

_losses: dict[str, Loss] = {}
_similarities: dict[str, Similarity] = {}


def model_loss(code: int, p: Any, q: Any, near: jax.Array, far: jax.Array) -> Arrays:
    """Loss of comparisons, and its derivatives by the near and by the far squared distance.

    ``code`` is the model's, ``p`` and ``q`` are its constants, which may be traced.
    """
    return _twin(_losses, code)(p, q, near, far)


def log_similarity(code: int, p: Any, q: Any, squared: jax.Array) -> jax.Array:
    """Log-similarity at squared distances, up to a constant; parameters as in `model_loss`.

    It can be differentiated with respect to the squared distances, zero included.
    """
    return _twin(_similarities, code)(p, q, squared)


def _twin(known: dict[str, Twin], code: int) -> Twin:
    name = list(FILES)[code]
    if name not in known:
        raise InputError(f"{name} has no JAX version: use device='cpu'.")
    return known[name]


def _loss_of(name: str) -> Callable[[Loss], Loss]:
    """Register a function as the loss of the model of that name."""
    return _register(_losses, name)


def _similarity_of(name: str) -> Callable[[Similarity], Similarity]:
    """Register a function as the log-similarity of the model of that name."""
    return _register(_similarities, name)


def _register(known: dict[str, Twin], name: str) -> Callable[[Twin], Twin]:
    def keep(twin: Twin) -> Twin:
        known[name] = twin
        return twin

    return keep


def _softplus(z: jax.Array) -> tuple[jax.Array, jax.Array]:
    return jnp.maximum(z, 0.0) + jnp.log1p(jnp.exp(-jnp.abs(z))), jax.nn.sigmoid(z)


@_loss_of("STE")
def _ste(p: Any, q: Any, near: jax.Array, far: jax.Array) -> Arrays:
    loss, slope = _softplus(near - far)
    return loss, slope, -slope


@_similarity_of("STE")
def _ste_similarity(p: Any, q: Any, squared: jax.Array) -> jax.Array:
    return -squared


@_loss_of("TSTE")
def _tste(p: Any, q: Any, near: jax.Array, far: jax.Array) -> Arrays:
    a, b = p + near, p + far
    loss, slope = _softplus(q * jnp.log(a / b))
    return loss, q * slope / a, -q * slope / b


@_similarity_of("TSTE")
def _tste_similarity(p: Any, q: Any, squared: jax.Array) -> jax.Array:
    return -q * jnp.log(p + squared)


@_loss_of("CKL")
def _ckl(p: Any, q: Any, near: jax.Array, far: jax.Array) -> Arrays:
    # Powers are taken relative to the larger of the two, so that no exponent overflows.
    x, y = jnp.maximum(near, TINY), jnp.maximum(far, TINY)
    half = 0.5 * q
    log_x, log_y = half * jnp.log(x), half * jnp.log(y)
    largest = jnp.maximum(log_x, log_y)
    power_x, power_y = jnp.exp(log_x - largest), jnp.exp(log_y - largest)
    mu = jnp.exp(jnp.minimum(jnp.log(jnp.asarray(p, x.dtype)) - largest, 80.0))
    a, b = power_x + mu, power_y + mu
    return (
        jnp.log1p(a / b),
        half * power_x / (x * (a + b)),
        -half * (power_y / b) * (a / (a + b)) / y,
    )


@_similarity_of("CKL")
def _ckl_similarity(p: Any, q: Any, squared: jax.Array) -> jax.Array:
    power = 0.5 * q * jnp.log(squared + TINY)  # a sum, so that the slope at zero is right
    return -jnp.logaddexp(jnp.log(jnp.asarray(p, power.dtype)), power)


@_loss_of("Shepard")
def _shepard(p: Any, q: Any, near: jax.Array, far: jax.Array) -> Arrays:
    (a, by_near), (b, by_far) = _decay(p, q, near), _decay(p, q, far)
    loss, slope = _softplus(a - b)
    return loss, slope * by_near, -slope * by_far


@_similarity_of("Shepard")
def _shepard_similarity(p: Any, q: Any, squared: jax.Array) -> jax.Array:
    return -_decay(p, q, squared)[0]


def _decay(p: Any, q: Any, squared: jax.Array) -> tuple[jax.Array, jax.Array]:
    """-log s at squared distances, and its derivative."""
    x = squared + CORNER
    power = jnp.exp(jnp.minimum(0.5 * q * jnp.log(x), 80.0))
    slope = 0.5 * q * power / x
    tail = jnp.where(p > 0.0, p, 1.0)  # so that no derivative is NaN where there is none
    by_tail = jnp.log1p(tail * power) / tail
    return jnp.where(p > 0.0, by_tail, power), slope / (1.0 + p * power)


@_loss_of("GNMDS")
def _gnmds(p: Any, q: Any, near: jax.Array, far: jax.Array) -> Arrays:
    slack = 1.0 + near - far
    inside = jnp.clip(slack, 0.0, p)
    corner = jnp.where(slack > 0.0, 1.0, 0.0).astype(slack.dtype)
    slope = jnp.where(p > 0.0, inside / jnp.where(p > 0.0, p, 1.0), corner)
    return 0.5 * inside * slope + jnp.maximum(slack - p, 0.0), slope, -slope


@_loss_of("SOE")
def _soe(p: Any, q: Any, near: jax.Array, far: jax.Array) -> Arrays:
    a, b = jnp.sqrt(jnp.maximum(near, TINY)), jnp.sqrt(jnp.maximum(far, TINY))
    slack = jnp.maximum(p + a - b, 0.0)
    return slack * slack, slack / a, -slack / b
