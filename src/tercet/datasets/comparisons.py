"""Sets in which every answer is one comparison: materials, musicians, alien eggs."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

from tercet.datasets.catalogue import CATALOGUE
from tercet.datasets.dataset import Dataset
from tercet.datasets.fetch import download, find_folder, locate, require_files
from tercet.datasets.files import (
    Ints,
    canonical_lines,
    read_json,
    read_lines,
    read_table,
    read_unpacked,
    reading,
)
from tercet.triplets import Triplets

__all__ = ["load_alien_eggs", "load_material", "load_music"]

_SPLITS = ("train", "test")
_TWICE = "a_new_found_glory"  # stands in the list of artists, but not in the numbering


def load_material() -> Dataset:
    """Load which of two materials people found more like a third one in appearance.

    Most comparisons were answered several times, often with disagreement: votes of the minority
    are answers too, and are kept. A row's weight says how many voted so.

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
        said = read_json(path)
        with reading(path):
            asked = np.array(said["answers"], dtype=np.int64).reshape(-1, 3)
            agreed = np.array(said["agreement"], dtype=np.int64).reshape(-1, 2)
            parts.append(np.column_stack([asked, agreed]))
    rows = np.concatenate(parts)
    split = np.repeat(_SPLITS, [len(part) for part in parts])
    majority, minority = rows[:, [0, 1, 2, 3]], rows[:, [0, 2, 1, 4]]
    voted = np.concatenate([majority, minority])
    given = voted[:, 3] > 0
    folder = find_folder(entry)
    names, named = None, "the published answers have no names; objects.csv in the folder would"
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

    Cleaned by its publishers: all triplets differ and none contradicts another, and it is not
    known who answered. Rows that compare an artist with itself are left out.

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


def _read_matlab(path: Path, name: str) -> Ints:
    """Return an array of whole numbers of a Matlab file (before version 7.3)."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    content = io.BytesIO(read_unpacked(path))
    with reading(path):
        try:
            found: Ints = loadmat(content, variable_names=[name])[name].astype(np.int64)
        except MatReadError as error:
            raise ValueError(error) from error
        return found


def load_alien_eggs() -> Dataset:
    """Load which of two rendered shapes people found more like a third one.

    The shapes differ in one number, so the truth is known: the physical smoothness.

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
