import itertools
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from tercet.errors import InputError, TercetError
from tercet.plots import plot_map


@pytest.fixture
def ax():
    return Figure(figsize=(5, 5)).subplots()


def test_points_are_drawn_where_they_are(ax):
    X = np.random.default_rng(0).normal(size=(10, 3))
    assert plot_map(X, ax=ax) is ax
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), X[:, :2])


def test_one_dimension_is_a_line(ax):
    plot_map([[0.0], [1.0], [3.0]], ax=ax)
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), [[0, 0], [1, 0], [3, 0]])


def test_all_names_are_written_and_do_not_overlap(ax):
    rng = np.random.default_rng(1)
    names = [f"object {i}" for i in range(40)]
    plot_map(rng.normal(size=(40, 2)), names, ax=ax)
    assert [text.get_text() for text in ax.texts] == names
    boxes = [Text.get_window_extent(text) for text in ax.texts]
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


def test_names_in_one_place_are_still_all_written(ax):
    names = [f"name {i}" for i in range(60)]
    plot_map(np.zeros((60, 2)), names, ax=ax)
    assert [text.get_text() for text in ax.texts] == names


def test_a_dollar_sign_is_not_a_formula(ax):
    plot_map([[0.0, 0.0], [1.0, 1.0]], ["$5", r"$\frac$"], ax=ax)
    ax.figure.draw_without_rendering()


def test_groups_have_their_colours(ax):
    plot_map(np.eye(3), groups=["b", "a", "b"], ax=ax)
    first, second, third = ax.collections[0].get_facecolors()
    assert (first == third).all()
    assert (first != second).any()


def test_wrong_shapes_are_said(ax):
    with pytest.raises(InputError, match="got shape"):
        plot_map([1.0, 2.0], ax=ax)
    with pytest.raises(InputError, match="3 points but 2 names"):
        plot_map(np.eye(3), ["a", "b"], ax=ax)


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(TercetError, match=r"tercet\[plots\]"):
        plot_map(np.eye(2))
