"""Losses of choices among more than two alternatives in JAX, as those of `tercet.models.luce`.

Choices of one kind and size are evaluated together. Their log-similarities u have the alternatives
along the first axis, the chosen ones first, so that what all choices have at one place is
contiguous in memory; any axes may follow. Where "cannot tell" is an outcome, the logarithm of its
odds follows the alternatives.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from numpy.typing import NDArray

from tercet.arrays import Floats
from tercet.engine.problem import UNKNOWN, Lists
from tercet.kinds import BEST_WORST, FARTHEST, ORDERED, UNORDERED
from tercet.models.luce import EARLY, TIE, allows_tie, count_outcomes, integral_nodes, sign_of

# Chosen alternatives up to which a program visits all subsets of them; above, it integrates.
MOST_SUBSETS = 4


class Group(NamedTuple):
    """What choices evaluated together have in common; a program is compiled for it."""

    kind: int  # ORDERED, UNORDERED, …
    chosen: int  # how many
    size: int  # number of alternatives
    sides: bool = False  # whether the odds of an alternative depend on where it was shown

    @property
    def ties(self) -> bool:
        """Whether "cannot tell" is an outcome."""
        return bool(allows_tie(self.kind))

    @property
    def sign(self) -> float:
        """1, or -1 if dissimilar pairs are chosen first."""
        return float(sign_of(self.kind))

    @property
    def chance(self) -> float:
        """Probability of an outcome if all are equally likely."""
        return 1.0 / float(count_outcomes(self.kind, self.chosen, self.size))

    @property
    def work(self) -> float:
        """How many comparisons need about as much memory as one choice."""
        subsets = self.kind == UNORDERED and self.chosen <= MOST_SUBSETS
        return 0.5 * (self.size + self.ties + (1 << self.chosen if subsets else 0))


class Part(NamedTuple):
    """The choices of a group."""

    group: Group
    edges: NDArray[np.int64]  # (size, count) edge numbers
    weights: Floats  # (count,)
    places: NDArray[np.int64] | None  # (size, count) see `Lists`; None if sides do not matter


def parts_of(lists: Lists) -> list[Part]:
    """The groups of choices, which are sorted by them, in their order."""
    keys = np.stack([lists.kinds, lists.chosen, np.diff(lists.cuts)], axis=1)
    starts = np.flatnonzero(np.any(keys[1:] != keys[:-1], axis=1)) + 1
    spans = zip([0, *starts], [*starts, len(keys)], strict=True) if len(keys) else ()
    return [_part(lists, a, b) for a, b in spans]


def _part(lists: Lists, first: int, last: int) -> Part:
    """The choices of one group: all from the first up to the last."""
    kind, chosen = int(lists.kinds[first]), int(lists.chosen[first])
    size = int(lists.cuts[first + 1] - lists.cuts[first])
    sides = len(lists.places) > 0 and kind != BEST_WORST
    span = slice(lists.cuts[first], lists.cuts[last])
    return Part(
        Group(kind, chosen, size, sides),
        lists.edges[span].astype(np.int64).reshape(-1, size).T,
        lists.weights[first:last],
        lists.places[span].reshape(-1, size).T if sides else None,
    )


def work_of(parts: list[Part]) -> Floats:
    """The work of every choice, in their order."""
    each = [np.full(len(part.weights), part.group.work) for part in parts]
    return np.concatenate([np.empty(0), *each])


def mixed_with_lapses(
    lapse: Any, chance: float, loss: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Losses if a share of answers is random, the factor of their slopes, and those by the share.

    ``chance`` is the probability of a random answer.
    """
    probability = jnp.exp(-loss)
    mixed = (1.0 - lapse) * probability + lapse * chance
    return -jnp.log(mixed), (1.0 - lapse) * probability / mixed, (probability - chance) / mixed


def with_bonus(group: Group, log_s: jax.Array, places: Any, bonus: Any) -> jax.Array:
    """The numbers u of `choice_loss`, given log-similarities (size, ...).

    ``places`` (size, count) and ``bonus`` (2 + positions, ...) are those of `Lists`.
    """
    if group.sides:
        log_s = log_s + group.sign * bonus[places].astype(log_s.dtype)
    if group.ties:
        tie = jnp.broadcast_to(bonus[TIE].astype(log_s.dtype), (1, *log_s.shape[1:]))
        log_s = jnp.concatenate([log_s, tie])
    return log_s


def sum_by_bonus(group: Group, slopes: jax.Array, places: Any, count: int) -> jax.Array:
    """Sums (count, C) over all choices of their slopes by the bonus, in double precision.

    ``slopes`` (size, choices, C) are those by the numbers of `with_bonus`. There are no concurrent
    updates, so that the order of the sums is fixed.
    """
    sums = jnp.zeros((count, slopes.shape[2]), jnp.float64)
    if group.ties:
        sums = sums.at[TIE].set(jnp.sum(slopes[-1], axis=0, dtype=jnp.float64))
    if group.sides:
        here = places[..., None] == jnp.arange(UNKNOWN + 1, count)[:, None, None, None]
        by_place = jnp.where(here, group.sign * slopes[: group.size], 0.0)
        sums = sums.at[UNKNOWN + 1 :].set(jnp.sum(by_place, axis=(1, 2), dtype=jnp.float64))
    return sums


def loss_and_slopes(group: Group, u: jax.Array) -> tuple[jax.Array, jax.Array]:
    """-log probability (...) of choices given log-similarities u (size, ...), and slopes by u."""
    loss, pull_back = jax.vjp(lambda v: choice_loss(group, v), u)
    return loss, pull_back(jnp.ones_like(loss))[0]


def choice_loss(group: Group, u: jax.Array) -> jax.Array:
    """-log probability (...) of choices, given log-similarities u (size, ...).

    If "cannot tell" is an outcome, u is (size + 1, ...), the logarithm of its odds against the
    geometric mean the last.
    """
    if group.ties:
        return _one_or_tie(group, u)
    if group.kind == ORDERED:
        return _ordered(group.chosen, u)
    if group.kind == UNORDERED:
        return _subsets(group.chosen, u) if group.chosen <= MOST_SUBSETS else _integral(group, u)
    if group.kind == FARTHEST:
        return _ordered(1, -u)
    return _ordered(1, u) + _ordered(1, -u[1:])


def _ordered(chosen: int, u: jax.Array) -> jax.Array:
    """The first ``chosen`` alternatives in this order, each among those that are left."""
    rest = logsumexp(u[chosen:], axis=0)
    loss = jax.nn.softplus(rest - u[chosen - 1])
    for r in range(chosen - 2, -1, -1):
        rest = jnp.logaddexp(rest, u[r + 1])
        loss += jax.nn.softplus(rest - u[r])
    return loss


def _one_or_tie(group: Group, u: jax.Array) -> jax.Array:
    """The first alternative, or a tie if none is chosen."""
    odds = group.sign * u[:-1]
    tie = u[-1:] + jnp.mean(odds, axis=0)
    return _ordered(1, jnp.concatenate([odds, tie] if group.chosen else [tie, odds]))


def _subsets(chosen: int, u: jax.Array) -> jax.Array:
    """The first ``chosen`` alternatives in any order, by a recursion over subsets of them.

    A subset is the bits of a number: ``left`` is the logarithm of the similarities of all that are
    not in it, ``reached`` the log-probability that its members are chosen first.
    """
    full = (1 << chosen) - 1
    left = {full: logsumexp(u[chosen:], axis=0)}
    for subset in range(full - 1, -1, -1):
        i = next(i for i in range(chosen) if not subset >> i & 1)
        left[subset] = jnp.logaddexp(left[subset | 1 << i], u[i])
    reached = {0: jnp.zeros_like(u[0])}
    for subset in range(1, full + 1):
        ways = [
            reached[subset ^ 1 << i] + u[i] - left[subset ^ 1 << i]
            for i in range(chosen)
            if subset >> i & 1
        ]
        reached[subset] = logsumexp(jnp.stack(ways), axis=0)
    return -reached[full]


def _integral(group: Group, u: jax.Array) -> jax.Array:
    """The first alternatives in any order, by the integral of `tercet.models.luce`."""
    return _integrated(u[: group.chosen] - logsumexp(u[group.chosen :], axis=0))


@jax.custom_vjp
def _integrated(u: jax.Array) -> jax.Array:
    """-log of the integral, given log-similarities u (chosen, ...) relative to all others."""
    return _integrate(u)[0]


def _integrate(u: jax.Array) -> tuple[jax.Array, jax.Array]:
    """-log of the integral, and its slopes by u.

    Nodes are visited one after the other, so that memory does not grow with their number.
    """
    places = integral_nodes(len(u))
    step, nodes = float(places[0] - places[1]), jnp.asarray(places, u.dtype)

    def integrand(k: jax.Array) -> jax.Array:
        arrival = u + nodes[k]
        time = jnp.exp(jnp.clip(arrival, EARLY, -EARLY))
        arrived = jnp.where(arrival < EARLY, arrival, jnp.log(-jnp.expm1(-time)))
        return nodes[k] - jnp.exp(nodes[k]) + jnp.sum(arrived, axis=0)

    def add(k: jax.Array, sums: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        total, shares = sums
        weight = jnp.exp(integrand(k) - top)
        time = jnp.exp(jnp.clip(u + nodes[k], EARLY, -EARLY))
        return total + weight, shares + weight * time / jnp.expm1(time)

    count, nothing = len(nodes), jnp.zeros_like(u)
    lowest = jnp.full(u.shape[1:], -jnp.inf, u.dtype)
    top = jax.lax.fori_loop(0, count, lambda k, top: jnp.maximum(top, integrand(k)), lowest)
    total, shares = jax.lax.fori_loop(0, count, add, (nothing[0], nothing))
    return -top - jnp.log(step * total), -shares / total


_integrated.defvjp(_integrate, lambda slopes, by_loss: (by_loss * slopes,))
