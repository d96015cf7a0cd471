import itertools
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from tercet.ensemble import Ensemble
from tercet.errors import InputError, TercetError
from tercet.metrics import reliability_table
from tercet.plots import plot_map, plot_reliability


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


# --- of an ensemble ---------------------------------------------------------------------------


def normal_ensemble(d, names=None, n=6, size=4000):
    """Points far apart, whose standard deviations are 0.1, 0.2, ... along the dimensions."""
    rng = np.random.default_rng(0)
    centres = 10.0 * np.arange(n)[:, None] * np.ones(d)
    widths = 0.1 * np.arange(1, d + 1)
    draws = centres + widths * rng.normal(size=(size, n, d))
    return Ensemble(draws, alignment="none", names=names)


def test_ellipses_are_those_of_the_ensemble(ax):
    ensemble = normal_ensemble(2)
    plot_map(ensemble, ax=ax, level=0.5)
    expected = ensemble.ellipses(0.5)
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), ensemble.point_mean())
    assert len(ax.patches) == 6
    for patch, centre, half, angle in zip(ax.patches, *expected, strict=True):
        np.testing.assert_allclose(patch.center, centre)
        np.testing.assert_allclose((patch.width, patch.height), 2 * half)
        assert patch.angle == pytest.approx(np.degrees(angle))


def test_an_ellipse_holds_its_share_of_the_draws(ax):
    rng = np.random.default_rng(1)
    mixing = np.array([[1.0, 0.7], [0.0, 0.5]])  # tilted, so that a wrong angle shows
    ensemble = Ensemble(rng.normal(size=(20000, 3, 2)) @ mixing, alignment="none")
    plot_map(ensemble, ax=ax, level=0.8)
    path = ax.patches[0].get_path().transformed(ax.patches[0].get_patch_transform())
    assert path.contains_points(ensemble.draws[:, 0]).mean() == pytest.approx(0.8, abs=0.015)


def test_ellipses_are_translucent_behind_the_points_and_within_the_axes(ax):
    plot_map(normal_ensemble(2), groups=[0, 1, 0, 1, 0, 1], ax=ax)
    points = ax.collections[0]
    for patch, colour in zip(ax.patches, points.get_facecolors(), strict=True):
        assert patch.get_zorder() < points.get_zorder()
        assert 0 < patch.get_facecolor()[3] < 0.5
        np.testing.assert_array_equal(patch.get_facecolor()[:3], colour[:3])
        box = patch.get_path().transformed(patch.get_patch_transform()).get_extents()
        assert ax.get_xlim()[0] <= box.x0 <= box.x1 <= ax.get_xlim()[1]
        assert ax.get_ylim()[0] <= box.y0 <= box.y1 <= ax.get_ylim()[1]


def test_more_dimensions_show_the_first_two(ax):
    ensemble = normal_ensemble(4)
    plot_map(ensemble, ax=ax)
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), ensemble.point_mean()[:, :2])
    radius = np.sqrt(-2 * np.log(0.05))
    size = sorted((ax.patches[0].width, ax.patches[0].height))
    np.testing.assert_allclose(size, [0.2 * radius, 0.4 * radius], rtol=0.05)


def test_one_dimension_has_intervals_that_do_not_overlap(ax):
    rng = np.random.default_rng(2)
    draws = np.linspace(0, 3, 12)[:, None] + 0.3 * rng.normal(size=(500, 12, 1))
    ensemble = Ensemble(draws, alignment="none")
    plot_map(ensemble, ax=ax, level=0.9)
    np.testing.assert_array_equal(ax.collections[-1].get_offsets()[:, 1], np.zeros(12))
    bars = np.array(ax.collections[0].get_segments())  # (12, 2, 2)
    np.testing.assert_allclose(bars[:, :, 0], ensemble.point_interval(0.9)[:, 0])
    assert (bars[:, :, 1] < 0).all()
    for a, b in itertools.combinations(bars, 2):
        apart = a[0, 1] != b[0, 1] or a[1, 0] < b[0, 0] or b[1, 0] < a[0, 0]
        assert apart


def test_names_come_from_the_ensemble_unless_given(ax):
    ensemble = normal_ensemble(2, names=list("abcdef"))
    plot_map(ensemble, ax=ax)
    assert [text.get_text() for text in ax.texts] == list("abcdef")
    given = Figure().subplots()
    plot_map(ensemble, list("uvwxyz"), ax=given)
    assert [text.get_text() for text in given.texts] == list("uvwxyz")
    nameless = Figure().subplots()
    plot_map(normal_ensemble(2), ax=nameless)
    assert not nameless.texts


def test_names_beside_ellipses_do_not_overlap(ax):
    rng = np.random.default_rng(1)
    draws = rng.normal(size=(30, 2)) + 0.3 * rng.normal(size=(50, 30, 2))
    plot_map(Ensemble(draws, alignment="none", names=[f"object {i}" for i in range(30)]), ax=ax)
    boxes = [Text.get_window_extent(text) for text in ax.texts]
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


def test_what_has_no_map_is_said(ax):
    with pytest.raises(InputError, match="distances, no points"):
        plot_map(Ensemble(np.ones((2, 3, 3)), kind="distances"), ax=ax)
    with pytest.raises(InputError, match="level must lie between 0 and 1"):
        plot_map(normal_ensemble(2), level=95, ax=ax)
    with pytest.raises(InputError, match="at least two draws"):
        plot_map(normal_ensemble(2, size=1), ax=ax)
    with pytest.raises(InputError, match="6 points but groups of shape"):
        plot_map(normal_ensemble(2), groups=[0, 1], ax=ax)


# --- the reliability diagram ------------------------------------------------------------------


def test_reliability_is_that_of_the_table(ax):
    rng = np.random.default_rng(0)
    p = rng.uniform(size=2000)
    truth = rng.uniform(size=2000) < p
    assert plot_reliability(p, truth, ax=ax, bins=5) is ax
    table = reliability_table(p, truth, bins=5)
    shown = ax.collections[0].get_offsets()
    np.testing.assert_allclose(shown, np.column_stack([table.confidence, table.accuracy]))
    areas = ax.collections[0].get_sizes()
    np.testing.assert_allclose(areas / areas[0], table.count / table.count[0])


def test_empty_bins_are_left_out(ax):
    plot_reliability([0.55, 0.99, 0.01], ax=ax)  # all rows true
    np.testing.assert_allclose(ax.collections[0].get_offsets(), [[0.55, 1.0], [0.99, 0.5]])


def test_several_lines_share_one_diagonal_and_have_a_legend(ax):
    for label in ("vote", "paper"):
        plot_reliability([0.6, 0.8, 0.9], label=label, ax=ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["vote", "paper"]
    diagonals = [line for line in ax.lines if np.array_equal(*line.get_data())]
    assert len(diagonals) == 1
    colours = [dots.get_facecolors()[0].tolist() for dots in ax.collections]
    assert colours[0] != colours[1]


def test_reliability_needs_probabilities(ax):
    with pytest.raises(InputError, match="must lie in"):
        plot_reliability([1.2], ax=ax)
