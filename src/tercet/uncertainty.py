"""Uncertainty of comparisons and of points over many embeddings (paper, section 3.2).

Functions on arrays; the first axis is the draw: distances have shape (S, m), points (S, n, d). For
all comparisons of many objects it is fastest if the draws of one pair are contiguous in memory,
that is, if distances are the transpose of a (m, S) table; ``distances`` returns such arrays.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import NamedTuple

import numpy as np

from tercet.answers.choices import Choices
from tercet.answers.either import Answers
from tercet.arrays import Floats, Index
from tercet.compiled import jit, jit_sums
from tercet.engine.problem import UNKNOWN
from tercet.errors import InputError
from tercet.models import Model
from tercet.models.base import BIAS
from tercet.models.luce import choice_probabilities
from tercet.running.threads import in_order

__all__ = [
    "METHODS",
    "Ellipses",
    "answer_probability",
    "bonus_by_draw",
    "check_level",
    "check_method",
    "check_ties",
    "choice_probability",
    "constants_by_draw",
    "default_method",
    "distances",
    "ellipses",
    "find_pairs",
    "interval",
    "pairwise_probability",
    "places_of",
    "point_covariance",
    "similarities_by_draw",
    "total_uncertainty",
    "triplet_probability",
]


METHODS = ("paper", "joint", "vote")
MANY = 400  # draws; with fewer a vote is too coarse
_PAPER, _, _VOTE = range(3)  # codes of the methods in compiled code

# Distances compared by one thread at a time; fewer are not worth a thread.
PORTION = 2**20


class Ellipses(NamedTuple):
    """One ellipse per point of a map."""

    centres: Floats  # (n, 2)
    half_lengths: Floats  # (n, 2), of the longer and of the shorter axis
    angles: Floats  # (n,) of the longer axis, in radians from the first dimension, in (-π/2, π/2]


# --- distances --------------------------------------------------------------------------------


def distances(columns: Floats, pairs: Index, *, squared: bool = False) -> Floats:
    """Distances (S, m) of pairs (m, 2) of objects in every draw.

    Parameters
    ----------
    columns : (n, d, S) array
        The draws: points (S, n, d) as ``points.transpose(1, 2, 0)``.
    pairs : (m, 2) integer array
    squared : bool
        Whether to return squared distances.
    """
    table = np.empty((len(pairs), columns.shape[2]))
    _fill_lengths(np.ascontiguousarray(columns), np.ascontiguousarray(pairs), squared, table)
    return table.T


@jit
def _fill_lengths(columns: Floats, pairs: Index, squared: bool, table: Floats) -> None:
    for e in range(len(pairs)):
        i, j = pairs[e]
        for s in range(table.shape[1]):
            table[e, s] = 0.0
        for k in range(columns.shape[1]):
            for s in range(table.shape[1]):
                step = columns[i, k, s] - columns[j, k, s]
                table[e, s] += step * step
        if not squared:
            for s in range(table.shape[1]):
                table[e, s] = math.sqrt(table[e, s])


def find_pairs(comparisons: Index, n_objects: int) -> tuple[Index, Index, Index]:
    """List the pairs of objects in comparisons (m, 4).

    Returns
    -------
    pairs : (E, 2) array
        Each pair once, the smaller number first.
    near, far : (m,) array
        Index of the near and of the far pair of each comparison.
    """
    keys = np.empty((2, len(comparisons)), dtype=np.int64)
    dense = n_objects * (n_objects - 1) <= 4 * len(comparisons)
    _number(comparisons, n_objects, dense, keys)
    if dense:  # more comparisons than pairs: list all pairs, which avoids sorting
        return np.stack(np.triu_indices(n_objects, 1), axis=1), keys[0], keys[1]
    distinct, (near, far) = np.unique(keys, return_inverse=True)
    return np.stack(np.divmod(distinct, n_objects), axis=1), near, far


@jit
def _number(comparisons: Index, n: int, dense: bool, keys: Index) -> None:
    """The index of each pair in the upper triangle of a matrix, or in the whole matrix."""
    for side in range(2):
        for t in range(len(comparisons)):
            first, second = comparisons[t, 2 * side], comparisons[t, 2 * side + 1]
            i, j = min(first, second), max(first, second)
            keys[side, t] = i * n + j - ((i + 1) * (i + 2) // 2 if dense else 0)


# --- is near truly nearer? --------------------------------------------------------------------


def triplet_probability(
    distances: Floats, near: Index, far: Index, method: str, n_jobs: int = 1
) -> Floats:
    """Probability π (m,) that one distance is smaller than another, from draws of both.

    With ρ the mean and σ the standard deviation (S − 1 in the denominator) of a distance over the
    draws:

    - "paper": Φ((ρ_far − ρ_near) / (σ_far + σ_near)), the equation of section 3.2. The sum of the
      two standard deviations is never less than that of the difference: it is conservative.
    - "joint": Φ(mean / standard deviation of the difference far − near). It takes into account that
      two distances in one embedding are correlated.
    - "vote": (wins + ½) / (S + 1), wins being the draws in which near is nearer, a tie half a
      draw. The halves (Jeffreys' prior; Krichevsky and Trofimov 1981) keep S unanimous draws from
      claiming certainty.

    Reversing a comparison turns π into 1 − π exactly. With zero variance π is 0, ½ or 1 for the
    first two.

    Parameters
    ----------
    distances : (S, E) array
    near, far : (m,) integer array
        Columns of ``distances``.
    method : {"paper", "joint", "vote"}
    n_jobs : int
        Threads; the result does not depend on them.
    """
    code = check_method(method)
    table, mean, spread = _prepare(distances, code)
    out = np.empty(len(near))
    size = max(1, PORTION // table.shape[1])

    def compare(start: int) -> None:
        rows = slice(start, start + size)
        _compare_rows(code, table, mean, spread, near[rows], far[rows], out[rows])

    for _ in in_order(compare, range(0, len(near), size), n_jobs):
        pass
    return out


def pairwise_probability(distances: Floats, method: str) -> Floats:
    """Probability (n, n) at [j, l] that distance j is smaller than distance l; ½ on the diagonal.

    Parameters
    ----------
    distances : (S, n) array
        For example from one anchor to n objects.
    method : {"paper", "joint", "vote"}
        As in ``triplet_probability``, with the same results.
    """
    code = check_method(method)
    table, mean, spread = _prepare(distances, code)
    out = np.empty((len(table), len(table)))
    _compare_all(code, table, mean, spread, out)
    return out


def check_method(method: str) -> int:
    """The code of a method; an error if there is no such method."""
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(map(repr, METHODS))}, got {method!r}.")
    return METHODS.index(method)


def default_method(n_samples: int) -> str:
    """The method that measured best: "vote" for many converged draws, "joint" for 100 resamples."""
    return "vote" if n_samples >= MANY else "joint"


def _prepare(distances: Floats, code: int) -> tuple[Floats, Floats, Floats]:
    """Table (E, S) that the method compares, and mean and standard deviation (E,) of its rows."""
    table = np.ascontiguousarray(distances.T)
    if code == _VOTE:
        return table, np.empty(0), np.empty(0)
    mean, spread, centred = np.empty(len(table)), np.empty(len(table)), np.empty_like(table)
    _summarise(table, mean, spread, centred)
    return centred, mean, spread


@jit_sums
def _summarise(table: Floats, mean: Floats, spread: Floats, centred: Floats) -> None:
    """Mean and standard deviation of the rows, and the centred rows."""
    size = table.shape[1]
    for e in range(len(table)):
        total = 0.0
        for s in range(size):
            total += table[e, s]
        mean[e] = total / size
        squares = 0.0
        for s in range(size):
            centred[e, s] = table[e, s] - mean[e]
            squares += centred[e, s] * centred[e, s]
        spread[e] = math.sqrt(squares / max(size - 1, 1))


@jit_sums
def _spread_of_difference(centred: Floats, j: int, l: int) -> float:
    # Not from variances and a covariance, which would cancel for correlated distances.
    squares = 0.0
    for s in range(centred.shape[1]):
        step = centred[l, s] - centred[j, s]
        squares += step * step
    return math.sqrt(squares / max(centred.shape[1] - 1, 1))


@jit
def _twice_the_wins(table: Floats, j: int, l: int) -> int:
    wins = 0
    for s in range(table.shape[1]):
        wins += int(table[j, s] < table[l, s]) + int(table[j, s] <= table[l, s])
    return wins


@jit
def _tail(
    code: int, table: Floats, mean: Floats, spread: Floats, j: int, l: int
) -> tuple[float, bool]:
    """Probability, at most ½, of the less likely order; and whether the other is "j is nearer"."""
    if code == _VOTE:
        size = table.shape[1]
        wins = _twice_the_wins(table, j, l)
        return (min(wins, 2 * size - wins) + 1) / (2 * size + 2), wins > size
    difference = mean[l] - mean[j]
    unit = spread[l] + spread[j] if code == _PAPER else _spread_of_difference(table, j, l)
    if difference == 0.0:  # also if the spread is 0; any other difference over 0 is infinite
        return 0.5, True
    return 0.5 * math.erfc(abs(difference) / unit * math.sqrt(0.5)), difference > 0.0


@jit
def _compare_rows(
    code: int, table: Floats, mean: Floats, spread: Floats, near: Index, far: Index, out: Floats
) -> None:
    for t in range(len(near)):
        tail, nearer = _tail(code, table, mean, spread, near[t], far[t])
        out[t] = 1.0 - tail if nearer else tail


@jit
def _compare_all(code: int, table: Floats, mean: Floats, spread: Floats, out: Floats) -> None:
    n = len(table)
    tile = 32  # rows of 500 draws that fit into a core's cache
    for start in range(0, n, tile):
        for j in range(min(start + tile, n)):
            for l in range(max(start, j + 1), min(start + tile, n)):
                tail, nearer = _tail(code, table, mean, spread, j, l)
                out[j, l] = 1.0 - tail if nearer else tail
                out[l, j] = tail if nearer else 1.0 - tail
    for j in range(n):
        out[j, j] = 0.5


def total_uncertainty(distances: Floats, method: str) -> float:
    """Sum of min(π, 1 − π) over all pairs of distances (S, n), without a table of π."""
    code = check_method(method)
    return _sum_tails(code, *_prepare(distances, code))


@jit
def _sum_tails(code: int, table: Floats, mean: Floats, spread: Floats) -> float:
    total, tile = 0.0, 32  # as in _compare_all
    for start in range(0, len(table), tile):
        for j in range(min(start + tile, len(table))):
            for l in range(max(start, j + 1), min(start + tile, len(table))):
                total += _tail(code, table, mean, spread, j, l)[0]
    return total


# --- will the next person say near? -----------------------------------------------------------


def answer_probability(
    squared: Floats,
    near: Index,
    far: Index,
    model: Model,
    n_components: int = 2,
    parameters: Mapping[str, Floats] | None = None,
    *,
    by_draw: bool = False,
) -> Floats:
    """Probability (m,) of the answer "near": the model's, averaged over the draws.

    Parameters
    ----------
    squared : (S, E) array
        Squared distances as drawn: their scale is the model's inverse noise.
    near, far : (m,) integer array
        Columns of ``squared``.
    model : Model
        A probability model.
    n_components : int
        Dimension of the embeddings; t-STE's default alpha depends on it.
    parameters : mapping of str to (S,) array, optional
        Fields of the model that differ between draws, and "lapse": the share of answers given at
        random, (1 − lapse)·p + lapse/2. Other names are ignored.
    by_draw : bool
        Return the probability (S, m) in every draw instead of their mean.
    """
    parameters = parameters or {}
    table = np.ascontiguousarray(squared.T)
    size = table.shape[1]
    model.log_prob(1.0, 1.0, n_components)  # raises if the model is a loss
    constants = constants_by_draw(model, n_components, parameters)
    keep = 1.0 - parameters.get("lapse", np.zeros(size))
    out = np.empty((len(near), size) if by_draw else len(near))
    step = max(1, PORTION // size)
    for start in range(0, len(near), step):
        rows = slice(start, start + step)
        p = _probabilities(model, constants, table[near[rows]], table[far[rows]])
        p = 0.5 + (p - 0.5) * keep
        out[rows] = p if by_draw else p.mean(axis=1)
    return out.T if by_draw else out


def choice_probability(
    squared: Floats,
    alternatives: Index,
    choices: Choices,
    model: Model,
    n_components: int = 2,
    parameters: Mapping[str, Floats] | None = None,
) -> tuple[Floats, Floats]:
    """Probability of choices in every draw, and of each alternative to be chosen first.

    Parameters
    ----------
    squared, model, n_components, parameters
        As in `answer_probability`; a lapse is any of the outcomes, all equally likely.
    alternatives : (A,) integer array
        Columns of ``squared``, of the alternatives of all choices.
    choices : Choices
        m choices.

    Returns
    -------
    probability : (m, S) array
        Of what was chosen.
    first : (A, S) array
        Of every alternative, to be the one chosen, or the first of several. Lapses are left out:
        they do not change which alternative is the most likely one.
    """
    size, parameters = len(squared), parameters or {}
    probability, first = np.empty((size, len(choices))), np.empty((size, len(alternatives)))
    drawn = similarities_by_draw(squared, model, n_components, parameters)
    bonus, places = bonus_by_draw(parameters, size), places_of(choices, parameters)
    for s, (log_s, lapse) in enumerate(drawn):
        choice_probabilities(
            lapse,
            bonus[s],
            alternatives,
            places,
            choices.cuts,
            choices.kinds,
            choices.n_chosen,
            log_s,
            probability[s],
            first[s],
        )
    return probability.T, first.T


def bonus_by_draw(parameters: Mapping[str, Floats], size: int) -> Floats:
    """The bonus (S, 2 + positions) of "cannot tell" and of each position, see `Lists`."""
    sides = [parameters[name] for name in parameters if name.startswith(BIAS)]
    tie = np.log(parameters["tie"]) if "tie" in parameters else np.zeros(size)
    return np.stack([tie, np.zeros(size), *sides], axis=1)


def check_ties(answers: Answers, parameters: Mapping[str, Floats]) -> None:
    """Raise if a tie is possible and the draws do not say how likely."""
    if isinstance(answers, Choices) and answers.may_tie.any() and "tie" not in parameters:
        raise InputError(
            "“cannot tell” is a possible answer to these choices, but the draws come from answers "
            "without it: leave it out (in Python: choices.without_ties()), or fit to answers that "
            "have it."
        )


def places_of(choices: Choices, parameters: Mapping[str, Floats]) -> Index:
    """Where the alternatives have their bonus, (A,); none if sides do not matter."""
    check_ties(choices, parameters)
    sides = sum(name.startswith(BIAS) for name in parameters)
    if not sides or choices.positions is None:
        return np.empty(0, dtype=np.int64)
    known = choices.positions < sides  # one never seen has no bonus
    return np.where(known, choices.positions, -1) + (UNKNOWN + 1)


def similarities_by_draw(
    squared: Floats, model: Model, n_components: int, parameters: Mapping[str, Floats]
) -> Iterator[tuple[Floats, float]]:
    """The log-similarities (E,) of pairs in each draw, and its lapse rate.

    Parameters
    ----------
    squared, model, n_components, parameters
        As in `answer_probability`.
    """
    size = len(squared)
    model.log_similarity(1.0, n_components)  # raises if the model is a loss
    constants = np.broadcast_to(constants_by_draw(model, n_components, parameters), (size, 2))
    lapse = parameters.get("lapse", np.zeros(size))
    unused = np.empty(squared.shape[1])
    similarity = type(model).similarity
    assert similarity is not None
    for s, (p, q) in enumerate(constants):
        log_s = np.empty(squared.shape[1])
        similarity(p, q, np.ascontiguousarray(squared[s]), log_s, unused)
        yield log_s, float(lapse[s])


def constants_by_draw(model: Model, n_components: int, parameters: Mapping[str, Floats]) -> Floats:
    """The constants of the model's kernel, (S, 2), or (1, 2) if all draws share them."""
    own = {f.name: parameters[f.name] for f in fields(model) if f.name in parameters}  # type: ignore[arg-type]
    drawn = [
        replace(model, **dict(zip(own, map(float, values), strict=True)))  # type: ignore[type-var]
        for values in (zip(*own.values(), strict=True) if own else [()])
    ]
    return np.array([each.constants(n_components) for each in drawn])


def _probabilities(model: Model, constants: Floats, near: Floats, far: Floats) -> Floats:
    """The model's probability (m, S), its constants (S, 2) or (1, 2) for all draws."""
    if len(constants) > 1:  # one call per draw
        near, far = np.ascontiguousarray(near.T), np.ascontiguousarray(far.T)
    size = len(constants)
    a, b = near.reshape(size, -1), far.reshape(size, -1)
    loss, unused = np.empty_like(a), np.empty((2, a.shape[1]))
    for s, (p, q) in enumerate(constants):
        type(model).kernel(p, q, a[s], b[s], loss[s], unused[0], unused[1])
    np.exp(-loss, out=loss)
    return loss.T if size > 1 else loss.reshape(near.shape)


# --- points -----------------------------------------------------------------------------------


def point_covariance(samples: Floats) -> Floats:
    """Covariance (n, d, d) of every point over aligned samples (S, n, d), denominator S − 1."""
    if len(samples) < 2:
        raise InputError("a covariance needs at least two draws; this ensemble has one.")
    centred = samples - samples.mean(axis=0)
    by_point = centred.transpose(1, 2, 0)
    return np.asarray(by_point @ by_point.transpose(0, 2, 1) / (len(samples) - 1))


def ellipses(mean: Floats, covariance: Floats, level: float = 0.95) -> Ellipses:
    """Ellipses that contain the share ``level`` of normal distributions in the plane.

    The half-lengths are the standard deviations along the principal axes times the root of the
    quantile of χ² with two degrees of freedom, −2·log(1 − level).

    Parameters
    ----------
    mean : (n, 2) array
    covariance : (n, 2, 2) array
    level : float
        Between 0 and 1.
    """
    values, vectors = np.linalg.eigh(covariance)
    half_lengths = np.sqrt(-2.0 * math.log1p(-level) * np.maximum(values[:, ::-1], 0.0))
    x, y = vectors[:, 0, 1], vectors[:, 1, 1]
    turned = np.where((x < 0.0) | ((x == 0.0) & (y < 0.0)), -1.0, 1.0)
    return Ellipses(mean, half_lengths, np.arctan2(turned * y, turned * x))


def interval(values: Floats, level: float) -> Floats:
    """Equal-tailed interval (..., 2) over the first axis."""
    check_level(level)
    ends = np.quantile(values, [(1.0 - level) / 2.0, (1.0 + level) / 2.0], axis=0)
    return np.moveaxis(ends, 0, -1)


def check_level(level: float) -> None:
    """Raise unless it is a share between 0 and 1."""
    if not 0.0 < level < 1.0:
        raise InputError(f"level must lie between 0 and 1, such as 0.95, got {level!r}.")
