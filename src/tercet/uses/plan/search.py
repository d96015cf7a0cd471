"""Try numbers of answers in all worlds until it is clear how many the target needs."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tercet.answers.questions import single_answers
from tercet.ensemble import Ensemble
from tercet.parallel import in_order
from tercet.provenance import seed_for
from tercet.simulate import Floats, Ints
from tercet.triplets import Triplets, restore
from tercet.uses.plan.measures import MEASURES, best_agreement
from tercet.uses.plan.needed import Needed, crossing, needed_answers
from tercet.uses.plan.settings import Setting
from tercet.uses.plan.worlds import SimulatedWorld, answers_in, drawn_world, made_world

__all__ = ["Search"]

POOR_R_HAT = 1.2  # far from agreement; in short chains the largest of many is often above 1.05
COARSE = 1.5  # ratio of two steps between which another one is worth its time
GLANCE = 8  # times the first step: as far as a target beyond all reach is followed

# What random numbers are for: first word of a key.
_WORLD, _FIT, _PILOT, _DRAWS = range(4)


class _Task(NamedTuple):
    """One map to make and to measure."""

    total: int
    world: int


class Search:
    """The steps tried so far, by their total number of answers, and what they gave.

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
        """The total (repeats,) that each world needs."""
        totals = np.array(sorted(self.values))
        sign = -1.0 if self.measure.lower_is_better else 1.0
        curves = sign * np.stack([self.values[total] for total in totals.tolist()], axis=1)
        return np.array([crossing(totals, curve, sign * self.target) for curve in curves])

    def needed(self) -> Needed:
        """What the steps so far say; totals."""
        return needed_answers(self.crossings(), self.setting.assurance)

    def find(self) -> None:
        """Double the answers until the target is reached, and look closer where it is."""
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
        """Measure maps of so many answers, in all worlds; the longest work first."""
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
        """What a map of so many answers is worth, and whether its chains disagree."""
        world = self.worlds[task.world]
        m = task.total - self.setting.base
        answers = self._with_pilot(answers_in(world, m, self._key(_WORLD, task.world)))
        ensemble, poor = self._fit(answers, _FIT, task.world, task.total)
        return self.measure.compute(ensemble, world), poor

    def _fit(self, answers: Triplets, *key: int) -> tuple[Ensemble, bool]:
        maker = self.setting.maker.in_dimension(self.setting.n_components).set_params(
            n_jobs=1,
            progress=False,
            random_state=np.random.default_rng(seed_for(*self._key(*key))),
        )
        maker._fit_quietly(answers)  # few answers make poor fits; they are counted
        diagnostics = getattr(maker, "diagnostics_", None)
        return maker.ensemble_, diagnostics is not None and not diagnostics.r_hat <= POOR_R_HAT

    def _with_pilot(self, rows: Ints) -> Triplets:
        """New answers (m, 3) after those of the pilot, which keep their screens."""
        pilot = self.pilot
        if pilot is None:
            return Triplets(rows, n_objects=self.setting.n_objects)
        screens = None
        if pilot.screens is not None:  # each new answer is a screen of its own
            old = pilot.number_screens()
            screens = np.concatenate([old, old.max() + 1 + np.arange(len(rows))])
        both = np.concatenate([pilot.array, rows])
        return Triplets(both, n_objects=self.setting.n_objects, screens=screens)

    def _key(self, *words: int) -> tuple[int, ...]:
        return (self.entropy, *words)


def _pilot_answers(like: Triplets | Ensemble | None) -> Triplets | None:
    """The answers of a pilot, each as often as it was given."""
    if not isinstance(like, Triplets):
        return None
    rows = single_answers(like, "the pilot")
    votes: Triplets = restore(like[rows]._fields._replace(weights=None))
    return votes
