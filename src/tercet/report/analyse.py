"""From a file of answers to everything a report tells."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence

import numpy as np

from tercet.diagnosis import diagnose
from tercet.errors import InputError, SeparableWarning
from tercet.io.reading import Reading
from tercet.posterior import Posterior
from tercet.provenance import seed_for
from tercet.report.findings import Findings, Settings
from tercet.report.makers import Maker, choose_kind, foretell, make_maker
from tercet.report.sureness import describe_objects, measure_sureness
from tercet.triplets import Triplets
from tercet.uses.active import Suggestions, suggest
from tercet.uses.compare.misfit import lack_of_fit
from tercet.uses.dimension import DimensionEstimate, estimate_dimension
from tercet.uses.quality import AnswerCheck, check_answers
from tercet.uses.units import number_units

__all__ = ["analyse"]

FEWEST_OBJECTS = 4  # of which a map says more than the answers themselves
MOST_FOR_DIMENSION = 30_000  # answers; of more, whole units are drawn
FALLBACK = 2  # dimensions, where the answers do not tell

# First keys of seeds, after those of makers and sureness.
_CHECK, _DIMENSION, _FIT, _QUESTIONS, _PART = range(10, 15)


def analyse(reading: Reading, settings: Settings | None = None) -> Findings:
    """Check the answers, choose the dimension, draw maps, and say how sure they are.

    Parameters
    ----------
    reading : Reading
        From `tercet.io.read_file`.
    settings : Settings, optional
    """
    settings = Settings() if settings is None else settings
    begun = time.monotonic()
    triplets = reading.triplets
    _check(triplets, settings)
    check = check_answers(triplets, catch=reading.catch, random_state=_rng(settings, _CHECK))
    kind, why = choose_kind(triplets, settings)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimate, note = _estimate(triplets, settings)
        d = settings.dimension or (estimate and estimate.dimension) or FALLBACK
        maker = make_maker(kind, triplets, d, settings).fit(triplets)
        foretold = foretell(maker, triplets, settings)
    ensemble = maker.ensemble_.in_principal_axes()
    fit = None
    if isinstance(maker, Posterior):
        fit = lack_of_fit(ensemble, triplets, random_state=_rng(settings, _FIT))
    return Findings(
        reading=reading,
        triplets=triplets,
        check=check,
        dimension=estimate,
        dimension_note=note,
        ensemble=ensemble,
        kind=kind,
        why=why,
        diagnostics=maker.diagnostics_ if isinstance(maker, Posterior) else None,
        objects=describe_objects(ensemble, triplets, settings.level),
        sureness=measure_sureness(
            ensemble, triplets, settings.level, settings.seed, settings.n_jobs
        ),
        foretold=foretold,
        lack_of_fit=fit,
        suggestions=_suggest(maker, triplets, settings),
        warnings=_be_careful(reading, check, caught, maker, d),
        settings=settings,
        versions=ensemble.provenance["versions"],
        seconds=time.monotonic() - begun,
    )


def _check(triplets: Triplets, settings: Settings) -> None:
    if triplets.n_objects < FEWEST_OBJECTS:
        raise InputError(
            f"there are {triplets.n_objects} objects, and a map needs {FEWEST_OBJECTS} or more to "
            "say anything; `tercet check` counts the answers."
        )
    largest = triplets.n_objects - 2
    if settings.dimension is not None and not 1 <= settings.dimension <= largest:
        raise InputError(
            f"the dimension of a map of {triplets.n_objects} objects lies between 1 and {largest}, "
            f"got {settings.dimension}."
        )
    if not 0.5 < settings.level < 1.0:
        raise InputError(f"level must lie between 0.5 and 1, such as 0.95, got {settings.level!r}.")


def _rng(settings: Settings, key: int) -> np.random.Generator:
    return np.random.default_rng(seed_for(settings.seed, key))


def _estimate(triplets: Triplets, settings: Settings) -> tuple[DimensionEstimate | None, str]:
    """The evidence for the dimension, and what else is to be said about it."""
    if settings.dimension is not None:
        return None, "The dimension was given."
    part, note = _part(triplets, settings)
    try:
        estimate = estimate_dimension(
            part,
            thorough=False,
            n_jobs=settings.n_jobs,
            random_state=_rng(settings, _DIMENSION),
            progress=settings.progress,
        )
    except InputError as error:  # too few answers for folds
        return None, f"The dimension could not be estimated: {error} {FALLBACK} was taken."
    if estimate.dimension is None:
        note = f"{note} The answers do not tell, so {FALLBACK} dimensions are shown.".strip()
    return estimate, note


def _part(triplets: Triplets, settings: Settings) -> tuple[Triplets, str]:
    """Whole units, drawn at random, where there are very many answers."""
    if len(triplets) <= MOST_FOR_DIMENSION:
        return triplets, ""
    units = number_units(triplets)
    order = _rng(settings, _PART).permutation(int(units.max()) + 1)
    sizes = np.cumsum(np.bincount(units)[order])
    chosen = order[: int(np.searchsorted(sizes, MOST_FOR_DIMENSION)) + 1]
    rows = np.isin(units, chosen)
    count = int(np.count_nonzero(rows))
    return triplets[rows], f"From {count} of the {len(triplets)} answers, drawn at random."


def _suggest(maker: Maker, triplets: Triplets, settings: Settings) -> Suggestions | None:
    if triplets.is_quadruplets or not settings.questions:
        return None
    # With draws of a posterior, this leaves alone what people will always answer at random.
    strategy = "mutual_information" if isinstance(maker, Posterior) else "uncertainty"
    n = triplets.n_objects
    anchors = -(-settings.questions // max(1, n // 2))
    try:
        return suggest(
            maker.ensemble_,
            settings.questions,
            strategy,
            triplets=triplets,
            per_anchor=max(1, anchors),
            random_state=_rng(settings, _QUESTIONS),
            n_jobs=settings.n_jobs,
        )
    except InputError:  # everything was asked
        return None


def _be_careful(
    reading: Reading,
    check: AnswerCheck,
    caught: Sequence[warnings.WarningMessage],
    maker: Maker,
    d: int,
) -> tuple[str, ...]:
    """What to be careful about, gravest first, each thing once."""
    said = []
    if isinstance(maker, Posterior) and maker.diagnostics_ and maker.diagnostics_.problems:
        said.append(
            f"The maps were not drawn well enough: {'; '.join(maker.diagnostics_.problems)}. Do "
            "not trust the ellipses yet; collect more answers or lower the dimension."
        )
    said += [str(each.message) for each in caught if issubclass(each.category, SeparableWarning)]
    said += [*check.warnings(), *diagnose(reading.triplets, min_answers=d + 1)]
    return tuple(dict.fromkeys(said))
