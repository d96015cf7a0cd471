"""The test of whether observers differ keeps its level, and notices those who do."""

import numpy as np
import pytest

import tercet as tc
from tercet.answers.repeats import prepare
from tercet.simulate import answer, random_comparisons
from tercet.uses.quality import counts as differences

pytestmark = pytest.mark.slow

STUDIES, N, PEOPLE = 80, 8, 6


@pytest.fixture(autouse=True)
def _few_shuffles(monkeypatch):
    monkeypatch.setattr(differences, "SHUFFLES", 199)


def study(rng, spread, screens=False):
    """100 answers of each observer, or 50 screens of which every answer occurs twice."""
    points = rng.normal(size=(N, 2))
    parts = []
    for _ in range(PEOPLE):
        own = points + spread * rng.normal(size=(N, 2))
        asked = random_comparisons(N, 50 if screens else 100, replace=True, random_state=rng)
        parts.append(answer(own, asked, noise=0.3, random_state=rng))
    rows, who = np.concatenate(parts), np.repeat(np.arange(PEOPLE), len(parts[0]))
    twice = np.repeat(np.arange(len(rows)), 2 if screens else 1)
    return tc.Triplets(rows[twice], observers=who[twice], screens=twice)


def share_found(spread, **more):
    found = []
    for number in range(STUDIES):
        rng = np.random.default_rng([int(10 * spread), number])
        prepared = prepare(study(rng, spread, **more))
        test = differences.compare_observers(prepared, np.zeros(PEOPLE, dtype=bool), rng)
        found.append(test.p_value <= 0.05)
    return np.mean(found)


@pytest.mark.parametrize("screens", [False, True])
def test_observers_who_are_alike_are_seldom_found_to_differ(screens):
    assert share_found(0.0, screens=screens) < 0.05 + 3.0 * np.sqrt(0.05 * 0.95 / STUDIES)


def test_observers_who_differ_are_found():
    assert share_found(0.4) > 0.75
