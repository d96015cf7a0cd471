"""Means over all comparisons of many objects: exact, or sampled with an error that is true."""

import json
import pickle
import subprocess
import sys

import numpy as np
import pytest

import tercet as tc
from tercet.ensemble import averages
from tercet.errors import InputError
from tercet.uncertainty import METHODS, pairwise_probability, total_uncertainty


def ensemble(n=30, size=12, seed=0, **extras):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 2)) + 0.3 * rng.normal(size=(size, n, 2))
    return tc.Ensemble(points, alignment="none", **extras)


def matrices(made):
    pairs = np.stack(np.triu_indices(made.n_objects, 1))
    D = np.zeros((len(made), made.n_objects, made.n_objects))
    D[:, pairs[0], pairs[1]] = D[:, pairs[1], pairs[0]] = made.distances()
    return tc.Ensemble(D, kind="distances")


@pytest.mark.parametrize("method", METHODS)
def test_the_total_is_that_of_the_table(method):
    distances = np.random.default_rng(0).random((25, 70))
    p = pairwise_probability(distances, method)[np.triu_indices(70, 1)]
    expected = np.minimum(p, 1.0 - p).sum()
    assert total_uncertainty(distances, method) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["points", "distances", "corrected"])
def test_the_exact_mean_is_that_of_explicit_comparisons(method, kind):
    made = ensemble(centre=np.ones((30, 2)), spread=0.8) if kind == "corrected" else ensemble()
    made = matrices(made) if kind == "distances" else made
    p = made.triplet_probability(tc.simulate.all_comparisons(30), method)
    found = made.average_uncertainty(method=method)
    assert found == pytest.approx(np.minimum(p, 1.0 - p).mean(), rel=1e-12)
    assert found.exact
    assert found.error == 0.0
    assert found.n_comparisons == len(p) == 30 * 29 * 28 // 2


def test_the_error_of_a_sample_is_true():
    """Over many samples the deviation from the exact mean, over its error, is about normal."""
    made = ensemble()
    exact = made.average_uncertainty()
    found = [made.average_uncertainty(sample=900, random_state=k) for k in range(300)]
    z = np.array([(each - exact) / each.error for each in found])
    assert abs(z.mean()) < 4 / np.sqrt(len(z))
    assert z.std() == pytest.approx(1.0, abs=4 * np.sqrt(0.5 / len(z)) + 0.03)
    assert {each.n_comparisons for each in found} == {900}
    assert not any(each.exact for each in found)


def test_stratifying_by_anchor_is_no_worse_than_a_plain_sample():
    made = ensemble(60, 30)
    p = made.triplet_probability(tc.simulate.all_comparisons(60))
    plain = np.minimum(p, 1.0 - p).std() / np.sqrt(6000)
    assert made.average_uncertainty(sample=6000).error < 1.03 * plain


def test_every_comparison_of_an_anchor_is_as_likely():
    rng = np.random.default_rng(0)
    pairs = averages._random_pairs(2, 6, 60_000, rng)
    assert (pairs[:, 0] == 2).all()
    j, l = pairs[:, 1].reshape(2, -1)
    counts = np.bincount(6 * j + l, minlength=36).reshape(6, 6)
    possible = ~np.eye(6, dtype=bool)
    possible[2] = possible[:, 2] = False
    assert (counts[~possible] == 0).all()
    assert np.abs(counts[possible] - 3000).max() < 5 * np.sqrt(3000)


def test_threads_do_not_change_the_bits(monkeypatch):
    monkeypatch.setattr(averages, "BLOCK", 2000)
    made = ensemble()
    for sample in (None, 500):
        one, two = (made.average_uncertainty(sample=sample, n_jobs=jobs) for jobs in (1, 3))
        assert one == two
        assert one.error == two.error


def test_a_seed_gives_the_same_sample_and_another_another():
    made = ensemble()
    first, again = (made.average_uncertainty(sample=300) for _ in range(2))
    assert first == again
    assert first != made.average_uncertainty(sample=300, random_state=1)


def test_many_objects_are_sampled_unless_all_are_asked_for(monkeypatch):
    monkeypatch.setattr(averages, "EXACT_OBJECTS", 20)
    monkeypatch.setattr(averages, "SAMPLE", 1000)
    made = ensemble(25)
    assert not made.average_uncertainty().exact
    assert made.average_uncertainty(sample=None).exact
    assert made.average_uncertainty(sample=25 * 24 * 23 // 2).exact  # there are no more
    assert ensemble(20).average_uncertainty().exact


def test_an_anchor_has_at_least_two_comparisons():
    assert ensemble().average_uncertainty(sample=1).n_comparisons == 60


def test_the_mean_is_a_number_like_any_other():
    found = ensemble().average_uncertainty(sample=300)
    copy = pickle.loads(pickle.dumps(found))
    assert (copy, copy.error, copy.n_comparisons, copy.exact) == (found, found.error, 300, False)
    assert json.loads(json.dumps(found)) == found
    assert type(found + 0.0) is float


def test_the_mean_over_given_comparisons_says_how_many():
    rows = tc.simulate.random_comparisons(30, 50, random_state=0)
    found = ensemble().average_uncertainty(rows)
    assert (found.n_comparisons, found.exact, found.error) == (50, True, 0.0)


@pytest.mark.parametrize("sample", [0, -3, 1.5, "all", True])
def test_a_sample_is_a_number(sample):
    with pytest.raises(InputError, match="sample must be a positive number of comparisons"):
        ensemble().average_uncertainty(sample=sample)


PEAK = """
import sys
import numpy as np
import tercet as tc
from tercet.ensemble import averages

def peak():
    lines = [line for line in open("/proc/self/status") if line.startswith("VmHWM")]
    return int(lines[0].split()[1]) / 1024

def made(n, size):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(n, 2)) + 0.3 * rng.normal(size=(size, n, 2))
    return tc.Ensemble(points, alignment="none")

sample = None if sys.argv[1] == "exact" else 100_000
made(10, 100).average_uncertainty(sample=sample and 10)
some = averages._blocks
if sample is None:  # a few anchors need as much memory as all
    averages._blocks = lambda n, size: some(n, size)[:6]
large = made(3000, 100)
large._columns
before = peak()
large.average_uncertainty(sample=sample, n_jobs=2)
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("how", ["exact", "sampled"])
def test_memory_does_not_grow_with_the_comparisons(how):
    """A table of π for one anchor of 3000 objects would be 69 MB."""
    command = [sys.executable, "-c", PEAK, how]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert float(said) < 60
