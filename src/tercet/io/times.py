"""Response times: their unit, as titles tell it, and times that cannot be."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.io.cells import Cells

__all__ = ["TIME_WORDS", "Times", "check_times", "find_times", "read_times"]

TIME_WORDS = ("response_time", "response_time_ms")  # our words, in a map of columns
# What titles say: "RT (ms)", "rt_ms", "response time [ms]", "Response.Time..s.", "reactionTimeMs".
_UNITS = {
    **dict.fromkeys(("ms", "msec", "msecs", "millis", "millisecond", "milliseconds"), 0.001),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
}
_CALLED = {0.001: "milliseconds", 1.0: "seconds"}
_NAMES = ("rt", "responsetime", "reactiontime", "latency")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_GLUED = re.compile(r"(?<=rt)(?=ms$)", re.IGNORECASE)

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


def find_times(header: Sequence[str]) -> int | None:
    """The place of the response times: our word, or the one title that names them and their unit.

    A title such as "rt" alone does not tell milliseconds from seconds, and is not taken.
    """
    words = [title.lower() for title in header]
    for word in TIME_WORDS:
        if word in words:
            return words.index(word)
    places = [i for i, title in enumerate(header) if _unit(title) is not None and _is_time(title)]
    return places[0] if len(places) == 1 else None


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
    stated = next((u for each in (table.header[place], title) if (u := _unit(each))), None)
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
    if count := np.count_nonzero(wrong):
        what = "1 response time is" if count == 1 else f"{count} response times are"
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


def _words(title: str) -> list[str]:
    """The words of a title in lower case, whatever stands between them: "rtMs" has two."""
    return [word.lower() for word in _WORD.findall(_GLUED.sub(" ", title))]


def _unit(title: str) -> float | None:
    """How many seconds the unit has that ends a title, such as .001 for "RT (ms)"."""
    words = _words(title)
    return _UNITS.get(words[-1]) if len(words) > 1 else None


def _is_time(title: str) -> bool:
    """Whether a title that ends in a unit names response times."""
    words = _words(title)[:-1]
    return "".join(word for word in words if word != "in") in _NAMES
