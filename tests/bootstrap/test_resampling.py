"""Which answers make a replicate: how many, how often, and which of them together."""

import numpy as np
import pytest

import tercet as tc
from tercet.bootstrap.resampling import Replicates, draw_answers, find_units, resample, sample_size
from tercet.simulate import gaussian_mixture, noisy_triplets

ANSWERS = noisy_triplets(gaussian_mixture(12, random_state=0)[0], 400, noise=0.5, random_state=0)


@pytest.mark.parametrize(("fraction", "m", "size"), [(0.4, 588, 235), (0.29, 100, 29), (1, 7, 7)])
def test_the_size_of_a_subsample_is_rounded_down(fraction, m, size):
    assert sample_size(fraction, m, "answer") == size


def test_subsamples_have_no_row_twice_and_are_uniform():
    draw = resample(find_units(ANSWERS, "answer"), 160, False)
    seeds = np.random.SeedSequence(0).spawn(500)
    subsets = Replicates(draw, seeds)[:]
    assert all(len(rows) == len(np.unique(rows)) == 160 for rows in subsets)
    times = np.bincount(np.concatenate(subsets), minlength=400)
    assert np.abs(times - 200).max() < 5 * np.sqrt(500 * 0.4 * 0.6)


def test_with_replacement_rows_repeat():
    rows = resample(find_units(ANSWERS, "answer"), 400, True)(np.random.default_rng(0))
    assert len(rows) == 400
    assert 0.55 < len(np.unique(rows)) / 400 < 0.72  # 1 - 1/e


@pytest.mark.parametrize("replace", [True, False])
@pytest.mark.parametrize(("unit", "column"), [("observer", "observers"), ("answer", "screens")])
def test_whole_observers_and_screens_stay_together(unit, column, replace):
    """Losses are fitted to the comparisons within choices: those of a screen are one answer."""
    labels = np.random.default_rng(0).choice(["ann", "bob", "cem", "dana", "eve"], 400)
    triplets = tc.Triplets(ANSWERS, **{column: labels})
    units = find_units(triplets, unit)
    assert units.number == 5
    sizes = {name: int(np.sum(labels == name)) for name in set(labels)}
    seen = set()
    for seed in range(50):
        rows = resample(units, 3, replace)(np.random.default_rng(seed))
        times = np.bincount(rows, minlength=400)
        copies = {name: set(times[labels == name]) for name in sizes}
        assert all(len(own) == 1 for own in copies.values())
        copies = {name: own.pop() for name, own in copies.items()}
        assert sum(copies.values()) == 3
        assert len(rows) == sum(sizes[name] * k for name, k in copies.items())
        assert max(copies.values()) == 1 or replace
        seen |= {name for name, k in copies.items() if k}
    assert seen == set(sizes)


def test_counts_are_votes():
    """Row t was given counts[t] times: drawn so often on average, and never more than all."""
    counts = np.random.default_rng(0).integers(1, 6, 400)
    units = find_units(tc.Triplets(ANSWERS, weights=counts), "answer")
    total = int(counts.sum())
    assert units.number == total
    np.testing.assert_array_equal(
        units.rows_of(np.arange(total)), np.repeat(np.arange(400), counts)
    )
    drawn = np.zeros(400)
    for seed in range(200):
        part = resample(units, total // 2, False)(np.random.default_rng(seed))
        assert (np.bincount(part, minlength=400) <= counts).all()
        drawn += np.bincount(
            resample(units, total, True)(np.random.default_rng(seed)), minlength=400
        )
    assert np.abs(drawn / 200 - counts).max() < 5 * np.sqrt(5 / 200)


def test_parametric_answers_have_the_models_probabilities():
    p = np.array([0.0, 0.2, 0.9, 1.0])
    draw = draw_answers(p, None)
    rows = np.array([draw(np.random.default_rng(seed)) for seed in range(4000)])
    np.testing.assert_array_equal(rows % 4, np.tile(np.arange(4), (4000, 1)))
    share = np.mean(rows < 4, axis=0)
    assert (np.abs(share - p) <= 5 * np.sqrt(p * (1 - p) / 4000)).all()
    counts = np.array([1, 30, 2, 5])
    voted = [
        np.bincount(draw_answers(p, counts)(np.random.default_rng(seed)), minlength=8)
        for seed in range(4000)
    ]
    near, far = np.split(np.array(voted), 2, axis=1)
    assert (near + far == counts).all()
    errors = 5 * np.sqrt(counts * p * (1 - p) / 4000)
    assert (np.abs(near.mean(axis=0) - counts * p) <= errors).all()


def test_replicates_are_drawn_when_asked_for_and_always_the_same():
    seeds = np.random.SeedSequence(0).spawn(5)
    replicates = Replicates(lambda rng: rng.integers(100, size=3), seeds)
    assert len(replicates) == 5
    every = replicates[:]
    for k in (4, 0, 2):
        np.testing.assert_array_equal(replicates[k], every[k])
    assert [rows.tolist() for rows in replicates[3:9]] == [rows.tolist() for rows in every[3:]]
    assert len({tuple(rows) for rows in every}) == 5


def test_the_first_rows_are_remembered_and_drawn_where_they_are_not():
    drawn = []

    def draw(rng):
        drawn.append(1)
        return rng.permutation(5000)

    replicates = Replicates(draw, np.random.SeedSequence(0).spawn(4))
    some = replicates.only([1, 3])
    rows = some[1]
    np.testing.assert_array_equal(replicates.head(3), rows[:1000])
    assert len(drawn) == 1
    np.testing.assert_array_equal(replicates.head(0), replicates[0][:1000])
