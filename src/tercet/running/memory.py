"""Refuse work that would not fit into memory."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cache
from pathlib import Path

from tercet.errors import InputError

__all__ = [
    "LARGEST_NUMBER",
    "LEAST_NUMBER",
    "memory_there_is",
    "need_memory",
]

# Of a coordinate, a distance or a parameter: sums of their squares, and of the squares of those,
# stay finite.
LARGEST_NUMBER = 1e100

# Of a positive parameter: squares can be divided by it.
LEAST_NUMBER = 1 / LARGEST_NUMBER


# --- available memory ---------------------------------------------------------------------------


_UNKNOWN = 64 << 30  # bytes, if the system does not say
_LIMIT_OF_GROUP = Path("/sys/fs/cgroup/memory.max")  # of a container, on Linux


def need_memory(numbers: float, what: str, cure: str) -> None:
    """Raise an error if this many numbers of 8 bytes exceed the memory of the machine.

    Parameters
    ----------
    numbers : float
        In memory at once, roughly.
    what : str
        What needs them, as the start of a sentence.
    cure : str
        What to do instead.
    """
    wanted, there = 8.0 * numbers, memory_there_is()
    if wanted > there:
        raise InputError(
            f"{what} would take {_size(wanted)} of memory, but this machine has {_size(there)}: "
            f"{cure}."
        )


@cache
def memory_there_is() -> int:
    """Total memory of this machine, or of the container, in bytes."""
    found = _UNKNOWN
    with suppress(AttributeError, OSError, ValueError):  # no such function, or no such name
        pages: int = os.sysconf("SC_PHYS_PAGES")
        found = pages * os.sysconf("SC_PAGE_SIZE") if pages > 0 else found
    with suppress(OSError, ValueError):  # no such file, or the word "max"
        found = min(found, int(_LIMIT_OF_GROUP.read_text()))
    return found


def _size(number: float) -> str:
    for unit in ("MiB", "GiB", "TiB"):
        number /= 1024.0 if unit != "MiB" else 1024.0**2
        if number < 1000.0:
            break
    return f"{number:.3g} {unit}" if number < 1e6 else f"{number:.1e} {unit}"
