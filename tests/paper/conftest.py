"""Data sets of the right form and made-up content: the figures run where no data are."""

import gzip

import numpy as np
import pytest


@pytest.fixture(scope="session")
def made_up_data(tmp_path_factory):
    """A folder like that which TERCET_DATA names."""
    folder = tmp_path_factory.mktemp("data")
    rng = np.random.default_rng(0)
    (folder / "mnist_6_8").mkdir()
    labels = rng.permutation(np.repeat([6, 8], 60)).astype(np.uint8)
    shapes = rng.uniform(0, 200, (4, 784))
    mixed = rng.dirichlet(np.ones(4), 120) @ shapes + 0.2 * labels[:, None]
    images = np.clip(mixed, 0, 255).astype(np.uint8)
    np.savez(folder / "mnist_6_8" / "mnist_train_6_8.npz", images=images, labels=labels)
    (folder / "landsat_satellite").mkdir()
    kinds = rng.permutation(np.repeat([1, 2, 3, 4, 5, 7], 20))
    pixels = np.clip(60 + 10 * kinds[:, None] + rng.normal(0, 8, (120, 36)), 27, 157).astype(int)
    with gzip.open(folder / "landsat_satellite" / "sat.trn.gz", "wt") as file:
        np.savetxt(file, np.column_stack([pixels, kinds]), fmt="%d")
    return folder


@pytest.fixture
def with_data(made_up_data, monkeypatch):
    """The environment that names the folder."""
    from tercet.paper import figure2a

    monkeypatch.setenv("TERCET_DATA", str(made_up_data))
    figure2a.digits.cache_clear()
    yield made_up_data
    figure2a.digits.cache_clear()
