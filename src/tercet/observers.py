"""Observers by one name: 11 and 11.0 are one person, wherever the numbers come from."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["label_observers", "match_observers", "settle_observers", "whole_observers"]

_WHOLE = re.compile(r"([+-]?[0-9]+)\.0*")
_PLAIN = re.compile(r"0|-?[1-9][0-9]{0,17}")  # 18 digits always fit into int64


def label_observers(values: Iterable[Any]) -> list[str]:
    """The label of every observer: as text, and 11 for 11.0, which is how gaps make it look.

    Labels such as 011 stay as they are, since 011 and 11 may be two people.

    Examples
    --------
    >>> label_observers([11.0, 11, "11.0", "011", "eve"])
    ['11', '11', '11', '011', 'eve']
    """
    texts = (str(value).strip() for value in values)
    return [found[1] if (found := _WHOLE.fullmatch(text)) else text for text in texts]


def settle_observers(values: Iterable[Any]) -> NDArray[Any]:
    """Observers (m,) of a file: whole numbers if all of them are such, and their labels if not."""
    labels = label_observers(values)
    if all(_PLAIN.fullmatch(label) for label in set(labels)):
        return np.array([int(label) for label in labels], dtype=np.int64)
    return np.array(labels, dtype=object)


def whole_observers(values: NDArray[Any]) -> NDArray[Any]:
    """Observers (m,) that are numbers, as whole numbers if they are: a gap makes 11 to 11.0."""
    if values.dtype.kind != "f" or not (np.abs(values) < 2.0**53).all():
        return values
    return values.astype(np.int64) if (np.floor(values) == values).all() else values


def match_observers(wanted: Iterable[Any], known: Iterable[Any]) -> NDArray[np.int64]:
    """The place of each wanted observer among the known ones, (k,); -1 where there is none."""
    place = {label: k for k, label in enumerate(label_observers(known))}
    return np.array([place.get(label, -1) for label in label_observers(wanted)], dtype=np.int64)
