"""Value and gradient: edge form, row form and parts against a slow reference in NumPy."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tercet.engine.chunks import loss_in_chunks
from tercet.engine.kernels import BLOCK, code_of, edge_lengths, edge_loss, edge_weights
from tercet.engine.problem import build_problem
from tercet.engine.search import Objective, evaluate
from tercet.models import CKLModel, GNMDSModel, ShepardModel, SOEModel, STEModel, TSTEModel
from tercet.simulate import random_comparisons

MODELS = [
    STEModel(),
    TSTEModel(),
    CKLModel(),
    CKLModel(0.1, exponent=1.5),
    ShepardModel(),
    ShepardModel(1.6),
    ShepardModel(1.6, tail=0.4),
    GNMDSModel(smoothing=0.5),
    SOEModel(0.5),
]
DIMENSIONS = [1, 2, 3, 4, 5, 8]
N = 20


def points(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def comparisons(n, m, columns=3, seed=0):
    if columns == 3:
        return random_comparisons(n, m, replace=True, random_state=seed)
    rng = np.random.default_rng(seed)
    return np.array([rng.permutation(n)[:4] for _ in range(m)])


def reference(model, rows, X, weights=None, penalty=0.0):
    """The loss and its gradient from the definition; the model itself has its own tests."""
    a, b, c, d = rows[:, [0, 1, 0, 2]].T if rows.shape[1] == 3 else rows.T
    w = np.ones(len(rows)) if weights is None else weights
    to_near, to_far = X[a] - X[b], X[c] - X[d]
    near, far = np.sum(to_near**2, axis=1), np.sum(to_far**2, axis=1)
    loss, d_near, d_far = model.loss(near, far, n_components=X.shape[1])
    pull, push = 2 * (w * d_near)[:, None] * to_near, 2 * (w * d_far)[:, None] * to_far
    gradient = 2 * penalty * X
    for objects, force in ((a, pull), (b, -pull), (c, push), (d, -push)):
        np.add.at(gradient, objects, force)
    return np.sum(w * loss) + penalty * np.sum(X**2), gradient


def assert_close(found, expected, rtol=1e-11):
    assert found[0] == pytest.approx(expected[0], rel=1e-12, abs=1e-12)
    scale = np.abs(expected[1]).max() + 1e-300
    np.testing.assert_allclose(found[1], expected[1], rtol=rtol, atol=1e-12 * scale)


# ---- the two forms


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("weighted", [False, True])
def test_both_forms_equal_the_reference(model, d, weighted):
    rows, X = comparisons(N, 300), points(N, d)
    weights = np.random.default_rng(3).uniform(0.2, 4.0, 300) if weighted else None
    expected = reference(model, rows, X, weights, penalty=0.05)
    for use_edges in (True, False):
        problem = build_problem(rows, N, weights, use_edges=use_edges)
        assert_close(evaluate(Objective(model, d, 0.05), problem, X), expected)


@pytest.mark.parametrize("m", [1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, 1000])
@pytest.mark.parametrize("model", MODELS[:2], ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("use_edges", [True, False])
def test_a_last_block_of_any_size_is_counted_right(m, model, weighted, use_edges):
    assert BLOCK == 256
    rows, X = comparisons(N, m), points(N, 2)
    weights = np.random.default_rng(3).uniform(0.2, 4.0, m) if weighted else None
    problem = build_problem(rows, N, weights, use_edges=use_edges)
    found = evaluate(Objective(model, 2), problem, X)
    assert_close(found, reference(model, rows, X, weights))


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("d", [1, 2, 4])
def test_quadruplets_equal_the_reference(model, d):
    rows, X = comparisons(N, 300, columns=4), points(N, d)
    found = evaluate(Objective(model, d), build_problem(rows, N), X)
    assert_close(found, reference(model, rows, X))


def test_triplets_written_as_quadruplets_are_the_same():
    rows, X = comparisons(N, 300), points(N, 3)
    as_pairs = build_problem(rows[:, [0, 1, 0, 2]], N)
    objective = Objective(STEModel(), 3)
    assert_close(evaluate(objective, as_pairs, X), evaluate(objective, build_problem(rows, N), X))


def test_the_forms_agree_where_the_form_is_left_to_the_counting():
    rows, X = comparisons(500, 300), points(500, 2)
    objective = Objective(TSTEModel(), 2)
    assert len(build_problem(rows, 500).edges) == 0
    assert_close(
        evaluate(objective, build_problem(rows, 500), X),
        evaluate(objective, build_problem(rows, 500, use_edges=True), X),
    )


# ---- the gradient is that of the value


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("use_edges", [True, False])
@pytest.mark.parametrize("d", [1, 3, 4])
def test_gradient_matches_finite_differences(model, use_edges, d):
    n = 6
    problem = build_problem(comparisons(n, 40), n, use_edges=use_edges)
    objective, X = Objective(model, d, 0.1), points(n, d, seed=2)
    _, gradient = evaluate(objective, problem, X)
    h = 1e-6
    for place in np.ndindex(X.shape):
        step = np.zeros_like(X)
        step[place] = h
        rise = evaluate(objective, problem, X + step)[0] - evaluate(objective, problem, X - step)[0]
        assert gradient[place] == pytest.approx(rise / (2 * h), rel=1e-5, abs=1e-5)


def test_the_penalty_is_its_factor_times_the_sum_of_squares():
    problem, X = build_problem(comparisons(N, 50), N), points(N, 2)
    free = evaluate(Objective(STEModel(), 2), problem, X)
    held = evaluate(Objective(STEModel(), 2, 0.7), problem, X)
    assert held[0] - free[0] == pytest.approx(0.7 * np.sum(X**2))
    np.testing.assert_allclose(held[1] - free[1], 1.4 * X, rtol=1e-10, atol=1e-12)


def test_objects_in_no_comparison_feel_only_the_penalty():
    problem, X = build_problem(comparisons(N, 50), N + 3), points(N + 3, 2)
    _, gradient = evaluate(Objective(STEModel(), 2, 0.5), problem, X)
    np.testing.assert_array_equal(gradient[N:], X[N:])


def test_moving_and_turning_all_points_changes_nothing():
    problem, X = build_problem(comparisons(N, 200), N), points(N, 3)
    rotation, _ = np.linalg.qr(points(3, 3, seed=9))
    objective = Objective(STEModel(), 3)
    value, gradient = evaluate(objective, problem, X)
    moved, turned = evaluate(objective, problem, X @ rotation + 5.0)
    assert moved == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(turned, gradient @ rotation, atol=1e-11)


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("coordinate", [np.nan, np.inf, 1e200])
def test_an_embedding_that_is_not_finite_has_no_finite_loss(model, coordinate):
    X = points(N, 2)
    X[3] = coordinate  # the square of 1e200 is infinite too
    for use_edges in (True, False):
        problem = build_problem(comparisons(N, 200), N, use_edges=use_edges)
        assert not np.isfinite(evaluate(Objective(model, 2), problem, X)[0])


# ---- edges alone, with a lapse rate


PROBABILITIES = [model for model in MODELS if model.is_probability]


def on_edges(model, m=300, weighted=False):
    """Random comparisons, their squared lengths, and what evaluates them at any lengths."""
    weights = np.random.default_rng(3).uniform(0.2, 4.0, m) if weighted else None
    problem = build_problem(comparisons(N, m), N, weights, use_edges=True)
    lengths = np.empty(len(problem.edges))
    edge_lengths(points(N, 2), problem.edges, lengths)

    def evaluate_at(lengths, lapse, limit=np.inf):
        w = np.zeros(len(lengths))
        constants = (code_of(model), *map(float, model.constants(2)))
        fields = (problem.near, problem.far, problem.weights)
        loss, by_lapse = edge_weights(*constants, lapse, *fields, lengths, w)
        alone = edge_loss(*constants, *fields, lengths, limit)
        return loss, w, by_lapse, alone

    return problem, lengths, evaluate_at


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("m", [1, BLOCK - 1, BLOCK + 1, 1000])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_loss_of_edges_is_that_of_edge_weights(model, m, weighted):
    _, lengths, evaluate_at = on_edges(model, m, weighted)
    loss, _, by_lapse, alone = evaluate_at(lengths, 0.0)
    assert alone == pytest.approx(loss, rel=1e-13)
    assert by_lapse == 0.0


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_loss_above_the_limit_may_stop_short_but_stays_above_it(model):
    _, lengths, evaluate_at = on_edges(model, 1000, True)
    *_, whole = evaluate_at(lengths, 0.0)
    for limit in (0.0, 0.3 * whole, 0.99 * whole):
        *_, found = evaluate_at(lengths, 0.0, limit)
        assert limit < found <= whole
    *_, found = evaluate_at(lengths, 0.0, 1.01 * whole)
    assert found == whole
    *_, found = evaluate_at(np.full_like(lengths, np.nan), 0.0, 0.1)
    assert not found < 0.1


@pytest.mark.parametrize("model", PROBABILITIES, ids=str)
@pytest.mark.parametrize("lapse", [1e-9, 0.1, 0.7])
@pytest.mark.parametrize("weighted", [False, True])
def test_with_a_lapse_rate_answers_are_a_coins_so_often(model, lapse, weighted):
    problem, lengths, evaluate_at = on_edges(model, 600, weighted)
    p = model.probability(lengths[problem.near], lengths[problem.far], 2)
    weights = problem.weights if weighted else 1.0
    loss, w, by_lapse, _ = evaluate_at(lengths, lapse)
    mixed = (1 - lapse) * p + lapse / 2
    assert loss == pytest.approx(-np.sum(weights * np.log(mixed)), rel=1e-11)
    assert by_lapse == pytest.approx(np.sum(weights * (p - 0.5) / mixed), rel=1e-9)
    h = 1e-6
    for e in range(0, len(lengths), 7):
        step = h * (np.arange(len(lengths)) == e)
        rise = evaluate_at(lengths + step, lapse)[0] - evaluate_at(lengths - step, lapse)[0]
        assert w[e] == pytest.approx(rise / (2 * h), rel=1e-4, abs=1e-5)


def test_a_tiny_lapse_rate_is_close_to_none_and_a_whole_one_leaves_nothing_to_learn():
    _, lengths, evaluate_at = on_edges(STEModel())
    loss, w, _, _ = evaluate_at(lengths, 0.0)
    near, slopes, _, _ = evaluate_at(lengths, 1e-12)
    assert near == pytest.approx(loss, rel=1e-9)
    np.testing.assert_allclose(slopes, w, rtol=1e-6, atol=1e-9)
    coin, flat, _, _ = evaluate_at(lengths, 1.0)
    assert coin == pytest.approx(300 * np.log(2))
    np.testing.assert_array_equal(flat, 0.0)


def test_a_lapse_rate_keeps_an_impossible_answer_finite():
    """Its loss is at most that of a coin that comes up once in 2 / lapse throws."""
    _, lengths, evaluate_at = on_edges(STEModel())
    loss, w, _, _ = evaluate_at(1e6 * lengths, 0.1)
    assert loss <= 300 * np.log(20) * (1 + 1e-12)
    assert np.isfinite(w).all()
    assert not np.isfinite(evaluate_at(np.full_like(lengths, np.nan), 0.1)[0])


# ---- in parts, on threads


def in_parts(objective, problem, X, n_threads):
    gradient = np.full_like(X, np.nan)
    with ThreadPoolExecutor(n_threads) as pool:
        loss = loss_in_chunks(*objective.arguments, problem, pool.map)
        value = loss(X, gradient)
        again = np.empty_like(X)
        assert loss(X, again) == value  # nothing is left over from the first call
        np.testing.assert_array_equal(again, gradient)
    return value, gradient


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("use_edges", [True, False])
@pytest.mark.parametrize("weighted", [False, True])
def test_parts_add_up_to_the_whole(model, use_edges, weighted):
    m = 2003
    rows, X = comparisons(N, m), points(N, 2)
    weights = np.random.default_rng(3).uniform(0.2, 4.0, m) if weighted else None
    problem = build_problem(rows, N, weights, use_edges=use_edges)
    objective = Objective(model, 2, 0.1)
    assert_close(in_parts(objective, problem, X, 2), evaluate(objective, problem, X))


@pytest.mark.parametrize("columns", [3, 4])
@pytest.mark.parametrize("n", [N, 70_000])
@pytest.mark.parametrize("use_edges", [True, False])
def test_the_number_of_threads_does_not_change_the_bits(columns, n, use_edges):
    rows, X = comparisons(N, 3000, columns), points(n, 3)
    if n > N:  # objects beyond 16 bits
        rows = np.linspace(0, n - 1, N).astype(int)[rows]
        assert rows.max() > 2**16
    problem = build_problem(rows, n, use_edges=use_edges)
    objective = Objective(STEModel(), 3, 0.1)
    value, gradient = in_parts(objective, problem, X, 1)
    assert_close((value, gradient), reference(STEModel(), rows, X, penalty=0.1))
    for n_threads in (2, 3):
        same, also = in_parts(objective, problem, X, n_threads)
        assert same == value
        np.testing.assert_array_equal(also, gradient)


@pytest.mark.parametrize("m", [1, 5, 8])
def test_fewer_comparisons_than_parts(m):
    rows, X = comparisons(N, m), points(N, 2)
    for use_edges in (True, False):
        problem = build_problem(rows, N, use_edges=use_edges)
        found = in_parts(Objective(STEModel(), 2), problem, X, 2)
        assert_close(found, reference(STEModel(), rows, X))
