"""How well held-out answers are predicted, by refitting or reweighting draws; stacking weights."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp
from sklearn.base import clone

from tercet.answers.diagnosis import warn_about
from tercet.answers.questions import deal, default_unit, number_units
from tercet.answers.triplets import Triplets, as_triplets, weights_of
from tercet.arrays import Floats, Index
from tercet.bootstrap import Bootstrap
from tercet.ensemble import Ensemble
from tercet.errors import InputError
from tercet.metrics import (
    RiskCoverage,
    calibration_limit,
    expected_calibration_error,
    predicted_correctly,
    risk_coverage,
)
from tercet.posterior import Posterior
from tercet.running.provenance import Seed, entropy_of, seed_for
from tercet.running.threads import progress_bar
from tercet.text import percent

__all__ = [
    "METHODS",
    "HeldOut",
    "predict_held_out",
]

METHODS = ("loo", "kfold")
_FOLDS = 1  # first key of seeds


class HeldOut(NamedTuple):
    """How well held-out answers are predicted; printable.

    Attributes
    ----------
    probability : (k,) array
        Predicted probability of each given answer, its unit being held out; votes one by one. For
        models without a likelihood, π: the probability that the answer is true.
    how : str
        How answers were held out, such as "each comparison left out in turn".
    accuracy, accuracy_error : float
        Share of the answers predicted correctly, and its standard error over units. A tie counts
        half.
    log_loss, log_loss_error : float
        Mean of −log probability, in nats; NaN for models without a likelihood.
    rough : float
        Share of influential units, for which leave-one-out is unreliable (Pareto k̂ > 0.7).
    calibration_error, calibration_limit : float
        Expected calibration error, and the value that chance would seldom exceed if all
        probabilities were right; NaN where the log-loss is.
    curve : RiskCoverage
        Accuracy where only the most certain answers are predicted.
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
        """Whether the model has a likelihood; else draws vote."""
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
                f"{percent(self.rough)} of the held-out units are influential (Pareto k̂ > 0.7): "
                "leave-one-out is unreliable for them."
            )
        return "\n".join(said)


def predict_held_out(
    maker: Posterior | Bootstrap,
    answers: Any,
    *,
    method: str | None = None,
    folds: int = 5,
    unit: str | None = None,
    random_state: Seed = None,
    progress: bool | None = None,
) -> HeldOut:
    """Predict every answer by maps that have seen neither it nor others of its unit.

    Parameters
    ----------
    maker : Posterior or Bootstrap
        Of any model, fitted to these answers or not fitted; it is not changed.
    answers : Triplets, array or data frame
        Weights count, and whole ones are votes; those of one screen count as one choice, unless
        the maker's unit is "answer".
    method : {"loo", "kfold"}, optional
        Leave-one-out by reweighting the draws of one fit (PSIS; Vehtari, Gelman & Gabry 2017), for
        a sampled posterior, or K-fold cross-validation with new fits. By default the first where
        possible.
    folds : int
        For "kfold"; there must be at least twice as many units.
    unit : {"answer", "comparison", "screen", "observer"}, optional
        What is held out together: by default screens where some have several answers, else
        comparisons. With "observer", people are predicted from other people.
    random_state : None, int or numpy.random.Generator
        For the folds and their fits.
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
            f"{count} {unit}s are too few for {folds} folds: at least two folds, and twice as many "
            f"{unit}s as folds, are needed."
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


def _check_method(maker: Posterior | Bootstrap, method: str | None) -> str:
    """The method, or the default; draws of an approximation cannot be reweighted."""
    can = isinstance(maker, Posterior) and maker.sampler != "laplace"
    if method is None:
        return "loo" if can else "kfold"
    if method not in METHODS:
        raise InputError(f"method must be one of {', '.join(map(repr, METHODS))}, got {method!r}.")
    if method == "loo" and not can:
        raise InputError(
            "leave-one-out by reweighting needs draws of a sampled posterior; use "
            "method='kfold', which refits."
        )
    return method


def _fit(
    maker: Posterior | Bootstrap, triplets: Triplets, seed: np.random.SeedSequence
) -> Ensemble:
    """A new fit with the same settings, without warnings about the answers."""
    again = clone(maker).set_params(
        random_state=np.random.default_rng(seed), progress=False, checkpoint=None
    )
    ensemble: Ensemble = again._fit_quietly(triplets).ensemble_
    return ensemble


def _ensemble_of(maker: Posterior | Bootstrap, triplets: Triplets, entropy: int) -> Ensemble:
    """The draws of the maker, fitted now where it is not."""
    ensemble: Ensemble | None = getattr(maker, "ensemble_", None)
    if ensemble is None:
        return _fit(maker, triplets, seed_for(entropy, _FOLDS))
    if ensemble.n_objects != triplets.n_objects:
        raise InputError(
            f"the maker was fitted to {ensemble.n_objects} objects, and these answers are about "
            f"{triplets.n_objects}: pass the answers it was fitted to, or an unfitted maker."
        )
    return ensemble


def _by_folds(
    maker: Posterior | Bootstrap,
    triplets: Triplets,
    units: Index,
    k: int,
    entropy: int,
    progress: bool | None,
) -> tuple[Floats, bool]:
    """Probability of each row (m,) by maps of the other folds; whether there is a likelihood."""
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


# --- pointwise predictions: of new answers, or by importance sampling ---------------------------


K_HAT = 0.7  # above it importance sampling is unreliable (Vehtari et al. 2024)
BLOCK = 2**22  # probabilities held at a time: 32 MB
# Where no two draws differ by more in the log-likelihood of a unit, no weight is more than e times
# another, and the effective sample size is at least 94 %: there is no tail to smooth, and k̂, which
# describes the shape of a tail and not its size, would mean nothing.
SETTLED = 1.0
LOOKED_AT = 100  # units, at most, from which the efficiency of the draws is estimated


class Pointwise(NamedTuple):
    """Predictions of held-out answers."""

    log_density: Floats  # (U,) of all answers of a unit; empty where there is no likelihood
    probability: Floats  # (m,) of each row
    k_hat: Floats  # (U,), or empty: not by importance sampling


def leave_one_out(ensemble: Ensemble, triplets: Triplets, units: Index) -> Pointwise:
    """Predict every unit from the others, by reweighting the draws of one fit (PSIS).

    Parameters
    ----------
    ensemble : Ensemble
        Draws from the posterior of a probabilistic model, chain after chain.
    triplets : Triplets
        The m answers it was fitted to; weights are counts.
    units : (m,) integer array
        What is left out together, numbered from 0.
    """
    size = len(ensemble)
    log_density, k_hat = np.empty(units.max() + 1), np.empty(units.max() + 1)
    probability = np.empty(len(triplets))
    for rows, starts in _blocks(units, size):
        p, log_p = _by_draw(ensemble, triplets[rows])
        likelihood = np.add.reduceat(log_p, starts, axis=0)  # (units, S)
        weights = log_softmax(-likelihood, axis=1)
        k = np.zeros(len(starts))
        open_ones = np.flatnonzero(np.ptp(likelihood, axis=1) > SETTLED)
        for u, efficiency in zip(
            open_ones, _efficiency(likelihood[open_ones], ensemble.n_chains), strict=True
        ):
            weights[u], k[u] = _smoothed(likelihood[u], float(efficiency), weights[u])
        found = units[rows[starts]]
        log_density[found], k_hat[found] = logsumexp(weights + likelihood, axis=1), k
        sizes = np.diff(np.append(starts, len(rows)))
        probability[rows] = np.einsum("ms,ms->m", p, np.exp(np.repeat(weights, sizes, axis=0)))
    return Pointwise(log_density, probability, k_hat)


def _efficiency(likelihood: Floats, n_chains: int) -> Floats:
    """Relative effective sample size (U,) of likelihoods whose logs are (U, S).

    It only sets the length of the tail to smooth; with many units, some represent the others.
    """
    from arviz_stats.base import array_stats

    if not len(likelihood):
        return np.empty(0)
    some = likelihood[:: -(-len(likelihood) // LOOKED_AT)]
    # Scale does not matter; without dividing by the largest, the exponential might underflow.
    relative = np.exp(some - some.max(axis=1, keepdims=True)).reshape(len(some), n_chains, -1)
    found = np.asarray(array_stats.ess(relative, method="mean", relative=True))
    found = np.where(found > 0.0, np.minimum(found, 1.0), 1.0)
    return found if len(found) == len(likelihood) else np.full(len(likelihood), np.median(found))


def _smoothed(likelihood: Floats, efficiency: float, raw: Floats) -> tuple[Floats, float]:
    """Pareto-smoothed log-weights (S,) without a unit, and k̂; raw weights where that fails."""
    from arviz_stats.base import array_stats

    try:
        with np.errstate(divide="ignore", invalid="ignore"):  # equal draws in the tail
            weights, k = array_stats.psislw(likelihood, r_eff=efficiency)
    except ValueError:  # all draws in the tail are equal
        return raw, np.inf
    return (weights, float(k)) if np.isfinite(weights).all() else (raw, np.inf)


def held_out(
    ensemble: Ensemble, triplets: Triplets, units: Index, *, jointly: bool = True
) -> Pointwise:
    """Predict new answers: log mean_s exp Σ_rows log p_s of every unit.

    Parameters
    ----------
    ensemble, triplets, units
        As in `leave_one_out`, with new answers.
    jointly : bool
        Whether the answers of a unit are predicted jointly; else one by one, and summed.
    """
    log_density, probability = np.empty(units.max() + 1), np.empty(len(triplets))
    for rows, starts in _blocks(units, len(ensemble)):
        p, log_p = _by_draw(ensemble, triplets[rows])
        probability[rows] = mean = p.mean(axis=1)
        if jointly:
            likelihood = np.add.reduceat(log_p, starts, axis=0)
            found = logsumexp(likelihood, axis=1) - math.log(len(ensemble))
        else:
            found = np.add.reduceat(np.log(mean) * weights_of(triplets[rows]), starts)
        log_density[units[rows[starts]]] = found
    return Pointwise(log_density, probability, np.empty(0))


def _blocks(units: Index, n_samples: int) -> Iterator[tuple[Index, Index]]:
    """Rows of whole units, unit after unit, and where each unit starts."""
    order = np.argsort(units, kind="stable")
    starts = np.flatnonzero(np.diff(units[order], prepend=-1))
    block = starts // max(1, BLOCK // n_samples)
    for part in np.split(starts, np.flatnonzero(np.diff(block)) + 1):
        after = starts[np.searchsorted(starts, part[-1], side="right") :]
        yield order[part[0] : after[0] if after.size else None], part - part[0]


def _by_draw(ensemble: Ensemble, triplets: Triplets) -> tuple[Floats, Floats]:
    """Probability of every row in every draw, (m, S), and its logarithm times the row's weight."""
    p = np.maximum(ensemble.answer_probability(triplets, by_draw=True).T, 1e-300)
    return p, np.log(p) * weights_of(triplets)[:, None]


# --- scores -----------------------------------------------------------------------------------


def sum_by_unit(values: Floats, units: Index) -> Floats:
    """Sum (U,) over rows (m,) of each unit."""
    return np.bincount(units, values).astype(np.float64)


def mean_per_answer(totals: Floats, sizes: Floats) -> tuple[float, float]:
    """Mean over answers of totals by unit, and its standard error over units.

    Units are the independent ones, so both sums vary: the standard error of a ratio,
    √(U/(U − 1)·Σ(total − mean·size)²) / Σ size.

    Parameters
    ----------
    totals, sizes : (U,) array
        Sum and number of answers of each unit.
    """
    count, mean = len(totals), float(totals.sum() / sizes.sum())
    if count < 2:
        return mean, math.nan
    rest = totals - mean * sizes
    return mean, float(math.sqrt(count / (count - 1.0) * (rest @ rest)) / sizes.sum())


def stacking_weights(log_density: Floats) -> Floats:
    """Weights w (K,) ≥ 0 of sum 1 that maximise Σ_u log Σ_k w_k p_uk (Yao et al. 2018).

    Parameters
    ----------
    log_density : (U, K) array
        Of each held-out unit under each model.
    """
    p = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    count = p.shape[1]

    def loss(w: Floats) -> tuple[float, Floats]:
        mixture = np.maximum(p @ w, 1e-300)
        return -float(np.log(mixture).mean()), -(p / mixture[:, None]).mean(axis=0)

    found = minimize(
        loss,
        np.full(count, 1.0 / count),
        jac=True,
        method="SLSQP",
        bounds=[(0.0, 1.0)] * count,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0, "jac": np.ones_like},
        options={"ftol": 1e-12, "maxiter": 1000},
    )
    weights = np.maximum(found.x, 0.0)
    return np.asarray(weights / weights.sum())
