"""The signed-difference model of MLDS, and its maximum likelihood for one or many sets of answers.

Of two pairs of stimuli people say which differs more. With ψ the perceived values and each pair in
the order of the stimuli, the pair (3, 4) is chosen over (1, 2) with probability

    p = λ/2 + (1 − λ) F(η),   η = (ψ₄ − ψ₃) − (ψ₂ − ψ₁),

where F belongs to the link and λ is the share of lapses (Maloney & Yang, J. Vision 3, 2003;
Knoblauch & Maloney, J. Stat. Software 25(2), 2008). The noise has size 1 and ψ₁ is 0, so that the
last value is 1/σ. The model needs the order of the stimuli and no more: pairs may overlap, share a
stimulus (triads) or contain each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.answers.questions import Questions
from tercet.errors import InputError
from tercet.uses.scale.kernels import RIDGE, maximise

Floats = NDArray[np.float64]
Index = NDArray[np.int64]
Bools = NDArray[np.bool_]

OPEN = 1e-3  # information about a value so small that its error would be 30 times the noise

LINKS = ("probit", "logit", "cauchit")  # as the kernels number them


class Fits(NamedTuple):
    """Maxima of the likelihood, one for each of B sets of counts."""

    scale: Floats  # (B, n), the first value 0
    lapse: Floats  # (B,)
    log_likelihood: Floats  # (B,)
    converged: Bools  # (B,)
    determined: Bools  # (B,): whether the answers settle every value; unanimous ones do not


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
            f"{n - 1} scale values open; ask more, and different, questions."
        )


def probability(eta: Floats, link: str, lapse: float | Floats = 0.0) -> Floats:
    """Probability of choosing the higher pair; the lapse rate is broadcast against η."""
    from scipy.special import expit, ndtr  # heavy, and not needed to fit

    if link == "probit":
        core = ndtr(eta)
    elif link == "logit":
        core = expit(eta)
    else:  # by arctan2 the lower tail keeps its digits
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

    Where answers leave some direction open, because they are unanimous or none was given, a very
    small ridge keeps the scale near the start.

    Parameters
    ----------
    questions : Questions
    counts : (B, q, 2) array
        As `Questions.counts` gives them for one set.
    link : {"probit", "logit", "cauchit"}
    lapse : bool or float
        Whether to estimate λ in [0, ½], or its known value.
    start : Fits, optional
        Of one set, from whose maximum all are sought. By default several starts are tried where
        the likelihood may have several maxima (cauchit, lapses), and the best is kept.
    """
    free = lapse is True
    known = 0.0 if isinstance(lapse, bool) else float(lapse)
    if start is not None:
        return _run(questions, counts, link, free, start.scale[0], float(start.lapse[0]))
    zeros = np.zeros(questions.n_objects)
    if link != "cauchit" and not free and known == 0.0:  # concave: any start will do
        return _run(questions, counts, link, False, zeros, 0.0)
    plain = [_run(questions, counts, name, False, zeros, 0.0) for name in ("probit", "logit")]
    guesses = (0.01, 0.1) if free else (known,)
    found = []
    for k in range(len(counts)):
        tried = [
            _run(questions, counts[k : k + 1], link, free, fits.scale[k], guess)
            for fits in plain
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
