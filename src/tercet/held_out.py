"""How well held-out answers are predicted, by refitting or reweighting draws; stacking weights."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp
from sklearn.base import clone

from tercet.answers.choices import Choices, as_answers
from tercet.answers.diagnosis import warn_about
from tercet.answers.either import Answers, chance_of, rearranged, split_of, told, weights_of
from tercet.answers.questions import deal, default_unit, number_units
from tercet.arrays import Floats, Index
from tercet.bootstrap import Bootstrap
from tercet.ensemble import Ensemble
from tercet.errors import InputError
from tercet.metrics import (
    ReliabilityTable,
    RiskCoverage,
    curve_by_confidence,
    predicted_correctly,
    tabulate_confidence,
)
from tercet.models.luce import agreement_with, order_outcomes
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
RARELY = 0.2  # accuracy of guessing below which the comparisons within answers tell more
_FOLDS = 1  # first key of seeds


class HeldOut(NamedTuple):
    """How well held-out answers are predicted; printable.

    Each answer is one choice: of two pairs, of the three of an odd one out, of the k nearest.

    Attributes
    ----------
    probability : (k,) array
        Predicted probability of each given answer, its unit being held out; votes one by one. For
        models without a likelihood, π: the probability that the answer is true.
    confidence, right : (k,) array
        Probability of the most likely outcome of each, and whether it was the answer; a share, such
        as ½, if several are as likely.
    how : str
        How answers were held out, such as "each comparison left out in turn".
    accuracy, accuracy_error : float
        Share of the answers predicted correctly, and its standard error over units.
    chance : float
        The accuracy of guessing: ½ for two alternatives, ⅓ for an odd one out.
    in_order : float
        Share of the comparisons within the answers that are predicted correctly, every answer
        counting once; equal to the accuracy if each has two alternatives.
    log_loss, log_loss_error : float
        Mean of −log probability, in nats; NaN for models without a likelihood.
    rough : float
        Share of influential units, for which leave-one-out is unreliable (Pareto k̂ > 0.7).
    calibration_error, calibration_limit : float
        Expected calibration error, and the value that chance would seldom exceed if all
        probabilities were right; NaN where the log-loss is.
    curve : RiskCoverage
        Accuracy where only the most certain answers are predicted.
    chance_log_loss : float
        The log-loss of guessing, the mean of log M over answers with M possible outcomes.
    """

    probability: Floats
    confidence: Floats
    right: Floats
    how: str
    accuracy: float
    accuracy_error: float
    chance: float
    in_order: float
    log_loss: float
    log_loss_error: float
    rough: float
    calibration_error: float
    calibration_limit: float
    curve: RiskCoverage
    chance_log_loss: float = math.log(2.0)

    @property
    def is_probability(self) -> bool:
        """Whether the model has a likelihood; else draws vote."""
        return not math.isnan(self.log_loss)

    @property
    def reliability(self) -> ReliabilityTable:
        """How often predictions of a given confidence are correct."""
        return _reliability(self.confidence, self.right, self.chance)

    def __str__(self) -> str:
        said = [
            f"{percent(self.accuracy)} of {len(self.probability)} held-out answers are predicted "
            f"correctly (standard error {percent(self.accuracy_error)}; by guessing "
            f"{percent(self.chance)}; {self.how})."
        ]
        if self.chance < RARELY:
            said[0] += (
                f" Of the comparisons within them, {percent(self.in_order)} are predicted "
                "correctly."
            )
        if self.is_probability:
            said.append(
                f"Log-loss {self.log_loss:.3f} (standard error {self.log_loss_error:.3f}; by "
                f"guessing {self.chance_log_loss:.3f}). "
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
    answers : Choices, Triplets, array or data frame
        Weights count, and whole ones are votes; triplets of one screen are one choice.
    method : {"loo", "kfold"}, optional
        Leave-one-out by reweighting the draws of one fit (PSIS; Vehtari, Gelman & Gabry 2017), for
        a sampled posterior, or K-fold cross-validation with new fits. By default the first where
        possible.
    folds : int
        For "kfold"; there must be at least twice as many units.
    unit : {"answer", "comparison", "screen", "observer"}, optional
        What is held out together: by default all answers to one question. With "observer", people
        are predicted from other people.
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
    given = as_answers(answers)
    if not maker.embedder.model().is_probability:
        given = told(given)  # a loss says nothing of other answers
    unit = default_unit(given) if unit is None else unit
    units = number_units(given, unit)
    count = int(units.max()) + 1
    if folds < 2 or count < 2 * folds:
        raise InputError(
            f"{count} {unit}s are too few for {folds} folds: at least two folds, and twice as many "
            f"{unit}s as folds, are needed."
        )
    if not hasattr(maker, "ensemble_"):  # else its fit has said it
        warn_about(given, min_answers=maker.embedder.n_components + 1, stacklevel=2)
    entropy = entropy_of(random_state)
    has_loss = True
    if _check_method(maker, method) == "kfold":
        how = f"in {folds} folds of {unit}s"
        found, has_loss = _by_folds(maker, given, units, folds, entropy, progress)
    else:
        how = f"each {unit} left out in turn"
        found = leave_one_out(_ensemble_of(maker, given, entropy), given, units)
    return _summarise(found, given, units, how, has_loss)


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


def _fit(maker: Posterior | Bootstrap, answers: Answers, seed: np.random.SeedSequence) -> Ensemble:
    """A new fit with the same settings, without warnings about the answers."""
    again = clone(maker).set_params(
        random_state=np.random.default_rng(seed), progress=False, checkpoint=None
    )
    ensemble: Ensemble = again._fit_quietly(answers).ensemble_
    return ensemble


def _ensemble_of(maker: Posterior | Bootstrap, answers: Answers, entropy: int) -> Ensemble:
    """The draws of the maker, fitted now where it is not."""
    ensemble: Ensemble | None = getattr(maker, "ensemble_", None)
    if ensemble is None:
        return _fit(maker, answers, seed_for(entropy, _FOLDS))
    if ensemble.n_objects != answers.n_objects:
        raise InputError(
            f"the maker was fitted to {ensemble.n_objects} objects, and these answers are about "
            f"{answers.n_objects}: pass the answers it was fitted to, or an unfitted maker."
        )
    return ensemble


def _by_folds(
    maker: Posterior | Bootstrap,
    answers: Answers,
    units: Index,
    k: int,
    entropy: int,
    progress: bool | None,
) -> tuple[Pointwise, bool]:
    """Predictions of each row by maps of the other folds; whether there is a likelihood."""
    folds = deal(units, k, np.random.default_rng(seed_for(entropy, _FOLDS)))
    columns = np.empty((4, len(answers)))
    with progress_bar(k, "folds", progress) as bar:
        for fold in range(k):
            rows = folds == fold
            ensemble = _fit(maker, answers[~rows], seed_for(entropy, _FOLDS, fold))
            is_probability = ensemble.model is not None and ensemble.model.is_probability
            if is_probability:
                numbers = np.unique(units[rows], return_inverse=True)[1]
                found = held_out(ensemble, answers[rows], numbers)
            else:
                found = vote(ensemble, answers[rows])
            columns[:, rows] = found.columns
            bar.update(1)
    return Pointwise(np.empty(0), columns, np.empty(0)), is_probability


def _summarise(
    found: Pointwise, answers: Answers, units: Index, how: str, has_loss: bool
) -> HeldOut:
    weights, votes = weights_of(answers), answers.each_vote()
    sizes = sum_by_unit(weights, units)
    p = np.clip(found.probability, 1e-300, 1.0)
    accuracy = mean_per_answer(sum_by_unit(found.right * weights, units), sizes)
    guessed = chance_of(answers)
    chance = float(np.average(guessed, weights=weights))
    loss, error, limit = (math.nan, math.nan), math.nan, math.nan
    if has_loss:
        loss = mean_per_answer(sum_by_unit(-np.log(p) * weights, units), sizes)
        table = _reliability(found.confidence[votes], found.right[votes], chance)
        error, limit = table.error, table.limit
    return HeldOut(
        p[votes],
        found.confidence[votes],
        found.right[votes],
        how,
        *accuracy,
        chance,
        float(np.average(found.in_order, weights=weights)),
        *loss,
        float(np.mean(~(found.k_hat <= K_HAT))) if found.k_hat.size else 0.0,
        error,
        limit,
        curve_by_confidence(found.confidence, found.right, weights),
        float(-np.average(np.log(guessed), weights=weights)),
    )


def _reliability(confidence: Floats, right: Floats, chance: float) -> ReliabilityTable:
    """Bins start at the smallest confidence that is possible."""
    return tabulate_confidence(confidence, right, least=min(chance, float(confidence.min())))


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
    columns: Floats  # (4, m): the next four
    k_hat: Floats  # (U,), or empty: not by importance sampling

    @property
    def probability(self) -> Floats:
        """Of each answer, (m,)."""
        return np.asarray(self.columns[0])

    @property
    def confidence(self) -> Floats:
        """Probability (m,) of the most likely outcome."""
        return np.asarray(self.columns[1])

    @property
    def right(self) -> Floats:
        """Whether that is the answer, (m,): 1, 0, or a share if several are as likely."""
        return np.asarray(self.columns[2])

    @property
    def in_order(self) -> Floats:
        """Share (m,) of the comparisons within each answer that are predicted correctly."""
        return np.asarray(self.columns[3])


def leave_one_out(ensemble: Ensemble, answers: Answers, units: Index) -> Pointwise:
    """Predict every unit from the others, by reweighting the draws of one fit (PSIS).

    Parameters
    ----------
    ensemble : Ensemble
        Draws from the posterior of a probabilistic model, chain after chain.
    answers : Triplets or Choices
        The m answers it was fitted to; weights are counts.
    units : (m,) integer array
        What is left out together, numbered from 0.
    """
    log_density, k_hat = np.empty(units.max() + 1), np.empty(units.max() + 1)
    columns = np.empty((4, len(answers)))
    for rows, starts in _blocks(units, answers, len(ensemble)):
        drawn = _by_draw(ensemble, answers[rows])
        likelihood = np.add.reduceat(drawn.log_density, starts, axis=0)  # (units, S)
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
        columns[:, rows] = drawn.predicted(np.exp(np.repeat(weights, sizes, axis=0)))
    return Pointwise(log_density, columns, k_hat)


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
    ensemble: Ensemble, answers: Answers, units: Index, *, jointly: bool = True
) -> Pointwise:
    """Predict new answers: log mean_s exp Σ_rows log p_s of every unit.

    Parameters
    ----------
    ensemble, answers, units
        As in `leave_one_out`, with new answers.
    jointly : bool
        Whether the answers of a unit are predicted jointly; else one by one, and summed.
    """
    log_density, columns = np.empty(units.max() + 1), np.empty((4, len(answers)))
    for rows, starts in _blocks(units, answers, len(ensemble)):
        part = answers[rows]
        drawn = _by_draw(ensemble, part)
        columns[:, rows] = drawn.predicted()
        if jointly:
            likelihood = np.add.reduceat(drawn.log_density, starts, axis=0)
            found = logsumexp(likelihood, axis=1) - math.log(len(ensemble))
        else:
            found = np.add.reduceat(np.log(columns[0, rows]) * weights_of(part), starts)
        log_density[units[rows[starts]]] = found
    return Pointwise(log_density, columns, np.empty(0))


def vote(ensemble: Ensemble, answers: Answers) -> Pointwise:
    """Predict answers by π, for models without a likelihood.

    A choice is predicted correctly if all comparisons within it are, and with the confidence of the
    least certain of these.
    """
    split = split_of(answers)
    p = ensemble.triplet_probability(split)
    right = predicted_correctly(p)
    if isinstance(answers, Choices):
        starts = np.flatnonzero(np.diff(split.number_screens(), prepend=-1))
        in_order = np.add.reduceat(right, starts) / np.diff(np.append(starts, len(p)))
        confidence = np.minimum.reduceat(np.maximum(p, 1.0 - p), starts)
        p, right = np.minimum.reduceat(p, starts), np.minimum.reduceat(right, starts)
    else:
        in_order, confidence = right, np.maximum(p, 1.0 - p)
    columns = np.stack([p, confidence, right, in_order])
    return Pointwise(np.empty(0), columns, np.empty(0))


def _blocks(units: Index, answers: Answers, n_samples: int) -> Iterator[tuple[Index, Index]]:
    """Rows of whole units, unit after unit, and where each unit starts."""
    order = np.argsort(units, kind="stable")
    starts = np.flatnonzero(np.diff(units[order], prepend=-1))
    sizes = np.ones(len(order), dtype=np.int64)
    if isinstance(answers, Choices):  # one number for it, and one for each alternative
        sizes += answers.n_alternatives[order]
    block = (np.cumsum(sizes) - sizes)[starts] // max(1, BLOCK // n_samples)
    for part in np.split(starts, np.flatnonzero(np.diff(block)) + 1):
        after = starts[np.searchsorted(starts, part[-1], side="right") :]
        yield order[part[0] : after[0] if after.size else None], part - part[0]


class _Drawn(NamedTuple):
    """Probabilities of answers in every draw."""

    p: Floats  # (m, S)
    log_density: Floats  # (m, S): log p times the answer's weight
    ensemble: Ensemble
    choices: Choices | None = None
    first: Floats | None = None  # (A, S) of each alternative, to be chosen first

    def predicted(self, weights: Floats | None = None) -> Floats:
        """The columns (4, m) of `Pointwise`; weights (m, S) of the draws are equal by default."""
        p = _averaged(self.p, weights)
        if self.choices is None or self.first is None:
            right = predicted_correctly(p)
            return np.stack([p, np.maximum(p, 1.0 - p), right, right])
        choices, sizes = self.choices, self.choices.n_alternatives
        each = None if weights is None else np.repeat(weights, sizes, axis=0)
        mean = _averaged(self.first, each)
        order, chosen = np.empty(len(mean), dtype=np.int64), choices.n_chosen.copy()
        order_outcomes(choices.kinds, choices.cuts, mean, order, chosen)
        right, in_order = np.empty(len(p)), np.empty(len(p))
        agreement_with(choices.kinds, choices.cuts, choices.n_chosen, mean, right, in_order)
        likeliest, _ = self.ensemble.choice_tables(rearranged(choices, order, chosen))
        return np.stack([p, _averaged(likeliest, weights), right, in_order])


def _averaged(values: Floats, weights: Floats | None) -> Floats:
    """The mean over draws of each row (m, S), with these weights (m, S) that add up to one."""
    if weights is None:
        return np.asarray(values.mean(axis=1))
    return np.asarray(np.einsum("ms,ms->m", values, weights))


def _by_draw(ensemble: Ensemble, answers: Answers) -> _Drawn:
    if isinstance(answers, Choices):
        p, first = ensemble.choice_tables(answers)
        p = np.maximum(p, 1e-300)
        return _Drawn(p, np.log(p) * weights_of(answers)[:, None], ensemble, answers, first)
    p = np.maximum(ensemble.answer_probability(answers, by_draw=True).T, 1e-300)
    return _Drawn(p, np.log(p) * weights_of(answers)[:, None], ensemble)


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
