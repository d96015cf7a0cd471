"""Posterior: what it draws, what it refuses, and the same bits everywhere.

Whether the draws are right is for tests/statistical to say.
"""

import json
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_limits

import tercet as tc
from tercet.errors import ConvergenceWarning, DataWarning, InputError
from tercet.models import ANY_PROBABILITY, ShepardModel
from tercet.posterior import draw
from tercet.simulate import (
    answers_from_model,
    gaussian_mixture,
    noisy_triplets,
    random_comparisons,
    true_triplets,
)

# Chains as short as here are told so; what is tested does not depend on it.
pytestmark = pytest.mark.filterwarnings("ignore:not converged")

N, M = 8, 200
POINTS = gaussian_mixture(N, random_state=0)[0]
ANSWERS = noisy_triplets(POINTS, M, noise=0.5, replace=True, random_state=0)
QUICK = {"n_samples": 40, "n_chains": 2, "warmup": 60, "random_state": 0}
SAMPLERS = ["hmc", "elliptical_slice", "laplace"]
PRIOR = {"prior": tc.NormalPrior(15.0)}


def fitted(estimator=None, triplets=ANSWERS, **settings):
    return tc.Posterior(estimator or tc.STE(2), **(QUICK | settings)).fit(triplets)


def drawn(*args, **settings):
    return fitted(*args, **settings).ensemble_.draws


# --- what comes out ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "estimator", [tc.STE(2), tc.TSTE(2), tc.CKL(2), tc.Shepard(2), tc.STE(1), tc.STE(3)]
)
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_every_model_and_sampler(estimator, sampler):
    post = fitted(estimator, sampler=sampler)
    ensemble = post.ensemble_
    assert ensemble.draws.shape == (80, N, estimator.n_components)
    assert np.isfinite(ensemble.draws).all()
    assert ensemble.kind == "points"
    assert ensemble.alignment == "rotate"
    assert ensemble.n_chains == (1 if sampler == "laplace" else 2)
    assert len(np.unique(ensemble.draws[:, 0, 0])) == 80 or sampler == "hmc"
    assert set(ensemble.parameters) == {"variance"}
    assert (ensemble.parameters["variance"] > 0).all()
    assert set(ensemble.statistics) == {"log_posterior"}
    assert np.isfinite(ensemble.statistics["log_posterior"]).all()
    assert (post.diagnostics_ is None) == (sampler == "laplace")
    if estimator.n_components > 1:
        assert np.mean(post.predict(true_triplets(POINTS)) == 1) > 0.7
    assert not hasattr(estimator, "embedding_")


def test_the_model_is_written_out():
    """What t-STE takes from the dimension is known to its ensemble."""
    assert fitted(tc.TSTE(3)).ensemble_.model.alpha == 2.0
    assert fitted(tc.CKL(2, mu=0.2)).ensemble_.model == tc.CKL(2, mu=0.2).model()


def test_a_known_variance_is_no_parameter():
    assert fitted(**PRIOR).ensemble_.parameters == {}


def test_chains_are_one_after_the_other():
    ensemble = fitted(n_chains=3, n_samples=5).ensemble_
    np.testing.assert_array_equal(ensemble.chains, np.repeat([0, 1, 2], 5))


def test_what_is_learned_is_drawn():
    ensemble = fitted(tc.CKL(2), learn=("mu", "lapse", "exponent")).ensemble_
    assert set(ensemble.parameters) == {"lapse", "exponent", "mu"}  # mu is the size
    lapse = ensemble.parameters["lapse"]
    assert ((lapse > 0) & (lapse < 1)).all()
    assert all(len(np.unique(values)) > 20 for values in ensemble.parameters.values())
    assert set(fitted(learn=["lapse"]).ensemble_.parameters) == {"lapse", "variance"}


@pytest.mark.parametrize("gamma", [0.7, 1.0, 2.0])
def test_the_exponent_of_shepards_law_is_recovered(gamma):
    points = 2.0 * np.random.default_rng(1).standard_normal((10, 1))
    asked = random_comparisons(10, 4000, replace=True, random_state=2)
    rows = answers_from_model(ShepardModel(gamma), points, asked, random_state=3)
    maker = tc.Posterior(
        tc.Shepard(1), learn=("gamma", "lapse"), n_samples=250, n_chains=2, random_state=0
    )
    found = maker.fit(rows).ensemble_.parameters["gamma"]
    assert abs(np.log(found).mean() - np.log(gamma)) < 3.0 * np.log(found).std()
    assert np.log(found).std() < 0.2


def test_a_tight_prior_of_what_is_learned_holds_it():
    found = fitted(learn={"lapse": (2000.0, 8000.0)}).ensemble_.parameters["lapse"]
    assert found.mean() == pytest.approx(0.2, abs=0.02)


def test_the_log_posterior_is_that_of_the_draws():
    """Up to a constant: answers and prior, of centred points."""
    for sampler in ("hmc", "elliptical_slice"):
        ensemble = fitted(sampler=sampler, **PRIOR).ensemble_
        X = ensemble.draws - ensemble.draws.mean(axis=1, keepdims=True)
        i, j, l = np.asarray(ANSWERS).T
        near, far = (np.sum((X[:, i] - X[:, k]) ** 2, axis=2) for k in (j, l))
        expected = -np.logaddexp(0.0, near - far).sum(axis=1) - np.sum(X**2, axis=(1, 2)) / 30
        found = ensemble.statistics["log_posterior"]
        np.testing.assert_allclose(found - found[0], expected - expected[0], atol=1e-8)


def test_a_penalty_is_its_prior():
    with_penalty = drawn(tc.STE(2, penalty=1 / 30))
    np.testing.assert_array_equal(with_penalty, drawn(prior=tc.NormalPrior(0.5 / (1 / 30))))


def test_a_prior_with_directions():
    block = np.diag([4.0, 0.01])
    draws = drawn(prior=tc.NormalPrior(1.0, block=block), n_samples=200)
    centred = draws - draws.mean(axis=1, keepdims=True)
    assert centred[:, :, 1].std() < 0.5 * centred[:, :, 0].std()


def test_names_and_n_objects():
    names = [f"stimulus {k}" for k in range(N)]
    post = fitted(triplets=tc.Triplets(ANSWERS, names=names))
    assert post.ensemble_.names == tuple(names)
    assert post.predict_proba([["stimulus 0", "stimulus 1", "stimulus 2"]]).shape == (1, 2)
    with pytest.warns(DataWarning, match="1 object is never mentioned"):
        more = tc.Posterior(tc.STE(2), **QUICK).fit(ANSWERS, n_objects=N + 1)
    assert more.ensemble_.n_objects == N + 1
    with pytest.warns(DataWarning):
        more = tc.Posterior(tc.STE(2, n_objects=N + 2), **QUICK).fit(ANSWERS)
    assert more.ensemble_.n_objects == N + 2


def test_answers_may_be_an_array_with_y():
    turned = np.where(np.arange(M) % 3 == 0, -1, 1)
    rows = np.where(turned[:, None] == 1, ANSWERS, np.asarray(ANSWERS)[:, [0, 2, 1]])
    post = tc.Posterior(tc.STE(2), **QUICK).fit(rows, turned)
    np.testing.assert_array_equal(post.ensemble_.draws, drawn())


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_triplets_written_as_quadruplets_are_the_same(sampler):
    quadruplets = np.asarray(ANSWERS)[:, [0, 1, 0, 2]]
    np.testing.assert_allclose(
        drawn(triplets=quadruplets, sampler=sampler), drawn(sampler=sampler), rtol=1e-6, atol=1e-6
    )


def test_quadruplets_of_four_objects():
    rng = np.random.default_rng(0)
    rows = np.array([rng.permutation(N)[:4] for _ in range(M)])
    first, second = (
        np.linalg.norm(POINTS[rows[:, k]] - POINTS[rows[:, k + 1]], axis=1) for k in (0, 2)
    )
    rows = np.where((first < second)[:, None], rows, rows[:, [2, 3, 0, 1]])
    post = fitted(triplets=rows, sampler="elliptical_slice")
    assert np.mean(post.predict(rows) == 1) > 0.8


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_weights_are_answers_given_so_often(sampler):
    """The order of the rows, and so the order of sums, differs: the densities are the same."""
    counts = np.random.default_rng(0).integers(1, 4, M)
    counted = tc.Triplets(ANSWERS, weights=counts)
    single = tc.Triplets(np.repeat(np.asarray(ANSWERS), counts, axis=0))
    ours, theirs = (fitted(triplets=T, sampler=sampler, n_samples=10) for T in (counted, single))
    one, other = ours.ensemble_, theirs.ensemble_
    early = slice(0, 3)  # rounding grows along a chain
    np.testing.assert_allclose(one.draws[early], other.draws[early], rtol=1e-2, atol=1e-2)


def test_distances_without_points():
    prior = tc.DistancePrior(3.0, 1.0)
    post = fitted(prior=prior)
    ensemble = post.ensemble_
    assert ensemble.kind == "distances"
    assert ensemble.draws.shape == (80, N, N)
    np.testing.assert_allclose(ensemble.draws, ensemble.draws.transpose(0, 2, 1), atol=1e-12)
    assert ensemble.distances().shape == (80, N * (N - 1) // 2)
    with pytest.raises(InputError, match="distances"):
        _ = ensemble.samples
    assert ensemble.provenance["sampler"] == "elliptical_slice"
    assert post.diagnostics_.n_chains == 2
    assert post.predict_proba(ANSWERS).shape == (M, 2)
    assert ensemble.parameters == {}


def test_probabilities_of_answers():
    post = fitted()
    p = post.predict_proba(ANSWERS)
    assert p.shape == (M, 2)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(p[:, 1], post.ensemble_.answer_probability(ANSWERS))
    np.testing.assert_array_equal(post.predict(ANSWERS), post.classes_[p.argmax(axis=1)])
    other = post.predict_proba(np.asarray(ANSWERS)[:, [0, 2, 1]])
    np.testing.assert_allclose(other, p[:, ::-1])
    with pytest.raises(NotFittedError):
        tc.Posterior(tc.STE(2)).predict(ANSWERS)


def test_scikit_learn_can_clone_and_change_it():
    post = tc.Posterior(tc.STE(2), prior=tc.NormalPrior(15.0), n_samples=5, learn=("lapse",))
    twin = clone(post).set_params(estimator__n_components=3, n_chains=2)
    assert twin.estimator.n_components == 3
    assert post.estimator.n_components == 2
    assert twin.get_params(deep=False).keys() == post.get_params(deep=False).keys()
    assert twin.prior.variance == 15.0
    assert (twin.n_samples, twin.n_chains, twin.learn) == (5, 2, ("lapse",))


def test_the_papers_settings():
    """Section 5: 500 elliptical-slice draws from the maximum likelihood, prior variance 15."""
    post = tc.Posterior.paper(tc.STE(2), random_state=3)
    found = post.get_params(deep=False)
    assert {name: value for name, value in found.items() if name not in ("estimator", "prior")} == {
        "sampler": "elliptical_slice",
        "n_samples": 500,
        "n_chains": 1,
        "warmup": 0,
        "learn": (),
        "start": "likelihood",
        "device": "cpu",
        "n_jobs": None,
        "random_state": 3,
        "progress": None,
        "checkpoint": None,
    }
    assert post.prior.describe() == tc.NormalPrior(15.0).describe()
    assert tc.Posterior.paper(tc.STE(2), n_samples=20, n_chains=3).n_chains == 3


@pytest.fixture
def samplers(monkeypatch):
    """The samplers of all runs in a test."""
    used, run = [], draw.run_chains
    monkeypatch.setattr(draw, "run_chains", lambda *a: used.append(a[0]) or run(*a))
    return used


def answers_without_a_contradiction():
    points, _ = tc.simulate.gaussian_mixture(12, random_state=0)
    return tc.simulate.noisy_triplets(points, 60, random_state=0)


def test_the_paper_starts_at_the_maximum_of_the_likelihood(samplers):
    tc.Posterior.paper(tc.STE(2), random_state=0, n_samples=3).fit(ANSWERS)
    place, _ = samplers[0].start(0, np.random.default_rng(0))
    X, variance = place["X"], place["variance"]
    best = tc.STE(2, random_state=0).fit(ANSWERS)
    near, far = tc.metrics.squared_distances(X, ANSWERS)
    assert np.logaddexp(0.0, near - far).sum() == pytest.approx(best.loss_, rel=1e-6)
    assert variance == pytest.approx(15.0)
    assert [phase.length for phase in samplers[0].phases] == [0, 3]


@pytest.mark.parametrize("estimator", [tc.STE(2), tc.TSTE(2)])
def test_where_any_size_is_as_likely_the_paper_starts_in_the_size_of_the_prior(estimator, samplers):
    """Answers without a contradiction: their likelihood has no maximum, its shape has."""
    answers = answers_without_a_contradiction()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shape = clone(estimator).set_params(random_state=0).fit(answers).embedding_
        tc.Posterior.paper(estimator, random_state=0, n_samples=3).fit(answers)
    (X,) = samplers[0].starts
    assert np.mean(X**2) < 15.0
    assert np.mean(X**2) < 0.8 * np.mean(shape**2)
    laid = tc.align.procrustes(shape, X, scale=True)
    assert laid.distance < 0.01 * np.sum(X**2)

    def energy(size):
        near, far = tc.metrics.squared_distances(size * X, answers)
        return estimator.model().loss(near, far, 2)[0].sum() + np.sum((size * X) ** 2) / 30.0

    assert energy(1.0) < min(energy(0.99), energy(1.01))


@pytest.mark.parametrize("estimator", [tc.STE(2), tc.TSTE(2)])
def test_the_paper_may_start_at_what_the_search_found(estimator, samplers):
    """Without a maximum, too: the size is the search's own."""
    answers = answers_without_a_contradiction()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for start in ("likelihood_as_found", "likelihood"):
            post = tc.Posterior.paper(estimator, start=start, random_state=0, n_samples=3)
            post.fit(answers)
            assert np.isfinite(post.ensemble_.draws).all()
    (found,), (resized,) = (sampler.starts for sampler in samplers)
    np.testing.assert_array_equal(resized, draw._in_best_size(samplers[0].target, found))
    assert np.mean(found**2) > 1.2 * np.mean(resized**2)


def test_the_size_is_found_from_anywhere():
    """The search for a maximum of t-STE ended at sizes up to 1e54 in the paper's experiments."""
    points, _ = tc.simulate.gaussian_mixture(12, random_state=0)
    plan = tc.Posterior.paper(tc.TSTE(2))._plan()
    target = draw.build_target(plan, tc.simulate.noisy_triplets(points, 60, random_state=0))
    found = [draw._in_best_size(target, size * points) for size in (1e2, 1e20, 1e60)]
    for X in found:
        np.testing.assert_allclose(X, found[0], rtol=1e-4)
    assert 0.1 < np.sqrt(np.mean(found[0] ** 2)) < 10.0


def test_to_arviz():
    pytest.importorskip("arviz")
    ensemble = fitted(learn=("lapse",)).ensemble_
    tree = ensemble.to_arviz()
    posterior = tree.posterior
    assert posterior["embedding"].shape == (2, 40, N, 2)
    assert posterior["lapse"].shape == (2, 40)
    assert tree.sample_stats["lp"].shape == (2, 40)


def test_provenance_is_complete_and_plain():
    post = fitted(tc.CKL(2, mu=np.float64(0.1)), random_state=11, learn={"lapse": (1.0, 9.0)})
    found = json.loads(json.dumps(post.ensemble_.provenance))
    assert found["source"] == "posterior"
    assert found["seed"] == "11"
    assert found["n_answers"] == M
    assert found["sampler"] == "hmc"
    assert found["prior"]["learned"] is True
    assert set(found["settings"]) == set(post.get_params(deep=False)) - {
        "n_jobs",
        "progress",
        "checkpoint",
    }
    assert found["settings"]["learn"] == {"lapse": [1.0, 9.0]}
    assert found["diagnostics"]["n_chains"] == 2
    assert found["notes"] == []
    preview = fitted(sampler="laplace").ensemble_.provenance
    assert preview["source"] == "laplace"
    assert preview["diagnostics"] is None
    assert "an approximation" in preview["notes"][0]


# --- the same bits ----------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{"sampler": s} for s in SAMPLERS] + [{"learn": ["lapse"]}])
def test_the_number_of_threads_does_not_change_the_bits(settings):
    one, two, four = (fitted(n_jobs=k, n_chains=4, **settings).ensemble_ for k in (1, 2, 4))
    for other in (two, four):
        np.testing.assert_array_equal(one.draws, other.draws)
        for name, values in one.parameters.items():
            np.testing.assert_array_equal(values, other.parameters[name])


def test_matrices_have_the_same_bits_too():
    prior = tc.DistancePrior(3.0)
    one, four = (drawn(prior=prior, n_jobs=k, n_chains=4) for k in (1, 4))
    np.testing.assert_array_equal(one, four)


def test_the_same_seed_gives_the_same_and_another_another():
    np.testing.assert_array_equal(drawn(random_state=5), drawn(random_state=5))
    assert not np.allclose(drawn(random_state=5), drawn(random_state=6))
    rng = np.random.default_rng(1)
    assert not np.allclose(drawn(random_state=rng), drawn(random_state=rng))
    assert not np.allclose(drawn(random_state=None), drawn(random_state=None))


def test_the_estimators_seed_is_not_used():
    one, other = (drawn(tc.STE(2, random_state=seed)) for seed in (1, 2))
    np.testing.assert_array_equal(one, other)


def test_the_recorded_seed_gives_the_same_again():
    post = fitted(random_state=np.random.default_rng(3))
    again = drawn(random_state=int(post.ensemble_.provenance["seed"]))
    np.testing.assert_array_equal(again, post.ensemble_.draws)


def test_chains_differ():
    draws = drawn(n_samples=5)
    assert not np.allclose(draws[:5], draws[5:])


# --- what may go wrong ------------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [tc.SOE(2), tc.GNMDS(2)])
def test_a_loss_has_no_posterior(estimator):
    name = type(estimator).__name__
    message = f"{name} is a loss, not a probability.*{ANY_PROBABILITY}, or a bootstrap"
    with pytest.raises(InputError, match=message):
        tc.Posterior(estimator)
    post = tc.Posterior(tc.STE(2)).set_params(estimator=estimator)
    with pytest.raises(InputError, match=message):
        post.fit(ANSWERS)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"estimator": "STE"},
            "'estimator' .* a number of dimensions, or STE, .* got 'STE'",
        ),
        ({"estimator": tc.STE(0)}, "'n_components' parameter of STE"),
        ({"n_samples": 0}, "'n_samples' .* positive whole number, got 0"),
        ({"n_chains": 1.5}, r"'n_chains' .* positive whole number, got 1\.5"),
        ({"warmup": -1}, "'warmup' .* a whole number from 0, got -1"),
        ({"warmup": "some"}, "'warmup' .* a whole number from 0, got 'some'"),
        (
            {"sampler": "nuts"},
            "'sampler' .* one of 'hmc', 'tempered', 'elliptical_slice', 'laplace', got",
        ),
        ({"start": "random"}, "'start' .* 'mode', 'likelihood', 'likelihood_as_found', got 'ran"),
        (
            {"learn": ["noise"]},
            "learn must be among 'lapse', 'tie', 'bias' for STEModel, got 'noise'",
        ),
        ({"learn": ["lapse"], "sampler": "laplace"}, "needs sampler='hmc', not 'laplace'"),
        ({"learn": ["lapse"], "prior": tc.DistancePrior(1.0)}, "needs sampler='hmc'"),
        ({"prior": 15.0}, "prior must be a NormalPrior or a DistancePrior, got 15"),
        ({"prior": tc.NormalPrior(), "estimator": tc.STE(2, penalty=0.1)}, "give only one of them"),
        ({"prior": tc.DistancePrior(1.0), "sampler": "hmc"}, "sampled by elliptical slices"),
        ({"prior": tc.NormalPrior(block=np.eye(3))}, r"shape \(2, 2\) here; got shape \(3, 3\)"),
        ({"prior": tc.DistancePrior(np.eye(3))}, r"shape \(8, 8\) for 8 objects"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"random_state": -1}, "random_state must be"),
    ],
)
def test_errors_name_the_parameter_and_the_cure(settings, message):
    with pytest.raises(InputError, match=message):
        tc.Posterior(**({"estimator": tc.STE(2)} | settings)).fit(ANSWERS)


def test_screens_of_one_comparison_change_nothing():
    own = fitted(triplets=tc.Triplets(ANSWERS, screens=np.arange(M)))
    np.testing.assert_array_equal(own.ensemble_.draws, fitted().ensemble_.draws)


@pytest.mark.filterwarnings("default:not converged")
def test_chains_that_have_not_converged_are_warned_about():
    with pytest.warns(ConvergenceWarning, match="not converged: .*Do not trust") as caught:
        fitted(n_samples=10, warmup=0, sampler="elliptical_slice")
    assert caught[0].filename == __file__
    message = str(caught[0].message)
    assert "yet: use the default sampler (HMC)" in message
    assert "four times as many draws" in message
    assert "lower" not in message  # there is nothing below one dimension


@pytest.mark.filterwarnings("error:not converged")
def test_chains_that_have_converged_are_not():
    post = fitted(n_samples=500, n_chains=4, warmup=300)
    assert post.diagnostics_.problems == []
    assert post.diagnostics_.r_hat < 1.05
    assert post.ensemble_.provenance["diagnostics"]["r_hat"] == post.diagnostics_.r_hat


def test_three_draws_are_too_few_to_judge():
    with pytest.warns(ConvergenceWarning, match="3 draws of a chain are too few to judge"):
        diagnostics = fitted(n_samples=3).diagnostics_
    assert np.isnan(diagnostics.r_hat)


def test_no_warm_up_at_all():
    assert drawn(warmup=0, n_samples=5).shape == (10, N, 2)
    assert drawn(warmup=2, n_samples=5).shape == (10, N, 2)


def test_a_progress_bar_is_shown_when_asked_for(capsys):
    fitted(progress=True)
    assert "draws: " in capsys.readouterr().err
    fitted(progress=False)
    fitted()  # no terminal here
    assert capsys.readouterr().err == ""


def test_the_bits_do_not_depend_on_the_threads_of_blas():
    """The metric of 200 objects is a product of matrices that BLAS shares among its threads."""
    points = np.random.default_rng(0).normal(size=(200, 3))
    answers = tc.simulate.noisy_triplets(points, 1500, noise=0.3, random_state=0)
    posterior = tc.Posterior(tc.STE(3), n_samples=3, n_chains=1, warmup=0, random_state=0)
    found = []
    for limit in (1, 2):
        with threadpool_limits(limit, user_api="blas"):
            found.append(posterior.fit(answers).ensemble_.draws)
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("start", ["likelihood", "likelihood_as_found"])
@pytest.mark.parametrize("sampler", ["hmc", "laplace"])
def test_only_slices_start_at_the_likelihood(sampler, start):
    posterior = tc.Posterior(tc.STE(2), sampler=sampler, start=start)
    with pytest.raises(tc.InputError, match=f"start='{start}'"):
        posterior.fit([[0, 1, 2], [1, 2, 0]])
