"""The log-likelihood in ArviZ: leave-one-out and comparisons work on it."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp

import tercet as tc
from tercet.ensemble import Ensemble
from tercet.errors import InputError
from tercet.models import ShepardModel, SOEModel

az = pytest.importorskip("arviz")

RNG = np.random.default_rng(0)
ODD = tc.Choices.odd_one_out([[0, 1, 2], [3, 4, 0], [2, 4, 1]], n_objects=5, weights=[1, 2, 1])


def drawn(**more):
    parameters = {
        "gamma": RNG.uniform(0.5, 2.0, 12),
        "tail": RNG.uniform(0.0, 0.5, 12),
        "lapse": RNG.uniform(0.0, 0.3, 12),
    }
    settings = {"parameters": parameters, "chains": [0, 1] * 6, "model": ShepardModel()} | more
    return Ensemble(RNG.normal(size=(12, 5, 2)), **settings)


@pytest.mark.parametrize("answers", [ODD, ODD.triplets()], ids=["choices", "on screens"])
def test_the_log_likelihood_has_the_parameters_of_its_draw(answers):
    ensemble = drawn()
    found = ensemble.to_arviz(answers=answers)["log_likelihood"]["answers"]
    assert found.dims == ("chain", "draw", "answer")
    assert found.shape == (2, 6, 3)
    for s in (0, 1, 7):
        own = {name: column[s] for name, column in ensemble.parameters.items()}
        expected = tc.log_likelihood(ensemble.draws[s], ODD, tc.Shepard(), parameters=own)
        assert_allclose(found.sel(chain=s % 2)[s // 2], expected, rtol=1e-12)


def test_without_answers_there_is_none():
    assert "log_likelihood" not in drawn().to_arviz()


def test_losses_and_too_many_answers_are_refused(monkeypatch):
    with pytest.raises(InputError, match="SOE is a loss"):
        drawn(model=SOEModel(), parameters=None).to_arviz(answers=ODD)
    monkeypatch.setattr("tercet.running.memory.memory_there_is", lambda: 500)
    with pytest.raises(InputError, match="log-likelihood of 3 answers in 12 draws"):
        drawn().to_arviz(pairs=[[0, 1]], answers=ODD)


def fit(estimator, answers):
    maker = tc.Posterior(
        estimator, n_samples=150, n_chains=2, warmup=150, random_state=0, progress=False
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return maker.fit(answers).ensemble_


@pytest.fixture(scope="module")
def answers():
    """Many answers of people who choose as STE says."""
    points = 1.5 * np.random.default_rng(1).normal(size=(7, 1))
    rows = tc.simulate.random_comparisons(7, 500, replace=True, random_state=1)
    near = np.exp(tc.log_likelihood(points, rows, tc.STE()))
    turned = np.random.default_rng(2).random(500) > near
    return tc.Triplets(np.where(turned[:, None], rows[:, [0, 2, 1]], rows))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Estimated shape parameter")
def test_leave_one_out_and_comparison(answers):
    """With many answers to each question, leaving one out changes little."""
    maps = {"true": fit(tc.STE(1), answers), "false": fit(tc.CKL(1, mu=0.05), answers)}
    data = {name: ensemble.to_arviz(answers=answers) for name, ensemble in maps.items()}
    found = az.loo(data["true"])
    log_p = maps["true"].log_likelihood(answers)
    predictive = float(np.sum(logsumexp(log_p, axis=0) - np.log(len(log_p))))
    elpd = float(getattr(found, "elpd_loo", None) or found.elpd)
    assert np.isfinite(elpd)
    assert predictive - 20.0 < elpd < predictive
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of ArviZ's own calls of pandas
        ranked = az.compare(data)
    assert list(ranked.index) == ["true", "false"]
