"""Chains on a Dask cluster: the same bits, also when a worker dies between two of their pieces."""

import gc
from weakref import ref

import joblib
import numpy as np
import pytest

import tercet as tc
from tercet.engine.backend import Payload
from tercet.posterior import chains

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:not converged")]

POINTS, _ = tc.simulate.gaussian_mixture(12, random_state=0)
ANSWERS = tc.simulate.noisy_triplets(POINTS, 600, noise=0.3, random_state=0)
SAMPLERS = {
    "hmc": {"learn": ("lapse",)},
    "elliptical": {"sampler": "elliptical_slice"},
    "matrices": {"prior": tc.DistancePrior(2.0)},
}


def draws(sampler, **settings):
    settings = SAMPLERS[sampler] | {"n_samples": 120, "n_chains": 3, "warmup": 150} | settings
    return tc.Posterior(tc.STE(2), random_state=0, **settings).fit(ANSWERS).ensemble_.draws


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_chains_are_the_same(dask, sampler):
    expected = draws(sampler, n_jobs=1)
    with joblib.parallel_config("dask"):
        found = draws(sampler)
    np.testing.assert_array_equal(found, expected)


def test_a_worker_killed_between_pieces_changes_nothing(dask, dask_cluster, tmp_path, monkeypatch):
    expected = draws("hmc", n_jobs=1)
    taken, take = [], chains.ChainRun.take

    def take_and_kill(run, stretch):
        take(run, stretch)
        taken.append(run.k)
        if len(taken) == 4:
            dask_cluster.kill(dask_cluster.workers[0])

    monkeypatch.setattr(chains, "_ROUND", 0.0)  # rounds of one block
    monkeypatch.setattr(chains.ChainRun, "take", take_and_kill)
    with joblib.parallel_config("dask"):
        found = draws("hmc", checkpoint=tmp_path / "run.ckpt")
    np.testing.assert_array_equal(found, expected)
    assert len(taken) > 12
    np.testing.assert_array_equal(draws("hmc", checkpoint=tmp_path / "run.ckpt"), expected)


def test_what_chains_share_is_sent_once_for_all_rounds(dask, monkeypatch):
    sent, alive = [], []

    def reduce(self):
        sent.append(self.name)
        alive.append(ref(self))
        return Payload, (self.data, self.name)

    monkeypatch.setattr(chains, "_ROUND", 0.0)
    with joblib.parallel_config("dask"):
        monkeypatch.setattr(Payload, "__reduce__", reduce, raising=False)
        draws("elliptical")
    assert len(sent) == 2  # the searches for starts, and the chains
    gc.collect()
    assert [payload() for payload in alive] == [None, None]  # the cluster may forget them
