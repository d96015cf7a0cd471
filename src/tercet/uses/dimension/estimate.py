"""estimate_dimension: the evidence for each number of dimensions, and a recommendation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from tercet.answers.choices import as_answers
from tercet.answers.diagnosis import warn_about
from tercet.answers.either import Answers, chance_of, weights_of
from tercet.answers.questions import default_unit, number_units
from tercet.arrays import Floats, Index
from tercet.bootstrap import Bootstrap
from tercet.bootstrap.bootstrap import check_settings
from tercet.embedder import Embedder, is_count
from tercet.engine.ties import tie_of
from tercet.ensemble import Ensemble
from tercet.errors import InputError
from tercet.estimators import STE
from tercet.held_out import (
    K_HAT,
    leave_one_out,
    mean_per_answer,
    sum_by_unit,
)
from tercet.makers import Sizes
from tercet.posterior import DistancePrior, Posterior
from tercet.posterior.draw import Begun
from tercet.running.provenance import Seed, entropy_of, seed_for
from tercet.running.threads import count_threads, progress_bar
from tercet.text import counted
from tercet.uses.dimension.evidence import (
    NOTHING,
    DimensionEstimate,
    DimensionRow,
    Folds,
    LeftOut,
    Measured,
    Splits,
    corrected_t_test,
    cross_validate_embedding,
    decide,
    gain,
    losses_of,
    make_splits,
)

__all__ = [
    "estimate_dimension",
    "find_dimension",
]

# Above it, two chains of a few hundred draws ended in different maps. The largest of many R-hats of
# such short chains often exceeds the limit for long ones although they did not.
R_HAT = 1.1
ROUGH_K_HAT = 0.1  # share of influential units above which leave-one-out is unreliable
BEGINNING = Sizes(n_samples=250, n_chains=2)  # of the recommended posterior, in each dimension
BOOTSTRAPS = 5  # separate ones, for the standard error of the average uncertainty

# First keys of seeds, after those of the splits.
_POSTERIOR, _BOOTSTRAP, _TRAINING = range(2, 5)


def estimate_dimension(
    answers: Any,
    dimensions: Sequence[int] | None = None,
    *,
    estimator: Embedder | None = None,
    posterior: Posterior | None = None,
    bootstrap: Bootstrap | None = None,
    unit: str | None = None,
    folds: int = 10,
    repeats: int = 10,
    level: float = 0.05,
    thorough: bool = True,
    n_objects: int | None = None,
    n_jobs: int | None = None,
    random_state: Seed = None,
    progress: bool | None = None,
) -> DimensionEstimate:
    """Measure the evidence for each number of dimensions, and recommend one if possible.

    Parameters
    ----------
    answers : Choices, Triplets, (m, 3) or (m, 4) array, or data frame
        Triplets that share a screen are one choice.
    dimensions : sequence of int, optional
        In increasing order; by default 1 to 6, or as many as the answers support.
    estimator : Embedder, optional
        For cross-validation, with n_components replaced; by default ``STE(penalty=0.25)``.
    posterior : Posterior, optional
        For leave-one-out, with its dimension replaced; by default the first 250 draws of two chains
        of the recommended one.
    bootstrap : Bootstrap, optional
        For the average uncertainty; by default ``Bootstrap.paper(STE())``.
    unit : {"comparison", "screen", "observer", "answer"}, optional
        What is left out together; by default all answers to one question.
    folds, repeats : int
        Of the cross-validation.
    level : float
        Of the t-tests.
    thorough : bool
        Whether to compute the whole table; otherwise only what the recommendation needs.
    n_objects : int, optional
    n_jobs : int, optional
        Threads, all cores by default. Inside ``joblib.parallel_config(backend=...)`` fits run on
        that backend with its own n_jobs. The result does not depend on either.
    random_state : None, int or numpy.random.Generator
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal only.

    Returns
    -------
    DimensionEstimate
        Its ``dimension`` is None if the evidence is insufficient.

    Notes
    -----
    The rule has two stages, see `tercet.uses.dimension.evidence`.
    """
    given = as_answers(answers, n_objects)
    check_dimensions(dimensions, given)
    warn_about(given, stacklevel=2)
    settings = DimensionSettings(
        dimensions=dimensions,
        estimator=estimator,
        posterior=posterior,
        bootstrap=bootstrap,
        unit=unit,
        folds=folds,
        repeats=repeats,
        level=level,
        thorough=thorough,
        n_jobs=n_jobs,
        random_state=random_state,
        progress=progress,
    )
    return find_dimension(given, settings).estimate


class TooFewAnswersError(InputError):
    """The answers do not suffice to compare dimensions."""


class DimensionSettings(NamedTuple):
    """The settings of `estimate_dimension`."""

    dimensions: Sequence[int] | None = None
    estimator: Embedder | None = None
    posterior: Posterior | None = None
    bootstrap: Bootstrap | None = None
    unit: str | None = None
    folds: int = 10
    repeats: int = 10
    level: float = 0.05
    thorough: bool = True
    n_jobs: int | None = None
    random_state: Seed = None
    progress: bool | None = None


class FoundDimension(NamedTuple):
    """The estimate, and the chains begun for it in each dimension if they may be continued."""

    estimate: DimensionEstimate
    begun: dict[int, Begun]


def find_dimension(
    answers: Answers, settings: DimensionSettings, whole: Posterior | None = None
) -> FoundDimension:
    """As `estimate_dimension`, without warnings about the answers.

    Unless the settings have a posterior, the first draws of the recommended one are used, or those
    of ``whole`` with its seed, which can then go on in the dimension that was found.
    """
    tried = check_dimensions(settings.dimensions, answers)
    entropy = entropy_of(settings.random_state)
    posterior = Posterior(2) if whole is None else whole
    if settings.posterior is not None:
        posterior, whole = settings.posterior, None
    makers = check_makers(settings, posterior, answers)
    for name, value, least in (("folds", settings.folds, 2), ("repeats", settings.repeats, 1)):
        if not is_count(value) or value < least:
            raise InputError(f"{name} must be a whole number of at least {least}, got {value!r}.")
    level = settings.level
    if not 0.0 < level < 0.5:
        raise InputError(f"level must be between 0 and 0.5, such as 0.05, got {level!r}.")
    unit = default_unit(answers) if settings.unit is None else settings.unit
    units = number_units(answers, unit)
    if int(units.max()) + 1 < settings.folds:
        smaller = "" if unit == "answer" else ", or a smaller unit such as unit='answer'"
        raise TooFewAnswersError(
            f"{int(units.max()) + 1} {unit}s cannot be split into {settings.folds} folds; use "
            f"fewer folds{smaller}."
        )
    count_threads(settings.n_jobs)
    work = _Work(answers, units, makers, entropy, settings, whole is not None)
    splits = make_splits(units, int(settings.folds), int(settings.repeats), entropy)
    posteriors: dict[int, _Posterior] = {}

    def left_out(d: int) -> LeftOut:
        if d not in posteriors:
            posteriors[d] = _leave_out(work, d)
        found = posteriors[d]
        return LeftOut(found.log_density, found.rough, found.r_hat, found.agrees)

    # Fits in a wrong dimension need not converge; the table reports the chains.
    validated = _cross_validate(work, tried, splits)
    p_values = [
        corrected_t_test(b.accuracy - a.accuracy, splits.folds) for a, b in pairwise(validated)
    ]
    sizes = sum_by_unit(weights_of(answers), units)
    bits = sum_by_unit(-np.log2(chance_of(answers)) * weights_of(answers), units)
    decision = decide(tried, p_values, level, left_out, bits)
    if settings.thorough:
        for d in tried:
            left_out(d)
    rows = _table(work, tried, validated, p_values, posteriors, sizes)
    reason = decision.reason + _caution(rows, decision.dimension)
    if decision.undecided_at is not None:
        reason += _without_chains(rows)
    estimate = DimensionEstimate(
        decision.dimension,
        decision.verdict,
        reason,
        tuple(rows),
        unit,
        answers.n_answers,
        decision.undecided_at,
    )
    begun = {d: found.begun for d, found in posteriors.items() if found.begun is not None}
    return FoundDimension(estimate, begun)


class _Posterior(NamedTuple):
    """Leave-one-out predictions of a posterior, and its diagnostics."""

    log_density: Floats  # (U,)
    rough: float  # share of influential units (Pareto k̂ too large)
    r_hat: float
    agrees: bool  # whether the chains ended in the same maps
    uncertainty: Measured
    begun: Begun | None  # if somebody may continue them


class _Work(NamedTuple):
    """Answers and settings that every step needs."""

    answers: Answers
    units: Index
    makers: Makers
    entropy: int
    settings: DimensionSettings
    goes_on: bool  # whether the posterior has a seed of its own, and may be continued

    @property
    def n_jobs(self) -> int | None:
        """Number of threads."""
        return self.settings.n_jobs


# --- the steps --------------------------------------------------------------------------------


def _cross_validate(work: _Work, tried: list[int], splits: Splits) -> list[Folds]:
    with progress_bar(
        len(tried) * len(splits.train), "cross-validation", work.settings.progress
    ) as bar:
        return [
            cross_validate_embedding(
                clone(work.makers.estimator).set_params(n_components=d),
                work.answers,
                splits,
                work.n_jobs,
                bar.update,
            )
            for d in tried
        ]


def _leave_out(work: _Work, d: int) -> _Posterior:
    """Held-out log-densities of every unit in d dimensions, and diagnostics of the chains."""
    settings, begun = work.settings, None
    maker = work.makers.posterior.in_dimension(d)
    maker.set_params(n_jobs=work.n_jobs, progress=settings.progress)
    if not work.goes_on:
        rng = np.random.default_rng(seed_for(work.entropy, _POSTERIOR, d))
        maker.set_params(random_state=rng)
    if settings.posterior is None:
        begun = maker._begin_quietly(work.answers, BEGINNING)
    else:
        maker._fit_quietly(work.answers)
    ensemble = _without_stuck_chains(maker.ensemble_)
    found = leave_one_out(ensemble, work.answers, work.units)
    uncertainty = _uncertainty(ensemble, work.n_jobs) if settings.thorough else NOTHING
    rough = float(np.mean(~(found.k_hat <= K_HAT)))
    diagnostics = maker.diagnostics_
    assert diagnostics is not None  # there are enough draws
    agrees = diagnostics.n_chains == 1 or diagnostics.r_hat < R_HAT
    kept = begun if work.goes_on else None
    return _Posterior(found.log_density, rough, diagnostics.r_hat, agrees, uncertainty, kept)


def _without_stuck_chains(ensemble: Ensemble) -> Ensemble:
    """Without chains all of whose draws are less probable than every draw of the best chain.

    Such a chain is stuck in a region of negligible probability. Leave-one-out weights draws by 1/p
    of what is left out, so the worst chain would dominate.
    """
    chains, height = ensemble.chains, ensemble.statistics["log_posterior"]
    labels = np.unique(chains)
    best = max(labels, key=lambda label: float(np.median(height[chains == label])))
    floor = height[chains == best].min()
    kept = [label for label in labels if height[chains == label].max() >= floor]
    return ensemble if len(kept) == len(labels) else ensemble[np.isin(chains, kept)]


def _uncertainty(ensemble: Ensemble, n_jobs: int | None) -> Measured:
    """Average uncertainty, and its Monte Carlo error from quarters of the draws."""
    quarters = np.array_split(np.arange(len(ensemble)), 4)
    parts = [ensemble[rows].average_uncertainty(method="joint", n_jobs=n_jobs) for rows in quarters]
    whole = ensemble.average_uncertainty(n_jobs=n_jobs)
    return Measured(whole, float(np.std(parts, ddof=1)) / 2.0)


def _bootstrap(work: _Work, d: int) -> Measured:
    """Mean average uncertainty of several bootstraps, with the paper's π."""
    values = []
    for k in range(BOOTSTRAPS):
        maker = work.makers.bootstrap.in_dimension(d).set_params(
            n_jobs=work.n_jobs,
            progress=False,
            random_state=np.random.default_rng(seed_for(work.entropy, _BOOTSTRAP, d, k)),
        )
        ensemble = maker._fit_quietly(work.answers).ensemble_
        values.append(ensemble.average_uncertainty(method="paper", n_jobs=work.n_jobs))
    return Measured(float(np.mean(values)), float(np.std(values, ddof=1) / math.sqrt(BOOTSTRAPS)))


def _training_loss(work: _Work, d: int) -> Measured:
    """Loss per answer of the embedding of all answers, without any penalty."""
    estimator = clone(work.makers.estimator).set_params(n_components=d)
    rng = np.random.default_rng(seed_for(work.entropy, _TRAINING, d))
    problem = estimator.settled_problem(work.answers, rng)
    fit = estimator.solver(work=len(work.answers)).solve(problem, rng)
    losses = losses_of(fit.embedding, work.answers, estimator.model(), tie_of(problem))
    return _per_answer(work, losses)


def _per_answer(work: _Work, values: Floats) -> Measured:
    """Mean over answers of values (m,), and its standard error over units."""
    weights = weights_of(work.answers)
    totals = sum_by_unit(values * weights, work.units)
    return Measured(*mean_per_answer(totals, sum_by_unit(weights, work.units)))


def _table(
    work: _Work,
    tried: list[int],
    validated: list[Folds],
    p_values: list[float],
    posteriors: dict[int, _Posterior],
    sizes: Floats,
) -> list[DimensionRow]:
    rows, thorough = [], work.settings.thorough
    for place, (d, folds) in enumerate(zip(tried, validated, strict=True)):
        left_out = posteriors.get(d)
        below = posteriors.get(tried[place - 1]) if place else None
        step = None
        if left_out and below:
            step = Measured(*gain(below.log_density, left_out.log_density))
        rows.append(
            DimensionRow(
                dimension=d,
                training_loss=_training_loss(work, d) if thorough else NOTHING,
                accuracy=_per_answer(work, folds.right),
                log_loss=_per_answer(work, folds.log_loss),
                p_value=p_values[place - 1] if place else math.nan,
                left_out=Measured(*mean_per_answer(-left_out.log_density, sizes))
                if left_out
                else NOTHING,
                gain=step or NOTHING,
                bootstrap=_bootstrap(work, d) if thorough else NOTHING,
                posterior=left_out.uncertainty if left_out else NOTHING,
                r_hat=left_out.r_hat if left_out else math.nan,
                k_hat=left_out.rough if left_out else math.nan,
                agrees=left_out.agrees if left_out else None,
            )
        )
    return rows


def _without_chains(rows: list[DimensionRow]) -> str:
    """The result of cross-validation, for where the chains are no evidence."""
    first, best = rows[0], max(rows, key=lambda row: row.accuracy.value)
    beside = "" if best is first else f", against {first.accuracy.value:.1%} in {first.dimension}"
    return (
        f" Of {first.dimension} to {rows[-1].dimension} dimensions, cross-validation, which needs "
        f"no chains, favours {best.dimension} ({best.accuracy.value:.1%} ± "
        f"{best.accuracy.error:.1%} of held-out answers correct{beside})."
    )


def _caution(rows: list[DimensionRow], chosen: int | None) -> str:
    """A caution if leave-one-out is unreliable in the chosen dimension or the next."""
    place = next((k for k, row in enumerate(rows) if row.dimension == chosen), None)
    if place is None:
        return ""
    poor = [
        f"{row.k_hat:.0%} of the answers in {counted(row.dimension, 'dimension')}"
        for row in rows[place : place + 2]
        if row.k_hat > ROUGH_K_HAT
    ]
    if not poor:
        return ""
    return f" Caution: leave-one-out is unreliable for {' and '.join(poor)}."


# --- settings, checked before the work starts ---------------------------------------------------


LARGEST = 6  # dimension tried by default
FEWEST = 20  # draws per chain


class Makers(NamedTuple):
    """What is fitted in every dimension."""

    estimator: Embedder
    posterior: Posterior
    bootstrap: Bootstrap


def most_dimensions(n: int, m: int) -> int:
    """The largest dimension of n objects with at most m free coordinates; 0 if there is none.

    Without rotations and translations, d dimensions have nd − d(d + 1)/2 free coordinates, which
    increases up to d = n − 1.
    """
    return sum(n * d - d * (d + 1) // 2 <= m for d in range(1, n))


def check_dimensions(dimensions: Sequence[int] | None, answers: Answers) -> list[int]:
    """The dimensions to try, none larger than the answers support."""
    n, m = answers.n_objects, len(answers)
    most = most_dimensions(n, m)
    if dimensions is None:
        tried = list(range(1, min(LARGEST, most) + 1))
        if len(tried) < 2:
            raise TooFewAnswersError(
                f"{m} answers about {n} objects do not support even two dimensions; collect more."
            )
        return tried
    tried = list(dimensions) if isinstance(dimensions, Iterable) else []
    if len(tried) < 2 or not all(map(is_count, tried)) or sorted(set(tried)) != tried:
        raise InputError(
            "dimensions must be two or more positive whole numbers in increasing order, such as 1, "
            f"2 and 3 (in Python: range(1, 4)), got {dimensions!r}."
        )
    for d in tried:
        if d > most:
            why = (
                f"{n} objects span {n - 1} dimensions at most"
                if d >= n
                else f"{m} answers are fewer than the {n * d - d * (d + 1) // 2} free coordinates"
            )
            raise InputError(
                f"{d} dimensions are more than the answers support: {why}. Use up to {most}, or "
                "collect more."
            )
    return [int(d) for d in tried]


def check_makers(settings: DimensionSettings, posterior: Any, answers: Answers) -> Makers:
    """The models to fit, checked before the work starts."""
    estimator = STE(penalty=0.25) if settings.estimator is None else settings.estimator
    if not isinstance(estimator, Embedder):
        raise InputError(f"estimator must be an estimator such as STE(), got {estimator!r}.")
    estimator._check_parameters()
    if not isinstance(posterior, Posterior) or posterior.sampler == "laplace":
        raise InputError(
            "posterior must be a Posterior that samples, such as Posterior(STE()), got "
            f"{posterior!r}."
        )
    if isinstance(posterior.prior, DistancePrior):
        raise InputError(
            "posterior draws distances, which have no dimension; give it a NormalPrior, or omit "
            "prior."
        )
    if posterior._plan().n_samples < FEWEST:
        raise InputError(
            f"posterior needs at least {FEWEST} draws per chain to estimate how well they predict, "
            f"got n_samples={posterior.n_samples}."
        )
    bootstrap = Bootstrap.paper(STE()) if settings.bootstrap is None else settings.bootstrap
    if not isinstance(bootstrap, Bootstrap):
        raise InputError(
            f"bootstrap must be a Bootstrap such as Bootstrap(STE()), got {bootstrap!r}."
        )
    check_settings(bootstrap)
    if bootstrap.unit != "answer":
        number_units(answers, bootstrap.unit)
    return Makers(estimator, posterior, bootstrap)
