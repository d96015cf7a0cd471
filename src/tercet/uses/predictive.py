"""Answers predicted by draws that have not seen them, or are reweighted as if they had not.

*Leave one out* reweights the draws of one fit: Pareto-smoothed importance sampling, PSIS (Vehtari,
Gelman & Gabry 2017), as ArviZ computes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp

from tercet.answers.questions import Index
from tercet.ensemble import Ensemble
from tercet.triplets import Triplets

Floats = NDArray[np.float64]

K_HAT = 0.7  # above it reweighted draws are not to be trusted (Vehtari et al. 2024)
BLOCK = 2**22  # probabilities held at a time: 32 MB
# Where no two draws differ by more in the log-likelihood of a unit, no weight is more than e times
# another, and 94 % of the draws or more count: there is no tail to smooth, and k̂, which knows the
# shape of a tail and not its size, would mean nothing.
SETTLED = 1.0
LOOKED_AT = 100  # units, at the most, for how independent the draws are


class Pointwise(NamedTuple):
    """Predictions of answers that were left out."""

    log_density: Floats  # (U,) of all answers of a unit; empty where there is no probability
    probability: Floats  # (m,) of each row
    k_hat: Floats  # (U,), or empty: not by importance sampling


def leave_one_out(ensemble: Ensemble, triplets: Triplets, units: Index) -> Pointwise:
    """Predict every unit from the others, by reweighting draws that saw them all (PSIS).

    Parameters
    ----------
    ensemble : Ensemble
        Draws from the posterior of a model that is a probability, chain after chain.
    triplets : Triplets
        The m answers it was fitted to; weights count them.
    units : (m,) integer array
        What is left out together, numbered from 0.
    """
    size = len(ensemble)
    log_density, k_hat = np.empty(units.max() + 1), np.empty(units.max() + 1)
    probability = np.empty(len(triplets))
    for rows, starts in _blocks(units, size):
        p, log_p = _by_draw(ensemble, triplets[rows])
        likelihood = np.add.reduceat(log_p, starts, axis=0)  # (units, S)
        weights = log_softmax(-likelihood, axis=1)
        k = np.zeros(len(starts))
        open_ones = np.flatnonzero(np.ptp(likelihood, axis=1) > SETTLED)
        for u, efficiency in zip(
            open_ones, _efficiency(likelihood[open_ones], ensemble.n_chains), strict=True
        ):
            weights[u], k[u] = _smoothed(likelihood[u], float(efficiency), weights[u])
        found = units[rows[starts]]
        log_density[found], k_hat[found] = logsumexp(weights + likelihood, axis=1), k
        sizes = np.diff(np.append(starts, len(rows)))
        probability[rows] = np.einsum("ms,ms->m", p, np.exp(np.repeat(weights, sizes, axis=0)))
    return Pointwise(log_density, probability, k_hat)


def _efficiency(likelihood: Floats, n_chains: int) -> Floats:
    """Share of the draws that count as independent, (U,), of likelihoods whose logs are (U, S).

    It says only how long a tail to smooth; of many units some stand for the others.
    """
    from arviz_stats.base import array_stats

    if not len(likelihood):
        return np.empty(0)
    some = likelihood[:: -(-len(likelihood) // LOOKED_AT)]
    # It has no unit; that of a large unit would be lost below the smallest number.
    relative = np.exp(some - some.max(axis=1, keepdims=True)).reshape(len(some), n_chains, -1)
    found = np.asarray(array_stats.ess(relative, method="mean", relative=True))
    found = np.where(found > 0.0, np.minimum(found, 1.0), 1.0)
    return found if len(found) == len(likelihood) else np.full(len(likelihood), np.median(found))


def _smoothed(likelihood: Floats, efficiency: float, raw: Floats) -> tuple[Floats, float]:
    """Log-weights (S,) that forget a unit, their tail smoothed, and k̂; raw where that fails."""
    from arviz_stats.base import array_stats

    try:
        with np.errstate(divide="ignore", invalid="ignore"):  # equal draws in the tail
            weights, k = array_stats.psislw(likelihood, r_eff=efficiency)
    except ValueError:  # all draws in the tail are equal
        return raw, np.inf
    return (weights, float(k)) if np.isfinite(weights).all() else (raw, np.inf)


def held_out(
    ensemble: Ensemble, triplets: Triplets, units: Index, *, jointly: bool = True
) -> Pointwise:
    """Predict answers that the draws have not seen: log mean_s exp Σ_rows log p_s of every unit.

    Parameters
    ----------
    ensemble, triplets, units
        As in `leave_one_out`, the answers being new.
    jointly : bool
        Whether the answers of a unit are predicted together; else each on its own, and summed.
    """
    log_density, probability = np.empty(units.max() + 1), np.empty(len(triplets))
    for rows, starts in _blocks(units, len(ensemble)):
        p, log_p = _by_draw(ensemble, triplets[rows])
        probability[rows] = mean = p.mean(axis=1)
        if jointly:
            likelihood = np.add.reduceat(log_p, starts, axis=0)
            found = logsumexp(likelihood, axis=1) - math.log(len(ensemble))
        else:
            found = np.add.reduceat(np.log(mean) * weights_of(triplets[rows]), starts)
        log_density[units[rows[starts]]] = found
    return Pointwise(log_density, probability, np.empty(0))


def _blocks(units: Index, n_samples: int) -> Iterator[tuple[Index, Index]]:
    """Rows of whole units, one unit after the other, and where each unit starts among them."""
    order = np.argsort(units, kind="stable")
    starts = np.flatnonzero(np.diff(units[order], prepend=-1))
    block = starts // max(1, BLOCK // n_samples)
    for part in np.split(starts, np.flatnonzero(np.diff(block)) + 1):
        after = starts[np.searchsorted(starts, part[-1], side="right") :]
        yield order[part[0] : after[0] if after.size else None], part - part[0]


def _by_draw(ensemble: Ensemble, triplets: Triplets) -> tuple[Floats, Floats]:
    """Probability of every row in every draw, (m, S), and its logarithm times the row's weight."""
    p = np.maximum(ensemble.answer_probability(triplets, by_draw=True).T, 1e-300)
    return p, np.log(p) * weights_of(triplets)[:, None]


def weights_of(triplets: Triplets) -> Floats:
    """How much each row counts, (m,)."""
    return np.ones(len(triplets)) if triplets.weights is None else triplets.weights


# --- scores -----------------------------------------------------------------------------------


def sum_by_unit(values: Floats, units: Index) -> Floats:
    """Sum (U,) of what each row (m,) has."""
    return np.bincount(units, values).astype(np.float64)


def mean_per_answer(totals: Floats, sizes: Floats) -> tuple[float, float]:
    """Mean over answers of what is summed by units, and its standard error over units.

    The units are what was drawn at random, so both sums vary: the usual error of a ratio,
    √(U/(U − 1)·Σ(total − mean·size)²) / Σ size.

    Parameters
    ----------
    totals, sizes : (U,) array
        Sum and number of answers of each unit.
    """
    count, mean = len(totals), float(totals.sum() / sizes.sum())
    if count < 2:
        return mean, math.nan
    rest = totals - mean * sizes
    return mean, float(math.sqrt(count / (count - 1.0) * (rest @ rest)) / sizes.sum())


def stacking_weights(log_density: Floats) -> Floats:
    """Weights w (K,) ≥ 0 of sum 1 that maximise Σ_u log Σ_k w_k p_uk (Yao et al. 2018).

    Parameters
    ----------
    log_density : (U, K) array
        Of each unit, left out, under each model.
    """
    p = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    count = p.shape[1]

    def loss(w: Floats) -> tuple[float, Floats]:
        mixture = np.maximum(p @ w, 1e-300)
        return -float(np.log(mixture).mean()), -(p / mixture[:, None]).mean(axis=0)

    found = minimize(
        loss,
        np.full(count, 1.0 / count),
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * count,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0, "jac": np.ones_like},
        options={"ftol": 1e-12, "maxiter": 1000},
    )
    weights = np.maximum(found.x, 0.0)
    return np.asarray(weights / weights.sum())
