"""Does choosing help, where theory says that it must? And does what should not help, not help?"""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import tercet as tc
from tercet.simulate import all_comparisons, answers_from_model
from tercet.uses.active import suggest

pytestmark = pytest.mark.slow

N, WORLDS = 8, 400
EVERY = all_comparisons(N)


@pytest.fixture(scope="module")
def worlds():
    """Draws that are all equally likely to be the truth: an exact, if small, posterior."""
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(1, N, 2)) + 0.5 * rng.normal(size=(WORLDS, N, 2))
    return tc.Ensemble(draws, model=tc.STE(2).model())


def entropy_after(worlds, row, truths, rng):
    """Entropy in bits of which draw is true, after one answer of each of the truths."""
    p = worlds.answer_probability(row[None], by_draw=True)[:, 0]
    near = rng.random(len(truths)) < p[truths]
    after = np.where(near[:, None], p, 1 - p)
    after /= after.sum(axis=1, keepdims=True)
    return -np.sum(after * np.log2(np.maximum(after, 1e-300)), axis=1)


def told(worlds, rows, seed, repeats=150):
    """Bits that answers of random truths told, for each row: mean and standard error."""
    rng = np.random.default_rng(seed)
    truths = rng.integers(WORLDS, size=repeats)
    bits = [np.log2(WORLDS) - entropy_after(worlds, row, truths, rng) for row in rows]
    return np.mean(bits, axis=1), np.std(bits, axis=1, ddof=1) / np.sqrt(repeats)


def test_an_answer_tells_as_many_bits_as_promised(worlds):
    """The entropy that answers of simulated truths remove, against the score, no formula shared."""
    found = suggest(worlds, len(EVERY), "mutual_information", n_draws=WORLDS)
    rows = [0, 1, 2, 40, 80, 120, 160]
    mean, error = told(worlds, found.array[rows], seed=1)
    assert (np.abs(mean - found.scores[rows]) < 4 * error + 1e-6).all()


def test_chosen_questions_tell_more_than_random_ones(worlds):
    best = suggest(worlds, 20, "mutual_information", n_draws=WORLDS).array
    blind = suggest(worlds, 20, "random", random_state=2).array
    chosen, error = told(worlds, best, seed=3)
    other, more = told(worlds, blind, seed=4)
    noise = np.sqrt(np.mean(error**2) + np.mean(more**2) + np.var(other, ddof=1)) / np.sqrt(20)
    assert chosen.mean() - other.mean() > 4 * noise


def test_where_answers_are_coins_nothing_is_gained_by_choosing(worlds):
    """The negative control: the same draws, but every answer is given at random."""
    coins = tc.Ensemble(worlds.draws, model=worlds.model, parameters={"lapse": np.ones(WORLDS)})
    found = suggest(coins, 20, "mutual_information", random_state=0)
    assert np.abs(found.scores).max() < 1e-9
    assert told(coins, found.array, seed=5)[0] == pytest.approx(0.0, abs=1e-9)
    # The paper's score does not see it: π is about the truth, not about answers.
    scores = [suggest(each, 20, "uncertainty", random_state=0).scores for each in (coins, worlds)]
    assert_array_equal(*scores)


def posterior_of(points, asked, seed):
    answers = answers_from_model(tc.STE(2).model(), points, asked, random_state=seed)
    maker = tc.Posterior(
        tc.STE(2),
        prior=tc.NormalPrior(1.0),
        sampler="laplace",
        n_samples=400,
        n_chains=1,
        random_state=seed,
    )
    return maker.fit(answers, n_objects=len(points)).ensemble_


def test_questions_about_the_unknown_object_are_chosen():
    """Objects 0 to 8 were asked about often, 9 hardly: both uncertainties must turn to it."""
    n, rng = 10, np.random.default_rng(6)
    points = rng.normal(size=(n, 2))
    every = all_comparisons(n)
    about = (every == 9).any(axis=1)
    known = every[~about][rng.integers(np.sum(~about), size=900)]
    few = every[about][rng.integers(np.sum(about), size=6)]
    ens = posterior_of(points, np.concatenate([known, few]), 7)
    share = np.mean(about)
    chosen = [
        np.mean((suggest(ens, 20, strategy, random_state=0).array == 9).any(axis=1))
        for strategy in ("mutual_information", "uncertainty")
    ]
    assert chosen[0] > 0.9  # seeds 0 to 9 gave 1.0 each
    assert chosen[1] > share + 0.2  # and these .55 to .9
    blind = suggest(ens, 200, "random", random_state=0).array  # the control
    assert abs(np.mean((blind == 9).any(axis=1)) - share) < 4 * np.sqrt(share * (1 - share) / 200)
