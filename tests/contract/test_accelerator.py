"""The accelerator and the CPU give the same results, within what docs/accelerator.md states.

On a machine without a GPU, JAX's CPU device stands for it; on one with a GPU, the GPU is tested.
"""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tercet as tc
from tercet.accelerator import device as device_module
from tercet.accelerator.device import computing_on, find_device
from tercet.cli import main
from tercet.engine.kernels import code_of
from tercet.engine.problem import build_problem
from tercet.engine.search import Descent, Objective, Options, evaluate
from tercet.engine.starts import spectral_start
from tercet.models import CKLModel, GNMDSModel, ShepardModel, STEModel, known_models

jax = pytest.importorskip("jax")

from tercet.accelerator import solver as solver_module  # noqa: E402
from tercet.accelerator.forms import Loss, choose_shape, rows_of, value_and_gradient  # noqa: E402
from tercet.accelerator.solver import OnDevice, load_batch  # noqa: E402
from tercet.accelerator.twins import log_similarity, model_loss  # noqa: E402

pytestmark = pytest.mark.slow

N, M = 40, 3000
MODELS = [
    *(kind() for kind in known_models().values()),
    CKLModel(mu=0.0, exponent=1.5),
    ShepardModel(gamma=1.7),
    ShepardModel(gamma=1.7, tail=0.4),
    GNMDSModel(smoothing=0.3),
]
SIMILARITIES = [model for model in MODELS if model.is_probability]


@pytest.fixture(scope="module", autouse=True)
def _compiled_quickly():
    """Compiling takes longer than computing here."""
    jax.config.update("jax_disable_most_optimizations", jax.default_backend() == "cpu")
    yield
    jax.config.update("jax_disable_most_optimizations", False)


@pytest.fixture(autouse=True)
def _an_accelerator(monkeypatch):
    if jax.default_backend() == "cpu":
        monkeypatch.setenv(device_module.PLATFORM, "cpu")


@pytest.fixture(scope="module")
def answers():
    points, _ = tc.simulate.gaussian_mixture(N, random_state=0)
    return tc.simulate.noisy_triplets(points, M, noise=0.3, random_state=0)


def distances(X):
    return np.linalg.norm(X[:, None] - X, axis=2)


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 2e-6)])
def test_models_are_the_compiled_ones(model, dtype, tolerance):
    rng = np.random.default_rng(0)
    near, far = rng.exponential(size=(2, 500))
    near[:3] = far[3:6] = 0.0
    expected = model.loss(near, far, 3)
    with computing_on(find_device("gpu")):
        found = model_loss(
            code_of(model), *model.constants(3), *(jax.numpy.asarray(v, dtype) for v in (near, far))
        )
    for ours, theirs in zip(found, expected, strict=True):
        finite = np.abs(theirs) < 1e6  # a slope at distance zero is as large as it may be
        assert_allclose(np.asarray(ours)[finite], theirs[finite], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("model", SIMILARITIES, ids=repr)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-11), ("float32", 2e-6)])
def test_similarities_are_the_compiled_ones(model, dtype, tolerance):
    """Their slopes too, by JAX's own differentiation, and where two points meet."""
    squared = np.append(0.0, np.random.default_rng(0).exponential(size=500))
    expected = model.log_similarity(squared, 3)
    with computing_on(find_device("gpu")):

        def log_s(at):
            return log_similarity(code_of(model), *model.constants(3), at)

        at = jax.numpy.asarray(squared, dtype)
        found = log_s(at), jax.vmap(jax.grad(log_s))(at)
    for ours, theirs in zip(found, expected, strict=True):
        assert np.isfinite(np.asarray(ours)).all()
        assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def test_a_loss_has_no_similarity():
    with pytest.raises(tc.InputError, match="SOE has no JAX version"):
        log_similarity(code_of(tc.SOE(2).model()), 0.1, 0.0, np.zeros(2))


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-12), ("float32", 1e-5)])
@pytest.mark.parametrize(
    ("by_matrix", "columns", "weighted", "d"),
    [(True, 3, False, 2), (False, 3, True, 2), (True, 4, True, 20), (False, 4, False, 3)],
)
def test_value_and_gradient(model, dtype, tolerance, by_matrix, columns, weighted, d):
    rng = np.random.default_rng(columns)
    rows = np.array([rng.choice(N, columns, replace=False) for _ in range(400)])
    weights = rng.uniform(0.5, 2.0, 400) if weighted else None
    X = rng.normal(size=(N, d))
    objective = Objective(model, d, 0.1)
    problem = build_problem(rows, N, weights)
    loss, gradient = evaluate(objective, problem, X)
    with computing_on(find_device("gpu")):
        batch = load_batch(problem, [np.arange(400)], d, 1, 2**30)
        shape = batch.shape._replace(by_matrix=by_matrix)
        own = jax.tree.map(lambda part: part[0], batch.comparisons)
        own = own._replace(rows=jax.numpy.asarray(rows_of(problem.comparisons, shape)))
        if weighted:
            own = own._replace(weights=jax.numpy.asarray(problem.weights))
        points = jax.numpy.asarray(X)
        found = value_and_gradient(shape, Loss(*objective.arguments), own, points, dtype)
    assert_allclose(float(found[0]), loss, rtol=tolerance)
    error = np.linalg.norm(np.asarray(found[1]) - gradient) / np.linalg.norm(gradient)
    assert error < tolerance


def test_the_form_suits_the_shape():
    assert choose_shape(1854, 49, 4_700_000, 2**37).by_matrix
    assert not choose_shape(50_000, 10, 5_000_000, 2**37).by_matrix
    assert not choose_shape(1854, 49, 4_700_000, 2**26).by_matrix  # no room for the matrix


@pytest.mark.parametrize("by_matrix", [True, False])
@pytest.mark.parametrize("d", [1, 3])
def test_spectral_start(answers, by_matrix, d):
    problem = build_problem(answers.array, N)
    expected = spectral_start(problem, d, np.random.default_rng(3))
    vector = np.random.default_rng(3).standard_normal(N)
    from tercet.accelerator.solver import spectral_start as on_device

    with computing_on(find_device("gpu")):
        batch = load_batch(problem, [np.arange(M)], d, 1, 2**30)
        shape = batch.shape._replace(by_matrix=by_matrix)
        own = batch.comparisons._replace(
            rows=jax.numpy.asarray(rows_of(problem.comparisons, shape)), weights=None
        )
        found = np.asarray(on_device(shape, own, jax.numpy.asarray(vector)))
    assert_allclose(distances(found), distances(expected), atol=1e-7)


def test_a_start_where_few_objects_are_compared():
    """Lanczos iteration runs out of directions, and one object is in no comparison."""
    rows = np.array([[0, 1, 2], [1, 0, 2], [2, 1, 0], [0, 2, 1]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits = [
            tc.STE(2, penalty=0.1, device=name, random_state=0).fit(rows, n_objects=4)
            for name in ("cpu", "gpu")
        ]
    assert_allclose(fits[1].loss_, fits[0].loss_, rtol=1e-8)


@pytest.mark.parametrize(
    ("estimator", "loss", "distance"),
    [
        (tc.STE(2, penalty=0.01), 1e-8, 1e-3),
        (tc.TSTE(2, penalty=0.01), 1e-8, 1e-3),
        (tc.CKL(2, penalty=0.01), 1e-8, 2e-3),
        (tc.GNMDS(2, C=30.0, direct=True), 1e-5, 1e-2),
        (tc.SOE(3, n_init=2), 1e-4, 2e-2),  # its minima have corners
    ],
    ids=lambda value: type(value).__name__,
)
def test_estimators(answers, estimator, loss, distance):
    cpu = estimator.set_params(random_state=0, device="cpu").fit(answers)
    cpu_loss, cpu_map = cpu.loss_, distances(cpu.embedding_)
    gpu = estimator.set_params(device="gpu").fit(answers)
    assert gpu.converged_
    assert_allclose(gpu.loss_, cpu_loss, rtol=loss)
    assert_allclose(distances(gpu.embedding_), cpu_map, atol=distance * cpu_map.max())


def test_bootstrap(answers):
    boot = tc.Bootstrap(tc.STE(2), 6, fraction=0.4, random_state=0)
    cpu = boot.fit(answers).ensemble_
    gpu = boot.set_params(device="gpu").fit(answers).ensemble_
    assert_allclose(gpu.statistics["loss"], cpu.statistics["loss"], rtol=1e-8)
    comparisons = answers.array[:200]
    assert_allclose(
        gpu.triplet_probability(comparisons), cpu.triplet_probability(comparisons), atol=1e-3
    )
    assert gpu.provenance["counts"] == cpu.provenance["counts"]


def test_bootstrap_of_units_of_unequal_size(answers):
    observers = np.repeat(np.arange(12), np.linspace(100, 400, 12).astype(int))
    some = tc.Triplets(answers.array[: len(observers)], observers=observers)
    boot = tc.Bootstrap(tc.STE(2, penalty=0.01), 4, unit="observer", random_state=0)
    cpu = boot.fit(some).ensemble_
    gpu = boot.set_params(device="gpu").fit(some).ensemble_
    assert_allclose(gpu.statistics["loss"], cpu.statistics["loss"], rtol=1e-8)


@pytest.mark.parametrize("at_once", [1, 2500])
def test_subsets_one_after_the_other_or_a_few_at_once(answers, monkeypatch, at_once):
    problem = build_problem(answers.array, N)
    rng = np.random.default_rng(0)
    subsets = [rng.choice(M, 1000, replace=False) for _ in range(3)]
    seeds = np.random.SeedSequence(0).spawn(3)
    descent = Descent(Objective(STEModel(), 2, 0.01), Options(n_init=1))
    expected = descent.solve_subsets(problem, subsets, seeds)
    monkeypatch.setattr(solver_module, "AT_ONCE", at_once)
    found = OnDevice(descent, "gpu").solve_subsets(problem, subsets, seeds)
    assert_allclose([fit.loss for fit in found], [fit.loss for fit in expected], rtol=1e-8)
    assert all(fit.converged for fit in found)


def test_batches_are_sized_to_the_memory(answers, monkeypatch):
    problem = build_problem(answers.array, N)
    solver = OnDevice(Descent(Objective(STEModel(), 2)), "gpu")
    assert solver.batch_size(problem, 100, 2) == 100
    monkeypatch.setattr(solver_module, "memory_of", lambda device: 10_000_000)
    assert solver.batch_size(problem, 100, 2) == 25
    many = load_batch(problem, [np.arange(M)] * 2, 2, 1, 2**30)
    few = load_batch(problem, [np.arange(M)] * 2, 2, 1, 1_000_000)
    assert few.side_by_side < many.side_by_side


def test_too_little_memory_is_a_clear_error(answers, monkeypatch):
    def load(*arguments):
        raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory")

    monkeypatch.setattr(solver_module, "load_batch", load)
    with pytest.raises(tc.errors.TercetError, match=r"GPU is out of memory .* device='cpu'"):
        tc.STE(2, device="gpu").fit(answers)


def test_a_warm_start_is_used(answers):
    first = tc.STE(2, penalty=0.01, random_state=0).fit(answers)
    again = tc.STE(2, penalty=0.01, device="gpu").fit(answers, init=first.embedding_)
    assert again.n_iter_ < 8
    assert_allclose(again.loss_, first.loss_, rtol=1e-8)


def test_answers_that_do_not_contradict_each_other_are_seen():
    points = np.random.default_rng(0).normal(size=(15, 2))
    clean = tc.simulate.noisy_triplets(points, 300, random_state=0)
    with pytest.warns(tc.errors.SeparableWarning):
        fit = tc.STE(2, device="gpu", random_state=0).fit(clean)
    assert fit.separable_
    assert not fit.converged_


def test_the_same_seed_gives_the_same_map(answers):
    fits = [tc.STE(2, device="gpu", random_state=5).fit(answers) for _ in range(2)]
    if jax.default_backend() == "cpu":
        assert (fits[0].embedding_ == fits[1].embedding_).all()
    assert_allclose(fits[0].loss_, fits[1].loss_, rtol=1e-10)


# --- which device ---------------------------------------------------------------------------------


def test_no_gpu_is_an_error_that_names_the_extra(monkeypatch, answers):
    monkeypatch.setenv(device_module.PLATFORM, "rocm")
    with pytest.raises(tc.errors.TercetError, match=r"finds no GPU.*tercet\[gpu\]"):
        tc.STE(2, device="gpu").fit(answers)
    assert find_device("auto") is None
    tc.STE(2, device="auto", random_state=0).fit(answers)


@pytest.mark.parametrize("error", [RuntimeError, AssertionError])
def test_platforms_that_are_not_there_are_an_error_that_names_them(monkeypatch, answers, error):
    """What JAX raises with JAX_PLATFORMS=tpu and with JAX_PLATFORMS=cuda where there is neither."""

    def devices(platform=None):
        raise error

    monkeypatch.setattr(jax, "devices", devices)
    monkeypatch.setenv("JAX_PLATFORMS", "cuda")
    with pytest.raises(tc.errors.TercetError, match="it finds: nothing; JAX_PLATFORMS is 'cuda'"):
        tc.STE(2, device="gpu").fit(answers)
    assert find_device("auto") is None


def test_no_jax_is_an_error_that_names_the_extra(monkeypatch, answers):
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(tc.errors.TercetError, match=r"needs JAX: pip install 'tercet\[gpu\]'"):
        tc.Bootstrap(tc.STE(2), 3, device="gpu").fit(answers)
    assert find_device("auto") is None


@pytest.mark.parametrize("maker", [tc.STE(2, device="tpu"), tc.Bootstrap(tc.STE(2), device="tpu")])
def test_an_unknown_device_is_an_error(maker, answers):
    with pytest.raises(tc.errors.InputError, match="'auto', 'cpu' or 'gpu', got 'tpu'"):
        maker.fit(answers)


def test_the_kernel_of_gnmds_stays_on_the_cpu(answers):
    with pytest.raises(tc.errors.InputError, match="direct=True"):
        tc.GNMDS(2, device="gpu").fit(answers)


def test_small_problems_stay_on_the_cpu_by_themselves(answers):
    auto = tc.STE(2, device="auto", random_state=0).fit(answers)
    cpu = tc.STE(2, random_state=0).fit(answers)
    assert (auto.embedding_ == cpu.embedding_).all()


def test_all_replicates_together_say_whether_a_gpu_is_worth_it(answers, monkeypatch):
    """And not those of a batch, or some would be fitted here and some there."""

    def draws(n_samples, device):
        settings = {"fraction": 0.5, "random_state": 0, "device": device}
        return tc.Bootstrap(tc.STE(2), n_samples, **settings).fit(answers).ensemble_.draws

    monkeypatch.setattr("tercet.embedder.WORTH_IT", 6 * M // 2)
    monkeypatch.setattr(solver_module, "IN_A_BATCH", 2 * M)
    fitted = []
    solve = OnDevice._solve
    monkeypatch.setattr(
        OnDevice, "_solve", lambda *work: fitted.append(len(work[2])) or solve(*work)
    )
    draws(6, "auto")
    assert fitted == [2, 2, 2]
    np.testing.assert_array_equal(draws(5, "auto"), draws(5, "cpu"))
    assert fitted == [2, 2, 2]


@pytest.mark.parametrize("device", ["cpu", "auto"])
def test_nothing_of_jax_is_imported_unless_it_is_worth_it(device):
    code = (
        "import sys, numpy as np, tercet as tc;"
        "t = np.array([[0, 1, 2], [1, 0, 2], [2, 1, 0], [0, 2, 1], [1, 2, 0]] * 3);"
        f"tc.Bootstrap(tc.STE(1, penalty=.1), 2, random_state=0, device={device!r}).fit(t);"
        "print('jax' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True)
    assert done.stdout.split() == [b"False"], done.stderr


def test_a_command_that_finds_no_gpu_ends_with_2(monkeypatch, answers, tmp_path, capsys):
    monkeypatch.setenv(device_module.PLATFORM, "rocm")
    tc.write_triplets(answers, tmp_path / "a.csv")
    assert main(["fit", str(tmp_path / "a.csv"), "--device", "gpu"]) == 2
    assert "--device gpu, but JAX finds no GPU" in capsys.readouterr().err
