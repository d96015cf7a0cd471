import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.linalg import orthogonal_procrustes
from scipy.stats import ortho_group
from sklearn.metrics import brier_score_loss
from sklearn.metrics import log_loss as sklearn_log_loss

from tercet import metrics
from tercet.answers.triplets import Triplets
from tercet.errors import InputError
from tercet.metrics import (
    brier_score,
    expected_calibration_error,
    log_loss,
    procrustes_distance,
    reliability_table,
    satisfied,
    squared_distances,
    triplet_error,
)

LINE = np.array([[0.0], [1.0], [3.0], [6.0]])
seeds = st.integers(0, 2**32 - 1)
# Multiples of 2⁻⁶ are exact in 1 − p, so that turning a row around cannot move it to another bin.
probabilities = arrays(
    np.float64, st.integers(1, 40), elements=st.integers(0, 64).map(lambda k: k / 64)
)


def random_triplets(n, m, rng):
    return np.array([rng.choice(n, 3, replace=False) for _ in range(m)])


def test_triplet_error_by_hand():
    # 1 is 1 from 0 and 2 from 2; 2 is 3 from 0 and from 3: a tie.
    triplets = [[1, 0, 2], [1, 2, 0], [2, 0, 3], [2, 3, 0], [3, 2, 0]]
    np.testing.assert_array_equal(satisfied(LINE, triplets), [True, False, False, False, True])
    assert triplet_error(LINE, triplets) == pytest.approx(3 / 5)


def test_triplet_error_of_quadruplets():
    quadruplets = [[0, 1, 2, 3], [2, 3, 0, 1], [0, 2, 2, 3]]
    np.testing.assert_array_equal(satisfied(LINE, quadruplets), [True, False, False])


def test_triplet_error_uses_weights():
    rows = [[1, 0, 2], [1, 2, 0], [3, 2, 0]]
    weighted = Triplets(np.array(rows), n_objects=4, weights=np.array([1.0, 3.0, 4.0]))
    assert triplet_error(LINE, weighted) == pytest.approx(3 / 8)


def test_a_collapsed_embedding_satisfies_nothing():
    assert triplet_error(np.zeros((4, 2)), [[0, 1, 2], [0, 2, 1]]) == 1.0


def test_chunks_do_not_change_distances(monkeypatch):
    rng = np.random.default_rng(0)
    points, triplets = rng.normal(size=(20, 3)), random_triplets(20, 101, rng)
    near, far = squared_distances(points, triplets)
    i, j, k = triplets.T
    np.testing.assert_allclose(near, np.sum((points[i] - points[j]) ** 2, axis=1), rtol=1e-12)
    np.testing.assert_allclose(far, np.sum((points[i] - points[k]) ** 2, axis=1), rtol=1e-12)
    monkeypatch.setattr(metrics, "CHUNK", 30)
    np.testing.assert_array_equal(squared_distances(points, triplets), (near, far))


@settings(deadline=None)
@given(seed=seeds, d=st.integers(2, 4), size=st.floats(0.1, 10.0))
def test_triplet_error_is_blind_to_similarities(seed, d, size):
    rng = np.random.default_rng(seed)
    points, triplets = rng.normal(size=(8, d)), random_triplets(8, 30, rng)
    moved = size * points @ ortho_group.rvs(d, random_state=rng) + rng.normal(size=d)
    assert triplet_error(moved, triplets) == triplet_error(points, triplets)
    assert triplet_error(points, triplets[:, [0, 2, 1]]) == pytest.approx(
        1 - triplet_error(points, triplets)
    )


def test_unusable_embeddings_are_refused():
    with pytest.raises(InputError):
        triplet_error(LINE, [[0, 1, 4]])
    with pytest.raises(InputError, match="shape"):
        triplet_error(LINE[:, 0], [[0, 1, 2]])
    with pytest.raises(InputError, match="row 3"):
        triplet_error(np.where(LINE > 5, np.nan, LINE), [[0, 1, 2]])


def test_procrustes_distance_is_the_papers():
    rng = np.random.default_rng(1)
    X, truth = rng.normal(size=(2, 10, 2))
    rotation, _ = orthogonal_procrustes(X, truth)
    expected = np.sum((X @ rotation - truth) ** 2)
    assert procrustes_distance(X, truth) == pytest.approx(expected)


@settings(deadline=None)
@given(seed=seeds, d=st.integers(2, 4))
def test_procrustes_distance_invariances(seed, d):
    rng = np.random.default_rng(seed)
    X, truth = rng.normal(size=(2, 8, d))
    turned = X @ ortho_group.rvs(d, random_state=rng)
    plain = procrustes_distance(X, truth)
    shifted = procrustes_distance(X, truth, translate=True)
    scaled = procrustes_distance(X, truth, translate=True, scale=True)
    assert procrustes_distance(turned, truth) == pytest.approx(plain)
    assert procrustes_distance(turned + 3.0, truth, translate=True) == pytest.approx(shifted)
    assert procrustes_distance(2 * turned + 3.0, truth, translate=True, scale=True) == (
        pytest.approx(scaled)
    )
    assert scaled <= shifted + 1e-12
    assert shifted <= plain + 1e-12


def test_procrustes_distance_default_does_not_shift_or_scale():
    # Two points at ±1, moved by 1: each is off by 1; doubled: each is off by 1.
    truth = np.array([[-1.0], [1.0]])
    assert procrustes_distance(truth + 1.0, truth) == pytest.approx(2.0)
    assert procrustes_distance(truth * 2.0, truth) == pytest.approx(2.0)
    assert procrustes_distance(truth * 2.0, truth, scale=True) == pytest.approx(0.0)


def test_log_loss_and_brier_by_hand():
    assert log_loss([0.5, 0.25]) == pytest.approx((np.log(2) + np.log(4)) / 2)
    assert log_loss([0.5, 0.25], [True, False]) == pytest.approx((np.log(2) - np.log(0.75)) / 2)
    assert brier_score([0.5, 0.25]) == pytest.approx((0.25 + 0.5625) / 2)
    assert brier_score([0.5, 0.25], [1, -1]) == pytest.approx((0.25 + 0.0625) / 2)


def test_scores_agree_with_scikit_learn():
    rng = np.random.default_rng(2)
    p, truth = rng.random(200), rng.random(200) < 0.5
    p[:2], truth[:2] = 0.0, [True, False]
    assert log_loss(p, truth) == pytest.approx(sklearn_log_loss(truth, p))
    assert brier_score(p, truth) == pytest.approx(brier_score_loss(truth, p))


def test_log_loss_clip():
    assert log_loss([0.0], clip=0.01) == pytest.approx(-np.log(0.01))
    assert log_loss([1.0], [False], clip=0.01) == pytest.approx(-np.log(0.01))
    assert log_loss([0.0]) == pytest.approx(52 * np.log(2))
    assert log_loss([0.0], clip=0.0) == np.inf
    assert log_loss([1e-300], clip=0.0) == pytest.approx(300 * np.log(10))
    with pytest.raises(InputError, match="clip"):
        log_loss([0.5], clip=0.5)


def test_reliability_table_and_ece_by_hand():
    p = [0.52, 0.46, 0.93, 0.05, 0.97, 1.0]
    truth = [True, True, True, True, False, True]
    table = reliability_table(p, truth)
    np.testing.assert_allclose(table.edges, np.arange(10, 21) / 20)
    np.testing.assert_array_equal(table.count, [2, 0, 0, 0, 0, 0, 0, 0, 1, 3])
    # Confidences .52 (right) and .54 (wrong); .93 (right); .95 (wrong), .97 (wrong), 1 (right).
    np.testing.assert_allclose(table.confidence[[0, 8, 9]], [0.53, 0.93, 2.92 / 3])
    np.testing.assert_allclose(table.accuracy[[0, 8, 9]], [0.5, 1.0, 1 / 3])
    assert np.isnan(table.accuracy[1:8]).all()
    assert np.isnan(table.confidence[1:8]).all()
    expected = (2 * 0.03 + 1 * 0.07 + 3 * (2.92 / 3 - 1 / 3)) / 6
    assert expected_calibration_error(p, truth) == pytest.approx(expected)


def test_ece_of_one_bin_and_of_a_coin():
    assert expected_calibration_error([0.5, 0.5, 0.5]) == 0.0
    assert expected_calibration_error([0.7, 0.9], [True, False], bins=1) == pytest.approx(0.3)
    assert expected_calibration_error([0.7, 0.9]) == pytest.approx(0.2)


def test_ece_tells_calibrated_from_overconfident():
    rng = np.random.default_rng(3)
    p = rng.random(100_000)
    truth = rng.random(100_000) < p
    # Under calibration, a bin of 10 000 rows is off by about .8·√(p(1 − p)/10 000) ≤ .004.
    assert expected_calibration_error(p, truth) < 0.006
    overconfident = p**2 / (p**2 + (1 - p) ** 2)
    assert expected_calibration_error(overconfident, truth) > 0.05


@settings(deadline=None)
@given(p=probabilities, data=st.data())
def test_scores_do_not_depend_on_how_rows_are_turned(p, data):
    truth = data.draw(arrays(np.bool_, len(p)))
    turn = data.draw(arrays(np.bool_, len(p)))
    q = np.where(turn, 1 - p, p)
    for score in (log_loss, brier_score, expected_calibration_error):
        assert score(q, truth ^ turn) == pytest.approx(score(p, truth), abs=1e-12)
        assert score(p, np.where(truth, 1, -1)) == score(p, truth)
    assert score(p) == score(p, np.ones(len(p), dtype=bool))


@settings(deadline=None)
@given(p=probabilities, bins=st.integers(1, 20))
def test_table_accounts_for_every_row(p, bins):
    table = reliability_table(p, bins=bins)
    filled = table.count > 0
    assert table.count.sum() == len(p)
    np.testing.assert_array_less(table.edges[:-1][filled] - 1e-12, table.confidence[filled])
    np.testing.assert_array_less(table.confidence[filled], table.edges[1:][filled] + 1e-12)
    assert 0.0 <= expected_calibration_error(p, bins=bins) <= 1.0


@pytest.mark.parametrize(
    ("p", "truth", "message"),
    [
        ([0.5, 1.2], None, r"1\.2 in row 1"),
        ([0.5, np.nan], None, "nan in row 1"),
        ([], None, "one or more"),
        ([[0.5]], None, "shape"),
        ([0.5, 0.5], [True], "agree"),
        ([0.5, 0.5], [1, 0], "got 0 in row 1"),
    ],
)
def test_unusable_probabilities_are_named(p, truth, message):
    for score in (log_loss, brier_score, expected_calibration_error):
        with pytest.raises(InputError, match=message):
            score(p, truth)


def test_the_limit_of_calibration_is_exceeded_by_chance_once_in_20_times():
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.5, 1.0, size=300)
    limit = metrics.calibration_limit(confidence)
    errors = [
        metrics.expected_calibration_error(confidence, rng.random(300) < confidence)
        for _ in range(1000)
    ]
    assert 0.025 < np.mean(np.array(errors) > limit) < 0.085
    assert metrics.calibration_limit(1 - confidence) == pytest.approx(limit)
    assert metrics.calibration_limit(np.tile(confidence, 4)) == pytest.approx(limit / 2)
