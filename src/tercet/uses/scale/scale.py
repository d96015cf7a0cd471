"""Perceptual scales of a physical quantity (paper, sections 4.3 and 5.4)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from tercet.answers.choices import as_answers
from tercet.answers.either import Answers, with_weights
from tercet.answers.triplets import Triplets, as_triplets, restore
from tercet.arrays import Floats, Index
from tercet.bootstrap import Bootstrap
from tercet.bootstrap.resampling import UNITS, find_units
from tercet.embedder import Embedder, is_count, is_number
from tercet.ensemble import Ensemble
from tercet.errors import DataWarning, InputError, recorded
from tercet.posterior import Posterior
from tercet.running.memory import need_memory
from tercet.running.provenance import Seed, as_generator, entropy_of, seed_for
from tercet.running.threads import count_threads
from tercet.uses.scale import intervals
from tercet.uses.scale.difference import LARGEST_LAPSE, LINKS
from tercet.uses.scale.intervals import Jackknifed, Made, weights_without
from tercet.uses.scale.result import PerceptualScale

__all__ = [
    "perceptual_scale",
    "scales_by_observer",
]

UNCERTAINTIES = ("bootstrap", "parametric", "posterior")
ENOUGH = 5  # observers, from which on a bootstrap resamples them
SAMPLES = 2000  # of the signed-difference model, by default: about a second for 5 000 answers


def perceptual_scale(
    answers: Any,
    stimuli: ArrayLike | Mapping[str, float] | None = None,
    *,
    model: Any = "difference",
    link: str = "probit",
    lapse: bool | float = False,
    uncertainty: str = "bootstrap",
    unit: str | None = None,
    n_samples: int | None = None,
    normalise: bool = True,
    n_jobs: int | None = None,
    random_state: Seed = None,
    progress: bool | None = None,
) -> PerceptualScale:
    """Estimate perceived values of stimuli on a line, with their uncertainty.

    Parameters
    ----------
    answers : Triplets, (m, 3) or (m, 4) array, data frame, or Ensemble
        Triplets and triads (anchor, near, far), or quadruplets (a, b, c, d): a–b differ less than
        c–d. A one-dimensional ensemble is only oriented and normalised.
    stimuli : (n,) array, or dict of names to values, optional
        The physical value of every object, in the order of the objects' numbers; by default 0 to
        n − 1. The signed-difference model uses only the order of the values.
    model : "difference", estimator, Bootstrap or Posterior
        The signed-difference model of MLDS; or a distance model of one dimension, such as
        ``STE(1)``, which does not use the order; or such a model with its settings, such as
        ``Posterior(CKL(1), learn=("exponent", "mu"))``.
    link : {"probit", "logit", "cauchit"}
        Of the signed-difference model.
    lapse : bool or float
        Of the signed-difference model: whether to estimate the lapse rate, or its known value.
    uncertainty : {"bootstrap", "parametric", "posterior"}
        Resample units; simulate answers from the fit, as MLDS does; or, for an estimator, draw from
        its posterior. Not used with a `Bootstrap` or `Posterior` as model.
    unit : {"answer", "observer"}, optional
        What a bootstrap resamples: by default observers where there are five or more, so that
        intervals are about people in general; else answers, so that intervals are about these
        observers. The comparisons of one screen are one answer. A `Bootstrap` given as model has
        its own.
    n_samples : int, optional
        By default 2000 for the signed-difference model, else that of `Bootstrap` or `Posterior`.
    normalise : bool
        Whether the first stimulus is 0 and the last 1 in every sample; see
        `PerceptualScale.unnormalised`.
    n_jobs : int, optional
        Threads, all cores by default; the result does not depend on it.
    random_state : None, int or numpy.random.Generator
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal only.

    Returns
    -------
    PerceptualScale

    Examples
    --------
    >>> import numpy as np, tercet as tc
    >>> perceived = np.linspace(0, 1, 8)[:, None] ** 2
    >>> questions = tc.simulate.random_comparisons(8, 600, replace=True, random_state=0)
    >>> answers = tc.simulate.answer(perceived, questions, noise=0.6, random_state=1)
    >>> scale = tc.perceptual_scale(answers, stimuli=np.linspace(0, 1, 8), random_state=0)
    >>> scale.interval().shape
    (8, 2)
    """
    if isinstance(answers, Ensemble):
        _check_untouched(model, link, lapse, uncertainty, unit, n_samples)
        order, values = order_of(stimuli, answers.n_objects, answers.names)
        return scale_of_ensemble(answers, order, values, normalise)
    _check(model, link, lapse, uncertainty, unit, n_samples)
    jobs = count_threads(n_jobs)
    size = None if stimuli is None or isinstance(stimuli, Mapping) else len(np.atleast_1d(stimuli))
    triplets = read_with(answers, size)
    order, values = order_of(stimuli, triplets.n_objects, triplets.names)
    triplets = renumber(triplets, order)
    entropy = entropy_of(random_state)
    if unit is None and uncertainty == "bootstrap" and not isinstance(model, Bootstrap | Posterior):
        unit = _default_unit(triplets)
    if not isinstance(model, str):
        maker = maker_of(
            model, uncertainty, unit, n_samples, n_jobs, progress, random_state, entropy
        )
        return scale_by_distances(maker, triplets, values, normalise, entropy)
    unit = unit or "answer"
    if uncertainty == "parametric" and triplets.shares_screens:
        warnings.warn(
            "comparisons of one screen are one choice, but new ones are drawn independently here, "
            "so the scale will look more certain than it is; use uncertainty='bootstrap'.",
            DataWarning,
            stacklevel=2,
        )
    need_memory(
        2 * jobs * (triplets.n_objects + 1) ** 2,
        f"A scale of {triplets.n_objects} stimuli",
        "use fewer stimuli, or an estimator such as STE(1) as the model",
    )
    task = intervals.fit_all(triplets, link, lapse)
    many = n_samples or SAMPLES
    fits = intervals.replicate(task, uncertainty, unit, many, entropy, jobs, progress)
    made = Made(
        f"signed differences, {link} link",
        uncertainty,
        unit,
        entropy,
        triplets,
        task,
        jackknife=partial(_jackknife, task, unit) if uncertainty == "bootstrap" else None,
    )
    scale = PerceptualScale(
        values,
        triplets.names,
        normalise,
        made,
        fits.scale,
        task.fit.scale[0],
        None if lapse is False else float(task.fit.lapse[0]),
        fits.lapse if lapse is True else None,
        ill_defined(fits.scale),
        float(np.mean(~fits.determined)),
    )
    warn_about_ends(scale)
    return scale


def scales_by_observer(
    answers: Any,
    stimuli: ArrayLike | Mapping[str, float] | None = None,
    *,
    random_state: Seed = None,
    **settings: Any,
) -> dict[str, PerceptualScale]:
    """Estimate one scale per observer; settings are those of `perceptual_scale`.

    Parameters
    ----------
    answers : Triplets or data frame
        With observers.
    """
    triplets = as_triplets(answers)
    if triplets.observers is None:
        raise InputError(
            "the answers do not say which observer they come from; use "
            "Triplets(..., observers=...)."
        )
    entropy = entropy_of(random_state)
    scales = {}
    for k, observer in enumerate(np.unique(triplets.observers)):
        own = triplets[triplets.observers == observer]
        settings["random_state"] = np.random.default_rng(seed_for(entropy, k))
        with recorded() as caught:
            try:
                scales[str(observer)] = perceptual_scale(own, stimuli, **settings)
            except InputError as error:
                raise InputError(f"observer {observer}: {error}") from error
        for one in caught:  # again, with the observer
            warnings.warn(f"observer {observer}: {one.message}", one.category, stacklevel=2)
    return scales


def _jackknife(task: intervals.Task, unit: str) -> Jackknifed:
    fits, stands_for = intervals.jackknife(task, unit)
    return Jackknifed(fits.scale, fits.lapse, stands_for)


def _default_unit(triplets: Triplets) -> str:
    """What a bootstrap resamples by default."""
    observers = triplets.observers
    if observers is not None and len(np.unique(observers)) >= ENOUGH:
        return "observer"
    return "answer"


# --- checks -------------------------------------------------------------------------------------


def _check_untouched(*settings: Any) -> None:
    """Raise where an ensemble is given together with settings of a fit."""
    if settings != ("difference", "probit", False, "bootstrap", None, None):
        raise InputError(
            "model, link, lapse, uncertainty, unit and n_samples do not apply to an ensemble, "
            "which is already fitted; leave them out, or pass the answers."
        )


def _check(
    model: Any, link: str, lapse: Any, uncertainty: str, unit: str | None, n_samples: int | None
) -> None:
    for name, value, known in (
        ("link", link, LINKS),
        ("uncertainty", uncertainty, UNCERTAINTIES),
        ("unit", unit, (*UNITS, None)),
    ):
        if value not in known:
            listed = ", ".join(repr(each) for each in known if each is not None)
            raise InputError(f"{name} must be one of {listed}, got {value!r}.")
    if n_samples is not None and (not is_count(n_samples) or n_samples < 2):
        raise InputError(f"n_samples must be a whole number from 2, got {n_samples!r}.")
    if not isinstance(lapse, bool) and not (is_number(lapse) and 0.0 <= lapse <= LARGEST_LAPSE):
        raise InputError(f"lapse must be True, False or a share from 0 to 0.5, got {lapse!r}.")
    resamples = uncertainty == "bootstrap" and not isinstance(model, Posterior)
    if unit not in (None, "answer") and not resamples:
        raise InputError(
            f"unit={unit!r} is for resampling, and these samples are drawn from a model of single "
            "answers; use uncertainty='bootstrap'."
        )
    if isinstance(model, str):
        if model != "difference":
            raise InputError(
                f"model must be 'difference', an estimator such as STE(1), or an unfitted "
                f"Bootstrap or Posterior, got {model!r}."
            )
        if uncertainty == "posterior":
            raise InputError(
                "the signed-difference model has no posterior; use uncertainty='bootstrap', or "
                "another model (in Python: model=Posterior(CKL(1)))."
            )
        return
    if not isinstance(model, Embedder | Bootstrap | Posterior):
        raise InputError(
            "model must be 'difference', an estimator such as STE(1), or an unfitted Bootstrap or "
            f"Posterior, got {model!r}."
        )
    if link != "probit" or lapse is not False:
        raise InputError(
            "link and lapse belong to model='difference'; a Posterior can learn=('lapse',)."
        )
    estimator = model if isinstance(model, Embedder) else model.embedder
    if estimator.n_components != 1:
        raise InputError(
            f"a scale has one dimension, and the model has {estimator.n_components}; use "
            f"{type(estimator).__name__}(1)."
        )


# --- scales by distance models, which do not use the order --------------------------------------


TOLERATED = 0.01  # share of samples with ends out of order, up to which there is no warning
GROUPS = 100  # refits for the acceleration of BCa, at most
SHORTEST = 0.05  # least distance from first to last, as a share of the scale's length


def maker_of(
    model: Embedder | Bootstrap | Posterior,
    uncertainty: str,
    unit: str | None,
    n_samples: int | None,
    n_jobs: int | None,
    progress: bool | None,
    random_state: Seed,
    entropy: int,
) -> Bootstrap | Posterior:
    """The bootstrap or posterior that fits the embeddings."""
    changes: dict[str, Any] = {"n_jobs": n_jobs, "progress": progress, "n_samples": n_samples}
    if isinstance(model, Embedder):
        if uncertainty == "posterior":
            maker: Any = Posterior(clone(model), random_state=entropy)
        else:
            parametric = uncertainty == "parametric"
            maker = Bootstrap(
                clone(model), unit=unit or "answer", parametric=parametric, random_state=entropy
            )
    else:
        maker = clone(model)
        # Its own by default; a posterior resamples nothing.
        changes["unit"] = unit if isinstance(maker, Bootstrap) else None
        if random_state is not None or maker.random_state is None:
            changes["random_state"] = entropy
    return maker.set_params(**{k: v for k, v in changes.items() if v is not None})  # type: ignore[no-any-return]


def scale_by_distances(
    maker: Bootstrap | Posterior, triplets: Triplets, values: Floats, normalise: bool, entropy: int
) -> PerceptualScale:
    """Embed the answers, whose objects are in order, and orient the embeddings."""
    ensemble = maker.fit(triplets).ensemble_
    samples = _oriented(ensemble.samples[:, :, 0])
    name, unit = type(maker.embedder).__name__, "answer"
    estimate, jackknife, kind = None, None, "posterior"
    if isinstance(maker, Bootstrap):
        unit, answers = maker.unit, as_answers(triplets)
        estimator = maker.settle(answers).embedder
        embedding = _embed(estimator, answers, as_generator(entropy))
        estimate = _oriented(embedding[None, :, 0])[0]
        kind = "parametric" if maker.parametric else "bootstrap"
        if kind == "bootstrap" and maker.fraction < 1.0:
            kind = f"subsamples of {maker.fraction:.0%}"
        elif kind == "bootstrap" and maker.fraction == 1.0:
            jackknife = partial(_jackknife_distances, estimator, answers, unit, embedding, entropy)
    made = Made(
        f"{name} in one dimension",
        kind,
        unit,
        entropy,
        triplets,
        ensemble=ensemble,
        jackknife=jackknife,
    )
    names, ill = triplets.names, ill_defined(samples)
    scale = PerceptualScale(values, names, normalise, made, samples, estimate, ill_defined=ill)
    warn_about_ends(scale)
    return scale


def scale_of_ensemble(
    ensemble: Ensemble, order: Index, values: Floats, normalise: bool
) -> PerceptualScale:
    """Orient the draws of a one-dimensional ensemble."""
    d = ensemble.n_components  # raises where there are distances and no points
    if d != 1:
        raise InputError(
            f"a scale has one dimension, and this ensemble has {d}; fit it with n_components=1, "
            "such as Posterior(CKL(1)), or see estimate_dimension."
        )
    samples = _oriented(ensemble.samples[:, order, 0])
    source = str(ensemble.provenance.get("source", "draws"))
    made = Made("an ensemble in one dimension", f"from {source}", ensemble=ensemble)
    names = None if ensemble.names is None else tuple(ensemble.names[k] for k in order)
    ill = ill_defined(samples)
    scale = PerceptualScale(values, names, normalise, made, samples, ill_defined=ill)
    warn_about_ends(scale)
    return scale


def _oriented(samples: Floats) -> Floats:
    """Samples (S, n) that increase with the stimuli, the first stimulus at 0."""
    rank = np.arange(samples.shape[1]) - 0.5 * (samples.shape[1] - 1)
    sign = np.where(samples @ rank < 0.0, -1.0, 1.0)
    turned = sign[:, None] * samples
    return np.asarray(turned - turned[:, :1])


def ill_defined(samples: Floats) -> float:
    """Share of samples whose ends are out of order, or too close to divide by."""
    return float(np.mean(samples[:, -1] < SHORTEST * np.ptp(samples, axis=1)))


def _embed(
    estimator: Embedder,
    answers: Answers,
    rng: np.random.Generator,
    init: Floats | None = None,
) -> Floats:
    """The embedding (n, 1) of all answers, without the warnings that the replicates gave."""
    found = estimator.solve(answers, rng, init).embedding
    return np.asarray(found - found.mean(axis=0))


def _jackknife_distances(
    estimator: Embedder, answers: Answers, unit: str, embedding: Floats, entropy: int
) -> Jackknifed:
    """Maps without one unit each, or without one group of units where there are many.

    The skewness of sums over groups has the same expectation as over units, so that groups make
    the acceleration noisier but not biased.
    """
    units = find_units(answers, unit)
    shuffled = np.random.default_rng(seed_for(entropy, 2**32 - 1)).permutation(units.number)
    groups = np.array_split(shuffled, min(units.number, GROUPS))

    def fit(group: Index) -> Floats:
        left = weights_without(answers, units, group)
        kept = left > 0.0
        fewer = with_weights(answers[kept], left[kept])
        found = _embed(estimator, fewer, np.random.default_rng(0), embedding)
        return np.asarray(_oriented(found[None, :, 0])[0])

    scales = np.array([fit(group) for group in groups])
    return Jackknifed(scales, np.zeros(len(groups)), np.ones(len(groups)))


def warn_about_ends(scale: PerceptualScale) -> None:
    """Warn where normalising by the ends of a scale is unstable."""
    if scale.ill_defined > TOLERATED:
        instead = ", or use model='difference', which uses the order"
        warnings.warn(
            f"in {scale.ill_defined:.1%} of the samples the first and the last stimulus are out of "
            "order, or close together, so that normalising by them is unstable; use the "
            "unnormalised scale, or collect more answers"
            f"{instead if scale.made.task is None else ''}.",
            DataWarning,
            stacklevel=3,
        )


# --- stimuli in the order of their values -------------------------------------------------------


def read_with(answers: Any, n_stimuli: int | None) -> Triplets:
    """Answers with as many objects as stimuli, including objects in no answer."""
    triplets = as_triplets(answers)
    if n_stimuli is not None and triplets.names is None and n_stimuli > triplets.n_objects:
        return as_triplets(triplets, n_stimuli)
    return triplets


def order_of(
    stimuli: ArrayLike | Mapping[str, float] | None, n: int, names: tuple[str, ...] | None
) -> tuple[Index, Floats]:
    """The objects (n,) from the smallest stimulus to the largest, and their values."""
    if stimuli is None:
        return np.arange(n), np.arange(n, dtype=np.float64)
    if isinstance(stimuli, Mapping):
        if names is None:
            raise InputError(
                "stimuli are given by name, but the objects have no names; pass an array in the "
                "order of the objects."
            )
        if unknown := [name for name in names if name not in stimuli]:
            raise InputError(f"there is no stimulus value for the object {unknown[0]!r}.")
        stimuli = [stimuli[name] for name in names]
    try:
        values = np.asarray(stimuli, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError("stimuli must be numbers, one for each object.") from error
    if values.shape != (n,):
        raise InputError(
            f"stimuli must have one value for each of the {n} objects, got shape {values.shape}."
        )
    if not np.isfinite(values).all():
        bad = int(np.argmin(np.isfinite(values)))
        label = label_of(bad, names)
        raise InputError(f"the stimulus of object {label} is {values[bad]}, which is not a number.")
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    if (same := np.flatnonzero(np.diff(ordered) == 0.0)).size:
        one, other = (label_of(int(order[k]), names) for k in (same[0], same[0] + 1))
        raise InputError(
            f"objects {one} and {other} have the same stimulus value {ordered[same[0]]:g}, so "
            "their order is unknown; every object needs its own value."
        )
    return order.astype(np.int64), ordered


def label_of(number: int, names: tuple[str, ...] | None) -> str:
    """Name or number of an object, for error messages."""
    return str(number) if names is None else repr(names[number])


def renumber(triplets: Triplets, order: Index) -> Triplets:
    """The same answers with objects numbered in the order of the stimuli; all must occur."""
    missing = np.setdiff1d(np.arange(len(order)), triplets.array)
    if missing.size:
        raise InputError(
            f"object {label_of(int(missing[0]), triplets.names)} is in no comparison, so its value "
            "cannot be estimated; leave it out, or ask about it."
        )
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    names = None if triplets.names is None else tuple(triplets.names[k] for k in order)
    return restore(triplets._fields._replace(array=rank[triplets.array], names=names))
