"""Answers that people gave: read from the folder TERCET_DATA or ``../shared/data``."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.peer import ROOT

Ints = NDArray[np.int64]


class Answers(NamedTuple):
    """Triplets (anchor, near, far) and how often each was answered so."""

    name: str
    triplets: Ints  # (m, 3)
    counts: Ints | None  # (m,), or None: once each
    n_objects: int


def find_data() -> Path | None:
    """Return the folder of the human answers, or None where there is none."""
    folder = Path(os.environ.get("TERCET_DATA", ROOT.parent / "shared" / "data"))
    return folder if folder.is_dir() else None


HOW_TO_FIND = (
    "The human answers were not found, so this case was left out. Set TERCET_DATA to the folder "
    "that holds car60, food100 and the others."
)


def car60(folder: Path) -> Answers:
    """60 cars; people were asked which of three is the most central one."""
    rows = _read(folder / "car60" / "triplets.csv.gz", "anchor", "closer", "farther")
    return Answers("car60", rows.astype(np.int64), None, 60)


def food100(folder: Path) -> Answers:
    """100 dishes; people chose from a grid those that taste most similar to one."""
    rows = _read(folder / "food100" / "triplets.csv.gz", "anchor", "closer", "farther")
    return Answers("food100", rows.astype(np.int64), None, 100)


def material_appearance(folder: Path) -> Answers:
    """100 materials; the training split, every triplet with its votes."""
    names = ("anchor", "closer", "farther", "count", "split")
    rows = _read(folder / "material_appearance" / "triplets.csv.gz", *names)
    rows = rows[rows[:, 4] == "train", :4].astype(np.int64)
    return Answers("material_appearance", rows[:, :3], rows[:, 3], 100)


def music_aset400(folder: Path) -> Answers:
    """400 musicians, without the 17 rows that compare an artist with itself."""
    rows = _read(folder / "music_aset400" / "triplets.csv.gz", "anchor", "closer", "farther")
    i, j, l = rows.astype(np.int64).T
    valid = (i != j) & (i != l) & (j != l)
    return Answers("music_aset400", np.column_stack([i, j, l])[valid], None, 400)


def things_oddoneout(folder: Path) -> Answers:
    """1 854 things; people chose the odd one of three, which makes two triplets."""
    path = folder / "things_oddoneout" / "oddoneout_random50k.csv.gz"
    a, b, odd = _read(path, "similar1", "similar2", "odd").astype(np.int64).T
    rows = np.concatenate([np.column_stack([a, b, odd]), np.column_stack([b, a, odd])])
    return Answers("things_oddoneout", rows, None, 1854)


def alien_eggs(folder: Path) -> Answers:
    """30 shapes on a line; the comparisons that were chosen at random."""
    names = ("anchor", "closer", "farther", "sampling_alg")
    rows = _read(folder / "alien_eggs" / "triplets_n30.csv.gz", *names)
    rows = rows[np.isin(rows[:, 3], ["RandomSampling", "Test"]), :3]
    return Answers("alien_eggs", rows.astype(np.int64), None, 30)


def _read(path: Path, *columns: str) -> NDArray[np.str_]:
    """Read columns of a compressed CSV file as text, (m, k)."""
    with gzip.open(path, "rt") as file:
        header = file.readline().strip().split(",")
        return np.loadtxt(
            file, dtype="U16", delimiter=",", usecols=[header.index(name) for name in columns]
        )
