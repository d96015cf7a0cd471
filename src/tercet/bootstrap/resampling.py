"""Which answers a replicate of a bootstrap is made of (paper, section 3.2).

A replicate is a list of rows of the comparisons, in which rows may repeat.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Self, overload

import numpy as np
from numpy.typing import NDArray

from tercet.errors import InputError
from tercet.triplets import Triplets, need_votes

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Draw = Callable[[np.random.Generator], Rows]

_HEAD = 1000  # rows of a replicate that are remembered

UNITS = ("answer", "observer", "screen")


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
        first = np.repeat(self.ends[units] - after, sizes)  # so that the places count on by one
        return self.rows[first + np.arange(len(first))]


def find_units(triplets: Triplets, unit: str) -> Units:
    """Return the units of the answers; where weights are counts, every vote is an answer."""
    if unit == "answer":
        if (counts := triplets.votes) is None:
            return Units(len(triplets))
        need_votes(triplets)
        ends = np.cumsum(counts)
        return Units(int(ends[-1]), ends)
    labels = triplets.observers if unit == "observer" else triplets.screens
    if labels is None:
        raise InputError(
            f"unit={unit!r} draws whole {unit}s, but the answers do not say which {unit} they come "
            f"from: add a column {unit} (in Python: Triplets(..., {unit}s=...)), or use "
            "unit='answer'."
        )
    number = triplets.number_screens()
    if unit == "observer":
        number = np.unique(labels, return_inverse=True)[1].reshape(-1)
    sizes = np.bincount(number)
    if len(sizes) < 2:
        raise InputError(f"unit={unit!r} needs two {unit}s or more, and all answers are from one.")
    return Units(len(sizes), np.cumsum(sizes), np.argsort(number, kind="stable"))


def sample_size(fraction: float, count: int, unit: str) -> int:
    """Return ⌊fraction · count⌋, at least one."""
    # 0.29 is slightly less than 29/100, and still 29 of 100 are meant.
    size = math.floor(fraction * count * (1.0 + 1e-12))
    if size < 1:
        raise InputError(
            f"fraction={fraction:g} of {count} {unit}s is less than one {unit}; use a larger one."
        )
    return size


def resample(units: Units, size: int, replace: bool) -> Draw:
    """Draw so many units uniformly, with or without replacement."""

    def draw(rng: np.random.Generator) -> Rows:
        if replace:
            return units.rows_of(rng.integers(units.number, size=size))
        return units.rows_of(rng.choice(units.number, size, replace=False, shuffle=False))

    return draw


def draw_answers(probability: Floats, counts: Rows | None) -> Draw:
    """Draw new answers to the same questions: rows t as they are, rows m + t turned around.

    Parameters
    ----------
    probability : (m,) array
        Of the answer "near".
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
    """Rows of one replicate after the other, each drawn when asked for, from its own seed.

    The first rows of those that were drawn are remembered, also by `only` some of them.
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
        """Some of them."""
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
