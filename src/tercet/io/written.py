"""Text that is written into a file must come back as it was; where it would not, say so before."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path

from tercet.errors import InputError
from tercet.io.cells import read_cells
from tercet.io.headers import is_title, reject_repeated_header
from tercet.triplets import Triplets

__all__ = ["check_arrays", "check_stripped", "check_text", "texts_of"]

_KEEPS = "Rename it, or write .npz, which keeps every name."


def check_text(path: Path, texts: Iterable[str], table: str, delimiter: str = ",") -> None:
    """Refuse a table in text from which these texts would not be read as they are.

    Parameters
    ----------
    path : path
        Where the table is to go.
    texts : iterable of str
        What may be in its cells, each once.
    table : str
        All of it, under a header.
    delimiter : str
    """
    texts = list(texts)
    check_stripped(path, texts)
    for each in texts:
        if "\r" in each or "\0" in each or each.startswith("\ufeff"):
            raise _refusal(path, each, "it has a character that a table in text cannot hold")
    doubtful = [each for each in texts if "\n" in each or len(each) > 2**16 or is_title(each)]
    if not doubtful:
        return
    try:
        cells = read_cells(str(path), table, delimiter)
        reject_repeated_header(cells)
        lost = [each for each in doubtful if each not in cells.unique and each in table]
    except InputError:
        lost = doubtful
    if lost:
        raise _refusal(path, lost[0], "with it, the table would not be read as it is")


def check_stripped(path: Path, texts: Iterable[str]) -> None:
    """Refuse text with spaces around it, which are taken off when a table is read."""
    for each in texts:
        if each != each.strip():
            raise _refusal(path, each, "spaces around it are taken off when a table is read")


def check_arrays(names: Iterable[str] | None, path: Path) -> None:
    """Refuse names that arrays of text cut short."""
    for name in names or ():
        if name.endswith("\0"):
            raise InputError(
                f"{path}: the name {name!r:.80} ends in a character 0, which is cut off. Rename it."
            )


def texts_of(triplets: Triplets) -> list[str]:
    """Names, and observers and screens where they are text, each once."""
    columns = [
        column.tolist()
        for column in (triplets.observers, triplets.screens)
        if column is not None and column.dtype.kind == "U"
    ]
    return list(dict.fromkeys(itertools.chain(triplets.names or (), *columns)))


def _refusal(path: Path, text: str, why: str) -> InputError:
    return InputError(f"{path}: {text!r:.80} cannot be written, because {why}. {_KEEPS}")
