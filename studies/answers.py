"""Answers of people, parted into some to learn from and others to predict."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.triplets import Triplets

Ints = NDArray[np.int64]

COLUMNS = ("anchor", "closer", "farther")


class People(NamedTuple):
    """A set of answers; without ``test``, some of ``train`` are held out, others each time."""

    n_objects: int
    train: Ints  # (m, 3), independent answers
    test: Ints | None
    held_out: int = 0


def part(folder: Path, name: str, answers: int, repeat: int) -> tuple[Triplets, Ints]:
    """Draw answers to learn from, and return them with those to predict, (m, 3)."""
    people = READERS[name](folder)
    rng = np.random.default_rng([repeat, 7])
    # One order for all sizes: the answers of a smaller size are among those of a larger one.
    order = rng.permutation(len(people.train))
    test = people.train[order[: people.held_out]] if people.test is None else people.test
    chosen = order[people.held_out :][:answers]
    return Triplets(people.train[chosen], n_objects=people.n_objects), test


@cache
def food100(folder: Path) -> People:
    """100 dishes; of every screen, on which people chose some from a grid, one triplet."""
    rows = read(folder / "food100" / "triplets.csv.gz", *COLUMNS, "screen").astype(np.int64)
    return People(100, _one_of_each(rows[:, :3], rows[:, 3]), None, held_out=4000)


@cache
def material_appearance(folder: Path) -> People:
    """100 materials; every vote of the published training and test sets is an answer."""
    path = folder / "material_appearance" / "triplets.csv.gz"
    rows = read(path, *COLUMNS, "count", "split")
    numbers = rows[:, :4].astype(np.int64)
    votes = {
        split: np.repeat(chosen[:, :3], chosen[:, 3], axis=0)
        for split in ("train", "test")
        for chosen in (numbers[rows[:, 4] == split],)
    }
    return People(100, votes["train"], votes["test"])


@cache
def alien_eggs(folder: Path) -> People:
    """30 shapes on a line; comparisons chosen at random, and the test set, random too."""
    rows = read(folder / "alien_eggs" / "triplets_n30.csv.gz", *COLUMNS, "sampling_alg")
    numbers = rows[:, :3].astype(np.int64)
    return People(30, numbers[rows[:, 3] == "RandomSampling"], numbers[rows[:, 3] == "Test"])


@cache
def car60(folder: Path) -> People:
    """60 cars; of every statement, which car of three is most central, one triplet of the two."""
    rows = read(folder / "car60" / "triplets.csv.gz", *COLUMNS, "statement").astype(np.int64)
    return People(60, _one_of_each(rows[:, :3], rows[:, 3]), None, held_out=2500)


READERS = {
    "food100": food100,
    "material_appearance": material_appearance,
    "alien_eggs": alien_eggs,
    "car60": car60,
}


def _one_of_each(rows: Ints, group: Ints) -> Ints:
    """Choose one row of each group at random."""
    order = np.random.default_rng(0).permutation(len(rows))
    first = np.unique(group[order], return_index=True)[1]
    return rows[order[first]]


def read(path: Path, *columns: str) -> NDArray[np.str_]:
    """Read columns of a compressed CSV file as text, (m, k)."""
    with gzip.open(path, "rt") as file:
        header = file.readline().strip().split(",")
        return np.loadtxt(
            file, dtype="U20", delimiter=",", usecols=[header.index(name) for name in columns]
        )
