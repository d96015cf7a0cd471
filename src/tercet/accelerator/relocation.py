"""Moves that put one object elsewhere, or exchange two, for many chains in lockstep, in JAX.

The moves of `tercet.posterior.relocation`, with the same constants. All chains relocate the same
object, so that they share the list of answers about it; its places are each chain's own. Whatever
needs the present place is computed apart from the mixture, for which the object lies at the centre
of the others.

Own energies, priors and weights are in double precision. Places are (d, P, C): P of them in each
of C chains.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from numpy.typing import NDArray

from tercet.accelerator.lists import choice_loss, parts_of, with_bonus
from tercet.accelerator.target import (
    PLACES_AT_ONCE,
    Constants,
    Data,
    Form,
    comparison_losses,
    constants_at,
    energies,
    mixed,
    padded,
    prior_of_scale,
    similarities,
    times_precision,
)
from tercet.arrays import Floats
from tercet.engine.constants import (
    CANDIDATES,
    CLIMBING,
    CLIMBS,
    DIFFERENCE,
    FLATTER,
    MARKS,
    RELOCATED,
    STUDENT_FREEDOM,
    STUDENT_WIDER,
    SWAPPED_AMONG,
)
from tercet.engine.problem import Problem

_LEAST_PIVOT = 1e-10  # in units of the largest entry of the diagonal

# --- the answers about every object -------------------------------------------------------------


class OwnAnswers(NamedTuple):
    """The answers of one kind and size about every object, padded with answers of weight 0.

    Each is about ``size`` pairs; if the object is one of a pair, it is the first.
    """

    first: Any  # (n, size, J) objects
    second: Any  # (n, size, J)
    weights: Any  # (n, J)
    places: Any = None  # (n, size, J), if sides matter


def own_tables(problem: Problem) -> tuple[OwnAnswers, ...]:
    """Comparisons, whose pairs are near and far, and the choices of each group, in their order."""
    n, edges = problem.n_objects, problem.edges.astype(np.int64)
    weights = problem.weights if len(problem.weights) else np.ones(len(problem.near))
    compared = edges[np.stack([problem.near, problem.far])]
    parts = parts_of(problem.lists)
    return (
        _table(n, compared, weights, None),
        *(_table(n, edges[part.edges], part.weights, part.places) for part in parts),
    )


def _table(
    n: int, ends: NDArray[np.int64], weights: Floats, places: NDArray[np.int64] | None
) -> OwnAnswers:
    """The table of answers, given the ends (size, K, 2) of their pairs.

    Pairs that pad it are another object, twice.
    """
    count = len(weights)
    whose, which = np.divmod(np.unique(ends * count + np.arange(count)[:, None]), max(count, 1))
    rows, there = (part.T for part in padded(whose, which, n))
    rows, there = rows[:, there.any(axis=0)], there[:, there.any(axis=0)]
    a, b = np.moveaxis(ends[:, rows], 3, 0)
    i = np.arange(n)[:, None]
    first, second = np.where(b == i, b, a), np.where(b == i, a, b)
    first, second = (np.where(there, part, (i + 1) % n) for part in (first, second))
    return OwnAnswers(
        np.moveaxis(first, 0, 1).astype(np.int32),
        np.moveaxis(second, 0, 1).astype(np.int32),
        np.where(there, weights[rows], 0.0),
        None if places is None else np.moveaxis(places[:, rows], 0, 1).astype(np.int32),
    )


# --- the density of a place ---------------------------------------------------------------------


class _Given(NamedTuple):
    """Answers of one kind and size about one object, given the other objects."""

    others: jax.Array  # (size, J, d, C) the other objects of its pairs
    apart: jax.Array  # (size, J, C) squared distances of pairs without it
    with_it: jax.Array  # (size, J, 1) whether a pair is with it
    weights: jax.Array  # (J,)
    places: jax.Array | None  # (size, J)


class _Others(NamedTuple):
    """What the conditional density of one object needs, besides its place."""

    answers: tuple[_Given, ...]
    at: Constants
    squares: jax.Array  # (C,) of the other objects, around their centre, by the prior's precision


def _given_others(data: Data, at: Constants, i: jax.Array, others: jax.Array) -> _Others:
    """The other objects (n, d, C), centred; what is in row i does not matter."""
    answers = []
    for table in data.own:
        first, second = table.first[i], table.second[i]
        far = others[second]
        with_it = (first == i)[..., None]
        apart = jnp.sum((others[first] - far) ** 2, axis=2)
        places = None if table.places is None else table.places[i]
        answers.append(_Given(far, apart, with_it, table.weights[i], places))
    rest = others.at[i].set(0.0)
    squares = jnp.sum(rest * times_precision(data, rest), axis=(0, 1))
    return _Others(tuple(answers), at, squares)


def _likelihood(form: Form, given: _Others, place: jax.Array) -> jax.Array:
    """-log likelihood (C,) of the answers about an object at a place (d, C)."""
    total = jnp.zeros(place.shape[1:])
    for group, own in zip((None, *form.groups), given.answers, strict=True):
        apart = place - own.others
        squared = jnp.where(own.with_it, jnp.sum(apart * apart, axis=2), own.apart)
        if group is None:
            loss = comparison_losses(form, given.at, squared[0], squared[1])[0]
        else:
            log_s = similarities(form, given.at, squared)
            loss = choice_loss(group, with_bonus(group, log_s, own.places, given.at.bonus))
            loss = mixed(form, given.at, group.chance, loss)[0]
        total += jnp.sum(own.weights[:, None] * loss, axis=0)
    return total


def _prior(form: Form, data: Data, given: _Others, place: jax.Array) -> tuple[jax.Array, jax.Array]:
    """-log prior (C,) of a place (d, C), and its slope."""
    share = (form.n_objects - 1.0) / form.n_objects
    by_precision = times_precision(data, place[None])[0]
    squares = given.squares + share * jnp.sum(place * by_precision, axis=0)
    energy, slope = prior_of_scale(form, data, squares)
    return energy, 2.0 * slope * share * by_precision


def own_energies(form: Form, data: Data, given: _Others, places: jax.Array) -> jax.Array:
    """-log conditional density (P, C), up to a constant, of places (d, P, C)."""

    def at_one(place: jax.Array) -> jax.Array:
        return _likelihood(form, given, place) + _prior(form, data, given, place)[0]

    return jnp.asarray(jax.vmap(at_one, 1)(places))


class _Point(NamedTuple):
    """Where climbs have arrived."""

    place: jax.Array  # (d, P, C)
    energy: jax.Array  # (P, C)
    slope: jax.Array  # (d, P, C)
    H: jax.Array  # (d, d, P, C) second derivatives


def _expand(
    form: Form, data: Data, given: _Others, places: jax.Array, difference: jax.Array
) -> _Point:
    """The conditional energy and its first two derivatives at places (d, P, C).

    The second are differences of the first over a length (C,).
    """

    def at_one(place: jax.Array) -> tuple[jax.Array, jax.Array]:
        loss, pull_back = jax.vjp(lambda at: _likelihood(form, given, at), place)
        prior, slope = _prior(form, data, given, place)
        return loss + prior, pull_back(jnp.ones_like(loss))[0] + slope

    d = len(places)
    moves = jnp.concatenate([jnp.zeros((d, 1)), jnp.eye(d)], axis=1)[:, :, None, None]
    at_all = jax.vmap(jax.vmap(at_one, 1, (0, 1)), 1, (0, 1))
    energy, slopes = at_all(places[:, None] + moves * difference)
    H = (slopes[:, 1:] - slopes[:, :1]) / difference
    return _Point(places, energy[0], slopes[:, 0], 0.5 * (H + jnp.swapaxes(H, 0, 1)))


# --- the mixture --------------------------------------------------------------------------------


def _cholesky(H: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Roots of symmetric H (d, d, ...), and whether each is positive definite.

    Columns one after the other for all at once, as the matrices are small and many.
    """
    d = len(H)
    rows = jnp.arange(d).reshape(-1, *[1] * (H.ndim - 2))
    least = _LEAST_PIVOT * jnp.max(jnp.stack([H[k, k] for k in range(d)]), axis=0)
    columns, definite = [], jnp.ones(H.shape[2:], dtype=bool)
    for k in range(d):
        definite &= H[k, k] > least
        root = jnp.sqrt(jnp.maximum(H[k, k], least))
        column = jnp.where(rows == k, root, jnp.where(rows > k, H[:, k] / root, 0.0))
        columns.append(column)
        H = H - column[:, None] * column
    return jnp.stack(columns, axis=1), definite


def _root(H: jax.Array, damping: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Cholesky root (d, d, ...) of H + damping I, and the damping, increased if need be.

    The last of the increases is more than any negative eigenvalue.
    """
    d = len(H)
    size = jnp.max(jnp.abs(H), axis=(0, 1))
    dampings = jnp.stack([damping + share * size for share in (0.0, 0.1, 0.4, float(d))])
    identity = jnp.eye(d).reshape(d, d, *[1] * dampings.ndim)
    L, definite = _cholesky(H[:, :, None] + identity * dampings)
    first = jnp.argmax(definite.at[-1].set(True), axis=0)[None]
    return (
        jnp.take_along_axis(L, first[None, None], axis=2)[:, :, 0],
        jnp.take_along_axis(dampings, first, axis=0)[0],
    )


def _forward(L: jax.Array, g: jax.Array) -> jax.Array:
    """inverse(L) g, for L (d, d, ...) and g (d, ...)."""
    out = []
    for k in range(len(L)):
        out.append(g[k] / L[k, k])
        g = g - L[:, k] * out[-1]
    return jnp.stack(out)


def _backward(L: jax.Array, g: jax.Array) -> jax.Array:
    """inverse(L') g, for L (d, d, ...) and g (d, ...)."""
    out = []
    for k in reversed(range(len(L))):
        out.append(g[k] / L[k, k])
        g = g - L[k] * out[-1]
    return jnp.stack(out[::-1])


def _climb(
    form: Form, data: Data, given: _Others, places: jax.Array, spread: jax.Array
) -> tuple[_Point, jax.Array]:
    """Climb from places (d, P, C) to maxima of the conditional density nearby.

    Returns the Cholesky roots (d, d, P, C) of the second derivatives there, too. Damped Newton
    steps (Levenberg 1944), as many for every chain; one that leads downwards is not taken.
    """
    d = len(places)
    least = jnp.broadcast_to(1.0 / spread**2, places.shape[1:])  # none is wider than the map
    nowhere = _Point(
        places,
        jnp.full(places.shape[1:], jnp.inf),
        jnp.zeros_like(places),
        jnp.zeros((d, *places.shape)),
    )

    def step(_: Any, carry: tuple[_Point, jax.Array, jax.Array]) -> tuple[Any, ...]:
        here, proposed, damping = carry
        there = _expand(form, data, given, proposed, DIFFERENCE * spread)
        finite = jnp.all(jnp.isfinite(there.H), axis=(0, 1))
        better = (there.energy < here.energy) & finite
        here = _Point(*(jnp.where(better, a, b) for a, b in zip(there, here, strict=True)))
        larger = jnp.maximum(8.0 * damping, 0.3 * jnp.max(jnp.abs(here.H), axis=(0, 1)))
        damping = jnp.where(better, jnp.maximum(0.1 * damping, least), larger)
        L, damping = _root(here.H, damping)
        return here, here.place - _backward(L, _forward(L, here.slope)), damping

    here, *_ = jax.lax.fori_loop(0, CLIMBING + 1, step, (nowhere, places, least))
    return here, _root(here.H, least)[0]


class _Mixture(NamedTuple):
    """Student distributions."""

    centres: jax.Array  # (d, M, C)
    roots: jax.Array  # (d, d, M, C) of their precisions, in units of their widening
    log_weights: jax.Array  # (M, C), up to a constant


def _log_density(mixture: _Mixture, places: jax.Array) -> jax.Array:
    """Log density (P, C) of places (d, P, C), up to a constant."""
    d, L = len(places), mixture.roots
    apart = places[:, :, None] - mixture.centres[:, None]
    z = jnp.sum(L[:, :, None] * apart[:, None], axis=0)  # the transpose of L times the difference
    square = jnp.sum(z * z, axis=0) / STUDENT_WIDER**2
    tails = 0.5 * (STUDENT_FREEDOM + d) * jnp.log1p(square / STUDENT_FREEDOM)
    return logsumexp(mixture.log_weights + _log_roots(L) - tails, axis=1)


def _log_roots(L: jax.Array) -> jax.Array:
    return jnp.asarray(sum(jnp.log(L[k, k]) for k in range(len(L))))


class _Luck(NamedTuple):
    """The random numbers of a relocation: few calls for all, as each takes long to compile."""

    marks: jax.Array  # all different, of n - 1
    near: jax.Array  # (d, marks, C) normal
    normal: jax.Array  # (d, CANDIDATES, C)
    chi: jax.Array  # (CANDIDATES, C) chi-squared
    component: jax.Array  # (M, CANDIDATES, C) Gumbel
    choice: jax.Array  # (1 + CANDIDATES, C) Gumbel


def _try_luck(n: int, d: int, C: int, key: Any) -> _Luck:
    """Random numbers for n objects in d dimensions and C chains."""
    count = min(n - 1, MARKS)
    climbs, freedom = min(count, CLIMBS), int(STUDENT_FREEDOM)
    permuting, normal, gumbel = jax.random.split(key, 3)
    shapes = [(d, count, C), (d, CANDIDATES, C), (freedom, CANDIDATES, C)]
    near, candidates, radii = _several(jax.random.normal, normal, shapes)
    shapes = [(climbs, CANDIDATES, C), (1, 1 + CANDIDATES, C)]
    component, choice = _several(jax.random.gumbel, gumbel, shapes)
    chi = jnp.sum(radii * radii, axis=0)
    marks = jax.random.permutation(permuting, n - 1)[:count]
    return _Luck(marks, near, candidates, chi, component, choice[0])


def _several(draw: Any, key: Any, shapes: list[tuple[int, int, int]]) -> list[jax.Array]:
    """Arrays of random numbers of these shapes, whose last axis is the same, by one call."""
    rows = [a * b for a, b, _ in shapes]
    cuts = np.cumsum(rows[:-1])
    parts = jnp.split(draw(key, (sum(rows), shapes[0][2]), jnp.float64), cuts)
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


def _draw_candidates(mixture: _Mixture, luck: _Luck) -> jax.Array:
    """Places (d, CANDIDATES, C) drawn from the mixture."""
    one = jnp.argmax(mixture.log_weights[:, None] + luck.component, axis=0)
    centres = jnp.take_along_axis(mixture.centres, one[None], axis=1)
    L = jnp.take_along_axis(mixture.roots, one[None, None], axis=2)
    factor = STUDENT_WIDER / jnp.sqrt(luck.chi / STUDENT_FREEDOM)
    return centres + factor * _backward(L, luck.normal)


def _approximate(
    form: Form, data: Data, given: _Others, i: jax.Array, others: jax.Array, luck: _Luck
) -> _Mixture:
    """A mixture that approximates the density of object i, given the others (n, d, C), centred.

    Row i of these is zero: the present place has no part in it.
    """
    n, d, C = others.shape
    spread = jnp.sqrt(jnp.sum(others * others, axis=(0, 1)) / ((n - 2.0) * d))
    count = len(luck.marks)
    marks = luck.marks + (luck.marks >= i)
    places = jnp.swapaxes(others[marks], 0, 1) + spread * count ** (-1.0 / d) * luck.near
    # Few at once, because every place needs memory for all answers about the object.
    few = max(k for k in range(1, PLACES_AT_ONCE + 1) if count % k == 0)
    parts = jnp.moveaxis(places.reshape(d, count // few, few, C), 1, 0)
    tried = jax.lax.map(lambda part: own_energies(form, data, given, part), parts)
    best = jnp.argsort(tried.reshape(count, C), axis=0)[:CLIMBS]
    starts = jnp.take_along_axis(places, best[None], axis=1)
    peaks, roots = _climb(form, data, given, starts, spread)
    log_weights = -FLATTER * peaks.energy - _log_roots(roots)
    return _Mixture(peaks.place, roots, log_weights - jnp.max(log_weights, axis=0))


# --- the moves ----------------------------------------------------------------------------------


def relocate(
    form: Form, data: Data, at: Constants, X: jax.Array, i: jax.Array, key: Any
) -> tuple[jax.Array, jax.Array]:
    """Draw object i anew given the others, in all chains X (n, d, C), in double precision.

    Returns the points, centred, and which chains (C,) it moved in.
    """
    n, d, C = X.shape
    luck = _try_luck(n, d, C, key)
    X = X - (jnp.sum(X, axis=0) - X[i]) / (n - 1.0)  # the centre of the others
    others = X.at[i].set(0.0)
    given = _given_others(data, at, i, others)
    mixture = _approximate(form, data, given, i, others, luck)
    candidates = jnp.concatenate([X[i][:, None], _draw_candidates(mixture, luck)], axis=1)
    worth = -own_energies(form, data, given, candidates) - _log_density(mixture, candidates)
    worth = jnp.where(worth < jnp.inf, worth, -jnp.inf)  # NaN too; if all are, the first stays
    chosen = jnp.argmax(worth + luck.choice, axis=0)
    place = jnp.take_along_axis(candidates, chosen[None, None], axis=1)[:, 0]
    X = X.at[i].set(place)
    return X - jnp.mean(X, axis=0), chosen > 0


def relocate_some(
    form: Form, data: Data, Y: jax.Array, eta: jax.Array, energy: jax.Array, key: Any
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Relocate a share of the objects, chosen at random, one after the other.

    Y (n, d, C), whose length stays, eta (1 + k, C) and the energy (C,) are those of the sampler.
    """
    n, _, C = Y.shape
    at = constants_at(form, data, eta[1:])
    squares = jnp.sum(Y * Y, axis=(0, 1), dtype=jnp.float64)
    X = jnp.exp(eta[0]) * jnp.sqrt(form.freedom / squares) * Y.astype(jnp.float64)

    def one(round_: jax.Array, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        X, elsewhere = carry
        which, how = jax.random.split(jax.random.fold_in(key, round_))
        X, moved = relocate(form, data, at, X, jax.random.randint(which, (), 0, n), how)
        return X, elsewhere | moved

    X, elsewhere = jax.lax.fori_loop(0, -(-n // RELOCATED), one, (X, jnp.zeros(C, dtype=bool)))
    of_X = jnp.sum(X * X, axis=(0, 1))
    Y = jnp.where(elsewhere, (X * jnp.sqrt(squares / of_X)).astype(Y.dtype), Y)
    size = jnp.where(elsewhere, 0.5 * jnp.log(of_X / form.freedom), eta[0])
    eta = eta.at[0].set(size)
    return Y, eta, jnp.where(elsewhere, energies(form, data, Y, eta), energy)


def propose_swap(Y: jax.Array, key: Any) -> jax.Array:
    """Exchange the places of an object and of the nearest of a few others, in every chain."""
    n, _, C = Y.shape
    most = jnp.array([n] + SWAPPED_AMONG * [n - 1])[:, None]
    i, j = jnp.split(jax.random.randint(key, (1 + SWAPPED_AMONG, C), 0, most), [1])
    j += j >= i
    here = jnp.take_along_axis(Y, i[:, None], axis=0)
    there = jnp.take_along_axis(Y, j[:, None], axis=0)
    nearest = jnp.argmin(jnp.sum((there - here) ** 2, axis=1), axis=0)[None]
    j = jnp.take_along_axis(j, nearest, axis=0)
    there = jnp.take_along_axis(there, nearest[:, None], axis=0)
    objects = jnp.arange(n)[:, None, None]
    return jnp.where(objects == i, there, jnp.where(objects == j, here, Y))


def swap(
    form: Form, data: Data, Y: jax.Array, eta: jax.Array, energy: jax.Array, key: Any
) -> tuple[jax.Array, jax.Array]:
    """Exchange two objects in every chain, if accepted: Y (n, d, C) and the energy (C,)."""
    proposing, accepting = jax.random.split(key)
    Z = propose_swap(Y, proposing)
    reached = energies(form, data, Z, eta)
    luck = jax.random.uniform(accepting, energy.shape, jnp.float64)
    yes = jnp.log(luck) < energy - reached
    return jnp.where(yes, Z, Y), jnp.where(yes, reached, energy)
