"""The mode and the shape around it, against second derivatives taken independently."""

import numpy as np
import pytest
from tests.worlds import posterior_target

from tercet.models import CKLModel, STEModel
from tercet.posterior import mode as module
from tercet.posterior.mode import (
    Mode,
    curvature,
    find_mode,
    fix_scale,
    settle_scale,
    spread_of_objects,
)
from tercet.posterior.target import energy_and_gradient
from tercet.posterior.variance import mode_of_log

N, D = 6, 2
BLOCK = np.array([[1.5, 0.4], [0.4, 0.7]])
POINTS = np.random.default_rng(0).standard_normal((N, D))


def make_target(model=None, learn=(), d=D, m=120, **prior):
    return posterior_target(POINTS, m, model, learn, d=d, **prior)


def energy(target, x, k=0):
    """Energy and gradient at one vector of all coordinates and theta."""
    size = len(x) - k
    X, theta = x[:size].reshape(N, -1), x[size:].copy()
    by_X, by_theta = np.empty_like(X), np.zeros(k)
    value = energy_and_gradient(target, X.copy(), theta, by_X, by_theta)
    return value, np.concatenate([by_X.ravel(), by_theta])


def second_derivatives(target, x, k=0, h=1e-3):
    """Differences of fourth order of energies, not of gradients."""

    def bend(u, v):
        def at(a, b):
            return energy(target, x + a * h * u + b * h * v, k)[0]

        return (
            16 * (at(1, 1) - at(1, -1) - at(-1, 1) + at(-1, -1))
            - (at(2, 2) - at(2, -2) - at(-2, 2) + at(-2, -2)) / 4
        ) / (60 * h**2)

    unit = np.eye(len(x))
    return np.array([[bend(u, v) for u in unit] for v in unit])


def flat_directions(X, turn=True):
    """Orthonormal translations and the rotation of the plane, (n * d, 3)."""
    moves = [np.tile(axis, N) for axis in np.eye(D)]
    if turn:
        moves.append(np.stack([-X[:, 1], X[:, 0]], axis=1).ravel())
    return np.linalg.qr(np.array(moves).T)[0]


def found_mode(target, theta=()):
    return find_mode(target, POINTS, np.array(theta, dtype=float))


# ---- the mode


@pytest.mark.parametrize("learn", [(), ("lapse",)])
def test_the_gradient_is_zero_at_the_mode_and_the_energy_higher_around(learn):
    target, k = make_target(learn=learn), len(learn)
    mode = found_mode(target, [-3.0] * k)
    x = np.concatenate([mode.X.ravel(), mode.theta])
    value, gradient = energy(target, x, k)
    assert mode.energy == pytest.approx(value, rel=1e-12)
    assert mode.log_scale == pytest.approx(np.log(2.0))
    np.testing.assert_allclose(gradient, 0.0, atol=1e-3)
    rng = np.random.default_rng(0)
    assert all(energy(target, x + 0.1 * rng.standard_normal(len(x)), k)[0] > value for _ in "12345")


def test_what_is_given_is_not_changed():
    target = make_target()
    start, theta = POINTS.copy(), np.empty(0)
    find_mode(target, start, theta)
    np.testing.assert_array_equal(start, POINTS)


def test_a_known_scale_is_kept():
    target = make_target(variance=3.0)
    assert settle_scale(target, POINTS, np.empty(0)).log_scale == pytest.approx(np.log(3.0))


def test_a_learned_scale_settles_where_the_expected_size_puts_it():
    target = make_target(learned=True, spread=1.5)
    mode = settle_scale(target, POINTS, np.empty(0))
    known = fix_scale(target, mode.log_scale)
    assert known.scale_sd == 0.0
    values, vectors, _ = curvature(known, mode)
    squares = np.sum(mode.X**2) + np.sum(vectors**2 / values)
    expected, _ = mode_of_log(squares, (N - 1.0) * D, target.scale_mean, target.scale_sd)
    assert mode.log_scale == pytest.approx(expected, abs=module._SETTLED)


# ---- the curvature


@pytest.mark.parametrize(
    ("model", "learn", "block"),
    [
        (STEModel(), (), None),
        (STEModel(), ("lapse",), None),
        (CKLModel(), ("exponent", "mu"), BLOCK),
        (STEModel(), (), BLOCK),
    ],
    ids=str,
)
def test_the_curvature_is_the_matrix_of_second_derivatives(model, learn, block):
    target, k = make_target(model, learn, block=block), len(learn)
    mode = found_mode(target, [-1.0] * k)
    values, vectors, _ = curvature(target, mode)
    turned = block is None  # a prior with a direction sees rotations
    basis = np.zeros((N * D + k, D + turned))
    basis[: N * D] = flat_directions(mode.X, turned)
    assert len(values) == N * D + k - basis.shape[1]
    np.testing.assert_allclose(vectors.T @ basis, 0.0, atol=1e-10)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(values)), atol=1e-10)
    away = np.eye(len(basis)) - basis @ basis.T
    exact = second_derivatives(target, np.concatenate([mode.X.ravel(), mode.theta]), k)
    ours = (vectors * values) @ vectors.T
    np.testing.assert_allclose(ours, away @ exact @ away, atol=2e-5 * np.abs(exact).max())


def test_the_orbit_of_a_plane_map_is_as_long_as_the_map_is_large():
    target = make_target()
    mode = found_mode(target)
    assert curvature(target, mode).log_orbit == pytest.approx(0.5 * np.log(np.sum(mode.X**2)))
    assert curvature(make_target(block=BLOCK), mode).log_orbit == 0.0


def test_where_the_energy_bends_down_the_curvature_stays_positive():
    """Between two objects' places, not at a mode."""
    target = make_target(m=400, variance=100.0)
    saddle = Mode(0.05 * (POINTS - POINTS.mean(axis=0)), np.empty(0), 0.0, np.log(100.0))
    exact = second_derivatives(target, saddle.X.ravel())
    assert np.linalg.eigvalsh(exact)[0] < -1.0
    assert curvature(target, saddle).values.min() == pytest.approx(0.1 / 100.0)


def test_points_that_turning_does_not_move_keep_all_their_directions():
    """All in one place no rotation is flat; on a line in space the one around it is not."""
    origin = Mode(np.zeros((N, 3)), np.empty(0), 0.0, np.log(2.0))
    line = origin._replace(X=np.linspace(-1.0, 1.0, N)[:, None] * np.array([1.0, 2.0, 2.0]))
    target = make_target(d=3)
    for mode, turns in ((origin, 0), (line, 2)):
        values, vectors, log_orbit = curvature(target, mode)
        assert vectors.shape == (3 * N, 3 * N - 3 - turns)
        assert np.isfinite([*values, log_orbit]).all()
    assert log_orbit == pytest.approx(np.log(np.sum(line.X**2)))
    assert curvature(target, origin).log_orbit == 0.0


# ---- what the samplers take from it


def test_the_spread_of_objects_is_their_covariance():
    target = make_target(learn=("lapse",))
    mode = found_mode(target, [-2.0])
    A, widths = spread_of_objects(target, mode)
    exact = second_derivatives(target, np.concatenate([mode.X.ravel(), mode.theta]), 1)
    basis = np.zeros((N * D + 1, 3))
    basis[:-1] = flat_directions(mode.X)
    away = np.eye(N * D + 1) - basis @ basis.T
    covariance = np.linalg.pinv(away @ exact @ away, rcond=1e-6)
    blocks = covariance[:-1, :-1].reshape(N, D, N, D)
    expected = np.einsum("ikjk->ij", blocks) / D
    np.testing.assert_allclose(A, expected + 2e-6 * np.eye(N), atol=1e-4 * expected.max())
    assert widths == pytest.approx([np.sqrt(covariance[-1, -1])], rel=1e-3)


def test_a_large_problem_takes_the_diagonal_alone(monkeypatch):
    monkeypatch.setattr(module, "DENSE", N * D - 1)
    monkeypatch.setattr(module, "_PROBES", 3000)
    target = make_target(learn=("lapse",))
    mode = found_mode(target, [-2.0])
    A, widths = spread_of_objects(target, mode)
    assert A.shape == (1, N)
    np.testing.assert_array_equal(widths, [0.1])
    exact = second_derivatives(target, np.concatenate([mode.X.ravel(), mode.theta]), 1)
    diagonal = np.diag(exact)[: N * D].reshape(N, D).mean(axis=1)
    np.testing.assert_allclose(A[0], 1.0 / diagonal, rtol=0.15)


def test_a_large_learned_scale_settles_too(monkeypatch):
    target = make_target(learned=True)
    expected = settle_scale(target, POINTS, np.empty(0)).log_scale
    monkeypatch.setattr(module, "DENSE", N * D - 1)
    assert settle_scale(target, POINTS, np.empty(0)).log_scale == pytest.approx(expected, abs=1.0)
