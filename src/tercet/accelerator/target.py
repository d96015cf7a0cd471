"""The posterior's energy and its gradient in JAX, for many chains at once.

The density is that of `tercet.posterior.target.split_energy`: a shape Y (n, d, C), centred, and
eta (1 + k, C), the logarithm of the size and the parameters theta. The chain is the last axis, so
that what one comparison needs of all chains is contiguous in memory, and the lists of edges,
comparisons and choices are the same for all chains.

Points and derivatives are in the form's precision, single by default. Sums over answers,
objects and edges, the size, theta and the prior are in double precision: the acceptance of a
proposal needs an energy of thousands to be accurate to a thousandth.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from tercet.accelerator.lists import (
    Group,
    loss_and_slopes,
    mixed_with_lapses,
    parts_of,
    sum_by_bonus,
    with_bonus,
)
from tercet.accelerator.twins import log_similarity, model_loss
from tercet.arrays import Floats
from tercet.engine.constants import ABOVE, BELOW, CLIMBS
from tercet.engine.problem import UNKNOWN, Problem
from tercet.models import luce
from tercet.models.base import CORNER, LAPSE, OFFSET, ROUNDED_POWER, SIDE, TAIL, TIE, TINY

# Objects up to which derivatives by edges are summed per object by a product with the incidence
# matrix; beyond, by a list of the edges of every object.
MOST_BY_MATRIX = 100

PLACES_AT_ONCE = 8  # of one object, at most, where many are tried

_ROUNDS = 3  # of the Wright omega function


@dataclass(frozen=True)
class Form:
    """Static settings of a compiled program."""

    code: int  # of the model
    learned: tuple[int, ...]  # roles of theta: LAPSE, POWER, …
    n_objects: int
    n_components: int
    scale_learned: bool
    dtype: str = "float32"
    groups: tuple[Group, ...] = ()  # of the choices that are no plain comparisons

    @property
    def bonuses(self) -> tuple[int | None, ...]:
        """For each role in theta, its place in the bonus of `Lists`, or None."""
        sides = [k for k, role in enumerate(self.learned) if role == SIDE]
        own: dict[int, int] = {k: UNKNOWN + 1 + place for place, k in enumerate(sides)}
        own |= {k: luce.TIE for k, role in enumerate(self.learned) if role == TIE}
        return tuple(own.get(k) for k in range(len(self.learned)))

    @property
    def by_matrix(self) -> bool:
        """Whether derivatives are summed per object by the incidence matrix."""
        return self.n_objects <= MOST_BY_MATRIX

    @property
    def freedom(self) -> float:
        """Degrees of freedom of centred points."""
        return (self.n_objects - 1.0) * self.n_components


class Listed(NamedTuple):
    """The choices of a group."""

    edges: Any  # (size, count) edge numbers
    weights: Any  # (count,)
    places: Any = None  # (size, count), if sides matter


class Data(NamedTuple):
    """The answers, index lists derived from them, and the priors."""

    near: Any  # (m,) edge numbers
    far: Any  # (m,)
    weights: Any  # (m,)
    first: Any  # (E,) objects at the ends of the edges
    second: Any  # (E,)
    nearer: Any  # (K, E) the comparisons in which an edge is the nearer one
    count_nearer: Any  # (K, E) the weight of each, padded with 0
    farther: Any  # (L, E) those in which it is the farther one
    count_farther: Any
    lists: tuple[Listed, ...]  # in the order of the form's groups
    offered: Any  # (J, E) the places at which an edge is an alternative, of all lists together
    count_offered: Any  # (J, E) the weight of the choice at each, padded with 0
    incidence: Any  # (n, E) 1 where an edge starts, -1 where it ends; or empty
    around: Any  # (M, n) the edges of an object; or empty
    others: Any  # (M, n) the objects at their other ends, padded with the object itself
    p: Any
    q: Any
    precision: Any  # (d, d)
    scale_mean: Any
    scale_sd: Any
    priors: Any  # (k, 2)
    bonus: Any  # (2 + positions,) of "cannot tell" and of positions, where they are not in theta
    own: Any = ()  # the answers about every object, if objects are relocated: see `relocation`


def make_data(
    form: Form,
    problem: Problem,
    constants: tuple[float, float],
    precision: Floats,
    scale: tuple[float, float],
    priors: Floats,
) -> Data:
    """Index lists and constants of answers in the edge form.

    ``constants`` are the model's p and q, ``scale`` the mean and the standard deviation of the
    logarithm of the prior's scale, ``priors`` (k, 2) those of theta.
    """
    near, far, edges = problem.near, problem.far, problem.edges
    n, m, n_edges = form.n_objects, len(near), len(edges)
    weights = problem.weights if len(problem.weights) else np.ones(m)
    parts = parts_of(problem.lists)
    listed = np.concatenate([np.empty(0, np.int64), *(part.edges.ravel() for part in parts)])
    weighed = np.concatenate([np.empty(0), *(np.tile(p.weights, p.group.size) for p in parts)])
    offered, is_offered = padded(listed, np.arange(len(listed)), n_edges)
    nearer, is_nearer = padded(near.astype(np.int64), np.arange(m), n_edges)
    farther, is_farther = padded(far.astype(np.int64), np.arange(m), n_edges)
    ends = edges.astype(np.int64).T
    incidence = np.empty((0, n_edges))
    around = others = np.empty((0, n), dtype=np.int64)
    if form.by_matrix:
        incidence = np.zeros((n, n_edges))
        incidence[ends, np.arange(n_edges)] = np.array([[1.0], [-1.0]])
    else:
        around, there = padded(ends.ravel(), np.tile(np.arange(n_edges), 2), n)
        others, _ = padded(ends.ravel(), ends[::-1].ravel(), n)
        others = np.where(there, others, np.arange(n))
    real = np.dtype(form.dtype)
    short = np.int32
    return Data(
        near=near.astype(short),
        far=far.astype(short),
        weights=weights.astype(real),
        first=ends[0].astype(short),
        second=ends[1].astype(short),
        nearer=nearer.astype(short),
        count_nearer=_counts(is_nearer, weights, nearer).astype(real),
        farther=farther.astype(short),
        count_farther=_counts(is_farther, weights, farther).astype(real),
        lists=tuple(
            Listed(
                part.edges.astype(short),
                part.weights.astype(real),
                None if part.places is None else part.places.astype(short),
            )
            for part in parts
        ),
        offered=offered.astype(short),
        count_offered=_counts(is_offered, weighed, offered).astype(real),
        incidence=incidence.astype(real),
        around=around.astype(short),
        others=others.astype(short),
        p=np.float64(constants[0]),
        q=np.float64(constants[1]),
        precision=np.asarray(precision, dtype=np.float64),
        scale_mean=np.float64(scale[0]),
        scale_sd=np.float64(scale[1]),
        priors=np.asarray(priors, dtype=np.float64),
        bonus=problem.lists.bonus,
    )


def bytes_a_chain(form: Form, data: Data) -> int:
    """Approximate memory per chain: some arrays of answers, edges and points."""
    points = form.n_objects * form.n_components
    work = sum(g.work * len(own.weights) for g, own in zip(form.groups, data.lists, strict=True))
    numbers = 4 * (len(data.near) + int(2 * work)) + 4 * len(data.first) + 60 * points
    # The answers about one object, gathered, and at several places, in double precision.
    d, offered = form.n_components, sum(own.first[0].size for own in data.own)
    at_places = (2 * d + 2 + 4 * PLACES_AT_ONCE + 4 * CLIMBS * (d + 1)) * offered
    return numbers * np.dtype(form.dtype).itemsize + 8 * at_places


def padded(
    keys: NDArray[np.int64], values: NDArray[Any], n_keys: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The values of each key as columns (K, n_keys), padded with 0, and a mask of them."""
    order = np.argsort(keys, kind="stable")
    counts = np.bincount(keys, minlength=n_keys)
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    rows = np.arange(len(keys)) - np.repeat(starts, counts)
    table = np.zeros((max(int(counts.max(initial=0)), 1), n_keys), dtype=np.int64)
    table[rows, keys[order]] = values[order]
    return table, np.arange(len(table))[:, None] < counts


def _counts(there: NDArray[np.bool_], weights: Floats, table: NDArray[np.int64]) -> Floats:
    """The weights at the places in a table, 0 where it is padded."""
    counts = np.zeros(table.shape)
    counts[there] = weights[table[there]]
    return counts


class Constants(NamedTuple):
    """What theta says about the likelihood of an answer; (C,) where it is learned."""

    p: Any
    q: Any
    lapse: Any
    bonus: jax.Array  # (2 + positions, C)


def constants_at(form: Form, data: Data, theta: jax.Array) -> Constants:
    """The constants at theta (k, C)."""
    p, q = data.p, data.q
    lapse: Any = 0.0
    for k, name in enumerate(form.learned):
        if name == LAPSE:
            lapse = jax.nn.sigmoid(theta[k])
        elif name in (OFFSET, TAIL):
            p = jnp.exp(theta[k])
        elif form.bonuses[k] is None:
            q = jnp.exp(theta[k])
    return Constants(p, q, lapse, _bonus(form, data, theta))


class _Parts(NamedTuple):
    """What the energy and its gradient share."""

    apart: jax.Array  # (E, d, C) differences of the shape along the edges
    lengths: jax.Array  # (E, C) squared lengths of the edges, of the points
    theta: jax.Array  # (k, C)
    at: Constants
    squares: jax.Array  # (C,) of the shape
    factor: jax.Array  # (C,) of the points, X = factor Y
    weighed: jax.Array  # (C,) sum of squares of the points weighted by the prior's precision


def _parts(form: Form, data: Data, Y: jax.Array, eta: jax.Array) -> _Parts:
    squares = jnp.sum(Y * Y, axis=(0, 1), dtype=jnp.float64)
    by_precision = times_precision(data, Y)
    weighed = jnp.sum(Y * by_precision, axis=(0, 1), dtype=jnp.float64)
    square = jnp.exp(2.0 * eta[0]) * form.freedom / squares
    apart = Y[data.first] - Y[data.second]
    lengths = square.astype(Y.dtype) * jnp.sum(apart * apart, axis=1)
    return _Parts(
        apart,
        lengths,
        eta[1:],
        constants_at(form, data, eta[1:]),
        squares,
        jnp.sqrt(square),
        square * weighed,
    )


def _bonus(form: Form, data: Data, theta: jax.Array) -> jax.Array:
    """The bonus (2 + positions, C) at theta, see `Lists`."""
    rows = [jnp.broadcast_to(own, theta.shape[1:]) for own in data.bonus]
    for own, place in zip(theta, form.bonuses, strict=True):
        if place is not None:
            rows[place] = own
    return jnp.stack(rows)


def times_precision(data: Data, Y: jax.Array) -> jax.Array:
    """Every point times the prior's precision; as a sum, since a product would copy memory."""
    precision = data.precision.astype(Y.dtype)
    return jnp.sum(precision[:, :, None] * Y[:, None], axis=2)


def comparison_losses(
    form: Form, at: Constants, near: jax.Array, far: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array, Any]:
    """Losses of comparisons and their derivatives by near, far and the lapse rate."""
    p, q = (jnp.asarray(c, near.dtype) for c in (at.p, at.q))
    loss, by_near, by_far = model_loss(form.code, p, q, near, far)
    loss, share, by_lapse = mixed(form, at, 0.5, loss)
    return loss, share * by_near, share * by_far, by_lapse


def mixed(form: Form, at: Constants, chance: float, loss: jax.Array) -> tuple[jax.Array, Any, Any]:
    """Losses with lapses, the factor of their slopes, and their derivatives by the lapse rate."""
    if LAPSE not in form.learned:
        return loss, 1.0, 0.0
    return mixed_with_lapses(jnp.asarray(at.lapse, loss.dtype), chance, loss)


def _of_lists(
    form: Form, data: Data, parts: _Parts, log_s: jax.Array
) -> list[tuple[jax.Array, jax.Array, Any]]:
    """Losses of the choices of every group, given the log-similarities (E, C) of the edges.

    Also their derivatives by the log-similarities of their alternatives, after which comes the one
    by the bonus of "cannot tell", and by the lapse rate.
    """
    found = []
    for group, own in zip(form.groups, data.lists, strict=True):
        numbers = with_bonus(group, log_s[own.edges], own.places, parts.at.bonus)
        loss, slopes = loss_and_slopes(group, numbers)
        loss, share, by_lapse = mixed(form, parts.at, group.chance, loss)
        found.append((loss, share * slopes, by_lapse))
    return found


def similarities(form: Form, at: Constants, lengths: jax.Array) -> jax.Array:
    """Log-similarities (..., C) of pairs at these squared distances."""
    p, q = (jnp.asarray(c, lengths.dtype) for c in (at.p, at.q))
    return log_similarity(form.code, p, q, lengths)


def _sums(form: Form, data: Data, parts: _Parts) -> tuple[jax.Array, jax.Array]:
    """Weighted sums (C,) over all answers: of the losses, and of their slopes by the lapse rate."""
    lengths = parts.lengths
    loss, _, _, by_lapse = comparison_losses(form, parts.at, lengths[data.near], lengths[data.far])
    found = [(data.weights, loss, by_lapse)]
    if form.groups:
        of_lists = _of_lists(form, data, parts, similarities(form, parts.at, lengths))
        pairs = zip(data.lists, of_lists, strict=True)
        found += [(own.weights, loss, by_lapse) for own, (loss, _, by_lapse) in pairs]

    def total(weights: Any, values: Any) -> jax.Array:
        return jnp.sum(weights[:, None] * values, axis=0, dtype=jnp.float64)

    losses = jnp.sum(jnp.stack([total(w, loss) for w, loss, _ in found]), axis=0)
    return losses, jnp.sum(jnp.stack([total(w, slope) for w, _, slope in found]), axis=0)


def energies(form: Form, data: Data, Y: jax.Array, eta: jax.Array) -> jax.Array:
    """-log density (C,) of shapes Y (n, d, C) and eta (1 + k, C), up to a constant."""
    parts = _parts(form, data, Y, eta)
    total = _sums(form, data, parts)[0] + prior_of_scale(form, data, parts.weighed)[0]
    for k, name in enumerate(form.learned):
        a, b = data.priors[k, 0], data.priors[k, 1]
        if name == LAPSE:  # with the Jacobian of the logit
            theta = parts.theta[k]
            total -= a * jax.nn.log_sigmoid(theta) + b * jax.nn.log_sigmoid(-theta)
        else:
            total += 0.5 * ((parts.theta[k] - a) / b) ** 2
    return total - form.freedom * eta[0] + 0.5 * parts.squares


def gradients(form: Form, data: Data, Y: jax.Array, eta: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Derivatives of the energy by Y (n, d, C) and by eta (1 + k, C)."""
    parts = _parts(form, data, Y, eta)
    pulls = _edge_weights(form, data, parts)
    half = jnp.sum(pulls * parts.lengths, axis=0, dtype=jnp.float64)
    slope = prior_of_scale(form, data, parts.weighed)[1]
    radial = 2.0 * (half + slope * parts.weighed)  # derivative of X's energy by the log size
    square = parts.factor**2
    by_precision = times_precision(data, Y)
    laplacian = _laplacian(form, data, parts, pulls, Y)
    by_Y = (
        (2.0 * square).astype(Y.dtype) * laplacian
        + (2.0 * square * slope).astype(Y.dtype) * by_precision
        + (1.0 - radial / parts.squares).astype(Y.dtype) * Y
    )
    by_eta = [radial - form.freedom]
    by_bonus = _slopes_by_bonus(form, data, parts)
    for k, place in enumerate(form.bonuses):
        if place is None:
            by_eta.append(_slope_by_theta(form, data, parts, pulls, half, k))
        else:
            mean, sd = data.priors[k, 0], data.priors[k, 1]
            by_eta.append(by_bonus[place] + (parts.theta[k] - mean) / sd**2)
    return by_Y, jnp.stack(by_eta)


def _slopes_by_bonus(form: Form, data: Data, parts: _Parts) -> jax.Array:
    """Derivatives (2 + positions, C) of the loss by the bonus."""
    total = jnp.zeros(parts.at.bonus.shape, jnp.float64)
    if all(place is None for place in form.bonuses):
        return total
    of_lists = _of_lists(form, data, parts, similarities(form, parts.at, parts.lengths))
    for group, own, (_, slopes, _) in zip(form.groups, data.lists, of_lists, strict=True):
        total += sum_by_bonus(group, own.weights[:, None] * slopes, own.places, len(total))
    return total


def _edge_weights(form: Form, data: Data, parts: _Parts) -> jax.Array:
    """Derivatives (E, C) of the loss by the squared lengths of the edges.

    Each edge sums over the lists of its answers, without concurrent updates, so that the order of
    the sums is fixed.
    """
    lengths = parts.lengths
    pulls = jnp.zeros_like(lengths)
    if len(data.near):
        _, by_near, by_far, _ = comparison_losses(
            form, parts.at, lengths[data.near], lengths[data.far]
        )
        pulls += jnp.sum(data.count_nearer[:, :, None] * by_near[data.nearer], axis=0)
        pulls += jnp.sum(data.count_farther[:, :, None] * by_far[data.farther], axis=0)
    if form.groups:
        log_s, pull_back = jax.vjp(lambda x: similarities(form, parts.at, x), lengths)
        of_lists = zip(form.groups, _of_lists(form, data, parts, log_s), strict=True)
        slopes = [slopes[: group.size] for group, (_, slopes, _) in of_lists]
        flat = jnp.concatenate([each.reshape(-1, each.shape[-1]) for each in slopes])
        (more,) = pull_back(jnp.sum(data.count_offered[:, :, None] * flat[data.offered], axis=0))
        pulls += more
    return pulls


def _laplacian(form: Form, data: Data, parts: _Parts, pulls: jax.Array, Y: jax.Array) -> jax.Array:
    """Sum (n, d, C) over the edges of each object of weight times difference."""
    if form.by_matrix:
        forces = pulls[:, None] * parts.apart
        return jnp.einsum("ie,edc->idc", data.incidence, forces, precision="highest")
    return jnp.sum(pulls[data.around][:, :, None] * (Y - Y[data.others]), axis=0)


def _slope_by_theta(
    form: Form, data: Data, parts: _Parts, pulls: jax.Array, half: jax.Array, k: int
) -> jax.Array:
    """Derivative (C,) of the energy by one parameter; see `tercet.posterior.target`."""
    a, b = data.priors[k, 0], data.priors[k, 1]
    if form.learned[k] == LAPSE:
        total, lapse = _sums(form, data, parts)[1], parts.at.lapse
        return jnp.asarray(total * lapse * (1.0 - lapse) - a * (1.0 - lapse) + b * lapse)
    pull: jax.Array = (parts.theta[k] - a) / b**2
    if form.learned[k] == OFFSET:
        return jnp.asarray(pull - 2.0 / parts.at.q * half)
    if form.learned[k] == TAIL:
        p, q = (jnp.asarray(c, parts.lengths.dtype) for c in (parts.at.p, parts.at.q))
        lengths = parts.lengths + jnp.asarray(CORNER, parts.lengths.dtype)
        z = p * jnp.exp(jnp.minimum(0.5 * q * jnp.log(lengths), 80.0))
        by_tail = 2.0 * lengths / q * ((1.0 + z) * jnp.log1p(z) / z - 1.0)
        return pull - jnp.sum(pulls * by_tail, axis=0, dtype=jnp.float64)
    more = CORNER if form.learned[k] == ROUNDED_POWER else 0.0
    lengths = jnp.maximum(parts.lengths + jnp.asarray(more, parts.lengths.dtype), TINY)
    return pull + jnp.sum(pulls * lengths * jnp.log(lengths), axis=0, dtype=jnp.float64)


def prior_of_scale(form: Form, data: Data, weighed: jax.Array) -> tuple[jax.Array, Any]:
    """-log prior of the points, by their weighted sum of squares (C,), and its derivative."""
    if form.scale_learned:
        return sum_out(weighed, form.freedom, data.scale_mean, data.scale_sd)
    slope = 0.5 * jnp.exp(-data.scale_mean)
    return slope * weighed, slope


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
    """-log of the integral over log v, up to a constant, and its derivative by s, for s (C,).

    `tercet.posterior.variance` for many chains at once. The mode of the density of u = log v
    solves a y = s exp(-u) / 2 with y = u - m + f / (2 a) and a = 1 / t^2, so that y + log y = z:
    the Wright omega function of z = log(s / (2 a)) + f / (2 a) - m. It takes a fixed number of
    steps, so that no chain waits for the slowest.
    """
    s = jnp.maximum(s, TINY)
    precision = 1.0 / (sd * sd)
    lift = 0.5 * freedom / precision
    mode = wright_omega(jnp.log(0.5 * s / precision) + lift - mean) + mean - lift
    pull = 0.5 * s * jnp.exp(-mode)
    step = 0.5 / jnp.sqrt(precision + pull)
    top = -0.5 * precision * (mode - mean) ** 2 - 0.5 * freedom * mode - pull
    away = step * jnp.arange(-BELOW, ABOVE + 1)[:, None]
    # Differences from the mode, where the slope is zero: (u - mean) / t^2 + f / 2 = pull.
    weights = jnp.exp(-pull * (away + jnp.expm1(-away)) - 0.5 * precision * away**2)
    total = jnp.sum(weights, axis=0)
    half = 0.5 * jnp.exp(-mode) * jnp.sum(weights * jnp.exp(-away), axis=0)
    return -top - jnp.log(total * step), half / total
