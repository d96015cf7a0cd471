"""From a file of answers to everything a report tells."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tercet.answers.questions import number_comparisons, number_units
from tercet.diagnosis import diagnose
from tercet.ensemble import Ensemble
from tercet.errors import ConvergenceWarning, DataWarning, InputError
from tercet.io.reading import Reading
from tercet.posterior import Posterior
from tercet.posterior.diagnostics import Diagnostics
from tercet.provenance import seed_for, versions
from tercet.report.analysis import Analysis, HeldOut, Settings
from tercet.report.cautions import (
    about_calibration,
    about_ceiling,
    about_chains,
    about_dimension,
    about_fit,
    about_guesses,
    about_replicates,
)
from tercet.report.certainty import describe_objects, measure_certainty
from tercet.report.makers import (
    SCALING,
    choose_kind,
    count_screens_once,
    make_maker,
    predict_held_out,
)
from tercet.text import listing
from tercet.triplets import Triplets
from tercet.uses.active import Suggestions, suggest
from tercet.uses.compare.misfit import LackOfFit, lack_of_fit
from tercet.uses.dimension import DimensionEstimate, estimate_dimension
from tercet.uses.dimension.settings import check_dimensions, most_dimensions
from tercet.uses.quality import AnswerCheck, check_answers
from tercet.uses.scale import GoodnessOfFit, PerceptualScale, goodness_of_fit, perceptual_scale
from tercet.uses.scale.stimuli import order_of, renumber

__all__ = ["analyse"]

FEWEST_OBJECTS = 4  # of which a map says more than the answers themselves
MOST_FOR_DIMENSION = 30_000  # answers; of more, whole units are drawn
FEWEST_SAMPLES = 20  # maps
FALLBACK = 2  # dimensions, where the answers do not tell
# Observers who are too few to stand for people in general, and answers of each from which what they
# have in common is known better than how they differ.
FEW_OBSERVERS, MANY_EACH = 10, 50

# First keys of seeds, after those of makers and certainty.
_DIMENSION, _FIT, _QUESTIONS, _PART, _SCALE = range(11, 16)


def analyse(reading: Reading, settings: Settings | None = None) -> Analysis:
    """Check the answers, choose the dimension, draw maps, and say how sure they are.

    Parameters
    ----------
    reading : Reading
        From `tercet.io.read_file`.
    settings : Settings, optional
    """
    settings = Settings() if settings is None else settings
    begun = time.monotonic()
    _check(reading.triplets, settings)
    kind, why = choose_kind(reading, settings)
    # As `tercet check` does it, which must not say anything else of the same file and seed.
    check = check_answers(reading.triplets, catch=reading.catch, random_state=settings.seed)
    if kind == "scale":
        reading = _by_value(reading)
    triplets = reading.triplets
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = (_make_scale if kind == "scale" else _make_map)(kind, triplets, settings)
    ensemble = made.ensemble
    return Analysis(
        reading=reading,
        triplets=triplets,
        check=check,
        dimension=made.dimension,
        dimension_note=made.note,
        ensemble=ensemble,
        kind=kind,
        why=why,
        diagnostics=made.diagnostics,
        objects=describe_objects(ensemble, triplets, settings.level),
        certainty=measure_certainty(
            ensemble, triplets, settings.level, settings.seed, settings.n_jobs
        ),
        held_out=made.held_out,
        lack_of_fit=made.fit,
        suggestions=_suggest(kind, ensemble, triplets, settings),
        warnings=_be_careful(reading, check, caught, made),
        settings=settings,
        versions=versions(),
        seconds=time.monotonic() - begun,
        scale=made.scale,
        goodness=made.goodness,
    )


class _Made(NamedTuple):
    """Maps, and how they were made."""

    ensemble: Ensemble
    note: str
    dimension: DimensionEstimate | None = None
    diagnostics: Diagnostics | None = None
    held_out: HeldOut | None = None
    fit: LackOfFit | None = None
    scale: PerceptualScale | None = None
    goodness: GoodnessOfFit | None = None
    undecided: bool = False  # whether the dimension could not even be estimated


def _make_map(kind: str, triplets: Triplets, settings: Settings) -> _Made:
    estimate, note = _estimate(triplets, settings)
    d = settings.dimension or _shown(estimate)
    undecided = estimate is None and settings.dimension is None
    learned = count_screens_once(triplets) if kind == "posterior" else triplets
    maker = make_maker(kind, triplets, d, settings).fit(learned)
    held_out = predict_held_out(maker, triplets, settings)
    # The crowd kernel hardly knows the size of a map: its draws are shown in one size.
    ensemble = maker.ensemble_.realigned("scale").in_principal_axes()
    if not isinstance(maker, Posterior):
        return _Made(ensemble, note, estimate, held_out=held_out, undecided=undecided)
    fit = lack_of_fit(ensemble, triplets, random_state=_rng(settings, _FIT))
    chains = maker.diagnostics_
    return _Made(ensemble, note, estimate, chains, held_out, fit, undecided=undecided)


def _shown(estimate: DimensionEstimate | None) -> int:
    """The dimension of the map: the recommended one, or some number where there is none."""
    if estimate is None:
        return FALLBACK
    return estimate.dimension or max(FALLBACK, estimate.rows[0].dimension)


def _make_scale(kind: str, triplets: Triplets, settings: Settings) -> _Made:
    """Stimuli on a line by signed differences, the model of difference scaling (MLDS)."""
    how: dict[str, Any] = {"n_jobs": settings.n_jobs, "progress": settings.progress}
    size: dict[str, Any] = {} if settings.samples is None else {"n_samples": settings.samples}
    scale = perceptual_scale(
        triplets,
        _values(triplets),
        random_state=_rng(settings, _SCALE),
        **how,
        **size,
    )
    goodness = goodness_of_fit(scale, random_state=_rng(settings, _FIT), **how)
    ensemble = Ensemble(scale.samples[:, :, None], names=scale.names, alignment="none")
    return _Made(ensemble, "Stimuli on a line.", scale=scale, goodness=goodness)


def _by_value(reading: Reading) -> Reading:
    """The same with stimuli in rising order, where their names are numbers."""
    triplets = reading.triplets
    order, _ = order_of(_values(triplets), triplets.n_objects, triplets.names)
    return replace(reading, triplets=renumber(triplets, order))


def _values(triplets: Triplets) -> list[float] | None:
    """The physical values of stimuli, where all of their names are numbers."""
    try:
        return [float(name) for name in triplets.names or ()] or None
    except ValueError:
        return None


def _check(triplets: Triplets, settings: Settings) -> None:
    if triplets.n_objects < FEWEST_OBJECTS:
        raise InputError(
            f"there are {triplets.n_objects} objects, and a map needs {FEWEST_OBJECTS} or more to "
            "say anything; 'tercet check' counts the answers."
        )
    if settings.uncertainty == "scale" and settings.dimension not in (None, 1):
        raise InputError(
            f"a scale has one dimension, got {settings.dimension}; leave the dimension out, or "
            "choose another uncertainty."
        )
    if settings.dimension is not None and settings.dimensions is not None:
        raise InputError("give the dimension of the map, or dimensions to try, but not both.")
    if settings.dimensions is not None:
        if settings.uncertainty == "scale":
            raise InputError("a scale has one dimension; leave the dimensions to try out.")
        check_dimensions(settings.dimensions, triplets)
    largest = triplets.n_objects - 2
    if settings.dimension is not None and not 1 <= settings.dimension <= largest:
        raise InputError(
            f"the dimension of a map of {triplets.n_objects} objects lies between 1 and {largest}, "
            f"got {settings.dimension}."
        )
    if settings.samples is not None and settings.samples < FEWEST_SAMPLES:
        raise InputError(
            f"samples must be {FEWEST_SAMPLES} or more to tell how sure the map is, got "
            f"{settings.samples}."
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
            settings.dimensions,
            thorough=False,
            n_jobs=settings.n_jobs,
            random_state=_rng(settings, _DIMENSION),
            progress=settings.progress,
        )
    except InputError:  # too few answers for folds, or for two dimensions
        if settings.dimensions is not None:
            raise
        return None, (
            f"The dimension could not be estimated from so few answers, so {FALLBACK} dimensions "
            "are shown."
        )
    return estimate, note


def _part(triplets: Triplets, settings: Settings) -> tuple[Triplets, str]:
    """Whole units, drawn at random, where there are very many answers."""
    if len(triplets) <= MOST_FOR_DIMENSION:
        return triplets, ""
    units = number_units(triplets)
    order = _rng(settings, _PART).permutation(int(units.max()) + 1)
    sizes = np.cumsum(np.bincount(units)[order])
    chosen = order[: int(np.searchsorted(sizes, MOST_FOR_DIMENSION)) + 1]
    part = triplets[np.isin(units, chosen)]
    return part, (
        f"The number of dimensions was estimated from {part.n_answers} of the "
        f"{triplets.n_answers} answers, drawn at random."
    )


def _suggest(
    kind: str, ensemble: Ensemble, triplets: Triplets, settings: Settings
) -> Suggestions | None:
    """Comparisons to ask next; None where all were asked, or pairs are compared."""
    if triplets.is_quadruplets or kind == "scale" or not settings.questions:
        return None
    n = triplets.n_objects
    asked = triplets.array[np.unique(number_comparisons(triplets), return_index=True)[1], 0]
    left = (n - 1) * (n - 2) // 2 - np.bincount(asked, minlength=n)  # of each anchor
    count = min(settings.questions, int(left.sum()))
    if not count:
        return None
    spread = -(-count // max(1, n // 2))  # over half of the anchors, where these have as many
    while int(np.minimum(left, spread).sum()) < count:
        spread *= 2
    return suggest(
        ensemble,
        count,
        # With draws of a posterior, this leaves alone what people will always answer at random.
        "mutual_information" if kind == "posterior" else "uncertainty",
        triplets=triplets,
        per_anchor=spread,
        random_state=_rng(settings, _QUESTIONS),
        n_jobs=settings.n_jobs,
    )


def _be_careful(
    reading: Reading,
    check: AnswerCheck,
    caught: Sequence[warnings.WarningMessage],
    made: _Made,
) -> tuple[str, ...]:
    """What to be careful about, gravest first."""
    triplets, diagnostics = reading.triplets, made.diagnostics
    converged = diagnostics is None or diagnostics.agree
    most = most_dimensions(triplets.n_objects, min(len(triplets), MOST_FOR_DIMENSION))
    found = (
        about_chains(diagnostics),
        about_replicates(made.ensemble.provenance),
        about_dimension(made.dimension, made.ensemble.n_components, most),
        about_fit(made.fit, made.goodness, converged),
        about_calibration(made.held_out),
        about_ceiling(made.held_out, check.ceiling),
        about_guesses(made.held_out),
    )
    said = [caution for caution in found if caution]
    if made.undecided:
        said.append(made.note)
    if made.scale is not None:  # of maps, the cautions above tell it
        kinds = (ConvergenceWarning, DataWarning)
        messages = dict.fromkeys(
            str(each.message) for each in caught if issubclass(each.category, kinds)
        )
        said += [message[:1].upper() + message[1:] for message in messages]
    if made.scale is not None and reading.format not in SCALING and _values(triplets) is None:
        order = listing(triplets.names, range(triplets.n_objects), limit=20)
        said.append(
            f"The scale takes the stimuli in this order, from the first to the last: {order}. If "
            "that is not their order, give their names in the right one."
        )
    said += _about_people(check, made.scale)
    said += reading.doubts
    said += diagnose(triplets, min_answers=made.ensemble.n_components + 1)
    said += [warning for warning in check.warnings() if warning not in check.gaps]
    return tuple(said)


def _about_people(check: AnswerCheck, scale: PerceptualScale | None) -> list[str]:
    """Whom the intervals are about, where observers are few and the check does not say it."""
    counts, shown = check.counts, "map" if scale is None else "scale"
    if counts.observers is None or counts.per_observer is None or counts.observers > FEW_OBSERVERS:
        return []
    if counts.observers == 1:
        return [
            f"All answers are by one observer: the {shown} is of this observer, and its intervals "
            "say nothing about other people."
        ]
    if scale is not None and scale.made.resamples_observers:
        return [scale.about]
    if check.observers_differ or counts.per_observer.median < MANY_EACH:
        return []
    return [
        f"The answers are by {counts.observers} observers, pooled: the intervals are about the "
        f"{shown} of these people. For people in general they would be wider, as people differ."
    ]
