"""Files of version 1 stay readable: a saved map, and the checkpoints of two interrupted runs.

They are in ``tests/data/version_1``, with what made them and what is to come out of them. The
chains go on with the sampler of today, so what comes out of these was renewed with it.

Tolerances: a saved map is read, and what is computed from it holds to 1e-12. A run that goes on is
computed here, perhaps by another processor with other last bits. Weights that differ in the last
bit move these losses and log-posteriors by 3e-9 and the distances by 1e-8 (chains as short as these
have no time to part), so they hold to 1e-6 and, as the optimiser stops at 1e-9 of the loss and
knows distances to the root of that, to 1e-4. Another seed changes the first digit.
"""

import json
import shutil
import sqlite3
import warnings
from contextlib import closing

import numpy as np
import pytest
from tests.data.version_1.make import HERE, ROWS_KEPT, make_maker, read_answers, summarise

import tercet as tc

EXACT, DISTANCES, VALUES = 1e-12, 1e-4, 1e-6


def stored(name):
    return json.loads((HERE / name).read_text("utf-8"))


def go_on(kind, path, **changes):
    """Run to the end from a checkpoint, from which the seed is taken too."""
    maker = make_maker(kind, checkpoint=path, random_state=None).set_params(**changes)
    with warnings.catch_warnings():
        # Chains as short as these are told so, as are other versions than those of the file.
        warnings.simplefilter("ignore", UserWarning)
        return maker.fit(read_answers()).ensemble_


def contents(path):
    with closing(sqlite3.connect(path)) as file:
        rows = file.execute("SELECT kind, number, part, value FROM content")
        return {row[:3]: row[3] for row in rows}


def assert_as_expected(found, expected):
    assert found.keys() == expected.keys()
    for name, values in expected.items():
        tolerance = DISTANCES if "distances" in name else VALUES
        np.testing.assert_allclose(found[name], values, rtol=tolerance, err_msg=name)


@pytest.fixture(params=ROWS_KEPT)
def kind(request):
    return request.param


@pytest.fixture
def path(kind, tmp_path):
    return shutil.copy(HERE / f"{kind}.ckpt", tmp_path)


# --- checkpoints ------------------------------------------------------------------------------


def test_an_interrupted_run_goes_on_to_what_an_undisturbed_one_found(kind, path):
    before = contents(path)
    assert len(before) == ROWS_KEPT[kind]
    assert_as_expected(summarise(go_on(kind, path)), stored("checkpoints.json")[kind])
    after = contents(path)
    assert len(after) > len(before)  # there was something left to do
    assert {key: after[key] for key in before} == before  # and what was done is as it was


def test_a_run_that_begins_anew_would_be_noticed(kind, tmp_path):
    """Negative control: without the file there is another seed, and another result."""
    anew = summarise(go_on(kind, tmp_path / "new.ckpt"))
    with pytest.raises(AssertionError):
        assert_as_expected(anew, stored("checkpoints.json")[kind])


def test_rows_of_version_1_are_used(tmp_path):
    """Where two replicates are swapped in the file they are swapped in the result."""
    path = shutil.copy(HERE / "bootstrap.ckpt", tmp_path)
    with closing(sqlite3.connect(path)) as file, file:
        for number, other in ((0, 99), (1, 0), (99, 1)):
            file.execute("UPDATE content SET number = ? WHERE number = ?", (other, number))
    found = summarise(go_on("bootstrap", path))["loss"]
    expected = stored("checkpoints.json")["bootstrap"]["loss"]
    np.testing.assert_allclose(found, [expected[1], expected[0], *expected[2:]], rtol=VALUES)
    assert not np.isclose(*expected[:2], rtol=VALUES)


def test_other_settings_are_still_another_run(kind, path):
    with pytest.raises(tc.InputError, match=r"another run.*n_samples"):
        go_on(kind, path, n_samples=21)


# --- a saved map ------------------------------------------------------------------------------


def test_a_saved_map_is_read_as_it_was_written():
    ensemble, expected = tc.Ensemble.load(HERE / "map.npz"), stored("map.json")
    assert list(ensemble.names) == expected.pop("names")
    assert ensemble.chains.tolist() == expected.pop("chains")
    assert ensemble.provenance["seed"] == expected.pop("seed")
    comparisons = tc.simulate.all_comparisons(ensemble.n_objects)[:10]
    found = summarise(ensemble) | {"lapse": ensemble.parameters["lapse"]}
    found["certainty"] = ensemble.triplet_probability(comparisons)
    found["answers"] = ensemble.answer_probability(comparisons)
    for name, values in expected.items():
        np.testing.assert_allclose(found.pop(name), values, rtol=EXACT, err_msg=name)
    assert not found


def test_a_map_that_is_saved_again_is_the_same(tmp_path):
    first = tc.Ensemble.load(HERE / "map.npz")
    first.save(tmp_path / "again.npz")
    again = tc.Ensemble.load(tmp_path / "again.npz")
    np.testing.assert_array_equal(again.draws, first.draws)
    assert again.provenance == first.provenance


def test_the_map_is_of_version_1():
    with np.load(HERE / "map.npz", allow_pickle=False) as file:
        header = json.loads(str(file["header"]))
    assert (header["format"], header["version"]) == ("tercet ensemble", 1)
