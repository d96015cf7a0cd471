"""Names that look alike and are different: a slip, or files that were put together."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from tercet.triplets import Triplets

__all__ = ["say_alike"]

_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]*)?")


def say_alike(triplets: Triplets) -> str:
    """A sentence on objects and one on observers that differ only in how they are written."""
    observers = triplets.observers
    labels = observers.tolist() if observers is not None and observers.dtype.kind == "U" else ()
    said = (_say("objects", triplets.names or ()), _say("observers", dict.fromkeys(labels)))
    return " ".join(filter(None, said))


def _say(what: str, names: Iterable[str]) -> str:
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(_key(name), []).append(name)
    alike = [group for group in groups.values() if len(group) > 1]
    if not alike:
        return ""
    shown = "; ".join(" and ".join(f"{name!r:.60}" for name in group[:3]) for group in alike[:3])
    more = f"; and {len(alike) - 3} more such groups" if len(alike) > 3 else ""
    return f"Taken as different {what}, though they look alike: {shown}{more}."


def _key(name: str) -> str:
    """The same for names that differ in case, spaces, accents' coding, or zeros of a number."""
    if _NUMBER.fullmatch(name):
        return repr(float(name) + 0.0)
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())
