"""One of three objects is chosen, as the odd one out or the most central: two triplets.

Odd ones out are the answers of THINGS and VICE; most central ones those of the survey of cars by
Kleindessner and von Luxburg. The two triplets share a screen.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tercet.arrays import Bools, Index
from tercet.errors import InputError
from tercet.io.cells import Cells
from tercet.io.inputfile import InputFile
from tercet.io.reading import Format, Reading, ReadOptions
from tercet.io.sides import could_not_tell
from tercet.io.trials import BESIDE, Trials, find_beside, reject_equal
from tercet.text import listed

__all__ = ["MOST_CENTRAL", "ODD_ONE_OUT"]

_CURE = "A trial needs three different objects; correct or remove the line."


@dataclass(frozen=True)
class _Layout:
    """A format in which one of three objects is chosen.

    Attributes
    ----------
    one : sequence of str
        Titles of the column of the chosen object; the first is our word.
    others : sequence of pairs of str
        Titles of the columns of the two others; the first are our words.
    shown : sequence of triples of str
        Titles of the columns of all three, if a file has these instead.
    headerless : sequence of three str
        Our words, in the order of a file without titles; a fourth column is the observer.
    answers : two triples of int
        (anchor, near, far) of the two triplets: 0 is the one, 1 and 2 are the others.
    labelled : sequence of str
        Titles of columns whose numbers are labels and do not start at 0.
    """

    one: Sequence[str]
    others: Sequence[tuple[str, str]]
    shown: Sequence[tuple[str, str, str]]
    headerless: tuple[str, str, str]
    answers: tuple[tuple[int, int, int], tuple[int, int, int]]
    labelled: Sequence[str] = ()

    def matches(self, file: InputFile) -> bool:
        """Whether the file has the titles of one of the layouts."""
        return self._layout(file.titles) is not None

    def read(self, file: InputFile, options: ReadOptions) -> Reading:
        """Read a file with titles, or one of 3 or 4 columns of numbers without any."""
        table = self._table(file, options)
        layout = self._layout({title.lower() for title in table.header})
        if layout is None:
            found = listed(table.header)
            raise InputError(
                f"{table.path}: the columns {', '.join(self.headerless)} are required; columns "
                f"found: {found}. Map them with columns, or add a header."
            )
        one, *others = (table.need(title) for title in layout)
        trials = Trials.of(table).skip(table.blank([one])[:, 0], "without an answer")
        table = trials.table
        picked = _single_out(table, one, others)
        codes = picked.codes[:, self.answers].reshape(-1, 3)
        # The position of a pair is that of the object left out, which is in the other pair.
        positions = None if picked.places is None else picked.places[:, self.answers]
        labels = any(title in self.labelled for title in layout)
        cells, names = table.objects(codes, options.names, positions=True)
        if labels:
            cells, names = table.text(codes), options.names
        screens = np.arange(len(table))
        beside = find_beside(table).of_screens(screens)
        options = options._replace(names=names)
        return trials.build(
            cells,
            options,
            beside,
            trial=np.repeat(screens, 2),
            positions=None if positions is None else positions.reshape(-1, 3)[:, [2, 1]],
            tied=np.repeat(picked.tied, 2),
        )

    def _table(self, file: InputFile, options: ReadOptions) -> Cells:
        if options.columns or self.matches(file):
            known = [self.one, *self.others, *self.shown, BESIDE]
            words = list(dict.fromkeys(word for group in known for word in group))
            return file.table.renamed(options.columns, words)
        table = file.headerless
        width = len(table.header)
        if width in (3, 4) and all(table.is_integer()[code] for code in table.codes[0]):
            return table.titled([*self.headerless, "observer"][:width])
        return file.cells

    def _layout(self, titles: set[str] | frozenset[str]) -> tuple[str, ...] | None:
        """The titles of the one and of the others, or of all three, if they all occur."""
        one = next((title for title in self.one if title in titles), None)
        groups = (*self.others, *self.shown)
        return next(
            ((one, *each) for each in groups if one is not None and titles >= {*each}), None
        )


class _Chosen(NamedTuple):
    """Trials with one of three objects chosen."""

    codes: Index  # (rows, 3): the chosen object, and the two others in the order of their columns
    places: Index | None  # (rows, 3): where these were shown, if known
    tied: Bools  # (rows,): the observer could not tell; the chosen one has no meaning


def _single_out(table: Cells, one: int, shown: Sequence[int]) -> _Chosen:
    """The chosen object and the others.

    ``one`` is its column, ``shown`` are the columns of the two others, or of all three. All three
    are taken to be in the order of the screen, unless the chosen is in the same column throughout.
    """
    table.reject_blank(shown)
    reject_equal(table, [*itertools.combinations(shown, 2)], _CURE)
    chosen, codes = table.column(one), table.codes[:, list(shown)]
    nobody = np.zeros(len(table), dtype=np.bool_)
    if len(shown) == 2:
        reject_equal(table, [(one, other) for other in shown], _CURE)
        return _Chosen(np.column_stack([chosen, codes]), None, nobody)
    is_one = codes == chosen[:, np.newaxis]
    says = np.array([could_not_tell(cell) for cell in table.unique], dtype=np.bool_)
    tied = says[chosen] & ~is_one.any(axis=1)
    is_one[tied, 0] = True

    def describe(row: int) -> str:
        found = listed([table.unique[code] for code in codes[row]])
        answer = table.unique[chosen[row]]
        return f"{table.header[one]} is {answer!r:.80}, which is not one of those shown ({found})"

    reason = f"whose {table.header[one]} was not shown"
    table.reject(~is_one.any(axis=1), describe, "Correct or remove the line.", reason)
    order = np.argsort(~is_one, axis=1, kind="stable")  # the chosen one first
    varies = len(np.unique(order[~tied, 0])) > 1
    return _Chosen(np.take_along_axis(codes, order, axis=1), order if varies else None, tied)


_ODD_ONE_OUT = _Layout(
    one=("odd", "odd_one_out", "oddoneout", "odd-one-out"),
    others=(("similar1", "similar2"), ("similar_1", "similar_2"), ("pair1", "pair2")),
    shown=(("object1", "object2", "object3"), ("image1", "image2", "image3")),
    headerless=("similar1", "similar2", "odd"),  # as in the texts of THINGS
    answers=((1, 2, 0), (2, 1, 0)),  # the others are closer to each other than to the odd one
)
_MOST_CENTRAL = _Layout(
    one=("central", "chosen_center", "chosen_centre", "center", "centre"),
    others=(("other1", "other2"), ("other_1", "other_2")),
    shown=(  # the first as in the survey of cars
        ("triplet_object_1", "triplet_object_2", "triplet_object_3"),
        ("object1", "object2", "object3"),
    ),
    headerless=("central", "other1", "other2"),
    answers=((1, 0, 2), (2, 0, 1)),  # each of the others is closer to the central one
    labelled=("triplet_object_1",),
)

ODD_ONE_OUT = Format(
    "odd-one-out",
    "a table of odd ones out",
    "columns similar1, similar2, odd (or object1, object2, object3, odd)",
    _ODD_ONE_OUT.matches,
    _ODD_ONE_OUT.read,
)
MOST_CENTRAL = Format(
    "most-central",
    "a table of most central ones",
    "columns central, other1, other2 (or object1, object2, object3, central)",
    _MOST_CENTRAL.matches,
    _MOST_CENTRAL.read,
)
