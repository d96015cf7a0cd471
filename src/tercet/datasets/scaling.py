"""Difference scaling: the examples of the R package MLDS, on one dimension."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tercet.datasets.catalogue import CATALOGUE
from tercet.datasets.dataset import Dataset
from tercet.datasets.fetch import locate
from tercet.datasets.files import read_table, reading
from tercet.errors import InputError
from tercet.triplets import Triplets

__all__ = ["load_mlds"]


class _Example(NamedTuple):
    """What the package's help pages say of an example."""

    stimuli: tuple[float, ...]
    what: str
    observer: str | None  # None: a column says


_CORRELATION = (*(k / 10 for k in range(10)), 0.98)
_EXAMPLES = {
    **{
        name: _Example(_CORRELATION, "correlation of a scatter plot", "KK")
        for name in ("kk1", "kk2", "kk3", "kktriad")
    },
    "AutumnLab": _Example((1, *range(6, 31, 3)), "compression of an image", "A1"),
    "Transparency": _Example(
        (1.1, 1.23, 1.37, 1.5, 1.63, 1.77, 1.9, 2.03, 2.17, 2.3), "refractive index", None
    ),
}


def load_mlds(which: str = "kk1") -> Dataset:
    """Load an example of Knoblauch and Maloney's R package MLDS.

    Parameters
    ----------
    which : {"kk1", "kk2", "kk3", "kktriad", "AutumnLab", "Transparency"}
        kk1 to kk3 and kktriad are of one observer, AutumnLab of another, Transparency of six.

    Returns
    -------
    Dataset
        ``triplets``: quadruplets "a–b is closer than c–d"; of kktriad triplets, whose anchor is
        the middle one. ``stimuli`` (n,): physical values, in rising order.

    Notes
    -----
    The files are the package's data frames as CSV; in R:
    ``write.csv(kk1, "kk1.csv", row.names = FALSE)``.
    """
    if which not in _EXAMPLES:
        raise InputError(f"which must be one of {', '.join(_EXAMPLES)}; got {which!r}.")
    entry = CATALOGUE["mlds"]
    example = _EXAMPLES[which]
    (path,) = locate(entry, f"{which}.csv")
    triads = which == "kktriad"
    shown = ("s1", "s2", "s3") if triads else ("s1", "s2", "s3", "s4")
    response, *ranks = read_table(path, "resp", *shown)
    with reading(path):
        stimuli = np.column_stack(ranks).astype(np.int64) - 1
        larger = response.astype(np.int64)  # 1: the second pair has the larger difference
        if not np.isin(larger, (0, 1)).all():
            raise ValueError("resp must be 0 or 1")
    first, second = ([1, 0, 2], [1, 2, 0]) if triads else ([0, 1, 2, 3], [2, 3, 0, 1])
    array = np.where(larger[:, np.newaxis] == 1, stimuli[:, first], stimuli[:, second])
    observers = (
        read_table(path, "observer")[0].copy()
        if example.observer is None
        else np.full(len(array), example.observer)
    )
    return Dataset(
        entry,
        str(path),
        triplets=Triplets(array, n_objects=len(example.stimuli), observers=observers),
        stimuli=np.array(example.stimuli, dtype=np.float64),
        notes=(f"{which}; the stimuli: {example.what}",),
    )
