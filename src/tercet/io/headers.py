"""A header that comes again within a table, as when files are put together."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tercet.errors import InputError
from tercet.io.cells import Cells
from tercet.titles import ALSO, COLUMNS, EXTRAS, OBSERVERS, plain_title

__all__ = ["is_title", "reject_repeated_header"]

_KNOWN = {*COLUMNS[3], *map(plain_title, EXTRAS), *OBSERVERS, *sum(ALSO.values(), ())}


def is_title(cell: str) -> bool:
    """Whether a cell is a title that is known, ours or one that means the same."""
    return plain_title(cell) in _KNOWN


def reject_repeated_header(table: Cells) -> None:
    """Refuse rows that are a header again: in other letters, in another order, or in other words.

    Titles of one letter may be objects as well, and are a header only where they are the same.
    """
    place = {cell: code for code, cell in enumerate(table.unique)}
    again = (table.codes == [place.get(title, -1) for title in table.header]).all(axis=1)
    again |= _in_other_words(table)
    if again.any():
        raise InputError(
            f"{table.where(int(again.argmax()))}: the header comes again "
            f"({np.count_nonzero(again)} in all), as when files are put together. Remove the "
            "line; where its columns are in another order, correct the lines below it too."
        )


def _in_other_words(table: Cells) -> NDArray[np.bool_]:
    """Rows (rows,) that have all titles in any case and order, or nothing but known titles."""
    words = [title.lower() for title in table.header]
    if all(len(word) <= 1 for word in words):
        return np.zeros(len(table), dtype=bool)
    order = {word: i for i, word in enumerate(dict.fromkeys(words))}
    places = np.array([order.get(cell.lower(), -1) for cell in table.unique], dtype=np.int64)
    found: NDArray[np.bool_] = np.logical_and.reduce(places[table.codes] >= 0, axis=1)
    for row in np.flatnonzero(found):  # each title as often as in the header
        cells = sorted(places[table.codes[row]].tolist())
        found[row] = cells == sorted(order[word] for word in words)
    known = np.array([is_title(cell) for cell in table.unique], dtype=bool)
    if len(words) >= 3:
        found |= np.logical_and.reduce(known[table.codes], axis=1)
    return found
