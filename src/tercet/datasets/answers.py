"""Data sets of answers: choices from screens, single comparisons, and difference scaling."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tercet.answers.triplets import Triplets
from tercet.arrays import Index
from tercet.datasets.catalogue import CATALOGUE, Dataset, Entry
from tercet.datasets.fetch import (
    canonical_lines,
    canonical_rows,
    download,
    find_folder,
    locate,
    published,
    read_json,
    read_lines,
    read_rows,
    read_table,
    read_tar,
    read_unpacked,
    reading,
    require_files,
)
from tercet.errors import InputError

__all__ = [
    "load_alien_eggs",
    "load_cars",
    "load_food",
    "load_material",
    "load_mlds",
    "load_music",
    "load_things",
]

_CARS = {  # README.txt of the published set; cars are numbered from 1
    "ordinary": "2 6 7 8 9 10 11 12 16 17 25 32 35 36 37 38 39 41 44 45 46 55 58 60",
    "sports": "15 19 20 28 40 42 47 48 49 50 51 52 54 56 59",
    "off-road": "1 3 4 5 13 14 18 22 24 26 27 29 31 33 34 43 57",
    "outlier": "21 23 30 53",
}
_RUN = re.compile(r"grid(\d+)force(\d+)_rep(\d+)_food\.json")
_THINGS = {  # the published texts, by their split
    "random": {"test": "test_10.txt"},
    "participants": {"test": "test_10_ID.txt", "train": "train_90_ID_smallsample.txt"},
}
_SPLITS = ("train", "test")
_TWICE = "a_new_found_glory"  # in the list of artists, but not in the numbering


# --- choices from a screen --------------------------------------------------------------------


def load_cars() -> Dataset:
    """Load which of three cars people called the most central one (7 097 statements).

    A central in (A, B, C) means that B is closer to A than to C, and C closer to A than to B: two
    triplets that share a screen.

    Returns
    -------
    Dataset
        ``triplets`` (14 194 of 60 cars): observers are the 146 rounds of the survey. ``labels``
        (60,): the authors' classes. ``columns``: response_time in seconds.
    """
    entry = CATALOGUE["cars"]
    (path,) = locate(entry, "original_survey_data.csv")
    names = ("chosen_center", *(f"triplet_object_{k}" for k in (1, 2, 3)), "survey_round")
    columns = read_table(path, *names, "response_time")
    with reading(path):
        center, *shown, survey_round = (column.astype(np.int64) for column in columns[:5])
        seconds = columns[5].astype(np.float64)
        triple = np.sort(np.column_stack(shown), axis=1)
        others = triple[triple != center[:, np.newaxis]].reshape(-1, 2)
    labels = np.empty(60, dtype="<U8")
    for name, numbers in _CARS.items():
        labels[np.array(numbers.split(), dtype=np.int64) - 1] = name
    first, second = others.T
    array = _interleave([first, center, second], [second, center, first]) - 1
    triplets = Triplets(
        array,
        names=[f"car {number}" for number in range(1, 61)],
        observers=np.repeat(survey_round, 2),
        screens=np.repeat(np.arange(len(center)), 2),
        response_times=np.repeat(seconds, 2),
    )
    return Dataset(
        entry,
        str(path),
        triplets=triplets,
        labels=labels,
        columns={"response_time": np.repeat(seconds, 2)},
        notes=("an observer is a round of the survey; a person may have done several",),
    )


class _Screen(NamedTuple):
    """A grid of dishes and the choice from it."""

    probe: str
    near: list[str]
    far: list[str]
    worker: int
    number: int
    grid_size: int
    n_chosen: int
    repetition: int


def load_food() -> Dataset:
    """Load which dishes of a grid people found to taste most like one (15 320 screens).

    Every chosen dish is nearer than every other dish; the triplets of a screen are one choice. The
    authors' catch trials are left out, as in their own list of triplets.

    Returns
    -------
    Dataset
        ``triplets`` (250 320 of 100 dishes), observers are workers. ``columns``: grid_size,
        n_chosen and repetition of the experiment.
    """
    entry = CATALOGUE["food"]
    folder = find_folder(entry)
    if folder is None:
        paths = download(entry, *published(f"{entry.folder}/raw-json"))
        contents = {path.name: read_unpacked(path) for path in paths}
        source = paths[0].parent
    else:
        (source,) = require_files(folder, "original_raw-json.tar.xz")
        contents = read_tar(source)
    (dishes,) = locate(entry, "original_ingredients.json")
    with reading(source):
        screens = list(_screens(contents))
        images = sorted({image for s in screens for image in (s.probe, *s.near, *s.far)})
        place = {image: i for i, image in enumerate(images)}
        rows = [
            (place[s.probe], place[near], place[far], *s[3:])
            for s in screens
            for near in s.near
            for far in s.far
        ]
        table = np.array(rows, dtype=np.int64)
    known = read_json(dishes)
    with reading(dishes):
        stems = [image.removeprefix("images/") for image in images]
        names = [(known.get(stem) or {}).get("name") or Path(stem).stem for stem in stems]
    keys = ("grid_size", "n_chosen", "repetition")
    return Dataset(
        entry,
        str(source),
        triplets=Triplets(table[:, :3], names=names, observers=table[:, 3], screens=table[:, 4]),
        columns={key: table[:, i].copy() for i, key in enumerate(keys, start=5)},
    )


def _screens(contents: dict[str, bytes]) -> Iterator[_Screen]:
    """Yield the screens of all runs in the order of the files; catch trials are only counted."""
    number = -1
    for name in sorted(contents):
        run = _RUN.fullmatch(name)
        if run is None:
            raise ValueError(f"unexpected file {name}")
        for task in json.loads(contents[name]):
            for screen in task["HIT_screens"]:
                number += 1
                if not screen["is_catchtrial"]:
                    near = sorted(screen["near_answer"])
                    far = sorted(set(screen["images"]) - set(near))
                    settings = (int(group) for group in run.groups())
                    yield _Screen(screen["probe"], near, far, task["worker_id"], number, *settings)


def load_things(which: str = "random") -> Dataset:
    """Load which of three things people found the odd one out.

    The two others are closer to each other than to the odd one: two triplets that share a screen.
    These are documented parts of the 4.7 million answers.

    Parameters
    ----------
    which : {"random", "participants"}
        50 000 answers drawn at random, or 148 920 of 264 known participants.

    Returns
    -------
    Dataset
        ``triplets`` of 1 854 things, two for each answer. Of participants also observers, and in
        ``columns`` the split: "test", a fifth of everybody's answers, or "train", the others of
        the first ten participants.
    """
    if which not in _THINGS:
        raise InputError(f"which must be 'random' or 'participants', got {which!r}.")
    entry = CATALOGUE["things"]
    folder = find_folder(entry)
    things = _download_things(entry, which) if folder is None else _read_things(folder, which)
    first, second, odd, *participant = things.rows.T
    triplets = Triplets(
        _interleave([first, second, odd], [second, first, odd]),
        names=things.names,
        observers=np.repeat(participant[0], 2) if participant else None,
        screens=np.repeat(np.arange(len(things.rows)), 2),
    )
    columns = {"split": np.repeat(things.split, 2)} if participant else {}
    return Dataset(entry, str(things.path), triplets=triplets, columns=columns)


class _Things(NamedTuple):
    """Odd ones out: the two others, the odd one, perhaps the observer, (m, 3) or (m, 4)."""

    path: Path
    rows: Index
    split: NDArray[np.str_]
    names: list[str]


def _download_things(entry: Entry, which: str) -> _Things:
    """Return the answers from the published texts."""
    texts = {split: f"{entry.folder}/{text}" for split, text in _THINGS[which].items()}
    paths = download(entry, *texts.values(), canonical=canonical_rows)
    (listed,) = download(entry, f"{entry.folder}/unique_id.txt", canonical=canonical_lines)
    parts = [read_rows(path) for path in paths]
    split = np.repeat(list(texts), [len(part) for part in parts])
    return _Things(paths[0], np.concatenate(parts), split, read_lines(listed))


def _read_things(folder: Path, which: str) -> _Things:
    """Return the answers from the tables in TERCET_DATA."""
    known = which == "participants"
    table = "oddoneout_by_participant.csv" if known else "oddoneout_random50k.csv"
    path, listed = require_files(folder, table, "objects.csv")
    numbers = ["similar1", "similar2", "odd", *(["participant"] if known else [])]
    columns = read_table(path, *numbers, *(["split"] if known else []))
    with reading(path):
        rows = np.column_stack(columns[: len(numbers)]).astype(np.int64)
    return _Things(path, rows, columns[-1], read_table(listed, "thing_id")[0].tolist())


def _interleave(first: list[Index], second: list[Index]) -> Index:
    """Return the triplets of all screens, two for each in turn, (2m, 3)."""
    return np.stack([np.column_stack(first), np.column_stack(second)], axis=1).reshape(-1, 3)


# --- single comparisons -----------------------------------------------------------------------


def load_material() -> Dataset:
    """Load which of two materials people found more like a third one in appearance.

    Most comparisons were answered several times, often with disagreement; votes of the minority
    are kept. The weight of a row is its number of votes.

    Returns
    -------
    Dataset
        ``triplets`` (38 662 rows, 104 692 votes, of 100 materials). ``columns``: split, "train" or
        "test", as published.
    """
    entry = CATALOGUE["material"]
    paths = locate(entry, *(f"original_answers_processed_{split}.json" for split in _SPLITS))
    parts = []
    for path in paths:
        content = read_json(path)
        with reading(path):
            asked = np.array(content["answers"], dtype=np.int64).reshape(-1, 3)
            agreed = np.array(content["agreement"], dtype=np.int64).reshape(-1, 2)
            parts.append(np.column_stack([asked, agreed]))
    rows = np.concatenate(parts)
    split = np.repeat(_SPLITS, [len(part) for part in parts])
    majority, minority = rows[:, [0, 1, 2, 3]], rows[:, [0, 2, 1, 4]]
    voted = np.concatenate([majority, minority])
    given = voted[:, 3] > 0
    folder = find_folder(entry)
    names, named = (
        None,
        "the published answers have no names; add objects.csv to the folder for names",
    )
    if folder is not None and (folder / "objects.csv").is_file():
        names = read_table(folder / "objects.csv", "material")[0].tolist()
        named = "names are inferred: the sorted images; chrome and chrome-steel may be exchanged"
    return Dataset(
        entry,
        str(paths[0].parent),
        triplets=Triplets(
            voted[given, :3],
            n_objects=entry.objects,
            names=names,
            weights=voted[given, 3],
        ),
        columns={"split": np.tile(split, 2)[given]},
        notes=(
            "weights are votes; those of the minority are kept as rows of their own",
            named,
        ),
    )


def load_music() -> Dataset:
    """Load which of two artists people found more like a third one (aset400).

    Cleaned by its publishers: all triplets differ and none contradicts another. Observers are
    unknown. Rows that compare an artist with itself are left out.

    Returns
    -------
    Dataset
        ``triplets`` (9 090 of 400 artists). ``notes`` says how many rows were left out.
    """
    entry = CATALOGUE["music"]
    folder = find_folder(entry)
    (path,) = locate(entry, "original_music_triplets.mat")
    numbers = _read_matlab(path, "triplets").reshape(-1, 3)
    occurring, rows = np.unique(numbers, return_inverse=True)
    if folder is None:
        (listed,) = download(entry, f"{entry.folder}/musician_names.txt", canonical=canonical_lines)
        artists = [line.split()[0] for line in read_lines(listed)]
        artists.remove(_TWICE)
        with reading(listed):
            names = [artists[number - 1] for number in occurring]
    else:
        (listed,) = require_files(folder, "objects.csv")
        names = read_table(listed, "artist_inferred")[0].tolist()
    distinct = (np.diff(np.sort(rows, axis=1), axis=1) > 0).all(axis=1)
    left_out = int((~distinct).sum())
    return Dataset(
        entry,
        str(path),
        triplets=Triplets(rows[distinct], names=names),
        notes=(
            f"{left_out} rows that compare an artist with itself were left out",
            "names are inferred from another list of the same artists, by their genres",
        ),
    )


def _read_matlab(path: Path, name: str) -> Index:
    """Return an array of integers of a Matlab file (before version 7.3)."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    content = io.BytesIO(read_unpacked(path))
    with reading(path):
        try:
            found: Index = loadmat(content, variable_names=[name])[name].astype(np.int64)
        except MatReadError as error:
            raise ValueError(error) from error
        return found


def load_alien_eggs() -> Dataset:
    """Load which of two rendered shapes people found more like a third one.

    The shapes differ in one known number, their physical smoothness.

    Returns
    -------
    Dataset
        ``triplets`` (20 086 of 30 shapes, 416 observers). ``stimuli`` (30,): smoothness.
        ``columns``: sampling (what chose the question: "RandomSampling" and "Test" are random),
        response_time in seconds, order in time.
    """
    entry = CATALOGUE["alien_eggs"]
    path, listed = locate(entry, "triplets_n30.csv", "objects_n30.csv")
    names = ("anchor", "closer", "farther", "participant", "order")
    *numbers, sampling, seconds = read_table(path, *names, "sampling_alg", "response_time_s")
    image, smoothness = read_table(listed, "image", "smoothness")
    with reading(path):
        rows = np.column_stack(numbers).astype(np.int64)
        response_time = seconds.astype(np.float64)
    with reading(listed):
        stimuli = smoothness.astype(np.float64)
    return Dataset(
        entry,
        str(path),
        triplets=Triplets(
            rows[:, :3],
            names=[name.removesuffix(".png") for name in image.tolist()],
            observers=rows[:, 3],
            response_times=np.where(response_time < 0.0, np.nan, response_time),
        ),
        stimuli=stimuli,
        columns={
            "sampling": sampling.copy(),
            "response_time": response_time,
            "order": rows[:, 4].copy(),
        },
        notes=("only RandomSampling and Test were asked at random; the others chose by answers",),
    )


# --- difference scaling -----------------------------------------------------------------------


class _Example(NamedTuple):
    """What the package's help pages say of an example."""

    stimuli: tuple[float, ...]
    what: str
    observer: str | None  # None: a column says


_CORRELATION = (*(k / 10 for k in range(10)), 0.98)
_EXAMPLES = {
    **{
        name: _Example(_CORRELATION, "correlation of a scatter plot", "KK")
        for name in ("kk1", "kk2", "kk3", "kktriad")
    },
    "AutumnLab": _Example((1, *range(6, 31, 3)), "compression of an image", "A1"),
    "Transparency": _Example(
        (1.1, 1.23, 1.37, 1.5, 1.63, 1.77, 1.9, 2.03, 2.17, 2.3), "refractive index", None
    ),
}


def load_mlds(which: str = "kk1") -> Dataset:
    """Load an example of Knoblauch and Maloney's R package MLDS.

    Parameters
    ----------
    which : {"kk1", "kk2", "kk3", "kktriad", "AutumnLab", "Transparency"}
        kk1 to kk3 and kktriad are of one observer, AutumnLab of another, Transparency of six.

    Returns
    -------
    Dataset
        ``triplets``: quadruplets "a–b is closer than c–d"; of kktriad triplets, whose anchor is
        the middle one. ``stimuli`` (n,): physical values, in rising order.

    Notes
    -----
    The files are the package's data frames as CSV; in R:
    ``write.csv(kk1, "kk1.csv", row.names = FALSE)``.
    """
    if which not in _EXAMPLES:
        raise InputError(f"which must be one of {', '.join(_EXAMPLES)}; got {which!r}.")
    entry = CATALOGUE["mlds"]
    example = _EXAMPLES[which]
    (path,) = locate(entry, f"{which}.csv")
    triads = which == "kktriad"
    shown = ("s1", "s2", "s3") if triads else ("s1", "s2", "s3", "s4")
    response, *ranks = read_table(path, "resp", *shown)
    with reading(path):
        stimuli = np.column_stack(ranks).astype(np.int64) - 1
        larger = response.astype(np.int64)  # 1: the second pair has the larger difference
        if not np.isin(larger, (0, 1)).all():
            raise ValueError("resp must be 0 or 1")
    first, second = ([1, 0, 2], [1, 2, 0]) if triads else ([0, 1, 2, 3], [2, 3, 0, 1])
    array = np.where(larger[:, np.newaxis] == 1, stimuli[:, first], stimuli[:, second])
    observers = (
        read_table(path, "observer")[0].copy()
        if example.observer is None
        else np.full(len(array), example.observer)
    )
    return Dataset(
        entry,
        str(path),
        triplets=Triplets(array, n_objects=len(example.stimuli), observers=observers),
        stimuli=np.array(example.stimuli, dtype=np.float64),
        notes=(f"{which}; the stimuli: {example.what}",),
    )
