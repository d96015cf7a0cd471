"""Posteriors of choices: the energy, and samplers against each other and importance sampling."""

import math

import numpy as np
import pytest
from arviz_stats.base import array_stats
from scipy import stats
from tests.luce import by_definition
from tests.worlds import choices_of_every_kind

import tercet as tc
from tercet.models import CKLModel, STEModel, TSTEModel
from tercet.models.shepard import ShepardModel
from tercet.posterior.draw import Plan, build_target
from tercet.posterior.priors import NormalPrior, check_learn
from tercet.posterior.target import energy_and_gradient, split_energy

N = 9
CASES = [
    (STEModel(), ()),
    (STEModel(), ("lapse",)),
    (TSTEModel(), ("lapse",)),
    (CKLModel(0.1, exponent=1.5), ("lapse", "exponent", "mu")),
    (CKLModel(0.1, exponent=2.0), ("exponent",)),
    (CKLModel(0.1, exponent=3.0), ("mu",)),
    (ShepardModel(1.2), ("lapse", "gamma", "tail")),
]
cases = pytest.mark.parametrize(("model", "learn"), CASES, ids=str)


def make_target(model, learn, weighted=False, learned=False):
    weights = {"weights": lambda m: np.random.default_rng(3).uniform(0.2, 4.0, m)}
    choices = choices_of_every_kind(N, 3, **(weights if weighted else {}))
    prior = NormalPrior(2.0, learned=learned, spread=0.8)
    plan = Plan(model, 2, prior, check_learn(learn, model), "hmc", 1, 1, 0, "mode")
    return build_target(plan, choices), choices


def place(target, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, 2))
    return X - X.mean(axis=0), 0.5 * rng.standard_normal(len(target.learned)) - 0.5


def energy(target, X, theta):
    by_X, by_theta = np.full_like(X, np.nan), np.full_like(theta, np.nan)
    return energy_and_gradient(target, X, theta, by_X, by_theta), by_X, by_theta


def differences(function, at, h=1e-5):
    slope = np.empty_like(at)
    for index in np.ndindex(at.shape):
        step = np.zeros_like(at)
        step[index] = h
        slope[index] = (function(at + step) - function(at - step)) / (2 * h)
    return slope


# ---- the energy


@cases
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("learned", [False, True])
def test_gradients_match_finite_differences(model, learn, weighted, learned):
    target, _ = make_target(model, learn, weighted, learned)
    X, theta = place(target)
    _, by_X, by_theta = energy(target, X, theta)
    close = {"rtol": 1e-6, "atol": 1e-6}
    np.testing.assert_allclose(by_X, differences(lambda X: energy(target, X, theta)[0], X), **close)
    np.testing.assert_allclose(
        by_theta, differences(lambda theta: energy(target, X, theta)[0], theta), **close
    )
    np.testing.assert_allclose(by_X.sum(axis=0), 0.0, atol=1e-11)  # the centre stays
    Y, eta = 2.0 * X, np.concatenate([[0.3], theta])

    def split(Y, eta):
        moved, by_Y, by_eta = (np.full_like(a, np.nan) for a in (Y, Y, eta))
        return split_energy(target, Y, eta, moved, by_Y, by_eta), by_Y, by_eta

    _, by_Y, by_eta = split(Y, eta)
    np.testing.assert_allclose(by_Y, differences(lambda Y: split(Y, eta)[0], Y), **close)
    np.testing.assert_allclose(by_eta, differences(lambda eta: split(Y, eta)[0], eta), **close)


def with_parameters(model, learn, theta):
    """The model and the lapse rate at theta, and the log-prior of theta."""
    own, lapse, prior = {}, 0.0, 0.0
    for (name, (a, b)), value in zip(check_learn(learn, model).items(), theta, strict=True):
        if name == "lapse":
            lapse = 1 / (1 + np.exp(-value))
            prior += stats.beta(a, b).logpdf(lapse) + np.log(lapse * (1 - lapse))
        else:
            own[name] = float(np.exp(value))
            prior += stats.norm(np.log(a), b).logpdf(value)
    return type(model)(**{**model.__dict__, **own}), lapse, prior


def log_likelihood(model, choices, points, lapse=0.0):
    """Of points (..., n, d), from the definition of choices."""
    total = 0.0
    lapse = np.asarray(lapse)
    weights = np.ones(len(choices)) if choices.weights is None else choices.weights
    for c, (start, stop) in enumerate(zip(choices.cuts[:-1], choices.cuts[1:], strict=True)):
        i, j = choices.pairs[start:stop].T
        squared = np.sum((points[..., i, :] - points[..., j, :]) ** 2, axis=-1)
        s = np.exp(model.log_similarity(squared, points.shape[-1])[0])
        s = [s[..., a] for a in range(stop - start)]
        p = by_definition(choices.kinds[c], int(choices.n_chosen[c]), s)
        total = total + weights[c] * np.log((1 - lapse) * p + lapse / choices.n_outcomes[c])
    return total


@cases
@pytest.mark.parametrize("weighted", [False, True])
def test_the_energy_is_the_log_posterior_up_to_a_constant(model, learn, weighted):
    target, choices = make_target(model, learn, weighted)
    ours, theirs = [], []
    for X, theta in (place(target, seed) for seed in range(4)):
        known, lapse, prior = with_parameters(model, learn, theta)
        ours.append(energy(target, X, theta)[0])
        theirs.append(-prior - log_likelihood(known, choices, X, lapse) + np.sum(X**2) / 4.0)
    np.testing.assert_allclose(
        np.subtract(ours, ours[0]), np.subtract(theirs, theirs[0]), atol=1e-9
    )


# ---- the samplers


def posterior(estimator, answers, sampler, n_samples, prior, **settings):
    settings = {"n_chains": 4, "random_state": 1, "progress": False} | settings
    maker = tc.Posterior(estimator, prior=prior, sampler=sampler, n_samples=n_samples, **settings)
    return maker.fit(answers).ensemble_


def distances(draws):
    first, second = np.triu_indices(draws.shape[1], 1)
    return np.linalg.norm(draws[:, first] - draws[:, second], axis=2)


def error_of_mean(values, n_chains):
    by_chain = values.reshape(n_chains, -1)
    return float(array_stats.mcse(by_chain, method="mean", chain_axis=0, draw_axis=1))


# Some eighty means are compared: by chance one is off by more once in 20 000 runs.
LIMIT = 5.0


# So narrow a posterior makes some trajectories diverge; what is tested is where the draws are.
@pytest.mark.filterwarnings("ignore:not converged. [0-9]+ divergent transitions")
@pytest.mark.slow
def test_all_samplers_agree_where_answers_are_many():
    """The posterior of many odd ones out is nearly normal, so that Laplace's is close as well."""
    points, rng = np.random.default_rng(0).normal(size=(5, 2)), np.random.default_rng(1)
    rows = np.array([rng.permutation(5)[:3] for _ in range(20_000)])
    asked = tc.Choices.odd_one_out(rows, n_objects=5)
    given = tc.simulate.choices_from_model(STEModel(), points, asked, random_state=2)
    odd = rows.sum(axis=1) - given.pairs[::3].sum(axis=1)
    different, counts = np.unique(
        np.column_stack([given.pairs[::3], odd]), axis=0, return_counts=True
    )
    assert len(different) <= 30
    answers = tc.Choices.odd_one_out(different, weights=counts)
    prior = tc.NormalPrior(2.0)
    drawn = {
        sampler: distances(posterior(tc.STE(2), answers, sampler, count, prior).draws)
        for sampler, count in (("hmc", 1000), ("elliptical_slice", 20_000), ("laplace", 2000))
    }
    hmc, slices, laplace = drawn.values()
    for k in range(hmc.shape[1]):
        error = math.hypot(error_of_mean(hmc[:, k], 4), error_of_mean(slices[:, k], 4))
        assert abs(hmc[:, k].mean() - slices[:, k].mean()) < LIMIT * error
    # What the approximation leaves out is of the order of the relative spread of the distances.
    spread = hmc.std(axis=0)
    assert (spread / hmc.mean(axis=0)).max() < 0.05
    assert np.abs((laplace.mean(axis=0) - hmc.mean(axis=0)) / spread).max() < 0.2
    np.testing.assert_allclose(laplace.std(axis=0), spread, rtol=0.1)
    truth = distances(points[None])[0]
    assert np.abs((hmc.mean(axis=0) - truth) / spread).max() < 4.0


VARIANCE = 2.0
N_PRIOR = 1_000_000


@pytest.fixture(scope="module")
def four():
    """Sixteen choices of every kind about four objects on a line."""
    parts = [
        tc.Choices.odd_one_out([[0, 1, 2], [0, 1, 3], [2, 3, 1]]),
        tc.Choices.most_central([[1, 0, 2], [2, 1, 3]]),
        tc.Choices.nearest([0, 3], [[1, 2, 3], [0, 1, 2]], [1, 2]),
        tc.Choices.nearest([1, 2, 0], [[0, 2, 3], [0, 1, 3], [1, 2, 3]], [[0, 2], [1, 3], [1, 2]]),
        tc.Choices.ranking([3, 1], [[2, 1, 0], [0, 2, 3]]),
        tc.Choices.best_worst([0, 2], [[1, 2, 3], [0, 1, 3]], [1, 3], [3, 0]),
        tc.Choices([[[0, 1], [2, 3], [0, 2]]], [1]),
        tc.Choices.nearest([2], [[0, 3]], [3]),
    ]
    return tc.Choices.concatenate(parts)


class Exact:
    """Posterior means by self-normalised importance sampling from the prior."""

    def __init__(self, model, choices, learn=()):
        rng = np.random.default_rng(7)
        points = math.sqrt(VARIANCE) * rng.standard_normal((N_PRIOR, 4, 1))
        self.lapse = rng.beta(1.0, 9.0, N_PRIOR) if "lapse" in learn else np.zeros(N_PRIOR)
        log_p = log_likelihood(model, choices, points, self.lapse)
        self.weights = np.exp(log_p - log_p.max())
        self.weights /= self.weights.sum()
        self.size = 1.0 / np.sum(self.weights**2)  # effective
        self.distances = distances(points)

    def mean(self, values):
        """The posterior mean of a quantity (N_PRIOR,), and its standard error."""
        mean = self.weights @ values
        return mean, math.sqrt(np.sum((self.weights * (values - mean)) ** 2))


def worst(exact, ensemble):
    """The largest difference of the means of distances and their squares, in standard errors."""
    found = []
    drawn = distances(ensemble.draws)
    columns = [*zip(exact.distances.T, drawn.T, strict=True)]
    columns += [(a**2, b**2) for a, b in columns]
    if "lapse" in ensemble.parameters:
        columns.append((exact.lapse, ensemble.parameters["lapse"]))
    for values, ours in columns:
        mean, error = exact.mean(values)
        error = math.hypot(error, error_of_mean(ours, ensemble.n_chains))
        found.append(abs(ours.mean() - mean) / error)
    return max(found)


ESTIMATORS = {"STE": tc.STE(1), "TSTE": tc.TSTE(1), "CKL": tc.CKL(1, mu=0.3)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "learn"), [("STE", ()), ("TSTE", ()), ("CKL", ()), ("STE", ("lapse",))]
)
def test_draws_are_those_of_importance_sampling(four, name, learn):
    estimator = ESTIMATORS[name]
    exact = Exact(estimator.model(), four, learn)
    assert exact.size > 3000
    prior = tc.NormalPrior(VARIANCE)
    hmc = posterior(estimator, four, "hmc", 4000, prior, learn=learn)
    assert worst(exact, hmc) < LIMIT
    if not learn:
        slices = posterior(estimator, four, "elliptical_slice", 20_000, prior)
        assert worst(exact, slices) < LIMIT


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:not converged")
@pytest.mark.parametrize("broken", ["split", "three fewer"])
def test_draws_given_other_answers_are_caught(four, broken):
    """The comparisons within choices as if they were independent; some left out."""
    exact = Exact(ESTIMATORS["CKL"].model(), four)
    if broken == "split":
        split = four.triplets()
        answers = tc.Triplets(split.array, n_objects=4)
    else:
        answers = four[3:]
    ensemble = posterior(ESTIMATORS["CKL"], answers, "hmc", 4000, tc.NormalPrior(VARIANCE))
    assert worst(exact, ensemble) > 1.5 * LIMIT
