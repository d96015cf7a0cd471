"""Response times: their unit, as titles tell it, and times that cannot be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.io.cells import Cells
from tercet.text import counted
from tercet.titles import TIME_WORDS, time_unit

__all__ = ["Times", "check_times", "read_times"]

_CALLED = {0.001: "milliseconds", 1.0: "seconds"}
LONGEST = 86_400.0  # a day: nobody thinks about an answer for longer
# Nobody answers in less than 100 ms, so milliseconds that are taken for seconds have a median
# above this; and seconds that are taken for milliseconds have one far below a tenth of a second.
SLOW, FAST = 100.0, 0.02


class Times(NamedTuple):
    """Response times, and what is to be said of them.

    Attributes
    ----------
    seconds : (m,) array
        NaN where unknown.
    note : str
        How they were read, where the title of their column decided that.
    doubts : tuple of str
        What may be wrong with them, as sentences.
    """

    seconds: NDArray[np.float64]
    note: str = ""
    doubts: tuple[str, ...] = ()


def read_times(table: Cells, place: int, unit: float = 1.0) -> Times:
    """A column of response times in seconds.

    Parameters
    ----------
    table : Cells
    place : int
    unit : float
        How many seconds the unit of the column has, where its title does not say it.
    """
    title = table.title(place)
    # What the caller calls a column goes before what the file does.
    stated = next((u for each in (table.header[place], title) if (u := time_unit(each))), None)
    factor = unit if stated is None else stated
    found = check_times(table.times(place) * factor, table.line, as_seconds=factor == 1.0)
    if stated is None or title.lower() in TIME_WORDS:
        return found
    return found._replace(
        note=f"Response times are taken from {title!r}, in {_CALLED[stated]} as it says."
    )


def check_times(
    values: NDArray[Any], line: Callable[[int], str], *, as_seconds: bool = True
) -> Times:
    """Times in seconds with those that cannot be as unknown, and what is to be said of them.

    Parameters
    ----------
    values : (m,) array
        In seconds.
    line : callable
        Says where a time is.
    as_seconds : bool
        Whether the file is taken to have seconds.
    """
    seconds = np.array(values, dtype=np.float64)
    wrong = (seconds < 0) | (seconds > LONGEST)
    seconds[wrong] = np.nan
    doubts = []
    if count := int(np.count_nonzero(wrong)):
        what = f"{counted(count, 'response time')} {'is' if count == 1 else 'are'}"
        doubts.append(
            f"{what} impossible (below 0, above a day or no number) and taken as unknown (the "
            f"first: {line(int(wrong.argmax()))})."
        )
    known = seconds[~np.isnan(seconds)]
    median = float(np.median(known)) if known.size else 1.0
    if median > SLOW and as_seconds:
        doubts.append(
            f"Response times look like milliseconds: taken as seconds, their median is {median:g}. "
            "If so, call their column response_time_ms."
        )
    elif 0.0 < median < FAST:
        doubts.append(
            f"Response times have a median of {median:g} seconds, in which nobody can answer. "
            "Check their unit, and call their column response_time if they are seconds."
        )
    return Times(seconds, "", tuple(doubts))
