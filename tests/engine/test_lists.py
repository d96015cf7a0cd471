"""The loss of choices: against a slow reference, finite differences and the comparisons."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.luce import by_definition
from tests.worlds import choices_of_every_kind

import tercet as tc
from tercet.answers.choices import BEST_WORST, FARTHEST, ORDERED, UNORDERED, restore
from tercet.embedder import problem_of
from tercet.engine import lists as engine_lists
from tercet.engine.chunks import loss_in_chunks
from tercet.engine.kernels import add_edges, code_of, edge_lengths, edge_similarities
from tercet.engine.lists import BLOCK, FEW, list_loss, list_weights
from tercet.engine.problem import least_weight, take_rows
from tercet.engine.search import Objective, evaluate
from tercet.engine.starts import _signed_counts
from tercet.models import CKLModel, STEModel, TSTEModel
from tercet.models.shepard import CORNER, ShepardModel

N = 9
MODELS = [
    STEModel(),
    TSTEModel(),
    CKLModel(0.1, exponent=1.5),
    CKLModel(0.0, exponent=3.0),
    ShepardModel(),
    ShepardModel(1.4),
    ShepardModel(1.4, tail=0.4),
]
models = pytest.mark.parametrize("model", MODELS, ids=str)


def points(d, seed=1):
    return np.random.default_rng(seed).normal(size=(N, d))


def uniform(low, high, seed=3):
    return lambda size: np.random.default_rng(seed).uniform(low, high, size)


def similarity(model, squared, d):
    """From the definitions of the models."""
    if isinstance(model, STEModel):
        return math.exp(-squared)
    if isinstance(model, TSTEModel):
        alpha = max(d - 1, 1)
        return (1 + squared / alpha) ** (-(alpha + 1) / 2)
    if isinstance(model, CKLModel):
        return 1 / (model.mu + squared ** (model.exponent / 2))
    power = (squared + CORNER) ** (model.gamma / 2)
    if model.tail > 0.0:
        return (1 + model.tail * power) ** (-1 / model.tail)
    return math.exp(-power)


def reference(model, choices, X, lapse=0.0):
    """-log likelihood from the definition, choice by choice."""
    total = 0.0
    weights = np.ones(len(choices)) if choices.weights is None else choices.weights
    for c, (start, stop) in enumerate(zip(choices.cuts[:-1], choices.cuts[1:], strict=True)):
        apart = [X[i] - X[j] for i, j in choices.pairs[start:stop]]
        s = [similarity(model, float(x @ x), X.shape[1]) for x in apart]
        p = by_definition(choices.kinds[c], int(choices.n_chosen[c]), s)
        total -= weights[c] * math.log((1 - lapse) * p + lapse / choices.n_outcomes[c])
    return total


def differences(function, X, h=1e-5):
    slope = np.empty_like(X)
    for place in np.ndindex(X.shape):
        step = np.zeros_like(X)
        step[place] = h
        slope[place] = (function(X + step) - function(X - step)) / (2 * h)
    return slope


def with_lapse(model, problem, X, lapse):
    """Loss, its derivative by the lapse rate, and its gradient."""
    gradient = np.zeros_like(X)
    p, q = map(float, model.constants(X.shape[1]))
    code, bonus = code_of(model), problem.lists.bonus
    loss, by_lapse, *_ = add_edges(code, p, q, lapse, bonus, problem, X, gradient)
    return loss, by_lapse, gradient


def assert_same(found, expected):
    assert found[0] == pytest.approx(expected[0], rel=1e-12)
    scale = np.abs(expected[1]).max()
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-10, atol=1e-12 * scale)


# ---- the value and its gradient


def test_the_world_has_every_kind_in_lists_and_comparisons():
    choices = choices_of_every_kind()
    problem = problem_of(choices)
    assert set(problem.lists.kinds.tolist()) == {ORDERED, UNORDERED, FARTHEST, BEST_WORST}
    assert len(problem.comparisons) == 16
    assert problem.n_rows == len(choices) == 16 + len(problem.lists.kinds)
    assert sorted(problem.position) == list(range(len(choices)))


@models
@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_value_and_gradient_are_those_of_the_definition(model, d, weighted):
    columns = {"weights": uniform(0.2, 4.0)} if weighted else {}
    choices, X = choices_of_every_kind(m=3, **columns), points(d)
    objective = Objective(model, d, 0.05)
    problem = problem_of(choices)
    value, gradient = evaluate(objective, problem, X)
    assert value == pytest.approx(reference(model, choices, X) + 0.05 * np.sum(X**2), rel=1e-12)
    expected = differences(lambda X: evaluate(objective, problem, X)[0], X)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-6)


@models
@pytest.mark.parametrize("lapse", [0.1, 0.7])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_lapse_is_any_of_the_outcomes(model, lapse, weighted):
    columns = {"weights": uniform(0.2, 4.0)} if weighted else {}
    choices, X = choices_of_every_kind(m=3, **columns), points(2)
    problem = problem_of(choices)
    value, by_lapse, gradient = with_lapse(model, problem, X, lapse)
    assert value == pytest.approx(reference(model, choices, X, lapse), rel=1e-12)
    up, down = (reference(model, choices, X, lapse + step) for step in (1e-6, -1e-6))
    assert by_lapse == pytest.approx((up - down) / 2e-6, rel=1e-6)
    expected = differences(lambda X: with_lapse(model, problem, X, lapse)[0], X)
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-6)


def test_a_tiny_lapse_is_close_to_none():
    problem, X = problem_of(choices_of_every_kind()), points(2)
    found, expected = (with_lapse(STEModel(), problem, X, lapse) for lapse in (1e-12, 0.0))
    assert found[0] == pytest.approx(expected[0], rel=1e-7)
    np.testing.assert_allclose(found[2], expected[2], rtol=1e-5, atol=1e-5)
    assert expected[1] == 0.0


def test_a_whole_lapse_leaves_nothing_to_learn():
    choices, X = choices_of_every_kind(), points(2)
    value, _, gradient = with_lapse(STEModel(), problem_of(choices), X, 1.0)
    assert value == pytest.approx(np.log(choices.n_outcomes).sum())
    np.testing.assert_array_equal(gradient, 0.0)


def test_a_lapse_keeps_impossible_answers_finite():
    choices, X = choices_of_every_kind(), 1e3 * points(2)
    problem = problem_of(choices)
    value, by_lapse, gradient = with_lapse(STEModel(), problem, X, 0.1)
    assert value <= np.log(choices.n_outcomes / 0.1).sum() * (1 + 1e-12)
    assert np.isfinite(by_lapse)
    assert np.isfinite(gradient).all()
    assert not np.isfinite(with_lapse(STEModel(), problem, np.nan * X, 0.1)[0])


def test_other_answers_have_another_loss():
    """The reference notices a kind, an order or a number of chosen ones that is wrong."""
    choices, X = choices_of_every_kind(m=3), points(2)
    fields, expected = choices._fields, reference(STEModel(), choices, X)
    ordered = np.where(fields.kinds == UNORDERED, ORDERED, fields.kinds)
    nearest = np.where(fields.kinds == FARTHEST, ORDERED, fields.kinds)
    fewer = np.where(fields.kinds == ORDERED, 1, fields.n_chosen)
    for change in ({"kinds": ordered}, {"kinds": nearest}, {"n_chosen": fewer}):
        problem = problem_of(restore(fields._replace(**change)))
        assert abs(evaluate(Objective(STEModel(), 2), problem, X)[0] - expected) > 0.1


# ---- lists and comparisons


def two_of_each(m=300, weighted=False):
    rows = tc.simulate.random_comparisons(N, m, replace=True, random_state=0)
    weights = uniform(0.2, 4.0)(m) if weighted else None
    triplets = tc.Triplets(rows, n_objects=N, weights=weights)
    return triplets, tc.Choices.from_triplets(triplets)


@models
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("d", [1, 2])
def test_choices_between_two_are_the_comparisons(model, weighted, d):
    triplets, choices = two_of_each(weighted=weighted)
    problem, X = problem_of(choices), points(d)
    assert len(problem.lists.kinds) == 0
    found = evaluate(Objective(model, d, 0.1), problem, X)
    assert_same(found, evaluate(Objective(model, d, 0.1), problem_of(triplets), X))


NO_SIDES = np.empty(0, dtype=np.int64), np.zeros(2)  # places and bonus of lists


def as_lists(problem):
    """The comparisons of a problem as choices among two alternatives."""
    m = len(problem.comparisons)
    weights = problem.weights if len(problem.weights) else np.ones(m)
    return engine_lists.Lists(
        np.stack([problem.near, problem.far], axis=1).ravel(),
        2 * np.arange(m + 1),
        np.full(m, ORDERED),
        np.ones(m, dtype=np.int64),
        weights,
        *NO_SIDES,
    )


@models
@pytest.mark.parametrize("lapse", [0.0, 0.2])
def test_lists_of_two_alternatives_are_comparisons_too(model, lapse):
    triplets, _ = two_of_each(weighted=True)
    problem = problem_of(triplets, use_edges=True)
    nothing = problem.near[:0]
    other = problem._replace(near=nothing, far=nothing, lists=as_lists(problem))
    expected, found = (with_lapse(model, p, points(2), lapse) for p in (problem, other))
    assert_same(found[::2], expected[::2])
    assert found[1] == pytest.approx(expected[1], rel=1e-9, abs=1e-9)


def test_an_odd_one_out_is_less_than_its_two_comparisons():
    """Two comparisons of three pairs say less than if they were independent."""
    choices, X = tc.Choices.odd_one_out([[0, 1, 2]], n_objects=N), np.zeros((N, 2))
    objective = Objective(STEModel(), 2)
    assert evaluate(objective, problem_of(choices), X)[0] == pytest.approx(math.log(3))
    assert evaluate(objective, problem_of(choices.triplets()), X)[0] == pytest.approx(math.log(4))


# ---- blocks, one by one, and in parts


def log_similarities(model, problem, X):
    lengths, log_s, slopes = np.empty((3, len(problem.edges)))
    edge_lengths(X, problem.edges, lengths)
    p, q = map(float, model.constants(X.shape[1]))
    edge_similarities(code_of(model), p, q, lengths, log_s, slopes)
    return log_s, slopes


def single_choices(size, count, kind=ORDERED, seed=0):
    """Lists of one choice among ``size`` alternatives, at random places in 40 edges."""
    rng = np.random.default_rng(seed)
    edges = np.array([rng.permutation(40)[:size] for _ in range(count)], dtype=np.uint32)
    return engine_lists.Lists(
        edges.ravel(),
        size * np.arange(count + 1),
        np.full(count, kind),
        np.ones(count, dtype=np.int64),
        rng.uniform(0.2, 4.0, count),
        *NO_SIDES,
    )


@pytest.mark.parametrize("kind", [ORDERED, FARTHEST])
@pytest.mark.parametrize("size", [2, 3, FEW])
@pytest.mark.parametrize("count", [1, BLOCK, BLOCK + 1, 3 * BLOCK - 1])
@pytest.mark.parametrize("lapse", [0.0, 0.2])
def test_blocks_of_single_choices_are_the_choices_one_by_one(kind, size, count, lapse):
    lists = single_choices(size, count, kind)
    rng = np.random.default_rng(1)
    log_s, slopes = 5.0 * rng.normal(size=40), rng.normal(size=40)
    w, expected = np.zeros((2, 40))
    bonus, unused = np.zeros((2, 2))
    found = list_weights(lapse, bonus, lists, 0, count, log_s, slopes, w, unused)
    one_by_one = engine_lists._add_one_by_one(
        lapse, 1.0 / size, bonus, lists, 0, count, log_s, slopes, expected, unused
    )
    assert found == pytest.approx(one_by_one, rel=1e-11, abs=1e-9)
    np.testing.assert_allclose(w, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", [ORDERED, FARTHEST])
def test_more_alternatives_than_a_block_holds(kind):
    """The same with one alternative that nobody chooses, so that there is one too many."""
    few = single_choices(FEW, 50, kind)
    wide = np.insert(few.edges.reshape(-1, FEW), FEW, 40, axis=1)
    many = few._replace(edges=wide.ravel(), cuts=(FEW + 1) * np.arange(51))
    rng = np.random.default_rng(1)
    log_s, slopes = np.append(rng.normal(size=40), -900.0), np.append(rng.normal(size=40), 1.0)
    if kind == FARTHEST:
        log_s[-1] = 900.0
    w = np.zeros((2, 41))
    found = [
        list_weights(0.0, lists.bonus, lists, 0, 50, log_s, slopes, own, np.zeros(2))[0]
        for lists, own in zip((few, many), w, strict=True)
    ]
    assert found[1] == pytest.approx(found[0], rel=1e-12)
    np.testing.assert_allclose(w[1], w[0], rtol=1e-10, atol=1e-11)


@models
def test_the_loss_alone_is_that_of_the_weights(model):
    problem, X = problem_of(choices_of_every_kind(m=100, weights=uniform(0.2, 4.0))), points(2)
    log_s, slopes = log_similarities(model, problem, X)
    count = len(problem.lists.kinds)
    w, by_bonus = np.zeros_like(log_s), np.zeros(2)
    lists = problem.lists
    whole, by_lapse = list_weights(0.0, lists.bonus, lists, 0, count, log_s, slopes, w, by_bonus)
    assert (by_bonus == 0.0).all()
    assert by_lapse == 0.0
    assert list_loss(problem.lists, log_s, np.inf) == pytest.approx(whole, rel=1e-13)
    for limit in (0.0, 0.3 * whole, 0.99 * whole):
        assert limit < list_loss(problem.lists, log_s, limit) <= whole * (1 + 1e-12)
    assert not list_loss(problem.lists, np.full_like(log_s, np.nan), 0.1) < 0.1


@models
@pytest.mark.parametrize("weighted", [False, True])
def test_parts_add_up_to_the_whole_on_any_number_of_threads(model, weighted):
    columns = {"weights": uniform(0.2, 4.0)} if weighted else {}
    problem, X = problem_of(choices_of_every_kind(m=70, **columns)), points(2)
    objective = Objective(model, 2, 0.1)
    results = []
    for n_threads in (1, 2, 3):
        gradient, again = np.full((2, *X.shape), np.nan)
        with ThreadPoolExecutor(n_threads) as pool:
            loss = loss_in_chunks(*objective.arguments, problem, pool.map)
            results.append((loss(X, gradient), gradient))
            assert loss(X, again) == results[-1][0]  # nothing is left over from the first call
            np.testing.assert_array_equal(again, gradient)
    alone = np.empty_like(X)
    results.append((loss_in_chunks(*objective.arguments, problem, map)(X, alone), alone))
    for value, gradient in results[1:]:
        assert value == results[0][0]
        np.testing.assert_array_equal(gradient, results[0][1])
    assert_same(results[0], evaluate(objective, problem, X))


@pytest.mark.parametrize("m", [1, 5])
def test_fewer_choices_than_parts(m):
    rows = np.array([np.random.default_rng(k).permutation(N)[:3] for k in range(m)])
    problem, X = problem_of(tc.Choices.odd_one_out(rows, n_objects=N)), points(2)
    objective, gradient = Objective(STEModel(), 2), np.empty((N, 2))
    value = loss_in_chunks(*objective.arguments, problem, map)(X, gradient)
    assert_same((value, gradient), evaluate(objective, problem, X))


# ---- subsets and weights


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("size", [1, 30, 200])
def test_rows_taken_several_times_are_weights(weighted, size):
    columns = {"weights": uniform(0.2, 4.0)} if weighted else {}
    choices, X = choices_of_every_kind(**columns), points(2)
    rows = np.random.default_rng(1).integers(len(choices), size=size)
    times = np.bincount(rows, minlength=len(choices)).astype(float)
    kept = np.flatnonzero(times)
    given = np.ones(len(choices)) if choices.weights is None else choices.weights
    counted = restore(choices[kept]._fields._replace(weights=(given * times)[kept]))
    objective = Objective(CKLModel(), 2, 0.1)
    taken = take_rows(problem_of(choices), rows)
    expected = evaluate(objective, problem_of(counted), X)
    assert_same(evaluate(objective, taken, X), expected)
    assert_same(evaluate(objective, problem_of(choices[rows]), X), expected)
    assert expected[0] == pytest.approx(
        reference(CKLModel(), counted, X) + 0.1 * np.sum(X**2), rel=1e-12
    )
    again = take_rows(taken, np.arange(taken.n_rows))
    assert_same(evaluate(objective, again, X), expected)


def test_a_subset_lists_every_edge_once_and_uses_it():
    problem = take_rows(problem_of(choices_of_every_kind()), np.array([0, 5, 5, 40, 71]))
    used = np.concatenate([problem.near, problem.far, problem.lists.edges])
    np.testing.assert_array_equal(np.unique(used), np.arange(len(problem.edges)))
    assert len(np.unique(problem.edges, axis=0)) == len(problem.edges)


def test_weights_are_of_their_rows():
    """Each choice alone, times its weight, sums to the whole."""
    choices, X = choices_of_every_kind(m=2, weights=uniform(0.2, 4.0)), points(2)
    objective = Objective(TSTEModel(), 2)
    problem = problem_of(choices)
    total = 0.0
    for c, weight in enumerate(choices.weights):
        plain = restore(choices[[c]]._fields._replace(weights=None))
        alone = evaluate(objective, problem_of(plain), X)[0]
        assert evaluate(objective, take_rows(problem, np.array([c])), X)[0] == pytest.approx(
            weight * alone, rel=1e-12
        )
        total += weight * alone
    assert evaluate(objective, problem, X)[0] == pytest.approx(total, rel=1e-12)
    assert least_weight(problem) == choices.weights.min()


def test_the_order_of_the_rows_does_not_matter():
    choices, X = choices_of_every_kind(weights=uniform(0.2, 4.0)), points(2)
    shuffled = choices[np.random.default_rng(0).permutation(len(choices))]
    objective = Objective(STEModel(), 2)
    assert_same(
        evaluate(objective, problem_of(shuffled), X), evaluate(objective, problem_of(choices), X)
    )


# ---- the start


def test_counts_of_two_alternatives_are_those_of_comparisons():
    triplets, _ = two_of_each(weighted=True)
    problem = problem_of(triplets, use_edges=True)
    nothing = problem.near[:0]
    empty = problem.comparisons[:0], problem.weights[:0]
    other = problem._replace(
        comparisons=empty[0], weights=empty[1], near=nothing, far=nothing, lists=as_lists(problem)
    )
    np.testing.assert_allclose(_signed_counts(other)[1], _signed_counts(problem)[1], atol=1e-13)


def test_counts_of_an_odd_one_out():
    """Twice the slopes where all pairs are equally near: 4/3 for the near one, −2/3 for others."""
    problem = problem_of(tc.Choices.odd_one_out([[0, 1, 2]]))
    pairs, values = _signed_counts(problem)
    degree = np.array([4 / 3 + 2 / 3, 4 / 3 + 2 / 3, 2 / 3 + 2 / 3])
    expected = {(0, 1): 4 / 3, (0, 2): -2 / 3, (1, 2): -2 / 3}
    for (i, j), value in zip(pairs.tolist(), values, strict=True):
        assert value == pytest.approx(expected[i, j] / math.sqrt(degree[i] * degree[j]))
