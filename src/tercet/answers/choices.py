"""Choices: answers that are choices among pairs of objects, checked once and then trusted."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from scipy.special import comb, perm

from tercet.answers.alternatives import (
    About,
    Cells,
    ChoiceFields,
    Objects,
    Ragged,
    find_forms,
    number_objects,
    pair_with_anchor,
    read_columns,
    read_pairs,
    read_places,
)
from tercet.answers.checks import (
    Array,
    check_different,
    reject_rows,
    row_number,
    settle_more_objects,
)
from tercet.answers.grouping import group, join, select, split
from tercet.answers.making import check_mask, check_sides, forbid_ties, make_choices
from tercet.answers.table import AnswerTable, as_rows, freeze
from tercet.answers.triplets import Triplets, as_triplets
from tercet.arrays import Bools, Floats, Index
from tercet.errors import DataWarning, InputError
from tercet.kinds import (
    BEST_WORST,
    FARTHEST,
    FARTHEST_OR_TIE,
    ONE_OR_TIE,
    ORDERED,
    UNORDERED,
)
from tercet.text import counted, listed

__all__ = [
    "BEST_WORST",
    "FARTHEST",
    "FARTHEST_OR_TIE",
    "ONE_OR_TIE",
    "ORDERED",
    "UNORDERED",
    "ChoiceFields",
    "Choices",
    "as_answers",
    "number_choices",
]


class Choices(AnswerTable):
    """Choices among pairs of objects made by observers: validated, immutable, sliceable.

    An answer is a choice among *alternatives*, each a pair of objects: the most similar pair, the
    k most similar ones, in their order or not, or the least similar one. The class methods make
    choices from the usual questions: `odd_one_out`, `nearest`, `ranking`, `most_central` and
    `best_worst`.

    Parameters
    ----------
    alternatives : array-like of shape (m, a, 2), or a sequence of m sequences of pairs
        The pairs of each choice, as numbers from 0 or as names of objects.
    chosen : array-like of shape (m,) or (m, k), or a sequence of sequences
        The place of the most similar pair among the alternatives of each choice, from 0, or the
        places of several.
    ordered : bool
        Whether several chosen pairs are in the order of their similarity, the most similar first.
    n_objects : int, optional
        Number of objects; by default the largest number plus one.
    names : sequence of str, optional
        The name of every object. By default the names that occur, "img2" before "img10".
    observers : array-like of shape (m,), optional
        Who made each choice.
    screens : array-like of shape (m,), optional
        A label of each choice.
    weights : array-like of shape (m,), optional
        Positive weights, or how often each choice was made.
    response_times : array-like of shape (m,), optional
        Seconds that each choice took, NaN if missing.
    positions : array-like of shape (m, a), or a sequence of sequences, optional
        Where each alternative was shown, from 0; -1 if unknown.
    cannot_tell : array-like of shape (m,) of bool, optional
        Where the observer could not tell; what is given as chosen there has no meaning. If there is
        one such choice, "cannot tell" was an answer to all choices of one alternative given here.
        Choices of several are left out there, with a warning.

    Examples
    --------
    >>> pairs = [[["cat", "dog"], ["cat", "car"], ["dog", "car"]]]
    >>> choices = Choices(pairs, [0])
    >>> choices
    Choices(1 choice of 3 objects named 'car', 'cat', 'dog', 1 of 3)
    >>> choices.triplets().array
    array([[1, 2, 0],
           [2, 1, 0]])
    """

    __slots__ = ()
    _fields: ChoiceFields

    def __init__(
        self,
        alternatives: Any,
        chosen: Any,
        *,
        ordered: bool = True,
        n_objects: int | None = None,
        names: Iterable[str] | None = None,
        observers: Any = None,
        screens: Any = None,
        weights: Any = None,
        response_times: Any = None,
        positions: Any = None,
        cannot_tell: Any = None,
    ) -> None:
        beside = observers, screens, weights, response_times
        about = About(n_objects, names, *beside, cannot_tell, positions)
        pairs = read_pairs(alternatives)
        m = len(pairs.cuts) - 1
        places = read_places(chosen, "chosen", m, single=True)
        objects = number_objects([Cells(pairs.values, ("an object",) * 2, pairs.rows())], about)
        pairs = Ragged(objects.arrays[0], pairs.cuts)
        kind = ORDERED if ordered else UNORDERED
        self._fields = freeze(_make(objects, pairs, places, kind, about))

    # --- the usual questions ------------------------------------------------------------------

    @classmethod
    def odd_one_out(
        cls,
        answers: Any,
        *,
        n_objects: int | None = None,
        names: Iterable[str] | None = None,
        observers: Any = None,
        screens: Any = None,
        weights: Any = None,
        response_times: Any = None,
        positions: Any = None,
        cannot_tell: Any = None,
    ) -> Choices:
        """Which of three objects is the odd one out: the two others are the most similar pair.

        Parameters
        ----------
        answers : array-like of shape (m, 3), or data frame
            Rows (similar1, similar2, odd): the odd one is last. A data frame has columns of these
            names.
        positions : array-like of shape (m, 3), optional
            Where each of the three objects was shown, in the order of the columns.
        n_objects, names, observers, screens, weights, response_times, cannot_tell : optional
            As for `Choices`.

        Examples
        --------
        >>> Choices.odd_one_out([["cat", "dog", "car"]]).triplets().array
        array([[1, 2, 0],
               [2, 1, 0]])
        """
        beside = observers, screens, weights, response_times
        about = About(n_objects, names, *beside, cannot_tell, positions)
        return _one_of_three(answers, ("similar1", "similar2", "odd"), 0, ORDERED, about)

    @classmethod
    def most_central(
        cls,
        answers: Any,
        *,
        n_objects: int | None = None,
        names: Iterable[str] | None = None,
        observers: Any = None,
        screens: Any = None,
        weights: Any = None,
        response_times: Any = None,
        positions: Any = None,
        cannot_tell: Any = None,
    ) -> Choices:
        """Which of three objects is the most central: the two others are the least similar pair.

        Parameters
        ----------
        answers : array-like of shape (m, 3), or data frame
            Rows (central, other1, other2): the most central one is first, as in files. A data
            frame has columns of these names.
        positions : array-like of shape (m, 3), optional
            Where each of the three objects was shown, in the order of the columns.
        n_objects, names, observers, screens, weights, response_times, cannot_tell : optional
            As for `Choices`.

        Examples
        --------
        >>> Choices.most_central([[0, 1, 2]]).triplets().array
        array([[1, 0, 2],
               [2, 0, 1]])
        """
        beside = observers, screens, weights, response_times
        about = About(n_objects, names, *beside, cannot_tell, positions)
        return _one_of_three(answers, ("central", "other1", "other2"), 2, FARTHEST, about)

    @classmethod
    def nearest(
        cls,
        anchor: Any,
        shown: Any,
        chosen: Any,
        *,
        ranked: bool = False,
        n_objects: int | None = None,
        names: Iterable[str] | None = None,
        observers: Any = None,
        screens: Any = None,
        weights: Any = None,
        response_times: Any = None,
        positions: Any = None,
        cannot_tell: Any = None,
    ) -> Choices:
        """Which of the objects shown are nearest to an anchor.

        Parameters
        ----------
        anchor : array-like of shape (m,)
        shown : array-like of shape (m, s), or a sequence of sequences
            The objects shown with each anchor.
        chosen : array-like of shape (m,) or (m, k), or a sequence of sequences
            The objects, of those shown, that were chosen as the nearest.
        ranked : bool
            Whether several chosen objects are in the order of their nearness, the nearest first.
        positions : array-like of shape (m, s), or a sequence of sequences, optional
            Where each of the objects shown with the anchor was, from 0; -1 if unknown.
        n_objects, names, observers, screens, weights, response_times, cannot_tell : optional
            As for `Choices`.

        Examples
        --------
        >>> Choices.nearest([0], [[1, 2, 3, 4]], [[4, 2]])
        Choices(1 choice of 5 objects, 2 of 4)
        """
        beside = observers, screens, weights, response_times
        about = About(n_objects, names, *beside, cannot_tell, positions)
        if cannot_tell is not None:  # any object shown stands for what was chosen there
            tied = check_mask(cannot_tell, len(chosen), "cannot_tell").tolist()
            each = zip(shown, chosen, tied, strict=True)
            chosen = [[*row][:1] if tie else given for row, given, tie in each]
        star = pair_with_anchor(anchor, shown, "shown", {"chosen": chosen}, about)
        kind = ORDERED if ranked else UNORDERED
        return restore(_make(star.objects, star.pairs, star.places[0], kind, about))

    @classmethod
    def ranking(
        cls,
        anchor: Any,
        ranked: Any,
        *,
        n_objects: int | None = None,
        names: Iterable[str] | None = None,
        observers: Any = None,
        screens: Any = None,
        weights: Any = None,
        response_times: Any = None,
        positions: Any = None,
    ) -> Choices:
        """All objects shown with an anchor, in the order of their nearness to it.

        Parameters
        ----------
        anchor : array-like of shape (m,)
        ranked : array-like of shape (m, s), or a sequence of sequences
            The objects shown, the nearest first.
        positions : array-like of shape (m, s), or a sequence of sequences, optional
            Where each of those ranked was, from 0; -1 if unknown.
        n_objects, names, observers, screens, weights, response_times : optional
            As for `Choices`.
        """
        beside = observers, screens, weights, response_times
        about = About(n_objects, names, *beside, None, positions)
        star = pair_with_anchor(anchor, ranked, "ranked", {}, about)
        places = Ragged(star.pairs.places(), star.pairs.cuts)
        return restore(_make(star.objects, star.pairs, places, ORDERED, about))

    @classmethod
    def best_worst(
        cls,
        anchor: Any,
        shown: Any,
        best: Any,
        worst: Any,
        *,
        n_objects: int | None = None,
        names: Iterable[str] | None = None,
        observers: Any = None,
        screens: Any = None,
        weights: Any = None,
        response_times: Any = None,
        positions: Any = None,
    ) -> Choices:
        """Which of the objects shown is nearest to an anchor, and which is farthest.

        Parameters
        ----------
        anchor : array-like of shape (m,)
        shown : array-like of shape (m, s), or a sequence of sequences
            The objects shown with each anchor.
        best, worst : array-like of shape (m,)
            The nearest and the farthest of those shown.
        positions : array-like of shape (m, s), or a sequence of sequences, optional
            Where each of those shown was, from 0; -1 if unknown.
        n_objects, names, observers, screens, weights, response_times : optional
            As for `Choices`.
        """
        beside = observers, screens, weights, response_times
        about = About(n_objects, names, *beside, None, positions)
        star = pair_with_anchor(anchor, shown, "shown", {"best": best, "worst": worst}, about)
        m = len(star.pairs.cuts) - 1
        for word, found in zip(("best", "worst"), star.places, strict=True):
            count = np.diff(found.cuts)
            reject_rows(
                count != 1,
                lambda row, word=word, count=count: f"{word} has {count[row]} objects",  # type: ignore[misc]
                "It is one of the objects shown; correct or remove the row.",
                row_number,
            )
        both = np.column_stack([found.values for found in star.places])
        chosen = star.pairs.values[star.pairs.cuts[:-1, None] + both, 1]
        cure = "They are two of the objects shown; correct or remove the row."
        check_different(chosen, star.objects.names, ("best", "worst"), cure, row_number)
        places = Ragged(both.reshape(-1), 2 * np.arange(m + 1))
        return restore(_make(star.objects, star.pairs, places, BEST_WORST, about))

    @classmethod
    def from_triplets(
        cls, triplets: Triplets, *, cannot_tell: Any = None, positions: Any = None
    ) -> Choices:
        """Make choices of comparisons: those that share a screen are one choice.

        Comparisons without screens, or on screens of their own, are choices between two pairs.
        A screen is recognised as one choice among several pairs, the k nearest (in their order
        or not), a ranking, the most central of three, or the nearest and the farthest; if it is
        none of these, each comparison is a choice of its own, with a warning.

        Parameters
        ----------
        triplets : Triplets
        cannot_tell : (m,) array of bool, optional
            Comparisons in which the observer could not tell which of the two pairs is nearer; each
            is a choice of its own. If there are any, "cannot tell" was an answer to all choices
            between two pairs.
        positions : (m, 2) integer array, optional
            Where the near and the far pair of each comparison were shown, from 0; -1 if unknown.
        """
        tied = check_mask(cannot_tell, len(triplets), "cannot_tell")
        return restore(group(triplets, tied, check_sides(positions, len(triplets))))

    @classmethod
    def concatenate(cls, parts: Sequence[Choices | Triplets]) -> Choices:
        """Join choices and comparisons of the same objects, of whatever kinds.

        Parameters
        ----------
        parts : sequence of Choices or Triplets
            Objects with names are matched by name, others by number. Observers are known for all
            parts or for none. Screens are kept if all parts have them.
        """
        return restore(join([_as_choices(part)._fields for part in parts]))

    # --- fields -------------------------------------------------------------------------------

    @property
    def pairs(self) -> Index:
        """The alternatives of all choices, (A, 2), those of each choice together.

        Those that were chosen come first, and the lower number of a pair.
        """
        return self._fields.pairs

    @property
    def cuts(self) -> Index:
        """Where each choice begins, (m + 1,): choice c has ``pairs[cuts[c]:cuts[c + 1]]``."""
        return self._fields.cuts

    @property
    def kinds(self) -> Array:
        """The kind of each choice, (m,).

        `ORDERED`: the first `n_chosen` alternatives are the most similar, in this order.
        `UNORDERED`: they are, as a set. `FARTHEST`: the first is the least similar. `BEST_WORST`:
        the first is the most similar, the second the least. `ONE_OR_TIE` and `FARTHEST_OR_TIE`: the
        first is, or nothing was chosen because the observer could not tell.
        """
        return self._fields.kinds

    @property
    def n_chosen(self) -> Index:
        """How many alternatives were chosen, (m,)."""
        return self._fields.n_chosen

    @property
    def n_alternatives(self) -> Index:
        """How many alternatives each choice has, (m,)."""
        return np.diff(self.cuts)

    @property
    def n_outcomes(self) -> Floats:
        """How many outcomes each choice could have had, (m,)."""
        m, k, kinds = self.n_alternatives, self.n_chosen, self.kinds
        ranked = np.where(kinds == FARTHEST, 1, k)  # nearest and farthest: two in their order
        outcomes = np.where(kinds == UNORDERED, comb(m, k), perm(m, ranked))
        return np.asarray(np.where(self.may_tie, m + 1, outcomes), dtype=np.float64)

    @property
    def in_words(self) -> str:
        """What was chosen, such as "1 of 3, 2 of 8"."""
        words = [_in_words(*map(int, form)) for form in find_forms(self._fields)[0]]
        return listed(list(dict.fromkeys(words)), limit=3, show=str)

    @property
    def positions(self) -> Index | None:
        """Where each alternative was shown, (A,), -1 if unknown; None if all are."""
        return self._fields.positions

    @property
    def tied(self) -> Bools:
        """Whether the observer could not tell, (m,)."""
        return np.asarray(self.n_chosen == 0)

    @property
    def may_tie(self) -> Bools:
        """Whether "cannot tell" was among the possible answers, (m,)."""
        return np.isin(self.kinds, (ONE_OR_TIE, FARTHEST_OR_TIE))

    def without_ties(self) -> Choices:
        """The choices in which the observer could tell, as if that had been the only way."""
        kept = select(self._fields, np.flatnonzero(~self.tied))
        return restore(kept._replace(kinds=forbid_ties(kept.kinds)))

    def triplets(self) -> Triplets:
        """Split every choice into its comparisons, "a chosen pair is closer than another".

        One in which the observer could not tell has none.

        Returns
        -------
        Triplets
            Rows (anchor, near, far) if the two pairs of every comparison share an object, else
            rows (a, b, c, d). Their screens are the numbers of the choices, from 0.
        """
        return split(self._fields)

    def __len__(self) -> int:
        return len(self.kinds)

    def __getitem__(self, key: Any) -> Choices:
        """Return the choices of some rows: an int, a slice, integers or a mask."""
        return restore(select(self._fields, np.arange(len(self))[as_rows(key)]))

    def __reduce__(self) -> tuple[Callable[[ChoiceFields], Choices], tuple[ChoiceFields]]:
        return restore, (self._fields,)  # freezes again: an unpickled array is writable

    def __repr__(self) -> str:
        parts = [*self._describe("choice"), *([self.in_words] if len(self) else [])]
        return f"Choices({', '.join(parts)})"


def restore(fields: ChoiceFields) -> Choices:
    """Make Choices from checked fields."""
    choices = Choices.__new__(Choices)
    choices._fields = freeze(fields)
    return choices


def as_answers(answers: Any, n_objects: int | None = None) -> Triplets | Choices:
    """Return answers in the form in which each row is one answer.

    Parameters
    ----------
    answers : Choices, Triplets, array-like or data frame
        Choices stay what they are. Anything else is read as `Triplets`; if several comparisons
        share a screen they become Choices, see `Choices.from_triplets`.
    n_objects : int, optional
        Number of objects; may exceed that of answers without names.
    """
    if not isinstance(answers, Choices):
        triplets = as_triplets(answers, n_objects)
        return restore(group(triplets)) if triplets.shares_screens else triplets
    if len(answers) == 0:
        raise InputError("there are no choices (0 rows); at least one is needed.")
    if answers.tied.all():
        raise InputError(
            f"the observer could not tell in any of the {len(answers)} choices; at least one other "
            "answer is needed."
        )
    count = settle_more_objects(n_objects, answers.names, answers.n_objects, "Choices")
    return (
        answers
        if count == answers.n_objects
        else restore(answers._fields._replace(n_objects=count))
    )


def number_choices(choices: Choices) -> Index:
    """The question of each choice (m,), from 0, whatever was answered.

    Two choices answer the same question if they are of one kind, with as many chosen, among the
    same pairs.
    """
    fields, sizes = choices._fields, choices.n_alternatives
    low, high = fields.pairs.T
    codes, code = np.unique(low * fields.n_objects + high, return_inverse=True)
    code = code.reshape(-1)[np.lexsort((code.reshape(-1), Ragged(code, fields.cuts).rows()))]
    asked = np.where(choices.may_tie, 1, fields.n_chosen)
    number = find_forms(fields._replace(n_chosen=asked))[1]
    for place in range(int(sizes.max(initial=0))):  # choices of one form have as many places
        longer = np.flatnonzero(sizes > place)
        wide = number * (len(codes) + 1)
        wide[longer] += 1 + code[fields.cuts[longer] + place]
        number = np.unique(wide, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return number


def _in_words(kind: int, k: int, m: int) -> str:
    """What was chosen, such as "2 of 8"."""
    if kind in (ONE_OR_TIE, FARTHEST_OR_TIE):
        asked = _in_words(ORDERED if kind == ONE_OR_TIE else FARTHEST, 1, m)
        return f"{asked} or “cannot tell”"
    if kind == FARTHEST:
        return f"farthest of {m}"
    if kind == BEST_WORST:
        return f"nearest and farthest of {m}"
    if kind == ORDERED and k > 1:
        return f"ranking of {m}" if k == m - 1 else f"ranked {k} of {m}"
    return f"{k} of {m}"


def _one_of_three(
    answers: Any, words: Sequence[str], place: int, kind: int, about: About
) -> Choices:
    """Choices among the pairs (0, 1), (0, 2) and (1, 2) of three objects, given the chosen."""
    cells = read_columns(answers, words)
    m = len(cells)
    objects = number_objects([Cells(cells, words, np.arange(m))], about)
    array = objects.arrays[0]
    cure = "A choice needs three different objects; correct or remove the row."
    check_different(array, objects.names, words, cure, row_number)
    pairs = Ragged(array[:, [0, 1, 0, 2, 1, 2]].reshape(-1, 2), 3 * np.arange(m + 1))
    chosen = Ragged(np.full(m, place), np.arange(m + 1))
    if about.positions is not None:  # of the object that is left out
        shown = np.asarray(about.positions)
        if shown.shape != (m, 3):
            raise InputError(
                f"positions must have one of each of the three objects, shape {(m, 3)}; got shape "
                f"{shown.shape}."
            )
        about = about._replace(positions=shown[:, ::-1])
    return restore(_make(objects, pairs, chosen, kind, about))


def _make(objects: Objects, pairs: Ragged, chosen: Ragged, kind: int, about: About) -> ChoiceFields:
    """Make choices; those of several in which nobody could tell are left out, with a warning."""
    fields = make_choices(objects, pairs, chosen, kind, about)
    tied = fields.n_chosen == 0
    if not tied.any() or fields.n_chosen.max() <= 1:
        return fields
    warnings.warn(
        f"{counted(int(tied.sum()), 'choice')} of several in which the observer could not tell "
        f"{'is' if tied.sum() == 1 else 'are'} left out: only choices of one alternative have a "
        "probability of a tie.",
        DataWarning,
        stacklevel=3,
    )
    kept = select(fields, np.flatnonzero(~tied))
    return kept._replace(kinds=forbid_ties(kept.kinds))


def _as_choices(part: Any) -> Choices:
    if isinstance(part, Choices):
        return part
    if isinstance(part, Triplets):
        return Choices.from_triplets(part)
    raise InputError(
        f"only Choices and Triplets can be joined, got {type(part).__name__}; make Choices or "
        "Triplets of it first."
    )
