"""The noise ceiling: of comparisons, and of choices with more than two outcomes."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats
from scipy.special import betaln
from tests.worlds import ste_choices

import tercet as tc
from tercet.answers.choices import number_choices
from tercet.answers.repeats import (
    CONCENTRATION,
    NoiseCeiling,
    _expected_maximum,
    ceiling_of_answers,
    noise_ceiling,
    number_outcomes,
    repeated_rows,
    repeated_votes,
)

# --- of comparisons ---------------------------------------------------------------------------


def test_a_ceiling_needs_votes():
    assert noise_ceiling([1, 4, 3], [4, 4, 4]).n_questions == 3
    for near, total in (([1, 0], [1, 1]), ([], []), ([5], [4]), ([1, 2], [3])):
        with pytest.raises(tc.InputError, match="votes"):
            noise_ceiling(near, total)


@pytest.mark.parametrize("a", [0.2, 1.0, 8.0])
def test_the_ceiling_is_the_expectation_of_a_beta(a):
    p = np.random.default_rng(0).beta(a, a, 100_000)
    near = np.random.default_rng(1).binomial(6, p)
    found = noise_ceiling(near, np.full(len(p), 6))
    assert found.concentration == pytest.approx(a, rel=0.05)
    assert found.accuracy == pytest.approx(np.maximum(p, 1 - p).mean(), abs=4e-3)
    entropy = stats.bernoulli(np.clip(p[:20_000], 1e-15, 1 - 1e-15)).entropy()
    assert found.log_loss == pytest.approx(entropy.mean(), abs=5e-3)


def test_the_ceiling_of_people_who_always_agree_is_one():
    found = noise_ceiling(np.array([3, 0, 3, 3]), np.full(4, 3))
    assert found.accuracy == pytest.approx(1.0, abs=1e-3)
    assert found.accuracy_interval[0] < 0.95


def test_the_majority_overstates_the_ceiling():
    """Four repeats at p = .7 have a majority of .746 on average."""
    near = np.random.default_rng(0).binomial(4, 0.7, 4000)
    turned = np.random.default_rng(1).random(4000) < 0.5
    found = noise_ceiling(np.where(turned, near, 4 - near), np.full(4000, 4))
    majority = np.maximum(near, 4 - near).mean() / 4
    assert majority == pytest.approx(0.746, abs=0.01)
    assert found.accuracy_interval[1] < 0.7 < majority  # all p at .3 or .7 are no Beta
    assert found.accuracy_bound == pytest.approx(0.7, abs=0.01)


@pytest.mark.parametrize("votes", [2, 3, 50])
def test_two_outcomes_are_a_beta_binomial(votes):
    rng = np.random.default_rng(0)
    near, a = rng.binomial(votes, rng.beta(0.7, 0.7, 300)), CONCENTRATION
    cells = np.stack([near, votes - near], axis=1)[:, :, None]
    likelihood = (betaln(cells[:, 0] + a, cells[:, 1] + a) - betaln(a, a)).sum(axis=0)
    found, best = noise_ceiling(near, np.full(300, votes)), np.argmax(likelihood)
    assert found.concentration == a[best]
    assert (
        found.accuracy
        == 0.5 + np.exp(-a[best] * math.log(4.0) - betaln(a[best], a[best])) / (a[best])
    )
    assert found.accuracy_bound == 0.5 + 0.5 / math.sqrt(2.0 * a[best] + 1.0)


# --- of choices -------------------------------------------------------------------------------


@pytest.mark.parametrize("outcomes", [3, 6, 12])
def test_the_largest_share_is_that_of_a_dirichlet(outcomes):
    found = _expected_maximum(outcomes)
    uniform = np.searchsorted(CONCENTRATION, 1.0 - 1e-9)
    harmonic = sum(1.0 / k for k in range(1, outcomes + 1)) / outcomes
    assert found[uniform] == pytest.approx(harmonic, abs=1e-12)
    assert (np.diff(found) < 0.0).all()
    assert found[0] == pytest.approx(1.0, abs=1e-2)
    assert found[-1] == pytest.approx(1.0 / outcomes, abs=0.02)
    rng = np.random.default_rng(0)
    for place in (800, 1600, 2400):
        drawn = rng.dirichlet(np.full(outcomes, CONCENTRATION[place]), 20_000).max(axis=1)
        error = drawn.std() / math.sqrt(len(drawn))
        assert found[place] == pytest.approx(drawn.mean(), abs=4.0 * error + 1e-6)


def odd_ones_out(a, questions=300, votes=6, seed=0):
    """Choices whose outcomes have Dirichlet probabilities; and these."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(3, a), questions)
    rows = rng.permutation(list(itertools.combinations(range(40), 3)))[:questions]
    odd = np.array([rng.choice(3, votes, p=each) for each in p]).ravel()
    rows = np.repeat(rows, votes, axis=0)
    turned = np.array([[1, 2, 0], [0, 2, 1], [0, 1, 2]])[odd]
    return tc.Choices.odd_one_out(np.take_along_axis(rows, turned, axis=1), n_objects=40), p


@pytest.mark.parametrize("a", [0.2, 1.0, 5.0])
def test_the_ceiling_of_choices_is_the_expectation_of_a_dirichlet(a):
    answers, p = odd_ones_out(a, 3000)
    found = ceiling_of_answers(answers)
    assert found.n_outcomes == 3
    assert found.concentration == pytest.approx(a, rel=0.1)
    assert found.accuracy == pytest.approx(p.max(axis=1).mean(), abs=0.01)
    entropy = stats.entropy(np.clip(p, 1e-15, 1.0), axis=1).mean()
    assert found.log_loss == pytest.approx(entropy, abs=0.015)
    assert found.accuracy < found.accuracy_bound
    low, high = found.accuracy_interval
    assert low < found.accuracy < high
    assert "repeated screens" in str(found)


def test_counts_of_choices_are_as_many_rows():
    answers, _ = odd_ones_out(1.0, 30)
    weighted = tc.Choices.concatenate([answers[:60], answers[:60], answers[60:]])
    once = tc.Choices(
        answers.pairs.reshape(-1, 3, 2),
        np.zeros(len(answers), int),
        n_objects=40,
        weights=np.where(np.arange(len(answers)) < 60, 2, 1),
    )
    assert ceiling_of_answers(once) == ceiling_of_answers(weighted)


def test_why_choices_have_no_ceiling():
    one, _ = odd_ones_out(1.0, 30, votes=1)
    assert ceiling_of_answers(one[:5]) == "no screen was shown more than once"
    few, _ = odd_ones_out(1.0, 10)
    assert ceiling_of_answers(few) == "too few screens were shown more than once"
    rankings, _ = ste_choices(kind="ranking", m=30, repeats=3)
    assert "720 outcomes of a screen are too many" in ceiling_of_answers(rankings)
    mixed = tc.Choices.concatenate([few, rankings])
    assert "differ in the number of outcomes" in ceiling_of_answers(mixed)
    half = tc.Choices.odd_one_out([[0, 1, 2]], weights=[0.5])
    assert "not whole numbers" in ceiling_of_answers(half)


def test_comparisons_have_the_ceiling_of_their_votes():
    rows = np.repeat([[0, i, i + 1] for i in range(1, 31)], 3, axis=0)
    rows[::4] = rows[::4][:, [0, 2, 1]]
    answers = tc.Triplets(rows)
    asked = repeated_votes(answers)
    found = ceiling_of_answers(answers)
    assert isinstance(found, NoiseCeiling)
    assert found == noise_ceiling(asked.near, asked.total)
    assert ceiling_of_answers(tc.Triplets([[0, 1, 2]])) == "no comparison was asked more than once"
    assert "too few" in ceiling_of_answers(answers[:30])


def test_outcomes_of_a_set_have_no_order():
    def nearest(chosen, ranked=False):
        return tc.Choices.nearest(
            [0] * len(chosen), [[1, 2, 3, 4]] * len(chosen), chosen, ranked=ranked
        )

    chosen = [[1, 2], [2, 1], [1, 3]]
    question, outcome = number_outcomes(nearest(chosen))
    assert len(set(question.tolist())) == 1
    assert outcome[0] == outcome[1] != outcome[2]
    assert len(set(number_outcomes(nearest(chosen, ranked=True))[1].tolist())) == 3


def test_rows_whose_question_was_asked_again():
    answers = tc.Choices.odd_one_out([[0, 1, 2], [2, 0, 1], [1, 2, 3]], weights=[1, 1, 1])
    assert repeated_rows(answers).tolist() == [True, True, False]
    counted = tc.Choices.odd_one_out([[0, 1, 2], [1, 2, 3]], weights=[1, 2])
    assert repeated_rows(counted).tolist() == [False, True]
    assert number_choices(answers)[0] == number_choices(answers)[1]
