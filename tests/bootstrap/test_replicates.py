"""What is said about replicates that failed, did not converge or have no maximum."""

import numpy as np
import pytest

import tercet as tc
from tercet.bootstrap.resampling import (
    ReplicateOutcome,
    Replicates,
    classify_fits,
    warn_about_replicates,
)
from tercet.engine.search import Fit
from tercet.errors import ConvergenceWarning, SeparableWarning
from tercet.simulate import gaussian_mixture, true_triplets

POINTS = gaussian_mixture(12, random_state=0)[0]
TRUE = tc.Triplets(true_triplets(POINTS))
HALF = np.arange(0, len(TRUE), 2)


def fit(X=POINTS, loss=1.0, converged=True, separable=False, reason="converged"):
    return Fit(X, loss, 5, converged, separable, reason)


def always(rows, count=1):
    return Replicates(lambda rng: rows, np.random.SeedSequence(0).spawn(count))


def counted(fits, estimator=None, triplets=TRUE):
    objective = (estimator or tc.STE(2)).objective()
    return classify_fits(fits, objective, triplets, always(HALF, len(fits)))


def swapped(X):
    """The same points, two of them under each other's name: not every answer is satisfied."""
    return X[[1, 0, *range(2, 12)]]


@pytest.mark.parametrize(
    ("estimator", "separable"),
    [
        (tc.STE(2), True),
        (tc.TSTE(2), True),
        (tc.CKL(2), True),
        (tc.CKL(2, mu=0.0), False),  # does not see the size
        (tc.STE(2, penalty=0.1), False),
        (tc.SOE(2), False),  # no probability, so nothing runs away
        (tc.GNMDS(2), False),
    ],
)
def test_a_map_that_satisfies_all_its_answers_is_separable_where_it_would_grow(
    estimator, separable
):
    assert counted([fit()], estimator).counts["separable"] == separable
    assert counted([fit(swapped(POINTS))], estimator).counts["separable"] == 0


def test_one_wrong_answer_anywhere_counts_and_one_that_was_not_drawn_does_not():
    rows = TRUE.array.copy()
    for wrong, separable in [(HALF[-1], 0), (HALF[-1] - 1, 1)]:
        other = rows.copy()
        other[wrong] = other[wrong, [0, 2, 1]]
        assert counted([fit()], triplets=tc.Triplets(other)).counts["separable"] == separable


def test_a_wrong_answer_after_many_right_ones_is_seen():
    many = np.concatenate([np.tile(TRUE.array[:500], (3, 1)), TRUE.array[:1, [0, 2, 1]]])
    outcome = classify_fits(
        [fit()], tc.STE(2).objective(), tc.Triplets(many), always(np.arange(len(many)))
    )
    assert outcome.counts["separable"] == 0


def test_each_replicate_is_one_thing():
    bad = swapped(POINTS)
    outcome = counted(
        [
            fit(bad),
            fit(bad, loss=np.nan),
            fit(np.full((12, 2), np.inf)),
            fit(bad, converged=False, reason="stopped at the limit"),
            fit(converged=False, separable=True),
        ]
    )
    assert outcome.kept == [0, 3, 4]
    expected = {"replicates": 5, "failed": 2, "not_converged": 1, "separable": 1}
    assert outcome.counts == expected
    assert outcome.reason == "stopped at the limit"


def outcome(failed=0, not_converged=0, separable=0):
    counts = {"replicates": 10, "failed": failed, "not_converged": not_converged}
    return ReplicateOutcome([], counts | {"separable": separable}, "stopped early")


def test_warnings_speak_plainly():
    warn_about_replicates(outcome(separable=5), "STE")  # half of them: nothing to say
    with pytest.warns(SeparableWarning, match="in 6 of 10 replicates STE satisfies every answer"):
        warn_about_replicates(outcome(separable=6), "STE")
    with pytest.warns(ConvergenceWarning, match=r"2 of 10 .* left out; 3 of 10 .* STE stopped e"):
        warn_about_replicates(outcome(failed=2, not_converged=3), "STE")
