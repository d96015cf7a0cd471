"""Side bias and serial dependence: levels without them, and power with them."""

import numpy as np
import pytest

import tercet as tc
from tercet.answers.positions import _expect_repeats, _repeats, serial_dependence, side_bias
from tercet.kinds import FARTHEST

N = 8


def choose(strength, rng):
    """The place of the alternative chosen in each row of log-strengths, by Luce's rule."""
    return (strength + rng.gumbel(size=strength.shape)).argmax(axis=1)


def study(rng, m=60, people=3, a=2, bias=(), gain=3.0, arrange=None, asked=None, **beside):
    """m choices of one of ``a`` objects that is the nearest to an anchor.

    ``arrange`` changes the objects shown, (m, a), which are in random positions before that;
    ``asked`` is the number of different questions.
    """
    points = rng.normal(size=N)
    shown = np.array([rng.permutation(N)[: a + 1] for _ in range(asked or m)])
    shown = shown if asked is None else shown[rng.integers(asked, size=m)]
    if arrange is not None:
        shown[:, 1:] = arrange(shown[:, 1:])
    strength = -gain * np.abs(points[shown[:, 1:]] - points[shown[:, :1]])
    strength[:, : len(bias)] += bias
    chosen = choose(strength, rng)
    pairs = np.stack([np.repeat(shown[:, :1], a, axis=1), shown[:, 1:]], axis=2)
    who = np.arange(m) % people
    positions = np.tile(np.arange(a), (m, 1))
    return tc.Choices(pairs, chosen, positions=positions, observers=who, n_objects=N, **beside)


def odd(rng, m=60, bias=0.0):
    """Odd ones out of three; the first object on the screen is left out more often with a bias."""
    points = rng.normal(size=N)
    shown = np.array([rng.permutation(N)[:3] for _ in range(m)])
    others = shown[:, [[1, 2], [0, 2], [0, 1]]]
    strength = -3.0 * np.abs(np.diff(points[others], axis=2))[:, :, 0]
    strength[:, 0] += bias
    positions = np.tile([0, 1, 2], (m, 1))
    return tc.Choices(others, choose(strength, rng), positions=positions, n_objects=N)


def several(rng, m=40, bias=0.0):
    """The 2 nearest of 6 in a grid, as a set."""
    shown = np.array([rng.permutation(N)[:7] for _ in range(m)])
    strength = rng.normal(size=(m, 6)) + bias * (np.arange(6) == 0)
    chosen = np.argsort(-strength, axis=1)[:, :2]
    pairs = np.stack([np.repeat(shown[:, :1], 6, axis=1), shown[:, 1:]], axis=2)
    positions = np.tile(np.arange(6), (m, 1))
    return tc.Choices(pairs, chosen, ordered=False, positions=positions, n_objects=N)


def shuffle(rng):
    """Another arrangement in each row."""
    return lambda shown: rng.permuted(shown, axis=1)


def rate(make, test=side_bias, studies=300):
    return np.mean([test(make(np.random.default_rng([7, s]))).found for s in range(studies)])


# --- side bias --------------------------------------------------------------------------------

WITHOUT = {
    "two sides": study,
    "few answers": lambda rng: study(rng, m=12),
    "three positions": lambda rng: study(rng, a=3),
    "odd one out": odd,
    "two of six": several,
    "repeated in any arrangement": lambda rng: study(rng, asked=5, arrange=shuffle(rng)),
    "repeated as they are": lambda rng: study(rng, m=200, asked=20, gain=20.0),
    "counts": lambda rng: study(rng, asked=20, weights=rng.integers(1, 9, size=60)),
}


@pytest.mark.parametrize("kind", WITHOUT)
def test_without_side_bias_at_most_one_study_in_twenty_finds_one(kind):
    found = rate(WITHOUT[kind], studies=150)
    assert found <= 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / 150)


def test_answers_counted_as_if_they_were_questions_would_be_wrong(monkeypatch):
    for rule in "_keeps_arrangement", "_depends_on_objects":
        monkeypatch.setattr(f"tercet.answers.positions.{rule}", lambda *shown: False)
    assert rate(WITHOUT["repeated as they are"], studies=60) > 0.15


@pytest.mark.parametrize(
    "make",
    [
        lambda rng: study(rng, m=100, gain=1.0, bias=[1.5]),
        lambda rng: study(rng, m=100, a=3, gain=1.0, bias=[0.0, 0.0, 1.5]),
        lambda rng: odd(rng, m=200, bias=2.0),
        lambda rng: several(rng, bias=1.5),
        lambda rng: study(rng, m=200, asked=5, gain=1.0, bias=[1.5], arrange=shuffle(rng)),
        lambda rng: study(rng, m=400, asked=40, gain=1.0, bias=[1.5]),
    ],
)
def test_a_clear_side_bias_is_found(make):
    assert rate(make, studies=40) >= 0.9


def test_the_size_of_a_bias_without_anything_else_is_recovered():
    b = np.array([0.6, 0.1, -0.7])
    found = side_bias(study(np.random.default_rng(1), m=20_000, a=3, gain=0.0, bias=b))
    assert [each.position for each in found.positions] == [0, 1, 2]
    assert [each.log_odds for each in found.positions] == pytest.approx(b, abs=0.05)
    expected = np.exp(b) / np.exp(b).sum()
    for share, each in zip(expected, found.positions, strict=True):
        assert each.interval[0] < share < each.interval[1]
        assert each.expected == pytest.approx(1 / 3)
        assert each.share == each.chosen / 20_000
    assert found.answers == 20_000


def test_the_p_value_is_that_of_a_binomial_test():
    from scipy.stats import binomtest

    rng = np.random.default_rng(0)
    answers = study(rng, m=50, bias=[0.7])
    found = side_bias(answers)
    left = found.positions[0].chosen
    assert found.p_value == pytest.approx(binomtest(left, 50).pvalue)
    low, high = binomtest(left, 50).proportion_ci()
    assert found.positions[0].interval == pytest.approx((low, high))
    assert found.positions[0].log_odds == -found.positions[1].log_odds


def test_one_observer_who_always_answers_left_is_named():
    rng = np.random.default_rng(3)
    parts = [study(rng, m=50, people=1, bias=[20.0 * (k == 4)]) for k in range(10)]
    joined = tc.Choices.concatenate(parts)
    who = np.repeat(np.arange(10), 50)
    fields = joined._fields._replace(observers=who)
    found = side_bias(tc.answers.choices.restore(fields))
    assert [each.observer for each in found.observers if each.found] == ["4"]
    one = found.observers[4]
    assert (one.answers, one.share, one.expected) == (50, 1.0, 0.5)


def test_observers_without_a_bias_are_seldom_named():
    found = [
        any(
            o.found
            for o in side_bias(study(np.random.default_rng([2, s]), m=300, people=20)).observers
        )
        for s in range(100)
    ]
    assert np.mean(found) <= 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / 100)


def test_positions_that_depend_on_the_objects_cannot_be_told_from_them():
    found = side_bias(study(np.random.default_rng(0), arrange=lambda shown: np.sort(shown, axis=1)))
    assert not found.found
    assert np.isnan(found.p_value)
    assert "position and content cannot be told apart" in found.unknown
    assert found.positions[0].offered == 60  # counted all the same


def test_a_few_questions_that_never_changed_sides_say_nothing():
    found = side_bias(study(np.random.default_rng(0), m=300, asked=3, bias=[2.0]))
    assert found.by_question
    assert "position and content cannot be told apart" in found.unknown
    assert not found.found


def test_unknown_positions_and_choices_without_an_answer_are_left_out():
    answers = study(np.random.default_rng(0), m=20)
    positions = np.array(answers.positions)
    positions[:2] = -1, 0  # of the first choice one is unknown
    positions[2:4] = 1, 1  # in the second both are in one place
    fields = answers._fields._replace(positions=positions)
    count = np.array(answers.n_chosen)
    count[2] = 0  # cannot tell
    found = side_bias(tc.answers.choices.restore(fields._replace(n_chosen=count)))
    assert found.answers == 17
    nowhere = side_bias(tc.answers.choices.restore(fields._replace(positions=None)))
    assert "not known where" in nowhere.unknown
    assert side_bias(tc.Triplets([[0, 1, 2]])).unknown == nowhere.unknown


def test_votes_count_as_rows():
    rng = np.random.default_rng(5)
    counts = rng.integers(1, 4, size=60)
    weighted = study(np.random.default_rng(6), bias=[1.0], weights=counts)
    single = tc.answers.choices.restore(
        weighted[np.repeat(np.arange(60), counts)]._fields._replace(weights=None)
    )
    assert side_bias(weighted) == side_bias(single)


def test_the_farthest_pair_counts_as_the_one_chosen():
    pairs = [[[0, 1], [0, 2], [1, 2]]] * 3
    choices = tc.Choices(pairs, [0, 1, 1], positions=[[0, 1, 2]] * 3)
    fields = choices._fields._replace(kinds=np.full(3, FARTHEST, dtype=np.int8))
    found = side_bias(tc.answers.choices.restore(fields))
    assert [each.chosen for each in found.positions] == [1, 2, 0]


# --- serial dependence ------------------------------------------------------------------------


def repeating(rng, m=150, stay=0.5, people=3):
    """Sides that stay the same with a given probability, in the order of each observer."""
    sides = np.empty(m, dtype=int)
    sides[:people] = rng.integers(2, size=people)
    for i in range(people, m):
        sides[i] = sides[i - people] if rng.random() < stay else 1 - sides[i - people]
    shown = np.array([rng.permutation(N)[:3] for _ in range(m)])
    pairs = shown[:, [[0, 1], [0, 2]]]
    positions = np.tile([0, 1], (m, 1))
    who = np.arange(m) % people
    return tc.Choices(pairs, sides, positions=positions, observers=who, n_objects=N)


def test_repeating_and_avoiding_the_last_position_are_found():
    for stay in 0.8, 0.2:
        found = serial_dependence(repeating(np.random.default_rng(0), stay=stay))
        assert found.found
        assert found.answers == 147
        assert found.interval[0] < stay < found.interval[1]
        assert found.expected == pytest.approx(0.5, abs=0.05)


def test_without_serial_dependence_it_is_seldom_found():
    assert rate(lambda rng: study(rng, m=40), serial_dependence) <= 0.05 + 0.03
    strong = rate(lambda rng: study(rng, m=60, bias=[2.0], gain=0.5), serial_dependence, 150)
    assert strong <= 0.05 + 0.045  # a side bias alone is none


def test_many_answers_are_tested_by_the_normal_distribution():
    many = repeating(np.random.default_rng(1), m=12_000, stay=0.5, people=4)
    assert not serial_dependence(many).found
    assert serial_dependence(repeating(np.random.default_rng(1), m=12_000, stay=0.53)).found


def test_mean_and_variance_of_repeats_are_those_of_random_orders():
    rng = np.random.default_rng(0)
    place, who = rng.integers(3, size=13), np.repeat([0, 1], [6, 7])
    found = _expect_repeats(place, who)
    orders = np.argsort(who + rng.random((40_000, 13)), axis=1)
    seen = _repeats(place[orders], who)
    assert seen.mean() == pytest.approx(found.mean, abs=0.03)
    assert seen.var() == pytest.approx(found.variance, rel=0.03)


def test_serial_dependence_needs_observers_and_an_order():
    rng = np.random.default_rng(0)
    answers = study(rng)
    without = tc.answers.choices.restore(answers._fields._replace(observers=None))
    assert "who gave" in serial_dependence(without).unknown
    assert "order" in serial_dependence(study(rng, weights=np.full(60, 2.0))).unknown
    assert "where" in serial_dependence(tc.Triplets([[0, 1, 2]])).unknown
    assert "too few" in serial_dependence(answers[:3]).unknown
