"""Resampling of a scale, and its intervals."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from tercet.answers.either import Answers, weights_of
from tercet.answers.questions import Questions, find_questions
from tercet.answers.table import need_votes
from tercet.answers.triplets import Triplets
from tercet.arrays import Floats
from tercet.bootstrap.resampling import Draw, Rows, Units, draw_answers, find_units, resample
from tercet.embedder import is_number
from tercet.ensemble import Ensemble
from tercet.errors import ConvergenceWarning, InputError, SeparableWarning
from tercet.running.memory import need_memory
from tercet.running.provenance import seed_for
from tercet.running.threads import in_order, progress_bar
from tercet.uses.scale.difference import Fits, check_design, differences, fit_counts, probability


class Jackknifed(NamedTuple):
    """Scales (u, n), unnormalised, without one unit, and their lapse rates (u,), or zeros."""

    scale: Floats
    lapse: Floats
    stands_for: Floats  # how many units each row represents, (u,)


@dataclass(frozen=True)
class Made:
    """How a scale was estimated."""

    model: str  # in words
    uncertainty: str  # "bootstrap", "parametric", "posterior", or an ensemble's source
    unit: str = "answer"  # that a bootstrap resamples
    entropy: int | None = None
    triplets: Triplets | None = None  # objects numbered in the order of the stimuli
    task: Task | None = None  # of the signed-difference model
    ensemble: Ensemble | None = None
    jackknife: Callable[[], Jackknifed] | None = None  # only for full-size bootstraps

    @property
    def resamples_observers(self) -> bool:
        """Whether whole observers are resampled."""
        return self.unit == "observer" and self.uncertainty not in ("parametric", "posterior")

    @property
    def n_observers(self) -> int | None:
        """Number of observers; None where unknown."""
        known = None if self.triplets is None else self.triplets.observers
        return None if known is None else len(np.unique(known))


# --- replicates: resampled, simulated, or with one unit left out --------------------------------


CHUNK = 50  # replicates per task
TOLERATED = 0.01  # share of failed or undetermined replicates, up to which there is no warning


class Task(NamedTuple):
    """Answers about stimuli that are numbered in their order, and their fit."""

    triplets: Triplets
    questions: Questions
    link: str
    lapse: bool | float
    fit: Fits  # of all answers

    @property
    def n_parameters(self) -> int:
        """Number of estimated parameters."""
        return self.questions.n_objects - 1 + (self.lapse is True)

    def answer_probability(self) -> Floats:
        """Probability of each given answer (m,) under the fit."""
        eta = differences(self.questions, self.fit.scale[0])[self.questions.number]
        sign = np.where(self.questions.first, 1.0, -1.0)
        return probability(sign * eta, self.link, float(self.fit.lapse[0]))


def fit_all(triplets: Triplets, link: str, lapse: bool | float) -> Task:
    """Fit all answers."""
    questions = find_questions(triplets)
    check_design(questions)
    fit = fit_counts(questions, questions.counts(triplets.weights)[None], link, lapse)
    if not fit.determined[0]:
        warnings.warn(
            "the answers are so unanimous that some values of the scale are undetermined: its size "
            "and σ mean nothing, and intervals are too narrow. Ask more difficult questions.",
            SeparableWarning,
            stacklevel=4,
        )
    elif not fit.converged[0]:
        warnings.warn("the fit of the scale did not converge.", ConvergenceWarning, stacklevel=4)
    return Task(triplets, questions, link, lapse, fit)


def replicate(
    task: Task,
    kind: str,
    unit: str,
    n_samples: int,
    entropy: int,
    n_jobs: int = 1,
    progress: bool | None = None,
) -> Fits:
    """Fits of replicates: of resampled units, or of simulated answers ("parametric")."""
    draw, by_weight = draws_of(task, kind, unit)
    chunks = [range(s, min(s + CHUNK, n_samples)) for s in range(0, n_samples, CHUNK)]

    def fit(chunk: range) -> Fits:
        counts = counts_of(task, draw, by_weight, [seed_for(entropy, k) for k in chunk])
        return fit_counts(task.questions, counts, task.link, task.lapse, task.fit)

    parts = []
    with progress_bar(n_samples, "replicates", progress) as bar:
        for part, chunk in zip(in_order(fit, chunks, n_jobs), chunks, strict=True):
            parts.append(part)
            bar.update(len(chunk))
    fits = Fits(*map(np.concatenate, zip(*parts, strict=True)))
    _warn(fits)
    return fits


def draws_of(task: Task, kind: str, unit: str) -> tuple[Draw, Floats | None]:
    """How rows of a replicate are drawn (row m + t is row t turned), and the weights of rows."""
    triplets = task.triplets
    if kind == "parametric":
        if triplets.weights is not None and triplets.votes is None:
            raise InputError(
                "uncertainty='parametric' simulates answers, and weights that are not whole "
                "numbers do not say how many; use counts, or uncertainty='bootstrap'."
            )
        need_votes(triplets)
        return draw_answers(task.answer_probability(), triplets.votes), None
    units = find_units(triplets, unit)
    voted = unit == "answer" and triplets.votes is not None  # votes are drawn one by one
    return resample(units, units.number, True), None if voted else triplets.weights


def counts_of(
    task: Task, draw: Draw, weights: Floats | None, seeds: list[np.random.SeedSequence]
) -> Floats:
    """Counts (B, q, 2), one replicate per seed."""
    questions = task.questions
    cells = 2 * questions.number + questions.first
    cells = np.concatenate([cells, cells ^ 1])
    counts = np.empty((len(seeds), len(questions.pairs), 2))
    for own, seed in zip(counts, seeds, strict=True):
        rows = draw(np.random.default_rng(seed))
        given = None if weights is None else weights[rows]
        own.reshape(-1)[:] = np.bincount(cells[rows], given, minlength=own.size)
    return counts


def jackknife(task: Task, unit: str) -> tuple[Fits, Floats]:
    """Fits without one unit, and how many units each of them represents."""
    triplets, questions = task.triplets, task.questions
    all_counts = questions.counts(triplets.weights)
    if unit == "answer" and (triplets.weights is None or triplets.votes is not None):
        # Leaving out either of two equal answers to the same question gives the same fit.
        cells = np.flatnonzero(all_counts)
        need_memory(
            len(cells) * all_counts.size,
            f"To leave out one answer at a time of {len(cells)} different ones",
            "use intervals that need no jackknife, such as kind='percentile'",
        )
        without = np.repeat(all_counts.reshape(1, -1), len(cells), axis=0)
        without[np.arange(len(cells)), cells] -= 1.0
        stands_for = all_counts.reshape(-1)[cells]
    else:
        units = find_units(triplets, unit)
        left = (weights_without(triplets, units, np.array([k])) for k in range(units.number))
        without = np.array([questions.counts(weights) for weights in left])
        stands_for = np.ones(units.number)
    counts = without.reshape(len(without), -1, 2)
    return fit_counts(questions, counts, task.link, task.lapse, task.fit), stands_for


def weights_without(answers: Answers, units: Units, chosen: Rows) -> Floats:
    """Weights (m,) of the rows without the chosen units."""
    taken = np.bincount(units.rows_of(chosen), minlength=len(answers))
    weights = weights_of(answers)
    are_votes = units.ends is not None and units.rows is None
    return weights - (taken if are_votes else taken * weights)


def _warn(fits: Fits) -> None:
    size = len(fits.scale)
    failed = int((~fits.converged).sum())
    if failed > TOLERATED * size:
        warnings.warn(
            f"{failed} of {size} replicates did not converge; they are kept.",
            ConvergenceWarning,
            stacklevel=4,
        )
    unsettled = int((~fits.determined).sum())
    if unsettled > TOLERATED * size:
        warnings.warn(
            f"{unsettled} of {size} replicates do not determine all values: their answers are "
            "unanimous, or omit some stimulus. Those values stay near the scale of all answers, "
            "and intervals may be too narrow. Collect more, or more difficult, answers.",
            SeparableWarning,
            stacklevel=4,
        )


# --- intervals: percentile, basic and BCa (Efron, J. Am. Stat. Assoc. 82, 1987) -----------------


KINDS = ("percentile", "basic", "bca")


def check_level(level: float) -> None:
    """Raise unless the level is between 0 and 1."""
    if not (is_number(level) and 0.0 < level < 1.0):
        raise InputError(f"level must lie between 0 and 1, such as 0.95, got {level!r}.")


def tails(level: float) -> tuple[float, float]:
    """The shares below the lower and below the upper limit."""
    check_level(level)
    return (1.0 - level) / 2.0, (1.0 + level) / 2.0


def percentile(samples: Floats, level: float = 0.95) -> Floats:
    """Equal-tailed percentile limits (k, 2) of the samples (S, k)."""
    return np.quantile(samples, tails(level), axis=0).T


def basic(samples: Floats, estimate: Floats, level: float = 0.95) -> Floats:
    """The percentile limits (k, 2) reflected at the estimate (k,): 2θ̂ − q."""
    return np.asarray(2.0 * estimate[:, None] - percentile(samples, level)[:, ::-1])


def bca(
    samples: Floats,
    estimate: Floats,
    jackknife: Floats,
    level: float = 0.95,
    weights: Floats | None = None,
) -> Floats:
    """Bias-corrected and accelerated limits (k, 2).

    Both limits are percentiles of the samples, at Φ(z₀ + (z₀ + z)/(1 − a(z₀ + z))): z₀ measures the
    distance of the estimate from the samples' median, and a, from the skewness of the jackknife,
    how fast the standard error changes with the estimate.

    Parameters
    ----------
    samples : (S, k) array
        Of a bootstrap that resamples as many units as there are, with replacement.
    estimate : (k,) array
        From all units.
    jackknife : (u, k) array
        Estimates without one unit.
    level : float
    weights : (u,) array, optional
        How many units each row of the jackknife represents, where units are alike.
    """
    size = len(samples)
    below = np.mean(samples < estimate, axis=0) + 0.5 * np.mean(samples == estimate, axis=0)
    bias = ndtri(np.clip(below, 0.5 / size, 1.0 - 0.5 / size))
    a = acceleration(jackknife, weights)
    limits = np.empty((len(estimate), 2))
    for side, share in enumerate(tails(level)):
        z = bias + ndtri(share)
        # Where a(z₀ + z) reaches 1 the interval is unbounded: use the outermost sample.
        room = np.maximum(1.0 - a * z, 1e-9)
        shares = ndtr(bias + z / room)
        limits[:, side] = [
            np.quantile(column, q) for column, q in zip(samples.T, shares, strict=True)
        ]
    return limits


def acceleration(jackknife: Floats, weights: Floats | None = None) -> Floats:
    """Σ u³ / (6 (Σ u²)^{3/2}), (k,), of the deviations u = θ̄ − θ₍ᵢ₎; 0 where nothing varies."""
    w = np.ones(len(jackknife)) if weights is None else weights
    u = np.average(jackknife, axis=0, weights=w) - jackknife
    spread = w @ u**2
    scale = np.where(spread > 0.0, spread, 1.0) ** 1.5
    return np.asarray(np.where(spread > 0.0, (w @ u**3) / (6.0 * scale), 0.0))
