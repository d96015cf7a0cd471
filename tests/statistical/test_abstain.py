"""The promise of `choose_threshold` is kept as often as it says, in worlds where the risk is known.

A world is a distribution of confidence c, uniform on [½, 1], and the chance r(c) that a prediction
of that confidence is wrong. So the risk above a threshold is an integral, and no embedding is
needed. With δ = .1, more than 30 broken promises in 200 would happen once in a hundred times.
"""

import numpy as np
import pytest
from scipy.stats import beta, binom

from tercet.uses.abstain import last_passed, lay_candidates, shuffle, walk_down

pytestmark = pytest.mark.slow

REPEATS, DELTA, ANSWERS = 200, 0.1, 800
ALLOWED = 30
GRID = np.linspace(0.5, 1.0, 100_001)
PILOTS = GRID[::50]


def calibrated(c):
    """As often wrong as it says."""
    return 1.0 - c


def overconfident(c):
    """Wrong in 5 % where it is certain, and in half of the cases from .7 down."""
    return np.clip(0.05 + 1.5 * (1.0 - c), 0.0, 0.5)


def lost_at_the_top(c):
    """The surest answers are the worst, as when a few objects are badly misplaced."""
    return np.where(c > 0.95, 0.35, 0.05 + 0.15 * (1.0 - c))


WORLDS = [calibrated, overconfident, lost_at_the_top]


def risk_above(world, threshold):
    return world(GRID[threshold < GRID]).mean()


def draw(world, rng, answers=ANSWERS):
    confidence = rng.uniform(0.5, 1.0, answers)
    return confidence, rng.random(answers) < world(confidence)


def promised(held, error, unit="answer", candidates=None):
    """The chosen threshold, or None."""
    if candidates is None:
        candidates = lay_candidates(PILOTS, held, unit, error, DELTA)
    walk = walk_down(held, candidates, error, DELTA)
    last = last_passed(walk, DELTA)
    return None if last is None else walk.threshold[last]


def naive(held, error):
    """The loosest threshold whose predictions were wrong no more often than promised."""
    below = [
        t for t in np.linspace(0.5, 0.99, 99) if held.wrong[held.confidence > t].mean() <= error
    ]
    return min(below, default=None)


def broken(choose, world, error, seed):
    """How many promises of REPEATS are broken, and how many are made."""
    made = [choose(held, error) for held in hold_outs(world, seed)]
    made = [threshold for threshold in made if threshold is not None]
    return sum(risk_above(world, threshold) > error for threshold in made), len(made)


def hold_outs(world, seed):
    for repeat in range(REPEATS):
        rng = np.random.default_rng([seed, repeat])
        yield shuffle(*draw(world, rng), np.arange(ANSWERS), rng)


def test_thirty_are_allowed():
    assert binom.sf(ALLOWED, REPEATS, DELTA) < 0.01 < binom.sf(ALLOWED - 1, REPEATS, DELTA)


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("error", [0.1, 0.2])
def test_promises_are_kept(world, error):
    assert broken(promised, world, error, seed=1)[0] <= ALLOWED


@pytest.mark.parametrize(("world", "error"), [(calibrated, 0.1), (overconfident, 0.2)])
def test_promises_are_made_where_they_can_be(world, error):
    """Stopping at the first failure costs some, most often at the strictest threshold."""
    assert broken(promised, world, error, seed=2)[1] > 0.8 * REPEATS


@pytest.mark.parametrize(("world", "error"), [(calibrated, 0.1), (overconfident, 0.2)])
def test_a_naive_threshold_breaks_them(world, error):
    assert broken(naive, world, error, seed=1)[0] > ALLOWED


def test_thresholds_without_a_start_are_kept_too():
    """A grid of one's own, fine from the strictest on, whose first steps hardly anybody reaches."""

    def choose(held, error):
        return promised(held, error, candidates=1.0 - np.geomspace(0.001, 0.5, 60))

    for world in WORLDS:
        assert broken(choose, world, 0.1, seed=3)[0] <= ALLOWED


# ---- observers who differ

OBSERVERS, EACH = 120, 60
MEAN, SIZE = 0.101, 0.5  # of the beta distribution of an observer's share: few make most errors


def observers(seed):
    """People who are wrong in a share of their own, whatever the confidence."""
    rng = np.random.default_rng(seed)
    share = beta.rvs(MEAN * SIZE, (1 - MEAN) * SIZE, size=OBSERVERS, random_state=rng)
    person = np.repeat(np.arange(OBSERVERS), EACH)
    confidence = rng.uniform(0.5, 1.0, len(person))
    return confidence, rng.random(len(person)) < share[person], person, rng


def broken_with(unit):
    """How many of REPEATS promise 10 % although the risk is 10.1 % at every threshold."""
    count = 0
    for repeat in range(REPEATS):
        confidence, wrong, person, rng = observers([4, repeat])
        label = person if unit == "observer" else np.arange(len(person))
        held = shuffle(confidence, wrong, label, rng)
        count += promised(held, 0.1, unit) is not None
    return count


def test_one_answer_of_each_observer_keeps_the_promise():
    assert broken_with("observer") <= ALLOWED


def test_answers_of_one_observer_taken_as_independent_break_it():
    assert broken_with("answer") > ALLOWED
