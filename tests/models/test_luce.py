"""Luce's choice rule: exact probabilities of choices, their slopes, and draws.

The reference is the definition in rational arithmetic. The same checks are run on likelihoods that
are wrong on purpose, which must fail them.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.optimize import minimize
from tests.luce import by_definition, in_any_order, in_this_order, outcomes

from tercet.answers.choices import BEST_WORST, FARTHEST, ORDERED, UNORDERED
from tercet.models.luce import (
    MOST_SUBSETS,
    _integral,
    _subsets,
    agreement_with,
    choice_loss,
    choice_probabilities,
    count_outcomes,
    draw_outcomes,
    order_outcomes,
)

NAMES = {ORDERED: "ordered", UNORDERED: "unordered", FARTHEST: "farthest", BEST_WORST: "both"}

# Kind, how many are chosen, of how many: every kind, some sizes.
FORMS = [
    *((ORDERED, k, m) for m in (2, 3, 4, 5) for k in range(1, m)),
    *((UNORDERED, k, m) for m in (3, 4, 5, 6) for k in range(2, m)),
    *((FARTHEST, 1, m) for m in (2, 3, 5)),
    *((BEST_WORST, 2, m) for m in (3, 4, 5)),
]
STRENGTHS = [Fraction(s) for s in (4, 1, 9, 2, 1, 7)]

forms = pytest.mark.parametrize(
    "form", FORMS, ids=lambda form: f"{NAMES[form[0]]}-{form[1]}-of-{form[2]}"
)
untimed = settings(deadline=None)  # the first example compiles


def loss_and_slope(kind, k, u, loss=choice_loss):
    slope = np.full(len(u), np.nan)
    return loss(kind, k, np.ascontiguousarray(u, dtype=float), slope), slope


def logs(strengths):
    return np.log(np.array(strengths, dtype=float))


# ---- checks of a likelihood, right or wrong


def check_sum(form, loss=choice_loss):
    kind, k, m = form
    u = logs(STRENGTHS[:m])
    total = sum(math.exp(-loss_and_slope(kind, k, u[o], loss)[0]) for o in outcomes(kind, k, m))
    assert total == pytest.approx(1.0, abs=1e-13)


def check_values(form, loss=choice_loss):
    kind, k, m = form
    for order in outcomes(kind, k, m):
        s = [STRENGTHS[j] for j in order]
        expected = -math.log(by_definition(kind, k, s))
        assert loss_and_slope(kind, k, logs(s), loss)[0] == pytest.approx(expected, abs=1e-13)


def check_slopes(form, loss=choice_loss):
    kind, k, m = form
    u, h = np.random.default_rng(m).normal(size=m), 1e-5
    slope = loss_and_slope(kind, k, u, loss)[1]
    for j, step in enumerate(h * np.eye(m)):
        up, down = (loss_and_slope(kind, k, u + sign * step, loss)[0] for sign in (1, -1))
        assert slope[j] == pytest.approx((up - down) / (2 * h), abs=1e-9)


@forms
def test_the_outcomes_have_probabilities_that_sum_to_one(form):
    check_sum(form)
    assert count_outcomes(*form) == len(outcomes(*form))


@forms
def test_the_probability_is_that_of_the_definition(form):
    check_values(form)


@forms
def test_slopes_match_finite_differences(form):
    check_slopes(form)


def split(kind, k, u, slope):
    """Every comparison within an unordered choice as an answer of its own."""
    if kind != UNORDERED:
        return choice_loss(kind, k, u, slope)
    total, slope[:] = 0.0, 0.0
    for i in range(k):
        for j in range(k, len(u)):
            total += np.logaddexp(0.0, u[j] - u[i])
            share = 1 / (1 + np.exp(u[i] - u[j]))
            slope[i] -= share
            slope[j] += share
    return total


def last_of_ranking(kind, k, u, slope):
    """The farthest as the last of a ranking: of more than two, another model than odds of 1/s."""
    if kind != FARTHEST:
        return choice_loss(kind, k, u, slope)
    s = np.exp(u)
    rankings = ([*order, s[0]] for order in permutations(s[1:]))
    return -np.log(sum(in_this_order(len(s) - 1, ranking) for ranking in rankings))


def worst_among_all(kind, k, u, slope):
    """The farthest chosen among all alternatives, the nearest included."""
    if kind != BEST_WORST:
        return choice_loss(kind, k, u, slope)
    shifted = u - u.max()
    return -(u[0] - u[1] - np.log(np.exp(u).sum() * np.exp(-shifted).sum()) + u.max())


def short_slope(kind, k, u, slope):
    """The alternatives that were not chosen are left out of the slope."""
    loss = choice_loss(kind, k, u, slope)
    slope[k:] = 0.0
    return loss


@pytest.mark.parametrize(
    ("check", "loss", "form"),
    [
        (check_sum, split, (UNORDERED, 2, 4)),
        (check_values, split, (UNORDERED, 2, 4)),
        (check_values, last_of_ranking, (FARTHEST, 1, 3)),
        (check_sum, worst_among_all, (BEST_WORST, 2, 3)),
        (check_values, worst_among_all, (BEST_WORST, 2, 3)),
        *((check_slopes, short_slope, form) for form in FORMS),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_wrong_likelihood_fails(check, loss, form):
    with pytest.raises(AssertionError):
        check(form, loss)


def test_the_last_of_a_ranking_sums_to_one_all_the_same():
    """So that the check of the values, and not only that of the sum, is needed."""
    check_sum((FARTHEST, 1, 3), last_of_ranking)
    check_values((FARTHEST, 1, 2), last_of_ranking)


# ---- several without order


def in_any_order_by_exclusion(k, s):
    """The same as the chance that k exponential times all precede the first of the others.

    Expanding the integral over v from 0 to 1 of the product of 1 - v**(s_i / R), R being the sum
    of the others, gives the sum over subsets T of the chosen ones of (-1)**|T| R / (R + s(T)).
    """
    R, total = sum(s[k:]), 0
    for size in range(k + 1):
        for subset in combinations(s[:k], size):
            total += (-1) ** size * R / (R + sum(subset))
    return total


def test_two_of_three():
    """Strengths 4, 1 and 1, two of three chosen.

    The two weak ones are the pair with probability 2 · 1/6 · 1/5 = 1/15. A pair of the strong one
    and a certain weak one has 4/6 · 1/2 + 1/6 · 4/5 = 7/15: the odds are 7. Comparisons that were
    independent would make them 4/5 · 1/2 to 1/5 · 1/5, which is 10.
    """
    with_strong = loss_and_slope(UNORDERED, 2, logs([4, 1, 1]))[0]
    weak = loss_and_slope(UNORDERED, 2, logs([1, 1, 4]))[0]
    assert math.exp(-with_strong) == pytest.approx(7 / 15, abs=1e-15)
    assert math.exp(-weak) == pytest.approx(1 / 15, abs=1e-15)
    assert math.exp(weak - with_strong) == pytest.approx(7.0, abs=1e-13)
    apart = [loss_and_slope(UNORDERED, 2, logs(s), split)[0] for s in ([4, 1, 1], [1, 1, 4])]
    assert math.exp(apart[1] - apart[0]) == pytest.approx(10.0, abs=1e-12)


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_orders_exclusion_subsets_and_the_integral_agree(k):
    s = [Fraction(int(x)) for x in np.random.default_rng(k).integers(1, 40, size=k + 3)]
    exact = in_any_order(k, s)
    assert in_any_order_by_exclusion(k, s) == exact
    slopes = np.empty((2, k + 3))
    for evaluate, slope in zip((_subsets, _integral), slopes, strict=True):
        assert evaluate(k, logs(s), slope) == pytest.approx(-math.log(exact), abs=1e-13)
    np.testing.assert_allclose(slopes[1], slopes[0], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("k", [MOST_SUBSETS, MOST_SUBSETS + 1, 12])
@pytest.mark.parametrize("spread", [1, 1000])
def test_many_are_exact_on_both_sides_of_the_limit(k, spread):
    rng = np.random.default_rng(k)
    s = [Fraction(int(x)) for x in rng.integers(1, 30, size=k + 4) * spread ** rng.integers(2)]
    s[0], s[-1] = s[0] * spread, s[-1] * spread
    expected = -math.log(in_any_order_by_exclusion(k, s))
    loss, slope = loss_and_slope(UNORDERED, k, logs(s))
    assert loss == pytest.approx(expected, rel=1e-13)
    other = np.empty(k + 4)
    assert _subsets(k, logs(s), other) == pytest.approx(expected, rel=1e-13)
    np.testing.assert_allclose(slope, other, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize(("k", "m"), [(9, 20), (20, 60), (60, 200), (100, 1000), (300, 301)])
def test_equal_alternatives_share_the_probability_however_many(k, m):
    """Every one of the m! / k! (m - k)! sets is as likely."""
    loss, slope = loss_and_slope(UNORDERED, k, np.full(m, -1.5))
    assert loss == pytest.approx(math.log(math.comb(m, k)), rel=1e-13)
    assert slope.sum() == pytest.approx(0.0, abs=1e-10)
    np.testing.assert_allclose(slope[1:k], slope[0], rtol=1e-12)


@pytest.mark.parametrize("weak", [Fraction(1, 50), Fraction(1)])
def test_two_strengths_among_many(weak):
    """Inclusion and exclusion by how many of either strength: exact for forty of a hundred."""
    strong, R = Fraction(3), 20 * weak + 40 * Fraction(3)
    exact = sum(
        (-1) ** (a + b) * math.comb(25, a) * math.comb(15, b) * R / (R + a * strong + b * weak)
        for a in range(26)
        for b in range(16)
    )
    s = [strong] * 25 + [weak] * 15 + [weak] * 20 + [strong] * 40
    loss, _ = loss_and_slope(UNORDERED, 40, logs(s))
    expected = math.log(exact.denominator) - math.log(exact.numerator)
    assert loss == pytest.approx(expected, rel=1e-12)


# ---- extreme similarities


def decimal_loss(kind, k, u):
    """From the definition, with 60 digits and any exponent."""
    with localcontext() as context:
        context.prec, context.Emax, context.Emin = 60, 10**9, -(10**9)
        p = by_definition(kind, k, [Decimal(float(x)).exp() for x in u])
        return float(-p.ln())


@forms
@pytest.mark.parametrize("size", [30.0, 700.0, 2000.0])
def test_extreme_similarities_stay_exact(form, size):
    kind, k, m = form
    rng = np.random.default_rng(0)
    for _ in range(10):
        u = size * rng.uniform(-1.0, 1.0, size=m)
        u[rng.integers(m)], u[rng.integers(m)] = size, -size
        loss, slope = loss_and_slope(kind, k, u)
        assert loss == pytest.approx(decimal_loss(kind, k, u), rel=1e-13, abs=1e-13)
        assert np.isfinite(slope).all()
        assert slope.sum() == pytest.approx(0.0, abs=1e-14 * size)  # u is rounded at its size


@pytest.mark.parametrize("size", [30.0, 2000.0])
def test_the_integral_stays_exact(size):
    """Against the recursion, which adds positive terms only."""
    rng, k, m = np.random.default_rng(1), 10, 14
    for _ in range(10):
        u = size * rng.uniform(-1.0, 1.0, size=m)
        slopes = np.empty((2, m))
        exact = _subsets(k, u, slopes[0])
        assert _integral(k, u, slopes[1]) == pytest.approx(exact, rel=1e-13, abs=1e-13)
        np.testing.assert_allclose(slopes[1], slopes[0], rtol=1e-9, atol=1e-14 * size)


# ---- marginals


def ranking_probability(order, u):
    return math.exp(-loss_and_slope(ORDERED, len(u) - 1, u[list(order)])[0])


@pytest.mark.parametrize("m", [3, 4, 5])
def test_two_of_a_ranking_are_a_comparison(m):
    """P(a before b) = s_a / (s_a + s_b), whatever else is ranked."""
    u = np.random.default_rng(m).normal(size=m)
    rankings = {order: ranking_probability(order, u) for order in permutations(range(m))}
    for a, b in permutations(range(m), 2):
        before = sum(p for order, p in rankings.items() if order.index(a) < order.index(b))
        assert before == pytest.approx(1 / (1 + math.exp(u[b] - u[a])), abs=1e-13)


@pytest.mark.parametrize("m", [3, 4, 5])
def test_the_first_of_a_ranking_and_of_both_ends_is_the_single_choice(m):
    u = np.random.default_rng(m).normal(size=m)
    rankings = {order: ranking_probability(order, u) for order in permutations(range(m))}
    for first in range(m):
        moved = [first, *(j for j in range(m) if j != first)]
        single = math.exp(-loss_and_slope(ORDERED, 1, u[moved])[0])
        ranked = sum(p for order, p in rankings.items() if order[0] == first)
        ends = sum(
            math.exp(-loss_and_slope(BEST_WORST, 2, u[order])[0])
            for order in outcomes(BEST_WORST, 2, m)
            if order[0] == first
        )
        assert ranked == pytest.approx(single, abs=1e-13)
        assert ends == pytest.approx(single, abs=1e-13)


def test_a_ranked_few_is_the_sum_of_the_rankings_that_begin_so():
    u = np.random.default_rng(0).normal(size=5)
    for begin in permutations(range(5), 2):
        rest = [j for j in range(5) if j not in begin]
        total = sum(ranking_probability([*begin, *end], u) for end in permutations(rest))
        few = math.exp(-loss_and_slope(ORDERED, 2, u[[*begin, *rest]])[0])
        assert few == pytest.approx(total, abs=1e-14)


def test_the_farthest_of_two_is_the_other_of_two():
    u = np.array([0.3, -1.1])
    farthest, slope = loss_and_slope(FARTHEST, 1, u)
    nearest, other = loss_and_slope(ORDERED, 1, u[::-1])
    assert farthest == pytest.approx(nearest, abs=1e-15)
    np.testing.assert_allclose(slope, other[::-1], atol=1e-15)


def test_one_without_order_is_one_with():
    u = np.random.default_rng(0).normal(size=6)
    one, slope = loss_and_slope(UNORDERED, 1, u)
    same, other = loss_and_slope(ORDERED, 1, u)
    assert one == pytest.approx(same, abs=1e-14)
    np.testing.assert_allclose(slope, other, atol=1e-14)


# ---- symmetries

numbers = st.floats(-20.0, 20.0)
similarities = st.lists(numbers, min_size=6, max_size=6)


@untimed
@given(st.sampled_from(FORMS), similarities, st.floats(-1e3, 1e3))
def test_a_constant_changes_nothing(form, u, constant):
    kind, k, m = form
    u = np.array(u[:m])
    loss, slope = loss_and_slope(kind, k, u)
    moved, other = loss_and_slope(kind, k, u + constant)
    assert moved == pytest.approx(loss, rel=1e-11, abs=1e-11)
    np.testing.assert_allclose(other, slope, rtol=1e-10, atol=1e-11)
    assert slope.sum() == pytest.approx(0.0, abs=1e-12)


@untimed
@given(st.sampled_from(FORMS), similarities, st.randoms(use_true_random=False))
def test_the_order_of_what_was_not_chosen_changes_nothing(form, u, random):
    kind, k, m = form
    u, order = np.array(u[:m]), list(range(k, m))
    random.shuffle(order)
    first = list(range(k))
    if kind == UNORDERED:
        random.shuffle(first)  # nor that of the chosen ones, of a set
    order = first + order
    loss, slope = loss_and_slope(kind, k, u)
    same, other = loss_and_slope(kind, k, u[order])
    assert same == pytest.approx(loss, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(other, slope[order], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", [ORDERED, BEST_WORST])
def test_the_order_of_what_was_chosen_matters(kind):
    u = np.array([0.5, -0.5, 0.0, 0.1])
    swapped = loss_and_slope(kind, 2, u[[1, 0, 2, 3]])[0]
    assert abs(loss_and_slope(kind, 2, u)[0] - swapped) > 0.1


# ---- probabilities with lapses, and draws


def probabilities(lapse, kind, k, u):
    """Of all outcomes, and of each alternative to be the first."""
    m, all_of_them = len(u), outcomes(kind, k, len(u))
    count = len(all_of_them)
    p, first = np.empty(count), np.empty(count * m)
    choice_probabilities(
        lapse,
        np.zeros(2),
        np.ravel(all_of_them),
        np.empty(0, dtype=np.int64),
        m * np.arange(count + 1),
        np.full(count, kind, dtype=np.int8),
        np.full(count, k),
        np.asarray(u, dtype=float),
        p,
        first,
    )
    return p, first.reshape(count, m)


@forms
@pytest.mark.parametrize("lapse", [0.0, 0.3, 1.0])
def test_a_lapse_is_any_of_the_outcomes(form, lapse):
    kind, k, m = form
    s, all_of_them = STRENGTHS[:m], outcomes(*form)
    p, first = probabilities(lapse, kind, k, logs(s))
    exact = [float(by_definition(kind, k, [s[j] for j in order])) for order in all_of_them]
    np.testing.assert_allclose(p, (1 - lapse) * np.array(exact) + lapse / len(exact), rtol=1e-12)
    assert p.sum() == pytest.approx(1.0, abs=1e-12)
    single = FARTHEST if kind == FARTHEST else ORDERED
    for order, row in zip(all_of_them, first, strict=True):
        for place, j in enumerate(order):
            moved = [s[j], *(s[i] for i in range(m) if i != j)]
            expected = float(by_definition(single, 1, moved))
            assert row[place] == pytest.approx(expected, rel=1e-12)


def test_no_choices_have_no_probabilities():
    nothing, none = np.empty(0), np.empty(0, dtype=np.int64)
    choice_probabilities(
        0.1,
        np.zeros(2),
        none,
        none,
        np.zeros(1, dtype=np.int64),
        np.empty(0, np.int8),
        none,
        nothing,
        nothing,
        nothing,
    )


DRAWN = [form for form in FORMS if len(outcomes(*form)) <= 24]
N_DRAWS = 20_000

# Some forty p-values: by chance one is below once in 10 000 runs.
LEAST = 1e-4 / 40


def draw_counts(form, lapse, u, seed=0):
    """How often each outcome is drawn."""
    kind, k, m = form
    order = np.empty(N_DRAWS * m, dtype=np.int64)
    cuts, kinds = m * np.arange(N_DRAWS + 1), np.full(N_DRAWS, kind, dtype=np.int8)
    rng, unused = np.random.default_rng(seed), np.full(N_DRAWS, k)
    draw_outcomes(lapse, 0.0, cuts, kinds, np.tile(u, N_DRAWS), rng, order, unused)
    order = order.reshape(-1, m)
    np.testing.assert_array_equal(np.sort(order, axis=1), np.tile(np.arange(m), (N_DRAWS, 1)))
    chosen = np.sort(order[:, :k], axis=1) if kind == UNORDERED else order[:, :k]
    number = {tuple(some[:k]): i for i, some in enumerate(outcomes(*form))}
    found = [number[tuple(row)] for row in chosen.tolist()]
    return np.bincount(found, minlength=len(number))


@pytest.mark.parametrize("form", DRAWN, ids=lambda form: f"{NAMES[form[0]]}-{form[1]}-of-{form[2]}")
@pytest.mark.parametrize("lapse", [0.0, 0.3])
def test_outcomes_are_drawn_as_often_as_they_are_likely(form, lapse):
    kind, k, m = form
    u = np.random.default_rng(5).normal(size=m)
    expected = N_DRAWS * probabilities(lapse, kind, k, u)[0]
    assert stats.chisquare(draw_counts(form, lapse, u), expected).pvalue > LEAST


@pytest.mark.parametrize("form", [(ORDERED, 1, 3), (UNORDERED, 2, 4), (BEST_WORST, 2, 4)])
@pytest.mark.parametrize("wrong", ["lapse", "similarity", "kind"])
def test_draws_from_something_else_are_noticed(form, wrong):
    kind, k, m = form
    u = np.random.default_rng(5).normal(size=m)
    expected = N_DRAWS * probabilities(0.0, kind, k, u)[0]
    if wrong == "kind":  # the farthest is not the nearest, nor the last of a ranking
        other = {ORDERED: FARTHEST, BEST_WORST: ORDERED, UNORDERED: FARTHEST}[kind]
        order = np.empty(N_DRAWS * m, dtype=np.int64)
        cuts, kinds = m * np.arange(N_DRAWS + 1), np.full(N_DRAWS, other, dtype=np.int8)
        rng, unused = np.random.default_rng(0), np.full(N_DRAWS, k)
        draw_outcomes(0.0, 0.0, cuts, kinds, np.tile(u, N_DRAWS), rng, order, unused)
        order = order.reshape(-1, m)
        if kind == BEST_WORST:
            order = order[:, [0, m - 1]]
        chosen = np.sort(order[:, :k], axis=1) if kind == UNORDERED else order[:, :k]
        number = {tuple(some[:k]): i for i, some in enumerate(outcomes(*form))}
        counts = np.bincount([number[tuple(row)] for row in chosen.tolist()], minlength=len(number))
    else:
        lapse = 0.1 if wrong == "lapse" else 0.0
        counts = draw_counts(form, lapse, u if wrong == "lapse" else 1.1 * u)
    assert stats.chisquare(counts, expected).pvalue < LEAST


# ---- the predicted outcome, and how far it agrees


def predict(kind, k, scores):
    """Order of the alternatives, whether the given outcome is predicted, and the share in order."""
    scores, cuts = np.asarray(scores, dtype=float), np.array([0, len(scores)])
    kinds, order = np.array([kind], dtype=np.int8), np.empty(len(scores), dtype=np.int64)
    order_outcomes(kinds, cuts, scores, order, np.array([k]))
    right, in_order = np.empty(1), np.empty(1)
    agreement_with(kinds, cuts, np.array([k]), scores, right, in_order)
    return order.tolist(), right[0], in_order[0]


@pytest.mark.parametrize(
    ("kind", "k", "scores", "order", "right", "in_order"),
    [
        (ORDERED, 1, [0.5, 0.2, 0.3], [0, 2, 1], 1, 1),
        (ORDERED, 1, [0.3, 0.2, 0.5], [2, 0, 1], 0, 1 / 2),
        (FARTHEST, 1, [0.5, 0.2, 0.3], [0, 2, 1], 1, 1),
        (ORDERED, 2, [0.3, 0.4, 0.2, 0.1], [1, 0, 2, 3], 0, 4 / 5),  # 0>1, 0>2, 0>3, 1>2, 1>3
        (UNORDERED, 2, [0.3, 0.4, 0.2, 0.1], [1, 0, 2, 3], 1, 1),
        (UNORDERED, 2, [0.3, 0.1, 0.2, 0.4], [3, 0, 2, 1], 0, 1 / 4),
        (BEST_WORST, 2, [0.4, 0.1, 0.2, 0.3], [0, 1, 3, 2], 1, 1),
        # 0 > 1, 0 > 2 and 0 > 3 of the nearest; 2 > 1 and 3 > 1 of the farthest with the rest.
        (BEST_WORST, 2, [0.3, 0.2, 0.4, 0.1], [2, 3, 0, 1], 0, 3 / 5),
        # Ties: the outcomes that are as likely share.
        (ORDERED, 1, [0.4, 0.4, 0.2], [0, 1, 2], 1 / 2, 3 / 4),
        (ORDERED, 2, [0.4, 0.4, 0.2], [0, 1, 2], 1 / 2, 5 / 6),
        (UNORDERED, 2, [0.4, 0.4, 0.2], [0, 1, 2], 1, 1),
        (UNORDERED, 2, [0.4, 0.2, 0.2, 0.2], [0, 1, 2, 3], 1 / 3, 3 / 4),
    ],
)
def test_predictions_by_hand(kind, k, scores, order, right, in_order):
    found = predict(kind, k, scores)
    assert found[0] == order
    assert found[1:] == pytest.approx((right, in_order))


@forms
def test_scores_that_say_nothing_predict_by_guessing(form):
    kind, k, m = form
    _, right, in_order = predict(kind, k, np.full(m, 1 / m))
    assert right == pytest.approx(1 / len(outcomes(*form)))
    assert in_order == 0.5


@forms
def test_the_predicted_outcome_is_the_likeliest(form):
    """Order the alternatives by their chances to be first: no other outcome is likelier."""
    kind, k, m = form
    for seed in range(10):
        u = np.random.default_rng(seed).normal(size=m)
        order, _, _ = predict(kind, k, -u if kind == FARTHEST else u)
        found = loss_and_slope(kind, k, u[order])[0]
        least = min(loss_and_slope(kind, k, u[o])[0] for o in outcomes(*form))
        assert found == pytest.approx(least, abs=1e-12)


# ---- published estimates


def most_likely(n_items, choices):
    """Log-strengths of sum zero that maximise the likelihood of choices (kind, k, items)."""

    def total(x):
        loss, by_x = 0.0, np.zeros(n_items)
        for kind, k, items in choices:
            more, slope = loss_and_slope(kind, k, x[list(items)])
            loss += more
            by_x[list(items)] += slope
        return loss, by_x

    found = minimize(total, np.zeros(n_items), jac=True, method="BFGS", options={"gtol": 1e-10})
    return found.x - found.x.mean()


def rankings(*items):
    return [(ORDERED, len(row) - 1, row) for row in items]


def top1(*rows):
    return [(ORDERED, 1, (winner, *losers)) for winner, losers in rows]


@pytest.mark.parametrize(
    ("choices", "published", "error"),
    [
        # The cases of the test suite of choix (Maystre, github.com/lucasmaystre/choix): the files
        # tests/data/testcase-rankings-1, -rankings-2, -top1-1 and -top1-2.json, "ml_est".
        (rankings((0, 1, 2), (1, 2, 0), (2, 0, 1)), [0, 0, 0], 1e-8),
        (
            rankings((0, 1, 2), (3, 2, 0), (1, 3)),
            [-0.44328117, 0.69506219, -0.67061442, 0.4188334],
            5e-5,
        ),
        (top1((0, (1, 2)), (1, (0, 2)), (2, (0, 1))), [0, 0, 0], 1e-8),
        (top1((0, (1,)), (1, (2,)), (2, (0, 1))), [0.16040395, -0.32080789, 0.16040394], 2e-8),
        # What choix 0.4.1 computes: ilsr_rankings and ilsr_top1 with tol=1e-13.
        (
            rankings((0, 1, 2), (3, 2, 0), (1, 3)),
            [-0.4433084893, 0.695067867, -0.6706095703, 0.4188501926],
            1e-7,
        ),
        (
            rankings(
                (0, 1, 2, 3, 4),
                (2, 0, 4, 1, 3),
                (4, 3, 0, 2, 1),
                (1, 2, 0, 4, 3),
                (3, 0, 1, 4, 2),
                (0, 2, 4),
                (4, 1, 0),
            ),
            [0.6101197098, 0.1017153469, 0.0651482322, -0.5245985513, -0.2523847375],
            1e-7,
        ),
        (
            top1(
                (0, (1, 2, 3, 4)),
                (2, (0, 1, 4)),
                (1, (0, 3)),
                (3, (2, 4, 0)),
                (4, (1, 2, 3)),
                (0, (2, 3)),
                (0, (4, 1)),
                (2, (3, 1)),
                (1, (4, 2, 0)),
            ),
            [0.5753535414, 0.1073742097, 0.1324441044, -0.4796691632, -0.3355026922],
            1e-7,
        ),
    ],
)
def test_estimates_are_those_of_choix(choices, published, error):
    np.testing.assert_allclose(most_likely(len(published), choices), published, atol=error)


def test_choices_split_into_comparisons_have_another_estimate():
    """Of the same data: comparisons within a choice of one of three are not independent."""
    whole = top1((0, (1,)), (1, (2,)), (2, (0, 1)))
    apart = top1((0, (1,)), (1, (2,)), (2, (0,)), (2, (1,)))
    assert np.abs(most_likely(3, whole) - most_likely(3, apart)).max() > 0.05
