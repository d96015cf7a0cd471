"""Which column of a table is likely what, from its titles and from what it has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np

from tercet.errors import InputError
from tercet.io.cells import Cells
from tercet.titles import OBSERVERS, is_missing, plain_title

__all__ = ["UNKNOWN", "guesses", "is_numbered", "role_of"]

# Words in titles, by what they say of a column; the first group that has one of them decides.
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
UNKNOWN = "…"  # in place of a title that is not clear


def role_of(title: str) -> str | None:
    """What a title says of its column, such as "near" or "observer"; None if nothing."""
    if plain_title(title) in OBSERVERS:
        return "observer"
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Za-z])(?=[0-9])", " ", title)
    words = re.findall(r"[^\W_]+", apart.lower())
    if len(words) == 2 and words[0] in _STEMS and words[1] in _NUMBERS | _SIDES:
        return (_NUMBERS | _SIDES)[words[1]]
    return next((role for role, known in _WORDS.items() if known.intersection(words)), None)


def is_numbered(role: str) -> bool:
    """Whether a role comes from a number, as in "image1", which may be an object as well."""
    return role in _NUMBERS.values()


def guesses(table: Cells) -> Iterator[dict[str, str]]:
    """Maps from our words to titles of the table, the likeliest first.

    Where two sides and a response are there but no anchor, this has `UNKNOWN` for a title.
    """
    header = table.header
    places: dict[str, list[int]] = {}
    for i, title in enumerate(header):
        unique = bool(title) and header.count(title) == 1
        places.setdefault((role_of(title) if unique else "beside") or "", []).append(i)
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
        found = {"anchor": UNKNOWN if anchor is None else header[anchor]} | sides
        yield found
        yield from (found | keys for keys in _keys(table, left, right, response))


def _one_more(table: Cells, rest: Sequence[int], objects: Sequence[int]) -> int | None:
    """The one column of the rest that shares values with these."""
    shared = [i for i in rest if np.isin(table.column(i), table.codes[:, objects]).any()]
    return shared[0] if len(shared) == 1 else None


def _keys(table: Cells, left: int, right: int, response: int) -> Iterator[dict[str, str]]:
    """The responses that mean left and right, where they are the titles or end them."""
    given = {table.unique[code].lower() for code in np.unique(table.column(response)).tolist()}
    given = {cell for cell in given if not is_missing(cell)}
    one, other = (table.header[i].lower() for i in (left, right))
    for keys in (one, other), (one[-1:], other[-1:]):
        if given <= set(keys) and keys[0] != keys[1]:
            yield {"left_key": keys[0], "right_key": keys[1]}
