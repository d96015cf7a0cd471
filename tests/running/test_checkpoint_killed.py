"""Runs that are killed with SIGKILL at random moments, five times each, end with the same bits."""

import os

import pytest

from studies import kills

there = hasattr(os, "fork") and hasattr(os, "waitid")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not there, reason="not on this system")]


@pytest.mark.parametrize("kind", ["bootstrap", "Hamiltonian chains", "elliptical slices"])
def test_a_killed_run_goes_on_to_the_same_bits(kind):
    found = kills.measure(kind, kills=5, seed=0)
    assert found["kills"] == 5
    assert found["within"] > 0  # one at least was aimed at a commit
    assert found["runs"] >= 1
    assert found["same"] == found["runs"]
