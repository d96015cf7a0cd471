"""“Cannot tell” and sides: their probabilities, slopes and draws, by definition."""

import math

import numpy as np
import pytest
from scipy import stats
from tests.luce import by_definition

import tercet as tc
from tercet.answers.choices import FARTHEST_OR_TIE, ONE_OR_TIE
from tercet.embedder import problem_of
from tercet.engine.kernels import add_edges, code_of
from tercet.engine.search import Objective
from tercet.engine.ties import best_tie, has_ties, with_tie
from tercet.models.luce import (
    agreement_with,
    choice_loss,
    count_outcomes,
    draw_outcomes,
    order_outcomes,
)

N = 8
MODELS = [tc.STE(2).model(), tc.CKL(2).model(), tc.Shepard(2, gamma=1.3, tail=0.2).model()]
models = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


def davidson(strengths, tie, chosen):
    """The first strength, or the tie if none is chosen, by the definition."""
    even = tie * math.prod(strengths) ** (1.0 / len(strengths))
    return (strengths[0] if chosen else even) / (sum(strengths) + even)


@pytest.mark.parametrize("m", [2, 3, 5])
@pytest.mark.parametrize("chosen", [0, 1])
@pytest.mark.parametrize("kind", [ONE_OR_TIE, FARTHEST_OR_TIE])
def test_a_tie_is_as_likely_as_davidson_says(kind, chosen, m):
    rng = np.random.default_rng(m)
    u, tie = rng.normal(size=m), 0.7
    s = np.exp(u if kind == ONE_OR_TIE else -u)
    slope = np.empty(m + 1)
    numbers = np.append(u, math.log(tie))
    assert choice_loss(kind, chosen, numbers, slope) == pytest.approx(
        -math.log(davidson(s.tolist(), tie, chosen)), rel=1e-13
    )
    assert count_outcomes(kind, chosen, m) == m + 1
    unused, h = np.empty(m + 1), 1e-6
    for j, step in enumerate(h * np.eye(m + 1)):
        up, down = (choice_loss(kind, chosen, numbers + sign * step, unused) for sign in (1, -1))
        assert slope[j] == pytest.approx((up - down) / (2 * h), abs=1e-8)


@pytest.mark.parametrize("m", [2, 3, 4])
def test_given_that_one_can_tell_the_odds_are_those_without_ties(m):
    u, unused = np.random.default_rng(m).normal(size=m), np.empty(m + 1)
    orders = [[j, *(i for i in range(m) if i != j)] for j in range(m)]
    numbers = [np.append(u[order], 0.3) for order in orders]
    p = np.exp([-choice_loss(ONE_OR_TIE, 1, each, unused) for each in numbers])
    assert p.sum() + math.exp(-choice_loss(ONE_OR_TIE, 0, numbers[0], unused)) == pytest.approx(1)
    np.testing.assert_allclose(p / p.sum(), np.exp(u) / np.exp(u).sum(), rtol=1e-12)


# ---- in the engine


def choices_with_all(seed=0, m=40, weights=None):
    """Every kind, with ties where they are possible and with positions."""
    rng = np.random.default_rng(seed)

    def shown(size):
        return np.array([rng.permutation(size) for _ in range(m)])

    def some():
        return rng.random(m) < 0.3

    def rows(size):
        return np.array([rng.permutation(N)[:size] for _ in range(m)])

    six, beside = rows(6), {"n_objects": N, "weights": weights}
    parts = [
        tc.Choices.odd_one_out(rows(3), positions=shown(3), cannot_tell=some(), **beside),
        tc.Choices.most_central(rows(3), positions=shown(3), cannot_tell=some(), **beside),
        tc.Choices.from_triplets(
            tc.Triplets(rows(3), **beside), positions=shown(2), cannot_tell=some()
        ),
        tc.Choices.from_triplets(tc.Triplets(rows(3), **beside)),
        tc.Choices.nearest(six[:, 0], six[:, 1:], six[:, 1:3], positions=shown(5), **beside),
        tc.Choices.ranking(six[:, 0], six[:, 1:], positions=shown(5), **beside),
    ]
    return tc.Choices.concatenate(parts)


def reference(model, choices, X, tie, bias, lapse):
    """-log likelihood from the definition, choice by choice."""
    total = 0.0
    weights = np.ones(len(choices)) if choices.weights is None else choices.weights
    for c, (start, stop) in enumerate(zip(choices.cuts[:-1], choices.cuts[1:], strict=True)):
        kind, k = int(choices.kinds[c]), int(choices.n_chosen[c])
        ends = choices.pairs[start:stop]
        squared = np.sum((X[ends[:, 0]] - X[ends[:, 1]]) ** 2, axis=1)
        at = choices.positions[start:stop]
        b = np.where(at < 0, 0.0, bias[at])
        log_s = model.log_similarity(squared, X.shape[1])[0]
        if kind in (ONE_OR_TIE, FARTHEST_OR_TIE):
            s = np.exp((log_s if kind == ONE_OR_TIE else -log_s) + b)
            p = davidson(s.tolist(), tie, k)
        else:  # no farthest without ties in this world
            p = by_definition(kind, k, np.exp(log_s + b).tolist())
        total -= weights[c] * math.log((1 - lapse) * p + lapse / choices.n_outcomes[c])
    return total


@models
@pytest.mark.parametrize("lapse", [0.0, 0.2])
@pytest.mark.parametrize("weighted", [False, True])
def test_loss_and_slopes_are_those_of_the_definition(model, lapse, weighted):
    weights = np.random.default_rng(5).uniform(0.5, 2.0, 40) if weighted else None
    choices, rng = choices_with_all(weights=weights), np.random.default_rng(1)
    X, bias = rng.normal(size=(N, 2)), rng.normal(size=5)
    problem = problem_of(choices, sides=5)
    bonus = np.concatenate([[math.log(0.6), 0.0], bias])
    p, q = map(float, model.constants(2))

    def loss(X, bonus):
        gradient = np.zeros_like(X)
        found = add_edges(code_of(model), p, q, lapse, bonus, problem, X, gradient)
        return found[0], gradient, found[4]

    value, gradient, by_bonus = loss(X, bonus)
    assert value == pytest.approx(reference(model, choices, X, 0.6, bias, lapse), rel=1e-12)
    h = 1e-6
    for place in [0, *range(2, 7)]:
        step = np.zeros(7)
        step[place] = h
        slope = (loss(X, bonus + step)[0] - loss(X, bonus - step)[0]) / (2 * h)
        assert by_bonus[place] == pytest.approx(slope, abs=1e-5)
    for place in [(0, 0), (3, 1), (7, 0)]:
        step = np.zeros_like(X)
        step[place] = h
        slope = (loss(X + step, bonus)[0] - loss(X - step, bonus)[0]) / (2 * h)
        assert gradient[place] == pytest.approx(slope, abs=1e-5)


@pytest.mark.parametrize("m", [2, 3, 20])
def test_blocks_of_any_size_are_the_choices_one_by_one(m):
    """With more alternatives than a block holds, choices are evaluated one by one."""
    rng, n = np.random.default_rng(0), 30
    rows = np.array([rng.permutation(n)[: m + 1] for _ in range(300)])
    choices = tc.Choices.nearest(
        rows[:, 0], rows[:, 1:], rows[:, 1], n_objects=n, cannot_tell=rng.random(300) < 0.4
    )
    X = rng.normal(size=(n, 2))
    ensemble = tc.Ensemble(X[None], model=tc.STE(2).model(), parameters={"tie": np.array([1.7])})
    problem = with_tie(problem_of(choices), math.log(1.7))
    found = add_edges(code_of(MODELS[0]), 0.0, 0.0, 0.0, problem.lists.bonus, problem, X, X * 0)[0]
    expected = -np.log(ensemble.choice_probability(choices)).sum()
    assert found == pytest.approx(expected, rel=1e-12)


def test_comparisons_without_ties_or_sides_stay_comparisons():
    choices = choices_with_all()
    plain = problem_of(choices)
    assert len(plain.comparisons) == 40  # of two, with no tie possible
    assert len(plain.lists.places) == 0
    assert has_ties(plain)
    assert not has_ties(problem_of(choices.without_ties()))
    assert len(problem_of(choices.without_ties()).comparisons) > 40


def test_an_unknown_position_has_no_odds_of_its_own():
    rows = [[0, 1, 2], [1, 2, 3]]
    known = tc.Choices.odd_one_out(rows, positions=[[0, 1, 2], [-1, -1, -1]])
    ensemble = tc.Ensemble(
        np.random.default_rng(0).normal(size=(1, 4, 2)),
        model=MODELS[0],
        parameters={f"bias_{p}": np.array([b]) for p, b in enumerate((2.0, 0.0, -2.0))},
    )
    plain = tc.Ensemble(ensemble.draws, model=MODELS[0])
    p, without = ensemble.choice_probability(known), plain.choice_probability(known)
    assert p[1] == without[1]
    assert p[0] < without[0]  # the odd one was at the unpopular place


def test_draws_that_know_no_ties_do_not_predict_them():
    choices = tc.Choices.odd_one_out([[0, 1, 2], [1, 2, 3]], cannot_tell=[True, False])
    plain = tc.Ensemble(np.random.default_rng(0).normal(size=(2, 4, 2)), model=MODELS[0])
    with pytest.raises(tc.InputError, match="without_ties"):
        plain.choice_probability(choices)
    assert len(plain.choice_probability(choices.without_ties())) == 1


# ---- a single map and its odds of a tie


def world(tie=0.8, m=3000, bias=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(12, 2))
    rows = np.array([rng.permutation(12)[:3] for _ in range(m)])
    shown = np.array([rng.permutation(3) for _ in range(m)])
    asked = tc.Choices.odd_one_out(rows, n_objects=12, positions=shown)
    model = tc.STE(2).model()
    answered = tc.simulate.choices_from_model(model, X, asked, tie=tie, bias=bias, random_state=rng)
    return X, answered


def test_the_odds_of_a_tie_are_recovered_at_the_true_map():
    X, choices = world()
    problem = problem_of(choices)
    found = best_tie(Objective(MODELS[0], 2), problem, X)
    assert found == pytest.approx(math.log(0.8), abs=4 / math.sqrt(choices.tied.sum()))


def test_a_fit_finds_the_odds_of_a_tie_with_the_map():
    _, choices = world()
    fitted = tc.STE(2, random_state=0).fit(choices)
    problem = with_tie(problem_of(choices), math.log(fitted.tie_))
    again = best_tie(Objective(MODELS[0], 2), problem, fitted.embedding_)
    assert again == pytest.approx(math.log(fitted.tie_), abs=1e-3)
    assert fitted.tie_ == pytest.approx(0.8, rel=0.25)
    gradient = np.zeros((12, 2))
    value = add_edges(
        code_of(MODELS[0]), 0.0, 0.0, 0.0, problem.lists.bonus, problem, fitted.embedding_, gradient
    )[0]
    assert value == pytest.approx(fitted.loss_, rel=1e-9)
    assert not hasattr(tc.STE(2, random_state=0).fit(choices.without_ties()), "tie_")


def test_a_bootstrap_keeps_the_odds_of_a_tie():
    _, choices = world(m=600)
    ensemble = tc.Bootstrap(tc.STE(2), n_samples=4, random_state=0).fit(choices).ensemble_
    assert (ensemble.parameters["tie"] == tc.STE(2, random_state=0).fit(choices).tie_).all()
    p = ensemble.choice_probability(choices)
    assert ((p > 0) & (p < 1)).all()


# ---- draws and predictions


@pytest.mark.parametrize("kind", [ONE_OR_TIE, FARTHEST_OR_TIE])
@pytest.mark.parametrize("lapse", [0.0, 0.4])
def test_ties_are_drawn_as_often_as_they_are_likely(kind, lapse):
    count, m, u = 20_000, 3, np.array([0.4, -0.5, 1.0])
    order, chosen = np.empty(count * m, dtype=np.int64), np.ones(count, dtype=np.int64)
    draw_outcomes(
        lapse,
        math.log(0.9),
        m * np.arange(count + 1),
        np.full(count, kind, dtype=np.int8),
        np.tile(u, count),
        np.random.default_rng(0),
        order,
        chosen,
    )
    first = np.where(chosen == 1, order.reshape(-1, m)[:, 0], m)
    s = np.exp(u if kind == ONE_OR_TIE else -u)
    p = np.append(s, 0.9 * s.prod() ** (1 / 3))
    p = (1 - lapse) * p / p.sum() + lapse / 4
    assert stats.chisquare(np.bincount(first, minlength=4), count * p).pvalue > 1e-5


def test_the_likeliest_answer_may_be_that_one_cannot_tell():
    kinds, cuts = np.array([ONE_OR_TIE] * 3, dtype=np.int8), np.array([0, 3, 6, 9])
    first = np.array([0.2, 0.1, 0.2, 0.6, 0.1, 0.1, 0.25, 0.25, 0.25])  # the rest is the tie's
    order, chosen = np.empty(9, dtype=np.int64), np.array([1, 0, 1])
    order_outcomes(kinds, cuts, first, order, chosen)
    assert chosen.tolist() == [0, 1, 1]
    right, in_order = np.empty((2, 3))
    agreement_with(kinds, cuts, np.array([0, 0, 1]), first, right, in_order)
    assert right.tolist() == [1.0, 0.0, 0.25]
    assert in_order[:2].tolist() == [1.0, 0.0]


def test_bias_of_positions_moves_the_answers_and_not_the_order():
    _, fair = world(tie=0.0)
    _, biased = world(tie=0.0, bias=[1.0, 0.0, -1.0])
    for choices, least, most in ((fair, 0.3, 0.37), (biased, 0.45, 0.7)):
        at = choices.positions[choices.cuts[:-1]]  # where the odd one was
        assert least < np.mean(at == 0) < most
