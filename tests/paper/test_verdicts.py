import numpy as np
import pytest
from scipy import stats

from tercet.paper.experiments import Curve, Measurements
from tercet.paper.verdicts import (
    FAILS,
    HOLDS,
    NOT_RUN,
    UNDECIDED,
    Check,
    Claim,
    between,
    falls,
    judge_claims,
    rank_correlation,
    rises,
    weigh,
)

FIVE = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
REACH = stats.t.ppf(0.95, 4) * np.std(FIVE, ddof=1) / np.sqrt(5)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-REACH - 0.01, np.inf, HOLDS),
        (-REACH + 0.01, np.inf, UNDECIDED),
        (REACH - 0.01, np.inf, UNDECIDED),
        (REACH + 0.01, np.inf, FAILS),
        (-np.inf, REACH + 0.01, HOLDS),
        (-np.inf, -REACH - 0.01, FAILS),
        (-REACH - 0.01, REACH + 0.01, HOLDS),
        (-REACH + 0.01, REACH + 0.01, UNDECIDED),
    ],
)
def test_the_bounds_decide(low, high, verdict):
    assert Check("", FIVE, low, high).verdict == verdict


def test_mean_and_standard_error():
    check = Check("", FIVE + 3.0)
    assert check.mean == 3.0
    assert check.error == pytest.approx(stats.sem(FIVE))


def test_one_repeat_decides_nothing():
    assert Check("", np.array([5.0]), low=0.0).verdict == UNDECIDED
    assert Check("", np.array([5.0, np.nan]), low=0.0).verdict == UNDECIDED


def test_values_that_agree_decide_at_once():
    assert Check("", np.full(5, 0.2), low=0.1).verdict == HOLDS
    assert Check("", np.zeros(5), low=0.1).verdict == FAILS
    assert Check("", np.zeros(5), low=0.0).verdict == UNDECIDED  # nothing rises


def test_a_claim_holds_if_all_its_checks_do():
    good, open_, bad = (Check("", FIVE, low=low) for low in (-9.0, 0.0, 9.0))
    assert weigh([good, good]) == HOLDS
    assert weigh([good, open_]) == UNDECIDED
    assert weigh([good, open_, bad]) == FAILS


def test_one_of_many_checks_needs_more_to_make_a_claim_fail():
    bad = Check("", FIVE, low=REACH + 0.01)
    good = Check("", FIVE, low=-9.0)
    assert bad.verdict == FAILS
    assert weigh([bad]) == FAILS
    assert weigh([bad, *[good] * 9]) == UNDECIDED


def test_rank_correlation_is_spearmans():
    rng = np.random.default_rng(0)
    for _ in range(20):
        a, b = rng.integers(5, size=8), rng.normal(size=8)
        expected = stats.spearmanr(a, b).statistic
        assert rank_correlation(a, b) == pytest.approx(expected)
    assert rank_correlation([1, 2, 3], [1, 1, 1]) == 0.0


def test_rising_and_falling():
    x = np.arange(6.0)
    up = Curve(x, np.stack([x, x**2]))
    flat = Curve(x, np.tile([1.0, -1.0], (2, 3)))
    assert rises("", up).verdict == HOLDS
    assert falls("", up).verdict == FAILS
    assert rises("", flat).verdict == FAILS
    assert between("", up, Curve(x, -up.values)).verdict == FAILS


def test_a_claim_without_its_numbers_was_not_run():
    claim = Claim("X", ("1", "2"), "", lambda t: [t["1"].curve("x", "y") and Check("", FIVE + 9)])
    full = Measurements([{"repeat": r, "x": 0, "y": 1.0} for r in (0, 1)])
    assert judge_claims([claim], {"1": full})[0].verdict == NOT_RUN
    assert judge_claims([claim], {"1": Measurements(), "2": full})[0].verdict == NOT_RUN
    holes = Measurements([{"repeat": 0, "x": 0}])
    assert judge_claims([claim], {"1": holes, "2": full})[0].verdict == NOT_RUN
    assert judge_claims([claim], {"1": full, "2": full})[0].verdict == HOLDS
