"""plan_answers: how many answers are enough, found by trying it out in simulated worlds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tercet.bootstrap import Bootstrap
from tercet.diagnosis import warn_about
from tercet.ensemble.maker import warn_about_screens
from tercet.parallel import count_threads
from tercet.posterior import Posterior
from tercet.progress import progress_bar
from tercet.provenance import Seed, entropy_of
from tercet.triplets import Triplets
from tercet.uses.plan.measures import settle_target
from tercet.uses.plan.result import AnswerPlan, PlanRow
from tercet.uses.plan.search import Search
from tercet.uses.plan.settings import check_steps, settle

__all__ = ["plan_answers"]


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
    """Find how many answers to random comparisons a wanted precision needs.

    Worlds are simulated, people in them answer more and more questions, and after each step a map
    is made of the answers and measured against the world.

    Parameters
    ----------
    n_objects : int
        May be left out with ``like``.
    n_components : int, optional
        Dimension of the worlds and of the maps; 2 by default.
    noise : float, optional
        The paper's σ, the standard deviation of log-distances as people see them; 0.3 by default.
        An answer is right with probability Φ(|log(δ_far/δ_near)| / (σ√2)).
    lapse : float, optional
        Share of answers given by a coin; 0 by default.
    shape : {"normal", "mixture"}, optional
        A round cloud of points, the default, or the paper's three clusters in the plane.
    like : Ensemble, Triplets, (m, 3) array or data frame, optional
        A pilot. Worlds are draws of its ensemble, with their own noise. New answers are added to
        those of the pilot: the plan says how many *more*. An Ensemble does not hold its answers:
        the plan is for a new experiment with the same objects.
    measure : {"accuracy", "sure", "radius", "agreement"}
        "accuracy": share of all comparisons that the map has right. "sure": share of which it is
        sure, π above .95 either way. "radius": median radius of the points' 95 % ellipses, the root
        mean square radius of the map being 1. "agreement": share of a next person's answers that
        are predicted.
    target : float, optional
        By default 0.9, 0.7, 0.2 and 0.8.
    assurance : float
        Share of the experiments that shall reach the target.
    answers : sequence of int, optional
        The steps, in rising order. By default they are found: doubled until the target is reached,
        and finer where it is.
    limit : int, optional
        The most answers to try, on top of a pilot's; by default 50 n log2 n, or 8 times the
        pilot's if that is more.
    repeats : int, optional
        Worlds; by default 10, or as many as ``assurance`` needs (36 for 0.9).
    maker : Posterior or Bootstrap, optional
        What makes maps, its dimension being replaced; by default the recommended posterior, with
        2 chains of 250 draws.
    n_jobs : int, optional
        Threads, all cores by default; the result does not depend on them.
    random_state : None, int or numpy.random.Generator
    progress : bool, optional
        Whether to show a progress bar; by default on a terminal only.

    Returns
    -------
    AnswerPlan
        Its ``needed`` has the number and its interval; printed, it is a table and a sentence.

    Notes
    -----
    Each world's curve is made to rise (isotonic regression) and says where it reaches the target;
    the plan is the median of these numbers, or another quantile: ``assurance``. The
    interval lies between two of them in their order: it says what other worlds could have changed,
    not what a wrong noise would. Questions are drawn with replacement.

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
    if isinstance(setting.like, Triplets):
        warn_about(setting.like, min_answers=setting.n_components + 1, stacklevel=2)
        if setting.maker.unit == "answer":
            what, cure = "are taken as independent here", "leave unit='answer' out"
            warn_about_screens(setting.like, what, cure)
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
