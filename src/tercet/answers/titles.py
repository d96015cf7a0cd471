"""The titles of columns, and the cells that stand for a missing value."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from tercet.errors import InputError
from tercet.text import listed

__all__ = [
    "ALSO",
    "COLUMNS",
    "EXTRAS",
    "OBSERVERS",
    "TIME_WORDS",
    "find_columns",
    "find_observer",
    "find_times",
    "is_missing",
    "plain_title",
    "time_unit",
]

COLUMNS = {3: ("anchor", "near", "far"), 4: ("a", "b", "c", "d")}
EXTRAS = {
    "observer": "observers",
    "screen": "screens",
    "weight": "weights",
    "count": "weights",
    "response_time": "response_times",
}

# Synonyms of our titles, in the form of `plain_title`; used if a table has just one of them.
ALSO = {
    "anchor": ("probe", "reference", "head", "target"),
    "near": ("nearer", "closer", "closest", "chosen", "positive", "winner"),
    "far": ("farther", "further", "rejected", "unchosen", "other", "negative", "loser"),
    "screen": ("screens",),
    "weight": ("weights",),
    "count": ("counts",),
}
# Titles of the observers, in the same form, in order of preference.
OBSERVERS = (
    *("observer", "observers", "observerid", "participant", "participants", "participantid"),
    *("participantnumber", "participantno", "participantnr", "participantcode", "subject"),
    *("subjects", "subjectid"),
    *("subjectnumber", "subjectno", "subjectnr", "subj", "subjid", "worker", "workerid"),
    *("prolificpid", "prolificid", "respondent", "respondentid", "rater", "raterid", "person"),
    *("personid", "user", "userid", "vp", "vpn", "vpnr", "vpid", "vpcode", "versuchsperson"),
    *("proband", "subid", "ppt", "pptid", "ppid", "pid", "puid", "sonaid"),
    # One person may have several of these.
    *("sessionid", "surveyround"),
)
TIME_WORDS = ("response_time", "response_time_ms")  # our words, in a mapping of columns
# Units of titles: "RT (ms)", "rt_ms", "response time [ms]", "Response.Time..s.", "reactionTimeMs".
_UNITS = {
    **dict.fromkeys(("ms", "msec", "msecs", "millis", "millisecond", "milliseconds"), 0.001),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), 1.0),
}
_TIMES = ("rt", "responsetime", "reactiontime", "latency")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_GLUED = re.compile(r"(?<=rt)(?=ms$)", re.IGNORECASE)
# What programs write for a missing value, in any case.
_MISSING = {
    *("", "na", "n/a", "#n/a", "#na", "<na>", "nan", "-nan", "nat", "null", "none", "nil"),
    *("undefined", "#null!", "#value!", "#ref!", "#div/0!", "#num!", "#name?"),
}
_NAMES = ("Na", "Nan")  # in this spelling, sodium and a first name

Blank = Callable[[int], bool]


def plain_title(title: str) -> str:
    """A title in lower case, letters and digits only: "VP-Nr." becomes "vpnr"."""
    return "".join(filter(str.isalnum, title.lower()))


def is_missing(cell: str) -> bool:
    """Whether a cell is empty or stands for a missing value, such as NA."""
    cell = cell.strip()
    return cell.lower() in _MISSING and cell not in _NAMES


def find_observer(header: Sequence[str], is_blank: Blank = lambda _: False) -> int | None:
    """The column of the observers, if there is a nonempty one."""
    words = [plain_title(title) for title in header]
    for word in sorted(OBSERVERS.index(each) for each in set(words) if each in OBSERVERS):
        places = [i for i, each in enumerate(words) if each == OBSERVERS[word]]
        filled = [i for i in places if not is_blank(i)]
        if len(filled) > 1:
            raise _twice(header, filled[0])
        if filled:
            return filled[0]
    return None


def find_columns(
    header: Sequence[str], is_blank: Blank = lambda _: False
) -> tuple[tuple[int, ...], dict[str, int]]:
    """Find the columns of the comparison and the extras ("observers", …) in a table's header.

    Our own words override synonyms; ``is_blank(i)`` says whether a column is empty, as that of
    the observers may be.
    """
    words = [title.strip().lower() for title in header]
    for columns in COLUMNS.values():
        places = [_place(header, words, word) for word in columns]
        if None not in places:
            break
    else:
        found = listed(header) or "none"
        raise InputError(
            "the table needs the columns anchor, near, far (or a, b, c, d for "
            f"'a–b is closer than c–d'); columns found: {found}."
        )
    extras: dict[str, int] = {}
    for word, field in EXTRAS.items():
        place = _place(header, words, word)
        if place is None and word == "observer":
            place = find_observer(header, is_blank)
        if place is not None and field in extras:
            both = f"{header[extras[field]]!r} and {header[place]!r}"
            raise InputError(f"the table has both {both}; keep one of them.")
        if place is not None:
            extras[field] = place
    return tuple(place for place in places if place is not None), extras


def _place(header: Sequence[str], words: Sequence[str], word: str) -> int | None:
    """The place of one of our words, or of its only synonym."""
    own = [i for i, each in enumerate(words) if each == word]
    if len(own) > 1:
        raise _twice(header, own[0])
    if own:
        return own[0]
    also = [i for i, title in enumerate(header) if plain_title(title) in ALSO.get(word, ())]
    return also[0] if len(also) == 1 else None


def _twice(header: Sequence[str], place: int) -> InputError:
    found = listed(header)
    return InputError(
        f"the column {header[place].strip()!r} occurs twice (columns found: {found})."
    )


def find_times(header: Sequence[str]) -> int | None:
    """The place of the response times: our word, or the only title that names them and their unit.

    A title such as "rt" alone does not distinguish milliseconds from seconds, and is not used.
    """
    words = [title.lower() for title in header]
    for word in TIME_WORDS:
        if word in words:
            return words.index(word)
    places = [
        i for i, title in enumerate(header) if time_unit(title) is not None and _is_time(title)
    ]
    return places[0] if len(places) == 1 else None


def _words(title: str) -> list[str]:
    """The words of a title in lower case: "rtMs" has two."""
    return [word.lower() for word in _WORD.findall(_GLUED.sub(" ", title))]


def time_unit(title: str) -> float | None:
    """The unit at the end of a title in seconds, such as .001 for "RT (ms)"."""
    words = _words(title)
    return _UNITS.get(words[-1]) if len(words) > 1 else None


def _is_time(title: str) -> bool:
    """Whether a title that ends in a unit names response times."""
    words = _words(title)[:-1]
    return "".join(word for word in words if word != "in") in _TIMES
