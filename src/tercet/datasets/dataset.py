"""One typed object for every set, whether people answered or features were measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tercet.datasets.catalogue import Entry
from tercet.triplets import Triplets

__all__ = ["Dataset"]


def _nothing() -> Mapping[str, NDArray[Any]]:
    return MappingProxyType({})


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A set of answers or of features, with what is known of it.

    Parameters
    ----------
    entry : Entry
        What the set is, who published it, under which licence: see `list_datasets`.
    source : str
        Where this copy was read: a folder, or the address it was downloaded from.
    triplets : Triplets, optional
        People's answers, with names, observers, screens and votes where the data have them.
    features : ndarray of shape (n, p), optional
        Measured features, one row for each object, as published: nothing is scaled.
    feature_names : tuple of p str, optional
        What was measured.
    labels : ndarray of shape (n,), optional
        The class of each object.
    label_names : mapping of a label to str, optional
        What the labels mean, where they are numbers.
    stimuli : ndarray of shape (n,), optional
        The physical value of each object.
    columns : mapping of str to ndarray of shape (m,)
        What else is known of each row of the triplets.
    notes : tuple of str
        What was left out or changed, and what to beware of.
    """

    entry: Entry
    source: str
    triplets: Triplets | None = None
    features: NDArray[np.float64] | None = None
    feature_names: tuple[str, ...] | None = None
    labels: NDArray[Any] | None = None
    label_names: Mapping[int, str] | None = None
    stimuli: NDArray[np.float64] | None = None
    columns: Mapping[str, NDArray[Any]] = field(default_factory=_nothing)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        arrays = (self.features, self.labels, self.stimuli, *self.columns.values())
        for array in arrays:
            if array is not None:
                array.setflags(write=False)
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))

    @property
    def name(self) -> str:
        """The short name, as in ``load_name``."""
        return self.entry.name

    @property
    def title(self) -> str:
        """What the set is, in a few words."""
        return self.entry.title

    @property
    def citation(self) -> str:
        """What to cite when the set is used."""
        return self.entry.citation

    @property
    def licence(self) -> str:
        """Under which terms it was published, as far as is known."""
        return self.entry.licence

    @property
    def home(self) -> str:
        """Where it was published."""
        return self.entry.home

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the objects, if they have names."""
        return None if self.triplets is None else self.triplets.names

    @property
    def observers(self) -> NDArray[Any] | None:
        """Who gave each answer (m,), if known."""
        return None if self.triplets is None else self.triplets.observers

    @property
    def n_objects(self) -> int:
        """How many objects there are."""
        if self.triplets is not None:
            return self.triplets.n_objects
        return 0 if self.features is None else len(self.features)

    def __repr__(self) -> str:
        lines = [f"{self.title} ({self.name})"]
        if self.triplets is not None:
            lines.append(repr(self.triplets))
        if self.features is not None:
            lines.append(f"features: {self.features.shape[0]} × {self.features.shape[1]}")
        if self.labels is not None:
            known = self.label_names or {}
            kinds = zip(*np.unique(self.labels, return_counts=True), strict=True)
            lines.append("labels: " + ", ".join(f"{known.get(k, k)} {count}" for k, count in kinds))
        if self.stimuli is not None:
            lines.append(f"stimuli: {self.stimuli.min():g} to {self.stimuli.max():g}")
        if self.columns:
            lines.append("columns: " + ", ".join(self.columns))
        lines += [f"note: {note}" for note in self.notes]
        lines += [f"cite: {self.citation}", f"licence: {self.licence}", f"read from: {self.source}"]
        return "\n  ".join(lines)
