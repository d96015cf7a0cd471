"""compare_models: which model predicts held-out answers best."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tercet.answers.choices import Choices, as_answers
from tercet.answers.diagnosis import diagnose
from tercet.answers.either import Answers, chance_of, match_objects, split_of, weights_of
from tercet.answers.questions import deal, default_unit, number_comparisons, number_units
from tercet.answers.repeats import are_votes, ceiling_of_answers, repeated_rows
from tercet.answers.triplets import Triplets
from tercet.arrays import Index
from tercet.embedder import Embedder, is_count
from tercet.engine.search import Fit
from tercet.errors import InputError
from tercet.estimators import CKL, STE, TSTE, Shepard
from tercet.held_out import (
    K_HAT,
    Pointwise,
    held_out,
    leave_one_out,
    mean_per_answer,
    stacking_weights,
    sum_by_unit,
)
from tercet.metrics import share_in_order
from tercet.models import ANY_PROBABILITY, FILES
from tercet.posterior import Posterior
from tercet.running.provenance import Seed, entropy_of, seed_for
from tercet.running.threads import count_threads, in_order, progress_bar
from tercet.uses.compare.comparison import Comparison, LackOfFit, ModelScore, lack_of_fit

__all__ = [
    "compare_models",
]

Model = Embedder | Posterior

METHODS = ("loo", "kfold")


def compare_models(
    answers: Any,
    models: Iterable[Model] | Mapping[str, Model] | None = None,
    *,
    n_components: int = 2,
    method: str = "loo",
    holdout: Any = None,
    unit: str | None = None,
    folds: int = 5,
    n_jobs: int | None = None,
    random_state: Seed = None,
    progress: bool | None = None,
) -> Comparison:
    """Compare models by how well they predict held-out answers.

    Parameters
    ----------
    answers : Choices, Triplets, (m, 3) or (m, 4) array, or data frame
        Whole-number weights are counts; triplets that share a screen are one choice.
    models : sequence of estimators and Posteriors, or dict of them by label, optional
        STE, TSTE, CKL and Shepard stand for ``Posterior(estimator)``; GNMDS and SOE have no
        likelihood and only get a cross-validated accuracy. Unfitted Posteriors keep their settings.
        Default: STE, t-STE, CKL and Shepard; STE with a lapse rate; CKL with exponent and mu
        learned, and the same with a lapse rate; Shepard with gamma, tail and a lapse rate
        learned, the recommended one.
    n_components : int
        Dimension of the default models.
    method : {"loo", "kfold"}
        "loo" is PSIS leave-one-out, with ``folds`` refits without the influential units (Pareto
        k̂ > 0.7); for models with more than 30 % of these, and for the Laplace approximation, it
        is replaced by "kfold". "kfold" leaves out whole folds of units. Models whose chains
        disagree are refitted once, with four times as many draws and as long a warm-up; those that
        still disagree come after the others, and are not called best.
    holdout : Triplets or array, optional
        Answers to predict one by one, instead of leaving some out.
    unit : {"answer", "comparison", "screen", "observer"}, optional
        What is left out together; by default all answers to one question.
    folds : int
    n_jobs : int, optional
        Threads, all cores by default; the result does not depend on them.
    random_state : None, int or numpy.random.Generator
        Overrides those of the models.
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal only.

    Examples
    --------
    >>> import tercet as tc
    >>> points, _ = tc.simulate.gaussian_mixture(15, random_state=0)
    >>> answers = tc.simulate.noisy_triplets(points, 600, noise=0.5, random_state=0)
    >>> found = tc.compare_models(answers, [tc.STE(2), tc.TSTE(2)], random_state=0)
    >>> found.best
    't-STE'
    """
    given = as_answers(answers)
    if method not in METHODS:
        raise InputError(f"method must be 'loo' or 'kfold', got {method!r}.")
    if not is_count(folds) or folds < 2:
        raise InputError(f"folds must be a whole number of at least 2, got {folds!r}.")
    candidates = name_models(_default_models(n_components) if models is None else models)
    held = None if holdout is None else _same_objects(holdout, given)
    predicted = given if held is None else held
    unit = default_unit(predicted) if unit is None else unit
    units = number_units(predicted, unit)
    count = int(units.max()) + 1
    if held is not None and count < 2:
        raise InputError(f"holdout has one {unit}, but a standard error needs at least two.")
    if held is None and count < folds:
        raise InputError(
            f"{count} {unit}s are too few for {folds} folds; use fewer folds, or another unit."
        )
    entropy = entropy_of(random_state)
    how = method if held is None else "hold-out"
    plan = FitPlan(
        given,
        units,
        how,
        held,
        int(folds),
        entropy,
        count_threads(n_jobs),
        progress,
    )
    outcomes = predict_left_out(candidates, plan)
    return _compare(candidates, outcomes, predicted, units, unit, _notes(plan), entropy)


# --- the models -------------------------------------------------------------------------------


def _default_models(d: int) -> list[Model]:
    if not is_count(d):
        raise InputError(f"n_components must be a positive whole number, got {d!r}.")
    return [
        STE(d),
        TSTE(d),
        CKL(d),
        Shepard(d),
        Posterior(STE(d), learn=("lapse",)),
        Posterior(CKL(d), learn=("exponent", "mu")),
        Posterior(CKL(d), learn=("exponent", "mu", "lapse")),
        Posterior(d),
    ]


def name_models(models: Iterable[Model] | Mapping[str, Model]) -> list[Candidate]:
    """Check the models and give each a distinct label."""
    given = list(models.values()) if isinstance(models, Mapping) else models
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise InputError(f"models must be a list such as [STE(2), CKL(2)], got {models!r}.")
    makers = [_maker(model) for model in given]
    if not makers:
        raise InputError("models is empty; give at least one, such as [STE(2), CKL(2)].")
    if isinstance(models, Mapping):
        return [Candidate(str(label), maker) for label, maker in zip(models, makers, strict=True)]
    dimensions = {_estimator(maker).n_components for maker in makers}
    labels: list[str] = []
    for maker in makers:
        label = base = _label(maker, len(dimensions) > 1)
        number = 1
        while label in labels:
            number += 1
            label = f"{base} ({number})"
        labels.append(label)
    return [Candidate(*pair) for pair in zip(labels, makers, strict=True)]


def _maker(model: object) -> Model:
    if isinstance(model, Embedder):
        model._check_parameters()
        model = Posterior(model) if model.model().is_probability else model
    elif not isinstance(model, Posterior):
        raise InputError(
            f"models may be {', '.join(FILES)}, or an unfitted Posterior of {ANY_PROBABILITY}, got "
            f"{model!r}."
        )
    if isinstance(model, Posterior):
        model._plan()  # raises now rather than after hours
    return model


def _estimator(maker: Model) -> Embedder:
    return maker.embedder if isinstance(maker, Posterior) else maker


def _label(maker: Model, with_dimension: bool) -> str:
    estimator = _estimator(maker)
    model = estimator.model()
    parts = [model.title or type(estimator).__name__]
    if with_dimension:
        parts[0] += f" in {estimator.n_components}-d"
    defaults = type(estimator)().get_params()
    learned = list(maker.settle().learn or ()) if isinstance(maker, Posterior) else []
    for name, value in estimator.get_params().items():
        own = name in model.parameters or name == "penalty"
        if own and name not in learned and value != defaults[name]:
            parts.append(f"{name} = {value:g}")
    if learned:
        *others, last = learned
        parts.append(f"{', '.join(others)} and {last} learned" if others else f"{last} learned")
    if isinstance(maker, Posterior) and maker.sampler == "laplace":
        parts.append("Laplace")
    return ", ".join(parts)


# --- the answers ------------------------------------------------------------------------------


def _same_objects(holdout: Any, answers: Answers) -> Answers:
    """The hold-out with objects numbered as in the answers."""
    if isinstance(holdout, Choices):
        return match_objects(holdout, answers.n_objects, answers.names)
    objects = Triplets([[0, 1, 2]], n_objects=answers.n_objects, names=answers.names)
    rows = objects.encode(holdout)
    if not len(rows):
        raise InputError("holdout has no answers.")
    more = {}
    if isinstance(holdout, Triplets):
        more = {key: getattr(holdout, key) for key in ("observers", "screens", "weights")}
    return as_answers(Triplets(rows, n_objects=answers.n_objects, names=answers.names, **more))


def _notes(plan: FitPlan) -> tuple[str, ...]:
    notes = [message.rstrip(".") for message in diagnose(plan.answers)]
    if plan.holdout is not None:
        fitted, held = split_of(plan.answers), split_of(plan.holdout)
        both = np.concatenate([fitted.pairs(), held.pairs()])
        question = number_comparisons(Triplets(both, n_objects=fitted.n_objects))
        seen = np.isin(question[len(fitted) :], question[: len(fitted)])
        if seen.any():
            notes.append(
                f"{seen.sum()} of the {len(seen)} rows of the hold-out are comparisons that the "
                "models were also fitted to"
            )
    return tuple(notes)


# --- scores -----------------------------------------------------------------------------------


def _compare(
    candidates: list[Candidate],
    outcomes: list[Outcome],
    predicted: Answers,
    units: Index,
    unit: str,
    notes: tuple[str, ...],
    entropy: int,
) -> Comparison:
    """Turn predictions of answers into scores, best first."""
    weights = weights_of(predicted)
    sizes = sum_by_unit(weights, units)
    right = [outcome.predicted.right for outcome in outcomes]
    accuracy = [mean_per_answer(sum_by_unit(weights * each, units), sizes) for each in right]
    order = sorted(
        range(len(candidates)),
        key=lambda c: (
            not candidates[c].is_probability,
            not outcomes[c].converged,
            -float(outcomes[c].predicted.log_density.sum()),
            -accuracy[c][0],
        ),
    )
    table = np.array(
        [outcomes[c].predicted.log_density for c in order if candidates[c].is_probability]
    ).T
    agreed = sum(candidates[c].is_probability and outcomes[c].converged for c in order)
    stacked = stacking_weights(table[:, :agreed]) if agreed else np.empty(0)
    scores = []
    for place, c in enumerate(order):
        outcome = outcomes[c]
        loss: tuple[float | None, float | None] = (None, None)
        difference = loss
        if candidates[c].is_probability:
            loss = mean_per_answer(-table[:, place], sizes)
            difference = mean_per_answer(table[:, 0] - table[:, place], sizes)
        k_hat = outcome.predicted.k_hat
        scores.append(
            ModelScore(
                model=candidates[c].label,
                log_loss=loss[0],
                log_loss_se=loss[1],
                difference=difference[0],
                difference_se=difference[1],
                weight=float(stacked[place]) if place < agreed else None,
                accuracy=accuracy[c][0],
                accuracy_se=accuracy[c][1],
                in_order=float(np.average(outcome.predicted.in_order, weights=weights)),
                source=outcome.source,
                n_flagged=outcome.n_flagged,
                k_hat=float(k_hat.max()) if k_hat.size else None,
                problems=outcome.problems,
                lack_of_fit=outcome.lack_of_fit,
                failed_refits=outcome.failed_refits,
                converged=outcome.converged,
                ran_longer=outcome.ran_longer,
            )
        )
    ceiling, repeated, guessed = ceiling_of_answers(predicted), None, chance_of(predicted)
    if are_votes(predicted) and (again := repeated_rows(predicted)).any():
        repeated = float(np.average(right[order[0]][again], weights=weights[again]))
    return Comparison(
        tuple(scores),
        unit,
        len(sizes),
        predicted.n_answers,
        float(np.average(guessed, weights=weights)),
        float(-np.average(np.log(guessed), weights=weights)),
        None if isinstance(ceiling, str) else ceiling,
        repeated,
        notes,
        entropy,
        table,
    )


# --- prediction of held-out answers --------------------------------------------------------------


MOST_FLAGGED = 0.3  # share of influential units above which K-fold is used instead
LONGER = 4  # times as many draws, and as long a warm-up, of chains that disagree

# First keys of seeds: folds, fits, folds of influential units, replicated votes.
_FOLDS, _FITS, _FLAGGED, _VOTES = range(4)


class Candidate(NamedTuple):
    """A model to compare: a Posterior, or an estimator without likelihood."""

    label: str
    maker: Posterior | Embedder

    @property
    def is_probability(self) -> bool:
        """Whether it has a likelihood."""
        return isinstance(self.maker, Posterior)


@dataclass(frozen=True)
class Outcome:
    """The predictions of one candidate, their source, and problems of the fit."""

    predicted: Pointwise
    source: str
    n_flagged: int = 0  # influential units, with k̂ above the bound
    problems: tuple[str, ...] = ()
    lack_of_fit: LackOfFit | None = None
    bound: float = K_HAT
    failed_refits: tuple[int, int] = (0, 0)
    converged: bool = True  # whether its chains agree
    ran_longer: bool = False  # because they disagreed at first


class FitPlan(NamedTuple):
    """Answers and settings, the same for all candidates."""

    answers: Answers  # m, to fit
    units: Index  # (m,), or of the hold-out: what is left out together
    method: str  # "loo", "kfold" or "hold-out"
    holdout: Answers | None
    n_folds: int
    entropy: int
    n_jobs: int
    progress: bool | None


class Fold(NamedTuple):
    """A refit that leaves rows out and predicts them."""

    candidate: int
    number: int
    left_out: NDArray[np.bool_]  # (m,)
    longer: bool = False  # whether the fit to all answers needed longer chains, which then agreed


def predict_left_out(candidates: Sequence[Candidate], plan: FitPlan) -> list[Outcome]:
    """Predict held-out answers with every candidate; one outcome each."""
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


def _fit_all(candidate: Candidate, c: int, plan: FitPlan, n_jobs: int) -> Outcome:
    """Fit all answers; predict them by leave-one-out, or the hold-out, depending on the method."""
    units = plan.units
    nothing = Pointwise(np.empty(0), np.empty((4, 0)), np.empty(0))
    if not candidate.is_probability and plan.holdout is None:
        return Outcome(nothing, "")
    made = _fit(candidate, plan, None, (_FITS, c, 0), n_jobs)
    if longer := not _converged(made):
        made = _fit(candidate, plan, None, (_FITS, c, 0), n_jobs, longer=True)
    problems = tuple(_problems(made))
    how: dict[str, Any] = {"problems": problems, "converged": _converged(made)}
    how |= {"ran_longer": longer}
    if isinstance(made, Fit):
        assert plan.holdout is not None
        return Outcome(_predictions(made, plan.holdout), "hold-out", problems=problems)
    ensemble = made.ensemble_
    rng = np.random.default_rng(seed_for(plan.entropy, _VOTES, c))
    misfit = lack_of_fit(ensemble, plan.answers, random_state=rng)
    if plan.holdout is not None:
        found = held_out(ensemble, plan.holdout, units, jointly=False)
        return Outcome(found, "hold-out", lack_of_fit=misfit, **how)
    # Draws of the Laplace approximation cannot be reweighted as posterior draws.
    if plan.method == "loo" and ensemble.provenance["source"] == "posterior":
        found = leave_one_out(ensemble, plan.answers, units)
        # Below 2 200 draws the bound is lower: 1 − 1/log₁₀ S (Vehtari et al. 2024).
        bound = min(K_HAT, 1.0 - 1.0 / math.log10(max(len(ensemble), 11)))
        flagged = int(np.count_nonzero(~(found.k_hat <= bound)))
        return Outcome(found, "leave-one-out", flagged, lack_of_fit=misfit, bound=bound, **how)
    return Outcome(nothing, "", lack_of_fit=misfit, **how)


def _refits(c: int, candidate: Candidate, whole: Outcome, plan: FitPlan) -> list[Fold]:
    """The refits still needed: none, some for influential units, or all folds."""
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
        k = plan.n_folds  # the same folds for all candidates
        fold = deal(plan.units, k, np.random.default_rng(seed_for(plan.entropy, _FOLDS)))
    longer = whole.ran_longer and whole.converged
    return [Fold(c, number, fold == number, longer) for number in range(k)]


def _fit_part(candidate: Candidate, fold: Fold, plan: FitPlan, n_jobs: int) -> Outcome:
    """Fit without the rows of a fold, and predict them."""
    key = (_FITS, fold.candidate, 1 + fold.number)
    made = _fit(candidate, plan, ~fold.left_out, key, n_jobs, fold.longer)
    rest = plan.answers[fold.left_out]
    if isinstance(made, Fit):
        found = _predictions(made, rest)
    else:
        own = np.unique(plan.units[fold.left_out], return_inverse=True)[1]
        found = held_out(made.ensemble_, rest, own)
    return Outcome(found, "", problems=tuple(_problems(made)))


def _join(whole: Outcome, folds: list[Fold], parts: list[Outcome], plan: FitPlan) -> Outcome:
    """Insert the predictions of the refits."""
    if not folds:
        return whole
    count, everything = int(plan.units.max()) + 1, len(plan.answers)
    covered = sum(int(fold.left_out.sum()) for fold in folds)
    columns = np.empty((4, everything))
    log_density = np.empty(count if parts[0].predicted.log_density.size else 0)
    source = f"{plan.n_folds}-fold"
    if covered < everything:
        columns[:] = whole.predicted.columns
        log_density[:] = whole.predicted.log_density
        source = "leave-one-out"
    for fold, part in zip(folds, parts, strict=True):
        columns[:, fold.left_out] = part.predicted.columns
        if log_density.size:
            log_density[np.unique(plan.units[fold.left_out])] = part.predicted.log_density
    failed = sum(bool(part.problems) for part in parts)
    found = Pointwise(log_density, columns, whole.predicted.k_hat)
    return replace(whole, predicted=found, source=source, failed_refits=(failed, len(parts)))


def _fit(
    candidate: Candidate,
    plan: FitPlan,
    rows: NDArray[np.bool_] | None,
    key: tuple[int, ...],
    n_jobs: int,
    longer: bool = False,
) -> Posterior | Fit:
    """Fit some of the rows (m,), or all, without warnings: the outcome has the problems."""
    answers = plan.answers if rows is None else plan.answers[rows]
    maker, rng = clone(candidate.maker), np.random.default_rng(seed_for(plan.entropy, *key))
    if isinstance(maker, Posterior):
        maker.set_params(random_state=rng, n_jobs=n_jobs, progress=False)
        if longer:
            usual = maker.settle(answers)._plan()
            maker.set_params(n_samples=LONGER * usual.n_samples, warmup=LONGER * usual.warmup)
        return maker._fit_quietly(answers)
    fit: Fit = maker.solve(answers, rng)
    return fit


def _predictions(fit: Fit, answers: Answers) -> Pointwise:
    """Whether the embedding predicts each answer correctly, as probabilities of 0 and 1."""
    in_order = share_in_order(fit.embedding, answers)
    right = (in_order == 1.0).astype(np.float64)
    columns = np.stack([right, np.ones_like(right), right, in_order])
    return Pointwise(np.empty(0), columns, np.empty(0))


def _converged(made: Posterior | Fit) -> bool:
    """Whether the chains agree by R-hat; True if there are none."""
    return isinstance(made, Fit) or made.diagnostics_ is None or made.diagnostics_.agree


def _problems(made: Posterior | Fit) -> list[str]:
    if isinstance(made, Posterior):
        return [] if made.diagnostics_ is None else made.diagnostics_.problems
    return [] if made.converged else [made.reason]
