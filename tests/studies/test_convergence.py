"""Convergence of several fits, and by which limits chains are counted."""

import numpy as np
import pytest
from studies.convergence import ENOUGH, POOLED, converged, pool, smallest
from studies.methods import is_suspect

NAMES = ["the log-posterior", "distance 0"]
GOOD = {
    "r_hat": 1.01,
    "ess_bulk": 500.0,
    "ess_tail": 450.0,
    "n_chains": 4,
    "n_samples": 1000,
    "divergences": 0,
}


def fit(seed, shift=0.0, draws=200, **about):
    """Independent normal draws of four chains; those of the second quantity are shifted."""
    values = np.random.default_rng(seed).standard_normal((2, 4, draws))
    values[1] += shift
    return {"names": NAMES, "draws": values.tolist(), "about": GOOD | about}


def test_seeds_that_agree():
    group = [fit(seed) for seed in range(5)]
    assert pool(group).r_hat < 1.01
    assert converged(group, pool(group))


def test_a_seed_in_another_mode_is_found_though_its_own_chains_agree():
    group = [fit(seed, shift=2.0 * (seed == 4)) for seed in range(5)]
    found = pool(group)
    assert found.worst == "distance 0"
    assert found.r_hat > POOLED
    assert pool(group[4:]).r_hat < 1.02
    assert not converged(group, found)


def test_chains_of_different_lengths_are_compared_over_the_shorter():
    assert pool([fit(0), fit(1, draws=100)]).r_hat < 1.05


def test_draws_that_are_no_numbers_are_the_worst():
    broken = fit(1)
    broken["draws"][0][0][0] = float("nan")
    found = pool([fit(0), broken])
    assert np.isnan(found.r_hat)
    assert found.worst == "the log-posterior"
    assert not converged([fit(0), broken], found)


def test_every_seed_needs_enough_draws():
    group = [fit(0), fit(1, ess_tail=ENOUGH - 1.0)]
    assert smallest(group[1]) == ENOUGH - 1.0
    assert not converged(group, pool(group))


def test_a_seed_that_failed_does_not_converge():
    assert not converged([fit(0), {"failed": "no memory"}], pool([fit(0)]))


def test_the_limits_of_the_pages():
    assert not is_suspect(GOOD)
    assert not is_suspect(GOOD | {"ess_bulk": 200.0, "divergences": 40})


@pytest.mark.parametrize(
    "trouble",
    [
        {"r_hat": 1.05},
        {"r_hat": None},
        {"ess_bulk": 199.0},
        {"ess_tail": None},
        {"divergences": 41},
        {"n_chains": 16, "ess_tail": 399.0},
    ],
)
def test_what_is_counted_as_not_converged(trouble):
    assert is_suspect(GOOD | trouble)
