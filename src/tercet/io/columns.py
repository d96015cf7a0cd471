"""Unknown titles: what columns likely contain, and whether the first line is a header."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tercet.answers.titles import ALSO, COLUMNS, EXTRAS, OBSERVERS, is_missing, plain_title
from tercet.errors import InputError
from tercet.io.cells import Cells, looks_like_number
from tercet.text import listed

__all__ = [
    "UNKNOWN",
    "UnknownColumnsError",
    "guesses",
    "is_title",
    "reject_apart",
    "reject_repeated_header",
    "reject_titles",
    "say_untitled",
]

# Words in titles, by the role of the column; the first group with a match decides.
_WORDS = {
    "beside": {"time", "times", "rt", "latency", "duration", "onset", "date", "trial", "correct"},
    "odd": {"odd", "oddone", "oddball", "oddoneout"},
    "left": {"left", "links"},
    "right": {"right", "rechts"},
    "far": {"far", "farther", "farthest", "further", "furthest", "rejected", "unchosen", "other"}
    | {"negative", "loser", "less", "least", "dissimilar", "different", "not"},
    "near": {"near", "nearer", "nearest", "close", "closer", "closest", "chosen", "selected"}
    | {"positive", "winner", "more", "most", "similar"},
    "response": {"response", "resp", "choice", "answer", "decision", "judgement", "judgment"}
    | {"key", "keys", "pressed", "pick", "picked", "antwort"},
    "anchor": {"anchor", "probe", "reference", "ref", "head", "target", "standard", "center"}
    | {"centre", "query", "cue", "sample", "referenz"},
}
_STEMS = {
    *("option", "choice", "alternative", "comparison", "comp", "stimulus", "stim", "image", "img"),
    *("item", "object", "obj", "picture", "pic", "photo", "candidate", "word", "sound", "response"),
}
_SIDES = {"l": "left", "r": "right"}
_NUMBERS = {"1": "first", "a": "first", "2": "second", "b": "second", "3": "third", "c": "third"}
_OBJECTS = ("object1", "object2", "object3")
UNKNOWN = "…"  # placeholder for an unclear title
_KNOWN = {*COLUMNS[3], *map(plain_title, EXTRAS), *OBSERVERS, *sum(ALSO.values(), ())}
_ENOUGH = 5  # rows: with more, a column that shares no value with the others is no coincidence


def is_title(cell: str) -> bool:
    """Whether a cell is a known title, ours or a synonym."""
    return plain_title(cell) in _KNOWN


def _role_of(title: str) -> str | None:
    """The role of a column by its title, such as "near" or "observer"; None if unclear."""
    if plain_title(title) in OBSERVERS:
        return "observer"
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Za-z])(?=[0-9])", " ", title)
    words = re.findall(r"[^\W_]+", apart.lower())
    if len(words) == 2 and words[0] in _STEMS and words[1] in _NUMBERS | _SIDES:
        return (_NUMBERS | _SIDES)[words[1]]
    return next((role for role, known in _WORDS.items() if known.intersection(words)), None)


def guesses(table: Cells) -> Iterator[dict[str, str]]:
    """Mappings from our words to titles of the table, the most likely first.

    With two sides and a response but no anchor, the title of the anchor is `UNKNOWN`.
    """
    header = table.header
    places: dict[str, list[int]] = {}
    for i, title in enumerate(header):
        unique = bool(title) and header.count(title) == 1
        places.setdefault((_role_of(title) if unique else "beside") or "", []).append(i)
    known = {role: each[0] for role, each in places.items() if role and len(each) == 1}
    try:
        observer = table.find_observer()
    except InputError:  # there are two
        return
    beside = {} if observer is None else {"observer": header[observer]}
    rest = places.get("", [])

    def titles(**chosen: int) -> dict[str, str]:
        return {word: header[i] for word, i in chosen.items()} | beside

    if {"near", "far"} <= known.keys():
        near, far = known["near"], known["far"]
        anchor = known.get("anchor", _one_more(table, rest, [near, far]))
        if anchor is not None:
            yield titles(anchor=anchor, near=near, far=far)
    if "odd" in known:
        shown = [known.get(role) for role in ("first", "second", "third")]
        objects = [i for i in shown if i is not None]
        if len(objects) < 3:
            objects = rest if len(rest) == 3 else []
        if objects:
            yield titles(**dict(zip(_OBJECTS, objects, strict=True)), odd=known["odd"])
    response = known.get("response", known.get("near"))
    for pair in ("left", "right"), ("first", "second"):
        if response is None or not known.keys() >= set(pair):
            continue
        left, right = (known[side] for side in pair)
        anchor = known.get("anchor", _one_more(table, rest, [left, right]))
        sides = titles(left=left, right=right, response=response)
        guess = {"anchor": UNKNOWN if anchor is None else header[anchor]} | sides
        yield guess
        yield from (guess | keys for keys in _keys(table, left, right, response))


def _one_more(table: Cells, rest: Sequence[int], objects: Sequence[int]) -> int | None:
    """The only column of the rest that shares values with these, or None."""
    shared = [i for i in rest if np.isin(table.column(i), table.codes[:, objects]).any()]
    return shared[0] if len(shared) == 1 else None


def _keys(table: Cells, left: int, right: int, response: int) -> Iterator[dict[str, str]]:
    """The responses that mean left and right, if they are the titles or their last letters."""
    given = {table.unique[code].lower() for code in np.unique(table.column(response)).tolist()}
    given = {cell for cell in given if not is_missing(cell)}
    one, other = (table.header[i].lower() for i in (left, right))
    for keys in (one, other), (one[-1:], other[-1:]):
        if given <= set(keys) and keys[0] != keys[1]:
            yield {"left_key": keys[0], "right_key": keys[1]}


# --- the first line, and a repeated header ----------------------------------------------------


class UnknownColumnsError(InputError):
    """A table without our columns.

    Attributes
    ----------
    table : Cells
    titled : bool
        Whether it has titles, to be renamed or mapped.
    otherwise : str
        What to do if the first line is not a header.
    """

    def __init__(
        self, message: str, table: Cells, *, titled: bool = True, otherwise: str = ""
    ) -> None:
        super().__init__(message)
        self.table = table
        self.titled = titled
        self.otherwise = otherwise


def reject_titles(table: Cells) -> None:
    """Refuse a table of 3 or 4 columns if its first row is titles, or its columns are not objects.

    The first row is titles if none of its words occurs elsewhere; or if at least two do not, and no
    other row has as many unique words; or if its words are usual in titles. Numbers are not titles.
    """
    first = table.codes[0]
    cells = [table.unique[code] for code in first]
    others = table.codes[(table.codes != first).any(axis=1)]  # a header may be repeated
    new = ~np.isin(first, others) & ~np.array([looks_like_number(cell) for cell in cells])
    once = np.bincount(table.codes.ravel(), minlength=len(table.unique)) == 1
    most = int(np.count_nonzero(once[others], axis=1).max()) if len(others) else 0
    roles = [_role_of(cell) for cell in cells]
    numbered = (None, *_NUMBERS.values())  # such as "image1", which may also be an object
    usual = {role for role in roles if role not in numbered}
    fresh = [role for role, is_new in zip(roles, new, strict=True) if role is not None and is_new]
    titled = new.all() or np.count_nonzero(new) >= max(2, most + 1)
    titled = titled or (len(usual) >= 3 and new.any()) or len(fresh) >= 2 or "observer" in fresh
    if not titled:
        reject_apart(table)
        return
    found = ", ".join(f"{cell!r:.80}" for cell in cells)
    ours = ",".join(COLUMNS[len(cells)])
    otherwise = f"If the file has no header and this is an answer, add the line {ours} before it."
    raise UnknownColumnsError(
        f"{table.where(0)}: the header must have the columns anchor, near, far (or a, b, c, d); "
        f"columns found: {found}.",
        table,
        otherwise=otherwise,
    )


def say_untitled(width: int) -> str:
    """A note about the columns of a table without titles."""
    note = f"There are no titles: the columns are assumed to be {', '.join(COLUMNS[width])}."
    if width == 3:  # as in files of THINGS
        note += " If the third is the odd one out of three, give the format odd-one-out."
    return note


def reject_apart(table: Cells) -> None:
    """Refuse a table without titles if a column shares no value with the others.

    With few rows that means nothing, except for four columns of names: one may be observers.
    """
    width, rows = table.codes.shape[1], len(table)
    if rows > _ENOUGH:
        apart = _apart(table.codes[1:])  # the first row may be titles
    else:
        doubtful = width == 4 and rows > 1 and not all(map(looks_like_number, table.unique))
        apart = _apart(table.codes) if doubtful else []
    if not apart:
        return
    values = [table.unique[code] for code in dict.fromkeys(table.column(apart[-1]).tolist())]
    objects, titles = ("three", "anchor,near,far") if width == 3 else ("four", "a,b,c,d")
    also = " (or anchor,near,far,observer)" if width == 4 else ""
    raise UnknownColumnsError(
        f"{table.path} has no titles, and column {apart[-1] + 1} shares no value with the others: "
        f"{listed(values, 5)}. So these may not be {objects} objects. "
        f"If they are, add the line {titles} at the top{also}, with commas between columns.",
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


def reject_repeated_header(table: Cells) -> None:
    """Refuse rows that repeat the header: in any case or order, or with other known titles.

    Titles of one letter may also be objects, and are a header only if identical.
    """
    place = {cell: code for code, cell in enumerate(table.unique)}
    again = (table.codes == [place.get(title, -1) for title in table.header]).all(axis=1)
    again |= _in_other_words(table)
    if again.any():
        raise InputError(
            f"{table.where(int(again.argmax()))}: the header is repeated "
            f"({np.count_nonzero(again)} in all), as in concatenated files. Remove the line; if "
            "its columns are in another order, correct the lines below it too."
        )


def _in_other_words(table: Cells) -> NDArray[np.bool_]:
    """Rows (rows,) with all titles in any case and order, or with known titles only."""
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
