"""What every ensemble holds: the draws, and what is known about them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tercet.ensemble import storage
from tercet.ensemble.draws import (
    Draws,
    Floats,
    Index,
    aligned,
    check_alignment,
    check_draws,
    frozen,
    join,
    take,
    turn,
)
from tercet.errors import InputError
from tercet.models import Model
from tercet.text import counted


class Held:
    """The draws of an `Ensemble`, which says what they mean. Immutable."""

    def __init__(
        self,
        draws: ArrayLike,
        *,
        kind: str = "points",
        chains: ArrayLike | None = None,
        parameters: Mapping[str, ArrayLike] | None = None,
        statistics: Mapping[str, ArrayLike] | None = None,
        model: Model | None = None,
        names: Iterable[str] | None = None,
        alignment: str = "rotate",
        reference: ArrayLike | None = None,
        centre: ArrayLike | None = None,
        spread: float = 1.0,
        provenance: Mapping[str, Any] | None = None,
    ) -> None:
        given = (draws, kind, chains, parameters, statistics, model, names, alignment)
        self._fields = check_draws(*given, reference, centre, spread, provenance)

    @property
    def draws(self) -> Floats:
        """The draws as they were drawn, (S, n, d) points or (S, n, n) distances."""
        return self._fields.draws

    @property
    def kind(self) -> str:
        """Whether the draws are "points" or "distances"."""
        return self._fields.kind

    @property
    def chains(self) -> Index:
        """The chain of each draw, (S,)."""
        return self._fields.chains

    @property
    def n_chains(self) -> int:
        """How many chains there are."""
        return len(np.unique(self.chains))

    @property
    def n_samples(self) -> int:
        """How many draws there are, in all chains."""
        return len(self.draws)

    @property
    def n_objects(self) -> int:
        """How many objects there are."""
        return int(self.draws.shape[1])

    @property
    def n_components(self) -> int:
        """How many dimensions the points have."""
        self._need_points()
        return int(self.draws.shape[2])

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the objects, if they have names."""
        return self._fields.names

    @property
    def parameters(self) -> dict[str, Floats]:
        """What was drawn with the points, name by name, (S,) each."""
        return dict(self._fields.parameters)

    @property
    def statistics(self) -> dict[str, Floats]:
        """What is known of each draw, name by name, (S,) each."""
        return dict(self._fields.statistics)

    @property
    def model(self) -> Model | None:
        """The model of one comparison, if known."""
        return self._fields.model

    @property
    def alignment(self) -> str:
        """How `samples` are laid on each other: "none", "rotate" or "scale"."""
        return self._fields.alignment

    @property
    def provenance(self) -> dict[str, Any]:
        """Where the draws came from."""
        return deepcopy(self._fields.provenance)

    @cached_property
    def samples(self) -> Floats:
        """The points laid on each other, (S, n, d), for showing them."""
        self._need_points()
        samples, centre, spread = self._laid, self._fields.centre, self._fields.spread
        if centre is None:
            return samples
        corrected: Floats = frozen(centre + spread * (samples - centre))
        return corrected

    def realigned(self, alignment: str) -> Self:
        """The same draws, laid on each other in another way: "none", "rotate" or "scale".

        "scale" shows where points are relative to each other, where a model hardly knows the size
        of a map, as CKL does. It changes distances, but not their order within a draw, nor with it
        the vote of the draws.
        """
        self._need_points()
        check_alignment(alignment)
        return type(self)._of(self._fields._replace(alignment=alignment))

    def in_principal_axes(self) -> Self:
        """The same ensemble turned so that the first dimension of its mean map spreads most.

        Along each dimension objects with higher numbers tend to have higher coordinates. One
        rotation (and reflection) for all draws: no distance changes.
        """
        mean = self.samples.mean(axis=0)
        axes = np.linalg.svd(mean - mean.mean(axis=0), full_matrices=True)[2].T
        numbers = np.arange(self.n_objects) - (self.n_objects - 1) / 2.0
        signs = np.where(numbers @ mean @ axes < 0.0, -1.0, 1.0)
        return type(self)._of(turn(self._fields, axes * signs))

    # --- the draws as a whole -----------------------------------------------------------------

    @classmethod
    def concatenate(cls, ensembles: Iterable[Held]) -> Self:
        """All draws of several ensembles of the same objects; their chains stay apart.

        What they are laid on is the reference of the first.
        """
        return cls._of(join([ensemble._fields for ensemble in ensembles]))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one npz file: all of it, or nothing."""
        storage.write(path, self._fields)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote; nothing in the file is executed."""
        return cls._of(storage.read(path))

    def __len__(self) -> int:
        return self.n_samples

    def __getitem__(self, rows: Any) -> Self:
        """The chosen draws as an ensemble: an int, a slice, integers or a mask."""
        chosen = rows if isinstance(rows, slice) else np.atleast_1d(np.asarray(rows))
        if not isinstance(chosen, slice) and (chosen.dtype.kind not in "iub" or chosen.ndim != 1):
            raise IndexError(f"draws are chosen by an int, a slice, integers or a mask: {rows!r}")
        return type(self)._of(take(self._fields, chosen))

    def __reduce__(self) -> tuple[Callable[[Draws], Self], tuple[Draws]]:
        return type(self)._of, (self._fields,)

    def __repr__(self) -> str:
        draws, d = counted(len(self), "draw"), self.draws.shape[2]
        what = f"in {counted(d, 'dimension')}" if self.kind == "points" else "as distances"
        parts = [f"{draws} of {self.n_objects} objects {what}"]
        if self.n_chains > 1:
            parts += [f"{self.n_chains} chains"]
        if self.model is not None:
            parts += [repr(self.model)]
        if "source" in self._fields.provenance:
            parts += [f"from {self._fields.provenance['source']}"]
        return f"Ensemble({', '.join(parts)})"

    @classmethod
    def _of(cls, fields: Draws) -> Self:
        """Make an ensemble of fields that were checked before."""
        ensemble = cls.__new__(cls)
        arrays = [fields.draws, fields.chains, fields.reference, fields.centre]
        for array in (*arrays, *fields.parameters.values(), *fields.statistics.values()):
            if array is not None:
                array.setflags(write=False)  # a pickled array comes back writable
        ensemble._fields = fields
        return ensemble

    def _need_points(self) -> None:
        if self.kind != "points":
            raise InputError(
                "this ensemble has distances, no points; its distances and probabilities can be "
                "had, but not a map."
            )

    @cached_property
    def _laid(self) -> Floats:
        """The points laid on each other, before any correction."""
        points: Floats = frozen(aligned(self._fields))
        return points
