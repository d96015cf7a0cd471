"""Three objects are shown, and one of them is singled out: two triplets of one screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tercet.errors import InputError
from tercet.io.answered import rename
from tercet.io.cells import Cells
from tercet.io.choices import BESIDE, Choices, beside, reject_equal
from tercet.io.reading import Options, Reading, count_skipped
from tercet.io.source import Source
from tercet.text import listed

__all__ = ["Threes"]

_CURE = "Three different objects are compared; correct or remove the line."


@dataclass(frozen=True)
class Threes:
    """A format in which one of three objects is singled out.

    Attributes
    ----------
    name, title : str
        As in `Format`.
    one : sequence of str
        What the column of the one that was singled out may be called; the first is our word.
    others : sequence of pairs of str
        What the columns of the two others may be called; the first are our words.
    shown : sequence of triples of str
        What the columns of all three may be called, where a file has these instead.
    headerless : sequence of three str
        Our words, in the order of a file without titles; a fourth column is the observer.
    answers : two triples of int
        (anchor, near, far) of the two triplets: 0 is the one, 1 and 2 are the others.
    labelled : sequence of str
        Titles of columns whose numbers are labels and do not start at 0.
    """

    name: str
    title: str
    one: Sequence[str]
    others: Sequence[tuple[str, str]]
    shown: Sequence[tuple[str, str, str]]
    headerless: tuple[str, str, str]
    answers: tuple[tuple[int, int, int], tuple[int, int, int]]
    labelled: Sequence[str] = ()

    def matches(self, source: Source) -> bool:
        """Whether the file has the titles of one of the layouts."""
        return self._layout(source.titles) is not None

    def read(self, source: Source, options: Options) -> Reading:
        """Read a file with titles, or one of 3 or 4 columns of numbers without any."""
        table = self._table(source, options)
        layout = self._layout({title.lower() for title in table.header})
        if layout is None:
            found = listed(table.header)
            raise InputError(
                f"{table.path}: the columns {', '.join(self.headerless)} are needed; columns "
                f"found: {found}. Say which is which with columns, or add a header."
            )
        one, *others = (table.need(title) for title in layout)
        rows = len(table)
        unanswered = table.blank([one])[:, 0]
        skipped = count_skipped("without an answer", unanswered, table.line)
        table = table.take(~unanswered)
        codes = _single_out(table, one, others)[:, self.answers].reshape(-1, 3)
        labels = any(title in self.labelled for title in layout)
        known = beside(table)
        choices = Choices(
            table.text(codes) if labels else table.objects(codes, options.names),
            np.repeat(np.arange(len(table)), 2),
            known.known | {"screens": np.arange(len(table))},
            table.line,
            table.where,
            known.times,
        )
        return choices.read(table.path, options, self.name, self.title, rows=rows, skipped=skipped)

    def _table(self, source: Source, options: Options) -> Cells:
        if options.columns or self.matches(source):
            known = [self.one, *self.others, *self.shown, BESIDE]
            words = list(dict.fromkeys(word for group in known for word in group))
            return rename(source.table, options.columns, words)
        table = source.headerless
        width = len(table.header)
        if width in (3, 4) and all(table.is_integer()[code] for code in table.codes[0]):
            return table.titled([*self.headerless, "observer"][:width])
        return source.cells

    def _layout(self, titles: set[str] | frozenset[str]) -> tuple[str, ...] | None:
        """The titles of the one and of the others, or of all three, if they are all there."""
        one = next((title for title in self.one if title in titles), None)
        groups = (*self.others, *self.shown)
        return next(
            ((one, *each) for each in groups if one is not None and titles >= {*each}), None
        )


def _single_out(table: Cells, one: int, shown: Sequence[int]) -> NDArray[np.int64]:
    """Which of three objects was singled out, and the two others.

    Parameters
    ----------
    table : Cells
    one : int
        The column of the one that was singled out.
    shown : sequence of two or three ints
        The columns of the two others, or of all three.

    Returns
    -------
    (rows, 3) integers
        The one, and the two others in the order of their columns: codes into ``table.unique``.
    """
    table.reject_blank(shown)
    for i, first in enumerate(shown):
        for second in shown[i + 1 :]:
            reject_equal(table, first, second, _CURE)
    chosen, codes = table.column(one), table.codes[:, list(shown)]
    if len(shown) == 2:
        for other in shown:
            reject_equal(table, one, other, _CURE)
        return np.column_stack([chosen, codes])
    is_one = codes == chosen[:, np.newaxis]

    def describe(row: int) -> str:
        found = listed([table.unique[code] for code in codes[row]])
        answer = table.unique[chosen[row]]
        return f"{table.header[one]} is {answer!r:.80}, which is not one of those shown ({found})"

    reason = f"whose {table.header[one]} was not shown"
    table.reject(~is_one.any(axis=1), describe, "Correct or remove the line.", reason)
    return np.column_stack([chosen, codes[~is_one].reshape(-1, 2)])
