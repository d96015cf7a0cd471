"""Elliptical slices: the prior of matrices, the bracket, and what is noted."""

import math

import numpy as np
import pytest

from tercet.engine.kernels import code_of
from tercet.engine.problem import build_problem
from tercet.models import CKLModel, STEModel
from tercet.posterior import elliptical
from tercet.posterior.elliptical import (
    ENERGY,
    EVALUATIONS,
    MAX_SHRINKS,
    STUCK,
    Likelihood,
    draw_symmetric,
    sample_matrices,
    sample_points,
)
from tercet.simulate import answers_from_model, random_comparisons

N, D = 5, 2
POINTS = np.random.default_rng(0).standard_normal((N, D))
BLOCK = np.array([[1.5, 0.4], [0.4, 0.7]])


def likelihood(model=None, weights=None, m=60):
    model = model or STEModel()
    questions = random_comparisons(N, m, replace=True, random_state=1)
    rows = answers_from_model(model, POINTS, questions, random_state=2)
    weights = None if weights is None else np.full(m, weights)
    p, q = model.constants(D)
    problem = build_problem(rows, N, weights, use_edges=True)
    return Likelihood(problem, code_of(model), float(p), float(q))


def loss(likelihood, model, squared):
    """Loss of all answers, given all squared distances (n, n)."""
    i, j, l = likelihood.problem.comparisons.astype(int).T
    return model.loss(squared[i, j], squared[i, l], D)[0].sum()


def loss_of_edges(likelihood, squared):
    """STE's loss of all answers, given the squared lengths of the edges."""
    near, far = (squared[edge] for edge in (likelihood.problem.near, likelihood.problem.far))
    return np.logaddexp(0.0, near - far).sum()


def draw_points(likelihood, count, sd=0.0, seed=0, block=None):
    X, root = POINTS.copy(), np.linalg.cholesky(np.eye(D) if block is None else block)
    points, variances = np.empty((count, N, D)), np.empty(count)
    notes = np.empty((count, elliptical.N_NOTES))
    rng = np.random.default_rng(seed)
    mean = math.log(2.0)
    last = sample_points(likelihood, root, mean, sd, X, 2.0, rng, points, variances, notes)
    assert last == variances[-1]
    np.testing.assert_array_equal(X, points[-1])
    return points, variances, notes


def draw_matrices(likelihood, count, seed=0):
    D0 = 2.0 * (1.0 - np.eye(N))
    D = np.linalg.norm(POINTS[:, None] - POINTS, axis=2)
    matrices, notes = np.empty((count, N, N)), np.empty((count, elliptical.N_NOTES))
    rng = np.random.default_rng(seed)
    sample_matrices(likelihood, D0, np.eye(N), D, rng, matrices, notes)
    np.testing.assert_allclose(D, matrices[-1], atol=1e-12)
    return matrices, notes


# ---- the prior of matrices


def test_matrices_drawn_are_symmetric_with_the_kronecker_covariance():
    """Cov(D_ij, D_kl) = (W_ik W_jl + W_il W_jk) / 2 for every four objects."""
    n, S = 4, 20_000
    root = np.linalg.cholesky(np.eye(n) + 0.5 * np.add.outer(np.arange(n), np.arange(n)) / n)
    W, rng = root @ root.T, np.random.default_rng(3)
    drawn = np.array([draw_symmetric(root, rng) for _ in range(S)])
    np.testing.assert_array_equal(drawn, drawn.transpose(0, 2, 1))
    seen = np.einsum("sij,skl->ijkl", drawn, drawn) / S
    expected = 0.5 * (np.einsum("ik,jl->ijkl", W, W) + np.einsum("il,jk->ijkl", W, W))
    variances = np.einsum("ijij->ij", expected)
    error = np.sqrt((np.einsum("ij,kl->ijkl", variances, variances) + expected**2) / S)
    # Fifty-five different z; the chance that one is above 5.5 is two in a million.
    assert np.abs((seen - expected) / error).max() < 5.5
    assert np.abs(drawn.mean(axis=0) / np.sqrt(variances / S)).max() < 5.5


# ---- the bracket


def test_an_energy_that_is_no_number_is_never_accepted():
    like = likelihood()
    edges = len(like.problem.edges)
    here, broken, nothing = np.ones(edges), np.full(edges, np.nan), np.empty(0)
    angle, energy, count = elliptical._turn(
        like, 12.0, nothing, here, here, broken, np.random.default_rng(0), np.empty(edges)
    )
    assert (angle, energy, count) == (0.0, 12.0, MAX_SHRINKS)


def test_an_angle_without_numbers_shrinks_towards_the_state():
    """Off the state the energy is infinite: the bracket closes, and the loop ends."""
    like = likelihood()
    edges = len(like.problem.edges)
    here, far, nothing = np.ones(edges), np.full(edges, 1e300), np.empty(0)
    far[::2] = np.inf
    angle, energy, count = elliptical._turn(
        like, 60 * np.log(2.0), nothing, here, here, far, np.random.default_rng(0), np.empty(edges)
    )
    assert angle == 0.0
    assert energy == 60 * np.log(2.0)
    assert count == MAX_SHRINKS


@pytest.mark.parametrize("seed", range(20))
def test_the_angle_accepted_is_above_the_level(seed):
    like, rng = likelihood(), np.random.default_rng(seed)
    edges = like.problem.edges
    other = rng.standard_normal((N, D))

    def differences(X):
        return X[edges[:, 0]] - X[edges[:, 1]]

    a, b = differences(POINTS), differences(other)
    lengths = np.empty(len(edges))
    energy = loss_of_edges(like, np.sum(a * a, axis=1))
    level = energy - math.log(1.0 - np.random.default_rng(seed).random())
    angle, found, _ = elliptical._turn(
        like,
        energy,
        np.empty(0),
        np.sum(a * a, axis=1),
        np.sum(a * b, axis=1),
        np.sum(b * b, axis=1),
        np.random.default_rng(seed),
        lengths,
    )
    moved = math.cos(angle) * a + math.sin(angle) * b
    np.testing.assert_allclose(lengths, np.sum(moved**2, axis=1), rtol=1e-9, atol=1e-12)
    assert found == pytest.approx(loss_of_edges(like, lengths), rel=1e-12)
    assert found < level


def test_a_chain_that_is_stuck_stays_and_says_so():
    points, _, notes = draw_points(likelihood(weights=np.nan), 5)
    np.testing.assert_array_equal(points, np.broadcast_to(POINTS, points.shape))
    np.testing.assert_array_equal(notes[:, STUCK], 1.0)
    np.testing.assert_array_equal(notes[:, EVALUATIONS], MAX_SHRINKS)


# ---- draws


@pytest.mark.parametrize("model", [STEModel(), CKLModel(0.1, 1.5)], ids=str)
@pytest.mark.parametrize("sd", [0.0, 0.8])
def test_the_noted_energy_is_that_of_the_points(model, sd):
    like = likelihood(model)
    points, variances, notes = draw_points(like, 50, sd, block=BLOCK)
    for X, noted in zip(points, notes[:, ENERGY], strict=True):
        squared = np.sum((X[:, None] - X) ** 2, axis=2)
        assert loss(like, model, squared) == pytest.approx(noted, rel=1e-9)
    assert notes[:, STUCK].sum() == 0
    assert len(np.unique(points[:, 0, 0])) == 50
    assert len(np.unique(variances)) == (50 if sd else 1)


def test_the_noted_energy_is_that_of_the_matrices():
    like = likelihood()
    matrices, notes = draw_matrices(like, 50)
    np.testing.assert_allclose(matrices, matrices.transpose(0, 2, 1), atol=1e-12)
    for matrix, noted in zip(matrices, notes[:, ENERGY], strict=True):
        assert loss(like, STEModel(), matrix**2) == pytest.approx(noted, rel=1e-9)


def test_the_same_seed_gives_the_same_draws():
    like = likelihood()
    first, again, other = (draw_points(like, 20, seed=s)[0] for s in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)
    first, again, other = (draw_matrices(like, 20, seed=s)[0] for s in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)
