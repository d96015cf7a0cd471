"""How certain an ensemble is: of all comparisons, of single ones, and of neighbours."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import tercet as tc
from tercet.ensemble import averages
from tercet.errors import InputError
from tercet.uses import certainty as looking
from tercet.uses.certainty import choose_comparisons, shares_of, thin

N = 9
POINTS = np.random.default_rng(0).normal(size=(N, 2))


def ensemble(size=500, noise=0.3, **more):
    rng = np.random.default_rng(1)
    return tc.Ensemble(POINTS + noise * rng.normal(size=(size, N, 2)), alignment="none", **more)


def answers(m=300, **columns):
    rows = tc.simulate.random_comparisons(N, m, replace=True, random_state=2)
    given = tc.simulate.answer(POINTS, rows, noise=0.5, random_state=2)
    return tc.Triplets(given, n_objects=N, **columns)


def test_shares_and_the_expected_error_are_over_all_comparisons():
    made = ensemble()
    p = made.triplet_probability(tc.simulate.all_comparisons(N))
    confidence = np.maximum(p, 1 - p)
    found = tc.certainty(made, level=0.85)
    assert found.counted == found.curve.in_all == len(p) == N * (N - 1) * (N - 2) // 2
    assert not found.is_sample
    assert found.share == np.mean(confidence > 0.85) == dict(found.shares)[0.85]
    assert found.curve.at(0.85) == found.share
    assert found.expected_error == pytest.approx(made.average_uncertainty())
    assert [at for at, _ in found.shares] == [0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.99]


def test_claims_are_the_surest_and_the_least_sure_of_each_anchor():
    made = ensemble()
    found = tc.certainty(made)
    rows = tc.simulate.all_comparisons(N)
    confidence = np.abs(made.triplet_probability(rows) - 0.5) + 0.5
    for claims, best in ((found.most, np.max), (found.least, np.min)):
        assert len({claim.anchor for claim in claims}) == len(claims)
        for claim in claims:
            own = made.triplet_probability([[claim.anchor, claim.near, claim.far]])
            assert claim.probability == pytest.approx(own[0])
            assert claim.probability >= 0.5
            assert claim.probability == pytest.approx(best(confidence[rows[:, 0] == claim.anchor]))
            assert claim.answers is claim.agreed is None  # nothing is known of answers
    assert all(claim.probability <= 0.95 for claim in found.least)
    assert found.contested == ()


def test_answers_are_counted_votes_too():
    made, given = ensemble(), answers()
    votes = np.arange(len(given)) % 3 + 1
    heavy = tc.Triplets(given, weights=votes)
    once, thrice = tc.certainty(made, given), tc.certainty(made, heavy)
    rows = given.array.tolist()
    counted = {}
    for row, vote in zip(map(tuple, rows), votes.tolist(), strict=True):
        counted[row] = counted.get(row, 0) + vote
    for claim in (*once.most, *once.least, *once.contested):
        agreed, against = (
            rows.count([claim.anchor, *pair])
            for pair in ((claim.near, claim.far), (claim.far, claim.near))
        )
        assert (claim.agreed, claim.answers) == (agreed, agreed + against)
    for claim in thrice.most:
        assert claim.agreed == counted.get(claim[:3], 0)


def test_contested_claims_are_answered_against_a_certain_map():
    made = ensemble(noise=0.05)
    against = tc.certainty(made).most[0]
    row = [against.anchor, against.far, against.near]
    given = tc.Triplets([row, row, row[:1] + row[:0:-1]], n_objects=N)
    (claim,) = tc.certainty(made, given).contested
    assert claim[:3] == against[:3]
    assert (claim.answers, claim.agreed) == (3, 1)
    assert tc.certainty(made, given[:1], level=0.5).contested
    assert not tc.certainty(made, given[2:]).contested


def test_answers_by_name_are_matched_and_quadruplets_tell_nothing():
    names = [f"n{i}" for i in range(N)]
    made, given = ensemble(names=names), answers()
    order = np.random.default_rng(0).permutation(N)
    by_name = tc.Triplets(np.argsort(order)[given.array], names=[names[i] for i in order])
    assert tc.certainty(made, by_name).most == tc.certainty(made, given).most
    of_four = tc.certainty(made, given.array[:, [0, 1, 0, 2]])
    assert all(claim.answers is None for claim in of_four.most)
    assert of_four.contested == ()
    assert "n" + str(of_four.most[0].anchor) in str(of_four)


def test_distances_are_enough():
    made = ensemble()
    square = np.linalg.norm(made.draws[:, :, None] - made.draws[:, None], axis=3)
    of_distances, of_points = (
        tc.certainty(each, answers()) for each in (tc.Ensemble(square, kind="distances"), made)
    )
    assert of_distances.share == of_points.share
    assert of_distances.contested == of_points.contested
    for one, other in zip(of_distances.neighbours, of_points.neighbours, strict=True):
        assert_allclose(one, other)


def test_a_map_without_doubt_is_certain_of_all():
    found = tc.certainty(tc.Ensemble(np.stack([POINTS] * 5)))
    assert found.share == 1.0
    assert found.expected_error == 0.0
    assert found.least == ()


def test_of_many_objects_a_sample_is_looked_at(monkeypatch):
    made = ensemble()
    exact = tc.certainty(made)
    monkeypatch.setattr(averages, "EXACT_OBJECTS", N - 1)
    monkeypatch.setattr(averages, "SAMPLE", 200)
    found = tc.certainty(made, random_state=3)
    assert found.is_sample
    assert found.counted == 200
    assert "200 random comparisons" in str(found)
    assert found.share == pytest.approx(exact.share, abs=0.1)
    assert found.share == tc.certainty(made, random_state=3).share
    again, _ = choose_comparisons(N, 3)
    assert not np.array_equal(again, choose_comparisons(N, 4)[0])


def test_many_draws_of_many_objects_are_thinned(monkeypatch):
    made = ensemble(size=100)
    assert thin(made) is not made
    assert len(thin(made)) == 100
    monkeypatch.setattr(looking, "DRAWS", 30)
    monkeypatch.setattr(looking, "WORK", 0)
    assert thin(made).draws.tolist() == made.draws[::4].tolist()


def test_neighbours_are_the_nearest_by_mean_distance():
    made = ensemble(noise=0.6)
    pairs = {pair: k for k, pair in enumerate(zip(*np.triu_indices(N, 1), strict=True))}
    table = made.distances()
    for i, found in enumerate(tc.nearest_neighbours(made, N - 1)):
        columns = [table[:, pairs[min(i, j), max(i, j)]] for j in range(N) if j != i]
        others = [j for j in range(N) if j != i]
        mean = np.mean(columns, axis=1)
        assert [each.object for each in found] == [others[k] for k in np.argsort(mean)]
        assert sum(each.probability for each in found) == pytest.approx(1.0)
        nearest = np.argmin(columns, axis=0)
        for each in found:
            k = others.index(each.object)
            assert each.probability == pytest.approx(np.mean(nearest == k))
            assert each.distance == pytest.approx(mean[k])
    assert [len(each) for each in tc.nearest_neighbours(made, 2)] == [2] * N
    with pytest.raises(InputError, match="k must be 1 or more"):
        tc.nearest_neighbours(made, 0)


def test_shares_count_what_is_above():
    found = shares_of([0.5, 0.7, 0.2, 0.99], 0.7)
    assert [found.at(level) for level in (0.5, 0.7, 0.8, 0.99, 1.0)] == [0.75, 0.5, 0.25, 0, 0]


@pytest.mark.parametrize("level", [0.4, 1.0, float("nan")])
def test_a_wrong_level_is_said(level):
    with pytest.raises(InputError, match="level must lie between"):
        tc.certainty(ensemble(), level=level)
