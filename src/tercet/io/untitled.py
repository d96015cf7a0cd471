"""Tables without titles that are known: whether all cells are objects, the first line too."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tercet.errors import InputError
from tercet.io.cells import Cells
from tercet.io.offer import is_numbered, role_of
from tercet.text import listing
from tercet.titles import COLUMNS

__all__ = ["UnknownColumnsError", "is_number", "reject_apart", "reject_titles", "say_untitled"]

_ENOUGH = 5  # rows after which it is no accident that a column shares nothing with the others


class UnknownColumnsError(InputError):
    """A table that lacks our columns; whoever asked for it may offer what is likely meant.

    Attributes
    ----------
    table : Cells
    titled : bool
        Whether its titles are to be renamed or pointed out.
    otherwise : str
        What to do if they are no titles.
    """

    def __init__(
        self, message: str, table: Cells, *, titled: bool = True, otherwise: str = ""
    ) -> None:
        super().__init__(message)
        self.table = table
        self.titled = titled
        self.otherwise = otherwise


def reject_titles(table: Cells) -> None:
    """Refuse a table of 3 or 4 columns if its first row is titles, or its columns no objects.

    The first row is titles if all of its words occur nowhere else; or if two do, and no other row
    has as many such words, which of real answers just one in so many rows has; or by its words, if
    these are usual in titles. Numbers are never titles.
    """
    first = table.codes[0]
    cells = [table.unique[code] for code in first]
    others = table.codes[(table.codes != first).any(axis=1)]  # it may come again, as titles do
    new = ~np.isin(first, others) & ~np.array([is_number(cell) for cell in cells])
    once = np.bincount(table.codes.ravel(), minlength=len(table.unique)) == 1
    most = int(np.count_nonzero(once[others], axis=1).max()) if len(others) else 0
    roles = [role_of(cell) for cell in cells]
    usual = {role for role in roles if role is not None and not is_numbered(role)}
    fresh = [role for role, is_new in zip(roles, new, strict=True) if role is not None and is_new]
    titled = new.all() or np.count_nonzero(new) >= max(2, most + 1)
    titled = titled or (len(usual) >= 3 and new.any()) or len(fresh) >= 2 or "observer" in fresh
    if not titled:
        reject_apart(table)
        return
    found = ", ".join(f"{cell!r:.80}" for cell in cells)
    ours = ",".join(COLUMNS[len(cells)])
    otherwise = f"If the file has no header and this is an answer, put the line {ours} before it."
    raise UnknownColumnsError(
        f"{table.where(0)}: the header must have the columns anchor, near, far (or a, b, c, d); "
        f"columns found: {found}.",
        table,
        otherwise=otherwise,
    )


def is_number(cell: str) -> bool:
    """Whether a cell is a number, whole or not."""
    try:
        float(cell)
    except ValueError:
        return False
    return True


def say_untitled(width: int) -> str:
    """How the columns of a table without titles are taken, for a note."""
    said = f"There are no titles: the columns are taken as {', '.join(COLUMNS[width])}."
    if width == 3:  # as files of THINGS have it
        said += " If the third is the odd one out of three, give the format odd-one-out."
    return said


def reject_apart(table: Cells) -> None:
    """Refuse a table without titles if a column shares no value with the others.

    Of few rows that says nothing, except in four columns of names: one may be of observers.
    """
    width, rows = table.codes.shape[1], len(table)
    if rows > _ENOUGH:
        apart = _apart(table.codes[1:])  # the first row may be titles
    else:
        doubtful = width == 4 and rows > 1 and not all(map(is_number, table.unique))
        apart = _apart(table.codes) if doubtful else []
    if not apart:
        return
    values = [table.unique[code] for code in dict.fromkeys(table.column(apart[-1]).tolist())]
    objects, titles = ("three", "anchor,near,far") if width == 3 else ("four", "a,b,c,d")
    also = " (or anchor,near,far,observer)" if width == 4 else ""
    raise UnknownColumnsError(
        f"{table.path} has no titles, and column {apart[-1] + 1} shares no value with the others: "
        f"{listing(values, range(len(values)), limit=5)}. So these may not be {objects} objects. "
        f"If they are, put the line {titles} on top{also}, with commas between columns.",
        table,
        titled=False,
    )


def _apart(codes: NDArray[np.int64]) -> list[int]:
    """Columns that share no value with any other."""
    columns = [np.unique(column) for column in codes.T]
    return [
        i
        for i, column in enumerate(columns)
        if not any(np.isin(column, each).any() for each in columns[:i] + columns[i + 1 :])
    ]
