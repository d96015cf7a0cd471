"""A learned scale in JAX: `tercet.posterior.scale` for many chains at once.

The mode of the density of u = log v solves a y = s exp(-u) / 2 with y = u - m + f / (2 a) and
a = 1 / t^2, so that y + log y = z: the Wright omega function of z = log(s / (2 a)) + f / (2 a) - m.
It takes a fixed number of steps, without a loop that would wait for the slowest chain.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from tercet.models.base import TINY

_BELOW, _ABOVE = 16, 24  # steps of half a standard deviation, as on the CPU
_ROUNDS = 3


def wright_omega(z: jax.Array) -> jax.Array:
    """The y > 0 with y + log y = z, in double precision.

    Fourth-order steps (Fritsch, Shafer & Crowley 1973).
    """
    y = jnp.where(z > 1.0, z - jnp.log(jnp.maximum(z, 1.0)), jnp.exp(jnp.minimum(z, 1.0) - 0.5))
    y = jnp.where(z < -2.0, jnp.exp(jnp.minimum(z, 0.0)), y)
    for _ in range(_ROUNDS):
        rest = z - y - jnp.log(y)
        step = (1.0 + y) * (1.0 + y + 2.0 / 3.0 * rest)
        y *= 1.0 + rest / (1.0 + y) * (step - 0.5 * rest) / (step - rest)
    return y


def sum_out(s: jax.Array, freedom: float, mean: Any, sd: Any) -> tuple[jax.Array, jax.Array]:
    """-log of the integral over log v, up to a constant, and its slope by s, for s (C,)."""
    s = jnp.maximum(s, TINY)
    precision = 1.0 / (sd * sd)
    lift = 0.5 * freedom / precision
    mode = wright_omega(jnp.log(0.5 * s / precision) + lift - mean) + mean - lift
    pull = 0.5 * s * jnp.exp(-mode)
    step = 0.5 / jnp.sqrt(precision + pull)
    top = -0.5 * precision * (mode - mean) ** 2 - 0.5 * freedom * mode - pull
    away = step * jnp.arange(-_BELOW, _ABOVE + 1)[:, None]
    # Differences from the mode, where the slope is zero: (u - mean) / t^2 + f / 2 = pull.
    weights = jnp.exp(-pull * (away + jnp.expm1(-away)) - 0.5 * precision * away**2)
    total = jnp.sum(weights, axis=0)
    half = 0.5 * jnp.exp(-mode) * jnp.sum(weights * jnp.exp(-away), axis=0)
    return -top - jnp.log(total * step), half / total
