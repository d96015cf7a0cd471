"""The posterior's energy, -log density up to a constant, and its gradient, compiled.

The likelihood does not depend on the centre of the points, so X (n, d) is centred and its centre is
drawn separately, exactly. Parameters theta estimated with X are on unbounded scales: the logit of
the lapse rate, the logarithms of the model's own (`models.base`) and of the odds of "cannot tell"
and of the positions. Only differences of the latter matter; their prior makes them definite.

Gradient-based samplers separate shape and size: X = e^rho Y / |Y|, with |Y| the root of its sum of
squares over its degrees of freedom. The length of Y is arbitrary and gets the distribution of
standard normal points. Nearly consistent answers determine the shape well and the size poorly, so
the size varies over orders of magnitude; in these coordinates the shape does not vary with it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.compiled import jit, jit_sums
from tercet.engine.kernels import add_edges, add_rows
from tercet.engine.problem import UNKNOWN, Problem
from tercet.models.base import (
    CORNER,
    LAPSE,
    OFFSET,
    POWER,
    ROUNDED_POWER,
    SIDE,
    TAIL,
    TIE,
    TINY,
    Array,
)
from tercet.posterior.variance import sum_out


class Target(NamedTuple):
    """A posterior: the comparisons, the model and the priors."""

    problem: Problem
    code: int
    p: float
    q: float
    precision: Array  # (d, d): inverse of the prior's covariance, up to its scale
    scale_mean: float  # of the logarithm of the scale v of the prior's covariance
    scale_sd: float  # 0: v is exp(scale_mean)
    learned: NDArray[np.int64]  # (k,) what the parameters in theta are: LAPSE, POWER, …
    priors: Array  # (k, 2): of the lapse rate, Beta(a, b); of the others, normal (mean, sd)
    power: float  # of the likelihood: 1, or less while chains search for better modes


@jit
def constants(target: Target, theta: Array) -> tuple[float, float, float]:
    """The model's p and q and the lapse rate at theta."""
    p, q, lapse = target.p, target.q, 0.0
    for k in range(len(theta)):
        if target.learned[k] == LAPSE:
            lapse = 1.0 / (1.0 + math.exp(-theta[k]))
        elif target.learned[k] == OFFSET or target.learned[k] == TAIL:
            p = math.exp(theta[k])
        elif target.learned[k] == POWER or target.learned[k] == ROUNDED_POWER:
            q = math.exp(theta[k])
    return p, q, lapse


@jit
def bonus_of(target: Target, theta: Array) -> Array:
    """The bonus of "cannot tell" and of the positions at theta, see `Lists`."""
    bonus = target.problem.lists.bonus.copy()
    place = UNKNOWN
    for k in range(len(theta)):
        if target.learned[k] == TIE:
            bonus[0] = theta[k]
        elif target.learned[k] == SIDE:
            place += 1
            bonus[place] = theta[k]
    return bonus


@jit
def _likelihood(target: Target, X: Array, theta: Array, by_X: Array, by_theta: Array) -> float:
    """-log likelihood, times its power; writes its derivatives."""
    problem = target.problem
    by_X[:] = 0.0
    if len(problem.edges) == 0:  # theta is empty: learned parameters need the edge form
        rows, weights = problem.comparisons, problem.weights
        energy = add_rows(target.code, target.p, target.q, rows, weights, X, by_X)
        if target.power != 1.0:
            by_X *= target.power
        return target.power * energy
    p, q, lapse = constants(target, theta)
    bonus = bonus_of(target, theta)
    energy, by_lapse, lengths, w, by_bonus = add_edges(
        target.code, p, q, lapse, bonus, problem, X, by_X
    )
    place = UNKNOWN
    for k in range(len(theta)):
        by_theta[k] = 0.0
        if target.learned[k] == LAPSE:
            by_theta[k] = by_lapse * lapse * (1.0 - lapse)
        elif target.learned[k] == TIE:
            by_theta[k] = by_bonus[0]
        elif target.learned[k] == SIDE:
            place += 1
            by_theta[k] = by_bonus[place]
        elif target.learned[k] == OFFSET:
            # Nothing changes when all squared distances grow by c and p by c**(q/2).
            for e in range(len(w)):
                by_theta[k] -= w[e] * lengths[e] * 2.0 / q
        elif target.learned[k] == TAIL:
            # log s = -log(1 + z) / p with z = p x**(q/2): its derivative by log p over the one by
            # x is -(2 x / q) ((1 + z) log(1 + z) / z - 1).
            for e in range(len(w)):
                length = lengths[e] + CORNER
                z = p * math.exp(min(0.5 * q * math.log(length), 700.0))
                by_theta[k] -= w[e] * 2.0 * length / q * ((1.0 + z) * math.log1p(z) / z - 1.0)
        else:
            # Distances enter as x**(q/2): the derivative by log q is the one by log x times log x.
            more = CORNER if target.learned[k] == ROUNDED_POWER else 0.0
            for e in range(len(w)):
                length = max(lengths[e] + more, TINY)
                by_theta[k] += w[e] * length * math.log(length)
    if target.power != 1.0:
        by_X *= target.power
        by_theta *= target.power
    return target.power * energy


@jit
def prior_of_squares(target: Target, squares: float, freedom: float) -> tuple[float, float]:
    """-log prior of centred points by their sum of squares, and its derivative."""
    if target.scale_sd > 0.0:
        return sum_out(squares, freedom, target.scale_mean, target.scale_sd)
    slope = 0.5 * math.exp(-target.scale_mean)
    return slope * squares, slope


@jit
def _prior(target: Target, X: Array, theta: Array, by_X: Array, by_theta: Array) -> float:
    """-log prior of the centred points and of theta; adds its derivatives."""
    n, d = X.shape
    squares = 0.0
    for i in range(n):
        for k in range(d):
            for l in range(d):
                squares += X[i, k] * target.precision[k, l] * X[i, l]
    energy, slope = prior_of_squares(target, squares, (n - 1.0) * d)
    for i in range(n):
        for k in range(d):
            for l in range(d):
                by_X[i, k] += 2.0 * slope * target.precision[k, l] * X[i, l]
    for k in range(len(theta)):
        a, b = target.priors[k, 0], target.priors[k, 1]
        if target.learned[k] == LAPSE:  # with the Jacobian of the logit
            lapse = 1.0 / (1.0 + math.exp(-theta[k]))
            energy -= a * math.log(lapse) + b * math.log(1.0 - lapse)
            by_theta[k] -= a * (1.0 - lapse) - b * lapse
        else:
            z = (theta[k] - a) / b
            energy += 0.5 * z * z
            by_theta[k] += z / b
    return energy


@jit
def prior_energies(target: Target, points: Array) -> Array:
    """-log prior, up to a constant, of points (S, n, d) after centring."""
    nothing, slopes = np.empty(0), np.empty(points.shape[1:])
    out = np.empty(len(points))
    for s in range(len(points)):
        X = points[s].copy()
        for k in range(X.shape[1]):
            X[:, k] -= np.mean(X[:, k])
        out[s] = _prior(target, X, nothing, slopes, nothing)
    return out


@jit
def energy_and_gradient(
    target: Target, X: Array, theta: Array, by_X: Array, by_theta: Array
) -> float:
    """-log posterior density at centred points X (n, d) and theta (k,); writes its derivatives."""
    energy = _likelihood(target, X, theta, by_X, by_theta)
    return energy + _prior(target, X, theta, by_X, by_theta)


@jit
def log_likelihoods(target: Target, points: Array, thetas: Array) -> Array:
    """Log-likelihood, times its power, of points (S, n, d) and thetas (S, k)."""
    by_X, by_theta = np.empty(points.shape[1:]), np.zeros(thetas.shape[1])
    out = np.empty(len(points))
    for s in range(len(points)):
        out[s] = -_likelihood(target, points[s], thetas[s], by_X, by_theta)
    return out


@jit_sums
def split_energy(
    target: Target, Y: Array, eta: Array, X: Array, by_Y: Array, by_eta: Array
) -> float:
    """-log density of a centred shape Y (n, d) and eta = (rho, theta); writes X and derivatives.

    The measure of X is that of rho times exp(rho freedom).
    """
    n, d = Y.shape
    freedom = (n - 1.0) * d
    squares = 0.0
    for i in range(n):
        for k in range(d):
            squares += Y[i, k] * Y[i, k]
    factor = math.exp(eta[0]) * math.sqrt(freedom / squares)
    for i in range(n):
        for k in range(d):
            X[i, k] = factor * Y[i, k]
    energy = energy_and_gradient(target, X, eta[1:], by_Y, by_eta[1:])
    radial = 0.0  # derivative of the energy of X by rho
    for i in range(n):
        for k in range(d):
            radial += by_Y[i, k] * X[i, k]
    pull = 1.0 - radial / squares
    for i in range(n):
        for k in range(d):
            by_Y[i, k] = factor * by_Y[i, k] + pull * Y[i, k]
    by_eta[0] = radial - freedom
    total: float = energy - freedom * eta[0] + 0.5 * squares
    return total
