"""Scales by the distance models, whose embeddings do not know the order of the stimuli."""

from __future__ import annotations

import warnings
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tercet.bootstrap import Bootstrap
from tercet.bootstrap.resampling import find_units
from tercet.embedder import Embedder
from tercet.ensemble import Ensemble
from tercet.errors import DataWarning, InputError
from tercet.posterior import Posterior
from tercet.provenance import Seed, as_generator, seed_for
from tercet.triplets import Triplets
from tercet.uses.scale.made import Jackknifed, Made
from tercet.uses.scale.resampling import weights_without
from tercet.uses.scale.result import PerceptualScale

Floats = NDArray[np.float64]
Index = NDArray[np.int64]

TOLERATED = 0.01  # share of samples with ends out of order that needs no warning
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
    """What makes the embeddings."""
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
        # Its own, unless told otherwise; a posterior resamples nothing.
        changes["unit"] = unit if isinstance(maker, Bootstrap) else None
        if random_state is not None or maker.random_state is None:
            changes["random_state"] = entropy
    return maker.set_params(**{k: v for k, v in changes.items() if v is not None})  # type: ignore[no-any-return]


def scale_by_distances(
    maker: Bootstrap | Posterior, triplets: Triplets, values: Floats, normalise: bool, entropy: int
) -> PerceptualScale:
    """Embed the answers, whose objects are in order, and put the embeddings in order."""
    ensemble = maker.fit(triplets).ensemble_
    samples = _oriented(ensemble.samples[:, :, 0])
    name, unit = type(maker.embedder).__name__, maker.unit_of(triplets)
    estimate, jackknife, kind = None, None, "posterior"
    if isinstance(maker, Bootstrap):
        weighed = maker.weigh(triplets)
        estimator = maker.settle(weighed).embedder
        embedding = _embed(estimator, weighed, as_generator(entropy))
        estimate = _oriented(embedding[None, :, 0])[0]
        kind = "parametric" if maker.parametric else "bootstrap"
        if kind == "bootstrap" and maker.fraction < 1.0:
            kind = f"subsamples of {maker.fraction:.0%}"
        elif kind == "bootstrap" and maker.fraction == 1.0:
            jackknife = partial(_jackknife, estimator, weighed, unit, embedding, entropy)
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
    """Put the draws of a one-dimensional ensemble in order."""
    d = ensemble.n_components  # speaks up where there are distances and no points
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
    """Samples (S, n) that rise with the order of the stimuli, the first stimulus at 0."""
    rank = np.arange(samples.shape[1]) - 0.5 * (samples.shape[1] - 1)
    sign = np.where(samples @ rank < 0.0, -1.0, 1.0)
    turned = sign[:, None] * samples
    return np.asarray(turned - turned[:, :1])


def ill_defined(samples: Floats) -> float:
    """Share of samples whose ends are out of order, or too close to divide by."""
    return float(np.mean(samples[:, -1] < SHORTEST * np.ptp(samples, axis=1)))


def _embed(
    estimator: Embedder,
    triplets: Triplets,
    rng: np.random.Generator,
    init: Floats | None = None,
) -> Floats:
    """The embedding (n, 1) of all answers; what is to be said of it, the replicates have said."""
    found = estimator.solve(triplets, rng, init).embedding
    return np.asarray(found - found.mean(axis=0))


def _jackknife(
    estimator: Embedder, triplets: Triplets, unit: str, embedding: Floats, entropy: int
) -> Jackknifed:
    """Maps without one unit; without one group of units each, where there are many.

    The skewness of sums over groups has the expectation of that over units, so that groups make
    the acceleration noisier and not different.
    """
    units = find_units(triplets, unit)
    shuffled = np.random.default_rng(seed_for(entropy, 2**32 - 1)).permutation(units.number)
    groups = np.array_split(shuffled, min(units.number, GROUPS))

    def fit(group: Index) -> Floats:
        left = weights_without(triplets, units, group)
        kept = left > 0.0
        fewer = Triplets(triplets.array[kept], n_objects=triplets.n_objects, weights=left[kept])
        found = _embed(estimator, fewer, np.random.default_rng(0), embedding)
        return np.asarray(_oriented(found[None, :, 0])[0])

    scales = np.array([fit(group) for group in groups])
    return Jackknifed(scales, np.zeros(len(groups)), np.ones(len(groups)))


def warn_about_ends(scale: PerceptualScale) -> None:
    """Warn where the ends of a scale do not tell its size."""
    if scale.ill_defined > TOLERATED:
        instead = ", or use model='difference', which knows the order"
        warnings.warn(
            f"in {scale.ill_defined:.1%} of the samples the first and the last stimulus are out of "
            "order, or close together, so that a scale normalised by them is wild there; look at "
            "the scale before it is normalised, or collect more answers"
            f"{instead if scale.made.task is None else ''}.",
            DataWarning,
            stacklevel=3,
        )
