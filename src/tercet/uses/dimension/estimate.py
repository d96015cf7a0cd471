"""estimate_dimension: the evidence for each number of dimensions, and a recommendation."""

from __future__ import annotations

import math
from collections.abc import Sequence
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
from tercet.embedder import Embedder, is_count
from tercet.engine.ties import tie_of
from tercet.ensemble import Ensemble
from tercet.errors import InputError
from tercet.held_out import (
    K_HAT,
    leave_one_out,
    mean_per_answer,
    sum_by_unit,
)
from tercet.makers import MOST_OBJECTS, Sizes
from tercet.posterior import Posterior
from tercet.posterior.draw import Begun
from tercet.running.provenance import Seed, entropy_of, seed_for
from tercet.running.threads import count_threads, progress_bar
from tercet.text import counted, joined
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
    decide_by_folds,
    gain,
    losses_of,
    make_splits,
)
from tercet.uses.dimension.tried import (
    FOLDS,
    DimensionSettings,
    Makers,
    TooFewAnswersError,
    check_dimensions,
    check_makers,
    default_repeats,
    most_dimensions,
    too_large,
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
LONGER = 4  # times as many draws of a given posterior whose chains disagree
BOOTSTRAPS = 5  # separate ones, for the standard error of the average uncertainty

# First keys of seeds, after those of the splits.
_POSTERIOR, _BOOTSTRAP, _TRAINING = range(2, 5)


def estimate_dimension(
    answers: Any,
    dimensions: Sequence[int] | None = None,
    *,
    max_dimension: int | None = None,
    estimator: Embedder | None = None,
    posterior: Posterior | None = None,
    bootstrap: Bootstrap | None = None,
    unit: str | None = None,
    folds: int = FOLDS,
    repeats: int | None = None,
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
        In increasing order; by default 1 to ``max_dimension``.
    max_dimension : int, optional
        The largest to try, 6 by default; fewer are tried if the answers support no more.
    estimator : Embedder, optional
        For cross-validation, with n_components replaced; by default ``STE(penalty=0.25)``, and
        ``Shepard(penalty=0.5)`` where cross-validation decides alone.
    posterior : Posterior, optional
        For leave-one-out, with its dimension replaced; by default the first 250 draws of two chains
        of the recommended one, and all of its draws if these chains disagree. For more than 300
        objects or 300 000 answers none by default: cross-validation decides alone.
    bootstrap : Bootstrap, optional
        For the average uncertainty; by default ``Bootstrap.paper(STE())``, and none where there is
        no posterior.
    unit : {"comparison", "screen", "observer", "answer"}, optional
        What is left out together; by default all answers to one question.
    folds : int
        Of the cross-validation.
    repeats : int, optional
        Of the cross-validation; by default 10, and for more than 30 000 answers as many as 300 000
        contain, but at least one.
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
    check_dimensions(dimensions, given, max_dimension)
    warn_about(given, stacklevel=2)
    settings = DimensionSettings(
        dimensions=dimensions,
        max_dimension=max_dimension,
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
    tried = check_dimensions(settings.dimensions, answers, settings.max_dimension)
    entropy = entropy_of(settings.random_state)
    posterior = Posterior(2) if whole is None else whole
    if settings.posterior is not None:
        posterior, whole = settings.posterior, None
    by_chains = settings.posterior is not None or not too_large(answers)
    makers = check_makers(settings, posterior, answers, by_chains)
    repeats = default_repeats(len(answers)) if settings.repeats is None else settings.repeats
    for name, value, least in (("folds", settings.folds, 2), ("repeats", repeats, 1)):
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
    splits = make_splits(units, int(settings.folds), int(repeats), entropy)
    posteriors: dict[int, _Posterior] = {}

    def left_out(d: int) -> LeftOut:
        if d not in posteriors:
            posteriors[d] = _leave_out(work, d)
        found = posteriors[d]
        return LeftOut(found.log_density, found.rough, found.r_hat, found.agrees)

    # Fits in a wrong dimension need not converge; the table reports the chains.
    validated = _cross_validate(work, tried, splits)
    steps = list(pairwise(validated))
    p_values = [corrected_t_test(b.accuracy - a.accuracy, splits.folds) for a, b in steps]
    if by_chains:
        bits = sum_by_unit(-np.log2(chance_of(answers)) * weights_of(answers), units)
        decision = decide(tried, p_values, level, left_out, bits)
    else:
        by_loss = [corrected_t_test(a.loss - b.loss, splits.folds) for a, b in steps]
        accuracy = [_per_answer(work, folds.right) for folds in validated]
        decision = decide_by_folds(tried, p_values, by_loss, level, accuracy)
    if settings.thorough and by_chains:
        for d in tried:
            left_out(d)
    rows = _table(work, tried, validated, p_values, posteriors)
    reason = decision.reason + _about_chains(posteriors) + _caution(rows, decision.dimension)
    if decision.undecided_at is not None:
        reason += _without_chains(rows)
    if not by_chains:
        reason += _without_posterior(answers)
    estimate = DimensionEstimate(
        decision.dimension,
        decision.verdict,
        reason,
        tuple(rows),
        unit,
        answers.n_answers,
        decision.undecided_at,
        tuple(sorted(d for d, found in posteriors.items() if found.ran_longer)),
        by_chains,
        most_dimensions(answers.n_objects, len(answers)),
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
    ran_longer: bool = False  # because the chains disagreed at first
    dropped: int = 0  # chains that are stuck, and were not used
    n_chains: int = 0


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

    def rng(self, *key: int) -> np.random.Generator:
        """A generator of random numbers for one purpose."""
        return np.random.default_rng(seed_for(self.entropy, *key))


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
    """Held-out log-densities of every unit in d dimensions, and diagnostics of the chains.

    Chains that disagree run longer before they are judged.
    """
    settings, begun = work.settings, None
    maker = work.makers.posterior.in_dimension(d)
    maker.set_params(n_jobs=work.n_jobs, progress=settings.progress)
    if not work.goes_on:
        maker.set_params(random_state=work.rng(_POSTERIOR, d))
    if settings.posterior is None:
        begun = maker._begin_quietly(work.answers, BEGINNING)
    else:
        maker._fit_quietly(work.answers)
    ran_longer = not _agree(maker)
    if begun is not None and ran_longer:
        maker._fit_quietly(work.answers, begun)
    elif ran_longer:  # the same chains from their starts
        n_samples = LONGER * maker.settle(work.answers)._plan().n_samples
        maker.set_params(n_samples=n_samples, random_state=work.rng(_POSTERIOR, d))
        maker._fit_quietly(work.answers)
    ensemble = _without_stuck_chains(maker.ensemble_)
    found = leave_one_out(ensemble, work.answers, work.units)
    diagnostics = maker.diagnostics_
    assert diagnostics is not None
    return _Posterior(
        found.log_density,
        float(np.mean(~(found.k_hat <= K_HAT))),
        diagnostics.r_hat,
        _agree(maker),
        _uncertainty(ensemble, work.n_jobs) if settings.thorough else NOTHING,
        begun if work.goes_on else None,
        ran_longer,
        diagnostics.n_chains - len(np.unique(ensemble.chains)),
        diagnostics.n_chains,
    )


def _agree(maker: Posterior) -> bool:
    """Whether the chains ended in the same maps."""
    diagnostics = maker.diagnostics_
    assert diagnostics is not None  # there are enough draws
    return diagnostics.n_chains == 1 or diagnostics.r_hat < R_HAT


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
    if not work.settings.thorough or work.makers.bootstrap is None:
        return NOTHING
    values = []
    for k in range(BOOTSTRAPS):
        maker = work.makers.bootstrap.in_dimension(d).set_params(
            n_jobs=work.n_jobs,
            progress=False,
            random_state=work.rng(_BOOTSTRAP, d, k),
        )
        ensemble = maker._fit_quietly(work.answers).ensemble_
        values.append(ensemble.average_uncertainty(method="paper", n_jobs=work.n_jobs))
    return Measured(float(np.mean(values)), float(np.std(values, ddof=1) / math.sqrt(BOOTSTRAPS)))


def _training_loss(work: _Work, d: int) -> Measured:
    """Loss per answer of the embedding of all answers, without any penalty."""
    estimator = clone(work.makers.estimator).set_params(n_components=d)
    rng = work.rng(_TRAINING, d)
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
) -> list[DimensionRow]:
    rows, thorough = [], work.settings.thorough
    sizes = sum_by_unit(weights_of(work.answers), work.units)
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
                bootstrap=_bootstrap(work, d),
                posterior=left_out.uncertainty if left_out else NOTHING,
                r_hat=left_out.r_hat if left_out else math.nan,
                k_hat=left_out.rough if left_out else math.nan,
                agrees=left_out.agrees if left_out else None,
            )
        )
    return rows


def _about_chains(posteriors: dict[int, _Posterior]) -> str:
    """Which chains had to run longer, and what of them is left out."""
    longer = {d: found for d, found in sorted(posteriors.items()) if found.ran_longer}
    settled = [d for d, found in longer.items() if found.agrees]
    stuck = [d for d in longer if d not in settled]
    said = ""
    if settled:
        said += f" In {_dimensions(settled)} the chains had to run longer before they agreed."
    if stuck:
        said += (
            f" In {_dimensions(stuck)} the chains ran longer and still disagree, so that what "
            "they alone would show is left out."
        )
    for d, found in sorted(posteriors.items()):
        if found.dropped:
            said += (
                f" In {_dimensions([d])} {found.dropped} of {found.n_chains} chains "
                f"{'is' if found.dropped == 1 else 'are'} left out, because every draw is less "
                "probable than all draws of the best chain."
            )
    return said


def _dimensions(numbers: list[int]) -> str:
    return f"{joined(numbers)} dimension{'' if numbers == [1] else 's'}"


def _without_posterior(answers: Answers) -> str:
    """Why there are no chains."""
    many = f"{answers.n_objects} objects"
    if answers.n_objects <= MOST_OBJECTS:
        many = f"{len(answers)} answers"
    return (
        f" This rests on cross-validation of single maps alone: with {many} the chains of a "
        "posterior would take very long to converge."
    )


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
