"""Text that is written into a file must come back as it was; where it would not, say so before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np

from tercet.errors import InputError
from tercet.io.cells import make_cells, read_cells
from tercet.io.headers import is_title, reject_repeated_header
from tercet.observers import label_observers
from tercet.titles import COLUMNS
from tercet.triplets import Triplets

__all__ = ["check_arrays", "check_table", "check_text", "texts_of"]


Texts = Mapping[str, Sequence[str]]


def texts_of(triplets: Triplets) -> dict[str, list[str]]:
    """Names, and observers and screens where they are text; each of them once."""
    columns = {"observers": triplets.observers, "screens": triplets.screens}
    return {"names": list(triplets.names or ())} | {
        kind: list(dict.fromkeys(column.tolist()))
        for kind, column in columns.items()
        if column is not None and column.dtype.kind == "U"
    }


def check_table(path: Path, texts: Texts) -> None:
    """Refuse text that a table, whatever its format, would not give back as it is.

    Parameters
    ----------
    path : path
        Where the table is to go.
    texts : mapping of str to sequences of str
        The distinct cells of each kind, as from `texts_of`.
    """
    for observer in texts.get("observers", ()):
        (label,) = label_observers([observer])
        if label != observer.strip():
            raise _refusal(path, observer, f"as an observer it is taken for {label!r} when read")
    for group in texts.values():
        for each in group:
            if each != each.strip():
                raise _refusal(path, each, "spaces around it are taken off when a table is read")
        cells = make_cells(str(path), ["text"], [[each] for each in group], [])
        numbers = cells.numbers_or_text(cells.codes[:, 0])
        if numbers.dtype == object:
            continue
        first = np.unique(numbers, return_index=True)[1]
        for i in sorted({*range(len(group))} - {*first.tolist()}):
            raise _refusal(path, group[i], "another is the same number when a table is read")


def check_text(path: Path, texts: Texts, table: str, delimiter: str = ",") -> None:
    """Refuse text that a table in text would not give back as it is.

    Parameters
    ----------
    path, texts
        As in `check_table`.
    table : str
        All of the table, under a header.
    delimiter : str
    """
    check_table(path, texts)
    every = [each for group in texts.values() for each in group]
    for each in every:
        if "\r" in each or "\0" in each or "\n\ufeff" in f"\n{each}":
            raise _refusal(path, each, "it has a character that a table in text cannot hold")
    titles = (each for each in every if is_title(each) or each in COLUMNS[4])
    doubtful = [*titles, *(each for each in every if "\n" in each or len(each) > 2**16)]
    if not doubtful:
        return
    try:
        reject_repeated_header(read_cells(str(path), table, delimiter))
    except InputError:
        raise _refusal(path, doubtful[0], "it would be taken for rows or for titles") from None


def check_arrays(path: Path, names: Iterable[str] | None) -> None:
    """Refuse names that arrays of text cut short."""
    for name in names or ():
        if name.endswith("\0"):
            raise InputError(
                f"{path}: the name {name!r:.80} ends in a character 0, which is cut off. Rename it."
            )


def _refusal(path: Path, text: str, why: str) -> InputError:
    return InputError(
        f"{path}: {text!r:.80} cannot be written, because {why}. Rename it, or write .npz, which "
        "keeps every name."
    )
