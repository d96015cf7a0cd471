"""The signed-difference model: its likelihood, its derivatives, its maximum."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import optimize, stats
from scipy.special import log_expit, log_ndtr

from tercet.answers.questions import Questions, find_questions
from tercet.answers.triplets import Triplets
from tercet.errors import InputError
from tercet.uses.scale import difference as kernels
from tercet.uses.scale.difference import LINKS, check_design, fit_counts, probability
from tercet.uses.scale.intervals import fit_all, jackknife

LOG_CDF = {"probit": log_ndtr, "logit": log_expit, "cauchit": stats.cauchy.logcdf}
TRUE = 6.0 * np.array([0.0, 0.05, 0.2, 0.45, 0.7, 1.0])


def simulated(m=300, seed=0, scale=TRUE, lapse=0.0, link="probit"):
    """Answers of the model to random quadruplets, some of them overlapping."""
    rng = np.random.default_rng(seed)
    rows = np.array([rng.permutation(len(scale))[:4] for _ in range(m)])
    rows = np.hstack([np.sort(rows[:, :2], axis=1), np.sort(rows[:, 2:], axis=1)])
    a, b, c, d = scale[rows.T]
    wide = rng.random(m) < probability((d - c) - (b - a), link, lapse)
    return Triplets(np.where(wide[:, None], rows, rows[:, [2, 3, 0, 1]]), n_objects=len(scale))


def log_likelihood(triplets, scale, link, lapse=0.0):
    """Answer by answer, from the definition; each row says that its second pair differs more."""
    a, b, c, d = np.sort(triplets.pairs().reshape(-1, 2, 2), axis=2).reshape(-1, 4).T
    eta = (scale[d] - scale[c]) - (scale[b] - scale[a])
    if lapse == 0.0:
        return LOG_CDF[link](eta).sum()
    return np.log(0.5 * lapse + (1.0 - lapse) * np.exp(LOG_CDF[link](eta))).sum()


# --- one answer -------------------------------------------------------------------------------


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("z", [-60.0, -36.0, -34.0, -8.0, -1.0, 0.0, 0.7, 9.0, 45.0])
def test_log_probability_keeps_its_digits_in_the_tails(link, z):
    value = kernels.side(LINKS.index(link), z, 0.0)[0]
    assert value == pytest.approx(float(LOG_CDF[link](z)), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("lapse", [0.0, 0.03, 0.4])
@pytest.mark.parametrize("z", [-40.0, -6.0, -0.3, 0.0, 1.2, 7.0])
def test_derivatives_of_one_answer(link, lapse, z):
    code, h = LINKS.index(link), 1e-5

    def side(x, lapse=lapse):
        return np.array(kernels.side(code, x, lapse))

    by_z = (side(z + h) - side(z - h)) / (2 * h)
    found = side(z)
    assert found[1] == pytest.approx(by_z[0], rel=1e-6, abs=1e-9)
    assert found[3] == pytest.approx(-by_z[1], rel=1e-5, abs=1e-8)
    if lapse > 0.0:
        by_lapse = (side(z, lapse + h) - side(z, lapse - h)) / (2 * h)
        assert found[2] == pytest.approx(by_lapse[0], rel=1e-6)
        assert found[4] == pytest.approx(-by_lapse[1], rel=1e-5, abs=1e-8)
        assert found[2] ** 2 == pytest.approx(-by_lapse[2], rel=1e-5)


@pytest.mark.parametrize("link", LINKS)
def test_probabilities_of_the_two_answers_sum_to_one(link):
    eta = np.linspace(-30, 30, 61)
    np.testing.assert_allclose(probability(eta, link, 0.1) + probability(-eta, link, 0.1), 1.0)
    np.testing.assert_allclose(np.log(probability(eta, link)), LOG_CDF[link](eta), atol=1e-12)


# --- all answers ------------------------------------------------------------------------------


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("lapse", [0.0, 0.05])
def test_gradient_and_information_are_derivatives(link, lapse):
    questions = find_questions(simulated())
    counts, code, n = questions.counts(), LINKS.index(link), len(TRUE)
    at = np.append(TRUE + 0.1 * np.arange(n), lapse)

    def value(x):
        return kernels.log_likelihood(questions.pairs, counts, code, TRUE, x[:n].copy(), x[n])

    def slopes(x, expected=False):
        gradient, information = np.empty(n + 1), np.empty((n + 1, n + 1))
        kernels.slopes(
            questions.pairs, counts, code, expected, TRUE, x[:n].copy(), x[n], gradient, information
        )
        return gradient, information

    gradient, information = slopes(at)
    free = n + 1 if lapse else n
    for i in range(free):
        step = np.zeros(n + 1)
        step[i] = 1e-5
        assert gradient[i] == pytest.approx(
            (value(at + step) - value(at - step)) / 2e-5, rel=1e-5, abs=1e-4
        )
        difference = -(slopes(at + step)[0] - slopes(at - step)[0]) / 2e-5
        row = np.where(np.arange(n + 1) <= i, information[i], information[:, i])
        np.testing.assert_allclose(row[:free], difference[:free], rtol=1e-4, atol=1e-3)
    _, expected = slopes(at, expected=True)
    lower = np.tril(expected)[1:free, 1:free]
    assert np.linalg.eigvalsh(lower, UPLO="L").min() > 0.0


@pytest.mark.parametrize("link", LINKS)
def test_expected_information_is_the_mean_of_the_observed_one(link):
    """Over the two answers to one question, by their probabilities."""
    pairs, scale, lapse = np.array([[0, 1, 2, 3]]), np.array([0.0, 0.4, 0.9, 2.0]), 0.1
    p = float(probability(np.array([0.7]), link, lapse)[0])
    found = []
    for counts, expected in (([[0, 1]], False), ([[1, 0]], False), ([[0.0, 1.0]], True)):
        gradient, information = np.empty(5), np.empty((5, 5))
        counts = np.array(counts, dtype=np.float64)
        code = LINKS.index(link)
        kernels.slopes(pairs, counts, code, expected, scale, scale, lapse, gradient, information)
        found.append(np.tril(information))
    higher, lower, expected = found
    np.testing.assert_allclose(p * higher + (1 - p) * lower, expected, atol=1e-7)


@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("lapse", [False, 0.04])
def test_the_fit_is_the_maximum_that_a_general_optimiser_finds(link, lapse):
    triplets = simulated(seed=3, lapse=0.04, link=link)
    questions = find_questions(triplets)
    fits = fit_counts(questions, questions.counts()[None], link, lapse)
    known = float(lapse)

    def cost(x):
        return -log_likelihood(triplets, np.append(0.0, x), link, known)

    best = min(
        (optimize.minimize(cost, start * TRUE[1:], tol=1e-10) for start in (0.5, 1.0, 3.0)),
        key=lambda result: result.fun,
    )
    assert fits.converged[0]
    assert fits.scale[0, 0] == 0.0
    assert fits.log_likelihood[0] == pytest.approx(-best.fun, abs=1e-6)
    np.testing.assert_allclose(fits.scale[0, 1:], best.x, atol=2e-3 * fits.scale[0, -1])


def test_the_lapse_rate_is_fitted_with_the_scale():
    triplets = simulated(3000, seed=4, lapse=0.1)
    questions = find_questions(triplets)
    fits = fit_counts(questions, questions.counts()[None], "probit", True)

    def cost(x):
        return -log_likelihood(triplets, np.append(0.0, x[:-1]), "probit", x[-1])

    start = np.append(TRUE[1:], 0.05)
    bounds = [(None, None)] * 5 + [(1e-9, 0.5)]
    best = optimize.minimize(cost, start, bounds=bounds, options={"ftol": 1e-14, "gtol": 1e-8})
    assert fits.log_likelihood[0] == pytest.approx(-best.fun, abs=1e-5)
    assert fits.lapse[0] == pytest.approx(best.x[-1], abs=1e-4)
    assert 0.05 < fits.lapse[0] < 0.15


def test_a_lapse_rate_that_would_be_negative_is_zero():
    """Whatever the start: answers that are less wild than the link expects."""
    triplets = simulated(400, seed=5)
    questions = find_questions(triplets)
    counts = questions.counts()[None]
    free = fit_counts(questions, counts, "cauchit", True)
    plain = fit_counts(questions, counts, "cauchit", False)
    assert free.lapse[0] == 0.0
    assert free.log_likelihood[0] == pytest.approx(plain.log_likelihood[0], abs=1e-7)


def test_a_warm_start_finds_the_same_maximum():
    questions = find_questions(simulated(500, seed=6))
    rng = np.random.default_rng(0)
    counts = questions.counts()
    many = rng.multinomial(500, counts.ravel() / 500, size=20).reshape(20, -1, 2).astype(float)
    for link in LINKS:
        full = fit_counts(questions, counts[None], link)
        cold, warm = (
            fit_counts(questions, many, link),
            fit_counts(questions, many, link, False, full),
        )
        np.testing.assert_allclose(warm.log_likelihood, cold.log_likelihood, atol=1e-6)


# --- questions --------------------------------------------------------------------------------


def test_pairs_are_put_in_order_whoever_was_nearer():
    triplets = Triplets([[3, 2, 1, 0], [0, 1, 3, 2]], n_objects=4)
    questions = find_questions(triplets)
    np.testing.assert_array_equal(questions.pairs, [[0, 1, 2, 3]])
    np.testing.assert_array_equal(questions.first, [False, True])
    np.testing.assert_array_equal(questions.counts(), [[1, 1]])


def test_triads_are_quadruplets_that_share_a_stimulus():
    rng = np.random.default_rng(1)
    rows = np.array([rng.permutation(5)[:3] for _ in range(200)])
    triads = Triplets(rows)
    quads = Triplets(triads.pairs())
    fits = [
        fit_counts(q, q.counts()[None]) for q in (find_questions(triads), find_questions(quads))
    ]
    np.testing.assert_array_equal(fits[0].scale, fits[1].scale)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), link=st.sampled_from(LINKS))
def test_opposite_answers_turn_the_scale_around(seed, link):
    triplets = simulated(120, seed)
    turned = Triplets(triplets.array[:, [2, 3, 0, 1]], n_objects=6)
    one, other = (
        fit_counts(q, q.counts()[None], link)
        for q in (find_questions(triplets), find_questions(turned))
    )
    tolerance = 1e-4 * np.abs(one.scale).max()
    if link != "cauchit":  # which may have more than one maximum
        np.testing.assert_allclose(one.scale, -other.scale, atol=tolerance)
    assert one.log_likelihood[0] == pytest.approx(other.log_likelihood[0], abs=1e-5)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_stimuli_in_reverse_give_the_scale_in_reverse(seed):
    triplets = simulated(150, seed)
    mirrored = Triplets(5 - triplets.array, n_objects=6)
    one, other = (
        fit_counts(q, q.counts()[None])
        for q in (find_questions(triplets), find_questions(mirrored))
    )
    assume(one.determined[0])  # where values are open, the first one is not like the last
    expected = one.scale[0, -1] - one.scale[0, ::-1]
    np.testing.assert_allclose(other.scale[0], expected, atol=1e-4 * np.abs(one.scale).max())


def test_too_few_different_questions_are_counted():
    rows = [[0, 1, 2, 3], [2, 3, 0, 1], [0, 1, 2, 3]]
    with pytest.raises(InputError, match="1 different questions about 4 stimuli leave 2 of the 3"):
        check_design(find_questions(Triplets(rows)))


def test_unanimous_answers_are_noticed():
    scale = np.array([0.0, 1.0, 3.0, 7.0, 15.0])
    rows = [(a, b, c, d) for a in range(5) for b in range(a) for c in range(5) for d in range(c)]
    a, b, c, d = np.array([row for row in rows if set(row[:2]) != set(row[2:])]).T
    nearer = abs(scale[a] - scale[b]) < abs(scale[c] - scale[d])
    questions = find_questions(Triplets(np.column_stack([a, b, c, d])[nearer]))
    fits = fit_counts(questions, questions.counts()[None])
    assert not fits.determined[0]
    assert np.isfinite(fits.scale).all()


# --- the jackknife ----------------------------------------------------------------------------


def test_the_jackknife_leaves_out_one_answer_at_a_time():
    triplets = simulated(80, seed=2, scale=TRUE / 2)
    task = fit_all(triplets, "probit", False)
    fits, stands_for = jackknife(task, "answer")
    assert stands_for.sum() == 80
    every = []
    for k in range(80):
        weights = np.ones(80)
        weights[k] = 0.0
        counts = task.questions.counts(weights)[None]
        every.append(fit_counts(task.questions, counts, start=task.fit).scale[0, -1])
    expected = np.sort(every)
    found = np.sort(np.repeat(fits.scale[:, -1], stands_for.astype(int)))
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_the_jackknife_leaves_out_whole_observers():
    answers = simulated(90, seed=2, scale=TRUE / 2)
    triplets = Triplets(answers.array, observers=np.arange(90) % 3)
    task = fit_all(triplets, "logit", False)
    fits, stands_for = jackknife(task, "observer")
    assert len(fits.scale) == len(stands_for) == 3
    without = fit_all(triplets[np.arange(90) % 3 != 1], "logit", False)
    np.testing.assert_allclose(fits.scale[1], without.fit.scale[0], rtol=1e-6, atol=1e-7)


def test_counts_take_weights():
    questions = Questions(np.array([[0, 1, 2, 3]]), np.array([0, 0]), np.array([True, False]), 4)
    np.testing.assert_array_equal(questions.counts(np.array([2.5, 1.0])), [[1.0, 2.5]])
