"""Begin a checkpoint, or go on with the one that is there if it belongs to the same run."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tercet.checkpoint.file import About, create, open_file, read_about, telling
from tercet.checkpoint.rows import Checkpoint
from tercet.errors import DataWarning, InputError
from tercet.provenance import Seed, entropy_of, versions

PathLike = str | os.PathLike[str]

# On the first three no draw depends; the seed, and what computes, are asked for apart.
_PASSED_OVER = ("n_jobs", "progress", "checkpoint", "random_state", "device")

_LONG = 100  # characters of a value in a message


def open_checkpoint(
    path: PathLike | None,
    settings: Mapping[str, Any],
    data: Mapping[str, Any],
    random_state: Seed,
) -> Checkpoint:
    """Begin a checkpoint, or go on with the one that is there.

    Parameters
    ----------
    path : path, optional
        The file; None keeps nothing.
    settings : mapping
        All parameters by name, as `provenance.describe` returns them.
    data : mapping
        The answers: arrays and whatever JSON knows, by what to call them in a message.
    random_state : None, int or numpy.random.Generator
        With None the seed of the checkpoint counts, if there is one.
    """
    if path is None:
        return Checkpoint(entropy_of(random_state), None)
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"checkpoint takes the name of a file, got {path!r}.")
    _check_place(Path(path))
    name = os.fspath(path)
    if name == ":memory:":  # SQLite's word for no file at all
        name = os.path.join(os.curdir, name)
    wanted = {
        "settings": _that_count(settings),
        "data": {what: fingerprint(value) for what, value in data.items()},
        "versions": versions() | {"processor": _processor()},
    }
    file = open_file(name)
    try:
        with telling(name):
            known = read_about(file, name)
            sealed = known is None or known.sealed
            if known is None:
                entropy = entropy_of(random_state)
                create(file, wanted | {"seed": str(entropy)})
            else:
                entropy = _agree(name, known, json.loads(json.dumps(wanted)), random_state)
    except BaseException:
        file.close()
        raise
    return Checkpoint(entropy, file, name, sealed)


def fingerprint(value: Any) -> str:
    """Letters that differ where arrays, texts or numbers differ."""
    digest = hashlib.sha256()
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype.str}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).data)
    else:
        digest.update(json.dumps(value).encode())
    return digest.hexdigest()[:32]


# --- inside -----------------------------------------------------------------------------------


def _that_count(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings on which draws depend, those of the estimator included."""
    return {
        key: _that_count(value) if isinstance(value, dict) else value
        for key, value in settings.items()
        if key not in _PASSED_OVER
    }


def _check_place(path: Path) -> None:
    if path.is_dir():
        raise InputError(f"the checkpoint {path} is a folder; give the name of a file in it.")
    if path.exists() and not path.is_file():
        raise InputError(
            f"the checkpoint {path} is a pipe or a device, which keeps nothing; give the name of "
            "a file."
        )
    if not path.parent.is_dir():
        raise InputError(
            f"the checkpoint {path} cannot be written: there is no folder {path.parent}."
        )


def _processor() -> str:
    """The kind of processor: compiled code uses what it has, and last bits may differ."""
    from llvmlite.binding import get_host_cpu_name

    name: str = get_host_cpu_name()
    return name


def _agree(path: str, known: About, wanted: Mapping[str, Any], random_state: Seed) -> int:
    """The seed of a checkpoint, if it belongs to the same run."""
    found = list(_changes(known.settings, wanted["settings"]))
    if known.settings.get("class") == wanted["settings"].get("class"):
        found += [f"other {_word(what)}" for what in _other(known.data, wanted["data"])]
    if random_state is not None and (given := entropy_of(random_state)) != known.seed:
        found.append(f"the seed is {given} and was {_shown(known.seed)}")
    if found:
        raise InputError(
            f"the checkpoint {path} belongs to another run: {'; '.join(found)}. Give this run "
            "another file, or delete that one if it is of no use."
        )
    before, now = known.versions, wanted["versions"]
    if changed := _other(before, now):
        told = ", ".join(
            f"{_word(key)} {now.get(key)}, was {_word(str(before.get(key)))}" for key in changed
        )
        warnings.warn(
            f"the checkpoint {path} was begun with other versions ({told}): the result is as "
            "good, but its last bits may differ from those of an undisturbed run.",
            DataWarning,
            stacklevel=5,
        )
    return known.seed


def _shown(value: Any) -> str:
    """A value of the file, which may be of any length."""
    text = repr(value)
    return text if len(text) <= _LONG else f"{text[:_LONG]}…"


def _word(text: str) -> str:
    """A text of the file without quotes, where it has no letters that do something."""
    return _shown(text) if len(text) > _LONG or not text.isprintable() else text


def _other(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Names under which two mappings differ."""
    return [key for key in {**before, **now} if before.get(key) != now.get(key)]


def _changes(before: Mapping[str, Any], now: Mapping[str, Any], owner: str = "") -> Iterator[str]:
    """Settings that differ, such as ``penalty of the estimator``; of another class only that."""
    names = _other(before, now)
    for key in ["class"] if "class" in names else names:
        old, new = before.get(key), now.get(key)
        if isinstance(old or {}, dict) and isinstance(new or {}, dict) and (old or new):
            yield from _changes(old or {}, new or {}, f" of the {_word(key)}{owner}")
        else:
            yield f"{_word(key)}{owner} is {_shown(new)} and was {_shown(old)}"
