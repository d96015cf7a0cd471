"""Answers of people, split into training and test answers."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from benchmarks.data import load_from

from tercet import datasets
from tercet.answers.triplets import Triplets
from tercet.arrays import Floats, Index


class People(NamedTuple):
    """A set of answers; without ``test``, some of ``train`` are held out, others each time."""

    n_objects: int
    train: Index  # (m, 3), independent answers
    test: Index | None
    held_out: int = 0


def part(folder: Path, name: str, answers: int, repeat: int) -> tuple[Triplets, Index]:
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
    triplets = load_from(folder, datasets.load_food)[1]
    return People(100, _one_of_each_screen(triplets), None, held_out=4000)


@cache
def material_appearance(folder: Path) -> People:
    """100 materials; every vote of the published training and test sets is an answer."""
    data, triplets = load_from(folder, datasets.load_material)
    train, test = (
        np.repeat(chosen.array, chosen.votes, axis=0)
        for split in ("train", "test")
        for chosen in (triplets[data.columns["split"] == split],)
    )
    return People(100, train, test)


@cache
def alien_eggs(folder: Path) -> People:
    """30 shapes on a line; comparisons chosen at random, and the test set, random too."""
    data, triplets = load_from(folder, datasets.load_alien_eggs)
    sampling, rows = data.columns["sampling"], triplets.array
    return People(30, rows[sampling == "RandomSampling"], rows[sampling == "Test"])


@cache
def car60(folder: Path) -> People:
    """60 cars; of every statement, which car of three is most central, one triplet of the two."""
    triplets = load_from(folder, datasets.load_cars)[1]
    return People(60, _one_of_each_screen(triplets), None, held_out=2500)


READERS = {
    "food100": food100,
    "material_appearance": material_appearance,
    "alien_eggs": alien_eggs,
    "car60": car60,
}


def _one_of_each_screen(triplets: Triplets) -> Index:
    """Choose one triplet of each screen at random, (m, 3)."""
    assert triplets.screens is not None
    order = np.random.default_rng(0).permutation(len(triplets))
    first = np.unique(triplets.screens[order], return_index=True)[1]
    return triplets.array[order[first]]


# --- all answers of a set, with their screens ---------------------------------------------------


class Choices(NamedTuple):
    """Answers, and what has to be held out together."""

    triplets: Triplets
    units: Index  # (m,) from 0: the same objects were shown
    shares: Floats  # (m,) of a choice: one row's part of its screen, or the votes for it

    def part(self, fold: int, n_folds: int, most: int) -> tuple[Choices, Choices]:
        """Training answers, whole units of ``most`` rows in all, and those of a fold of units."""
        order = np.random.default_rng(5).permutation(int(self.units.max()) + 1)
        place = np.argsort(order)[self.units]  # the same for all candidates, sizes and dimensions
        rows = np.flatnonzero(place % n_folds != fold)
        rows = rows[np.argsort(place[rows], kind="stable")]
        if len(rows) > most:
            rows = rows[place[rows] < place[rows[most]]]
        return self._of(rows), self._of(np.flatnonzero(place % n_folds == fold))

    def _of(self, rows: Index) -> Choices:
        units = np.unique(self.units[rows], return_inverse=True)[1]
        return Choices(self.triplets[rows], units, self.shares[rows])


@cache
def choices(folder: Path, name: str) -> Choices:
    """All answers of a set of `SETS`."""
    triplets = SETS[name](folder)
    screens = np.arange(len(triplets)) if triplets.screens is None else triplets.screens
    screen = np.unique(screens, return_inverse=True)[1]
    shown: list[set[int]] = [set() for _ in range(int(screen.max()) + 1)]
    for number, row in zip(screen, triplets.array.tolist(), strict=True):
        shown[number].update(row)
    known: dict[frozenset[int], int] = {}
    unit = np.array([known.setdefault(frozenset(objects), len(known)) for objects in shown])
    votes = np.ones(len(triplets)) if triplets.votes is None else triplets.votes
    return Choices(triplets, unit[screen], votes / np.bincount(screen)[screen])


def _rankings(folder: Path) -> Triplets:
    """37 animals; one person ranked eight by their similarity to a ninth, 1 110 times."""
    rows: list[tuple[str, ...]] = []
    count = 0
    for path in sorted((folder / "exports" / "jvlab_rank" / "raw").rglob("*_responses.csv")):
        for anchor, *shown in _table(path):
            ranked = [shown[int(k) - 1] for k in re.findall(r"stim(\d)", shown[8])]
            rows += [(anchor, *pair) for pair in combinations(ranked, 2)]
            count += 1
    return _numbered(rows, np.repeat(np.arange(count), len(rows) // count))


def _eggs_again(folder: Path) -> Triplets:
    """The 30 shapes in another study; two rows, whose winner was not shown, are left out."""
    rows = []
    for anchor, left, right, near, *_ in _table(folder / "exports" / "salmon" / "responses.csv"):
        if near in (left, right):
            rows.append((anchor, near, right if near == left else left))
    return _numbered(rows)


def _table(path: Path) -> list[list[str]]:
    """The cells of a CSV file below its titles."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.reader(file))[1:]


def _numbered(rows: list[tuple[str, ...]], screens: Index | None = None) -> Triplets:
    names, numbers = np.unique(np.array(rows), return_inverse=True)
    return Triplets(numbers.reshape(-1, 3), n_objects=len(names), screens=screens)


def _at_random(folder: Path) -> Triplets:
    """30 shapes on a line; the comparisons that were chosen at random."""
    data, triplets = load_from(folder, datasets.load_alien_eggs)
    return triplets[np.isin(data.columns["sampling"], ["RandomSampling", "Test"])]


def _read(load: Callable[[], datasets.Dataset]) -> Callable[[Path], Triplets]:
    return lambda folder: load_from(folder, load)[1]


SETS: dict[str, Callable[[Path], Triplets]] = {
    "alien_eggs": _at_random,
    "salmon_eggs": _eggs_again,
    "transparency": _read(lambda: datasets.load_mlds("Transparency")),
    "car60": _read(datasets.load_cars),
    "material_appearance": _read(datasets.load_material),
    "food100": _read(datasets.load_food),
    "jvlab_s7": _rankings,
    "music_aset400": _read(datasets.load_music),
    "things_oddoneout": _read(datasets.load_things),
}
