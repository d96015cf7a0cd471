"""“Cannot tell” and the odds of positions on the accelerator, against those of the CPU.

JAX's CPU device stands for a GPU where there is none.
"""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.accelerator.test_accelerator_lists import distances, with_weights
from tests.accelerator.test_target import assert_same, on_the_cpu, place
from tests.statistical import test_samplers as known

import tercet as tc
from tercet.accelerator import solver as solver_module
from tercet.accelerator.device import computing_on, find_device
from tercet.accelerator.lists import Group, loss_and_slopes, parts_of
from tercet.accelerator.solver import load_batch
from tercet.accelerator.target import energies, gradients
from tercet.embedder import problem_of
from tercet.engine.problem import UNKNOWN, take_rows
from tercet.engine.search import Objective, evaluate
from tercet.engine.starts import spectral_points
from tercet.kinds import BEST_WORST, FARTHEST_OR_TIE, ONE_OR_TIE
from tercet.models import CKLModel, STEModel, luce
from tercet.posterior.draw import Plan, build_target, convert
from tercet.posterior.priors import NormalPrior, check_learn, learn_from
from tercet.simulate import choices_from_model

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("compiled_quickly", "an_accelerator")]

N = 7
GROUPS = [(ONE_OR_TIE, 1, 2), (ONE_OR_TIE, 0, 5), (FARTHEST_OR_TIE, 0, 2), (FARTHEST_OR_TIE, 1, 5)]


def answers(shown=True, each=8):
    """Weighted choices in which some could not tell, and comparisons.

    If it is known where alternatives were shown, of most, also choices of other kinds.
    """
    rng = np.random.default_rng(0)
    screens = np.array([rng.permutation(N) for _ in range(each)])
    anchors, others = screens[:, 0], screens[:, 1:5]
    tied = np.arange(each) % 3 == 0

    def beside(size):
        positions = np.array([rng.permutation(size) for _ in range(each)])
        positions[-2:] = -1
        return {"n_objects": N, "positions": positions if shown else None}

    parts = [
        tc.Choices.odd_one_out(screens[:, :3], cannot_tell=tied, **beside(3)),
        tc.Choices.most_central(screens[:, 3:6], cannot_tell=tied, **beside(3)),
        tc.Triplets(screens[:, :3], n_objects=N),
    ]
    if shown:
        parts += [
            tc.Choices.nearest(anchors, others[:, 2:], others[:, 2], **beside(2)),
            tc.Choices.nearest(anchors, others, others[:, :2], **beside(4)),
            tc.Choices.best_worst(anchors, others, others[:, 3], others[:, 1], **beside(4)),
        ]
    joined = tc.Choices.concatenate(parts)[rng.permutation(sum(map(len, parts)))]
    return with_weights(joined, rng.uniform(0.2, 4.0, len(joined)))


@pytest.mark.parametrize("group", GROUPS, ids=str)
def test_a_choice_is_that_of_the_cpu(group):
    kind, chosen, size = group
    u = 10.0 * np.random.default_rng(0).standard_normal((size + 1, 20))
    u = u.astype(np.float32).astype(np.float64)
    slopes, loss = np.empty_like(u), np.empty(20)
    for c in range(20):
        slope = np.empty(size + 1)
        loss[c] = luce.choice_loss(kind, chosen, np.ascontiguousarray(u[:, c]), slope)
        slopes[:, c] = slope
    for dtype, tolerance in (("float64", 1e-12), ("float32", 2e-5)):
        found = jax.jit(loss_and_slopes, static_argnums=0)(Group(*group), jnp.asarray(u, dtype))
        assert_same(found, (loss, slopes), tolerance)
    assert Group(*group).chance == 1.0 / (size + 1)


def test_groups_know_their_places():
    """All but those of the most and the least similar, where sides do not matter."""
    lists = problem_of(answers(), sides=4).lists
    parts = parts_of(lists)
    assert len({part.group for part in parts}) == len(parts) == 7
    first = 0
    for part in parts:
        last = first + len(part.weights)
        expected = lists.places[lists.cuts[first] : lists.cuts[last]]
        assert part.group.sides is (part.group.kind != BEST_WORST)
        if part.places is not None:
            np.testing.assert_array_equal(part.places.T.ravel(), expected)
        first = last
    assert {part.places is None for part in parts} == {False, True}


# ---- the posterior


@pytest.mark.parametrize(
    ("model", "learn", "dtype", "tolerance"),
    [
        (STEModel(), (), "float32", 3e-5),
        (CKLModel(), ("lapse", "exponent", "bias"), "float64", 1e-10),
    ],
    ids=str,
)
def test_the_density_is_that_of_the_cpu(model, learn, dtype, tolerance):
    """Its slopes by the odds of "cannot tell" and of each position too."""
    given = answers(shown="bias" in learn)
    learned = learn_from(check_learn(learn, model), given)
    assert ("bias_3" in learned) is ("bias" in learn)
    prior = NormalPrior(2.0, learned=True, spread=0.8)
    target = build_target(Plan(model, 2, prior, learned, "hmc", 1, 1, 0, "mode", "gpu"), given)
    Y, eta = place(target)
    expected = on_the_cpu(target, Y, eta)
    assert np.all(np.abs(expected[2]) > 1e-3)
    form, data = convert(target, 2, dtype)

    @jax.jit
    def evaluated(Y, eta):
        return energies(form, data, Y, eta), *gradients(form, data, Y, eta)

    assert_same(evaluated(jnp.asarray(Y, dtype), jnp.asarray(eta)), expected, tolerance)


@pytest.fixture(scope="module")
def odd_ones():
    """Odd ones out of a world in which one side is preferred, and some cannot tell."""
    rng = np.random.default_rng(1)
    screens = np.array([rng.permutation(5)[:3] for _ in range(100)])
    positions = np.array([rng.permutation(3) for _ in range(100)])
    points = rng.standard_normal((5, 2))
    asked = tc.Choices.odd_one_out(screens, n_objects=5, positions=positions)
    world = {"tie": 0.7, "bias": [0.8, 0.0, -0.8], "random_state": 2}
    return choices_from_model(STEModel(), points, asked, **world)


def test_chains_in_lockstep_draw_the_posterior_of_the_cpu(odd_ones):
    """Means and standard deviations of distances, of the odds of ties and of the positions'."""
    settings = {"learn": ("bias",), "prior": tc.NormalPrior(2.0), "random_state": 0}
    makers = (
        tc.Posterior(tc.STE(2), n_chains=4, n_samples=2000, **settings),
        tc.Posterior(tc.STE(2), n_chains=64, n_samples=50, warmup=50, device="gpu", **settings),
    )
    figures = []
    for maker in makers:
        ensemble = maker.fit(odd_ones).ensemble_
        numbers = ensemble.parameters
        assert list(numbers) == ["tie", "bias_0", "bias_1", "bias_2"]
        drawn = [*distances(ensemble.draws)[:, *np.triu_indices(5, 1)].T, *numbers.values()]
        figures.append([known.by_chain(values, ensemble.n_chains) for values in drawn])
    for here, there in zip(*figures, strict=True):
        expected = SimpleNamespace(mean=here.mean(), sd=here.std(), quantiles=None)
        errors = known.mcse(here, "mean"), known.mcse(here, "sd")
        assert known.deviations(there, expected, errors).max() < known.LIMIT


# ---- fits


def subsets_of(shown=True):
    """Answers at some odds of "cannot tell" and of the positions, and rows, with repeats."""
    rng = np.random.default_rng(0)
    problem = problem_of(answers(shown), sides=4 if shown else 0)
    bonus = rng.standard_normal(len(problem.lists.bonus))
    bonus[UNKNOWN] = 0.0
    problem = problem._replace(lists=problem.lists._replace(bonus=bonus))
    return problem, [rng.integers(problem.n_rows, size=size) for size in (30, 41)]


@pytest.mark.parametrize(("by_matrix", "shown"), [(True, True), (False, False)])
def test_losses_and_gradients_are_those_of_the_cpu(by_matrix, shown, monkeypatch):
    problem, subsets = subsets_of(shown)
    objective = Objective(STEModel(), 2, 0.1)
    X = np.random.default_rng(0).normal(size=(N, 2))
    if not by_matrix:
        monkeypatch.setattr("tercet.accelerator.forms._LARGEST_MATRIX", 0)
    with computing_on(find_device("gpu")):
        batch = load_batch(problem, subsets, 2, 1, 2**30)
        assert batch.shape.by_matrix is by_matrix
        points = jnp.broadcast_to(X, (2, 1, N, 2))
        losses, slopes = solver_module.evaluate(objective, batch, points)
    for s, rows in enumerate(subsets):
        loss, gradient = evaluate(objective, take_rows(problem, rows), X)
        assert_allclose(losses[s, 0], loss, rtol=1e-12)
        assert_allclose(slopes[s, 0], gradient, atol=1e-10)


def test_starts_are_those_of_the_cpu():
    problem, subsets = subsets_of()
    vector = np.random.default_rng(0).normal(size=N)
    with computing_on(find_device("gpu")):
        batch = load_batch(problem, subsets, 2, 1, 2**30)
        begun = solver_module._starts(batch.comparisons, np.tile(vector, (2, 1)), batch.shape)
    for s, rows in enumerate(subsets):
        start = spectral_points(take_rows(problem, rows), vector, 2)
        assert_allclose(distances(np.asarray(begun[s])), distances(start), atol=1e-6)


def test_an_estimator_finds_the_odds_of_a_tie(odd_ones):
    cpu, gpu = (
        tc.STE(2, penalty=0.05, n_init=1, random_state=0, device=device).fit(odd_ones)
        for device in ("cpu", "gpu")
    )
    assert gpu.converged_
    assert_allclose(gpu.loss_, cpu.loss_, rtol=1e-8)
    assert_allclose(gpu.tie_, cpu.tie_, rtol=1e-3)
    apart = distances(cpu.embedding_)
    assert_allclose(distances(gpu.embedding_), apart, atol=2e-3 * apart.max())


def test_programs_without_ties_and_sides_have_no_bonus():
    """So that they are compiled as before."""
    problem = problem_of(answers(shown=False).without_ties())
    batch = load_batch(problem, [np.arange(problem.n_rows)], 2, 1, 2**30)
    assert batch.comparisons.bonus is None
    assert all(own.places is None for own in batch.comparisons.lists)
    assert not any(group.ties or group.sides for group in batch.shape.groups)
