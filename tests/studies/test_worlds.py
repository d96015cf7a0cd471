"""Simulated worlds, and what is counted in them."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from studies.recommended import coverage
from studies.worlds import NOISES, answers_with

from tercet.metrics import squared_distances


@pytest.mark.slow
def test_answers_are_right_about_equally_often():
    points = np.random.default_rng(0).standard_normal((30, 2))
    right = []
    for noise in NOISES:
        triplets = answers_with(noise, points, 4000, np.random.default_rng(1))
        near, far = squared_distances(points, triplets.array)
        right.append(np.mean(near < far))
    assert 0.8 < min(right) <= max(right) < 0.9  # standard error .006
    assert np.ptp(right) < 0.04


def test_coverage_does_not_depend_on_the_size_of_a_map():
    rng = np.random.default_rng(0)
    truth = pdist(rng.standard_normal((10, 2)))
    drawn = truth + 0.01 * rng.standard_normal((500, len(truth)))
    assert coverage(drawn, truth)["inside"] == 1.0
    assert coverage(7.0 * drawn, truth) == pytest.approx(coverage(drawn, truth))
    assert coverage(drawn, truth[::-1])["inside"] < 0.2
