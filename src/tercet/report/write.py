"""Writing a report: one page, or a folder that also has its pictures and tables."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tercet.analysis.analysis import Analysis
from tercet.analysis.numbers import MAKERS, tables
from tercet.errors import InputError
from tercet.files import check_place, identity, is_stream, write_whole
from tercet.plots.axes import require_matplotlib
from tercet.report.appearance import Appearance
from tercet.report.page import page
from tercet.report.pictures import KEYS, KINDS, draw_pictures

__all__ = ["check_target", "write_report"]

PAGES = (".html", ".htm")


def check_target(out: Path | str, *answers: Path | str) -> None:
    """Raise unless a report can be written there; called before the work starts.

    Parameters
    ----------
    out : Path or str
        As in `write_report`.
    *answers : Path or str
        Input files, which must not be overwritten, not even through links.
    """
    require_matplotlib()
    target = Path(out)
    if not _is_page(target) and target.suffix and not target.is_dir():
        raise InputError(
            f"a report is a file that ends in .html, or a folder; got {str(out)!r}, which ends in "
            f"{target.suffix!r}."
        )
    files = _written(target)
    written = {identity(path) for path in (target, *files)} - {None}
    for each in answers:
        if identity(each) in written:
            raise InputError(
                f"the report would overwrite {str(each)!r}, its input; choose another "
                f"{'file' if _is_page(target) else 'folder'}."
            )
    folder = target.parent if _is_page(target) else target
    if folder.is_symlink() and not folder.exists():
        raise InputError(f"cannot write to {folder}: it is a broken link.")
    there = next(each for each in (folder.absolute(), *folder.absolute().parents) if each.exists())
    if not there.is_dir():
        raise InputError(f"cannot write to {folder}: {there} is a file, not a folder.")
    if not (is_stream(target) or os.access(there, os.W_OK)):
        raise InputError(f"cannot write to {folder}: no permission to write in {there}.")
    for path in files:
        try:
            if os.path.lexists(path):
                check_place(path)
        except OSError as error:
            raise InputError(f"{path} cannot be written: {error.strerror}.") from None


def write_report(
    analysis: Analysis, out: Path | str, appearance: Appearance | None = None
) -> list[Path]:
    """Write the report and return the paths of its files.

    All contents are ready before the first file is written, and each file is written atomically.

    Parameters
    ----------
    analysis : Analysis
        From `analyse`.
    out : Path or str
        A file that ends in .html; or a folder, which gets report.html, report.json, the tables as
        CSV, the pictures as PNG and SVG, and the maps as map.npz for `Ensemble.load`.
    appearance : Appearance, optional
        Groups and pictures of the objects, from `read_appearance`.

    Returns
    -------
    list of Path
        The page comes first.
    """
    check_target(out)
    target = Path(out)
    is_page = _is_page(target)
    if is_page:
        whole = {target.name: page(analysis, appearance).encode("utf-8")}
    else:
        whole = _contents(analysis, appearance)
    folder = target.parent if is_page else target
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, content in whole.items():
            write_whole(folder / file, content)
        written = [folder / file for file in whole]
        if not is_page:
            written.append(folder / "map.npz")
            analysis.ensemble.save(written[-1])
    except BrokenPipeError:  # the reader of a pipe has closed it
        raise
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror or error}.") from error
    return written


def _written(target: Path) -> list[Path]:
    """The files that a report may write."""
    if _is_page(target):
        return [target]
    files = ["report.html", "report.json", "map.npz", *(f"{key}.csv" for key in MAKERS)]
    files += [f"{key}.{kind}" for key in KEYS for kind in KINDS]
    return [target / file for file in files]


def _is_page(target: Path) -> bool:
    """Whether the target is a file and not a folder; pipes and devices count as files."""
    return (target.suffix.lower() in PAGES and not target.is_dir()) or is_stream(target)


def _contents(analysis: Analysis, appearance: Appearance | None) -> dict[str, bytes]:
    """The files of a folder, by name."""
    found = {
        "report.html": page(analysis, appearance).encode("utf-8"),
        "report.json": json.dumps(analysis.to_dict(), indent=1, allow_nan=False).encode("utf-8"),
    }
    for key, table in tables(analysis).items():
        found[f"{key}.csv"] = table.csv().encode("utf-8", "replace")
    for picture in draw_pictures(analysis, appearance).values():
        found |= picture.files()
    return found
