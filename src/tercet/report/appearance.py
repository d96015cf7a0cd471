"""The looks of objects on a page: groups, shown as colours, and pictures."""

from __future__ import annotations

import base64
import csv
import io
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tercet.errors import InputError
from tercet.files import read_bytes
from tercet.io.inputfile import InputFile
from tercet.text import closest, listed, shown

__all__ = ["Appearance", "Groups", "Pictures", "Thumbnail", "read_appearance"]

PathLike = str | os.PathLike[str]
Groups = Mapping[str, object] | Sequence[object] | PathLike
Pictures = Mapping[str, PathLike] | PathLike

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP")  # in the terms of Pillow; raster images only
ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp")
MOST_BYTES = 2**26  # of a picture file
MOST_PIXELS = 5 * 10**7
MOST_GROUPS = 28  # that colours and shapes can distinguish
_SIDES = ((100, 160), (400, 96))  # (up to this many objects, longer side of a picture in pixels)
_SMALLEST = 64


class Thumbnail(NamedTuple):
    """A small copy of a picture."""

    address: str  # a data: URL
    width: int  # pixels
    height: int


@dataclass(frozen=True)
class Appearance:
    """Groups and pictures, in the order of the objects.

    Attributes
    ----------
    groups : tuple of str, or None
    pictures : tuple of Thumbnail, or None
    """

    groups: tuple[str, ...] | None = None
    pictures: tuple[Thumbnail, ...] | None = None

    @property
    def group_names(self) -> tuple[str, ...]:
        """The distinct groups, sorted: the first has the first colour."""
        return tuple(sorted(set(self.groups or ())))


def read_appearance(
    names: Sequence[str], groups: Groups | None = None, pictures: Pictures | None = None
) -> Appearance:
    """Read and check the groups and the pictures of objects; every object needs one.

    Parameters
    ----------
    names : sequence of str
        Of all objects.
    groups : mapping, sequence or path, optional
        A mapping of names to groups; or the groups of all objects in order; or a CSV file with the
        columns object and group.
    pictures : mapping or path, optional
        A mapping of names to files; or a folder whose files are named after the objects, with or
        without suffix (it may contain other files); or a CSV file with the columns object and path,
        relative to that file. PNG, JPEG, GIF, WebP and BMP.

    Raises
    ------
    InputError
        If an object has none, a name is not that of an object, or a picture cannot be read.
    """
    return Appearance(
        None if groups is None else _read_groups(names, groups),
        None if pictures is None else _read_pictures(names, pictures),
    )


# --- groups -----------------------------------------------------------------------------------


def _read_groups(names: Sequence[str], groups: Groups) -> tuple[str, ...]:
    if isinstance(groups, str | os.PathLike):
        given: Mapping[str, object] = _read_pairs(names, groups, "group")
    elif isinstance(groups, Mapping):
        given = groups
    elif len(groups) != len(names):
        raise InputError(f"there are {len(names)} objects, but groups for {len(groups)}.")
    else:
        given = dict(zip(names, groups, strict=True))
    found = tuple(str(each) for each in _in_order(names, given, "group"))
    if (many := len(set(found))) > MOST_GROUPS:
        raise InputError(
            f"there are {many} groups, but colours and shapes distinguish at most {MOST_GROUPS}; "
            "merge some of them."
        )
    return found


# --- pictures ---------------------------------------------------------------------------------


def _read_pictures(names: Sequence[str], pictures: Pictures) -> tuple[Thumbnail, ...]:
    files: Mapping[str, PathLike]
    if isinstance(pictures, Mapping):
        files = pictures
    elif os.path.isdir(pictures):
        files = _look_in(Path(pictures), names)
    else:
        here = Path(pictures).parent
        found = _read_pairs(names, pictures, "path")
        files = {name: here / path for name, path in found.items()}
    side = next((side for most, side in _SIDES if len(names) <= most), _SMALLEST)
    ordered = _in_order(names, files, "picture")
    return tuple(_copy(path, name, side) for name, path in zip(names, ordered, strict=True))


def _look_in(folder: Path, names: Sequence[str]) -> dict[str, Path]:
    """The pictures in a folder, by object."""
    files: dict[str, list[Path]] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() in ENDINGS and path.is_file():
            for key in {path.name, path.stem}:
                files.setdefault(key, []).append(path)
    found = {}
    for name in names:
        # A name may itself be a path, such as "img/cat.png"; only its last part counts.
        several = files.get(name) or files.get(re.split(r"[\\/]", name)[-1], [])
        if len(several) > 1:
            which = " and ".join(path.name for path in several[:2])
            raise InputError(
                f"{folder} has more than one picture of the object {shown(name)}: {which}; keep "
                "one of them, or give a CSV file with the columns object and path."
            )
        if several:
            found[name] = several[0]
    missing = [name for name in names if name not in found]
    if missing:
        raise InputError(
            f"{folder} has no picture of {listed(missing, 5)}: it should have a file named after "
            f"every object, such as {shown(Path(missing[0]).name + '.png')} "
            f"({', '.join(ENDINGS)})."
        )
    return found


def _copy(path: PathLike, name: str, side: int) -> Thumbnail:
    """A small copy of a picture, without the metadata of its file."""
    from PIL import Image, ImageOps, UnidentifiedImageError

    whose = f"the picture of {shown(name)}, {os.fspath(path)},"
    try:
        content = read_bytes(path, MOST_BYTES)
        with Image.open(io.BytesIO(content), formats=FORMATS) as image:
            wide, high = image.size
            if wide * high > MOST_PIXELS:
                raise InputError(
                    f"{whose} has {wide} × {high} pixels, more than {MOST_PIXELS:,}; make it "
                    "smaller."
                )
            image.draft("RGB", (side, side))
            turned = ImageOps.exif_transpose(image)
            small = turned.convert("RGBA" if turned.has_transparency_data else "RGB")
    except UnidentifiedImageError:
        kinds = ", ".join(FORMATS)
        raise InputError(f"{whose} is not in a supported format ({kinds}).") from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning):
        raise InputError(f"{whose} has too many pixels; make it smaller.") from None
    except FileNotFoundError:
        raise InputError(f"{whose} does not exist; check the name and the folder.") from None
    except (OSError, SyntaxError, ValueError) as error:  # what Pillow says of damaged files
        if isinstance(error, InputError):
            raise
        raise InputError(f"{whose} cannot be read: {error}.") from None
    small.thumbnail((side, side))
    written = io.BytesIO()
    kind = "png" if small.mode == "RGBA" else "jpeg"
    small.save(written, kind, **({"optimize": True} if kind == "png" else {"quality": 85}))
    coded = base64.b64encode(written.getvalue()).decode("ascii")
    return Thumbnail(f"data:image/{kind};base64,{coded}", *small.size)


# --- names ------------------------------------------------------------------------------------


def _in_order(names: Sequence[str], given: Mapping[str, Any], what: str) -> list[Any]:
    """The values given, in the order of the objects; every object, and nothing else, needs one."""
    known = set(names)
    for name in given:
        if name not in known:
            raise InputError(f"there is a {what} for {_describe_unknown(name, names)}")
    missing = [name for name in names if name not in given]
    if missing:
        raise InputError(f"there is no {what} for {listed(missing, 5)}; every object needs one.")
    return [given[name] for name in names]


def _describe_unknown(name: str, names: Sequence[str]) -> str:
    like = closest(str(name), names)
    hint = f" Did you mean {shown(like)}?" if like else ""
    return f"{shown(name)}, which is not an object of these answers.{hint}"


def _read_pairs(names: Sequence[str], path: PathLike, column: str) -> dict[str, str]:
    """The values in a column of a CSV file, by object."""
    text = InputFile(path).text
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        return _take_pairs(names, os.fspath(path), rows, column)
    except csv.Error as error:
        raise InputError(f"{os.fspath(path)}, line {rows.line_num}: {error}.") from None


def _take_pairs(names: Sequence[str], path: str, rows: Any, column: str) -> dict[str, str]:
    titles = [title.strip().lower() for title in next(rows, [])]
    if missing := [title for title in ("object", column) if title not in titles]:
        raise InputError(
            f"{path}, line 1: the column {missing[0]!r} is missing; the first line "
            f"should be object,{column}, followed by one line for every object."
        )
    one, other = titles.index("object"), titles.index(column)
    found: dict[str, str] = {}
    known = set(names)
    for row in rows:
        if not any(cell.strip() for cell in row):
            continue
        where = f"{path}, line {rows.line_num}"
        cells = [cell.strip() for cell in row] + [""] * (len(titles) - len(row))
        name, value = (row[one] if row[one:] and row[one] in known else cells[one]), cells[other]
        if name not in known:
            raise InputError(f"{where}: there is a {column} for {_describe_unknown(name, names)}")
        if not value:
            raise InputError(f"{where}: the object {shown(name)} has no {column}.")
        if found.setdefault(name, value) != value:
            raise InputError(
                f"{where}: the object {shown(name)} has two {column}s, {shown(found[name])} and "
                f"{shown(value)}; keep one of them."
            )
    return found
