"""`estimate_dimension` finds what is there, says when nothing is, and its t-test keeps its level.

Worlds are drawn from the STE model. A test of level .05 that rejects in more than 6 of 40 worlds
without an effect would do so three times in a thousand.
"""

import numpy as np
import pytest
from scipy import stats
from tests.worlds import ste_answers

import tercet as tc
from tercet.uses.dimension.evidence import corrected_t_test, cross_validate_embedding, make_splits

pytestmark = pytest.mark.slow

LEVEL, WORLDS, ALLOWED = 0.05, 40, 6
CHEAP = {
    "posterior": tc.Posterior(tc.STE(), n_samples=100, n_chains=2, warmup=150),
    "folds": 5,
    "repeats": 2,
    "thorough": False,
    "random_state": 0,
    "n_jobs": 1,
}


def world(d, m, size, seed, n=15):
    """Answers about points whose spread is the signal; with size 0 they are coin tosses."""
    return ste_answers(n, m, d, size=size, seed=[seed, d])


def test_plenty_of_answers_tell_the_dimension():
    # With so few draws about four of five are right; a guess would be right in one of four.
    over = [
        tc.estimate_dimension(world(d, 500, 2.0, seed), range(1, d + 3), **CHEAP).dimension - d
        for d in (1, 2, 3)
        for seed in range(3)
    ]
    assert set(over) <= {0, 1}  # never too low
    assert over.count(0) >= 5


def test_coins_tell_nothing():
    # Predictions beat a coin by two standard errors in 2 % of such worlds.
    found = [
        tc.estimate_dimension(world(2, 400, 0.0, seed), range(1, 4), **CHEAP) for seed in range(5)
    ]
    told = [each for each in found if each.verdict != "cannot tell"]
    assert len(told) <= 1
    assert sum(each.dimension is None for each in found) >= 4


def differences(truth, d, m, size, worlds=WORLDS):
    """Accuracy in d + 1 dimensions less that in d on every split, (100,), of every world."""
    for seed in range(worlds):
        T = world(truth, m, size, seed)
        splits = make_splits(np.arange(m), 10, 10, seed)
        lower, higher = (
            cross_validate_embedding(
                tc.STE(k, penalty=0.25, n_init=1), T, splits, 1, lambda n: None
            )
            for k in (d, d + 1)
        )
        yield higher.accuracy - lower.accuracy


def naive_t_test(difference):
    """As if a hundred splits of the same answers were a hundred sets of answers."""
    return stats.ttest_1samp(difference, 0.0, alternative="greater").pvalue


@pytest.fixture(scope="module")
def coins():
    """Answers that no dimension predicts: all have the same accuracy, one half."""
    return list(differences(1, 1, 200, 0.0))


def test_the_corrected_test_keeps_its_level(coins):
    assert sum(corrected_t_test(each, 10) < LEVEL for each in coins) <= ALLOWED


def test_the_corrected_test_keeps_its_level_at_the_true_dimension():
    worlds = differences(2, 2, 300, 0.5)
    assert sum(corrected_t_test(each, 10) < LEVEL for each in worlds) <= ALLOWED


def test_the_naive_test_does_not(coins):
    """Negative control."""
    assert sum(naive_t_test(each) < LEVEL for each in coins) > ALLOWED


def test_nor_does_the_one_that_takes_splits_for_folds(coins):
    """Negative control: K = 100 instead of 10, as a released implementation has it."""
    assert sum(corrected_t_test(each, 100) < LEVEL for each in coins) > ALLOWED


def test_the_corrected_test_sees_a_dimension_that_is_missing():
    worlds = differences(2, 1, 800, 3.0, worlds=5)
    assert sum(corrected_t_test(each, 10) < LEVEL for each in worlds) >= 4
