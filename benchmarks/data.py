"""Answers that people gave: read from the folder TERCET_DATA or ``../shared/data``."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import numpy as np

from benchmarks.peer import ROOT
from tercet import datasets
from tercet.answers.triplets import Triplets
from tercet.arrays import Index


class Answers(NamedTuple):
    """Triplets (anchor, near, far) and how often each was answered so."""

    name: str
    triplets: Index  # (m, 3)
    counts: Index | None  # (m,), or None: once each
    n_objects: int


def find_data() -> Path | None:
    """Return the folder of the human answers, or None where there is none."""
    folder = Path(os.environ.get("TERCET_DATA", ROOT.parent / "shared" / "data"))
    return folder if folder.is_dir() else None


HOW_TO_FIND = (
    "The human answers were not found, so this case was left out. Set TERCET_DATA to the folder "
    "that holds car60, food100 and the others."
)


def load_from(
    folder: Path, load: Callable[[], datasets.Dataset]
) -> tuple[datasets.Dataset, Triplets]:
    """Load a set of people's answers as if TERCET_DATA named this folder."""
    with mock.patch.dict(os.environ, TERCET_DATA=str(folder)):
        data = load()
    assert data.triplets is not None
    return data, data.triplets


def car60(folder: Path) -> Answers:
    """60 cars; people were asked which of three is the most central one."""
    return _answers("car60", load_from(folder, datasets.load_cars)[1])


def food100(folder: Path) -> Answers:
    """100 dishes; people chose from a grid those that taste most similar to one."""
    return _answers("food100", load_from(folder, datasets.load_food)[1])


def material_appearance(folder: Path) -> Answers:
    """100 materials; the training split, every triplet with its votes."""
    data, triplets = load_from(folder, datasets.load_material)
    return _answers("material_appearance", triplets[data.columns["split"] == "train"])


def music_aset400(folder: Path) -> Answers:
    """400 musicians, without the 17 rows that compare an artist with itself."""
    return _answers("music_aset400", load_from(folder, datasets.load_music)[1])


def things_oddoneout(folder: Path) -> Answers:
    """1 854 things; people chose the odd one of three, which makes two triplets."""
    answers = _answers("things_oddoneout", load_from(folder, datasets.load_things)[1])
    first, second = answers.triplets[0::2], answers.triplets[1::2]
    return answers._replace(triplets=np.concatenate([first, second]))


def alien_eggs(folder: Path) -> Answers:
    """30 shapes on a line; the comparisons that were chosen at random."""
    data, triplets = load_from(folder, datasets.load_alien_eggs)
    at_random = np.isin(data.columns["sampling"], ["RandomSampling", "Test"])
    return _answers("alien_eggs", triplets[at_random])


def _answers(name: str, triplets: Triplets) -> Answers:
    return Answers(name, triplets.array, triplets.votes, triplets.n_objects)
