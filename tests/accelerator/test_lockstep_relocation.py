"""Objects put elsewhere in many chains at once: the answers about them, and the posterior kept.

On JAX's CPU device where there is no other.
"""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from tests.accelerator.test_ties_and_sides import answers as ties_and_sides
from tests.posterior.test_relocation import ambiguous, conditional, posterior_draws
from tests.worlds import choices_of_every_kind

import tercet as tc
from tercet.accelerator import relocation, sampling
from tercet.accelerator.target import bytes_a_chain, constants_at, energies
from tercet.models.shepard import ShepardModel
from tercet.models.ste import STEModel
from tercet.posterior import draw
from tercet.posterior.draw import Plan, build_target, convert
from tercet.posterior.priors import NormalPrior, check_learn, first_theta, learn_from
from tercet.posterior.relocation import own_answers
from tercet.simulate import random_comparisons

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("compiled_quickly", "an_accelerator")]

N, C = 7, 3
ROWS = random_comparisons(N, 50, random_state=0)


def target_of(answers, d=2, learn=("gamma", "tail", "lapse"), model=None, **prior):
    model = model or ShepardModel()
    normal = NormalPrior(**({"variance": 2.0} | prior))
    checked = learn_from(check_learn(learn, model), answers)
    plan = Plan(model, d, normal, checked, "hmc", 1, 1, 0, "mode", "gpu")
    return build_target(plan, answers), first_theta(checked, model)


def on_device(target, d, dtype="float64"):
    """Form and data, with the answers about every object."""
    form, data = convert(target, d, dtype, relocating=True)
    return form, jax.device_put(data)


def worlds():
    rng = np.random.default_rng(1)
    triplets = tc.Triplets(ROWS, n_objects=N)
    weighted = tc.Triplets(ROWS, n_objects=N, weights=rng.random(50))
    quadruplets = tc.Triplets([[0, 1, 2, 3], [4, 5, 0, 6], [2, 1, 2, 4]], n_objects=N)
    every = choices_of_every_kind(N, 6, weights=lambda m: np.random.default_rng(2).random(m) + 0.5)
    block = [[1.5, 0.4], [0.4, 0.7]]
    return {
        "triplets": lambda: target_of(triplets),
        "weights, on a line": lambda: target_of(weighted, d=1),
        "quadruplets": lambda: target_of(quadruplets, learn=(), model=STEModel()),
        "a block of the prior": lambda: target_of(triplets, learned=True, block=block),
        "choices": lambda: target_of(every),
        "ties": lambda: target_of(ties_and_sides(shown=False)),
        "ties and sides": lambda: target_of(ties_and_sides(), learn=("lapse", "bias")),
    }


# ---- the answers about an object


@pytest.mark.parametrize("name", worlds())
def test_a_place_costs_the_answers_about_its_object_only(name):
    """Differences of own energies are those of whole ones, and the derivatives are right."""
    target, theta = worlds()[name]()
    d, rng = len(target.precision), np.random.default_rng(3)
    form, data = on_device(target, d)
    n = form.n_objects
    eta = jnp.asarray(np.concatenate([[0.3], theta])[:, None] + 0.1 * rng.standard_normal(C))
    here, there = rng.standard_normal((2, d, C))

    @jax.jit
    def own(X, i, places):
        given = relocation._given_others(data, constants_at(form, data, eta[1:]), i, X)
        point = relocation._expand(form, data, given, places, 1e-6 * jnp.ones(C))
        return relocation.own_energies(form, data, given, places), point

    @jax.jit
    def whole(X):
        """Of points, which are the shape here, in the size that they have."""
        X = X - X.mean(axis=0)
        squares = jnp.sum(X**2, axis=(0, 1))
        at = eta.at[0].set(0.5 * jnp.log(squares / form.freedom))
        return energies(form, data, X, at) + form.freedom * at[0] - 0.5 * squares

    for i in range(n):
        others = rng.standard_normal((n, d, C))
        others[i] = 0.0
        others -= others.sum(axis=0) / (n - 1.0)
        others[i] = 1e3  # of no importance
        X, places = jnp.asarray(others), jnp.asarray(np.stack([here, there], axis=1))
        energy, point = own(X, i, places)
        expected = whole(X.at[i].set(there)) - whole(X.at[i].set(here))
        np.testing.assert_allclose(energy[1] - energy[0], expected, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(point.energy, energy, rtol=1e-12)
        for k, step in enumerate(1e-6 * np.eye(d)):
            ends = [own(X, i, places + sign * step[:, None, None]) for sign in (1.0, -1.0)]
            slope = (ends[0][0] - ends[1][0]) / 2e-6
            np.testing.assert_allclose(point.slope[k], slope, rtol=1e-4, atol=1e-4)
            curvature = (ends[0][1].slope - ends[1][1].slope) / 2e-6
            np.testing.assert_allclose(point.H[k], curvature, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("name", ["triplets", "choices"])
def test_every_answer_about_an_object_is_listed_once(name):
    target, _ = worlds()[name]()
    form, data = convert(target, 2, relocating=True)
    own = own_answers(target.problem)
    listed = np.array([(table.weights > 0).sum(axis=1) for table in data.own])
    np.testing.assert_array_equal(listed[0], np.diff(own.rows))
    np.testing.assert_array_equal(listed[1:].sum(axis=0), np.diff(own.first_choice))
    assert len(data.own) == 1 + len(form.groups)
    for table in data.own:
        i = np.arange(N)[:, None, None]
        assert not (table.second == i).any()
        real = np.broadcast_to((table.weights > 0)[:, None], table.first.shape)
        assert not (table.first == i)[~real].any()


def test_without_request_nothing_is_listed_and_what_is_listed_needs_memory(monkeypatch):
    target, _ = worlds()["triplets"]()
    assert convert(target, 2)[1].own == ()
    assert bytes_a_chain(*convert(target, 2, relocating=True)) > bytes_a_chain(*convert(target, 2))
    asked = []

    def note(*_, relocating):
        asked.append(relocating)
        raise StopIteration

    monkeypatch.setattr(draw, "convert", note)
    for largest in (50, 49):
        monkeypatch.setattr(draw, "LARGEST", largest)
        with pytest.raises(StopIteration):
            tc.Posterior(tc.STE(2), device="gpu", n_chains=2, n_samples=4, random_state=0).fit(
                tc.Triplets(ROWS, n_objects=N)
            )
    assert asked == [True, False]


# ---- matrices


@pytest.mark.parametrize("d", [1, 2, 5])
def test_roots_are_of_what_is_made_positive_definite(d):
    rng = np.random.default_rng(0)
    H = rng.standard_normal((d, d, 40))
    H = H + np.swapaxes(H, 0, 1) + 2.0 * np.eye(d)[:, :, None] * (np.arange(40) % 2)
    damping = np.full(40, 0.01)
    L, used = map(np.asarray, jax.jit(relocation._root)(jnp.asarray(H), jnp.asarray(damping)))
    for c in range(40):
        expected = H[:, :, c] + used[c] * np.eye(d)
        assert np.linalg.eigvalsh(expected)[0] > 0.0
        np.testing.assert_allclose(L[:, :, c], np.linalg.cholesky(expected), atol=1e-6)
        if np.linalg.eigvalsh(H[:, :, c])[0] > 0.0:
            assert used[c] == 0.01
    g = rng.standard_normal((d, 40))
    step = jax.jit(lambda L, g: relocation._backward(L, relocation._forward(L, g)))(L, g)
    for c in range(40):
        matrix = H[:, :, c] + used[c] * np.eye(d)
        np.testing.assert_allclose(matrix @ step[:, c], g[:, c], atol=1e-6)


def test_climbs_arrive_at_maxima():
    """At slopes of zero and positive curvatures, if the steps suffice."""
    target, theta = target_of(tc.Triplets(ROWS, n_objects=N), learned=True)
    form, data = on_device(target, 2)
    rng = np.random.default_rng(0)
    others = jnp.asarray(rng.standard_normal((N, 2, 1)) * np.ones(C))
    at = constants_at(form, data, jnp.asarray(theta)[:, None] * jnp.ones(C))

    @jax.jit
    def climb(starts):
        given = relocation._given_others(data, at, jnp.asarray(2), others)
        begun = relocation.own_energies(form, data, given, starts)
        return begun, *relocation._climb(form, data, given, starts, jnp.ones(C))

    begun, point, roots = climb(jnp.asarray(rng.standard_normal((2, 3, C))))
    assert (point.energy <= begun).all()
    assert np.mean(np.abs(point.slope) < 0.05) > 0.7
    product = np.einsum("klpc,mlpc->kmpc", roots, roots) - np.eye(2)[:, :, None, None]
    settled = np.all(np.abs(np.asarray(point.slope)) < 0.05, axis=0)
    np.testing.assert_allclose(product[:, :, settled], point.H[:, :, settled], atol=1e-6)


# ---- the density of a place


def relocating(target, d, theta, count):
    """The program that relocates object i in ``count`` chains (n, d, count)."""
    form, data = on_device(target, d)
    at = constants_at(form, data, jnp.asarray(theta)[:, None] * jnp.ones(count))
    return jax.jit(lambda X, i, key: relocation.relocate(form, data, at, X, i, key))


@pytest.mark.parametrize("d", [1, 2])
def test_places_are_drawn_from_their_conditional_density(d):
    """Known by numerical integration, over a grid; the others stay where they are."""
    (target, theta), X = ambiguous(d)
    i, count = 5, 2000
    X, energy = conditional(target, own_answers(target.problem), theta, X, i)
    axis = np.linspace(-9.0, 9.0, 1201 if d == 1 else 181)
    grid = np.stack(np.meshgrid(*[axis] * d, indexing="ij"), axis=-1)
    logs = -np.array([energy(place)[0] for place in grid.reshape(-1, d)]).reshape(grid.shape[:-1])
    density = np.exp(logs - logs.max())
    move = relocating(target, d, theta, count)
    chains = jnp.asarray(X[:, :, None] * np.ones(count))
    for round_ in range(12):
        chains, moved = move(chains, i, jax.random.key(round_))
    assert moved.mean() > 0.5
    chains = np.asarray(chains)
    np.testing.assert_allclose(chains.mean(axis=0), 0.0, atol=1e-12)
    places = chains[i] - np.delete(chains, i, axis=0).mean(axis=0)
    for k in range(d):
        margin = density.sum(axis=tuple(a for a in range(d) if a != k))
        cdf = np.cumsum(margin) / margin.sum()
        ends = axis + 0.5 * (axis[1] - axis[0])  # of the cells of the grid
        found = stats.kstest(places[k], lambda x, ends=ends, cdf=cdf: np.interp(x, ends, cdf))
        assert found.pvalue > 1e-4


def features(X):
    """Distances, one of which is compared with another, and the size, of points (S, n, d)."""
    pairs = [(0, 1), (0, 2), (1, 4), (3, 4)]
    distances = [np.linalg.norm(X[:, a] - X[:, b], axis=1) for a, b in pairs]
    near = distances[0] < distances[1]
    return np.stack([*distances, np.sum(X**2, axis=(1, 2)), near], axis=1)


def weak_target():
    rows = [(0, 1, 2), (0, 1, 3), (4, 3, 1), (2, 4, 0), (1, 0, 3)]
    return target_of(tc.Triplets(rows, n_objects=5), learn=())


@cache
def weak_draws():
    return posterior_draws(*weak_target(), 12_000, np.random.default_rng(7))


def surprise(move):
    """Largest z of features before and after a move of half of the draws of a weak posterior."""
    draws = weak_draws()
    count = len(draws) // 2
    a = features(draws[:count])
    b = features(move(draws[count:]))
    return np.abs((a.mean(0) - b.mean(0)) / np.sqrt((a.var(0) + b.var(0)) / count)).max()


def relocate_often(draws):
    """Relocate random objects five times."""
    target, theta = weak_target()
    move = relocating(target, 2, theta, len(draws))
    X, rng = jnp.asarray(np.moveaxis(draws, 0, -1)), np.random.default_rng(8)
    for round_ in range(5):
        X, _ = move(X, int(rng.integers(5)), jax.random.key(round_))
    return np.moveaxis(np.asarray(X), -1, 0)


def test_relocations_keep_the_posterior():
    assert surprise(relocate_often) < 4.5


@pytest.mark.parametrize("factor", [0.0, 0.5])
def test_a_broken_ratio_is_noticed(monkeypatch, factor):
    """Not dividing by the density of the proposal, or by half of it, draws something else."""
    right = relocation._log_density
    monkeypatch.setattr(relocation, "_log_density", lambda *given: factor * right(*given))
    assert surprise(relocate_often) > 6.0


def test_a_mixture_does_not_know_the_present_place(monkeypatch):
    """The same candidates, wherever the object is."""
    seen = []
    right = relocation._log_density

    def note(mixture, places):
        seen.append((mixture, places[:, 1:]))
        return right(mixture, places)

    monkeypatch.setattr(relocation, "_log_density", note)
    target, theta = weak_target()
    form, data = on_device(target, 2)
    at = constants_at(form, data, jnp.asarray(theta)[:, None] * jnp.ones(C))
    X, found = np.random.default_rng(0).standard_normal((5, 2, C)), []

    @jax.jit
    def find(X):
        relocation.relocate(form, data, at, X, 3, jax.random.key(0))
        return seen.pop()

    for place in (X[3], 5.0 + X[3]):
        moved = X.copy()
        moved[3] = place
        found.append(jax.tree.leaves(find(jnp.asarray(moved))))
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_relocations_and_swaps_as_the_sampler_makes_them_keep_the_posterior(monkeypatch):
    """All but the trajectories; the sampler's energies and sizes stay those of its points."""
    monkeypatch.setattr(relocation, "RELOCATED", 1)
    target, theta = weak_target()
    form, data = on_device(target, 2)

    def move(draws):
        X = jnp.asarray(np.moveaxis(draws, 0, -1))
        sizes = jnp.sqrt(jnp.sum(X**2, axis=(0, 1)) / form.freedom)
        Y, eta = 0.7 * X / sizes, jnp.log(sizes)[None]

        @jax.jit
        def both(Y, eta, key):
            keys, energy = jax.random.split(key), energies(form, data, Y, eta)
            Y, eta, energy = relocation.relocate_some(form, data, Y, eta, energy, keys[0])
            Y, energy = relocation.swap(form, data, Y, eta, energy, keys[1])
            return Y, eta, energy, energies(form, data, Y, eta)

        length = jnp.sum(Y**2, axis=(0, 1))
        Y, eta, energy, expected = both(Y, eta, jax.random.key(1))
        np.testing.assert_allclose(energy, expected, rtol=1e-12)
        np.testing.assert_allclose(jnp.sum(Y**2, axis=(0, 1)), length, rtol=1e-10)
        return np.moveaxis(np.asarray(Y / 0.7 * jnp.exp(eta[0])), -1, 0)

    assert len(theta) == 0
    assert surprise(move) < 4.5


def test_an_object_stays_where_nothing_better_can_be_computed():
    """All candidates are NaN."""
    target, theta = weak_target()
    form, data = on_device(target, 2)
    data = data._replace(scale_mean=np.nan)
    at = constants_at(form, data, jnp.asarray(theta)[:, None] * jnp.ones(C))
    X = np.random.default_rng(0).standard_normal((5, 2, C))
    X -= X.mean(axis=0)
    move = jax.jit(lambda X: relocation.relocate(form, data, at, X, 3, jax.random.key(0)))
    found, moved = move(jnp.asarray(X))
    assert not moved.any()
    np.testing.assert_allclose(found, X, atol=1e-12)


# ---- exchanges


def test_an_exchange_moves_two_objects_to_each_others_places():
    Y = np.random.default_rng(0).standard_normal((N, 2, 30))
    out = np.asarray(relocation.propose_swap(jnp.asarray(Y), jax.random.key(0)))
    for c in range(30):
        i, j = np.flatnonzero((out[..., c] != Y[..., c]).any(axis=1))
        np.testing.assert_array_equal(out[[i, j], :, c], Y[[j, i], :, c])


def test_an_exchange_and_its_inverse_are_proposed_equally_often():
    Y, count = np.random.default_rng(0).standard_normal((4, 2, 1)), 20_000
    other = Y[[1, 0, 2, 3]]

    def proposed(here, there, seed):
        chains = jnp.asarray(here * np.ones(count))
        out = np.asarray(relocation.propose_swap(chains, jax.random.key(seed)))
        return (out == there).all(axis=(0, 1)).sum()

    forth, back = proposed(Y, other, 1), proposed(other, Y, 2)
    assert 500 < forth < count / 2
    assert abs(forth - back) < 4.5 * np.sqrt(forth + back)


# ---- in the sampler


def test_blocks_of_any_length_give_the_same_draws():
    target, theta = worlds()["triplets"]()
    form, data = on_device(target, 2, "float32")
    rng, k = np.random.default_rng(0), 1 + len(theta)
    eta = np.concatenate([[0.0], theta])[:, None] * np.ones(C)
    begun = sampling.start_state(form, data, rng.standard_normal((N, 2, C)), eta, 0.1)
    metric = sampling.make_metric(0.05 * np.eye(N), np.full(k, 0.2), form.dtype)

    def advance(state, count):
        key = jax.random.key(0)
        return sampling.advance(form, data, metric, state, key, count, 4, 0.3, 8, False)

    whole, draws = advance(begun, 4)
    state, first = advance(begun, 1)
    parts, rest = advance(state, 3)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, other)
    together = np.concatenate([first.points[:, :1], rest.points[:, :3]], axis=1)
    np.testing.assert_array_equal(draws.points, together)
    again = sampling.start_state(form, data, np.asarray(whole.Y), np.asarray(whole.eta), 0.1)
    for part in ("energy", "by_shape", "by_eta"):
        ours, theirs = getattr(whole, part), getattr(again, part)
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-3)
    sizes = 0.5 * np.log(np.sum(np.asarray(draws.points) ** 2, axis=(2, 3)) / form.freedom)
    np.testing.assert_allclose(draws.etas[:, :, 0], sizes, atol=1e-5)
