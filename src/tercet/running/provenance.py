"""Provenance of draws: the seed, the settings and the versions that reproduce them."""

from __future__ import annotations

import numbers
import platform
import secrets
import sys
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np

from tercet.errors import InputError
from tercet.text import shown

Seed = int | np.random.Generator | None

_SEEDS = 2**1024  # larger integers are refused


def entropy_of(random_state: Seed) -> int:
    """The number that determines all randomness; as random_state it reproduces the result."""
    if random_state is None:
        return secrets.randbits(128)
    if isinstance(random_state, np.random.Generator):
        return int.from_bytes(random_state.bytes(16), "little")
    return _whole(random_state)


def as_generator(random_state: Seed) -> np.random.Generator:
    """The generator itself, or a new one with that seed; None is not reproducible."""
    if random_state is None or isinstance(random_state, np.random.Generator):
        return np.random.default_rng(random_state)
    return np.random.default_rng(_whole(random_state))


def _whole(random_state: object) -> int:
    whole = isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool)
    if not whole or not 0 <= int(random_state) < _SEEDS:  # type: ignore[call-overload]
        raise InputError(
            "random_state must be None, a whole number from 0 or a numpy.random.Generator, got "
            f"{shown(random_state)}."
        )
    return int(random_state)  # type: ignore[call-overload, no-any-return]


def seed_for(entropy: int, *key: int) -> np.random.SeedSequence:
    """The seed that ``SeedSequence(entropy)`` spawns under this key."""
    return np.random.SeedSequence(entropy, spawn_key=key)


def record(source: str, maker: Any, entropy: int, **more: Any) -> dict[str, Any]:
    """The provenance of draws made by ``maker``, a scikit-learn object, with this entropy."""
    settings = describe(maker)
    for name in ("class", "n_jobs", "progress", "checkpoint"):  # no draw depends on the last three
        settings.pop(name, None)
    return {
        "source": source,
        "settings": settings,
        "seed": str(entropy),
        "versions": versions(),
        **more,
    }


def versions() -> dict[str, str]:
    """The versions that numbers depend on."""
    return dict(_versions())


@cache
def _versions() -> dict[str, str]:
    found = {name: version(name) for name in ("numpy", "scipy", "numba")}  # read from files
    tercet: str = sys.modules["tercet"].__version__
    return {"tercet": tercet, **found, "python": platform.python_version()}


def describe(thing: Any) -> dict[str, Any]:
    """The class and the parameters of a scikit-learn object, JSON-compatible."""
    parameters = thing.get_params(deep=False)
    return {"class": type(thing).__name__} | {k: _plain(v) for k, v in parameters.items()}


def _plain(value: Any) -> Any:
    value = value.item() if isinstance(value, np.generic) else value
    if hasattr(value, "get_params"):
        return describe(value)
    if hasattr(value, "describe"):
        return value.describe()
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    known = value is None or isinstance(value, bool | int | float | str)
    return value if known else type(value).__name__
