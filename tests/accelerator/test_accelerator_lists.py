"""Choices among more than two alternatives on the accelerator, against those of the CPU.

JAX's CPU device stands for a GPU where there is none.
"""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.accelerator.test_target import assert_same, in_jax, on_the_cpu, place
from tests.statistical import test_samplers as known

import tercet as tc
from tercet.accelerator import solver as solver_module
from tercet.accelerator import target as target_module
from tercet.accelerator.device import computing_on, find_device
from tercet.accelerator.forms import Loss, value_and_gradient
from tercet.accelerator.lists import Group, loss_and_slopes, parts_of, work_of
from tercet.accelerator.solver import OnDevice, load_batch
from tercet.accelerator.target import bytes_a_chain, energies, gradients
from tercet.accelerator.twins import log_similarity
from tercet.answers.choices import BEST_WORST, FARTHEST, ORDERED, UNORDERED, restore
from tercet.embedder import problem_of
from tercet.engine.kernels import code_of
from tercet.engine.problem import least_weight, take_rows
from tercet.engine.search import Descent, Objective, Options, evaluate
from tercet.engine.starts import spectral_points
from tercet.models import CKLModel, ShepardModel, SOEModel, STEModel, TSTEModel, luce
from tercet.posterior.draw import Plan, build_target, convert
from tercet.posterior.priors import NormalPrior, check_learn
from tercet.simulate import choices_from_model

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("compiled_quickly", "an_accelerator")]

N = 9
GROUPS = [
    (ORDERED, 1, 3),
    (ORDERED, 2, 8),
    (ORDERED, 7, 8),
    (UNORDERED, 2, 5),
    (UNORDERED, 4, 6),
    (UNORDERED, 5, 7),
    (UNORDERED, 9, 12),
    (FARTHEST, 1, 4),
    (BEST_WORST, 2, 3),
    (BEST_WORST, 2, 5),
]
MODELS = [
    STEModel(),
    TSTEModel(),
    CKLModel(),
    CKLModel(0.0, exponent=1.5),
    ShepardModel(1.3, tail=0.4),
]
CASES = [
    (STEModel(), ()),
    (TSTEModel(), ("lapse",)),
    (CKLModel(), ("lapse", "exponent", "mu")),
    (ShepardModel(), ("lapse", "gamma", "tail")),
]


def of_every_kind(comparisons=True, weighted=True, each=6):
    """Random choices of all kinds among the objects, and comparisons."""
    rng = np.random.default_rng(0)
    screens = np.array([rng.permutation(N) for _ in range(each)])
    anchors, shown = screens[:, 0], screens[:, 1:]
    parts = [
        tc.Choices.odd_one_out(screens[:, :3], n_objects=N),
        tc.Choices.most_central(screens[:, 3:6], n_objects=N),
        tc.Choices.ranking(anchors, shown[:, :5], n_objects=N),
        tc.Choices.nearest(anchors, shown, shown[:, :2], ranked=True, n_objects=N),
        tc.Choices.nearest(anchors, shown, shown[:, 2:4], n_objects=N),
        tc.Choices.nearest(anchors, shown, shown[:, :5], n_objects=N),
        tc.Choices.best_worst(anchors, shown, shown[:, 3], shown[:, 1], n_objects=N),
    ]
    if comparisons:
        parts += [tc.Triplets(screens[:, :3], n_objects=N), tc.Triplets(screens[:, 3:7])]
    joined = tc.Choices.concatenate(parts)[rng.permutation(sum(map(len, parts)))]
    if not weighted:
        return joined
    return with_weights(joined, rng.uniform(0.2, 4.0, len(joined)))


def with_weights(choices, weights):
    return restore(choices._fields._replace(weights=weights))


def make_target(model, learn=(), d=2, **kinds):
    prior = NormalPrior(2.0, learned=True, spread=0.8)
    plan = Plan(model, d, prior, check_learn(learn, model), "hmc", 1, 1, 0, "mode", device="gpu")
    return build_target(plan, of_every_kind(**kinds))


@pytest.fixture(scope="module")
def odd_ones():
    """Odd ones out of a world in two dimensions."""
    rng = np.random.default_rng(1)
    screens = np.array([rng.permutation(N)[:3] for _ in range(300)])
    points = 0.7 * rng.standard_normal((N, 2))
    asked = tc.Choices.odd_one_out(screens, n_objects=N)
    return choices_from_model(STEModel(), points, asked, random_state=2)


def distances(X):
    return np.linalg.norm(X[..., :, None, :] - X[..., None, :, :], axis=-1)


# ---- one choice


@pytest.mark.parametrize("group", GROUPS, ids=str)
@pytest.mark.parametrize("spread", [1.0, 30.0])
def test_a_choice_is_that_of_the_cpu(group, spread):
    kind, chosen, size = group
    rng = np.random.default_rng(0)
    u = (spread * rng.standard_normal((size, 50))).astype(np.float32).astype(np.float64)
    loss, slopes = np.empty(50), np.empty_like(u)
    for c in range(50):
        slope = np.empty(size)
        loss[c] = luce.choice_loss(kind, chosen, np.ascontiguousarray(u[:, c]), slope)
        slopes[:, c] = slope
    for dtype, tolerance in (("float64", 1e-12), ("float32", 2e-5)):
        found = loss_and_slopes(Group(*group), jnp.asarray(u, dtype))
        assert found[0].dtype == found[1].dtype == dtype
        assert_same(found, (loss, slopes), tolerance)


def test_groups_have_all_choices_in_their_order():
    lists = problem_of(of_every_kind()).lists
    parts = parts_of(lists)
    assert len({part.group for part in parts}) == len(parts) == 7
    edges = [edges for part in parts for edges in part.edges.T]
    for c, found in enumerate(edges):
        np.testing.assert_array_equal(found, lists.edges[lists.cuts[c] : lists.cuts[c + 1]])
    np.testing.assert_array_equal(np.concatenate([part.weights for part in parts]), lists.weights)
    assert len(work_of(parts)) == len(edges) == len(lists.kinds)
    assert parts_of(problem_of(tc.Triplets([[0, 1, 2]])).lists) == []


def test_a_loss_that_is_no_probability_is_refused():
    with pytest.raises(tc.errors.InputError, match=r"SOE has no .* use device='cpu'"):
        log_similarity(code_of(SOEModel()), 0.0, 0.0, jnp.ones(3))


# ---- the posterior


@pytest.mark.parametrize(("model", "learn"), CASES, ids=str)
def test_the_density_is_that_of_the_cpu(model, learn):
    target = make_target(model, learn)
    Y, eta = place(target)
    expected = on_the_cpu(target, Y, eta)
    assert_same(in_jax(target, Y, eta), expected, 1e-10)
    assert_same(in_jax(target, Y, eta, "float32"), expected, 3e-5)


@pytest.mark.parametrize("many", [False, True])
def test_choices_without_comparisons(many, monkeypatch):
    monkeypatch.setattr(target_module, "MOST_BY_MATRIX", N - many)
    target = make_target(STEModel(), ("lapse",), d=1, comparisons=False, weighted=False)
    assert len(target.problem.near) == 0
    Y, eta = place(target, 1)
    assert_same(in_jax(target, Y, eta), on_the_cpu(target, Y, eta), 1e-10)


def test_the_gradient_is_that_of_the_energy():
    """By JAX's own differentiation."""
    target = make_target(CKLModel(), ("lapse", "exponent", "mu"))
    form, data = convert(target, 2, "float64")
    Y, eta = map(jnp.asarray, place(target))
    expected = jax.grad(lambda *at: energies(form, data, *at).sum(), (0, 1))(Y, eta)
    assert_same(gradients(form, data, Y, eta), expected, 1e-10)


def test_chains_need_memory_for_choices():
    few, more = (convert(make_target(STEModel(), each=each), 2) for each in (6, 12))
    numbers = sum(part.edges.size for part in parts_of(problem_of(of_every_kind()).lists))
    assert bytes_a_chain(*more) - bytes_a_chain(*few) > 4 * 4 * numbers


def test_chains_in_lockstep_draw_the_posterior_of_the_cpu(odd_ones):
    """Means and standard deviations of all distances and of the lapse rate."""
    settings = {"learn": ("lapse",), "prior": tc.NormalPrior(2.0), "random_state": 0}
    makers = (
        tc.Posterior(tc.STE(2), n_chains=4, n_samples=3000, **settings),
        tc.Posterior(tc.STE(2), n_chains=128, n_samples=40, device="gpu", **settings),
    )
    figures = []
    for maker in makers:
        ensemble = maker.fit(odd_ones).ensemble_
        pairs = distances(ensemble.draws)[:, *np.triu_indices(N, 1)]
        drawn = [*pairs.T, np.log(ensemble.parameters["lapse"])]
        figures.append([known.by_chain(values, ensemble.n_chains) for values in drawn])
    for here, there in zip(*figures, strict=True):
        expected = SimpleNamespace(mean=here.mean(), sd=here.std(), quantiles=None)
        errors = known.mcse(here, "mean"), known.mcse(here, "sd")
        assert known.deviations(there, expected, errors).max() < known.LIMIT


# ---- fits


@pytest.mark.parametrize(
    ("model", "by_matrix"),
    [*((model, True) for model in MODELS), (STEModel(), False), (MODELS[-1], False)],
    ids=str,
)
def test_value_and_gradient(model, by_matrix, monkeypatch):
    problem = problem_of(of_every_kind())
    objective = Objective(model, 3, 0.1)
    X = np.random.default_rng(0).normal(size=(N, 3))
    loss, gradient = evaluate(objective, problem, X)
    if not by_matrix:
        monkeypatch.setattr("tercet.accelerator.forms._LARGEST_MATRIX", 0)
    with computing_on(find_device("gpu")):
        batch = load_batch(problem, [np.arange(problem.n_rows)], 3, 1, 2**30)
        assert batch.shape.by_matrix is by_matrix
        own = jax.tree.map(lambda part: part[0], batch.comparisons)
        for dtype, tolerance in (("float64", 1e-12), ("float32", 1e-5)):
            found = value_and_gradient(
                batch.shape, Loss(*objective.arguments), own, jnp.asarray(X), dtype
            )
            assert_allclose(float(found[0]), loss, rtol=tolerance)
            error = np.linalg.norm(np.asarray(found[1]) - gradient) / np.linalg.norm(gradient)
            assert error < tolerance


@pytest.mark.parametrize("by_matrix", [True, False])
def test_subsets_are_those_of_the_cpu(by_matrix, monkeypatch):
    """With repeats, of different sizes, and without any comparison: losses, weights and starts."""
    problem = problem_of(of_every_kind())
    rng = np.random.default_rng(0)
    only_lists = np.flatnonzero(problem.position >= len(problem.comparisons))
    subsets = [rng.integers(problem.n_rows, size=size) for size in (40, 51)] + [only_lists[:20]]
    objective = Objective(STEModel(), 2)
    X, vector = rng.normal(size=(N, 2)), rng.normal(size=N)
    if not by_matrix:
        monkeypatch.setattr("tercet.accelerator.forms._LARGEST_MATRIX", 0)
    with computing_on(find_device("gpu")):
        batch = load_batch(problem, subsets, 2, 1, 2**30)
        points = jnp.broadcast_to(X, (3, 1, N, 2))
        losses, gradients = solver_module.evaluate(objective, batch, points)
        begun = solver_module._starts(batch.comparisons, np.tile(vector, (3, 1)), batch.shape)
    for s, rows in enumerate(subsets):
        own = take_rows(problem, rows)
        loss, gradient = evaluate(objective, own, X)
        assert_allclose(losses[s, 0], loss, rtol=1e-12)
        assert_allclose(gradients[s, 0], gradient, atol=1e-10)
        assert batch.least[s] == pytest.approx(least_weight(own))
        start = spectral_points(own, vector, 2)
        assert_allclose(distances(np.asarray(begun[s])), distances(start), atol=1e-6)


@pytest.mark.parametrize("at_once", [1, 10**6])
def test_bootstraps_are_those_of_the_cpu(odd_ones, at_once, monkeypatch):
    problem = problem_of(odd_ones)
    rng = np.random.default_rng(0)
    subsets = [rng.integers(len(odd_ones), size=len(odd_ones)) for _ in range(3)]
    seeds = np.random.SeedSequence(0).spawn(3)
    descent = Descent(Objective(STEModel(), 2, 0.05), Options(n_init=1))
    expected = descent.solve_subsets(problem, subsets, seeds)
    monkeypatch.setattr(solver_module, "AT_ONCE", at_once)
    found = OnDevice(descent, "gpu").solve_subsets(problem, subsets, seeds)
    assert_allclose([fit.loss for fit in found], [fit.loss for fit in expected], rtol=1e-8)
    assert all(fit.converged for fit in found)


@pytest.mark.parametrize(
    "estimator",
    [tc.STE(2, penalty=0.05), tc.CKL(2, penalty=0.05), tc.Shepard(2, penalty=0.05)],
    ids=lambda estimator: type(estimator).__name__,
)
def test_estimators(odd_ones, estimator):
    cpu = estimator.set_params(random_state=0, device="cpu").fit(odd_ones)
    loss, map_ = cpu.loss_, distances(cpu.embedding_)
    gpu = estimator.set_params(device="gpu").fit(odd_ones)
    assert gpu.converged_
    assert_allclose(gpu.loss_, loss, rtol=1e-8)
    assert_allclose(distances(gpu.embedding_), map_, atol=2e-3 * map_.max())


def test_the_bootstrap_of_mixed_answers():
    boot = tc.Bootstrap(tc.STE(2, penalty=0.1), 4, random_state=0)
    answers = of_every_kind(weighted=False)
    cpu = boot.fit(answers).ensemble_
    gpu = boot.set_params(device="gpu").fit(answers).ensemble_
    assert_allclose(gpu.statistics["loss"], cpu.statistics["loss"], rtol=1e-7)
    assert gpu.provenance["counts"] == cpu.provenance["counts"]


def test_batches_leave_room_for_choices(odd_ones, monkeypatch):
    solver = OnDevice(Descent(Objective(STEModel(), 2)), "gpu")
    monkeypatch.setattr(solver_module, "IN_A_BATCH", 150 * len(odd_ones))
    assert solver.batch_size(problem_of(odd_ones), 100, 2) == 100  # three pairs, 1.5 comparisons
    assert solver.batch_size(problem_of(odd_ones), 200, 2) == 100
