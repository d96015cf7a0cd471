import itertools
import sys

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from numpy.testing import assert_allclose
from scipy.spatial.distance import pdist

from tercet.ensemble import Ensemble
from tercet.errors import InputError, TercetError
from tercet.metrics import reliability_table
from tercet.plots import plot_map, plot_pairs, plot_reliability
from tercet.plots.maps import principal_axes


def dots(ax):
    """Where the objects are, (n, 2), in their order."""
    lines = {line.get_gid(): line for line in ax.lines}
    n = sum(gid.startswith("object-") for gid in lines)
    return np.array([lines[f"object-{i}"].get_xydata()[0] for i in range(n)])


def bars_of(ax):
    """The ends of the intervals, (n, 2, 2), in the order of the objects."""
    lines = {line.get_gid(): line for line in ax.lines}
    return np.array([lines[f"ellipse-{i}"].get_xydata()[[0, 2]] for i in range(len(lines) // 2)])


def test_points_are_drawn_where_they_are(ax):
    X = np.random.default_rng(0).normal(size=(10, 2))
    assert plot_map(X, ax=ax) is ax
    np.testing.assert_array_equal(dots(ax), X)


def test_one_dimension_is_a_line(ax):
    plot_map([[0.0], [1.0], [3.0]], ax=ax)
    np.testing.assert_array_equal(dots(ax), [[0, 0], [1, 0], [3, 0]])


def test_groups_have_their_colours(ax):
    plot_map(np.eye(3)[:, :2], groups=["b", "a", "b"], ax=ax)
    first, second, third = (line.get_color() for line in ax.lines)
    assert first == third
    assert first != second


@pytest.mark.parametrize("d", [3, 5])
def test_more_dimensions_are_turned_to_the_widest(d):
    rng = np.random.default_rng(0)
    widths = np.arange(1.0, d + 1)
    X = rng.normal(size=(40, d)) * widths @ np.linalg.qr(rng.normal(size=(d, d)))[0]
    turned = X @ principal_axes(X)
    assert_allclose(pdist(turned), pdist(X))
    variances = turned.var(axis=0)
    assert (np.diff(variances) < 0).all()
    assert_allclose(np.corrcoef(turned.T), np.eye(d), atol=1e-9)
    centred = turned - turned.mean(axis=0)
    assert (centred.max(axis=0) > -centred.min(axis=0)).all()
    first = plot_map(X, ax=Figure().subplots())
    np.testing.assert_array_equal(dots(first), turned[:, :2])
    assert (
        first.get_xlabel() == f"dimension 1 ({variances[0] / variances.sum():.0%} of the variance)"
    )
    other = plot_map(X, dimensions=(2, 1), ax=Figure().subplots())
    np.testing.assert_array_equal(dots(other), turned[:, [2, 1]])


@pytest.mark.parametrize("bad", [(0, 0), (0, 3), (0, -1), (0,), (0, 1, 2)])
def test_wrong_dimensions_are_said(ax, bad):
    with pytest.raises(InputError, match="two different numbers from 0 to 2"):
        plot_map(np.eye(3), dimensions=bad, ax=ax)


def test_wrong_shapes_are_said(ax):
    with pytest.raises(InputError, match="got shape"):
        plot_map([1.0, 2.0], ax=ax)
    with pytest.raises(InputError, match="3 points but 2 names"):
        plot_map(np.eye(3), ["a", "b"], ax=ax)


def test_without_matplotlib_the_cure_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(TercetError, match="pip install matplotlib"):
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
    np.testing.assert_array_equal(dots(ax), ensemble.point_mean())
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
    for patch, dot in zip(ax.patches, ax.lines, strict=True):
        assert patch.get_zorder() < dot.get_zorder()
        assert 0 < patch.get_facecolor()[3] < 0.5
        assert patch.get_facecolor()[:3] == to_rgb(dot.get_color())
        box = patch.get_path().transformed(patch.get_patch_transform()).get_extents()
        assert ax.get_xlim()[0] <= box.x0 <= box.x1 <= ax.get_xlim()[1]
        assert ax.get_ylim()[0] <= box.y0 <= box.y1 <= ax.get_ylim()[1]


def test_ellipses_of_more_dimensions_are_turned_with_the_points(ax):
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    centres = np.array([[10, 0, 0], [-5, 0, 0], [0, 4, 0], [-1, -4, 0], [0, 0, 1], [0, 0, -1.5]])
    noise = rng.normal(size=(4000, 6, 3)) * [0.1, 0.2, 0.4]
    plot_map(Ensemble((centres + noise) @ turn, alignment="none"), dimensions=(0, 2), ax=ax)
    signs = np.sign(dots(ax)[[0, 5]].diagonal()) * [1, -1]
    assert_allclose(dots(ax), centres[:, [0, 2]] * signs, atol=0.3)
    radius = np.sqrt(-2 * np.log(0.05))
    sizes = [(patch.height, patch.width) for patch in ax.patches]
    assert_allclose(sizes, np.tile([0.2 * radius, 0.8 * radius], (6, 1)), rtol=0.1)


def test_one_dimension_has_intervals_that_do_not_overlap(ax):
    rng = np.random.default_rng(2)
    draws = np.linspace(0, 3, 12)[:, None] + 0.3 * rng.normal(size=(500, 12, 1))
    ensemble = Ensemble(draws, alignment="none")
    plot_map(ensemble, ax=ax, level=0.9)
    np.testing.assert_array_equal(dots(ax)[:, 1], np.zeros(12))
    bars = bars_of(ax)
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


def test_named_intervals_have_a_row_each_with_the_name_at_the_end():
    ax = Figure(figsize=(6, 6)).subplots()
    rng = np.random.default_rng(2)
    order = rng.permutation(30)
    draws = np.linspace(0, 3, 30)[order][:, None] + 0.3 * rng.normal(size=(500, 30, 1))
    plot_map(Ensemble(draws, alignment="none", names=[f"name {i}" for i in range(30)]), ax=ax)
    bars = bars_of(ax)
    np.testing.assert_array_equal(np.argsort(-bars[:, 0, 1]), np.argsort(draws.mean(axis=0)[:, 0]))
    assert [text.get_text() for text in ax.texts] == [f"name {i}" for i in range(30)]
    for text, bar in zip(ax.texts, bars, strict=True):
        assert text.xy in (tuple(bar[0]), tuple(bar[1]))


def test_what_has_no_map_is_said(ax):
    with pytest.raises(InputError, match="distances, no points"):
        plot_map(Ensemble(np.ones((2, 3, 3)), kind="distances"), ax=ax)
    with pytest.raises(InputError, match="level must lie between 0 and 1"):
        plot_map(normal_ensemble(2), level=95, ax=ax)
    with pytest.raises(InputError, match="at least two draws"):
        plot_map(normal_ensemble(2, size=1), ax=ax)
    with pytest.raises(InputError, match="6 points but groups of shape"):
        plot_map(normal_ensemble(2), groups=[0, 1], ax=ax)


# --- pairs of dimensions ----------------------------------------------------------------------


def test_every_pair_of_dimensions_has_a_map_on_the_same_scale():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 4)) * [1, 2, 3, 4]
    axes = Figure().subplots(2, 3).ravel()
    drawn = plot_pairs(X, list("abcdefgh"), axes=axes)
    assert drawn == list(axes)
    turned = X @ principal_axes(X)
    pairs = [(0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3)]
    for ax, (x, y) in zip(drawn, pairs, strict=True):
        lines = {line.get_gid(): line for line in ax.lines}
        shown = [lines[f"object-{i}-{x}-{y}"].get_xydata()[0] for i in range(8)]
        np.testing.assert_array_equal(shown, turned[:, [x, y]])
        assert_allclose(np.ptp([ax.get_xlim(), ax.get_ylim()], axis=1), np.ptp(drawn[0].get_xlim()))
        assert {text.get_gid() for text in ax.texts} <= {f"name-{i}-{x}-{y}" for i in range(8)}
    assert sum(len(ax.texts) for ax in drawn) > 30


def test_pairs_hold_their_ellipses():
    ensemble = normal_ensemble(3)
    for ax in plot_pairs(ensemble, axes=Figure().subplots(1, 3)):
        assert len(ax.patches) == 6
        for patch in ax.patches:
            box = patch.get_path().transformed(patch.get_patch_transform()).get_extents()
            assert ax.get_xlim()[0] < box.x0 < box.x1 < ax.get_xlim()[1]
            assert ax.get_ylim()[0] < box.y0 < box.y1 < ax.get_ylim()[1]


def test_two_dimensions_are_one_pair(ax):
    assert plot_pairs(np.eye(4)[:, :2], axes=[ax]) == [ax]
    assert len(ax.lines) == 4


def test_what_has_no_pairs_is_said():
    with pytest.raises(InputError, match="plot_map draws it as a line"):
        plot_pairs(np.zeros((4, 1)))
    with pytest.raises(InputError, match="3 dimensions have 3 pairs; pass as many axes, got 2"):
        plot_pairs(np.eye(3), axes=Figure().subplots(1, 2))


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
