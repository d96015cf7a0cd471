import math
from dataclasses import replace

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure

from tercet import InputError
from tercet.plots import plot_dimension
from tercet.plots.comparisons import measured_panels
from tercet.uses.dimension.evidence import NOTHING, DimensionEstimate, DimensionRow, Measured

TITLES = [
    "accuracy on held-out answers",
    "log-loss on held-out answers",
    "average uncertainty",
    "training loss",
]


def row(d, **more):
    values = {
        "training_loss": Measured(0.6 - 0.1 * d, 0.01),
        "accuracy": Measured(0.6 + 0.1 * d, 0.02),
        "log_loss": Measured(0.7 - 0.1 * d, 0.03),
        "p_value": math.nan if d == 1 else 0.01,
        "left_out": Measured(0.65 - 0.1 * d, 0.04),
        "gain": NOTHING if d == 1 else Measured(5.0, 1.0),
        "bootstrap": Measured(0.2 + 0.01 * d, 0.005),
        "posterior": Measured(0.1 + 0.01 * d, 0.002),
        "r_hat": 1.0,
        "k_hat": 0.0,
    }
    return DimensionRow(dimension=d, **(values | more))


def estimate(dimension=2, **more):
    rows = tuple(row(d, **more) for d in (1, 2, 4))
    return DimensionEstimate(dimension, "decided", "Because.", rows, "comparison", 100)


@pytest.fixture
def axes():
    return Figure(figsize=(12, 3)).subplots(1, 4)


def test_every_panel_shows_what_was_measured(axes):
    drawn = plot_dimension(estimate(), axes=axes)
    assert drawn == list(axes)
    assert [ax.get_title() for ax in drawn] == TITLES
    assert {ax.get_xlabel() for ax in drawn} == {"dimension"}
    for ax in drawn:
        np.testing.assert_array_equal(ax.get_xticks(), [1, 2, 4])
    line, _, (bars,) = drawn[0].containers[0]
    np.testing.assert_array_equal(line.get_xdata(), [1, 2, 4])
    np.testing.assert_allclose(line.get_ydata(orig=False), [0.7, 0.8, 1.0])
    np.testing.assert_allclose(bars.get_segments()[0].astype(float), [[1, 0.68], [1, 0.72]])


def test_two_kinds_of_a_measure_share_a_panel(axes):
    plot_dimension(estimate(), axes=axes)
    names = [[text.get_text() for text in ax.get_legend().get_texts()] for ax in axes[1:3]]
    assert names == [["cross-validation", "leave-one-out"], ["bootstrap", "posterior"]]
    assert axes[0].get_legend() is None
    assert axes[3].get_legend() is None


def marks(ax):
    return [line for line in ax.lines if line.get_gid() == "tercet recommended dimension"]


def test_the_recommendation_is_marked_in_every_panel(axes):
    for ax in plot_dimension(estimate(4), axes=axes):
        (mark,) = marks(ax)
        np.testing.assert_array_equal(mark.get_xdata(), [4, 4])


def test_without_a_recommendation_nothing_is_marked(axes):
    unsure = replace(estimate(), dimension=None, verdict="cannot tell")
    assert not any(marks(ax) for ax in plot_dimension(unsure, axes=axes))


def test_panels_with_nothing_to_show_are_left_out():
    quick = estimate(training_loss=NOTHING, bootstrap=NOTHING, posterior=NOTHING)
    assert [title for title, _ in measured_panels(quick)] == TITLES[:2]
    assert len(plot_dimension(quick, axes=Figure().subplots(1, 2))) == 2
    no_bootstrap = estimate(bootstrap=NOTHING)
    assert [[c.name for c in curves] for _, curves in measured_panels(no_bootstrap)][2] == [
        "posterior"
    ]


def test_dimensions_that_were_not_measured_are_left_out():
    some = replace(estimate(), rows=(row(1), row(2), row(3, left_out=NOTHING)))
    panels = dict(measured_panels(some))
    log_loss = {curve.name: curve.dimensions for curve in panels["log-loss on held-out answers"]}
    assert log_loss == {"cross-validation": [1, 2, 3], "leave-one-out": [1, 2]}


def test_a_wrong_number_of_axes_is_named():
    with pytest.raises(InputError, match=r"4 panels to draw, accuracy .* got 2"):
        plot_dimension(estimate(), axes=Figure().subplots(1, 2))


def test_a_new_figure_has_them_side_by_side():
    pyplot.switch_backend("Agg")
    try:
        drawn = plot_dimension(estimate())
        (figure,) = {ax.get_figure() for ax in drawn}
        assert figure.axes == drawn
        assert drawn[0].get_shared_x_axes().joined(drawn[0], drawn[3])
        figure.canvas.draw()
    finally:
        pyplot.close("all")


def test_points_from_chains_that_disagree_are_hollow(axes):
    rows = tuple(each._replace(agrees=each.dimension != 2) for each in estimate().rows)
    drawn = plot_dimension(replace(estimate(), rows=rows), axes=axes)
    hollow = [
        [line for line in ax.lines if line.get_gid() == "tercet chains that disagree"]
        for ax in drawn
    ]
    assert [len(each) for each in hollow] == [0, 1, 1, 0]  # the others need no chains
    np.testing.assert_allclose(hollow[1][0].get_xydata(), [[2, 0.45]])
    assert hollow[1][0].get_markerfacecolor() == "white"
