"""Runs that are killed with SIGKILL at random moments, five times each, end with the same bits."""

import os

import pytest
from studies import kills
from studies.killing import KINDS

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork processes")


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_run_goes_on_to_the_same_bits(kind):
    found = kills.measure(kind, kills=5, seed=0)
    assert found["kills"] == 5
    assert found["within"] > 0  # some fell into commits
    assert found["runs"] >= 1
    assert found["same"] == found["runs"]
