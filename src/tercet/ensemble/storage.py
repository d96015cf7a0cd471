"""Saving and loading an ensemble (npz)."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tercet.arrays import UnreadableError, read_npz
from tercet.ensemble.draws import Draws, check_draws
from tercet.errors import InputError
from tercet.files import require_plain, whole_file
from tercet.models import Model, known_models
from tercet.tables import parse_json

FORMAT = "tercet ensemble"
VERSION = 2  # 1 knew neither choices nor Shepard's law

PathLike = str | os.PathLike[str]

_ARRAYS = ("draws", "chains", "reference", "centre")
_COLUMNS = ("parameters", "statistics")
_DAMAGE = (ValueError, TypeError, KeyError, AttributeError, OverflowError)
_PLAIN = ("kind", "names", "alignment", "spread", "provenance")


def write(path: PathLike, fields: Draws) -> None:
    """Write arrays and a JSON header to one npz file, atomically."""
    given = fields._asdict()
    arrays = {name: given[name] for name in _ARRAYS if given[name] is not None}
    for group in _COLUMNS:
        arrays |= {f"{group}/{name}": column for name, column in given[group].items()}
    header = {"format": FORMAT, "version": VERSION, "model": _describe(fields.model)}
    header |= {name: given[name] for name in _PLAIN}
    with whole_file(path) as file:
        np.savez(file, header=np.array(json.dumps(header)), **arrays)


def read(path: PathLike) -> Draws:
    """Read what ``write`` wrote; nothing in the file is executed."""
    require_plain(path)
    with open(path, "rb") as file:
        try:
            arrays = read_npz(file)
            header = parse_json(_only_text(arrays.pop("header")))
            if header["format"] != FORMAT:
                raise KeyError("format")
            version = header["version"]
            if type(version) is not int or version < 1:
                raise ValueError("version")
        except _DAMAGE as error:
            raise _damaged(path, error) from error
    if version > VERSION:
        shown = version if version < 1000 else "1000 or more"
        raise InputError(
            f"{os.fspath(path)} has format version {shown}, and this version of tercet reads up to "
            f"{VERSION}; update tercet."
        )
    try:
        return _assemble(arrays, header)
    except InputError as error:
        raise InputError(f"{os.fspath(path)} is damaged: {error}") from error
    except _DAMAGE as error:
        raise _damaged(path, error) from error


def _only_text(array: NDArray[Any]) -> str:
    if array.dtype.kind != "U" or array.shape != ():
        raise ValueError("the header is not text")
    return str(array)


def _assemble(arrays: dict[str, Any], header: Mapping[str, Any]) -> Draws:
    columns: dict[str, Any] = {group: {} for group in _COLUMNS}
    for name in [name for name in arrays if "/" in name]:
        group, _, column = name.partition("/")
        columns[group][column] = arrays.pop(name)
    plain = {name: header[name] for name in _PLAIN}
    if not isinstance(plain["names"], list | None) or not isinstance(plain["provenance"], dict):
        raise TypeError("names or provenance")
    given: dict[str, Any] = dict.fromkeys(_ARRAYS) | arrays | columns | plain
    return check_draws(**given, model=_restore(header["model"]))


def _damaged(path: PathLike, error: Exception) -> InputError:
    why = f": {error}" if isinstance(error, UnreadableError) else "."
    return InputError(
        f"{os.fspath(path)} is not a file that Ensemble.save wrote, or it is damaged{why}"
    )


def _describe(model: Model | None) -> dict[str, Any] | None:
    """The class and the fields of a model, JSON-compatible."""
    if model is None:
        return None
    return {"class": type(model).__name__, "fields": asdict(model)}  # type: ignore[call-overload]


def _restore(description: Mapping[str, Any] | None) -> Model | None:
    if description is None:
        return None
    name = description["class"]
    if not isinstance(name, str):
        raise TypeError("the name of the model")
    kinds = {kind.__name__: kind for kind in known_models().values()}
    if name not in kinds:
        raise InputError(f"it names the model {name!r}, which this version of tercet lacks.")
    return kinds[name](**description["fields"])
