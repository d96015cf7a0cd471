"""Bootstrap: embed many resamples of the answers (paper, section 3.2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from tercet.accelerator.device import check_device
from tercet.answers.choices import Choices
from tercet.answers.diagnosis import warn_about
from tercet.answers.either import Answers, about_choices, split_of, with_weights
from tercet.answers.streams import StreamedTriplets
from tercet.answers.triplets import Triplets
from tercet.arrays import Floats
from tercet.bootstrap.resampling import (
    UNITS,
    Draw,
    ReplicateOutcome,
    Replicates,
    Rows,
    Units,
    classify_fits,
    draw_answers,
    find_units,
    fit_once,
    fit_replicates,
    is_finite,
    resample,
    sample_size,
    warn_about_replicates,
)
from tercet.bootstrap.streamed import StreamReplicates, fit_streams
from tercet.embedder import (
    Embedder,
    answers_for,
    as_stream,
    given_answers,
    is_count,
    is_number,
    need_room,
    oriented,
    require,
)
from tercet.engine.backend import count_own_threads, fit_anywhere
from tercet.engine.problem import Problem
from tercet.engine.search import Fit
from tercet.engine.ties import has_ties, tie_of
from tercet.ensemble import Ensemble
from tercet.errors import InputError, TercetError
from tercet.makers import REPLICATES, Maker
from tercet.metrics import satisfied, squared_distances
from tercet.models import ANY_PROBABILITY
from tercet.posterior.posterior import model_of_a_map
from tercet.running.checkpoint import Checkpoint, PathLike
from tercet.running.provenance import Seed, record, seed_for
from tercet.running.threads import count_threads, progress_bar, threads_at_most

__all__ = [
    "Bootstrap",
]

# Purposes of random numbers: the first word of the key that spawns a seed from the entropy. The
# second is the number of the replicate, so no replicate depends on how many there are.
ROWS, STARTS, ALL_ANSWERS, REFERENCE = range(4)

USUAL = 100  # default number of replicates; the recommended model has more

_WARM = "replicates start from the fit to all answers: a different bootstrap, blind to other optima"


class Bootstrap(Maker):
    """Many embeddings, each of a resample of the answers; their variation is the uncertainty.

    ``Bootstrap(2)`` is the recommended one in two dimensions.

    Parameters
    ----------
    estimator : int or Embedder
        An integer stands for the recommended model in that dimension: Shepard, with gamma, the tail
        and the prior, as a penalty, at their means in the posterior of these answers, and without a
        lapse rate. ``fit`` finds them; they are in the provenance of ``ensemble_``. The
        ``random_state`` of an estimator, such as ``STE(2)``, is not used.
    n_samples : int, optional
        Number of replicates b; by default 100, and 200 for the recommended model.
    fraction : float
        Share r of the units in a replicate: ⌊r·m⌋ of m are drawn uniformly.
    replace : bool, optional
        Whether to draw with replacement; by default only when fraction is 1.
    unit : {"answer", "observer"}
        What is drawn: single answers, or all answers of an observer together. The choice made on a
        screen is one answer. Integer weights are counts, and every vote is an answer; other weights
        stay with their rows.
    parametric : bool
        Draw new answers to the same questions from the model fitted to all answers instead. The
        estimator needs a penalty: draws from an overfitted maximum vary too little.
    alignment : {"scale", "paper", "rotate", "none"}
        How the embeddings are aligned: by rotation, reflection, translation and scaling to their
        common mean, or to one of them chosen at random as in the paper; without scaling to their
        mean; or not at all.
    correction : bool
        Subsamples without replacement vary more than the estimate from all answers does, by
        (1 − r)/r in variance. Shrink them accordingly towards the embedding of all answers (to
        which the replicates are then aligned). Not valid if answers hardly contradict each other.
    warm_start : bool
        Start every replicate from the embedding of all answers. That is a different bootstrap,
        blind to other optima.
    n_jobs : int, optional
        Threads, all cores by default and with -1. Inside ``joblib.parallel_config(backend=...)``
        batches of replicates run on that backend, with its own n_jobs. The result does not depend
        on either.
    device : {"cpu", "gpu", "auto"}, optional
        Where to compute, many replicates side by side on a GPU; by default the estimator's
        ``device``.
    random_state : None, int or numpy.random.Generator
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal only.
    checkpoint : path, optional
        File in which progress is saved; if it exists, the run is resumed. The result is identical
        to the last bit.

    Attributes
    ----------
    ensemble_ : Ensemble
        The embeddings, with the loss of each among its statistics.
    n_failed_ : int
        Number of replicates that could not be fitted and are left out.
    classes_ : array([-1, 1])
        The answers "far" and "near", in the order of `predict_proba`.

    Notes
    -----
    95 % intervals of relative distances from ``Bootstrap(2)`` contained the true value in
    93.6 ± 1.0 % of cases (800 answers) and 94.4 ± 0.6 % (4000 answers; 15 objects, σ = .3, 24
    simulated worlds); those of CKL with exponent 2 and penalty 0.25 in 83.8 and 51.0 %. See
    docs/bootstrap.md.

    Examples
    --------
    >>> import tercet as tc
    >>> points, _ = tc.simulate.gaussian_mixture(50, random_state=0)
    >>> answers = tc.simulate.noisy_triplets(points, 4000, noise=0.3, random_state=0)
    >>> tc.Bootstrap(tc.STE(2), n_samples=20, random_state=0).fit(answers).ensemble_
    Ensemble(20 draws of 50 objects in 2 dimensions, STEModel(), from bootstrap)
    """

    def __init__(
        self,
        estimator: Embedder | int,
        n_samples: int | None = None,
        *,
        fraction: float = 1.0,
        replace: bool | None = None,
        unit: str = "answer",
        parametric: bool = False,
        alignment: str = "scale",
        correction: bool = False,
        warm_start: bool = False,
        n_jobs: int | None = None,
        device: str | None = None,
        random_state: Seed = None,
        progress: bool | None = None,
        checkpoint: PathLike | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_samples = n_samples
        self.fraction = fraction
        self.replace = replace
        self.unit = unit
        self.parametric = parametric
        self.alignment = alignment
        self.correction = correction
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.device = device
        self.random_state = random_state
        self.progress = progress
        self.checkpoint = checkpoint

    @classmethod
    def paper(cls, estimator: Embedder | int, random_state: Seed = None, **changes: Any) -> Self:
        """The paper's settings (section 5): 20 subsamples of 40 %, aligned to one of them.

        The paper's π is ``ensemble_.triplet_probability(Q, method="paper")``.
        """
        settings: dict[str, Any] = {"n_samples": 20, "fraction": 0.4, "replace": False}
        settings |= {"alignment": "paper", "random_state": random_state}
        return cls(estimator, **(settings | changes))

    def fit(self, X: Any, y: ArrayLike | None = None, *, n_objects: int | None = None) -> Self:
        """Embed the replicates.

        Parameters
        ----------
        X : Choices, Triplets, (m, 3) or (m, 4) array, data frame, or StreamedTriplets
            The answers. Replicates of a stream are fitted one at a time on all cores, and use
            different random numbers than in memory.
        y : (m,) array of +1 and -1, optional
            -1 reverses a row, as in ``STE.fit``.
        n_objects : int, optional
            Overrides the estimator's.
        """
        check_settings(self)
        estimator = self.embedder
        n_objects = estimator.n_objects if n_objects is None else n_objects
        if isinstance(X, StreamedTriplets):
            return self._fit_stream(as_stream(X, y, n_objects))
        answers = given_answers(X, y, n_objects)
        warn_about(answers, min_answers=estimator.n_components + 1, stacklevel=3)
        outcome = self._replicate(answers)
        warn_about_replicates(outcome, type(estimator).__name__, stacklevel=3)
        return self

    # --- inside -------------------------------------------------------------------------------

    def _fit_quietly(self, answers: Answers) -> Self:
        check_settings(self)
        self._replicate(answers)
        return self

    def _replicate(self, answers: Answers) -> ReplicateOutcome:
        """Embed the replicates, set the fitted attributes and return the outcome."""
        need_room(answers.n_objects, self.embedder.n_components, self._count())
        if self.parametric and isinstance(answers, Choices):
            raise InputError(
                "parametric=True draws new answers to comparisons of two pairs, and these are "
                "choices on screens: use parametric=False, or a Posterior."
            )
        settled = self.settle(answers)
        estimator, count = settled.embedder, settled._count()
        number = answers.n_answers if self.unit == "answer" else len(answers)
        about = {"n_answers": number, **about_choices(answers)}
        model = estimator.model()
        by_vote = self.unit == "answer" and not model.is_probability
        if by_vote and isinstance(answers, Choices) and answers.votes is not None:
            answers = with_weights(answers[answers.each_vote()], None)  # to be split
        answers = answers_for(model, answers)
        task = settled._task(answers)
        share = task.size / task.units.number if not self.parametric else 1.0
        work = math.ceil(count * share * len(task.every))
        device = estimator.settle_device(self.device, work)
        unit = settled.unit
        more = {f"{unit}s": task.units.rows, f"sizes of {unit}s": task.units.ends}
        with (
            settled._open_checkpoint(answers, more | {"device": device}) as checkpoint,
            progress_bar(count, "replicates", self.progress) as bar,
            threads_at_most(count_own_threads(self.n_jobs)),
        ):
            entropy, numbers = checkpoint.entropy, range(count)
            shape = answers.n_objects, estimator.n_components
            full = settled._fit_all(task, entropy, checkpoint, device)
            draw, spread = settled._draw(answers, task, full)
            subsets = Replicates(draw, [seed_for(entropy, ROWS, k) for k in numbers])
            seeds = [seed_for(entropy, STARTS, k) for k in numbers]
            init = full.embedding if full and self.warm_start else None
            solver = estimator.solver(init, device)

            def fit(some: list[int]) -> Generator[Fit, None, None]:
                chosen = subsets.only(some), [seeds[k] for k in some]
                return fit_anywhere(solver, task.problem, *chosen, self.n_jobs)

            fits = _in_order(fit_replicates(checkpoint, shape, count, fit), bar.update)
        outcome = classify_fits(fits, estimator.objective(), answers, subsets)
        if self.correction and full and estimator.objective().runs_away:
            outcome = outcome._replace(void=bool(satisfied(full.embedding, answers).all()))
        about["device"] = device
        tie = tie_of(task.problem) if has_ties(task.problem) else None
        self._keep(settled, fits, outcome, full, spread, answers.names, entropy, about, tie)
        return outcome

    def _count(self) -> int:
        """Number of replicates."""
        if self.n_samples is not None:
            return self.n_samples
        return USUAL if isinstance(self.estimator, Embedder) else REPLICATES

    def settle(self, answers: Answers) -> Self:
        """A copy with the defaults that depend on these answers filled in."""
        estimator = self.estimator
        if not isinstance(estimator, Embedder):
            estimator = model_of_a_map(answers, int(estimator))
        changes = {"n_samples": self._count(), "estimator": estimator}
        return type(self)(**(self.get_params(deep=False) | changes))

    def _keep(
        self,
        settled: Self,
        fits: Sequence[Fit],
        outcome: ReplicateOutcome,
        full: Fit | None,
        spread: float,
        names: tuple[str, ...] | None,
        entropy: int,
        about: dict[str, Any],
        tie: float | None = None,
    ) -> None:
        """Set the fitted attributes from the replicates that did not fail.

        All of them have the odds of "cannot tell" of the map of all answers.
        """
        if not outcome.kept:
            raise TercetError(f"all {len(fits)} replicates failed: {fits[0].reason}.")
        kept = [fits[k] for k in outcome.kept]
        draws = np.array([_centred(fit) for fit in kept])
        chosen = np.random.default_rng(seed_for(entropy, REFERENCE)).integers(len(kept))
        self.ensemble_ = Ensemble(
            draws,
            parameters={} if tie is None else {"tie": np.full(len(kept), tie)},
            statistics={"loss": np.array([fit.loss for fit in kept])},
            model=settled.embedder.model(),
            names=names,
            alignment=ALIGNMENTS[self.alignment],
            reference=draws[chosen] if self.alignment == "paper" else None,
            centre=_centred(full) if full and self.correction else None,
            spread=spread,
            provenance=record(
                "bootstrap",
                settled,
                entropy,
                counts=outcome.counts,
                **about,
                notes=[_WARM] if self.warm_start else [],
            ),
        )
        self.n_failed_ = outcome.counts["failed"]
        self.classes_ = np.array([-1, 1])

    def _fit_stream(self, stream: StreamedTriplets) -> Self:
        """Embed replicates of answers on disk."""
        estimator, count = self.estimator, self._count()
        if not isinstance(estimator, Embedder):
            raise InputError(
                f"Bootstrap({estimator}) estimates the parameters of its model from answers in "
                f"memory: name a model, such as Bootstrap(Shepard({estimator}, penalty=0.1)), or "
                "read the answers into memory with tc.read_triplets."
            )
        if self.parametric or self.unit != "answer":
            raise InputError(
                "a stream is resampled answer by answer: omit unit and parametric, or read "
                "the answers into memory with tc.read_triplets."
            )
        need_room(stream.n_objects, estimator.n_components, count)
        warn_about(stream, min_answers=estimator.n_components + 1, stacklevel=4)
        settled = type(self)(**(self.get_params(deep=False) | {"n_samples": count}))
        with (
            settled._open_checkpoint(stream, {"device": "cpu"}) as checkpoint,
            progress_bar(count, "replicates", self.progress) as bar,
            threads_at_most(count_own_threads(self.n_jobs)),
        ):
            entropy, numbers = checkpoint.entropy, range(count)
            shape = stream.n_objects, estimator.n_components
            keys = [(ROWS, k) for k in numbers]
            replicates = StreamReplicates(stream, self.fraction, self.replaces, entropy, keys)
            full, spread = None, 1.0
            if self.correction or self.warm_start:
                rng = np.random.default_rng(seed_for(entropy, ALL_ANSWERS))
                alone = estimator.solver(device=self.device)
                full = fit_once(checkpoint, shape, lambda: alone.solve(stream, rng))
            if self.correction:
                spread = math.sqrt(replicates.size / (replicates.n_answers - replicates.size))
            seeds = [seed_for(entropy, STARTS, k) for k in numbers]
            init = full.embedding if full and self.warm_start else None
            solver = estimator.solver(init, self.device)

            def fit(some: list[int]) -> Generator[Fit, None, None]:
                return fit_streams(solver, replicates, seeds, some, self.n_jobs)

            fits = _in_order(fit_replicates(checkpoint, shape, count, fit), bar.update)
        outcome = classify_fits(fits, estimator.objective(), stream, replicates)
        about = {"n_answers": replicates.n_answers, "device": "cpu"}
        self._keep(settled, fits, outcome, full, spread, stream.names, entropy, about)
        warn_about_replicates(outcome, type(estimator).__name__, stacklevel=4)
        return self

    def _task(self, answers: Answers) -> _Task:
        """The rows that replicates select: the answers and, if parametric, their opposites."""
        units = find_units(answers, self.unit)
        size = sample_size(self.fraction, units.number, self.unit)
        by_vote = units.rows is None  # then a row with three votes can be drawn three times
        counts = answers.votes if by_vote else None
        every = answers.each_vote() if by_vote else np.arange(len(answers))
        drawn = answers if counts is None else with_weights(answers, None)
        if self.parametric:
            drawn = _with_opposites(drawn)
        problem = self.embedder.settled_problem(drawn, np.random.default_rng(0))
        return _Task(problem, counts, every, units, size)

    def _fit_all(
        self, task: _Task, entropy: int, checkpoint: Checkpoint, device: str
    ) -> Fit | None:
        """The embedding of all answers, if it is needed."""
        if not (self.parametric or self.correction or self.warm_start):
            return None
        seed = seed_for(entropy, ALL_ANSWERS)
        work = task.problem, [task.every], [seed]
        solver = self.embedder.solver(None, device)
        shape = task.problem.n_objects, self.embedder.n_components
        fit = fit_once(checkpoint, shape, lambda: solver.solve_subsets(*work)[0])
        if not is_finite(fit):
            raise TercetError(f"the embedding of all answers failed: {fit.reason}.")
        return fit

    def _draw(self, answers: Answers, task: _Task, full: Fit | None) -> tuple[Draw, float]:
        """The function that draws a replicate, and the factor of its spread about the centre."""
        if self.parametric and full:
            near, far = squared_distances(full.embedding, split_of(answers))
            model, d = self.embedder.model(), self.embedder.n_components
            return draw_answers(model.probability(near, far, d), task.counts), 1.0
        draw = resample(task.units, task.size, self.replaces)
        if not (self.correction and full):
            return draw, 1.0
        return draw, math.sqrt(task.size / (task.units.number - task.size))

    @property
    def replaces(self) -> bool:
        """Whether units are drawn with replacement."""
        return self.fraction == 1.0 if self.replace is None else self.replace


class _Task(NamedTuple):
    """What is resampled."""

    problem: Problem
    counts: Rows | None  # how often each answer was given, if weights are counts
    every: Rows  # rows of all answers
    units: Units
    size: int  # number of units in a replicate


def _with_opposites(answers: Answers) -> Triplets:
    """Triplets, followed by the opposite answers to the same questions."""
    assert isinstance(answers, Triplets)  # choices have been refused
    opposite = oriented(answers, np.full(len(answers), -1))
    weights = None if answers.weights is None else np.tile(answers.weights, 2)
    return Triplets(
        np.concatenate([answers.array, opposite.array]),
        n_objects=answers.n_objects,
        weights=weights,
    )


def _in_order(
    numbered: Generator[tuple[int, Fit], None, None], tick: Callable[[int], object]
) -> list[Fit]:
    """The fits ordered by number; ``tick`` is called for each."""
    fits = {}
    with closing(numbered):
        for number, fit in numbered:
            fits[number] = fit
            tick(1)
    return [fits[number] for number in sorted(fits)]


def _centred(fit: Fit) -> Floats:
    return np.asarray(fit.embedding - fit.embedding.mean(axis=0))


# --- checking the settings ----------------------------------------------------------------------


# The alignment of an `Ensemble`, by that of a `Bootstrap`.
ALIGNMENTS = {"paper": "scale", "scale": "scale", "rotate": "rotate", "none": "none"}


class BootstrapSettings(Protocol):
    """The settings of a `Bootstrap`; see there."""

    estimator: Embedder | int
    n_samples: int | None
    fraction: float
    replace: bool | None
    unit: str
    parametric: bool
    alignment: str
    correction: bool
    warm_start: bool
    n_jobs: int | None
    device: str | None

    @property
    def embedder(self) -> Embedder:
        """The estimator."""

    @property
    def replaces(self) -> bool:
        """Whether units are drawn with replacement."""


def check_settings(boot: BootstrapSettings) -> None:
    """Raise an error that names the first invalid setting."""
    valid = isinstance(boot.estimator, Embedder) or is_count(boot.estimator)
    require(boot, "estimator", valid, "a number of dimensions, or an estimator such as STE(2)")
    estimator = boot.embedder
    estimator._check_parameters()
    valid = boot.n_samples is None or is_count(boot.n_samples)
    require(boot, "n_samples", valid, "a positive whole number")
    valid = is_number(boot.fraction) and 0.0 < boot.fraction <= 1.0
    require(boot, "fraction", valid, "a number above 0 and up to 1")
    require(boot, "replace", boot.replace in (None, True, False), "True, False or None")
    require(boot, "unit", boot.unit in UNITS, _either(UNITS))
    require(boot, "alignment", boot.alignment in ALIGNMENTS, _either(ALIGNMENTS))
    count_threads(boot.n_jobs)
    if boot.device is not None:
        check_device(boot.device)
    if boot.parametric:
        _check_parametric(boot)
    elif boot.fraction == 1.0 and not boot.replaces:
        raise InputError(
            "replace=False with fraction=1 draws all answers every time; use a fraction below "
            "1, such as 0.4, or replace=True."
        )
    if boot.correction and (boot.parametric or boot.fraction == 1.0 or boot.replaces):
        raise InputError(
            "correction=True is for subsamples drawn without replacement: use a fraction below "
            "1 (and replace=None), or correction=False."
        )
    if boot.warm_start:
        init = np.zeros((1, estimator.n_components))
        estimator.solver(init, boot.device)  # raises if it cannot


def _check_parametric(boot: BootstrapSettings) -> None:
    objective, name = boot.embedder.objective(), type(boot.embedder).__name__
    if boot.fraction != 1.0 or boot.replace is not None or boot.unit != "answer":
        raise InputError(
            "parametric=True draws new answers to all questions instead of resampling: omit "
            "fraction, replace and unit."
        )
    if not objective.model.is_probability:
        raise InputError(
            f"parametric=True draws answers from a model's probabilities, and {name} has none; "
            f"use {ANY_PROBABILITY} with a penalty, as STE(2, penalty=1/30), or parametric=False."
        )
    if objective.penalty <= 0.0 and isinstance(boot.estimator, Embedder):
        raise InputError(
            f"parametric=True needs a penalty, such as {name}({objective.n_components}, "
            "penalty=1/30): the maximum of the likelihood overfits, and answers drawn from it vary "
            "too little."
        )


def _either(values: Iterable[str]) -> str:
    return "one of " + ", ".join(map(repr, values))
