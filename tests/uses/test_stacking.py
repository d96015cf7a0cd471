"""Chains combined by stacking: weights by prediction, draws in proportion, no pooled R-hat."""

import numpy as np
import pytest

import tercet as tc
from tercet.errors import InputError
from tercet.posterior.diagnostics import recorded_diagnostics


@pytest.fixture(scope="module")
def world():
    points, _ = tc.simulate.gaussian_mixture(10, random_state=0)
    answers = tc.simulate.noisy_triplets(points, 300, noise=0.3, random_state=0)
    maker = tc.Posterior(2, n_samples=200, n_chains=2, warmup=200, random_state=0)
    return maker._fit_quietly(answers).ensemble_, answers


def with_second_chain(ensemble, draws):
    second = ensemble.chains == 1
    changed = ensemble.draws.copy()
    changed[second] = draws
    return tc.Ensemble(
        changed,
        chains=ensemble.chains,
        parameters=ensemble.parameters,
        statistics=ensemble.statistics,
        model=ensemble.model,
        provenance=ensemble.provenance,
    )


def test_a_chain_in_a_useless_map_gets_no_weight(world):
    ensemble, answers = world
    rng = np.random.default_rng(0)
    wrong = rng.permutation(ensemble.draws[ensemble.chains == 1], axis=1)
    stacked = tc.stack_chains(with_second_chain(ensemble, wrong), answers)
    weights = stacked.provenance["stacking"]
    assert weights[0] > 0.95
    assert np.mean(stacked.chains == 0) == pytest.approx(weights[0], abs=0.01)
    assert len(stacked) >= 200


def test_predictive_weights_are_said_and_diagnostics_are_not(world):
    stacked = tc.stack_chains(*world)
    assert recorded_diagnostics(world[0].provenance) is not None
    assert recorded_diagnostics(stacked.provenance) is None
    assert "not posterior probabilities" in stacked.provenance["notes"][-1]
    assert sum(stacked.provenance["stacking"]) == pytest.approx(1.0)


def test_draws_keep_their_parameters(world):
    ensemble, answers = world
    stacked = tc.stack_chains(ensemble, answers)
    where = [
        int(np.flatnonzero((ensemble.draws == one).all(axis=(1, 2)))[0]) for one in stacked.draws
    ]
    np.testing.assert_array_equal(stacked.parameters["gamma"], ensemble.parameters["gamma"][where])


def test_what_cannot_be_stacked_is_refused(world):
    ensemble, answers = world
    with pytest.raises(InputError, match="several chains of a posterior"):
        tc.stack_chains(ensemble[ensemble.chains == 0], answers)
    with pytest.raises(InputError, match="answers are about 3 objects"):
        tc.stack_chains(ensemble, [[0, 1, 2]])
