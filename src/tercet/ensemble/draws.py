"""The fields of an ensemble: checking, selecting, joining and aligning draws."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tercet.align import align, generalised_procrustes
from tercet.answers.triplets import Triplets
from tercet.arrays import Floats, Index
from tercet.errors import InputError
from tercet.models import Model, domains
from tercet.models.base import FINITE
from tercet.running.memory import LARGEST_NUMBER, need_memory
from tercet.tables import check_depth

_MOST_SPREAD = 1e10  # √(r/(1 − r)) if all but one of 10²⁰ answers are drawn


class Draws(NamedTuple):
    """The fields of an `Ensemble`; see there. Arrays are read-only."""

    draws: Floats
    kind: str
    chains: Index
    parameters: dict[str, Floats]
    statistics: dict[str, Floats]
    model: Model | None
    names: tuple[str, ...] | None
    alignment: str
    reference: Floats | None
    centre: Floats | None
    spread: float
    provenance: dict[str, Any]


# --- checking ---------------------------------------------------------------------------------


def check_draws(
    draws: ArrayLike,
    kind: str,
    chains: ArrayLike | None,
    parameters: Mapping[str, ArrayLike] | None,
    statistics: Mapping[str, ArrayLike] | None,
    model: Model | None,
    names: Iterable[str] | None,
    alignment: str,
    reference: ArrayLike | None,
    centre: ArrayLike | None,
    spread: float,
    provenance: Mapping[str, Any] | None,
) -> Draws:
    """Check the arguments of an `Ensemble`."""
    _one_of("kind", kind, ("points", "distances"))
    check_alignment(alignment)
    values = _check_values(draws, kind)
    size, shape = len(values), values.shape[1:]
    if model is not None and not isinstance(model, Model):
        raise InputError(f"model must be a model such as STEModel(), or None, got {model!r}.")
    if kind == "distances" and (reference is not None or centre is not None):
        raise InputError("reference and centre are points, but these draws are distances.")
    if isinstance(spread, bool) or not 0 < spread <= _MOST_SPREAD:
        limit = f", {_MOST_SPREAD:g} at most" if np.isfinite(spread) and spread > 0 else ""
        raise InputError(f"spread must be a positive number{limit}, got {spread!r}.")
    return Draws(
        values,
        kind,
        _check_chains(chains, size),
        _check_parameters(_check_columns("parameters", parameters, size)),
        _check_columns("statistics", statistics, size),
        model,
        _check_names(names, shape[0]),
        alignment,
        _check_points("reference", reference, shape),
        _check_points("centre", centre, shape),
        float(spread),
        _check_provenance(provenance),
    )


def frozen(values: NDArray[Any]) -> NDArray[Any]:
    """The values as a read-only array; a copy if they were writable."""
    if values.flags.writeable or values.base is not None or not values.flags.c_contiguous:
        values = np.array(values, order="C")
        values.setflags(write=False)
    return values


def check_alignment(alignment: str) -> None:
    """Raise unless it is the name of an alignment."""
    _one_of("alignment", alignment, ("none", "rotate", "scale"))


def _one_of(name: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise InputError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}.")


def _check_values(draws: ArrayLike, kind: str) -> Floats:
    values: Floats = frozen(_numbers("draws", draws))
    expected = "(draws, objects, " + ("dimensions)" if kind == "points" else "objects)")
    square = values.ndim == 3 and values.shape[1] == values.shape[2]
    if values.ndim != 3 or values.size == 0 or (kind == "distances" and not square):
        raise InputError(f"draws must have the shape {expected}, got {values.shape}.")
    if values.shape[1] < 3:
        raise InputError(f"comparisons need three objects or more, got {values.shape[1]}.")
    if not _is_moderate(values):
        draw = next(draw for draw, one in enumerate(values) if not _is_moderate(one))
        raise InputError(
            f"draw {draw} (counting from 0) has {_worst(values[draw])}; "
            f"{'coordinates' if kind == 'points' else 'distances'} must lie between "
            f"−{LARGEST_NUMBER:g} and {LARGEST_NUMBER:g}."
        )
    if kind == "distances":
        for draw, matrix in enumerate(values):  # one at a time, to save memory
            if not np.allclose(matrix, matrix.T, rtol=1e-9, atol=1e-12 * np.abs(matrix).max()):
                raise InputError(
                    f"draw {draw} (counting from 0) is not a symmetric matrix of distances."
                )
    return values


def _is_moderate(values: Floats) -> bool:
    """Whether all are numbers whose squares can be summed without overflow."""
    return bool(values.min() >= -LARGEST_NUMBER and values.max() <= LARGEST_NUMBER)  # false for NaN


def _worst(values: Floats) -> str:
    """Describe the first value that is not moderate."""
    value = float(values[~(np.abs(values) <= LARGEST_NUMBER)][0])
    return f"the value {value:g}" + ("" if np.isfinite(value) else ", which is not finite")


def _check_chains(chains: ArrayLike | None, size: int) -> Index:
    values = np.zeros(size, dtype=np.int64) if chains is None else np.asarray(chains)
    if values.shape != (size,) or values.dtype.kind not in "iu":
        raise InputError(
            f"chains must be one whole number per draw, {size} in all; got shape {values.shape} "
            f"of type {values.dtype}."
        )
    return frozen(values.astype(np.int64))


def _check_columns(
    what: str, columns: Mapping[str, ArrayLike] | None, size: int
) -> dict[str, Floats]:
    checked = {}
    for name, values in (columns or {}).items():
        column = _numbers(f"{what}[{name!r}]", values)
        if column.shape != (size,):
            raise InputError(
                f"{what}[{name!r}] must be one number per draw, {size} in all; got shape "
                f"{column.shape}."
            )
        checked[str(name)] = frozen(column)
    return checked


def _check_parameters(columns: dict[str, Floats]) -> dict[str, Floats]:
    """Reject impossible values, such as a share of 5."""
    for name, column in columns.items():
        domain = domains().get(name, FINITE)
        bad = ~domain.holds(column)
        if bad.any():
            draw = int(bad.argmax())
            raise InputError(
                f"parameters[{name!r}] of draw {draw} (counting from 0) "
                f"{domain.refusal(float(column[draw]))}"
            )
    return columns


def _numbers(what: str, values: ArrayLike) -> Floats:
    """Values as floats."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be numbers: {error}.") from None


def _check_names(names: Iterable[str] | None, n: int) -> tuple[str, ...] | None:
    if names is None:
        return None
    names = names if isinstance(names, str) else tuple(names)
    if not isinstance(names, str) and len(names) != n:
        raise InputError(f"there are {len(names)} names for {n} objects; give one for each.")
    return Triplets([[0, 1, 2]], names=names).names  # which checks them


def _check_points(what: str, points: ArrayLike | None, shape: tuple[int, ...]) -> Floats | None:
    if points is None:
        return None
    values = _numbers(what, points)
    if values.shape != shape or not _is_moderate(values):
        found = f"shape {values.shape}" if values.shape != shape else _worst(values)
        raise InputError(
            f"{what} must be finite coordinates of the shape of one draw, {shape}, of at most "
            f"{LARGEST_NUMBER:g}; got {found}."
        )
    return frozen(values)


def _check_provenance(provenance: Mapping[str, Any] | None) -> dict[str, Any]:
    try:
        checked: dict[str, Any] = json.loads(json.dumps(dict(provenance or {})))
        check_depth(checked)
    except RecursionError:
        raise InputError("provenance is nested too deeply.") from None
    except (TypeError, ValueError) as error:
        raise InputError(f"provenance must be numbers, text, lists and dicts: {error}.") from error
    return checked


def encode_pairs(pairs: ArrayLike | None, n: int, names: tuple[str, ...] | None) -> Index:
    """Pairs of objects, by number or by name, as (m, 2) numbers; all pairs i < j by default."""
    if pairs is None:
        need_memory(
            2 * n**2, f"All {n * (n - 1) // 2} pairs of {n} objects", "name the pairs you need"
        )
        return np.stack(np.triu_indices(n, 1), axis=1)
    cells = np.asarray(pairs)
    if cells.ndim != 2 or cells.shape[1] != 2 or cells.dtype.kind not in "iuUO":
        raise InputError(
            "pairs must be a table of two columns of object numbers or names, such as [[0, 1]]; "
            f"got shape {cells.shape} of type {cells.dtype}."
        )
    if cells.dtype.kind in "UO":
        place = {name: i for i, name in enumerate(names or ())}
        found = [[place.get(cell, -1) for cell in row] for row in cells.tolist()]
        numbers = np.array(found, dtype=np.int64).reshape(cells.shape)
    else:
        numbers = cells.astype(np.int64)
    bad = (numbers < 0) | (numbers >= n)
    if bad.any():
        row, column = (int(k) for k in np.argwhere(bad)[0])
        known = f"numbered 0 to {n - 1}" + (" or by their names" if names else ", without names")
        value = cells[row].tolist()[column]
        raise InputError(
            f"row {row} (counting from 0) of pairs: {value!r} is not an object; there are {n}, "
            f"{known}."
        )
    return numbers


# --- selecting and joining --------------------------------------------------------------------


def take(fields: Draws, rows: slice | NDArray[Any]) -> Draws:
    """The selected draws, in that order."""
    chosen = fields.draws[rows]
    if len(chosen) == 0:
        raise InputError("no draws were selected; an ensemble needs at least one.")
    return fields._replace(
        draws=frozen(chosen),
        chains=frozen(fields.chains[rows]),
        parameters={name: frozen(v[rows]) for name, v in fields.parameters.items()},
        statistics={name: frozen(v[rows]) for name, v in fields.statistics.items()},
    )


def join(parts: Sequence[Draws]) -> Draws:
    """All draws of several ensembles of the same objects; chains stay separate."""
    if not parts:
        raise InputError("there are no ensembles to concatenate; give at least one.")
    first = parts[0]
    for part in parts[1:]:
        for what in ("kind", "model", "names", "alignment", "spread"):
            mine, other = getattr(first, what), getattr(part, what)
            if mine != other:
                raise InputError(f"the ensembles differ in {what}: {mine!r} and {other!r}.")
        if first.draws.shape[1:] != part.draws.shape[1:]:
            raise InputError(
                "the ensembles differ in objects or dimensions: "
                f"{first.draws.shape[1:]} and {part.draws.shape[1:]}."
            )
        if not np.array_equal(first.centre, part.centre):  # type: ignore[arg-type]
            raise InputError("the ensembles differ in centre; their distances cannot be combined.")
        if first.parameters.keys() != part.parameters.keys():
            raise InputError(
                f"the ensembles differ in parameters: {sorted(first.parameters)} and "
                f"{sorted(part.parameters)}."
            )
    shared = set(first.statistics).intersection(*(part.statistics for part in parts))
    chains, used = [], 0
    for part in parts:
        labels, numbers = np.unique(part.chains, return_inverse=True)
        chains.append(numbers + used)
        used += len(labels)

    def stack(arrays: Iterable[NDArray[Any]]) -> NDArray[Any]:
        return frozen(np.concatenate(list(arrays)))

    same = all(part.provenance == first.provenance for part in parts)
    sources = dict.fromkeys(str(part.provenance.get("source", "unknown")) for part in parts)
    return first._replace(
        draws=stack(part.draws for part in parts),
        chains=stack(chains),
        parameters={k: stack(part.parameters[k] for part in parts) for k in first.parameters},
        statistics={
            k: stack(part.statistics[k] for part in parts) for k in first.statistics if k in shared
        },
        provenance=first.provenance
        if same
        else _check_provenance(
            {"source": " + ".join(sources), "parts": [part.provenance for part in parts]}
        ),
    )


# --- alignment --------------------------------------------------------------------------------


def aligned(fields: Draws) -> Floats:
    """The points (S, n, d) aligned to the centre, the reference or their common mean."""
    if fields.alignment == "none":
        return fields.draws
    scale = fields.alignment == "scale"
    target = fields.reference if fields.centre is None else fields.centre
    if target is None:
        return generalised_procrustes(fields.draws, scale=scale)[0]
    return align(fields.draws, target, scale=scale)


def turn(fields: Draws, rotation: Floats) -> Draws:
    """All points rotated by one orthogonal matrix (d, d)."""
    reference, centre = (
        None if points is None else frozen(points @ rotation)
        for points in (fields.reference, fields.centre)
    )
    return fields._replace(
        draws=frozen(fields.draws @ rotation), reference=reference, centre=centre
    )
