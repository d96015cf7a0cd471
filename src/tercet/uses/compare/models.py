"""Which model? Compare models by how well they predict answers that they have not seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from tercet.answers.questions import Index, default_unit, number_comparisons, number_units
from tercet.answers.repeats import noise_ceiling, repeated_votes
from tercet.answers.screens import weigh_screens
from tercet.diagnosis import diagnose
from tercet.embedder import Embedder, is_count
from tercet.errors import InputError
from tercet.estimators import CKL, STE, TSTE
from tercet.metrics import predicted_correctly
from tercet.parallel import count_threads
from tercet.posterior import Posterior
from tercet.provenance import Seed, entropy_of
from tercet.recommended import LEARNED
from tercet.triplets import Triplets, as_triplets
from tercet.uses.compare.comparison import Comparison, ModelScore
from tercet.uses.compare.crossval import Candidate, Outcome, Plan, cross_validate
from tercet.uses.predictive import (
    Floats,
    mean_per_answer,
    stacking_weights,
    sum_by_unit,
    weights_of,
)

__all__ = ["compare_models"]

Model = Embedder | Posterior

METHODS = ("loo", "kfold")


def compare_models(
    triplets: Any,
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
    """Compare models by how well they predict answers that they have not seen.

    Parameters
    ----------
    triplets : Triplets, (m, 3) or (m, 4) array, or data frame
        The answers; weights count them, and answers of a screen count as one choice.
    models : sequence of estimators and Posteriors, or dict of them by label, optional
        STE, TSTE and CKL stand for ``Posterior(estimator)``; GNMDS and SOE have no likelihood and
        get a cross-validated accuracy only. Unfitted Posteriors bring their own settings. Default:
        STE, t-STE, CKL, STE with a lapse rate, CKL with exponent and mu learned, and the same with
        a lapse rate.
    n_components : int
        Dimension of the default models.
    method : {"loo", "kfold"}
        "loo" leaves out one unit after the other by reweighting draws (PSIS), and where its k̂ is
        above .7 fits again without them, ``folds`` times; where that concerns more than 30 % of
        the units, and for the Laplace approximation, it is "kfold" for that model. "kfold" leaves
        out whole folds of units.
    holdout : Triplets or array, optional
        Answers to predict, each on its own, instead of leaving some out.
    unit : {"answer", "comparison", "screen", "observer"}, optional
        What is left out together. Default: screens where some have several answers, else
        comparisons: all answers to one question.
    folds : int
    n_jobs : int, optional
        Threads, all cores by default; the result does not depend on them.
    random_state : None, int or numpy.random.Generator
        Goes before those of the models.
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
    answers = as_triplets(triplets)
    if method not in METHODS:
        raise InputError(f"method must be 'loo' or 'kfold', got {method!r}.")
    if not is_count(folds) or folds < 2:
        raise InputError(f"folds must be a whole number of at least 2, got {folds!r}.")
    candidates = name_models(_default_models(n_components) if models is None else models)
    held = None if holdout is None else _same_objects(holdout, answers)
    predicted = answers if held is None else held
    unit = default_unit(predicted) if unit is None else unit
    units = number_units(predicted, unit)
    count = int(units.max()) + 1
    if held is not None and count < 2:
        raise InputError(f"holdout has one {unit}, and an error needs two or more.")
    if held is None and count < folds:
        raise InputError(
            f"there are {count} {unit}s to leave out, too few for {folds} folds; use fewer folds, "
            "or another unit."
        )
    weigh = _weigher(candidates, answers)
    entropy = entropy_of(random_state)
    how = method if held is None else "hold-out"
    plan = Plan(
        answers,
        weigh(answers),
        units,
        how,
        None if held is None else weigh(held),
        int(folds),
        entropy,
        count_threads(n_jobs),
        progress,
    )
    outcomes = cross_validate(candidates, plan)
    weights = weights_of(weigh(predicted))
    return _compare(candidates, outcomes, predicted, weights, units, unit, _notes(plan), entropy)


# --- what is compared -------------------------------------------------------------------------


def _default_models(d: int) -> list[Model]:
    if not is_count(d):
        raise InputError(f"n_components must be a positive whole number, got {d!r}.")
    return [
        STE(d),
        TSTE(d),
        CKL(d),
        Posterior(STE(d), learn=("lapse",)),
        Posterior(CKL(d), learn=[name for name in LEARNED if name != "lapse"]),
        Posterior(d),
    ]


def name_models(models: Iterable[Model] | Mapping[str, Model]) -> list[Candidate]:
    """Check the models and give each a label of its own."""
    given = list(models.values()) if isinstance(models, Mapping) else models
    if not isinstance(given, Iterable) or isinstance(given, str):
        raise InputError(f"models must be a list such as [STE(2), CKL(2)], got {models!r}.")
    makers = [_maker(model) for model in given]
    if not makers:
        raise InputError("models is empty; name at least one, such as [STE(2), CKL(2)].")
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
            "models may be STE, TSTE, CKL, GNMDS, SOE or an unfitted Posterior of one of the first "
            f"three, got {model!r}."
        )
    if isinstance(model, Posterior):
        model._plan()  # says now what it would say after hours
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


def _weigher(candidates: list[Candidate], answers: Triplets) -> Callable[[Triplets], Triplets]:
    """How all models weigh answers of a screen: alike, or their scores would not compare."""
    makers = [each.maker for each in candidates if isinstance(each.maker, Posterior)]
    if len({maker.unit_of(answers) for maker in makers}) > 1:
        raise InputError(
            "some of the models take answers of one screen as one choice, and some as independent "
            "(unit='answer'), so their scores would not compare; use the same unit for all."
        )
    return makers[0].weigh if makers else weigh_screens


# --- on which answers -------------------------------------------------------------------------


def _same_objects(holdout: Any, answers: Triplets) -> Triplets:
    """The hold-out with the numbers that its objects have among the answers."""
    rows = answers.encode(holdout)
    if not len(rows):
        raise InputError("holdout has no answers.")
    more = {}
    if isinstance(holdout, Triplets):
        more = {key: getattr(holdout, key) for key in ("observers", "screens", "weights")}
    return Triplets(rows, n_objects=answers.n_objects, names=answers.names, **more)


def _notes(plan: Plan) -> tuple[str, ...]:
    notes = [message.rstrip(".") for message in diagnose(plan.triplets)]
    if plan.triplets.shares_screens and plan.weighed is plan.triplets:
        notes.append(
            "answers of one screen are one choice, but every model takes them as independent, as "
            "asked for, and looks surer than it is"
        )
    if plan.holdout is not None:
        both = np.concatenate([plan.triplets.pairs(), plan.holdout.pairs()])
        question = number_comparisons(Triplets(both, n_objects=plan.triplets.n_objects))
        seen = np.isin(question[len(plan.triplets) :], question[: len(plan.triplets)])
        if seen.any():
            notes.append(
                f"{seen.sum()} of the {len(seen)} rows of the hold-out ask what was also asked "
                "among the answers to learn from"
            )
    return tuple(notes)


# --- scores -----------------------------------------------------------------------------------


def _compare(
    candidates: list[Candidate],
    outcomes: list[Outcome],
    predicted: Triplets,
    weights: Floats,
    units: Index,
    unit: str,
    notes: tuple[str, ...],
    entropy: int,
) -> Comparison:
    """Turn predictions of answers with these weights (m,) into scores, best first."""
    sizes = sum_by_unit(weights, units)
    right = [_right(outcome) for outcome in outcomes]
    accuracy = [mean_per_answer(sum_by_unit(weights * each, units), sizes) for each in right]
    order = sorted(
        range(len(candidates)),
        key=lambda c: (
            not candidates[c].is_probability,
            -float(outcomes[c].predicted.log_density.sum()),
            -accuracy[c][0],
        ),
    )
    table = np.array(
        [outcomes[c].predicted.log_density for c in order if candidates[c].is_probability]
    ).T
    stacked = stacking_weights(table) if table.size else np.empty(0)
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
                weight=float(stacked[place]) if candidates[c].is_probability else None,
                accuracy=accuracy[c][0],
                accuracy_se=accuracy[c][1],
                source=outcome.source,
                n_flagged=outcome.n_flagged,
                k_hat=float(k_hat.max()) if k_hat.size else None,
                problems=outcome.problems,
                lack_of_fit=outcome.lack_of_fit,
                failed_refits=outcome.failed_refits,
            )
        )
    repeats = repeated_votes(predicted)
    ceiling = repeated = None
    if repeats is not None:
        ceiling = noise_ceiling(repeats.near, repeats.total)
        question = number_comparisons(predicted)
        again = np.isin(question, question[repeats.rows])
        repeated = float(np.average(right[order[0]][again], weights=weights[again]))
    return Comparison(
        tuple(scores),
        unit,
        len(sizes),
        predicted.n_answers,
        ceiling,
        repeated,
        notes,
        entropy,
        table,
    )


def _right(outcome: Outcome) -> Floats:
    """1 where the answer was predicted, 0 where not, ½ where the model did not lean either way."""
    return predicted_correctly(outcome.predicted.probability)
