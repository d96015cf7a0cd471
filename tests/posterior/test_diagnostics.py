"""Diagnostics: chains that disagree are caught, and what is wrong is said in plain words."""

import json
from pathlib import Path

import numpy as np
import pytest
from arviz_stats.base import array_stats

from tercet.engine.constants import WATCHED_PAIRS
from tercet.posterior.diagnostics import (
    Diagnostics,
    diagnose_chains,
    distances_to_watch,
    recorded_diagnostics,
)

CHAINS, DRAWS = 4, 500


def noise(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal((CHAINS, DRAWS, *shape))


def slow(rho):
    """Autocorrelated chains."""
    x, out = noise(), np.empty((CHAINS, DRAWS))
    state = np.zeros(CHAINS)
    for t in range(DRAWS):
        state = rho * state + np.sqrt(1 - rho**2) * x[:, t]
        out[:, t] = state
    return out


def test_chains_that_agree_have_no_problems():
    found = diagnose_chains({"the size of the map": noise(), "distances": noise(20, seed=1)})
    assert found.problems == []
    assert 0.99 < found.r_hat < 1.02
    assert min(found.ess_bulk, found.ess_tail) > 1000
    assert (found.n_chains, found.n_samples, found.divergences) == (CHAINS, DRAWS, 0)


def test_one_chain_elsewhere_is_caught_and_named():
    away = noise(20, seed=1)
    away[2, :, 7] += 3.0
    found = diagnose_chains({"the size of the map": noise(), "distances": away})
    assert found.worst == "distances"
    assert found.r_hat > 1.3
    assert found.problems[0].startswith("the 4 chains disagree about distances (R-hat 1.")


def test_a_chain_that_is_wider_is_caught():
    """Equal means are not enough."""
    wide = noise()
    wide[0] *= 8.0
    found = diagnose_chains({"the lapse": wide})
    assert found.r_hat > 1.1
    assert "the lapse" in found.problems[0]


def test_a_drift_is_caught_in_a_single_chain():
    drift = (noise() + np.linspace(0.0, 6.0, DRAWS))[:1]
    found = diagnose_chains({"distances": drift})
    assert "the first and the second half of the chain disagree" in found.problems[0]
    assert "effective sample size of the 500 draws is only" in found.problems[1]


def test_slow_chains_are_worth_few_draws():
    found = diagnose_chains({"the log-posterior": slow(0.99)})
    assert found.ess_bulk < 200
    assert any(
        "effective sample size of the 2000 draws is only" in problem
        and "should be 200 or more" in problem
        for problem in found.problems
    )


def test_draws_that_went_astray_are_counted():
    quantities = {"distances": noise()}
    assert diagnose_chains(quantities, 20).problems == []  # one in a hundred
    assert diagnose_chains(quantities, 21).problems == ["21 divergent transitions"]


@pytest.mark.parametrize("chains", [1, CHAINS])
def test_what_is_not_a_number_is_a_problem(chains):
    broken = noise()[:chains]
    broken[0, 3] = np.nan
    found = diagnose_chains({"distances": noise()[:chains], "the log-posterior": broken})
    assert found.problems


def test_the_record_is_plain():
    found = Diagnostics(float("nan"), 10.0, 12.0, "distances", 3, 2, 100).describe()
    assert json.loads(json.dumps(found)) == {
        "r_hat": None,
        "ess_bulk": 10.0,
        "ess_tail": 12.0,
        "worst": "distances",
        "divergences": 3,
        "n_chains": 2,
        "n_samples": 100,
        "superchains": 0,
        "modes": 0,
        "dropped": 0,
        "deficit": None,
    }


# ---- many short chains


def many(drift=0.0, apart=0.0, spread=0.0, chains=330):
    """Short chains of 16 starts, on their way, of two kinds, or one start wider than the others."""
    values = np.random.default_rng(0).standard_normal((chains, 20))
    for t in range(1, 20):
        values[:, t] = 0.6 * values[:, t - 1] + 0.8 * values[:, t]
    start = np.arange(chains) % 16
    values[start == 5] *= 1.0 + spread
    return values + drift * np.linspace(0.0, 1.0, 20) + apart * (start < 8)[:, None]


def test_many_short_chains_that_agree_have_no_problems():
    found = diagnose_chains({"the size of the map": many()}, superchains=16)
    assert found.problems == []
    assert found.superchains == 16
    assert found.r_hat < 1.01
    short = diagnose_chains({"the size of the map": many()})
    assert "disagree" in short.problems[0]  # by the R-hat of long ones


@pytest.mark.parametrize("wrong", [{"drift": 0.8}, {"apart": 0.5}, {"spread": 2.0}], ids=str)
def test_many_short_chains_that_are_not_there_yet_are_caught(wrong):
    found = diagnose_chains({"the size of the map": many(), "distances": many(**wrong)}, 0, 16)
    assert found.worst == "distances"
    assert found.problems[0].startswith("the 330 chains disagree about distances (nested R-hat 1.")


@pytest.mark.parametrize("draws", [4, 7, 20])
def test_nested_r_hat_is_that_of_arviz(draws):
    """With ties, as of proposals that were not accepted, and no number where a draw is none."""
    values = np.round(many(apart=0.1, spread=1.0), 1)[:320, -draws:]
    axes = {"chain_axis": 0, "draw_axis": 1}
    expected = array_stats.rhat_nested(values, np.arange(320) % 16, **axes)
    if draws >= 8:
        halves = np.concatenate([values[:, : draws // 2], values[:, draws // 2 :]])
        other = array_stats.rhat_nested(halves, np.repeat([0, 1], 320), **axes)
        expected = max(expected, other)
    assert diagnose_chains({"distances": values}, superchains=16).r_hat == expected
    values[3, 1] = np.nan
    assert np.isnan(diagnose_chains({"distances": values}, superchains=16).r_hat)


def test_chains_without_number_are_not_asked_for_50_draws_each():
    table = np.random.default_rng(0).standard_normal((100, 6))
    assert diagnose_chains({"distances": table}, superchains=10).problems == []
    few = diagnose_chains({"distances": table[:20]}, superchains=10)
    assert [problem for problem in few.problems if "should be 400 or more" in problem]


# ---- the distances that are looked at


def test_all_distances_of_few_objects():
    points = np.random.default_rng(0).standard_normal((3, 5, 2))
    found = distances_to_watch(points, "points")
    i, j = np.triu_indices(5, 1)
    np.testing.assert_allclose(found, np.linalg.norm(points[:, i] - points[:, j], axis=2))
    matrices = np.linalg.norm(points[:, :, None] - points[:, None], axis=3)
    np.testing.assert_allclose(distances_to_watch(matrices, "distances"), found)


def test_a_fixed_choice_of_the_distances_of_many():
    points = np.random.default_rng(0).standard_normal((3, 40, 2))
    found = distances_to_watch(points, "points")
    assert found.shape == (3, WATCHED_PAIRS)
    np.testing.assert_array_equal(found, distances_to_watch(points, "points"))
    assert len(np.unique(found[0])) == WATCHED_PAIRS


def test_whether_chains_agree_is_another_question_than_how_much_they_are_worth():
    few = diagnose_chains({"the log-posterior": slow(0.9)[:, :60]})
    assert few.problems
    assert Diagnostics(1.04, 68.0, 70.0, "distances", 0, 4, 1000).agree
    assert not Diagnostics(2.9, 900.0, 900.0, "distances", 0, 4, 1000).agree
    assert not Diagnostics(np.nan, 900.0, 900.0, "distances", 0, 4, 1000).agree
    assert not Diagnostics(np.nan, 900.0, 900.0, "distances", 0, 1, 1000).agree
    assert Diagnostics(np.nan, np.nan, np.nan, "distances", 0, 1, 3).agree  # cannot be judged
    assert Diagnostics(1.08, 900.0, 900.0, "distances", 0, 2, 1000).agree
    assert not Diagnostics(1.08, 900.0, 900.0, "distances", 0, 4, 1000).agree
    assert not Diagnostics(1.03, 900.0, 900.0, "distances", 0, 100, 50, 10).agree


def test_the_record_of_a_map_knows_how_its_chains_did():
    found = Diagnostics(2.9, 6.0, np.nan, "distances", 3, 4, 1000)
    record = {"diagnostics": json.loads(json.dumps(found.describe()))}
    again = recorded_diagnostics(record)
    assert again.problems == found.problems
    for damaged in (
        {},
        {"diagnostics": None},
        {"diagnostics": "all right"},
        {"diagnostics": {"r_hat": 1.0}},
        {"diagnostics": {**found.describe(), "n_chains": "4"}},
    ):
        assert recorded_diagnostics(damaged) is None


def test_the_page_says_how_many_distances_are_looked_at():
    page = Path(__file__).parents[2] / "docs" / "posterior.md"
    assert f"distances of up to {WATCHED_PAIRS} pairs" in " ".join(page.read_text("utf-8").split())


def test_a_million_objects_can_be_watched():
    assert distances_to_watch(np.zeros((2, 10**6, 1)), "points").shape == (2, WATCHED_PAIRS)
