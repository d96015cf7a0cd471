"""The signed-difference model of MLDS, fitted by maximum likelihood to many sets of answers."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from tercet.answers.questions import Questions
from tercet.arrays import Bools, Floats, Index
from tercet.compiled import jit
from tercet.errors import InputError

OPEN = 1e-3  # information about a value below which its error would be 30 times the noise

LINKS = ("probit", "logit", "cauchit")  # as the kernels number them


class Fits(NamedTuple):
    """Maxima of the likelihood, one for each of B sets of counts."""

    scale: Floats  # (B, n), the first value 0
    lapse: Floats  # (B,)
    log_likelihood: Floats  # (B,)
    converged: Bools  # (B,)
    determined: Bools  # (B,): whether the answers identify every value; unanimous ones do not


def differences(questions: Questions, scale: Floats) -> Floats:
    """η (..., q) of every question about stimuli that are numbered in their order.

    Parameters
    ----------
    questions : Questions
        Of which the first pair is the lower one.
    scale : (..., n) array
    """
    a, b, c, d = questions.pairs.T
    return np.asarray(
        (scale[..., d] - scale[..., c]) - (scale[..., b] - scale[..., a]), dtype=np.float64
    )


def check_design(questions: Questions) -> None:
    """Raise unless the questions determine a scale."""
    n, pairs = questions.n_objects, questions.pairs
    design = np.zeros((len(pairs), n))
    for column, sign in zip(pairs.T, (1.0, -1.0, -1.0, 1.0), strict=True):
        np.add.at(design, (np.arange(len(pairs)), column), sign)
    rank = np.linalg.matrix_rank(design[:, 1:])
    if rank < n - 1:
        raise InputError(
            f"{len(pairs)} different questions about {n} stimuli leave {n - 1 - rank} of the "
            f"{n - 1} scale values undetermined; ask more, and different, questions."
        )


def probability(eta: Floats, link: str, lapse: float | Floats = 0.0) -> Floats:
    """Probability of choosing the higher pair; the lapse rate is broadcast against η."""
    from scipy.special import expit, ndtr  # heavy, and not needed to fit

    if link == "probit":
        core = ndtr(eta)
    elif link == "logit":
        core = expit(eta)
    else:  # arctan2 keeps precision in the lower tail
        core = np.arctan2(1.0, -eta) / np.pi
    return np.asarray(0.5 * lapse + (1.0 - np.asarray(lapse)) * core)


def fit_counts(
    questions: Questions,
    counts: Floats,
    link: str = "probit",
    lapse: bool | float = False,
    start: Fits | None = None,
) -> Fits:
    """Maximise the likelihood for each of B sets of counts (B, q, 2).

    Where answers leave some direction undetermined, because they are unanimous or missing, a very
    small ridge penalty keeps the scale near the start.

    Parameters
    ----------
    questions : Questions
    counts : (B, q, 2) array
        As `Questions.counts` gives them for one set.
    link : {"probit", "logit", "cauchit"}
    lapse : bool or float
        Whether to estimate λ in [0, ½], or its known value.
    start : Fits, optional
        Of one set, whose maximum is the start for all. By default several starts are tried where
        the likelihood may have several maxima (cauchit, lapses), and the best is kept.
    """
    free = lapse is True
    known = 0.0 if isinstance(lapse, bool) else float(lapse)
    if start is not None:
        return _run(questions, counts, link, free, start.scale[0], float(start.lapse[0]))
    zeros = np.zeros(questions.n_objects)
    if link != "cauchit" and not free and known == 0.0:  # concave: any start will do
        return _run(questions, counts, link, False, zeros, 0.0)
    starts = [_run(questions, counts, name, False, zeros, 0.0) for name in ("probit", "logit")]
    guesses = (0.01, 0.1) if free else (known,)
    found = []
    for k in range(len(counts)):
        tried = [
            _run(questions, counts[k : k + 1], link, free, fits.scale[k], guess)
            for fits in starts
            for guess in guesses
        ]
        found.append(max(tried, key=lambda fits: float(fits.log_likelihood[0])))
    return Fits(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def _run(
    questions: Questions, counts: Floats, link: str, free: bool, start: Floats, lapse: float
) -> Fits:
    size = len(counts)
    scale, lapses = np.tile(start, (size, 1)), np.full(size, lapse)
    value, least, converged = np.empty(size), np.empty(size), np.empty(size, dtype=np.bool_)
    counts = np.ascontiguousarray(counts, dtype=np.float64)
    code = LINKS.index(link)
    maximise(questions.pairs, counts, code, free, scale, lapses, value, least, converged)
    value += 0.5 * RIDGE * np.sum((scale - start) ** 2, axis=1)
    return Fits(scale, lapses, value, converged, least > OPEN)


# --- the likelihood and its maximum, compiled ---------------------------------------------------


LARGEST_LAPSE = 0.5
RIDGE = 1e-8  # towards the start; matters only where answers leave values undetermined

_PROBIT, _LOGIT = 0, 1  # and the cauchit is 2
_ITERATIONS, _HALVINGS, _CLOSE = 200, 40, 1e-11
_SQRT_HALF, _LOG_SQRT_2PI = math.sqrt(0.5), 0.5 * math.log(2.0 * math.pi)


@jit
def side(link: int, z: float, lapse: float) -> tuple[float, float, float, float, float]:
    """Of log p, p = λ/2 + (1 − λ) F(z): its value, its slopes by z and by λ, and −∂²/∂z², −∂²/∂z∂λ.

    By λ alone the second derivative is minus the square of the first.
    """
    if link == _PROBIT:
        if z > -35.0:
            core = 0.5 * math.erfc(-z * _SQRT_HALF)
            logarithm = math.log(core)
            ratio = math.exp(-0.5 * z * z - _LOG_SQRT_2PI) / core
        else:  # Mills' ratio
            r = 1.0 / (z * z)
            series = 1.0 - r * (1.0 - 3.0 * r * (1.0 - 5.0 * r))
            logarithm = -0.5 * z * z - _LOG_SQRT_2PI - math.log(-z) + math.log(series)
            core, ratio = math.exp(logarithm), -z / series
        turn = -z  # F″/F′
    elif link == _LOGIT:
        e = math.exp(-abs(z))
        logarithm = min(z, 0.0) - math.log1p(e)
        core = (1.0 if z >= 0.0 else e) / (1.0 + e)
        ratio = (e if z >= 0.0 else 1.0) / (1.0 + e)
        turn = 1.0 - 2.0 * core
    else:
        core = math.atan2(1.0, -z) / math.pi
        logarithm = math.log(core)
        ratio = 1.0 / (math.pi * (1.0 + z * z) * core)
        turn = -2.0 * z / (1.0 + z * z)
    if lapse > 0.0:
        p = 0.5 * lapse + (1.0 - lapse) * core
        logarithm = math.log(p)
        ratio *= core / p
    else:
        p = max(core, 1e-100)
    slope, by_lapse = (1.0 - lapse) * ratio, (0.5 - core) / p
    return logarithm, slope, by_lapse, slope * (slope - turn), ratio + slope * by_lapse


@jit
def log_likelihood(
    pairs: Index, counts: Floats, link: int, centre: Floats, scale: Floats, lapse: float
) -> float:
    """Log-likelihood of one set of counts (q, 2), less the ridge penalty about the centre."""
    value = 0.0
    for q in range(len(pairs)):
        lower, higher = counts[q, 0], counts[q, 1]
        if lower + higher > 0.0:
            z = (scale[pairs[q, 3]] - scale[pairs[q, 2]]) - (
                scale[pairs[q, 1]] - scale[pairs[q, 0]]
            )
            if higher > 0.0:
                value += higher * side(link, z, lapse)[0]
            if lower > 0.0:
                value += lower * side(link, -z, lapse)[0]
    for i in range(len(scale)):
        value -= 0.5 * RIDGE * (scale[i] - centre[i]) ** 2
    return value


@jit
def slopes(
    pairs: Index,
    counts: Floats,
    link: int,
    expected: bool,
    centre: Floats,
    scale: Floats,
    lapse: float,
    gradient: Floats,
    information: Floats,
) -> None:
    """Fill the gradient (n + 1,) and the information (n + 1, n + 1); the lapse rate comes last."""
    n = len(scale)
    gradient[:] = 0.0
    information[:] = 0.0
    for q in range(len(pairs)):
        lower, higher = counts[q, 0], counts[q, 1]
        if lower + higher == 0.0:
            continue
        a, b, c, d = pairs[q, 0], pairs[q, 1], pairs[q, 2], pairs[q, 3]
        z = (scale[d] - scale[c]) - (scale[b] - scale[a])
        slope, weight, cross = 0.0, 0.0, 0.0
        if higher > 0.0 or expected:
            _, up, up_lapse, bend, twist = side(link, z, lapse)
            slope += higher * up
            gradient[n] += higher * up_lapse
            if not expected:
                weight += higher * bend
                cross += higher * twist
                information[n, n] += higher * up_lapse * up_lapse
        if lower > 0.0 or expected:
            _, down, down_lapse, bend, twist = side(link, -z, lapse)
            slope -= lower * down
            gradient[n] += lower * down_lapse
            if not expected:
                weight += lower * bend
                cross -= lower * twist
                information[n, n] += lower * down_lapse * down_lapse
        if expected:
            weight = (higher + lower) * up * down
            cross = -(higher + lower) * up * down_lapse
            information[n, n] -= (higher + lower) * up_lapse * down_lapse
        gradient[a] += slope
        gradient[b] -= slope
        gradient[c] -= slope
        gradient[d] += slope
        for k in range(5):  # the lapse rate's row is the last
            row = information[pairs[q, k] if k < 4 else n]
            sign = cross if k == 4 else (weight if k == 0 or k == 3 else -weight)
            row[a] += sign
            row[b] -= sign
            row[c] -= sign
            row[d] += sign
    for i in range(n):
        gradient[i] -= RIDGE * (scale[i] - centre[i])
        information[i, i] += RIDGE
    information[n, n] += RIDGE


@jit
def _solve(matrix: Floats, right: Floats, end: int, out: Floats) -> bool:
    """Solve for the unknowns 1 to end − 1 by Cholesky; False if the matrix is not positive.

    Uses, and overwrites, the lower triangle.
    """
    for i in range(1, end):
        for j in range(1, i + 1):
            total = matrix[i, j]
            for k in range(1, j):
                total -= matrix[i, k] * matrix[j, k]
            if i == j:
                if not total > 1e-14 * abs(matrix[i, i]):
                    return False
                matrix[i, i] = math.sqrt(total)
            else:
                matrix[i, j] = total / matrix[j, j]
        total = right[i]
        for k in range(1, i):
            total -= matrix[i, k] * out[k]
        out[i] = total / matrix[i, i]
    for i in range(end - 1, 0, -1):
        total = out[i]
        for k in range(i + 1, end):
            total -= matrix[k, i] * out[k]
        out[i] = total / matrix[i, i]
    return True


@jit
def _step(
    information: Floats,
    gradient: Floats,
    lapse: float,
    free: bool,
    factor: Floats,
    right: Floats,
    step: Floats,
) -> bool:
    """Newton's step with the lapse rate kept in its bounds; False if there is none.

    Where the rate would leave them it stays on the bound, and the scale takes the best step given
    that.
    """
    n = len(gradient) - 1
    step[n] = 0.0
    if free:
        factor[:] = information
        if not _solve(factor, gradient, n + 1, step):
            return False
        bounded = min(max(lapse + step[n], 0.0), LARGEST_LAPSE) - lapse
        if bounded == step[n]:
            return True
        step[n] = bounded
    factor[:] = information
    for i in range(n):
        right[i] = gradient[i] - information[n, i] * step[n]
    return _solve(factor, right, n, step)


@jit
def maximise(
    pairs: Index,
    counts: Floats,
    link: int,
    free: bool,
    scale: Floats,
    lapse: Floats,
    value: Floats,
    least: Floats,
    converged: Bools,
) -> None:
    """Newton's method with halved steps, for one set of counts after the other.

    Where the observed information is not positive definite, the expected one is used, which always
    is. ``least`` is the smallest pivot of the information: about 0 where a direction is
    undetermined.
    """
    n = scale.shape[1]
    gradient, right, step = np.empty(n + 1), np.empty(n + 1), np.zeros(n + 1)
    information, factor = np.empty((n + 1, n + 1)), np.empty((n + 1, n + 1))
    trial, centre = np.empty(n), scale[0].copy()
    for r in range(len(counts)):
        own, here = counts[r], scale[r]
        now = log_likelihood(pairs, own, link, centre, here, lapse[r])
        converged[r] = False
        for _ in range(_ITERATIONS):
            for expected in (False, True):
                slopes(pairs, own, link, expected, centre, here, lapse[r], gradient, information)
                if _step(information, gradient, lapse[r], free, factor, right, step):
                    break
            gain = gradient[n] * step[n]
            for i in range(1, n):
                gain += gradient[i] * step[i]
            slack = 1e-13 * abs(now)
            share, better = 1.0, -np.inf
            for _ in range(_HALVINGS):
                trial[0] = 0.0
                for i in range(1, n):
                    trial[i] = here[i] + share * step[i]
                better = log_likelihood(pairs, own, link, centre, trial, lapse[r] + share * step[n])
                if better >= now + 1e-4 * share * gain - slack:
                    break
                share *= 0.5
            if not better >= now - slack:
                break
            here[:] = trial
            lapse[r] = min(max(lapse[r] + share * step[n], 0.0), LARGEST_LAPSE)
            now = better
            if gain < _CLOSE:
                converged[r] = True
                break
        value[r], least[r] = now, np.inf
        for i in range(1, n):
            least[r] = min(least[r], factor[i, i] ** 2)
