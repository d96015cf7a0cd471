"""The numbers are what they were: losses, distances, probabilities, dimension and scale.

`tests/contract/reference.py` has the tolerances, with what they were measured by.
"""

import numpy as np
import pytest
from tests.contract.reference import CASES, RENEW, compute, mismatches, stored_values, tolerance

from tercet import NormalPrior

STORED = stored_values()
INSIDE, OUTSIDE = 0.5, 3.0  # of the tolerance


def moved(case, key, share):
    """Stored values of a case with one of them moved by a share of its tolerance."""
    values = np.array(STORED[case][key])
    first = np.flatnonzero(~np.isnan(values))[:1]
    values[first] += share * tolerance(case, key, values)[first]
    return STORED[case] | {key: values.tolist()}


@pytest.mark.parametrize("case", CASES)
def test_the_numbers_are_what_they_were(case):
    wrong = mismatches(case, compute(case), STORED[case])
    assert not wrong, "\n".join([*wrong, f"If that is meant, run '{RENEW}' and commit the reason."])


@pytest.mark.parametrize("case", CASES)
def test_a_wrong_number_is_noticed(case):
    """Negative control: each kind of number counts."""
    for key in STORED[case]:
        assert mismatches(case, moved(case, key, OUTSIDE), STORED[case])
        assert not mismatches(case, moved(case, key, INSIDE), STORED[case])
    assert mismatches(case, {}, STORED[case])


@pytest.mark.parametrize(
    ("case", "change"),
    [
        *((f"fit, {name}", {"penalty": 0.0505}) for name in ("STE", "TSTE", "CKL", "SOE")),
        ("fit, GNMDS", {"C": 1.01}),
        *((f"bootstrap, {name}", {"random_state": 9}) for name in ("STE", "CKL", "GNMDS", "SOE")),
        *((f"posterior, {name}", {"random_state": 9}) for name in ("hmc", "laplace")),
        ("posterior, elliptical slices", {"random_state": 9}),
        ("posterior, distance prior", {"random_state": 9}),
        ("dimension", {"random_state": 9}),
        ("scale, difference", {"random_state": 9}),
        ("scale, difference", {"link": "logit"}),
    ],
    ids=lambda value: value if isinstance(value, str) else "-".join(value),
)
def test_another_setting_is_noticed(case, change):
    """Negative control: one per cent of a penalty, or another seed, is more than is allowed."""
    assert mismatches(case, compute(case, **change), STORED[case])


@pytest.mark.slow
@pytest.mark.parametrize("case", [case for case in CASES if case.endswith("averages")])
def test_averages_do_not_depend_on_the_seed_but_on_the_prior(case):
    """What is allowed of averages is more than chance does, and less than another model."""
    assert not mismatches(case, compute(case, random_state=9), STORED[case])
    assert mismatches(case, compute(case, prior=NormalPrior(0.25)), STORED[case])
