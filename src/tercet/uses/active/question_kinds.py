"""The kinds of questions: which objects are shown, and what may be answered.

A question is a row of objects, such as (anchor, one, other), and its answers are choices among
pairs of them, the *alternatives*. Rows have a usual form, in which objects whose order means
nothing are in ascending order.
"""

from __future__ import annotations

from collections.abc import Sized
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, combinations
from math import comb
from typing import Any

import numpy as np

from tercet.answers.choices import Choices, as_answers, restore
from tercet.answers.either import Answers, match_objects
from tercet.answers.triplets import Triplets
from tercet.arrays import Index
from tercet.errors import InputError

__all__ = ["KINDS", "Kind", "find_kind", "number_alike"]

KINDS = ("triplet", "odd_one_out", "quadruplet", "nearest")
SHOWN = 8  # objects shown with an anchor, by default
MOST_SHOWN = 50


@dataclass(frozen=True)
class Kind:
    """A kind of questions.

    Attributes
    ----------
    name : str
        "triplet": is the anchor closer to one or to other? "odd_one_out": which of three objects?
        "quadruplet": which of two pairs is closer? "nearest": which of the objects shown are the
        nearest to the anchor?
    n_shown : int
        Objects shown with an anchor, for "nearest".
    """

    name: str
    n_shown: int = 2

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """What the objects of a row are called."""
        if self.name == "nearest":
            return ("anchor", *(f"shown{i}" for i in range(1, self.n_shown + 1)))
        return {
            "triplet": ("anchor", "one", "other"),
            "odd_one_out": ("one", "two", "three"),
            "quadruplet": ("a", "b", "c", "d"),
        }[self.name]

    @property
    def width(self) -> int:
        """Objects of a row."""
        return len(self.columns)

    @property
    def has_anchor(self) -> bool:
        """Whether the first object of a row is an anchor."""
        return self.name in ("triplet", "nearest")

    @property
    def word(self) -> str:
        """What the questions are called in messages."""
        return {"odd_one_out": "triples", "nearest": "questions"}.get(self.name, "comparisons")

    @cached_property
    def alternatives(self) -> Index:
        """The places in a row of the two objects of each alternative, (A, 2)."""
        if self.has_anchor:
            return np.array([(0, place) for place in range(1, self.width)])
        pairs = [(0, 1), (0, 2), (1, 2)] if self.name == "odd_one_out" else [(0, 1), (2, 3)]
        return np.array(pairs)

    # --- rows ---------------------------------------------------------------------------------

    def usual(self, rows: Index) -> Index:
        """The rows (m, w) in their usual form."""
        if self.name == "odd_one_out":
            return np.sort(rows, axis=1)
        if self.has_anchor:
            return np.column_stack([rows[:, :1], np.sort(rows[:, 1:], axis=1)])
        pairs = np.sort(rows.reshape(-1, 2, 2), axis=2)
        (a, b), (c, d) = pairs[:, 0].T, pairs[:, 1].T
        turned = (a > c) | ((a == c) & (b > d))
        return np.where(turned[:, None], pairs[:, ::-1].reshape(-1, 4), pairs.reshape(-1, 4))

    def count(self, n: int) -> int:
        """How many questions about n objects there are."""
        if self.name == "odd_one_out":
            return comb(n, 3)
        return n * comb(n - 1, self.n_shown) if self.has_anchor else 3 * comb(n, 4)

    def every(self, n: int) -> Index:
        """All questions about n objects, (count, w)."""
        if self.name == "odd_one_out":
            rest = [np.triu_indices(n - 1 - a, 1) for a in range(n)]
            parts = [
                np.column_stack([np.full(len(b), a), b + a + 1, c + a + 1])
                for a, (b, c) in enumerate(rest)
            ]
            return np.concatenate(parts).astype(np.int64)
        if self.has_anchor:
            sets = chain.from_iterable(combinations(range(n - 1), self.n_shown))
            shown = np.fromiter(sets, dtype=np.int64).reshape(-1, self.n_shown)
            anchors = np.arange(n)[:, None, None]
            others = shown + (shown >= anchors)
            first = np.broadcast_to(anchors, (n, len(shown), 1))
            return np.concatenate([first, others], axis=2).reshape(-1, self.width)
        pairs = np.column_stack(np.triu_indices(n, 1))
        one, other = np.triu_indices(len(pairs), 1)
        rows = np.column_stack([pairs[one], pairs[other]])
        return rows[_different(rows)]

    def draw(self, n: int, size: int, rng: np.random.Generator) -> Index:
        """Random questions about n objects, (size, w), equally likely; some may be the same."""
        rows = np.empty((size, self.width), dtype=np.int64)
        for place in range(self.width):
            drawn = rng.integers(n - place, size=size)
            for before in np.sort(
                rows[:, :place], axis=1
            ).T:  # one of the others, shifted past them
                drawn += drawn >= before
            rows[:, place] = drawn
        return self.usual(rows)

    # --- answers ------------------------------------------------------------------------------

    def read(self, objects: Answers, given: Any, what: str, n_chosen: int = 1) -> Answers | None:
        """Answers about the objects, or questions as answers, from any form; None if empty.

        Parameters
        ----------
        objects : Triplets or Choices
            Whose objects they are about.
        given : Choices, Triplets, data frame or rows
            Rows (anchor, near, far) of triplets, (a, b, c, d) of quadruplets, (similar1, similar2,
            odd), or (anchor, the chosen ones, the others shown), by number or name.
        what : str
            Its name in errors.
        n_chosen : int
            How many of those shown are chosen in rows of "nearest".
        """
        n, names = objects.n_objects, objects.names
        try:
            if isinstance(given, Choices):
                matched = match_objects(given, n, names)._fields
                about = matched._replace(n_objects=n, names=names)
                return restore(about) if len(given) else None
            if given is None or (isinstance(given, Sized) and len(given) == 0):
                return None
            if isinstance(given, Triplets) or self.name in ("triplet", "quadruplet"):
                return self._read_comparisons(objects, given, what)
            if self.name == "odd_one_out":
                return Choices.odd_one_out(given, n_objects=n, names=names)
            return self._read_nearest(given, n, names, n_chosen)
        except InputError as error:
            raise InputError(f"{what}: {error}") from error

    def first_answers(self, given: Any) -> Answers:
        """Answers in any form that determine what the objects are."""
        if self.name == "odd_one_out":
            return Choices.odd_one_out(given)
        if self.name == "nearest":
            raise InputError("answers that are nearest ones must be tc.Choices, not rows.")
        answers = as_answers(given)
        if isinstance(answers, Triplets) and answers.array.shape[1] != self.width:
            raise InputError(_wrong_width(self, answers.array.shape[1]))
        return answers

    def _read_comparisons(self, objects: Answers, given: Any, what: str) -> Answers:
        n, names = objects.n_objects, objects.names
        rows = Triplets([[0, 1, 2]], n_objects=n, names=names).encode(given)
        if not isinstance(given, Triplets):
            if rows.shape[1] != self.width:
                raise InputError(_wrong_width(self, rows.shape[1]))
            return Triplets(rows, n_objects=n, names=names)
        about = {"observers": given.observers, "screens": given.screens}
        about |= {"weights": given.weights, "response_times": given.response_times}
        return as_answers(Triplets(rows, n_objects=n, names=names, **about))

    def _read_nearest(
        self, given: Any, n: int, names: tuple[str, ...] | None, n_chosen: int
    ) -> Answers:
        rows = np.asarray(given)
        if rows.ndim != 2 or rows.shape[1] != self.width:
            raise InputError(
                f"rows must have {self.width} columns, the anchor and the {self.n_shown} objects "
                f"shown, got shape {rows.shape}; or give tc.Choices."
            )
        shown, chosen = rows[:, 1:], rows[:, 1 : n_chosen + 1]
        return Choices.nearest(rows[:, 0], shown, chosen, n_objects=n, names=names)

    def questions_of(self, answers: Answers | None) -> tuple[Index, Index]:
        """The questions of this kind among answers, (q, w), and the rows of their answers (q,)."""
        nothing = np.empty((0, self.width), dtype=np.int64), np.empty(0, dtype=np.int64)
        if answers is None or not len(answers):
            return nothing
        size = len(self.alternatives)
        if isinstance(answers, Triplets):
            if size != 2:
                return nothing
            at, pairs = np.arange(len(answers)), answers.pairs().reshape(-1, 2, 2)
        else:
            at = np.flatnonzero(answers.n_alternatives == size)
            pairs = answers.pairs[answers.cuts[at][:, None] + np.arange(size)]
        rows, holds = self._rows_of(np.sort(pairs, axis=2))
        return self.usual(rows[holds]), at[holds]

    def _rows_of(self, pairs: Index) -> tuple[Index, Index]:
        """The rows (m, w) of alternatives (m, A, 2), and which of them are of this kind."""
        m = len(pairs)
        if self.name == "quadruplet":
            return pairs.reshape(m, 4), np.ones(m, dtype=bool)
        if self.name == "odd_one_out":
            objects = np.sort(pairs.reshape(m, 6), axis=1)
            thrice = (objects[:, ::2] == objects[:, 1::2]).all(axis=1)
            return objects[:, ::2], thrice & _different(objects[:, ::2])
        first = pairs[:, 0]
        has = (pairs == first[:, :1, None]).any(axis=2).all(axis=1)
        anchor = np.where(has, first[:, 0], first[:, 1])
        holds = (pairs == anchor[:, None, None]).any(axis=2).all(axis=1)
        others = np.where(pairs[:, :, 0] == anchor[:, None], pairs[:, :, 1], pairs[:, :, 0])
        return np.column_stack([anchor, others]), holds

    def as_answers(self, rows: Index, objects: Answers) -> Answers:
        """The questions (m, w) as answers, all with their first outcome."""
        found = self.read(objects, rows, "questions")
        assert found is not None
        return found


def find_kind(name: str, n_shown: int | None = None) -> Kind:
    """The kind of that name."""
    if name not in KINDS:
        raise InputError(f"kind must be one of {', '.join(map(repr, KINDS))}, got {name!r}.")
    if name != "nearest":
        if n_shown is not None:
            raise InputError(f"n_shown is for kind='nearest'; {name!r} shows a fixed number.")
        return Kind(name)
    n_shown = SHOWN if n_shown is None else n_shown
    whole = isinstance(n_shown, int | np.integer) and not isinstance(n_shown, bool)
    if not whole or not 2 <= n_shown <= MOST_SHOWN:
        raise InputError(f"n_shown must be a whole number from 2 to {MOST_SHOWN}, got {n_shown!r}.")
    return Kind(name, int(n_shown))


def _wrong_width(kind: Kind, found: int) -> str:
    if kind.name == "triplet":
        return (
            "they must be comparisons of one anchor with two others, three columns; quadruplets "
            "are of kind='quadruplet'."
        )
    return f"they must be comparisons of two pairs, four columns, not {found}."


def _different(rows: Index) -> Index:
    """Which rows have no object twice, (m,)."""
    ordered = np.sort(rows, axis=1)
    return np.asarray((ordered[:, 1:] != ordered[:, :-1]).all(axis=1))


def number_alike(n: int, *tables: Index) -> list[Index]:
    """Numbers (m,) of the rows of several tables about n objects: the same if they are equal."""
    width = tables[0].shape[1]
    if n**width < 2**62:
        weights = n ** np.arange(width - 1, -1, -1, dtype=np.int64)
        return [table @ weights for table in tables]
    stacked = np.concatenate(tables)
    numbers = np.unique(stacked, axis=0, return_inverse=True)[1].reshape(-1)
    return np.split(numbers, np.cumsum([len(table) for table in tables])[:-1])
