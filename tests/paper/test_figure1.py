"""The illustration of a perception function: what its caption says is true of the curve."""

import numpy as np
import pytest

from tercet.paper.experiments import measurements_of
from tercet.paper.figure1 import FIGURE, perceived, stimulus, trace
from tercet.paper.settings import FULL, TINY


def test_the_caption_is_true():
    """Figure 1's caption: differences of 0.1 and 0.2, and S_10 perceived closer to stimulus 1."""
    fifth, tenth = stimulus(5), stimulus(10)
    assert abs(fifth - 0.5) == pytest.approx(0.1)
    assert abs(perceived(fifth) - perceived(0.5)) == pytest.approx(0.2)
    assert perceived(0.5) == pytest.approx(0.5)
    assert 1.0 - perceived(tenth) < 0.5 * (1.0 - tenth)


def test_perception_rises_from_0_to_1_and_is_not_linear():
    x = np.linspace(0.0, 1.0, 51)
    y = perceived(x)
    assert y[0] == 0.0
    assert y[-1] == 1.0
    assert (np.diff(y) > 0.0).all()
    assert np.abs(y - x).max() > 0.1


def test_the_curve_is_in_the_table_and_in_the_picture():
    assert FIGURE.cells(TINY) == FIGURE.cells(FULL)
    (cell,) = FIGURE.cells(FULL)
    table = measurements_of([trace(**cell.settings) | {"settings": cell.settings}])
    x = [row["stimulus"] for row in table.rows]
    np.testing.assert_allclose([row["perception"] for row in table.rows], perceived(x))
    pictures = FIGURE.draw(table)
    assert list(pictures) == ["figure_1"]
    (ax,) = pictures["figure_1"].axes
    np.testing.assert_allclose(ax.lines[0].get_xydata()[:, 0], x)
    ticks = dict(zip([t.get_text() for t in ax.get_xticklabels()], ax.get_xticks(), strict=True))
    heights = dict(zip([t.get_text() for t in ax.get_yticklabels()], ax.get_yticks(), strict=True))
    assert ticks["$S_5$"] == pytest.approx(0.4)
    assert heights[r"$\Psi_5$"] == pytest.approx(0.3)
    assert heights[r"$\Psi_{10}$"] == pytest.approx(float(perceived(ticks["$S_{10}$"])))
    assert {text.get_text() for text in ax.texts} >= {"0.1", "0.2"}
