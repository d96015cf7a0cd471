"""How many answers are enough, estimated by simulation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tercet.answers.choices import Choices
from tercet.answers.choices import restore as restore_choices
from tercet.answers.diagnosis import warn_about
from tercet.answers.either import Answers, with_weights
from tercet.answers.questions import single_answers
from tercet.answers.triplets import Triplets
from tercet.arrays import Floats
from tercet.bootstrap import Bootstrap
from tercet.ensemble import Ensemble
from tercet.posterior import Posterior
from tercet.running.provenance import Seed, entropy_of, seed_for
from tercet.running.threads import count_threads, in_order, progress_bar
from tercet.uses.plan.curve import AnswerPlan, Needed, PlanRow, crossing, needed_answers
from tercet.uses.plan.settings import Asked, Setting, bits_of, check_steps, settle
from tercet.uses.plan.worlds import (
    MEASURES,
    SimulatedWorld,
    answers_in,
    best_agreement,
    drawn_world,
    made_world,
    settle_target,
)

__all__ = ["Search", "plan_answers"]


def plan_answers(
    n_objects: int | None = None,
    n_components: int | None = None,
    *,
    kind: str | None = None,
    shown: int | None = None,
    chosen: int | None = None,
    ranked: bool = False,
    noise: float | None = None,
    agreement: float | None = None,
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
    """Estimate how many answers to random questions a desired precision needs.

    Experiments are simulated with increasing numbers of answers; at each number a map is fitted
    and compared with the simulated truth.

    Parameters
    ----------
    n_objects : int
        Optional with ``like``.
    n_components : int, optional
        True dimension, and dimension of the maps; 2 by default.
    kind, shown, chosen, ranked : optional
        What is asked, as in `tercet.simulate.choices`: "triplet", "odd_one_out", "3 of 9", … By
        default what was asked in the pilot, if it was of one kind, else triplets. An answer is one
        screen.
    noise : float, optional
        The paper's σ, the standard deviation of perceived log-distances; 0.3 by default. A triplet
        is answered correctly with probability Φ(|log(δ_far/δ_near)| / (σ√2)).
    agreement : float, optional
        Instead of noise, how often two people give the same answer to such a question, as in
        `tercet.simulate.noise_for_agreement`.
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
        answers, to questions of this kind, that are predicted correctly.
    target : float, optional
        By default 0.9, 0.7, 0.2 and 0.8.
    assurance : float
        Share of the experiments that should reach the target.
    answers : sequence of int, optional
        Numbers of answers to simulate, increasing. By default they are doubled until the target is
        reached, and then refined.
    limit : int, optional
        The most answers to simulate, in addition to a pilot's; by default 50 n log2 n, or 8 times
        the pilot's if that is more. Of questions with M outcomes there are fewer by log2 M.
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
    setting = settle(
        n_objects,
        n_components,
        Asked(kind, shown, chosen, ranked),
        noise,
        agreement,
        lapse,
        shape,
        like,
        assurance,
        repeats,
        limit,
        maker,
    )
    wanted = settle_target(measure, target, setting.question)
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
        question=setting.question,
        noise=setting.noise,
        agreement=agreement,
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
        n, base, bits = self.setting.n_objects, self.setting.base, bits_of(self.setting.question)
        first, most = self._step(n * math.log2(n) / bits), self.setting.limit
        fewest = math.ceil(n / bits)
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
                    s.n_objects,
                    s.n_components,
                    s.shape,
                    s.noise,
                    s.lapse,
                    self._key(_WORLD, w),
                    s.question,
                )
                for w in range(s.repeats)
            ]
        pilot = s.like if isinstance(s.like, Ensemble) else self._fit(s.like, _PILOT)[0]
        rng = np.random.default_rng(seed_for(self.entropy, _DRAWS))
        draws = rng.choice(len(pilot), s.repeats, replace=s.repeats > len(pilot))
        return [drawn_world(pilot, int(draw), s.question) for draw in draws]

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

    def _with_pilot(self, new: Answers | None) -> Answers:
        """The pilot's answers followed by new ones, if there are any."""
        pilot = self.pilot
        if pilot is None or new is None:
            both = pilot if new is None else new
            assert both is not None  # there is a pilot where no answers are new
            return both
        if isinstance(pilot, Choices) or isinstance(new, Choices):
            return Choices.concatenate([pilot, new])
        return Triplets(np.concatenate([pilot.array, new.array]), n_objects=new.n_objects)

    def _key(self, *words: int) -> tuple[int, ...]:
        return (self.entropy, *words)


def _pilot_answers(like: Answers | Ensemble | None) -> Answers | None:
    """The answers of a pilot, votes one by one, without what does not matter here."""
    if like is None or isinstance(like, Ensemble):
        return None
    answers = with_weights(like[single_answers(like, "the pilot")], None)
    if isinstance(answers, Choices):
        return restore_choices(
            answers._fields._replace(names=None, observers=None, screens=None, response_times=None)
        )
    return Triplets(answers.array, n_objects=answers.n_objects)
