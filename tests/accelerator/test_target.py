"""The accelerator's energy and gradient, on JAX's CPU device, against those of the CPU."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special

from tercet.accelerator import target as accelerator
from tercet.accelerator.target import energies, gradients, sum_out, wright_omega
from tercet.answers.triplets import Triplets
from tercet.models import CKLModel, ShepardModel, STEModel, TSTEModel
from tercet.posterior import variance
from tercet.posterior.draw import Plan, build_target, convert
from tercet.posterior.priors import NormalPrior, check_learn
from tercet.posterior.target import split_energy
from tercet.simulate import random_comparisons

pytestmark = pytest.mark.slow

N, M, C = 7, 40, 3
BLOCK = np.array([[1.5, 0.4], [0.4, 0.7]])
CASES = [
    (STEModel(), ()),
    (STEModel(), ("lapse",)),
    (TSTEModel(), ("lapse",)),
    (CKLModel(), ()),
    (CKLModel(0.1, exponent=1.5), ("mu",)),
    (CKLModel(), ("lapse", "exponent", "mu")),
    (ShepardModel(1.3), ()),
    (ShepardModel(1.3, tail=0.4), ()),
    (ShepardModel(), ("gamma", "tail", "lapse")),
]


@pytest.fixture(autouse=True)
def _in_double_precision():
    with jax.enable_x64(True):
        yield


def make_target(model, d=2, learn=(), weighted=True, learned=True, block=None, rows=None):
    """A posterior of triplets, or of quadruplets ``rows``."""
    if rows is None:
        rows = random_comparisons(N, M, replace=True, random_state=0)
    weights = np.random.default_rng(3).uniform(0.2, 4.0, len(rows)) if weighted else None
    prior = NormalPrior(2.0, block=block, learned=learned, spread=0.8)
    learn = check_learn(learn, model)
    plan = Plan(model, d, prior, learn, "hmc", 1, 1, 0, "mode", device="gpu")
    return build_target(plan, Triplets(rows, n_objects=N, weights=weights))


def place(target, d=2):
    """Shapes (n, d, C), centred, and etas (1 + k, C)."""
    rng = np.random.default_rng(1)
    Y = rng.standard_normal((target.problem.n_objects, d, C))
    return Y - Y.mean(axis=0), 0.5 * rng.standard_normal((1 + len(target.learned), C)) - 0.3


def on_the_cpu(target, Y, eta):
    """Energies (C,) and slopes of each chain, compiled."""
    found = np.empty(C), np.empty_like(Y), np.empty_like(eta)
    for c in range(C):
        shape, numbers = np.ascontiguousarray(Y[..., c]), np.ascontiguousarray(eta[:, c])
        by_Y, by_eta = np.empty_like(shape), np.zeros_like(numbers)
        found[0][c] = split_energy(target, shape, numbers, np.empty_like(shape), by_Y, by_eta)
        found[1][..., c], found[2][:, c] = by_Y, by_eta
    return found


def in_jax(target, Y, eta, dtype="float64"):
    form, data = convert(target, Y.shape[1], dtype)
    Y, eta = jnp.asarray(Y, dtype), jnp.asarray(eta)
    return energies(form, data, Y, eta), *gradients(form, data, Y, eta)


def assert_same(found, expected, tolerance):
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("model", "learn"), CASES, ids=str)
@pytest.mark.parametrize("learned", [False, True])
def test_the_density_is_that_of_the_cpu(model, learn, learned):
    target = make_target(model, 2, learn, learned=learned, block=BLOCK)
    Y, eta = place(target)
    expected = on_the_cpu(target, Y, eta)
    assert_same(in_jax(target, Y, eta), expected, 1e-10)
    assert_same(in_jax(target, Y, eta, "float32"), expected, 1e-5)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("many", [False, True])
def test_slopes_come_to_few_objects_by_a_matrix_and_to_many_by_lists(many, weighted, monkeypatch):
    if many:
        monkeypatch.setattr(accelerator, "MOST_BY_MATRIX", N - 1)
    target = make_target(CKLModel(), 2, ("lapse", "exponent"), weighted)
    _, data = convert(target, 2)
    assert (len(data.incidence) == 0) is many
    assert (len(data.around) > 0) is many
    Y, eta = place(target)
    assert_same(in_jax(target, Y, eta), on_the_cpu(target, Y, eta), 1e-10)


@pytest.mark.parametrize("d", [1, 5])
def test_any_dimension(d):
    target = make_target(TSTEModel(), d)
    Y, eta = place(target, d)
    assert_same(in_jax(target, Y, eta), on_the_cpu(target, Y, eta), 1e-10)


def test_quadruplets_and_objects_that_nobody_asked_about():
    rng = np.random.default_rng(0)
    rows = np.array([rng.permutation(N - 1)[:4] for _ in range(M)])
    target = make_target(STEModel(), rows=rows)
    Y, eta = place(target)
    assert_same(in_jax(target, Y, eta), on_the_cpu(target, Y, eta), 1e-10)


@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize(
    ("model", "learn"),
    [(CKLModel(), ("lapse", "exponent", "mu")), (ShepardModel(), ("lapse", "gamma"))],
)
def test_the_gradient_is_that_of_the_energy(model, learn, learned):
    """By JAX's own differentiation."""
    target = make_target(model, 2, learn, learned=learned, block=BLOCK)
    form, data = convert(target, 2, "float64")
    Y, eta = map(jnp.asarray, place(target))
    expected = jax.grad(lambda *at: energies(form, data, *at).sum(), (0, 1))(Y, eta)
    assert_same(gradients(form, data, Y, eta), expected, 1e-10)


def test_energies_in_single_precision_are_right_to_a_ten_millionth():
    """At shapes that single precision knows; a sum in single precision would lose that."""
    rows = random_comparisons(N, 20_000, replace=True, random_state=0)
    target = make_target(STEModel(), rows=rows, weighted=False)
    Y, eta = place(target)
    eta[0] = 0.0
    Y = Y.astype(np.float32).astype(np.float64)
    single, double = in_jax(target, Y, eta, "float32")[0], in_jax(target, Y, eta)[0]
    assert single.dtype == jnp.float64
    np.testing.assert_allclose(single, double, rtol=1e-7)


def test_lists_have_every_value_of_a_key_in_order():
    keys, values = np.array([2, 0, 2, 2, 1]), np.array([5, 6, 7, 8, 9])
    table, filled = accelerator.padded(keys, values, 4)
    assert table.shape == filled.shape == (3, 4)
    for key in range(4):
        np.testing.assert_array_equal(table[filled[:, key], key], values[keys == key])


# ---- a learned scale


def test_wright_omega_is_that_of_scipy():
    z = np.concatenate([np.linspace(-30.0, 30.0, 601), [100.0, 1e4]])
    np.testing.assert_allclose(wright_omega(jnp.asarray(z)), special.wrightomega(z), rtol=1e-14)


@pytest.mark.parametrize("freedom", [2.0, 98.0, 5000.0])
@pytest.mark.parametrize("sd", [0.1, 1.0, 3.0])
def test_the_scale_is_summed_out_as_on_the_cpu(freedom, sd):
    s = np.geomspace(1e-6, 1e8, 40)
    energy, slope = sum_out(jnp.asarray(s), freedom, 0.4, sd)
    expected = np.array([variance.sum_out(each, freedom, 0.4, sd) for each in s])
    np.testing.assert_allclose(energy, expected[:, 0], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(slope, expected[:, 1], rtol=1e-8)
