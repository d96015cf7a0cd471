import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import pdist
from scipy.stats import chi2, norm

from tercet.errors import InputError
from tercet.models import CKLModel, GNMDSModel, STEModel, TSTEModel
from tercet.uncertainty import (
    METHODS,
    answer_probability,
    distances,
    ellipses,
    find_pairs,
    pairwise_probability,
    point_covariance,
    triplet_probability,
)

NEAR, FAR = np.array([0]), np.array([1])


def draws_of_distances(seed=0, size=200, n=7):
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(size, 1))
    return np.abs(3.0 + rng.normal(size=n) + 0.5 * shared + 0.5 * rng.normal(size=(size, n)))


def test_distances_are_scipys():
    points = np.random.default_rng(0).normal(size=(4, 6, 3))
    pairs = np.stack(np.triu_indices(6, 1), axis=1)
    expected = [pdist(draw) for draw in points]
    columns = points.transpose(1, 2, 0)
    assert_allclose(distances(columns, pairs), expected, rtol=1e-14)
    assert_allclose(distances(columns, pairs, squared=True), np.square(expected), rtol=1e-14)


@pytest.mark.parametrize("m", [2, 100])  # fewer and more comparisons than there are pairs
def test_pairs_are_numbered_so_that_comparisons_can_be_read_back(m):
    rng = np.random.default_rng(1)
    comparisons = np.array([rng.permutation(8)[:4] for _ in range(m)])
    pairs, near, far = find_pairs(comparisons, 8)
    assert (pairs[:, 0] < pairs[:, 1]).all()
    assert len(np.unique(pairs, axis=0)) == len(pairs)
    assert_array_equal(pairs[near], np.sort(comparisons[:, :2], axis=1))
    assert_array_equal(pairs[far], np.sort(comparisons[:, 2:], axis=1))


def test_paper_is_the_equation_of_section_3_2():
    d = draws_of_distances(size=20)
    near, far = np.array([0, 3, 5]), np.array([1, 2, 6])
    mean, sd = d.mean(axis=0), d.std(axis=0, ddof=1)
    expected = norm.cdf((mean[far] - mean[near]) / (sd[far] + sd[near]))
    assert_allclose(triplet_probability(d, near, far, "paper"), expected, rtol=1e-13)


def test_joint_uses_the_spread_of_the_difference():
    d = draws_of_distances(size=20)
    near, far = np.array([0, 3, 5]), np.array([1, 2, 6])
    difference = d[:, far] - d[:, near]
    expected = norm.cdf(difference.mean(axis=0) / difference.std(axis=0, ddof=1))
    assert_allclose(triplet_probability(d, near, far, "joint"), expected, rtol=1e-12)


def test_the_paper_is_never_more_certain_than_joint():
    d = draws_of_distances()
    near, far = np.triu_indices(7, 1)
    paper, joint = (triplet_probability(d, near, far, m) for m in ("paper", "joint"))
    assert (np.abs(paper - 0.5) <= np.abs(joint - 0.5)).all()
    assert (np.abs(paper - 0.5) < np.abs(joint - 0.5)).any()


@pytest.mark.parametrize(
    ("near", "far", "wins"),
    [([1, 1, 1], [2, 2, 2], 3), ([1, 3, 1], [2, 2, 2], 2), ([2, 3, 1], [2, 2, 2], 1.5)],
)
def test_vote_counts_draws_and_half_draws(near, far, wins):
    d = np.array([near, far], dtype=float).T
    assert triplet_probability(d, NEAR, FAR, "vote") == pytest.approx((wins + 0.5) / 4)
    assert triplet_probability(d, FAR, NEAR, "vote") == pytest.approx((3 - wins + 0.5) / 4)


@pytest.mark.parametrize("method", ["paper", "joint"])
@pytest.mark.parametrize("size", [1, 3])
@pytest.mark.parametrize(
    ("far", "expected"),
    [(2.0, 1.0), (1.0, 0.5), (0.3, 0.0)],
)
def test_without_spread_the_answer_is_certain_or_a_coin(method, size, far, expected):
    d = np.tile([1.0, far], (size, 1))
    assert triplet_probability(d, NEAR, FAR, method) == expected
    assert pairwise_probability(d, method)[0, 1] == expected


def test_joint_sees_a_constant_difference_between_two_varying_distances():
    vary = np.random.default_rng(0).integers(1, 100, size=50) / 4.0
    d = np.column_stack([vary, vary + 0.25, vary])
    assert triplet_probability(d, NEAR, FAR, "joint") == 1.0
    assert triplet_probability(d, NEAR, np.array([2]), "joint") == 0.5
    assert 0.5 < triplet_probability(d, NEAR, FAR, "paper")[0] < 0.6


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [2, 7, 70])  # 70: more than one tile
def test_all_pairs_are_the_same_as_one_by_one(method, n):
    d = draws_of_distances(n=n, size=30)
    near, far = np.indices((n, n)).reshape(2, -1)
    expected = triplet_probability(d, near, far, method).reshape(n, n)
    found = pairwise_probability(d, method)
    off = ~np.eye(n, dtype=bool)
    assert_array_equal(found[off], expected[off])
    assert_array_equal(np.diag(found), 0.5)


@pytest.mark.parametrize("method", METHODS)
def test_turning_a_comparison_around_gives_exactly_the_rest(method):
    found = pairwise_probability(draws_of_distances(n=40, size=25), method)
    assert_array_equal(found + found.T, 1.0)
    assert found.min() < 0.05
    assert found.max() > 0.95


def test_small_probabilities_keep_their_precision():
    d = np.column_stack([np.linspace(1, 1.1, 11), np.linspace(2, 2.1, 11)[::-1]])
    sd = d.std(axis=0, ddof=1).sum()
    assert_allclose(triplet_probability(d, FAR, NEAR, "paper"), norm.cdf(-1.0 / sd), rtol=1e-9)
    assert norm.cdf(-1.0 / sd) < 1e-40


@pytest.mark.parametrize("method", METHODS)
def test_the_number_of_threads_changes_nothing(method, monkeypatch):
    monkeypatch.setattr("tercet.uncertainty.PORTION", 100)
    d = draws_of_distances(n=20, size=30)
    near, far = np.triu_indices(20, 1)
    one = triplet_probability(d, near, far, method, n_jobs=1)
    assert_array_equal(triplet_probability(d, near, far, method, n_jobs=3), one)


def test_an_unknown_method_is_named():
    with pytest.raises(InputError, match="'paper', 'joint', 'vote', got 'mean'"):
        pairwise_probability(np.ones((3, 3)), "mean")


# --- answers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [STEModel(), TSTEModel(2.0), CKLModel(0.1, 1.5)])
def test_answers_average_the_model_over_the_draws(model):
    squared = np.random.default_rng(2).gamma(2.0, size=(40, 5))
    near, far = np.array([0, 1, 4]), np.array([2, 3, 0])
    expected = np.mean([model.probability(d[near], d[far]) for d in squared], axis=0)
    assert_allclose(answer_probability(squared, near, far, model), expected, rtol=1e-12)
    around = answer_probability(squared, far, near, model)
    assert_allclose(around, 1.0 - expected, rtol=1e-9)


def test_answers_use_the_parameters_of_each_draw(monkeypatch):
    monkeypatch.setattr("tercet.uncertainty.PORTION", 50)  # two parts
    rng = np.random.default_rng(3)
    squared = rng.gamma(2.0, size=(40, 5))
    drawn = {
        "mu": rng.uniform(0.01, 1.0, 40),
        "exponent": rng.uniform(1.0, 3.0, 40),
        "lapse": rng.uniform(0.0, 0.5, 40),
        "variance": rng.uniform(0.0, 0.5, 40),
    }
    near, far = np.array([0, 1, 4]), np.array([2, 3, 0])
    expected = np.zeros(3)
    for d, mu, exponent, lapse in zip(
        squared, drawn["mu"], drawn["exponent"], drawn["lapse"], strict=True
    ):
        a, b = d[near] ** (exponent / 2) + mu, d[far] ** (exponent / 2) + mu
        expected += ((1 - lapse) * b / (a + b) + lapse / 2) / 40
    found = answer_probability(squared, near, far, CKLModel(), 2, drawn)
    assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("portion", [50, 2**20])
def test_answers_of_every_draw_are_those_of_its_model(monkeypatch, portion):
    monkeypatch.setattr("tercet.uncertainty.PORTION", portion)  # several parts, or one
    rng = np.random.default_rng(3)
    squared = rng.gamma(2.0, size=(40, 5))
    drawn = {
        "mu": rng.uniform(0.01, 1.0, 40),
        "exponent": rng.uniform(1.0, 3.0, 40),
        "lapse": rng.uniform(0.0, 0.5, 40),
    }
    near, far = np.array([0, 1, 4]), np.array([2, 3, 0])
    found = answer_probability(squared, near, far, CKLModel(), 2, drawn, by_draw=True)
    assert found.shape == (40, 3)
    for s in range(40):
        model = CKLModel(mu=drawn["mu"][s], exponent=drawn["exponent"][s])
        p = model.probability(squared[s, near], squared[s, far])
        assert_allclose(found[s], 0.5 + (1.0 - drawn["lapse"][s]) * (p - 0.5), rtol=1e-12)
    plain = answer_probability(squared, near, far, CKLModel(), 2, drawn)
    assert_allclose(found.mean(axis=0), plain, rtol=1e-12)


def test_answers_of_every_draw_without_drawn_parameters():
    squared = np.random.default_rng(2).gamma(2.0, size=(40, 5))
    near, far = np.array([0, 1, 4]), np.array([2, 3, 0])
    found = answer_probability(squared, near, far, STEModel(), by_draw=True)
    expected = [STEModel().probability(d[near], d[far]) for d in squared]
    assert_allclose(found, expected, rtol=1e-12)


def test_the_default_alpha_follows_the_dimension():
    squared = np.random.default_rng(4).gamma(2.0, size=(10, 2))
    found = answer_probability(squared, NEAR, FAR, TSTEModel(), n_components=5)
    assert_allclose(found, answer_probability(squared, NEAR, FAR, TSTEModel(4.0)), rtol=1e-14)


def test_a_loss_gives_no_answers():
    with pytest.raises(InputError, match="GNMDS is a loss"):
        answer_probability(np.ones((3, 2)), NEAR, FAR, GNMDSModel())


# --- points -----------------------------------------------------------------------------------


def test_covariance_is_numpys():
    samples = np.random.default_rng(5).normal(size=(30, 4, 3))
    expected = [np.cov(samples[:, i].T) for i in range(4)]
    assert_allclose(point_covariance(samples), expected, rtol=1e-12)
    with pytest.raises(InputError, match="at least two draws"):
        point_covariance(samples[:1])


@pytest.mark.parametrize("angle", [-1.5, -0.3, 0.0, 0.7, np.pi / 2])
def test_ellipses_find_axes_and_angle(angle):
    axes = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    covariance = axes.T @ np.diag([9.0, 4.0]) @ axes
    found = ellipses(np.zeros((1, 2)), covariance[None], level=0.9)
    assert_allclose(found.half_lengths[0], np.sqrt(chi2.ppf(0.9, 2)) * np.array([3.0, 2.0]))
    assert_allclose(np.cos(2 * found.angles), np.cos(2 * angle), atol=1e-12)
    assert_allclose(np.sin(2 * found.angles), np.sin(2 * angle), atol=1e-12)
    assert -np.pi / 2 < found.angles[0] <= np.pi / 2


def test_ellipses_hold_the_share_they_promise():
    rng = np.random.default_rng(6)
    cloud = rng.multivariate_normal([1.0, 2.0], [[2.0, 0.8], [0.8, 0.5]], size=20_000)[:, None]
    (centre,), (half,), (angle,) = ellipses(cloud.mean(axis=0), point_covariance(cloud), 0.8)
    x, y = (cloud[:, 0] - centre).T
    along = (x * np.cos(angle) + y * np.sin(angle)) / half[0]
    across = (y * np.cos(angle) - x * np.sin(angle)) / half[1]
    inside = np.mean(along**2 + across**2 < 1)
    assert inside == pytest.approx(0.8, abs=4 * np.sqrt(0.16 / 20_000))
