"""The sets of measured features that the paper simulates answers from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tercet.arrays import read_npz
from tercet.datasets.catalogue import CATALOGUE, Dataset
from tercet.datasets.fetch import (
    download,
    find_folder,
    locate,
    read_rows,
    read_unpacked,
    reading,
    require_files,
)
from tercet.errors import InputError

__all__ = ["load_breast_cancer", "load_mnist_digits", "load_satellite"]

_GROUND = {
    1: "red soil",
    2: "cotton crop",
    3: "grey soil",
    4: "damp grey soil",
    5: "vegetation stubble",
    7: "very damp grey soil",
}
_SPLITS = {"train": "sat.trn", "test": "sat.tst"}
_IDX = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte")


def load_mnist_digits(*digits: int) -> Dataset:
    """Load handwritten digits of the MNIST training set, in their original order.

    Parameters
    ----------
    *digits : int
        Which digits, 0 to 9; by default 6 and 8, the paper's 11 769 images.

    Returns
    -------
    Dataset
        ``features`` (n, 784): pixels row by row, 0 to 255. ``labels`` (n,): the digit.
    """
    chosen = digits or (6, 8)
    for digit in chosen:
        if isinstance(digit, bool) or digit not in range(10):
            raise InputError(f"digits must be whole numbers from 0 to 9, got {digit!r}.")
    entry = CATALOGUE["mnist_digits"]
    folder = find_folder(entry)
    if folder is not None and set(chosen) <= {6, 8}:
        (path,) = require_files(folder, "mnist_train_6_8.npz")
        images, labels = _read_npz(path)
        source = str(folder)
    else:
        whole = find_folder(entry, "mnist")
        paths = (
            download(entry, *(f"mnist/{name}.gz" for name in _IDX))
            if whole is None
            else require_files(whole, *_IDX)
        )
        images, labels = (_read_idx(path) for path in paths)
        source = str(paths[0].parent)
    if images.shape[:1] != labels.shape:
        raise InputError(f"{source}: {len(images)} images, but {len(labels)} labels.")
    kept = np.isin(labels, chosen)
    return Dataset(
        entry,
        source,
        features=images[kept].reshape(-1, 784).astype(np.float64),
        labels=labels[kept].astype(np.int64),
    )


def load_satellite(split: str = "train") -> Dataset:
    """Load Landsat pixels with their eight neighbours.

    Parameters
    ----------
    split : {"train", "test"}
        The published training set, 4 435 pixels, which the paper uses, or the test set, 2 000.

    Returns
    -------
    Dataset
        ``features`` (n, 36): four spectral bands of 3 × 3 pixels. ``labels`` (n,): the kind of
        ground of the middle one, 1 to 5 and 7.
    """
    if split not in _SPLITS:
        raise InputError(f"split must be 'train' or 'test', got {split!r}.")
    entry = CATALOGUE["satellite"]
    (path,) = locate(entry, _SPLITS[split])
    rows = read_rows(path)
    if rows.shape[1] != 37:
        raise InputError(f"{path} has rows of {rows.shape[1]} numbers; 36 and a label are needed.")
    return Dataset(
        entry,
        str(path),
        features=rows[:, :36].astype(np.float64),
        labels=rows[:, 36].copy(),
        label_names=_GROUND,
    )


def load_breast_cancer() -> Dataset:
    """Load the diagnostic breast cancer set of Wisconsin, which comes with scikit-learn.

    Returns
    -------
    Dataset
        ``features`` (569, 30), ``labels`` (569,): 0 malignant, 1 benign. The paper writes
        399 × 30, which is about 70 % of it; which rows is not known.
    """
    from sklearn import datasets

    bunch = datasets.load_breast_cancer()
    return Dataset(
        CATALOGUE["breast_cancer"],
        "scikit-learn",
        features=np.array(bunch.data, dtype=np.float64),
        feature_names=tuple(map(str, bunch.feature_names)),
        labels=np.array(bunch.target, dtype=np.int64),
        label_names={i: str(name) for i, name in enumerate(bunch.target_names)},
        notes=("the paper has 399 of the 569 rows; which ones is not known",),
    )


def _read_npz(path: Path) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return ``images`` (n, 784) and ``labels`` (n,) of an archive of plain arrays."""
    with reading(path), path.open("rb") as file:
        arrays = read_npz(file)
        return arrays["images"], arrays["labels"]


def _read_idx(path: Path) -> NDArray[np.uint8]:
    """Return the bytes of an IDX file (LeCun's format): two zeros, 8, dimensions, sizes, values."""
    content = read_unpacked(path)
    with reading(path):
        if content[:3] != b"\0\0\x08":
            raise ValueError("it is no IDX file of bytes")
        start = 4 + 4 * content[3]
        sizes = np.frombuffer(content[4:start], dtype=">u4").astype(np.int64)
        return np.frombuffer(content, dtype=np.uint8, offset=start).reshape(sizes)
