"""Answers of people, split into training and test answers."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from benchmarks.data import load_from

from tercet import datasets
from tercet.answers.triplets import Triplets
from tercet.arrays import Index


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
