"""The energy against its definition, and its gradients against finite differences."""

import numpy as np
import pytest
from scipy import stats

from tercet.answers.triplets import Triplets
from tercet.models import CKLModel, ShepardModel, STEModel, TSTEModel
from tercet.posterior.draw import Plan, build_target
from tercet.posterior.priors import NormalPrior, check_learn
from tercet.posterior.target import constants, energy_and_gradient, split_energy
from tercet.simulate import random_comparisons

N, M = 7, 40
MODELS = [
    STEModel(),
    TSTEModel(),
    CKLModel(),
    CKLModel(0.1, exponent=1.5),
    ShepardModel(),
    ShepardModel(1.6),
    ShepardModel(1.6, tail=0.4),
]
BLOCK = np.array([[1.5, 0.4], [0.4, 0.7]])
LEARN = {
    STEModel: [(), ("lapse",)],
    TSTEModel: [(), ("lapse",)],
    CKLModel: [(), ("exponent",), ("mu",), ("lapse", "exponent", "mu")],
    ShepardModel: [(), ("gamma",), ("tail",), ("lapse", "gamma", "tail")],
}
CASES = [(model, learn) for model in MODELS for learn in LEARN[type(model)]]


def make_target(model, d=2, learn=(), weighted=False, learned=False, block=None, rows=None):
    """A posterior as `draw` makes it; ``rows`` asks for the row form."""
    comparisons = random_comparisons(N, M, replace=True, random_state=0)
    weights = np.random.default_rng(3).uniform(0.2, 4.0, M) if weighted else None
    prior = NormalPrior(2.0, block=block, learned=learned, spread=0.8)
    plan = Plan(model, d, prior, check_learn(learn, model), "hmc", 1, 1, 0, "mode")
    target = build_target(plan, Triplets(comparisons, n_objects=N, weights=weights))
    if rows:
        empty = target.problem
        target = target._replace(
            problem=empty._replace(near=empty.near[:0], far=empty.far[:0], edges=empty.edges[:0])
        )
    return target


def place(target, d=2, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, d))
    return X - X.mean(axis=0), 0.5 * rng.standard_normal(len(target.learned)) - 0.5


def energy(target, X, theta):
    by_X, by_theta = np.full_like(X, np.nan), np.full_like(theta, np.nan)
    value = energy_and_gradient(target, X, theta, by_X, by_theta)
    return value, by_X, by_theta


def split(target, Y, eta):
    X, by_Y, by_eta = (np.full_like(a, np.nan) for a in (Y, Y, eta))
    value = split_energy(target, Y, eta, X, by_Y, by_eta)
    return value, by_Y, by_eta, X


def differences(function, *places, h=1e-5):
    """Central differences of function(*places)[0] by every number of every place."""
    slopes = []
    for k, at in enumerate(places):
        slope = np.empty_like(at)
        for index in np.ndindex(at.shape):
            step = np.zeros_like(at)
            step[index] = h
            up, down = (
                function(*(p + sign * step if j == k else p for j, p in enumerate(places)))[0]
                for sign in (1, -1)
            )
            slope[index] = (up - down) / (2 * h)
        slopes.append(slope)
    return slopes


def assert_slopes(found, expected):
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("model", "learn"), CASES, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("block", [None, BLOCK], ids=["round", "block"])
def test_gradients_match_finite_differences(model, learn, weighted, learned, block):
    target = make_target(model, 2, learn, weighted, learned, block)
    assert len(target.problem.edges) > 0
    X, theta = place(target)

    def whole(X, theta):
        return energy(target, X, theta)

    def parts(Y, eta):
        return split(target, Y, eta)

    assert_slopes(whole(X, theta)[1:], differences(whole, X, theta))
    eta = np.concatenate([[0.3], theta])
    assert_slopes(parts(2.0 * X, eta)[1:3], differences(parts, 2.0 * X, eta))


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_row_form_is_the_same(model, weighted, d):
    by_edges = make_target(model, d, weighted=weighted)
    by_rows = make_target(model, d, weighted=weighted, rows=True)
    X, theta = place(by_edges, d)
    for found, expected in zip(energy(by_rows, X, theta), energy(by_edges, X, theta), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)
    assert_slopes(
        energy(by_rows, X, theta)[1:2], differences(lambda X: energy(by_rows, X, theta), X)
    )


def log_posterior(target, model, X, theta, learn):
    """From the definitions, with SciPy's densities; the learned scale is left to its own tests."""
    p, q = model.constants(X.shape[1])
    lapse, prior = 0.0, 0.0
    for name, value in zip(learn, theta, strict=True):
        if name == "lapse":
            lapse = 1 / (1 + np.exp(-value))
            prior += stats.beta(1.0, 9.0).logpdf(lapse) + np.log(lapse * (1 - lapse))
        elif name == "exponent":
            q, prior = np.exp(value), prior + stats.norm(np.log(3.0), 1.0).logpdf(value)
        elif name == "gamma":
            q, prior = np.exp(value), prior + stats.norm(0.0, 0.7).logpdf(value)
        elif name == "tail":
            p, prior = np.exp(value), prior + stats.norm(np.log(0.1), 1.5).logpdf(value)
        else:
            p, prior = np.exp(value), prior + stats.norm(np.log(0.05), 1.0).logpdf(value)
    learnable = {CKLModel: lambda: CKLModel(p, q), ShepardModel: lambda: ShepardModel(q, p)}
    changed = learnable.get(type(model), lambda: model)()
    rows, weights = target.problem.comparisons.astype(int), target.problem.weights
    near, far = (np.sum((X[rows[:, 0]] - X[rows[:, k]]) ** 2, axis=1) for k in (1, 2))
    answers = (1 - lapse) * changed.probability(near, far, X.shape[1]) + lapse / 2
    whole = prior - 0.5 * np.einsum("ik,kl,il", X, target.precision, X) / np.exp(target.scale_mean)
    return whole + np.sum((weights if len(weights) else 1.0) * np.log(answers))


@pytest.mark.parametrize(("model", "learn"), CASES, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
def test_the_energy_is_the_log_posterior_up_to_a_constant(model, learn, weighted):
    target = make_target(model, 2, learn, weighted, block=BLOCK)
    learn = [name for name in ("lapse", "exponent", "mu", "gamma", "tail") if name in learn]
    both = [
        (energy(target, *at)[0], -log_posterior(target, model, *at, learn))
        for at in (place(target, seed=s) for s in range(4))
    ]
    ours, theirs = np.array(both).T
    np.testing.assert_allclose(ours - ours[0], theirs - theirs[0], rtol=1e-10, atol=1e-10)


def test_constants_come_from_theta():
    target = make_target(CKLModel(0.2, 1.5), learn=("lapse", "exponent", "mu"))
    p, q, lapse = constants(target, np.array([np.log(0.25), np.log(3.0), np.log(0.7)]))
    assert [p, q, lapse] == pytest.approx([0.7, 3.0, 0.2])
    target = make_target(CKLModel(0.2, 1.5))
    assert constants(target, np.empty(0)) == pytest.approx((0.2, 1.5, 0.0))


@pytest.mark.parametrize("learned", [False, True])
def test_shape_and_size_are_the_points(learned):
    """The density of X = e^rho Y / |Y|, times that of |Y|, with the volumes' Jacobian."""
    target = make_target(STEModel(), learned=learned)
    X, theta = place(target)
    freedom = (N - 1) * 2
    size = np.sqrt(np.sum(X**2) / freedom)
    at = energy(target, X, theta)[0]
    for length in (0.5, 1.0, 3.0):
        Y = length * X
        value, _, _, points = split(target, Y, np.array([np.log(size)]))
        np.testing.assert_allclose(points, X, rtol=1e-12)
        assert value == pytest.approx(at - freedom * np.log(size) + 0.5 * np.sum(Y**2))


def test_the_gradient_keeps_the_centre():
    target = make_target(TSTEModel(), learned=True, block=BLOCK)
    X, theta = place(target)
    np.testing.assert_allclose(energy(target, X, theta)[1].sum(axis=0), 0.0, atol=1e-12)
    by_Y = split(target, X, np.zeros(1))[1]
    np.testing.assert_allclose(by_Y.sum(axis=0), 0.0, atol=1e-12)


def test_learning_parameters_always_takes_edges():
    """With as many pairs as answers the row form would be taken."""
    rows = random_comparisons(60, 20, random_state=0)
    for learn, edges in (((), False), (("lapse",), True)):
        plan = Plan(
            STEModel(), 2, NormalPrior(), check_learn(learn, STEModel()), "hmc", 1, 1, 0, "mode"
        )
        target = build_target(plan, Triplets(rows, n_objects=60))
        assert (len(target.problem.edges) > 0) == edges
