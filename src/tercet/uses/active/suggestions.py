"""suggest: the most informative comparisons (paper, section 4.4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from tercet.answers.triplets import Triplets
from tercet.arrays import Floats, Index
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
    check_count,
    check_ensemble,
    check_left,
    check_options,
    choose,
    default_strategy,
    number_rows,
    read_comparisons,
    read_objects,
)

__all__ = ["STRATEGIES", "Suggestions", "suggest"]


DRAWS = {"mutual_information": 200, "information_gain": 8}  # draws used by default
EXACT = 300  # objects, up to which all comparisons are scored
POOL = EXACT * (EXACT - 1) * (EXACT - 2) // 2
SHARE = 10  # by which the pool is smaller for "information_gain"


@dataclass(frozen=True, eq=False)
class Suggestions:
    """Comparisons to ask next, best first; `np.asarray` gives an array (k, 3).

    The anchor comes first. The other two are in the order of their numbers, which means nothing:
    randomise their sides in the experiment.

    Attributes
    ----------
    array : (k, 3) integer array
        Rows (anchor, one, other), one < other.
    scores : (k,) array
        See `suggest`; comparable within one call.
    strategy : str
    objects : tuple of str, optional
        The names of the objects.
    """

    array: Index
    scores: Floats
    strategy: str
    objects: tuple[str, ...] | None = field(default=None, repr=False)

    @property
    def names(self) -> list[tuple[str, str, str]] | None:
        """The rows by the names of the objects, if they have names."""
        if self.objects is None:
            return None
        names = self.objects
        return [(names[a], names[b], names[c]) for a, b, c in self.array.tolist()]

    def table(self) -> str:
        """One line per comparison: anchor, one, other, score."""
        rows = [tuple(map(str, row)) for row in self]
        values = ["" if self.strategy == "random" else f"{value:.4f}" for value in self.scores]
        cells = [(*row, value) for row, value in zip(rows, values, strict=True)]
        return Table("", ("anchor", "one", "other", STRATEGIES[self.strategy]), cells).text()

    def __str__(self) -> str:
        return self.table()

    def __len__(self) -> int:
        return len(self.array)

    def __iter__(self) -> Iterator[tuple[Any, Any, Any]]:
        """Row by row, with names where there are names."""
        rows: list[Any] = self.names or [tuple(row) for row in self.array.tolist()]
        return iter(rows)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.array, dtype=dtype, copy=copy)


def suggest(
    ensemble: Ensemble | Triplets | Sequence[str] | int,
    k: int = 10,
    strategy: str | None = None,
    *,
    triplets: Any = None,
    pending: Any = None,
    candidates: Any = None,
    repeats: bool = False,
    per_anchor: int | None = None,
    method: str | None = None,
    n_draws: int | None = None,
    pool: int = POOL,
    random_state: Seed = None,
    n_jobs: int | None = None,
) -> Suggestions:
    """The k most informative comparisons, best first.

    Parameters
    ----------
    ensemble : Ensemble, or for "random" also Triplets, (m, 3) array, list of names or int
        Such as ``post.ensemble_``. Random questions need no maps: the answers so far, or the names
        or the number of the objects, are enough.
    k : int
        How many; they are all different.
    strategy : {"mutual_information", "information_gain", "uncertainty", "random"}, optional
        - "mutual_information", the default for probabilistic models (STE, TSTE, CKL or Shepard):
          most information about which of the draws is true. It avoids questions that people would
          always answer at random.
        - "information_gain", from the crowd kernel: most information about the position of the
          anchor, given the anchor's own answers (``triplets``).
        - "uncertainty", the paper's, and the default with any other model, or with a ``method``: π
          nearest to ½. It works with any ensemble.
        - "random": all comparisons are equally likely.

        The first two need a probabilistic model; their scores are in bits.
    triplets : Triplets, or (m, 3) array of numbers or names, optional
        The answers so far. Their comparisons are not suggested again, unless ``repeats``. By
        default those given in place of an ensemble.
    pending : (m, 3) array, optional
        Comparisons already asked but not answered: never suggested.
    candidates : (m, 3) array, optional
        The only comparisons to choose from, in any order of the two compared objects; by default
        all n(n − 1)(n − 2)/2.
    repeats : bool
        Whether answered comparisons may be asked again, as in the paper.
    per_anchor : int, optional
        The most suggestions with the same anchor. By default unlimited, except for the two
        strategies in bits, whose best comparisons often share a few anchors: about twice as many as
        if all anchors had equally many. ``per_anchor=k`` removes the limit.
    method : {"paper", "joint", "vote"}, optional
        How π is computed, for "uncertainty"; see `Ensemble.triplet_probability`.
    n_draws : int, optional
        How many draws to use, evenly spaced. By default all for "uncertainty", 200 for
        "mutual_information" and 8 for "information_gain", or all if there are fewer.
    pool : int
        The most comparisons to score; of more, a random sample of about this size is scored (a
        tenth of that for "information_gain", whose cost for each of them grows with n). The default
        is the number of comparisons of 300 objects.
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
    """
    objects = read_objects(ensemble, strategy)
    if strategy is None:
        assert isinstance(ensemble, Ensemble)  # read_objects saw to it
        strategy = default_strategy(ensemble.model, method)
    check_options(k, strategy, per_anchor, method)
    check_count("pool", pool)
    if n_draws is not None:
        check_count("n_draws", n_draws)
    if isinstance(ensemble, Ensemble):
        check_ensemble(ensemble, strategy)
    triplets = objects if triplets is None else triplets
    jobs = count_threads(n_jobs)
    n = objects.n_objects
    answers = read_comparisons(objects, triplets, "triplets")
    if strategy == "information_gain" and not len(answers):
        raise InputError(
            "strategy='information_gain' needs the answers so far, which determine where an anchor "
            "may be: pass triplets."
        )
    waiting = read_comparisons(objects, pending, "pending")
    taken = waiting if repeats else np.concatenate([waiting, answers])
    offered = None
    if candidates is not None:
        offered = np.unique(number_rows(read_comparisons(objects, candidates, "candidates"), n))
    room = _room(pool, k, strategy, n)
    questions = Candidates(
        n, np.unique(number_rows(taken, n)), offered, room, entropy_of(random_state)
    )
    check_left(questions, k, per_anchor, repeats)
    if isinstance(ensemble, Ensemble) and strategy != "random":
        chosen = _thin(ensemble, n_draws or DRAWS.get(strategy))
        if strategy == "uncertainty":
            score = scores.uncertainty(chosen, method or default_method(len(chosen)))
        elif strategy == "mutual_information":
            score = scores.mutual_information(chosen)
        else:
            weights = triplets.weights if isinstance(triplets, Triplets) else None
            weights = np.ones(len(answers)) if weights is None else np.asarray(weights)
            score = scores.information_gain(
                chosen, answers, weights, every=questions.is_all and n <= EXACT, n_jobs=jobs
            )
    else:
        score = _nothing
    cap = _cap(per_anchor, k, strategy, questions.left)
    rows, values = choose(questions, score, k, cap, jobs)
    while len(rows) < k:  # most of what was drawn had been answered: draw more
        questions = replace(questions, pool=8 * questions.pool)
        rows, values = choose(questions, score, k, cap, jobs)
    for column in (rows, values):
        column.setflags(write=False)
    return Suggestions(rows, values, strategy, objects.names)


def _nothing(anchor: int, one: Index, other: Index) -> Floats:
    return np.zeros(len(one))


def _room(pool: int, k: int, strategy: str, n: int) -> int:
    """How many comparisons to sample where there are more."""
    if strategy == "random":
        return min(pool, 64 * k)
    if strategy == "information_gain" and n * (n - 1) * (n - 2) // 2 > pool:
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
