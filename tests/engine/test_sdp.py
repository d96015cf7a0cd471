"""The semidefinite program of GNMDS: against a conic solver, its dual, and its symmetries."""

import clarabel
import numpy as np
import pytest
from scipy import sparse

from tercet.engine.sdp import critical_slack_weight, points_from_kernel, solve_kernel
from tercet.errors import InputError


def squared_distances(K):
    size = np.diag(K)
    return size[:, None] + size - 2 * K


def margins(K, pairs):
    a, b, c, d = pairs.T
    D = squared_distances(K)
    return D[c, d] - D[a, b]


def objective(K, pairs, slack_weight, weights=1.0):
    hinge = np.maximum(0, 1 - margins(K, pairs))
    return np.trace(K) + slack_weight * np.sum(weights * hinge)


def clarabel_solution(pairs, n, slack_weight, weights=None):
    """Solve over (svec K, ξ): margins + ξ ≥ 1, ξ ≥ 0, K ⪰ 0; independent of tercet's own code."""
    m = len(pairs)
    row, column = np.array([(i, j) for j in range(n) for i in range(j + 1)]).T
    root = np.where(row == column, 1.0, np.sqrt(2))

    def svec(M):
        return M[row, column] * root

    def distance_matrix(i, j):
        v = np.zeros(n)
        v[i] += 1
        v[j] -= 1
        return np.outer(v, v)

    B = np.array([svec(distance_matrix(c, d) - distance_matrix(a, b)) for a, b, c, d in pairs])
    size, eye = len(row), sparse.identity
    A = sparse.block_array([[-B, -eye(m)], [None, -eye(m)], [-eye(size), None]], format="csc")
    b = np.concatenate([-np.ones(m), np.zeros(m + size)])
    q = np.concatenate(
        [svec(np.eye(n)), slack_weight * (np.ones(m) if weights is None else weights)]
    )
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cones = [clarabel.NonnegativeConeT(2 * m), clarabel.PSDTriangleConeT(n)]
    P = sparse.csc_array((size + m, size + m))
    solved = clarabel.DefaultSolver(P, q, A, b, cones, settings).solve()
    assert str(solved.status) == "Solved"
    K = np.zeros((n, n))
    K[row, column] = np.array(solved.x[:size]) / root
    return np.triu(K) + np.triu(K, 1).T, solved.obj_val


def random_triplets(rng, n, m, flip=0.15):
    """Answers about random points in the plane, some of them wrong."""
    anchor, near, far = np.array([rng.permutation(n)[:3] for _ in range(m)]).T
    pairs = np.stack([anchor, near, anchor, far], axis=1)
    X = rng.normal(size=(n, 2))
    wrong = (margins(X @ X.T, pairs) < 0) ^ (rng.random(m) < flip)
    pairs[wrong] = pairs[wrong][:, [2, 3, 0, 1]]
    return pairs, X


def random_quadruplets(rng, n, m):
    pairs = rng.integers(n, size=(m, 4))
    return pairs[(pairs[:, 0] != pairs[:, 1]) & (pairs[:, 2] != pairs[:, 3])]


@pytest.mark.parametrize(
    ("n", "m", "slack_weight"), [(6, 20, 0.3), (8, 60, 0.1), (8, 40, 1), (10, 60, 5)]
)
@pytest.mark.parametrize("kind", ["triplets", "weighted", "quadruplets"])
def test_reaches_the_optimum_of_a_conic_solver(n, m, slack_weight, kind):
    rng = np.random.default_rng([n, m])
    pairs = (
        random_quadruplets(rng, n, m) if kind == "quadruplets" else random_triplets(rng, n, m)[0]
    )
    weights = rng.uniform(0, 3, size=len(pairs)) if kind == "weighted" else None
    K, optimum = clarabel_solution(pairs, n, slack_weight, weights)
    ours = solve_kernel(pairs, n, slack_weight=slack_weight, weights=weights, tol=1e-6)
    assert ours.converged
    assert ours.dual_objective <= optimum * (1 + 1e-7) <= ours.objective * (1 + 2e-7)
    assert ours.objective - optimum <= 1e-6 * ours.objective
    true_weights = 1.0 if weights is None else weights
    assert objective(ours.kernel, pairs, slack_weight, true_weights) == pytest.approx(
        ours.objective
    )
    # The optimum is flat: a gap of 1e-6 leaves K about √1e-6 of its size undetermined.
    assert np.linalg.norm(ours.kernel - K) <= 1e-2 * np.linalg.norm(K)


@pytest.mark.parametrize("max_iter", [1, 7, 30, 100])
def test_bounds_hold_at_any_iteration(max_iter):
    pairs, _ = random_triplets(np.random.default_rng(1), 9, 50)
    _, optimum = clarabel_solution(pairs, 9, 0.7)
    ours = solve_kernel(pairs, 9, slack_weight=0.7, tol=0, max_iter=max_iter)
    assert not ours.converged
    assert ours.n_iter == max_iter
    assert "raise max_iter" in ours.reason
    assert ours.dual_objective <= optimum <= ours.objective
    assert objective(ours.kernel, pairs, 0.7) == pytest.approx(ours.objective)


def test_the_sign_slip_of_the_papers_supplement_gives_another_map():
    """Negative control: near and far swapped, as the slipped margin has them."""
    pairs, _ = random_triplets(np.random.default_rng(2), 10, 60, flip=0)
    right = solve_kernel(pairs, 10, slack_weight=1)
    slipped = solve_kernel(pairs[:, [2, 3, 0, 1]], 10, slack_weight=1)
    _, optimum = clarabel_solution(pairs, 10, 1)
    assert np.mean(margins(right.kernel, pairs) > 0) > 0.95
    assert np.mean(margins(slipped.kernel, pairs) > 0) < 0.2
    assert objective(slipped.kernel, pairs, 1) > 2 * optimum


def test_kernel_is_semidefinite_and_centred():
    pairs, _ = random_triplets(np.random.default_rng(3), 20, 200)
    K = solve_kernel(pairs, 20).kernel
    np.testing.assert_array_equal(K, K.T)
    assert np.linalg.eigvalsh(K)[0] > -1e-12
    assert np.abs(K.sum(axis=1)).max() < 1e-12


def test_one_place_up_to_the_critical_slack_weight():
    pairs, _ = random_triplets(np.random.default_rng(4), 9, 40)
    critical = critical_slack_weight(pairs, 9)
    below = solve_kernel(pairs, 9, slack_weight=0.99 * critical)
    assert not below.kernel.any()
    assert below.converged
    assert "raise C" in below.reason
    assert clarabel_solution(pairs, 9, 0.99 * critical)[1] == pytest.approx(below.objective)
    above = solve_kernel(pairs, 9, slack_weight=1.05 * critical, tol=1e-6)
    assert np.trace(above.kernel) > 0.01
    assert above.objective < 1.05 * critical * len(pairs)


def test_answers_that_cancel():
    pairs = np.array([[0, 1, 0, 2], [0, 2, 0, 1]])
    assert critical_slack_weight(pairs, 3) == np.inf
    ours = solve_kernel(pairs, 3)
    assert not ours.kernel.any()
    assert "cancel" in ours.reason


def test_default_slack_weight_follows_the_weights():
    """C scales against the weights, so that counting every answer twice changes nothing."""
    pairs, _ = random_triplets(np.random.default_rng(5), 12, 80)
    once = solve_kernel(pairs, 12, tol=1e-6)
    twice = solve_kernel(np.vstack([pairs, pairs]), 12, tol=1e-6)
    weighted = solve_kernel(pairs, 12, weights=np.full(80, 2.0), tol=1e-6)
    assert once.slack_weight == pytest.approx(2 * twice.slack_weight)
    np.testing.assert_allclose(twice.kernel, once.kernel, atol=1e-9)
    np.testing.assert_array_equal(twice.kernel, weighted.kernel)


def test_relabelling_and_reordering_change_nothing():
    rng = np.random.default_rng(6)
    pairs, _ = random_triplets(rng, 12, 80)
    label = rng.permutation(12)
    K = solve_kernel(pairs, 12, tol=1e-6).kernel
    moved = solve_kernel(label[rng.permutation(pairs)], 12, tol=1e-6).kernel
    np.testing.assert_allclose(moved[np.ix_(label, label)], K, atol=1e-6 * np.abs(K).max())


def test_same_input_same_bits():
    pairs, _ = random_triplets(np.random.default_rng(7), 30, 300)
    one, two = solve_kernel(pairs, 30), solve_kernel(pairs, 30)
    np.testing.assert_array_equal(one.kernel, two.kernel)
    assert one[1:] == two[1:]


def test_objects_never_compared_sit_at_the_origin():
    pairs, _ = random_triplets(np.random.default_rng(8), 8, 40)
    K = solve_kernel(pairs, 10).kernel
    np.testing.assert_array_equal(K[8:], 0)


def test_recovers_a_planted_configuration():
    rng = np.random.default_rng(9)
    pairs, X = random_triplets(rng, 30, 4000, flip=0)
    ours = solve_kernel(pairs[:2000], 30)
    Y = points_from_kernel(ours.kernel, 2)
    assert ours.converged
    # Over 25 seeds .055 to .093 (guessing: .5) and .84 to .98: trace is not rank, K is not flat.
    assert np.mean(margins(Y @ Y.T, pairs[2000:]) < 0) < 0.12
    found, true = squared_distances(Y @ Y.T), squared_distances(X @ X.T)
    assert np.corrcoef(found.ravel(), true.ravel())[0, 1] > 0.8


def test_points_give_the_kernel_back():
    rng = np.random.default_rng(10)
    X = rng.normal(size=(7, 3))
    K = X @ X.T
    for n_components in (3, 7):
        Y = points_from_kernel(K, n_components)
        assert Y.shape == (7, n_components)
        np.testing.assert_allclose(Y @ Y.T, K, atol=1e-12)
    leading = points_from_kernel(K, 2)
    np.testing.assert_allclose((leading**2).sum(axis=0), np.linalg.eigvalsh(K)[[-1, -2]])
    assert np.all(leading[np.abs(leading).argmax(axis=0), [0, 1]] > 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pairs": [[0, 1, 2]]}, "shape"),
        ({"pairs": [[0, 1, 0, 3]]}, "0 to 2"),
        ({"weights": [-1.0]}, "weights"),
        ({"slack_weight": 0}, "positive"),
    ],
)
def test_unusable_input(change, message):
    with pytest.raises(InputError, match=message):
        solve_kernel(**{"pairs": [[0, 1, 0, 2]], "n_objects": 3} | change)


def test_unusable_dimension():
    with pytest.raises(InputError, match="between 1 and 3"):
        points_from_kernel(np.eye(3), 4)
