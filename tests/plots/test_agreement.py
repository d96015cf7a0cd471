"""Observers with their agreement, and plans with the answers they need."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from tercet.errors import InputError
from tercet.plots import plot_observers, plot_plan
from tercet.plots.agreement import rank_observers
from tercet.plots.axes import COLOURS


def marks(ax, marker):
    return next(line for line in ax.lines if line.get_marker() == marker)


# --- observers --------------------------------------------------------------------------------


def test_observers_are_sorted_and_flagged_ones_marked(ax):
    agreement = [0.7, 0.5, 0.9]
    low, high = np.array(agreement) - 0.1, np.array(agreement) + 0.05
    flagged = [False, True, False]
    assert plot_observers(["a", "b", "c"], agreement, low, high, flagged=flagged, ax=ax) is ax
    assert [label.get_text() for label in ax.get_yticklabels()] == ["c", "a", "b"]
    assert_allclose(marks(ax, "o").get_xydata(), [[0.9, 0], [0.7, 1]])
    assert_allclose(marks(ax, "D").get_xydata(), [[0.5, 2]])
    assert marks(ax, "D").get_color() == COLOURS[1]
    bars = [segment for bars in ax.collections for segment in bars.get_segments()]
    assert_allclose(bars, [[[0.8, 0], [0.95, 0]], [[0.6, 1], [0.75, 1]], [[0.4, 2], [0.55, 2]]])
    bottom, top = ax.get_ylim()
    assert bottom > top


def test_of_many_observers_the_flagged_are_named_in_the_legend(ax):
    agreement = np.linspace(0.6, 0.9, 100)
    flagged = np.arange(100) < 6
    names = [f"P${i}" for i in range(100)]
    plot_observers(names, agreement, flagged=flagged, typical=0.8, ax=ax)
    assert not ax.get_yticklabels()
    assert ax.get_ylabel() == "100 observers"
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts[-1] == r"flagged: 'P\$5', 'P\$4', 'P\$3', 'P\$2' and 2 more"
    ax.figure.draw_without_rendering()


def test_observers_may_be_numbers_and_unknown_agreement_is_left_out():
    found = rank_observers([3, 1, 2], [0.5, np.nan, 0.8])
    assert found.names == ["2", "3"]
    assert_allclose(found.agreement, [0.8, 0.5])
    assert not found.flagged.any()


def test_what_observers_cannot_be_drawn_is_said(ax):
    with pytest.raises(InputError, match=r"2 observers but flagged has the shape \(1,\)"):
        plot_observers(["a", "b"], [0.5, 0.6], flagged=[True], ax=ax)
    with pytest.raises(InputError, match="no observer whose agreement is known"):
        plot_observers(["a"], [np.nan], ax=ax)


# --- a plan -----------------------------------------------------------------------------------

ANSWERS, MEDIAN = np.array([100, 1000, 10000]), np.array([0.6, 0.8, 0.9])


def test_the_curve_its_band_the_target_and_what_is_needed_are_drawn(ax):
    found = plot_plan(
        ANSWERS,
        MEDIAN,
        MEDIAN - 0.1,
        MEDIAN + 0.05,
        target=0.85,
        needed=(3000, 2000, 5000),
        ylabel="accuracy",
        ax=ax,
    )
    assert found is ax
    curve, target, needed = ax.lines
    assert_allclose(curve.get_xydata(), np.column_stack([ANSWERS, MEDIAN]))
    assert target.get_ydata()[0] == 0.85
    assert needed.get_xdata()[0] == 3000
    assert needed.get_label() == "3 000 answers needed (2 000 to 5 000)"
    band = ax.collections[0].get_paths()[0].vertices
    assert band[:, 1].min() == pytest.approx(0.5)
    assert band[:, 1].max() == pytest.approx(0.95)
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_xscale()) == ("answers", "accuracy", "log")
    labels = [label.get_text() for label in ax.get_xticklabels()]
    assert {"100", "1 000", "10 000"} <= set(labels)


def test_a_plan_may_be_bare(ax):
    plot_plan(ANSWERS, MEDIAN, MEDIAN, MEDIAN, needed=2500, ax=ax)
    assert ax.lines[1].get_label() == "2 500 answers needed"
    bare = Figure().subplots()
    plot_plan(ANSWERS, MEDIAN, MEDIAN, MEDIAN, ax=bare)
    assert bare.get_legend() is None


def test_what_plan_cannot_be_drawn_is_said(ax):
    with pytest.raises(InputError, match=r"got shape \(2,\) for low"):
        plot_plan(ANSWERS, MEDIAN, [0.1, 0.2], MEDIAN, ax=ax)
    with pytest.raises(InputError, match="positive numbers, got 0"):
        plot_plan([0, 1, 2], MEDIAN, MEDIAN, MEDIAN, ax=ax)
    with pytest.raises(InputError, match=r"a number, or \(value, low, high\)"):
        plot_plan(ANSWERS, MEDIAN, MEDIAN, MEDIAN, needed=(1, 2), ax=ax)
