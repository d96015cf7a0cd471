"""Goodness of fit of a perceptual scale: deviance, residual envelope, runs, predictive check.

As in MLDS (Wood, *Generalized Additive Models*, 2006; Knoblauch & Maloney, J. Stat. Software 25(2),
2008): answers are repeatedly simulated from the fitted model and refitted, and their residuals are
the reference for the observed ones.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from tercet.answers.questions import Questions, find_questions, single_answers
from tercet.answers.triplets import Triplets
from tercet.arrays import Bools, Floats, Index
from tercet.embedder import is_count
from tercet.ensemble import Ensemble
from tercet.errors import InputError, SeparableWarning
from tercet.running.provenance import Seed, entropy_of, seed_for
from tercet.running.threads import count_threads, in_order, progress_bar
from tercet.uses.scale.difference import Fits, differences, fit_counts, probability
from tercet.uses.scale.intervals import Task, check_level, percentile
from tercet.uses.scale.result import PerceptualScale

__all__ = ["GoodnessOfFit", "goodness_of_fit"]


CHUNK = 25  # simulations per task


@dataclass(frozen=True, eq=False)
class GoodnessOfFit:
    """Goodness of fit of a scale to the answers it was estimated from.

    Attributes
    ----------
    simulated_by : str
        "refitted answers" of the fitted model, or "posterior predictive" ones.
    n_answers : int
    deviance, null_deviance : float
        −2 log-likelihood, of the model (for a posterior, the mean over draws) and of guessing.
    deviance_p : float
        Share of the simulations that fit no better: small where the model fits badly.
    aic : float or None
        Deviance plus twice the number of parameters; None for a posterior.
    accuracy : float
        Share of the answers that the model predicts correctly.
    residuals : (m,) array
        Deviance residuals, sorted: √(−2 log p) of the answer given, positive where the higher pair
        of stimuli was chosen (for a posterior, the mean over draws at each rank).
    envelope : (m, 2) array
        Central range of the share `level` of the simulated residuals at that rank.
    runs : float
        Number of sign changes in the order of the fitted values, as MLDS counts runs; equal values
        keep the order of the answers, or are sorted by answer where these are counted votes, whose
        order is unknown. For a posterior, the mean over draws.
    runs_p : float
        Share of the simulations with no more runs: small where errors are clustered.
    simulated_runs, simulated_deviances : (S,) array
    """

    simulated_by: str
    n_answers: int
    deviance: float
    deviance_p: float
    null_deviance: float
    aic: float | None
    accuracy: float
    residuals: Floats = field(repr=False)
    envelope: Floats = field(repr=False)
    runs: float
    runs_p: float
    simulated_runs: Index = field(repr=False)
    simulated_deviances: Floats = field(repr=False)
    level: float

    @property
    def daf(self) -> float:
        """Deviance accounted for: the share of the null deviance that the model explains."""
        return 1.0 - self.deviance / self.null_deviance

    @property
    def outside(self) -> float:
        """Share of the residuals that lie outside the envelope."""
        low, high = self.envelope.T
        return float(np.mean((self.residuals < low) | (self.residuals > high)))

    def __str__(self) -> str:
        usual = self.simulated_runs
        aic = "" if self.aic is None else f", AIC {self.aic:.1f}"
        return "\n".join(
            [
                f"Goodness of fit: {self.n_answers} answers, {len(usual)} simulations "
                f"({self.simulated_by})",
                f"deviance {self.deviance:.1f} of {self.null_deviance:.1f}: "
                f"{self.daf:.3f} accounted for{aic}",
                f"simulations fit no better: p = {self.deviance_p:.3f}",
                f"answers predicted correctly: {self.accuracy:.1%}",
                f"residuals outside their {self.level:.0%} envelope: {self.outside:.1%}",
                f"runs of residuals: {self.runs:.0f}, simulated {usual.mean():.1f}: "
                f"p = {self.runs_p:.3f}",
            ]
        )


class _Shown(NamedTuple):
    """Statistics of answers under a model."""

    residuals: Floats  # (B, m), sorted
    runs: Index  # (B,)
    deviances: Floats  # (B,)


def goodness_of_fit(
    scale: PerceptualScale,
    *,
    n_samples: int = 1000,
    level: float = 0.95,
    n_jobs: int | None = None,
    random_state: Seed = None,
    progress: bool | None = None,
) -> GoodnessOfFit:
    """Assess the fit of a scale by the signed-difference model, or by a posterior.

    For the signed-difference model, answers are simulated from the fit and refitted. For a
    posterior this is a posterior predictive check (Gelman, Meng & Stern, Statistica Sinica 6,
    1996): answers are simulated from its draws and compared with the observed ones under each draw.
    That check is conservative, as the observed answers were used twice.

    Parameters
    ----------
    scale : PerceptualScale
    n_samples : int
        Number of simulations; for a posterior, at most its number of draws.
    level : float
        Of the envelope.
    n_jobs, random_state, progress
        As in `perceptual_scale`.
    """
    check_level(level)
    if not is_count(n_samples):
        raise InputError(f"n_samples must be a positive whole number, got {n_samples!r}.")
    jobs, entropy = count_threads(n_jobs), entropy_of(random_state)
    task, ensemble, triplets = scale.made.task, scale.made.ensemble, scale.made.triplets
    if triplets is None or (task is None and scale.made.uncertainty != "posterior"):
        raise InputError(
            "goodness of fit needs answers, and a model that can simulate them: a scale by "
            "model='difference', or by a Posterior such as model=Posterior(CKL(1))."
        )
    answers = _one_by_one(triplets)
    if task is not None:
        by = "refitted answers"
        _warn_about_unanimous(task)
        p = answers.spread(_higher(task, task.fit))
        seen = _show(answers, answers.higher, p)
        chunks = _refitted(task, answers, p[0], n_samples, entropy, jobs)
    else:
        assert ensemble is not None
        by, n_samples = "posterior predictive", min(n_samples, len(ensemble))
        p = answers.spread(ensemble.answer_probability(answers.questions.pairs)[None])
        seen, chunks = _predicted(ensemble, answers, n_samples, entropy)
    parts = []
    with progress_bar(n_samples, "simulations", progress) as bar:
        for part in chunks:
            parts.append(part)
            bar.update(len(part.runs))
    simulated = _joined(parts)
    count = len(answers.higher)
    return GoodnessOfFit(
        by,
        count,
        float(seen.deviances.mean()),
        float(np.mean(simulated.deviances >= seen.deviances)),
        float(2.0 * count * np.log(2.0)),
        scale.aic,
        float(np.mean(np.where(answers.higher, p, 1.0 - p) > 0.5)),
        seen.residuals.mean(axis=0),
        percentile(simulated.residuals, level),
        float(seen.runs.mean()),
        float(np.mean(simulated.runs <= seen.runs)),
        simulated.runs,
        simulated.deviances,
        level,
    )


class _Answers(NamedTuple):
    """Single answers (m,): votes are repeated."""

    questions: Questions
    number: Index  # the question of each
    higher: Bools  # whether the higher pair was chosen
    counted: bool  # whether they are votes, whose order is unknown

    def spread(self, p: Floats) -> Floats:
        """Values of questions (B, q) repeated for every answer (B, m)."""
        return p[:, self.number]


def _one_by_one(triplets: Triplets) -> _Answers:
    questions, rows = find_questions(triplets), single_answers(triplets, "the answers")
    counted = triplets.votes is not None
    return _Answers(questions, questions.number[rows], questions.first[rows], counted)


def _warn_about_unanimous(task: Task) -> None:
    if not task.fit.determined[0]:
        warnings.warn(
            "the answers are so unanimous that some values of the scale are undetermined, and "
            "nearly all simulated answers are the same: goodness of fit is not informative.",
            SeparableWarning,
            stacklevel=3,
        )


def _higher(task: Task, fits: Fits) -> Floats:
    """Probability (B, q) that the higher pair is chosen."""
    return probability(differences(task.questions, fits.scale), task.link, fits.lapse[:, None])


def _refitted(
    task: Task, answers: _Answers, p: Floats, n_samples: int, entropy: int, n_jobs: int
) -> Iterator[_Shown]:
    """Answers simulated from the fit, under the model refitted to them."""
    size = 2 * len(task.questions.pairs)

    def show(start: int) -> _Shown:
        seeds = [seed_for(entropy, k) for k in range(start, min(start + CHUNK, n_samples))]
        higher = np.array([np.random.default_rng(seed).random(len(p)) < p for seed in seeds])
        cells = 2 * answers.number + higher
        counts = np.array([np.bincount(own, minlength=size) for own in cells], dtype=np.float64)
        counts = counts.reshape(len(seeds), -1, 2)
        fits = fit_counts(task.questions, counts, task.link, task.lapse, task.fit)
        return _show(answers, higher, answers.spread(_higher(task, fits)))

    return in_order(show, range(0, n_samples, CHUNK), n_jobs)


def _predicted(
    ensemble: Ensemble, answers: _Answers, n_samples: int, entropy: int
) -> tuple[_Shown, Iterator[_Shown]]:
    """The observed answers under draws of a posterior, and answers simulated from the same draws.

    Probabilities are computed per question, so that answers to one question tie exactly.
    """
    rng = np.random.default_rng(seed_for(entropy))
    chosen = rng.choice(len(ensemble), n_samples, replace=False)
    parts = np.array_split(chosen, -(-n_samples // CHUNK))

    def probabilities(part: Index) -> Floats:
        pairs = answers.questions.pairs
        return answers.spread(ensemble[part].answer_probability(pairs, by_draw=True))

    def simulate(part: Index) -> _Shown:
        p = probabilities(part)
        return _show(answers, rng.random(p.shape) < p, p)

    seen = _joined([_show(answers, answers.higher, probabilities(part)) for part in parts])
    return seen, map(simulate, parts)


def _joined(parts: list[_Shown]) -> _Shown:
    return _Shown(*map(np.concatenate, zip(*parts, strict=True)))


def _show(answers: _Answers, higher: Bools, p: Floats) -> _Shown:
    """Residuals, runs and deviance of answers, (m,) or (B, m), under probabilities (B, m)."""
    higher = np.broadcast_to(higher, p.shape)
    cost = -2.0 * np.log(np.maximum(np.where(higher, p, 1.0 - p), 1e-300))
    residuals = np.where(higher, 1.0, -1.0) * np.sqrt(cost)
    # Votes are sorted by answer, so simulated ones must be sorted too.
    order = np.lexsort((higher, p)) if answers.counted else np.argsort(p, axis=1, kind="stable")
    signs = np.take_along_axis(higher, order, axis=1)
    runs = np.sum(signs[:, 1:] != signs[:, :-1], axis=1)
    return _Shown(np.sort(residuals, axis=1), runs, cost.sum(axis=1))
