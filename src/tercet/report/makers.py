"""What a report draws its maps with, and how it predicts answers that a map has not seen."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.base import clone

from tercet.answers.questions import Index, deal, default_unit, number_units
from tercet.bootstrap import Bootstrap
from tercet.errors import InputError
from tercet.estimators import CKL
from tercet.io.reading import Reading
from tercet.metrics import ReliabilityTable, expected_calibration_error, reliability_table
from tercet.posterior import Posterior
from tercet.progress import progress_bar
from tercet.provenance import seed_for
from tercet.report.analysis import Floats, HeldOut, Settings
from tercet.triplets import Triplets
from tercet.uses.abstain import risk_coverage
from tercet.uses.predictive import (
    K_HAT,
    held_out,
    leave_one_out,
    mean_per_answer,
    sum_by_unit,
    weights_of,
)

__all__ = [
    "calibration_limit",
    "choose_kind",
    "count_screens_once",
    "make_maker",
    "predict_held_out",
]

Maker = Posterior | Bootstrap

KINDS = ("posterior", "bootstrap", "scale")
SCALING = ("mlds-quads", "mlds-triads")  # formats of difference scaling
LEARN = ("exponent", "mu", "lapse")  # as measured best for people's answers: docs/calibration.md
MANY_ANSWERS = 30_000  # from which two chains have to do
MOST_ANSWERS, MOST_OBJECTS = 300_000, 300  # beyond which a posterior takes very long
REPLICATES = 200
FOLDS = 5

# First keys of seeds.
_MAKER, _FOLDS = range(2)


def choose_kind(reading: Reading, settings: Settings) -> tuple[str, str]:
    """The kind of uncertainty, and why, in words."""
    triplets = reading.triplets
    if settings.uncertainty is not None:
        if settings.uncertainty not in KINDS:
            known = ", ".join(map(repr, KINDS))
            raise InputError(f"uncertainty must be one of {known}, got {settings.uncertainty!r}.")
        return settings.uncertainty, "as asked for"
    is_line = settings.dimension in (None, 1) and settings.dimensions is None
    if reading.format in SCALING and is_line:
        return "scale", "the file is of difference scaling: stimuli on a line, in known order"
    if len(triplets) > MOST_ANSWERS or triplets.n_objects > MOST_OBJECTS:
        return "bootstrap", "a posterior of so many answers and objects would take very long"
    return "posterior", "it was the best calibrated in simulations and on people's answers"


def count_screens_once(triplets: Triplets) -> Triplets:
    """The answers, those of one screen together weighing as much as one.

    They are one choice: taken as independent they would make the posterior too sure. On the cars
    (two answers a screen, docs/report.md) this predicts best, and is as sure as a bootstrap of
    screens.
    """
    if triplets.screens is None or not triplets.shares_screens:
        return triplets
    _, place, sizes = np.unique(triplets.screens, return_inverse=True, return_counts=True)
    return Triplets(triplets, weights=weights_of(triplets) / sizes[place])


def make_maker(kind: str, triplets: Triplets, d: int, settings: Settings) -> Maker:
    """What draws the maps in d dimensions."""
    how: dict[str, Any] = {"n_jobs": settings.n_jobs, "progress": settings.progress}
    how["random_state"] = np.random.default_rng(seed_for(settings.seed, _MAKER))
    if kind == "posterior":
        if len(triplets) > MANY_ANSWERS:
            how |= {"n_samples": 500, "n_chains": 2}
        if settings.samples is not None:
            how["n_samples"] = settings.samples
        return Posterior(CKL(d), learn=LEARN, **how)
    unit = "screen" if triplets.shares_screens else "answer"
    return Bootstrap(CKL(d, penalty=0.25), settings.samples or REPLICATES, unit=unit, **how)


def predict_held_out(maker: Maker, triplets: Triplets, settings: Settings) -> HeldOut | None:
    """Predict every answer by maps that have not seen it, nor others of its unit.

    A posterior forgets by reweighting its draws; a bootstrap is made anew for each of five folds.
    Scores are weighted as the answers were in the fit.
    """
    unit = default_unit(triplets)
    units = number_units(triplets, unit)
    if int(units.max()) + 1 < 2 * FOLDS:
        return None
    if isinstance(maker, Posterior):
        fitted = count_screens_once(triplets)
        found = leave_one_out(maker.ensemble_, fitted, units)
        probability, how = found.probability, f"each {unit} left out in turn"
        rough = float(np.mean(~(found.k_hat <= K_HAT)))
    else:
        fitted, rough = triplets, 0.0
        probability = _by_folds(maker, triplets, units, settings)
        how = f"in {FOLDS} folds of {unit}s"
    return _summarise(probability, triplets, weights_of(fitted), units, how, rough)


def _by_folds(maker: Bootstrap, triplets: Triplets, units: Index, settings: Settings) -> Floats:
    """The probability of each row (m,), by maps of the other folds."""
    folds = deal(units, FOLDS, np.random.default_rng(seed_for(settings.seed, _FOLDS)))
    probability = np.empty(len(triplets))
    with progress_bar(FOLDS, "folds", settings.progress) as bar:
        for fold in range(FOLDS):
            rows = folds == fold
            seed = np.random.default_rng(seed_for(settings.seed, _FOLDS, fold))
            again = clone(maker).set_params(n_samples=50, random_state=seed, progress=False)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what is to be said, the fit to all answers says
                again.fit(triplets[~rows], n_objects=triplets.n_objects)
            ensemble = again.ensemble_
            numbers = np.unique(units[rows], return_inverse=True)[1]
            probability[rows] = held_out(ensemble, triplets[rows], numbers).probability
            bar.update(1)
    return probability


def _summarise(
    probability: Floats,
    triplets: Triplets,
    weights: Floats,
    units: Index,
    how: str,
    rough: float,
) -> HeldOut:
    sizes = sum_by_unit(weights, units)
    p = np.clip(probability, 1e-300, 1.0)
    right: Floats = np.where(p == 0.5, 0.5, (p > 0.5).astype(np.float64))
    accuracy = mean_per_answer(sum_by_unit(right * weights, units), sizes)
    loss = mean_per_answer(sum_by_unit(-np.log(p) * weights, units), sizes)
    counted = p[triplets.each_vote()]
    return HeldOut(
        counted,
        how,
        *accuracy,
        *loss,
        rough,
        expected_calibration_error(counted),
        calibration_limit(reliability_table(counted)),
        risk_coverage(p, weights=weights),
    )


def calibration_limit(table: ReliabilityTable) -> float:
    """The calibration error that chance exceeds in one of 20 cases, were all confidences right.

    The error of a bin of n answers is then about normal around 0, its variance c(1 − c)/n; the
    calibration error, a weighted sum of their sizes, is about normal too.
    """
    filled = table.count > 0
    n, c = table.count[filled], table.confidence[filled]
    spread = n / n.sum() * np.sqrt(c * (1.0 - c) / n)
    mean, variance = np.sqrt(2.0 / np.pi) * spread.sum(), (1.0 - 2.0 / np.pi) * (spread @ spread)
    return float(mean + norm.ppf(0.95) * np.sqrt(variance))
