import numpy as np
import pytest
from matplotlib.figure import Figure

from tercet import Ensemble
from tercet.errors import InputError
from tercet.plots import plot_distances
from tercet.plots.maps import MOST_NAMES, expected_distances


def clusters(n=12, d=4, size=50, seed=0):
    """Three far groups of objects, which take turns."""
    rng = np.random.default_rng(seed)
    centres = 10.0 * rng.normal(size=(3, d))[np.arange(n) % 3]
    draws = centres + rng.normal(size=(size, n, d))
    return Ensemble(draws, names=[f"object {i}" for i in range(n)], alignment="none")


def test_distances_are_means_over_the_draws():
    ensemble = clusters()
    pairs = [(0, 1), (3, 7), (11, 2)]
    expected = ensemble.distances(pairs).mean(axis=0)
    mean = expected_distances(ensemble).mean
    np.testing.assert_allclose([mean[pair] for pair in pairs], expected)
    np.testing.assert_array_equal(mean, mean.T)
    np.testing.assert_array_equal(mean.diagonal(), 0.0)


def test_of_many_draws_some_are_looked_at():
    ensemble = clusters(size=1000)
    mean = expected_distances(ensemble).mean
    assert mean[0, 3] == pytest.approx(float(ensemble.distances([(0, 3)]).mean()), rel=0.05)


def test_like_stands_beside_like():
    order = expected_distances(clusters()).order
    assert sorted(order) == list(range(12))
    assert [len(set(order[k : k + 4] % 3)) for k in (0, 4, 8)] == [1, 1, 1]


def test_the_picture_has_the_names_in_its_order():
    ensemble = clusters()
    mean, order = expected_distances(ensemble)
    ax = plot_distances(ensemble, ax=Figure().subplots())
    assert [label.get_text() for label in ax.get_yticklabels()] == [
        ensemble.names[i] for i in order
    ]
    np.testing.assert_allclose(ax.images[0].get_array(), mean[np.ix_(order, order)])


def test_of_many_objects_no_names_are_written():
    ax = plot_distances(clusters(MOST_NAMES + 1, size=3), ax=Figure().subplots())
    assert not ax.get_yticklabels()


def test_names_of_other_objects_are_refused():
    with pytest.raises(InputError, match="12 objects but 2 names"):
        plot_distances(clusters(), ["a", "b"], ax=Figure().subplots())
