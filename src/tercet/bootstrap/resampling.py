"""Resampling answers into the replicates of a bootstrap, and fitting them (paper, section 3.2).

A replicate is a list of rows of the comparisons, possibly repeated.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from typing import Any, NamedTuple, Self, overload

import numpy as np
from numpy.typing import NDArray

from tercet.answers.either import Answers
from tercet.answers.streams import StreamedTriplets
from tercet.answers.table import need_votes
from tercet.answers.triplets import Triplets
from tercet.arrays import Floats
from tercet.engine.blocks import Blocks
from tercet.engine.search import Fit, Objective
from tercet.errors import ConvergenceWarning, DataWarning, InputError, SeparableWarning
from tercet.metrics import satisfied
from tercet.models.base import Array
from tercet.running.checkpoint import Checkpoint
from tercet.running.memory import LARGEST_NUMBER

Rows = NDArray[np.int64]
Draw = Callable[[np.random.Generator], Rows]

_HEAD = 1000  # rows of a replicate that are cached

UNITS = ("answer", "observer")


class Units(NamedTuple):
    """What is drawn as a whole: unit k is the rows ``rows[ends[k - 1]:ends[k]]``.

    Without ``rows`` units are votes, those for row t being ``ends[t - 1]`` to ``ends[t] - 1``;
    without ``ends`` a unit is a row.
    """

    number: int
    ends: Rows | None = None
    rows: Rows | None = None

    def rows_of(self, units: Rows) -> Rows:
        """Rows of the chosen units."""
        if self.ends is None:
            return units
        if self.rows is None:  # vote v was cast for the first row whose votes end after it
            return np.searchsorted(self.ends, units, side="right")
        sizes = np.diff(self.ends, prepend=0)[units]
        after = np.cumsum(sizes)
        first = np.repeat(self.ends[units] - after, sizes)
        return self.rows[first + np.arange(len(first))]


def find_units(answers: Answers, unit: str) -> Units:
    """Return the units of the answers; if weights are counts, every vote is an answer.

    Triplets that share screens, which a loss is fitted to, are the comparisons within choices, and
    stay together.
    """
    if unit == "answer" and isinstance(answers, Triplets) and answers.shares_screens:
        return _grouped(answers.number_screens())
    if unit == "answer":
        if (counts := answers.votes) is None:
            return Units(len(answers))
        need_votes(answers)
        ends = np.cumsum(counts)
        return Units(int(ends[-1]), ends)
    if answers.observers is None:
        raise InputError(
            "unit='observer' draws whole observers, but the answers do not say which observer they "
            "come from: add a column observer (in Python: observers=...), or use "
            "unit='answer'."
        )
    units = _grouped(np.unique(answers.observers, return_inverse=True)[1].reshape(-1))
    if units.number < 2:
        raise InputError(
            "unit='observer' needs at least two observers, and all answers are from one."
        )
    return units


def _grouped(number: Rows) -> Units:
    """Units of rows with the same number."""
    sizes = np.bincount(number)
    return Units(len(sizes), np.cumsum(sizes), np.argsort(number, kind="stable"))


def sample_size(fraction: float, count: int, unit: str) -> int:
    """Return ⌊fraction · count⌋, at least one."""
    # In floating point 0.29 is slightly less than 29/100; it should still give 29 of 100.
    size = math.floor(fraction * count * (1.0 + 1e-12))
    if size < 1:
        raise InputError(
            f"fraction={fraction:g} of {count} {unit}s is less than one {unit}; use a larger "
            "fraction."
        )
    return size


def resample(units: Units, size: int, replace: bool) -> Draw:
    """Draw ``size`` units uniformly, with or without replacement."""

    def draw(rng: np.random.Generator) -> Rows:
        if replace:
            return units.rows_of(rng.integers(units.number, size=size))
        return units.rows_of(rng.choice(units.number, size, replace=False, shuffle=False))

    return draw


def draw_answers(probability: Floats, counts: Rows | None) -> Draw:
    """Draw new answers to the same questions: row t as it is, or row m + t, its opposite.

    Parameters
    ----------
    probability : (m,) array
        Probability of the answer "near".
    counts : (m,) array, optional
        How often each question was asked; default once.
    """
    m = len(probability)
    asked = np.arange(m)

    def draw(rng: np.random.Generator) -> Rows:
        if counts is None:
            return np.where(rng.random(m) < probability, asked, asked + m)
        near = rng.binomial(counts, probability)
        return np.repeat(np.concatenate([asked, asked + m]), np.concatenate([near, counts - near]))

    return draw


class Replicates(Sequence[Rows]):
    """The rows of replicates, each drawn on access from its own seed.

    The first rows of those drawn are cached; subsets made by `only` share the cache.
    """

    def __init__(
        self,
        draw: Draw,
        seeds: Sequence[np.random.SeedSequence],
        heads: dict[tuple[int, ...], Rows] | None = None,
    ) -> None:
        self._draw = draw
        self._seeds = seeds
        self._heads = {} if heads is None else heads

    def only(self, numbers: Iterable[int]) -> Self:
        """The replicates with these numbers."""
        return type(self)(self._draw, [self._seeds[k] for k in numbers], self._heads)

    def head(self, number: int) -> Rows:
        """The first rows of a replicate."""
        key = self._seeds[number].spawn_key
        if key not in self._heads:
            self[number]
        return self._heads[key]

    def __len__(self) -> int:
        return len(self._seeds)

    @overload
    def __getitem__(self, key: int) -> Rows: ...
    @overload
    def __getitem__(self, key: slice) -> list[Rows]: ...
    def __getitem__(self, key: int | slice) -> Any:
        if isinstance(key, slice):
            return [self[k] for k in range(*key.indices(len(self)))]
        seed = self._seeds[key]
        rows = self._draw(np.random.default_rng(seed))
        self._heads[seed.spawn_key] = rows[:_HEAD].copy()
        return rows


# --- fits of replicates, from a checkpoint if it has them ---------------------------------------


Subsets = Replicates | Sequence[Blocks]


_ALL, _REPLICATE = "all answers", "replicate"  # their names in a checkpoint

Shape = tuple[int, int]  # objects and dimensions


def fit_once(checkpoint: Checkpoint, shape: Shape, fit: Callable[[], Fit]) -> Fit:
    """The fit of all answers, from the checkpoint if it is there."""
    return checkpoint.once(_ALL, 0, fit, Fit._asdict, lambda content: _restored(content, shape))


def fit_replicates(
    checkpoint: Checkpoint,
    shape: Shape,
    count: int,
    fit: Callable[[list[int]], Generator[Fit, None, None]],
) -> Generator[tuple[int, Fit], None, None]:
    """The fits of the replicates with their numbers: those in the checkpoint, then all others.

    Parameters
    ----------
    checkpoint : Checkpoint
        New fits are added to it.
    shape : tuple of two ints
        Objects and dimensions of each.
    count : int
        Number of replicates.
    fit : callable
        Takes the numbers of some replicates and yields their fits, in the same order.
    """
    missing = []
    for number in range(count):
        known = checkpoint.one(_REPLICATE, number, lambda content: _restored(content, shape))
        if known is None:
            missing.append(number)
        else:
            yield number, known
    if missing:
        with closing(fit(missing)) as fits:
            for number, found in zip(missing, fits, strict=True):
                checkpoint.add(_REPLICATE, number, found._asdict())
                yield number, found


_KINDS = {
    "loss": (float, int),
    "n_iter": (int,),
    "converged": (bool,),
    "separable": (bool,),
    "reason": (str,),
}


def _restored(content: dict[str, Any], shape: Shape) -> Fit:
    """A fit from a checkpoint, failed ones included; ValueError if it is invalid."""
    fit = Fit(**content)
    embedding: Any = fit.embedding
    if not isinstance(embedding, np.ndarray) or embedding.dtype != np.float64:
        raise ValueError("an embedding without numbers")
    if embedding.shape != shape:
        raise ValueError(f"an embedding of the shape {embedding.shape}")
    if any(type(content[name]) not in kinds for name, kinds in _KINDS.items()):
        raise ValueError("a fit with other values")
    return fit


class ReplicateOutcome(NamedTuple):
    """Replicates that are kept, and counts of failed, unconverged and separable ones."""

    kept: list[int]
    counts: dict[str, int]
    reason: str  # why the first unconverged one stopped
    void: bool = False  # correction is invalid: the map of all answers satisfies every one


def classify_fits(
    fits: Sequence[Fit],
    objective: Objective,
    answers: Answers | StreamedTriplets,
    subsets: Subsets,
) -> ReplicateOutcome:
    """Sort out failed replicates, unconverged ones and those without a maximum."""
    kept = [k for k, fit in enumerate(fits) if is_finite(fit)]
    separable = {
        k
        for k in kept
        if fits[k].separable
        or (objective.runs_away and _satisfies(fits[k].embedding, answers, subsets, k))
    }
    unfinished = [k for k in kept if not (fits[k].converged or k in separable)]
    counts = {
        "replicates": len(fits),
        "failed": len(fits) - len(kept),
        "not_converged": len(unfinished),
        "separable": len(separable),
    }
    return ReplicateOutcome(kept, counts, fits[unfinished[0]].reason if unfinished else "")


def warn_about_replicates(outcome: ReplicateOutcome, name: str, stacklevel: int = 2) -> None:
    """Warn about failed, unconverged or separable replicates of the estimator of that name."""
    counts, messages = outcome.counts, []
    total = counts["replicates"]
    if outcome.void:
        warnings.warn(
            "the embedding of all answers satisfies every one of them, so its size means "
            "nothing, and correction=True with it; add a penalty, such as penalty=1/30.",
            DataWarning,
            stacklevel=stacklevel,
        )
    if counts["failed"]:
        messages.append(f"{counts['failed']} of {total} replicates failed and were left out")
    if counts["not_converged"]:
        messages.append(
            f"{counts['not_converged']} of {total} replicates did not converge and were kept "
            f"(the first: {name} {outcome.reason})"
        )
    if messages:
        warnings.warn(f"{'; '.join(messages)}.", ConvergenceWarning, stacklevel=stacklevel)
    if 2 * counts["separable"] > total:
        warnings.warn(
            f"in {counts['separable']} of {total} replicates {name} satisfies every answer, so "
            "their size means nothing; add a penalty, such as penalty=1/30.",
            SeparableWarning,
            stacklevel=stacklevel,
        )


def is_finite(fit: Fit) -> bool:
    """Whether the loss is finite and no coordinate too large."""
    limit = 0.5 * LARGEST_NUMBER  # so that centred coordinates stay below LARGEST_NUMBER
    return math.isfinite(fit.loss) and bool((np.abs(fit.embedding) <= limit).all())


def _satisfies(
    embedding: Array, answers: Answers | StreamedTriplets, subsets: Subsets, number: int
) -> bool:
    if not isinstance(answers, StreamedTriplets):
        assert isinstance(subsets, Replicates)
        # Usually one of the first rows is not satisfied, which avoids drawing them all again.
        some = satisfied(embedding, answers[subsets.head(number)]).all()
        return bool(some and satisfied(embedding, answers[subsets[number]]).all())
    replicate = subsets[number]
    assert isinstance(replicate, Blocks)
    blocks = (replicate.read(block)[0] for block in range(replicate.n_blocks))
    return all(satisfied(embedding, block).all() for block in blocks if len(block))
