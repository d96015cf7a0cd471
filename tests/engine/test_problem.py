"""Answers as the engine sees them: edges, the choice of form, subsets, memory."""

import tracemalloc

import numpy as np
import pytest

from tercet import Choices, Triplets
from tercet.answers.either import with_weights
from tercet.embedder import problem_of
from tercet.engine.problem import EDGES_PER_TRIPLET, build_problem, some_pairs, take_rows
from tercet.engine.search import Objective, evaluate
from tercet.models import STEModel
from tercet.simulate import all_comparisons, random_comparisons


def triplets(n, m, seed=0):
    return random_comparisons(n, m, replace=True, random_state=seed)


def quadruplets(n, m, seed=0):
    rng = np.random.default_rng(seed)
    rows = np.array([rng.permutation(n)[:4] for _ in range(m)])
    rows[::3, 2] = rows[::3, 0]  # a third of them share an object, like triplets
    return rows


def pair_sets(problem):
    """Every comparison as (near pair, far pair), spelled through the edges."""
    near, far = problem.edges[problem.near], problem.edges[problem.far]
    return [(frozenset(a), frozenset(b)) for a, b in zip(near.tolist(), far.tolist(), strict=True)]


def loss_and_gradient(problem, d=2):
    X = np.random.default_rng(7).normal(size=(problem.n_objects, d))
    return evaluate(Objective(STEModel(), d, 0.1), problem, X)


def assert_same(problem, other):
    fields = (*problem._fields, *problem.lists._fields)
    all_of_it = [*problem, *problem.lists], [*other, *other.lists]
    for name, mine, theirs in zip(fields, *all_of_it, strict=True):
        if name != "lists":
            np.testing.assert_array_equal(mine, theirs, err_msg=name)


# ---- edges


@pytest.mark.parametrize("n", [12, 300])
def test_edges_spell_the_triplets(n):
    """With few objects a table of all pairs numbers the edges, with many a sorted list."""
    rows = triplets(n, 500)
    problem = build_problem(rows, n, use_edges=True)
    expected = [({i, j}, {i, l}) for i, j, l in problem.comparisons.tolist()]
    assert pair_sets(problem) == expected
    np.testing.assert_array_equal(problem.comparisons[problem.position], rows)


def test_edges_spell_the_quadruplets():
    rows = quadruplets(9, 200)
    problem = build_problem(rows, 9)
    assert pair_sets(problem) == [({a, b}, {c, d}) for a, b, c, d in problem.comparisons.tolist()]
    np.testing.assert_array_equal(problem.comparisons[problem.position], rows)


def test_every_edge_is_listed_once_and_used():
    problem = build_problem(triplets(15, 400), 15, use_edges=True)
    assert np.all(problem.edges[:, 0] < problem.edges[:, 1])
    assert len(np.unique(problem.edges, axis=0)) == len(problem.edges)
    used = np.union1d(problem.near, problem.far)
    np.testing.assert_array_equal(used, np.arange(len(problem.edges)))


def test_weights_follow_their_rows():
    rows, weights = triplets(10, 50), np.arange(1.0, 51.0)
    problem = build_problem(rows, 10, weights)
    np.testing.assert_array_equal(problem.weights[problem.position], weights)


def test_rows_are_sorted_by_anchor_also_beyond_16_bits():
    n = 70_000
    rows = triplets(n, 300)
    problem = build_problem(rows, n)
    assert np.all(np.diff(problem.comparisons[:, 0].astype(np.int64)) >= 0)
    np.testing.assert_array_equal(problem.comparisons[problem.position], rows)


# ---- which form


def test_many_triplets_on_few_edges_use_edges():
    problem = build_problem(all_comparisons(10), 10)
    assert len(problem.edges) == 45


def test_few_triplets_on_many_objects_use_rows():
    problem = build_problem(triplets(1000, 200), 1000)
    assert len(problem.edges) == len(problem.near) == len(problem.far) == 0


def test_the_form_is_chosen_by_edges_per_triplet():
    n, rng = 40, np.random.default_rng(0)
    forms = set()
    for m in rng.integers(50, 1500, size=20):
        rows = triplets(n, int(m), seed=int(m))
        by_edges = build_problem(rows, n, use_edges=True)
        prefers_rows = len(by_edges.edges) > EDGES_PER_TRIPLET * m
        assert (len(build_problem(rows, n).edges) == 0) == prefers_rows
        forms.add(prefers_rows)
    assert forms == {True, False}


def test_the_form_can_be_asked_for():
    rows = all_comparisons(6)
    assert len(build_problem(rows, 6, use_edges=False).edges) == 0
    rare = triplets(1000, 20)
    assert len(build_problem(rare, 1000, use_edges=True).edges) > 0


@pytest.mark.parametrize("use_edges", [None, False])
def test_quadruplets_always_use_edges(use_edges):
    assert len(build_problem(quadruplets(100, 20), 100, use_edges=use_edges).edges) > 0


# ---- subsets


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("use_edges", [True, False])
@pytest.mark.parametrize("size", [1, 40, 300])
def test_a_subset_is_what_building_from_its_rows_gives(weighted, use_edges, size):
    n, rows, rng = 25, triplets(25, 300), np.random.default_rng(1)
    weights = rng.uniform(0.5, 2.0, 300) if weighted else None
    chosen = rng.integers(300, size=size)  # with repeats
    subset = take_rows(build_problem(rows, n, weights, use_edges=use_edges), chosen)
    form = len(subset.edges) > 0
    fresh = build_problem(
        rows[chosen], n, None if weights is None else weights[chosen], use_edges=form
    )
    found, expected = loss_and_gradient(subset), loss_and_gradient(fresh)
    assert found[0] == pytest.approx(expected[0], rel=1e-13)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-11, atol=1e-12)


def test_a_subset_of_quadruplets_keeps_its_edges():
    rows, chosen = quadruplets(12, 80), np.array([3, 3, 70, 0, 11])
    subset, fresh = take_rows(build_problem(rows, 12), chosen), build_problem(rows[chosen], 12)
    assert sorted(map(str, pair_sets(subset))) == sorted(map(str, pair_sets(fresh)))


def test_a_subset_of_sorted_distinct_rows_is_the_same_problem():
    rows = all_comparisons(9)
    problem = build_problem(rows, 9)
    chosen = np.arange(0, len(rows), 2)
    assert_same(take_rows(problem, chosen), build_problem(rows[chosen], 9))
    assert_same(take_rows(problem, np.arange(len(rows))), problem)


def test_the_order_of_a_subset_does_not_matter():
    problem, rng = build_problem(triplets(10, 100), 10), np.random.default_rng(0)
    chosen = rng.integers(100, size=60)
    assert_same(take_rows(problem, chosen), take_rows(problem, rng.permutation(chosen)))


def choices(m, n=12, weighted=False):
    """Choices of every kind and several sizes, and comparisons, in any order."""
    rng = np.random.default_rng(0)
    shown = np.argsort(rng.random((m, n)), axis=1)
    anchor, others = shown[:, 0], shown[:, 1:6]
    parts = [
        Choices.odd_one_out(shown[:, :3], n_objects=n),
        Choices.most_central(shown[:, 3:6], n_objects=n),
        Choices.nearest(anchor, others, others[:, :2], n_objects=n),
        Choices.nearest(anchor, others[:, :4], others[:, :2], ranked=True, n_objects=n),
        Choices.best_worst(anchor, others, others[:, 0], others[:, 1], n_objects=n),
        Triplets(shown[:, :3], n_objects=n),
    ]
    joined = Choices.concatenate(parts)[rng.permutation(6 * m)]
    return with_weights(joined, rng.uniform(0.5, 2.0, 6 * m)) if weighted else joined


def test_choices_are_sorted_and_found_again():
    asked = choices(30)
    problem = problem_of(asked)
    assert problem.n_rows == len(asked) == 180
    assert len(problem.comparisons) == 30
    assert np.array_equal(np.sort(problem.position), np.arange(180))
    lists, count = problem.lists, len(problem.comparisons)
    pairs = problem.edges[lists.edges]
    for row in np.flatnonzero(asked.n_alternatives > 2):
        c = problem.position[row] - count
        ours, theirs = slice(*lists.cuts[c : c + 2]), slice(*asked.cuts[row : row + 2])
        np.testing.assert_array_equal(np.sort(pairs[ours], axis=1), asked.pairs[theirs])
        assert (lists.kinds[c], lists.chosen[c]) == (asked.kinds[row], asked.n_chosen[row])


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [1, 40, 300])
def test_a_subset_of_choices_is_what_building_from_its_rows_gives(weighted, size):
    asked, rng = choices(30, weighted=weighted), np.random.default_rng(1)
    chosen = rng.integers(len(asked), size=size)  # with repeats
    problem = problem_of(asked)
    subset, fresh = take_rows(problem, chosen), problem_of(asked[chosen])
    found, expected = loss_and_gradient(subset), loss_and_gradient(fresh)
    assert found[0] == pytest.approx(expected[0], rel=1e-13)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-11, atol=1e-12)
    assert_same(subset, take_rows(problem, rng.permutation(chosen)))


def test_choices_between_two_pairs_are_comparisons():
    rows = triplets(12, 60)
    as_choices = problem_of(Choices.from_triplets(Triplets(rows, n_objects=12)))
    found, expected = map(loss_and_gradient, (as_choices, build_problem(rows, 12)))
    assert len(as_choices.lists.kinds) == 0
    assert found[0] == pytest.approx(expected[0], rel=1e-13)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-11, atol=1e-12)


def test_a_subset_of_a_subset():
    problem = build_problem(triplets(10, 100), 10)
    once = take_rows(problem, np.array([5, 9, 40, 41, 77]))
    sorted_rows = once.comparisons[[0, 3]]
    twice = take_rows(once, np.array([0, 3]))
    np.testing.assert_array_equal(twice.comparisons, sorted_rows)


def test_a_small_subset_changes_to_rows():
    problem = build_problem(all_comparisons(30), 30)
    assert len(problem.edges) > 0
    assert len(take_rows(problem, np.array([0, 5000])).edges) == 0


def test_repeated_rows_equal_weights():
    rows, counts = triplets(12, 60), np.random.default_rng(0).integers(1, 5, size=60)
    weighted = build_problem(rows, 12, counts.astype(float))
    repeated = build_problem(np.repeat(rows, counts, axis=0), 12)
    found, expected = loss_and_gradient(weighted), loss_and_gradient(repeated)
    assert found[0] == pytest.approx(expected[0], rel=1e-13)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-11, atol=1e-12)


# ---- memory


@pytest.mark.parametrize("use_edges", [None, True])
def test_memory_does_not_grow_with_the_square_of_the_objects(use_edges):
    n, m = 1_000_000, 1000
    rows = triplets(n, m)
    take_rows(build_problem(triplets(12, 60), 12, use_edges=use_edges), np.arange(3))  # loads code
    tracemalloc.start()
    problem = build_problem(rows, n, use_edges=use_edges)
    take_rows(problem, np.arange(0, m, 3))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2_000 * m  # n² bits alone would be 125 GB


@pytest.mark.parametrize("n", [2, 3, 7, 50])
def test_all_pairs_where_they_are_few(n):
    np.testing.assert_array_equal(some_pairs(n, 10_000), np.triu_indices(n, 1))


def test_a_choice_of_pairs_is_that_of_the_list():
    chosen = np.random.default_rng(0).choice(60 * 59 // 2, 100, replace=False)
    expected = np.stack(np.triu_indices(60, 1))[:, chosen]
    np.testing.assert_array_equal(some_pairs(60, 100), expected)


@pytest.mark.parametrize("n", [10**6, 2**31 - 1])
def test_pairs_of_very_many_objects_are_not_listed(n):
    first, second = some_pairs(n, 1000)
    number = first * n + second - (first + 1) * (first + 2) // 2
    expected = np.random.default_rng(0).choice(n * (n - 1) // 2, 1000, replace=False)
    assert ((first >= 0) & (first < second) & (second < n)).all()
    np.testing.assert_array_equal(number, expected)
