"""Names of objects from file names, HTML, plain text or numbers."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tercet.answers.checks import natural_key
from tercet.errors import InputError
from tercet.io.cells import Cells
from tercet.io.reading import ReadOptions

__all__ = ["name_by_label", "name_by_position", "short_names", "shorten"]

# Neither pattern looks beyond the next "<", so a long cell takes no more than linear time.
_SOURCE = re.compile(
    r"<(?:img|video|audio|source)\b[^<>]*?\bsrc\s*=\s*(?:\"([^\"<>]*)\"|'([^'<>]*)'|([^\s<>\"']+))",
    re.I,
)
_TAG = re.compile(r"</?[a-z!][^<>]*>", re.I)
_FILE = re.compile(
    r"(.*)\.(png|jpe?g|gif|svg|webp|bmp|tiff?|avif|mp3|wav|ogg|m4a|flac|mp4|webm|mov|avi)"
    r"(?:[?#].*)?",
    re.I | re.S,
)


class _Stimulus(NamedTuple):
    """The short name of a stimulus, and what must agree for two to be the same."""

    name: str
    folders: tuple[str, ...] = ()  # of a file, the innermost first
    ending: str = ""  # of a file
    markup: str = ""  # HTML without a file


def _look_at(cell: str) -> _Stimulus:
    found = _SOURCE.search(cell)
    source = html.unescape(next(filter(None, found.groups()), "")) if found else cell
    if file := _FILE.fullmatch(source.strip()):
        *folders, stem = re.split(r"[/\\]+", file[1])
        if stem.strip():
            return _Stimulus(stem.strip(), tuple(folders[::-1]), file[2].lower())
    if _TAG.search(cell):
        text = " ".join(html.unescape(_TAG.sub(" ", cell)).split())
        return _Stimulus(text or cell, markup=cell)
    return _Stimulus(cell)


def _agree(several: list[_Stimulus]) -> bool:
    """Whether stimuli of one name can be the same: "cat.png" and "img/cat.png" can."""
    if len({each.markup for each in several} - {""}) + len({e.ending for e in several} - {""}) > 1:
        return False
    longest = max((each.folders for each in several), key=len)
    return all(each.folders == longest[: len(each.folders)] for each in several)


def short_names(cells: Iterable[str], known: Iterable[str] = ()) -> dict[str, str]:
    """The name of the stimulus in every distinct cell.

    A picture, sound or film, in HTML or as a path, is named by its file without folder and ending;
    other HTML by its text. If two stimuli would have the same name, such as ``faces/1.png`` and
    ``houses/1.png``, they keep the whole cell. ``known`` names are kept.
    """
    kept = set(known)
    looks = {cell: _look_at(cell) for cell in cells if cell not in kept}
    groups: dict[str, list[_Stimulus]] = {}
    for each in looks.values():
        groups.setdefault(each.name, []).append(each)
    clear = {name for name, several in groups.items() if _agree(several)}
    return {cell: each.name if each.name in clear else cell for cell, each in looks.items()} | {
        cell: cell for cell in cells if cell in kept
    }


def shorten(objects: Cells, options: ReadOptions) -> tuple[Cells, list[str] | None]:
    """Stimuli by their short names, and the sorted names if they differ from the cells."""
    names = short_names(objects.used(), options.listed_names())
    if all(cell == name for cell, name in names.items()):
        return objects, None
    ordered = sorted(set(names.values()), key=natural_key) if options.names is None else None
    return objects.mapped(lambda cell: names.get(cell, cell)), ordered


def name_by_position(objects: Cells, options: ReadOptions) -> Cells:
    """Replace numbers from 0 by the caller's names, unless the cells are names."""
    names = options.listed_names()
    if not names or not set(names).isdisjoint(objects.used()):
        return objects
    name_of = {str(i): name for i, name in enumerate(names)}
    beyond = np.array([cell not in name_of for cell in objects.unique], dtype=bool)[objects.codes]
    if beyond.any():
        row, column = np.argwhere(beyond)[0]
        cell = objects.unique[objects.codes[row, column]]
        raise InputError(
            f"{objects.where(row)}: the object {cell!r} has no name; the {len(names)} names are "
            f"for the objects 0 to {len(names) - 1}. Give all names."
        )
    return objects.mapped(lambda cell: name_of.get(cell, cell))


def name_by_label(
    objects: Cells, table: Cells, numbers: Sequence[int], labels: Sequence[int]
) -> tuple[Cells, list[str]] | None:
    """Numbered objects by their names, from columns of labels.

    Parameters
    ----------
    objects : Cells
        The numbers to be named.
    table : Cells
    numbers, labels : sequences of int
        The columns of numbers, and of their labels.

    Returns
    -------
    (Cells, list of str), or None
        The objects, and the names in the order of the numbers; None if a number has no label.
    """
    label_of: dict[str, str] = {}
    cells = zip(
        table.text(table.codes[:, numbers]).tolist(),
        table.text(table.codes[:, labels]).tolist(),
        strict=True,
    )
    for row, pairs in enumerate(cells):
        for number, label in zip(*pairs, strict=True):
            if label and label_of.setdefault(number, label) != label:
                raise InputError(
                    f"{table.where(row)}: the object {number!r} is called {label!r}, but earlier "
                    f"{label_of[number]!r}. Correct it, or give the names of all objects."
                )
    if any(number not in label_of for number in objects.used()):
        return None
    ordered = sorted(label_of, key=natural_key)
    short = short_names(label_of.values())
    names = {number: short[label_of[number]] for number in ordered}
    if len(set(names.values())) < len(names):
        names = {number: label_of[number] for number in ordered}
    number_of: dict[str, str] = {}
    for number, name in names.items():
        if number_of.setdefault(name, number) != number:
            raise InputError(
                f"{table.path}: the objects {number_of[name]!r} and {number!r} are both called "
                f"{name!r}; names must be distinct. Give the names of all objects."
            )
    return objects.mapped(lambda cell: names.get(cell, cell)), list(names.values())
