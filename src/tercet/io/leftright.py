"""Two choices, on the left and on the right, and which of them the response was.

Any table will do: a column map says which are the anchor, the choices and the response.
"""

from __future__ import annotations

from tercet.io.formats import Format
from tercet.io.psychopy import read_sides
from tercet.io.reading import Options, Reading
from tercet.io.source import Source

__all__ = ["LEFT_RIGHT"]


def _matches(source: Source) -> bool:
    return source.titles >= {"anchor", "left", "right", "response"}


def _read(source: Source, options: Options) -> Reading:
    return read_sides(source, options, LEFT_RIGHT.name, LEFT_RIGHT.title)


LEFT_RIGHT = Format(
    "left-right",
    "a table of choices on the left and on the right",
    "columns anchor, left, right, response",
    _matches,
    _read,
)
