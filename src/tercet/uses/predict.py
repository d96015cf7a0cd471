"""predict_held_out: how well answers are predicted by maps that have not seen them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from tercet.answers.questions import Index, deal, default_unit, number_units
from tercet.bootstrap import Bootstrap
from tercet.diagnosis import warn_about
from tercet.ensemble import Ensemble
from tercet.errors import InputError
from tercet.metrics import calibration_limit, expected_calibration_error, predicted_correctly
from tercet.posterior import Posterior
from tercet.progress import progress_bar
from tercet.provenance import Seed, entropy_of, seed_for
from tercet.text import percent
from tercet.triplets import Triplets, as_triplets
from tercet.uses.abstain.risk import RiskCoverage, risk_coverage
from tercet.uses.predictive import (
    K_HAT,
    Floats,
    held_out,
    leave_one_out,
    mean_per_answer,
    sum_by_unit,
    weights_of,
)

__all__ = ["METHODS", "HeldOut", "predict_held_out"]

Maker = Posterior | Bootstrap

METHODS = ("loo", "kfold")
_FOLDS = 1  # first key of seeds


class HeldOut(NamedTuple):
    """How well answers are predicted by maps that have not seen them; print it.

    Attributes
    ----------
    probability : (k,) array
        Of each answer that was given, left out with its unit; votes one by one. Of models that are
        no probability of answers, π: the probability that the answer is true.
    how : str
        How answers were left out, such as "each comparison left out in turn".
    accuracy, accuracy_error : float
        Share of the answers predicted correctly, and its standard error over units. A tie counts
        half.
    log_loss, log_loss_error : float
        Mean of −log probability, in nats; NaN where the model is no probability of answers.
    rough : float
        Share of units for which leaving them out by reweighting is a rough guess (Pareto k̂ > 0.7).
    calibration_error, calibration_limit : float
        Expected calibration error, and what chance would seldom exceed, were all probabilities
        right; NaN as the log-loss.
    curve : RiskCoverage
        Accuracy where only the surest answers are predicted.
    """

    probability: Floats
    how: str
    accuracy: float
    accuracy_error: float
    log_loss: float
    log_loss_error: float
    rough: float
    calibration_error: float
    calibration_limit: float
    curve: RiskCoverage

    @property
    def is_probability(self) -> bool:
        """Whether the model says how probable an answer is; else draws vote."""
        return not math.isnan(self.log_loss)

    def __str__(self) -> str:
        said = [
            f"{percent(self.accuracy)} of {len(self.probability)} held-out answers are predicted "
            f"correctly (standard error {percent(self.accuracy_error)}; {self.how})."
        ]
        if self.is_probability:
            said.append(
                f"Log-loss {self.log_loss:.3f} (standard error {self.log_loss_error:.3f}). "
                f"Calibration error {percent(self.calibration_error)}, by chance alone up to "
                f"{percent(self.calibration_limit)}."
            )
        else:
            said.append(
                "The model is a loss, not a probability of answers, so the draws vote: there is "
                "no log-loss and no calibration."
            )
        if self.rough > 0.0:
            said.append(
                f"{percent(self.rough)} of what was left out is influential: without it the map is "
                "known only roughly (Pareto k̂ > 0.7)."
            )
        return "\n".join(said)


def predict_held_out(
    maker: Maker,
    answers: Any,
    *,
    method: str | None = None,
    folds: int = 5,
    unit: str | None = None,
    random_state: Seed = None,
    progress: bool | None = None,
) -> HeldOut:
    """Predict every answer by maps that have not seen it, nor others of its unit.

    Parameters
    ----------
    maker : Posterior or Bootstrap
        Of any model, fitted or not; it is left as it is. Where it is fitted, it must be to these
        answers.
    answers : Triplets, array or data frame
        Weights count, and whole ones are votes; those of one screen count as one choice, unless
        the maker's unit is "answer".
    method : {"loo", "kfold"}, optional
        Leave-one-out by reweighting the draws of one fit (PSIS; Vehtari, Gelman & Gabry 2017), for
        a posterior that was sampled, or new fits for each fold. By default the first where it can
        be had.
    folds : int
        For "kfold"; there must be twice as many units.
    unit : {"answer", "comparison", "screen", "observer"}, optional
        What is left out together: by default screens where some have several answers, else
        comparisons. Observers: how well people are predicted from others.
    random_state : None, int or numpy.random.Generator
        Of the folds and of the fits that they need.
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal only.

    Returns
    -------
    HeldOut

    Examples
    --------
    >>> import tercet as tc
    >>> points, _ = tc.simulate.gaussian_mixture(10, random_state=0)
    >>> answers = tc.simulate.noisy_triplets(points, 300, noise=0.3, random_state=0)
    >>> maker = tc.Bootstrap(2, n_samples=20, random_state=0)
    >>> found = tc.predict_held_out(maker, answers, random_state=0)
    >>> found.how
    'in 5 folds of comparisons'
    >>> 0.7 < found.accuracy < 1.0
    True
    """
    if not isinstance(maker, Posterior | Bootstrap):
        raise InputError(
            "maker must be a Posterior or a Bootstrap, such as Posterior(2), got "
            f"{type(maker).__name__}."
        )
    triplets = as_triplets(answers)
    unit = default_unit(triplets) if unit is None else unit
    units = number_units(triplets, unit)
    count = int(units.max()) + 1
    if folds < 2 or count < 2 * folds:
        raise InputError(
            f"{count} {unit}s are too few to leave some out in {folds} folds: there must be twice "
            "as many, and two folds or more."
        )
    if not hasattr(maker, "ensemble_"):  # else its fit has said it
        warn_about(triplets, min_answers=maker.embedder.n_components + 1, stacklevel=2)
    entropy = entropy_of(random_state)
    fitted, rough, has_loss = maker.weigh(triplets), 0.0, True
    if _check_method(maker, method) == "kfold":
        how = f"in {folds} folds of {unit}s"
        probability, has_loss = _by_folds(maker, triplets, units, folds, entropy, progress)
    else:
        how = f"each {unit} left out in turn"
        found = leave_one_out(_ensemble_of(maker, triplets, entropy), fitted, units)
        probability, rough = found.probability, float(np.mean(~(found.k_hat <= K_HAT)))
    return _summarise(probability, triplets, weights_of(fitted), units, how, rough, has_loss)


# --- inside -----------------------------------------------------------------------------------


def _check_method(maker: Maker, method: str | None) -> str:
    """The way to leave answers out; draws of an approximation cannot be reweighted."""
    can = isinstance(maker, Posterior) and maker.sampler != "laplace"
    if method is None:
        return "loo" if can else "kfold"
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(map(repr, METHODS))}, got {method!r}.")
    if method == "loo" and not can:
        raise InputError(
            "only draws of a posterior that was sampled can be reweighted to leave answers out; "
            "use method='kfold', which fits anew."
        )
    return method


def _fit(maker: Maker, triplets: Triplets, seed: np.random.SeedSequence) -> Ensemble:
    """A new fit of the same settings; what is to be said of answers is said at the door."""
    again = clone(maker).set_params(
        random_state=np.random.default_rng(seed), progress=False, checkpoint=None
    )
    ensemble: Ensemble = again._fit_quietly(triplets).ensemble_
    return ensemble


def _ensemble_of(maker: Maker, triplets: Triplets, entropy: int) -> Ensemble:
    """The draws of the maker, fitted now where it is not."""
    ensemble: Ensemble | None = getattr(maker, "ensemble_", None)
    if ensemble is None:
        return _fit(maker, triplets, seed_for(entropy, _FOLDS))
    if ensemble.n_objects != triplets.n_objects:
        raise InputError(
            f"the maker was fitted to {ensemble.n_objects} objects, and these answers are about "
            f"{triplets.n_objects}: give the answers it was fitted to, or a maker that is not "
            "fitted."
        )
    return ensemble


def _by_folds(
    maker: Maker, triplets: Triplets, units: Index, k: int, entropy: int, progress: bool | None
) -> tuple[Floats, bool]:
    """The probability of each row (m,) by maps of the other folds; whether it is of an answer."""
    folds = deal(units, k, np.random.default_rng(seed_for(entropy, _FOLDS)))
    probability = np.empty(len(triplets))
    with progress_bar(k, "folds", progress) as bar:
        for fold in range(k):
            rows = folds == fold
            ensemble = _fit(maker, triplets[~rows], seed_for(entropy, _FOLDS, fold))
            is_probability = ensemble.model is not None and ensemble.model.is_probability
            if is_probability:
                numbers = np.unique(units[rows], return_inverse=True)[1]
                found = held_out(ensemble, triplets[rows], numbers).probability
            else:
                found = ensemble.triplet_probability(triplets[rows])
            probability[rows] = found
            bar.update(1)
    return probability, is_probability


def _summarise(
    probability: Floats,
    triplets: Triplets,
    weights: Floats,
    units: Index,
    how: str,
    rough: float,
    has_loss: bool,
) -> HeldOut:
    sizes = sum_by_unit(weights, units)
    p = np.clip(probability, 1e-300, 1.0)
    right = predicted_correctly(p)
    counted = p[triplets.each_vote()]
    accuracy = mean_per_answer(sum_by_unit(right * weights, units), sizes)
    loss, error, limit = (math.nan, math.nan), math.nan, math.nan
    if has_loss:
        loss = mean_per_answer(sum_by_unit(-np.log(p) * weights, units), sizes)
        error, limit = expected_calibration_error(counted), calibration_limit(counted)
    curve = risk_coverage(p, weights=weights)
    return HeldOut(counted, how, *accuracy, *loss, rough, error, limit, curve)
