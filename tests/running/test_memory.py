"""What cannot fit into memory is refused before any work, with its size and a cure."""

import re

import numpy as np
import pytest

import tercet as tc
from tercet import simulate
from tercet.errors import InputError
from tercet.io.cblearn import to_cblearn
from tercet.running import memory

MANY = 100_000
ROWS = np.array([[0, 1, 2], [1, 2, 3], [2, 3, 0], [3, 0, 1]])
VOTES = tc.Triplets(ROWS, weights=[5e8, 5e8, 5e8, 4e8])


@pytest.fixture
def small_machine(monkeypatch):
    monkeypatch.setattr(memory, "memory_there_is", lambda: 2**28)


@pytest.fixture(scope="module")
def large_ensemble():
    return tc.Ensemble(np.zeros((2, MANY, 2)), model=tc.STE(2).model())


# What asks for more than 256 MB: squares or cubes of the objects, or one number a vote.
HUNGRY = {
    "an index that is an identifier": lambda _: tc.STE(2).fit([[0, 1, 2_000_000_000]]),
    "diagnose": lambda _: tc.diagnose([[0, 1, 2_000_000_000]]),
    "many dimensions": lambda _: tc.STE(10_000).fit(ROWS, n_objects=1000),
    "posterior": lambda _: tc.Posterior(tc.STE(2)).fit(ROWS, n_objects=10**6),
    "matrices": lambda _: tc.Posterior(tc.STE(2), prior=tc.DistancePrior(1.0)).fit(
        ROWS, n_objects=MANY
    ),
    "DistancePrior": lambda _: tc.DistancePrior(1.0).sample(1, MANY),
    "bootstrap": lambda _: tc.Bootstrap(tc.STE(2), n_samples=1000).fit(ROWS, n_objects=MANY),
    "GNMDS": lambda _: tc.GNMDS(2).fit(ROWS, n_objects=MANY),
    "distances": lambda made: made.distances(),
    "distance_interval": lambda made: made.distance_interval(),
    "to_arviz": lambda made: made.to_arviz(),
    "all_probabilities": lambda made: made.all_probabilities(),
    "information_gain": lambda made: tc.suggest(made, 2, "information_gain", triplets=ROWS),
    "plan_answers": lambda _: tc.plan_answers(MANY),
    "all_comparisons": lambda _: simulate.all_comparisons(MANY),
    "true_triplets": lambda _: simulate.true_triplets(np.zeros((MANY, 2))),
    "random_comparisons": lambda _: simulate.random_comparisons(MANY, 10**12),
    "pinned_kernel": lambda _: simulate.pinned_kernel(np.linspace(0, 1, MANY), 1.0),
    "votes in a bootstrap": lambda _: tc.Bootstrap(tc.STE(2)).fit(VOTES),
    "votes drawn anew": lambda _: tc.Bootstrap(tc.STE(2, penalty=0.1), parametric=True).fit(VOTES),
    "votes held out": lambda _: tc.choose_threshold(
        tc.Ensemble(np.random.default_rng(0).normal(size=(9, 4, 2))), VOTES
    ),
    "votes of a scale": lambda _: tc.perceptual_scale(VOTES),
    "votes of a scale, drawn anew": lambda _: tc.perceptual_scale(VOTES, uncertainty="parametric"),
}


@pytest.mark.parametrize("what", HUNGRY)
@pytest.mark.filterwarnings("ignore")
def test_what_cannot_fit_is_refused_with_its_size(what, small_machine, large_ensemble):
    said = r"would take [0-9.e+]+ [GT]iB of memory, and this machine has 256 MiB: .*\.$"
    with pytest.raises(InputError, match=said):
        HUNGRY[what](large_ensemble)


@pytest.mark.parametrize("name", ["out.csv", "out.npz"])
def test_votes_are_written_as_counts_whatever_the_memory(name, small_machine, tmp_path):
    tc.write_triplets(VOTES, tmp_path / name)
    assert tc.read_triplets(tmp_path / name) == VOTES


def test_formats_that_repeat_votes_refuse_too_many(small_machine, tmp_path):
    said = "1900000000 of them one by one would take"
    with pytest.raises(InputError, match=said):
        tc.write_triplets(VOTES, tmp_path / "out.csv", "mlds-quads")
    assert not list(tmp_path.iterdir())
    for name in ("list-order", "list-boolean"):
        with pytest.raises(InputError, match=said):
            to_cblearn(VOTES, name)


def test_what_fits_is_let_pass(small_machine):
    memory.need_memory(2**25, "Just enough", "nothing")
    with pytest.raises(InputError, match="Too much would take 256 MiB"):
        memory.need_memory(2**25 + 1, "Too much", "buy more")


def test_sizes_are_said_in_fitting_units(small_machine):
    for numbers, size in ((2**27, "1 GiB"), (10**11, "745 GiB"), (10**15, "7.28e+03 TiB")):
        with pytest.raises(InputError, match=re.escape(f"would take {size} of memory")):
            memory.need_memory(numbers, "It", "buy more")


def test_memory_there_is_knows_containers(monkeypatch, tmp_path):
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "_LIMIT_OF_GROUP", limit)
    found = []
    for said in (None, "max\n", "1000000\n"):
        if said is not None:
            limit.write_text(said)
        memory.memory_there_is.cache_clear()
        found.append(memory.memory_there_is())
    memory.memory_there_is.cache_clear()
    assert found[0] == found[1] > 10**8
    assert found[2] == 10**6
