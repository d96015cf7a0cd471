"""R-hat and effective sample sizes of many quantities at once.

R-hat and effective sample sizes are those of Vehtari, Gelman, Simpson, Carpenter & Bürkner (2021),
of split chains, rank-normalised (Bayesian Analysis 16(2)); nested R-hat is that of Margossian,
Hoffman, Sountsov, Riou-Durand, Vehtari & Gelman (2024). The numbers are those of ArviZ, which takes
one quantity after the other; here they are taken together, and ranks are computed once for all.

A table is (K, chains, draws): K quantities. What cannot be computed, for lack of draws or because a
draw is not a number, is NaN.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri

from tercet.models.base import Array

FEWEST_DRAWS = 4
TAILS = (0.05, 0.95)  # the quantiles of the tail effective sample size
_CONSTANT = np.finfo(float).resolution  # what varies less does not vary
_TOGETHER = 2**16  # values taken at once: they stay in the cache, and memory is bounded


class Convergence(NamedTuple):
    """R-hat and effective sample sizes for means and for quantiles of K quantities, (K,) each."""

    r_hat: Array
    ess_bulk: Array
    ess_tail: Array


def convergence(table: Array, superchains: int = 0) -> Convergence:
    """R-hat, bulk and tail effective sample size of a table (K, chains, draws).

    With ``superchains`` the chains c, c + superchains, ... started at the same point, and R-hat is
    nested: that of the superchains or that of the halves of all chains, whichever is larger.
    """
    size, chains, draws = table.shape
    found = Convergence(*(np.full(size, np.nan) for _ in Convergence._fields))
    numbers = np.flatnonzero(~np.isnan(table).any(axis=(1, 2)))
    if draws < FEWEST_DRAWS:
        return found
    for start in range(0, len(numbers), at_once := max(_TOGETHER // (chains * draws), 1)):
        block = numbers[start : start + at_once]
        values = np.ascontiguousarray(table[block])
        split = _split(values)
        scores = _normal_scores(split)
        found.ess_bulk[block] = _ess(scores)
        found.ess_tail[block] = _ess_tail(values)
        if superchains:
            found.r_hat[block] = _nested(values, superchains)
        else:  # one chain is compared with itself, half with half
            bulk, folded = _r_hat(scores), _r_hat(_normal_scores(_fold(split)))
            # Where the folded draws have none, as of chains that stand still, the draws' own.
            found.r_hat[block] = np.where(folded > bulk, folded, bulk)
    return found


# --- the draws ----------------------------------------------------------------------------------


def _split(table: Array) -> Array:
    """Halves of the chains, (K, 2 chains, draws // 2): all first ones, then all second ones."""
    half = table.shape[2] // 2
    return np.concatenate([table[:, :, :half], table[:, :, -half:]], axis=1)


def _fold(table: Array) -> Array:
    """Distances from the median, whose ranks differ between chains of different widths."""
    with np.errstate(invalid="ignore"):  # an infinite median
        return np.asarray(np.abs(table - np.median(table, axis=(1, 2), keepdims=True)))


def _normal_scores(table: Array) -> Array:
    """Normal quantiles of the ranks within each quantity, ties averaged (Blom 1958).

    All are NaN if any value is.
    """
    values = table.reshape(len(table), -1)
    count = values.shape[1]
    order = np.argsort(values, axis=1)
    ascending = np.take_along_axis(values, order, axis=1)
    place = np.arange(count)
    doubled = np.tile(2 * place, (len(values), 1))  # of ranks from 0
    new = np.ones((len(values), count + 1), dtype=bool)  # whether a place starts a run of ties
    new[:, 1:-1] = ascending[:, 1:] != ascending[:, :-1]
    tied = ~new.all(axis=1)
    first = np.maximum.accumulate(np.where(new[tied, :-1], place, 0), axis=1)
    last = np.minimum.accumulate(np.where(new[tied, 1:], place, count)[:, ::-1], axis=1)[:, ::-1]
    doubled[tied] = first + last
    # Ranks are halves of integers, and the quantile of each is computed once.
    quantiles = ndtri((1.0 + 0.5 * np.arange(2 * count - 1) - 0.375) / (count + 0.25))
    scores = np.empty(values.shape)
    np.put_along_axis(scores, order, quantiles[doubled], axis=1)
    scores[np.isnan(ascending[:, -1])] = np.nan
    return scores.reshape(table.shape)


# --- R-hat --------------------------------------------------------------------------------------


def _r_hat(split: Array) -> Array:
    """R-hat (K,) of chains."""
    draws = split.shape[2]
    between = draws * np.var(np.mean(split, axis=2), axis=1, ddof=1)
    within = np.mean(np.var(split, axis=2, ddof=1), axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):  # chains that stand still
        return np.asarray(np.sqrt((between / within + draws - 1) / draws))


def _nested(table: Array, superchains: int) -> Array:
    """Nested R-hat (K,) of superchains, or of the halves of all chains if that is larger.

    Superchains must have equal numbers of chains, so a few of the last chains may be left out.
    """
    chains, draws = table.shape[1:]
    whole = chains // superchains * superchains
    hats = _between(table[:, :whole], np.arange(whole).reshape(-1, superchains).T)
    if draws // 2 < FEWEST_DRAWS:  # too few to split
        return hats
    return np.maximum(hats, _between(_split(table), np.arange(2 * chains).reshape(2, -1)))


def _between(table: Array, groups: NDArray[np.integer]) -> Array:
    """Nested R-hat (K,) of groups (G, n) of chains, of the draws or folded draws if larger."""
    split = _split(table)
    groups = np.concatenate([groups, groups + table.shape[1]], axis=1)
    return np.maximum(
        _nested_r_hat(_normal_scores(split), groups),
        _nested_r_hat(_normal_scores(_fold(split)), groups),
    )


def _nested_r_hat(split: Array, groups: NDArray[np.integer]) -> Array:
    """Equation 8 of Margossian et al. (2024)."""
    mean = np.mean(split, axis=2)[:, groups]  # (K, G, n)
    variance = np.var(split, axis=2, ddof=1)[:, groups]
    between = np.var(np.mean(mean, axis=2), axis=1, ddof=1)
    within = np.mean(np.mean(variance, axis=2) + np.var(mean, axis=2, ddof=1), axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):  # chains that stand still
        return np.asarray(np.sqrt(1.0 + between / within))


# --- effective sample sizes ---------------------------------------------------------------------


def _ess_tail(table: Array) -> Array:
    """The smaller of the effective sample sizes (K,) for the 5 % and the 95 % quantile."""
    with np.errstate(invalid="ignore"):  # between infinite draws
        ends = np.quantile(table, TAILS, axis=(1, 2))[:, :, None, None]
    low, high = (_ess(_split((table <= end).astype(float))) for end in ends)
    return np.minimum(low, high)


def _ess(split: Array) -> Array:
    """Effective sample size (K,) for the mean of chains, by Geyer's initial monotone sequence."""
    chains, draws = split.shape[1:]
    covariance = _autocovariance(split)  # (K, draws)
    mean = np.mean(split, axis=2)
    within = covariance[:, :1] * draws / (draws - 1.0)
    total = within * (draws - 1.0) / draws
    if chains > 1:
        total = total + np.var(mean, axis=1, ddof=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):  # constants, for which see below
        rho = 1.0 - (within - covariance) / total
    rho[:, 0] = 1.0
    # Sums of neighbours, lags 2k and 2k + 1, up to the first that is not positive.
    most = max((draws - 3) // 2, 0)
    pairs = rho[:, : 2 * most + 2].reshape(len(rho), -1, 2).sum(axis=2)
    ended = pairs <= 0.0
    ended[:, -1] = True
    last = np.argmax(ended, axis=1)  # its even lag counts once if that makes the estimate better
    each = np.arange(len(rho))
    even = rho[each, 2 * last]
    falling = np.minimum.accumulate(pairs, axis=1)
    before = np.where(np.arange(most + 1) < last[:, None], falling, 0.0).sum(axis=1)
    tau = -1.0 + 2.0 * before + np.where((even > 0.0) | (pairs[each, last] >= 0.0), even, 0.0)
    size = chains * draws
    constant = np.ptp(split, axis=(1, 2)) < _CONSTANT
    return np.asarray(np.where(constant, size, size / np.maximum(tau, 1.0 / np.log10(size))))


def _autocovariance(split: Array) -> Array:
    """Autocovariance (K, draws) at every lag, averaged over the chains."""
    draws = split.shape[2]
    length = next_fast_len(2 * draws, real=True)
    spectrum = rfft(split - np.mean(split, axis=2, keepdims=True), length, axis=2)
    power = np.mean(spectrum.real**2 + spectrum.imag**2, axis=1)
    return np.asarray(irfft(power, length, axis=1)[:, :draws] / draws)
