"""The optimiser on functions whose minima are known."""

import numpy as np
import pytest
from scipy import optimize

from tercet.engine import lbfgs
from tercet.engine.search import _REASONS

NO_FLOOR = -np.inf


def run(function, start, *, tol=1e-12, floor=NO_FLOOR, max_iter=2000):
    """Minimise a function that returns its value and gradient; also every point it was asked for.

    Returns the status, the state, and the evaluations as pairs (point, value).
    """
    state = lbfgs.start_state(np.asarray(start, dtype=np.float64))
    seen, status = [], lbfgs.EVALUATE
    while status == lbfgs.EVALUATE:
        value, state.g[:] = function(state.x)
        seen.append((state.x.copy(), value))
        status = lbfgs.advance(state, value, tol, floor, max_iter)
        assert len(seen) < 100_000
    return status, state, seen


def quadratic(condition, n=30):
    """½ (x − 1)ᵀ A (x − 1) + 1 with eigenvalues from 1 to the condition number."""
    rotation, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(n, n)))
    A = (rotation * np.geomspace(1, condition, n)) @ rotation.T

    def function(x):
        g = A @ (x - 1)
        return 0.5 * (x - 1) @ g + 1.0, g

    return function


def rosenbrock(x):
    return optimize.rosen(x) + 1.0, optimize.rosen_der(x)


def barrier(x):
    """x − log x, which is infinite for x ≤ 0; minimum 1 in each coordinate at x = 1."""
    if np.any(x <= 0):
        return np.inf, np.full_like(x, np.nan)
    return np.sum(x - np.log(x)), 1 - 1 / x


def barrier_of_nan(x):
    """The same, but not a number where it is not defined."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.sum(x - np.log(x)), 1 - 1 / x


def quartic(x):
    return 1.0 + np.sum((x - 2) ** 4), 4 * (x - 2) ** 3


def logistic(x):
    """A strictly convex loss, flat far out: the start's gradient says little about the scale."""
    data = np.random.default_rng(1).normal(size=(60, x.size))
    z = data @ x - 1
    slope = 1 / (1 + np.exp(-z))
    return np.sum(np.logaddexp(0, z)) + 0.05 * x @ x, data.T @ slope + 0.1 * x


STARTS = {
    "condition 1": (quadratic(1.0), np.zeros(30)),
    "condition 1e4": (quadratic(1e4), np.zeros(30)),
    "condition 1e6": (quadratic(1e6), np.zeros(30)),
    "far away": (quadratic(100.0), np.full(30, 1e6)),
    "Rosenbrock": (rosenbrock, np.array([-1.2, 1.0])),
    "Rosenbrock in 10 dimensions": (rosenbrock, np.tile([-1.2, 1.0], 5)),
    "infinite region": (barrier, np.full(4, 30.0)),
    "region of NaN": (barrier_of_nan, np.full(4, 30.0)),
    "singular Hessian": (quartic, np.zeros(5)),
    "logistic": (logistic, np.full(5, 20.0)),
    "one dimension": (quadratic(7.0, n=1), np.array([-3.0])),
}
cases = pytest.mark.parametrize("case", STARTS)


@cases
def test_a_run_that_says_converged_is_at_scipys_minimum(case):
    function, start = STARTS[case]
    status, state, _ = run(function, start, max_iter=50_000)
    assert status in (lbfgs.CONVERGED, lbfgs.STALLED)
    options = {"maxiter": 20_000, "maxfun": 50_000, "ftol": 1e-16, "gtol": 1e-12, "maxcor": 30}
    best = optimize.minimize(function, state.x, jac=True, method="L-BFGS-B", options=options).fun
    assert lbfgs.final_loss(state) - best <= 1e-9 * abs(best)
    assert lbfgs.final_loss(state) == function(state.x)[0]


@cases
def test_accepted_losses_never_rise(case):
    function, start = STARTS[case]
    losses = [run(function, start, max_iter=k)[1] for k in range(1, 40)]
    losses = np.array([lbfgs.final_loss(state) for state in losses])
    assert np.all(np.diff(losses) <= 1e-10 * np.abs(losses[:-1]))
    assert losses[0] < function(np.asarray(start, dtype=float))[0]


@cases
def test_the_best_point_seen_is_the_one_returned(case):
    function, start = STARTS[case]
    _, state, seen = run(function, start)
    finite = [value for _, value in seen if np.isfinite(value)]
    assert lbfgs.final_loss(state) <= min(finite) * (1 + 1e-10)


@pytest.mark.parametrize("limit", [1, 2, 17])
def test_the_limit_of_iterations_is_kept(limit):
    status, state, _ = run(rosenbrock, [-1.2, 1.0], max_iter=limit)
    assert status == lbfgs.AT_LIMIT
    assert lbfgs.iterations(state) == limit
    assert lbfgs.final_loss(state) == rosenbrock(state.x)[0]


def test_a_line_search_takes_few_evaluations():
    """A quadratic takes about one evaluation an iteration, as L-BFGS should."""
    _, state, seen = run(quadratic(1e4), np.zeros(30))
    assert len(seen) < 1.5 * lbfgs.iterations(state) + 10


def test_a_flat_function_has_converged_at_once():
    status, state, seen = run(lambda x: (0.0, np.zeros_like(x)), [1.0, 2.0])
    assert status == lbfgs.CONVERGED
    assert len(seen) == 1
    assert lbfgs.iterations(state) == 0
    assert state.x.tolist() == [1.0, 2.0]


def test_starting_at_the_minimum_stops_at_once():
    status, state, seen = run(quadratic(100.0), np.ones(30))
    assert status == lbfgs.CONVERGED
    assert len(seen) == 1
    assert np.array_equal(state.x, np.ones(30))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_start_without_a_finite_loss_is_refused(value):
    status, state, _ = run(lambda x: (value, np.zeros_like(x)), [1.0, 2.0])
    assert status == lbfgs.NOT_FINITE
    assert lbfgs.iterations(state) == 0


def test_the_run_ends_at_the_floor():
    status, state, _ = run(quadratic(100.0), np.zeros(30), floor=2.0)
    assert status == lbfgs.AT_FLOOR
    assert 1.0 < lbfgs.final_loss(state) <= 2.0


def test_a_wrong_gradient_ends_in_a_stall_and_not_in_a_rise():
    """Uphill gradients: no step decreases the loss, and the start is given back."""
    function = quadratic(10.0)

    def wrong(x):
        value, gradient = function(x)
        return value, -gradient

    status, state, _ = run(wrong, np.full(30, 3.0))
    assert status == lbfgs.STALLED
    np.testing.assert_array_equal(state.x, np.full(30, 3.0))


def test_a_corner_short_of_the_minimum_is_a_stall():
    """|x − 1| + 3.7 |y + 2|: the search ends in the crease y = −2, and does not say converged."""
    corner, slopes = np.array([1.0, -2.0]), np.array([1.0, 3.7])

    def creased(x):
        return 1 + slopes @ np.abs(x - corner), slopes * np.sign(x - corner)

    status, state, _ = run(creased, [0.0, 0.0])
    assert status == lbfgs.STALLED
    assert lbfgs.final_loss(state) < creased(np.zeros(2))[0]


def test_a_looser_tolerance_stops_earlier():
    loose = run(quadratic(1e6), np.zeros(30), tol=1e-2)[1]
    tight = run(quadratic(1e6), np.zeros(30), tol=1e-14)[1]
    assert lbfgs.iterations(loose) < lbfgs.iterations(tight)
    assert lbfgs.final_loss(tight) < lbfgs.final_loss(loose)


def test_the_start_is_copied():
    start = np.array([-1.2, 1.0])
    run(rosenbrock, start)
    assert start.tolist() == [-1.2, 1.0]


def test_every_way_to_stop_has_words():
    stops = {
        lbfgs.CONVERGED: "converged",
        lbfgs.AT_FLOOR: "every comparison is satisfied",
        lbfgs.STALLED: "no descent step lowers the loss",
        lbfgs.AT_LIMIT: "limit of 7 iterations",
        lbfgs.NOT_FINITE: "not a finite number",
    }
    assert _REASONS.keys() == stops.keys()
    for status, words in stops.items():
        assert words in _REASONS[status].format(max_iter=7)
