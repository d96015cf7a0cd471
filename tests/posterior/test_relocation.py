"""Moves that put an object elsewhere: the answers about it, and that they keep the posterior."""

import numpy as np
import pytest
from scipy import stats
from tests.worlds import choices_of_every_kind, posterior_target

import tercet as tc
from tercet.models.shepard import ShepardModel
from tercet.posterior import relocation
from tercet.posterior.draw import Plan, build_target
from tercet.posterior.priors import NormalPrior, check_learn, first_theta, learn_from
from tercet.posterior.relocation import Others, own_answers, propose_swap, relocate
from tercet.posterior.target import bonus_of, constants, energy_and_gradient
from tercet.simulate import random_comparisons

POINTS = np.random.default_rng(0).standard_normal((7, 2))


def target_of(answers, d=2, learn=("gamma", "tail", "lapse"), **prior):
    model = ShepardModel()
    normal = NormalPrior(**({"variance": 2.0} | prior))
    checked = learn_from(check_learn(learn, model), answers)
    plan = Plan(model, d, normal, checked, "hmc", 1, 1, 0, "mode")
    return build_target(plan, answers), first_theta(checked, model)


def conditional(target, own, theta, X, i):
    """The object's own energy as a function of its place, and its gradient there."""
    X = X - np.delete(X, i, axis=0).mean(axis=0)
    rest = np.delete(X, i, axis=0)
    squares = float(np.einsum("ik,kl,il", rest, target.precision, rest))
    others = Others(i, *constants(target, theta), bonus_of(target, theta), squares)

    def energy(place):
        moved, slope = X.copy(), np.empty(X.shape[1])
        moved[i] = place
        return relocation._own_energy(target, own, others, moved, slope), slope

    return X, energy


def worlds():
    rows = random_comparisons(7, 50, random_state=0)
    weights = np.random.default_rng(1).random(50)
    every = {"weights": lambda m: np.random.default_rng(2).random(m) + 0.5}
    triplets = tc.Triplets(rows, n_objects=7)
    return {
        "triplets": target_of(triplets),
        "weights": target_of(tc.Triplets(rows, n_objects=7, weights=weights)),
        "rows": (posterior_target(POINTS, 40), np.empty(0)),
        "quadruplets": target_of(tc.Triplets([[0, 1, 2, 3], [4, 5, 0, 6], [2, 1, 2, 4]])),
        "a block of the prior": target_of(triplets, learned=True, block=[[1.5, 0.4], [0.4, 0.7]]),
        "choices": target_of(choices_of_every_kind(7, 6, weights=every["weights"])),
    }


# ---- the answers about an object


@pytest.mark.parametrize("name", worlds())
@pytest.mark.parametrize("power", [1.0, 0.3])
def test_a_place_costs_the_answers_about_its_object_only(name, power):
    """The difference of own energies is that of whole energies, and their gradient is right."""
    target, theta = worlds()[name]
    target = target._replace(power=power)
    own, rng = own_answers(target.problem), np.random.default_rng(3)
    n = target.problem.n_objects
    X = rng.standard_normal((n, 2))
    for i in range(n):
        X, energy = conditional(target, own, theta, X, i)

        def whole(place, i=i, X=X):
            moved = X.copy()
            moved[i] = place
            moved -= moved.mean(axis=0)
            return energy_and_gradient(target, moved, theta, np.empty_like(X), theta.copy())

        here, there = rng.standard_normal((2, 2))
        own_difference = energy(there)[0] - energy(here)[0]
        assert own_difference == pytest.approx(whole(there) - whole(here), rel=1e-8, abs=1e-9)
        slope = energy(here)[1]
        for k, step in enumerate(1e-5 * np.eye(2)):
            found = (energy(here + step)[0] - energy(here - step)[0]) / 2e-5
            assert slope[k] == pytest.approx(found, rel=1e-5, abs=1e-6)


def test_own_answers_are_listed_once():
    problem = worlds()["triplets"][0].problem
    own = own_answers(problem)
    of_object = [(problem.comparisons == i).any(axis=1).sum() for i in range(7)]
    np.testing.assert_array_equal(np.diff(own.rows), of_object)


def test_more_answers_than_can_leave_doubt_are_not_listed(monkeypatch):
    monkeypatch.setattr(relocation, "LARGEST", 10)
    assert len(own_answers(worlds()["triplets"][0].problem).rows) == 1


# ---- the density of a place


def ambiguous(d):
    """An object with two places: the answers about it contradict each other; others are certain."""
    truth = np.array([[0.0, 0.0], [2.5, 0.0], [0.8, 1.1], [1.2, -0.9], [-0.6, 0.7], [1.9, 1.4]])
    rng = np.random.default_rng(5)
    rows = []
    for near, far in ((0, 1), (1, 0)):  # as often near the one as near the other
        rows += [(5, near, far)] * 6
    rows += [(5, int(a), int(b)) for a, b in rng.permutation([0, 1, 2, 3])[None, :2]]
    rows += [(0, 4, 5)] * 2
    return target_of(tc.Triplets(rows, n_objects=6), d), truth[:, :d]


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2])
def test_places_are_drawn_from_their_conditional_density(d):
    """Known by numerical integration, over a grid; the others stay where they are."""
    (target, theta), X = ambiguous(d)
    own, i, rng = own_answers(target.problem), 5, np.random.default_rng(6)
    X, energy = conditional(target, own, theta, X, i)
    axis = np.linspace(-9.0, 9.0, 1201 if d == 1 else 181)
    grid = np.stack(np.meshgrid(*[axis] * d, indexing="ij"), axis=-1)
    logs = -np.array([energy(place)[0] for place in grid.reshape(-1, d)]).reshape(grid.shape[:-1])
    density = np.exp(logs - logs.max())
    places, moved = np.empty((6000, d)), 0
    for place in places:
        moved += relocate(target, own, theta, X, i, rng)
        place[:] = X[i] - np.delete(X, i, axis=0).mean(axis=0)
    assert moved > 3000
    for k in range(d):
        margin = density.sum(axis=tuple(a for a in range(d) if a != k))
        cdf = np.cumsum(margin) / margin.sum()
        some = places[::3, k]
        ends = axis + 0.5 * (axis[1] - axis[0])  # of the cells of the grid
        found = stats.kstest(some, lambda x, ends=ends, cdf=cdf: np.interp(x, ends, cdf))
        assert found.pvalue > 1e-4


def prior_draws(count, rng, d=2, n=5):
    X = np.sqrt(2.0) * rng.standard_normal((count, n, d))
    return X - X.mean(axis=1, keepdims=True)


def posterior_draws(target, theta, count, rng):
    """Draws of a weak posterior: draws of the prior, chosen by their likelihood."""
    X = prior_draws(40 * count, rng)
    ones = np.empty_like(X[0]), theta.copy()
    prior = 0.25 * np.sum(X**2, axis=(1, 2))
    logs = prior - [energy_and_gradient(target, points, theta, *ones) for points in X]
    weights = np.exp(logs - logs.max())
    assert weights.sum() ** 2 / (weights**2).sum() > 2 * count
    return X[rng.choice(len(X), count, replace=False, p=weights / weights.sum())]


def surprise(target, theta, move, rng, count=3000):
    """Largest z of features before and after a move; half of the draws are moved, half not."""
    draws = posterior_draws(target, theta, 2 * count, rng)
    still, moved = draws[:count], draws[count:].copy()
    for X in moved:
        move(X)
    pairs = [(0, 1), (0, 2), (1, 4), (3, 4)]

    def features(X):
        distances = [np.linalg.norm(X[:, a] - X[:, b], axis=1) for a, b in pairs]
        near = distances[0] < distances[1]
        return np.stack([*distances, np.sum(X**2, axis=(1, 2)), near], axis=1)

    a, b = features(still), features(moved)
    return np.abs((a.mean(0) - b.mean(0)) / np.sqrt((a.var(0) + b.var(0)) / count)).max()


def weak_target():
    rows = [(0, 1, 2), (0, 1, 3), (4, 3, 1), (2, 4, 0), (1, 0, 3)]
    return target_of(tc.Triplets(rows, n_objects=5), learn=())


@pytest.mark.slow
def test_relocations_keep_the_posterior():
    target, theta = weak_target()
    own, rng = own_answers(target.problem), np.random.default_rng(7)

    def move(X):
        for _ in range(5):
            relocate(target, own, theta, X, int(rng.integers(5)), rng)

    assert surprise(target, theta, move, rng) < 4.5


@pytest.mark.slow
@pytest.mark.parametrize("broken", ["density of the mixture", "density of the place"])
def test_a_broken_ratio_is_noticed(monkeypatch, broken):
    """Not dividing by the density of the proposal, or by half of it, draws something else."""
    target, theta = weak_target()
    own, rng = own_answers(target.problem), np.random.default_rng(7)
    right = relocation._log_mixture
    factor = 0.0 if broken == "density of the mixture" else 0.5
    monkeypatch.setattr(relocation, "_log_mixture", lambda *given: factor * right(*given))

    def move(X):
        for _ in range(5):
            relocate.py_func(target, own, theta, X, int(rng.integers(5)), rng)

    assert surprise(target, theta, move, rng, 1000) > 6.0


# ---- exchanges


def swapped(Y, rng):
    out = np.empty_like(Y)
    propose_swap(Y, rng, out)
    return out


def test_an_exchange_moves_two_objects_to_each_others_places():
    Y, rng = POINTS.copy(), np.random.default_rng(8)
    for _ in range(30):
        out = swapped(Y, rng)
        i, j = np.flatnonzero((out != Y).any(axis=1))
        np.testing.assert_array_equal(out[[i, j]], Y[[j, i]])


def test_an_exchange_and_its_inverse_are_proposed_equally_often():
    Y, rng, count = POINTS[:4].copy(), np.random.default_rng(9), 20_000
    other = Y.copy()
    other[[0, 1]] = Y[[1, 0]]
    there = sum(np.array_equal(swapped(Y, rng), other) for _ in range(count))
    back = sum(np.array_equal(swapped(other, rng), Y) for _ in range(count))
    assert 500 < there < count / 2
    assert abs(there - back) < 4.5 * np.sqrt(there + back)
