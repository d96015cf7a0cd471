"""analyse: from answers to everything that the report says."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from tercet.analysis.analysis import Analysis, Object, Settings
from tercet.analysis.cautions import (
    about_calibration,
    about_ceiling,
    about_chains,
    about_dimension,
    about_dimension_chains,
    about_fit,
    about_influential,
    about_people,
    about_replicates,
)
from tercet.answers.choices import Choices
from tercet.answers.diagnosis import diagnose
from tercet.answers.either import Answers
from tercet.answers.questions import number_comparisons, number_units
from tercet.answers.repeats import NoiseCeiling, ceiling_of_answers
from tercet.answers.triplets import Triplets, as_triplets
from tercet.bootstrap import Bootstrap
from tercet.ensemble import Ensemble
from tercet.errors import ConvergenceWarning, DataWarning, InputError, recorded
from tercet.held_out import HeldOut, predict_held_out
from tercet.io import read_file
from tercet.io.reading import Reading
from tercet.makers import MOST_ANSWERS, MOST_OBJECTS
from tercet.posterior import Posterior
from tercet.posterior.diagnostics import Diagnostics
from tercet.posterior.draw import Begun
from tercet.running.provenance import Seed, entropy_of, seed_for, versions
from tercet.text import listing
from tercet.uses.active import Suggestions, suggest
from tercet.uses.certainty import Certainty, certainty
from tercet.uses.compare.comparison import LackOfFit, lack_of_fit
from tercet.uses.dimension import DimensionEstimate
from tercet.uses.dimension.estimate import BEGINNING, find_dimension
from tercet.uses.dimension.tried import (
    DimensionSettings,
    TooFewAnswersError,
    check_dimensions,
)
from tercet.uses.quality import AnswerCheck, check_answers
from tercet.uses.quality.counts import mentions
from tercet.uses.scale import GoodnessOfFit, PerceptualScale, goodness_of_fit, perceptual_scale
from tercet.uses.scale.scale import order_of, renumber

__all__ = ["analyse", "describe_objects"]

KINDS = ("posterior", "bootstrap", "scale")
SCALING = ("mlds-quads", "mlds-triads")  # formats of difference scaling
FOLDS, FOLD_REPLICATES = 5, 50  # of a bootstrap, to predict held-out answers
FEWEST_OBJECTS = 4  # for a map to say more than the answers themselves
FEWEST_SAMPLES = 20  # maps
FALLBACK = 2  # dimensions, if they could not be estimated

# First keys of seeds. The maps use the seed itself, as `tercet posterior` does: makers have keys
# below 10 of their own.
_DIMENSION, _FIT, _QUESTIONS, _, _SCALE, _HELD_OUT, _SAMPLE = range(11, 18)


def analyse(
    answers: Any,
    *,
    dimension: int | None = None,
    dimensions: Sequence[int] | None = None,
    max_dimension: int | None = None,
    uncertainty: str | None = None,
    level: float = 0.95,
    questions: int = 10,
    samples: int | None = None,
    warmup: int | None = None,
    random_state: Seed = 0,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Analysis:
    """Check the answers, choose the dimension, draw maps, and quantify their certainty.

    This is what ``tercet report`` does.

    Parameters
    ----------
    answers : Choices, Triplets, array, data frame, path or Reading
        Files are read by `read_file`, which returns a Reading.
    dimension : int, optional
        Number of dimensions of the map; estimated by default.
    dimensions : sequence of int, optional
        Numbers of dimensions to try; by default 1 to ``max_dimension``.
    max_dimension : int, optional
        The largest to try, 6 by default; fewer are tried if the answers support no more.
    uncertainty : {"posterior", "bootstrap", "scale"}, optional
        By default the posterior; the signed-difference scale for files of difference scaling; a
        bootstrap for very many answers or objects.
    level : float
        Of ellipses and intervals, and above which a comparison counts as certain.
    questions : int
        How many next questions to suggest.
    samples : int, optional
        Draws of each chain, or replicates of the bootstrap; by default as suits the answers.
    warmup : int, optional
        Initial draws of each chain that are discarded, as in `Posterior`.
    random_state : None, int or numpy.random.Generator
    n_jobs : int, optional
        Threads, all cores by default; the result does not depend on them.
    progress : bool, optional
        Whether to show progress bars; by default on a terminal only.

    Returns
    -------
    Analysis

    Examples
    --------
    >>> import tercet as tc
    >>> points, _ = tc.simulate.gaussian_mixture(10, random_state=0)
    >>> answers = tc.simulate.noisy_triplets(points, 300, noise=0.3, random_state=0)
    >>> found = tc.analyse(answers, dimension=2, uncertainty="bootstrap", samples=30)
    >>> found
    Analysis(300 answers, 10 objects: bootstrap in 2 dimensions)
    >>> found.certainty.share > 0.1, found.held_out.accuracy > 0.7
    (True, True)
    """
    started = time.monotonic()
    settings = Settings(
        dimension=dimension,
        dimensions=dimensions,
        max_dimension=max_dimension,
        uncertainty=uncertainty,
        level=level,
        questions=questions,
        samples=samples,
        warmup=warmup,
        seed=entropy_of(random_state),
        n_jobs=n_jobs,
        progress=progress,
    )
    reading = _read(answers)
    every = answers if isinstance(answers, Choices) else reading.answers()
    given = every if isinstance(answers, Choices) else reading.to_fit()
    _check(reading.triplets, given, settings)
    kind, why = choose_kind(reading, settings)
    # As in `tercet check`, which must agree for the same file and seed.
    check = check_answers(every, catch=reading.catch, random_state=settings.seed)
    if kind == "scale":
        reading = _by_value(reading)
        given = reading.triplets
    triplets = reading.triplets
    made = _make_scale(triplets, settings) if kind == "scale" else _make_map(kind, given, settings)
    ensemble = made.ensemble
    certain = certainty(
        ensemble,
        triplets,
        level=level,
        n_jobs=n_jobs,
        random_state=_rng(settings, _SAMPLE),
    )
    found = ceiling_of_answers(given)
    ceiling, no_ceiling = (None, found) if isinstance(found, str) else (found, "")
    return Analysis(
        reading=reading,
        triplets=triplets,
        answers=given,
        check=check,
        dimension=made.dimension,
        dimension_note=made.note,
        ensemble=ensemble,
        kind=kind,
        why=why,
        diagnostics=made.diagnostics,
        objects=describe_objects(ensemble, given, certain),
        certainty=certain,
        held_out=made.held_out,
        ceiling=ceiling,
        no_ceiling=no_ceiling,
        lack_of_fit=made.fit,
        suggestions=_suggest(kind, ensemble, triplets, settings),
        cautions=_be_careful(reading, given, check, ceiling, made),
        settings=settings,
        versions=versions(),
        seconds=time.monotonic() - started,
        scale=made.scale,
        goodness=made.goodness,
    )


def describe_objects(
    ensemble: Ensemble, answers: Answers, certain: Certainty
) -> tuple[Object, ...]:
    """Every object: its position with an interval, and its nearest neighbours."""
    votes = np.ones(len(answers), dtype=np.int64) if answers.votes is None else answers.votes
    counts = mentions(answers, votes)
    mean, interval = ensemble.point_mean(), ensemble.point_interval(certain.level)
    radius = np.sqrt(np.trace(ensemble.point_covariance(), axis1=1, axis2=2))
    return tuple(
        Object(i, name, int(counts[i]), mean[i], interval[i], float(radius[i]), near)
        for i, (name, near) in enumerate(zip(certain.names, certain.neighbours, strict=True))
    )


def _read(answers: Any) -> Reading:
    """The answers, and how they were read."""
    if isinstance(answers, Reading):
        return answers
    if isinstance(answers, str | os.PathLike):
        return read_file(answers)
    triplets = as_triplets(answers)
    return Reading(triplets, "", "tidy", "a table in memory", len(triplets))


# --- what is drawn ----------------------------------------------------------------------------


def choose_kind(reading: Reading, settings: Settings) -> tuple[str, str]:
    """The kind of uncertainty, and why it was chosen."""
    triplets = reading.triplets
    if settings.uncertainty is not None:
        if settings.uncertainty not in KINDS:
            known = ", ".join(map(repr, KINDS))
            raise InputError(f"uncertainty must be one of {known}, got {settings.uncertainty!r}.")
        return settings.uncertainty, "as requested"
    is_line = settings.dimension in (None, 1) and not settings.tries
    if reading.format in SCALING and is_line:
        return "scale", "the file is from difference scaling: stimuli on a line, in known order"
    if len(triplets) > MOST_ANSWERS or triplets.n_objects > MOST_OBJECTS:
        return (
            "bootstrap",
            "a posterior would take very long for this number of answers and objects",
        )
    return "posterior", "it was the best calibrated in simulations and on people's answers"


def make_maker(kind: str, d: int, settings: Settings) -> Posterior | Bootstrap:
    """The ensemble maker: the recommended model in d dimensions."""
    common: dict[str, Any] = {
        "n_samples": settings.samples,
        "random_state": settings.seed,
        "n_jobs": settings.n_jobs,
        "progress": settings.progress,
    }
    if kind == "posterior":
        return Posterior(d, warmup=settings.warmup, **common)
    return Bootstrap(d, **common)


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
    undecided: bool = False  # whether the dimension could not be estimated at all
    warned: tuple[str, ...] = ()  # while the scale was made


def _make_map(kind: str, answers: Answers, settings: Settings) -> _Made:
    estimate, begun, note = _estimate(kind, answers, settings)
    d = settings.dimension or _shown(estimate)
    undecided = estimate is None and settings.dimension is None
    maker = make_maker(kind, d, settings)  # fitted quietly: the cautions say what is to be said
    if isinstance(maker, Posterior):  # its first draws may have chosen the dimension
        maker._fit_quietly(answers, begun.get(d))
    else:
        maker._fit_quietly(answers)
    begun.clear()
    held_out = _predict(maker, answers, settings)
    # The size of a map is the noise of the answers, not of the points: draws are shown at one size.
    ensemble = maker.ensemble_.realigned("scale").in_principal_axes()
    if not isinstance(maker, Posterior):
        return _Made(ensemble, note, estimate, held_out=held_out, undecided=undecided)
    fit = lack_of_fit(ensemble, answers, random_state=_rng(settings, _FIT))
    chains = maker.diagnostics_
    return _Made(ensemble, note, estimate, chains, held_out, fit, undecided=undecided)


def _predict(maker: Posterior | Bootstrap, answers: Answers, settings: Settings) -> HeldOut | None:
    """Predict held-out answers; None if there are too few to hold some out."""
    if int(number_units(answers).max()) + 1 < 2 * FOLDS:
        return None
    if isinstance(maker, Bootstrap):
        maker = clone(maker).set_params(n_samples=FOLD_REPLICATES)
    return predict_held_out(
        maker,
        answers,
        folds=FOLDS,
        random_state=_rng(settings, _HELD_OUT),
        progress=settings.progress,
    )


def _shown(estimate: DimensionEstimate | None) -> int:
    """The dimension of the map: the recommended one, or else a default."""
    if estimate is None:
        return FALLBACK
    return estimate.dimension or max(FALLBACK, estimate.rows[0].dimension)


def _make_scale(triplets: Triplets, settings: Settings) -> _Made:
    """Stimuli on a line by signed differences, the model of difference scaling (MLDS)."""
    how: dict[str, Any] = {"n_jobs": settings.n_jobs, "progress": settings.progress}
    size: dict[str, Any] = {} if settings.samples is None else {"n_samples": settings.samples}
    with recorded() as caught:
        scale = perceptual_scale(
            triplets,
            _values(triplets),
            random_state=_rng(settings, _SCALE),
            **how,
            **size,
        )
        goodness = goodness_of_fit(scale, random_state=_rng(settings, _FIT), **how)
    kinds = (ConvergenceWarning, DataWarning)
    messages = (str(each.message) for each in caught if issubclass(each.category, kinds))
    warned = tuple(dict.fromkeys(messages))
    ensemble = Ensemble(scale.samples[:, :, None], names=scale.names, alignment="none")
    return _Made(ensemble, "Stimuli on a line.", scale=scale, goodness=goodness, warned=warned)


def _by_value(reading: Reading) -> Reading:
    """The same with stimuli in increasing order, if their names are numbers."""
    triplets = reading.triplets
    order, _ = order_of(_values(triplets), triplets.n_objects, triplets.names)
    return replace(reading, triplets=renumber(triplets, order))


def _values(triplets: Triplets) -> list[float] | None:
    """The physical values of stimuli, if all of their names are numbers."""
    try:
        return [float(name) for name in triplets.names or ()] or None
    except ValueError:
        return None


def _check(triplets: Triplets, answers: Answers, settings: Settings) -> None:
    if triplets.n_objects < FEWEST_OBJECTS:
        raise InputError(
            f"there are {triplets.n_objects} objects, but a map needs at least {FEWEST_OBJECTS}; "
            "'tercet check' checks the answers without a map."
        )
    if settings.uncertainty == "scale" and settings.dimension not in (None, 1):
        raise InputError(
            f"a scale has one dimension, got {settings.dimension}; omit the dimension, or choose "
            "another uncertainty."
        )
    if settings.tries and settings.dimension is not None:
        raise InputError("give either the dimension of the map or dimensions to try, not both.")
    if settings.tries:
        if settings.uncertainty == "scale":
            raise InputError("a scale has one dimension; omit the dimensions to try.")
        check_dimensions(settings.dimensions, answers, settings.max_dimension)
    largest = triplets.n_objects - 2
    if settings.dimension is not None and not 1 <= settings.dimension <= largest:
        raise InputError(
            f"the dimension of a map of {triplets.n_objects} objects must be between 1 and "
            f"{largest}, got {settings.dimension}."
        )
    if settings.samples is not None and settings.samples < FEWEST_SAMPLES:
        raise InputError(
            f"samples must be at least {FEWEST_SAMPLES} to estimate uncertainty, got "
            f"{settings.samples}."
        )
    if not 0.5 < settings.level < 1.0:
        raise InputError(f"level must be between 0.5 and 1, such as 0.95, got {settings.level!r}.")


def _rng(settings: Settings, key: int) -> np.random.Generator:
    return np.random.default_rng(seed_for(settings.seed, key))


class _Estimate(NamedTuple):
    """The evidence for the dimension, the chains begun for it, by dimension, and a remark."""

    estimate: DimensionEstimate | None
    begun: dict[int, Begun]
    note: str


def _estimate(kind: str, answers: Answers, settings: Settings) -> _Estimate:
    """Estimate the dimension by the first draws of the map's own chains, if that is possible."""
    if settings.dimension is not None:
        return _Estimate(None, {}, "The number of dimensions was set by the user.")
    whole = make_maker("posterior", 2, settings)
    few = settings.samples is not None and settings.samples < BEGINNING.n_samples
    if few:  # too few to choose by
        whole.set_params(n_samples=None)
    how = DimensionSettings(
        dimensions=settings.dimensions,
        max_dimension=settings.max_dimension,
        thorough=False,
        n_jobs=settings.n_jobs,
        random_state=_rng(settings, _DIMENSION),
        progress=settings.progress,
    )
    try:
        found = find_dimension(answers, how, whole)
    except TooFewAnswersError:
        if settings.tries:
            raise
        return _Estimate(
            None,
            {},
            f"The number of dimensions could not be estimated from so few answers; {FALLBACK} are "
            "shown by default.",
        )
    shared = kind == "posterior" and not few
    return _Estimate(found.estimate, found.begun if shared else {}, "")


def _suggest(
    kind: str, ensemble: Ensemble, triplets: Triplets, settings: Settings
) -> Suggestions | None:
    """Next questions; None if all were asked, or for quadruplets and scales."""
    if triplets.is_quadruplets or kind == "scale" or not settings.questions:
        return None
    n = triplets.n_objects
    asked = triplets.array[np.unique(number_comparisons(triplets), return_index=True)[1], 0]
    left = (n - 1) * (n - 2) // 2 - np.bincount(asked, minlength=n)  # of each anchor
    count = min(settings.questions, int(left.sum()))
    if not count:
        return None
    spread = -(-count // max(1, n // 2))  # over half of the anchors, if these have enough
    while int(np.minimum(left, spread).sum()) < count:
        spread *= 2
    return suggest(
        ensemble,
        count,
        # With draws of a posterior, this avoids questions that people always answer at random.
        "mutual_information" if kind == "posterior" else "uncertainty",
        triplets=triplets,
        per_anchor=spread,
        random_state=_rng(settings, _QUESTIONS),
        n_jobs=settings.n_jobs,
    )


def _be_careful(
    reading: Reading,
    answers: Answers,
    check: AnswerCheck,
    ceiling: NoiseCeiling | None,
    made: _Made,
) -> tuple[str, ...]:
    """What to be careful about, gravest first."""
    diagnostics = made.diagnostics
    converged = diagnostics is None or diagnostics.agree
    found = (
        about_chains(diagnostics),
        about_replicates(made.ensemble.provenance),
        about_dimension(made.dimension, made.ensemble.n_components),
        about_dimension_chains(made.dimension),
        about_fit(made.fit, made.goodness, converged),
        about_calibration(made.held_out),
        about_ceiling(made.held_out, ceiling),
        about_influential(made.held_out),
        made.note if made.undecided else "",
        *_about_scale(reading, made),
        about_people(check, made.scale),
        *reading.doubts,
        *diagnose(answers, min_answers=made.ensemble.n_components + 1),
        *replace(check, gaps=()).warnings(),  # `diagnose` above reports the gaps
    )
    return tuple(caution for caution in found if caution)


def _about_scale(reading: Reading, made: _Made) -> list[str]:
    """Warnings from the estimation of the scale, and the order in which it takes the stimuli."""
    if made.scale is None:
        return []
    triplets = reading.triplets
    said = [message[:1].upper() + message[1:] for message in made.warned]
    if reading.format not in SCALING and _values(triplets) is None:
        order = listing(triplets.names, range(triplets.n_objects), limit=20)
        said.append(
            f"The scale takes the stimuli in this order, from first to last: {order}. If it is "
            "wrong, give the names in the right order."
        )
    return said
