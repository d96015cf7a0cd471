"""How well models predict answers that they have not seen.

Three ways, all by whole units (`tercet.answers.questions`): *leave one out* reweights the draws of
one fit, and fits again where its k̂ says that this fails; *K-fold* fits again throughout; *hold-out*
predicts answers that were kept back.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tercet.answers.questions import Index, deal
from tercet.embedder import Embedder
from tercet.engine.fit import Fit
from tercet.metrics import satisfied
from tercet.parallel import in_order
from tercet.posterior import Posterior
from tercet.progress import progress_bar
from tercet.provenance import seed_for
from tercet.triplets import Triplets
from tercet.uses.compare.misfit import LackOfFit, lack_of_fit
from tercet.uses.predictive import K_HAT, Pointwise, held_out, leave_one_out

MOST_FLAGGED = 0.3  # share of units with a large k̂ from which all are left out in folds instead

# First keys of seeds: the folds, the fits, the folds of units with a large k̂, the replicated votes.
_FOLDS, _FITS, _FLAGGED, _VOTES = range(4)


class Candidate(NamedTuple):
    """A model to compare: a Posterior, or an estimator that is no probability."""

    label: str
    maker: Posterior | Embedder

    @property
    def is_probability(self) -> bool:
        """Whether it says how probable an answer is."""
        return isinstance(self.maker, Posterior)


@dataclass(frozen=True)
class Outcome:
    """What became of one candidate: its predictions, where they come from and what went wrong."""

    predicted: Pointwise
    source: str
    n_flagged: int = 0  # units whose k̂ is above the bound
    problems: tuple[str, ...] = ()
    lack_of_fit: LackOfFit | None = None
    bound: float = K_HAT
    failed_refits: tuple[int, int] = (0, 0)


# --- many fits --------------------------------------------------------------------------------


class Plan(NamedTuple):
    """What is asked of all candidates alike."""

    triplets: Triplets  # m answers to learn from
    weighed: Triplets  # the same, a screen having the weight of one choice
    units: Index  # (m,), or of the hold-out: what is left out together
    method: str  # "loo", "kfold" or "hold-out"
    holdout: Triplets | None  # weighed
    n_folds: int
    entropy: int
    n_jobs: int
    progress: bool | None


class Fold(NamedTuple):
    """One more fit, which leaves rows out and predicts them."""

    candidate: int
    number: int
    left_out: NDArray[np.bool_]  # (m,)


def cross_validate(candidates: Sequence[Candidate], plan: Plan) -> list[Outcome]:
    """Predict left-out answers with every candidate; one outcome each."""
    share = max(1, plan.n_jobs // len(candidates))

    def first(c: int) -> Outcome:
        return _fit_all(candidates[c], c, plan, share)

    def again(fold: Fold) -> Outcome:
        return _fit_part(candidates[fold.candidate], fold, plan, share)

    with progress_bar(len(candidates), "models", plan.progress) as bar:
        whole = []
        for outcome in in_order(first, range(len(candidates)), plan.n_jobs):
            whole.append(outcome)
            bar.update(1)
    folds = [_refits(c, candidate, whole[c], plan) for c, candidate in enumerate(candidates)]
    todo = [fold for own in folds for fold in own]
    parts: list[list[Outcome]] = [[] for _ in candidates]
    with progress_bar(len(todo), "refits", plan.progress) as bar:
        for fold, outcome in zip(todo, in_order(again, todo, plan.n_jobs), strict=True):
            parts[fold.candidate].append(outcome)
            bar.update(1)
    return [_join(*own, plan) for own in zip(whole, folds, parts, strict=True)]


def _fit_all(candidate: Candidate, c: int, plan: Plan, n_jobs: int) -> Outcome:
    """Fit all answers; predict them one by one, or the hold-out, where the method says so."""
    units = plan.units
    nothing = Pointwise(np.empty(0), np.empty(0), np.empty(0))
    if not candidate.is_probability and plan.holdout is None:
        return Outcome(nothing, "")
    made = _fit(candidate, plan, None, (_FITS, c, 0), n_jobs)
    problems = tuple(_problems(made))
    if isinstance(made, Fit):
        assert plan.holdout is not None
        return Outcome(_predictions(made, plan.holdout), "hold-out", problems=problems)
    ensemble = made.ensemble_
    rng = np.random.default_rng(seed_for(plan.entropy, _VOTES, c))
    misfit = lack_of_fit(ensemble, plan.triplets, random_state=rng)
    if plan.holdout is not None:
        found = held_out(ensemble, plan.holdout, units, jointly=False)
        return Outcome(found, "hold-out", problems=problems, lack_of_fit=misfit)
    # The draws of an approximation cannot be reweighted as if they came from the posterior.
    if plan.method == "loo" and ensemble.provenance["source"] == "posterior":
        found = leave_one_out(ensemble, plan.weighed, units)
        # Below 2 200 draws the bound is lower: 1 − 1/log₁₀ S (Vehtari et al. 2024).
        bound = min(K_HAT, 1.0 - 1.0 / math.log10(max(len(ensemble), 11)))
        flagged = int(np.count_nonzero(~(found.k_hat <= bound)))
        return Outcome(found, "leave-one-out", flagged, problems, misfit, bound)
    return Outcome(nothing, "", problems=problems, lack_of_fit=misfit)


def _refits(c: int, candidate: Candidate, whole: Outcome, plan: Plan) -> list[Fold]:
    """The fits that are still needed: none, some for units with a large k̂, or all folds."""
    count = int(plan.units.max()) + 1
    if plan.method == "hold-out":
        return []
    if whole.source and not whole.n_flagged:
        return []
    if whole.source and whole.n_flagged <= MOST_FLAGGED * count:
        rng = np.random.default_rng(seed_for(plan.entropy, _FLAGGED, c))
        chosen = np.flatnonzero(~(whole.predicted.k_hat <= whole.bound))
        among = np.full(count, -1)
        k = min(plan.n_folds, len(chosen))
        among[rng.permutation(chosen)] = np.arange(len(chosen)) % k
        fold = among[plan.units]
    else:
        # The same folds for all candidates.
        k = plan.n_folds
        fold = deal(plan.units, k, np.random.default_rng(seed_for(plan.entropy, _FOLDS)))
    return [Fold(c, number, fold == number) for number in range(k)]


def _fit_part(candidate: Candidate, fold: Fold, plan: Plan, n_jobs: int) -> Outcome:
    """Fit without the rows of a fold, and predict them."""
    key = (_FITS, fold.candidate, 1 + fold.number)
    made = _fit(candidate, plan, ~fold.left_out, key, n_jobs)
    rest = plan.weighed[fold.left_out]
    if isinstance(made, Fit):
        found = _predictions(made, rest)
    else:
        own = np.unique(plan.units[fold.left_out], return_inverse=True)[1]
        found = held_out(made.ensemble_, rest, own)
    return Outcome(found, "", problems=tuple(_problems(made)))


def _join(whole: Outcome, folds: list[Fold], parts: list[Outcome], plan: Plan) -> Outcome:
    """Put what the refits predicted in its place."""
    if not folds:
        return whole
    count, everything = int(plan.units.max()) + 1, len(plan.triplets)
    covered = sum(int(fold.left_out.sum()) for fold in folds)
    probability = np.empty(everything)
    log_density = np.empty(count if parts[0].predicted.log_density.size else 0)
    source = f"{plan.n_folds}-fold"
    if covered < everything:
        probability[:] = whole.predicted.probability
        log_density[:] = whole.predicted.log_density
        source = "leave-one-out"
    for fold, part in zip(folds, parts, strict=True):
        probability[fold.left_out] = part.predicted.probability
        if log_density.size:
            log_density[np.unique(plan.units[fold.left_out])] = part.predicted.log_density
    failed = sum(bool(part.problems) for part in parts)
    found = Pointwise(log_density, probability, whole.predicted.k_hat)
    return replace(whole, predicted=found, source=source, failed_refits=(failed, len(parts)))


def _fit(
    candidate: Candidate,
    plan: Plan,
    rows: NDArray[np.bool_] | None,
    key: tuple[int, ...],
    n_jobs: int,
) -> Posterior | Fit:
    """Fit some of the rows (m,), or all, without a word: what is to be said is in the outcome."""
    maker, rng = clone(candidate.maker), np.random.default_rng(seed_for(plan.entropy, *key))
    if isinstance(maker, Posterior):
        maker.set_params(random_state=rng, n_jobs=n_jobs, progress=False)
        return maker._fit_quietly(plan.triplets if rows is None else plan.triplets[rows])
    weighed = plan.weighed if rows is None else plan.weighed[rows]
    fit: Fit = maker.solve(weighed, rng)
    return fit


def _predictions(fit: Fit, triplets: Triplets) -> Pointwise:
    """Whether the embedding predicts each answer, as probabilities of 0 and 1."""
    right = satisfied(fit.embedding, triplets).astype(np.float64)
    return Pointwise(np.empty(0), right, np.empty(0))


def _problems(made: Posterior | Fit) -> list[str]:
    if isinstance(made, Posterior):
        return [] if made.diagnostics_ is None else made.diagnostics_.problems
    return [] if made.converged else [made.reason]
