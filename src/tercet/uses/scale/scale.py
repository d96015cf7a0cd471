"""Perceptual scales: how a physical quantity looks to people (paper, sections 4.3 and 5.4)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tercet.bootstrap import Bootstrap
from tercet.embedder import Embedder, is_count, is_number
from tercet.ensemble import Ensemble
from tercet.ensemble.maker import warn_about_screens
from tercet.errors import InputError
from tercet.memory import need_memory
from tercet.parallel import count_threads
from tercet.posterior import Posterior
from tercet.provenance import Seed, entropy_of, seed_for
from tercet.triplets import Triplets, as_triplets
from tercet.uses.scale import resampling
from tercet.uses.scale.difference import LINKS
from tercet.uses.scale.distances import (
    ill_defined,
    maker_of,
    scale_by_distances,
    scale_of_ensemble,
    warn_about_ends,
)
from tercet.uses.scale.kernels import LARGEST_LAPSE
from tercet.uses.scale.made import Jackknifed, Made
from tercet.uses.scale.result import PerceptualScale
from tercet.uses.scale.stimuli import order_of, read_with, renumber

__all__ = ["perceptual_scale", "scales_by_observer"]

Floats = NDArray[np.float64]
Index = NDArray[np.int64]

UNCERTAINTIES = ("bootstrap", "parametric", "posterior")
UNITS = ("answer", "observer", "screen")
ENOUGH = 5  # observers, from which a bootstrap resamples them
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
    """Perceived values of stimuli on a line, with samples that say how sure they are.

    Parameters
    ----------
    answers : Triplets, (m, 3) or (m, 4) array, data frame, or Ensemble
        Triplets and triads (anchor, near, far), or quadruplets (a, b, c, d): a–b differ less than
        c–d. A one-dimensional ensemble is only put in order and normalised.
    stimuli : (n,) array, or dict of names to values, optional
        The physical value of every object, in the objects' numbering, which need not be theirs; by
        default 0 to n − 1. The signed-difference model uses their order alone.
    model : "difference", estimator, Bootstrap or Posterior
        The signed-difference model of MLDS; or a distance model of one dimension, such as
        ``STE(1)``, which does not know the order; or how its embeddings are to be made, such as
        ``Posterior(CKL(1), learn=("exponent", "mu"))``.
    link : {"probit", "logit", "cauchit"}
        Of the signed-difference model.
    lapse : bool or float
        Of the signed-difference model: whether to estimate the share of answers given at random, or
        its known value.
    uncertainty : {"bootstrap", "parametric", "posterior"}
        Resample units; draw new answers from the fit, as MLDS does; or, for an estimator, draw from
        its posterior. A `Bootstrap` or `Posterior` given as model knows by itself.
    unit : {"answer", "observer", "screen"}, optional
        What a bootstrap resamples: by default observers where there are five or more, so that
        intervals are about people in general; else screens where some have several answers, else
        answers, so that intervals are about these observers. A `Bootstrap` given as model has its
        own.
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
    if unit == "answer":
        instead = " and uncertainty='bootstrap'" if uncertainty == "parametric" else ""
        warn_about_screens(triplets, "are taken one by one here", f"use unit='screen'{instead}")
    need_memory(
        2 * jobs * (triplets.n_objects + 1) ** 2,
        f"A scale of {triplets.n_objects} stimuli",
        "use fewer stimuli, or an estimator such as STE(1) as the model",
    )
    task = resampling.fit_all(triplets, link, lapse)
    many = n_samples or SAMPLES
    fits = resampling.replicate(task, uncertainty, unit, many, entropy, jobs, progress)
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
    """One scale for each observer; settings are those of `perceptual_scale`.

    Parameters
    ----------
    answers : Triplets or data frame
        That say who gave each answer.
    """
    triplets = as_triplets(answers)
    if triplets.observers is None:
        raise InputError(
            "the answers do not say which observer they come from; give "
            "Triplets(..., observers=...)."
        )
    entropy = entropy_of(random_state)
    scales = {}
    for k, observer in enumerate(np.unique(triplets.observers)):
        own = triplets[triplets.observers == observer]
        settings["random_state"] = np.random.default_rng(seed_for(entropy, k))
        with warnings.catch_warnings(record=True) as caught:
            try:
                scales[str(observer)] = perceptual_scale(own, stimuli, **settings)
            except InputError as error:
                raise InputError(f"observer {observer}: {error}") from error
        for one in caught:  # said again, of whom
            warnings.warn(f"observer {observer}: {one.message}", one.category, stacklevel=2)
    return scales


def _jackknife(task: resampling.Task, unit: str) -> Jackknifed:
    fits, stands_for = resampling.jackknife(task, unit)
    return Jackknifed(fits.scale, fits.lapse, stands_for)


def _default_unit(triplets: Triplets) -> str:
    """What a bootstrap resamples unless told."""
    observers = triplets.observers
    if observers is not None and len(np.unique(observers)) >= ENOUGH:
        return "observer"
    return "screen" if triplets.shares_screens else "answer"


# --- checks -------------------------------------------------------------------------------------


def _check_untouched(*settings: Any) -> None:
    """Raise where an ensemble comes with settings for making one."""
    if settings != ("difference", "probit", False, "bootstrap", None, None):
        raise InputError(
            "an ensemble was made before: model, link, lapse, uncertainty, unit and n_samples are "
            "for answers; leave them out, or give the answers."
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
            f"unit={unit!r} is what a bootstrap resamples, and these samples are drawn from a "
            "model of single answers; use uncertainty='bootstrap'."
        )
    if isinstance(model, str):
        if model != "difference":
            raise InputError(
                f"model must be 'difference', an estimator such as STE(1), or an unfitted "
                f"Bootstrap or Posterior, got {model!r}."
            )
        if uncertainty == "posterior":
            raise InputError(
                "the signed-difference model has a bootstrap and no posterior here; use "
                "uncertainty='bootstrap', or another model (in Python: model=Posterior(CKL(1)))."
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
