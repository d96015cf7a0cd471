"""The formats tercet knows, and how it tells them apart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tercet.io.reading import Options, Reading
from tercet.io.source import Source
from tercet.triplets import Triplets

__all__ = ["Format"]


class Format(NamedTuple):
    """A format of files.

    Attributes
    ----------
    name : str
        How it is asked for, such as "salmon".
    title : str
        In words, such as "Salmon CSV".
    looks : str
        What it is recognised by, in words, for the documentation.
    matches : callable
        Whether a file looks like it. Never raises for files of other formats.
    read : callable
        Reads a file of this format, or says what is wrong with it.
    write : callable, optional
        Writes Triplets in this format, all of the file or nothing.
    """

    name: str
    title: str
    looks: str
    matches: Callable[[Source], bool]
    read: Callable[[Source, Options], Reading]
    write: Callable[[Triplets, Path], None] | None = None
