"""How many answers are enough, estimated by simulation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tercet.answers.choices import as_answers
from tercet.answers.diagnosis import warn_about
from tercet.answers.either import Answers, split_of, with_weights
from tercet.answers.questions import single_answers
from tercet.answers.triplets import Triplets
from tercet.arrays import Floats, Index
from tercet.bootstrap import Bootstrap
from tercet.embedder import is_count, is_number
from tercet.ensemble import Ensemble
from tercet.errors import InputError
from tercet.makers import QUICK
from tercet.posterior import DistancePrior, Posterior
from tercet.running.memory import need_memory
from tercet.running.provenance import Seed, entropy_of, seed_for
from tercet.running.threads import count_threads, in_order, progress_bar
from tercet.uses.plan.curve import (
    AnswerPlan,
    Needed,
    PlanRow,
    crossing,
    fewest_worlds,
    needed_answers,
)
from tercet.uses.plan.worlds import (
    MEASURES,
    SHAPES,
    SimulatedWorld,
    answers_in,
    best_agreement,
    drawn_world,
    made_world,
    settle_target,
)

__all__ = [
    "Search",
    "Setting",
    "check_steps",
    "plan_answers",
    "settle",
]


def plan_answers(
    n_objects: int | None = None,
    n_components: int | None = None,
    *,
    noise: float | None = None,
    lapse: float | None = None,
    shape: str | None = None,
    like: Any = None,
    measure: str = "accuracy",
    target: float | None = None,
    assurance: float = 0.5,
    answers: Sequence[int] | None = None,
    limit: int | None = None,
    repeats: int | None = None,
    maker: Posterior | Bootstrap | None = None,
    n_jobs: int | None = None,
    random_state: Seed = None,
    progress: bool | None = None,
) -> AnswerPlan:
    """Estimate how many answers to random comparisons a desired precision needs.

    Experiments are simulated with increasing numbers of answers; at each number a map is fitted
    and compared with the simulated truth.

    Parameters
    ----------
    n_objects : int
        Optional with ``like``.
    n_components : int, optional
        True dimension, and dimension of the maps; 2 by default.
    noise : float, optional
        The paper's σ, the standard deviation of perceived log-distances; 0.3 by default. An answer
        is correct with probability Φ(|log(δ_far/δ_near)| / (σ√2)).
    lapse : float, optional
        Share of answers given at random; 0 by default.
    shape : {"normal", "mixture"}, optional
        Points from a standard normal distribution, the default, or from the paper's mixture of
        three Gaussians in the plane.
    like : Ensemble, Choices, Triplets, (m, 3) array or data frame, optional
        A pilot. Its draws, with their own noise, are taken as the truth. New answers are added to
        those of the pilot: the plan says how many *more* are needed. An Ensemble does not contain
        its answers: the plan is then for a new experiment with the same objects.
    measure : {"accuracy", "sure", "radius", "agreement"}
        "accuracy": share of all comparisons that the map has right. "sure": share of which it is
        certain, π above .95 either way. "radius": median radius of the points' 95 % ellipses,
        relative to the root mean square radius of the map. "agreement": share of the next person's
        answers that are predicted correctly.
    target : float, optional
        By default 0.9, 0.7, 0.2 and 0.8.
    assurance : float
        Share of the experiments that should reach the target.
    answers : sequence of int, optional
        Numbers of answers to simulate, increasing. By default they are doubled until the target is
        reached, and then refined.
    limit : int, optional
        The most answers to simulate, in addition to a pilot's; by default 50 n log2 n, or 8 times
        the pilot's if that is more.
    repeats : int, optional
        Simulated experiments; by default 10, or as many as ``assurance`` needs (36 for 0.9).
    maker : Posterior or Bootstrap, optional
        Fits the maps, in the dimension above; by default the recommended posterior, with 2 chains
        of 250 draws.
    n_jobs : int, optional
        Threads, all cores by default; the result does not depend on them.
    random_state : None, int or numpy.random.Generator
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal only.

    Returns
    -------
    AnswerPlan
        ``needed`` has the number and its interval; printed, it is a table and a sentence.

    Notes
    -----
    Isotonic regression of each experiment's curve gives the number of answers at which it reaches
    the target; the plan is the median of these numbers, or the quantile ``assurance``. The
    interval, between two order statistics, covers the variation between simulated experiments, not
    a wrong assumption about noise. Questions are drawn with replacement.

    Examples
    --------
    >>> import tercet as tc
    >>> plan = tc.plan_answers(15, noise=0.1, target=0.85, repeats=6, random_state=0)
    >>> plan.needed.low <= plan.needed.value <= plan.needed.high
    True
    """
    wanted = settle_target(measure, target)
    setting = settle(
        n_objects, n_components, noise, lapse, shape, like, assurance, repeats, limit, maker
    )
    steps = None if answers is None else check_steps(answers, setting.base)
    if setting.like is not None and not isinstance(setting.like, Ensemble):
        warn_about(setting.like, min_answers=setting.n_components + 1, stacklevel=2)
    entropy, jobs = entropy_of(random_state), count_threads(n_jobs)
    with progress_bar(0, "maps", progress) as bar:
        search = Search(setting, measure, wanted, entropy, jobs, bar)
        if steps is None:
            search.find()
        else:
            search.look_at(steps)
    rows = []
    for total, values in sorted(search.values.items()):
        low, median, high = map(float, np.quantile(values, [0.1, 0.5, 0.9]))
        rows.append(PlanRow(total - setting.base, median, low, high))
    return AnswerPlan(
        measure=measure,
        target=wanted,
        assurance=setting.assurance,
        needed=search.needed().without(setting.base),
        rows=tuple(rows),
        by_world=tuple((search.crossings() - setting.base).tolist()),
        best=search.best,
        n_objects=setting.n_objects,
        n_components=setting.n_components,
        noise=setting.noise,
        lapse=setting.lapse,
        pilot=setting.base,
        poor=search.poor,
    )


# --- simulate numbers of answers until it is clear how many are needed --------------------------


POOR_R_HAT = 1.2  # chains disagree; in short chains the largest of many is often above 1.05
COARSE = 1.5  # ratio of two steps between which another one is simulated
GLANCE = 8  # times the first step: where to stop if the target cannot be reached

# Purpose of random numbers: first word of a key.
_WORLD, _FIT, _PILOT, _DRAWS = range(4)


class _Task(NamedTuple):
    """One map to fit and evaluate."""

    total: int
    world: int


class Search:
    """The numbers of answers simulated so far, as totals, and their results.

    Parameters
    ----------
    setting : Setting
    measure : str
    target : float
    entropy : int
    n_jobs : int
    bar : progress bar
        Its total grows with the steps.
    """

    def __init__(
        self, setting: Setting, measure: str, target: float, entropy: int, n_jobs: int, bar: Any
    ) -> None:
        self.setting, self.measure, self.target = setting, MEASURES[measure], target
        self.entropy, self.n_jobs, self.bar = entropy, n_jobs, bar
        self.values: dict[int, Floats] = {}  # (repeats,) of each total
        self.poor = 0
        self.pilot = _pilot_answers(setting.like)
        self.worlds = self._make_worlds()
        self.best: float | None = None
        if measure == "agreement":
            best = [best_agreement(world) for world in self.worlds]
            self.best = float(np.quantile(best, 1.0 - setting.assurance))

    def crossings(self) -> Floats:
        """The total (repeats,) that each simulated experiment needs."""
        totals = np.array(sorted(self.values))
        sign = -1.0 if self.measure.lower_is_better else 1.0
        curves = sign * np.stack([self.values[total] for total in totals.tolist()], axis=1)
        return np.array([crossing(totals, curve, sign * self.target) for curve in curves])

    def needed(self) -> Needed:
        """Estimate from the steps so far; totals."""
        return needed_answers(self.crossings(), self.setting.assurance)

    def find(self) -> None:
        """Double the answers until the target is reached, then refine."""
        n, base = self.setting.n_objects, self.setting.base
        first, fewest, most = self._step(n * math.log2(n)), n, self.setting.limit
        if base:
            first = fewest = base
        if self.best is not None and self.best < self.target:
            most = min(most, GLANCE * first)
        first = min(first, most)
        self.look_at([first, min(most, self._step(2.0 * first))])
        while True:
            needed, tried = self.needed(), sorted(self.values)
            if (needed.low or math.inf) <= tried[0] > fewest:
                self.look_at([max(fewest, self._step(tried[0] / 2.0))])
            elif needed.high is None and tried[-1] < most:
                self.look_at([min(most, self._step(2.0 * tried[-1]))])
            else:
                break
        if needed.low is not None:
            end = needed.high or tried[-1]
            self.look_at(
                [
                    self._step(math.sqrt(a * b))
                    for a, b in pairwise(tried)
                    if a < end and b > needed.low and b / a > COARSE
                ]
            )

    def look_at(self, totals: list[int]) -> None:
        """Evaluate maps of these numbers of answers, in all worlds; the longest first."""
        new = sorted(set(totals) - self.values.keys(), reverse=True)
        tasks = [_Task(total, w) for total in new for w in range(len(self.worlds))]
        self.bar.total = (self.bar.total or 0) + len(tasks)
        self.bar.refresh()
        for total in new:
            self.values[total] = np.empty(len(self.worlds))
        for task, (value, poor) in zip(
            tasks, in_order(self._measure, tasks, self.n_jobs), strict=True
        ):
            self.values[task.total][task.world] = value
            self.poor += poor
            self.bar.update(1)

    # --- inside -------------------------------------------------------------------------------

    def _step(self, total: float) -> int:
        """A total near this one, whose new answers are a number of two digits and zeros."""
        new = max(1, round(total) - self.setting.base)
        return self.setting.base + int(round(new, 2 - len(str(new))))

    def _make_worlds(self) -> list[SimulatedWorld]:
        s = self.setting
        if s.like is None:
            assert s.noise is not None
            assert s.lapse is not None
            return [
                made_world(
                    s.n_objects, s.n_components, s.shape, s.noise, s.lapse, self._key(_WORLD, w)
                )
                for w in range(s.repeats)
            ]
        pilot = s.like if isinstance(s.like, Ensemble) else self._fit(s.like, _PILOT)[0]
        rng = np.random.default_rng(seed_for(self.entropy, _DRAWS))
        draws = rng.choice(len(pilot), s.repeats, replace=s.repeats > len(pilot))
        return [drawn_world(pilot, int(draw)) for draw in draws]

    def _measure(self, task: _Task) -> tuple[float, bool]:
        """The measure of one map, and whether its chains disagree."""
        world = self.worlds[task.world]
        m = task.total - self.setting.base
        answers = self._with_pilot(answers_in(world, m, self._key(_WORLD, task.world)))
        ensemble, poor = self._fit(answers, _FIT, task.world, task.total)
        return self.measure.compute(ensemble, world), poor

    def _fit(self, answers: Answers, *key: int) -> tuple[Ensemble, bool]:
        maker = self.setting.maker.in_dimension(self.setting.n_components).set_params(
            n_jobs=1,
            progress=False,
            random_state=np.random.default_rng(seed_for(*self._key(*key))),
        )
        maker._fit_quietly(answers)  # poor fits of few answers are counted, not warned of
        diagnostics = getattr(maker, "diagnostics_", None)
        return maker.ensemble_, diagnostics is not None and not diagnostics.r_hat <= POOR_R_HAT

    def _with_pilot(self, rows: Index) -> Answers:
        """The pilot's answers, with their screens, followed by new ones (m, 3)."""
        pilot = self.pilot
        if pilot is None:
            return Triplets(rows, n_objects=self.setting.n_objects)
        screens = None
        if pilot.screens is not None:  # each new answer is a screen of its own
            old = pilot.number_screens()
            screens = np.concatenate([old, old.max() + 1 + np.arange(len(rows))])
        both = np.concatenate([pilot.array, rows])
        return as_answers(Triplets(both, n_objects=self.setting.n_objects, screens=screens))

    def _key(self, *words: int) -> tuple[int, ...]:
        return (self.entropy, *words)


def _pilot_answers(like: Answers | Ensemble | None) -> Triplets | None:
    """The answers of a pilot, votes one by one; of choices the comparisons, each on its screen."""
    if like is None or isinstance(like, Ensemble):
        return None
    return split_of(with_weights(like[single_answers(like, "the pilot")], None))


# --- settings, checked before the work starts ---------------------------------------------------


NOISE, LAPSE, SHAPE, DIMENSION = 0.3, 0.0, SHAPES[0], 2  # defaults
WORLDS = 10
LIMIT, LIMIT_OF_PILOT = 50, 8  # times n log2 n, and times the pilot's answers


class Setting(NamedTuple):
    """The experiment to plan."""

    n_objects: int
    n_components: int
    noise: float | None  # None where a pilot says it
    lapse: float | None
    shape: str
    like: Answers | Ensemble | None
    base: int  # answers of the pilot
    assurance: float
    repeats: int
    limit: int  # of all answers, the pilot's among them
    maker: Posterior | Bootstrap


def settle(
    n_objects: int | None,
    n_components: int | None,
    noise: float | None,
    lapse: float | None,
    shape: str | None,
    like: Any,
    assurance: float,
    repeats: int | None,
    limit: int | None,
    maker: Posterior | Bootstrap | None,
) -> Setting:
    """Check all settings, and fill in the defaults."""
    if like is not None:
        like = _read_pilot(like)
        n, d = _of_pilot(like, n_objects, n_components, noise, lapse, shape)
    else:
        d = DIMENSION if n_components is None else n_components
        noise, lapse = NOISE if noise is None else noise, LAPSE if lapse is None else lapse
        shape = SHAPE if shape is None else shape
        n = _check_world(n_objects, d, noise, lapse, shape)
    need_memory(
        6 * n**2,
        f"All comparisons of one anchor among {n} objects, which a plan uses,",
        "plan for fewer objects",
    )
    if not (is_number(assurance) and 0.0 < assurance < 1.0):
        raise InputError(f"assurance must lie between 0 and 1, such as 0.5, got {assurance!r}.")
    fewest = fewest_worlds(assurance)
    repeats = max(WORLDS, fewest) if repeats is None else repeats
    if not is_count(repeats) or repeats < fewest:
        raise InputError(
            f"repeats must be at least {fewest}: fewer simulated experiments cannot show what "
            f"{100 * assurance:.3g} % of experiments reach; got {repeats!r}."
        )
    base = 0 if like is None or isinstance(like, Ensemble) else like.n_answers
    if limit is None:
        limit = max(math.ceil(LIMIT * n * math.log2(n)), LIMIT_OF_PILOT * base)
    elif not is_count(limit) or limit < n:
        raise InputError(
            f"limit must be a whole number of at least {n}, one answer per object, got {limit!r}."
        )
    return Setting(
        int(n),
        int(d),
        noise,
        lapse,
        shape or SHAPE,
        like,
        base,
        float(assurance),
        int(repeats),
        base + int(limit),
        _check_maker(maker),
    )


def check_steps(answers: Sequence[int], base: int) -> list[int]:
    """The steps, as totals with the pilot's answers."""
    steps = list(answers) if isinstance(answers, Iterable) else []
    valid = all(is_count(m) or (base > 0 and m == 0) for m in steps)
    if len(steps) < 2 or not valid or sorted(set(steps)) != steps:
        raise InputError(
            "answers must be two or more increasing whole numbers, such as [500, 1000, 2000], got "
            f"{answers!r}."
        )
    return [base + int(m) for m in steps]


def _read_pilot(like: Any) -> Answers | Ensemble:
    """The ensemble, or the answers of a pilot."""
    if isinstance(like, Ensemble):
        return like
    try:
        return as_answers(like)
    except InputError as error:
        raise InputError(
            f"like must be the answers of a pilot, or an Ensemble made of them: {error}"
        ) from error


def _of_pilot(
    like: Answers | Ensemble,
    n_objects: int | None,
    n_components: int | None,
    noise: float | None,
    lapse: float | None,
    shape: str | None,
) -> tuple[int, int]:
    """The number of objects and of dimensions of a pilot."""
    for name, value in (("noise", noise), ("lapse", lapse), ("shape", shape)):
        if value is not None:
            raise InputError(f"{name} is estimated from the pilot in like; leave {name} out.")
    if n_objects not in (None, like.n_objects):
        raise InputError(
            f"the pilot in like has {like.n_objects} objects, and n_objects is {n_objects!r}; "
            "leave n_objects out."
        )
    if not isinstance(like, Ensemble):
        if split_of(like).is_quadruplets:
            raise InputError("a plan is for triplets, and the pilot in like has quadruplets.")
        d = DIMENSION if n_components is None else n_components
        _check_dimension(d, like.n_objects)
        return like.n_objects, d
    if like.kind != "points" or like.model is None or not like.model.is_probability:
        raise InputError(
            "like must be an ensemble of points from a probabilistic model, such as that of "
            "Posterior(CKL(2)); this one cannot simulate answers."
        )
    if n_components not in (None, like.n_components):
        raise InputError(
            f"the ensemble in like has {like.n_components} dimensions, and n_components is "
            f"{n_components!r}; leave n_components out."
        )
    return like.n_objects, like.n_components


def _check_world(n: int | None, d: int, noise: float, lapse: float, shape: str) -> int:
    """The number of objects, if the settings of the simulation are valid."""
    if n is None or not is_count(n) or n < 4:
        raise InputError(f"n_objects must be a whole number from 4, got {n!r}.")
    _check_dimension(d, n)
    if not is_number(noise) or noise < 0.0:
        raise InputError(f"noise must be a standard deviation of at least 0, got {noise!r}.")
    if not is_number(lapse) or not 0.0 <= lapse < 1.0:
        raise InputError(f"lapse must be a share of at least 0 and below 1, got {lapse!r}.")
    if shape not in SHAPES:
        raise InputError(f"shape must be one of {', '.join(map(repr, SHAPES))}, got {shape!r}.")
    if shape == "mixture" and d != 2:
        raise InputError(f"shape='mixture' has two dimensions, as in the paper; got {d}.")
    return n


def _check_dimension(d: int, n: int) -> None:
    if not is_count(d) or d > n - 2:
        raise InputError(
            f"n_components must be a whole number from 1 to {n - 2}, two fewer than the objects, "
            f"got {d!r}."
        )


def _check_maker(maker: Posterior | Bootstrap | None) -> Posterior | Bootstrap:
    if maker is None:
        return Posterior(2, **QUICK)
    if not isinstance(maker, Posterior | Bootstrap):
        raise InputError(
            "maker must be an unfitted Posterior or Bootstrap, such as Posterior(STE()); got "
            f"{type(maker).__name__}."
        )
    if isinstance(maker, Posterior) and isinstance(maker.prior, DistancePrior):
        raise InputError("maker draws distances, which have no dimension; use a NormalPrior.")
    return maker
