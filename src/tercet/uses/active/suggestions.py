"""suggest: the most informative questions (paper, section 4.4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tercet.answers.choices import Choices
from tercet.answers.either import Answers, split_of, weights_of
from tercet.answers.triplets import Triplets, restore
from tercet.arrays import Bools, Floats, Index
from tercet.ensemble import Ensemble
from tercet.errors import InputError
from tercet.running.provenance import Seed, entropy_of
from tercet.running.threads import count_threads
from tercet.tables import Table
from tercet.uncertainty import default_method
from tercet.uses.active import scores
from tercet.uses.active.candidates import (
    IN_BITS,
    STRATEGIES,
    Candidates,
    check_cap,
    check_count,
    check_ensemble,
    check_left,
    check_options,
    choose,
    default_strategy,
    number_rows,
    read_objects,
)
from tercet.uses.active.pool import Pool, choose_rows, find_pool
from tercet.uses.active.question_kinds import Kind, find_kind

__all__ = ["STRATEGIES", "Suggestions", "suggest"]


DRAWS = {"mutual_information": 200, "information_gain": 8}  # draws used by default
EXACT = 300  # objects, up to which all comparisons are scored
POOL = EXACT * (EXACT - 1) * (EXACT - 2) // 2
SHARE = 10  # by which the pool is smaller for "information_gain" and quadruplets
SHARE_OF_SETS = 100  # for "nearest", whose cost grows with the objects shown


@dataclass(frozen=True, eq=False)
class Suggestions:
    """Questions to ask next, best first; `np.asarray` gives an array (k, w).

    An anchor comes first. Objects whose order means nothing are in the order of their numbers:
    randomise their sides in the experiment.

    Attributes
    ----------
    array : (k, w) integer array
        Rows (anchor, one, other), one < other; of other kinds (one, two, three), (a, b, c, d), or
        the anchor and the objects shown with it.
    scores : (k,) array
        See `suggest`; comparable within one call. NaN for questions mixed in at random.
    strategy : str
    objects : tuple of str, optional
        The names of the objects.
    kind : str
        The kind of the questions.
    """

    array: Index
    scores: Floats
    strategy: str
    objects: tuple[str, ...] | None = field(default=None, repr=False)
    kind: str = "triplet"

    @property
    def names(self) -> list[tuple[str, ...]] | None:
        """The rows by the names of the objects, if they have names."""
        if self.objects is None:
            return None
        return [tuple(self.objects[i] for i in row) for row in self.array.tolist()]

    @property
    def random(self) -> Bools:
        """Which questions were drawn at random, (k,)."""
        return np.isnan(self.scores) | (self.strategy == "random")

    @property
    def columns(self) -> tuple[str, ...]:
        """What the objects of a row are called."""
        return Kind(self.kind, self.array.shape[1] - 1).columns

    def table(self) -> str:
        """One line per question: its objects and the score."""
        rows = [tuple(map(str, row)) for row in self]
        values = [
            "" if self.strategy == "random" else "at random" if value != value else f"{value:.4f}"
            for value in self.scores
        ]
        cells = [(*row, value) for row, value in zip(rows, values, strict=True)]
        heading = STRATEGIES[self.strategy]
        if self.kind != "triplet" and self.strategy == "uncertainty":
            heading = "draws that dissent"
        return Table("", (*self.columns, heading), cells).text()

    def __str__(self) -> str:
        return self.table()

    def __len__(self) -> int:
        return len(self.array)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Row by row, with names where there are names."""
        rows: list[Any] = self.names or [tuple(row) for row in self.array.tolist()]
        return iter(rows)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.array, dtype=dtype, copy=copy)


def suggest(
    ensemble: Ensemble | Answers | Sequence[str] | int,
    k: int = 10,
    strategy: str | None = None,
    *,
    kind: str = "triplet",
    n_shown: int | None = None,
    triplets: Any = None,
    pending: Any = None,
    candidates: Any = None,
    repeats: bool = False,
    per_anchor: int | None = None,
    per_object: int | None = None,
    method: str | None = None,
    n_draws: int | None = None,
    pool: int = POOL,
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> Suggestions:
    """The k most informative questions, best first.

    Parameters
    ----------
    ensemble : Ensemble, or for "random" also Triplets, Choices, list of names or int
        Such as ``post.ensemble_``. Random questions need no maps: the answers so far, or the names
        or the number of the objects, are enough.
    k : int
        How many; they are all different.
    strategy : {"mutual_information", "information_gain", "uncertainty", "random"}, optional
        - "mutual_information", the default for probabilistic models (STE, TSTE, CKL or Shepard):
          most information of the whole answer about which of the draws is true. It avoids questions
          that people would always answer at random.
        - "information_gain", from the crowd kernel: most information about the position of the
          anchor, given the anchor's own answers (``triplets``). For triplets only.
        - "uncertainty", the paper's, and the default with any other model, or with a ``method``: π
          nearest to ½; for other kinds of questions, the largest share of draws in which another
          pair is the nearest than in most. It works with any ensemble.
        - "random": all questions are equally likely.

        The first two need a probabilistic model; their scores are in bits.
    kind : {"triplet", "odd_one_out", "quadruplet", "nearest"}
        - "triplet": is the anchor closer to one or to other?
        - "odd_one_out": which of three objects is the odd one out?
        - "quadruplet": is a closer to b, or c to d?
        - "nearest": which of the objects shown are the nearest to the anchor? Questions are scored
          by the information of the first choice, one of those shown, whether more are chosen or
          not.
    n_shown : int, optional
        Objects shown with the anchor, 8 by default, for "nearest".
    triplets : Triplets, Choices, or rows of numbers or names, optional
        The answers so far. Their questions are not suggested again, unless ``repeats``. By
        default those given in place of an ensemble. Rows are those of the kind: (anchor, near,
        far), (similar1, similar2, odd), (a, b, c, d), or the anchor and the objects shown.
    pending : the same, optional
        Questions already asked but not answered: never suggested.
    candidates : the same, optional
        The only questions to choose from, whatever the order of objects or the answer; by default
        all, of triplets n(n − 1)(n − 2)/2.
    repeats : bool
        Whether answered questions may be asked again, as in the paper.
    per_anchor : int, optional
        The most suggestions with the same anchor. By default unlimited, except for the two
        strategies in bits, whose best questions often share a few anchors: about twice as many as
        if all anchors had equally many. ``per_anchor=k`` removes the limit.
    per_object : int, optional
        The same for questions without an anchor: the most suggestions with the same object.
    method : {"paper", "joint", "vote"}, optional
        How π is computed, for "uncertainty"; see `Ensemble.triplet_probability`. For triplets only.
    n_draws : int, optional
        How many draws to use, evenly spaced. By default all for "uncertainty", 200 for
        "mutual_information" and 8 for "information_gain", or all if there are fewer.
    pool : int
        The most questions to score; of more, a random sample of about this size is scored (a
        tenth of that for "information_gain", whose cost for each of them grows with n, and for
        quadruplets, a hundredth for "nearest"). The default is the number of triplets of 300
        objects.
    random_state : None, int or numpy.random.Generator
        For ties, and for the sample.
    n_jobs : int, optional
        Threads, all cores by default; the result does not depend on them.

    Examples
    --------
    >>> import tercet as tc
    >>> points, _ = tc.simulate.gaussian_mixture(20, random_state=0)
    >>> answers = tc.simulate.noisy_triplets(points, 500, noise=0.3, random_state=0)
    >>> boot = tc.Bootstrap(tc.STE(2), n_samples=20, random_state=0).fit(answers)
    >>> tc.suggest(boot.ensemble_, 5, triplets=answers, random_state=0).array.shape
    (5, 3)
    >>> tc.suggest(boot.ensemble_, 1, kind="odd_one_out", random_state=0).columns
    ('one', 'two', 'three')
    """
    form = find_kind(kind, n_shown)
    objects = read_objects(ensemble, strategy, form)
    if strategy is None:
        assert isinstance(ensemble, Ensemble)  # read_objects saw to it
        strategy = default_strategy(ensemble.model, method)
    check_options(form, k, strategy, per_anchor, per_object, method)
    check_count("pool", pool)
    if n_draws is not None:
        check_count("n_draws", n_draws)
    if isinstance(ensemble, Ensemble):
        check_ensemble(ensemble, strategy)
    jobs = count_threads(n_jobs)
    n = objects.n_objects
    if n < form.width:
        raise InputError(f"kind={kind!r} shows {form.width} objects, and there are only {n}.")
    given = objects if triplets is None else triplets
    if form.name == "triplet" and isinstance(given, Triplets | Choices):
        given = restore(split_of(given)._fields._replace(screens=None))
    answers = form.read(objects, given, "triplets")
    answered, _ = form.questions_of(answers)
    waiting, _ = form.questions_of(form.read(objects, pending, "pending"))
    taken = waiting if repeats else np.concatenate([waiting, answered])
    offered = None
    if candidates is not None:
        offered, _ = form.questions_of(form.read(objects, candidates, "candidates"))
    entropy, room = entropy_of(random_state), _room(pool, k, strategy, n, form)
    maps = None
    if isinstance(ensemble, Ensemble) and strategy != "random":
        maps = _thin(ensemble, n_draws or DRAWS.get(strategy))
    if form.name == "triplet":
        numbers = None if offered is None else np.unique(number_rows(offered, n))
        questions = Candidates(n, np.unique(number_rows(taken, n)), numbers, room, entropy)
        check_left(
            form, k, int(questions.left.sum()), None if numbers is None else len(numbers), repeats
        )
        if per_anchor is not None:
            check_cap(form, k, int(np.minimum(questions.left, per_anchor).sum()), per_anchor)
        rows, values = _best_triplets(
            questions, maps, k, strategy, per_anchor, method, answers, jobs
        )
    else:
        limit = per_anchor if form.has_anchor else per_object
        found = find_pool(form, n, taken, offered, room, entropy)
        rows, values = _best_rows(found, maps, k, strategy, limit, taken, offered, repeats, jobs)
    for column in (rows, values):
        column.setflags(write=False)
    return Suggestions(rows, values, strategy, objects.names, form.name)


def _best_triplets(
    questions: Candidates,
    maps: Ensemble | None,
    k: int,
    strategy: str,
    per_anchor: int | None,
    method: str | None,
    answers: Answers | None,
    n_jobs: int,
) -> tuple[Index, Floats]:
    """The best triplets, one anchor after the other."""
    n = questions.n
    score: scores.Score = _nothing
    if maps is not None and strategy == "uncertainty":
        score = scores.uncertainty(maps, method or default_method(len(maps)))
    elif maps is not None and strategy == "mutual_information":
        score = scores.mutual_information(maps)
    elif maps is not None:
        rows, weights = _with_anchors(answers)
        every = questions.is_all and n <= EXACT
        score = scores.information_gain(maps, rows, weights, every=every, n_jobs=n_jobs)
    cap = _cap(per_anchor, k, strategy, questions.left)
    rows, values = choose(questions, score, k, cap, n_jobs)
    while len(rows) < k:  # most of what was drawn had been answered: draw more
        questions = replace(questions, pool=8 * questions.pool)
        rows, values = choose(questions, score, k, cap, n_jobs)
    return rows, values


def _with_anchors(answers: Answers | None) -> tuple[Index, Floats]:
    """Answers (m, 3), rows (anchor, near, far), and their weights."""
    split = None if answers is None else split_of(answers)
    if split is None or not len(split) or split.is_quadruplets:
        raise InputError(
            "strategy='information_gain' needs the answers so far, which determine where an anchor "
            "may be: pass triplets."
        )
    return split.array, weights_of(split)


def _best_rows(
    pool: Pool,
    maps: Ensemble | None,
    k: int,
    strategy: str,
    limit: int | None,
    taken: Index,
    offered: Index | None,
    repeats: bool,
    n_jobs: int,
) -> tuple[Index, Floats]:
    """The best questions of another kind."""
    kind, n = pool.kind, pool.n
    while pool.is_sample and len(pool.rows) < k:  # most of what was drawn is taken: draw more
        pool = find_pool(kind, n, taken, offered, 8 * pool.size, pool.entropy)
    total = None if offered is None else len(np.unique(offered, axis=0))
    check_left(kind, k, len(pool.rows), total, repeats)
    score: scores.RowScore = _no_scores
    if maps is not None:
        in_bits = strategy in IN_BITS
        score = (scores.choice_information if in_bits else scores.dissent)(maps, kind)
    counted = 1 if kind.has_anchor else kind.width
    cap = limit
    if limit is None and strategy in IN_BITS:
        cap = -(-2 * k * counted // len(np.unique(pool.rows[:, :counted])))
    rows, values = choose_rows(pool, score, k, cap, n_jobs)
    if limit is not None:
        check_cap(kind, k, len(rows), limit)
    while len(rows) < k:
        assert cap is not None
        cap *= 2
        rows, values = choose_rows(pool, score, k, cap, n_jobs)
    return rows, values


def _nothing(anchor: int, one: Index, other: Index) -> Floats:
    return np.zeros(len(one))


def _no_scores(rows: Index) -> Floats:
    return np.zeros(len(rows))


def _room(pool: int, k: int, strategy: str, n: int, kind: Kind) -> int:
    """How many questions to sample where there are more."""
    if strategy == "random":
        return min(pool, 64 * k)
    if kind.name == "quadruplet":
        pool //= SHARE
    elif kind.name == "nearest":
        pool //= SHARE_OF_SETS
    elif strategy == "information_gain" and n * (n - 1) * (n - 2) // 2 > pool:
        pool //= SHARE
    return max(pool, 8 * k)  # enough to choose from


def _cap(per_anchor: int | None, k: int, strategy: str, left: Index) -> int:
    """The most suggestions with the same anchor."""
    if per_anchor is not None or strategy not in IN_BITS:
        return per_anchor or k
    cap = -(-2 * k // np.count_nonzero(left))
    while np.minimum(left, cap).sum() < k:
        cap *= 2
    return int(cap)


def _thin(ensemble: Ensemble, size: int | None) -> Ensemble:
    """Evenly spaced draws."""
    if size is None or size >= len(ensemble):
        return ensemble
    rows = (np.arange(size) + 0.5) * len(ensemble) / size
    return ensemble[rows.astype(np.int64)]
