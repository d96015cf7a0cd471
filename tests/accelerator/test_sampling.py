"""Chains in lockstep, on JAX's CPU device: trajectories, warm-up, and posteriors that are known."""

from copy import deepcopy

import jax
import numpy as np
import pytest
from scipy import stats
from tests.statistical import test_samplers as known

import tercet as tc
from tercet.accelerator import sampling
from tercet.accelerator import sampling as lockstep
from tercet.accelerator.device import PLATFORM
from tercet.accelerator.sampling import Kept, Tuned, refined
from tercet.errors import InputError, TercetError
from tercet.models import STEModel
from tercet.posterior import draw, hamiltonian, mode, posterior
from tercet.posterior.draw import Plan, build_target, convert
from tercet.posterior.mode import find_modes
from tercet.simulate import answers_from_model, random_comparisons

pytestmark = pytest.mark.slow

N, D, C = 6, 2, 40
POINTS = np.random.default_rng(0).standard_normal((N, D))
QUESTIONS = random_comparisons(N, 60, replace=True, random_state=1)
ANSWERS = tc.Triplets(
    answers_from_model(STEModel(), POINTS, QUESTIONS, random_state=2), n_objects=N
)


@pytest.fixture(autouse=True)
def _an_accelerator(monkeypatch):
    if jax.default_backend() == "cpu":  # JAX's CPU device stands for a GPU where there is none
        monkeypatch.setenv(PLATFORM, "cpu")
    with jax.enable_x64(True):
        yield


def covariance():
    root = np.eye(N) + 0.3 * np.random.default_rng(0).standard_normal((N, N))
    return 0.05 * root @ root.T


# ---- the metric and trajectories


@pytest.mark.parametrize("diagonal", [False, True])
def test_momenta_have_the_metrics_covariance_given_that_they_move_no_centre(diagonal):
    A = np.diag(covariance()) if diagonal else covariance()
    metric = lockstep.make_metric(A, np.ones(1), "float64")
    theirs = hamiltonian.make_metric(A[None] if diagonal else A, np.ones(1))
    np.testing.assert_allclose(metric.shift, hamiltonian._shift(theirs), rtol=1e-10)
    normal = np.eye(N)[:, None]  # (n, 1, C): what becomes of each unit vector
    root = np.asarray(lockstep._momentum(metric, normal))[:, 0]
    inverse = np.linalg.inv(np.diag(A) if diagonal else A)
    ones = inverse.sum(axis=1)
    np.testing.assert_allclose(root @ root.T, inverse - np.outer(ones, ones) / ones.sum())
    P = np.random.default_rng(1).standard_normal((N, D, C))
    P -= P.mean(axis=0)
    velocity = np.asarray(lockstep._velocity(metric, P))
    full = np.diag(A) if diagonal else A
    np.testing.assert_allclose(
        velocity, np.einsum("ij,jdc->idc", (np.eye(N) - 1 / N) @ full, P), atol=1e-14
    )
    energy = 0.5 * np.einsum("idc,ij,jdc->c", P, full, P)
    np.testing.assert_allclose(lockstep._kinetic(metric, P, np.zeros((1, C))), energy, rtol=1e-12)


@pytest.fixture(scope="module")
def world():
    """A posterior in double precision, its metric, and a state of all chains."""
    plan = Plan(STEModel(), D, tc.NormalPrior(2.0, learned=True), {}, "hmc", 1, 1, 0, "mode", "gpu")
    form, data = convert(build_target(plan, ANSWERS), D, "float64")
    Y = POINTS[:, :, None] + 0.1 * np.random.default_rng(3).standard_normal((N, D, C))
    with jax.enable_x64(True):
        state = lockstep.start_state(form, data, Y, np.zeros((1, C)), 0.1)
    return form, data, state


BLOCK = 8


def advance(world, count, step=None, A=None, seed=0, length=1.0, most=1000, tune=False):
    form, data, state = world
    metric = lockstep.make_metric(covariance() if A is None else A, np.array([0.2]), "float64")
    state = state if step is None else state._replace(step=np.float64(step))
    key = jax.random.key(seed)
    return lockstep.advance(form, data, metric, state, key, count, BLOCK, length, most, tune)


def test_small_steps_keep_the_energy_to_second_order(world):
    """The same trajectories in steps half as long lose a quarter of the energy."""
    lost, gone = [], []
    for step in (0.04, 0.02, 0.01):
        seeds = [advance(world, 1, step, seed=seed)[1] for seed in range(4)]
        lost.append(np.sum([1.0 - draws.accepted[0] for draws in seeds]))
        gone.append(np.concatenate([draws.points[:, 0] for draws in seeds]))
    assert 0.0 < lost[0] < 0.05
    assert lost[0] / lost[1] == pytest.approx(4.0, rel=0.25)
    assert lost[1] / lost[2] == pytest.approx(4.0, rel=0.25)
    assert np.abs(gone[1] - gone[2]).max() < 0.05
    assert np.ptp(gone[0], axis=0).min() > 0.3  # they do go somewhere


def test_points_are_centred_and_of_the_noted_size_and_energy(world):
    form, data, _ = world
    state, draws = advance(world, BLOCK, 0.2)
    points, etas = np.asarray(draws.points), np.asarray(draws.etas)
    np.testing.assert_allclose(points.mean(axis=2), 0.0, atol=1e-12)
    sizes = 0.5 * np.log(np.sum(points**2, axis=(2, 3)) / form.freedom)
    np.testing.assert_allclose(etas[:, :, 0], sizes, atol=1e-10)
    again = lockstep.start_state(form, data, np.asarray(state.Y), np.asarray(state.eta), 0.1)
    for part in ("energy", "by_shape", "by_eta"):
        np.testing.assert_allclose(getattr(state, part), getattr(again, part), atol=1e-9)
    squares = np.sum(np.asarray(state.Y) ** 2, axis=(0, 1))
    of_points = np.asarray(state.energy) + form.freedom * etas[:, -1, 0] - 0.5 * squares
    np.testing.assert_allclose(draws.energies[:, -1], of_points, atol=1e-10)


def test_a_trajectory_that_leaves_the_track_is_noted_and_goes_nowhere(world):
    state, draws = advance(world, 3, 5.0, 1e6 * covariance())
    assert np.asarray(draws.divergent[:, :3]).all()
    assert np.asarray(draws.accepted[:3]).sum() == 0
    np.testing.assert_array_equal(state.Y, world[2].Y)


def test_blocks_of_any_length_give_the_same_draws_and_seeds_others(world):
    form, data, _ = world
    whole, draws = advance(world, 5, 0.2, tune=True)
    part, _ = advance(world, 2, 0.2, tune=True)
    parts, _ = advance((form, data, part), 3, tune=True)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, other)
    assert not np.allclose(draws.points, advance(world, 5, 0.2, seed=1)[1].points)


def test_lengths_are_even_around_the_one_asked_for_and_steps_are_limited(world):
    state, counts = world[2], []
    for _ in range(4):
        state, draws = advance((*world[:2], state), BLOCK, 0.1, length=0.6)
        counts += list(np.asarray(draws.steps))
    assert min(counts) == 1
    # Twelve steps at most, a few of them shorter: see `posterior.hamiltonian`.
    longer = np.mean(4.0 ** np.linspace(0.0, 1.0, 10_001) ** 8)
    assert np.mean(counts) == pytest.approx(0.5 + 6.0 * longer, rel=0.2)
    _, draws = advance(world, BLOCK, 0.01, length=5.0, most=7)
    assert np.asarray(draws.steps).max() == 7


# ---- the warm-up


def kept_of(points, etas=None):
    """Draws (C, S, n, d) as the sampler keeps them, of size 1."""
    shape = points.shape[:2]
    etas = np.zeros((*shape, 1)) if etas is None else etas
    none = np.zeros(shape[1])
    return Kept(points, etas, np.zeros(shape), np.zeros(shape, dtype=bool), none, none)


@pytest.mark.parametrize("diagonal", [False, True])
def test_the_metric_learns_from_all_chains_around_the_map_they_began_at(diagonal):
    """Two very different maps, whose first two objects move together, and three times as much."""
    rng = np.random.default_rng(0)
    maps = rng.standard_normal((2, N, D))
    maps -= maps.mean(axis=1, keepdims=True)
    points = np.tile(maps, (100, 1, 1))[:, None] + 0.1 * rng.standard_normal((200, 20, N, D))
    points[:, :, :2] += 0.3 * rng.standard_normal((200, 20, 1, D))
    etas = 0.5 * rng.standard_normal((200, 20, 1))
    A = 0.01 * np.ones(N) if diagonal else 0.01 * np.eye(N)
    kept = kept_of(points * np.exp(etas)[..., None], etas)
    tuned = refined(Tuned(None, A, np.array([0.1]), 1.0), kept, 2)
    assert tuned.widths == pytest.approx([0.5], rel=0.1)
    diagonal_of = tuned.A if diagonal else np.diag(tuned.A)
    assert diagonal_of[:2].min() > 3 * diagonal_of[2:].max()
    assert diagonal_of.max() < 0.15  # not the distance of the maps
    if not diagonal:
        assert tuned.A[0, 1] > 0.5 * tuned.A[0, 0]
        assert np.linalg.eigvalsh(tuned.A)[0] > 0


def test_few_draws_teach_no_metric():
    tuned = Tuned(None, np.eye(N), np.array([0.1]), 1.0)
    assert refined(tuned, kept_of(np.ones((2, 4, N, D))), 2) is tuned


def test_how_long_chains_remember_is_seen_in_their_jumps():
    rng, count = np.random.default_rng(0), 40
    rho = np.array([0.0, 0.5, 0.8, -0.5])
    x = rng.standard_normal((2000, count, 4))
    for t in range(1, count):
        x[:, t] = rho * x[:, t - 1] + np.sqrt(1 - rho**2) * x[:, t]
    found = sampling._forgetting(x, np.ones(4))
    assert found == pytest.approx([1.0, 3.0, 9.0, 1.0], rel=0.1)


# ---- posteriors that are known


def fitted(answers, estimator, **settings):
    usual = {"device": "gpu", "n_chains": 256, "n_samples": 60, "random_state": 1}
    return tc.Posterior(estimator, **(usual | settings)).fit(answers)


@pytest.mark.parametrize("name", ["ste_lapse", "ckl_learned"])
def test_draws_are_those_of_the_reference(name):
    """What NumPyro drew, the lapse rate, the exponent and mu among it."""
    path = next(path for path in known.REFERENCE if path.stem == name)
    assert known.compare(path, "hmc", 60, n_chains=256, device="gpu") < known.LIMIT


def test_another_prior_is_caught():
    path = next(path for path in known.REFERENCE if path.stem == "ckl_learned")
    prior = tc.NormalPrior(1.5)
    assert known.compare(path, "hmc", 60, n_chains=256, device="gpu", prior=prior) > 2 * known.LIMIT


def test_three_objects_on_a_line_are_as_integrated():
    """With relocations, and a learned variance."""
    prior = tc.NormalPrior(2.0, learned=True, spread=0.7)
    answers = tc.Triplets(known.LINE, n_objects=3)
    ensemble = fitted(answers, tc.STE(1), prior=prior).ensemble_
    figures = known.line_figures(ensemble.draws, ensemble.parameters["variance"])
    for values, exact in zip(figures, known.exact_line("ste", 0.7), strict=True):
        found = known.by_chain(values, ensemble.n_chains)
        assert known.deviations(found, exact).max() < known.LIMIT


@pytest.mark.filterwarnings("ignore:The weights of 30 answers")
def test_without_answers_points_are_the_priors(monkeypatch):
    """Five dimensions, quadruplets that weigh nothing, and a diagonal metric."""
    monkeypatch.setattr(mode, "DENSE", 0)
    n, d, v = 7, 5, 3.0
    rows = np.array([np.random.default_rng(k).permutation(n)[:4] for k in range(30)])
    answers = tc.Triplets(rows, n_objects=n, weights=np.full(30, 1e-12))
    ensemble = fitted(answers, tc.TSTE(d), prior=tc.NormalPrior(v), n_samples=30).ensemble_
    draws = ensemble.draws
    found = [
        (known.squares(draws) / v, stats.chi2((n - 1) * d)),
        (np.sum((draws[:, 0] - draws[:, 1]) ** 2, axis=1) / (2 * v), stats.chi2(d)),
        (np.sqrt(n / v) * draws.mean(axis=1)[:, 0], stats.norm()),
    ]
    for values, distribution in found:
        values, exact = known.by_chain(values, ensemble.n_chains), known.exactly(distribution)
        assert known.deviations(values, exact).max() < known.LIMIT


# ---- the seam


def test_the_estimators_device_is_meant_and_chains_begin_in_groups():
    estimator = tc.STE(2, device="gpu")
    settings = {"device": None, "n_chains": 37, "n_samples": 20, "warmup": 30}
    with pytest.warns(
        tc.errors.ConvergenceWarning, match="effective sample size of the .* is only"
    ):
        one = fitted(ANSWERS, estimator, **settings)
    assert one.diagnostics_.superchains == 16
    assert one.ensemble_.n_chains == 37
    assert np.isfinite(one.ensemble_.statistics["log_posterior"]).all()
    with pytest.warns(tc.errors.ConvergenceWarning):
        same = fitted(ANSWERS, estimator, **settings)
    np.testing.assert_array_equal(one.ensemble_.draws, same.ensemble_.draws)


@pytest.mark.filterwarnings("ignore:not converged")
def test_draws_do_not_depend_on_where_starts_are_searched_for(monkeypatch):
    """A backend's worker has copies of the generators, and those here stay as they were."""

    def find_elsewhere(target, model, theta, d, rngs, *more):
        return find_modes(target, model, theta, d, deepcopy(rngs), *more)

    def draws():
        settings = {"n_chains": 3, "n_samples": 2, "warmup": 2, "random_state": 0}
        return tc.Posterior(tc.STE(2), device="gpu", **settings).fit(ANSWERS).ensemble_.draws

    expected = draws()
    monkeypatch.setattr("tercet.posterior.draw.find_modes", find_elsewhere)
    np.testing.assert_array_equal(draws(), expected)


@pytest.mark.parametrize("sampler", ["elliptical_slice", "laplace"])
def test_other_samplers_run_on_the_cpu(sampler):
    with pytest.raises(InputError, match=f"sampler='{sampler}' runs on the CPU"):
        fitted(ANSWERS, tc.STE(2), sampler=sampler)
    maker = tc.Posterior(tc.STE(2), sampler=sampler, device="auto", n_chains=1000)
    assert maker._plan().device == "cpu"


def test_distances_are_drawn_on_the_cpu():
    with pytest.raises(InputError, match="runs on the CPU"):
        fitted(ANSWERS, tc.STE(2), prior=tc.DistancePrior(1.0, 1.0))


def test_auto_takes_a_gpu_for_many_chains_only(monkeypatch):
    many = {"device": "auto", "n_chains": posterior.MANY_CHAINS}
    assert tc.Posterior(tc.STE(2), **many)._plan().device == "gpu"
    assert tc.Posterior(tc.STE(2), device="auto")._plan().device == "cpu"
    monkeypatch.setattr(posterior, "find_device", lambda device: None)
    assert tc.Posterior(tc.STE(2), **many)._plan().device == "cpu"
    with pytest.raises(InputError, match="device must be 'auto', 'cpu' or 'gpu', got 'tpu'"):
        tc.Posterior(tc.STE(2), device="tpu").fit(ANSWERS)


def test_chains_that_do_not_fit_are_counted_before(monkeypatch):
    monkeypatch.setattr(draw, "memory_of", lambda device: 200_000)
    with pytest.raises(TercetError, match=r"256 chains need about .* use n_chains=\d+ or fewer"):
        fitted(ANSWERS, tc.STE(2))


def test_chains_on_a_gpu_keep_no_checkpoint(tmp_path):
    answers = random_comparisons(8, 60, random_state=0)
    settings = {"n_chains": 64, "n_samples": 4, "checkpoint": tmp_path / "run.ckpt"}
    with pytest.raises(InputError, match="have no checkpoints"):
        tc.Posterior(tc.STE(2), device="gpu", **settings).fit(answers)
    assert tc.Posterior(tc.STE(2), device="auto", **settings)._plan().device == "cpu"
