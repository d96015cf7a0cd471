"""Seeds, settings and versions: what makes draws again."""

import json
import platform

import numba
import numpy as np
import pytest
import scipy

import tercet as tc
from tercet.errors import InputError
from tercet.running.provenance import as_generator, describe, entropy_of, record, seed_for

# ---- seeds


def test_entropy_of_a_number_is_the_number():
    assert entropy_of(7) == 7
    assert entropy_of(np.int64(7)) == 7
    assert type(entropy_of(np.int64(7))) is int
    assert entropy_of(2**200) == 2**200


def test_entropy_of_nothing_is_always_another():
    assert len({entropy_of(None) for _ in range(5)}) == 5


def test_entropy_of_a_generator_moves_it_on():
    one, other = (np.random.default_rng(3) for _ in range(2))
    first, second = entropy_of(one), entropy_of(one)
    assert first != second
    assert [entropy_of(other), entropy_of(other)] == [first, second]


@pytest.mark.parametrize("state", [-1, "7", 1.5, True, np.random.RandomState(0)])
def test_what_is_no_seed(state):
    with pytest.raises(InputError, match="random_state must be None, a whole number from 0 or a"):
        entropy_of(state)


def test_seeds_are_those_that_a_sequence_spawns():
    spawned = np.random.SeedSequence(11).spawn(3)[2].spawn(2)[1]
    ours = seed_for(11, 2, 1)
    np.testing.assert_array_equal(ours.generate_state(4), spawned.generate_state(4))


# ---- the record


class Odd:
    """What JSON does not know."""


def test_a_record_is_plain_and_complete():
    maker = tc.Posterior(
        tc.CKL(3, mu=np.float64(0.1), random_state=np.random.default_rng(0)),
        prior=tc.NormalPrior(15.0),
        n_samples=np.int64(20),
        learn={"lapse": (np.float64(1.0), 9.0)},
        start=Odd(),
    )
    found = record("posterior", maker, 2**100, n_answers=5)
    assert json.loads(json.dumps(found)) == found
    assert found["source"] == "posterior"
    assert found["seed"] == str(2**100)
    assert found["n_answers"] == 5
    assert found["versions"] == {
        "tercet": tc.__version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "numba": numba.__version__,
        "python": platform.python_version(),
    }
    settings = found["settings"]
    assert set(settings) == set(maker.get_params(deep=False)) - {"n_jobs", "progress", "checkpoint"}
    assert settings["n_samples"] == 20
    assert settings["learn"] == {"lapse": [1.0, 9.0]}
    assert settings["start"] == "Odd"
    assert settings["prior"] == tc.NormalPrior(15.0).describe()
    assert settings["estimator"]["class"] == "CKL"
    assert settings["estimator"]["mu"] == 0.1
    assert settings["estimator"]["random_state"] == "Generator"


def test_an_estimator_is_described_by_its_parameters():
    found = describe(tc.STE(2, penalty=0.5))
    assert found["class"] == "STE"
    assert {k: v for k, v in found.items() if k != "class"} == tc.STE(2, penalty=0.5).get_params()


def test_a_generator_from_what_entropy_is_taken_from():
    rng = np.random.default_rng(3)
    assert as_generator(rng) is rng
    assert as_generator(np.int64(5)).random() == np.random.default_rng(5).random()
    assert as_generator(None).random() != as_generator(None).random()


@pytest.mark.parametrize("state", [-1, "7", 1.5, True, [1], 10**5000], ids=type)
def test_what_is_no_seed_makes_no_generator(state):
    with pytest.raises(InputError, match="random_state must be None, a whole number from 0 or a"):
        as_generator(state)
