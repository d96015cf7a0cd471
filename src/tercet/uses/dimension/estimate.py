"""estimate_dimension: everything that speaks for or against a dimension, and a recommendation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from tercet.answers.questions import Index, default_unit, number_units
from tercet.bootstrap import Bootstrap
from tercet.diagnosis import warn_about
from tercet.embedder import Embedder, is_count
from tercet.ensemble import Ensemble
from tercet.ensemble.maker import warn_about_screens
from tercet.errors import InputError
from tercet.metrics import squared_distances
from tercet.parallel import count_threads
from tercet.posterior import Posterior
from tercet.progress import progress_bar
from tercet.provenance import Seed, entropy_of, seed_for
from tercet.triplets import Triplets, as_triplets
from tercet.uses.dimension.rule import LeftOut, decide
from tercet.uses.dimension.settings import Makers, check_dimensions, check_makers
from tercet.uses.dimension.steps import (
    Floats,
    Folds,
    Splits,
    corrected_t_test,
    cross_validate,
    gain,
    make_splits,
)
from tercet.uses.dimension.table import NOTHING, DimensionEstimate, DimensionRow, Measured
from tercet.uses.predictive import K_HAT, leave_one_out, mean_per_answer, sum_by_unit, weights_of

__all__ = ["estimate_dimension", "find_dimension"]

# From which on two chains of a few hundred draws ended in different maps. The largest of many
# R-hats of such short chains is often above the limit for long ones where they did not.
R_HAT = 1.1
ROUGH_K_HAT = 0.1  # from which on leaving one out is to be taken with care
BOOTSTRAPS = 5  # each a bootstrap of its own, for the standard error of its uncertainty

# First keys of seeds, after those of the splits.
_POSTERIOR, _BOOTSTRAP, _TRAINING = range(2, 5)


def estimate_dimension(
    triplets: Any,
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
    """Measure what speaks for each dimension, and recommend one, or say that it cannot be told.

    Parameters
    ----------
    triplets : Triplets, (m, 3) or (m, 4) array, or data frame
    dimensions : sequence of int, optional
        In rising order; by default 1 to 6, or to what the answers can carry.
    estimator : Embedder, optional
        What is cross-validated, its n_components being replaced; by default ``STE(penalty=0.25)``.
    posterior : Posterior, optional
        What is left out one by one, its dimension being replaced; by default the recommended one,
        with 2 chains of 250 draws. It says how answers of a screen count: as one choice, unless
        its unit is "answer".
    bootstrap : Bootstrap, optional
        Whose average uncertainty is told, by default ``Bootstrap.paper(STE())``.
    unit : {"comparison", "screen", "observer", "answer"}, optional
        What is left out together; by default screens where some have several answers, else
        comparisons.
    folds, repeats : int
        Of the cross-validation.
    level : float
        Of the t-tests.
    thorough : bool
        Whether to compute the whole table; otherwise only what the recommendation needs.
    n_objects : int, optional
    n_jobs : int, optional
        Threads, all cores by default. Inside ``joblib.parallel_config(backend=...)`` fits run on
        that backend, n_jobs being its own. The result does not depend on either.
    random_state : None, int or numpy.random.Generator
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal only.

    Returns
    -------
    DimensionEstimate
        Its ``dimension`` is None where the answers do not tell.

    Notes
    -----
    The recommendation goes up in two stages, see `tercet.uses.dimension.rule`.
    """
    answers = as_triplets(triplets, n_objects)
    check_dimensions(dimensions, answers)
    warn_about(answers, stacklevel=2)
    if isinstance(posterior, Posterior) and posterior.unit == "answer":
        warn_about_screens(answers, "are taken as independent here", "leave unit='answer' out")
    return find_dimension(
        answers,
        dimensions,
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


def find_dimension(
    answers: Triplets,
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
    n_jobs: int | None = None,
    random_state: Seed = None,
    progress: bool | None = None,
) -> DimensionEstimate:
    """As `estimate_dimension`, for answers that were diagnosed before: it says nothing of them."""
    tried = check_dimensions(dimensions, answers)
    makers = check_makers(estimator, posterior, bootstrap, answers)
    for name, value, least in (("folds", folds, 2), ("repeats", repeats, 1)):
        if not is_count(value) or value < least:
            raise InputError(f"{name} must be a whole number from {least}, got {value!r}.")
    if not 0.0 < level < 0.5:
        raise InputError(f"level must lie between 0 and 0.5, such as 0.05, got {level!r}.")
    unit = default_unit(answers) if unit is None else unit
    units = number_units(answers, unit)
    if int(units.max()) + 1 < folds:
        raise InputError(
            f"{int(units.max()) + 1} {unit}s cannot be dealt into {folds} folds; use fewer folds"
            f"{'' if unit == 'answer' else ', or a smaller unit such as unit=' + repr('answer')}."
        )
    count_threads(n_jobs)
    entropy = entropy_of(random_state)
    weighed = makers.posterior.weigh(answers)
    work = _Work(answers, weighed, units, makers, entropy, n_jobs, thorough, progress)
    splits = make_splits(units, int(folds), int(repeats), entropy)
    held: dict[int, _Held] = {}

    def left_out(d: int) -> LeftOut:
        if d not in held:
            held[d] = _leave_out(work, d)
        return LeftOut(held[d].log_density, held[d].rough, held[d].r_hat, held[d].agrees)

    # Fits of a wrong dimension need not converge; the table says how the chains did.
    validated = _cross_validate(work, tried, splits)
    p_values = [
        corrected_t_test(b.accuracy - a.accuracy, splits.folds) for a, b in pairwise(validated)
    ]
    sizes = sum_by_unit(weights_of(weighed), units)
    decision = decide(tried, p_values, level, left_out, sizes)
    if thorough:
        for d in tried:
            left_out(d)
    rows = _table(work, tried, validated, p_values, held, sizes)
    reason = decision.reason + _caution(rows, decision.dimension)
    if decision.hangs_on is not None:
        reason += _without_chains(rows)
    return DimensionEstimate(
        decision.dimension,
        decision.verdict,
        reason,
        tuple(rows),
        unit,
        answers.n_answers,
        decision.hangs_on,
    )


class _Held(NamedTuple):
    """What a posterior says of answers that it is made to forget."""

    log_density: Floats  # (U,)
    rough: float  # share of the units whose k̂ is too large
    r_hat: float
    agrees: bool  # whether the chains ended in the same maps
    uncertainty: Measured


class _Work(NamedTuple):
    """What every part of the work needs."""

    triplets: Triplets
    weighed: Triplets  # the same, a screen having the weight of one choice
    units: Index
    makers: Makers
    entropy: int
    n_jobs: int | None
    thorough: bool
    progress: bool | None


# --- the parts --------------------------------------------------------------------------------


def _cross_validate(work: _Work, tried: list[int], splits: Splits) -> list[Folds]:
    with progress_bar(len(tried) * len(splits.train), "cross-validation", work.progress) as bar:
        return [
            cross_validate(
                clone(work.makers.estimator).set_params(n_components=d),
                work.weighed,
                splits,
                work.n_jobs,
                bar.update,
            )
            for d in tried
        ]


def _leave_out(work: _Work, d: int) -> _Held:
    """Held-out log-densities of every unit in d dimensions, and how the chains did."""
    maker = work.makers.posterior.in_dimension(d).set_params(
        n_jobs=work.n_jobs,
        progress=work.progress,
        random_state=np.random.default_rng(seed_for(work.entropy, _POSTERIOR, d)),
    )
    ensemble = _in_place(maker._fit_quietly(work.triplets).ensemble_)
    found = leave_one_out(ensemble, work.weighed, work.units)
    uncertainty = _uncertainty(ensemble, work.n_jobs) if work.thorough else NOTHING
    rough = float(np.mean(~(found.k_hat <= K_HAT)))
    diagnostics = maker.diagnostics_
    agrees = diagnostics.n_chains == 1 or diagnostics.r_hat < R_HAT
    return _Held(found.log_density, rough, diagnostics.r_hat, agrees, uncertainty)


def _in_place(ensemble: Ensemble) -> Ensemble:
    """Without chains all of whose draws are less probable than every draw of the best chain.

    Such a chain is stuck where the posterior as good as never is. Leaving one out weighs draws by
    1/p of what is left out, so the worst chain would decide alone.
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
        ensemble = maker._fit_quietly(work.triplets).ensemble_
        values.append(ensemble.average_uncertainty(method="paper", n_jobs=work.n_jobs))
    return Measured(float(np.mean(values)), float(np.std(values, ddof=1) / math.sqrt(BOOTSTRAPS)))


def _training_loss(work: _Work, d: int) -> Measured:
    """Loss per answer of the embedding of all answers, without any penalty."""
    estimator = clone(work.makers.estimator).set_params(n_components=d)
    rng = np.random.default_rng(seed_for(work.entropy, _TRAINING, d))
    embedding = estimator.solve(work.weighed, rng).embedding
    near, far = squared_distances(embedding, work.weighed)
    return _per_answer(work, estimator.model().loss(near, far, d)[0])


def _per_answer(work: _Work, values: Floats) -> Measured:
    """Mean over answers of values (m,), and its standard error over units."""
    weights = weights_of(work.weighed)
    totals = sum_by_unit(values * weights, work.units)
    return Measured(*mean_per_answer(totals, sum_by_unit(weights, work.units)))


def _table(
    work: _Work,
    tried: list[int],
    validated: list[Folds],
    p_values: list[float],
    held: dict[int, _Held],
    sizes: Floats,
) -> list[DimensionRow]:
    rows = []
    for place, (d, folds) in enumerate(zip(tried, validated, strict=True)):
        left_out, below = held.get(d), held.get(tried[place - 1]) if place else None
        step = None
        if left_out and below:
            step = Measured(*gain(below.log_density, left_out.log_density))
        rows.append(
            DimensionRow(
                dimension=d,
                training_loss=_training_loss(work, d) if work.thorough else NOTHING,
                accuracy=_per_answer(work, folds.right),
                log_loss=_per_answer(work, folds.log_loss),
                p_value=p_values[place - 1] if place else math.nan,
                left_out=Measured(*mean_per_answer(-left_out.log_density, sizes))
                if left_out
                else NOTHING,
                gain=step or NOTHING,
                bootstrap=_bootstrap(work, d) if work.thorough else NOTHING,
                posterior=left_out.uncertainty if left_out else NOTHING,
                r_hat=left_out.r_hat if left_out else math.nan,
                k_hat=left_out.rough if left_out else math.nan,
                agrees=left_out.agrees if left_out else None,
            )
        )
    return rows


def _without_chains(rows: list[DimensionRow]) -> str:
    """What cross-validation says, for where the chains say nothing."""
    first, best = rows[0], max(rows, key=lambda row: row.accuracy.value)
    beside = "" if best is first else f", against {first.accuracy.value:.1%} in {first.dimension}"
    return (
        f" Of {first.dimension} to {rows[-1].dimension} dimensions, cross-validation, which needs "
        f"no chains, predicts most left-out answers in {best.dimension} "
        f"({best.accuracy.value:.1%} ± {best.accuracy.error:.1%}{beside})."
    )


def _caution(rows: list[DimensionRow], chosen: int | None) -> str:
    """Words for draws too poor to compare the chosen dimension with the next, or none."""
    place = next((k for k, row in enumerate(rows) if row.dimension == chosen), None)
    if place is None:
        return ""
    poor = [
        f"{row.k_hat:.0%} of them in {row.dimension}"
        for row in rows[place : place + 2]
        if row.k_hat > ROUGH_K_HAT
    ]
    if not poor:
        return ""
    return f" Caution: what is said of left-out answers is a rough guess for {' and '.join(poor)}."
