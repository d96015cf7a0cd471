import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.special import expit
from scipy.stats import chisquare, norm

from tercet.errors import InputError
from tercet.metrics import satisfied, triplet_error
from tercet.simulate import (
    all_comparisons,
    answer,
    answers_from_model,
    gaussian_mixture,
    mean_perception,
    noisy_triplets,
    observers,
    perception_functions,
    pinned_kernel,
    random_comparisons,
    true_triplets,
)

LINE = np.array([[0.0], [1.0], [3.0]])
STIMULI = np.linspace(0.0, 1.0, 20)


def share_first(answers, first):
    return np.mean((answers == first).all(axis=1))


def tolerance(p, m):
    """Five standard errors of a share."""
    return 5 * math.sqrt(p * (1 - p) / m)


# ---- points


def test_mixture_has_the_papers_moments():
    points, labels = gaussian_mixture(60_000, random_state=0)
    means = [[2, 2], [-2, -1], [4, -2]]
    covariances = [[[2, 0], [0, 1]], [[1, 0], [0, 1]], [[1, 0.7], [0.7, 2]]]
    assert points.shape == (60_000, 2)
    for label in range(3):
        own = points[labels == label]
        assert len(own) / 60_000 == pytest.approx(1 / 3, abs=tolerance(1 / 3, 60_000))
        # Standard errors √(2/20 000) = .01 of a mean, 2·√(2/20 000) = .02 of a variance.
        np.testing.assert_allclose(own.mean(axis=0), means[label], atol=0.05)
        np.testing.assert_allclose(np.cov(own.T), covariances[label], atol=0.1)


# ---- comparisons


@pytest.mark.parametrize("n", [3, 4, 7, 20])
def test_all_comparisons_lists_each_once(n):
    expected = [
        (i, j, k) for i in range(n) for j in range(n) for k in range(j + 1, n) if i != j and i != k
    ]
    np.testing.assert_array_equal(all_comparisons(n), expected)
    assert len(expected) == n * (n - 1) * (n - 2) // 2


def test_all_comparisons_of_the_papers_mixture():
    assert len(all_comparisons(50)) == 58_800


@settings(deadline=None)
@given(
    n=st.integers(3, 12), share=st.floats(0.0, 1.0), replace=st.booleans(), seed=st.integers(0, 999)
)
def test_random_comparisons_are_comparisons(n, share, replace, seed):
    m = round(share * n * (n - 1) * (n - 2) / 2)
    drawn = random_comparisons(n, m, replace=replace, random_state=seed)
    i, j, k = drawn.T
    assert drawn.shape == (m, 3)
    assert drawn.dtype == np.int64
    assert ((j < k) & (i != j) & (i != k) & (drawn >= 0).all(axis=1) & (k < n) & (i < n)).all()
    if not replace:
        assert len(np.unique(drawn, axis=0)) == m


@pytest.mark.parametrize(("m", "replace"), [(1, False), (5, False), (9, False), (5, True)])
def test_random_comparisons_are_uniform(m, replace):
    # 30 comparisons of 5 objects; m = 5 takes the rejecting branch, 9 the permuting one.
    rng = np.random.default_rng(0)
    draws = [random_comparisons(5, m, replace=replace, random_state=rng) for _ in range(3000)]
    for place in (0, m - 1):
        rows = np.array([draw[place] for draw in draws])
        _, count = np.unique(rows, axis=0, return_counts=True)
        assert len(count) == 30
        assert chisquare(count).pvalue > 1e-4


def test_random_comparisons_with_replacement_repeat():
    drawn = random_comparisons(3, 100, replace=True, random_state=0)
    assert len(np.unique(drawn, axis=0)) == 3


def test_random_comparisons_of_very_many_objects():
    n = 2_000_000
    drawn = random_comparisons(n, 20_000, random_state=0)
    i, j, k = drawn.T
    assert ((j < k) & (i != j) & (i != k) & (drawn >= 0).all(axis=1)).all()
    assert drawn.max() < n
    # Standard deviations: n/√12 of a uniform number, n/√18 of the smaller of two (mean n/3).
    assert i.mean() / n == pytest.approx(1 / 2, abs=5 / math.sqrt(12 * 20_000))
    assert j.mean() / n == pytest.approx(1 / 3, abs=5 / math.sqrt(18 * 20_000))
    assert k.mean() / n == pytest.approx(2 / 3, abs=5 / math.sqrt(18 * 20_000))


def test_more_comparisons_than_there_are():
    assert len(random_comparisons(4, 12, random_state=0)) == 12
    with pytest.raises(InputError, match="only 12 different comparisons, 13"):
        random_comparisons(4, 13)
    with pytest.raises(InputError, match="at least 3"):
        random_comparisons(2, 1)
    with pytest.raises(InputError, match="64 bits"):
        random_comparisons(3_000_000, 1)
    with pytest.raises(InputError, match="negative"):
        random_comparisons(4, -1)


# ---- answers


def test_true_triplets_by_hand():
    np.testing.assert_array_equal(true_triplets(LINE), [[0, 1, 2], [1, 0, 2], [2, 1, 0]])
    np.testing.assert_array_equal(true_triplets(LINE, [[0, 2, 1]]), [[0, 1, 2]])
    np.testing.assert_array_equal(true_triplets(LINE, [[0, 2, 0, 1]]), [[0, 1, 0, 2]])


def test_true_triplets_leave_out_ties():
    np.testing.assert_array_equal(true_triplets([[0.0], [1.0], [2.0]]), [[0, 1, 2], [2, 1, 0]])


def test_true_triplets_are_satisfied_and_take_distances():
    points, _ = gaussian_mixture(12, random_state=0)
    triplets = true_triplets(points)
    assert len(triplets) == 12 * 11 * 10 / 2
    assert triplet_error(points, triplets) == 0.0
    np.testing.assert_array_equal(true_triplets(cdist(points, points), precomputed=True), triplets)
    with pytest.raises(InputError, match="square"):
        true_triplets(points, precomputed=True)
    with pytest.raises(InputError, match="at least 0"):
        true_triplets(-cdist(points, points), precomputed=True)


@pytest.mark.parametrize("noise", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("row", [[1, 0, 2], [0, 1, 1, 2]])
@pytest.mark.parametrize("precomputed", [True, False])
def test_noise_is_the_papers(noise, row, precomputed):
    # |0 − 1| = 1 against |1 − 2| = 1.2: right with probability Φ(log 1.2 / (σ√2)).
    points = np.array([[0.0], [1.0], [2.2]])
    m = 40_000
    world = cdist(points, points) if precomputed else points
    answers = answer(world, [row] * m, noise=noise, precomputed=precomputed, random_state=0)
    p = norm.cdf(math.log(1.2) / (noise * math.sqrt(2)))
    assert share_first(answers, row) == pytest.approx(p, abs=tolerance(p, m))


def test_noise_depends_on_the_ratio_of_distances_only():
    points, _ = gaussian_mixture(20, random_state=0)
    asked = all_comparisons(20)
    small = answer(points, asked, noise=0.5, random_state=1)
    np.testing.assert_array_equal(answer(1024 * points, asked, noise=0.5, random_state=1), small)


def test_no_noise_is_exact():
    points, _ = gaussian_mixture(20, random_state=0)
    asked = all_comparisons(20)
    np.testing.assert_array_equal(answer(points, asked), true_triplets(points, asked))


@pytest.mark.parametrize("noise", [0.0, 3.0])
def test_a_zero_distance_is_always_nearest_and_ties_are_a_coin(noise):
    points = np.array([[0.0], [0.0], [1.0], [0.0]])
    asked = [[0, 2, 1]] * 4000
    np.testing.assert_array_equal(
        answer(points, asked, noise=noise, random_state=0), [[0, 1, 2]] * 4000
    )
    coin = answer(points, [[0, 1, 3]] * 4000, noise=noise, random_state=0)
    assert share_first(coin, [0, 1, 3]) == pytest.approx(0.5, abs=tolerance(0.5, 4000))


def test_lapse_is_half_wrong():
    m = 20_000
    answers = answer(LINE, [[1, 0, 2]] * m, lapse=0.3, random_state=0)
    assert share_first(answers, [1, 0, 2]) == pytest.approx(0.85, abs=tolerance(0.85, m))


class Logistic:
    """The paper's equation 2 (STE), in the shape of the package's models."""

    def probability(self, near_squared, far_squared, n_components):
        assert n_components == 1
        return expit(far_squared - near_squared)


def difference(near_squared, far_squared):
    return expit(far_squared - near_squared)


@pytest.mark.parametrize("model", [Logistic(), difference])
@pytest.mark.parametrize("lapse", [0.0, 0.4])
def test_model_answers_have_the_models_probability(model, lapse):
    points, m = np.array([[0.0], [1.0], [2.5]]), 20_000
    answers = answers_from_model(model, points, [[1, 0, 2]] * m, lapse=lapse, random_state=0)
    p = (1 - lapse) * expit(1.5**2 - 1.0) + lapse / 2
    assert share_first(answers, [1, 0, 2]) == pytest.approx(p, abs=tolerance(p, m))


def test_models_without_a_probability_are_refused():
    with pytest.raises(InputError, match="object gives no probability"):
        answers_from_model(object(), LINE, [[0, 1, 2]])
    with pytest.raises(InputError, match="one probability"):
        answers_from_model(lambda near, far: near + far, LINE, [[0, 1, 2]])
    with pytest.raises(InputError, match="one probability"):
        answers_from_model(lambda near, far: 0.5, LINE, [[0, 1, 2]])


def test_noisy_triplets_sizes():
    points, _ = gaussian_mixture(50, random_state=0)
    one_percent = noisy_triplets(points, fraction=0.01, random_state=0)
    assert one_percent.array.shape == (588, 3)
    assert satisfied(points, one_percent).all()
    noisy = noisy_triplets(points, 2000, noise=1.0, replace=True, random_state=0)
    assert noisy.array.shape == (2000, 3)
    assert 0.1 < triplet_error(points, noisy) < 0.4
    for wrong in ({}, {"m": 5, "fraction": 0.1}, {"fraction": 1.5}):
        with pytest.raises(InputError):
            noisy_triplets(points, **wrong)


@pytest.mark.parametrize("bad", [{"noise": -1.0}, {"noise": np.nan}, {"lapse": 1.5}])
def test_unusable_settings_are_named(bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        answer(LINE, [[0, 1, 2]], **bad)


def test_comparisons_of_unknown_objects_are_refused():
    with pytest.raises(InputError):
        answer(LINE, [[0, 1, 3]])


# ---- observers


def test_mean_perception_is_the_papers_logistic():
    assert mean_perception(0.5) == 0.5
    assert mean_perception(0.6) == pytest.approx(1 / (1 + math.exp(-2.5)))
    assert mean_perception([0.0])[0] == pytest.approx(3.7e-6, rel=0.01)


@pytest.mark.parametrize("lengthscale", [2.0, 0.88, 0.54])
def test_pinned_kernel_in_closed_form(lengthscale):
    # For two pins with correlation ρ: 1 − (a² − 2ρab + b²)/(1 − ρ²), a = k(x, 0), b = k(x, 1).
    def k(r):
        return np.exp(-(r**2) / (2 * lengthscale**2))

    a, b, rho = k(STIMULI), k(1 - STIMULI), k(1.0)
    expected = 1 - (a**2 - 2 * rho * a * b + b**2) / (1 - rho**2)
    kernel = pinned_kernel(STIMULI, lengthscale)
    np.testing.assert_allclose(np.diag(kernel), expected, atol=1e-12)
    np.testing.assert_allclose(kernel, kernel.T, atol=1e-14)
    np.testing.assert_allclose(kernel[[0, -1]], 0.0, atol=1e-13)


@pytest.mark.parametrize("lengthscale", [2.0, 0.54])
def test_perception_functions_have_the_pinned_kernel(lengthscale):
    k = 20_000
    functions = perception_functions(k, STIMULI, lengthscale=lengthscale, random_state=0)
    kernel = pinned_kernel(STIMULI, lengthscale)
    deviation = functions - mean_perception(STIMULI)
    variance = np.diag(kernel)
    # Standard errors: √(v/k) of a mean, at most v·√(2/k) of an entry of a covariance.
    assert (np.abs(deviation.mean(axis=0)) <= 5 * np.sqrt(variance.clip(0) / k) + 1e-12).all()
    np.testing.assert_allclose(
        deviation.T @ deviation / k, kernel, atol=6 * variance.max() * math.sqrt(2 / k)
    )
    np.testing.assert_array_equal(functions[:, [0, -1]], np.tile(mean_perception([0, 1]), (k, 1)))


def test_short_lengthscales_make_observers_differ():
    spread = [
        perception_functions(500, STIMULI, lengthscale=scale, random_state=0).std(axis=0).mean()
        for scale in (2.0, 0.88, 0.54)
    ]
    assert spread[0] < spread[1] < spread[2]


@pytest.mark.parametrize("lengthscale", [1e-3, 1e3, 1e6, 1e12])
def test_extreme_lengthscales(lengthscale):
    functions = perception_functions(50, STIMULI, lengthscale=lengthscale, random_state=0)
    spread = functions[:, 1:-1].std()
    deviation = np.abs(functions - mean_perception(STIMULI)).max()
    assert spread > 0.9 if lengthscale < 1 else deviation < 1e-4


def test_unusable_stimuli_and_lengthscales():
    with pytest.raises(InputError, match="rescale"):
        perception_functions(2, [0.0, 5.0], lengthscale=1.0)
    with pytest.raises(InputError, match="lengthscale"):
        perception_functions(2, STIMULI, lengthscale=0.0)


def test_each_observer_answers_by_her_own_perception():
    psi = perception_functions(5, STIMULI, lengthscale=0.54, random_state=0)
    triplets = observers(psi, 100, random_state=1)
    assert triplets.array.shape == (500, 3)
    labels = np.asarray(triplets.observers)
    for observer, own in enumerate(psi):
        rows = triplets.array[labels == observer]
        assert len(np.unique(np.sort(rows[:, 1:]) @ [20, 1] + 400 * rows[:, 0])) == 100
        assert triplet_error(own[:, None], rows) == 0.0
    assert triplet_error(psi[0][:, None], triplets.array) > 0.0


def test_observers_lapse_and_noise():
    psi = np.tile(STIMULI**2, (20, 1))
    lapsing = observers(psi, 1000, lapse=0.4, random_state=0)
    error = triplet_error(STIMULI[:, None] ** 2, lapsing.array)
    assert error == pytest.approx(0.2, abs=tolerance(0.2, 20_000))
    noisy = observers(psi, 100, noise=1.0, random_state=0)
    assert triplet_error(STIMULI[:, None] ** 2, noisy.array) > 0.05
    with pytest.raises(InputError, match="perceptions"):
        observers(STIMULI, 10)


# ---- randomness

POINTS = gaussian_mixture(10, random_state=0)[0]
ASKED = all_comparisons(10)


@pytest.mark.parametrize(
    "draw",
    [
        lambda seed: gaussian_mixture(10, random_state=seed)[0],
        lambda seed: random_comparisons(10, 20, random_state=seed),
        lambda seed: random_comparisons(10, 20, replace=True, random_state=seed),
        lambda seed: random_comparisons(10, 200, random_state=seed),
        lambda seed: answer(POINTS, ASKED, noise=1.0, lapse=0.1, random_state=seed),
        lambda seed: answers_from_model(difference, POINTS, ASKED, random_state=seed),
        lambda seed: noisy_triplets(POINTS, 200, noise=1.0, random_state=seed).array,
        lambda seed: perception_functions(3, STIMULI, lengthscale=1.0, random_state=seed),
        lambda seed: observers(POINTS.T, 200, noise=0.5, random_state=seed).array,
    ],
)
def test_the_seed_decides(draw):
    np.testing.assert_array_equal(draw(7), draw(7))
    np.testing.assert_array_equal(draw(np.random.default_rng(7)), draw(7))
    assert not np.array_equal(draw(8), draw(7))
