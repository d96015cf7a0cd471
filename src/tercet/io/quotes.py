"""Quotes in tables of text: a cell may run over the end of a line, and a stray quote may not."""

from __future__ import annotations

import csv
from collections.abc import Sequence

from tercet.errors import InputError

__all__ = ["check_quotes"]


def check_quotes(where: str, lines: Sequence[str], delimiter: str, width: int) -> None:
    """Refuse a row over several lines if a stray quote joined them.

    The quotes must close, each where the cell ends, and there must be as many cells as in other
    rows. And what lies within the quotes must not be the rest of a row, whole rows, and the start
    of a row.

    Parameters
    ----------
    where : str
        Its first line, for the error.
    lines : sequence of str
        All of its lines.
    delimiter : str
    width : int
        How many cells the first row of the table has.
    """
    try:
        rows = list(csv.reader(lines, delimiter=delimiter, strict=True))
        sensible = len(rows) == 1 and len(rows[0]) == width
    except csv.Error:
        sensible = False
    alone = (_width(line, delimiter) for line in lines if line.strip('" \t\n'))
    if not sensible or all(each == width for each in alone):
        raise InputError(
            f'{where}: a quote (") opens a cell here that runs over the end of the line, and '
            f"{len(lines)} lines would become one row. Remove the quote, or write it twice and "
            "put the cell into quotes."
        )


def _width(line: str, delimiter: str) -> int:
    """How many cells a line has, were its quotes but letters."""
    return line.count(delimiter) + 1
